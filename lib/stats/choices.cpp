// Parts of a tensor, shuffled or chosen at random: gathered. Generators by keys.
#include <reel/ops/index.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/stats/choices.hpp>

#include "core/fail.hpp"
#include "loops/make/philox.hpp"
#include "stats/samplers.hpp"
#include "tape/observe/observe.hpp"

namespace reel {

namespace ops {

namespace {

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
      ops::draw_weighted(generator, ops::cast_to(stop_gradient(weights), DType::float64), count, replace);
  return gather(x, places, axis);
}

}  // namespace reel
