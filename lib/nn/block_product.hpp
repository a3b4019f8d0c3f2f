// Products of small strided matrices inside one task.
#pragma once
#include <algorithm>

#include "loops/product/tiled_product.hpp"

namespace reel::loops {

/// Element (i, j) of a matrix is data[i * row + j * column].
template <class T>
struct Strided2d {
  const T* data;
  std::int64_t row, column;
  Strided2d transposed() const { return {data, column, row}; }
  Strided2d from(std::int64_t i) const { return {data + i * row, row, column}; }
};

/// c[i * width + j] = (or +=) the sum over l < k of a(i, l) b(l, j), i < m, j < n, by the library's own kernels.
/// `memory`: at least block_product_bytes of bounds of m, n and k.
template <class T>
void block_product(const Strided2d<T>& a, const Strided2d<T>& b, T* c, std::int64_t m, std::int64_t n, std::int64_t k,
                   std::int64_t width, Into into, std::byte* memory) {
  if (m == 0 || n == 0) return;
  if (k == 0) {
    for (std::int64_t i = 0; i < m && into == Into::overwrite; ++i) std::fill_n(c + i * width, n, T(0));
    return;
  }
  constexpr DType dtype = sizeof(T) == 4 ? DType::float32 : DType::float64;
  const auto bytes = [](const T* p) { return reinterpret_cast<const std::byte*>(p); };
  const Factor fa{bytes(a.data), m, k, a.row, a.column, {}}, fb{bytes(b.data), k, n, b.row, b.column, {}};
  TiledProduct(dtype, fa, fb, width, into)(fa.data, fb.data, reinterpret_cast<std::byte*>(c), m, n, memory);
}

template <class T>
std::int64_t block_product_bytes(std::int64_t m, std::int64_t n, std::int64_t k) {
  constexpr DType dtype = sizeof(T) == 4 ? DType::float32 : DType::float64;
  const std::int64_t inner = std::max<std::int64_t>(k, 1);
  const Factor a{nullptr, m, inner, inner, 1, {}}, b{nullptr, inner, n, n, 1, {}};
  return TiledProduct(dtype, a, b, n, Into::overwrite).most_bytes(m, n) + 64;
}

}  // namespace reel::loops
