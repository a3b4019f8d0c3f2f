// Questions about the elements of a tensor, of any strides.
#pragma once
#include <reel/tensor.hpp>

namespace reel::loops {

/// Whether an element is zero; of integers, booleans and real numbers. NaN is not.
bool any_zero(const Tensor& x);
/// Whether an element is less than zero; of integers, booleans and real numbers, halves too. NaN is not.
bool any_negative(const Tensor& x);

}  // namespace reel::loops
