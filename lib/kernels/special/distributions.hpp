// Functions of probability distributions, element by element in long double. Compiled once, for the baseline
// instruction set.
#pragma once
#include <cstddef>
#include <cstdint>
#include <reel/dtype.hpp>

namespace reel::kernels::special {

/// Each with its operands. Only the first has derivatives.
enum class Distribution : std::uint8_t {
  vonmises_logcdf,  // kappa, x: the logarithm of vonmises_cdf
  vonmises_ppf,     // kappa, p: the angle from -pi to pi of probability p
  // The smallest number whose distribution function is at least p; that before the support for p = 0. In float64.
  poisson_ppf,  // p, mu
  binom_ppf,    // p, n, probability
  nbinom_ppf    // p, n, probability
};
constexpr std::size_t arguments(Distribution f) { return f < Distribution::binom_ppf ? 2 : 3; }

/// out[i] = f(in[0][i], in[1][i], ...), differentiated orders[k] times by argument k; float32 or float64. out and in
/// are contiguous and do not overlap.
void evaluate(Distribution f, const int* orders, const void* const* in, void* out, std::ptrdiff_t n, DType d);

}  // namespace reel::kernels::special
