// QR, LU, eigenvalues, singular values, least squares. Matrices are the last two axes [..., m, n] of an operand, k =
// min(m, n); leading axes are batches. Everything computes in float32, float64, complex64 or complex128: integers in
// float64, halves in float32 and rounded. Derivatives of every order, in both modes; they are written for real numbers:
// of complex ones, ^T is the conjugate transpose. ShapeError for a rank below 2, or matrices that must be square and
// are not. A matrix that holds NaN or infinity gives NaN. Results have the same bits for every number of threads, and
// with a tape or without. All but lu, lu_factor, lu_solve, cholesky_solve and cholesky_inverse need LAPACK: a library
// without it throws ValueError.
//
// Some derivatives divide by differences of eigenvalues or singular values. Of n values, those that differ by no more
// than n + 10 times the rounding error of the largest one count as equal: rounding decides on their vectors. There the
// derivative of a function that does not use their vectors is right, and that of others is NaN; so are second
// derivatives of eigvalsh, eigvals and svdvals, which symmetric_function has. A product with values that are 0, as in
// u diag(s) vh, hides that it uses their vectors: its derivative lacks their part where several values are 0. Signs,
// and of complex matrices phases, of vectors are arbitrary, too: a gradient that depends on a phase is a ValueError.
#pragma once
#include <reel/tensor.hpp>

namespace [[gnu::visibility("default")]] reel {

/// What qr returns: q [..., m, k] and r [..., k, n]; q [..., m, m] and r [..., m, n]; or r [..., k, n] alone and an
/// empty handle.
enum class QrMode : std::uint8_t { reduced, complete, r };
struct Qr {
  Tensor q, r;
};
/// a = q r: columns of q orthonormal, r upper triangular with a real diagonal, whose signs are LAPACK's. Gradient
/// (Walter and Lehmann 2012; Roberts and Roberts 2020, arXiv:2009.10071) where the first k columns of a are
/// independent, otherwise infinite or NaN. Columns that `complete` adds may be used by functions
/// of the space that they span; a gradient that depends on their basis is a ValueError.
Qr qr(const Operand& a, QrMode mode = QrMode::reduced);
/// a = l q: l [..., m, k] lower triangular, rows of q [..., k, n] orthonormal: the transpose of a^T's qr.
struct Lq {
  Tensor l, q;
};
Lq lq(const Operand& a);

/// Which triangle of a symmetric or Hermitian matrix is read; the diagonal is taken to be real.
struct EighOptions {
  bool lower = true;
};
/// Eigenvalues [..., n], real and ascending, and eigenvectors [..., n, n] as columns of norm 1.
struct Eigh {
  Tensor eigenvalues, eigenvectors;
};
/// a v = v diag(w) of symmetric or Hermitian a. Gradient: the symmetric half, v (diag(g_w) + f o skew(v^T g_v)) v^T
/// with f_ij = 1 / (w_j - w_i), as for equal eigenvalues above.
Eigh eigh(const Operand& a, const EighOptions& options = {});
/// a v = b v diag(w) with symmetric or Hermitian a and positive definite b, of which the lower triangle is read; of a
/// the Hermitian part (a + a^T) / 2. v^T b v = 1. ValueError where b is not positive definite. Gradient: that of
/// cholesky, triangular_solve and eigh.
Eigh eigh(const Operand& a, const Operand& b);
/// The eigenvalues of eigh(a) to rounding error. Gradient: v diag(g) v^T, also for equal eigenvalues.
Tensor eigvalsh(const Operand& a, const EighOptions& options = {});
/// eigh of the real symmetric matrices with this diagonal [..., n] and this first off-diagonal [..., n - 1]. Gradient:
/// that of eigh. TypeError for complex operands.
Eigh eigh_tridiagonal(const Operand& diagonal, const Operand& off_diagonal);

/// Eigenvalues [..., n], complex for real a too, and eigenvectors [..., n, n] as columns of norm 1 whose largest
/// component is real.
struct Eig {
  Tensor eigenvalues, eigenvectors;
};
/// a v = v diag(w) of square a. Gradient (Boeddeker et al. 2017, arXiv:1701.00392): v^-T (diag(g_w) + ...) v^T; a
/// matrix with too few eigenvectors has none: infinite or NaN.
Eig eig(const Operand& a);
/// The eigenvalues of eig(a) to rounding error.
Tensor eigvals(const Operand& a);

/// Whether u and vh are square: [..., m, m] and [..., n, n].
struct SvdOptions {
  bool full = false;
};
/// u [..., m, k], s [..., k], real and descending, vh [..., k, n].
struct Svd {
  Tensor u, s, vh;
};
/// a = u diag(s) vh, columns of u and rows of vh orthonormal. Gradient (Townsend 2016; Wan and Zhang 2019,
/// arXiv:1909.02659): as for equal singular values above; those of the larger side divide by s, and count as equal to 0
/// where it is. What `full` adds may be used as what a complete qr adds.
Svd svd(const Operand& a, const SvdOptions& options = {});
/// The singular values of svd(a) to rounding error. Gradient: u diag(g) vh, also for equal and zero ones.
Tensor svdvals(const Operand& a);

/// lu [..., m, n]: U on and above the diagonal, L below it, whose diagonal is 1; pivots int32 [..., k]: row i was
/// swapped with row pivots[i], in order (SciPy's lu_factor).
struct LuFactors {
  Tensor lu, pivots;
};
/// a = P L U with partial pivoting. A singular matrix is no error. Gradient: P L^-T (tril(L^T g_L) + triu(g_U U^T))
/// U^-T for the pivots as they are; infinite or NaN where U has a zero among its first k diagonal elements.
LuFactors lu_factor(const Operand& a);
/// x with a x = b by the factors of a square a; b as for solve, with which the dtype promotes. Gradient: to b and to
/// the factors. ValueError for a zero on the diagonal of U, TypeError for pivots that are not int32.
Tensor lu_solve(const LuFactors& factors, const Operand& b);
/// a = p l u: p [..., m, m] a permutation, l [..., m, k], u [..., k, n].
struct Lu {
  Tensor p, l, u;
};
Lu lu(const Operand& a);

/// x with l l^T x = b for the factor l of cholesky(a); b as for solve. Gradient: that of two triangular solves.
Tensor cholesky_solve(const Operand& l, const Operand& b);
/// The inverse of l l^T.
Tensor cholesky_inverse(const Operand& l);

/// Singular values up to rtol times the largest count as 0; a negative rtol stands for max(m, n) times the rounding
/// error of the dtype. ValueError for NaN.
struct RankOptions {
  double rtol = -1;
};
/// The pseudoinverse p [..., n, m] of a. Gradient (Golub and Pereyra 1973) for a variation that keeps the rank.
Tensor pinv(const Operand& a, const RankOptions& options = {});
/// The x of least norm that minimises ||a x - b||, by singular values. b is a vector or matrices, as for solve; batch
/// axes broadcast. Gradient: that of pinv(a) b.
Tensor lstsq(const Operand& a, const Operand& b, const RankOptions& options = {});

}  // namespace reel
