// The Fortran symbols of OpenBLAS that reel calls, declared by hand (no header of OpenBLAS or LAPACKE is needed), and
// the checks of their arguments. Private to blas.cpp, lapack.cpp and decompositions. Each character argument of a
// Fortran procedure has a hidden length at the end of the list. C implementations of the same symbol ignore it.
#pragma once

#include <algorithm>
#include <complex>
#include <cstddef>
#include <limits>

#include "kernels/blas.hpp"

extern "C" {
using reel_fortran_length = std::size_t;

void sgemm_(const char*, const char*, const int*, const int*, const int*, const float*, const float*, const int*,
            const float*, const int*, const float*, float*, const int*, reel_fortran_length, reel_fortran_length);
void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*,
            const double*, const int*, const double*, double*, const int*, reel_fortran_length, reel_fortran_length);
void sgemv_(const char*, const int*, const int*, const float*, const float*, const int*, const float*, const int*,
            const float*, float*, const int*, reel_fortran_length);
void dgemv_(const char*, const int*, const int*, const double*, const double*, const int*, const double*, const int*,
            const double*, double*, const int*, reel_fortran_length);
float sdot_(const int*, const float*, const int*, const float*, const int*);
double ddot_(const int*, const double*, const int*, const double*, const int*);
void strsm_(const char*, const char*, const char*, const char*, const int*, const int*, const float*, const float*,
            const int*, float*, const int*, reel_fortran_length, reel_fortran_length, reel_fortran_length,
            reel_fortran_length);
void dtrsm_(const char*, const char*, const char*, const char*, const int*, const int*, const double*, const double*,
            const int*, double*, const int*, reel_fortran_length, reel_fortran_length, reel_fortran_length,
            reel_fortran_length);

void ssyrk_(const char*, const char*, const int*, const int*, const float*, const float*, const int*, const float*,
            float*, const int*, reel_fortran_length, reel_fortran_length);
void dsyrk_(const char*, const char*, const int*, const int*, const double*, const double*, const int*, const double*,
            double*, const int*, reel_fortran_length, reel_fortran_length);

void spotrf_(const char*, const int*, float*, const int*, int*, reel_fortran_length);
void dpotrf_(const char*, const int*, double*, const int*, int*, reel_fortran_length);
void sgetrf_(const int*, const int*, float*, const int*, int*, int*);
void dgetrf_(const int*, const int*, double*, const int*, int*, int*);
void sgetri_(const int*, float*, const int*, const int*, float*, const int*, int*);
void dgetri_(const int*, double*, const int*, const int*, double*, const int*, int*);
void sgeqrf_(const int*, const int*, float*, const int*, float*, float*, const int*, int*);
void dgeqrf_(const int*, const int*, double*, const int*, double*, double*, const int*, int*);
void sgeqp3_(const int*, const int*, float*, const int*, int*, float*, float*, const int*, int*);
void dgeqp3_(const int*, const int*, double*, const int*, int*, double*, double*, const int*, int*);
void sormqr_(const char*, const char*, const int*, const int*, const int*, const float*, const int*, const float*,
             float*, const int*, float*, const int*, int*, reel_fortran_length, reel_fortran_length);
void dormqr_(const char*, const char*, const int*, const int*, const int*, const double*, const int*, const double*,
             double*, const int*, double*, const int*, int*, reel_fortran_length, reel_fortran_length);
void sorgqr_(const int*, const int*, const int*, float*, const int*, const float*, float*, const int*, int*);
void dorgqr_(const int*, const int*, const int*, double*, const int*, const double*, double*, const int*, int*);
void ctrsm_(const char*, const char*, const char*, const char*, const int*, const int*, const std::complex<float>*,
            const std::complex<float>*, const int*, std::complex<float>*, const int*, reel_fortran_length,
            reel_fortran_length, reel_fortran_length, reel_fortran_length);
void ztrsm_(const char*, const char*, const char*, const char*, const int*, const int*, const std::complex<double>*,
            const std::complex<double>*, const int*, std::complex<double>*, const int*, reel_fortran_length,
            reel_fortran_length, reel_fortran_length, reel_fortran_length);
void cpotrf_(const char*, const int*, std::complex<float>*, const int*, int*, reel_fortran_length);
void zpotrf_(const char*, const int*, std::complex<double>*, const int*, int*, reel_fortran_length);
void cgetrf_(const int*, const int*, std::complex<float>*, const int*, int*, int*);
void zgetrf_(const int*, const int*, std::complex<double>*, const int*, int*, int*);
void cgetri_(const int*, std::complex<float>*, const int*, const int*, std::complex<float>*, const int*, int*);
void zgetri_(const int*, std::complex<double>*, const int*, const int*, std::complex<double>*, const int*, int*);
void strtrs_(const char*, const char*, const char*, const int*, const int*, const float*, const int*, float*,
             const int*, int*, reel_fortran_length, reel_fortran_length, reel_fortran_length);
void dtrtrs_(const char*, const char*, const char*, const int*, const int*, const double*, const int*, double*,
             const int*, int*, reel_fortran_length, reel_fortran_length, reel_fortran_length);

// Eigenvalues, singular values, least squares and LU of rectangular matrices: for real matrices, then for complex ones,
// whose argument lists differ.
#define REEL_REAL_LAPACK(s, T)                                                                                     \
  void s##syevd_(const char*, const char*, const int*, T*, const int*, T*, T*, const int*, int*, const int*, int*, \
                 reel_fortran_length, reel_fortran_length);                                                        \
  void s##gesdd_(const char*, const int*, const int*, T*, const int*, T*, T*, const int*, T*, const int*, T*,      \
                 const int*, int*, int*, reel_fortran_length);                                                     \
  void s##geev_(const char*, const char*, const int*, T*, const int*, T*, T*, T*, const int*, T*, const int*, T*,  \
                const int*, int*, reel_fortran_length, reel_fortran_length);                                       \
  void s##gelsd_(const int*, const int*, const int*, T*, const int*, T*, const int*, T*, const T*, int*, T*,       \
                 const int*, int*, int*);
#define REEL_COMPLEX_LAPACK(c, T, R)                                                                             \
  void c##geqrf_(const int*, const int*, T*, const int*, T*, T*, const int*, int*);                              \
  void c##ungqr_(const int*, const int*, const int*, T*, const int*, const T*, T*, const int*, int*);            \
  void c##heevd_(const char*, const char*, const int*, T*, const int*, R*, T*, const int*, R*, const int*, int*, \
                 const int*, int*, reel_fortran_length, reel_fortran_length);                                    \
  void c##gesdd_(const char*, const int*, const int*, T*, const int*, R*, T*, const int*, T*, const int*, T*,    \
                 const int*, R*, int*, int*, reel_fortran_length);                                               \
  void c##geev_(const char*, const char*, const int*, T*, const int*, T*, T*, const int*, T*, const int*, T*,    \
                const int*, R*, int*, reel_fortran_length, reel_fortran_length);                                 \
  void c##gelsd_(const int*, const int*, const int*, T*, const int*, T*, const int*, R*, const R*, int*, T*,     \
                 const int*, R*, int*, int*);
REEL_REAL_LAPACK(s, float)
REEL_REAL_LAPACK(d, double)
REEL_COMPLEX_LAPACK(c, std::complex<float>, float)
REEL_COMPLEX_LAPACK(z, std::complex<double>, double)
#undef REEL_REAL_LAPACK
#undef REEL_COMPLEX_LAPACK
}

namespace reel::kernels::fortran {

// The symbols for one scalar type under common names.
template <class T>
struct Symbols;

template <>
struct Symbols<float> {
  static constexpr auto gemm = &sgemm_;
  static constexpr auto gemv = &sgemv_;
  static constexpr auto syrk = &ssyrk_;
  static constexpr auto dot = &sdot_;
  static constexpr auto trsm = &strsm_;
  static constexpr auto potrf = &spotrf_;
  static constexpr auto getrf = &sgetrf_;
  static constexpr auto getri = &sgetri_;
  static constexpr auto geqrf = &sgeqrf_;
  static constexpr auto geqp3 = &sgeqp3_;
  static constexpr auto ormqr = &sormqr_;
  static constexpr auto orgqr = &sorgqr_;
  static constexpr auto trtrs = &strtrs_;
  static constexpr auto heevd = &ssyevd_;
  static constexpr auto gesdd = &sgesdd_;
  static constexpr auto geev = &sgeev_;
  static constexpr auto gelsd = &sgelsd_;
};

template <>
struct Symbols<double> {
  static constexpr auto gemm = &dgemm_;
  static constexpr auto gemv = &dgemv_;
  static constexpr auto syrk = &dsyrk_;
  static constexpr auto dot = &ddot_;
  static constexpr auto trsm = &dtrsm_;
  static constexpr auto potrf = &dpotrf_;
  static constexpr auto getrf = &dgetrf_;
  static constexpr auto getri = &dgetri_;
  static constexpr auto geqrf = &dgeqrf_;
  static constexpr auto geqp3 = &dgeqp3_;
  static constexpr auto ormqr = &dormqr_;
  static constexpr auto orgqr = &dorgqr_;
  static constexpr auto trtrs = &dtrtrs_;
  static constexpr auto heevd = &dsyevd_;
  static constexpr auto gesdd = &dgesdd_;
  static constexpr auto geev = &dgeev_;
  static constexpr auto gelsd = &dgelsd_;
};

template <>
struct Symbols<std::complex<float>> {
  static constexpr auto trsm = &ctrsm_;
  static constexpr auto potrf = &cpotrf_;
  static constexpr auto getrf = &cgetrf_;
  static constexpr auto getri = &cgetri_;
  static constexpr auto geqrf = &cgeqrf_;
  static constexpr auto orgqr = &cungqr_;
  static constexpr auto heevd = &cheevd_;
  static constexpr auto gesdd = &cgesdd_;
  static constexpr auto geev = &cgeev_;
  static constexpr auto gelsd = &cgelsd_;
};

template <>
struct Symbols<std::complex<double>> {
  static constexpr auto trsm = &ztrsm_;
  static constexpr auto potrf = &zpotrf_;
  static constexpr auto getrf = &zgetrf_;
  static constexpr auto getri = &zgetri_;
  static constexpr auto geqrf = &zgeqrf_;
  static constexpr auto orgqr = &zungqr_;
  static constexpr auto heevd = &zheevd_;
  static constexpr auto gesdd = &zgesdd_;
  static constexpr auto geev = &zgeev_;
  static constexpr auto gelsd = &zgelsd_;
};

constexpr char letter(Transposed transposed) noexcept { return transposed == Transposed::yes ? 'T' : 'N'; }

inline constexpr std::ptrdiff_t largest_int = std::numeric_limits<int>::max();

// 0 when every count lies in [0, INT_MAX].
template <class... Counts>
[[nodiscard]] int check_extents(Counts... counts) noexcept {
  if (((counts < 0) || ...)) {
    return bad_extent;
  }
  return ((counts > largest_int) || ...) ? too_large : 0;
}

// 0 when a leading dimension fits an int and is at least the length of a line.
[[nodiscard]] inline int check_leading(std::ptrdiff_t leading, std::ptrdiff_t line) noexcept {
  if (leading > largest_int) {
    return too_large;
  }
  return leading < line ? bad_extent : 0;
}

// The first nonzero code.
template <class... Codes>
[[nodiscard]] int first_code(Codes... codes) noexcept {
  int found = 0;
  static_cast<void>(((found = codes, found != 0) || ...));
  return found;
}

[[nodiscard]] inline int as_int(std::ptrdiff_t checked) noexcept { return static_cast<int>(checked); }

// Leading dimensions must be positive even where nothing is read.
[[nodiscard]] inline int as_leading(std::ptrdiff_t checked) noexcept {
  return static_cast<int>(std::max<std::ptrdiff_t>(checked, 1));
}

}  // namespace reel::kernels::fortran
