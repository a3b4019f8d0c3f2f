// Running extremes are elements chosen by position. Running logarithms of sums have a linear recurrence as derivative:
// with w[i] = exp(x[i] - z[i]) and c[i] = exp(z[i-1] - z[i]), dz[i] = w[i] dx[i] + c[i] dz[i-1]. Both factors are
// computed from the sums of exponentials: 1 - w[i] would cancel, and z[i] is rounded.
#include "loops/reduce/running.hpp"

#include <limits>
#include <reel/ops/make.hpp>
#include <reel/ops/scans.hpp>

#include "csource/steps.hpp"
#include "loops/loops.hpp"
#include "ops/index/indices.hpp"
#include "ops/promote.hpp"
#include "ops/reduce/scan.hpp"
#include "ops/sort/order.hpp"

namespace reel {
namespace ops {
namespace {

// ---- cummax, cummin; attributes: axis, largest, reverse

int running_axis(const tape::Record& r) { return static_cast<int>(r.attributes()[0]); }

void running_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  dx[0] = put_along(g[0], spread(r, r.saved(0)), r.batched(r.shape(0)), running_axis(r) + r.batch_rank());
}
void running_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  dy[0] = take_along(t[0], r.saved(0), running_axis(r));
}
void infer_extreme(const Call& call, Metas& out) {
  out.add_like(call.input(0));
  out.add(DType::int64, call.input(0).shape());
}
void evaluate_extreme(const Call& call, Outputs& out) {
  Tensor copied;
  loops::running_extreme(loops::contiguous(call.input(0), copied), static_cast<int>(call.attribute(0)),
                         call.attribute(1) != 0, call.attribute(2) != 0, out[0], out[1]);
}
// The text, with the number of axes from that of the call on in place of a question mark. In it #0 is the extent of the
// axis, #1 the product of those behind, #2 and #3 are the attributes behind the axis.
void write_along(const Call& call, csource::Writer& w, DType real, const char* text) {
  const Shape& shape = w.input(0).shape;
  const std::int64_t axis = call.attribute(0);
  std::int64_t inner = 1;
  for (int d = static_cast<int>(axis) + 1; d < shape.rank(); ++d) inner *= shape.begin()[d];
  csource::write_steps(
      w, real, csource::filled(text, "?", {std::to_string(shape.rank() - axis)}),
      {shape.begin()[axis], inner, call.attribute(1), call.attributes.size() > 2 ? call.attribute(2) : 0});
}
void write_running(const Call& call, csource::Writer& w) {
  const DType d = call.input(0).dtype();
  write_along(call, w, is_differentiable(d) || d == DType::int64 ? d : DType::float64,
              "temp t0 real i0\ncopy i0 t0\ntemp t1 real i0\nfor t0:? t1:? o1:?\n"
              "$running(t0, t1, o1, #0, #1, #2, #3)\ncopy t1 o0");
}
constexpr Primitive running_primitive = {.rule = batched({"running_extreme", running_vjp, running_jvp}),
                                         .infer = infer_extreme,
                                         .evaluate = evaluate_extreme,
                                         .keeps = {keep_output(1)},
                                         .auxiliary = 1,
                                         .write_c = write_running};

RunningExtreme running_extreme(const char* op, const Operand& operand, std::int64_t axis, bool largest, bool reverse) {
  const tape::OpScope scope(operand);
  const Tensor x = ordered(op, operand);
  const int a = normalize(op, axis, x);
  const Tensor* in[] = {&x};
  Tensor both[2];
  apply(running_primitive, in, words(a, largest, reverse), both);
  return {both[0], both[1]};
}

// ---- The factors w and c. Inputs: x and z; attributes: axis, reverse. Those of infinite sums are constant.

void infer_running_shares(const Call& call, Metas& out) {
  out.add_like(call.input(0));
  out.add_like(call.input(0));
}
void evaluate_running_shares(const Call& call, Outputs& out) {
  Tensor copied[2];
  loops::log_running_shares(loops::contiguous(call.input(0), copied[0]), loops::contiguous(call.input(1), copied[1]),
                            static_cast<int>(call.attribute(0)), call.attribute(1) != 0, out[0], out[1]);
}
// dw / dx and dc / dz[i-1]: the factors themselves, or 0 where they are constant. Saved: z, w, c.
struct Slopes {
  int axis;
  bool reverse;
  Tensor weights, carries;
  explicit Slopes(const tape::Record& r) : axis(running_axis(r)), reverse(r.attributes()[1] != 0) {
    const Tensor constant = isinf(r.saved(0));
    weights = where(constant, 0, r.saved(1));
    carries = where(constant, 0, r.saved(2));
  }
};
void shares_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const Slopes s(r);
  const Tensor by_weights = g[0] * s.weights;
  if (r.wanted(0)) dx[0] = by_weights;
  if (!r.wanted(1)) return;
  const Tensor by_carries = g[1] * s.carries;
  dx[1] = shift(by_carries, s.axis + r.batch_rank(), !s.reverse) - by_carries - by_weights;
}
void shares_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  const Slopes s(r);
  const Tensor zero = zeros({}, r.output_dtype());
  const Tensor tx = t[0].defined() ? t[0] : zero, tz = t[1].defined() ? t[1] : broadcast_to(zero, r.output_shape());
  dy[0] = s.weights * (tx - tz);
  dy[1] = s.carries * (shift(tz, s.axis, s.reverse) - tz);
}
void write_running_shares(const Call& call, csource::Writer& w) {
  write_along(call, w, call.input(0).dtype(), "for i0:? i1:? o0:? o1:?\n$log_sum_weights(i0, i1, o0, o1, #0, #1, #2)");
}
constexpr Primitive running_shares_primitive = {.rule = batched({"logcumsumexp.shares", shares_vjp, shares_jvp}),
                                                .infer = infer_running_shares,
                                                .evaluate = evaluate_running_shares,
                                                .keeps = {keep_input(1), keep_output(0), keep_output(1)},
                                                .write_c = write_running_shares};

// ---- logcumsumexp; attributes: axis, reverse

struct RunningShares {
  Tensor w, c;
  explicit RunningShares(const tape::Record& r) {
    const Tensor* in[] = {&r.saved(0), &r.saved(1)};
    Tensor both[2];
    apply(running_shares_primitive, in, r.attributes(), both);
    w = both[0];
    c = both[1];
  }
};
void logcumsumexp_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const RunningShares s(r);
  dx[0] = s.w * recurrence(spread(r, s.c), g[0], running_axis(r) + r.batch_rank(), true, r.attributes()[1] == 0);
}
void logcumsumexp_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  const RunningShares s(r);
  dy[0] = recurrence(s.c, s.w * t[0], running_axis(r), false, r.attributes()[1] != 0);
}
void infer_logcumsumexp(const Call& call, Metas& out) { out.add_like(call.input(0)); }
void evaluate_logcumsumexp(const Call& call, Outputs& out) {
  Tensor copied;
  loops::log_running_sum(loops::contiguous(call.input(0), copied), static_cast<int>(call.attribute(0)),
                         call.attribute(1) != 0, out[0]);
}
void write_logcumsumexp(const Call& call, csource::Writer& w) {
  write_along(call, w, call.input(0).dtype(), "for i0:? o0:?\n$log_sums(i0, o0, #0, #1, #2)");
}
constexpr Primitive logcumsumexp_primitive = {.rule = batched({"logcumsumexp", logcumsumexp_vjp, logcumsumexp_jvp}),
                                              .infer = infer_logcumsumexp,
                                              .evaluate = evaluate_logcumsumexp,
                                              .keeps = {keep_input(0), keep_output(0)},
                                              .write_c = write_logcumsumexp};

// The sums before each element: shifted by one place, filled with -inf.
Tensor exclusive_of(const Tensor& z, int axis, bool reverse) {
  const std::int64_t n = z.shape()[axis];
  if (n == 0) return z;
  detail::List<SliceItem> items(static_cast<std::size_t>(axis));
  items.push_back(reverse ? range(1, n) : range(0, n - 1));
  Shape edge = z.shape();
  edge[axis] = 1;
  const Tensor kept = slice(z, items), none_yet = full(edge, -std::numeric_limits<double>::infinity(), z.dtype());
  return reverse ? concatenate({kept, none_yet}, axis) : concatenate({none_yet, kept}, axis);
}

}  // namespace
}  // namespace ops

RunningExtreme cummax(const Operand& x, std::int64_t axis, bool reverse) {
  return ops::running_extreme("cummax", x, axis, true, reverse);
}
RunningExtreme cummin(const Operand& x, std::int64_t axis, bool reverse) {
  return ops::running_extreme("cummin", x, axis, false, reverse);
}

Tensor logcumsumexp(const Operand& operand, std::int64_t axis, bool exclusive, bool reverse) {
  const tape::OpScope scope(operand);
  const Tensor uncast = ops::to_tensor("logcumsumexp", operand);
  const int a = ops::normalize("logcumsumexp", axis, uncast);
  return ops::in_full_precision("logcumsumexp", uncast, ops::Accept::real, [&](const Tensor& x) {
    const Tensor z = ops::apply(ops::logcumsumexp_primitive, {&x}, ops::words(a, reverse));
    return exclusive ? ops::exclusive_of(z, a, reverse) : z;
  });
}

}  // namespace reel
