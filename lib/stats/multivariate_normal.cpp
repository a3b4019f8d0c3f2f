// The normal distribution of vectors, by the Cholesky factor of its covariance.
#include <reel/linalg/products.hpp>
#include <reel/ops/index.hpp>
#include <reel/ops/linalg.hpp>
#include <reel/ops/reduce.hpp>
#include <reel/special.hpp>
#include <reel/stats/multivariate_normal.hpp>

#include "linalg/matrices.hpp"
#include "stats/operands.hpp"
#include "stats/samplers.hpp"
#include "tape/observe/observe.hpp"

namespace reel {

namespace ops {

namespace {

void require_vectors(const char* op, const Tensor& x, const char* operand, std::int64_t n) {
  if (x.rank() > 0 && x.shape()[-1] == n) return;
  fail<ShapeError>(op, "{} has the shape {}, but its last axis must have {} elements, as the matrices have rows",
                   operand, x.shape(), n);
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

Tensor multivariate_normal_rvs(Generator& generator, const Shape& shape, const Operand& mean,
                               const Operand& cholesky_factor, DType dtype) {
  constexpr const char* op = "multivariate_normal_rvs";
  const tape::OpScope scope(mean);
  const Tensor factor = ops::square_operand(op, cholesky_factor, "cholesky_factor");
  Shape batch = factor.shape();
  batch.pop_back();
  if (shape.rank() == 0 || shape[-1] != batch[-1] || ops::broadcast_shapes(op, batch, shape) != shape)
    fail<ShapeError>(op, "matrices of shape {} do not broadcast to vectors along the last axis of {}", factor.shape(),
                     shape);
  if (is_complex(factor.dtype())) fail<TypeError>(op, "is not defined for {}", factor.dtype());
  const Tensor u = ops::draw_uniform_numbers(op, generator, shape, dtype, {&mean});
  const DType drawn = ops::widened(dtype);
  return ops::cast_to(mean + matvec(tril(ops::cast_to(factor, drawn)), ndtri(u)), dtype);
}

Tensor multivariate_normal_kl(const Operand& mean1, const Operand& cholesky_factor1, const Operand& mean2,
                              const Operand& cholesky_factor2) {
  constexpr const char* op = "multivariate_normal_kl";
  const tape::OpScope scope(mean1);
  const ops::Converted c(op, {&mean1, &cholesky_factor1, &mean2, &cholesky_factor2});
  const Tensor l1 = tril(ops::square_operand(op, c.x[1], "cholesky_factor1")),
               l2 = ops::valid_factor(op, ops::square_operand(op, c.x[3], "cholesky_factor2"), c.x);
  const std::int64_t n = l1.shape()[-1];
  for (const std::size_t k : {0u, 2u, 3u})
    if (c.x[k].rank() == 0 || c.x[k].shape()[-1] != n)
      fail<ShapeError>(op, "an operand has the shape {}, but its last axis must have {} elements, as cholesky_factor1",
                       c.x[k].shape(), n);
  Shape batch = ops::broadcast_shapes(op, l1.shape(), l2.shape());
  batch.pop_back();
  const Tensor d = c.x[0] - c.x[2];
  ops::broadcast_shapes(op, batch, d.shape());
  const Tensor m = triangular_solve(l2, l1), y = triangular_solve(l2, expand_dims(d, -1));
  const Tensor scale1 = diagonal(l1), scale2 = diagonal(l2);
  const Tensor r = where(logical_and(greater(scale1, 0), greater(scale2, 0)), scale1 / scale2, ops::not_a_number);
  const Tensor of_scales = sum(kl_div(1, square(r)), -1);
  const Tensor of_rest = sum(square(tril(m, -1)), {-2, -1});
  return ops::cast_to(0.5 * (of_scales + of_rest + sum(square(y), {-2, -1})), c.result);
}

}  // namespace reel
