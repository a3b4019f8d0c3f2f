// Rows of tables: how optimisers and Variable::assign_sub apply a sparse gradient.
#include "ops/index/rows.hpp"

#include <reel/ops/pointwise.hpp>
#include <reel/ops/reduce.hpp>
#include <reel/ops/shape.hpp>

#include "loops/elementwise/complex.hpp"
#include "loops/index/scatter.hpp"
#include "loops/index/table_rows.hpp"
#include "loops/loops.hpp"
#include "loops/make/fill.hpp"
#include "ops/apply/apply.hpp"
#include "ops/apply/operation.hpp"
#include "ops/engine.hpp"
#include "ops/index/scatter.hpp"
#include "tape/tape.hpp"

namespace reel {

namespace ops {

Rows check_rows(const char* op, const IndexedSlices& s) {
  check_slices(op, s);
  return {check_indices(op, s.indices, 0, s.dense_shape[0]), s.values};
}

Rows distinct_rows(Rows rows) {
  const loops::DistinctPositions distinct = loops::distinct(rows.indices);
  if (!distinct.positions.defined()) return rows;
  Shape shape = rows.values.shape();
  shape[0] = distinct.positions.size();
  const Tensor sums = detail::empty(rows.values.dtype(), shape);
  loops::fill_zero(sums);
  loops::scatter_add(rows.values, distinct.places, 0, sums);
  return {distinct.positions, sums};
}

namespace {

// Whether a copy of the tensor per slice, which a recorded sum makes, costs less than one of all slices.
bool is_small(std::span<const IndexedSlices> slices) {
  std::int64_t elements = 0;
  for (const IndexedSlices& s : slices) elements += s.values.size();
  return slices[0].dense_shape.elements() * static_cast<std::int64_t>(slices.size()) <= elements;
}

}  // namespace

Tensor sum_of_slices(std::span<const IndexedSlices> slices) {
  constexpr const char* op = "IndexedSlices.dense";
  constexpr std::int64_t warned_elements = 100'000'000;  // dense() warns
  const DType dtype = slices[0].values.dtype();
  const Shape& shape = slices[0].dense_shape;
  if (is_half(dtype) || shape.elements() >= warned_elements) return {};
  bool is_unobserved = true;
  for (const IndexedSlices& s : slices) {
    const Tensor* const both[] = {&s.values, &s.indices};
    is_unobserved = is_unobserved && unobserved(both);
    if (s.values.dtype() != dtype || s.dense_shape != shape) return {};
  }
  if (!is_unobserved && !is_small(slices)) return {};
  Tensor sum;
  for (const IndexedSlices& s : slices) {
    const Rows rows = check_rows(op, s);
    if (!is_unobserved) {
      sum = sum.defined() ? scatter_add_at(sum, rows.values, rows.indices, 0)
                          : scatter_rows(rows.values, rows.indices, shape, 0);
      continue;
    }
    if (!sum.defined()) {
      sum = detail::empty(dtype, shape);
      loops::fill_zero(sum);
    }
    loops::scatter_add(rows.values, rows.indices, 0, sum);
  }
  return sum;
}

namespace {

// ---- inputs: values, positions; for each row the sum of the rows at its position. The matrix of this linear function
// is symmetric.

void infer_equal_rows(const Call& call, Metas& out) { out.add_like(call.input(0)); }
void evaluate_equal_rows(const Call& call, Outputs& out) {
  const loops::DistinctPositions distinct = loops::distinct(call.input(1));
  if (!distinct.positions.defined()) return loops::copy(call.input(0), out[0]);
  const Rows rows = distinct_rows({call.input(1), call.input(0)});
  loops::take_rows(rows.values, distinct.places, out[0]);
}
Tensor sum_equal_rows(const Tensor& values, const Tensor& positions);
constexpr Primitive equal_rows_primitive = {
    .rule = {"sum_equal_rows",
             [](const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
               dx[0] = sum_equal_rows(g[0], r.saved(0));
             },
             [](const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
               dy[0] = sum_equal_rows(t[0], r.saved(0));
             }},
    .infer = infer_equal_rows,
    .evaluate = evaluate_equal_rows,
    .keeps = {keep_input(1)},
    .constants = 1};
Tensor sum_equal_rows(const Tensor& values, const Tensor& positions) {
  return apply(equal_rows_primitive, {&values, &positions});
}

// ---- inputs: values, positions; the norm of all elements, rows at equal positions summed

void infer_norm_of_rows(const Call& call, Metas& out) {
  const DType d = call.input(0).dtype();
  out.add(is_complex(d) ? loops::part_dtype(d) : d, {});
}
void evaluate_norm_of_rows(const Call& call, Outputs& out) {
  const tape::Suspend unseen;
  loops::copy(norm(abs(distinct_rows({call.input(1), call.input(0)}).values)), out[0]);
}
// The elements divided by the norm; zeros where it is 0.
Tensor direction(const tape::Record& r) {
  const Tensor &values = r.saved(0), &length = r.saved(2);
  const Tensor factor = where(equal(length, 0), 0, 1 / length);
  return sum_equal_rows(values, r.saved(1)) * cast(factor, values.dtype());
}
constexpr Primitive norm_of_rows_primitive = {
    .rule = {"norm",
             [](const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
               dx[0] = direction(r) * cast(g[0], r.dtype(0));
             },
             [](const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
               const Tensor d = direction(r);
               dy[0] = is_complex(d.dtype()) ? sum(real(conj(d) * t[0])) : sum(d * t[0]);
             }},
    .infer = infer_norm_of_rows,
    .evaluate = evaluate_norm_of_rows,
    .keeps = {keep_input(0), keep_input(1), keep_output(0)},
    .constants = 1};

}  // namespace

Tensor norm_of_rows(const Rows& rows) { return apply(norm_of_rows_primitive, {&rows.values, &rows.indices}); }

void make_writable(Tensor& x) {
  if (detail::reusable(detail::block(x))) {
    detail::renew(detail::block(x));
  } else {
    Tensor copy = detail::empty(x.dtype(), x.shape());
    loops::copy(x, copy);
    x = std::move(copy);
  }
}

}  // namespace ops

}  // namespace reel
