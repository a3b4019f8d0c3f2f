// Functions of laws that have no public name of their own, and their partial derivatives of every order, element by
// element in long double. Compiled once, for the baseline instruction set.
#pragma once
#include <cstddef>
#include <cstdint>
#include <reel/dtype.hpp>

namespace reel::kernels::special {

/// Logarithms of gammainc and gammaincc, functions of a and x, and of betainc and betaincc, functions of a, b and x:
/// without underflow.
/// vonmises_cdf: the probability of an angle from -pi to x <= pi, of kappa and x. Its time grows with sqrt(kappa).
enum class DistributionFunction : std::uint8_t { log_gammainc, log_gammaincc, log_betainc, log_betaincc, vonmises_cdf };

/// out[i] = f(in[0][i], in[1][i], ...), differentiated orders[k] times by argument k; float32 or float64. out and in
/// are contiguous and do not overlap.
void evaluate(DistributionFunction f, const int* orders, const void* const* in, void* out, std::ptrdiff_t n, DType d);

constexpr std::size_t arguments_of(DistributionFunction f) {
  return f == DistributionFunction::log_betainc || f == DistributionFunction::log_betaincc ? 3 : 2;
}

}  // namespace reel::kernels::special
