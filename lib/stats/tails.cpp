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

// The value, with the implicit derivatives of the primitive.
Tensor student_quantile(const char* op, Function f, const Tensor& p, const Tensor& df) {
  const Shape shape = broadcast_shapes(op, p.shape(), df.shape());
  const Tensor all_p = broadcast_to(p, shape), all_df = broadcast_to(df, shape);
  return student_sample(all_df, all_p, apply_special(op, f, {&all_p, &all_df}), f == Function::t_ilogcdf);
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

// `unit` is the parameter of shape for df or a of 1; it is its own reciprocal of the scale.
Tensor gamma_quantile_of_log(const char* op, Function f, std::initializer_list<const Operand*> operands, double unit) {
  const tape::OpScope scope(**operands.begin());
  const Quantile q(op, operands);
  const Tensor a = q.c.x[1] * unit;
  return q.finish(apply_special(op, f, {&a, &q.c.x[0]}) / unit);
}
Tensor beta_quantile_of_log(const char* op, Function f, std::initializer_list<const Operand*> operands) {
  const tape::OpScope scope(**operands.begin());
  const Quantile q(op, operands);
  return q.finish(apply_special(op, f, {&q.c.x[1], &q.c.x[2], &q.c.x[0]}));
}

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

Tensor gamma_ilogcdf(const Operand& y, const Operand& a, const Operand& loc, const Operand& scale) {
  return ops::gamma_quantile_of_log("gamma_ilogcdf", ops::Function::log_gammaincinv, {&y, &a, &loc, &scale}, 1);
}
Tensor gamma_ilogsf(const Operand& y, const Operand& a, const Operand& loc, const Operand& scale) {
  return ops::gamma_quantile_of_log("gamma_ilogsf", ops::Function::log_gammainccinv, {&y, &a, &loc, &scale}, 1);
}
Tensor chi2_ilogcdf(const Operand& y, const Operand& df, const Operand& loc, const Operand& scale) {
  return ops::gamma_quantile_of_log("chi2_ilogcdf", ops::Function::log_gammaincinv, {&y, &df, &loc, &scale}, 0.5);
}
Tensor chi2_ilogsf(const Operand& y, const Operand& df, const Operand& loc, const Operand& scale) {
  return ops::gamma_quantile_of_log("chi2_ilogsf", ops::Function::log_gammainccinv, {&y, &df, &loc, &scale}, 0.5);
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

Tensor beta_ilogcdf(const Operand& y, const Operand& a, const Operand& b, const Operand& loc, const Operand& scale) {
  return ops::beta_quantile_of_log("beta_ilogcdf", ops::Function::log_betaincinv, {&y, &a, &b, &loc, &scale});
}
Tensor beta_ilogsf(const Operand& y, const Operand& a, const Operand& b, const Operand& loc, const Operand& scale) {
  return ops::beta_quantile_of_log("beta_ilogsf", ops::Function::log_betainccinv, {&y, &a, &b, &loc, &scale});
}

Tensor t_ppf(const Operand& p, const Operand& df, const Operand& loc, const Operand& scale) {
  const tape::OpScope scope(p);
  const ops::Quantile q("t_ppf", {&p, &df, &loc, &scale});
  return q.finish(ops::student_quantile("t_ppf", ops::Function::t_ppf, q.c.x[0], q.c.x[1]));
}

Tensor t_isf(const Operand& p, const Operand& df, const Operand& loc, const Operand& scale) {
  const tape::OpScope scope(p);
  const ops::Quantile q("t_isf", {&p, &df, &loc, &scale});
  return q.finish(-ops::student_quantile("t_isf", ops::Function::t_ppf, q.c.x[0], q.c.x[1]));
}

Tensor t_ilogcdf(const Operand& y, const Operand& df, const Operand& loc, const Operand& scale) {
  const tape::OpScope scope(y);
  const ops::Quantile q("t_ilogcdf", {&y, &df, &loc, &scale});
  return q.finish(ops::student_quantile("t_ilogcdf", ops::Function::t_ilogcdf, q.c.x[0], q.c.x[1]));
}

Tensor t_ilogsf(const Operand& y, const Operand& df, const Operand& loc, const Operand& scale) {
  const tape::OpScope scope(y);
  const ops::Quantile q("t_ilogsf", {&y, &df, &loc, &scale});
  return q.finish(-ops::student_quantile("t_ilogsf", ops::Function::t_ilogcdf, q.c.x[0], q.c.x[1]));
}

}  // namespace reel
