// Distributions of <reel/stats/continuous.hpp>; each function is an elementwise function of lanes. A distribution is
// given in standard form, for loc 0 and scale 1; place() applies loc and scale and handles the ends of the support.
// where() replaces the operands of a branch that is not taken before a formula reads them: in the gradient 0 times
// infinity would be NaN.
#include <numbers>
#include <reel/stats/continuous.hpp>

#include "stats/distribution.hpp"
#include "stats/numbers.hpp"
#include "tape/observe/observe.hpp"

namespace reel {

namespace ops {

namespace {

using X = const Lane*;
using std::numbers::ln2, std::numbers::pi;
constexpr double inverse_root_2pi = 0.39894228040143267794;

// scale, or NaN if scale or a shape parameter is not positive.
Lane valid_scale(const Distribution& distribution, X x) {
  LaneMask valid = x[distribution.shapes + 2] > 0;
  for (std::size_t k = 1; k <= distribution.shapes; ++k) valid = valid && x[k] > 0;
  return where(valid, x[distribution.shapes + 2], not_a_number);
}
// power(NaN, 0) is 1: the shape is made NaN too.
Lane valid_shape(const Lane& a) { return where(a > 0, a, not_a_number); }

}  // namespace

// Where z is outside the support or infinite, it is replaced by a number inside; by 1 where that is inside, whose
// powers do not overflow.
Lane place(const Distribution& distribution, DistributionFunction kind, X x) {
  const Lane scale = valid_scale(distribution, x), d = x[0] - x[distribution.shapes + 1], z = d / scale;
  LaneMask below = distribution.has_lower ? z < distribution.lower : z <= distribution.lower,
           above = distribution.upper < infinity ? z > distribution.upper : z >= infinity;
  if (kind <= pdf && distribution.vanishes_below < infinity)
    below = below || (equal(z, distribution.lower) && x[1] > distribution.vanishes_below);
  if (kind <= pdf && distribution.vanishes_above < infinity)
    above = above || (equal(z, distribution.upper) && x[2] > distribution.vanishes_above);
  const LaneMask outside = below || above;
  const double replaced = distribution.upper < infinity ? 0.5 : distribution.lower > 0 ? 2 : 1;
  const Lane inside = where(outside, replaced * scale, d);
  const Lane y =
      distribution.functions[kind]({inside / scale, inside, scale, distribution.shapes > 0 ? valid_shape(x[1]) : scale,
                                    distribution.shapes > 1 ? valid_shape(x[2]) : scale});
  constexpr double at_below[] = {-infinity, 0, 0, -infinity, 1, 0}, at_above[] = {-infinity, 0, 1, 0, 0, -infinity};
  const Lane scaled = kind == logpdf ? y - log(scale) : kind == pdf && !distribution.pdf_by_scale ? y / scale : y;
  return where(below, at_below[kind], where(above, at_above[kind], scaled));
}

namespace {

Lane quantile(const Distribution& distribution, DistributionFunction kind, X x) {
  const LaneMask valid = kind >= ilogcdf ? x[0] <= 0 : x[0] >= 0 && x[0] <= 1;
  const Lane p = where(valid, x[0] + 0., not_a_number);  // + 0.: the quantile of -0 is that of 0
  return x[distribution.shapes + 1] +
         valid_scale(distribution, x) *
             distribution.quantiles[kind - ppf](p, distribution.shapes > 0 ? valid_shape(x[1]) : p);
}

// The normal quantile of exp(y): above log(1 / 2) by 1 - exp(y).
Lane normal_quantile_of_log(const Lane& y) {
  const LaneMask upper = y > -ln2, zero = equal(y, -infinity);
  const Lane lower = log_ndtr_inverse(where(upper || zero, -1, y)), above = ndtri(0. - expm1(where(upper, y, -1)));
  return where(zero, -infinity, where(upper, 0. - above, lower));
}
Lane log_complement(const Lane& y) { return log1mexp(0. - y); }  // log(1 - exp(y))

Lane normal_density(const Lane& z) { return inverse_root_2pi * exp(-0.5 * z * z); }
Lane log_normal_density(const Lane& z) { return -0.5 * z * z - log_root_2pi; }

// exp(z) / 2 below 0, otherwise 1 - exp(-z) / 2.
Lane laplace_cdf_of(const Lane& z) {
  const Lane half = 0.5 * exp(where(z < 0, z, -z));
  return where(z < 0, half, 1 - half);
}
Lane laplace_logcdf_of(const Lane& z) {
  const LaneMask lower = z < 0;
  return where(lower, z - ln2, log1p(-0.5 * exp(where(lower, 0, -z))));
}

Lane laplace_quantile_of_log(const Lane& y) {
  const LaneMask lower = y < -ln2;
  return where(lower, y + ln2, -ln2 - log_complement(where(lower, -ln2, y)));
}

// -2 log(2 cosh(z / 2)): for small |z| by sinh(z / 4)^2, which does not cancel.
Lane logistic_logpdf_of(const Lane& z) {
  const LaneMask near = abs(z) < 4;
  const Lane s = sinh(0.25 * where(near, z, 0)), a = abs(where(near, 4, z));
  return where(near, -2 * log1p(2 * s * s) - 2 * ln2, -a - 2 * softplus(-a));
}

// By the sigmoid of -|z|, whose derivatives do not cancel.
Lane logistic_cdf_of(const Lane& z) {
  const LaneMask upper = z > 0;
  const Lane s = sigmoid(where(upper, -z, z));
  return where(upper, 1 - s, s);
}

// log of the sigmoid, by softplus of -|z| for the same reason.
Lane logistic_logcdf_of(const Lane& z) {
  const LaneMask lower = z < 0;
  return where(lower, z, 0) - softplus(where(lower, z, -z));
}

// tan(pi (p - 1/2)) near the median, where p - 1/2 is exact; by the cotangent toward both ends. q is 1 - p.
Lane cauchy_quantile_of(const Lane& p, const Lane& q) {
  const LaneMask low = p<0.25, high = p> 0.75, end = low || high;
  const Lane t = tan(pi * where(low, p, where(high, q, p - 0.5)));
  const Lane cotangent = 1 / where(end, t, 1);
  return where(low, -cotangent, where(high, cotangent, t));
}

Lane cauchy_ppf_of(const Lane& p) { return cauchy_quantile_of(p, 1 - p); }
// Where p is small, tan(pi p) rounds to pi p.
Lane cauchy_ilogcdf_of(const Lane& y) {
  constexpr double far_max = -30;
  const LaneMask far = y < far_max;
  const Lane near = where(far, -1, y);
  return where(far, -exp(where(far, -y, 0)) / pi, cauchy_quantile_of(exp(near), 0. - expm1(near)));
}

// log(d / scale), without mixed derivatives that cancel or overflow: both numbers by a power of 2 near 1 / scale.
Lane log_quotient(const Lane& d, const Lane& scale) {
  constexpr double exponent_max = 1000;  // of 1023, with room for the products below
  const Lane unit = exp2(minimum(maximum(-round(log2(scale)), -exponent_max), exponent_max));
  return log(d * unit) - log(scale * unit);
}
// Where |z| > 1, by w = scale / d: derivatives of formulas in z by the scale cancel there.
struct CauchyTail {
  LaneMask far;
  Lane near, d, w;
  explicit CauchyTail(const DistributionPoint& p)
      : far(abs(p.z) > 1), near(where(far, 0, p.z)), d(where(far, p.d, p.scale)), w(p.scale / d) {}
};
Lane cauchy_logpdf_of(const DistributionPoint& p) {
  const CauchyTail t(p);
  return where(t.far, -2 * log_quotient(abs(t.d), p.scale) - log1p(t.w * t.w), -log1p(t.near * t.near)) - log_pi;
}
Lane cauchy_pdf_of(const DistributionPoint& p) {
  const CauchyTail t(p);
  return where(t.far, t.w / (1 + t.w * t.w) / t.d, 1 / (1 + t.near * t.near) / p.scale) / pi;
}
Lane cauchy_cdf_of(const DistributionPoint& p) { return arctan2(p.scale, -p.d) / pi; }
DistributionPoint mirrored(const DistributionPoint& p) { return {-p.z, -p.d, p.scale, p.a, p.b}; }
// log(arctan(w) / pi) for small w = -scale / d by the series of log(arctan(w) / w).
Lane cauchy_logcdf_of(const DistributionPoint& p) {
  constexpr double far_min = 64;  // of -z: the next term, w^10 / 21, is below 5e-20
  const LaneMask lower = p.z < 0, far = p.z < -far_min;
  const Lane d = where(far, p.d, -p.scale), w = p.scale / d, u = w * w;
  const Lane series = u * (-1. / 3 + u * (13. / 90 - u * (251. / 2835 - u * (3551. / 56700))));
  const Lane tail = series - log_quotient(-d, p.scale) - log_pi;
  const DistributionPoint below = {p.z, where(lower, p.d, -p.scale), p.scale, p.a, p.b};
  const DistributionPoint above = {p.z, where(lower, -p.scale, -p.d), p.scale, p.a, p.b};
  return where(far, tail, where(lower, log(cauchy_cdf_of(below)), log1p(-cauchy_cdf_of(above))));
}
// log(1 - exp(-u)), log_u = log(u): log(u) - u / 2 + u^2 / 24 - u^4 / 2880 + u^6 / 181440 - ... for small u, to keep
// such mixed derivatives.
Lane log1mexp_of(const Lane& u, const Lane& log_u) {
  constexpr double series_max = 1. / 64;  // of u: the next term, u^8 / 9676800, is below 4e-22
  const LaneMask small = u < series_max;
  const Lane v = where(small, u, 0), w = v * v;
  return where(small, log_u + w * (1. / 24 - w * (1. / 2880 - w * (1. / 181440))) - 0.5 * v,
               log1mexp(where(small, 1, u)));
}

// -z - exp(-z): about its maximum at 0 by -1 - z^2 / 2 + z^3 / 6 - ..., whose derivatives do not cancel.
Lane gumbel_logpdf_of(const Lane& z) {
  constexpr double series_max = 0.5;  // of |z|
  constexpr int last_power = 17;      // the next term, z^18 / 18!, is below 1e-21
  const LaneMask near = abs(z) < series_max;
  const Lane inside = where(near, z, 0), outside = where(near, 1, z);
  Lane series = 0 * inside + 1;
  for (int k = last_power; k > 2; --k) series = 1 - inside / k * series;
  return where(near, -1 - 0.5 * inside * inside * series, -outside - exp(-outside));
}
// The z below which exp(-exp(-z)) is 0 in every dtype: exp(20) is above 4e8.
constexpr double gumbel_zero = -20;
Lane gumbel_exp(const Lane& z) { return exp(where(z < gumbel_zero, -gumbel_zero, -z)); }
Lane gumbel_pdf_of(const Lane& z) { return exp(gumbel_logpdf_of(where(z < gumbel_zero, gumbel_zero, z))); }
Lane gumbel_logsf_of(const Lane& z) {
  constexpr double tail_only = 40;  // of z: log(1 - exp(-u)), u = exp(-z) below 5e-18, rounds to -z
  const LaneMask far = z > tail_only;
  return where(far, -z, log1mexp(gumbel_exp(where(far, 0, z))));
}

// -log(-log(1 - exp(y))). Far out 1 - exp(y) rounds to 1: -log(1 - p) = p (1 + p / 2).
Lane gumbel_ilogsf_of(const Lane& y, const Lane&) {
  constexpr double far_max = -40;
  const LaneMask far = y < far_max;
  return where(far, -y, -log(0. - log_complement(where(far, -1, y))));
}

// z^c, and c log(z), which predicts underflow of z^c and of exp(-z^c).
struct WeibullPower {
  static constexpr double underflow_min = 7;  // of c log(z): exp(-exp(7)) is 0 in every dtype
  LaneMask far;
  Lane z, logarithm, u;
  explicit WeibullPower(const DistributionPoint& p)
      : far(p.a * log(p.z) > underflow_min),
        z(where(far, 1, p.z)),
        logarithm(p.a * log_quotient(where(far, p.scale, p.d), p.scale)),
        u(power(z, p.a)) {}
};
Lane weibull_logpdf_of(const DistributionPoint& p) { return log(p.a) + xlogy(p.a - 1, p.z) - power(p.z, p.a); }
Lane weibull_pdf_of(const DistributionPoint& p) {
  const WeibullPower w(p);
  return where(w.far, 0, p.a * power(w.z, p.a - 1) * exp(-w.u));
}
Lane weibull_logcdf_of(const DistributionPoint& p) {
  const WeibullPower w(p);
  return where(w.far, 0, log1mexp_of(w.u, w.logarithm));
}

Lane pareto_logcdf_of(const DistributionPoint& p) {
  const Lane l = log(p.z);
  return log1mexp_of(p.a * l, log(p.a) + log(l));
}

// The normal distribution of log(z) / s.
Lane log_by_s(const DistributionPoint& p) { return log_quotient(p.d, p.scale) / p.a; }
Lane lognorm_ppf_of(const Lane& p, const Lane& s) {
  const LaneMask zero = equal(p, 0);
  return where(zero, 0, exp(s * ndtri(where(zero, 0.5, p))));
}

Lane lognorm_isf_of(const Lane& p, const Lane& s) {
  const LaneMask one = equal(p, 1);
  return where(one, 0, exp(-s * ndtri(where(one, 0.5, p))));
}
Lane lognorm_ilogcdf_of(const Lane& y, const Lane& s) {
  const LaneMask zero = equal(y, -infinity);
  return where(zero, 0, exp(s * normal_quantile_of_log(where(zero, -1, y))));
}

Lane lognorm_ilogsf_of(const Lane& y, const Lane& s) {
  const LaneMask zero = equal(y, 0);
  return where(zero, 0, exp(-s * normal_quantile_of_log(where(zero, -1, y))));
}

Lane uniform_logcdf_of(const DistributionPoint& p) {
  const LaneMask lower = p.z < 0.5;
  return where(lower, log_quotient(where(lower, p.d, p.scale), p.scale), log(where(lower, 1, p.z)));
}
// 1 - z; scale - d is exact toward the upper end.
Lane uniform_sf_of(const DistributionPoint& p) { return where(p.z < 0.5, 1 - p.z, (p.scale - p.d) / p.scale); }
Lane uniform_logsf_of(const DistributionPoint& p) {
  const LaneMask lower = p.z < 0.5;
  return where(lower, log1p(-where(lower, p.z, 0)), log(where(lower, 1, (p.scale - p.d) / p.scale)));
}

using P = const DistributionPoint&;
using L = const Lane&;
// Each: the support; logpdf, pdf, cdf, logcdf, sf, logsf; ppf, isf, ilogcdf, ilogsf.
// clang-format off
constexpr Distribution norm_distribution = {-infinity, infinity, false, 0,
    {[](P p) { return log_normal_density(p.z); }, [](P p) { return normal_density(p.z); }, [](P p) { return ndtr(p.z); },
     [](P p) { return log_ndtr(p.z); }, [](P p) { return ndtr(-p.z); }, [](P p) { return log_ndtr(-p.z); }},
    {[](L p, L) { return ndtri(p); }, [](L p, L) { return 0. - ndtri(p); }, [](L y, L) { return normal_quantile_of_log(y); },
     [](L y, L) { return 0. - normal_quantile_of_log(y); }}};
constexpr Distribution expon_distribution = {0, infinity, true, 0,
    {[](P p) { return -p.z; }, [](P p) { return exp(-p.z); }, [](P p) { return -expm1(-p.z); },
     [](P p) { return log1mexp_of(p.z, log_quotient(p.d, p.scale)); }, [](P p) { return exp(-p.z); }, [](P p) { return -p.z; }},
    {[](L p, L) { return -log1p(-p); }, [](L p, L) { return 0. - log(p); }, [](L y, L) { return 0. - log_complement(y); },
     [](L y, L) { return 0. - y; }}};
constexpr Distribution laplace_distribution = {-infinity, infinity, false, 0,
    {[](P p) { return -abs(p.z) - ln2; }, [](P p) { return 0.5 * exp(-abs(p.z)); }, [](P p) { return laplace_cdf_of(p.z); },
     [](P p) { return laplace_logcdf_of(p.z); }, [](P p) { return laplace_cdf_of(-p.z); }, [](P p) { return laplace_logcdf_of(-p.z); }},
    {[](L p, L) { return where(p < 0.5, log(2 * p), -log(2 * (1 - p))); }, [](L p, L) { return where(p < 0.5, -log(2 * p), log(2 * (1 - p))); },
     [](L y, L) { return laplace_quantile_of_log(y); }, [](L y, L) { return 0. - laplace_quantile_of_log(y); }}};
constexpr Distribution logistic_distribution = {-infinity, infinity, false, 0,
    {[](P p) { return logistic_logpdf_of(p.z); }, [](P p) { return exp(logistic_logpdf_of(p.z)); }, [](P p) { return logistic_cdf_of(p.z); },
     [](P p) { return logistic_logcdf_of(p.z); }, [](P p) { return logistic_cdf_of(-p.z); }, [](P p) { return logistic_logcdf_of(-p.z); }},
    {[](L p, L) { return logit(p); }, [](L p, L) { return 0. - logit(p); }, [](L y, L) { return y - log_complement(y); },
     [](L y, L) { return log_complement(y) - y; }}};
constexpr Distribution cauchy_distribution = {-infinity, infinity, false, 0,
    {cauchy_logpdf_of, cauchy_pdf_of, cauchy_cdf_of, cauchy_logcdf_of,
     [](P p) { return cauchy_cdf_of(mirrored(p)); }, [](P p) { return cauchy_logcdf_of(mirrored(p)); }},
    {[](L p, L) { return cauchy_ppf_of(p); }, [](L p, L) { return 0. - cauchy_ppf_of(p); }, [](L y, L) { return cauchy_ilogcdf_of(y); },
     [](L y, L) { return 0. - cauchy_ilogcdf_of(y); }},
    infinity, infinity, true};
constexpr Distribution gumbel_r_distribution = {-infinity, infinity, false, 0,
    {[](P p) { return gumbel_logpdf_of(p.z); }, [](P p) { return gumbel_pdf_of(p.z); }, [](P p) { return exp(-gumbel_exp(p.z)); },
     [](P p) { return -exp(-p.z); }, [](P p) { return -expm1(-gumbel_exp(p.z)); }, [](P p) { return gumbel_logsf_of(p.z); }},
    {[](L p, L) { return -log(0. - log(p)); }, [](L p, L) { return -log(0. - log1p(-p)); }, [](L y, L) { return -log(0. - y); },
     gumbel_ilogsf_of}};
constexpr Distribution uniform_distribution = {0, 1, true, 0,
    {[](P p) { return 0 * p.z; }, [](P p) { return 0 * p.z + 1; }, [](P p) { return p.z; },
     uniform_logcdf_of, uniform_sf_of, uniform_logsf_of},
    {[](L p, L) { return p; }, [](L p, L) { return 1 - p; }, [](L y, L) { return exp(y); }, [](L y, L) { return 0. - expm1(y); }}};
constexpr Distribution pareto_distribution = {1, infinity, true, 1,
    {[](P p) { return log(p.a) - (p.a + 1) * log(p.z); }, [](P p) { return p.a / p.d * power(p.scale / p.d, p.a); },
     [](P p) { return -expm1(-p.a * log(p.z)); }, pareto_logcdf_of,
     [](P p) { return power(p.scale / p.d, p.a); }, [](P p) { return -p.a * log(p.z); }},
    {[](L p, L b) { return exp(-log1p(-p) / b); }, [](L p, L b) { return exp(-log(p) / b); }, [](L y, L b) { return exp(-log_complement(y) / b); },
     [](L y, L b) { return exp(-y / b); }},
    infinity, infinity, true};
constexpr Distribution lognorm_distribution = {0, infinity, false, 1,
    {[](P p) { return log_normal_density(log_by_s(p)) - log(p.a) - log_quotient(p.d, p.scale); },
     [](P p) { return normal_density(log_by_s(p)) / (p.a * p.z); }, [](P p) { return ndtr(log_by_s(p)); },
     [](P p) { return log_ndtr(log_by_s(p)); }, [](P p) { return ndtr(-log_by_s(p)); }, [](P p) { return log_ndtr(-log_by_s(p)); }},
    {lognorm_ppf_of, lognorm_isf_of, lognorm_ilogcdf_of, lognorm_ilogsf_of}};
constexpr Distribution weibull_min_distribution = {0, infinity, true, 1,
    {weibull_logpdf_of, weibull_pdf_of, [](P p) { const WeibullPower w(p); return where(w.far, 1, -expm1(-w.u)); },
     weibull_logcdf_of, [](P p) { const WeibullPower w(p); return where(w.far, 0, exp(-w.u)); },
     [](P p) { return -power(p.z, p.a); }},
    {[](L p, L c) { return power(-log1p(-p), 1 / c); }, [](L p, L c) { return power(0. - log(p), 1 / c); },
     [](L y, L c) { return power(0. - log_complement(y), 1 / c); }, [](L y, L c) { return power(0. - y, 1 / c); }}, 1};
// clang-format on

template <const Distribution& distribution, DistributionFunction kind>
Lane quantile_of(X x) {
  return quantile(distribution, kind, x);
}

// The distributions in order, each with whether it has a shape parameter.
#define REEL_DISTRIBUTIONS(F) \
  F(norm, 0)                  \
  F(expon, 0)                 \
  F(laplace, 0) F(logistic, 0) F(cauchy, 0) F(gumbel_r, 0) F(uniform, 0) F(pareto, 1) F(lognorm, 1) F(weibull_min, 1)
#define REEL_FUNCTIONS(distribution, shapes)                                                         \
  {#distribution "_logpdf", placed<distribution##_distribution, logpdf>},                            \
      {#distribution "_pdf", placed<distribution##_distribution, pdf>},                              \
      {#distribution "_cdf", placed<distribution##_distribution, cdf>},                              \
      {#distribution "_logcdf", placed<distribution##_distribution, logcdf>},                        \
      {#distribution "_sf", placed<distribution##_distribution, sf>},                                \
      {#distribution "_logsf", placed<distribution##_distribution, logsf>},                          \
      {#distribution "_ppf", quantile_of<distribution##_distribution, ppf>},                         \
      {#distribution "_isf", quantile_of<distribution##_distribution, isf>},                         \
      {#distribution "_ilogcdf", quantile_of<distribution##_distribution, ilogcdf>, DType::float64}, \
      {#distribution "_ilogsf", quantile_of<distribution##_distribution, ilogsf>, DType::float64},
constexpr Composed continuous_functions[] = {REEL_DISTRIBUTIONS(REEL_FUNCTIONS)};
#undef REEL_FUNCTIONS
#define REEL_NUMBER(distribution, shapes) number_of_##distribution,
enum DistributionNumber : std::size_t { REEL_DISTRIBUTIONS(REEL_NUMBER) };
#undef REEL_NUMBER

Tensor call(DistributionNumber distribution, std::size_t kind, std::initializer_list<const Operand*> operands) {
  static const ComposedOps& all = *new ComposedOps(continuous_functions);
  const tape::OpScope scope(**operands.begin());
  return all.call(std::size_t{distribution} * functions_of_distribution + kind, {operands.begin(), operands.size()});
}

}  // namespace

}  // namespace ops

#define REEL_DEFINE_0(distribution, kind)                                                    \
  Tensor distribution##_##kind(const Operand& x, const Operand& loc, const Operand& scale) { \
    return ops::call(ops::number_of_##distribution, ops::kind, {&x, &loc, &scale});          \
  }
#define REEL_DEFINE_1(distribution, kind)                                                                          \
  Tensor distribution##_##kind(const Operand& x, const Operand& shape, const Operand& loc, const Operand& scale) { \
    return ops::call(ops::number_of_##distribution, ops::kind, {&x, &shape, &loc, &scale});                        \
  }
#define REEL_DEFINE(distribution, shapes)                                                     \
  REEL_DEFINE_##shapes(distribution, logpdf) REEL_DEFINE_##shapes(distribution, pdf)          \
      REEL_DEFINE_##shapes(distribution, cdf) REEL_DEFINE_##shapes(distribution, logcdf)      \
          REEL_DEFINE_##shapes(distribution, sf) REEL_DEFINE_##shapes(distribution, logsf)    \
              REEL_DEFINE_##shapes(distribution, ppf) REEL_DEFINE_##shapes(distribution, isf) \
                  REEL_DEFINE_##shapes(distribution, ilogcdf) REEL_DEFINE_##shapes(distribution, ilogsf)
REEL_DISTRIBUTIONS(REEL_DEFINE)

}  // namespace reel
