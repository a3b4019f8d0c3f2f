// Passes: each rewrites a program so that it computes the same bits with less work.
#pragma once
#include "program/program.hpp"

namespace reel::program {

/// Dead code elimination: drops instructions that no result needs, except those that may throw.
void drop_unused(Program& program);
/// Constant folding, of small values: a large constant would occupy memory as long as the program lives, to save one
/// pass over memory.
inline constexpr std::int64_t most_folded_elements = 1024;
void fold_constants(Program& program, std::int64_t most_elements = most_folded_elements);
/// Common subexpression elimination: instructions with equal operation, attributes and operands become one.
void share_equal(Program& program);
/// Merges sums of parts that replay placed into zeros, the first, and into -0, the others, into one instruction that
/// adds the parts in place.
void join_places(Program& program);
/// Makes a sum of a value and a matrix product one product that is added in place, where nobody else reads the two and
/// sums along the inner dimension are complete before they are added.
void accumulate_products(Program& program);
/// Makes operations on single elements one program that runs on a file of numbers.
void join_scalars(Program& program);
/// Fuses pointwise operations on float32 or float64 of one shape into single passes over memory, where that is faster.
void fuse_pointwise(Program& program);
/// Whether fusion makes what reads the product part of its instruction, if there is nothing else against it.
bool is_product_read_in_parts(const Program& program, const Instruction& product);

/// A pass that ran, and the number of instructions before and after it.
struct PassCounts {
  const char* name;  // of the function above
  std::size_t before, after;
};
/// The passes up to join_places, in this order; drop_unused twice.
std::vector<PassCounts> simplify(Program& program);
/// The passes after them, which make instructions that no other pass knows.
std::vector<PassCounts> fuse(Program& program);
/// All passes.
std::vector<PassCounts> optimize(Program& program);

/// A program in two parts; the second runs on demand.
struct Parts {
  Program first;   // of the first arguments; its last results are what the second part needs of it
  Program second;  // of all arguments, followed by those results
  std::size_t residuals = 0;
};
/// The first part computes the first `results` results: the instructions they need, and those that may throw, unless
/// they make values from `derived` on, those of the gradient. It does not read the arguments from `arguments` on. The
/// second part repeats operations that combine or move elements of arguments if it then has to be given less: large
/// results of theirs count, and those of the first `variables` arguments that only they read.
Parts split(const Program& program, std::size_t arguments, std::size_t results, std::size_t variables = 0,
            Index derived = nothing);
/// Makes the scalars that the second part is given elements of one array for each dtype.
void pack_residuals(Parts& parts);

}  // namespace reel::program
