// The Dirichlet distribution of vectors whose sum is 1.
#include <reel/nn/normalization.hpp>
#include <reel/ops/index.hpp>
#include <reel/ops/reduce.hpp>
#include <reel/special.hpp>
#include <reel/stats/dirichlet.hpp>

#include "stats/operands.hpp"
#include "stats/samplers.hpp"
#include "tape/observe/observe.hpp"

namespace reel {

namespace ops {

namespace {

// The square root of the unit roundoff of x's own dtype: the tolerance for sums of probabilities.
double root_of_unit(DType d) {
  return d == DType::float64 ? 0x1p-26 : d == DType::float32 ? 0x1p-12 : d == DType::float16 ? 0x1p-5 : 0x1p-4;
}

}  // namespace

}  // namespace ops

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

Tensor dirichlet_rvs(Generator& generator, const Shape& shape, const Operand& alpha, DType dtype) {
  constexpr const char* op = "dirichlet_rvs";
  const tape::OpScope scope(alpha);
  if (shape.rank() == 0) fail<ShapeError>(op, "the shape has no axis; its last one is that of the vectors");
  const DType drawn = ops::check_samples(op, shape, dtype, {&alpha});
  return ops::cast_to(softmax(ops::variates(op, loops::Variate::log_gamma, generator, shape, drawn, {&alpha}), -1),
                      dtype);
}

}  // namespace reel
