#include "stats/gamma_density.hpp"

#include "stats/distribution.hpp"

namespace reel::ops {

namespace {

// lgamma(a) minus Stirling's approximation, a >= stirling_min.
Lane stirling_error(const Lane& a) {
  const Lane s = 1 / (a * a);
  Lane sum = s * stirling_series[6] + stirling_series[5];
  for (int k = 4; k >= 0; --k) sum = s * sum + stirling_series[k];
  return sum / a;
}

// Small and large operands have formulas of their own. Each formula gets a valid operand where the other one counts.
struct BySize {
  LaneMask large;
  Lane a, z, small_a, small_z;
  BySize(const Lane& shape, const Lane& x)
      : large(shape >= stirling_min),
        a(where(large, shape, stirling_min)),
        z(where(large && x > 0, x, stirling_min)),
        small_a(where(large, 1, shape)),
        small_z(where(large, 1, x)) {}
};

}  // namespace

// log of z^(a - 1) exp(-z) / Gamma(a).
Lane log_gamma_density(const Lane& a, const Lane& z) {
  const BySize by(a, z);
  const Lane large = -kl_div(by.a, by.z) + 0.5 * log(by.a) - log(by.z) - log_root_2pi - stirling_error(by.a);
  const Lane small = xlogy(by.small_a - 1, by.small_z) - by.small_z - lgamma(by.small_a);
  return where(by.large, where(equal(z, 0), -infinity, where(isnan(z), z, large)), small);
}

// log of mu^k exp(-mu) / Gamma(k + 1).
Lane log_poisson(const Lane& k, const Lane& mu) {
  const BySize by(k, mu);
  const Lane large = -kl_div(by.a, by.z) - 0.5 * log(by.a) - log_root_2pi - stirling_error(by.a);
  const Lane small = xlogy(by.small_a, by.small_z) - by.small_z - lgamma(by.small_a + 1);
  return where(by.large, where(equal(mu, 0), -infinity, where(isnan(mu), mu, large)), small);
}

// log_poisson(n, n), which is log_gamma_density(n, n) too.
Lane log_poisson_at_mean(const Lane& n) {
  const LaneMask is_large = n >= stirling_min;
  const Lane a = where(is_large, n, stirling_min), b = where(is_large, 1, n);
  return where(is_large, -0.5 * log(a) - log_root_2pi - stirling_error(a), xlogy(b, b) - b - lgamma(b + 1));
}

// log of Gamma(j + k + 1) / (Gamma(j + 1) Gamma(k + 1)) p^j q^k, p + q = 1: the Poisson distributions of j and k given
// j + k.
Lane log_binomial(const Lane& j, const Lane& k, const Lane& p, const Lane& q) {
  const Lane n = j + k;
  return log_poisson(j, n * p) + log_poisson(k, n * q) - log_poisson_at_mean(n);
}

// For tiny z the density is that at tiny_max times powers of the quotient: the
// derivatives of exp(e log(z)) by z overflow before those of a power do, and are 0 where the density underflows.
Lane density_of(P p, Lane (*log_density)(P p), Lane (*exponent)(P p), Lane (*log_rest)(L z, P p)) {
  constexpr double tiny_max = 0x1p-27;
  const Lane e = exponent(p), end = where(p.z > 0, tiny_max, tiny_max), zero = where(p.z > 0, 0, 0);
  // Where r(tiny_max) is not small and the power not large.
  const LaneMask tiny = p.z > 0 && p.z < tiny_max && p.a < stirling_min && log_rest(end, p) > -1, flat = equal(e, 0);
  const Lane quotient = where(tiny, p.z, tiny_max) / tiny_max;
  const Lane y =
      exp(log_density({where(tiny, tiny_max, p.z), where(tiny, tiny_max * p.scale, p.d), p.scale, p.a, p.b}));
  // 0 log(z), whose derivative by a is no multiple of 0, has no power.
  const Lane rest = exp(xlogy(e, where(flat, quotient, 1)) +
                        (log_rest(where(tiny, p.z, zero), p) - log_rest(where(tiny, end, zero), p)));
  return where(tiny, where(tiny, y, 1) * power(where(flat, 1, quotient), e) * rest, y);
}

}  // namespace reel::ops
