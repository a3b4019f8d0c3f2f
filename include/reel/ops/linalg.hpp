// Matrix products and factorisations. Leading axes are batches and broadcast. Products take every dtype: integers wrap,
// booleans combine by and and or, float16 and bfloat16 compute in float32. No factor is conjugated. Factorisations
// compute in float32, float64, complex64 or complex128: integers in float64, float16 and bfloat16 in float32. Shape and
// dtype decide, for the instruction set and the maker of the processor, whether a product is computed by the library or
// by BLAS, and a factorisation by the library or by LAPACK. Results have the same bits for every number of threads.
// Gradients are written for real numbers: for complex ones, ^T is the conjugate transpose.
//
// Rounding of products: an element that is the sum of k terms a_i b_i has an error of at most u min(k, 4200) times the
// sum of |a_i b_i|, where u is 2^-24 in float32 and 2^-53 in float64, unless a term underflows. Longer sums are divided
// and their parts added pairwise. The real and imaginary part of a complex product are sums of 2 k terms. float16 and
// bfloat16 are rounded once more.
#pragma once
#include <reel/api.hpp>
#include <reel/tensor.hpp>
#include <string_view>

namespace REEL_API reel {

/// Which operands of matmul are transposed, in their last two axes. No copy is made.
struct MatmulOptions {
  bool transpose_a = false, transpose_b = false;
};
/// The matrix product [..., n, k] x [..., k, m] (NumPy's matmul). A vector is a row on the left and a column on the
/// right, and its axis is removed from the result. Transposed views are read in place. ShapeError naming both shapes,
/// for scalars too ("use multiply"). Gradient: g b^T, a^T g, summed over broadcast batches.
Tensor matmul(const Operand& a, const Operand& b, const MatmulOptions& options = {});
/// The inner product of two vectors. For higher ranks, the sum over the last axis of a and the second-to-last of b, of
/// shape a[:-1] + b[:-2] + b[-1:]. With a scalar, the product (NumPy's dot). Gradient: that of matmul.
Tensor dot(const Operand& a, const Operand& b);
/// a_i b_j of the flattened operands, [a.size(), b.size()] (NumPy's outer). Gradient: g b, g^T a.
Tensor outer(const Operand& a, const Operand& b);
/// The sum of products over pairs of axes (NumPy's tensordot): the given axes of a and b, or the last `count` axes of a
/// and the first of b. The remaining axes follow, those of a first. ShapeError naming a pair of axes whose extents
/// differ, ValueError for lists of different lengths. Gradient: that of matmul.
Tensor tensordot(const Operand& a, const Operand& b, std::int64_t count = 2);
Tensor tensordot(const Operand& a, const Operand& b, const Axes& axes_a, const Axes& axes_b);
/// Einstein summation, such as "ij,jk->ik" (NumPy's einsum). A repeated index of an operand takes its diagonal, and
/// "..." stands for batch axes. Without "->" the result has the batch axes and then the indices that occur once, in
/// alphabetical order. An extent of 1 broadcasts. The result may be a view. ValueError naming the fault in the text,
/// ShapeError for extents that differ. Gradient: that of the diagonals, sums and products it is composed of.
Tensor einsum(std::string_view subscripts, std::initializer_list<Tensor> operands, const detail::CallLine& at = {});
Tensor einsum(std::string_view subscripts, std::span<const Tensor> operands, const detail::CallLine& at = {});

// Factorisations. ShapeError unless a is [..., n, n]. A matrix that holds NaN or infinity gives NaN, not an error.

/// The lower triangular L with L L^T = a, for symmetric or Hermitian positive definite a. Only the lower triangle of a
/// is read, and its diagonal is taken as real. ValueError naming the matrix of the batch that is not positive definite.
/// Gradient: its symmetric part, for variations of a that are symmetric too (Murray 2016, arXiv:1602.07527).
Tensor cholesky(const Operand& a);
/// x with a x = b. b is a vector [n] if it has one axis, otherwise [..., n, m], as in NumPy 2; a batch of vectors is
/// [..., n, 1] (expand_dims(b, -1)). The result has the shape of b with batch axes broadcast. ShapeError for other
/// shapes, ValueError naming the matrix that is singular. Gradient: db = solve(a^T, g), da = -db x^T.
Tensor solve(const Operand& a, const Operand& b);
/// Which triangle of a is read, whether a^T x = b is solved (without conjugation), and whether the diagonal is taken as
/// 1 whatever is stored.
struct TriangularOptions {
  bool lower = true, transpose = false, unit_diagonal = false;
};
/// solve for triangular a. The other triangle of a is not read and gets gradient 0. ValueError for a zero on the
/// diagonal.
Tensor triangular_solve(const Operand& a, const Operand& b, const TriangularOptions& options = {});
/// The inverse z of a. ValueError naming the matrix that is singular. Gradient: -z^T g z^T.
Tensor inverse(const Operand& a);
/// The determinant of each matrix of a; 1 for n = 0. Gradient: g times the cofactor matrix, for complex a its
/// conjugate, for every rank of a and to every order.
Tensor det(const Operand& a);
/// Sign and logarithm of the absolute value of the determinant; 0 and -inf if a is singular (NumPy's slogdet). Gradient
/// of the logarithm: inverse(a)^T; if a is singular, infinities with the signs of the cofactors (+ for a cofactor of
/// 0), or NaN for complex a. Gradient of the sign: zero for real a. The sign of complex a has magnitude 1, and its
/// gradient is that of its angle.
struct SignLogDet {
  Tensor sign, logdet;
};
SignLogDet slogdet(const Operand& a);

}  // namespace reel
