#include "linalg/lapack/plain.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

namespace reel::kernels {

namespace plain {

template <class T>
int gemm(Transposed transpose_a, Transposed transpose_b, std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t k,
         std::type_identity_t<T> alpha, const T* a, std::ptrdiff_t lda, const T* b, std::ptrdiff_t ldb,
         std::type_identity_t<T> beta, T* c, std::ptrdiff_t ldc) noexcept {
  const bool ta = transpose_a == Transposed::yes, tb = transpose_b == Transposed::yes;
  const std::ptrdiff_t b_row = tb ? 1 : ldb, b_column = tb ? ldb : 1;
  for (std::ptrdiff_t i = 0; i < m; ++i) {
    T* const row = c + i * ldc;
    for (std::ptrdiff_t j = 0; j < n; ++j) row[j] = beta == T(0) ? T(0) : beta * row[j];
    for (std::ptrdiff_t p = 0; p < k; ++p) {
      const T factor = alpha * (ta ? a[p * lda + i] : a[i * lda + p]);
      for (std::ptrdiff_t j = 0; j < n; ++j) row[j] += factor * b[p * b_row + j * b_column];
    }
  }
  return 0;
}

template <class T>
T dot(std::ptrdiff_t n, const T* x, std::ptrdiff_t stride_x, const T* y, std::ptrdiff_t stride_y) noexcept {
  T sum{0};
  for (std::ptrdiff_t i = 0; i < n; ++i) sum += x[i * stride_x] * y[i * stride_y];
  return sum;
}

template <class T>
int trtrs(Triangle triangle, Transposed transpose_a, Diagonal diagonal, std::ptrdiff_t n, std::ptrdiff_t columns,
          const T* a, std::ptrdiff_t lda, T* b, std::ptrdiff_t ldb) noexcept {
  const bool transposed = transpose_a == Transposed::yes, unit = diagonal == Diagonal::unit;
  const bool lower = (triangle == Triangle::lower) != transposed;
  const std::ptrdiff_t row = transposed ? lda : 1, column = transposed ? 1 : lda;
  for (std::ptrdiff_t i = 0; i < n && !unit; ++i)
    if (a[i * (lda + 1)] == T(0)) return static_cast<int>(i + 1);
  for (std::ptrdiff_t j = 0; j < columns; ++j) {
    T* const x = b + j * ldb;
    for (std::ptrdiff_t s = 0; s < n; ++s) {
      const std::ptrdiff_t k = lower ? s : n - 1 - s;
      if (!unit) x[k] /= a[k * (lda + 1)];
      for (std::ptrdiff_t i = lower ? k + 1 : 0; i < (lower ? n : k); ++i) x[i] -= a[i * row + k * column] * x[k];
    }
  }
  return 0;
}

namespace {

// The Euclidean norm without overflow.
template <class T>
T length(const T* x, std::ptrdiff_t n) {
  T most{0}, sum{0};
  for (std::ptrdiff_t i = 0; i < n; ++i) most = std::max(most, std::abs(x[i]));
  if (!(most > T(0)) || !std::isfinite(most)) return most;
  for (std::ptrdiff_t i = 0; i < n; ++i) sum += x[i] / most * (x[i] / most);
  return most * std::sqrt(sum);
}

// The Householder reflection I - tau v v^T, v = (1, x[1], ...), that maps x to a multiple of the first unit vector; the
// multiple and v replace x.
template <class T>
T reflector(T* x, std::ptrdiff_t n) {
  const T rest = length(x + 1, n - 1);
  if (rest == T(0)) return 0;
  const T image = -std::copysign(std::hypot(x[0], rest), x[0]), tau = (image - x[0]) / image, scale = x[0] - image;
  for (std::ptrdiff_t i = 1; i < n; ++i) x[i] /= scale;
  x[0] = image;
  return tau;
}

// c -= tau v v^T c for the n elements of c, with stride `step`.
template <class T>
void reflect(const T* v, T tau, T* c, std::ptrdiff_t step, std::ptrdiff_t n) {
  T sum = c[0];
  for (std::ptrdiff_t i = 1; i < n; ++i) sum += v[i] * c[i * step];
  sum *= tau;
  c[0] -= sum;
  for (std::ptrdiff_t i = 1; i < n; ++i) c[i * step] -= v[i] * sum;
}

// Eliminates column k below the diagonal, and applies the reflection to the columns after it.
template <class T>
void eliminate(std::ptrdiff_t k, std::ptrdiff_t m, std::ptrdiff_t n, T* a, std::ptrdiff_t lda, T* tau) {
  T* const v = a + k * (lda + 1);
  tau[k] = reflector(v, m - k);
  for (std::ptrdiff_t j = k + 1; j < n; ++j) reflect(v, tau[k], a + k + j * lda, 1, m - k);
}

}  // namespace

template <class T>
int geqrf(std::ptrdiff_t m, std::ptrdiff_t n, T* a, std::ptrdiff_t lda, T* tau) noexcept {
  for (std::ptrdiff_t k = 0; k < std::min(m, n); ++k) eliminate(k, m, n, a, lda, tau);
  return 0;
}

template <class T>
int geqp3(std::ptrdiff_t m, std::ptrdiff_t n, T* a, std::ptrdiff_t lda, int* order, T* tau) noexcept {
  for (std::ptrdiff_t j = 0; j < n; ++j) order[j] = static_cast<int>(j + 1);
  for (std::ptrdiff_t k = 0; k < std::min(m, n); ++k) {
    std::ptrdiff_t longest = k;
    T most = -1;
    for (std::ptrdiff_t j = k; j < n; ++j)
      if (const T l = length(a + k + j * lda, m - k); l > most) {
        most = l;
        longest = j;
      }
    if (longest != k) {
      std::swap_ranges(a + k * lda, a + k * lda + m, a + longest * lda);
      std::swap(order[k], order[longest]);
    }
    eliminate(k, m, n, a, lda, tau);
  }
  return 0;
}

template <class T>
int ormqr(Side side, Transposed transpose_q, std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t reflectors, const T* a,
          std::ptrdiff_t lda, const T* tau, T* c, std::ptrdiff_t ldc) noexcept {
  const bool left = side == Side::left, forwards = left == (transpose_q == Transposed::yes);
  for (std::ptrdiff_t s = 0; s < reflectors; ++s) {
    const std::ptrdiff_t k = forwards ? s : reflectors - 1 - s;
    for (std::ptrdiff_t i = 0; i < (left ? n : m); ++i)
      reflect(a + k * (lda + 1), tau[k], left ? c + k + i * ldc : c + i + k * ldc, left ? 1 : ldc, (left ? m : n) - k);
  }
  return 0;
}

#define REEL_PLAIN(T)                                                                                                 \
  template int gemm<T>(Transposed, Transposed, std::ptrdiff_t, std::ptrdiff_t, std::ptrdiff_t, T, const T*,           \
                       std::ptrdiff_t, const T*, std::ptrdiff_t, T, T*, std::ptrdiff_t) noexcept;                     \
  template T dot<T>(std::ptrdiff_t, const T*, std::ptrdiff_t, const T*, std::ptrdiff_t) noexcept;                     \
  template int trtrs<T>(Triangle, Transposed, Diagonal, std::ptrdiff_t, std::ptrdiff_t, const T*, std::ptrdiff_t, T*, \
                        std::ptrdiff_t) noexcept;                                                                     \
  template int geqrf<T>(std::ptrdiff_t, std::ptrdiff_t, T*, std::ptrdiff_t, T*) noexcept;                             \
  template int geqp3<T>(std::ptrdiff_t, std::ptrdiff_t, T*, std::ptrdiff_t, int*, T*) noexcept;                       \
  template int ormqr<T>(Side, Transposed, std::ptrdiff_t, std::ptrdiff_t, std::ptrdiff_t, const T*, std::ptrdiff_t,   \
                        const T*, T*, std::ptrdiff_t) noexcept;
REEL_PLAIN(float)
REEL_PLAIN(double)
#undef REEL_PLAIN

}  // namespace plain
}  // namespace reel::kernels
