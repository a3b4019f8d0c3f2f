// Matrix products and factorisations. Leading axes are batches and broadcast. Products take every dtype: integers wrap,
// booleans combine by and, or, halves compute in float32; no factor is conjugated. Factorisations compute in float32,
// float64, complex64 or complex128: integers in float64, halves in float32. Matrix products are the library's own or
// BLAS's, factorisations its own or LAPACK's, as shape and dtype decide; results have the same bits for every number of
// threads. Gradients are written for real numbers: of complex ones, ^T is the conjugate transpose.
#pragma once
#include <reel/tensor.hpp>
#include <string_view>

namespace [[gnu::visibility("default")]] reel {

/// Which operands of matmul are taken transposed (their last two axes), without a copy.
struct MatmulOptions {
  bool transpose_a = false, transpose_b = false;
};
/// The matrix product [..., n, k] x [..., k, m]; a vector on the left is a row, on the right a column, and its axis
/// goes (NumPy's matmul). Transposed views are read in place. ShapeError naming both shapes, for scalars too ("use
/// multiply"). Gradient: g b^T, a^T g, summed over broadcast batches.
Tensor matmul(const Operand& a, const Operand& b, const MatmulOptions& options = {});
/// The inner product of two vectors; for higher ranks, over a's last and b's second-to-last axis, shape
/// a[:-1] + b[:-2] + b[-1:]; with a scalar, the product (NumPy's dot). Gradient: matmul's.
Tensor dot(const Operand& a, const Operand& b);
/// a_i b_j of the flattened operands, [a.size(), b.size()] (NumPy's outer). Gradient: g b, g^T a.
Tensor outer(const Operand& a, const Operand& b);
/// Summed over the given axes of each, in pairs, or over a's last and b's first `count` axes; the axes that are left,
/// a's first (NumPy's tensordot). ShapeError naming a pair that differs, ValueError for lists of different length.
/// Gradient: matmul's.
Tensor tensordot(const Operand& a, const Operand& b, std::int64_t count = 2);
Tensor tensordot(const Operand& a, const Operand& b, const Axes& axes_a, const Axes& axes_b);
/// Einstein summation: "ij,jk->ik", repeated indices take diagonals, "..." stands for batches; without "->" the batches
/// and the indices that occur once, in alphabetical order (NumPy's einsum). An extent of 1 broadcasts. The result may
/// be a view. ValueError naming what is wrong in the text, ShapeError for extents that differ. Gradient: that of the
/// diagonals, sums and products that it consists of.
Tensor einsum(std::string_view subscripts, std::initializer_list<Tensor> operands);
Tensor einsum(std::string_view subscripts, std::span<const Tensor> operands);

// Factorisations. ShapeError unless a is [..., n, n]. A matrix that holds NaN or infinity gives NaN, not an error.

/// The lower triangular L with L L^T = a, of symmetric or Hermitian positive definite a, whose lower triangle is read;
/// the diagonal is taken to be real. ValueError naming the matrix of the batch that is not positive definite. Gradient:
/// the symmetric half, that is, for a variation of a that is symmetric too (Murray 2016, arXiv:1602.07527).
Tensor cholesky(const Operand& a);
/// x with a x = b. b is a vector if it has rank 1 or the shape of a without its last axis, else [..., n, m]; the result
/// has b's shape, broadcast. ValueError naming the matrix that is singular. Gradient: db = solve(a^T, g), da = -db x^T.
Tensor solve(const Operand& a, const Operand& b);
/// Which triangle is meant, whether a^T x = b is solved (no element is conjugated), and whether the diagonal is 1
/// whatever is stored.
struct TriangularOptions {
  bool lower = true, transpose = false, unit_diagonal = false;
};
/// The same for triangular a; its other triangle is not read and gets gradient 0. ValueError for a zero on the
/// diagonal.
Tensor triangular_solve(const Operand& a, const Operand& b, const TriangularOptions& options = {});
/// The inverse z of a. ValueError naming the matrix that is singular. Gradient: -z^T g z^T.
Tensor inverse(const Operand& a);
/// The determinant of a, of a's leading axes; 1 for n = 0. Gradient: g times the matrix of cofactors, for every rank of
/// a and to every order; of complex a with n > 3 by the inverse, NaN where a is singular.
Tensor det(const Operand& a);
/// Sign and logarithm of the absolute value of the determinant; 0 and -inf when singular (NumPy's slogdet). Gradient of
/// the logarithm: inverse(a)^T, when singular infinite with the signs of the cofactors (+ for a cofactor of 0), of
/// complex a NaN; of the sign: zero, but that of complex a is a number of magnitude 1, with the gradient of its angle.
struct SignLogDet {
  Tensor sign, logdet;
};
SignLogDet slogdet(const Operand& a);

}  // namespace reel
