// Rows of tables: how optimisers and Variable::assign_sub apply a sparse gradient.
#include "ops/index/rows.hpp"

#include "loops/index/scatter.hpp"
#include "loops/index/table_rows.hpp"
#include "loops/loops.hpp"
#include "loops/make/fill.hpp"

namespace reel {

namespace ops {

Rows checked_rows(const char* op, const IndexedSlices& s) {
  check_slices(op, s);
  return {checked_indices(op, s.indices, 0, s.dense_shape[0]), s.values};
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
