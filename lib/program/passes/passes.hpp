// Passes: each rewrites a program into one that computes the same bits with less work.
#pragma once
#include "program/program.hpp"

namespace reel::program {

/// Drops the instructions that no result needs, but for those that may throw.
void drop_unused(Program& program);
/// Computes once and for all what is made of constants and is small: a larger constant would be kept for as long as the
/// program, to save a pass over memory.
inline constexpr std::int64_t most_folded_elements = 1024;
void fold_constants(Program& program, std::int64_t most_elements = most_folded_elements);
/// Computes each expression once: instructions with the same operation, attributes and operands.
void share_equal(Program& program);
/// Makes sums of what is placed among zeros one instruction. A zero keeps its sign where one part lies alone, as it
/// does where tapes add parts in place.
void join_places(Program& program);
/// Joins pointwise operations of float32 or float64 of one shape to single passes over memory, where that is faster.
void fuse_pointwise(Program& program);

/// All but the last, in this order.
void simplify(Program& program);
/// All of them.
void optimize(Program& program);

/// A program in two parts, of which the second runs when it is asked for.
struct Parts {
  Program first;   // of the arguments in front; its last results are what the second needs of it
  Program second;  // of all arguments, and then those results
  std::size_t residuals = 0;
};
/// The first part computes the first `results` results, and nothing that these do not need but what may throw. It does
/// not read the arguments from `arguments` on.
Parts split(const Program& program, std::size_t arguments, std::size_t results);

}  // namespace reel::program
