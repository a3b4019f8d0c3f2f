// A convolution and its gradient with respect to the image are both correlations. With strides, the former reads
// several planes per image, the latter writes several grids of results.
#include "nn/convolution_loops.hpp"

#include <algorithm>
#include <limits>

#include "nn/correlation.hpp"

namespace reel::loops {
namespace {

// Whether there are no terms: the result, if it has elements, is zero then.
bool is_empty_sum(const Tensor& operand, const Tensor& w, const Tensor& to) {
  if (to.size() == 0) return true;
  if (operand.size() > 0 && w.size() > 0) return false;
  std::fill_n(detail::mutable_data<std::byte>(to), static_cast<std::size_t>(to.size()) * item_size(to.dtype()),
              std::byte{0});
  return true;
}

// Elements of an axis at the same distance from window starts modulo the stride: first, first + stride, ....
// Neighbouring elements of the class meet the same taps of neighbouring results.
struct ResidueClass {
  std::int64_t first, count;
  std::int64_t start;  // the result whose tap 0, if it were in the class, meets the first element
  detail::List<std::int64_t> taps, distance;  // taps that meet them, and the distance of their results before `start`
};
struct ResidueClasses {
  detail::List<ResidueClass> classes;
  std::int64_t lowest = std::numeric_limits<std::int64_t>::max();   // first result that meets an element
  std::int64_t highest = std::numeric_limits<std::int64_t>::min();  // one past the last result

  explicit ResidueClasses(const WindowAxis& axis);
  std::int64_t most_elements() const {
    std::int64_t count = 0;
    for (const ResidueClass& c : classes) count = std::max(count, c.count);
    return count;
  }
};

// Element e meets tap t in result i = (e + before - t * dilation) / stride, if that is an integer: elements are classed
// by (e + before) modulo stride.
ResidueClasses::ResidueClasses(const WindowAxis& axis) {
  for (std::int64_t residue = 0; residue < axis.stride; ++residue) {
    ResidueClass c;
    c.start = divide_up(axis.before - residue, axis.stride);
    c.first = c.start * axis.stride + residue - axis.before;
    c.count = divide_up(axis.extent - c.first, axis.stride);
    if (c.count <= 0) continue;
    for (std::int64_t t = 0; t < axis.taps; ++t)
      if (t * axis.dilation % axis.stride == residue) {
        c.taps.push_back(t);
        c.distance.push_back(t * axis.dilation / axis.stride);
      }
    lowest = std::min(lowest, c.start - (c.distance.empty() ? 0 : c.distance.back()));
    highest = std::max(highest, c.start + c.count);
    classes.push_back(std::move(c));
  }
}

}  // namespace

void convolve(const WindowGeometry& c, const Tensor& x, const Tensor& w, const Tensor& y) {
  if (is_empty_sum(x, w, y)) return;
  const ImageView kernel(w);
  Correlation correlation{x,
                          w,
                          y,
                          c.groups,
                          {w.shape()[0] / c.groups * kernel.stride[0], kernel.stride[0], kernel.stride[1]},
                          c.columns.taps,
                          {},
                          {}};
  correlation.grids.push_back({window_taps(c, correlation.set), c.rows.results, c.columns.results, 0, 0, 1, 1});
  correlate(std::move(correlation));
}

void convolve_back(const WindowGeometry& c, const Tensor& y, const Tensor& w, const Tensor& x) {
  if (is_empty_sum(y, w, x)) return;
  const ImageView kernel(w);
  Correlation correlation{y,
                          w,
                          x,
                          c.groups,
                          {w.shape()[0] / c.groups * kernel.stride[0], kernel.stride[1], kernel.stride[0]},
                          c.columns.taps,
                          {},
                          {}};
  const ResidueClasses rows(c.rows), columns(c.columns);
  PlaneSet& set = correlation.set;
  set.planes.push_back({rows.lowest, columns.lowest});
  set.row_step = set.column_step = 1;
  set.image_rows = c.rows.results;
  set.image_columns = c.columns.results;
  set.rows = rows.highest - rows.lowest;
  set.columns = columns.highest - columns.lowest;
  set.share_padding(rows.most_elements(), columns.most_elements());
  for (const ResidueClass& r : rows.classes)
    for (const ResidueClass& s : columns.classes) {
      ResultGrid grid{{}, r.count, s.count, r.first, s.first, c.rows.stride, c.columns.stride};
      for (std::size_t i = 0; i < r.taps.size(); ++i)
        for (std::size_t j = 0; j < s.taps.size(); ++j)
          grid.taps.push_back({0, r.start - r.distance[i] - rows.lowest, s.start - s.distance[j] - columns.lowest,
                               r.taps[i] * c.columns.taps + s.taps[j]});
      correlation.grids.push_back(std::move(grid));
    }
  correlate(std::move(correlation));
}

}  // namespace reel::loops
