// Products of vectors and matrices, composed of matmul and pointwise ops, and norms of matrices. Dtypes promote;
// products take every dtype but as said. Gradients of every order are those of the ops they consist of.
#pragma once
#include <initializer_list>
#include <reel/tensor.hpp>
#include <span>

namespace [[gnu::visibility("default")]] reel {

/// The Kronecker product: block (i, j) is a_ij b; for other ranks in each axis, aligned at the last (NumPy's kron).
/// ShapeError above half the largest rank.
Tensor kron(const Operand& a, const Operand& b);
/// The cross product of vectors of three elements along `axis`; the other axes broadcast. ShapeError for another
/// extent, TypeError for booleans.
Tensor cross(const Operand& a, const Operand& b, std::int64_t axis = -1);
/// Summed over the last axis of both, shape a[:-1] + b[:-1]; with a scalar, the product (NumPy's inner).
Tensor inner(const Operand& a, const Operand& b);
/// The inner product of all elements, a's conjugated: a scalar. ShapeError for different numbers of elements.
Tensor vdot(const Operand& a, const Operand& b);
/// The inner product along `axis`, a's elements conjugated; the other axes broadcast.
Tensor vecdot(const Operand& a, const Operand& b, std::int64_t axis = -1);

/// The product of several matrices in the order that takes the fewest multiplications, as found from their shapes; the
/// first may be a row vector and the last a column vector (NumPy's multi_dot). ShapeError naming the factors that do
/// not fit, ValueError for none.
Tensor multi_dot(std::span<const Tensor> factors);
Tensor multi_dot(std::initializer_list<Tensor> factors);
/// The n-th power of square matrices [..., m, m], by repeated squaring: the identity, with gradient zero, for n = 0;
/// for n < 0 that of the inverse, with its errors.
Tensor matrix_power(const Operand& a, std::int64_t n);

/// x with tensordot(a, x, x.rank()) = b: a is b.shape() + x.shape() (NumPy's tensorsolve). ShapeError unless both
/// groups of axes have as many elements; errors of solve.
Tensor tensorsolve(const Operand& a, const Operand& b);
/// z with tensordot(z, b, rank) = tensorsolve(a, b), where rank is `leading`: the number of axes of a that count as
/// rows, which are the last ones of z (NumPy's tensorinv).
Tensor tensorinv(const Operand& a, std::int64_t leading = 2);

/// The root of the sum of squares; the largest sum of magnitudes of a column; that of a row.
enum class MatrixNorm : std::uint8_t { frobenius, one, infinity };
/// A norm of matrices [..., n, m]: real, over the last two axes, which keepdims leaves with extent 1. Gradient: as that
/// of norm and max: 0 at the zero matrix, shared among ties. ShapeError for the largest sum of no columns or rows.
Tensor matrix_norm(const Operand& a, MatrixNorm norm = MatrixNorm::frobenius, bool keepdims = false);

}  // namespace reel
