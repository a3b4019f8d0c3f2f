// QR, LU, spectral decompositions and least squares of batches of matrices [..., m, n], float32, float64, complex64 or
// complex128. Inputs have any strides, outputs none; k = min(m, n). One matrix is one task, so that results have the
// same bits for every number of threads. A matrix that is not finite gives NaN. All but lu() need LAPACK: callers ask
// require_lapack() first.
#pragma once
#include <reel/tensor.hpp>

#include "linalg/factorise.hpp"

namespace reel::loops {

/// ValueError naming the op if the library is built without LAPACK.
void require_lapack(const char* op);

/// q [..., m, k], r [..., k, n] upper triangular, a = q r; rest [..., m, m - k] completes q to a unitary matrix. An
/// empty handle is not computed.
void qr(const Tensor& a, const Tensor& q, const Tensor& r, const Tensor& rest);

/// packed [..., m, n]: L below the diagonal (of 1), U from it on; pivots int32 [..., k], row i was swapped with row
/// pivots[i], in order; rows int64 [..., m], L U = a[rows].
void lu(const Tensor& a, const Tensor& packed, const Tensor& pivots, const Tensor& rows);

/// rows int64 [..., n] of pivots [..., n]. False if a pivot is not in [its own position, n).
bool rows_of_pivots(const Tensor& pivots, const Tensor& rows);

// FactorInfo names a matrix whose iteration did not converge.

/// Eigenvalues w [..., n], ascending, and, unless the handle is empty, eigenvectors v [..., n, n] in columns, of the
/// Hermitian matrix in the lower or upper triangle of a.
FactorInfo eigh(const Tensor& a, bool lower, const Tensor& w, const Tensor& v);
/// s [..., k], descending; u [..., m, k], vh [..., k, n], and what completes them to square: [..., m, m - k],
/// [..., n - k, n]. Either no vectors, or u and vh, or all are asked for.
struct SingularVectors {
  Tensor u, vh, rest_u, rest_vh;
};
FactorInfo svd(const Tensor& a, const Tensor& s, const SingularVectors& vectors);
/// Complex eigenvalues w [..., n] and, unless the handle is empty, eigenvectors v [..., n, n] in columns of norm 1.
FactorInfo eig(const Tensor& a, const Tensor& w, const Tensor& v);
/// The first matrix x [..., own axes] whose largest magnitude exceeds `least`, and `tolerance` times that of its
/// reference matrix of the same dtype; -1 if there is none.
std::int64_t first_beyond(const Tensor& x, const Tensor& reference, int own_axes, double tolerance, double least);
/// p [..., n, m] = V diag(1 / s) U^H, where singular values up to rtol times the largest count as 0.
FactorInfo pinv(const Tensor& a, double rtol, const Tensor& p);
/// x [..., n, columns] of least norm that minimises ||a x - b||, b [..., m, columns] with the same batch axes.
FactorInfo lstsq(const Tensor& a, const Tensor& b, double rtol, const Tensor& x);

}  // namespace reel::loops
