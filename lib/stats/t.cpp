// Student's distribution of a degrees of freedom.
#include <numbers>
#include <reel/special.hpp>
#include <reel/stats/t.hpp>

#include "special/functions.hpp"
#include "stats/gamma_density.hpp"
#include "stats/implicit_samples.hpp"
#include "stats/tails.hpp"

namespace reel::ops {
namespace {

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
Lane t_logpdf_of(P p) { return half_step_of_lgamma(0.5 * p.a) - log_root_2pi - 0.5 * log_t_kernel(p.z, p.a); }
constexpr Distribution t_distribution =
    of_density(-infinity, infinity, 1, t_logpdf_of, [](P p) { return exp(t_logpdf_of(p)); });

}  // namespace
}  // namespace reel::ops

REEL_DENSITIES_1(t)

namespace reel::ops {
namespace {

using std::numbers::ln2;

// The probability beyond z >= 0, or its logarithm, with r = z / sqrt(df): up to r = 1 by 1 minus the part near 0, of
// which betainc has all digits; then by the tail, whose first term is all of it where 1 + r^2 rounds to r^2. About 0 by
// four terms of the density's series, as z^2 has a slope of 0: with s = z^2 (df + 1) / df the next one is below s^4
// / 30.
Tensor t_beyond(const char* op, bool logarithm, const Tensor& z, const Tensor& df) {
  constexpr double series_max = 0.01;  // of the root of s: the next term is below 4e-18
  const Tensor r = z / sqrt(df), near_0 = less(z * sqrt(1 + 1 / df), series_max), middle = less(r, 1),
               far = greater(r, square_dominates);
  const Tensor half = 0.5 * df, root = full({}, 0.5, df.dtype());
  const Tensor inner = where(logical_and(middle, logical_not(near_0)), r, 0.5);
  const Tensor outer = where(logical_or(middle, far), 2, r);
  const Tensor in_middle =
      incomplete_beta(op, logarithm ? Tail::logsf : Tail::sf, root, half, square(inner) / (1 + square(inner)));
  const Tensor in_tail = incomplete_beta(op, logarithm ? Tail::logcdf : Tail::cdf, half, root, 1 / (1 + square(outer)));
  const Tensor last = -df * log(where(far, r, 1)) - log(df) - betaln(half, 0.5);
  const Tensor close = where(near_0, z, 0), t = square(close) / df;
  const Tensor series = 1 - (df + 1) * t * (1. / 6 - (df + 3) * t * (1. / 40 - (df + 5) * t * (1. / 336)));
  const Tensor start = close * exp(t_logpdf(0, df)) * series;
  if (!logarithm)
    return where(near_0, 0.5 - start, where(middle, 0.5 * in_middle, where(far, exp(last), 0.5 * in_tail)));
  return where(near_0, log1p(-2 * start) - ln2, where(far, last, where(middle, in_middle, in_tail) - ln2));
}

Tensor t_tail(const char* op, Tail tail, const Operand& x, const Operand& df, const Operand& loc,
              const Operand& scale) {
  const tape::OpScope scope(x);
  const Placed p(op, {&x, &df, &loc, &scale}, -infinity, infinity);
  // The parts of the derivative by df nearly cancel for large df: too much for float32.
  const Tensor z = cast_to(p.z, DType::float64), all_df = cast_to(p.c.x[1], DType::float64);
  const Tensor towards = is_lower(tail) ? -z : z, small = greater_equal(towards, 0);
  const Tensor beyond = t_beyond(op, is_log(tail), where(small, towards, -towards), all_df);
  return p.finish(tail, where(small, beyond, is_log(tail) ? log1mexp(-beyond) : 1 - beyond));
}

// The value, with the implicit derivatives of the primitive. The upper tail is the lower one mirrored.
Tensor t_quantile(const char* op, Tail t, const Operand& p, const Operand& df, const Operand& loc,
                  const Operand& scale) {
  const tape::OpScope scope(p);
  const Quantile q(op, {&p, &df, &loc, &scale});
  const Shape shape = broadcast_shapes(op, q.c.x[0].shape(), q.c.x[1].shape());
  const Tensor all_p = broadcast_to(q.c.x[0], shape), all_df = broadcast_to(q.c.x[1], shape);
  const auto f = is_log(t) ? loops::SpecialFunction::t_ilogcdf : loops::SpecialFunction::t_ppf;
  const Tensor z = student_sample(all_df, all_p, apply_special(op, f, {&all_p, &all_df}), is_log(t));
  return q.finish(is_lower(t) ? z : -z);
}

}  // namespace
}  // namespace reel::ops

REEL_TAILS(t, (const Operand& x, const Operand& df, const Operand& loc, const Operand& scale), t_tail, t_quantile, x,
           df, loc, scale)

namespace reel {

Tensor t_rvs(Generator& generator, const Shape& shape, const Operand& df, const Operand& loc, const Operand& scale,
             DType dtype) {
  const tape::OpScope scope(df);
  return ops::draw_scaled_variates("t_rvs", loops::Variate::student_t, generator, shape, dtype, {&df}, loc, scale);
}

}  // namespace reel
