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
#include "tape/observe/observe.hpp"

namespace reel {

namespace ops {

namespace {

using std::numbers::ln2;
using Function = loops::SpecialFunction;

Tensor valid_or_nan(const Tensor& valid, const Tensor& x) { return where(valid, x, not_a_number); }
Tensor positive_or_nan(const Tensor& x) { return valid_or_nan(greater(x, 0), x); }
Tensor probability_or_nan(const Tensor& x) {
  return valid_or_nan(logical_and(greater_equal(x, 0), less_equal(x, 1)), x);
}

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

Tensor gamma_of(const char* op, Tail t, const Tensor& a, const Tensor& x) {
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
Tensor beta_of(const char* op, Tail t, const Tensor& a, const Tensor& b, const Tensor& x) {
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

Tensor gamma_tail(const char* op, Tail t, const Operand& x, const Operand& a, const Operand& loc, const Operand& scale,
                  double unit) {
  const tape::OpScope scope(x);
  const Placed p(op, {&x, &a, &loc, &scale}, 0, infinity);
  return p.finish(t, gamma_of(op, t, p.c.x[1] * unit, p.z * unit));
}

Tensor beta_tail(const char* op, Tail t, const Operand& x, const Operand& a, const Operand& b, const Operand& loc,
                 const Operand& scale) {
  const tape::OpScope scope(x);
  const Placed p(op, {&x, &a, &b, &loc, &scale}, 0, 1);
  return p.finish(t, beta_of(op, t, p.c.x[1], p.c.x[2], p.z));
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
      beta_of(op, logarithm ? Tail::logsf : Tail::sf, root, half, square(inner) / (1 + square(inner)));
  const Tensor in_tail = beta_of(op, logarithm ? Tail::logcdf : Tail::cdf, half, root, 1 / (1 + square(outer)));
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

// Operands of a discrete distribution: x, parameters. Its support begins at `low`.
struct Numbers {
  Converted c;
  Tensor k, below;
  Numbers(const char* op, std::initializer_list<const Operand*> operands, double low) : c(op, operands) {
    broadcast_all(op, c.x);
    below = less(c.x[0], low);
    k = stop_gradient(floor(where(logical_or(below, isinf(c.x[0])), low, c.x[0])));
  }
  // `above` is where x is the highest number or more.
  Tensor finish(Tail t, const Tensor& above, const Tensor& inside) const {
    const Tensor value = beside(below, at_bottom(t), logical_or(above, equal(c.x[0], infinity)), at_top(t), inside);
    return cast_to(where(isnan(c.x[0]), not_a_number, value), c.result);
  }
  Tensor finish(Tail t, const Tensor& inside) const { return finish(t, equal(c.x[0], infinity), inside); }
};

Tensor poisson_tail(const char* op, Tail t, const Operand& x, const Operand& mu) {
  const tape::OpScope scope(x);
  const Numbers p(op, {&x, &mu}, 0);
  return p.finish(t, gamma_of(op, opposite(t), p.k + 1, valid_or_nan(greater_equal(p.c.x[1], 0), p.c.x[1])));
}

Tensor binom_tail(const char* op, Tail t, const Operand& x, const Operand& n, const Operand& p) {
  const tape::OpScope scope(x);
  const Numbers numbers(op, {&x, &n, &p}, 0);
  const Tensor& trials = numbers.c.x[1];
  const Tensor count =
      valid_or_nan(logical_and(logical_and(equal(trials, round(trials)), greater_equal(trials, 0)), isfinite(trials)),
                   stop_gradient(round(trials)));
  const Tensor chance = probability_or_nan(numbers.c.x[2]), above = greater_equal(numbers.k, count);
  const Tensor a = where(above, 1, numbers.k + 1), b = where(above, 1, count - numbers.k);
  return numbers.finish(t, above, beta_of(op, opposite(t), a, b, chance));
}

Tensor nbinom_tail(const char* op, Tail t, const Operand& x, const Operand& n, const Operand& p) {
  const tape::OpScope scope(x);
  const Numbers numbers(op, {&x, &n, &p}, 0);
  const Tensor chance = valid_or_nan(greater(numbers.c.x[2], 0), probability_or_nan(numbers.c.x[2])),
               count = positive_or_nan(numbers.c.x[1]);
  return numbers.finish(t, beta_of(op, t, count, numbers.k + 1, chance));
}

Tensor bernoulli_tail(const char* op, Tail t, const Operand& x, const Operand& p) {
  const tape::OpScope scope(x);
  const Numbers numbers(op, {&x, &p}, 0);
  const Tensor probability = probability_or_nan(numbers.c.x[1]) + 0 * numbers.k, above = greater_equal(numbers.k, 1);
  // Outside, p = 0 or 1 would have an infinite slope.
  const Tensor chance = where(logical_and(logical_or(numbers.below, above), isfinite(probability)), 0.5, probability);
  const Tensor inside = t == Tail::cdf      ? 1 - chance
                        : t == Tail::sf     ? chance
                        : t == Tail::logcdf ? log1p(-chance)
                                            : log(chance);
  return numbers.finish(t, above, inside);
}

Tensor geom_tail(const char* op, Tail t, const Operand& x, const Operand& p) {
  const tape::OpScope scope(x);
  const Numbers numbers(op, {&x, &p}, 1);
  const Tensor chance = valid_or_nan(greater(numbers.c.x[1], 0), probability_or_nan(numbers.c.x[1]));
  // The powers of 1 - p have derivatives at p = 1, their logarithms have not.
  const Tensor certain = equal(chance, 1), rest = power(1 - chance, numbers.k);
  const Tensor replaced = t == Tail::logsf ? logical_and(certain, numbers.below) : certain;
  const Tensor logarithm = xlog1py(numbers.k, -where(replaced, 0.5, chance));
  const Tensor inside = t == Tail::cdf      ? where(certain, 1 - rest, -expm1(logarithm))
                        : t == Tail::sf     ? where(certain, rest, exp(logarithm))
                        : t == Tail::logcdf ? where(certain, log1p(-where(certain, rest, 0.5)), log1mexp(-logarithm))
                                            : logarithm;
  return numbers.finish(t, inside);
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

// For a dtype narrower than float64 the least number that is rounded to q: half a unit in the last place below it, of a
// power of 2 a quarter.
Tensor lowest_of(const Tensor& q, DType d) {
  const int bits = d == DType::float32 ? 24 : d == DType::float16 ? 11 : d == DType::bfloat16 ? 8 : 0;
  if (bits == 0) return q;
  const Frexp parts = reel::frexp(q);
  const Tensor below =
      reel::ldexp(where(equal(parts.mantissa, 0.5), full({}, 0.25, q.dtype()), 0.5), parts.exponent - bits);
  return where(logical_or(equal(q, 0), equal(q, 1)), q, q - below);
}
// The greatest number that is rounded to q: half a unit in the last place above it.
Tensor highest_of(const Tensor& q, DType d) {
  const int bits = d == DType::float32 ? 24 : d == DType::float16 ? 11 : d == DType::bfloat16 ? 8 : 0;
  if (bits == 0) return q;
  const Tensor above = reel::ldexp(full({}, 0.5, q.dtype()), reel::frexp(q).exponent - bits);
  return where(logical_or(equal(q, 0), equal(q, 1)), q, q + above);
}
Tensor half_lowest_of(const Tensor& q, DType d) { return is_half(d) ? lowest_of(q, d) : q; }
Tensor half_highest_of(const Tensor& q, DType d) { return is_half(d) ? highest_of(q, d) : q; }

// The quantile of a distribution of whole numbers, computed in float64.
Tensor number_quantile(const char* op, Function f, std::initializer_list<const Operand*> operands) {
  const bool upper = f >= Function::poisson_isf;
  const tape::OpScope scope(**operands.begin());
  const Converted c(op, operands);
  Tensor x[3];
  for (std::size_t k = 0; k < c.x.size(); ++k) x[k] = cast_to(stop_gradient(c.x[k]), DType::float64);
  x[0] = upper ? highest_of(x[0], c.result) : lowest_of(x[0], c.result);
  return cast_to(c.x.size() == 2 ? apply_special(op, f, {&x[0], &x[1]}) : apply_special(op, f, {&x[0], &x[1], &x[2]}),
                 c.result);
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
REEL_TAILS(poisson, (const Operand& x, const Operand& mu), (x, mu), poisson_tail)
REEL_TAILS(binom, (const Operand& x, const Operand& n, const Operand& p), (x, n, p), binom_tail)
REEL_TAILS(nbinom, (const Operand& x, const Operand& n, const Operand& p), (x, n, p), nbinom_tail)
REEL_TAILS(bernoulli, (const Operand& x, const Operand& p), (x, p), bernoulli_tail)
REEL_TAILS(geom, (const Operand& x, const Operand& p), (x, p), geom_tail)
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

Tensor poisson_ppf(const Operand& q, const Operand& mu) {
  return ops::number_quantile("poisson_ppf", ops::Function::poisson_ppf, {&q, &mu});
}

Tensor binom_ppf(const Operand& q, const Operand& n, const Operand& p) {
  return ops::number_quantile("binom_ppf", ops::Function::binom_ppf, {&q, &n, &p});
}

Tensor nbinom_ppf(const Operand& q, const Operand& n, const Operand& p) {
  return ops::number_quantile("nbinom_ppf", ops::Function::nbinom_ppf, {&q, &n, &p});
}

Tensor poisson_isf(const Operand& q, const Operand& mu) {
  return ops::number_quantile("poisson_isf", ops::Function::poisson_isf, {&q, &mu});
}

Tensor binom_isf(const Operand& q, const Operand& n, const Operand& p) {
  return ops::number_quantile("binom_isf", ops::Function::binom_isf, {&q, &n, &p});
}

Tensor nbinom_isf(const Operand& q, const Operand& n, const Operand& p) {
  return ops::number_quantile("nbinom_isf", ops::Function::nbinom_isf, {&q, &n, &p});
}

Tensor bernoulli_ppf(const Operand& q, const Operand& p) {
  const tape::OpScope scope(q);
  const ops::Converted c("bernoulli_ppf", {&q, &p});
  ops::broadcast_all("bernoulli_ppf", c.x);
  const Tensor chance = ops::probability_or_nan(stop_gradient(c.x[1])),
               level = ops::probability_or_nan(stop_gradient(c.x[0]));
  const Tensor one = ops::cast_to(greater(ops::half_lowest_of(level, c.result), 1 - chance), level.dtype());
  return ops::cast_to(where(equal(level, 0), -1, one) + 0 * (level + chance), c.result);
}

Tensor bernoulli_isf(const Operand& q, const Operand& p) {
  const tape::OpScope scope(q);
  const ops::Converted c("bernoulli_isf", {&q, &p});
  ops::broadcast_all("bernoulli_isf", c.x);
  const Tensor chance = ops::probability_or_nan(stop_gradient(c.x[1])),
               level = ops::probability_or_nan(stop_gradient(c.x[0]));
  const Tensor one = ops::cast_to(less(ops::half_highest_of(level, c.result), chance), level.dtype());
  return ops::cast_to(where(equal(level, 1), -1, one) + 0 * (level + chance), c.result);
}

// By the logarithm, which may be one off to rounding.
Tensor geom_ppf(const Operand& q, const Operand& p) {
  const tape::OpScope scope(q);
  const ops::Converted c("geom_ppf", {&q, &p});
  ops::broadcast_all("geom_ppf", c.x);
  const Tensor probability = ops::probability_or_nan(stop_gradient(c.x[1])),
               level = ops::probability_or_nan(stop_gradient(c.x[0]));
  const Tensor chance = ops::valid_or_nan(greater(probability, 0), probability),
               least = ops::half_lowest_of(level, c.result);
  const Tensor certain = equal(chance, 1), rest = where(certain, 0.5, chance);
  const auto cdf = [&](const Tensor& k) { return -expm1(xlog1py(k, -rest)); };
  const Tensor k = maximum(ceil(log1p(-least) / log1p(-rest)), 1);
  const Tensor near =
      where(logical_and(greater(k, 1), greater_equal(cdf(k - 1), least)), k - 1, where(less(cdf(k), least), k + 1, k));
  return ops::cast_to(where(equal(level, 0), 0, where(certain, 1, near)) + 0 * (level + chance), c.result);
}

Tensor geom_isf(const Operand& q, const Operand& p) {
  const tape::OpScope scope(q);
  const ops::Converted c("geom_isf", {&q, &p});
  ops::broadcast_all("geom_isf", c.x);
  const Tensor probability = ops::probability_or_nan(stop_gradient(c.x[1])),
               level = ops::probability_or_nan(stop_gradient(c.x[0]));
  const Tensor chance = ops::valid_or_nan(greater(probability, 0), probability),
               most = ops::half_highest_of(level, c.result);
  const Tensor certain = equal(chance, 1), rest = where(certain, 0.5, chance);
  const auto sf = [&](const Tensor& k) { return exp(xlog1py(k, -rest)); };
  const Tensor k = maximum(ceil(log(most) / log1p(-rest)), 1);
  const Tensor near =
      where(logical_and(greater(k, 1), less_equal(sf(k - 1), most)), k - 1, where(greater(sf(k), most), k + 1, k));
  return ops::cast_to(where(equal(level, 1), 0, where(certain, 1, near)) + 0 * (level + chance), c.result);
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
