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
Promoted promote_operands(const char* op, std::span<const Operand* const> operands, Accept accept);
inline Promoted promote_operands(const char* op, std::initializer_list<const Operand*> operands, Accept accept) {
  return promote_operands(op, std::span(operands.begin(), operands.size()), accept);
}

}  // namespace reel::ops
