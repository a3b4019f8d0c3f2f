// Elementary functions of complex numbers that the pointwise table has for real ones alone.
#pragma once
#include <cstddef>
#include <cstdint>

namespace reel::kernels {

enum class Elementary : std::uint8_t {
  arcsin,
  arccos,
  arctan,
  arcsinh,
  arccosh,
  arctanh,
  expm1,
  log1p,
  exp2,
  log2,
  log10
};

/// out[i] = f(z[i]) of n complex numbers, each of two doubles if `wide`, else of two floats, which are computed in
/// double and rounded once. Principal branches; on a cut the sign of a zero says which side is meant (Kahan 1987; C,
/// annex G).
void elementary(Elementary f, const void* z, void* out, std::ptrdiff_t n, bool wide);

}  // namespace reel::kernels
