// Cumulative sums and products along an axis. The derivative of a cumulative product is a linear recurrence, s[i] =
// b[i] + a[i] s[i-1], which needs no division and is exact with zeros among the factors. The recurrence is an op whose
// derivatives are recurrences again, which gives every order.
#include "loops/reduce/scan.hpp"

#include <algorithm>
#include <reel/ops/index.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/ops/reduce.hpp>

#include "ops/complex.hpp"
#include "ops/reduce/scan.hpp"
#include "ops/reduce/write.hpp"

namespace reel {

namespace ops {

namespace {

// ---- cumsum, cumprod. Attributes: axis, exclusive, reverse.

struct Scanned {
  int axis;
  bool exclusive, reverse;
  explicit Scanned(Attributes a) : axis(static_cast<int>(a[0])), exclusive(a[1] != 0), reverse(a[2] != 0) {}
};

// For scans and recurrences.
void infer_scan(const Call& call, Metas& out) { out.add_like(call.input(0)); }
template <loops::ScanFunction F>
void evaluate_scan(const Call& call, Outputs& out) {
  const Scanned s(call.attributes);
  loops::scan(F, call.input(0), s.axis, s.exclusive, s.reverse, out[0]);
}

Tensor scan(const Primitive& primitive, loops::ScanFunction f, const Operand& operand, std::int64_t axis,
            bool exclusive, bool reverse) {
  const char* op = primitive.rule.name;
  const tape::OpScope scope(operand);
  Tensor scratch, converted;
  const Tensor& from = as_tensor(op, operand, scratch);
  if (is_half(from.dtype()))
    return in_float32(from, [&](const Tensor& wide) { return scan(primitive, f, wide, axis, exclusive, reverse); });
  const int along = normalize(op, axis, from);
  const Tensor& x = in_dtype(from, std::max(from.dtype(), DType::int64), converted);
  if (!loops::has_scan(f, x.dtype())) fail_no_kernel(op, x.dtype());
  return apply(primitive, {&x}, words(along, exclusive, reverse));
}

Tensor cumsum_transpose(const tape::Record& r, const Tensor& g) {
  const Scanned s(r.attributes());
  return cumsum(g, s.axis + r.batch_rank(), s.exclusive, !s.reverse);
}
Tensor cumsum_forward(const tape::Record& r, const Tensor& t) {
  const Scanned s(r.attributes());
  return cumsum(t, s.axis, s.exclusive, s.reverse);
}
constexpr Primitive cumsum_primitive = {.rule = linear<cumsum_transpose, cumsum_forward>("cumsum"),
                                        .infer = infer_scan,
                                        .evaluate = evaluate_scan<loops::ScanFunction::cumsum>,
                                        .write_c = write_cumsum};

}  // namespace

Tensor spread(const tape::Record& r, const Tensor& x) {
  return r.batch_rank() ? broadcast_to(x, r.batched(x.shape())) : x;
}

Tensor shift(const Tensor& x, int axis, bool reverse) {
  const std::int64_t n = x.shape()[axis];
  if (n == 0) return x;
  const detail::List<SliceItem> whole(static_cast<std::size_t>(axis));
  detail::List<SliceItem> items = whole;
  items.push_back(reverse ? range(1, n) : range(0, n - 1));
  Shape none, one;
  for (int d = 0; d < x.rank(); ++d) {
    none.push_back(0);
    one.push_back(d == axis ? 1 : 0);
  }
  return pad(slice(x, items), reverse ? none : one, reverse ? one : none);
}

namespace {

// ---- recurrence. Attributes: axis, after, reverse. The transpose of a product with complex numbers is the product
// with their conjugates.

void recurrence_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const auto axis = static_cast<int>(r.attributes()[0]), batched_axis = axis + r.batch_rank();
  const bool after = r.attributes()[1] != 0, reverse = r.attributes()[2] != 0;
  const Tensor u = recurrence(spread(r, conjugate(r.saved(0))), g[0], batched_axis, !after, !reverse);
  if (r.wanted(0)) {
    const Tensor s = conjugate(r.saved(1));
    dx[0] = after ? s * shift(u, batched_axis, !reverse) : u * shift(s, axis, reverse);
  }
  if (r.wanted(1)) dx[1] = u;
}
void recurrence_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  const auto axis = static_cast<int>(r.attributes()[0]);
  const bool after = r.attributes()[1] != 0, reverse = r.attributes()[2] != 0;
  Tensor terms;
  if (r.wanted(0)) {
    const Tensor s = r.saved(1);
    terms = after ? shift(t[0] * s, axis, reverse) : t[0] * shift(s, axis, reverse);
  }
  if (r.wanted(1)) terms = terms.defined() ? terms + t[1] : t[1];
  dy[0] = recurrence(r.saved(0), terms, axis, after, reverse);
}
void evaluate_recurrence(const Call& call, Outputs& out) {
  loops::linear_recurrence(call.input(0), call.input(1), static_cast<int>(call.attribute(0)), call.attribute(1) != 0,
                           call.attribute(2) != 0, out[0]);
}
constexpr Primitive recurrence_primitive = {.rule = batched({"linear_recurrence", recurrence_vjp, recurrence_jvp}),
                                            .infer = infer_scan,
                                            .evaluate = evaluate_recurrence,
                                            .keeps = {keep_input(0), keep_output(0, 0b01)},
                                            .write_c = write_recurrence};

}  // namespace

Tensor recurrence(const Tensor& a, const Tensor& b, int axis, bool after, bool reverse) {
  if (!loops::has_recurrence(b.dtype())) fail_no_kernel("linear_recurrence", b.dtype());
  return apply(recurrence_primitive, {&a, &b}, words(axis, after, reverse));
}

namespace {

// With y[i] the product up to i and P[k] the one before k: dx[k] = P[k] S[k], S[k] = g[k] + x[k+1] S[k+1]. The tangent
// of y[i] is x[i] times that of y[i-1], plus t[i] P[i]. Exclusive: y[i] = P[i], and all indices shift by one.
void cumprod_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const auto [axis, exclusive, reverse] = Scanned(r.attributes());
  const int batched_axis = axis + r.batch_rank();
  const Tensor x = conjugate(r.saved(0)), before = cumprod(x, axis, true, reverse);
  const Tensor reached = recurrence(spread(r, x), g[0], batched_axis, !exclusive, !reverse);
  dx[0] = before * (exclusive ? shift(reached, batched_axis, !reverse) : reached);
}
void cumprod_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  const auto [axis, exclusive, reverse] = Scanned(r.attributes());
  const Tensor x = r.saved(0), terms = t[0] * cumprod(x, axis, true, reverse);
  if (exclusive)
    dy[0] = recurrence(x, shift(terms, axis, reverse), axis, true, reverse);
  else
    dy[0] = recurrence(x, terms, axis, false, reverse);
}
constexpr Primitive cumprod_primitive = {.rule = batched({"cumprod", cumprod_vjp, cumprod_jvp}),
                                         .infer = infer_scan,
                                         .evaluate = evaluate_scan<loops::ScanFunction::cumprod>,
                                         .keeps = {keep_input(0)},
                                         .write_c = write_cumprod};

}  // namespace

}  // namespace ops

Tensor cumsum(const Operand& x, std::int64_t axis, bool exclusive, bool reverse) {
  return ops::scan(ops::cumsum_primitive, loops::ScanFunction::cumsum, x, axis, exclusive, reverse);
}
Tensor cumprod(const Operand& x, std::int64_t axis, bool exclusive, bool reverse) {
  return ops::scan(ops::cumprod_primitive, loops::ScanFunction::cumprod, x, axis, exclusive, reverse);
}

}  // namespace reel
