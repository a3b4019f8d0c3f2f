// Elementary functions of complex numbers whose definitions in the pointwise table are for real numbers only.
#pragma once
#include <cstddef>
#include <cstdint>

namespace reel::kernels {

// clang-format off
#define REEL_ELEMENTARY_FUNCTIONS(F) \
  F(arcsin) F(arccos) F(arctan) F(arcsinh) F(arccosh) F(arctanh) F(expm1) F(log1p) F(exp2) F(log2) F(log10)
// clang-format on
enum class Elementary : std::uint8_t {
#define REEL_ENUMERATOR(name) name,
  REEL_ELEMENTARY_FUNCTIONS(REEL_ENUMERATOR)
#undef REEL_ENUMERATOR
};

/// out[i] = f(z[i]) for n complex numbers, of two doubles each if `wide`, else of two floats, which are computed in
/// double and rounded once. Principal branches; on a branch cut the sign of a zero chooses the side (Kahan 1987; C,
/// annex G).
void elementary(Elementary f, const void* z, void* out, std::ptrdiff_t n, bool wide);

}  // namespace reel::kernels
