// Samples of truncated normal distributions and of vectors.
#include <reel/linalg/products.hpp>
#include <reel/ops/index.hpp>
#include <reel/ops/neural.hpp>
#include <reel/ops/reduce.hpp>
#include <reel/special.hpp>
#include <reel/stats/samplers.hpp>

#include "ops/elementwise/composed.hpp"
#include "ops/linalg/linalg.hpp"
#include "ops/probability/converted.hpp"
#include "ops/probability/law.hpp"
#include "ops/probability/uniform.hpp"
#include "tape/observe/observe.hpp"

namespace reel {

namespace ops {

namespace {

using X = const Lane*;

// x with log_ndtr(x) = l: in the far tail by Newton's steps from the first terms of its expansion at -inf.
Lane log_ndtr_inverse(const Lane& l) {
  constexpr double root_of_half = 0.70710678118654752440, root_of_half_pi = 1.25331413731550025121;
  constexpr double tail = -80;     // of l: exp(-80) is normal in float32 as well, and ndtri finds its quantile
  constexpr double inside = -100;  // replaces l above the tail
  constexpr int steps = 5;         // each squares the error, of less than 0.01; one more makes second derivatives right
  const LaneMask far = l < tail;
  const Lane target = where(far, l, inside), twice = -2 * target;
  Lane x = -sqrt(twice - log_2pi - log(twice - log_2pi - log(twice)));
  for (int i = 0; i < steps; ++i) x = x - (log_ndtr(x) - target) * root_of_half_pi * erfcx(-root_of_half * x);
  return where(far, x, ndtri(exp(where(far, -1, l))));
}

// Operands: u, a, b, loc, scale. Both tails are sums of positive terms. The smaller one is inverted.
Lane truncnorm_quantile(X x) {
  const Lane a = finite_end(x[1]), b = finite_end(x[2]), scale = where(x[4] > 0 && x[1] < x[2], x[4], not_a_number);
  const Lane log_u = log(x[0]), log_v = log1p(-x[0]);
  const Lane lower = logaddexp(log_v + log_ndtr(a), log_u + log_ndtr(b)),
             upper = logaddexp(log_v + log_ndtr(-a), log_u + log_ndtr(-b));
  const LaneMask in_lower = lower < upper;
  const Lane tail = log_ndtr_inverse(where(in_lower, lower, upper)), z = where(in_lower, tail, -tail);
  return x[3] + scale * maximum(minimum(z, b), a);
}
constexpr Composed quantiles[] = {{"truncnorm_rvs", truncnorm_quantile}};

DType drawn_dtype(DType d) { return is_half(d) ? DType::float32 : d; }

}  // namespace

}  // namespace ops

Tensor truncnorm_rvs(Generator& generator, const Shape& shape, const Operand& a, const Operand& b, const Operand& loc,
                     const Operand& scale, DType dtype) {
  static const ops::ComposedOps& all = *new ops::ComposedOps(ops::quantiles);
  const tape::OpScope scope(a);
  const Tensor u = ops::uniform_numbers("truncnorm_rvs", generator, shape, dtype, {&a, &b, &loc, &scale});
  const Operand uniform(u);
  const Operand* const operands[] = {&uniform, &a, &b, &loc, &scale};
  return ops::cast_to(all.call(0, operands), dtype);
}

Tensor dirichlet_rvs(Generator& generator, const Shape& shape, const Operand& alpha, DType dtype) {
  constexpr const char* op = "dirichlet_rvs";
  const tape::OpScope scope(alpha);
  if (shape.rank() == 0) fail<ShapeError>(op, "the shape has no axis; its last one is that of the vectors");
  const DType drawn = ops::check_samples(op, shape, dtype, {&alpha});
  return ops::cast_to(softmax(ops::variates(op, loops::Variate::log_gamma, generator, shape, drawn, {&alpha}), -1),
                      dtype);
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
  const Tensor u = ops::uniform_numbers(op, generator, shape, dtype, {&mean});
  const DType drawn = ops::drawn_dtype(dtype);
  return ops::cast_to(mean + matvec(tril(ops::cast_to(factor, drawn)), ndtri(u)), dtype);
}

}  // namespace reel
