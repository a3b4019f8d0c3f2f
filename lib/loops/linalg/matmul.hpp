// Matrix products of tensors, and of batches of strided matrices. Tiles depend on the shape alone and never divide the
// inner dimension, so that a result has the same bits for every number of threads. Shapes have been checked by the
// caller.
#pragma once
#include <cstdint>
#include <reel/tensor.hpp>

namespace reel::loops {

/// One factor of a product: matrices rows x columns, strides in elements, and the step from batch to batch for each
/// batch axis of the result (0 where it is repeated).
struct Factor {
  const std::byte* data;
  std::int64_t rows, columns;
  std::int64_t row_stride, column_stride;
  Shape batch_strides;

  Factor transposed() const {
    Factor f = *this;
    f.rows = columns;
    f.columns = rows;
    f.row_stride = column_stride;
    f.column_stride = row_stride;
    return f;
  }
};

/// How BLAS reads a factor: as it is or as the transpose of a row-major matrix with this distance between rows.
struct MatrixLayout {
  bool readable, transposed;
  std::int64_t leading;
};
MatrixLayout layout(const Factor& f);

/// x as a factor for a result with `batch_rank` batch axes: its last two axes, the others aligned to the batch's last.
/// A vector is a row, or (column_vector) a column. `x` outlives the factor.
Factor factor(const Tensor& x, int batch_rank, bool column_vector);

/// What becomes of a product; to subtract is TiledProduct's alone.
enum class Into : std::uint8_t { overwrite, add, subtract };

/// Which of two factors is read transposed: its last two axes swapped.
struct Transposes {
  bool a = false, b = false;
};
/// out = a b for tensors of one dtype: of the last two axes, a vector being a row on the left and a column on the
/// right; integers wrap, booleans combine by and, or. out is contiguous, has the shape of the product and shares memory
/// with no factor. Factors of any strides: equal rows that are stored once are multiplied once; where BLAS takes the
/// product, others that it cannot read are copied. With Into::add the product is added to out, for floating and complex
/// types but halves, and factors of at most rank 2.
void matmul(const Tensor& a, const Tensor& b, Transposes transposes, const Tensor& out, Into into = Into::overwrite);

/// The row-major position in a tensor with the batch axes `own` that broadcasts to position i of `batch`.
std::int64_t broadcast_index(std::int64_t i, const Shape& batch, const Shape& own);

}  // namespace reel::loops
