// Von Mises's distribution of an angle.
#include <numbers>
#include <reel/special.hpp>
#include <reel/stats/vonmises.hpp>

#include "ops/elementwise/composed.hpp"
#include "special/functions.hpp"
#include "stats/constants.hpp"
#include "stats/samplers.hpp"
#include "stats/tails.hpp"
#include "tape/observe/observe.hpp"

namespace reel {

namespace ops {

namespace {

using X = const Lane*;
using std::numbers::pi;

// log(exp(-kappa) i0(kappa)) for kappa >= expansion_min, by DLMF 10.40.1: terms from the 13th on are below 3e-18.
constexpr double expansion_min = 50;
constexpr int expansion_terms = 12;
Lane log_i0e_far(const Lane& kappa) {
  const Lane k = where(kappa >= expansion_min, kappa, expansion_min), inverse = 1 / k;
  Lane sum = 0 * k + 1;
  for (int n = expansion_terms; n >= 1; --n) sum = 1 + sum * inverse * ((2. * n - 1) * (2. * n - 1) / (8. * n));
  return log(sum) - 0.5 * log(k) - log_root_2pi;
}

// 1 - i1(kappa) / i0(kappa) for kappa >= expansion_min: minus the derivative of the logarithm above.
Lane ratio_rest_far(const Lane& kappa) {
  const Lane k = where(kappa >= expansion_min, kappa, expansion_min), inverse = 1 / k;
  Lane sum = 0 * k + 1, slope = 0 * k;  // by log(inverse)
  for (int n = expansion_terms; n >= 1; --n) {
    const Lane factor = inverse * ((2. * n - 1) * (2. * n - 1) / (8. * n));
    slope = factor * (slope + sum);
    sum = 1 + sum * factor;
  }
  return inverse * (0.5 + slope / sum);
}

// -2 kappa sin(d / 2)^2, d = x - loc; infinite x are replaced.
Lane vonmises_exponent(X x) {
  const Lane s = sin(0.5 * (where(isinf(x[0]), 0, x[0]) - x[1]));
  return -2 * x[2] * s * s;
}

enum VonmisesFunction : std::size_t { vonmises_power, log_i0e_above, ratio_rest_above };
// In the order of the enumerators.
constexpr Composed vonmises_functions[] = {
    {"vonmises_exponent", vonmises_exponent},
    {"log_i0e", [](X x) { return log_i0e_far(x[0]); }},
    {"vonmises_kl", [](X x) { return ratio_rest_far(x[0]); }},
};
constinit const ComposedOps vonmises_ops(vonmises_functions);

// log(i0(kappa)) - kappa: near 0 without the kink of i0e.
Tensor log_i0e(const Tensor& kappa) {
  const Tensor low = less(kappa, 1), high = greater_equal(kappa, expansion_min);
  const Tensor in_low = where(low, kappa, 0), in_middle = where(logical_or(low, high), 1, kappa);
  const Operand all(kappa);
  return where(low, log(i0(in_low)) - in_low,
               where(high, vonmises_ops.call(log_i0e_above, {&all}), log(i0e(in_middle))));
}

// 1 - i1(kappa) / i0(kappa).
Tensor ratio_rest(const Tensor& kappa) {
  const Tensor high = greater_equal(kappa, expansion_min), low = where(high, 1, kappa);
  const Operand all(kappa);
  return where(high, vonmises_ops.call(ratio_rest_above, {&all}), 1 - i1(low) / i0(low));
}
Tensor valid_kappa(const Tensor& kappa) { return where(greater_equal(kappa, 0), kappa, not_a_number); }

Tensor vonmises_density(const char* op, bool logarithm, const Operand& x, const Operand& kappa, const Operand& loc) {
  const tape::OpScope scope(x);
  const Converted c(op, {&x, &loc, &kappa});
  broadcast_all(op, c.x);
  const Tensor k = valid_kappa(c.x[2]);
  const Operand at(c.x[0]), origin(c.x[1]), concentration(k);
  const Tensor power = vonmises_ops.call(vonmises_power, {&at, &origin, &concentration});
  const Tensor value = minus_infinity_outside(power - log_i0e(k) - log_2pi, isinf(c.x[0]));
  return cast_to(logarithm ? value : exp(value), c.result);
}

// The upper tail is the lower one at the mirrored angle.
Tensor vonmises_tail(const char* op, Tail tail, const Operand& x, const Operand& kappa, const Operand& loc) {
  const tape::OpScope scope(x);
  const Converted c(op, {&x, &kappa, &loc});
  broadcast_all(op, c.x);
  const Tensor d = c.x[0] - c.x[2], below = less(d, -pi), above = greater(d, pi);
  const Tensor z = where(logical_or(below, above), 0, d), angle = is_lower(tail) ? z : -z, k = valid_kappa(c.x[1]);
  const auto f = is_log(tail) ? loops::SpecialFunction::vonmises_logcdf : loops::SpecialFunction::vonmises_cdf;
  const Tensor inside = apply_special(op, f, {&k, &angle});
  return cast_to(beside(below, at_bottom(tail), above, at_top(tail), inside), c.result);
}

// By the probability beyond the angle, of which there is as much beyond the opposite one.
Tensor vonmises_quantile(const char* op, Tail tail, const Operand& p, const Operand& kappa, const Operand& loc) {
  const tape::OpScope scope(p);
  const Converted c(op, {&p, &kappa, &loc});
  broadcast_all(op, c.x);
  const auto f = is_log(tail) ? loops::SpecialFunction::vonmises_ilogcdf : loops::SpecialFunction::vonmises_ppf;
  const Tensor angle = apply_special(op, f, {&c.x[1], &c.x[0]});
  return cast_to(is_lower(tail) ? c.x[2] + angle : c.x[2] - angle, c.result);
}

}  // namespace

}  // namespace ops
}  // namespace reel

REEL_TAILS(vonmises, (const Operand& x, const Operand& kappa, const Operand& loc), vonmises_tail, vonmises_quantile, x,
           kappa, loc)

namespace reel {

Tensor vonmises_logpdf(const Operand& x, const Operand& kappa, const Operand& loc) {
  return ops::vonmises_density("vonmises_logpdf", true, x, kappa, loc);
}
Tensor vonmises_pdf(const Operand& x, const Operand& kappa, const Operand& loc) {
  return ops::vonmises_density("vonmises_pdf", false, x, kappa, loc);
}

Tensor vonmises_kl(const Operand& kappa1, const Operand& loc1, const Operand& kappa2, const Operand& loc2) {
  const tape::OpScope scope(kappa1);
  const ops::Converted c("vonmises_kl", {&kappa1, &loc1, &kappa2, &loc2});
  ops::broadcast_all("vonmises_kl", c.x);
  const Tensor k1 = ops::valid_kappa(c.x[0]), k2 = ops::valid_kappa(c.x[2]), rest = ops::ratio_rest(k1);
  const Tensor of_kappa = ops::log_i0e(k2) - ops::log_i0e(k1) + (k2 - k1) * rest;
  return ops::cast_to(of_kappa + 2 * (1 - rest) * k2 * square(sin(0.5 * (c.x[1] - c.x[3]))), c.result);
}

Tensor vonmises_rvs(Generator& generator, const Shape& shape, const Operand& kappa, const Operand& loc, DType dtype) {
  constexpr const char* op = "vonmises_rvs";
  const tape::OpScope scope(kappa);
  const DType drawn = ops::check_samples(op, shape, dtype, {&kappa, &loc});
  return ops::cast_to(loc + ops::variates(op, loops::Variate::von_mises, generator, shape, drawn, {&kappa}), dtype);
}

}  // namespace reel
