// Copies between layouts, for elements of every size: rows, filled rows, and matrices in tiles, so that neither the
// reads nor the writes of a transposition use one element of a cache line and lose the rest.
#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/kernels.hpp"

namespace reel::kernels {

namespace {

template <std::size_t Bytes>
using Size = std::integral_constant<std::size_t, Bytes>;

// f with the size as a constant.
template <class F>
void with_size(std::size_t bytes, F f) {
  switch (bytes) {
    case 1:
      return f(Size<1>());
    case 2:
      return f(Size<2>());
    case 4:
      return f(Size<4>());
    case 8:
      return f(Size<8>());
    default:
      return f(Size<16>());
  }
}

template <std::size_t Bytes>
void move(const char* from, std::ptrdiff_t step, char* to, std::ptrdiff_t to_step, std::ptrdiff_t n) {
  for (std::ptrdiff_t i = 0; i < n; ++i) std::memcpy(to + i * to_step, from + i * step, Bytes);
}

}  // namespace

void copy(Strided in, void* out, std::ptrdiff_t out_stride, std::ptrdiff_t n, std::size_t bytes) {
  if (n < 1) return;
  const auto* from = static_cast<const char*>(in.data);
  auto* to = static_cast<char*>(out);
  if (in.stride == 1 && out_stride == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(n) * bytes);
    return;
  }
  with_size(bytes, [&](auto size) {
    constexpr auto step = static_cast<std::ptrdiff_t>(size());
    // The frequent cases with a step that the compiler knows.
    if (out_stride == 1)
      move<size()>(from, in.stride * step, to, step, n);
    else if (in.stride == 1)
      move<size()>(from, step, to, out_stride * step, n);
    else
      move<size()>(from, in.stride * step, to, out_stride * step, n);
  });
}

void fill(const void* value, void* out, std::ptrdiff_t out_stride, std::ptrdiff_t n, std::size_t bytes) {
  with_size(bytes, [&](auto size) {
    constexpr auto step = static_cast<std::ptrdiff_t>(size());
    char element[size()];
    std::memcpy(element, value, size());
    auto* to = static_cast<char*>(out);
    if (out_stride == 1)
      for (std::ptrdiff_t i = 0; i < n; ++i) std::memcpy(to + i * step, element, size());
    else
      for (std::ptrdiff_t i = 0; i < n; ++i) std::memcpy(to + i * out_stride * step, element, size());
  });
}

void copy_matrix(const void* in, std::ptrdiff_t row_stride, std::ptrdiff_t column_stride, void* out,
                 std::ptrdiff_t out_stride, std::ptrdiff_t rows, std::ptrdiff_t columns, std::size_t bytes) {
  const auto* from = static_cast<const char*>(in);
  auto* to = static_cast<char*>(out);
  const auto b = static_cast<std::ptrdiff_t>(bytes);
  if (column_stride == 1 || std::abs(column_stride) <= std::abs(row_stride)) {
    for (std::ptrdiff_t r = 0; r < rows; ++r)
      copy({from + r * row_stride * b, column_stride}, to + r * out_stride * b, 1, columns, bytes);
    return;
  }
  with_size(bytes, [&](auto size) {
    // A tile is a few cache lines wide on both sides. Inside it rows are read, which are columns of the result.
    constexpr std::ptrdiff_t step = size(), side = step >= 8 ? 16 : 32;
    for (std::ptrdiff_t r = 0; r < rows; r += side) {
      const std::ptrdiff_t height = std::min(side, rows - r);
      for (std::ptrdiff_t c = 0; c < columns; c += side) {
        const std::ptrdiff_t width = std::min(side, columns - c);
        const char* tile = from + (r * row_stride + c * column_stride) * step;
        char* target = to + (r * out_stride + c) * step;
        for (std::ptrdiff_t j = 0; j < height; ++j)
          move<size()>(tile + j * row_stride * step, column_stride * step, target + j * out_stride * step, step, width);
      }
    }
  });
}

}  // namespace reel::kernels
