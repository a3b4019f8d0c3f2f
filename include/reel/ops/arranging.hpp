// Matrices arranged from diagonals, blocks and vectors, and axes in other orders. All are linear; each gradient is the
// op's transpose.
#pragma once
#include <initializer_list>
#include <reel/tensor.hpp>
#include <span>
#include <vector>

namespace [[gnu::visibility("default")]] reel {

/// x with two of its axes exchanged. A view.
Tensor swapaxes(const Operand& x, std::int64_t first, std::int64_t second);
/// The elements of x in row-major order, with one axis.
Tensor flatten(const Operand& x);
/// x turned by k quarters from axis `first` towards axis `second` (NumPy's rot90). A view. ValueError for equal axes.
Tensor rot90(const Operand& x, std::int64_t k = 1, std::int64_t first = 0, std::int64_t second = 1);

/// Square matrices with the last axis of x as diagonal, `offset` above the main one, and zeros elsewhere.
Tensor diag_embed(const Operand& x, std::int64_t offset = 0);
/// x with the diagonals of its last two axes replaced by `values`, which broadcast to diagonal(x, offset), in x's
/// dtype.
Tensor set_diagonal(const Operand& x, const Operand& values, std::int64_t offset = 0);
/// Zero below the diagonal `lower` under the main one and above the diagonal `upper` over it, of the last two axes; a
/// negative number keeps all on that side (TensorFlow's band_part).
Tensor band_part(const Operand& x, std::int64_t lower, std::int64_t upper);
/// One matrix with the given ones, of rank 2, along its diagonal, and zeros elsewhere. Dtypes promote.
Tensor block_diag(std::span<const Tensor> blocks);
Tensor block_diag(std::initializer_list<Tensor> blocks);
/// The coordinates of a grid: each vector along an axis of its own, all broadcast to their common shape, the first two
/// axes exchanged as NumPy has it unless `ij`. Views.
std::vector<Tensor> meshgrid(std::span<const Tensor> vectors, bool ij = false);
std::vector<Tensor> meshgrid(std::initializer_list<Tensor> vectors, bool ij = false);

/// The matrix constant along diagonals, with this first column and first row, whose first element is not read; constant
/// along antidiagonals, with this first column and last row, whose first element is not read; and the one whose columns
/// are the vector rotated further and further down (SciPy's toeplitz, hankel, circulant). Vectors have one axis.
Tensor toeplitz(const Operand& column, const Operand& row);
Tensor hankel(const Operand& column, const Operand& row);
Tensor circulant(const Operand& column);

}  // namespace reel
