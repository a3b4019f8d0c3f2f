// Dropout and initialisers of weights: scaled draws of ops/make/random.cpp.
#include <algorithm>
#include <cmath>
#include <reel/linalg/factorisations.hpp>
#include <reel/nn/weights.hpp>
#include <reel/ops/index.hpp>

#include "linalg/matrices.hpp"
#include "nn/last_axis.hpp"

namespace reel {
namespace ops {
namespace {

// In double: products of extents may overflow where another extent is 0.
struct Fans {
  double inputs, outputs;
};
Fans fans_of(const Shape& s) {
  const auto extent = [&](int d) { return static_cast<double>(s[d]); };
  if (s.rank() == 0) return {1, 1};
  if (s.rank() == 1) return {extent(0), extent(0)};
  if (s.rank() == 2) return {extent(0), extent(1)};
  double kernel = 1;
  for (int d = 2; d < s.rank(); ++d) kernel *= extent(d);
  return {extent(1) * kernel, extent(0) * kernel};
}
double average(const Fans& f) { return (f.inputs + f.outputs) / 2; }

void check_weights(const char* op, const Shape& shape, DType dtype) {
  if (!is_floating(dtype)) fail<TypeError>(op, "dtype is {}; weights are drawn in a floating dtype, cast them", dtype);
  require_shape(op, shape);
}

Tensor uniform_weights(const char* op, Generator& generator, const Shape& shape, double variance, DType dtype) {
  const double limit = std::sqrt(3 * variance);
  return named(op, [&] { return random_uniform(generator, shape, -limit, limit, dtype); });
}
Tensor normal_weights(const char* op, Generator& generator, const Shape& shape, double variance, DType dtype) {
  constexpr double stddev_truncated = 0.8796256610342398;  // of the normal distribution between -2 and 2
  const double stddev = std::sqrt(variance) / stddev_truncated;
  return named(op, [&] { return random_truncated_normal(generator, shape, 0, stddev, dtype); });
}

}  // namespace
}  // namespace ops

Tensor dropout(const Operand& operand, double p, Generator& generator) {
  constexpr const char* op = "dropout";
  const tape::OpScope scope(operand);
  if (!(p >= 0 && p <= 1)) fail<ValueError>(op, "p is {}; it must lie between 0 and 1", p);
  const auto [d, wide] = ops::promote_operands(op, {&operand}, ops::Accept::floating);
  const Tensor x = ops::to_tensor(op, operand, wide, "x");
  if (p == 0) return ops::cast_to(identity(x), d);
  if (p == 1) return ops::cast_to(where(zeros(Shape{}, DType::boolean), x, 0), d);
  const Tensor kept = ops::named(op, [&] { return random_bernoulli(generator, x.shape(), 1 - p); });
  return ops::cast_to(where(kept, x / (1 - p), 0), d);
}

Tensor glorot_uniform(Generator& generator, const Shape& shape, DType dtype) {
  constexpr const char* op = "glorot_uniform";
  ops::check_weights(op, shape, dtype);
  return ops::uniform_weights(op, generator, shape, 1 / std::max(1., ops::average(ops::fans_of(shape))), dtype);
}
Tensor glorot_normal(Generator& generator, const Shape& shape, DType dtype) {
  constexpr const char* op = "glorot_normal";
  ops::check_weights(op, shape, dtype);
  return ops::normal_weights(op, generator, shape, 1 / std::max(1., ops::average(ops::fans_of(shape))), dtype);
}
Tensor he_uniform(Generator& generator, const Shape& shape, DType dtype) {
  constexpr const char* op = "he_uniform";
  ops::check_weights(op, shape, dtype);
  return ops::uniform_weights(op, generator, shape, 2 / std::max(1., ops::fans_of(shape).inputs), dtype);
}
Tensor he_normal(Generator& generator, const Shape& shape, DType dtype) {
  constexpr const char* op = "he_normal";
  ops::check_weights(op, shape, dtype);
  return ops::normal_weights(op, generator, shape, 2 / std::max(1., ops::fans_of(shape).inputs), dtype);
}

Tensor orthogonal(Generator& generator, const Shape& shape, double gain, DType dtype) {
  constexpr const char* op = "orthogonal";
  ops::check_weights(op, shape, dtype);
  if (!std::isfinite(gain)) fail<ValueError>(op, "gain is {}; it must be finite", gain);
  if (shape.rank() < 2) fail<ShapeError>(op, "shape is {}; it must have at least two axes", shape);
  if (shape.elements() == 0) return zeros(shape, dtype);
  const std::int64_t rows = shape[0], columns = shape.elements() / rows;
  const DType wide = ops::widened(dtype);
  const Shape drawn = {std::max(rows, columns), std::min(rows, columns)};
  const auto [q, r] = qr(ops::named(op, [&] { return random_normal(generator, drawn, 0, 1, wide); }));
  const Tensor signs = where(less(diagonal(r), 0), -gain, gain);
  const Tensor signed_q = q * cast(signs, wide);
  return ops::cast_to(reshape(rows < columns ? transpose(signed_q) : signed_q, shape), dtype);
}

}  // namespace reel
