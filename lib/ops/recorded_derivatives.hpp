// Derivatives of pointwise definitions as recorded ops, for derivatives of higher order.
#pragma once
#include "ops/apply/pointwise.hpp"

namespace reel::ops {

/// g times the derivative of a definition by operand k, as one op for each operation of its formula. The inputs are
/// g, x, y, w and z up to the last that the formula reads. The derivative has a formula: it is neither the identity nor
/// zero, and the operand is connected.
Tensor recorded_derivative(std::size_t definition, std::size_t k, Inputs in);

}  // namespace reel::ops
