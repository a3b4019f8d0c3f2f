// Matrix products of tensors and of batches of strided matrices. Results have the same bits for every number of
// threads: tiles never divide the inner dimension, and those of BLAS depend on the shape alone. The caller has checked
// shapes.
#pragma once
#include <cstdint>
#include <reel/tensor.hpp>

#include "loops/range_function.hpp"

namespace reel::loops {

/// One factor of a product: matrices of rows x columns, strides in elements, and the step from batch to batch for each
/// batch axis of the result (0 where the factor is repeated).
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

/// How BLAS reads a factor: as it is, or as the transpose of a row-major matrix with this row stride.
struct MatrixLayout {
  bool readable, transposed;
  std::int64_t leading;
};
MatrixLayout layout(const Factor& f);

/// x as a factor for a result with `batch_rank` batch axes: its last two axes; the others are aligned with the last
/// batch axes. A vector is a row, or a column if `column_vector`. `x` must outlive the factor.
Factor factor(const Tensor& x, int batch_rank, bool column_vector);

/// How a product is stored; only TiledProduct supports subtraction.
enum class Into : std::uint8_t { overwrite, add, subtract };

/// Which factors are read transposed: with their last two axes exchanged.
struct Transposes {
  bool a = false, b = false;
};
/// out = a b for tensors of one dtype, over the last two axes; a vector is a row on the left and a column on the right.
/// Integers wrap, booleans combine by and, or. out is contiguous, has the shape of the product and shares no memory
/// with a factor. Factors have any strides: repeated rows that are stored once are multiplied once; layouts that BLAS
/// cannot read are copied; the product of a matrix and its own transpose is symmetric where BLAS computes it, which
/// then computes half of it. With Into::add the product is added to out, for floating and complex types other than
/// float16 and bfloat16, and factors of rank at most 2.
void matmul(const Tensor& a, const Tensor& b, Transposes transposes, const Tensor& out, Into into = Into::overwrite);

/// out = x + a b, for matrices; out is x, or shares no memory with it.
void add_matmul(const Tensor& x, const Tensor& a, const Tensor& b, Transposes transposes, const Tensor& out);
/// Whether Into::add gives the bits of a product m x k by k x n that is computed first and added afterwards, and takes
/// one pass: the sums along k are complete before they are added.
bool adds_complete_sums(DType dtype, std::int64_t m, std::int64_t n, std::int64_t k);

/// out = a b, during which `then`, unless null, may be called for the elements of complete rows of out. Returns whether
/// it was, for all of them.
bool matmul_then(const Tensor& a, const Tensor& b, Transposes transposes, const Tensor& out, const RangeFunction* then);

/// The row-major position in a tensor with batch axes `own`, which broadcasts to `batch`, for position i of `batch`.
std::int64_t broadcast_index(std::int64_t i, const Shape& batch, const Shape& own);

}  // namespace reel::loops
