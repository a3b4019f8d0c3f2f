// What loops over factorisations share: finite matrices, NaN, and the codes of LAPACK of a batch.
#pragma once
#include <complex>
#include <limits>
#include <new>

#include "core/fail.hpp"
#include "linalg/factorise.hpp"
#include "linalg/lapack/lapack.hpp"

namespace reel::loops {

/// The first positive code of a batch; throws for negative ones, which the elements of a matrix do not cause.
inline FactorInfo first_info(const detail::List<int>& codes) {
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (codes[i] == kernels::out_of_memory) throw std::bad_alloc();
    if (codes[i] < 0)
      fail<ValueError>("linear algebra",
                       "the matrix, or the workspace that LAPACK asks for, exceeds 2^31 - 1 elements");
    if (codes[i] > 0) return {static_cast<std::int64_t>(i), codes[i]};
  }
  return {};
}

/// Whether all elements are finite, of LAPACK's four types. Defined in factorise.cpp: the linker might take an inline
/// function from a source that is compiled for size.
template <class T>
bool finite(const T* x, std::int64_t n);

/// NaN, of complex numbers in both parts.
template <class T>
constexpr T not_a_number = std::numeric_limits<decltype(std::real(T()))>::quiet_NaN();
template <class T>
constexpr std::complex<T> not_a_number<std::complex<T>> = {not_a_number<T>, not_a_number<T>};

}  // namespace reel::loops
