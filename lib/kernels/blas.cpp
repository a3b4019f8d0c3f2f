// Row-major products and triangular solves on Fortran BLAS. A row-major matrix is the transpose of the column-major
// one in the same memory: products swap their operands, triangular solves swap side and triangle; nothing is copied.
#include "kernels/blas.hpp"

#include <algorithm>
#include <complex>

#include "kernels/fortran.hpp"

namespace reel::kernels {
namespace {

using namespace fortran;

}  // namespace

template <class T>
int gemm(Transposed transpose_a, Transposed transpose_b, std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t k,
         std::type_identity_t<T> alpha, const T* a, std::ptrdiff_t lda, const T* b, std::ptrdiff_t ldb,
         std::type_identity_t<T> beta, T* c, std::ptrdiff_t ldc) noexcept {
  prepare_blas();
  const int code = first_code(check_extents(m, n, k), check_leading(lda, transpose_a == Transposed::yes ? m : k),
                              check_leading(ldb, transpose_b == Transposed::yes ? k : n), check_leading(ldc, n));
  if (code != 0 || m == 0 || n == 0) {
    return code;
  }
  const char letter_a = letter(transpose_a);
  const char letter_b = letter(transpose_b);
  const int rows = as_int(m);
  const int columns = as_int(n);
  const int inner = as_int(k);
  const int leading_a = as_leading(lda);
  const int leading_b = as_leading(ldb);
  const int leading_c = as_leading(ldc);
  Symbols<T>::gemm(&letter_b, &letter_a, &columns, &rows, &inner, &alpha, b, &leading_b, a, &leading_a, &beta, c,
                   &leading_c, 1, 1);
  return 0;
}

template <class T>
int syrk(Transposed transpose, std::ptrdiff_t n, std::ptrdiff_t k, const T* a, std::ptrdiff_t lda, bool add, T* c,
         std::ptrdiff_t ldc) noexcept {
  prepare_blas();
  const int code =
      first_code(check_extents(n, k), check_leading(lda, transpose == Transposed::yes ? n : k), check_leading(ldc, n));
  if (code != 0) {
    return code;
  }
  for (std::ptrdiff_t i = 0; i < n && !add; ++i) {  // some versions of OpenBLAS scale by zero and so keep a NaN
    std::fill_n(c + i * ldc, i + 1, T(0));
  }
  const char flipped = transpose == Transposed::yes ? 'N' : 'T';
  const int rows = as_int(n);
  const int inner = as_int(k);
  const int leading_a = as_leading(lda);
  const int leading_c = as_leading(ldc);
  const T one = 1;
  Symbols<T>::syrk("U", &flipped, &rows, &inner, &one, a, &leading_a, &one, c, &leading_c, 1, 1);
  return 0;
}

template <class T>
int gemv(Transposed transpose_a, std::ptrdiff_t m, std::ptrdiff_t n, std::type_identity_t<T> alpha, const T* a,
         std::ptrdiff_t lda, const T* x, std::ptrdiff_t stride_x, std::type_identity_t<T> beta, T* y,
         std::ptrdiff_t stride_y) noexcept {
  prepare_blas();
  const int code =
      first_code(check_extents(m, n), check_leading(lda, n), check_leading(stride_x, 1), check_leading(stride_y, 1));
  const std::ptrdiff_t length = transpose_a == Transposed::yes ? n : m;
  if (code != 0 || length == 0) {
    return code;
  }
  if (beta == T(0)) {  // some versions of OpenBLAS scale y by zero and so keep its NaN
    for (std::ptrdiff_t i = 0; i < length; ++i) {
      y[i * stride_y] = T(0);
    }
  }
  if (m == 0 || n == 0) {
    if (beta != T(0) && beta != T(1)) {
      for (std::ptrdiff_t i = 0; i < length; ++i) {
        y[i * stride_y] *= beta;
      }
    }
    return 0;
  }
  const T kept = beta == T(0) ? T(1) : beta;
  const char flipped = transpose_a == Transposed::yes ? 'N' : 'T';
  const int rows = as_int(n);
  const int columns = as_int(m);
  const int leading = as_leading(lda);
  const int step_x = as_int(stride_x);
  const int step_y = as_int(stride_y);
  Symbols<T>::gemv(&flipped, &rows, &columns, &alpha, a, &leading, x, &step_x, &kept, y, &step_y, 1);
  return 0;
}

template <class T>
T dot(std::ptrdiff_t n, const T* x, std::ptrdiff_t stride_x, const T* y, std::ptrdiff_t stride_y) noexcept {
  prepare_blas();
  T total{0};
  const std::ptrdiff_t widest = std::max({stride_x, stride_y, std::ptrdiff_t{1}});
  if (widest > largest_int) {
    for (std::ptrdiff_t i = 0; i < n; ++i) {
      total += x[i * stride_x] * y[i * stride_y];
    }
    return total;
  }
  constexpr std::ptrdiff_t piece = std::ptrdiff_t{1} << 30;
  for (std::ptrdiff_t first = 0; first < n; first += piece) {
    const int count = as_int(std::min(piece, n - first));
    const int step_x = as_int(stride_x);
    const int step_y = as_int(stride_y);
    total += Symbols<T>::dot(&count, x + first * stride_x, &step_x, y + first * stride_y, &step_y);
  }
  return total;
}

template <class T>
int trsm(Side side, Triangle triangle, Transposed transpose_a, Diagonal diagonal, std::ptrdiff_t m, std::ptrdiff_t n,
         std::type_identity_t<T> alpha, const T* a, std::ptrdiff_t lda, T* b, std::ptrdiff_t ldb) noexcept {
  prepare_blas();
  const int code =
      first_code(check_extents(m, n), check_leading(lda, side == Side::left ? m : n), check_leading(ldb, n));
  if (code != 0 || m == 0 || n == 0) {
    return code;
  }
  const char flipped_side = side == Side::left ? 'R' : 'L';
  const char flipped_triangle = triangle == Triangle::lower ? 'U' : 'L';
  const char letter_a = letter(transpose_a);
  const char letter_diagonal = diagonal == Diagonal::unit ? 'U' : 'N';
  const int rows = as_int(n);
  const int columns = as_int(m);
  const int leading_a = as_leading(lda);
  const int leading_b = as_leading(ldb);
  Symbols<T>::trsm(&flipped_side, &flipped_triangle, &letter_a, &letter_diagonal, &rows, &columns, &alpha, a,
                   &leading_a, b, &leading_b, 1, 1, 1, 1);
  return 0;
}

template int gemm<float>(Transposed, Transposed, std::ptrdiff_t, std::ptrdiff_t, std::ptrdiff_t, float, const float*,
                         std::ptrdiff_t, const float*, std::ptrdiff_t, float, float*, std::ptrdiff_t) noexcept;
template int gemm<double>(Transposed, Transposed, std::ptrdiff_t, std::ptrdiff_t, std::ptrdiff_t, double, const double*,
                          std::ptrdiff_t, const double*, std::ptrdiff_t, double, double*, std::ptrdiff_t) noexcept;
template int syrk<float>(Transposed, std::ptrdiff_t, std::ptrdiff_t, const float*, std::ptrdiff_t, bool, float*,
                         std::ptrdiff_t) noexcept;
template int syrk<double>(Transposed, std::ptrdiff_t, std::ptrdiff_t, const double*, std::ptrdiff_t, bool, double*,
                          std::ptrdiff_t) noexcept;
template int gemv<float>(Transposed, std::ptrdiff_t, std::ptrdiff_t, float, const float*, std::ptrdiff_t, const float*,
                         std::ptrdiff_t, float, float*, std::ptrdiff_t) noexcept;
template int gemv<double>(Transposed, std::ptrdiff_t, std::ptrdiff_t, double, const double*, std::ptrdiff_t,
                          const double*, std::ptrdiff_t, double, double*, std::ptrdiff_t) noexcept;
template float dot<float>(std::ptrdiff_t, const float*, std::ptrdiff_t, const float*, std::ptrdiff_t) noexcept;
template double dot<double>(std::ptrdiff_t, const double*, std::ptrdiff_t, const double*, std::ptrdiff_t) noexcept;
template int trsm<float>(Side, Triangle, Transposed, Diagonal, std::ptrdiff_t, std::ptrdiff_t, float, const float*,
                         std::ptrdiff_t, float*, std::ptrdiff_t) noexcept;
template int trsm<double>(Side, Triangle, Transposed, Diagonal, std::ptrdiff_t, std::ptrdiff_t, double, const double*,
                          std::ptrdiff_t, double*, std::ptrdiff_t) noexcept;
template int trsm<std::complex<float>>(Side, Triangle, Transposed, Diagonal, std::ptrdiff_t, std::ptrdiff_t,
                                       std::complex<float>, const std::complex<float>*, std::ptrdiff_t,
                                       std::complex<float>*, std::ptrdiff_t) noexcept;
template int trsm<std::complex<double>>(Side, Triangle, Transposed, Diagonal, std::ptrdiff_t, std::ptrdiff_t,
                                        std::complex<double>, const std::complex<double>*, std::ptrdiff_t,
                                        std::complex<double>*, std::ptrdiff_t) noexcept;

}  // namespace reel::kernels
