// Divergences of <reel/stats/divergences.hpp>. Those of gamma distributions use the Bregman divergence of lgamma. For
// large arguments it follows Stirling's formula: the divergence of x log(x) - x, which is kl_div, plus half of that of
// -log(x), plus that of a remainder below 0.01.
#include <reel/ops/index.hpp>
#include <reel/ops/linalg.hpp>
#include <reel/ops/reduce.hpp>
#include <reel/stats/divergences.hpp>

#include "ops/elementwise/composed.hpp"
#include "ops/linalg/linalg.hpp"
#include "ops/probability/converted.hpp"
#include "tape/observe/observe.hpp"

namespace reel {

namespace ops {

namespace {

using X = const Lane*;
using L = const Lane&;

Lane positive_or_nan(L x) { return where(x > 0, x, not_a_number); }
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
  return where(x[0] < x[2] || x[0] + scale1 > x[2] + scale2, infinity, y + 0 * (x[0] - x[2]));
}
Lane pareto_kl_of(X x) {
  const Lane b1 = positive_or_nan(x[0]), scale1 = positive_or_nan(x[1]), b2 = positive_or_nan(x[2]),
             scale2 = positive_or_nan(x[3]);
  return where(scale1 < scale2, infinity, of_ratio(b2, b1) + b2 * log(scale1 / scale2));
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
  return n * bernoulli_kl_of(x + 1);
}

enum Divergence : std::size_t {
  of_norm,
  of_expon,
  of_gamma,
  of_beta,
  of_bernoulli,
  of_poisson,
  of_dirichlet_term,
  of_sums,
  of_laplace,
  of_cauchy,
  of_gumbel_r,
  of_weibull_min,
  of_uniform,
  of_pareto,
  of_lognorm,
  of_chi2,
  of_geom,
  of_binom,
  of_nbinom
};
// In the order of the enumerators.
constexpr Composed divergences[] = {
    {"norm_kl", norm_kl_of},
    {"expon_kl", [](X x) { return of_ratio(positive_or_nan(x[0]), positive_or_nan(x[1])); }},
    {"gamma_kl", gamma_kl_of},
    {"beta_kl", beta_kl_of},
    {"bernoulli_kl", bernoulli_kl_of},
    {"poisson_kl",
     [](X x) { return kl_div(where(x[0] >= 0, x[0], not_a_number), where(x[1] >= 0, x[1], not_a_number)); }},
    {"dirichlet_kl", dirichlet_term},
    {"dirichlet_kl", [](X x) { return beyond_kl_div(x[1], x[0]); }},
    {"laplace_kl", laplace_kl_of},
    {"cauchy_kl", cauchy_kl_of},
    {"gumbel_r_kl", gumbel_r_kl_of},
    {"weibull_min_kl", weibull_min_kl_of},
    {"uniform_kl", uniform_kl_of},
    {"pareto_kl", pareto_kl_of},
    {"lognorm_kl", lognorm_kl_of},
    {"chi2_kl", chi2_kl_of},
    {"geom_kl", geom_kl_of},
    {"binom_kl", binom_kl_of},
    {"nbinom_kl", [](X x) { return positive_or_nan(x[0]) * geom_kl_of(x + 1); }},
};
Tensor divergence(Divergence f, std::initializer_list<const Operand*> operands) {
  static const ComposedOps& all = *new ComposedOps(divergences);
  const tape::OpScope scope(**operands.begin());
  return all.call(f, {operands.begin(), operands.size()});
}

}  // namespace

}  // namespace ops

// clang-format off
Tensor norm_kl(const Operand& loc1, const Operand& scale1, const Operand& loc2, const Operand& scale2) { return ops::divergence(ops::of_norm, {&loc1, &scale1, &loc2, &scale2}); }
Tensor expon_kl(const Operand& scale1, const Operand& scale2) { return ops::divergence(ops::of_expon, {&scale1, &scale2}); }
Tensor gamma_kl(const Operand& a1, const Operand& scale1, const Operand& a2, const Operand& scale2) { return ops::divergence(ops::of_gamma, {&a1, &scale1, &a2, &scale2}); }
Tensor beta_kl(const Operand& a1, const Operand& b1, const Operand& a2, const Operand& b2) { return ops::divergence(ops::of_beta, {&a1, &b1, &a2, &b2}); }
Tensor bernoulli_kl(const Operand& p1, const Operand& p2) { return ops::divergence(ops::of_bernoulli, {&p1, &p2}); }
Tensor poisson_kl(const Operand& mu1, const Operand& mu2) { return ops::divergence(ops::of_poisson, {&mu1, &mu2}); }
Tensor laplace_kl(const Operand& loc1, const Operand& scale1, const Operand& loc2, const Operand& scale2) { return ops::divergence(ops::of_laplace, {&loc1, &scale1, &loc2, &scale2}); }
Tensor cauchy_kl(const Operand& loc1, const Operand& scale1, const Operand& loc2, const Operand& scale2) { return ops::divergence(ops::of_cauchy, {&loc1, &scale1, &loc2, &scale2}); }
Tensor gumbel_r_kl(const Operand& loc1, const Operand& scale1, const Operand& loc2, const Operand& scale2) { return ops::divergence(ops::of_gumbel_r, {&loc1, &scale1, &loc2, &scale2}); }
Tensor uniform_kl(const Operand& loc1, const Operand& scale1, const Operand& loc2, const Operand& scale2) { return ops::divergence(ops::of_uniform, {&loc1, &scale1, &loc2, &scale2}); }
Tensor weibull_min_kl(const Operand& c1, const Operand& scale1, const Operand& c2, const Operand& scale2) { return ops::divergence(ops::of_weibull_min, {&c1, &scale1, &c2, &scale2}); }
Tensor pareto_kl(const Operand& b1, const Operand& scale1, const Operand& b2, const Operand& scale2) { return ops::divergence(ops::of_pareto, {&b1, &scale1, &b2, &scale2}); }
Tensor lognorm_kl(const Operand& s1, const Operand& scale1, const Operand& s2, const Operand& scale2) { return ops::divergence(ops::of_lognorm, {&s1, &scale1, &s2, &scale2}); }
Tensor chi2_kl(const Operand& df1, const Operand& df2) { return ops::divergence(ops::of_chi2, {&df1, &df2}); }
Tensor geom_kl(const Operand& p1, const Operand& p2) { return ops::divergence(ops::of_geom, {&p1, &p2}); }
Tensor binom_kl(const Operand& n, const Operand& p1, const Operand& p2) { return ops::divergence(ops::of_binom, {&n, &p1, &p2}); }
Tensor nbinom_kl(const Operand& n, const Operand& p1, const Operand& p2) { return ops::divergence(ops::of_nbinom, {&n, &p1, &p2}); }
// clang-format on

Tensor dirichlet_kl(const Operand& alpha1, const Operand& alpha2) {
  constexpr const char* op = "dirichlet_kl";
  const tape::OpScope scope(alpha1);
  const ops::Converted c(op, {&alpha1, &alpha2});
  if (c.x[0].rank() == 0 || c.x[1].rank() == 0 || c.x[0].shape()[-1] != c.x[1].shape()[-1] || c.x[0].shape()[-1] == 0)
    fail<ShapeError>(op, "both need a last axis of the same number of elements; their shapes are {} and {}",
                     c.x[0].shape(), c.x[1].shape());
  ops::broadcast_all(op, c.x);
  const Tensor a1 = where(greater(c.x[0], 0), c.x[0], ops::not_a_number),
               a2 = where(greater(c.x[1], 0), c.x[1], ops::not_a_number);
  const Tensor n1 = sum(a1, -1, true), n2 = sum(a2, -1, true);
  const Operand first(a1), second(a2), sum1(n1), sum2(n2);
  const Tensor terms = ops::divergence(ops::of_dirichlet_term, {&first, &sum1, &second, &sum2}),
               sums = ops::divergence(ops::of_sums, {&sum1, &sum2});
  return ops::cast_to(sum(terms, -1) - squeeze(sums, -1), c.result);
}

Tensor multivariate_normal_kl(const Operand& mean1, const Operand& cholesky_factor1, const Operand& mean2,
                              const Operand& cholesky_factor2) {
  constexpr const char* op = "multivariate_normal_kl";
  const tape::OpScope scope(mean1);
  const ops::Converted c(op, {&mean1, &cholesky_factor1, &mean2, &cholesky_factor2});
  const Tensor l1 = tril(ops::square_operand(op, c.x[1], "cholesky_factor1")),
               l2 = ops::valid_factor(op, ops::square_operand(op, c.x[3], "cholesky_factor2"), c.x);
  const std::int64_t n = l1.shape()[-1];
  for (const std::size_t k : {0u, 2u, 3u})
    if (c.x[k].rank() == 0 || c.x[k].shape()[-1] != n)
      fail<ShapeError>(op, "an operand has the shape {}, but its last axis must have {} elements, as cholesky_factor1",
                       c.x[k].shape(), n);
  Shape batch = ops::broadcast_shapes(op, l1.shape(), l2.shape());
  batch.pop_back();
  const Tensor d = c.x[0] - c.x[2];
  ops::broadcast_shapes(op, batch, d.shape());
  const Tensor m = triangular_solve(l2, l1), y = triangular_solve(l2, expand_dims(d, -1));
  const Tensor scale1 = diagonal(l1), scale2 = diagonal(l2);
  const Tensor r = where(logical_and(greater(scale1, 0), greater(scale2, 0)), scale1 / scale2, ops::not_a_number);
  const Tensor of_scales = sum(kl_div(1, square(r)), -1);
  const Tensor of_rest = sum(square(tril(m, -1)), {-2, -1});
  return ops::cast_to(0.5 * (of_scales + of_rest + sum(square(y), {-2, -1})), c.result);
}

}  // namespace reel
