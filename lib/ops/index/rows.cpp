// Distinct rows of slices, and writing rows: what optimisers and Variable::assign_sub do with a sparse gradient.
#include "ops/index/rows.hpp"

#include <reel/ops/pointwise.hpp>

#include "loops/index/table_rows.hpp"
#include "loops/loops.hpp"
#include "tape/tape.hpp"

namespace reel {

namespace ops {

Rows distinct_rows(const char* op, const IndexedSlices& s) {
  check_slices(op, s);
  const Tensor positions = checked_indices(op, s.indices, 0, s.dense_shape[0]);
  const loops::DistinctPositions distinct = loops::distinct(positions);
  if (!distinct.positions.defined()) return {positions, s.values};
  Shape shape = s.dense_shape;
  shape[0] = distinct.positions.size();
  return {distinct.positions, scatter_rows(s.values, distinct.places, shape, 0)};
}

void make_writable(Tensor& x) {
  if (detail::reusable(detail::block(x))) {
    detail::renew(detail::block(x));
  } else {
    Tensor copy = detail::empty(x.dtype(), x.shape());
    loops::copy(x, copy);
    x = std::move(copy);
  }
}

void put_rows(Tensor& table, const Tensor& indices, const Tensor& given) {
  const Tensor values = loops::contiguous(given);
  make_writable(table);
  loops::put_rows(values, indices, table);
}

namespace {

using Combine = Tensor (*)(Tensor&&, const Tensor&);

void update(const char* op, const Variable& v, const Gradient& delta, Combine combine) {
  if (!delta) fail<ValueError>(op, "there is no gradient for variable '{}': {}", v.name(), delta.why_none());
  if (!delta.is_slices()) return VariableAccess::update(v, op, combine, delta.dense());
  const IndexedSlices slices = delta.slices();
  if (slices.dtype() != v.dtype())
    fail<TypeError>(op, "variable '{}' is {}, the value is {}; cast it", v.name(), v.dtype(), slices.dtype());
  if (slices.dense_shape != v.shape())
    fail<ShapeError>(op, "variable '{}' has shape {}, the value {}", v.name(), v.shape(), slices.dense_shape);
  const tape::Suspend suspended;
  const Rows rows = distinct_rows(op, slices);
  VariableAccess::modify(
      v, op, [&](Tensor& value) { put_rows(value, rows.indices, combine(gather(value, rows.indices), rows.values)); });
}

}  // namespace

}  // namespace ops

void Variable::assign_add(const Gradient& delta, const char* file, int line) const {
  const Operand caller(0, file, line);
  const tape::OpScope scope(caller);
  ops::update("Variable.assign_add", *this, delta, [](Tensor&& x, const Tensor& d) { return add(std::move(x), d); });
}
void Variable::assign_sub(const Gradient& delta, const char* file, int line) const {
  const Operand caller(0, file, line);
  const tape::OpScope scope(caller);
  ops::update("Variable.assign_sub", *this, delta,
              [](Tensor&& x, const Tensor& d) { return subtract(std::move(x), d); });
}

}  // namespace reel
