// The gradient of a convolution with respect to its kernel: for each tap the products of two planes, summed over
// images, in steps:
// 1. Images are divided into ranges of rows, so that their planes stay in the second-level cache and there are enough
// tasks. A task has some filters, some channels and some ranges of images.
// 2. It packs the planes of a few ranges at a time, so that sums stay in registers over all of them.
// 3. Where tasks share filters and channels, each adds to a partial sum of its own; partial sums are added in order.
// 4. Gaps between rows and padding are multiplied by zero, which gives NaN for an infinity or NaN. A sum with such a
// term is not finite in any case, so sums that are not finite are computed again, term by term.
#include <algorithm>
#include <cmath>

#include "core/visit.hpp"
#include "kernels/reductions.hpp"
#include "loops/parallel.hpp"
#include "loops/tuning.hpp"
#include "nn/kernels.hpp"
#include "nn/planes.hpp"

namespace reel::loops {
namespace {

// The sum for one tap, channel and filter, term by term.
template <class T>
class SingleElement {
 public:
  SingleElement(const WindowGeometry& c, const Tensor& x, const Tensor& y, const Tensor& w)
      : c_(c),
        x_(x),
        y_(y),
        dot_(kernels::active<kernels::ReductionKernels>().dot[kernels::index(w.dtype())]),
        batch_(x.shape()[0]),
        channels_(w.shape()[1]),
        filters_(w.shape()[0] / c.groups) {}

  T operator()(std::int64_t at) const {
    const std::int64_t taps = c_.rows.taps * c_.columns.taps, tap = at % taps, channel = at / taps % channels_,
                       filter = at / taps / channels_;
    const TapRange rows(c_.rows, tap / c_.columns.taps), columns(c_.columns, tap % c_.columns.taps);
    T sum = 0;
    if (columns.last <= columns.first) return sum;
    for (std::int64_t n = 0; n < batch_; ++n) {
      const std::byte* of_x = x_.at(n, filter / filters_ * channels_ + channel) + columns.element * x_.stride[3];
      const std::byte* of_y = y_.at(n, filter) + columns.first * y_.stride[3];
      for (std::int64_t r = rows.first; r < rows.last; ++r) {
        T term;
        dot_({of_x + (rows.element + (r - rows.first) * c_.rows.stride) * x_.stride[2],
              c_.columns.stride * x_.stride[3] / item},
             {of_y + r * y_.stride[2], y_.stride[3] / item}, columns.last - columns.first, &term);
        sum += term;
        if (std::isnan(sum)) return sum;
      }
    }
    return sum;
  }

 private:
  static constexpr auto item = static_cast<std::int64_t>(sizeof(T));
  // The results along an axis whose tap meets an element, [first, last), and the element that the first one meets.
  struct TapRange {
    std::int64_t first, last, element;
    TapRange(const WindowAxis& axis, std::int64_t tap) {
      const std::int64_t before = axis.before - tap * axis.dilation;
      first = std::max<std::int64_t>(0, divide_up(before, axis.stride));
      last = std::min(axis.results, divide_up(axis.extent + before, axis.stride));
      element = first * axis.stride - before;
    }
  };
  const WindowGeometry& c_;
  const ImageView x_, y_;
  void (*dot_)(kernels::Strided a, kernels::Strided b, std::ptrdiff_t n, void* out);
  std::int64_t batch_, channels_, filters_;  // filters per group
};

template <class T>
void recompute_nonfinite(const WindowGeometry& c, const Tensor& x, const Tensor& y, const Tensor& w) {
  T* sums = detail::mutable_data<T>(w);
  if (std::all_of(sums, sums + w.size(), [](T sum) { return std::isfinite(sum); })) return;
  const SingleElement<T> element(c, x, y, w);
  const std::int64_t work = x.shape()[0] * c.rows.results * c.columns.results;
  parallel_for(w.size(), std::max<std::int64_t>(1, window_grain / (8 * work + 1)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t at = begin; at < end; ++at)
                   if (!std::isfinite(sums[at])) sums[at] = element(at);
               });
}

// A range of the filters, or of the channels, of a group.
struct ChannelRange {
  std::int64_t first, count;
};

class FilterGradient {
 public:
  FilterGradient(const WindowGeometry& c, const Tensor& x, const Tensor& y, const Tensor& w);
  void run();

 private:
  void choose_ranges();
  void choose_strides();
  void run_task(std::int64_t task, std::byte* memory) const;
  void pack_range(std::int64_t index, std::int64_t group, const ChannelRange& filters, const ChannelRange& channels,
                  std::byte* to_x, std::byte* to_y) const;
  void add_partial_sums();
  std::int64_t greatest_row() const;
  std::int64_t num_taps() const { return static_cast<std::int64_t>(taps_.size()); }
  static ChannelRange range_of(std::int64_t index, std::int64_t most, std::int64_t all) {
    return {index * most, std::min(most, all - index * most)};
  }

  const WindowGeometry& c_;
  const Tensor& w_;
  const kernels::Convolution& k_;
  const std::int64_t bytes_, lanes_;  // per element; elements of a vector
  const ImageView x_, y_;
  const std::int64_t batch_, channels_, filters_;  // images; channels and filters per group
  PlaneSet x_planes_{}, y_planes_{};
  const detail::List<Tap> taps_;
  std::int64_t work_ = 0;                                 // multiplications
  std::int64_t filter_ranges_ = 0, filters_at_once_ = 0;  // per group
  std::int64_t channel_ranges_ = 0, channels_at_once_ = 0;
  std::int64_t range_rows_ = 0, row_ranges_ = 0;  // per image
  std::int64_t ranges_ = 0;                       // for all images
  std::int64_t parts_ = 0;                        // partial sums per element
  std::int64_t ranges_at_once_ = 0;
  std::int64_t n_ = 0;                                   // elements of a range that are multiplied
  std::int64_t y_stride_ = 0, x_step_ = 0, y_step_ = 0;  // between planes of y; between ranges
  detail::List<std::ptrdiff_t> offsets_;                 // of taps in the packed planes of x
  Tensor partial_;                                       // [parts - 1, w.size()]; the first is w itself
};

FilterGradient::FilterGradient(const WindowGeometry& c, const Tensor& x, const Tensor& y, const Tensor& w)
    : c_(c),
      w_(w),
      k_(kernels::active<kernels::ConvolutionKernels>()[w.dtype()]),
      bytes_(static_cast<std::int64_t>(k_.bytes)),
      lanes_(static_cast<std::int64_t>(k_.lanes)),
      x_(x),
      y_(y),
      batch_(x.shape()[0]),
      channels_(x.shape()[1] / c.groups),
      filters_(y.shape()[1] / c.groups),
      taps_(window_taps(c, x_planes_)) {
  y_planes_.planes.push_back({0, 0});
  y_planes_.row_step = y_planes_.column_step = 1;
  y_planes_.image_rows = c.rows.results;
  y_planes_.image_columns = c.columns.results;
  y_planes_.columns = x_planes_.columns;
  work_ = batch_ * c.rows.results * c.columns.results * filters_ * channels_ * num_taps() * c.groups;
}

std::int64_t FilterGradient::greatest_row() const {
  std::int64_t row = 0;
  for (const Tap& tap : taps_) row = std::max(row, tap.row);
  return row;
}

// Depends on shapes alone: ranges and parts determine the order of the sums.
void FilterGradient::choose_ranges() {
  // Measured by `bench/run --filter conv2d`.
  constexpr std::int64_t most_filters = 64, most_taps = 576;  // per task: their sums, in float32, take 147 KiB
  constexpr std::int64_t cache_bytes = tuning::l2_bytes;      // for planes
  constexpr std::int64_t least_elements = 256;                // in a range of rows
  constexpr std::int64_t enough_tasks = 8;                    // more tasks cost more overhead
  filter_ranges_ = divide_up(filters_, most_filters);
  filters_at_once_ = divide_up(filters_, filter_ranges_);
  channel_ranges_ = std::min(channels_, divide_up(channels_ * num_taps(), most_taps));
  channels_at_once_ = divide_up(channels_, channel_ranges_);

  PlaneSet& in = x_planes_;
  const std::int64_t reach = greatest_row(), pairs = c_.groups * filter_ranges_ * channel_ranges_;
  const auto range = [&] { return in.rows - reach; };
  const auto packed_bytes = [&] {
    return (channels_at_once_ * in.size() + filters_at_once_ * range() * in.columns) * bytes_;
  };
  const auto divisible = [&] {
    return range() > 1 && range() / 2 * in.columns >= least_elements && range() >= 2 * reach;
  };
  const auto num_ranges = [&] { return batch_ * divide_up(c_.rows.results, range()); };
  const auto too_few = [&] { return pairs * num_ranges() < enough_tasks && work_ / num_ranges() > 4 * window_grain; };
  in.rows = c_.rows.results + reach;
  while ((packed_bytes() > cache_bytes || too_few()) && divisible()) in.rows = (range() + 1) / 2 + reach;
  range_rows_ = y_planes_.rows = range();
  row_ranges_ = divide_up(c_.rows.results, range_rows_);
  ranges_ = num_ranges();
  parts_ =
      std::clamp<std::int64_t>(std::min({divide_up(enough_tasks, pairs), ranges_, work_ / window_grain}), 1, ranges_);
}

void FilterGradient::choose_strides() {
  constexpr std::int64_t cache_bytes = std::int64_t{28} << 10;  // for four planes of y, in the first-level cache
  const PlaneSet& in = x_planes_;
  n_ = round_up((range_rows_ - 1) * in.columns + c_.columns.results, lanes_);
  y_stride_ = round_up(range_rows_ * in.columns, lanes_) + lanes_;
  x_step_ = round_up(channels_at_once_ * in.size() + in.past_end(lanes_), 16);
  y_step_ = filters_at_once_ * y_stride_ + lanes_;
  ranges_at_once_ = std::clamp<std::int64_t>(cache_bytes / (4 * y_stride_ * bytes_), 1, divide_up(ranges_, parts_));
  for (std::int64_t i = 0; i < channels_at_once_; ++i)
    for (const Tap& tap : taps_) offsets_.push_back(i * in.size() + tap.offset(in));
}

// The planes of one range of rows of an image.
void FilterGradient::pack_range(std::int64_t index, std::int64_t group, const ChannelRange& filters,
                                const ChannelRange& channels, std::byte* to_x, std::byte* to_y) const {
  const PlaneSet &in = x_planes_, &out = y_planes_;
  const std::int64_t image = index / row_ranges_, first_row = index % row_ranges_ * range_rows_;
  for (std::int64_t i = 0; i < channels.count; ++i)
    in.pack(k_, x_, x_.at(image, group * channels_ + channels.first + i), first_row, to_x + i * in.size() * bytes_);
  std::fill_n(to_x + channels.count * in.size() * bytes_, in.past_end(lanes_) * bytes_, std::byte{0});
  for (std::int64_t i = 0; i < filters.count; ++i, to_y += y_stride_ * bytes_) {
    out.pack(k_, y_, y_.at(image, group * filters_ + filters.first + i), first_row, to_y);
    std::fill_n(to_y + out.size() * bytes_, (y_stride_ - out.size()) * bytes_, std::byte{0});
  }
}

void FilterGradient::run_task(std::int64_t task, std::byte* memory) const {
  const std::int64_t part = task % parts_, group = task / parts_ / filter_ranges_ / channel_ranges_;
  const ChannelRange filters = range_of(task / parts_ % filter_ranges_, filters_at_once_, filters_),
                     channels =
                         range_of(task / parts_ / filter_ranges_ % channel_ranges_, channels_at_once_, channels_);
  if (filters.count <= 0 || channels.count <= 0) return;
  std::byte* sums = detail::mutable_data<std::byte>(w_);
  if (part > 0) sums = detail::mutable_data<std::byte>(partial_) + (part - 1) * w_.size() * bytes_;
  sums += ((group * filters_ + filters.first) * channels_ + channels.first) * num_taps() * bytes_;
  std::byte* of_y = memory + ranges_at_once_ * x_step_ * bytes_;
  const std::int64_t end = (part + 1) * ranges_ / parts_;
  for (std::int64_t range = part * ranges_ / parts_; range < end; range += ranges_at_once_) {
    const std::int64_t count = std::min(ranges_at_once_, end - range);
    for (std::int64_t i = 0; i < count; ++i)
      pack_range(range + i, group, filters, channels, memory + i * x_step_ * bytes_, of_y + i * y_step_ * bytes_);
    k_.products({of_y, memory, count, y_step_, x_step_, y_stride_, filters.count, offsets_.data(),
                 channels.count * num_taps(), n_, sums, channels_ * num_taps()});
  }
}

void FilterGradient::add_partial_sums() {
  const std::int64_t n = w_.size();
  visit_among<float, double>(w_.dtype(), [this, n]<class T>() {
    T* sums = detail::mutable_data<T>(w_);
    const T* partial = detail::mutable_data<T>(partial_);
    for (std::int64_t part = 1; part < parts_; ++part, partial += n)
      for (std::int64_t i = 0; i < n; ++i) sums[i] += partial[i];
  });
}

void FilterGradient::run() {
  choose_ranges();
  choose_strides();
  if (parts_ > 1) {
    partial_ = detail::empty(w_.dtype(), {parts_ - 1, w_.size()});
    std::fill_n(detail::mutable_data<std::byte>(partial_), partial_.size() * bytes_, std::byte{0});
  }
  const std::int64_t tasks = c_.groups * filter_ranges_ * channel_ranges_ * parts_;
  Workspaces workspaces(tasks, ranges_at_once_ * (x_step_ + y_step_) * bytes_);
  parallel_for(tasks, std::max<std::int64_t>(1, window_grain / (work_ / tasks + 1)),
               [&](std::int64_t begin, std::int64_t end) {
                 workspaces.use([&](std::byte* memory) {
                   for (std::int64_t t = begin; t < end; ++t) run_task(t, memory);
                 });
               });
  if (parts_ > 1) add_partial_sums();
}

}  // namespace

void convolve_filters(const WindowGeometry& c, const Tensor& x, const Tensor& y, const Tensor& w) {
  if (w.size() == 0) return;
  std::fill_n(detail::mutable_data<std::byte>(w), static_cast<std::size_t>(w.size()) * item_size(w.dtype()),
              std::byte{0});
  if (x.size() == 0 || y.size() == 0) return;
  FilterGradient(c, x, y, w).run();
  visit_among<float, double>(w.dtype(), [&]<class T>() { recompute_nonfinite<T>(c, x, y, w); });
}

}  // namespace reel::loops
