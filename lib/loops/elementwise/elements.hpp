// Predicates over all elements of a tensor with any strides.
#pragma once
#include <reel/tensor.hpp>

namespace reel::loops {

/// Whether an element is zero; for integers, booleans and real numbers. NaN is not.
bool any_zero(const Tensor& x);
/// Whether an element is negative; for integers, booleans and real numbers, including float16. NaN is not.
bool any_negative(const Tensor& x);

}  // namespace reel::loops
