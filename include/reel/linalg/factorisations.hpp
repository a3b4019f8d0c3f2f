// QR, LU, eigenvalues, singular values, least squares. Matrices are the last two axes [..., m, n] of an operand, and k
// = min(m, n). Leading axes are batches. Everything computes in float32, float64, complex64 or complex128: integers in
// float64, float16 and bfloat16 in float32, rounded at the end. Derivatives exist to every order, in both modes. They
// are written for real numbers: for complex ones, ^T is the conjugate transpose. ShapeError for a rank below 2, and for
// non-square matrices where square ones are needed. A matrix that holds NaN or infinity gives NaN. Results have the
// same bits for every number of threads, with a tape and without. All but lu, lu_factor, lu_solve and the functions of
// Cholesky factors need LAPACK: a library built without it throws ValueError.
//
// Some derivatives divide by differences of eigenvalues or singular values. Of n values, those that differ by at most n
// + 10 times the rounding error of the largest one count as equal, because rounding errors then determine their
// vectors. For equal values, the derivative of a function that does not use their vectors is right, and that of other
// functions is NaN. Second derivatives of eigvalsh, eigvals and svdvals are NaN too; symmetric_function has them. A
// product with values that are 0, as in u diag(s) vh, hides that it uses their vectors: its derivative lacks their part
// if several values are 0. The signs of vectors, and the phases of complex ones, are arbitrary: a gradient that depends
// on a phase is a ValueError.
#pragma once
#include <reel/api.hpp>
#include <reel/tensor.hpp>

namespace REEL_API reel {

/// What qr returns. reduced: q [..., m, k] and r [..., k, n]. complete: q [..., m, m] and r [..., m, n]. r: only r
/// [..., k, n], and an empty tensor as q.
enum class QrMode : std::uint8_t { reduced, complete, r };
struct Qr {
  Tensor q, r;
};
/// a = q r with orthonormal columns of q. r is upper triangular with a real diagonal, whose signs are LAPACK's.
/// Gradient (Walter and Lehmann 2012; Roberts and Roberts 2020, arXiv:2009.10071) if the first k columns of a are
/// independent. Where r has a zero on its diagonal it is infinite or NaN; rounding may leave a tiny number there, and a
/// gradient as large as its inverse. The columns that `complete` adds may only be used by functions of the space
/// that they span: a gradient that depends on their basis is a ValueError.
Qr qr(const Operand& a, QrMode mode = QrMode::reduced);
/// a = l q, the transpose of qr of a^T: l [..., m, k] is lower triangular, the rows of q [..., k, n] are orthonormal.
struct Lq {
  Tensor l, q;
};
Lq lq(const Operand& a);

/// Which triangle of a symmetric or Hermitian matrix is read. Its diagonal is taken as real.
struct EighOptions {
  bool lower = true;
};
/// Eigenvalues [..., n], real and ascending, and eigenvectors [..., n, n] as columns of norm 1.
struct Eigh {
  Tensor eigenvalues, eigenvectors;
};
/// a v = v diag(w) for symmetric or Hermitian a. Gradient: the symmetric part, v (diag(g_w) + f o skew(v^T g_v)) v^T
/// with f_ij = 1 / (w_j - w_i); see above for equal eigenvalues.
Eigh eigh(const Operand& a, const EighOptions& options = {});
/// a v = b v diag(w) with v^T b v = 1. a is symmetric or Hermitian: its Hermitian part (a + a^T) / 2 is used. b is
/// positive definite, and its lower triangle is read; ValueError if it is not positive definite. Gradient: that of
/// cholesky, triangular_solve and eigh.
Eigh eigh(const Operand& a, const Operand& b);
/// The eigenvalues of eigh(a), equal to rounding error. Gradient: v diag(g) v^T, also for equal eigenvalues.
Tensor eigvalsh(const Operand& a, const EighOptions& options = {});
/// eigh of the real symmetric matrices with this diagonal [..., n] and this first off-diagonal [..., n - 1]. Gradient:
/// that of eigh. TypeError for complex operands.
Eigh eigh_tridiagonal(const Operand& diagonal, const Operand& off_diagonal);

/// Eigenvalues [..., n], complex for real a too, and eigenvectors [..., n, n] as columns of norm 1 whose largest
/// component is real.
struct Eig {
  Tensor eigenvalues, eigenvectors;
};
/// a v = v diag(w) for square a. Gradient (Boeddeker et al. 2017, arXiv:1701.00392): v^-T (diag(g_w) + ...) v^T. For a
/// defective matrix, which lacks eigenvectors, it is infinite or NaN, or as large as the inverse of rounding errors.
Eig eig(const Operand& a);
/// The eigenvalues of eig(a), equal to rounding error.
Tensor eigvals(const Operand& a);

/// Whether u and vh are square: [..., m, m] and [..., n, n].
struct SvdOptions {
  bool full = false;
};
/// u [..., m, k], s [..., k], real and descending, vh [..., k, n].
struct Svd {
  Tensor u, s, vh;
};
/// a = u diag(s) vh with orthonormal columns of u and rows of vh. Gradient: Townsend 2016; Wan and Zhang 2019,
/// arXiv:1909.02659; see above for equal singular values. Vectors of the larger side divide by s too: where s is 0,
/// they count as vectors of equal values. For vectors that `full` adds, what qr says of `complete` holds.
Svd svd(const Operand& a, const SvdOptions& options = {});
/// The singular values of svd(a), equal to rounding error. Gradient: u diag(g) vh, also for equal and zero ones.
Tensor svdvals(const Operand& a);

/// lu [..., m, n]: U on and above the diagonal, L below it; the diagonal of L is 1 and not stored. pivots: int32 [...,
/// k]; row i was swapped with row pivots[i], in order (SciPy's lu_factor).
struct LuFactors {
  Tensor lu, pivots;
};
/// a = P L U with partial pivoting. A singular matrix is not an error. Gradient, with the pivots held constant: P L^-T
/// (tril(L^T g_L) + triu(g_U U^T)) U^-T; infinite or NaN where U has a zero among its first k diagonal elements.
LuFactors lu_factor(const Operand& a);
/// x with a x = b, from the factors of a square a. b is a vector or matrices as for solve; its dtype promotes with that
/// of the factors. Gradient: to b and to the factors. ValueError for a zero on the diagonal of U, TypeError for pivots
/// that are not int32.
Tensor lu_solve(const LuFactors& factors, const Operand& b);
/// a = p l u: p [..., m, m] a permutation, l [..., m, k], u [..., k, n].
struct Lu {
  Tensor p, l, u;
};
Lu lu(const Operand& a);

/// x with l l^T x = b, for the factor l of cholesky(a). b is a vector or matrices as for solve. Gradient: that of two
/// triangular solves.
Tensor cholesky_solve(const Operand& l, const Operand& b);
/// The inverse of l l^T.
Tensor cholesky_inverse(const Operand& l);
/// The lower triangular factor, with a positive diagonal, of l l^T + x x^T or, `downdate`, of l l^T - x x^T, for the
/// lower triangle of l [..., n, n] and vectors x [..., n], whose batch axes broadcast: n^2 operations where cholesky
/// takes n^3 (Gill, Golub, Murray and Saunders 1974). ValueError naming the matrix that is not positive definite. A
/// downdate that leaves little of a diagonal element loses digits. Gradient: with s = the gradient of cholesky at the
/// new matrix, dl = 2 tril(s l) and dx = 2 s x, or -2 s x.
Tensor cholesky_update(const Operand& l, const Operand& x, bool downdate = false);

/// Singular values up to rtol times the largest count as 0; a negative rtol stands for max(m, n) times the rounding
/// error of the dtype. ValueError for NaN.
struct RankOptions {
  double rtol = -1;
};
/// The pseudoinverse p [..., n, m] of a. Gradient (Golub and Pereyra 1973): for variations of a that keep its rank.
Tensor pinv(const Operand& a, const RankOptions& options = {});
/// The x of least norm that minimises ||a x - b||, by singular values. b is a vector or matrices, as for solve; batch
/// axes broadcast. Gradient: that of pinv(a) b.
Tensor lstsq(const Operand& a, const Operand& b, const RankOptions& options = {});

}  // namespace reel
