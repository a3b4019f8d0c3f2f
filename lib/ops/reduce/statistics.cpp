// Reductions that ignore NaN, averages and covariances: composed of other ops, except extremes and
// sums, which have rules.
#include <cmath>
#include <functional>
#include <limits>
#include <reel/ops/index.hpp>
#include <reel/ops/linalg.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/statistics.hpp>

#include "csource/rows.hpp"
#include "loops/reduce/moments.hpp"
#include "loops/reduce/reduce.hpp"
#include "ops/promote.hpp"
#include "ops/reduce/reduction.hpp"
#include "ops/shape/view.hpp"
#include "ops/sort/order.hpp"

namespace reel {
namespace ops {
namespace {

Tensor nan_of(DType d) { return full({}, std::numeric_limits<double>::quiet_NaN(), d); }

// IndexError or ValueError naming the op, before the ops it is composed of would be named.
void require_axes(const char* op, const Axes& axes, const Tensor& x) { static_cast<void>(axes_mask(op, axes, x)); }

// ---- Extremes that ignore NaN: z is an element of x. Attributes: axes as a mask, keepdims.

// Marks the elements equal to z, and counts them.
struct Ties {
  Tensor here, count;
  explicit Ties(const tape::Record& r) {
    const Tensor &x = r.saved(0), &z = r.saved(1);
    const std::int64_t mask = r.attributes()[0];
    here = equal(x, with_axes(z, x.shape(), mask));
    count = maximum(cast(sum(here, axes_of(mask), r.attributes()[1] != 0), x.dtype()), 1);
  }
};
void nan_extreme_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const Ties ties(r);
  dx[0] = where(ties.here, with_axes(g[0] / ties.count, r.batched(r.shape(0)), r.attributes()[0] << r.batch_rank()), 0);
}
void nan_extreme_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  const Ties ties(r);
  dy[0] = sum(where(ties.here, t[0], 0), axes_of(r.attributes()[0]), r.attributes()[1] != 0) / ties.count;
}
void infer_nan_extreme(const Call& call, Metas& out) { add_alias(out, call, 1); }
constexpr Primitive nan_extreme_primitive = {.rule = batched({"nan_extreme", nan_extreme_vjp, nan_extreme_jvp}),
                                             .infer = infer_nan_extreme,
                                             .evaluate = evaluate_view,
                                             .keeps = {keep_input(0), keep_input(1)},
                                             .constants = 1};

Tensor nan_extreme(const char* op, const Operand& operand, const Axes& axes, bool keepdims, bool largest) {
  const tape::OpScope scope(operand);
  const Tensor x = ordered(op, operand);
  const std::int64_t mask = axes_mask(op, axes, x);
  require_elements(op, x.shape(), mask);
  const auto f = largest ? reel::max : reel::min;
  if (!is_floating(x.dtype())) return f(x, axes, keepdims);
  return in_full_precision(op, x, Accept::floating, [&](const Tensor& wide) {
    const Tensor missing = isnan(wide);
    const double farthest = (largest ? -1 : 1) * std::numeric_limits<double>::infinity();
    const Tensor found = f(where(missing, farthest, stop_gradient(wide)), axes, keepdims);
    const Tensor z = where(all(missing, axes, keepdims), nan_of(wide.dtype()), found);
    return apply(nan_extreme_primitive, {&wide, &z}, words(mask, keepdims));
  });
}

// ---- nansum. Attributes: axes as a mask, keepdims.

Tensor without_nan(const Tensor& x, const Tensor& t) { return where(isnan(x), 0, t); }
void nansum_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  dx[0] = without_nan(r.saved(0), with_axes(g[0], r.batched(r.shape(0)), r.attributes()[0] << r.batch_rank()));
}
void nansum_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  dy[0] = sum(without_nan(r.saved(0), t[0]), axes_of(r.attributes()[0]), r.attributes()[1] != 0);
}
void infer_nansum(const Call& call, Metas& out) { infer_reduced(call, call.input(0).dtype(), out); }
void evaluate_nansum(const Call& call, Outputs& out) {
  loops::sum_of_numbers(call.input(0), axes_of(call.attribute(0)), out[0]);
}
void write_nansum(const Call& call, csource::Writer& w) {
  const DType d = call.input(0).dtype();
  const csource::Rows rows = csource::rows_of(w.input(0), call.attribute(0));
  const csource::Array y = csource::reshaped(w.output(0), rows.kept());
  csource::for_each_row(w, rows, [&](std::span<const csource::Index> at, const csource::Element& x) {
    w.store(y, at, w.sum(d, rows.over(), [&](std::span<const csource::Index> k) {
      return "(" + x(k) + " != " + x(k) + " ? " + w.zero(d) + " : " + x(k) + ")";
    }));
  });
}
constexpr Primitive nansum_primitive = {.rule = batched({"nansum", nansum_vjp, nansum_jvp}),
                                        .infer = infer_nansum,
                                        .evaluate = evaluate_nansum,
                                        .keeps = {keep_input(0)},
                                        .write_c = write_nansum};

// ---- Moments that ignore NaN

// The number of elements that are not NaN, in x's dtype.
Tensor count_present(const Tensor& missing, const Axes& axes, bool keepdims, DType d) {
  return cast(sum(logical_not(missing), axes, keepdims), d);
}
// f(a / b); NaN with gradient and tangent 0 unless b is positive.
template <class F>
Tensor of_quotient(const Tensor& a, const Tensor& b, const F& f) {
  const Tensor has_some = greater(b, 0);
  return where(has_some, f(a / where(has_some, b, 1)), nan_of(a.dtype()));
}

Tensor mean_without_nan(const Tensor& x, const Tensor& missing, const Axes& axes, bool keepdims) {
  return of_quotient(sum(where(missing, 0, x), axes, keepdims), count_present(missing, axes, keepdims, x.dtype()),
                     std::identity());
}
// Twice, since the first mean is rounded: a constant has variance 0.
Tensor deviations(const Tensor& x, const Tensor& missing, const Axes& axes) {
  const Tensor once = x - mean_without_nan(x, missing, axes, true);
  return where(missing, 0, once - mean_without_nan(once, missing, axes, true));
}
template <class F>
Tensor of_squares(const Tensor& deviations, const Tensor& missing, const Axes& axes, double ddof, bool keepdims,
                  const F& f) {
  return of_quotient(sum(square(deviations), axes, keepdims),
                     count_present(missing, axes, keepdims, deviations.dtype()) - ddof, f);
}
// 0 with gradient 0 at 0.
Tensor root(const Tensor& v) {
  const Tensor constant = equal(v, 0);
  return where(constant, 0, sqrt(where(constant, 1, v)));
}

// A power of 2 near the largest deviation, by which squares do not overflow or underflow. A constant.
Tensor unit_near(const Tensor& x, const Axes& axes) {
  const Tensor fixed = stop_gradient(x);
  if (x.size() == 0) return ones_like(sum(fixed, axes, true));
  const Tensor most = maximum(max(fixed, axes, true), -min(fixed, axes, true));
  return exp2(floor(log2(where(logical_and(isfinite(most), greater(most, 0)), most, 1))));
}

// ---- weights

// Weights in a shape that broadcasts to x.
Tensor aligned(const Tensor& x, const Tensor& weights, const Axes& axes) {
  if (weights.rank() == 1 && x.rank() > 1 && !axes.all() && axes.list().size() == 1) {
    const int a = normalize("average", axes.list()[0], x);
    Shape shape{weights.size()};
    while (shape.rank() < x.rank() - a) shape.push_back(1);
    if (weights.size() == x.shape()[a]) return reshape(weights, shape);
  }
  if (broadcast_shapes("average", x.shape(), weights.shape()) != x.shape())
    fail<ShapeError>("average", "the weights have shape {}, which does not broadcast to {}, that of x", weights.shape(),
                     x.shape());
  return weights;
}

// ---- covariances

Tensor conjugate_transposed(const Tensor& x) {
  const Tensor y = is_complex(x.dtype()) ? conj(x) : x;
  return moveaxis(y, -1, -2);
}

// Rows along the last axis minus their means: a linear map that is its own transpose.
Tensor centre_rows(const Tensor& x);
void centre_rows_vjp(const tape::Record&, std::span<const Tensor> g, std::span<Gradient> dx) {
  dx[0] = centre_rows(g[0]);
}
void centre_rows_jvp(const tape::Record&, std::span<const Tensor> t, std::span<Tensor> dy) {
  dy[0] = centre_rows(t[0]);
}
void infer_centre_rows(const Call& call, Metas& out) { out.add(call.input(0).dtype(), call.input(0).shape()); }
void evaluate_centre_rows(const Call& call, Outputs& out) { loops::centre_rows(call.input(0), out[0]); }
void write_centre_rows(const Call& call, csource::Writer& w) {
  const DType d = call.input(0).dtype();
  const int last = call.input(0).rank() - 1;
  const csource::Rows rows = csource::rows_of(w.input(0), std::int64_t{1} << last);
  csource::for_each_row(w, rows, [&](std::span<const csource::Index> at, const csource::Element& x) {
    const std::string count = csource::literal(static_cast<double>(call.input(0).shape()[last]), d);
    const std::string mean = w.let(d, w.sum(d, rows.over(), x) + " / " + count);
    const csource::Blocks nest(w);
    std::vector<csource::Index> all(at.begin(), at.end()), k = w.loops(rows.over());
    all.push_back(k.empty() ? csource::Index() : k[0]);
    w.store(w.output(0), all, x(k) + " - " + mean);
  });
}
constexpr Primitive centre_rows_primitive = {.rule = batched({"centre_rows", centre_rows_vjp, centre_rows_jvp}),
                                             .infer = infer_centre_rows,
                                             .evaluate = evaluate_centre_rows,
                                             .write_c = write_centre_rows};
Tensor centre_rows(const Tensor& x) { return apply(centre_rows_primitive, {&x}); }

// The rows of matrices are variables; a vector is one variable.
Tensor centred_variables(const Tensor& x) { return centre_rows(x.rank() < 2 ? reshape(x, {1, x.size()}) : x); }

// ---- weighted_logsumexp

// Of sums of b exp(x): where the largest term is, the first of equal ones, and a shift of the exponents. It is the
// exponent of that term, unless one with a much smaller factor would overflow. All constants.
struct Reference {
  Tensor here, offset;
};
Reference largest_term(const Tensor& recorded_x, const Tensor& recorded_b, const Axes& axes) {
  const Tensor x = stop_gradient(recorded_x), b = stop_gradient(recorded_b);
  const Tensor is_zero = equal(b, 0), size = where(is_zero, -HUGE_VAL, x + log(where(is_zero, 1, abs(b))));
  const Tensor index = reshape(arange(x.size()), x.shape());
  const Tensor first = min(where(equal(size, max(size, axes, true)), index, x.size()), axes, true);
  const Tensor here = equal(index, first);
  const Tensor exponent = sum(where(here, x, 0), axes, true), largest = max(where(is_zero, -HUGE_VAL, x), axes, true);
  const Tensor offset = where(less_equal(largest - exponent, 80), exponent, largest);
  return {here, where(isfinite(offset), offset, 0)};
}

}  // namespace
}  // namespace ops

Tensor nansum(const Operand& operand, const Axes& axes, bool keepdims) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::ordered("nansum", operand);
  const std::int64_t mask = ops::axes_mask("nansum", axes, x);
  if (!is_floating(x.dtype())) return sum(x, axes, keepdims);
  return ops::in_full_precision("nansum", x, ops::Accept::floating, [&](const Tensor& wide) {
    return ops::apply(ops::nansum_primitive, {&wide}, ops::words(mask, keepdims));
  });
}
Tensor nanprod(const Operand& operand, const Axes& axes, bool keepdims) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::ordered("nanprod", operand);
  ops::require_axes("nanprod", axes, x);
  return prod(is_floating(x.dtype()) ? where(isnan(x), 1, x) : x, axes, keepdims);
}
Tensor nanmean(const Operand& operand, const Axes& axes, bool keepdims) {
  const tape::OpScope scope(operand);
  return ops::in_full_precision("nanmean", operand, ops::Accept::real, [&](const Tensor& x) {
    ops::require_axes("nanmean", axes, x);
    return ops::mean_without_nan(x, isnan(x), axes, keepdims);
  });
}
Tensor nanmax(const Operand& x, const Axes& axes, bool keepdims) {
  return ops::nan_extreme("nanmax", x, axes, keepdims, true);
}
Tensor nanmin(const Operand& x, const Axes& axes, bool keepdims) {
  return ops::nan_extreme("nanmin", x, axes, keepdims, false);
}
Tensor nanvar(const Operand& operand, const Axes& axes, double ddof, bool keepdims) {
  const tape::OpScope scope(operand);
  return ops::in_full_precision("nanvar", operand, ops::Accept::real, [&](const Tensor& x) {
    ops::require_axes("nanvar", axes, x);
    const Tensor missing = isnan(x);
    return ops::of_squares(ops::deviations(x, missing, axes), missing, axes, ddof, keepdims, std::identity());
  });
}
Tensor nanstd(const Operand& operand, const Axes& axes, double ddof, bool keepdims) {
  const tape::OpScope scope(operand);
  return ops::in_full_precision("nanstd", operand, ops::Accept::real, [&](const Tensor& x) {
    ops::require_axes("nanstd", axes, x);
    const Tensor missing = isnan(x), d = ops::deviations(x, missing, axes), unit = ops::unit_near(d, axes);
    const Tensor z = ops::of_squares(d / unit, missing, axes, ddof, keepdims, ops::root);
    return z * reshape(unit, z.shape());
  });
}

Tensor average(const Operand& operand, const Operand& weights, const Axes& axes, bool keepdims) {
  const tape::OpScope scope(operand);
  const DType dtype = ops::promote_operands("average", {&operand, &weights}, ops::Accept::number).result;
  const Tensor x = ops::widened(ops::to_tensor("average", operand, dtype, "x"));
  ops::require_axes("average", axes, x);
  const Tensor w = ops::widened(ops::aligned(x, ops::to_tensor("average", weights, dtype, "weights"), axes));
  return ops::cast_to(sum(x * w, axes, keepdims) / sum(broadcast_to(w, x.shape()), axes, keepdims), dtype);
}

Tensor ptp(const Operand& operand, const Axes& axes, bool keepdims) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::ordered("ptp", operand);
  if (x.dtype() == DType::boolean) fail<TypeError>("ptp", "is not defined for {}; cast x first", x.dtype());
  ops::require_elements("ptp", x.shape(), ops::axes_mask("ptp", axes, x));
  return max(x, axes, keepdims) - min(x, axes, keepdims);
}

Tensor cov(const Operand& operand, double ddof) {
  const tape::OpScope scope(operand);
  return ops::in_full_precision("cov", operand, ops::Accept::number, [&](const Tensor& x) {
    if (x.rank() == 0) fail<ShapeError>("cov", "x has rank 0; it needs an axis of observations");
    const double n = static_cast<double>(x.shape()[-1]) - ddof;
    const Tensor rows = ops::centred_variables(x);
    const Tensor y =
        matmul(rows, ops::conjugate_transposed(rows)) / (n > 0 ? n : std::numeric_limits<double>::quiet_NaN());
    return x.rank() < 2 ? reshape(y, {}) : y;
  });
}
Tensor corrcoef(const Operand& operand) {
  const tape::OpScope scope(operand);
  return ops::in_full_precision("corrcoef", operand, ops::Accept::real, [&](const Tensor& x) {
    if (x.rank() == 0) fail<ShapeError>("corrcoef", "x has rank 0; it needs an axis of observations");
    const Tensor rows = ops::centred_variables(x), units = rows / norm(rows, 2, -1, true);
    Tensor y = matmul(units, ops::conjugate_transposed(units));
    if (x.shape()[-1] == 0) y = y * std::numeric_limits<double>::quiet_NaN();  // otherwise 0, the sum of no elements
    return x.rank() < 2 ? reshape(y, {}) : y;
  });
}

Tensor masked_softmax(const Operand& operand, const Operand& mask_operand, std::int64_t axis) {
  const tape::OpScope scope(operand);
  const DType dtype = ops::promote_operands("masked_softmax", {&operand}, ops::Accept::real).result;
  const Tensor x = ops::to_tensor("masked_softmax", operand, dtype, "x");
  const Tensor mask = ops::to_tensor("masked_softmax", mask_operand, "mask");
  if (mask.dtype() != DType::boolean)
    fail<TypeError>("masked_softmax", "the mask must be boolean, not {}; compare", mask.dtype());
  if (ops::broadcast_shapes("masked_softmax", x.shape(), mask.shape()) != x.shape())
    fail<ShapeError>("masked_softmax", "the mask has shape {}, which does not broadcast to {}, that of x", mask.shape(),
                     x.shape());
  const int a = ops::normalize("masked_softmax", axis, x);
  const Tensor here = broadcast_to(mask, x.shape());
  // A row without true elements is replaced by zeros until it is masked.
  const Tensor outside = where(any(here, a, true), -std::numeric_limits<double>::infinity(), 0.0);
  return where(here, softmax(where(here, x, ops::cast_to(outside, x.dtype())), a), 0);
}

SignedLog weighted_logsumexp(const Operand& operand, const Operand& factors, const Axes& axes, bool keepdims) {
  const tape::OpScope scope(operand);
  const auto [dtype, wide] = ops::promote_operands("weighted_logsumexp", {&operand, &factors}, ops::Accept::real);
  const Tensor b = ops::cast_to(ops::to_tensor("weighted_logsumexp", factors, "b"), wide);
  Tensor x = ops::cast_to(ops::to_tensor("weighted_logsumexp", operand), wide);
  const Shape shape = ops::broadcast_shapes("weighted_logsumexp", x.shape(), b.shape());
  if (x.shape() != shape) x = broadcast_to(x, shape);
  const std::int64_t mask = ops::axes_mask("weighted_logsumexp", axes, x);
  if (ops::reduced_count(shape, mask) == 0) {
    const Tensor nothing = sum(x * b, axes, keepdims);
    return {ops::cast_to(nothing - HUGE_VAL, dtype), ops::cast_to(stop_gradient(nothing), dtype)};
  }
  const ops::Reference r = ops::largest_term(x, b, axes);
  // Elements that are not scaled, and would overflow, have no derivative.
  const Tensor left_out = logical_and(equal(b, 0), logical_not(less_equal(stop_gradient(x) - r.offset, 80)));
  const Tensor terms = where(left_out, 0, exp(where(left_out, r.offset, x) - r.offset) * b);
  // The sum is unit (1 + t).
  Tensor unit = sum(where(r.here, stop_gradient(terms), 0), axes, true);
  unit = where(logical_and(isfinite(unit), not_equal(unit, 0)), unit, 1);
  const Tensor t = sum(where(r.here, terms - unit, terms), axes, true) / unit, cancels = less(t, -0.5);
  const Tensor log_of_rest = where(cancels, log(abs(1 + where(cancels, t, 0))), log1p(where(cancels, 0, t)));
  const Shape result = ops::reduced_shape(shape, mask, keepdims);
  return {ops::cast_to(reshape(log_of_rest + (log(abs(unit)) + r.offset), result), dtype),
          ops::cast_to(reshape(sign(unit) * sign(stop_gradient(1 + t)), result), dtype)};
}

Tensor clip_by_norm(const Operand& operand, const Operand& limit, const Axes& axes) {
  const tape::OpScope scope(operand);
  return ops::in_full_precision("clip_by_norm", operand, ops::Accept::number, [&](const Tensor& x) {
    ops::require_axes("clip_by_norm", axes, x);
    const Tensor length = norm(x, 2, axes, true);
    const Tensor most = ops::to_tensor("clip_by_norm", limit, length.dtype(), "limit");
    if (is_complex(most.dtype())) ops::fail_no_kernel("clip_by_norm", most.dtype());
    if (ops::broadcast_shapes("clip_by_norm", length.shape(), most.shape()) != length.shape())
      fail<ShapeError>("clip_by_norm", "the limit has shape {}, which does not broadcast to {}, that of the norms",
                       most.shape(), length.shape());
    const Tensor bound = ops::cast_to(most, length.dtype());
    const Tensor longer = maximum(length, bound);
    return x * (bound / where(equal(longer, 0), 1, longer));
  });
}

}  // namespace reel
