// Densities and probabilities of <reel/stats/densities.hpp>, each an elementwise function of lanes. As in Loader (2000)
// the logarithm of a gamma density is expressed by kl_div, which does not cancel near the mode. The other densities are
// ratios of gamma densities.
#include <numbers>
#include <reel/stats/densities.hpp>

#include "stats/distribution.hpp"
#include "stats/numbers.hpp"
#include "tape/observe/observe.hpp"

namespace reel {

namespace ops {

namespace {

using X = const Lane*;
using P = const DistributionPoint&;

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

Lane log_beta_density(P p) {
  const Lane n = p.a + p.b, rest = where(p.z < 0.5, 1 - p.z, (p.scale - p.d) / p.scale);
  return log_gamma_density(p.a, n * p.z) + log_gamma_density(p.b, n * rest) - log_poisson_at_mean(n) + log(n);
}

// lgamma(h + 1/2) - lgamma(h) - log(h) / 2: the difference of two Stirling series, of which only odd powers remain.
Lane half_step_of_lgamma(const Lane& h) {
  const LaneMask is_large = h >= stirling_min;
  const Lane a = 1 / where(is_large, h, stirling_min), s = a * a, b = where(is_large, 1, h);
  Lane sum = half_step_series[6] + half_step_series[7] * s;
  for (int k = 5; k >= 0; --k) sum = half_step_series[k] + sum * s;
  return where(is_large, sum * a, lgamma(b + 0.5) - lgamma(b) - 0.5 * log(b));
}
// log(1 + u^2), without overflow.
Lane log1p_of_square(const Lane& u) {
  const LaneMask far = abs(u) > square_dominates;
  const Lane near = where(far, 0, u);
  return where(far, 2 * log(abs(where(far, u, 1))), log1p(near * near));
}
// (a + 1) log(1 + z^2 / a). For small u^2 = z^2 / a it is z^2 times the series of log(1 + u^2) / u^2, of which the
// derivative by a does not cancel, and log(1 + u^2); the next term is below 1e-19.
Lane log_t_kernel(const Lane& z, const Lane& a) {
  const Lane u = z / sqrt(a);
  const LaneMask near = abs(u) < 0.125;
  const Lane v = where(near, u, 0), s = v * v, w = where(near, z, 0);
  Lane sum = 1. / 9 - s / 10;
  for (int k = 8; k >= 1; --k) sum = 1. / k - sum * s;
  return where(near, w * w * sum + log1p(s), (where(near, 1, a) + 1) * log1p_of_square(where(near, 1, u)));
}
Lane log_t_density(P p) { return half_step_of_lgamma(0.5 * p.a) - log_root_2pi - 0.5 * log_t_kernel(p.z, p.a); }
Lane log_chi2_density(P p) { return log_gamma_density(0.5 * p.a, 0.5 * p.z) - std::numbers::ln2; }

// A density c z^e r(z), e its exponent by p.a. For tiny z it is that at tiny_max times powers of the quotient: the
// derivatives of exp(e log(z)) by z overflow before those of a power do, and are 0 where the density underflows.
template <Lane (*log_density)(P p), Lane (*exponent)(P p), Lane (*log_rest)(const Lane& z, P p)>
Lane density_of(P p) {
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
template <Lane (*log_density)(P p)>
constexpr Distribution of_density(double lower, double upper, std::size_t shapes, Lane (*pdf)(P p),
                                  double vanishes_below = HUGE_VAL, double vanishes_above = HUGE_VAL) {
  return {lower, upper, lower == 0, shapes, {log_density, pdf}, {}, vanishes_below, vanishes_above};
}
using L = const Lane&;
Lane log_gamma_of(P p) { return log_gamma_density(p.a, p.z); }
Lane below_a(P p) { return p.a - 1; }
Lane below_half_a(P p) { return 0.5 * p.a - 1; }
constexpr Distribution gamma_distribution = of_density<log_gamma_of>(
                           0, infinity, 1, density_of<log_gamma_of, below_a, [](L z, P) { return -z; }>, 1),
                       chi2_distribution = of_density<log_chi2_density>(
                           0, infinity, 1, density_of<log_chi2_density, below_half_a, [](L z, P) { return -0.5 * z; }>,
                           2),
                       beta_distribution = of_density<log_beta_density>(
                           0, 1, 2,
                           density_of<log_beta_density, below_a, [](L z, P p) { return (p.b - 1) * log1p(-z); }>, 1, 1),
                       t_distribution =
                           of_density<log_t_density>(-infinity, infinity, 1, [](P p) { return exp(log_t_density(p)); });

// ---- Discrete distributions. x[0] is the count k; it has no gradient, as round() has none.

struct Whole {
  const Lane& number;
  LaneMask outside;
  Lane k;  // the count, or `inside` if it is not an integer in [low, high]
  Whole(const Lane& x, double low, const Lane& high, double inside)
      : number(x),
        outside(not_equal(x, round(x)) || x < low || x > high || isinf(x)),
        k(where(outside, inside, round(x))) {}
  // NaN parameters give NaN outside the support, too.
  Lane finish(const Lane& inside, double beyond = -infinity) const {
    return where(isnan(number), number, where(outside, where(isnan(inside), inside, beyond), inside));
  }
};
Lane probability_or_nan(const Lane& p) { return where(p >= 0 && p <= 1, p, not_a_number); }

// Where a distribution has but one possible number, at p = 0, p = 1 or mu = 0, its probabilities are those of their
// closed form, whose derivatives are finite; logarithms of 0 have the gradient 0, as outside the support.
struct Chance {
  LaneMask end;
  Lane p, inside;  // replaced by 1/2 at ends
  explicit Chance(const Lane& probability)
      : end(equal(probability, 0) || equal(probability, 1)),
        p(probability_or_nan(probability)),
        inside(where(end, 0.5, p)) {}
};
// The probability, or its logarithm, from the latter inside and the closed form at ends.
Lane with_ends(bool logarithm, const LaneMask& end, const Lane& log_inside, const Lane& at_end) {
  if (!logarithm) return where(end, at_end, exp(log_inside));
  const LaneMask possible = end && at_end > 0;
  const Lane log_at_end = where(possible, log(where(possible, at_end, 1)), where(isnan(at_end), at_end, -infinity));
  return where(end, log_at_end, log_inside);
}
// j log(j / n), n = j + k.
Lane times_log_share(const Lane& j, const Lane& k, const Lane& n) {
  const LaneMask small = j < k;
  return xlogy(j, where(small, j / n, 1)) + xlog1py(j, where(small, 0, -k / n));
}
// Gamma(j + k + 1) / (Gamma(j + 1) Gamma(k + 1)), by terms that do not cancel, and bounded so that its derivatives are
// finite, and 0 times them is 0.
Lane choices(const Lane& j, const Lane& k) {
  constexpr double logarithm_max = 80;  // of 88, the logarithm of the greatest float
  const Lane n = j + k, positive = where(n > 0, n, 1);
  const Lane logarithm = log_poisson_at_mean(j) + log_poisson_at_mean(k) - log_poisson_at_mean(n) -
                         times_log_share(j, k, positive) - times_log_share(k, j, positive);
  return exp(minimum(logarithm, logarithm_max));
}

Lane poisson_of(bool logarithm, X x) {
  const Whole w(x[0], 0, x[0], 0);
  const Lane mu = where(x[1] >= 0, x[1], not_a_number);
  const LaneMask end = equal(mu, 0);
  const Lane none = where(end, mu, 0);
  const Lane y =
      with_ends(logarithm, end, log_poisson(w.k, where(end, 1, mu)), power(none, w.k) * exp(-none - lgamma(w.k + 1)));
  return w.finish(y, logarithm ? -infinity : 0);
}
Lane binom_of(bool logarithm, X x) {
  const Lane n = where(equal(x[1], round(x[1])) && x[1] >= 0 && isfinite(x[1]), round(x[1]), not_a_number);
  const Chance c(x[2]);
  const Whole w(x[0], 0, n, 0);
  const Lane p = where(c.end, c.p, 1);
  const Lane y = with_ends(logarithm, c.end, log_binomial(w.k, n - w.k, c.inside, 1 - c.inside),
                           choices(w.k, n - w.k) * power(p, w.k) * power(1 - p, n - w.k));
  return w.finish(y, logarithm ? -infinity : 0);
}
// n / (n + k) times the binomial probability of n.
Lane nbinom_of(bool logarithm, X x) {
  const Lane n = where(x[1] > 0, x[1], not_a_number);
  const Chance c(where(x[2] > 0, x[2], not_a_number));
  const Whole w(x[0], 0, x[0], 0);
  const Lane p = where(c.end, c.p, 1), part = n / (n + w.k);
  const Lane y = with_ends(logarithm, c.end, log_binomial(n, w.k, c.inside, 1 - c.inside) - log1p(w.k / n),
                           part * choices(n, w.k) * power(p, n) * power(1 - p, w.k));
  return w.finish(y, logarithm ? -infinity : 0);
}
Lane bernoulli_of(bool logarithm, X x) {
  const Chance c(x[1]);
  const Whole w(x[0], 0, 0 * x[0] + 1, 0);
  const LaneMask one = equal(w.k, 1);
  const Lane log_inside = where(one, log(where(one, c.inside, 1)), log1p(-where(one, 0, c.inside)));
  const Lane chance = where(one, c.p, 1 - c.p);
  return w.finish(logarithm ? with_ends(true, c.end, log_inside, chance) : chance, logarithm ? -infinity : 0);
}
Lane geom_of(bool logarithm, X x) {
  const Chance c(where(x[1] > 0, x[1], not_a_number));
  const Whole w(x[0], 1, x[0], 1);
  const Lane p = where(c.end, c.p, 1);
  const Lane y = with_ends(logarithm, c.end, log(c.inside) + xlog1py(w.k - 1, -c.inside), p * power(1 - p, w.k - 1));
  return w.finish(y, logarithm ? -infinity : 0);
}
template <Lane (*distribution)(bool logarithm, X x), bool logarithm>
Lane probability(X x) {
  return distribution(logarithm, x);
}

enum Density : std::size_t {
  gamma_density,
  chi2_density,
  beta_density,
  t_density,
  poisson_number,
  binom_number,
  nbinom_number,
  bernoulli_number,
  geom_number
};
// In the order of the enumerators, the logarithm first.
constexpr Composed densities[] = {
    {"gamma_logpdf", placed<gamma_distribution, logpdf>},  {"gamma_pdf", placed<gamma_distribution, pdf>},
    {"chi2_logpdf", placed<chi2_distribution, logpdf>},    {"chi2_pdf", placed<chi2_distribution, pdf>},
    {"beta_logpdf", placed<beta_distribution, logpdf>},    {"beta_pdf", placed<beta_distribution, pdf>},
    {"t_logpdf", placed<t_distribution, logpdf>},          {"t_pdf", placed<t_distribution, pdf>},
    {"poisson_logpmf", probability<poisson_of, true>},     {"poisson_pmf", probability<poisson_of, false>},
    {"binom_logpmf", probability<binom_of, true>},         {"binom_pmf", probability<binom_of, false>},
    {"nbinom_logpmf", probability<nbinom_of, true>},       {"nbinom_pmf", probability<nbinom_of, false>},
    {"bernoulli_logpmf", probability<bernoulli_of, true>}, {"bernoulli_pmf", probability<bernoulli_of, false>},
    {"geom_logpmf", probability<geom_of, true>},           {"geom_pmf", probability<geom_of, false>},
};

Tensor density(std::size_t distribution, bool logarithm, std::initializer_list<const Operand*> operands) {
  static const ComposedOps& all = *new ComposedOps(densities);
  const tape::OpScope scope(**operands.begin());
  return all.call(2 * distribution + (logarithm ? 0 : 1), {operands.begin(), operands.size()});
}

}  // namespace

}  // namespace ops

// clang-format off
using ops::density;
#define REEL_SHAPE_1(distribution) \
  Tensor distribution##_logpdf(const Operand& x, const Operand& a, const Operand& loc, const Operand& scale) { return density(ops::distribution##_density, true, {&x, &a, &loc, &scale}); } \
  Tensor distribution##_pdf(const Operand& x, const Operand& a, const Operand& loc, const Operand& scale) { return density(ops::distribution##_density, false, {&x, &a, &loc, &scale}); }
#define REEL_NUMBER_1(distribution) \
  Tensor distribution##_logpmf(const Operand& k, const Operand& p) { return density(ops::distribution##_number, true, {&k, &p}); } \
  Tensor distribution##_pmf(const Operand& k, const Operand& p) { return density(ops::distribution##_number, false, {&k, &p}); }
#define REEL_NUMBER_2(distribution) \
  Tensor distribution##_logpmf(const Operand& k, const Operand& n, const Operand& p) { return density(ops::distribution##_number, true, {&k, &n, &p}); } \
  Tensor distribution##_pmf(const Operand& k, const Operand& n, const Operand& p) { return density(ops::distribution##_number, false, {&k, &n, &p}); }
REEL_SHAPE_1(gamma)
REEL_SHAPE_1(chi2)
REEL_SHAPE_1(t)
REEL_NUMBER_1(poisson)
REEL_NUMBER_2(binom)
REEL_NUMBER_2(nbinom)
REEL_NUMBER_1(bernoulli)
REEL_NUMBER_1(geom)
Tensor beta_logpdf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc, const Operand& scale) { return density(ops::beta_density, true, {&x, &a, &b, &loc, &scale}); }
Tensor beta_pdf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc, const Operand& scale) { return density(ops::beta_density, false, {&x, &a, &b, &loc, &scale}); }
// clang-format on

}  // namespace reel
