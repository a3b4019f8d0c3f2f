// Packing of planes, and memory for it.
#include "nn/planes.hpp"

#include <algorithm>
#include <reel/runtime.hpp>

namespace reel::loops {

ImageView::ImageView(const Tensor& x) : data(detail::block(x)->data) {
  for (int d = 0; d < 4; ++d)
    stride[d] = detail::block(x)->strides()[d] * static_cast<std::int64_t>(item_size(x.dtype()));
}

namespace {

// The n elements at, at + step, ... of an axis: the first one inside the image, and the first one behind it.
std::int64_t first_inside(std::int64_t at, std::int64_t step, std::int64_t n) {
  return std::clamp<std::int64_t>(divide_up(-at, step), 0, n);
}
std::int64_t end_inside(std::int64_t at, std::int64_t step, std::int64_t extent, std::int64_t first, std::int64_t n) {
  return std::clamp<std::int64_t>(divide_up(extent - at, step), first, n);
}

}  // namespace

void PlaneSet::share_padding(std::int64_t result_rows, std::int64_t result_columns) {
  constexpr std::int64_t lanes = 16;  // in the longest vector, AVX-512 of float32
  std::int64_t most = columns - result_columns;
  for (const Origin& origin : planes) {
    const std::int64_t first = first_inside(origin.column, column_step, columns);
    most = std::min({most, first, columns - end_inside(origin.column, column_step, image_columns, first, columns)});
  }
  const auto vectors = [&](std::int64_t width) { return divide_up((result_rows - 1) * width + result_columns, lanes); };
  if (vectors(columns - most) == vectors(columns)) return;
  shared_padding = most;
  columns -= most;
}

void PlaneSet::pack(const kernels::Convolution& kernel, const ImageView& x, const std::byte* image,
                    std::int64_t first_row, std::byte* to) const {
  const auto bytes = static_cast<std::int64_t>(kernel.bytes);
  for (const Origin& origin : planes) {
    const std::int64_t row = origin.row + first_row * row_step;
    kernels::PlaneLayout p;
    p.first_row = first_inside(row, row_step, rows);
    p.last_row = end_inside(row, row_step, image_rows, p.first_row, rows);
    p.first_column = first_inside(origin.column, column_step, columns);
    p.last_column = end_inside(origin.column, column_step, image_columns, p.first_column, columns);
    p.from = image + (row + p.first_row * row_step) * x.stride[2] +
             (origin.column + p.first_column * column_step) * x.stride[3];
    p.row_stride = row_step * x.stride[2] / bytes;
    p.column_stride = column_step * x.stride[3] / bytes;
    p.to = to;
    p.rows = rows;
    p.columns = columns;
    p.fill = fill;
    kernel.pack(p);
    to += rows * columns * bytes;
  }
}

detail::List<Tap> window_taps(const WindowGeometry& c, PlaneSet& set) {
  set.row_step = c.rows.stride;
  set.column_step = c.columns.stride;
  set.image_rows = c.rows.extent;
  set.image_columns = c.columns.extent;
  set.rows = c.rows.results + (c.rows.taps - 1) * c.rows.dilation / c.rows.stride;
  set.columns = c.columns.results + (c.columns.taps - 1) * c.columns.dilation / c.columns.stride;
  detail::List<Tap> taps;
  for (std::int64_t i = 0; i < c.rows.taps; ++i)
    for (std::int64_t j = 0; j < c.columns.taps; ++j) {
      const std::int64_t row = i * c.rows.dilation, column = j * c.columns.dilation;
      const PlaneSet::Origin origin{row % c.rows.stride - c.rows.before, column % c.columns.stride - c.columns.before};
      const auto at = std::find_if(set.planes.begin(), set.planes.end(), [&](const PlaneSet::Origin& o) {
        return o.row == origin.row && o.column == origin.column;
      });
      taps.push_back({at - set.planes.begin(), row / c.rows.stride, column / c.columns.stride, i * c.columns.taps + j});
      if (at == set.planes.end()) set.planes.push_back(origin);
    }
  set.share_padding(c.rows.results, c.columns.results);
  return taps;
}

}  // namespace reel::loops
