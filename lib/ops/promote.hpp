// The dtype in which an op computes, from those of its operands.
#pragma once
#include <initializer_list>
#include <span>

#include "ops/engine.hpp"

namespace reel::ops {

/// The common dtypes that an op accepts; for others, a TypeError names the op and the remedy.
enum class Accept : std::uint8_t {
  floating,  ///< real floating dtypes
  real,      ///< integers and booleans too, as float64
  number,    ///< complex dtypes too
};
/// The dtype of the result, and the dtype to compute in: float32 for float16 and bfloat16.
struct Promoted {
  DType result, wide;
};
/// For operands of this common dtype.
Promoted promote_dtype(const char* op, DType common, Accept accept);
inline Promoted promote_operands(const char* op, std::span<const Operand* const> operands, Accept accept) {
  return promote_dtype(op, common_dtype(op, operands), accept);
}
inline Promoted promote_operands(const char* op, std::initializer_list<const Operand*> operands, Accept accept) {
  return promote_operands(op, std::span(operands.begin(), operands.size()), accept);
}
/// One operand as a tensor of the dtype to compute in, and the dtype of the result.
struct PromotedOperand {
  Tensor x;
  DType result;
};
PromotedOperand promote_operand(const char* op, const Operand& x, Accept accept, const char* operand = "x");
/// f(x) in the dtype to compute in, rounded once to the dtype of the result.
template <class F>
Tensor in_full_precision(const char* op, const Operand& x, Accept accept, const F& f) {
  const PromotedOperand in = promote_operand(op, x, accept);
  return cast_to(f(in.x), in.result);
}
/// The dtype in which functions compute that would lose too many digits in float32.
constexpr DType double_precision_of(DType d) noexcept { return is_complex(d) ? DType::complex128 : DType::float64; }

}  // namespace reel::ops
