// Normalisation of channels and of vectors. float16 and bfloat16 compute in float32.
#include <algorithm>
#include <cmath>
#include <reel/nn/channels.hpp>
#include <reel/nn/convolution.hpp>
#include <reel/nn/normalization.hpp>
#include <reel/ops/index.hpp>
#include <reel/ops/make.hpp>

#include "nn/last_axis.hpp"

namespace reel {
namespace ops {
namespace {

void check_epsilon_of(const char* op, double epsilon) {
  if (!(epsilon >= 0)) fail<ValueError>(op, "epsilon is {}; it must be at least 0", epsilon);
}
void check_channel_axis(const char* op, const Tensor& x, int least_rank) {
  if (x.rank() < least_rank)
    fail<ShapeError>(op, "x must be [batch, channels{}], but it is {}; reshape it",
                     least_rank == 2 ? ", ..." : ", length, ...", x.shape());
}

// Each of `groups` groups of channels is normalised over its channels and the axes after them.
Tensor normalize_groups(const Tensor& x, std::int64_t groups, double epsilon) {
  const Shape s = x.shape();
  std::int64_t members = groups == 0 ? 0 : s[1] / groups;
  for (int d = 2; d < s.rank(); ++d) members *= s[d];
  return reshape(layer_norm(reshape(x, {s[0], groups, members}), {.epsilon = epsilon}), s);
}

// ShapeError unless the shape is [channels].
void check_channels(const char* op, const char* what, const Tensor& row, const Tensor& x) {
  if (row.shape() != Shape{x.shape()[1]})
    fail<ShapeError>(op, "{} is {}; x is {} with the channels along axis 1, so it must be [{}]", what, row.shape(),
                     x.shape(), x.shape()[1]);
}
// [channels] as the shape that broadcasts to x.
Tensor beside_channels(const Tensor& row, const Tensor& x) {
  Shape shape{row.shape()[0]};
  for (int d = 2; d < x.rank(); ++d) shape.push_back(1);
  return reshape(row, shape);
}

// groups: 0 for one group per channel. scale, offset: null if absent.
Tensor group_norm_of(const char* op, const Operand& operand, const Operand* scale, const Operand* offset,
                     std::int64_t groups, double epsilon, int least_rank) {
  check_epsilon_of(op, epsilon);
  const Promoted in = scale ? promote_operands(op, {&operand, scale, offset}, Accept::floating)
                            : promote_operands(op, {&operand}, Accept::floating);
  const Tensor x = to_tensor(op, operand, in.wide, "x");
  check_channel_axis(op, x, least_rank);
  const std::int64_t channels = x.shape()[1];
  if (groups > 0 && channels % groups != 0)
    fail<ShapeError>(op, "{} channels do not fall into {} groups: x is {}; choose groups that divide them", channels,
                     groups, x.shape());
  const std::int64_t parts = groups == 0 ? channels : groups;
  if (!scale) return cast_to(x.size() == 0 ? identity(x) : normalize_groups(x, parts, epsilon), in.result);
  const Tensor a = to_tensor(op, *scale, in.wide, "scale"), b = to_tensor(op, *offset, in.wide, "offset");
  check_channels(op, "scale", a, x);
  check_channels(op, "offset", b, x);
  if (x.size() == 0) return cast_to(x * beside_channels(a, x) + beside_channels(b, x), in.result);
  const Shape s = x.shape();
  const Tensor rows = reshape(x, {s[0], channels, x.size() / (s[0] * channels)});
  return cast_to(reshape(group_norm_rows(rows, a, b, parts, epsilon), s), in.result);
}
void check_groups(std::int64_t groups) {
  if (groups < 1) fail<ValueError>("group_norm", "groups is {}; it must be at least 1", groups);
}

}  // namespace
}  // namespace ops

Tensor group_norm(const Operand& x, std::int64_t groups, double epsilon) {
  const tape::OpScope scope(x);
  ops::check_groups(groups);
  return ops::group_norm_of("group_norm", x, nullptr, nullptr, groups, epsilon, 2);
}
Tensor group_norm(const Operand& x, const Operand& scale, const Operand& offset, std::int64_t groups, double epsilon) {
  const tape::OpScope scope(x);
  ops::check_groups(groups);
  return ops::group_norm_of("group_norm", x, &scale, &offset, groups, epsilon, 2);
}

Tensor instance_norm(const Operand& x, double epsilon) {
  const tape::OpScope scope(x);
  return ops::group_norm_of("instance_norm", x, nullptr, nullptr, 0, epsilon, 3);
}
Tensor instance_norm(const Operand& x, const Operand& scale, const Operand& offset, double epsilon) {
  const tape::OpScope scope(x);
  return ops::group_norm_of("instance_norm", x, &scale, &offset, 0, epsilon, 3);
}

Tensor local_response_norm(const Operand& operand, const LocalResponseNormOptions& o) {
  constexpr const char* op = "local_response_norm";
  const tape::OpScope scope(operand);
  if (o.size < 1) fail<ValueError>(op, "size is {}; it must be at least 1", o.size);
  if (!(o.alpha >= 0 && std::isfinite(o.alpha)))
    fail<ValueError>(op, "alpha is {}; it must be finite and at least 0", o.alpha);
  if (!std::isfinite(o.beta)) fail<ValueError>(op, "beta is {}; it must be finite", o.beta);
  if (!(o.k > 0 && std::isfinite(o.k))) fail<ValueError>(op, "k is {}; it must be finite and above 0", o.k);
  const auto [x, d] = ops::promote_operand(op, operand, ops::Accept::floating);
  ops::check_channel_axis(op, x, 2);
  if (x.size() == 0) return ops::cast_to(identity(x), d);
  const Shape s = x.shape();
  const std::int64_t before = std::min(o.size / 2, s[1] - 1), after = std::min((o.size - 1) / 2, s[1] - 1);
  const Tensor images = reshape(square(x), {s[0], 1, s[1], x.size() / (s[0] * s[1])});
  const Tensor sums =
      conv2d(images, ones({1, 1, before + after + 1, 1}, x.dtype()), {.padding = {{before, after}, {0, 0}}});
  const Tensor base = reshape(sums, s) * (o.alpha / static_cast<double>(o.size)) + o.k;
  return ops::cast_to(x * pow(base, -o.beta), d);
}

Tensor l2_normalize(const Operand& operand, const L2NormalizeOptions& options) {
  constexpr const char* op = "l2_normalize";
  const tape::OpScope scope(operand);
  ops::check_epsilon_of(op, options.epsilon);
  const auto [x, d] = ops::promote_operand(op, operand, ops::Accept::floating);
  const Tensor n = norm(x, 2, ops::normalize(op, options.axes, x), true);
  // Zeros that replace a vector of zeros have gradient 0.
  const double least = std::sqrt(options.epsilon);
  const Tensor none = equal(n, 0), divisor = where(none, 1.0, where(less(n, least), least, n));
  return ops::cast_to(where(none, 0.0, x) / divisor, d);
}

}  // namespace reel
