#include "loops/index/triangle.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/baseline/copy.hpp"
#include "loops/elementwise/loop_nest.hpp"
#include "loops/index/axis_split.hpp"
#include "loops/loops.hpp"
#include "loops/make/fill.hpp"
#include "loops/product/matrices.hpp"

namespace reel::loops {
namespace {

void copy_triangle(const Tensor& strided, std::int64_t offset, bool lower, const Tensor& y) {
  fill_zero(y);
  const detail::Block* to = detail::block(y);
  if (to->size == 0) return;
  const int row_axis = to->rank - 2;
  Tensor scratch;
  const detail::Block* from = detail::block(strided);
  std::int64_t matrix_stride;
  if (!merged_stride(from, 0, row_axis, matrix_stride)) {
    from = detail::block(contiguous(strided, scratch));
    merged_stride(from, 0, row_axis, matrix_stride);
  }
  const std::int64_t row_stride = from->strides()[row_axis], column_stride = from->strides()[row_axis + 1];
  const std::int64_t rows = to->extents()[row_axis], columns = to->extents()[row_axis + 1];
  const std::int64_t shift = std::clamp(offset, -rows - 1, columns + 1);
  const std::size_t bytes = item_size(to->dtype);
  const auto width = static_cast<std::int64_t>(bytes);
  const auto copy_rows = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const std::int64_t i = r % rows, edge = std::clamp<std::int64_t>(i + shift + lower, 0, columns);
      const std::int64_t first = lower ? 0 : edge, last = lower ? edge : columns;
      const std::int64_t at = r / rows * matrix_stride + i * row_stride + first * column_stride;
      kernels::copy({from->data + at * width, column_stride}, to->data + (r * columns + first) * width, 1, last - first,
                    bytes);
    }
  };
  parallel_for(to->size / columns, std::max<std::int64_t>(1, parallel_threshold / columns), copy_rows);
}

}  // namespace

void copy_lower_triangle(const Tensor& x, std::int64_t offset, const Tensor& y) { copy_triangle(x, offset, true, y); }
void copy_upper_triangle(const Tensor& x, std::int64_t offset, const Tensor& y) { copy_triangle(x, offset, false, y); }

void place_diagonal(const Tensor& strided, std::int64_t row, std::int64_t column, const Tensor& y) {
  const detail::Block* to = detail::block(y);
  if (to->size == 0) return;
  Tensor scratch;
  const std::byte* from = detail::block(contiguous(strided, scratch))->data;
  const std::int64_t length = strided.shape()[-1], rows = to->extents()[to->rank - 2],
                     columns = to->extents()[to->rank - 1];
  // Rows are cleared few at a time: each element is then stored while its cache line is present.
  const std::int64_t chunk = std::max<std::int64_t>(1, tuning::fill_grain / columns);
  with_size(item_size(to->dtype), [&](auto element) {
    constexpr std::int64_t size = sizeof element;
    parallel_for(to->size / columns, chunk, [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t first = begin; first < end; first += chunk) {
        const std::int64_t last = std::min(end, first + chunk);
        std::memset(to->data + first * columns * size, 0, static_cast<std::size_t>((last - first) * columns * size));
        std::int64_t matrix = first / rows, k = first % rows - row;
        for (std::int64_t r = first; r < last; ++r) {
          if (k >= 0 && k < length)
            std::memcpy(to->data + (r * columns + column + k) * size, from + (matrix * length + k) * size,
                        sizeof element);
          if (++k + row < rows) continue;
          k = -row;
          ++matrix;
        }
      }
    });
  });
}

void copy_lower_half(const Tensor& x, const Tensor& y) {
  copy_lower_triangle(x, 0, y);
  const std::int64_t n = order_of(y), count = count_of(y, n);
  visit_lapack_type(y, [&]<class T>() {
    T* matrix = detail::mutable_data<T>(y);
    for (std::int64_t at = 0; at < count; ++at, matrix += n * n)
      for (std::int64_t i = 0; i < n; ++i) matrix[i * n + i] *= T(0.5);
  });
}

}  // namespace reel::loops
