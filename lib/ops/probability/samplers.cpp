// Samples as quantiles of uniform numbers; shuffles and choices as gathers.
#include <limits>
#include <reel/ops/index.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/special.hpp>
#include <reel/stats/continuous.hpp>
#include <reel/stats/samplers.hpp>

#include "core/fail.hpp"
#include "loops/make/philox.hpp"
#include "ops/engine.hpp"
#include "ops/probability/uniform.hpp"
#include "tape/observe/observe.hpp"

namespace reel {

namespace ops {

Tensor uniform_numbers(const char* op, Generator& generator, const Shape& shape, DType dtype,
                       std::initializer_list<const Operand*> parameters) {
  if (!is_floating(dtype)) fail<TypeError>(op, "dtype is {}; samples are floating, cast them", dtype);
  require_shape(op, shape);
  const DType common = common_dtype(op, {parameters.begin(), parameters.size()});
  if (is_complex(common)) fail<TypeError>(op, "is not defined for {}; {}", common, remedy(common));
  for (const Operand* p : parameters) {
    if (!p->is_tensor() || broadcast_shapes(op, shape, p->tensor().shape()) == shape) continue;
    fail<ShapeError>(op, "a parameter of shape {} does not broadcast to the samples' shape {}", p->tensor().shape(),
                     shape);
  }
  const Tensor u = random_uniform(generator, shape, 0, 1, is_half(dtype) ? DType::float32 : dtype);
  return maximum(u, dtype == DType::float64 ? 0x1p-54 : 0x1p-33);
}

namespace {

Tensor or_nan(const Operand& scale) {
  return where(greater(scale, 0), scale, std::numeric_limits<double>::quiet_NaN());
}

// The extent of x along the axis. Normalises `axis`.
std::int64_t parts_along(const char* op, const Tensor& x, std::int64_t& axis) {
  const std::int64_t rank = x.rank();
  if (axis < -rank || axis >= rank) fail<IndexError>(op, "axis {} is not one of x, whose shape is {}", axis, x.shape());
  if (axis < 0) axis += rank;
  return x.shape()[axis];
}

}  // namespace

}  // namespace ops

// clang-format off
#define REEL_SAMPLER_0(law) \
  Tensor law##_rvs(Generator& generator, const Shape& shape, const Operand& loc, const Operand& scale, DType dtype) { \
    const tape::OpScope scope(loc); \
    return ops::cast_to(law##_ppf(ops::uniform_numbers(#law "_rvs", generator, shape, dtype, {&loc, &scale}), loc, scale), dtype); \
  }
#define REEL_SAMPLER_1(law) \
  Tensor law##_rvs(Generator& generator, const Shape& shape, const Operand& a, const Operand& loc, const Operand& scale, DType dtype) { \
    const tape::OpScope scope(a); \
    return ops::cast_to(law##_ppf(ops::uniform_numbers(#law "_rvs", generator, shape, dtype, {&a, &loc, &scale}), a, loc, scale), dtype); \
  }
REEL_SAMPLER_0(norm)
REEL_SAMPLER_0(expon)
REEL_SAMPLER_0(laplace)
REEL_SAMPLER_0(logistic)
REEL_SAMPLER_0(cauchy)
REEL_SAMPLER_0(gumbel_r)
REEL_SAMPLER_0(uniform)
REEL_SAMPLER_1(pareto)
REEL_SAMPLER_1(lognorm)
REEL_SAMPLER_1(weibull_min)
// clang-format on

Tensor gamma_rvs(Generator& generator, const Shape& shape, const Operand& a, const Operand& loc, const Operand& scale,
                 DType dtype) {
  const tape::OpScope scope(a);
  const Tensor u = ops::uniform_numbers("gamma_rvs", generator, shape, dtype, {&a, &loc, &scale});
  return ops::cast_to(loc + ops::or_nan(scale) * gammaincinv(a, u), dtype);
}

Tensor chi2_rvs(Generator& generator, const Shape& shape, const Operand& df, const Operand& loc, const Operand& scale,
                DType dtype) {
  const tape::OpScope scope(df);
  const Tensor u = ops::uniform_numbers("chi2_rvs", generator, shape, dtype, {&df, &loc, &scale});
  return ops::cast_to(loc + 2 * ops::or_nan(scale) * gammaincinv(0.5 * df, u), dtype);
}

Tensor beta_rvs(Generator& generator, const Shape& shape, const Operand& a, const Operand& b, const Operand& loc,
                const Operand& scale, DType dtype) {
  const tape::OpScope scope(a);
  const Tensor u = ops::uniform_numbers("beta_rvs", generator, shape, dtype, {&a, &b, &loc, &scale});
  return ops::cast_to(loc + ops::or_nan(scale) * betaincinv(a, b, u), dtype);
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
  return gather(x, random_permutation(generator, n), axis);
}

Tensor random_choice(Generator& generator, const Operand& operand, std::int64_t count, bool replace,
                     std::int64_t axis) {
  constexpr const char* op = "random_choice";
  const tape::OpScope scope(operand);
  const Tensor x = ops::to_tensor(op, operand);
  const std::int64_t n = ops::parts_along(op, x, axis);
  if (count < 0 || (count > 0 && n == 0))
    fail<ValueError>(op, "count is {}, of {} parts along axis {}", count, n, axis);
  if (!replace && count > n)
    fail<ValueError>(op, "count is {}, but only {} parts can be chosen once; replace them", count, n);
  if (!replace) return gather(x, random_permutation(generator, n)(range_to(count)), axis);
  ops::require_shape(op, {count});
  const Tensor places = floor(random_uniform(generator, {count}) * static_cast<double>(n));
  return gather(x, cast(minimum(places, static_cast<double>(n - 1)), DType::int64), axis);
}

}  // namespace reel
