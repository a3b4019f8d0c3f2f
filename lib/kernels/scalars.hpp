// Programs on single numbers: code that works on a file of floats or doubles, run by a direct-threaded interpreter. One
// interpreter per instruction set, whose results have the bits of its kernels. loops/program/scalar.cpp writes the
// code.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/chains.hpp"
#include "kernels/set.hpp"

namespace reel::kernels {

// The ops, in the order of their numbers. Operands and results are byte offsets in the file, one word each: first the
// operands, then the result. Of comparisons, predicates and logic the result is a mask, a word.
// - `a_b` computes b(a(x, y), w); `subtract_from` is w - a(x, y). `a_b_kept` also writes a(x, y), before the result.
// - `choose_*` and `select` have the operands of kernels::Choice and ComparisonKernels::select.
// - `call1` to `call5` call a loop, whose address is the first two words, with as many operands.
#define REEL_SCALAR_PAIRS(f, first, kept) \
  f(first##_add##kept) f(first##_subtract##kept) f(first##_subtract_from##kept) f(first##_multiply##kept)
#define REEL_SCALAR_OPS(f)                                                                                             \
  f(end) f(copy) f(add) f(subtract) f(multiply) f(divide) f(negative) f(absolute) f(square_root) f(sign) f(round_down) \
      f(round_up) f(truncate) f(greater) f(lesser) f(fused) REEL_SCALAR_PAIRS(f, add, )                                \
          REEL_SCALAR_PAIRS(f, subtract, ) REEL_SCALAR_PAIRS(f, multiply, ) REEL_SCALAR_PAIRS(f, add, _kept)           \
              REEL_SCALAR_PAIRS(f, subtract, _kept) REEL_SCALAR_PAIRS(f, multiply, _kept) f(choose_equal)              \
                  f(choose_less) f(choose_less_equal) f(is_equal) f(is_not_equal) f(is_less) f(is_less_equal)          \
                      f(is_greater) f(is_greater_equal) f(is_nan) f(is_inf) f(is_finite) f(conjunction) f(disjunction) \
                          f(exclusive) f(negation) f(select) f(call1) f(call2) f(call3) f(call4) f(call5)

enum class ScalarOp : std::uint8_t {
#define REEL_SCALAR_ENUMERATOR(name) name,
  REEL_SCALAR_OPS(REEL_SCALAR_ENUMERATOR)
#undef REEL_SCALAR_ENUMERATOR
};

struct ScalarEngine {
  // An instruction is a label, which stands for its op, and the words of the op. The last op is `end`.
  const std::int32_t* labels;  // by op
  void (*run)(const std::uint32_t* code, std::byte* file);
};
struct ScalarEngines {
  static constexpr KernelFamily family = KernelFamily::scalars;
  ScalarEngine of[2];  // float, double
  // Which ops beyond IEEE arithmetic have the bits of the set's kernels: round_down, round_up and truncate; greater and
  // lesser; fused.
  bool rounds, orders, fuses;
  ChainLoop chain[2];  // float, double; null where a loop per function is as fast
};
/// The chain loops of this instruction set.
ChainLoop chain_of_floats() noexcept;
ChainLoop chain_of_doubles() noexcept;

}  // namespace reel::kernels
