// Samples as quantiles of uniform numbers or by rejection, and samples of what there is as gathered parts.
#include "stats/samplers.hpp"

#include <limits>
#include <reel/ops/index.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/stats/samplers.hpp>

#include "core/fail.hpp"
#include "linalg/matrices.hpp"
#include "loops/make/philox.hpp"
#include "tape/observe/observe.hpp"

namespace reel {

namespace ops {

DType check_samples(const char* op, const Shape& shape, DType dtype, std::initializer_list<const Operand*> parameters) {
  if (!is_floating(dtype)) fail<TypeError>(op, "dtype is {}; samples are floating, cast them", dtype);
  require_shape(op, shape);
  const DType common = common_dtype(op, {parameters.begin(), parameters.size()});
  if (is_complex(common)) fail<TypeError>(op, "is not defined for {}; {}", common, remedy(common));
  for (const Operand* p : parameters) {
    if (!p->is_tensor() || broadcast_shapes(op, shape, p->tensor().shape()) == shape) continue;
    fail<ShapeError>(op, "a parameter of shape {} does not broadcast to the samples' shape {}", p->tensor().shape(),
                     shape);
  }
  return widened(dtype);
}

Tensor uniform_numbers(const char* op, Generator& generator, const Shape& shape, DType dtype,
                       std::initializer_list<const Operand*> parameters) {
  const DType drawn = check_samples(op, shape, dtype, parameters);
  const Tensor u = named(op, [&] { return random_uniform(generator, shape, 0, 1, drawn); });
  // Half of the least positive number that is drawn, in place of 0.
  constexpr double least = 0x1p-54, least_single = 0x1p-33;
  return maximum(u, dtype == DType::float64 ? least : least_single);
}

Tensor variates(const char* op, loops::Variate v, Generator& generator, const Shape& shape, DType dtype,
                std::initializer_list<const Operand*> parameters) {
  Tensor all[2];
  const Tensor* inputs[2] = {};
  std::size_t count = 0;
  for (const Operand* p : parameters) {
    all[count] = broadcast_to(to_tensor(op, *p, dtype, "a parameter"), shape);
    inputs[count] = &all[count];
    ++count;
  }
  return named(op, [&] { return variates(v, generator, {inputs, count}); });
}

namespace {

Tensor scale_or_nan(const Operand& x) { return where(greater(x, 0), x, std::numeric_limits<double>::quiet_NaN()); }

// loc + scale z for draws z by rejection. NaN where the scale is not positive.
Tensor scaled_variates(const char* op, loops::Variate v, Generator& generator, const Shape& shape, DType dtype,
                       std::initializer_list<const Operand*> parameters, const Operand& loc, const Operand& scale) {
  const DType drawn = check_samples(op, shape, dtype, parameters);
  check_samples(op, shape, dtype, {&loc, &scale});
  return cast_to(loc + scale_or_nan(scale) * variates(op, v, generator, shape, drawn, parameters), dtype);
}

// The extent of x along the axis. Normalises `axis`.
std::int64_t parts_along(const char* op, const Tensor& x, std::int64_t& axis) {
  const std::int64_t rank = x.rank();
  if (axis < -rank || axis >= rank) fail<IndexError>(op, "axis {} is not one of x, whose shape is {}", axis, x.shape());
  if (axis < 0) axis += rank;
  return x.shape()[axis];
}

// Checks the arguments of random_choice too.
std::int64_t parts_to_choose(const char* op, const Tensor& x, std::int64_t count, bool replace, std::int64_t& axis) {
  const std::int64_t n = parts_along(op, x, axis);
  if (count < 0 || (count > 0 && n == 0))
    fail<ValueError>(op, "count is {}, of {} parts along axis {}", count, n, axis);
  if (!replace && count > n)
    fail<ValueError>(op, "count is {}, but only {} parts can be chosen once; replace them", count, n);
  return n;
}

}  // namespace

}  // namespace ops

Tensor gamma_rvs(Generator& generator, const Shape& shape, const Operand& a, const Operand& loc, const Operand& scale,
                 DType dtype) {
  const tape::OpScope scope(a);
  return ops::scaled_variates("gamma_rvs", loops::Variate::gamma, generator, shape, dtype, {&a}, loc, scale);
}

Tensor chi2_rvs(Generator& generator, const Shape& shape, const Operand& df, const Operand& loc, const Operand& scale,
                DType dtype) {
  constexpr const char* op = "chi2_rvs";
  const tape::OpScope scope(df);
  const DType drawn = ops::check_samples(op, shape, dtype, {&df, &loc, &scale});
  const Tensor half = 0.5 * ops::to_tensor(op, df, drawn, "df"), twice = 2 * ops::to_tensor(op, scale, drawn, "scale");
  const Operand shape_parameter(half);  // an operand refers to its tensor
  const Tensor z = ops::variates(op, loops::Variate::gamma, generator, shape, drawn, {&shape_parameter});
  return ops::cast_to(loc + ops::scale_or_nan(twice) * z, dtype);
}

Tensor beta_rvs(Generator& generator, const Shape& shape, const Operand& a, const Operand& b, const Operand& loc,
                const Operand& scale, DType dtype) {
  const tape::OpScope scope(a);
  return ops::scaled_variates("beta_rvs", loops::Variate::beta, generator, shape, dtype, {&a, &b}, loc, scale);
}

Tensor t_rvs(Generator& generator, const Shape& shape, const Operand& df, const Operand& loc, const Operand& scale,
             DType dtype) {
  const tape::OpScope scope(df);
  return ops::scaled_variates("t_rvs", loops::Variate::student_t, generator, shape, dtype, {&df}, loc, scale);
}

Tensor vonmises_rvs(Generator& generator, const Shape& shape, const Operand& kappa, const Operand& loc, DType dtype) {
  constexpr const char* op = "vonmises_rvs";
  const tape::OpScope scope(kappa);
  const DType drawn = ops::check_samples(op, shape, dtype, {&kappa, &loc});
  return ops::cast_to(loc + ops::variates(op, loops::Variate::von_mises, generator, shape, drawn, {&kappa}), dtype);
}

Generator split(const Generator& generator, std::uint64_t key) noexcept {
  // Blocks of draws begin with the number 0: two encryptions, the first with the highest number, share none with them.
  return Generator(loops::random_block(loops::random_block(generator.seed(), ~std::uint64_t{0})[0], key)[0]);
}

Tensor random_shuffle(Generator& generator, const Operand& operand, std::int64_t axis) {
  constexpr const char* op = "random_shuffle";
  const tape::OpScope scope(operand);
  const Tensor x = ops::to_tensor(op, operand);
  const std::int64_t n = ops::parts_along(op, x, axis);
  return gather(x, ops::named(op, [&] { return random_permutation(generator, n); }), axis);
}

Tensor random_choice(Generator& generator, const Operand& operand, std::int64_t count, bool replace,
                     std::int64_t axis) {
  constexpr const char* op = "random_choice";
  const tape::OpScope scope(operand);
  const Tensor x = ops::to_tensor(op, operand);
  const std::int64_t n = ops::parts_to_choose(op, x, count, replace, axis);
  if (!replace) {
    const Tensor places = ops::named(op, [&] { return random_permutation(generator, n); });
    return gather(x, places(range_to(count)), axis);
  }
  ops::require_shape(op, {count});
  const Tensor u = ops::named(op, [&] { return random_uniform(generator, {count}); });
  const Tensor places = floor(u * static_cast<double>(n));
  return gather(x, cast(minimum(places, static_cast<double>(n - 1)), DType::int64), axis);
}

Tensor random_choice(Generator& generator, const Operand& operand, std::int64_t count, const Tensor& weights,
                     bool replace, std::int64_t axis) {
  constexpr const char* op = "random_choice";
  const tape::OpScope scope(operand);
  const Tensor x = ops::to_tensor(op, operand);
  const std::int64_t n = ops::parts_to_choose(op, x, count, replace, axis);
  ops::require_defined(op, weights, "weights");
  ops::require_shape(op, {count});
  if (is_complex(weights.dtype())) fail<TypeError>(op, "weights are {}; they must be real", weights.dtype());
  if (weights.shape() != Shape{n})
    fail<ShapeError>(op, "weights have the shape {}, for {} parts along axis {}", weights.shape(), n, axis);
  const Tensor places =
      ops::weighted_choices(generator, ops::cast_to(stop_gradient(weights), DType::float64), count, replace);
  return gather(x, places, axis);
}

}  // namespace reel
