// Factorisations by LAPACK's Fortran symbols, which libopenblas contains, for float and double; Cholesky, LU, geqrf and
// orgqr for std::complex of these too. Cholesky and LU are row-major like blas.hpp. QR is column-major, because its
// callers build columns: a[i + lda * j] is the element (i, j).
//
// Nothing throws. 0 is success, a positive code is LAPACK's result (documented per function), a negative one an invalid
// argument or a code of blas.hpp. Input that is not finite is passed on, never rejected.
#pragma once

#include <cstddef>
#include <type_traits>

#include "kernels/blas.hpp"

namespace reel::kernels {

// Elements of memory that have to follow a column-major matrix with leading dimension `rows`. Where OpenBLAS multiplies
// by a row of a complex matrix, it reads one element past the row's end, in the column behind the matrix, and drops it.
template <class T>
constexpr std::ptrdiff_t read_behind(std::ptrdiff_t rows) {
  return std::is_floating_point_v<T> ? 0 : rows;
}

// Row-major. A [n, n] symmetric = L L^T (lower) or U^T U (upper), of complex A L L^H or U^H U; the named triangle is
// read and overwritten by the factor, the other is left as it is. Positive code k: the leading minor of order k is not
// positive definite.
template <class T>
[[nodiscard]] int potrf(Triangle triangle, std::ptrdiff_t n, T* a, std::ptrdiff_t lda) noexcept;

// Row-major. Solves A X = B in place, B [n, columns], with the factor that potrf left in the same triangle.
template <class T>
[[nodiscard]] int potrs(Triangle triangle, std::ptrdiff_t n, std::ptrdiff_t columns, const T* factor,
                        std::ptrdiff_t lda, T* b, std::ptrdiff_t ldb) noexcept;

// Column-major A [m, n] = P L U, L with unit diagonal; both stay in A. `pivots` has min(m, n) entries counted from 1:
// row i was swapped with row pivots[i] - 1, in order. Positive code k: the k-th pivot is exactly zero (the factors are
// complete). A row-major A [n, n] is factorised through its transpose: A = U' L' P' where U' is lower triangular with
// the pivots on its diagonal, L' upper triangular with unit diagonal, and columns were swapped. det A = product of the
// diagonal times (-1)^(number of pivots[i] != i + 1).
template <class T>
[[nodiscard]] int getrf(std::ptrdiff_t m, std::ptrdiff_t n, T* a, std::ptrdiff_t lda, int* pivots) noexcept;

// Row-major. Solves op(A) X = B in place, B [n, columns], with getrf's factors and pivots of a row-major A.
template <class T>
[[nodiscard]] int getrs(Transposed transpose_a, std::ptrdiff_t n, std::ptrdiff_t columns, const T* factors,
                        std::ptrdiff_t lda, const int* pivots, T* b, std::ptrdiff_t ldb) noexcept;

// Row-major. Replaces getrf's factors by the inverse of A. Positive code k: the k-th pivot is zero, no inverse.
template <class T>
[[nodiscard]] int getri(std::ptrdiff_t n, T* factors, std::ptrdiff_t lda, const int* pivots) noexcept;

// Column-major A [m, n] = Q R. R replaces the upper triangle; below it and in `tau` (min(m, n) entries) stand the
// Householder vectors that ormqr and orgqr read.
template <class T>
[[nodiscard]] int geqrf(std::ptrdiff_t m, std::ptrdiff_t n, T* a, std::ptrdiff_t lda, T* tau) noexcept;

// Column-major A P = Q R with column pivoting, |R(i, i)| not increasing. `order` (n entries) on entry: 0 = free column,
// anything else = goes to the front; on return order[j] - 1 is the column of A that became column j.
template <class T>
[[nodiscard]] int geqp3(std::ptrdiff_t m, std::ptrdiff_t n, T* a, std::ptrdiff_t lda, int* order, T* tau) noexcept;

// Column-major. C [m, n] = op(Q) C (left) or C op(Q) (right), Q from `reflectors` columns that geqrf left in `a`.
template <class T>
[[nodiscard]] int ormqr(Side side, Transposed transpose_q, std::ptrdiff_t m, std::ptrdiff_t n,
                        std::ptrdiff_t reflectors, const T* a, std::ptrdiff_t lda, const T* tau, T* c,
                        std::ptrdiff_t ldc) noexcept;

// Column-major. Replaces geqrf's columns by the first n columns of Q [m, n], m >= n >= reflectors.
template <class T>
[[nodiscard]] int orgqr(std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t reflectors, T* a, std::ptrdiff_t lda,
                        const T* tau) noexcept;

// Column-major. Solves op(A) X = B in place for triangular A [n, n], B [n, columns].
// Positive code k: A(k, k) is exactly zero and nothing was solved.
template <class T>
[[nodiscard]] int trtrs(Triangle triangle, Transposed transpose_a, Diagonal diagonal, std::ptrdiff_t n,
                        std::ptrdiff_t columns, const T* a, std::ptrdiff_t lda, T* b, std::ptrdiff_t ldb) noexcept;

}  // namespace reel::kernels
