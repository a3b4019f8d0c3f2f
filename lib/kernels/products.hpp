// Matrix products in register tiles, and packing of their factors.
#pragma once
#include "kernels/loop.hpp"
#include "kernels/set.hpp"

namespace reel::kernels {

// One factor of a matrix product: element (i, j) is data[i * row_stride + j * column_stride]. Strides may have any
// value.
struct ProductFactor {
  const void* data;
  std::ptrdiff_t row_stride, column_stride;
};
// c[i * c_row + j] = the sum over p < k of a(i, p) b(p, j), for i < m, j < n; with `add` +=, with `add` and `negate`
// -=. m, n, k >= 1. a is packed in panels of `height` rows, b in panels of MatrixProduct::columns columns: a(i, p) is
// a[i / height * a_panel + i % height * a_row + p * a_step], b(p, j) is b[j / columns * b_panel + p * b_step + j %
// columns]. All counts and strides are in real numbers.
struct ProductBlock {
  std::ptrdiff_t m, n, k;
  std::ptrdiff_t height;  // of a panel of a, at most MatrixProduct::rows
  const void* a;
  std::ptrdiff_t a_row, a_step, a_panel;
  const void* b;
  std::ptrdiff_t b_step, b_panel;
  void* c;
  std::ptrdiff_t c_row;
  bool add, negate;
};
// Matrix products of one element type. A complex product of m x k and k x n is computed as a real one of m x 2 k and 2
// k x 2 n.
struct MatrixProduct {
  std::ptrdiff_t rows, columns;  // of a tile
  std::ptrdiff_t lanes;          // of a vector
  bool reads_tails;              // if false, b is read in whole vectors: pack it unless lanes divides n
  void (*run)(const ProductBlock& p);
  // Packs a factor, whose strides are in elements, into `to`. m, n, k and height of `p` are set; its a or b, and their
  // strides, are then set to the packed factor. a takes panels * height * (k + 2 cache lines) real numbers, b takes
  // panels * columns * k. A real factor b with contiguous rows needs no packing. Complex factors always do.
  void (*pack_a)(const ProductFactor& f, void* to, ProductBlock& p);
  void (*pack_b)(const ProductFactor& f, void* to, ProductBlock& p);
};

struct ProductKernels : ByDType<MatrixProduct> {
  static constexpr KernelFamily family = KernelFamily::products;
};

}  // namespace reel::kernels
