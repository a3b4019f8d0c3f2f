// The gradient of a convolution with respect to its kernel: for each tap the products of two planes, summed over
// images. A few images are laid out at a time, so that sums stay in registers over all of them. What lies between rows
// and around an image is multiplied by zero there, which an infinity or NaN turns into NaN; a sum that has met one is
// not finite in any case, so these few are made again, term by term.
#include <algorithm>
#include <cmath>

#include "loops/parallel.hpp"
#include "loops/window/planes.hpp"

namespace reel::loops {
namespace {

constexpr std::int64_t cached = std::int64_t{1} << 19, fewest = 256;
// Bytes of four planes of y, which stay in the first cache while all of x passes by.
constexpr std::int64_t kept = 7 << 12;
constexpr std::int64_t most_filters = 64, most_taps = 576, enough = 8;

template <class T>
void add_up(T* total, const T* part, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) total[i] += part[i];
}

// Makes the elements of w that are not finite again, of what belongs to them alone.
template <class T>
void make_again(const Convolved& c, const Tensor& given_x, const Tensor& given_y, const Tensor& w) {
  T* sums = detail::mutable_data<T>(w);
  if (std::all_of(sums, sums + w.size(), [](T sum) { return std::isfinite(sum); })) return;
  const Images x(given_x), y(given_y);
  const auto dot = kernels::active().dot[static_cast<std::size_t>(w.dtype())];
  const std::int64_t batch = given_x.shape()[0], channels = w.shape()[1], filters = w.shape()[0] / c.groups;
  // Results whose tap meets an element, [first, last), and the element that the first meets.
  struct Range {
    std::int64_t first, last, element;
  };
  const auto range = [](const ConvolvedAxis& axis, std::int64_t tap) {
    const std::int64_t before = axis.before - tap * axis.dilation,
                       first = std::max<std::int64_t>(0, divide_up(before, axis.stride)),
                       last = std::min(axis.results, divide_up(axis.extent + before, axis.stride));
    return Range{first, last, first * axis.stride - before};
  };
  const auto element = [&](std::int64_t at) {
    const std::int64_t tap = at % (c.rows.taps * c.columns.taps),
                       channel = at / (c.rows.taps * c.columns.taps) % channels,
                       filter = at / (c.rows.taps * c.columns.taps) / channels;
    const Range rows = range(c.rows, tap / c.columns.taps), columns = range(c.columns, tap % c.columns.taps);
    T sum = 0;
    if (columns.last <= columns.first) return sum;
    for (std::int64_t n = 0; n < batch; ++n) {
      const std::byte* of_x = x.at(n, filter / filters * channels + channel) + columns.element * x.step[3];
      const std::byte* of_y = y.at(n, filter) + columns.first * y.step[3];
      for (std::int64_t r = rows.first; r < rows.last; ++r) {
        T part;
        dot({of_x + (rows.element + (r - rows.first) * c.rows.stride) * x.step[2],
             c.columns.stride * x.step[3] / static_cast<std::int64_t>(sizeof(T))},
            {of_y + r * y.step[2], y.step[3] / static_cast<std::int64_t>(sizeof(T))}, columns.last - columns.first,
            &part);
        sum += part;
        if (std::isnan(sum)) return sum;
      }
    }
    return sum;
  };
  const std::int64_t work = batch * c.rows.results * c.columns.results;
  parallel_for(w.size(), std::max<std::int64_t>(1, window_piece / (8 * work + 1)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t at = begin; at < end; ++at)
                   if (!std::isfinite(sums[at])) sums[at] = element(at);
               });
}

}  // namespace

void convolve_filters(const Convolved& c, const Tensor& given_x, const Tensor& given_y, const Tensor& w) {
  if (w.size() == 0) return;
  const DType dtype = w.dtype();
  const kernels::Convolution& k = kernels::active().convolution[static_cast<std::size_t>(dtype)];
  const auto bytes = static_cast<std::int64_t>(k.bytes), lane = static_cast<std::int64_t>(k.lane);
  auto* result = detail::mutable_data<std::byte>(w);
  std::fill_n(result, w.size() * bytes, std::byte{0});
  if (given_x.size() == 0 || given_y.size() == 0) return;
  const Images x(given_x), y(given_y);
  const std::int64_t batch = given_x.shape()[0], groups = c.groups, channels = given_x.shape()[1] / groups,
                     filters = given_y.shape()[1] / groups;
  PlaneSet in{}, out{};
  const std::vector<Tap> taps = windows(c, in);
  const auto window = static_cast<std::int64_t>(taps.size());
  std::int64_t reach = 0;
  for (const Tap& tap : taps) reach = std::max(reach, tap.row);
  out.planes.push_back({0, 0});
  out.row_step = out.column_step = 1;
  out.image_rows = c.rows.results;
  out.image_columns = c.columns.results;
  out.columns = in.columns;

  // Tasks: parts of the filters, of the channels, and of the images' stretches of rows.
  const std::int64_t filter_parts = divide_up(filters, most_filters), filter_count = divide_up(filters, filter_parts);
  const std::int64_t channel_parts = std::min(channels, divide_up(channels * window, most_taps)),
                     channel_count = divide_up(channels, channel_parts);
  const auto laid_out = [&] {
    return (channel_count * in.size() + filter_count * (in.rows - reach) * in.columns) * bytes;
  };
  const auto divisible = [&] {
    return in.rows - reach > 1 && (in.rows - reach) / 2 * in.columns >= fewest && in.rows - reach >= 2 * reach;
  };
  const std::int64_t pairs = groups * filter_parts * channel_parts;
  const auto units_of = [&] { return batch * divide_up(c.rows.results, in.rows - reach); };
  const std::int64_t work = batch * c.rows.results * c.columns.results * filters * channels * window * groups;
  in.rows = c.rows.results + reach;
  while ((laid_out() > cached || (pairs * units_of() < enough && work / units_of() > 4 * window_piece)) && divisible())
    in.rows = (in.rows - reach + 1) / 2 + reach;
  const std::int64_t stretch = in.rows - reach, stretches = divide_up(c.rows.results, stretch), units = units_of();
  const std::int64_t parts =
      std::clamp<std::int64_t>(std::min({divide_up(enough, pairs), units, work / window_piece}), 1, units);
  out.rows = stretch;
  const std::int64_t n = round_up((stretch - 1) * in.columns + c.columns.results, lane),
                     y_stride = round_up(stretch * in.columns, lane) + lane;
  const std::int64_t x_step = round_up(channel_count * in.size() + in.behind(lane), 16),
                     y_step = filter_count * y_stride + lane;
  const std::int64_t at_once = std::clamp<std::int64_t>(kept / (4 * y_stride * bytes), 1, divide_up(units, parts));

  std::vector<std::ptrdiff_t> offsets;
  for (std::int64_t i = 0; i < channel_count; ++i)
    for (const Tap& tap : taps) offsets.push_back(i * in.size() + tap.offset(in));
  Tensor partial;
  if (parts > 1) {
    partial = detail::empty(dtype, {parts - 1, w.size()});
    std::fill_n(detail::mutable_data<std::byte>(partial), partial.size() * bytes, std::byte{0});
  }

  const auto task = [&](std::int64_t t, std::byte* memory) {
    const std::int64_t part = t % parts, f = t / parts % filter_parts, h = t / parts / filter_parts % channel_parts,
                       group = t / parts / filter_parts / channel_parts;
    const std::int64_t first_filter = f * filter_count, own_filters = std::min(filter_count, filters - first_filter);
    const std::int64_t first_channel = h * channel_count,
                       own_channels = std::min(channel_count, channels - first_channel);
    if (own_filters <= 0 || own_channels <= 0) return;
    std::byte* sums = part == 0 ? result : detail::mutable_data<std::byte>(partial) + (part - 1) * w.size() * bytes;
    std::byte* to_y = memory + at_once * x_step * bytes;
    const std::int64_t end = (part + 1) * units / parts;
    for (std::int64_t unit = part * units / parts; unit < end; unit += at_once) {
      const std::int64_t count = std::min(at_once, end - unit);
      for (std::int64_t u = 0; u < count; ++u) {
        const std::int64_t image = (unit + u) / stretches, skipped = (unit + u) % stretches * stretch;
        std::byte* to = memory + u * x_step * bytes;
        for (std::int64_t i = 0; i < own_channels; ++i)
          in.lay_out(k, x, x.at(image, group * channels + first_channel + i), skipped, to + i * in.size() * bytes);
        std::fill_n(to + own_channels * in.size() * bytes, in.behind(lane) * bytes, std::byte{0});
        to = to_y + u * y_step * bytes;
        for (std::int64_t i = 0; i < own_filters; ++i, to += y_stride * bytes) {
          out.lay_out(k, y, y.at(image, group * filters + first_filter + i), skipped, to);
          std::fill_n(to + out.size() * bytes, (y_stride - out.size()) * bytes, std::byte{0});
        }
      }
      k.products({to_y, memory, count, y_step, x_step, y_stride, own_filters, offsets.data(), own_channels * window, n,
                  sums + ((group * filters + first_filter) * channels + first_channel) * window * bytes,
                  channels * window});
    }
  };
  const std::int64_t tasks = pairs * parts;
  Workspaces workspaces(tasks, at_once * (x_step + y_step) * bytes);
  parallel_for(tasks, std::max<std::int64_t>(1, window_piece / (work / tasks + 1)),
               [&](std::int64_t begin, std::int64_t end) {
                 workspaces.use([&](std::byte* memory) {
                   for (std::int64_t t = begin; t < end; ++t) task(t, memory);
                 });
               });
  for (std::int64_t i = 0; i + 1 < parts; ++i) {
    const std::byte* more = detail::mutable_data<std::byte>(partial) + i * w.size() * bytes;
    if (dtype == DType::float32)
      add_up(detail::mutable_data<float>(w), reinterpret_cast<const float*>(more), w.size());
    else
      add_up(detail::mutable_data<double>(w), reinterpret_cast<const double*>(more), w.size());
  }
  if (dtype == DType::float32)
    make_again<float>(c, given_x, given_y, w);
  else
    make_again<double>(c, given_x, given_y, w);
}

}  // namespace reel::loops
