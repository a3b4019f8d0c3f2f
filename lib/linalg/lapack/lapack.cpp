// LAPACK with checked 32-bit extents. The workspace is queried, allocated without exceptions and released per call.
// Row-major LU works on the transpose, which is what LAPACK sees in row-major memory; see getrs for the algebra.
#include "linalg/lapack/lapack.hpp"

#include <algorithm>
#include <complex>
#include <utility>

#include "kernels/fortran.hpp"
#include "linalg/lapack/work_space.hpp"

namespace reel::kernels {
namespace {

using namespace fortran;

// Calls call(work, length, info) twice: with length -1, where LAPACK returns the best length in work[0], then with the
// workspace. If `enough` is positive, it is the length, and there is no query.
template <class T, class Call>
int with_work_space(Call call, int enough = 0) noexcept {
  T answer{};
  int info = 0;
  if (enough == 0) {
    call(&answer, &query, &info);
  }
  if (info != 0) {
    return info;
  }
  const Buffer<T> work(enough == 0 ? workspace_size(answer) : enough, info);
  if (info == 0) {
    call(work.data(), work.length(), &info);
  }
  return info;
}

}  // namespace

template <class T>
int potrf(Triangle triangle, std::ptrdiff_t n, T* a, std::ptrdiff_t lda) noexcept {
  prepare_blas();
  const int code = first_code(check_extents(n), check_leading(lda, n));
  if (code != 0 || n == 0) {
    return code;
  }
  const char flipped = triangle == Triangle::lower ? 'U' : 'L';
  const int order = as_int(n);
  const int leading = as_leading(lda);
  int info = 0;
  Symbols<T>::potrf(&flipped, &order, a, &leading, &info, 1);
  return info;
}

template <class T>
int potrs(Triangle triangle, std::ptrdiff_t n, std::ptrdiff_t columns, const T* factor, std::ptrdiff_t lda, T* b,
          std::ptrdiff_t ldb) noexcept {
  const bool lower = triangle == Triangle::lower;
  const Transposed first = lower ? Transposed::no : Transposed::yes;
  const Transposed second = lower ? Transposed::yes : Transposed::no;
  const int code = trsm(Side::left, triangle, first, Diagonal::stored, n, columns, T(1), factor, lda, b, ldb);
  return code != 0 ? code : trsm(Side::left, triangle, second, Diagonal::stored, n, columns, T(1), factor, lda, b, ldb);
}

template <class T>
int getrf(std::ptrdiff_t m, std::ptrdiff_t n, T* a, std::ptrdiff_t lda, int* pivots) noexcept {
  prepare_blas();
  const int code = first_code(check_extents(m, n), check_leading(lda, m));
  if (code != 0 || m == 0 || n == 0) {
    return code;
  }
  const int rows = as_int(m);
  const int columns = as_int(n);
  const int leading = as_leading(lda);
  int info = 0;
  Symbols<T>::getrf(&rows, &columns, a, &leading, pivots, &info);
  return info;
}

// LAPACK factorised M = A^T = P L U, so A = U^T L^T P^T. In row-major memory U^T is the lower triangle and L^T the
// upper one with unit diagonal; P swaps rows, which are contiguous in a row-major B.
template <class T>
int getrs(Transposed transpose_a, std::ptrdiff_t n, std::ptrdiff_t columns, const T* factors, std::ptrdiff_t lda,
          const int* pivots, T* b, std::ptrdiff_t ldb) noexcept {
  const int code = first_code(check_extents(n, columns), check_leading(lda, n), check_leading(ldb, columns));
  if (code != 0 || n == 0 || columns == 0) {
    return code;
  }
  const auto swap_with_pivot = [&](std::ptrdiff_t row) {
    const std::ptrdiff_t other = pivots[row] - 1;
    if (other != row) {
      std::swap_ranges(b + row * ldb, b + row * ldb + columns, b + other * ldb);
    }
  };
  const auto solve_lower = [&] {
    return trsm(Side::left, Triangle::lower, transpose_a, Diagonal::stored, n, columns, T(1), factors, lda, b, ldb);
  };
  const auto solve_upper = [&] {
    return trsm(Side::left, Triangle::upper, transpose_a, Diagonal::unit, n, columns, T(1), factors, lda, b, ldb);
  };
  if (transpose_a == Transposed::yes) {
    for (std::ptrdiff_t row = 0; row < n; ++row) {
      swap_with_pivot(row);
    }
    const int upper = solve_upper();
    return upper != 0 ? upper : solve_lower();
  }
  const int lower = solve_lower();
  const int solved = lower != 0 ? lower : solve_upper();
  for (std::ptrdiff_t row = n - 1; row >= 0; --row) {
    swap_with_pivot(row);
  }
  return solved;
}

template <class T>
int getri(std::ptrdiff_t n, T* factors, std::ptrdiff_t lda, const int* pivots) noexcept {
  prepare_blas();
  const int code = first_code(check_extents(n), check_leading(lda, n));
  if (code != 0 || n == 0) {
    return code;
  }
  const int order = as_int(n);
  const int leading = as_leading(lda);
  return with_work_space<T>([&](T* work, const int* length, int* info) {
    Symbols<T>::getri(&order, factors, &leading, pivots, work, length, info);
  });
}

template <class T>
int geqrf(std::ptrdiff_t m, std::ptrdiff_t n, T* a, std::ptrdiff_t lda, T* tau) noexcept {
  prepare_blas();
  const int code = first_code(check_extents(m, n), check_leading(lda, m));
  if (code != 0 || m == 0 || n == 0) {
    return code;
  }
  const int rows = as_int(m);
  const int columns = as_int(n);
  const int leading = as_leading(lda);
  return with_work_space<T>(
      [&](T* work, const int* length, int* info) {
        Symbols<T>::geqrf(&rows, &columns, a, &leading, tau, work, length, info);
      },
      std::max(rows, columns) <= unqueried_order ? columns : 0);
}

template <class T>
int geqp3(std::ptrdiff_t m, std::ptrdiff_t n, T* a, std::ptrdiff_t lda, int* order, T* tau) noexcept {
  prepare_blas();
  const int code = first_code(check_extents(m, n), check_leading(lda, m));
  if (code != 0 || n == 0) {
    return code;
  }
  if (m == 0) {
    for (std::ptrdiff_t j = 0; j < n; ++j) {
      order[j] = as_int(j) + 1;
    }
    return 0;
  }
  const int rows = as_int(m);
  const int columns = as_int(n);
  const int leading = as_leading(lda);
  return with_work_space<T>([&](T* work, const int* length, int* info) {
    Symbols<T>::geqp3(&rows, &columns, a, &leading, order, tau, work, length, info);
  });
}

template <class T>
int ormqr(Side side, Transposed transpose_q, std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t reflectors, const T* a,
          std::ptrdiff_t lda, const T* tau, T* c, std::ptrdiff_t ldc) noexcept {
  prepare_blas();
  const std::ptrdiff_t length_q = side == Side::left ? m : n;
  const int code = first_code(check_extents(m, n, reflectors), check_leading(lda, length_q), check_leading(ldc, m),
                              reflectors > length_q ? bad_extent : 0);
  if (code != 0 || m == 0 || n == 0 || reflectors == 0) {
    return code;
  }
  const char letter_side = side == Side::left ? 'L' : 'R';
  const char letter_q = letter(transpose_q);
  const int rows = as_int(m);
  const int columns = as_int(n);
  const int count = as_int(reflectors);
  const int leading_a = as_leading(lda);
  const int leading_c = as_leading(ldc);
  return with_work_space<T>([&](T* work, const int* length, int* info) {
    Symbols<T>::ormqr(&letter_side, &letter_q, &rows, &columns, &count, a, &leading_a, tau, c, &leading_c, work, length,
                      info, 1, 1);
  });
}

template <class T>
int orgqr(std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t reflectors, T* a, std::ptrdiff_t lda,
          const T* tau) noexcept {
  prepare_blas();
  const int code =
      first_code(check_extents(m, n, reflectors), check_leading(lda, m), (n > m || reflectors > n) ? bad_extent : 0);
  if (code != 0 || n == 0) {
    return code;
  }
  const int rows = as_int(m);
  const int columns = as_int(n);
  const int count = as_int(reflectors);
  const int leading = as_leading(lda);
  return with_work_space<T>(
      [&](T* work, const int* length, int* info) {
        Symbols<T>::orgqr(&rows, &columns, &count, a, &leading, tau, work, length, info);
      },
      std::max(rows, columns) <= unqueried_order ? columns : 0);
}

template <class T>
int trtrs(Triangle triangle, Transposed transpose_a, Diagonal diagonal, std::ptrdiff_t n, std::ptrdiff_t columns,
          const T* a, std::ptrdiff_t lda, T* b, std::ptrdiff_t ldb) noexcept {
  prepare_blas();
  const int code = first_code(check_extents(n, columns), check_leading(lda, n), check_leading(ldb, n));
  if (code != 0 || n == 0 || columns == 0) {
    return code;
  }
  const char letter_triangle = triangle == Triangle::lower ? 'L' : 'U';
  const char letter_a = letter(transpose_a);
  const char letter_diagonal = diagonal == Diagonal::unit ? 'U' : 'N';
  const int order = as_int(n);
  const int count = as_int(columns);
  const int leading_a = as_leading(lda);
  const int leading_b = as_leading(ldb);
  int info = 0;
  Symbols<T>::trtrs(&letter_triangle, &letter_a, &letter_diagonal, &order, &count, a, &leading_a, b, &leading_b, &info,
                    1, 1, 1);
  return info;
}

template int potrf<float>(Triangle, std::ptrdiff_t, float*, std::ptrdiff_t) noexcept;
template int potrf<double>(Triangle, std::ptrdiff_t, double*, std::ptrdiff_t) noexcept;
template int potrs<float>(Triangle, std::ptrdiff_t, std::ptrdiff_t, const float*, std::ptrdiff_t, float*,
                          std::ptrdiff_t) noexcept;
template int potrs<double>(Triangle, std::ptrdiff_t, std::ptrdiff_t, const double*, std::ptrdiff_t, double*,
                           std::ptrdiff_t) noexcept;
template int getrf<float>(std::ptrdiff_t, std::ptrdiff_t, float*, std::ptrdiff_t, int*) noexcept;
template int getrf<double>(std::ptrdiff_t, std::ptrdiff_t, double*, std::ptrdiff_t, int*) noexcept;
template int getrs<float>(Transposed, std::ptrdiff_t, std::ptrdiff_t, const float*, std::ptrdiff_t, const int*, float*,
                          std::ptrdiff_t) noexcept;
template int getrs<double>(Transposed, std::ptrdiff_t, std::ptrdiff_t, const double*, std::ptrdiff_t, const int*,
                           double*, std::ptrdiff_t) noexcept;
template int getri<float>(std::ptrdiff_t, float*, std::ptrdiff_t, const int*) noexcept;
template int getri<double>(std::ptrdiff_t, double*, std::ptrdiff_t, const int*) noexcept;
#define REEL_COMPLEX(T)                                                                                       \
  template int potrf<T>(Triangle, std::ptrdiff_t, T*, std::ptrdiff_t) noexcept;                               \
  template int getrf<T>(std::ptrdiff_t, std::ptrdiff_t, T*, std::ptrdiff_t, int*) noexcept;                   \
  template int getrs<T>(Transposed, std::ptrdiff_t, std::ptrdiff_t, const T*, std::ptrdiff_t, const int*, T*, \
                        std::ptrdiff_t) noexcept;                                                             \
  template int getri<T>(std::ptrdiff_t, T*, std::ptrdiff_t, const int*) noexcept;                             \
  template int geqrf<T>(std::ptrdiff_t, std::ptrdiff_t, T*, std::ptrdiff_t, T*) noexcept;                     \
  template int orgqr<T>(std::ptrdiff_t, std::ptrdiff_t, std::ptrdiff_t, T*, std::ptrdiff_t, const T*) noexcept;
REEL_COMPLEX(std::complex<float>)
REEL_COMPLEX(std::complex<double>)
#undef REEL_COMPLEX
template int geqrf<float>(std::ptrdiff_t, std::ptrdiff_t, float*, std::ptrdiff_t, float*) noexcept;
template int geqrf<double>(std::ptrdiff_t, std::ptrdiff_t, double*, std::ptrdiff_t, double*) noexcept;
template int geqp3<float>(std::ptrdiff_t, std::ptrdiff_t, float*, std::ptrdiff_t, int*, float*) noexcept;
template int geqp3<double>(std::ptrdiff_t, std::ptrdiff_t, double*, std::ptrdiff_t, int*, double*) noexcept;
template int ormqr<float>(Side, Transposed, std::ptrdiff_t, std::ptrdiff_t, std::ptrdiff_t, const float*,
                          std::ptrdiff_t, const float*, float*, std::ptrdiff_t) noexcept;
template int ormqr<double>(Side, Transposed, std::ptrdiff_t, std::ptrdiff_t, std::ptrdiff_t, const double*,
                           std::ptrdiff_t, const double*, double*, std::ptrdiff_t) noexcept;
template int orgqr<float>(std::ptrdiff_t, std::ptrdiff_t, std::ptrdiff_t, float*, std::ptrdiff_t,
                          const float*) noexcept;
template int orgqr<double>(std::ptrdiff_t, std::ptrdiff_t, std::ptrdiff_t, double*, std::ptrdiff_t,
                           const double*) noexcept;
template int trtrs<float>(Triangle, Transposed, Diagonal, std::ptrdiff_t, std::ptrdiff_t, const float*, std::ptrdiff_t,
                          float*, std::ptrdiff_t) noexcept;
template int trtrs<double>(Triangle, Transposed, Diagonal, std::ptrdiff_t, std::ptrdiff_t, const double*,
                           std::ptrdiff_t, double*, std::ptrdiff_t) noexcept;

}  // namespace reel::kernels
