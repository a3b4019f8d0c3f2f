// Triangles and diagonals of matrices.
#pragma once
#include <reel/tensor.hpp>

namespace reel::loops {

/// Row i of each matrix y [..., rows, columns] is that of x in columns [0, i + offset], and 0 elsewhere. x has the
/// shape and dtype of y, which is contiguous, and any strides; the offset may be any number. Elements outside the
/// triangle are not multiplied by 0, so a NaN there has no effect.
void copy_lower_triangle(const Tensor& x, std::int64_t offset, const Tensor& y);
/// The same for columns [i + offset, columns).
void copy_upper_triangle(const Tensor& x, std::int64_t offset, const Tensor& y);

/// y [..., rows, columns] is x [..., length] along the diagonal that begins at (row, column) of each matrix, as far as
/// it reaches, and 0 elsewhere. x has the dtype of y, which is contiguous, and any strides.
void place_diagonal(const Tensor& x, std::int64_t row, std::int64_t column, const Tensor& y);

/// The lower triangle of matrices [..., n, n], float32 or float64, with half of the diagonal. As above.
void copy_lower_half(const Tensor& x, const Tensor& y);

}  // namespace reel::loops
