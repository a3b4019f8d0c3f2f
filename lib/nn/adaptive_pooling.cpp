// Adaptive pooling, axis by axis from the last: the elements of each window are gathered first.
#include <algorithm>
#include <reel/nn/pooling.hpp>
#include <reel/ops/index.hpp>
#include <reel/ops/make.hpp>

#include "nn/windows.hpp"
#include "ops/reduce/reduction.hpp"

namespace reel {
namespace ops {
namespace {

// Windows along an axis, each with `taps` indices. The first count[i] indices of window i are those of its elements;
// the rest repeat the last one.
struct AdaptiveWindows {
  std::int64_t windows, taps;
  detail::List<std::int64_t> elements, count;
};

AdaptiveWindows adaptive_windows(std::int64_t n, std::int64_t m) {
  const auto first = [&](std::int64_t i) { return i * n / m; };
  const auto last = [&](std::int64_t i) { return ((i + 1) * n + m - 1) / m; };
  AdaptiveWindows p{m, 0, {}, {}};
  for (std::int64_t i = 0; i < m; ++i) p.count.push_back(last(i) - first(i));
  p.taps = *std::max_element(p.count.begin(), p.count.end());
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t k = 0; k < p.taps; ++k) p.elements.push_back(std::min(first(i) + k, last(i) - 1));
  return p;
}

struct AxisExtents {
  std::int64_t outer, n, inner;
};
AxisExtents extents_at(const Shape& s, int axis) {
  AxisExtents parts{1, s[axis], 1};
  for (int d = 0; d < axis; ++d) parts.outer *= s[d];
  for (int d = axis + 1; d < s.rank(); ++d) parts.inner *= s[d];
  return parts;
}

// x pooled over windows of `taps` adjacent elements of the axis.
Tensor pool_blocks(const Tensor& x, int axis, std::int64_t taps, Pooled pooled) {
  const auto [outer, n, inner] = extents_at(x.shape(), axis);
  if (pooled == Pooled::mean) return mean(reshape(x, {outer, n / taps, taps, inner}), 2);
  return max_pool2d(reshape(x, {1, outer, n, inner}), {taps, 1});
}

Tensor adaptive_axis(const char* op, const Tensor& x, int axis, std::int64_t m, Pooled pooled) {
  const auto [outer, n, inner] = extents_at(x.shape(), axis);
  Shape result = x.shape();
  result[axis] = m;
  if (x.size() == 0) return broadcast_to(sum(x, axis, true), result);
  if (n % m == 0) return reshape(pool_blocks(x, axis, n / m, pooled), result);
  const AdaptiveWindows p = adaptive_windows(n, m);
  require_shape(op, {outer, m * p.taps, inner});
  const Tensor all = gather(x, from_data(p.elements), axis);
  const bool even = std::all_of(p.count.begin(), p.count.end(), [&](std::int64_t c) { return c == p.taps; });
  if (pooled == Pooled::max || even) return reshape(pool_blocks(all, axis, p.taps, pooled), result);
  const Tensor count = reshape(from_data(p.count), {m, 1, 1});
  const Tensor own = less(reshape(arange(p.taps), {p.taps, 1}), count);
  const Tensor sums = sum(where(own, reshape(all, {outer, m, p.taps, inner}), 0), 2);
  return reshape(sums / cast(reshape(count, {m, 1}), x.dtype()), result);
}

Tensor adaptive_pool(const char* op, const Operand& operand, std::span<const std::int64_t> size, Pooled pooled) {
  constexpr std::int64_t most = std::int64_t{1} << 29;  // of extents: products of two fit std::int64_t
  const int axes = static_cast<int>(size.size());
  const Tensor x = image_operand(op, operand, "x", axes_text[axes - 1], axes + 2);
  Shape result = x.shape();
  for (int d = 0; d < axes; ++d) {
    const std::int64_t n = x.shape()[d + 2], m = size[static_cast<std::size_t>(d)];
    if (m < 1 || m > most) fail<ShapeError>(op, "size {} of axis {} must be from 1 to {}", m, d + 2, most);
    if (n < 1 || n > most)
      fail<ShapeError>(op, "axis {} of x has {} elements; it must have from 1 to {}: x is {}", d + 2, n, most,
                       x.shape());
    result[d + 2] = m;
  }
  require_shape(op, result);
  Tensor y = widened(x);
  for (int d = axes; d-- > 0;) y = adaptive_axis(op, y, d + 2, size[static_cast<std::size_t>(d)], pooled);
  return cast_to(y, x.dtype());
}

}  // namespace
}  // namespace ops

Tensor adaptive_avg_pool1d(const Operand& x, std::int64_t size) {
  const tape::OpScope scope(x);
  return ops::adaptive_pool("adaptive_avg_pool1d", x, {&size, 1}, ops::Pooled::mean);
}
Tensor adaptive_avg_pool2d(const Operand& x, const Size2d& size) {
  const tape::OpScope scope(x);
  return ops::adaptive_pool("adaptive_avg_pool2d", x, size, ops::Pooled::mean);
}
Tensor adaptive_avg_pool3d(const Operand& x, const Size3d& size) {
  const tape::OpScope scope(x);
  return ops::adaptive_pool("adaptive_avg_pool3d", x, size, ops::Pooled::mean);
}
Tensor adaptive_max_pool1d(const Operand& x, std::int64_t size) {
  const tape::OpScope scope(x);
  return ops::adaptive_pool("adaptive_max_pool1d", x, {&size, 1}, ops::Pooled::max);
}
Tensor adaptive_max_pool2d(const Operand& x, const Size2d& size) {
  const tape::OpScope scope(x);
  return ops::adaptive_pool("adaptive_max_pool2d", x, size, ops::Pooled::max);
}
Tensor adaptive_max_pool3d(const Operand& x, const Size3d& size) {
  const tape::OpScope scope(x);
  return ops::adaptive_pool("adaptive_max_pool3d", x, size, ops::Pooled::max);
}

}  // namespace reel
