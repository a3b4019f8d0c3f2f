// The truncated normal distribution, by elementwise functions of lanes, of x, a, b, loc and scale.
#include <reel/stats/truncnorm.hpp>

#include "ops/elementwise/composed.hpp"
#include "stats/constants.hpp"
#include "stats/norm.hpp"
#include "stats/operands.hpp"
#include "stats/samplers.hpp"
#include "tape/observe/observe.hpp"

namespace reel {

namespace ops {

namespace {

using X = const Lane*;

// A part of the interval [a, b], both replaced by finite numbers.
struct Part {
  Lane low, high, a, b;
};
// Of a part of an interval beyond 1, mirrored to below -1; otherwise of (-5, -4) of [-6, -3].
struct FarPart {
  LaneMask far;
  Lane above, inside, whole;  // log of Phi(b) / Phi(high), Phi(high) / Phi(low), Phi(b) / Phi(a)
  explicit FarPart(const Part& p) : far(p.a >= 1 || p.b <= -1) {
    const LaneMask flipped = p.a >= 1;
    const auto pick = [&](const Lane& x, const Lane& mirrored, double otherwise) {
      return where(far, where(flipped, -mirrored, x), otherwise);
    };
    const Lane a = pick(p.a, p.b, -6), low = pick(p.low, p.high, -5), high = pick(p.high, p.low, -4),
               b = pick(p.b, p.a, -3);
    above = log_quotient(high, b);
    inside = log_quotient(low, high);
    whole = log_quotient(a, b);
  }
  // log of Phi(to) / Phi(from), from <= to <= 0: without the large part that both logarithms have in common.
  static Lane log_quotient(const Lane& from, const Lane& to) {
    return 0.5 * (from - to) * (from + to) + log(erfcx(-root_of_half * to) / erfcx(-root_of_half * from));
  }
};

// The normal probability of [a, b], or its logarithm: by erf if a and b are near 0 or on both sides of it, otherwise in
// the nearer tail by the difference of log probabilities.
Lane probability_between(bool logarithm, const Lane& a, const Lane& b) {
  const LaneMask near = (a <= 0 && b >= 0) || (abs(a) < 1 && abs(b) < 1), flipped = a > 0;
  const Lane low = where(near, -2, where(flipped, -b, a)), high = where(near, -1, where(flipped, -a, b));
  const Lane top = log_ndtr(high), drop = log_ndtr(low) - top;
  const Lane tail = logarithm ? top + log1mexp(-drop) : -exp(top) * expm1(drop);
  const Lane from = where(near, a, -0.5) * root_of_half, to = where(near, b, 0.5) * root_of_half;
  const Lane middle = 0.5 * (erf(to) - erf(from));
  return where(near, logarithm ? log(middle) : middle, tail);
}

// An end of a truncated normal distribution; if infinite, a finite one beyond which the probability is 0, also in
// float32, and whose square is finite there.
Lane finite_end(const Lane& end) {
  constexpr double finite = 1e10;
  return where(isinf(end), where(end > 0, finite, -finite), end);
}

// The same of a part that is not far; otherwise of [-1, 1] in [-2, 2].
struct NearPart {
  Lane of_part, of_whole;
  NearPart(bool logarithm, const LaneMask& far, const Part& p)
      : of_part(probability_between(logarithm, where(far, -1, p.low), where(far, 1, p.high))),
        of_whole(probability_between(logarithm, where(far, -2, p.a), where(far, 2, p.b))) {}
};
// The share of a part in the probability of the interval.
Lane share_of(const Part& p) {
  const FarPart f(p);
  const NearPart n(false, f.far, p);
  return where(f.far, exp(-f.above) * expm1(-f.inside) / expm1(-f.whole), n.of_part / n.of_whole);
}
Lane log_share_of(const Part& p) {
  const FarPart f(p);
  const NearPart n(true, f.far, p);
  return where(f.far, log1mexp(f.inside) - log1mexp(f.whole) - f.above, n.of_part - n.of_whole);
}

Lane valid_scale(X x) { return where(x[4] > 0 && x[1] < x[2], x[4], not_a_number); }

template <bool logarithm>
Lane truncnorm_density(X x) {
  const Lane &a = x[1], &b = x[2], scale = valid_scale(x), d = x[0] - x[3], z = d / scale;
  const LaneMask outside = z < a || z > b || isinf(z);
  const Lane inside = where(outside, 0, d) / scale;
  const Lane value =
      -0.5 * inside * inside - log_root_2pi - probability_between(true, finite_end(a), finite_end(b)) - log(scale);
  const Lane y = where(outside, where(isnan(value), value, -infinity), value);
  return logarithm ? y : exp(y);
}

// Where z is outside it is replaced by the middle.
template <Tail tail>
Lane truncnorm_tail(X x) {
  const Lane a = finite_end(x[1]), b = finite_end(x[2]), scale = valid_scale(x), d = x[0] - x[3], unclamped = d / scale;
  const LaneMask below = unclamped < x[1] || unclamped <= -infinity, above = unclamped > x[2] || unclamped >= infinity;
  const Lane z = where(below || above, 0.5 * (a + b) * scale, d) / scale;
  const Part lower{a, z, a, b}, upper{z, b, a, b};
  const Part &own = is_lower(tail) ? lower : upper, &other = is_lower(tail) ? upper : lower;
  const Lane share = share_of(own);
  const LaneMask small = share < 0.5;
  const Lane rest = where(small, 0, share_of(other));
  const Lane y = where(small, is_log(tail) ? log_share_of(own) : share, is_log(tail) ? log1p(-rest) : 1 - rest);
  const Lane bounded_value = where(below, at_bottom(tail), where(above, at_top(tail), y));
  return where(isnan(unclamped), not_a_number, bounded_value);
}

// log(p): of a tiny p by a power of 2, so that its derivatives and those of the quantile are summed before they
// overflow.
Lane log_of_part(const Lane& p) {
  constexpr double tiny = 1e-15, exponent_min = -1000;  // of 2; that of the least normal number is -1022
  const LaneMask scaled = p < tiny;
  const Lane unit = exp2(maximum(round(log2(where(scaled, p, 1))), exponent_min));
  return log(p / unit) + log(unit);
}
// log of p Phi(b) + rest Phi(a), a < b, of the logarithms of both: that of the larger part, and log1p of the quotient,
// whose derivatives are multiples of it.
Lane log_mean(const Lane& p, const Lane& rest, const Lane& of_a, const Lane& of_b) {
  const Lane log_quotient = of_a - of_b;
  const LaneMask a_is_larger = rest * exp(log_quotient) >= p;
  const Lane a_part = where(a_is_larger, rest, 1), b_part = where(a_is_larger, 1, p);
  const Lane inverse = exp(where(a_is_larger && p > 0, -log_quotient, 0));
  const Lane of_larger_a = of_a + log(a_part) + log1p(p * inverse / a_part);
  const Lane log_p = log_of_part(b_part), quotient = exp(where(a_is_larger, 0, log_quotient) - log_p);
  return where(a_is_larger, of_larger_a, of_b + log_p + log1p(rest * quotient));
}
// x where the logarithms of the normal probabilities of both tails are these; `bottom` and `top` select the ends.
Lane truncnorm_of_tails(X x, const Lane& lower, const Lane& upper, const LaneMask& bottom, const LaneMask& top) {
  const Lane a = finite_end(x[1]), b = finite_end(x[2]);
  const LaneMask in_lower = lower < upper;
  const Lane tail = log_ndtr_inverse(where(in_lower, lower, upper)), z = where(in_lower, tail, -tail);
  const Lane inside = where(z > b, b, where(z < a, a, z));
  return x[3] + valid_scale(x) * where(bottom, x[1], where(top, x[2], inside));
}
// Both tails are sums of positive terms; the smaller one is inverted.
Lane truncnorm_quantile(X x) {
  const Lane p = where(x[0] >= 0 && x[0] <= 1, x[0], not_a_number), a = finite_end(x[1]), b = finite_end(x[2]);
  const Lane lower = log_mean(p, 1 - p, log_ndtr(a), log_ndtr(b)),
             upper = log_mean(1 - p, p, log_ndtr(-b), log_ndtr(-a));
  return truncnorm_of_tails(x, lower, upper, equal(p, 0), equal(p, 1));
}
// The same of the logarithm of p.
Lane truncnorm_quantile_of_log(X x) {
  const LaneMask bottom = equal(x[0], -infinity), top = equal(x[0], 0);
  const Lane l = where(bottom || top, -1, where(x[0] <= 0, x[0], not_a_number)), rest = log1mexp(-l);
  const Lane a = finite_end(x[1]), b = finite_end(x[2]);
  const Lane lower = logaddexp(l + log_ndtr(b), rest + log_ndtr(a)),
             upper = logaddexp(l + log_ndtr(-b), rest + log_ndtr(-a));
  return truncnorm_of_tails(x, lower, upper, bottom, top);
}
// The quantile of the distribution mirrored at 0.
template <Lane (*quantile)(X x)>
Lane mirror_quantile(X x) {
  const Lane mirrored[] = {x[0], -x[2], -x[1], -x[3], x[4]};
  return 0. - quantile(mirrored);
}

enum class TruncnormFunction : std::size_t { logpdf, pdf, cdf, sf, logcdf, logsf, ppf, isf, ilogcdf, ilogsf, rvs };
// In the order of the enumerators.
constexpr Composed truncnorm_functions[] = {
    {"truncnorm_logpdf", truncnorm_density<true>},
    {"truncnorm_pdf", truncnorm_density<false>},
    {"truncnorm_cdf", truncnorm_tail<Tail::cdf>},
    {"truncnorm_sf", truncnorm_tail<Tail::sf>},
    {"truncnorm_logcdf", truncnorm_tail<Tail::logcdf>},
    {"truncnorm_logsf", truncnorm_tail<Tail::logsf>},
    {"truncnorm_ppf", truncnorm_quantile},
    {"truncnorm_isf", mirror_quantile<truncnorm_quantile>},
    {"truncnorm_ilogcdf", truncnorm_quantile_of_log, DType::float64},
    {"truncnorm_ilogsf", mirror_quantile<truncnorm_quantile_of_log>, DType::float64},
    {"truncnorm_rvs", truncnorm_quantile},
};
constinit const ComposedOps truncnorm_ops(truncnorm_functions);
Tensor truncnorm(TruncnormFunction f, const Operand& x, const Operand& a, const Operand& b, const Operand& loc,
                 const Operand& scale) {
  return truncnorm_ops.call(static_cast<std::size_t>(f), {&x, &a, &b, &loc, &scale});
}

}  // namespace

}  // namespace ops

// clang-format off
#define REEL_TRUNCNORM(kind) Tensor truncnorm_##kind(const Operand& x, const Operand& a, const Operand& b, const Operand& loc, const Operand& scale) { return ops::truncnorm(ops::TruncnormFunction::kind, x, a, b, loc, scale); }
REEL_TRUNCNORM(logpdf) REEL_TRUNCNORM(pdf) REEL_TRUNCNORM(cdf) REEL_TRUNCNORM(sf) REEL_TRUNCNORM(logcdf) REEL_TRUNCNORM(logsf) REEL_TRUNCNORM(ppf) REEL_TRUNCNORM(isf)
REEL_TRUNCNORM(ilogcdf) REEL_TRUNCNORM(ilogsf)
#undef REEL_TRUNCNORM
    // clang-format on

    Tensor truncnorm_rvs(Generator& generator, const Shape& shape, const Operand& a, const Operand& b,
                         const Operand& loc, const Operand& scale, DType dtype) {
  const tape::OpScope scope(a);
  const Tensor u = ops::draw_uniform_numbers("truncnorm_rvs", generator, shape, dtype, {&a, &b, &loc, &scale});
  return ops::cast_to(ops::truncnorm(ops::TruncnormFunction::rvs, u, a, b, loc, scale), dtype);
}

}  // namespace reel
