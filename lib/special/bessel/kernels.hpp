// Kernels of the Bessel functions of order 0 and 1.
#pragma once
#include <cstdint>

#include "kernels/loop.hpp"
#include "kernels/set.hpp"

namespace reel::kernels {

// clang-format off
#define REEL_BESSEL_FUNCTIONS(F) F(i0) F(i1) F(i0e) F(i1e) F(k0) F(k1) F(k0e) F(k1e) F(j0) F(j1) F(y0) F(y1)
// clang-format on
enum class BesselFunction : std::uint8_t {
#define REEL_ENUMERATOR(name) name,
  REEL_BESSEL_FUNCTIONS(REEL_ENUMERATOR)
#undef REEL_ENUMERATOR
};
inline constexpr std::size_t bessel_count = static_cast<std::size_t>(BesselFunction::y1) + 1;

/// A Bessel function of x and its first derivative. A loop is null where the dtype has none.
struct Bessel {
  Loop value, derivative;
};

/// float32, float64.
struct BesselKernels {
  static constexpr KernelFamily family = KernelFamily::bessel;
  Bessel loops[dtype_count][bessel_count];

  const Bessel& of(BesselFunction f, DType d) const { return loops[index(d)][static_cast<std::size_t>(f)]; }
};

}  // namespace reel::kernels
