// Matrix products by the kernels of lib/kernels/product, for floating and complex elements and factors with any
// strides. An element is the sum of products along k in order, in blocks of a fixed length, for every tile size.
#pragma once
#include <reel/dtype.hpp>

#include "kernels/products.hpp"
#include "loops/product/matmul.hpp"

namespace reel::loops {

constexpr std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Whether the product of matrices m x k and k x n is computed here: always for complex numbers; for float32 and
/// float64 by a table in the source, for the instruction set in use.
bool is_tiled(DType dtype, std::int64_t m, std::int64_t n, std::int64_t k);

/// out = a b for two matrices, by the arguments of matmul(), if that is one tile of few multiplications. Returns
/// whether it was: extents of 1 and repeated rows or columns are left to matmul().
bool multiply_small(const Tensor& a, const Tensor& b, Transposes transposes, const Tensor& out, Into into);

/// Products of one shape and one layout of factors.
class TiledProduct {
 public:
  /// Rows of results are `width` elements apart. With Into::add and Into::subtract the complete sums along k are
  /// combined with the old values if can_add(k); otherwise each block of k is.
  TiledProduct(DType dtype, const Factor& a, const Factor& b, std::int64_t width, Into into);
  /// Whether sums along k are complete before they are first stored.
  static bool can_add(DType dtype, std::int64_t k);
  /// Bytes of workspace for a tile of up to `rows` rows and `columns` columns.
  std::int64_t bytes(std::int64_t rows, std::int64_t columns) const;
  /// An upper bound of that for all products with at most these rows, columns and k, whatever the layout.
  std::int64_t most_bytes(std::int64_t rows, std::int64_t columns) const;
  /// c[i, j] of rows x columns elements, from rows of a and columns of b that begin at `a` and `b`.
  void operator()(const std::byte* a, const std::byte* b, std::byte* c, std::int64_t rows, std::int64_t columns,
                  std::byte* memory) const;

 private:
  struct Blocks {
    std::int64_t rows, columns;  // upper bounds, in elements
  };
  Blocks largest_blocks() const;
  bool packs_a(std::int64_t columns) const;
  bool packs_b(std::int64_t rows, std::int64_t columns) const;
  std::int64_t bytes_a(std::int64_t rows) const;
  std::int64_t bytes_b(std::int64_t columns) const;

  const kernels::MatrixProduct& loops_;
  std::int64_t parts_, size_;  // real numbers per element; bytes of a real number
  std::int64_t k_, block_k_;   // in elements
  kernels::ProductFactor a_, b_;
  std::int64_t width_;
  bool add_, negate_;
};

}  // namespace reel::loops
