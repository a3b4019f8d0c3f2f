// Distribution functions and quantiles of <reel/stats/tails.hpp>, by incomplete gamma and beta functions. An x outside
// the support is replaced by a number inside, and the result by a constant.
#include <reel/ops/pointwise.hpp>
#include <reel/special.hpp>
#include <reel/stats/densities.hpp>
#include <reel/stats/tails.hpp>

#include "ops/probability/converted.hpp"
#include "tape/observe/observe.hpp"

namespace reel {

namespace ops {

namespace {

enum class Side { lower, upper };

Tensor or_nan(const Tensor& valid, const Tensor& x) { return where(valid, x, invalid); }
Tensor positive(const Tensor& x) { return or_nan(greater(x, 0), x); }
Tensor fraction(const Tensor& x) { return or_nan(logical_and(greater_equal(x, 0), less_equal(x, 1)), x); }

// The value, or `low` or `high` if x is outside the support on that side. NaN values stay NaN.
Tensor beside(const Tensor& below, double low, const Tensor& above, double high, const Tensor& inside) {
  return where(isnan(inside), inside, where(below, low, where(above, high, inside)));
}

// Operands of a continuous distribution: x, shape parameters, loc, scale.
struct Placed {
  Converted c;
  Tensor z, below, above;
  Placed(const char* op, std::initializer_list<const Operand*> operands, double low, double high) : c(op, operands) {
    broadcast_all(op, c.x);
    const std::size_t n = c.x.size();
    for (std::size_t k = 1; k + 2 < n; ++k) c.x[k] = positive(c.x[k]);
    const Tensor d = c.x[0] - c.x[n - 2], scale = positive(c.x[n - 1]), raw = d / scale;
    below = high == unlimited && low == -unlimited ? less_equal(raw, low) : less(raw, low);
    above = high == unlimited ? greater_equal(raw, high) : greater(raw, high);
    z = where(logical_or(below, above), 0.5 * scale, d) / scale;
  }
  Tensor finish(Side side, const Tensor& inside) const {
    return cast_to(beside(below, side == Side::lower ? 0 : 1, above, side == Side::lower ? 1 : 0, inside), c.result);
  }
};

Tensor gamma_tail(const char* op, Side side, const Operand& x, const Operand& a, const Operand& loc,
                  const Operand& scale, double unit) {
  const tape::OpScope scope(x);
  const Placed p(op, {&x, &a, &loc, &scale}, 0, unlimited);
  const Tensor shape = p.c.x[1] * unit, z = p.z * unit;
  return p.finish(side, side == Side::lower ? gammainc(shape, z) : gammaincc(shape, z));
}

Tensor beta_tail(const char* op, Side side, const Operand& x, const Operand& a, const Operand& b, const Operand& loc,
                 const Operand& scale) {
  const tape::OpScope scope(x);
  const Placed p(op, {&x, &a, &b, &loc, &scale}, 0, 1);
  return p.finish(side, side == Side::lower ? betainc(p.c.x[1], p.c.x[2], p.z) : betaincc(p.c.x[1], p.c.x[2], p.z));
}

// The upper tail probability at z >= 0, with r = z / sqrt(df):
// - near 0 by four terms of the density's series, since z^2 has derivative 0 at 0. With s = z^2 (df + 1) / df the next
//   term is below s^4 / 30.
// - up to r = 1 by the complement of betainc, which does not cancel there.
// - above by the tail, whose first term is exact to rounding from r = 1e8 on.
Tensor t_beyond(const Tensor& z, const Tensor& df) {
  const Tensor r = z / sqrt(df), near_0 = less(z * sqrt(1 + 1 / df), 0.01), middle = less(r, 1), far = greater(r, 1e8);
  const Tensor half = 0.5 * df;
  const Tensor inner = where(logical_and(middle, logical_not(near_0)), r, 0.5);
  const Tensor outer = where(logical_or(middle, far), 2, r);
  const Tensor in_middle = 0.5 * betaincc(0.5, half, square(inner) / (1 + square(inner)));
  const Tensor in_tail = 0.5 * betainc(half, 0.5, 1 / (1 + square(outer)));
  const Tensor last = exp(-df * log(where(far, r, 1)) - log(df) - betaln(half, 0.5));
  const Tensor close = where(near_0, z, 0), t = square(close) / df;
  const Tensor series = 1 - (df + 1) * t * (1. / 6 - (df + 3) * t * (1. / 40 - (df + 5) * t * (1. / 336)));
  const Tensor start = 0.5 - close * exp(t_logpdf(0, df)) * series;
  return where(near_0, start, where(middle, in_middle, where(far, last, in_tail)));
}

Tensor t_tail(const char* op, Side side, const Operand& x, const Operand& df, const Operand& loc,
              const Operand& scale) {
  const tape::OpScope scope(x);
  const Placed p(op, {&x, &df, &loc, &scale}, -unlimited, unlimited);
  const Tensor towards = side == Side::lower ? -p.z : p.z, small = greater_equal(towards, 0);
  const Tensor beyond = t_beyond(where(small, towards, -towards), p.c.x[1]);
  return p.finish(side, where(small, beyond, 1 - beyond));
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
  // `above`: where x is at least the largest number of the support.
  Tensor finish(Side side, const Tensor& above, const Tensor& inside) const {
    const Tensor value = beside(below, side == Side::lower ? 0 : 1, logical_or(above, equal(c.x[0], unlimited)),
                                side == Side::lower ? 1 : 0, inside);
    return cast_to(where(isnan(c.x[0]), invalid, value), c.result);
  }
  Tensor finish(Side side, const Tensor& inside) const { return finish(side, equal(c.x[0], unlimited), inside); }
};

Tensor poisson_tail(const char* op, Side side, const Operand& x, const Operand& mu) {
  const tape::OpScope scope(x);
  const Numbers p(op, {&x, &mu}, 0);
  const Tensor rate = or_nan(greater_equal(p.c.x[1], 0), p.c.x[1]);
  return p.finish(side, side == Side::lower ? gammaincc(p.k + 1, rate) : gammainc(p.k + 1, rate));
}

Tensor binom_tail(const char* op, Side side, const Operand& x, const Operand& n, const Operand& p) {
  const tape::OpScope scope(x);
  const Numbers numbers(op, {&x, &n, &p}, 0);
  const Tensor& given = numbers.c.x[1];
  const Tensor count =
      or_nan(logical_and(logical_and(equal(given, round(given)), greater_equal(given, 0)), isfinite(given)),
             stop_gradient(round(given)));
  const Tensor chance = fraction(numbers.c.x[2]), above = greater_equal(numbers.k, count);
  const Tensor a = where(above, 1, numbers.k + 1), b = where(above, 1, count - numbers.k);
  return numbers.finish(side, above, side == Side::lower ? betaincc(a, b, chance) : betainc(a, b, chance));
}

Tensor nbinom_tail(const char* op, Side side, const Operand& x, const Operand& n, const Operand& p) {
  const tape::OpScope scope(x);
  const Numbers numbers(op, {&x, &n, &p}, 0);
  const Tensor chance = or_nan(greater(numbers.c.x[2], 0), fraction(numbers.c.x[2])), count = positive(numbers.c.x[1]);
  return numbers.finish(
      side, side == Side::lower ? betainc(count, numbers.k + 1, chance) : betaincc(count, numbers.k + 1, chance));
}

Tensor bernoulli_tail(const char* op, Side side, const Operand& x, const Operand& p) {
  const tape::OpScope scope(x);
  const Numbers numbers(op, {&x, &p}, 0);
  const Tensor chance = fraction(numbers.c.x[1]) + 0 * numbers.k;
  return numbers.finish(side, greater_equal(numbers.k, 1), side == Side::lower ? 1 - chance : chance);
}

Tensor geom_tail(const char* op, Side side, const Operand& x, const Operand& p) {
  const tape::OpScope scope(x);
  const Numbers numbers(op, {&x, &p}, 1);
  const Tensor chance = or_nan(greater(numbers.c.x[1], 0), fraction(numbers.c.x[1]));
  const Tensor logarithm = xlog1py(numbers.k, -chance);
  return numbers.finish(side, side == Side::lower ? -expm1(logarithm) : exp(logarithm));
}

// Operands of a quantile: p, shape parameters, loc, scale.
struct Quantile {
  Converted c;
  Quantile(const char* op, std::initializer_list<const Operand*> operands) : c(op, operands) {
    broadcast_all(op, c.x);
    for (std::size_t k = 1; k + 2 < c.x.size(); ++k) c.x[k] = positive(c.x[k]);
  }
  Tensor finish(const Tensor& standard) const {
    const std::size_t n = c.x.size();
    return cast_to(c.x[n - 2] + positive(c.x[n - 1]) * standard, c.result);
  }
};

}  // namespace

}  // namespace ops

// clang-format off
#define REEL_TAILS(law, parameters, arguments, tail, ...)                                                            \
  Tensor law##_cdf parameters { return ops::tail(#law "_cdf", ops::Side::lower, REEL_LIST arguments __VA_ARGS__); }         \
  Tensor law##_sf parameters { return ops::tail(#law "_sf", ops::Side::upper, REEL_LIST arguments __VA_ARGS__); }
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

Tensor beta_ppf(const Operand& p, const Operand& a, const Operand& b, const Operand& loc, const Operand& scale) {
  const tape::OpScope scope(p);
  const ops::Quantile q("beta_ppf", {&p, &a, &b, &loc, &scale});
  return q.finish(betaincinv(q.c.x[1], q.c.x[2], q.c.x[0]));
}

}  // namespace reel
