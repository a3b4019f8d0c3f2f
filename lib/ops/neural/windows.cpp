// Checks for convolution and pooling.
#include "ops/neural/windows.hpp"

#include <algorithm>
#include <limits>

namespace reel::ops {
namespace {

constexpr const char* axis_name[] = {"height", "width"};

// A bound for all options: no sum or product of a few such numbers overflows.
constexpr std::int64_t most_int32 = std::numeric_limits<std::int32_t>::max();

void check(const char* op, const WindowOptions& o) {
  for (std::size_t d = 0; d < 2; ++d) {
    if (o.window[d] < 1 || o.window[d] > most_int32)
      fail<ShapeError>(op, "the window's {} is {}; it must be from 1 to {}", axis_name[d], o.window[d], most_int32);
    if (o.stride[d] < 1 || o.stride[d] > most_int32)
      fail<ValueError>(op, "stride {} is {}; it must be from 1 to {}", axis_name[d], o.stride[d], most_int32);
    if (o.dilation[d] < 1 || o.dilation[d] > most_int32)
      fail<ValueError>(op, "dilation {} is {}; it must be from 1 to {}", axis_name[d], o.dilation[d], most_int32);
    const Size2d& sides = d == 0 ? o.padding.rows : o.padding.columns;
    if (sides[0] < 0 || sides[1] < 0)
      fail<ValueError>(op, "padding of the {} is {{{}, {}}}; to cut an image, slice it", axis_name[d], sides[0],
                       sides[1]);
    if (sides[0] > most_int32 || sides[1] > most_int32)
      fail<ValueError>(op, "padding of the {} is {{{}, {}}}; it must be at most_int32 {}", axis_name[d], sides[0],
                       sides[1], most_int32);
  }
  if (o.groups < 1) fail<ValueError>(op, "groups is {}; it must be at least 1", o.groups);
}

std::int64_t reach(const WindowOptions& o, std::size_t d) { return (o.window[d] - 1) * o.dilation[d] + 1; }
// Rows or columns of padding before and after.
Size2d sides(const WindowOptions& o, std::size_t d, std::int64_t extent) {
  if (o.padding.rule == Padding::valid) return {0, 0};
  if (o.padding.rule == Padding::given) return d == 0 ? o.padding.rows : o.padding.columns;
  const std::int64_t results = (extent + o.stride[d] - 1) / o.stride[d];
  const std::int64_t all = std::max<std::int64_t>(0, (results - 1) * o.stride[d] + reach(o, d) - extent);
  return {all / 2, all - all / 2};
}

}  // namespace

loops::WindowGeometry window_geometry(const char* op, const Shape& image, const WindowOptions& o) {
  check(op, o);
  loops::WindowAxis axes[2];
  std::int64_t padded[2];
  for (std::size_t d = 0; d < 2; ++d) {
    const std::int64_t extent = image[static_cast<int>(d) + 2];
    if (extent > most_int32)
      fail<ShapeError>(op, "the image's {} is {}; it must be at most_int32 {}: x is {}", axis_name[d], extent,
                       most_int32, image);
    const Size2d pad = sides(o, d, extent);
    const std::int64_t room = extent + pad[0] + pad[1] - reach(o, d);
    if (room < 0 && !(o.padding.rule == Padding::same && extent == 0))
      fail<ShapeError>(
          op, "the window's {} of {} is larger than the padded image's, {}: x is {}; pad it, or use Padding::same",
          axis_name[d], reach(o, d), extent + pad[0] + pad[1], image);
    padded[d] = extent + pad[0] + pad[1];
    axes[d] = {extent, o.window[d], room < 0 ? 0 : room / o.stride[d] + 1, o.stride[d], o.dilation[d], pad[0]};
  }
  constexpr std::int64_t most_padded = std::int64_t{1} << 40;  // elements of a plane
  if (padded[0] > most_padded / std::max<std::int64_t>(padded[1], 1))
    fail<ShapeError>(op, "x is {}, padded {} x {}: too large; choose less padding, or a smaller dilation", image,
                     padded[0], padded[1]);
  return {o.groups, axes[0], axes[1]};
}

loops::WindowGeometry geometry_from_results(const char* op, const Shape& results, const WindowOptions& o,
                                            const Size2d& size) {
  check(op, o);
  Shape image = results;
  for (std::size_t d = 0; d < 2; ++d) {
    const int axis = static_cast<int>(d) + 2;
    if (results[axis] > most_int32)
      fail<ShapeError>(op, "the {} of x is {}; it must be at most_int32 {}: x is {}", axis_name[d], results[axis],
                       most_int32, results);
    const Size2d pad = o.padding.rule == Padding::given ? sides(o, d, 0) : Size2d{0, 0};
    if (size != Size2d{0, 0})
      image[axis] = size[d];
    else if (o.padding.rule == Padding::same)
      image[axis] = results[axis] * o.stride[d];
    else
      image[axis] = results[axis] == 0 ? 0 : (results[axis] - 1) * o.stride[d] + reach(o, d) - pad[0] - pad[1];
    if (image[axis] < 0)
      fail<ShapeError>(op, "the result's {} would be {}: x is {}; choose less padding, or give `size`", axis_name[d],
                       image[axis], results);
  }
  const loops::WindowGeometry c = window_geometry(op, image, o);
  if (c.rows.results != results[2] || c.columns.results != results[3])
    fail<ShapeError>(op, "an image of {} x {} has results of {} x {}, but x is {}; choose another size", image[2],
                     image[3], c.rows.results, c.columns.results, results);
  return c;
}

Tensor image_operand(const char* op, const Operand& x, const char* operand, const char* axes) {
  const Tensor t = to_tensor(op, x, operand);
  if (!is_floating(t.dtype()))
    fail<TypeError>(op, "{} is {}, which is not available; {}", operand, t.dtype(), remedy(t.dtype()));
  if (t.rank() != 4) fail<ShapeError>(op, "{} must be {}, but it is {}; reshape it", operand, axes, t.shape());
  return t;
}

WindowAttributes attributes_of(const loops::WindowGeometry& c) {
  const auto &r = c.rows, &s = c.columns;
  return {c.groups, r.extent, r.taps,    r.results, r.stride,   r.dilation, r.before,
          s.extent, s.taps,   s.results, s.stride,  s.dilation, s.before};
}
loops::WindowGeometry geometry_of(std::span<const std::int64_t> a) {
  return {a[0], {a[1], a[2], a[3], a[4], a[5], a[6]}, {a[7], a[8], a[9], a[10], a[11], a[12]}};
}

}  // namespace reel::ops
