// The Fortran symbols of OpenBLAS that reel calls, declared by hand (no header of OpenBLAS or LAPACKE is needed), and
// the checks of what is handed to them. Private to blas.cpp and lapack.cpp. Each character argument of a Fortran
// procedure has a hidden length at the end of the list; C implementations of the same symbol ignore it.
#pragma once

#include <algorithm>
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
void strtrs_(const char*, const char*, const char*, const int*, const int*, const float*, const int*, float*,
             const int*, int*, reel_fortran_length, reel_fortran_length, reel_fortran_length);
void dtrtrs_(const char*, const char*, const char*, const int*, const int*, const double*, const int*, double*,
             const int*, int*, reel_fortran_length, reel_fortran_length, reel_fortran_length);
}

namespace reel::kernels::fortran {

// The symbols for one scalar type under common names.
template <class T>
struct Symbols;

template <>
struct Symbols<float> {
  static constexpr auto gemm = &sgemm_;
  static constexpr auto gemv = &sgemv_;
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
};

template <>
struct Symbols<double> {
  static constexpr auto gemm = &dgemm_;
  static constexpr auto gemv = &dgemv_;
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
