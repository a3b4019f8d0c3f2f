// Products of vectors and matrices, composed of matmul and pointwise ops, and norms of matrices. Dtypes promote.
// Products take every dtype unless it says otherwise. Gradients of every order are those of the ops they consist of.
#pragma once
#include <initializer_list>
#include <reel/api.hpp>
#include <reel/tensor.hpp>
#include <span>

namespace REEL_API reel {

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
/// The products of matrices a [..., n, m] and vectors x [..., m], whose batch axes broadcast; no element is conjugated
/// (NumPy's matvec). ShapeError for other shapes.
Tensor matvec(const Operand& a, const Operand& x);

/// The product of several matrices, in the order that takes the fewest multiplications by their shapes (NumPy's
/// multi_dot). The first may be a row vector, the last a column vector. ShapeError naming the factors that do not fit,
/// ValueError for no factors.
Tensor multi_dot(std::span<const Tensor> factors, const detail::CallLine& at = {});
Tensor multi_dot(std::initializer_list<Tensor> factors, const detail::CallLine& at = {});
/// The n-th power of square matrices [..., m, m], by repeated squaring. n = 0 gives the identity, with gradient zero. n
/// < 0 gives the power -n of the inverse, with the errors of inverse.
Tensor matrix_power(const Operand& a, std::int64_t n);

/// The first n columns of H_1 H_2 ... H_k for reflectors H_i = 1 - tau_i v_i v_i^H: a is [..., m, n], tau [..., k], m
/// >= n >= k (ShapeError), and v_i is 0 above row i, 1 there, and column i of a below (LAPACK's orgqr and ungqr;
/// PyTorch's householder_product). Other elements of a are not read and have gradient 0. By one triangular matrix for
/// all reflectors (Schreiber and Van Loan 1989). Dtypes as of factorisations.
Tensor householder_product(const Operand& a, const Operand& tau);

/// x with tensordot(a, x, x.rank()) = b, where a has the shape b.shape() + x.shape() (NumPy's tensorsolve). ShapeError
/// unless both groups of axes have as many elements. Other errors are those of solve.
Tensor tensorsolve(const Operand& a, const Operand& b);
/// z with tensordot(z, b, leading) = tensorsolve(a, b) (NumPy's tensorinv). The first `leading` axes of a count as
/// rows; they are the last axes of z.
Tensor tensorinv(const Operand& a, std::int64_t leading = 2);

/// frobenius: the root of the sum of squares. one: the largest sum of magnitudes of a column. infinity: that of a row.
/// spectral: the largest singular value. nuclear: the sum of singular values.
enum class MatrixNorm : std::uint8_t { frobenius, one, infinity, spectral, nuclear };
/// A norm of matrices [..., n, m], real, over the last two axes. keepdims leaves them with extent 1. Gradient: that of
/// norm and max, which is 0 at the zero matrix, to every order, and shared among ties: for the square of frobenius
/// write sum(square(a), {-2, -1}). ShapeError for the norms one, infinity and spectral of a matrix without columns,
/// rows or singular values.
///
/// spectral and nuclear compute in float32 and float64, complex or not: float16 and bfloat16 in float32, integers in
/// float64. ValueError without LAPACK. Of k singular values, those that differ by at most k + 10 times the rounding
/// error of the largest one count as equal. Gradient of spectral: u v^H of the largest value; second derivatives are
/// NaN if several values are the largest. Gradient of nuclear: u v^H of all values that do not count as 0, the
/// subgradient of least norm; second derivatives are NaN if a value counts as 0, and right if others are equal.
Tensor matrix_norm(const Operand& a, MatrixNorm norm = MatrixNorm::frobenius, bool keepdims = false);
/// The condition number ||a|| ||a^-1||, of spectral the ratio of the largest to the smallest singular value, also of
/// matrices [..., m, n] (NumPy's cond). Infinite for a singular matrix, with a gradient of infinities or NaN.
/// ShapeError for matrices without elements and, of other norms than spectral, unless they are square.
Tensor cond(const Operand& a, MatrixNorm norm = MatrixNorm::spectral);

}  // namespace reel
