// Distinct rows of slices, and writing rows: what optimisers and Variable::assign_sub do with a sparse gradient.
#include "ops/index/rows.hpp"

#include "loops/index/scatter.hpp"
#include "loops/index/table_rows.hpp"
#include "loops/loops.hpp"
#include "loops/make/fill.hpp"

namespace reel {

namespace ops {

Rows distinct_rows(const Tensor& positions, const Tensor& rows) {
  const loops::DistinctPositions distinct = loops::distinct(positions);
  if (!distinct.positions.defined()) return {positions, rows};
  Shape shape = rows.shape();
  shape[0] = distinct.positions.size();
  const Tensor sums = detail::empty(rows.dtype(), shape);
  loops::fill_zero(sums);
  loops::scatter_add(rows, distinct.places, 0, sums);
  return {distinct.positions, sums};
}
Rows distinct_rows(const char* op, const IndexedSlices& s) {
  check_slices(op, s);
  return distinct_rows(checked_indices(op, s.indices, 0, s.dense_shape[0]), s.values);
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

}  // namespace ops

}  // namespace reel
