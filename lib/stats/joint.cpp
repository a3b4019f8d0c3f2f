// Densities of vectors of <reel/stats/joint.hpp>, by triangular solves and sums.
#include <reel/ops/index.hpp>
#include <reel/ops/linalg.hpp>
#include <reel/ops/reduce.hpp>
#include <reel/special.hpp>
#include <reel/stats/joint.hpp>

#include "linalg/matrices.hpp"
#include "stats/converted.hpp"
#include "tape/observe/observe.hpp"

namespace reel {

namespace ops {

namespace {

void require_vectors(const char* op, const Tensor& x, const char* operand, std::int64_t n) {
  if (x.rank() > 0 && x.shape()[-1] == n) return;
  fail<ShapeError>(op, "{} has the shape {}, but its last axis must have {} elements, as the matrices have rows",
                   operand, x.shape(), n);
}

// The square root of the unit roundoff of x's own dtype: the tolerance for sums of probabilities.
double root_of_unit(DType d) {
  return d == DType::float64 ? 0x1p-26 : d == DType::float32 ? 0x1p-12 : d == DType::float16 ? 0x1p-5 : 0x1p-4;
}

}  // namespace

}  // namespace ops

Tensor multivariate_normal_logpdf(const Operand& x, const Operand& mean, const Operand& cholesky_factor) {
  constexpr const char* op = "multivariate_normal_logpdf";
  const tape::OpScope scope(x);
  const ops::Converted c(op, {&x, &mean, &cholesky_factor});
  const Tensor factor = ops::valid_factor(op, ops::square_operand(op, c.x[2], "cholesky_factor"), c.x);
  const std::int64_t n = factor.shape()[-1];
  ops::require_vectors(op, c.x[0], "x", n);
  if (c.x[1].rank() > 0) ops::require_vectors(op, c.x[1], "mean", n);
  const Tensor far = isinf(c.x[0]), d = where(far, 0, c.x[0]) - c.x[1];
  Shape batch = factor.shape();
  batch.pop_back();
  ops::broadcast_shapes(op, batch, d.shape());
  const Tensor y = triangular_solve(factor, expand_dims(d, -1));
  const Tensor value =
      -0.5 * sum(square(y), {-2, -1}) - sum(log(diagonal(factor)), -1) - static_cast<double>(n) * ops::log_root_2pi;
  return ops::cast_to(ops::minus_infinity_outside(value, any(far, -1)), c.result);
}

Tensor dirichlet_logpdf(const Operand& x, const Operand& alpha) {
  constexpr const char* op = "dirichlet_logpdf";
  const tape::OpScope scope(x);
  const ops::Converted c(op, {&x, &alpha});
  if (c.x[0].rank() == 0 || c.x[1].rank() == 0 || c.x[0].shape()[-1] != c.x[1].shape()[-1] || c.x[0].shape()[-1] == 0)
    fail<ShapeError>(op, "x and alpha need a last axis of the same number of elements; their shapes are {} and {}",
                     c.x[0].shape(), c.x[1].shape());
  const Shape shape = ops::broadcast_all(op, c.x);
  const Tensor p = broadcast_to(c.x[0], shape),
               a = broadcast_to(where(greater(c.x[1], 0), c.x[1], ops::not_a_number), shape);
  const Tensor off = greater(abs(sum(p, -1) - 1), ops::root_of_unit(c.result));
  const Tensor outside = logical_or(off, any(less(p, 0), -1)), all_out = expand_dims(outside, -1);
  const Tensor inside = where(logical_and(all_out, logical_not(isnan(p))), 0.5, p);
  const Tensor value = sum(xlogy(a - 1, inside) - lgamma(a), -1) + lgamma(sum(a, -1));
  return ops::cast_to(ops::minus_infinity_outside(value, outside), c.result);
}

}  // namespace reel
