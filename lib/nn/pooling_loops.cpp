// Max pooling over planes padded with -inf, and scattering to and gathering from the positions of the maxima.
#include "nn/pooling_loops.hpp"

#include <algorithm>
#include <limits>

#include "core/visit.hpp"
#include "loops/parallel.hpp"
#include "nn/kernels.hpp"
#include "nn/planes.hpp"

namespace reel::loops {
namespace {

// The first tap of window i that meets an element of the axis.
std::int64_t first_tap(const WindowAxis& axis, std::int64_t i) {
  return std::max<std::int64_t>(0, divide_up(axis.before - i * axis.stride, axis.dilation));
}

// For each result, in rows of `width` with unused last columns, the first tap that meets an element.
template <class T>
detail::List<T> first_taps(const WindowGeometry& c, std::int64_t width, std::int64_t padded) {
  detail::List<T> first(static_cast<std::size_t>(padded));
  for (std::int64_t i = 0; i < c.rows.results; ++i)
    for (std::int64_t j = 0; j < c.columns.results; ++j)
      first[static_cast<std::size_t>(i * width + j)] =
          static_cast<T>(first_tap(c.rows, i) * c.columns.taps + first_tap(c.columns, j));
  return first;
}

// The kernel sees the plane of an image as one row. Results between rows are dropped.
template <class T, class Place>
void greatest(const WindowGeometry& c, const Tensor& from, const Tensor& y, Place* places) {
  const kernels::Convolution& k = kernels::active<kernels::ConvolutionKernels>()[y.dtype()];
  const auto lanes = static_cast<std::int64_t>(k.lanes), bytes = static_cast<std::int64_t>(sizeof(T));
  PlaneSet set{};
  const detail::List<Tap> taps = window_taps(c, set);
  set.fill = -std::numeric_limits<double>::infinity();
  detail::List<std::ptrdiff_t> offsets;
  for (const Tap& tap : taps) offsets.push_back(tap.offset(set));
  const std::int64_t rows = c.rows.results, columns = c.columns.results, width = set.columns,
                     n = (rows - 1) * width + columns, padded = round_up(n, 2 * lanes);
  const detail::List<T> first = first_taps<T>(c, width, padded);
  const ImageView x(from);
  const std::int64_t channels = from.shape()[1], count = from.shape()[0] * channels;
  const std::int64_t plane_bytes = round_up((set.size() + set.past_end(lanes) + lanes) * bytes, 64);
  Workspaces workspaces(count, plane_bytes + 2 * padded * bytes);
  constexpr std::int64_t grain_elements = 65536;  // elements compared per task
  const std::int64_t grain =
      std::max<std::int64_t>(1, grain_elements / (rows * columns * static_cast<std::int64_t>(taps.size())));
  parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
    workspaces.use([&](std::byte* memory) {
      T *best = reinterpret_cast<T*>(memory + plane_bytes), *at = best + padded;
      for (std::int64_t image = begin; image < end; ++image) {
        set.pack(k, x, x.at(image / channels, image % channels), 0, memory);
        std::fill_n(reinterpret_cast<T*>(memory) + set.size(), set.past_end(lanes) + lanes, static_cast<T>(set.fill));
        k.greatest(memory, offsets.data(), static_cast<std::ptrdiff_t>(taps.size()), first.data(), best, at, n);
        for (std::int64_t i = 0; i < rows; ++i) {
          const std::int64_t to = (image * rows + i) * columns;
          std::copy_n(best + i * width, columns, detail::mutable_data<T>(y) + to);
          if (places)
            for (std::int64_t j = 0; j < columns; ++j) places[to + j] = static_cast<Place>(at[i * width + j]);
        }
      }
    });
  });
}

// Calls f(window, element) for each window of each image, with global indices; before the windows of an image,
// start(its first element, its number of elements).
template <class Start, class F>
void with_places(const WindowGeometry& c, const Tensor& places, std::int64_t windows, const Start& start, const F& f) {
  const std::int64_t rows = c.rows.results, columns = c.columns.results, plane = c.rows.extent * c.columns.extent;
  detail::List<std::int64_t> shift;
  for (std::int64_t i = 0; i < c.rows.taps; ++i)
    for (std::int64_t j = 0; j < c.columns.taps; ++j)
      shift.push_back((i * c.rows.dilation - c.rows.before) * c.columns.extent + j * c.columns.dilation -
                      c.columns.before);
  if (windows == 0) return;
  visit_among<std::uint8_t, std::int32_t>(places.dtype(), [&]<class Place>() {
    const Place* place = detail::mutable_data<const Place>(places);
    const std::int64_t images = windows / (rows * columns), repeat = places.size() / (rows * columns);
    constexpr std::int64_t grain_windows = 16384;  // windows per task, with one addition each
    parallel_for(images, std::max<std::int64_t>(1, grain_windows / (rows * columns)),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t image = begin; image < end; ++image) {
                     start(image * plane, plane);
                     const Place* own = place + image % repeat * rows * columns;
                     std::int64_t window = image * rows * columns;
                     for (std::int64_t i = 0; i < rows; ++i) {
                       const std::int64_t row = image * plane + i * c.rows.stride * c.columns.extent;
                       for (std::int64_t j = 0; j < columns; ++j, ++window)
                         f(window, row + j * c.columns.stride + shift[static_cast<std::size_t>(*own++)]);
                     }
                   }
                 });
  });
}

}  // namespace

void greatest_of_windows(const WindowGeometry& c, const Tensor& x, const Tensor& y, const Tensor& places) {
  if (y.size() == 0) return;
  visit_among<float, double>(y.dtype(), [&]<class T>() {
    if (!places.defined()) return greatest<T, std::uint8_t>(c, x, y, nullptr);
    visit_among<std::uint8_t, std::int32_t>(
        places.dtype(), [&]<class Place>() { greatest<T>(c, x, y, detail::mutable_data<Place>(places)); });
  });
}

void scatter_windows(const WindowGeometry& c, const Tensor& from, const Tensor& places, const Tensor& to) {
  visit_among<float, double>(to.dtype(), [&]<class T>() {
    const T* terms = detail::mutable_data<T>(from);
    T* sums = detail::mutable_data<T>(to);
    if (from.size() == 0) std::fill_n(sums, to.size(), T(0));
    with_places(
        c, places, from.size(), [=](std::int64_t first, std::int64_t n) { std::fill_n(sums + first, n, T(0)); },
        [=](std::int64_t window, std::int64_t place) { sums[place] += terms[window]; });
  });
}

void gather_windows(const WindowGeometry& c, const Tensor& from, const Tensor& places, const Tensor& to) {
  visit_among<float, double>(to.dtype(), [&]<class T>() {
    const T* elements = detail::mutable_data<T>(from);
    T* out = detail::mutable_data<T>(to);
    with_places(
        c, places, to.size(), [](std::int64_t, std::int64_t) {},
        [=](std::int64_t window, std::int64_t place) { out[window] = elements[place]; });
  });
}

}  // namespace reel::loops
