// Loops with boolean operands or results: comparisons, predicates, logic, selection.
#pragma once
#include "kernels/functions.hpp"
#include "kernels/loop.hpp"
#include "kernels/set.hpp"

namespace reel::kernels {

/// in: a, b, x, y of one type, float32 or float64; out: x, as bits, where a == b, a < b or a <= b; else y.
enum class Choice : std::uint8_t { equal, less, less_equal };

/// Booleans are one byte each, 0 or 1.
struct ComparisonKernels {
  static constexpr KernelFamily family = KernelFamily::comparisons;
  Loop compare[6][dtype_count];    // out: booleans
  Loop predicate[3][dtype_count];  // out: booleans
  Loop choice[3][dtype_count];
  Loop logical[4];  // in and out: booleans
  Loop select[5];   // by size_class(bytes of an element); in: booleans c, then x, y; c ? x : y

  Loop of(Comparison c, DType d) const { return compare[static_cast<std::size_t>(c)][index(d)]; }
  Loop of(Predicate p, DType d) const { return predicate[static_cast<std::size_t>(p)][index(d)]; }
  Loop of(Choice c, DType d) const { return choice[static_cast<std::size_t>(c)][index(d)]; }
  Loop of(Logical l) const { return logical[static_cast<std::size_t>(l)]; }
};

}  // namespace reel::kernels
