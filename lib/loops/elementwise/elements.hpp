// Predicates over all elements of a tensor with any strides.
#pragma once
#include <reel/tensor.hpp>

namespace reel::loops {

/// Whether an element is zero; for integers, booleans and real numbers. NaN is not.
bool any_zero(const Tensor& x);
/// Whether an element is negative; for integers, booleans and real numbers, including float16. NaN is not.
bool any_negative(const Tensor& x);

/// Of a vector of float32 or float64, the first of the sums x[i]^2 + x[i + step]^2 + ..., i < step, that is at most
/// `least` or NaN; i is -1 if there is none.
struct SumOfSquares {
  std::int64_t i;
  double sum;
};
SumOfSquares first_small_sum(const Tensor& x, std::int64_t step, double least);

}  // namespace reel::loops
