// Variance, standard deviation and norms. Their rules have gradient 0 at singular points (a constant, the zero vector).
// Attributes: axes, keepdims, the number (ddof or p) as bits.
#include "loops/reduce/moments.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <reel/ops/make.hpp>
#include <reel/ops/parts.hpp>
#include <reel/ops/reduce.hpp>

#include "loops/loops.hpp"
#include "ops/apply/table.hpp"
#include "ops/reduce/reduction.hpp"
#include "ops/reduce/write.hpp"

namespace reel {

namespace ops {

double degrees_of_freedom(std::int64_t n, double ddof) {
  const double f = static_cast<double>(n) - ddof;
  return f > 0 ? f : std::numeric_limits<double>::quiet_NaN();
}

namespace {

Shape reduced_axes(const tape::Record& r) { return ops::axes_of(r.attributes()[0]); }
bool keeps_axes(const tape::Record& r) { return r.attributes()[1] != 0; }
double number_of(const tape::Record& r) { return std::bit_cast<double>(r.attributes()[2]); }
Tensor with_reduced_axes(const tape::Record& r, const Tensor& z) {
  return ops::with_axes(z, r.shape(0), r.attributes()[0]);
}
// The same for a cotangent, which may have a batch axis in front.
Tensor cotangent_with_axes(const tape::Record& r, const Tensor& g) {
  return ops::with_axes(g, r.batched(r.shape(0)), r.attributes()[0] << r.batch_rank());
}

// x, with 1 where b holds: a denominator that is never 0, so that the branch that `where` discards has finite
// derivatives.
Tensor or_one(const Tensor& b, const Tensor& x) { return where(b, 1, x); }

// ---- var, std

double freedom(const tape::Record& r) {
  return degrees_of_freedom(reduced_count(r.shape(0), r.attributes()[0]), number_of(r));
}

// x minus its mean over the axes, twice: the first mean is rounded, and constants must give zeros.
Tensor less_mean(const Tensor& x, const Shape& axes) {
  Tensor once = x - mean(x, axes, true);
  const Tensor rest = mean(once, axes, true);
  return std::move(once) - rest;
}

// For var, std and norm.
void infer_moment(const Call& call, Metas& out) { infer_reduced(call, call.input(0).dtype(), out); }

void evaluate_var(const Call& call, Outputs& out) {
  const Tensor& x = call.input(0);
  const std::int64_t mask = call.attribute(0);
  loops::variance(x, axes_of(mask), degrees_of_freedom(reduced_count(x.shape(), mask), call.real(2)), out[0]);
}
void evaluate_std(const Call& call, Outputs& out) {
  const Tensor& x = call.input(0);
  const std::int64_t mask = call.attribute(0);
  loops::deviation(x, axes_of(mask), degrees_of_freedom(reduced_count(x.shape(), mask), call.real(2)), out[0]);
}

Tensor centred(const tape::Record& r) { return less_mean(r.saved(0), reduced_axes(r)); }

void var_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  dx[0] = cotangent_with_axes(r, g[0]) * (2 / freedom(r)) * centred(r);
}
// The tangent of a result that has no elements to reduce: 0, even if the result is NaN.
Tensor still(const tape::Record& r, const Tensor& t) { return sum(t, reduced_axes(r), keeps_axes(r)); }
void var_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  if (t[0].size() == 0) {
    dy[0] = still(r, t[0]);
    return;
  }
  dy[0] = sum(centred(r) * t[0], reduced_axes(r), keeps_axes(r)) * (2 / freedom(r));
}
constexpr Primitive var_primitive = {.rule = batched({"var", var_vjp, var_jvp}),
                                     .infer = infer_moment,
                                     .evaluate = evaluate_var,
                                     .keeps = {keep_input(0)},
                                     .write_c = write_var};

void std_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  // The quotient of deviations and z has no z^2 in its derivatives, which may overflow.
  const Tensor &z = r.saved(1), none = equal(z, 0), slope = where(none, 0, g[0] / freedom(r));
  dx[0] = cotangent_with_axes(r, slope) * (centred(r) / with_reduced_axes(r, or_one(none, z)));
}
void std_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  if (t[0].size() == 0) {
    dy[0] = still(r, t[0]);
    return;
  }
  // Deviations and tangents may have the size of x, whose squares may overflow.
  const Tensor& z = r.saved(1);
  const Tensor none = equal(z, 0), unit = centred(r) / with_reduced_axes(r, or_one(none, z));
  dy[0] = where(none, 0, sum(unit * t[0], reduced_axes(r), keeps_axes(r)) / freedom(r));
}
constexpr Primitive std_primitive = {.rule = batched({"std", std_vjp, std_jvp}),
                                     .infer = infer_moment,
                                     .evaluate = evaluate_std,
                                     .keeps = {keep_input(0), keep_output(0)},
                                     .write_c = write_std};

// For complex x, along the axes: a power of 2 near the largest part, by which squares do not overflow or underflow. A
// constant.
Tensor power_of_2_near(const Tensor& x, const Axes& axes) {
  const Tensor z = stop_gradient(x);
  const Tensor most = maximum(max(abs(real(z)), axes, true), max(abs(imag(z)), axes, true));
  const Tensor ordinary = logical_and(isfinite(most), greater(most, 0));
  return exp2(floor(log2(where(ordinary, most, 1))));
}

Tensor spread_of(const Primitive& primitive, const Operand& operand, const Axes& axes, double ddof, bool keepdims) {
  const char* op = primitive.rule.name;
  const tape::OpScope scope(operand);
  Tensor scratch, converted;
  const Tensor& from = as_tensor(op, operand, scratch);
  if (is_half(from.dtype()))
    return in_float32(from, [&](const Tensor& wide) { return spread_of(primitive, wide, axes, ddof, keepdims); });
  const std::int64_t mask = axes_mask(op, axes, from);
  if (is_complex(from.dtype())) {  // |z|^2 is the sum of two squares
    const bool root = &primitive == &std_primitive;
    Tensor scale;
    if (root && from.size() > 0) scale = power_of_2_near(from, axes);
    const Tensor z = scale.defined() ? from / scale : from;
    const Tensor re = spread_of(var_primitive, real(z), axes, ddof, keepdims),
                 im = spread_of(var_primitive, imag(z), axes, ddof, keepdims), squares = re + im;
    if (!root) return squares;
    const Tensor none = equal(squares, 0), y = where(none, 0, sqrt(or_one(none, squares)));
    return scale.defined() ? y * reshape(scale, y.shape()) : y;
  }
  const Tensor& x = in_dtype(from, floating_of(from.dtype()), converted);
  return apply(primitive, {&x}, words(mask, keepdims, ddof));
}

// ---- norm

void evaluate_norm(const Call& call, Outputs& out) {
  loops::norm(call.input(0), call.real(2), axes_of(call.attribute(0)), out[0]);
}

// d norm / d x where z is not 0: sign(x) |x / z|^(p - 1); where x is 0 it is 0, for general p.
Tensor slope(const tape::Record& r, const Tensor& no_norm) {
  const double p = number_of(r);
  const Tensor x = r.saved(0), ratio = x / with_reduced_axes(r, or_one(no_norm, r.saved(1)));
  if (p == 2) return ratio;
  if (p > 2 && p == std::floor(p)) {  // x^(p - 1) is a power of x itself, smooth at 0 to every order
    const Tensor s = power(ratio, p - 1);
    return std::fmod(p, 2) == 0 ? s : s * sign(ratio);
  }
  const Tensor at_zero = equal(x, 0);
  return where(at_zero, 0, sign(ratio) * power(or_one(at_zero, abs(ratio)), p - 1));
}
void norm_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const Tensor no_norm = equal(r.saved(1), 0);
  dx[0] = cotangent_with_axes(r, where(no_norm, 0, g[0])) * slope(r, no_norm);
}
void norm_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  const Tensor no_norm = equal(r.saved(1), 0);
  dy[0] = where(no_norm, 0, sum(slope(r, no_norm) * t[0], reduced_axes(r), keeps_axes(r)));
}
constexpr Primitive norm_primitive = {.rule = batched({"norm", norm_vjp, norm_jvp}),
                                      .infer = infer_moment,
                                      .evaluate = evaluate_norm,
                                      .keeps = {keep_input(0), keep_output(0)},
                                      .write_c = write_norm};

}  // namespace

}  // namespace ops

Tensor var(const Operand& x, const Axes& axes, double ddof, bool keepdims) {
  return ops::spread_of(ops::var_primitive, x, axes, ddof, keepdims);
}
Tensor std(const Operand& x, const Axes& axes, double ddof, bool keepdims) {
  return ops::spread_of(ops::std_primitive, x, axes, ddof, keepdims);
}

Tensor norm(const Operand& operand, double p, const Axes& axes, bool keepdims) {
  const tape::OpScope scope(operand);
  if (std::isnan(p)) fail<ValueError>("norm", "p is NaN; it must be a number or infinity");
  Tensor scratch, converted;
  const Tensor& from = ops::as_tensor("norm", operand, scratch);
  if (ops::is_half(from.dtype()))
    return ops::in_float32(from, [&](const Tensor& wide) { return norm(wide, p, axes, keepdims); });
  if (is_complex(from.dtype())) {
    if (p != 2 || from.rank() == max_rank) return norm(abs(from), p, axes, keepdims);
    // Of real and imaginary parts, which have second derivatives where an element is 0.
    Shape reduced = ops::axes_of(ops::axes_mask("norm", axes, from));
    reduced.push_back(from.rank());
    const Tensor z = norm(as_real(from), 2, reduced, keepdims);
    return keepdims ? squeeze(z, -1) : z;
  }
  const std::int64_t mask = ops::axes_mask("norm", axes, from), count = ops::reduced_count(from.shape(), mask);
  const Tensor& x = ops::in_dtype(from, ops::floating_of(from.dtype()), converted);
  if (p < 0 && count == 0 && ops::reduced_shape(from.shape(), mask, false).elements() > 0)
    fail<ValueError>("norm", "x has no elements along the reduced axes, and p is {}: its shape is {}", p, x.shape());
  if (p == 1 || count == 0) return sum(abs(x), axes, keepdims);
  if (p == 0) return sum(square(sign(where(isnan(x), 1, x))), axes, keepdims);
  if (std::isinf(p)) return p > 0 ? max(abs(x), axes, keepdims) : min(abs(x), axes, keepdims);
  return ops::apply(ops::norm_primitive, {&x}, ops::words(mask, keepdims, p));
}

}  // namespace reel
