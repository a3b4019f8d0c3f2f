// Sums, means, products, extremes. Sums and means are linear, with broadcasting as transpose; the others keep what
// their written rules read.
#include <reel/ops/make.hpp>
#include <reel/ops/reduce.hpp>

#include "kernels/kernels.hpp"
#include "ops/reduce/reduction.hpp"

namespace reel {

namespace ops {

Reduced::Reduced(const char* op, const Shape& full, const Axes& which, bool keep)
    : axes(normalize(op, which, full.rank())), keepdims(keep) {
  for (std::int64_t a : axes) mask |= std::int64_t{1} << a;
  for (int d = 0; d < full.rank(); ++d) {
    const bool goes = mask >> d & 1;
    if (goes) count *= full[d];
    if (!goes)
      shape.push_back(full[d]);
    else if (keep)
      shape.push_back(1);
  }
}

std::int64_t axes_mask(const char* op, const Axes& axes, int rank) {
  if (axes.all()) return (std::int64_t{1} << rank) - 1;
  std::int64_t mask = 0;
  for (const std::int64_t a : normalize(op, axes, rank)) mask |= std::int64_t{1} << a;
  return mask;
}

std::int64_t reduced_count(const Shape& full, std::int64_t mask) {
  std::int64_t count = 1;
  for (int d = 0; d < full.rank(); ++d)
    if (mask >> d & 1) count *= full[d];
  return count;
}

Shape reduced_shape(const Shape& full, std::int64_t mask, bool keepdims) {
  Shape shape;
  for (int d = 0; d < full.rank(); ++d) {
    if ((mask >> d & 1) == 0)
      shape.push_back(full[d]);
    else if (keepdims)
      shape.push_back(1);
  }
  return shape;
}

void fail_no_kernel(const char* op, DType d) { fail<TypeError>(op, "is not defined for {}; {}", d, remedy(d)); }

Shape axes_of(std::int64_t mask) {
  Shape axes;
  for (int d = 0; mask >> d != 0; ++d)
    if (mask >> d & 1) axes.push_back(d);
  return axes;
}

Tensor with_axes(const Tensor& g, const Shape& full, std::int64_t mask) {
  if (g.rank() == full.rank()) return g;
  Shape shape = full;
  for (std::int64_t a : axes_of(mask)) shape[a] = 1;
  return reshape(g, shape);
}

namespace {

// The axes that stay, then those that go.
Shape rows_last(int rank, std::int64_t mask) {
  Shape order;
  for (int part : {0, 1})
    for (int d = 0; d < rank; ++d)
      if ((mask >> d & 1) == part) order.push_back(d);
  return order;
}
bool ascending(const Shape& order) {
  for (int d = 0; d < order.rank(); ++d)
    if (order[d] != d) return false;
  return true;
}

}  // namespace

Tensor to_rows(const Tensor& x, std::int64_t mask) {
  const Shape full = x.shape(), order = rows_last(full.rank(), mask);
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
  const Shape order = rows_last(full.rank(), mask);
  Shape shape, back = order;
  for (std::int64_t d : order) shape.push_back(full[d]);
  for (int d = 0; d < order.rank(); ++d) back[order[d]] = d;
  const Tensor x = reshape(rows, shape);
  return ascending(order) ? x : transpose(x, back);
}

Tensor reduce_bare(const char* op, kernels::Reduce kind, const Tensor& x, const Reduced& r, const Operand* identity) {
  const kernels::Reduction& reduction = kernels::active().reduction(kind, type_of(x.dtype()));
  if (!reduction.run) fail_no_kernel(op, x.dtype());
  if (r.count == 0) {
    if (identity) return full(r.shape, *identity, x.dtype());
    if (r.shape.elements() == 0) return detail::empty(x.dtype(), r.shape);
    fail<ValueError>(op, "x has no elements along the reduced axes: its shape is {} and axes {} are reduced", x.shape(),
                     r.axes);
  }
  Tensor out = detail::empty(x.dtype(), r.shape);
  loops::reduce(reduction, x, r.axes, out);
  return out;
}

namespace {

// The dtype in which sums and products of d are formed.
constexpr DType accumulated(DType d) { return d < DType::int64 ? DType::int64 : d; }

void note_integer(const char* op, const Tensor& x, const Tensor& out) {
  if (!tape::active()) return;
  const Tensor* inputs[] = {&x};
  tape::note_cut(op, inputs, out, tape::Cut::integer);
}

// A led shape with extents of 1 behind the leading one, where broadcasting would add axes to the rest.
Shape aligned(Shape led, int rank) {
  while (led.rank() < rank) led.insert(1, 1);
  return led;
}

// ---- sum, sum_to, mean

bool keepdims_of(const tape::Record& r) { return r.attributes()[1] != 0; }

Tensor sum_transpose(const tape::Record& r, const Tensor& g) {
  const Shape full = r.led(r.shape(0));
  return broadcast_to(with_axes(g, full, r.attributes()[0] << r.lead()), full);
}
Tensor sum_forward(const tape::Record& r, const Tensor& t) {
  return sum(t, axes_of(r.attributes()[0]), keepdims_of(r));
}
constexpr tape::Rule sum_rule = linear<sum_transpose, sum_forward>("sum");

Tensor sum_to_transpose(const tape::Record& r, const Tensor& g) {
  const Shape full = r.led(r.shape(0));
  return broadcast_to(r.lead() ? reshape(g, aligned(g.shape(), full.rank())) : g, full);
}
Tensor sum_to_forward(const tape::Record& r, const Tensor& t) { return sum_to(t, r.output_shape()); }
constexpr tape::Rule sum_to_rule = linear<sum_to_transpose, sum_to_forward>("sum_to");

Tensor mean_transpose(const tape::Record& r, const Tensor& g) {
  const Shape full = r.led(r.shape(0));
  const std::int64_t mask = r.attributes()[0] << r.lead();
  std::int64_t count = 1;
  for (std::int64_t a : axes_of(mask)) count *= full[a];
  return broadcast_to(with_axes(divide(g, static_cast<double>(count)), full, mask), full);
}
Tensor mean_forward(const tape::Record& r, const Tensor& t) {
  // The mean of nothing is NaN, and has a Jacobian without columns: its tangent is 0, as the empty cotangent demands.
  if (t.size() == 0) return sum_forward(r, t);
  return mean(t, axes_of(r.attributes()[0]), keepdims_of(r));
}
constexpr tape::Rule mean_rule = linear<mean_transpose, mean_forward>("mean");

// ---- prod

// The product of the other elements, for each: from both sides, so that zeros need no division.
Tensor others(const Tensor& rows) { return cumprod(rows, -1, true, false) * cumprod(rows, -1, true, true); }

void prod_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const std::int64_t mask = r.attributes()[0];
  const Tensor by_row = others(to_rows(r.saved(0), mask));
  Shape one = by_row.shape();
  one[-1] = 1;
  dx[0] = from_rows(by_row * reshape(g[0], r.led(one)), r.led(r.shape(0)), mask << r.lead());
}
void prod_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  const std::int64_t mask = r.attributes()[0];
  dy[0] = reshape(sum(others(to_rows(r.saved(0), mask)) * to_rows(t[0], mask), -1), r.output_shape());
}
constexpr tape::Rule prod_rule = batched({"prod", prod_vjp, prod_jvp});

// ---- max, min

// Each element's share of the result: equal among those that equal it, and among NaNs, which make it NaN. A constant.
Tensor shares(const tape::Record& r) {
  const tape::Suspend unrecorded;
  const Tensor x = r.saved(0), z = with_axes(r.saved(1), x.shape(), r.attributes()[0]);
  Tensor hit = cast(logical_or(equal(x, z), isnan(x)), x.dtype());
  const Tensor hits = sum(hit, axes_of(r.attributes()[0]), true);
  return divide(std::move(hit), hits);
}

void extreme_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  dx[0] = shares(r) * with_axes(g[0], r.led(r.shape(0)), r.attributes()[0] << r.lead());
}
void extreme_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  dy[0] = sum(shares(r) * t[0], axes_of(r.attributes()[0]), keepdims_of(r));
}
constexpr tape::Rule max_rule = batched({"max", extreme_vjp, extreme_jvp});
constexpr tape::Rule min_rule = batched({"min", extreme_vjp, extreme_jvp});

Tensor extreme(const tape::Rule& rule, kernels::Reduce kind, const Operand& operand, const Axes& axes, bool keepdims) {
  const tape::OpScope scope(operand);
  Tensor held;
  const Tensor& x = given(rule.name, operand, held);
  if (is_half(x.dtype()))
    return in_float32(x, [&](const Tensor& wide) { return extreme(rule, kind, wide, axes, keepdims); });
  const Reduced r(rule.name, x.shape(), axes, keepdims);
  Tensor z = reduce_bare(rule.name, kind, x, r, nullptr);
  if (!is_differentiable(x.dtype())) {
    note_integer(rule.name, x, z);
  } else if (tape::active()) {
    const std::int64_t attributes[] = {r.mask, keepdims};
    tape::record(rule, {&x}, z, {&x, &z}, attributes);
  }
  return z;
}

Tensor arg_extreme(const char* op, const kernels::ArgReduce (&kernel)[kernels::type_count], const Operand& operand,
                   std::int64_t axis, bool keepdims) {
  const tape::OpScope scope(operand);
  const Tensor given = to_tensor(op, operand), x = is_half(given.dtype()) ? cast(given, DType::float32) : given;
  const int along = normalize(op, axis, x.rank());
  const Reduced r(op, x.shape(), along, keepdims);
  const kernels::ArgReduce find = kernel[kernels::index(type_of(x.dtype()))];
  if (!find) fail_no_kernel(op, x.dtype());
  Tensor out = detail::empty(DType::int64, r.shape);
  if (r.count == 0) {
    if (out.size() > 0) fail<ValueError>(op, "x has no elements along axis {}: its shape is {}", along, x.shape());
    note_integer(op, x, out);
    return out;
  }
  const Tensor from = loops::contiguous(x);
  std::int64_t inner = 1;
  for (int d = along + 1; d < x.rank(); ++d) inner *= x.shape()[d];
  const auto* data = detail::mutable_data<std::byte>(from);
  auto* to = detail::mutable_data<std::int64_t>(out);
  const auto bytes = static_cast<std::int64_t>(item_size(x.dtype()));
  const std::int64_t n = r.count;
  loops::parallel_for(out.size(), std::max<std::int64_t>(1, loops::parallel_threshold / n),
                      [=](std::int64_t begin, std::int64_t end) {
                        for (std::int64_t i = begin, count; i < end; i += count) {
                          count = std::min(inner - i % inner, end - i);
                          find({data + (i / inner * inner * n + i % inner) * bytes, inner}, n, count, to + i);
                        }
                      });
  note_integer(op, x, out);
  return out;
}

Tensor truth(const char* op, kernels::Reduce kind, bool of_nothing, const Operand& operand, const Axes& axes,
             bool keepdims) {
  const tape::OpScope scope(operand);
  const Tensor x = to_tensor(op, operand);
  const Reduced r(op, x.shape(), axes, keepdims);
  const Operand identity = of_nothing;
  Tensor z;
  {
    const tape::Suspend unrecorded;
    z = reduce_bare(op, kind, cast_to(x, DType::boolean), r, &identity);
  }
  note_integer(op, x, z);
  return z;
}

// sum or prod, with its rule.
Tensor accumulate(const tape::Rule& rule, kernels::Reduce kind, const Operand& identity, const Operand& operand,
                  const Axes& axes, bool keepdims) {
  const tape::OpScope scope(operand);
  Tensor held, converted;
  const Tensor& from = given(rule.name, operand, held);
  if (is_half(from.dtype()))
    return in_float32(from, [&](const Tensor& wide) { return accumulate(rule, kind, identity, wide, axes, keepdims); });
  const Reduced r(rule.name, from.shape(), axes, keepdims);
  const Tensor& x = as(from, accumulated(from.dtype()), converted);
  Tensor z = reduce_bare(rule.name, kind, x, r, &identity);
  if (!is_differentiable(z.dtype())) {
    note_integer(rule.name, from, z);
  } else if (tape::active()) {
    const std::int64_t attributes[] = {r.mask, keepdims};
    if (kind == kernels::Reduce::sum)
      tape::record(rule, {&x}, z, {}, attributes);
    else
      tape::record(rule, {&x}, z, {&x}, attributes);
  }
  return z;
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
  const Shape axes = summed_axes(full, shape);
  const Reduced r("sum_to", full, axes, false);
  const Operand zero = 0;
  const kernels::Reduction& reduction = kernels::active().reduction(kernels::Reduce::sum, type_of(x.dtype()));
  if (!reduction.run) fail_no_kernel("sum_to", x.dtype());
  Tensor out = r.count == 0 ? reel::full(shape, zero, x.dtype()) : detail::empty(x.dtype(), shape);
  if (r.count != 0) loops::reduce(reduction, x, axes, out);
  if (tape::active()) tape::record(sum_to_rule, {&x}, out);
  return out;
}

Shape led_target(const tape::Record& r, const Shape& shape, int full_rank) {
  return r.lead() ? aligned(r.led(shape), full_rank) : shape;
}

Tensor led_sum_to(const tape::Record& r, const Tensor& x, const Shape& shape) {
  const Shape wanted = r.led(shape);
  const Tensor y = sum_to(x, aligned(wanted, x.rank()));
  return y.rank() == wanted.rank() ? y : reshape(y, wanted);
}

}  // namespace ops

using kernels::Reduce;

Tensor sum(const Operand& x, const Axes& axes, bool keepdims) {
  return ops::accumulate(ops::sum_rule, Reduce::sum, 0, x, axes, keepdims);
}
Tensor prod(const Operand& x, const Axes& axes, bool keepdims) {
  return ops::accumulate(ops::prod_rule, Reduce::prod, 1, x, axes, keepdims);
}

Tensor mean(const Operand& operand, const Axes& axes, bool keepdims) {
  const tape::OpScope scope(operand);
  Tensor held, converted;
  const Tensor& from = ops::given("mean", operand, held);
  if (ops::is_half(from.dtype()))
    return ops::in_float32(from, [&](const Tensor& wide) { return mean(wide, axes, keepdims); });
  const ops::Reduced r("mean", from.shape(), axes, keepdims);
  const Tensor& x = ops::as(from, ops::floating_of(from.dtype()), converted);
  const Operand zero = 0;
  // A fresh value, which no tape follows: dividing it is not recorded.
  Tensor z = divide(ops::reduce_bare("mean", Reduce::sum, x, r, &zero), static_cast<double>(r.count));
  if (tape::active()) {
    const std::int64_t attributes[] = {r.mask, keepdims};
    tape::record(ops::mean_rule, {&x}, z, {}, attributes);
  }
  return z;
}

Tensor max(const Operand& x, const Axes& axes, bool keepdims) {
  return ops::extreme(ops::max_rule, Reduce::max, x, axes, keepdims);
}
Tensor min(const Operand& x, const Axes& axes, bool keepdims) {
  return ops::extreme(ops::min_rule, Reduce::min, x, axes, keepdims);
}
Tensor argmax(const Operand& x, std::int64_t axis, bool keepdims) {
  return ops::arg_extreme("argmax", kernels::active().argmax, x, axis, keepdims);
}
Tensor argmin(const Operand& x, std::int64_t axis, bool keepdims) {
  return ops::arg_extreme("argmin", kernels::active().argmin, x, axis, keepdims);
}
Tensor any(const Operand& x, const Axes& axes, bool keepdims) {
  return ops::truth("any", Reduce::max, false, x, axes, keepdims);
}
Tensor all(const Operand& x, const Axes& axes, bool keepdims) {
  return ops::truth("all", Reduce::min, true, x, axes, keepdims);
}

}  // namespace reel
