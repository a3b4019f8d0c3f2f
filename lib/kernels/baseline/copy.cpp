// Copies between tensors with different strides, for elements of every size: rows, filled rows, and matrices in tiles.
// Tiles use all elements of each cache line that a transposition reads or writes.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "kernels/baseline/copy.hpp"
#include "kernels/short_rows.hpp"

namespace reel::kernels {

namespace {

template <std::size_t Bytes>
using Size = std::integral_constant<std::size_t, Bytes>;

// Calls f with the size as a constant.
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

// As many elements as fit 16 bytes, a register of every baseline.
template <std::size_t Bytes>
struct Vector {
  using Element = std::conditional_t<
      Bytes == 1, std::uint8_t,
      std::conditional_t<Bytes == 2, std::uint16_t, std::conditional_t<Bytes == 4, std::uint32_t, std::uint64_t>>>;
  typedef Element Type __attribute__((vector_size(16)));
  static constexpr std::size_t size = 16 / Bytes;
};

template <class V, std::size_t... J>
[[gnu::always_inline]] inline void interleave(V a, V b, V& low, V& high, std::index_sequence<J...>) {
  constexpr std::size_t n = sizeof...(J);
  low = __builtin_shufflevector(a, b, (J / 2 + J % 2 * n)...);
  high = __builtin_shufflevector(a, b, (n / 2 + J / 2 + J % 2 * n)...);
}

// Transposes a square as wide as a vector. Rows of `from` and `to` are from_line and to_line bytes apart.
template <std::size_t Bytes>
[[gnu::always_inline]] inline void transpose_square(const char* from, std::ptrdiff_t from_line, char* to,
                                                    std::ptrdiff_t to_line) {
  using V = typename Vector<Bytes>::Type;
  constexpr std::size_t n = Vector<Bytes>::size;
  V a[n], b[n];
  for (std::size_t i = 0; i < n; ++i) std::memcpy(&a[i], from + static_cast<std::ptrdiff_t>(i) * from_line, sizeof(V));
  for (std::size_t width = 1; width < n; width *= 2) {
    for (std::size_t i = 0; i < n / 2; ++i)
      interleave(a[i], a[i + n / 2], b[2 * i], b[2 * i + 1], std::make_index_sequence<n>());
    std::copy_n(b, n, a);
  }
  for (std::size_t i = 0; i < n; ++i) std::memcpy(to + static_cast<std::ptrdiff_t>(i) * to_line, &a[i], sizeof(V));
}

// to[r][c] = from[c][r] for `columns` lines of `rows` elements each, with the given strides in bytes.
template <std::size_t Bytes>
void transpose(const char* from, std::ptrdiff_t from_line, char* to, std::ptrdiff_t to_line, std::ptrdiff_t rows,
               std::ptrdiff_t columns) {
  constexpr std::ptrdiff_t step = Bytes, side = Bytes < 16 ? 16 / step : 1;
  const std::ptrdiff_t whole_rows = rows / side * side, whole_columns = columns / side * side;
  const auto square = [&](std::ptrdiff_t r, std::ptrdiff_t c) {
    const char* source = from + c * from_line + r * step;
    char* target = to + r * to_line + c * step;
    if constexpr (Bytes < 16)
      transpose_square<Bytes>(source, from_line, target, to_line);
    else
      std::memcpy(target, source, Bytes);
  };
  // The shorter side inside: cache lines of the longer one are used whole before they are evicted.
  if (rows <= columns)
    for (std::ptrdiff_t c = 0; c < whole_columns; c += side)
      for (std::ptrdiff_t r = 0; r < whole_rows; r += side) square(r, c);
  else
    for (std::ptrdiff_t r = 0; r < whole_rows; r += side)
      for (std::ptrdiff_t c = 0; c < whole_columns; c += side) square(r, c);
  for (std::ptrdiff_t r = whole_rows; r < rows; ++r)
    move<Bytes>(from + r * step, from_line, to + r * to_line, step, whole_columns);
  for (std::ptrdiff_t c = whole_columns; c < columns; ++c)
    move<Bytes>(from + c * from_line, step, to + c * step, to_line, rows);
}

// Elements from which on a check whether all bytes of the element are equal, for memset, costs less than it saves. Row:
// "stream copy".
constexpr std::ptrdiff_t long_fill = 256;
// Bytes per row of a tile: four cache lines. Row: "sum(transpose(x)*x)".
constexpr std::ptrdiff_t line = 256;
// Bytes of a matrix from which on it is transposed through tiles, the smallest first-level data cache; and of a column,
// one cache line. Row: "sum(transpose(x)*x)".
constexpr std::ptrdiff_t large_matrix = 32 * 1024, least_column = 64;

// The same for a matrix larger than L1, through a tile in L1, so that whole cache lines are read and written.
template <std::size_t Bytes>
void transpose_tiled(const char* from, std::ptrdiff_t from_line, char* to, std::ptrdiff_t to_line, std::ptrdiff_t rows,
                     std::ptrdiff_t columns) {
  constexpr std::ptrdiff_t step = Bytes, height = std::min<std::ptrdiff_t>(64, line / step), width = height;
  alignas(64) char tile[height * width * step];
  for (std::ptrdiff_t r = 0; r < rows; r += height)
    for (std::ptrdiff_t c = 0; c < columns; c += width) {
      const std::ptrdiff_t high = std::min(height, rows - r), wide = std::min(width, columns - c);
      transpose<Bytes>(from + c * from_line + r * step, from_line, tile, width * step, high, wide);
      for (std::ptrdiff_t i = 0; i < high; ++i)
        std::memcpy(to + (r + i) * to_line + c * step, tile + i * width * step, static_cast<std::size_t>(wide * step));
    }
}

// Elements one after the other. `rep movs`, by which C libraries copy long ranges, is four to ten times slower on an
// AMD EPYC (Zen 4) if the target begins up to two cache lines behind the source modulo 4096: 4000 bytes in 160 to 460
// ns instead of 42. Short ranges are copied by vectors.
void copy_contiguous(const char* from, char* to, std::size_t bytes) {
  constexpr std::size_t page = 4096, near_bytes = 128, short_bytes = 2048;
  const std::size_t ahead = (reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from)) % page;
  if (ahead == 0 || ahead >= near_bytes) {
    std::memcpy(to, from, bytes);
    return;
  }
  while (bytes > 0) {
    std::size_t part = std::min(bytes, short_bytes);
    asm("" : "+r"(part));  // a call: with a known bound the compiler writes `rep movs` here
    std::memcpy(to, from, part);
    to += part;
    from += part;
    bytes -= part;
  }
}

}  // namespace

void copy(Strided in, void* out, std::ptrdiff_t out_stride, std::ptrdiff_t n, std::size_t bytes) {
  if (n < 1) return;
  const auto* from = static_cast<const char*>(in.data);
  auto* to = static_cast<char*>(out);
  if (in.stride == 1 && out_stride == 1) {
    copy_contiguous(from, to, static_cast<std::size_t>(n) * bytes);
    return;
  }
  if (in.stride == 0 && n >= long_fill) return fill(from, to, out_stride, n, bytes);
  with_size(bytes, [&](auto size) {
    constexpr auto step = static_cast<std::ptrdiff_t>(size());
    // The frequent strides as compile-time constants.
    if (out_stride == 1)
      move<size()>(from, in.stride * step, to, step, n);
    else if (in.stride == 1)
      move<size()>(from, step, to, out_stride * step, n);
    else
      move<size()>(from, in.stride * step, to, out_stride * step, n);
  });
}

void copy_nontemporal(const void* from, void* to, std::size_t bytes) {
#ifdef __SSE2__
  constexpr std::size_t cache_line = 64;
  const auto* source = static_cast<const char*>(from);
  auto* target = static_cast<char*>(to);
  // Whole cache lines by non-temporal stores, both ends by ordinary ones.
  const std::size_t head = std::min(bytes, -reinterpret_cast<std::uintptr_t>(to) % cache_line);
  std::memcpy(target, source, head);
  std::size_t at = head;
  for (; bytes - at >= cache_line; at += cache_line)
    for (std::size_t part = at; part < at + cache_line; part += sizeof(__m128i))
      _mm_stream_si128(reinterpret_cast<__m128i*>(target + part),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + part)));
  std::memcpy(target + at, source + at, bytes - at);
#else
  std::memcpy(to, from, bytes);
#endif
}
void nontemporal_fence() {
#ifdef __SSE2__
  _mm_sfence();
#endif
}

void fill(const void* value, void* out, std::ptrdiff_t out_stride, std::ptrdiff_t n, std::size_t bytes) {
  with_size(bytes, [&](auto size) {
    constexpr auto step = static_cast<std::ptrdiff_t>(size());
    char element[size()];
    std::memcpy(element, value, size());
    auto* to = static_cast<char*>(out);
    if (out_stride == 1 && n >= long_fill &&
        std::all_of(element, element + size(), [&](char byte) { return byte == element[0]; }))
      std::memset(to, element[0], static_cast<std::size_t>(n * step));
    else if (out_stride == 1)
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
    constexpr std::ptrdiff_t step = size(), side = step >= 8 ? 16 : 32;
    // Wide elements are copied straight along a short side.
    const std::ptrdiff_t least = step < 8 ? least_column : line + 1;
    const bool large = rows * columns * step > large_matrix && columns * step > line && rows * step >= least;
    if (row_stride == 1 && !large)
      return transpose<size()>(from, column_stride * step, to, out_stride * step, rows, columns);
    if constexpr (step < 8)  // wider elements do not profit
      if (row_stride == 1)
        return transpose_tiled<size()>(from, column_stride * step, to, out_stride * step, rows, columns);
    // A tile is a few cache lines wide on both sides. Its inner loop reads rows, which are columns of the result.
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

void split_rows(const void* rows, std::ptrdiff_t elements, std::ptrdiff_t n, void* columns, std::ptrdiff_t apart,
                std::size_t bytes, const ShortRows& table) {
  if (n == 0) return;
  if (elements <= ShortRows::split_max && ShortRows::has_size(bytes))
    return table.split[bytes == 8][elements - short_row_min](rows, n, columns, apart);
  // Transposed in blocks of 16 bytes by 16: but for the last rows the blocks reach into the rows behind them.
  const std::ptrdiff_t whole = (n - 1) / 4 * 4, size = static_cast<std::ptrdiff_t>(bytes);
  copy_matrix(rows, 1, elements, columns, apart, split_columns(elements, bytes), whole, bytes);
  copy_matrix(static_cast<const char*>(rows) + whole * elements * size, 1, elements,
              static_cast<char*>(columns) + whole * size, apart, elements, n - whole, bytes);
}

}  // namespace reel::kernels
