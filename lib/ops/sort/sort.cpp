// Sorting and selection along the last axis; other axes are moved there. Selected elements are gathered by position, so
// that derivatives are those of take_along_axis.
#include "loops/sort/sort.hpp"

#include "csource/steps.hpp"
#include "loops/index/gather.hpp"
#include "ops/apply/operation.hpp"
#include "ops/sort/order.hpp"

namespace reel {
namespace ops {
namespace {

// In C integers are sorted as doubles, or as int64_t. In the steps t0 is the operand, #0 the number of elements of a
// row, #1 whether they descend, #2 and #3 are attributes.
#define REEL_COPIED "temp t0 real i0\ncopy i0 t0\ntemp t1 int64 #0\n"
void write_order(const Call& call, csource::Writer& w, const char* text, std::int64_t descending,
                 std::int64_t first = 0, std::int64_t count = 0) {
  const DType d = call.input(0).dtype();
  csource::write_steps(w, is_differentiable(d) || d == DType::int64 ? d : DType::float64, text,
                       {call.input(0).shape()[-1], descending, first, count});
}

// ---- sort; attributes: descending. The permutation is a residual.

int sorted_axis(const tape::Record& r) { return r.output_shape().rank() - 1; }

Tensor sort_transpose(const tape::Record& r, const Tensor& g) {
  const Tensor& order = r.saved(0);
  const Shape shape = r.batched(order.shape());
  return put_along(g, r.batch_rank() ? broadcast_to(order, shape) : order, shape, shape.rank() - 1);
}
Tensor sort_forward(const tape::Record& r, const Tensor& t) { return take_along(t, r.saved(0), sorted_axis(r)); }

void infer_sort(const Call& call, Metas& out) {
  out.add_like(call.input(0));
  out.add(DType::int64, call.input(0).shape());
}
void evaluate_sort(const Call& call, Outputs& out) {
  Tensor copied;
  const Tensor& x = loops::contiguous(call.input(0), copied);
  const bool descending = call.attribute(0) != 0;
  if (!out.residuals_wanted()) return loops::sort_rows(x, descending, out[0]);
  loops::argsort_rows(x, descending, out[1]);
  loops::take_along(x, out[1], x.rank() - 1, out[0]);
}
void write_sort(const Call& call, csource::Writer& w) {
  write_order(call, w,
              w.wanted(1) ? REEL_COPIED
                  "temp t2 real i0\nfor t0:1 t2:1 o1:1\n$sorted(t0, t2, o1, t1, #0, #1)\ncopy t2 o0"
                          : REEL_COPIED
                  "temp t2 real i0\ntemp t3 int64 #0\nfor t0:1 t2:1\n"
                  "$sorted(t0, t2, t3, t1, #0, #1)\ncopy t2 o0",
              call.attribute(0));
}
constexpr Primitive sort_primitive = {.rule = linear<sort_transpose, sort_forward>("sort"),
                                      .infer = infer_sort,
                                      .evaluate = evaluate_sort,
                                      .keeps = {keep_output(1)},
                                      .residuals = 1,
                                      .write_c = write_sort};

// ---- positions; attributes: first and last rank, descending

void infer_select(const Call& call, Metas& out) {
  Shape shape = call.input(0).shape();
  shape[-1] = call.attribute(1) - call.attribute(0);
  out.add(DType::int64, shape);
}
void evaluate_select(const Call& call, Outputs& out) {
  Tensor copied;
  const std::int64_t first = call.attribute(0), last = call.attribute(1);
  if (out[0].size() != 0)
    loops::select_rows(loops::contiguous(call.input(0), copied), first, last, call.attribute(2) != 0, out[0]);
}
void write_select(const Call& call, csource::Writer& w) {
  write_order(call, w,
              REEL_COPIED
              "temp t2 int64 #0\nfor t0:1 o0:1\n$order(t0, t2, t1, #0, #1)\n"
              "memcpy(o0, t2 + #2, #3 * sizeof(int64_t))",
              call.attribute(2), call.attribute(0), call.attribute(1) - call.attribute(0));
}
constexpr Primitive select_primitive = {
    .rule = {.name = "select"}, .infer = infer_select, .evaluate = evaluate_select, .write_c = write_select};

// Attributes: descending.
void infer_argsort(const Call& call, Metas& out) { out.add(DType::int64, call.input(0).shape()); }
void evaluate_argsort(const Call& call, Outputs& out) {
  Tensor copied;
  loops::argsort_rows(loops::contiguous(call.input(0), copied), call.attribute(0) != 0, out[0]);
}
void write_argsort(const Call& call, csource::Writer& w) {
  write_order(call, w, REEL_COPIED "for t0:1 o0:1\n$order(t0, o0, t1, #0, #1)", call.attribute(0));
}
constexpr Primitive argsort_primitive = {
    .rule = {.name = "argsort"}, .infer = infer_argsort, .evaluate = evaluate_argsort, .write_c = write_argsort};

// Attributes: the rank.
void evaluate_argpartition(const Call& call, Outputs& out) {
  Tensor copied;
  loops::partition_rows(loops::contiguous(call.input(0), copied), call.attribute(0), out[0]);
}
// In C all are in order.
void write_argpartition(const Call& call, csource::Writer& w) {
  write_order(call, w, REEL_COPIED "for t0:1 o0:1\n$order(t0, o0, t1, #0, #1)", 0);
}
constexpr Primitive argpartition_primitive = {.rule = {.name = "argpartition"},
                                              .infer = infer_argsort,
                                              .evaluate = evaluate_argpartition,
                                              .write_c = write_argpartition};

// ---- the ops

// x with an axis moved to the end, and back.
struct Moved {
  int axis;
  Tensor x;
  Moved(const char* op, const Operand& operand, std::int64_t requested) : x(ordered(op, operand)) {
    axis = normalize(op, requested, x);
    if (axis + 1 < x.rank()) x = moveaxis(x, axis, -1);
  }
  std::int64_t extent() const { return x.shape()[-1]; }
  Tensor back(const Tensor& y) const { return axis + 1 < y.rank() ? moveaxis(y, -1, axis) : y; }
};

Selected take_positions(const Moved& m, const Tensor& positions) {
  return {m.back(take_along(m.x, positions, m.x.rank() - 1)), m.back(positions)};
}

Tensor partition_order(const char* op, const Moved& m, std::int64_t kth) {
  const std::int64_t n = m.extent(), rank = kth < 0 ? kth + n : kth;
  if (rank < 0 || rank >= n)
    fail<ValueError>(op, "kth is {}; it must be in [-{}, {}), as the axis has {} elements", kth, n, n, n);
  return apply(argpartition_primitive, {&m.x}, words(rank));
}

}  // namespace

Tensor ordered(const char* op, const Operand& operand, const char* name) {
  const Tensor x = to_tensor(op, operand, name);
  if (is_complex(x.dtype()))
    fail<TypeError>(op, "complex numbers have no order: {} is {}; {}", name, x.dtype(), remedy(x.dtype()));
  return x;
}

Tensor select_last(const Tensor& x, std::int64_t first, std::int64_t last, bool descending) {
  return apply(select_primitive, {&x}, words(first, last, descending));
}

void require_extents(const char* op, const Tensor& x, const char* instead) {
  const Tensor* in[] = {&x};
  if (traced(in))
    fail<TraceError>(op,
                     "the extents of its result depend on elements of x, {} {}, but the function that computes them is "
                     "traced, and programs have fixed extents; {}",
                     x.dtype(), x.shape(), instead);
}

}  // namespace ops

Tensor sort(const Operand& operand, std::int64_t axis, bool descending) {
  const tape::OpScope scope(operand);
  const ops::Moved m("sort", operand, axis);
  return m.back(ops::apply(ops::sort_primitive, {&m.x}, ops::words(descending)));
}

Tensor argsort(const Operand& operand, std::int64_t axis, bool descending) {
  const tape::OpScope scope(operand);
  const ops::Moved m("argsort", operand, axis);
  return m.back(ops::apply(ops::argsort_primitive, {&m.x}, ops::words(descending)));
}

Selected top_k(const Operand& operand, std::int64_t k, std::int64_t axis, bool largest) {
  const tape::OpScope scope(operand);
  const ops::Moved m("top_k", operand, axis);
  if (k < 0 || k > m.extent())
    fail<ValueError>("top_k", "k is {}; it must be in [0, {}], the extent of axis {}", k, m.extent(), axis);
  return ops::take_positions(m, ops::select_last(m.x, 0, k, largest));
}

Selected kth_value(const Operand& operand, std::int64_t k, std::int64_t axis) {
  const tape::OpScope scope(operand);
  const ops::Moved m("kth_value", operand, axis);
  if (k < 1 || k > m.extent())
    fail<ValueError>("kth_value", "k is {}; it must be in [1, {}], the extent of axis {}", k, m.extent(), axis);
  const auto [values, indices] = ops::take_positions(m, ops::select_last(m.x, k - 1, k));
  return {squeeze(values, m.axis), squeeze(indices, m.axis)};
}

Tensor argpartition(const Operand& operand, std::int64_t kth, std::int64_t axis) {
  const tape::OpScope scope(operand);
  const ops::Moved m("argpartition", operand, axis);
  return m.back(ops::partition_order("argpartition", m, kth));
}

Tensor partition(const Operand& operand, std::int64_t kth, std::int64_t axis) {
  const tape::OpScope scope(operand);
  const ops::Moved m("partition", operand, axis);
  return ops::take_positions(m, ops::partition_order("partition", m, kth)).values;
}

}  // namespace reel
