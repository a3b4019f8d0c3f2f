// Matrix products by the kernels of lib/kernels/product: of floating and complex elements, factors of any strides. An
// element is the sum of products along k in order, in blocks of a fixed length, whatever the tile it is computed in.
#pragma once
#include <reel/dtype.hpp>

#include "kernels/kernels.hpp"
#include "loops/linalg/matmul.hpp"

namespace reel::loops {

constexpr std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Whether the product of matrices m x k and k x n is computed here: always for complex numbers; of float32 and float64
/// where a table in the source says so, for the instruction set in use.
bool is_tiled(DType dtype, std::int64_t m, std::int64_t n, std::int64_t k);

/// Products of one shape and one layout of factors.
class TiledProduct {
 public:
  /// Rows of results lie `width` elements apart. With Into::add and Into::subtract the sums along all of k are added to
  /// or subtracted from what is there, if can_add(k); else one block of k after the other.
  TiledProduct(DType dtype, const Factor& a, const Factor& b, std::int64_t width, Into into);
  /// Whether a sum along k is complete before it is stored for the first time.
  static bool can_add(DType dtype, std::int64_t k);
  /// Of the memory that a tile of up to so many rows and columns takes.
  std::int64_t bytes(std::int64_t rows, std::int64_t columns) const;
  /// At least the same for all products with as many rows, columns and k at most, however their factors lie.
  std::int64_t most_bytes(std::int64_t rows, std::int64_t columns) const;
  /// c[i, j] of rows x columns elements from rows of a and columns of b that begin at `a` and `b`.
  void operator()(const std::byte* a, const std::byte* b, std::byte* c, std::int64_t rows, std::int64_t columns,
                  std::byte* memory) const;

 private:
  struct Blocks {
    std::int64_t rows, columns;  // at most, in elements
  };
  Blocks largest_blocks() const;
  bool packs_a(std::int64_t columns) const;
  bool packs_b(std::int64_t rows, std::int64_t columns) const;
  std::int64_t bytes_a(std::int64_t rows) const;
  std::int64_t bytes_b(std::int64_t columns) const;

  const kernels::MatrixProduct& loops_;
  std::int64_t parts_, size_;  // real numbers of an element; bytes of one of these
  std::int64_t k_, block_k_;   // elements
  kernels::ProductFactor a_, b_;
  std::int64_t width_;
  bool add_, negate_;
};

}  // namespace reel::loops
