// Densities of <reel/stats/joint.hpp>. Those of vectors use triangular solves and sums; those of angles and of the
// truncated normal distribution are elementwise functions of lanes.
#include <numbers>
#include <reel/ops/index.hpp>
#include <reel/ops/linalg.hpp>
#include <reel/ops/reduce.hpp>
#include <reel/special.hpp>
#include <reel/stats/joint.hpp>

#include "ops/elementwise/composed.hpp"
#include "ops/linalg/linalg.hpp"
#include "ops/probability/converted.hpp"
#include "ops/probability/law.hpp"
#include "tape/observe/observe.hpp"

namespace reel {

namespace ops {

namespace {

using X = const Lane*;

// The value, or -inf if the point is outside the support. NaN values stay NaN.
Tensor cut(const Tensor& value, const Tensor& outside) {
  return where(logical_and(outside, logical_not(isnan(value))), -infinity, value);
}

void require_vectors(const char* op, const Tensor& x, const char* operand, std::int64_t n) {
  if (x.rank() > 0 && x.shape()[-1] == n) return;
  fail<ShapeError>(op, "{} has the shape {}, but its last axis must have {} elements, as the matrices have rows",
                   operand, x.shape(), n);
}

// The square root of the unit roundoff of x's own dtype: the tolerance for sums of probabilities.
double root_of_unit(DType d) {
  return d == DType::float64 ? 0x1p-26 : d == DType::float32 ? 0x1p-12 : d == DType::float16 ? 0x1p-5 : 0x1p-4;
}

// log(exp(-kappa) i0(kappa)) for kappa >= expansion_min, by DLMF 10.40.1: terms from the 13th on are below 3e-18.
constexpr double expansion_min = 50;
constexpr int expansion_terms = 12;
Lane log_i0e_far(const Lane& kappa) {
  const Lane k = where(kappa >= expansion_min, kappa, expansion_min), inverse = 1 / k;
  Lane sum = 0 * k + 1;
  for (int n = expansion_terms; n >= 1; --n) sum = 1 + sum * inverse * ((2. * n - 1) * (2. * n - 1) / (8. * n));
  return log(sum) - 0.5 * log(k) - log_root_2pi;
}

// -2 kappa sin(d / 2)^2, d = x - loc; infinite x are replaced.
Lane vonmises_exponent(X x) {
  const Lane s = sin(0.5 * (where(isinf(x[0]), 0, x[0]) - x[1]));
  return -2 * x[2] * s * s;
}

// log of the normal probability of [a, b]: by erf if a and b are near 0 or on both sides of it, otherwise in the nearer
// tail by the difference of log probabilities.
Lane log_probability_between(const Lane& a, const Lane& b) {
  constexpr double inverse_root_2 = std::numbers::sqrt2 / 2;
  const LaneMask near = (a <= 0 && b >= 0) || (abs(a) < 1 && abs(b) < 1), flipped = a > 0;
  const Lane low = where(near, -2, where(flipped, -b, a)), high = where(near, -1, where(flipped, -a, b));
  const Lane top = log_ndtr(high), tail = top + log1mexp(top - log_ndtr(low));
  const Lane from = where(near, a, -0.5) * inverse_root_2, to = where(near, b, 0.5) * inverse_root_2;
  return where(near, log(0.5 * (erf(to) - erf(from))), tail);
}

Lane truncnorm_of(X x) {
  const Lane &a = x[1], &b = x[2];
  const Lane scale = where(x[4] > 0 && a < b, x[4], not_a_number), d = x[0] - x[3], z = d / scale;
  const LaneMask outside = z < a || z > b || isinf(z);
  const Lane inside = where(outside, 0, d) / scale;
  const Lane value =
      -0.5 * inside * inside - log_root_2pi - log_probability_between(finite_end(a), finite_end(b)) - log(scale);
  return where(outside, where(isnan(value), value, -infinity), value);
}

enum JointFunction : std::size_t { vonmises_power, log_i0e_above, truncnorm_density };
// In the order of the enumerators.
constexpr Composed joint_functions[] = {
    {"vonmises_exponent", vonmises_exponent},
    {"log_i0e", [](X x) { return log_i0e_far(x[0]); }},
    {"truncnorm_logpdf", truncnorm_of},
};
Tensor joint(JointFunction f, std::initializer_list<const Operand*> operands) {
  static const ComposedOps& all = *new ComposedOps(joint_functions);
  return all.call(f, {operands.begin(), operands.size()});
}

// log(i0(kappa)) - kappa: near 0 without the kink of i0e.
Tensor log_i0e(const Tensor& kappa) {
  const Tensor low = less(kappa, 1), high = greater_equal(kappa, expansion_min);
  const Tensor in_low = where(low, kappa, 0), in_middle = where(logical_or(low, high), 1, kappa);
  const Operand all(kappa);
  return where(low, log(i0(in_low)) - in_low, where(high, joint(log_i0e_above, {&all}), log(i0e(in_middle))));
}

}  // namespace

}  // namespace ops

Tensor multivariate_normal_logpdf(const Operand& x, const Operand& mean, const Operand& cholesky_factor) {
  constexpr const char* op = "multivariate_normal_logpdf";
  const tape::OpScope scope(x);
  const ops::Converted c(op, {&x, &mean, &cholesky_factor});
  const Tensor factor = ops::valid_factor(op, ops::square_operand(op, c.x[2], "cholesky_factor"), c.x);
  const std::int64_t n = factor.shape()[-1];
  ops::require_vectors(op, c.x[0], "x", n);
  if (c.x[1].rank() > 0) ops::require_vectors(op, c.x[1], "mean", n);
  const Tensor far = isinf(c.x[0]), d = where(far, 0, c.x[0]) - c.x[1];
  Shape batch = factor.shape();
  batch.pop_back();
  ops::broadcast_shapes(op, batch, d.shape());
  const Tensor y = triangular_solve(factor, expand_dims(d, -1));
  const Tensor value =
      -0.5 * sum(square(y), {-2, -1}) - sum(log(diagonal(factor)), -1) - static_cast<double>(n) * ops::log_root_2pi;
  return ops::cast_to(ops::cut(value, any(far, -1)), c.result);
}

Tensor dirichlet_logpdf(const Operand& x, const Operand& alpha) {
  constexpr const char* op = "dirichlet_logpdf";
  const tape::OpScope scope(x);
  const ops::Converted c(op, {&x, &alpha});
  if (c.x[0].rank() == 0 || c.x[1].rank() == 0 || c.x[0].shape()[-1] != c.x[1].shape()[-1] || c.x[0].shape()[-1] == 0)
    fail<ShapeError>(op, "x and alpha need a last axis of the same number of elements; their shapes are {} and {}",
                     c.x[0].shape(), c.x[1].shape());
  const Shape shape = ops::broadcast_all(op, c.x);
  const Tensor p = broadcast_to(c.x[0], shape),
               a = broadcast_to(where(greater(c.x[1], 0), c.x[1], ops::not_a_number), shape);
  const Tensor off = greater(abs(sum(p, -1) - 1), ops::root_of_unit(c.result));
  const Tensor outside = logical_or(off, any(less(p, 0), -1)), all_out = expand_dims(outside, -1);
  const Tensor inside = where(logical_and(all_out, logical_not(isnan(p))), 0.5, p);
  const Tensor value = sum(xlogy(a - 1, inside) - lgamma(a), -1) + lgamma(sum(a, -1));
  return ops::cast_to(ops::cut(value, outside), c.result);
}

Tensor vonmises_logpdf(const Operand& x, const Operand& kappa, const Operand& loc) {
  constexpr const char* op = "vonmises_logpdf";
  const tape::OpScope scope(x);
  const ops::Converted c(op, {&x, &loc, &kappa});
  ops::broadcast_all(op, c.x);
  const Tensor k = where(greater_equal(c.x[2], 0), c.x[2], ops::not_a_number);
  const Operand at(c.x[0]), origin(c.x[1]), concentration(k);
  const Tensor power = ops::joint(ops::vonmises_power, {&at, &origin, &concentration});
  return ops::cast_to(ops::cut(power - ops::log_i0e(k) - ops::log_2pi, isinf(c.x[0])), c.result);
}

Tensor truncnorm_logpdf(const Operand& x, const Operand& a, const Operand& b, const Operand& loc,
                        const Operand& scale) {
  const tape::OpScope scope(x);
  return ops::joint(ops::truncnorm_density, {&x, &a, &b, &loc, &scale});
}

}  // namespace reel
