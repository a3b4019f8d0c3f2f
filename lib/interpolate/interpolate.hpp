// Shared by interpolation and integrals of samples.
#pragma once
#include <reel/ops/index.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/reduce.hpp>

#include "interpolate/cold_tensor.hpp"
#include "ops/promote.hpp"

namespace reel::ops {

/// Keys's cubic kernel of coefficient a (Keys, "Cubic convolution interpolation for digital image processing", 1981,
/// section III) at the distances t and 1 + t, t in [0, 1], with the squares of t and 1 - t. T: double or Quantity.
template <class T>
T keys_inner(const T& t, const T& square, double a) {
  return 1.0 + square * (-(a + 3) + (a + 2) * t);
}
template <class T>
T keys_outer(const T& t, const T& square, double a) {
  return a * t * square;
}

/// Along the last axis: two or three tensors one behind the other, sums, and the elements at indices.
Quantity join(const Tensor& x, const Tensor& y, const Tensor& z = Tensor());
Quantity sum_of_rows(const Tensor& x);
Quantity gather_values(const Tensor& x, const Tensor& indices);
/// The elements [first, end) of the last axis; negative numbers, and 0 as the end, count from the end.
Quantity last_axis(const Tensor& x, std::int64_t first, std::int64_t end, std::int64_t step = 1);
/// Differences of neighbours along the last axis, of at least one element.
Quantity steps_of(const Tensor& x);
/// The knots x, float64. ValueError unless they ascend strictly; of a spline of this degree, unless they do not descend
/// and span an interval.
Quantity check_knots(const char* op, const Tensor& x, std::int64_t degree = -1);
/// The dtype of the values of a function of this dtype at points: promoted from all, but for points that are numbers.
DType dtype_at(const char* op, DType function, std::initializer_list<const Operand*> points);
/// The slopes at the knots x [n], at least 2, of the spline through y [..., n] with not-a-knot ends.
Quantity not_a_knot_slopes(const char* op, const Tensor& x, const Tensor& y);

}  // namespace reel::ops
