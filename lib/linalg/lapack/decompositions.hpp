// Spectral decompositions and least squares by LAPACK's Fortran symbols, for float, double and std::complex of them.
// Matrices are column-major, element (i, j) at a[i + j * lda], and overwritten. Nothing throws; 0 is success, negative
// codes are those of blas.hpp. Input is finite: LAPACK may not end on NaN. Matrices, but for U of gesdd and A of heevd,
// have read_behind(lda) elements of memory behind them.
#pragma once

#include <complex>
#include <cstddef>

#include "linalg/lapack/lapack.hpp"

namespace reel::kernels {

template <class T>
struct RealPart {
  using type = T;
};
template <class T>
struct RealPart<std::complex<T>> {
  using type = T;
};
template <class T>
using Real = typename RealPart<T>::type;

// Eigenvalues of Hermitian A [n, n], ascending; if `vectors`, A's columns become the eigenvectors. One triangle is
// read. n elements of memory follow A, of any dtype: OpenBLAS' symv for SSE3 reads up to four floats past a column.
// Positive code: no convergence.
template <class T>
[[nodiscard]] int heevd(bool vectors, Triangle triangle, std::ptrdiff_t n, T* a, std::ptrdiff_t lda,
                        Real<T>* w) noexcept;

// Which singular vectors gesdd computes: none, min(m, n) of each, or square U and V^H.
enum class Vectors : char { none = 'N', thin = 'S', all = 'A' };
// A [m, n] = U diag(s) V^H, s descending. u and vh have no gaps between columns and are not read for Vectors::none.
// Positive code: no convergence.
template <class T>
[[nodiscard]] int gesdd(Vectors vectors, std::ptrdiff_t m, std::ptrdiff_t n, T* a, Real<T>* s, T* u, T* vh) noexcept;

// Eigenvalues of A [n, n] and, unless v is null, its right eigenvectors as columns of norm 1 whose largest component is
// real. Positive code: no convergence.
template <class T>
[[nodiscard]] int geev(std::ptrdiff_t n, T* a, std::complex<Real<T>>* w, std::complex<Real<T>>* v) noexcept;

// The solution X [n, columns] of least norm of min ||A X - B||, A [m, n]. B [max(m, n), columns] has m rows on entry
// and becomes X. Singular values up to rcond times the largest count as 0. Positive code: no convergence.
template <class T>
[[nodiscard]] int gelsd(std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t columns, T* a, T* b, Real<T> rcond) noexcept;

}  // namespace reel::kernels
