// logsumexp, softmax and log_softmax: kernels of whole rows, forward and (when nobody records) backward.
#include <cmath>
#include <reel/ops/make.hpp>
#include <reel/ops/reduce.hpp>

#include "ops/reduce/by_rows.hpp"

namespace reel {

namespace ops {

namespace {

int axis_of(const tape::Record& r) { return static_cast<int>(r.attributes()[0]); }

// f(x, more...) along an axis.
Tensor along_axis(const char* op, loops::RowFunction f, int axis, const Tensor& x, const Tensor* more = nullptr) {
  if (!loops::has_row_functions(x.dtype())) fail_no_kernel(op, x.dtype());
  Tensor out = detail::empty(x.dtype(), x.shape());
  loops::along_axis(f, axis, x, more, out);
  return out;
}

Tensor normalised(const tape::Rule& rule, loops::RowFunction f, const Operand& operand, std::int64_t axis) {
  const tape::OpScope scope(operand);
  Tensor held, converted;
  const Tensor& from = given(rule.name, operand, held);
  if (is_half(from.dtype()))
    return in_float32(from, [&](const Tensor& wide) { return normalised(rule, f, wide, axis); });
  const int along = normalize(rule.name, axis, from.rank());
  const Tensor& x = as(from, floating_of(from.dtype()), converted);
  Tensor z = along_axis(rule.name, f, along, x);
  if (tape::active()) {
    const std::int64_t attributes[] = {along};
    tape::record(rule, {&x}, z, {&z}, attributes);
  }
  return z;
}

// ---- softmax: the Jacobian is symmetric

Tensor softmax_product(const tape::Record& r, const Tensor& g) {
  const Tensor z = r.saved(0);
  const int axis = axis_of(r) + r.lead();
  if (!tape::active()) return along_axis("softmax", loops::RowFunction::softmax_vjp, axis, g, &z);
  return z * (g - sum(g * z, axis, true));
}
constexpr tape::Rule softmax_rule = linear<softmax_product, softmax_product>("softmax");

// ---- log_softmax

Tensor log_softmax_vjp(const tape::Record& r, const Tensor& g) {
  const Tensor z = r.saved(0);
  const int axis = axis_of(r) + r.lead();
  if (!tape::active()) return along_axis("log_softmax", loops::RowFunction::log_softmax_vjp, axis, g, &z);
  return g - exp(z) * sum(g, axis, true);
}
Tensor log_softmax_jvp(const tape::Record& r, const Tensor& t) {
  return t - sum(exp(r.saved(0)) * t, axis_of(r), true);
}
constexpr tape::Rule log_softmax_rule = linear<log_softmax_vjp, log_softmax_jvp>("log_softmax");

// ---- logsumexp

// x as matrices [n, inner], whose columns become one number each: true where it is that without a copy.
bool has_columns(const Tensor& x, std::int64_t mask, std::int64_t& inner) {
  if (!detail::block(x)->contiguous() || mask == 0) return false;
  int d = x.rank();
  inner = 1;
  while ((mask >> (d - 1) & 1) == 0) inner *= x.shape()[--d];
  while (d > 0 && (mask >> (d - 1) & 1)) --d;
  return inner >= loops::least_columns && mask >> d << d == mask && (mask & ((std::int64_t{1} << d) - 1)) == 0;
}

Tensor logsumexp_bare(const Tensor& x, const Reduced& r) {
  const tape::Suspend unrecorded;
  if (!loops::has_row_functions(x.dtype())) fail_no_kernel("logsumexp", x.dtype());
  if (r.count == 0) return full(r.shape, -INFINITY, x.dtype());
  Tensor z = detail::empty(x.dtype(), r.shape);
  if (std::int64_t inner; z.size() == 0)
    return z;
  else if (has_columns(x, r.mask, inner))
    loops::by_columns(loops::RowFunction::logsumexp, r.count, inner, {{x, r.count}}, z, 1);
  else
    by_rows(loops::RowFunction::logsumexp, r.count, {whole_rows(to_rows(x, r.mask))}, z, 1);
  return z;
}

// exp(x - z), the share of each element in the sum. A row whose sum is infinite has it in equal shares from the
// elements that equal it: the limit for a row of -inf.
Tensor weights(const tape::Record& r) {
  const Tensor x = r.saved(0), z = with_axes(r.saved(1), x.shape(), r.attributes()[0]), infinite = isinf(z);
  if (!any(infinite).item<bool>()) return exp(x - z);
  const Tensor hit = cast(equal(x, z), x.dtype());
  const Tensor finite = exp(where(infinite, 0, x) - where(infinite, 0, z));
  return where(infinite, hit / sum(hit, axes_of(r.attributes()[0]), true), finite);
}
void logsumexp_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const Shape shape = r.led(r.shape(0));
  const Tensor ge = with_axes(g[0], shape, r.attributes()[0] << r.lead());
  if (tape::active() || any(isinf(r.saved(1))).item<bool>()) {
    dx[0] = ge * weights(r);
    return;
  }
  // The rows are those of x with the reduced axes last; g has them, too, and maybe many times.
  const tape::Suspend unrecorded;
  const std::int64_t mask = r.attributes()[0];
  constexpr auto product = loops::RowFunction::logsumexp_vjp;
  if (std::int64_t inner; has_columns(r.saved(0), mask, inner)) {
    const Tensor& x = r.saved(0);
    const Tensor out = detail::empty(x.dtype(), shape);
    const std::int64_t n = x.size() / std::max<std::int64_t>(1, r.saved(1).size());
    if (out.size() > 0)
      loops::by_columns(product, n, inner, {one_per_row(g[0]), {x, n}, one_per_row(r.saved(1))}, out, n, true);
    dx[0] = out;
    return;
  }
  const Tensor rows = to_rows(r.saved(0), mask);
  const std::int64_t n = rows.shape()[-1];
  const Tensor out = detail::empty(rows.dtype(), r.led(rows.shape()));
  if (out.size() > 0) by_rows(product, n, {one_per_row(g[0]), whole_rows(rows), one_per_row(r.saved(1))}, out, n);
  dx[0] = from_rows(out, shape, mask << r.lead());
}
void logsumexp_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  dy[0] = sum(weights(r) * t[0], axes_of(r.attributes()[0]), r.attributes()[1] != 0);
}
constexpr tape::Rule logsumexp_rule = batched({"logsumexp", logsumexp_vjp, logsumexp_jvp});

}  // namespace

}  // namespace ops

Tensor logsumexp(const Operand& operand, const Axes& axes, bool keepdims) {
  const tape::OpScope scope(operand);
  Tensor held, converted;
  const Tensor& from = ops::given("logsumexp", operand, held);
  if (ops::is_half(from.dtype()))
    return ops::in_float32(from, [&](const Tensor& wide) { return logsumexp(wide, axes, keepdims); });
  const ops::Reduced r("logsumexp", from.shape(), axes, keepdims);
  const Tensor& x = ops::as(from, ops::floating_of(from.dtype()), converted);
  Tensor z = ops::logsumexp_bare(x, r);
  if (tape::active()) {
    const std::int64_t attributes[] = {r.mask, keepdims};
    tape::record(ops::logsumexp_rule, {&x}, z, {&x, &z}, attributes);
  }
  return z;
}

Tensor softmax(const Operand& x, std::int64_t axis) {
  return ops::normalised(ops::softmax_rule, loops::RowFunction::softmax, x, axis);
}
Tensor log_softmax(const Operand& x, std::int64_t axis) {
  return ops::normalised(ops::log_softmax_rule, loops::RowFunction::log_softmax, x, axis);
}

}  // namespace reel
