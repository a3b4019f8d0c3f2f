// How a program is differentiated: by which functions of the library, in which order of forward and reverse mode, and
// the expected values of the interpreter.
#pragma once
#include <string>
#include <vector>

#include "../program.hpp"

namespace random_programs {

enum class Way {
  value,
  word,
  jacobian,
  tape_jacobian,
  batch_jacobian,
  hessian,
  hvp,
  variables,
  implicit,
  same_tape,
  hessians,
  hessian_vector_product
};

/// The part of a derivative that is traced and run as a program: none, the differentiated program, or all of it.
enum class Compile { nothing, function, derivative };

struct Plan {
  Way way = Way::value;
  /// For Way::word: the modes, F (forward) and R (reverse), the innermost first.
  std::string word;
  /// Selects, by its digits, among equivalent functions of the library.
  std::uint64_t style = 0;
  /// The seed of the directions and cotangents.
  std::uint64_t seed = 0;
  /// A value that is also a source (tap), or counts as a constant (cut), in Way::word "R"; -1: none.
  int tap = -1, cut = -1;
  bool anomaly = false;
  Compile compile = Compile::nothing;  ///< of Way::value, word, jacobian, hessian and hvp
  /// Whether the operands are special: instead of comparing one way with the interpreter, all ways are compared.
  bool special = false;
};
Plan random_plan(const Program& p, std::uint64_t seed);
std::string text_of(const Plan& plan);

struct Outcome {
  enum Kind { passed, skipped, differs, threw } kind = passed;
  std::string message;
};
Outcome check(const Program& p, const Plan& plan);
/// Replaces a half to a ninth of the floating numbers of inputs by zeros, infinities, NaN and numbers near the ends of
/// the range.
void make_operands_special(Program& p, std::uint64_t seed);
/// Whether all ways of running the program, and of differentiating it, give the same bits, or the same kind of error.
Outcome check_ways(const Program& p, const Plan& plan);
const char* name_of(Way way);
/// Ways, words and styles that were checked, with their numbers.
const std::vector<std::pair<std::string, std::int64_t>>& mode_counts();

/// Reduces a program and a plan to smaller ones that fail in the same way.
void shrink(Program& p, Plan& plan, const std::function<bool(const Program&, const Plan&)>& fails);

}  // namespace random_programs
