// Positions in sorted sequences, and distinct elements.
#include "loops/sort/search.hpp"

#include <reel/ops/make.hpp>

#include "csource/steps.hpp"
#include "loops/sort/sort.hpp"
#include "ops/sort/order.hpp"

namespace reel {
namespace ops {
namespace {

// Inputs: sorted, values. Attributes: right.
void infer_search(const Call& call, Metas& out) { out.add(DType::int64, call.input(1).shape()); }
void evaluate_search(const Call& call, Outputs& out) {
  Tensor copied_sorted, copied_values;
  loops::search_rows(loops::contiguous(call.input(0), copied_sorted), loops::contiguous(call.input(1), copied_values),
                     call.attribute(0) != 0, out[0]);
}
void write_search(const Call& call, csource::Writer& w) {
  const DType d = call.input(0).dtype();
  if (!is_differentiable(d)) csource::fail_without_form(w);
  csource::write_steps(w, d, "for i0:1 i1:1 o0:1\n$search(i0, #0, i1, o0, #1, #2)",
                       {call.input(0).shape()[-1], call.input(1).shape()[-1], call.attribute(0)});
}
constexpr Primitive search_primitive = {
    .rule = {.name = "searchsorted"}, .infer = infer_search, .evaluate = evaluate_search, .write_c = write_search};

Tensor search(const char* op, const Operand& sorted_operand, const Operand& values_operand, bool right,
              const char* names[2]) {
  const Operand* both[] = {&sorted_operand, &values_operand};
  const DType dtype = common_dtype(op, both);
  const Tensor sorted = ordered(op, to_tensor(op, sorted_operand, dtype, names[0]), names[0]);
  const Tensor values = to_tensor(op, values_operand, dtype, names[1]);
  const Shape table = sorted.shape();
  bool fits = table.rank() == 1 || (table.rank() > 1 && table.rank() == values.rank());
  for (int d = 0; fits && table.rank() > 1 && d + 1 < table.rank(); ++d) fits = table[d] == values.shape()[d];
  if (!fits)
    fail<ShapeError>(op, "{} has shape {}, {} {}: the former must have one axis, or the same leading axes", names[0],
                     table, names[1], values.shape());
  if (values.rank() > 0) return apply(search_primitive, {&sorted, &values}, words(right));
  const Tensor one = reshape(values, {1});
  return reshape(apply(search_primitive, {&sorted, &one}, words(right)), {});
}

// Inputs: x, of rank 1, and its order, unless it can be counted. Attributes: the number of distinct elements. Elements
// behind these are not read.
void infer_distinct(const Call& call, Metas& out) {
  out.add(DType::int64, {call.attribute(0)});
  out.add(DType::int64, call.input(0).shape());
  out.add(DType::int64, {call.attribute(0)});
}
void evaluate_distinct(const Call& call, Outputs& out) {
  const Tensor& x = call.input(0);
  if (call.inputs.size() > 1) return loops::distinct_elements(x, call.input(1), out[0], out[1], out[2]);
  if (loops::distinct_elements_in_range(x, out[0], out[1], out[2])) return;
  const Tensor order = detail::empty(DType::int64, x.shape());
  loops::argsort_rows(x, false, order);
  loops::distinct_elements(x, order, out[0], out[1], out[2]);
}
constexpr Primitive distinct_primitive = {
    .rule = {.name = "unique"}, .infer = infer_distinct, .evaluate = evaluate_distinct};

}  // namespace
}  // namespace ops

Tensor searchsorted(const Operand& sorted, const Operand& values, bool right) {
  const tape::OpScope scope(sorted);
  const char* names[] = {"sorted", "values"};
  return ops::search("searchsorted", sorted, values, right, names);
}

Tensor digitize(const Operand& x, const Operand& bins, bool right) {
  const tape::OpScope scope(x);
  const char* names[] = {"bins", "x"};
  return ops::search("digitize", bins, x, !right, names);
}

Unique unique(const Operand& operand) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::ordered("unique", operand);
  ops::require_extents("unique", x, "count with sort and comparisons, whose results have a fixed size");
  const Tensor flat = contiguous(reshape(x, {-1}));
  Tensor order, places[3];
  std::int64_t count = loops::count_distinct_in_range(flat);
  const bool counted = count >= 0;
  if (!counted) {
    order = argsort(flat);
    count = loops::count_distinct(flat, order);
  }
  const Tensor* in[] = {&flat, &order};
  ops::apply(ops::distinct_primitive, std::span(in).first(counted ? 1 : 2), ops::words(count), places);
  return {ops::gather_at(flat, places[0], 0), places[0], reshape(places[1], x.shape()), places[2]};
}

}  // namespace reel
