// Samples of vectors.
#include <reel/linalg/products.hpp>
#include <reel/nn/convolution.hpp>
#include <reel/nn/cross_entropy.hpp>
#include <reel/nn/normalization.hpp>
#include <reel/ops/index.hpp>
#include <reel/ops/reduce.hpp>
#include <reel/special.hpp>
#include <reel/stats/samplers.hpp>

#include "linalg/matrices.hpp"
#include "stats/converted.hpp"
#include "stats/samplers.hpp"
#include "tape/observe/observe.hpp"

namespace reel {

namespace ops {

namespace {

DType drawn_dtype(DType d) { return widened(d); }

}  // namespace

}  // namespace ops

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
