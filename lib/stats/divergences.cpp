// Divergences of <reel/stats/divergences.hpp>, first of distributions of one family, then of two. Those of gamma
// distributions use the Bregman divergence of lgamma. For large arguments it follows Stirling's formula: the divergence
// of x log(x) - x, which is kl_div, plus half of that of -log(x), plus that of a remainder below 0.01.
#include <numbers>
#include <reel/ops/index.hpp>
#include <reel/ops/reduce.hpp>
#include <reel/stats/divergences.hpp>

#include "ops/elementwise/composed.hpp"
#include "stats/constants.hpp"
#include "stats/operands.hpp"
#include "tape/observe/observe.hpp"

namespace reel {

namespace ops {

namespace {

using X = const Lane*;
using L = const Lane&;
using std::numbers::egamma, std::numbers::ln2, std::numbers::pi, std::numbers::sqrt2;
constexpr double root_of_third = std::numbers::inv_sqrt3;

// The value, or inf where P is somewhere that Q is not. NaN values stay NaN.
Lane infinity_where(const LaneMask& beyond, L value) { return where(beyond && !isnan(value), infinity, value); }
// The divergence of -log: r - 1 - log(r), r = x / y.
Lane of_ratio(L x, L y) { return kl_div(0 * x + 1, x / y); }

// Of stirling_series: s(x) - s(y) - (x - y) s'(y).
Lane divergence_of_remainder(L x, L y) {
  const Lane square = 1 / (x * x), own = 1 / (y * y);
  Lane at_x = 0 * x, at_y = 0 * y, slope = 0 * y;
  for (int k = 6; k >= 0; --k) {
    at_x = at_x * square + stirling_series[k];
    at_y = at_y * own + stirling_series[k];
    slope = slope * own - (2 * k + 1) * stirling_series[k];
  }
  return at_x / x - at_y / y - (x - y) * slope * own;
}

// lgamma(x) - lgamma(y) - (x - y) digamma(y) - kl_div(x, y).
Lane beyond_kl_div(L x, L y) {
  const LaneMask large = x >= stirling_min && y >= stirling_min;
  const Lane u = where(large, x, stirling_min), v = where(large, y, stirling_min), a = where(large, 1, x),
             b = where(large, 1, y);
  return where(large, 0.5 * of_ratio(u, v) + divergence_of_remainder(u, v),
               lgamma(a) - lgamma(b) - (a - b) * digamma(b) - kl_div(a, b));
}

Lane norm_kl_of(X x) {
  const Lane scale2 = positive_or_nan(x[3]), r = positive_or_nan(x[1]) / scale2, d = (x[0] - x[2]) / scale2;
  return 0.5 * (kl_div(0 * r + 1, r * r) + d * d);
}
Lane gamma_kl_of(X x) {
  const Lane a1 = positive_or_nan(x[0]), a2 = positive_or_nan(x[2]);
  return kl_div(a2, a1 * (positive_or_nan(x[1]) / positive_or_nan(x[3]))) + beyond_kl_div(a2, a1);
}
// Operands: a1, their sum, a2, their sum.
Lane dirichlet_term(X x) { return kl_div(x[2], x[3] * (x[0] / x[1])) + beyond_kl_div(x[2], x[0]); }
Lane beta_kl_of(X x) {
  const Lane a1 = positive_or_nan(x[0]), b1 = positive_or_nan(x[1]), a2 = positive_or_nan(x[2]),
             b2 = positive_or_nan(x[3]);
  const Lane n1 = a1 + b1, n2 = a2 + b2;
  const Lane a[] = {a1, n1, a2, n2}, b[] = {b1, n1, b2, n2};
  return dirichlet_term(a) + dirichlet_term(b) - beyond_kl_div(n2, n1);
}
Lane bernoulli_kl_of(X x) {
  const Lane p = where(x[0] >= 0 && x[0] <= 1, x[0], not_a_number),
             q = where(x[1] >= 0 && x[1] <= 1, x[1], not_a_number);
  return kl_div(p, q) + kl_div(1 - p, 1 - q);
}

// exp(-u) - 1 + u: for small |u| by its series, whose first term is that of u, so that an even function of u has its
// second derivative at 0. `size` is u or its magnitude.
Lane exponential_rest(L u, L size) {
  const LaneMask near = abs(u) < 0.5;
  const Lane v = where(near, u, 0), inside = where(near, size, 0), outside = where(near, 1, size);
  Lane series = 0 * v + 1;
  for (int k = 17; k > 2; --k) series = 1 - inside / k * series;
  return where(near, 0.5 * v * v * series, expm1(-outside) + outside);
}

Lane laplace_kl_of(X x) {
  const Lane scale1 = positive_or_nan(x[1]), scale2 = positive_or_nan(x[3]), d = (x[0] - x[2]) / scale1;
  return of_ratio(scale1, scale2) + scale1 / scale2 * exponential_rest(d, abs(d));
}
Lane cauchy_kl_of(X x) {
  const Lane scale1 = positive_or_nan(x[1]), scale2 = positive_or_nan(x[3]), d = x[0] - x[2], e = scale1 - scale2;
  return log1p(0.25 * ((d / scale1) * (d / scale2) + (e / scale1) * (e / scale2)));
}
// Of Gumbel distributions with the ratio r of scales, and with d = (loc2 - loc1) / scale2.
Lane gumbel_kl_of(L r, L d) {
  const Lane one = 0 * r + 1, w = -(d + lgamma(1 + r));
  return exponential_rest(w, w) + kl_div(r, one) + beyond_kl_div(r, one);
}
Lane gumbel_r_kl_of(X x) {
  const Lane scale2 = positive_or_nan(x[3]);
  return gumbel_kl_of(positive_or_nan(x[1]) / scale2, (x[2] - x[0]) / scale2);
}
// The logarithm of a Weibull variate is minus a Gumbel variate of scale 1 / c.
Lane weibull_min_kl_of(X x) {
  const Lane c2 = positive_or_nan(x[2]);
  return gumbel_kl_of(c2 / positive_or_nan(x[0]), c2 * log(positive_or_nan(x[1]) / positive_or_nan(x[3])));
}
Lane uniform_kl_of(X x) {
  const Lane scale1 = positive_or_nan(x[1]), scale2 = positive_or_nan(x[3]), y = log(scale2 / scale1);
  return infinity_where(x[0] < x[2] || x[0] + scale1 > x[2] + scale2, y + 0 * (x[0] - x[2]));
}
Lane pareto_kl_of(X x) {
  const Lane b1 = positive_or_nan(x[0]), scale1 = positive_or_nan(x[1]), b2 = positive_or_nan(x[2]),
             scale2 = positive_or_nan(x[3]);
  return infinity_where(scale1 < scale2, of_ratio(b2, b1) + b2 * log(scale1 / scale2));
}
Lane lognorm_kl_of(X x) {
  const Lane mean = log(positive_or_nan(x[1]) / positive_or_nan(x[3]));
  const Lane operands[] = {mean, x[0], 0 * mean, x[2]};
  return norm_kl_of(operands);
}
Lane chi2_kl_of(X x) {
  const Lane a1 = 0.5 * positive_or_nan(x[0]), a2 = 0.5 * positive_or_nan(x[1]);
  return kl_div(a2, a1) + beyond_kl_div(a2, a1);
}
Lane geom_kl_of(X x) {
  const Lane p[] = {positive_or_nan(x[0]), positive_or_nan(x[1])};
  return bernoulli_kl_of(p) / p[0];
}
Lane binom_kl_of(X x) {
  const Lane n = where(x[0] >= 0 && equal(x[0], round(x[0])) && isfinite(x[0]), round(x[0]), not_a_number);
  const Lane y = bernoulli_kl_of(x + 1);
  return n * where(equal(n, 0) && isinf(y), 0, y);
}

// Of two families. A distribution P diverges from a normal distribution Q by its divergence from the normal
// distribution of its own mean and variance, the negentropy, and by that of the two normal distributions; other pairs
// are split likewise into terms of at least 0 and what is left of the entropy of P.

// Stirling's remainder, lgamma(x) - (x - 1/2) log(x) + x - log(2 pi) / 2, and its derivative, for x >= stirling_min.
struct Remainder {
  Lane value, slope;
};
Remainder remainder_of(L x) {
  const Lane inverse = 1 / x, square = inverse * inverse;
  Lane value = 0 * x, slope = 0 * x;
  for (int k = 6; k >= 0; --k) {
    value = value * square + stirling_series[k];
    slope = slope * square - (2 * k + 1) * stirling_series[k];
  }
  return {value * inverse, slope * square};
}
// lgamma(a) - a log(a) + a.
Lane gamma_rest(L a) {
  const LaneMask large = a >= stirling_min;
  const Lane u = where(large, a, stirling_min), v = where(large, 1, a);
  return where(large, log_root_2pi - 0.5 * log(u) + remainder_of(u).value, lgamma(v) - v * log(v) + v);
}
// Of a gamma distribution of shape a.
Lane gamma_negentropy(L a) {
  const LaneMask large = a >= stirling_min;
  const Lane u = where(large, a, stirling_min), v = where(large, 1, a);
  const Remainder r = remainder_of(u);
  return where(large, 0.5 / u - r.value - (1 - u) * r.slope,
               (log_root_2pi + 0.5) + 0.5 * log(v) - v - lgamma(v) - (1 - v) * digamma(v));
}

// Of two normal distributions, the first by its mean and deviation.
Lane from_norm(L mean, L deviation, L loc, L scale) {
  const Lane normal[] = {mean, deviation, loc, scale};
  return norm_kl_of(normal);
}
// exp(c) - 1 - c.
Lane growth_rest(L c) { return exponential_rest(-c, -c); }
// From a gamma distribution of shape a2 of a distribution with this mean, but for a term of its mean logarithm and its
// entropy: lgamma(a2) + a2 log(scale2 / mean) + mean / scale2.
Lane from_gamma(L mean, L a2, L scale2) { return kl_div(a2, mean / scale2) + gamma_rest(a2); }

Lane bernoulli_poisson_kl_of(X x) {
  const Lane p = where(x[0] >= 0 && x[0] <= 1, x[0], not_a_number);
  return kl_div(p, where(x[1] >= 0, x[1], not_a_number)) + kl_div(1 - p, 0 * p + 1);
}
// Of beta distributions a1, b1 and a2, 1, whose density is a2 x^(a2 - 1).
Lane from_power(L a1, L b1, L a2) {
  const Lane both[] = {a1, b1, a2, 0 * a2 + 1};
  return beta_kl_of(both);
}
Lane beta_gamma_kl_of(X x) {
  const Lane mean = x[0] / (x[0] + x[1]), a2 = positive_or_nan(x[2]);
  return from_power(x[0], x[1], a2) + from_gamma(mean, a2, positive_or_nan(x[3])) + log(a2) + a2 * log(mean);
}
Lane beta_expon_kl_of(X x) {
  const Lane operands[] = {x[0], x[1], 0 * x[2] + 1, x[2]};
  return beta_gamma_kl_of(operands);
}
Lane beta_norm_kl_of(X x) {
  const Lane n = x[0] + x[1], mean = x[0] / n, scale = positive_or_nan(x[3]), d = (mean - x[2]) / scale;
  const Lane variance = mean * (x[1] / n) / (n + 1);
  return from_power(x[0], x[1], 0 * n + 1) + log_root_2pi + log(scale) + 0.5 * (variance / scale / scale + d * d);
}
// The last operand is loc2 + scale2, rounded to the dtype of the caller's operands.
Lane beta_uniform_kl_of(X x) {
  const Lane scale = positive_or_nan(x[3]);
  return infinity_where(x[2] > 0 || x[4] < 1, from_power(x[0], x[1], 0 * x[2] + 1) + log(scale));
}

Lane gamma_norm_kl_of(X x) {
  const Lane a = positive_or_nan(x[0]), scale = positive_or_nan(x[1]);
  return gamma_negentropy(a) + from_norm(a * scale, sqrt(a) * scale, x[2], x[3]);
}
// From a Gumbel distribution of a gamma distribution of shape a whose scale is r times as large, with d = loc / scale
// of the former: all but the entropy of the latter and log(r).
Lane from_gumbel(L a, L r, L d) {
  const Lane u = log1p(r);
  return a * growth_rest(u) + growth_rest(d - a * u);
}
Lane gamma_gumbel_r_kl_of(X x) {
  const Lane a = positive_or_nan(x[0]), scale2 = positive_or_nan(x[3]), r = positive_or_nan(x[1]) / scale2;
  return gamma_negentropy(a) + (0.5 - log_root_2pi) - 0.5 * log(a) - log(r) + from_gumbel(a, r, x[2] / scale2);
}
Lane expon_gumbel_r_kl_of(X x) {
  const Lane scale2 = positive_or_nan(x[2]), r = positive_or_nan(x[0]) / scale2;
  return from_gumbel(0 * r + 1, r, x[1] / scale2) - log(r);
}
Lane expon_norm_kl_of(X x) {
  constexpr double negentropy = log_root_2pi - 0.5;
  return negentropy + from_norm(x[0], x[0], x[1], x[2]);
}
Lane gamma_expon_kl_of(X x) {
  const Lane operands[] = {x[0], x[1], 0 * x[2] + 1, x[2]};
  return gamma_kl_of(operands);
}
Lane expon_gamma_kl_of(X x) {
  const Lane operands[] = {0 * x[0] + 1, x[0], x[1], x[2]};
  return gamma_kl_of(operands);
}

Lane gumbel_r_norm_kl_of(X x) {
  constexpr double deviation = pi * root_of_half * root_of_third;  // pi / sqrt(6)
  constexpr double negentropy = 0.09057301953851255491;            // log(2 pi e deviation^2) / 2 - euler - 1
  return negentropy + from_norm(x[0] + egamma * x[1], deviation * x[1], x[2], x[3]);
}
Lane laplace_norm_kl_of(X x) {
  constexpr double negentropy = log_root_2pi - 0.5 - ln2 / 2;
  return negentropy + from_norm(x[0], sqrt2 * x[1], x[2], x[3]);
}
Lane norm_gumbel_r_kl_of(X x) {
  const Lane scale2 = positive_or_nan(x[3]), q = positive_or_nan(x[1]) / scale2, square = q * q;
  return 0.5 * kl_div(0 * q + 1, square) + growth_rest(0.5 * square - (x[0] - x[2]) / scale2) + (1 - log_root_2pi);
}
Lane norm_laplace_kl_of(X x) {
  constexpr double root = 0.79788456080286535588, log_ratio = -0.45158270528945486473;  // sqrt(2 / pi), log(2 / pi)
  const Lane scale1 = positive_or_nan(x[1]), d = (x[0] - x[2]) / scale1;
  // The mean of |x - loc2| / scale1.
  const Lane distance = root * exp(-0.5 * d * d) + d * erf(root_of_half * d);
  return kl_div(0 * d + 1, scale1 / positive_or_nan(x[3]) * distance) + log(distance / root) + (0.5 + log_ratio);
}

// Of a Pareto distribution of shape b > 1 and loc 0: the mean logarithm of mean / x, which is at least 0.
Lane pareto_spread(L b) { return growth_rest(log1p(-1 / b)); }
Lane pareto_gamma_kl_of(X x) {
  const Lane b = positive_or_nan(x[0]), a2 = positive_or_nan(x[2]), finite = where(b <= 1, 2, b);
  const Lane mean = positive_or_nan(x[1]) * (finite / (finite - 1));
  return infinity_where(b <= 1,
                        from_gamma(mean, a2, positive_or_nan(x[3])) + a2 * pareto_spread(finite) + log(finite) - 1);
}
Lane pareto_expon_kl_of(X x) {
  const Lane operands[] = {x[0], x[1], 0 * x[2] + 1, x[2]};
  return pareto_gamma_kl_of(operands);
}
Lane pareto_norm_kl_of(X x) {
  const Lane b = positive_or_nan(x[0]), finite = where(b <= 2, 3, b), scale = positive_or_nan(x[1]) / (finite - 1);
  const Lane negentropy = pareto_spread(finite) - 0.5 * log1p(-2 / finite) + (log_root_2pi - 0.5);
  return infinity_where(b <= 2,
                        negentropy + from_norm(finite * scale, sqrt(finite / (finite - 2)) * scale, x[2], x[3]));
}

// A uniform distribution, and for x from it log(end) minus the mean of log(x).
struct Interval {
  Lane start, length, end, below_end;
  Interval(L first, L extent)
      : start(first), length(extent), end(first + extent), below_end(kl_div(first, end) / extent) {}
};
// The last operand is inf where the interval ends above 1, and otherwise the excess over 1 of an end that the dtype of
// the caller's operands rounds to 1.
Lane uniform_beta_kl_of(X x) {
  const Lane width = positive_or_nan(x[1]), a2 = positive_or_nan(x[2]), b2 = positive_or_nan(x[3]);
  const LaneMask beyond = x[0] < 0 || equal(x[4], infinity);
  const Lane one = 0 * a2 + 1, both[] = {one, one, a2, b2};
  const Interval from(where(beyond, 0.25, x[0]), where(beyond, 0.5 + 0 * width, width));
  // The mean of log(1 - x) is that of log(y), y from [1 - end, 1 - start].
  const Lane rest = 1 - from.end + where(beyond, 0, x[4]);
  const Lane below_one = kl_div(rest, 1 - from.start) / from.length - log1p(-from.start);
  return infinity_where(beyond, beta_kl_of(both) - log(from.length) + (a2 - 1) * (from.below_end - log(from.end) - 1) +
                                    (b2 - 1) * (below_one - 1));
}
Lane uniform_expon_kl_of(X x) {
  const Lane width = positive_or_nan(x[1]), start = where(x[0] < 0, 0, x[0]), mean = start + 0.5 * width;
  return infinity_where(x[0] < 0,
                        kl_div(0 * mean + 1, mean / positive_or_nan(x[2])) + log1p(2 * start / width) + (1 - ln2));
}
Lane uniform_gamma_kl_of(X x) {
  const Lane width = positive_or_nan(x[1]), a2 = positive_or_nan(x[2]);
  const Interval from(where(x[0] < 0, 1, x[0]), width);
  const Lane part = width / from.end;
  return infinity_where(x[0] < 0, from_gamma(from.start + 0.5 * width, a2, positive_or_nan(x[3])) +
                                      a2 * log1p(-0.5 * part) - log(part) + (a2 - 1) * from.below_end);
}
Lane uniform_gumbel_r_kl_of(X x) {
  const Lane scale2 = positive_or_nan(x[3]), q = positive_or_nan(x[1]) / scale2, d = (x[0] - x[2]) / scale2;
  const Lane fall = log(-expm1(-q) / q);  // of the mean of exp(-x / scale2) for x from [0, scale1]
  return growth_rest(fall - d) + (fall + 0.5 * q) - log(q) + 1;
}
Lane uniform_norm_kl_of(X x) {
  constexpr double deviation = 0.5 * root_of_third;
  constexpr double negentropy = 0.17648520831067258667;  // log(2 pi e deviation^2) / 2
  return negentropy + from_norm(x[0] + 0.5 * x[1], deviation * x[1], x[2], x[3]);
}
Lane uniform_pareto_kl_of(X x) {
  const Lane width = positive_or_nan(x[1]), b2 = positive_or_nan(x[2]), scale2 = positive_or_nan(x[3]);
  const LaneMask beyond = x[0] < scale2;
  const Interval from(where(beyond, scale2, x[0]), width);
  return infinity_where(
      beyond, b2 * (log(from.end / scale2) - from.below_end) + log(from.end / width) - log(b2) - from.below_end);
}

Lane expon_kl_of(X x) { return of_ratio(positive_or_nan(x[0]), positive_or_nan(x[1])); }
Lane poisson_kl_of(X x) { return kl_div(where(x[0] >= 0, x[0], not_a_number), where(x[1] >= 0, x[1], not_a_number)); }
Lane nbinom_kl_of(X x) { return positive_or_nan(x[0]) * geom_kl_of(x + 1); }

// The table of divergences NAME_kl, by the formulas NAME_kl_of: name; operands of the public function, or 0 if it is
// written out below; the least precise dtype to compute in.
// clang-format off
#define REEL_DIVERGENCES(F) \
  F(norm, 4, float32) F(expon, 2, float32) F(gamma, 4, float32) F(beta, 4, float64) \
  F(bernoulli, 2, float32) F(poisson, 2, float32) F(laplace, 4, float32) F(cauchy, 4, float32) \
  F(gumbel_r, 4, float32) F(weibull_min, 4, float32) F(uniform, 4, float32) F(pareto, 4, float32) \
  F(lognorm, 4, float32) F(chi2, 2, float32) F(geom, 2, float32) F(binom, 3, float32) \
  F(nbinom, 3, float32) F(bernoulli_poisson, 2, float32) F(beta_expon, 3, float64) \
  F(beta_gamma, 4, float64) F(beta_norm, 4, float64) F(beta_uniform, 0, float64) \
  F(expon_gamma, 3, float32) F(expon_gumbel_r, 3, float32) F(expon_norm, 3, float32) \
  F(gamma_expon, 3, float32) F(gamma_gumbel_r, 4, float32) F(gamma_norm, 4, float32) \
  F(gumbel_r_norm, 4, float32) F(laplace_norm, 4, float32) F(norm_gumbel_r, 4, float32) \
  F(norm_laplace, 4, float32) F(pareto_expon, 3, float32) F(pareto_gamma, 4, float32) \
  F(pareto_norm, 4, float32) F(uniform_beta, 0, float64) F(uniform_expon, 3, float32) \
  F(uniform_gamma, 4, float32) F(uniform_gumbel_r, 4, float32) F(uniform_norm, 4, float32) \
  F(uniform_pareto, 4, float32)
// clang-format on

#define REEL_ENUMERATOR(name, operands, least) of_##name,
enum Divergence : std::size_t { REEL_DIVERGENCES(REEL_ENUMERATOR) };
#undef REEL_ENUMERATOR
#define REEL_DEFINITION(name, operands, least) {#name "_kl", name##_kl_of, DType::least},
constexpr Composed divergences[] = {REEL_DIVERGENCES(REEL_DEFINITION)};
#undef REEL_DEFINITION
constinit const ComposedOps divergence_ops(divergences);

enum DirichletPart : std::size_t { of_element, of_sums };
constexpr Composed dirichlet_parts[] = {{"dirichlet_kl", dirichlet_term},
                                        {"dirichlet_kl", [](X x) { return beyond_kl_div(x[1], x[0]); }}};
constinit const ComposedOps dirichlet_ops(dirichlet_parts);

// Divergence f, whose last operand is a function of loc and loc + scale, operands k and k + 1, without gradient.
template <class Function>
Tensor with_end(Divergence f, std::initializer_list<const Operand*> operands, std::size_t k, const Function& of_end) {
  const tape::OpScope scope(**operands.begin());
  const char* const op = divergences[f].name.data();
  const Converted c(op, operands);
  broadcast_all(op, c.x);
  const Tensor loc = stop_gradient(c.x[k]), scale = stop_gradient(c.x[k + 1]);
  const Tensor end = of_end(loc, scale);
  const Operand x[] = {c.x[0], c.x[1], c.x[2], c.x[3], end};
  return cast_to(divergence_ops.call(f, {&x[0], &x[1], &x[2], &x[3], &x[4]}), c.result);
}
Tensor excess_over_one(const Tensor& loc, const Tensor& scale) {
  return where(greater(loc + scale, 1), infinity,
               relu(cast_to(loc, DType::float64) + cast_to(scale, DType::float64) - 1));
}

}  // namespace

}  // namespace ops

// clang-format off
#define REEL_DIVERGENCE_0(name)
#define REEL_DIVERGENCE_2(name) \
  Tensor name##_kl(const Operand& x, const Operand& y) { return ops::divergence_ops.call(ops::of_##name, {&x, &y}); }
#define REEL_DIVERGENCE_3(name) \
  Tensor name##_kl(const Operand& x, const Operand& y, const Operand& z) { return ops::divergence_ops.call(ops::of_##name, {&x, &y, &z}); }
#define REEL_DIVERGENCE_4(name) \
  Tensor name##_kl(const Operand& x, const Operand& y, const Operand& z, const Operand& w) { return ops::divergence_ops.call(ops::of_##name, {&x, &y, &z, &w}); }
#define REEL_DIVERGENCE(name, operands, least) REEL_DIVERGENCE_##operands(name)
REEL_DIVERGENCES(REEL_DIVERGENCE)
#undef REEL_DIVERGENCE
// clang-format on

Tensor beta_uniform_kl(const Operand& a1, const Operand& b1, const Operand& loc2, const Operand& scale2) {
  return ops::with_end(ops::of_beta_uniform, {&a1, &b1, &loc2, &scale2}, 2,
                       [](const Tensor& loc, const Tensor& scale) { return loc + scale; });
}
Tensor uniform_beta_kl(const Operand& loc1, const Operand& scale1, const Operand& a2, const Operand& b2) {
  return ops::with_end(ops::of_uniform_beta, {&loc1, &scale1, &a2, &b2}, 0, ops::excess_over_one);
}

Tensor dirichlet_kl(const Operand& alpha1, const Operand& alpha2) {
  constexpr const char* op = "dirichlet_kl";
  const tape::OpScope scope(alpha1);
  const ops::Converted c(op, {&alpha1, &alpha2});
  if (c.x[0].rank() == 0 || c.x[1].rank() == 0 || c.x[0].shape()[-1] != c.x[1].shape()[-1] || c.x[0].shape()[-1] == 0)
    fail<ShapeError>(op, "both need a last axis of the same number of elements; their shapes are {} and {}",
                     c.x[0].shape(), c.x[1].shape());
  ops::broadcast_all(op, c.x);
  // Terms of very different size cancel.
  const Tensor x1 = ops::cast_to(c.x[0], DType::float64), x2 = ops::cast_to(c.x[1], DType::float64);
  const Tensor a1 = where(greater(x1, 0), x1, ops::not_a_number), a2 = where(greater(x2, 0), x2, ops::not_a_number);
  const Tensor n1 = sum(a1, -1, true), n2 = sum(a2, -1, true);
  const Operand first(a1), second(a2), sum1(n1), sum2(n2);
  const Tensor terms = ops::dirichlet_ops.call(ops::of_element, {&first, &sum1, &second, &sum2}),
               sums = ops::dirichlet_ops.call(ops::of_sums, {&sum1, &sum2});
  return ops::cast_to(sum(terms, -1) - squeeze(sums, -1), c.result);
}

}  // namespace reel
