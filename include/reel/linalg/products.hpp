// Products of vectors and matrices, composed of matmul and pointwise ops, and norms of matrices. Dtypes promote.
// Products take every dtype unless it says otherwise. Gradients of every order are those of the ops they consist of.
#pragma once
#include <initializer_list>
#include <reel/tensor.hpp>
#include <span>

namespace [[gnu::visibility("default")]] reel {

/// The Kronecker product: block (i, j) is a_ij b. Other ranks are aligned at the last axis (NumPy's kron). ShapeError
/// if the rank exceeds half of the largest rank.
Tensor kron(const Operand& a, const Operand& b);
/// The cross product of vectors of three elements along `axis`; the other axes broadcast. ShapeError for another
/// extent, TypeError for booleans.
Tensor cross(const Operand& a, const Operand& b, std::int64_t axis = -1);
/// The sum of products over the last axis of both, of shape a[:-1] + b[:-1]. With a scalar, the product (NumPy's
/// inner).
Tensor inner(const Operand& a, const Operand& b);
/// The inner product of all elements, with those of a conjugated: a scalar. ShapeError for different numbers of
/// elements.
Tensor vdot(const Operand& a, const Operand& b);
/// The inner product along `axis`, with the elements of a conjugated. The other axes broadcast.
Tensor vecdot(const Operand& a, const Operand& b, std::int64_t axis = -1);

/// The product of several matrices, in the order that takes the fewest multiplications by their shapes (NumPy's
/// multi_dot). The first may be a row vector, the last a column vector. ShapeError naming the factors that do not fit,
/// ValueError for no factors.
Tensor multi_dot(std::span<const Tensor> factors);
Tensor multi_dot(std::initializer_list<Tensor> factors);
/// The n-th power of square matrices [..., m, m], by repeated squaring. n = 0 gives the identity, with gradient zero. n
/// < 0 gives the power -n of the inverse, with the errors of inverse.
Tensor matrix_power(const Operand& a, std::int64_t n);

/// x with tensordot(a, x, x.rank()) = b, where a has the shape b.shape() + x.shape() (NumPy's tensorsolve). ShapeError
/// unless both groups of axes have as many elements. Other errors are those of solve.
Tensor tensorsolve(const Operand& a, const Operand& b);
/// z with tensordot(z, b, leading) = tensorsolve(a, b) (NumPy's tensorinv). The first `leading` axes of a count as
/// rows; they are the last axes of z.
Tensor tensorinv(const Operand& a, std::int64_t leading = 2);

/// frobenius: the root of the sum of squares. one: the largest sum of magnitudes of a column. infinity: that of a row.
enum class MatrixNorm : std::uint8_t { frobenius, one, infinity };
/// A norm of matrices [..., n, m], real, over the last two axes. keepdims leaves them with extent 1. Gradient: that of
/// norm and max, which is 0 at the zero matrix and shared among ties. ShapeError for the norms one and infinity of a
/// matrix without columns or rows.
Tensor matrix_norm(const Operand& a, MatrixNorm norm = MatrixNorm::frobenius, bool keepdims = false);

}  // namespace reel
