// Factorisations and triangular solves of one matrix. Of float and double: recursive halving down to the kernels of
// lib/kernels/product, with the library's own matrix products in between; of std::complex: plain loops. Nothing throws;
// codes as in linalg/lapack/lapack.hpp.
#pragma once
#include <cstdint>

namespace reel::loops::blocked {

/// A X = B, in place. Element (i, j) of A [n, n] is a[i * a_row + j * a_column], that of B [n, columns] is b[i * b_row
/// + j * b_column]; one of B's strides is 1.
template <class T>
struct System {
  std::int64_t n, columns;
  bool lower, unit;
  const T* a;
  std::int64_t a_row, a_column;
  T* b;
  std::int64_t b_row, b_column;
};
template <class T>
[[nodiscard]] int solve(const System<T>& s) noexcept;

/// As in linalg/lapack/lapack.hpp. cholesky() uses the lower triangle and may overwrite the upper one.
template <class T>
[[nodiscard]] int potrf(std::int64_t n, T* a, std::int64_t lda) noexcept;
template <class T>
[[nodiscard]] int getrf(std::int64_t n, T* a, std::int64_t lda, int* pivots) noexcept;
template <class T>
[[nodiscard]] int getrs(bool transpose, std::int64_t n, std::int64_t columns, const T* factors, std::int64_t lda,
                        const int* pivots, T* b, std::int64_t ldb) noexcept;
template <class T>
[[nodiscard]] int getri(std::int64_t n, T* factors, std::int64_t lda, const int* pivots) noexcept;

}  // namespace reel::loops::blocked
