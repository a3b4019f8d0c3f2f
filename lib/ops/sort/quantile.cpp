// Quantiles: interpolation between elements at ranks of sorted rows.
#include <limits>
#include <reel/ops/make.hpp>

#include "csource/writer.hpp"
#include "loops/loops.hpp"
#include "loops/sort/search.hpp"
#include "ops/reduce/reduction.hpp"
#include "ops/shape/view.hpp"
#include "ops/sort/order.hpp"

namespace reel {
namespace ops {
namespace {

// ---- Checks that fractions q are in [0, 1]. Attributes: the address of the op's name, the upper end in messages.

void infer_fractions(const Call& call, Metas& out) { out.add_like(call.input(0)); }
void evaluate_fractions(const Call& call, Outputs& out) {
  const double most = call.real(1);
  if (const loops::OutOfRange bad = loops::find_out_of_range(call.input(0), most))
    fail<ValueError>(reinterpret_cast<const char*>(call.attribute(0)), "q is {}; it must be in [0, {}]", bad.value,
                     most);
  loops::copy(call.input(0), out[0]);
}
std::string write_fractions(const Call& call, csource::Writer& w, std::span<const std::string> x) {
  const DType d = call.input(0).dtype();
  w.refuse_if(csource::cat({"!(", x[0], " >= ", csource::Writer::zero(d), " && ", x[0],
                            " <= ", csource::literal(call.real(1), d), ")"}),
              "q is out of range");
  return x[0];
}
constexpr Primitive fractions_primitive = {.rule = linear<unchanged, unchanged>("fractions"),
                                           .infer = infer_fractions,
                                           .evaluate = evaluate_fractions,
                                           .effects = may_throw,
                                           .write_c = write_fractions};

// The axes merged into rows, in a floating dtype. ValueError for empty rows.
struct ReducedRows {
  Shape shape;  // of the result
  Tensor rows;
  std::int64_t count;
  ReducedRows(const char* op, const Tensor& x, const Axes& axes, bool keepdims) {
    const std::int64_t mask = axes_mask(op, axes, x);
    count = reduced_count(x.shape(), mask);
    shape = reduced_shape(x.shape(), mask, keepdims);
    if (count == 0)
      fail<ValueError>(op, "x has no elements along the axes: its shape is {} and axes {} are reduced", x.shape(),
                       axes_of(mask));
    rows = to_rows(cast_to(x, floating_of(x.dtype())), mask);
  }
  // The positions of a rank in each row.
  Tensor at(std::int64_t first, std::int64_t last) const {
    return take_along(rows, select_last(rows, first, last), rows.rank() - 1);
  }
  Tensor any_nan() const { return any(isnan(rows), -1, true); }
};

Tensor nan_scalar(DType d) { return full({}, std::numeric_limits<double>::quiet_NaN(), d); }

// Half of each is added: the sum cannot overflow.
Tensor middle(const Tensor& low, const Tensor& high) { return low * 0.5 + high * 0.5; }

// ---- ranks of quantiles

// The parameter of Hyndman and Fan's estimates, alpha = beta.
double plotting_position(QuantileMethod method) {
  using enum QuantileMethod;
  return method == hazen ? 0.5 : method == weibull ? 0.0 : method == median_unbiased ? 1.0 / 3 : 1.0;
}
// The rank of q among n elements, from 0; in general not an integer.
Tensor rank_of(const Tensor& q, std::int64_t n, QuantileMethod method) {
  const double a = plotting_position(method);
  const auto count = static_cast<double>(n);
  if (a == 1.0) return q * (count - 1);
  return clip(q * (count + 1 - 2 * a) + (a - 1), 0.0, count - 1);
}

// The same for a number of elements per row, of which a row without any counts as one.
Tensor rank_of(const Tensor& q, const Tensor& count, QuantileMethod method) {
  const Tensor last = maximum(count - 1, 0);
  const double a = plotting_position(method);
  if (a == 1.0) return q * last;
  return minimum(maximum(q * (last + (2 - 2 * a)) + (a - 1), 0), last);
}

// The value of the rows at a rank between the integer `lower` and the next one.
Tensor interpolate(const Tensor& sorted, const Tensor& lower, const Tensor& weight) {
  const std::int64_t n = sorted.shape()[-1];
  const int last = sorted.rank() - 1;
  const Tensor low = gather_at(sorted, lower, last);
  const Tensor high = gather_at(sorted, contiguous(minimum(lower + 1, n - 1)), last);
  // Without the difference where it overflows or an element is infinite, so that a weight of 0 or 1 gives the element.
  const Tensor gap = high - low, apart = logical_not(isfinite(gap));
  const Tensor between =
      logical_and(logical_and(apart, not_equal(low, high)), logical_and(not_equal(weight, 0), not_equal(weight, 1)));
  const Tensor mixed = where(between, low, 0) * (1 - weight) + where(between, high, 0) * weight;
  // From the nearer end.
  const Tensor below = less(weight, 0.5), sign = cast_to(where(below, 1.0, -1.0), low.dtype());
  const Tensor near = where(below, low, high) + sign * where(apart, 0, gap) * where(below, weight, 1 - weight);
  return where(between, mixed, near);
}

Tensor at_ranks(const Tensor& sorted, const Tensor& rank, QuantileMethod method) {
  using enum QuantileMethod;
  const std::int64_t n = sorted.shape()[-1];
  const int last = sorted.rank() - 1;
  const auto whole = [](const Tensor& r) { return contiguous(cast(stop_gradient(r), DType::int64)); };
  if (method == lower || method == higher || method == nearest)
    return gather_at(sorted, whole(method == lower ? floor(rank) : method == higher ? ceil(rank) : round(rank)), last);
  if (method == midpoint)
    return middle(gather_at(sorted, whole(floor(rank)), last), gather_at(sorted, whole(ceil(rank)), last));
  // The last element is the upper end of an interval.
  const Tensor below = minimum(floor(stop_gradient(rank)), static_cast<double>(std::max<std::int64_t>(n - 2, 0)));
  return interpolate(sorted, whole(below), cast_to(rank - below, sorted.dtype()));
}

Tensor quantile(const char* op, const Tensor& x, const Operand& operand, const Axes& axes,
                const QuantileOptions& options, double most) {
  if (is_half(x.dtype()))
    return in_float32(x, [&](const Tensor& wide) { return quantile(op, wide, operand, axes, options, most); });
  const Tensor fractions = to_tensor(op, operand, DType::float64, "q");
  Tensor q = apply(fractions_primitive, {&fractions}, words(reinterpret_cast<std::intptr_t>(op), most));
  if (most != 1) q = q / most;
  const ReducedRows r(op, x, axes, options.keepdims);
  // Rows with NaN have derivative 0.
  const Tensor sorted = where(r.any_nan(), 0, reel::sort(r.rows));
  Tensor y = at_ranks(sorted, rank_of(reshape(q, {-1}), r.count, options.method), options.method);
  y = where(r.any_nan(), nan_scalar(y.dtype()), y);
  Shape shape = fractions.shape();
  for (const std::int64_t extent : r.shape) shape.push_back(extent);
  return reshape(y.rank() > 1 ? moveaxis(y, -1, 0) : y, shape);
}

// In each row the elements that are not NaN come first. Rows follow one another, so that a rank of a row is one of all.
Tensor nan_quantile(const char* op, const Tensor& x, const Operand& operand, const Axes& axes,
                    const QuantileOptions& options, double most) {
  using enum QuantileMethod;
  if (is_half(x.dtype()))
    return in_float32(x, [&](const Tensor& wide) { return nan_quantile(op, wide, operand, axes, options, most); });
  const Tensor fractions = to_tensor(op, operand, DType::float64, "q");
  Tensor q = apply(fractions_primitive, {&fractions}, words(reinterpret_cast<std::intptr_t>(op), most));
  if (most != 1) q = q / most;
  const ReducedRows r(op, x, axes, options.keepdims);
  const Tensor sorted = reel::sort(r.rows), missing = isnan(sorted);
  const Tensor count = sum(cast(logical_not(missing), DType::float64), -1, true);
  const Tensor first = reshape(arange(count.size()) * r.count, count.shape());
  const Tensor rank = where(greater(count, 1), rank_of(reshape(q, {-1}), count, options.method), 0);
  const Shape shape_of_ranks = rank.shape();
  const Tensor all = reshape(where(missing, 0, sorted), {-1});
  Tensor y;
  if (const QuantileMethod m = options.method; m == lower || m == higher || m == nearest || m == midpoint) {
    y = at_ranks(all, reshape(rank + first, {-1}), m);
  } else {
    // The last element is the upper end of an interval.
    const Tensor below = minimum(floor(stop_gradient(rank)), maximum(count - 2, 0));
    y = interpolate(all, contiguous(cast(reshape(below + first, {-1}), DType::int64)),
                    cast_to(reshape(rank - below, {-1}), all.dtype()));
  }
  y = where(equal(count, 0), nan_scalar(y.dtype()), reshape(y, shape_of_ranks));
  Shape shape = fractions.shape();
  for (const std::int64_t extent : r.shape) shape.push_back(extent);
  return reshape(y.rank() > 1 ? moveaxis(y, -1, 0) : y, shape);
}

}  // namespace
}  // namespace ops

Tensor median(const Operand& operand, const Axes& axes, bool keepdims) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::ordered("median", operand);
  const ops::ReducedRows r("median", x, axes, keepdims);
  const std::int64_t low = (r.count - 1) / 2, high = r.count / 2;
  Tensor y = r.at(low, high + 1);
  if (low != high) {
    const auto [below, above] = ops::halves_of(y, y.rank() - 1);
    y = ops::middle(below, above);
  }
  return reshape(where(r.any_nan(), ops::nan_scalar(y.dtype()), y), r.shape);
}

Tensor nanmedian(const Operand& operand, const Axes& axes, bool keepdims) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::ordered("nanmedian", operand);
  const ops::ReducedRows r("nanmedian", x, axes, keepdims);
  const Tensor sorted = sort(r.rows), count = sum(cast(logical_not(isnan(r.rows)), DType::int64), -1, true);
  const auto at = [&](const Tensor& rank) {
    return ops::take_along(sorted, contiguous(maximum(rank, 0)), sorted.rank() - 1);
  };
  const Tensor y = ops::middle(at(floor_divide(count - 1, 2)), at(floor_divide(count, 2)));
  return reshape(where(equal(count, 0), ops::nan_scalar(y.dtype()), y), r.shape);
}

Tensor quantile(const Operand& operand, const Operand& q, const Axes& axes, const QuantileOptions& options) {
  const tape::OpScope scope(operand);
  return ops::quantile("quantile", ops::ordered("quantile", operand), q, axes, options, 1);
}
Tensor percentile(const Operand& operand, const Operand& q, const Axes& axes, const QuantileOptions& options) {
  const tape::OpScope scope(operand);
  return ops::quantile("percentile", ops::ordered("percentile", operand), q, axes, options, 100);
}
Tensor nanquantile(const Operand& operand, const Operand& q, const Axes& axes, const QuantileOptions& options) {
  const tape::OpScope scope(operand);
  return ops::nan_quantile("nanquantile", ops::ordered("nanquantile", operand), q, axes, options, 1);
}
Tensor nanpercentile(const Operand& operand, const Operand& q, const Axes& axes, const QuantileOptions& options) {
  const tape::OpScope scope(operand);
  return ops::nan_quantile("nanpercentile", ops::ordered("nanpercentile", operand), q, axes, options, 100);
}

}  // namespace reel
