// Sums, means, products, extremes. Sums and means are linear, and their transpose is broadcasting; the others keep the
// values that their rules read.
#include "loops/reduce/reduce.hpp"

#include <algorithm>
#include <reel/ops/index.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/reduce.hpp>

#include "loops/elementwise/cast.hpp"
#include "loops/reduce/moments.hpp"
#include "loops/reduce/rows.hpp"
#include "ops/reduce/reduction.hpp"
#include "ops/reduce/write.hpp"

namespace reel {

namespace ops {

std::int64_t axes_mask(const char* op, const Axes& axes, const Tensor& x) {
  if (axes.all()) return (std::int64_t{1} << x.rank()) - 1;
  std::int64_t mask = 0;
  for (const std::int64_t a : normalize(op, axes, x)) mask |= std::int64_t{1} << a;
  return mask;
}

std::int64_t reduced_count(std::span<const std::int64_t> full, std::int64_t mask) {
  std::int64_t count = 1;
  for (std::size_t d = 0; d < full.size(); ++d)
    if (mask >> d & 1) count *= full[d];
  return count;
}

Shape reduced_shape(std::span<const std::int64_t> full, std::int64_t mask, bool keepdims) {
  Shape shape;
  for (std::size_t d = 0; d < full.size(); ++d) {
    if ((mask >> d & 1) == 0)
      shape.push_back(full[d]);
    else if (keepdims)
      shape.push_back(1);
  }
  return shape;
}

void infer_reduced(const Call& call, DType d, Metas& out) {
  const detail::Block* x = detail::block(call.input(0));
  out.add(d,
          reduced_shape({x->extents(), static_cast<std::size_t>(x->rank)}, call.attribute(0), call.attribute(1) != 0));
}

void fail_no_kernel(const char* op, DType d) { fail<TypeError>(op, "is not defined for {}; {}", d, remedy(d)); }

Shape axes_of(std::int64_t mask) {
  Shape axes;
  for (int d = 0; mask >> d != 0; ++d)
    if (mask >> d & 1) axes.push_back(d);
  return axes;
}

void require_elements(const char* op, const Shape& full, std::int64_t mask) {
  if (reduced_count(full, mask) == 0 && reduced_shape(full, mask, false).elements() != 0)
    fail<ValueError>(op, "x has no elements along the reduced axes: its shape is {} and axes {} are reduced", full,
                     axes_of(mask));
}

Tensor with_axes(const Tensor& g, const Shape& full, std::int64_t mask) {
  if (g.rank() == full.rank() || (mask & (mask + 1)) == 0) return g;
  Shape shape = full;
  for (std::int64_t a : axes_of(mask)) shape[a] = 1;
  return reshape(g, shape);
}

namespace {

bool ascending(const Shape& order) {
  for (int d = 0; d < order.rank(); ++d)
    if (order[d] != d) return false;
  return true;
}

}  // namespace

Tensor to_rows(const Tensor& x, std::int64_t mask) {
  const Shape full = x.shape(), order = loops::rows_last(full.rank(), mask);
  Shape shape;
  std::int64_t n = 1;
  for (int d = 0; d < full.rank(); ++d) {
    if (mask >> d & 1)
      n *= full[d];
    else
      shape.push_back(full[d]);
  }
  shape.push_back(n);
  return reshape(ascending(order) ? x : transpose(x, order), shape);
}

Tensor from_rows(const Tensor& rows, const Shape& full, std::int64_t mask) {
  const Shape order = loops::rows_last(full.rank(), mask);
  Shape shape, back = order;
  for (std::int64_t d : order) shape.push_back(full[d]);
  for (int d = 0; d < order.rank(); ++d) back[order[d]] = d;
  const Tensor x = reshape(rows, shape);
  return ascending(order) ? x : transpose(x, back);
}

namespace {

using loops::ReduceFunction;

template <ReduceFunction F>
void evaluate_reduction(const Call& call, Outputs& out) {
  loops::reduce(F, call.input(0), axes_of(call.attribute(0)), out[0]);
}
// Announces a result with the dtype of the input.
void infer_reduction(const Call& call, Metas& out) { infer_reduced(call, detail::block(call.input(0))->dtype, out); }

// A batched shape with extents of 1 behind the batch axis, in place of axes that broadcasting would add.
Shape align_ranks(Shape batched, int rank) {
  while (batched.rank() < rank) batched.insert(1, 1);
  return batched;
}

// ---- sum, sum_to, mean

bool keepdims_of(const tape::Record& r) { return r.attributes()[1] != 0; }

Tensor sum_transpose(const tape::Record& r, const Tensor& g) {
  const Shape full = r.batched(r.shape(0));
  return broadcast_to(with_axes(g, full, r.attributes()[0] << r.batch_rank()), full);
}
Tensor sum_forward(const tape::Record& r, const Tensor& t) {
  return sum(t, axes_of(r.attributes()[0]), keepdims_of(r));
}
constexpr Primitive sum_primitive = {.rule = linear<sum_transpose, sum_forward>("sum"),
                                     .infer = infer_reduction,
                                     .evaluate = evaluate_reduction<ReduceFunction::sum>,
                                     .write_c = write_sum};

Tensor sum_to_transpose(const tape::Record& r, const Tensor& g) {
  const Shape full = r.batched(r.shape(0));
  return broadcast_to(r.batch_rank() ? reshape(g, align_ranks(g.shape(), full.rank())) : g, full);
}
Tensor sum_to_forward(const tape::Record& r, const Tensor& t) { return sum_to(t, r.output_shape()); }
// Attributes: the extents of the result.
void infer_sum_to(const Call& call, Metas& out) {
  out.add(call.input(0).dtype(), {call.attributes.data(), call.attributes.size()});
}
void evaluate_sum_to(const Call& call, Outputs& out) {
  const Tensor& x = call.input(0);
  loops::reduce(ReduceFunction::sum, x, summed_axes(x.shape(), out.meta(0).shape), out[0]);
}
constexpr Primitive sum_to_primitive = {.rule = linear<sum_to_transpose, sum_to_forward>("sum_to"),
                                        .infer = infer_sum_to,
                                        .evaluate = evaluate_sum_to,
                                        .write_c = write_sum_to};

Tensor mean_transpose(const tape::Record& r, const Tensor& g) {
  const Shape full = r.batched(r.shape(0));
  const std::int64_t mask = r.attributes()[0] << r.batch_rank();
  // 1 for the mean of no elements: the empty cotangent then has derivative 0 by g, not 0 / 0.
  const auto count = static_cast<double>(std::max<std::int64_t>(reduced_count(full, mask), 1));
  return broadcast_to(with_axes(divide(g, count), full, mask), full);
}
Tensor mean_forward(const tape::Record& r, const Tensor& t) {
  // The mean of no elements is NaN, and its Jacobian has no columns: its tangent is 0, consistent with the empty
  // cotangent.
  if (t.size() == 0) return sum_forward(r, t);
  return mean(t, axes_of(r.attributes()[0]), keepdims_of(r));
}
void evaluate_mean(const Call& call, Outputs& out) { loops::mean(call.input(0), axes_of(call.attribute(0)), out[0]); }
constexpr Primitive mean_primitive = {.rule = linear<mean_transpose, mean_forward>("mean"),
                                      .infer = infer_reduction,
                                      .evaluate = evaluate_mean,
                                      .write_c = write_mean};

}  // namespace

const Primitive& sum_of_axes() noexcept { return sum_primitive; }
const Primitive& mean_of_axes() noexcept { return mean_primitive; }

namespace {

// ---- prod

// For each element the product of the others, from both sides, so that zeros need no division.
Tensor others(const Tensor& rows) { return cumprod(rows, -1, true, false) * cumprod(rows, -1, true, true); }

void prod_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const std::int64_t mask = r.attributes()[0];
  const Tensor by_row = others(to_rows(r.saved(0), mask));
  Shape one = by_row.shape();
  one[-1] = 1;
  dx[0] = from_rows(by_row * reshape(g[0], r.batched(one)), r.batched(r.shape(0)), mask << r.batch_rank());
}
void prod_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  const std::int64_t mask = r.attributes()[0];
  dy[0] = reshape(sum(others(to_rows(r.saved(0), mask)) * to_rows(t[0], mask), -1), r.output_shape());
}
constexpr Primitive prod_primitive = {.rule = batched({"prod", prod_vjp, prod_jvp}),
                                      .infer = infer_reduction,
                                      .evaluate = evaluate_reduction<ReduceFunction::prod>,
                                      .keeps = {keep_input(0)},
                                      .write_c = write_prod};

// ---- max, min

// The share of each element in the result: equal among ties, and among NaNs, which make it NaN. A constant. Inputs: x,
// the result. Attribute: the mask of the axes.
void infer_shares(const Call& call, Metas& out) { out.add_like(call.input(0)); }
void evaluate_shares(const Call& call, Outputs& out) {
  loops::extreme_shares(call.input(0), call.input(1), axes_of(call.attribute(0)), out[0]);
}
constexpr Primitive shares_primitive = {
    .rule = {.name = "extreme.shares"}, .infer = infer_shares, .evaluate = evaluate_shares, .write_c = write_shares};

Tensor shares(const tape::Record& r) {
  return evaluate(shares_primitive, {&r.saved(0), &r.saved(1)}, words(r.attributes()[0]));
}

void extreme_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  dx[0] = shares(r) * with_axes(g[0], r.batched(r.shape(0)), r.attributes()[0] << r.batch_rank());
}
void extreme_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  dy[0] = sum(shares(r) * t[0], axes_of(r.attributes()[0]), keepdims_of(r));
}
template <ReduceFunction F>
constexpr Primitive extreme_primitive = {
    .rule = batched({F == ReduceFunction::max ? "max" : "min", extreme_vjp, extreme_jvp}),
    .infer = infer_reduction,
    .evaluate = evaluate_reduction<F>,
    .keeps = {keep_input(0), keep_output(0)},
    .write_c = F == ReduceFunction::max ? write_max : write_min};

template <ReduceFunction F>
Tensor extreme(const Operand& operand, const Axes& axes, bool keepdims) {
  const char* op = extreme_primitive<F>.rule.name;
  const tape::OpScope scope(operand);
  Tensor scratch;
  const Tensor& x = as_tensor(op, operand, scratch);
  if (is_half(x.dtype())) return in_float32(x, [&](const Tensor& wide) { return extreme<F>(wide, axes, keepdims); });
  const std::int64_t mask = axes_mask(op, axes, x);
  if (!loops::has_reduction(F, x.dtype())) fail_no_kernel(op, x.dtype());
  require_elements(op, x.shape(), mask);
  return apply(extreme_primitive<F>, {&x}, words(mask, keepdims));
}

// ---- argmax, argmin. Attributes: the axis, keepdims.

void infer_arg(const Call& call, Metas& out) {
  out.add(DType::int64,
          reduced_shape(call.input(0).shape(), std::int64_t{1} << call.attribute(0), call.attribute(1) != 0));
}
template <ReduceFunction F>
void evaluate_arg(const Call& call, Outputs& out) {
  loops::arg_reduce(F, call.input(0), static_cast<int>(call.attribute(0)), out[0]);
}
template <ReduceFunction F>
constexpr Primitive arg_primitive = {.rule = {F == ReduceFunction::max ? "argmax" : "argmin", nullptr, nullptr},
                                     .infer = infer_arg,
                                     .evaluate = evaluate_arg<F>,
                                     .write_c = F == ReduceFunction::max ? write_argmax : write_argmin};

template <ReduceFunction F>
Tensor arg_extreme(const Operand& operand, std::int64_t axis, bool keepdims) {
  const char* op = arg_primitive<F>.rule.name;
  const tape::OpScope scope(operand);
  const Tensor uncast = to_tensor(op, operand), x = is_half(uncast.dtype()) ? cast(uncast, DType::float32) : uncast;
  const int along = normalize(op, axis, x);
  if (!loops::has_arg_reduction(x.dtype())) fail_no_kernel(op, x.dtype());
  if (x.shape()[along] == 0 && reduced_shape(x.shape(), std::int64_t{1} << along, false).elements() != 0)
    fail<ValueError>(op, "x has no elements along axis {}: its shape is {}", along, x.shape());
  return apply(arg_primitive<F>, {&x}, words(along, keepdims));
}

// ---- any, all

void infer_truth(const Call& call, Metas& out) { infer_reduced(call, DType::boolean, out); }
template <ReduceFunction F>
void evaluate_truth(const Call& call, Outputs& out) {
  const Tensor& x = call.input(0);
  const Shape axes = axes_of(call.attribute(0));
  if (x.dtype() == DType::boolean) return loops::reduce(F, x, axes, out[0]);
  const Tensor truth = detail::empty(DType::boolean, x.shape());
  static_cast<void>(loops::cast(x, truth));  // numbers are converted to booleans
  loops::reduce(F, truth, axes, out[0]);
}
template <ReduceFunction F>
constexpr Primitive truth_primitive = {.rule = {F == ReduceFunction::max ? "any" : "all", nullptr, nullptr},
                                       .infer = infer_truth,
                                       .evaluate = evaluate_truth<F>,
                                       .write_c = F == ReduceFunction::max ? write_any : write_all};

template <ReduceFunction F>
Tensor truth(const Operand& operand, const Axes& axes, bool keepdims) {
  const char* op = truth_primitive<F>.rule.name;
  const tape::OpScope scope(operand);
  Tensor scratch;
  const Tensor& x = as_tensor(op, operand, scratch);
  return apply(truth_primitive<F>, {&x}, words(axes_mask(op, axes, x), keepdims));
}

// ---- sum and prod, mean

// The last of the cumulative products.
Tensor complex_prod(const Operand& operand, const Axes& axes, bool keepdims) {
  const tape::OpScope scope(operand);
  const Tensor x = operand.tensor();
  const std::int64_t mask = axes_mask("prod", axes, x);
  const Shape shape = reduced_shape(x.shape(), mask, keepdims);
  const Tensor rows = to_rows(x, mask);
  const std::int64_t n = rows.shape()[-1];
  if (n == 0) return broadcast_to(ones({}, x.dtype()), shape);
  return reshape(slice(cumprod(rows, -1), {ellipsis, range_from(n - 1)}), shape);
}

// The dtype in which sums and products of dtype d are computed.
constexpr DType accumulator_dtype(DType d) { return d < DType::int64 ? DType::int64 : d; }

Tensor accumulate(const Primitive& primitive, ReduceFunction f, const Operand& operand, const Axes& axes,
                  bool keepdims) {
  const char* op = primitive.rule.name;
  const tape::OpScope scope(operand);
  Tensor scratch, converted;
  const Tensor& from = as_tensor(op, operand, scratch);
  if (is_half(from.dtype()))
    return in_float32(from, [&](const Tensor& wide) { return accumulate(primitive, f, wide, axes, keepdims); });
  const std::int64_t mask = axes_mask(op, axes, from);
  const Tensor& x = in_dtype(from, accumulator_dtype(from.dtype()), converted);
  if (!loops::has_reduction(f, x.dtype())) fail_no_kernel(op, x.dtype());
  const detail::Block* b = detail::block(x);
  const Tensor* input = &x;
  return apply_announced(primitive, {&input, 1}, words(mask, keepdims), b->dtype,
                         reduced_shape({b->extents(), static_cast<std::size_t>(b->rank)}, mask, keepdims));
}

}  // namespace

Shape summed_axes(const Shape& from, const Shape& to) {
  const int added = from.rank() - to.rank();
  Shape axes;
  for (int d = 0; d < from.rank(); ++d)
    if (d < added || (to[d - added] == 1 && from[d] != 1)) axes.push_back(d);
  return axes;
}

Tensor sum_to(const Tensor& x, const Shape& shape) {
  const Shape full = x.shape();
  if (full == shape) return x;
  if (is_half(x.dtype())) return in_float32(x, [&](const Tensor& wide) { return sum_to(wide, shape); });
  if (!loops::has_reduction(ReduceFunction::sum, x.dtype())) fail_no_kernel("sum_to", x.dtype());
  return apply(sum_to_primitive, {&x}, shape);
}

Shape batched_target(const tape::Record& r, const Shape& shape, int full_rank) {
  return r.batch_rank() ? align_ranks(r.batched(shape), full_rank) : shape;
}

Tensor batched_sum_to(const tape::Record& r, const Tensor& x, const Shape& shape) {
  const Shape wanted = r.batched(shape);
  const Tensor y = sum_to(x, align_ranks(wanted, x.rank()));
  return y.rank() == wanted.rank() ? y : reshape(y, wanted);
}

}  // namespace ops

using loops::ReduceFunction;

Tensor sum(const Operand& x, const Axes& axes, bool keepdims) {
  return ops::accumulate(ops::sum_primitive, ReduceFunction::sum, x, axes, keepdims);
}
Tensor prod(const Operand& x, const Axes& axes, bool keepdims) {
  if (x.is_tensor() && x.tensor().defined() && is_complex(x.tensor().dtype()))
    return ops::complex_prod(x, axes, keepdims);
  return ops::accumulate(ops::prod_primitive, ReduceFunction::prod, x, axes, keepdims);
}

Tensor mean(const Operand& operand, const Axes& axes, bool keepdims) {
  const tape::OpScope scope(operand);
  Tensor scratch, converted;
  const Tensor& from = ops::as_tensor("mean", operand, scratch);
  if (ops::is_half(from.dtype()))
    return ops::in_float32(from, [&](const Tensor& wide) { return mean(wide, axes, keepdims); });
  const std::int64_t mask = ops::axes_mask("mean", axes, from);
  const Tensor& x = ops::in_dtype(from, ops::floating_of(from.dtype()), converted);
  return ops::apply(ops::mean_primitive, {&x}, ops::words(mask, keepdims));
}

Tensor max(const Operand& x, const Axes& axes, bool keepdims) {
  return ops::extreme<ReduceFunction::max>(x, axes, keepdims);
}
Tensor min(const Operand& x, const Axes& axes, bool keepdims) {
  return ops::extreme<ReduceFunction::min>(x, axes, keepdims);
}
Tensor argmax(const Operand& x, std::int64_t axis, bool keepdims) {
  return ops::arg_extreme<ReduceFunction::max>(x, axis, keepdims);
}
Tensor argmin(const Operand& x, std::int64_t axis, bool keepdims) {
  return ops::arg_extreme<ReduceFunction::min>(x, axis, keepdims);
}
Tensor any(const Operand& x, const Axes& axes, bool keepdims) {
  return ops::truth<ReduceFunction::max>(x, axes, keepdims);
}
Tensor all(const Operand& x, const Axes& axes, bool keepdims) {
  return ops::truth<ReduceFunction::min>(x, axes, keepdims);
}

}  // namespace reel
