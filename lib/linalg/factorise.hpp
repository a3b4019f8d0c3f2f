// Factorisations of batches of square matrices [..., n, n], real or complex, row-major without gaps. One matrix is
// one task, so that results have the same bits for every number of threads. A matrix that is not finite gives NaN.
#pragma once
#include <reel/tensor.hpp>

#include "loops/product/matmul.hpp"

namespace reel::loops {

/// As LAPACK's info, true after a failure: the first matrix of a batch without a factorisation, by its row-major
/// position, and the order (from 1) of the failing pivot or minor.
struct FactorInfo {
  std::int64_t batch = -1, order = 0;
  explicit operator bool() const { return batch >= 0; }
};

/// a becomes the lower triangular L with L L^H = a; its upper triangle and the imaginary parts of its diagonal are not
/// read.
FactorInfo cholesky(const Tensor& a);
/// lu becomes the LU factors of a (with any strides), pivots (int32 [..., n]) the row order; see kernels::getrf. All
/// matrices are factorised, also after a failure.
FactorInfo factorise(const Tensor& a, const Tensor& lu, const Tensor& pivots);
/// x [batch..., n, columns] becomes the solution of op(A) X = x, by A's factors, whose batch axes broadcast to x's.
void solve(const Tensor& factors, const Tensor& pivots, bool transpose, const Tensor& x, const Shape& batch,
           std::int64_t columns);
/// The factors become the inverse. Returns the positions of the singular matrices in the batch, which stay unchanged.
detail::List<std::int64_t> invert(const Tensor& factors, const Tensor& pivots);
/// z becomes the inverse of a, by its factors. For a singular matrix: infinities with the signs of its adjugate, +
/// where that is zero; NaN if it is complex.
void inverse_by_factors(const Tensor& a, const Tensor& lu, const Tensor& pivots, const Tensor& z);
/// The same as solve() for a triangular A with any strides. FactorInfo: a zero on the diagonal. With
/// `any_diagonal` there is no failure, but infinities and NaN.
struct TriangularSystem {
  bool lower, transpose, unit_diagonal, any_diagonal = false;
};
FactorInfo solve_triangular(const Tensor& a, const TriangularSystem& system, const Tensor& x, const Shape& batch,
                            std::int64_t columns);
/// det [...] from the factors, without overflow on the way.
void determinant(const Tensor& factors, const Tensor& pivots, const Tensor& det);
/// Sign (of a complex matrix: a number of magnitude 1) and logarithm of the magnitude of the determinant.
void log_determinant(const Tensor& factors, const Tensor& pivots, const Tensor& sign, const Tensor& logdet);
/// out [..., n, n] = g z^T with one number g per matrix, whose batch axes include those of z. Where g is zero, so is
/// the result, even if z is infinite.
void scale_transposes(const Tensor& g, const Tensor& z, const Tensor& out);

}  // namespace reel::loops
