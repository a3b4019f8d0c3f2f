// Checks for convolution and pooling.
#include "nn/windows.hpp"

#include <algorithm>
#include <limits>

namespace reel::ops {
namespace {

// A bound for all options: no sum or product of a few such numbers overflows.
constexpr std::int64_t most_int32 = std::numeric_limits<std::int32_t>::max();

void check_axis(const char* op, const AxisOptions& o) {
  if (o.window < 1 || o.window > most_int32)
    fail<ShapeError>(op, "the window's {} is {}; it must be from 1 to {}", o.name, o.window, most_int32);
  if (o.stride < 1 || o.stride > most_int32)
    fail<ValueError>(op, "stride {} is {}; it must be from 1 to {}", o.name, o.stride, most_int32);
  if (o.dilation < 1 || o.dilation > most_int32)
    fail<ValueError>(op, "dilation {} is {}; it must be from 1 to {}", o.name, o.dilation, most_int32);
  if (o.sides[0] < 0 || o.sides[1] < 0)
    fail<ValueError>(op, "padding of the {} is {{{}, {}}}; to cut an image, slice it", o.name, o.sides[0], o.sides[1]);
  if (o.sides[0] > most_int32 || o.sides[1] > most_int32)
    fail<ValueError>(op, "padding of the {} is {{{}, {}}}; it must be at most {}", o.name, o.sides[0], o.sides[1],
                     most_int32);
}

std::int64_t reach(const AxisOptions& o) { return (o.window - 1) * o.dilation + 1; }
// Elements of padding before and after.
Size2d sides(const AxisOptions& o, std::int64_t extent) {
  if (o.rule == Padding::valid) return {0, 0};
  if (o.rule == Padding::given) return o.sides;
  const std::int64_t results = (extent + o.stride - 1) / o.stride;
  const std::int64_t all = std::max<std::int64_t>(0, (results - 1) * o.stride + reach(o) - extent);
  return {all / 2, all - all / 2};
}

// Padding before and after, for as many results as the axis has.
Size2d sides_of(const loops::WindowAxis& a) {
  const std::int64_t covered = (a.results - 1) * a.stride + (a.taps - 1) * a.dilation + 1;
  return {a.before, a.results == 0 ? 0 : std::max<std::int64_t>(covered - a.extent - a.before, 0)};
}

std::array<AxisOptions, 2> options_of(const WindowOptions& o) {
  return image_options(o.window, o.stride, o.dilation, o.padding);
}

}  // namespace

AxisOptions sequence_options(std::int64_t window, std::int64_t stride, std::int64_t dilation, const Padding1d& p) {
  return {"length", window, stride, dilation, p.rule, p.sides};
}
std::array<AxisOptions, 2> image_options(const Size2d& window, const Size2d& stride, const Size2d& dilation,
                                         const Padding& p) {
  return {{{"height", window[0], stride[0], dilation[0], p.rule, p.rows},
           {"width", window[1], stride[1], dilation[1], p.rule, p.columns}}};
}
std::array<AxisOptions, 3> volume_options(const Size3d& window, const Size3d& stride, const Size3d& dilation,
                                          const Padding3d& p) {
  return {{{"depth", window[0], stride[0], dilation[0], p.rule, p.sides[0]},
           {"height", window[1], stride[1], dilation[1], p.rule, p.sides[1]},
           {"width", window[2], stride[2], dilation[2], p.rule, p.sides[2]}}};
}

void check_windows(const char* op, std::span<const AxisOptions> axes, std::int64_t groups) {
  for (const AxisOptions& o : axes) check_axis(op, o);
  if (groups < 1) fail<ValueError>(op, "groups is {}; it must be at least 1", groups);
}

void window_axes(const char* op, const Shape& image, std::span<const AxisOptions> options,
                 std::span<loops::WindowAxis> axes) {
  constexpr std::int64_t most_padded = std::int64_t{1} << 40;  // elements of a plane or volume
  std::int64_t elements = 1;
  bool too_large = false;
  std::array<std::int64_t, 3> extents{};
  for (std::size_t d = 0; d < options.size(); ++d) {
    const AxisOptions& o = options[d];
    const std::int64_t extent = image[static_cast<int>(d) + 2];
    if (extent > most_int32)
      fail<ShapeError>(op, "the {} of x is {}; it must be at most {}: x is {}", o.name, extent, most_int32, image);
    const Size2d pad = sides(o, extent);
    const std::int64_t padded = extent + pad[0] + pad[1], room = padded - reach(o);
    if (room < 0 && !(o.rule == Padding::same && extent == 0))
      fail<ShapeError>(
          op, "the window's {} of {} is larger than the padded image's, {}: x is {}; pad it, or use Padding::same",
          o.name, reach(o), padded, image);
    if (elements > most_padded / std::max<std::int64_t>(padded, 1)) too_large = true;
    if (!too_large) elements *= std::max<std::int64_t>(padded, 1);
    extents[d] = padded;
    axes[d] = {extent, o.window, room < 0 ? 0 : room / o.stride + 1, o.stride, o.dilation, pad[0]};
  }
  if (too_large) {
    std::string padded;
    for (std::size_t d = 0; d < options.size(); ++d) padded += fmt::format("{}{}", d == 0 ? "" : " x ", extents[d]);
    fail<ShapeError>(op, "x is {}, padded {}: too large; choose less padding, or a smaller dilation", image, padded);
  }
}

void window_axes_from_results(const char* op, const Shape& results, std::span<const AxisOptions> options,
                              std::span<const std::int64_t> size, std::span<loops::WindowAxis> axes) {
  Shape image = results;
  const bool sized = std::any_of(size.begin(), size.end(), [](std::int64_t n) { return n != 0; });
  for (std::size_t d = 0; d < options.size(); ++d) {
    const AxisOptions& o = options[d];
    const int axis = static_cast<int>(d) + 2;
    if (results[axis] > most_int32)
      fail<ShapeError>(op, "the {} of x is {}; it must be at most {}: x is {}", o.name, results[axis], most_int32,
                       results);
    if (sized)
      image[axis] = size[d];
    else if (o.rule == Padding::same)
      image[axis] = results[axis] * o.stride;
    else
      image[axis] = results[axis] == 0 ? 0
                                       : (results[axis] - 1) * o.stride + reach(o) -
                                             (o.rule == Padding::given ? o.sides[0] + o.sides[1] : 0);
    if (image[axis] < 0)
      fail<ShapeError>(op, "the result's {} would be {}: x is {}; choose less padding, or give `size`", o.name,
                       image[axis], results);
  }
  window_axes(op, image, options, axes);
  for (std::size_t d = 0; d < options.size(); ++d)
    if (axes[d].results != results[static_cast<int>(d) + 2])
      fail<ShapeError>(op, "an image whose {} is {} has results of {}, but x is {}; choose another size",
                       options[d].name, axes[d].extent, axes[d].results, results);
}

loops::WindowGeometry window_geometry(const char* op, const Shape& image, const WindowOptions& o) {
  const auto options = options_of(o);
  check_windows(op, options, o.groups);
  std::array<loops::WindowAxis, 2> axes;
  window_axes(op, image, options, axes);
  return {o.groups, axes[0], axes[1]};
}

loops::WindowGeometry geometry_from_results(const char* op, const Shape& results, const WindowOptions& o,
                                            const Size2d& size) {
  const auto options = options_of(o);
  check_windows(op, options, o.groups);
  std::array<loops::WindowAxis, 2> axes;
  window_axes_from_results(op, results, options, size, axes);
  return {o.groups, axes[0], axes[1]};
}

void check_kernel(const char* op, const Shape& image, const Shape& kernel, std::int64_t groups) {
  if (kernel[1] * groups != image[1])
    fail<ShapeError>(op, "x has {} channels, but w is for {} in each of {} groups: x is {}, w is {}; {}", image[1],
                     kernel[1], groups, image, kernel,
                     kernel[1] > 0 && image[1] % kernel[1] == 0 ? fmt::format("set groups to {}", image[1] / kernel[1])
                     : image[1] % groups == 0                   ? fmt::format("w needs {} channels", image[1] / groups)
                                              : std::string("choose groups that divide the channels of x"));
  if (kernel[0] % groups != 0)
    fail<ShapeError>(op, "{} filters do not fall into {} groups: w is {}; choose groups that divide them", kernel[0],
                     groups, kernel);
}

void check_transposed_kernel(const char* op, const Shape& results, const Shape& kernel, std::int64_t groups) {
  if (kernel[0] != results[1])
    fail<ShapeError>(op, "x has {} filters and w has {}: x is {}, w is {}; w needs [{}, ...]", results[1], kernel[0],
                     results, kernel, results[1]);
  if (kernel[0] % groups != 0)
    fail<ShapeError>(op, "{} filters do not fall into {} groups: w is {}; choose groups that divide them", kernel[0],
                     groups, kernel);
}

loops::WindowAxis without_padding(const char* op, loops::WindowAxis axis, const char* name, const Shape& image) {
  for (std::int64_t i = 0; i < axis.results; ++i) {
    const std::int64_t start = i * axis.stride - axis.before;
    const std::int64_t first = start < 0 ? (-start - 1) / axis.dilation + 1 : 0;
    if (first >= axis.taps || start + first * axis.dilation >= axis.extent)
      fail<ValueError>(op,
                       "window {} of the {} has nothing but padding: x is {}; choose less padding, or a smaller "
                       "dilation",
                       i, name, image);
  }
  if (axis.results == 0) return axis;
  const std::int64_t last = (axis.results - 1) * axis.stride - axis.before;
  const std::int64_t skipped = last < 0 ? std::min((-last - 1) / axis.dilation + 1, axis.before / axis.dilation) : 0;
  axis.taps = std::min(axis.taps, (axis.extent + axis.before - 1) / axis.dilation + 1) - skipped;
  axis.before -= skipped * axis.dilation;
  return axis;
}

Tensor image_operand(const char* op, const Operand& x, const char* operand, const char* axes, int rank) {
  const Tensor t = to_tensor(op, x, operand);
  if (!is_floating(t.dtype()))
    fail<TypeError>(op, "{} is {}, which is not available; {}", operand, t.dtype(), remedy(t.dtype()));
  if (t.rank() != rank) fail<ShapeError>(op, "{} must be {}, but it is {}; reshape it", operand, axes, t.shape());
  return t;
}

ImageAndKernel image_and_kernel(const char* op, const Operand& x, const Operand& w, const char* x_axes,
                                const char* w_axes, int rank) {
  const Tensor a = image_operand(op, x, "x", x_axes, rank), b = image_operand(op, w, "w", w_axes, rank);
  const DType dtype = promote(a.dtype(), b.dtype());
  return {cast_to(a, dtype), cast_to(b, dtype)};
}

Padding padding_of(Padding::Rule rule, const loops::WindowAxis& rows, const loops::WindowAxis& columns) {
  if (rule == Padding::same) return rule;
  return {sides_of(rows), sides_of(columns)};
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
