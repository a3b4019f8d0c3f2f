// Densities of gamma distributions in lanes, and those made of them. As in Loader (2000) the logarithm is expressed by
// kl_div, which does not cancel near the mode; other densities are ratios of gamma densities.
#pragma once
#include "stats/distribution.hpp"

namespace reel::ops {

/// log of z^(a - 1) exp(-z) / Gamma(a).
Lane log_gamma_density(L a, L z);
/// log of mu^k exp(-mu) / Gamma(k + 1).
Lane log_poisson(L k, L mu);
/// log_poisson(n, n), which is log_gamma_density(n, n) too.
Lane log_poisson_at_mean(L n);
/// log of Gamma(j + k + 1) / (Gamma(j + 1) Gamma(k + 1)) p^j q^k, p + q = 1: the Poisson distributions of j and k given
/// j + k.
Lane log_binomial(L j, L k, L p, L q);

/// A density c z^e r(z), of the logarithm of all, e and log r(z), without overflow in its derivatives at tiny z.
Lane density_of(P p, Lane (*log_density)(P p), Lane (*exponent)(P p), Lane (*log_rest)(L z, P p));

constexpr Distribution of_density(double lower, double upper, std::size_t shapes, Lane (*log_density)(P p),
                                  Lane (*density)(P p), double vanishes_below = HUGE_VAL,
                                  double vanishes_above = HUGE_VAL) {
  return {lower, upper, lower == 0, shapes, {log_density, density}, {}, vanishes_below, vanishes_above};
}

}  // namespace reel::ops
