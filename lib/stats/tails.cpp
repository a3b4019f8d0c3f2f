// Distribution functions and quantiles of <reel/stats/tails.hpp>, by incomplete gamma and beta functions. Where x is
// outside the support it is replaced by a number inside, and the value by a constant.
#include <numbers>
#include <reel/ops/parts.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/special.hpp>
#include <reel/stats/densities.hpp>
#include <reel/stats/tails.hpp>

#include "ops/attributes.hpp"
#include "special/functions.hpp"
#include "stats/converted.hpp"
#include "stats/implicit_samples.hpp"
#include "stats/incomplete.hpp"
#include "tape/observe/observe.hpp"

namespace reel {

namespace ops {

using Function = loops::SpecialFunction;

Tensor incomplete_gamma(const char* op, Tail t, const Tensor& a, const Tensor& x) {
  switch (t) {
    case Tail::cdf:
      return gammainc(a, x);
    case Tail::sf:
      return gammaincc(a, x);
    case Tail::logcdf:
      return apply_special(op, Function::log_gammainc, {&a, &x});
    default:
      return apply_special(op, Function::log_gammaincc, {&a, &x});
  }
}
Tensor incomplete_beta(const char* op, Tail t, const Tensor& a, const Tensor& b, const Tensor& x) {
  switch (t) {
    case Tail::cdf:
      return betainc(a, b, x);
    case Tail::sf:
      return betaincc(a, b, x);
    case Tail::logcdf:
      return apply_special(op, Function::log_betainc, {&a, &b, &x});
    default:
      return apply_special(op, Function::log_betaincc, {&a, &b, &x});
  }
}

namespace {

using std::numbers::ln2;

// Operands of a continuous distribution: x, shape parameters, loc, scale.
struct Placed {
  Converted c;
  Tensor z, below, above;
  Placed(const char* op, std::initializer_list<const Operand*> operands, double low, double high) : c(op, operands) {
    broadcast_all(op, c.x);
    const std::size_t n = c.x.size();
    for (std::size_t k = 1; k + 2 < n; ++k) c.x[k] = positive_or_nan(c.x[k]);
    const Tensor d = c.x[0] - c.x[n - 2], scale = positive_or_nan(c.x[n - 1]), raw = d / scale;
    below = high == infinity && low == -infinity ? less_equal(raw, low) : less(raw, low);
    above = high == infinity ? greater_equal(raw, high) : greater(raw, high);
    z = where(logical_or(below, above), 0.5 * scale, d) / scale;
  }
  Tensor finish(Tail t, const Tensor& inside) const {
    return cast_to(beside(below, at_bottom(t), above, at_top(t), inside), c.result);
  }
};

Tensor gamma_tail(const char* op, Tail t, const Operand& x, const Operand& a, const Operand& loc, const Operand& scale,
                  double unit) {
  const tape::OpScope scope(x);
  const Placed p(op, {&x, &a, &loc, &scale}, 0, infinity);
  return p.finish(t, incomplete_gamma(op, t, p.c.x[1] * unit, p.z * unit));
}

Tensor beta_tail(const char* op, Tail t, const Operand& x, const Operand& a, const Operand& b, const Operand& loc,
                 const Operand& scale) {
  const tape::OpScope scope(x);
  const Placed p(op, {&x, &a, &b, &loc, &scale}, 0, 1);
  return p.finish(t, incomplete_beta(op, t, p.c.x[1], p.c.x[2], p.z));
}

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

// z with the probability p of at most z. Of the smaller tail q, y = df / (df + z^2) has betainc(df / 2, 1 / 2, y) = 2
// q; near 0, where y is above 1/2, 1 - y is found instead, and where it underflows z is p - 1/2 over the density. For y
// below last_min, which underflows where z need not overflow, 2 q = y^h / (h B(h, 1/2)) with h = df / 2. For many
// degrees of freedom y is too near 1: two steps of Newton's method on log(q) follow, from two terms of Fisher's
// expansion above many_min (Abramowitz, Stegun 26.7.5); above expanded_min these terms are all.
Tensor t_quantile(const Tensor& p, const Tensor& any_df) {
  constexpr double linear_max = 1e-12;   // of |p - 1/2|: the cubic term is smaller by about its square
  constexpr double many_min = 1e6;       // degrees of freedom
  constexpr double expanded_min = 1e12;  // degrees of freedom: the next term is below 1e-18 at every p of float64
  constexpr double last_min = 1e-30;
  const Tensor expanded = greater(any_df, expanded_min), df = where(expanded, 1, any_df);
  const Tensor lower = less(p, 0.5), q = where(lower, p, 1 - p), half = 0.5 * df;
  const Tensor y = betaincinv(half, 0.5, 2 * q), centre = greater(q, 0.5 - linear_max);
  const Tensor near = logical_and(greater(q, 0.25), greater(y, 0.5));
  const Tensor inner = 1 - 2 * where(logical_and(near, logical_not(centre)), q, 0.375);
  const Tensor w = betaincinv(0.5, half, inner);
  const Tensor normal = -ndtri(q), many = greater(df, many_min),
               expansion = normal + normal * (square(normal) + 1) / 4 / any_df;
  const Tensor log_y = (log(2 * q) + log(half) + betaln(half, 0.5)) / half;
  const Tensor by_y = where(less(y, last_min), exp(0.5 * (log(df) - log_y)), sqrt(df * (1 - y) / y));
  Tensor tail = where(many, expansion, by_y);
  const Tensor target = log(q);
  for (int i = 0; i < 2; ++i) {
    const Tensor beyond = t_beyond("t_ppf", true, tail, df),
                 step = (beyond - target) * exp(beyond - t_logpdf(tail, df));
    tail = where(isfinite(step), tail + step, tail);
  }
  const Tensor by_df = where(near, sqrt(df * w / (1 - w)), tail), z = where(expanded, expansion, by_df);
  const Tensor linear = (p - 0.5) * exp(-t_logpdf(0, any_df));
  return where(centre, linear, where(lower, -z, z));
}

// The value alone, with the implicit derivatives of the primitive. Parts that are not chosen may be NaN on the way.
Tensor student_quantile(const Tensor& p, const Tensor& df) {
  const Shape shape = broadcast_shapes("t_ppf", p.shape(), df.shape());
  const Tensor all_p = broadcast_to(p, shape), all_df = broadcast_to(df, shape);
  const Tensor value = [&] {
    const tape::QuietScope quiet;
    return t_quantile(stop_gradient(all_p), stop_gradient(all_df));
  }();
  return student_sample(all_df, all_p, value);
}

// Operands of a quantile: p, shape parameters, loc, scale.
struct Quantile {
  Converted c;
  Quantile(const char* op, std::initializer_list<const Operand*> operands) : c(op, operands) {
    broadcast_all(op, c.x);
    for (std::size_t k = 1; k + 2 < c.x.size(); ++k) c.x[k] = positive_or_nan(c.x[k]);
  }
  Tensor finish(const Tensor& standard) const {
    const std::size_t n = c.x.size();
    return cast_to(c.x[n - 2] + positive_or_nan(c.x[n - 1]) * standard, c.result);
  }
};

}  // namespace

}  // namespace ops

// clang-format off
#define REEL_TAIL(distribution, kind, parameters, arguments, tail, ...) \
  Tensor distribution##_##kind parameters { return ops::tail(#distribution "_" #kind, ops::Tail::kind, REEL_LIST arguments __VA_ARGS__); }
#define REEL_TAILS(distribution, parameters, arguments, ...) \
  REEL_TAIL(distribution, cdf, parameters, arguments, __VA_ARGS__) REEL_TAIL(distribution, sf, parameters, arguments, __VA_ARGS__) \
  REEL_TAIL(distribution, logcdf, parameters, arguments, __VA_ARGS__) REEL_TAIL(distribution, logsf, parameters, arguments, __VA_ARGS__)
#define REEL_LIST(...) __VA_ARGS__
REEL_TAILS(gamma, (const Operand& x, const Operand& a, const Operand& loc, const Operand& scale), (x, a, loc, scale), gamma_tail, , 1)
REEL_TAILS(chi2, (const Operand& x, const Operand& df, const Operand& loc, const Operand& scale), (x, df, loc, scale), gamma_tail, , 0.5)
REEL_TAILS(beta, (const Operand& x, const Operand& a, const Operand& b, const Operand& loc, const Operand& scale), (x, a, b, loc, scale), beta_tail)
REEL_TAILS(t, (const Operand& x, const Operand& df, const Operand& loc, const Operand& scale), (x, df, loc, scale), t_tail)
// clang-format on

Tensor gamma_ppf(const Operand& p, const Operand& a, const Operand& loc, const Operand& scale) {
  const tape::OpScope scope(p);
  const ops::Quantile q("gamma_ppf", {&p, &a, &loc, &scale});
  return q.finish(gammaincinv(q.c.x[1], q.c.x[0]));
}

Tensor chi2_ppf(const Operand& p, const Operand& df, const Operand& loc, const Operand& scale) {
  const tape::OpScope scope(p);
  const ops::Quantile q("chi2_ppf", {&p, &df, &loc, &scale});
  return q.finish(2 * gammaincinv(0.5 * q.c.x[1], q.c.x[0]));
}

Tensor gamma_isf(const Operand& p, const Operand& a, const Operand& loc, const Operand& scale) {
  const tape::OpScope scope(p);
  const ops::Quantile q("gamma_isf", {&p, &a, &loc, &scale});
  return q.finish(gammainccinv(q.c.x[1], q.c.x[0]));
}

Tensor chi2_isf(const Operand& p, const Operand& df, const Operand& loc, const Operand& scale) {
  const tape::OpScope scope(p);
  const ops::Quantile q("chi2_isf", {&p, &df, &loc, &scale});
  return q.finish(2 * gammainccinv(0.5 * q.c.x[1], q.c.x[0]));
}

Tensor beta_ppf(const Operand& p, const Operand& a, const Operand& b, const Operand& loc, const Operand& scale) {
  const tape::OpScope scope(p);
  const ops::Quantile q("beta_ppf", {&p, &a, &b, &loc, &scale});
  return q.finish(betaincinv(q.c.x[1], q.c.x[2], q.c.x[0]));
}

Tensor beta_isf(const Operand& p, const Operand& a, const Operand& b, const Operand& loc, const Operand& scale) {
  const tape::OpScope scope(p);
  const ops::Quantile q("beta_isf", {&p, &a, &b, &loc, &scale});
  return q.finish(betainccinv(q.c.x[1], q.c.x[2], q.c.x[0]));
}

Tensor t_ppf(const Operand& p, const Operand& df, const Operand& loc, const Operand& scale) {
  const tape::OpScope scope(p);
  const ops::Quantile q("t_ppf", {&p, &df, &loc, &scale});
  return q.finish(ops::student_quantile(ops::probability_or_nan(q.c.x[0]), q.c.x[1]));
}

Tensor t_isf(const Operand& p, const Operand& df, const Operand& loc, const Operand& scale) {
  const tape::OpScope scope(p);
  const ops::Quantile q("t_isf", {&p, &df, &loc, &scale});
  return q.finish(-ops::student_quantile(ops::probability_or_nan(q.c.x[0]), q.c.x[1]));
}

}  // namespace reel
