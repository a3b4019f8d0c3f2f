// Elementary functions of complex numbers whose definitions in the pointwise table are for real numbers only.
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

/// out[i] = f(z[i]) for n complex numbers, of two doubles each if `wide`, else of two floats, which are computed in
/// double and rounded once. Principal branches; on a branch cut the sign of a zero chooses the side (Kahan 1987; C,
/// annex G).
void elementary(Elementary f, const void* z, void* out, std::ptrdiff_t n, bool wide);

}  // namespace reel::kernels
