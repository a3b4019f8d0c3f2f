// Cholesky, LU and triangular solves of one matrix in plain loops, for complex numbers and rectangles in a library
// without OpenBLAS. Arguments and codes as in linalg/blocked.hpp and linalg/lapack/lapack.hpp; row-major unless said.
#pragma once
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <utility>

namespace reel::loops::plain {

template <class T>
int potrf(std::int64_t n, T* a, std::int64_t lda) {
  for (std::int64_t j = 0; j < n; ++j) {
    T* row = a + j * lda;
    auto pivot = std::real(row[j]);
    for (std::int64_t k = 0; k < j; ++k) pivot -= std::norm(row[k]);
    if (!(pivot > 0)) return static_cast<int>(j + 1);
    row[j] = std::sqrt(pivot);
    for (std::int64_t i = j + 1; i < n; ++i) {
      T* below = a + i * lda;
      for (std::int64_t k = 0; k < j; ++k) below[j] -= below[k] * std::conj(row[k]);
      below[j] /= std::real(row[j]);
    }
  }
  return 0;
}

/// Column-major, as kernels::getrf.
template <class T>
int getrf(std::int64_t m, std::int64_t n, T* a, std::int64_t lda, int* pivots) {
  int code = 0;
  const auto size = [](const T& x) { return std::abs(std::real(x)) + std::abs(std::imag(x)); };
  for (std::int64_t k = 0; k < std::min(m, n); ++k) {
    T* column = a + k * lda;
    std::int64_t best = k;
    for (std::int64_t i = k + 1; i < m; ++i)
      if (size(column[i]) > size(column[best])) best = i;
    pivots[k] = static_cast<int>(best + 1);
    if (column[best] == T(0)) {
      if (code == 0) code = static_cast<int>(k + 1);
      continue;
    }
    for (std::int64_t j = 0; j < n && best != k; ++j) std::swap(a[k + j * lda], a[best + j * lda]);
    for (std::int64_t i = k + 1; i < m; ++i) column[i] /= column[k];
    for (std::int64_t j = k + 1; j < n; ++j)
      for (std::int64_t i = k + 1; i < m; ++i) a[i + j * lda] -= column[i] * a[k + j * lda];
  }
  return code;
}

/// A X = B by substitution, for blocked::System.
template <class System>
void solve(const System& s) {
  for (std::int64_t step = 0; step < s.n; ++step) {
    const std::int64_t i = s.lower ? step : s.n - 1 - step;
    for (std::int64_t c = 0; c < s.columns; ++c) {
      auto& x = s.b[i * s.b_row + c * s.b_column];
      for (std::int64_t done = 0; done < step; ++done) {
        const std::int64_t k = s.lower ? done : s.n - 1 - done;
        x -= s.a[i * s.a_row + k * s.a_column] * s.b[k * s.b_row + c * s.b_column];
      }
      if (!s.unit) x /= s.a[i * (s.a_row + s.a_column)];
    }
  }
}

}  // namespace reel::loops::plain
