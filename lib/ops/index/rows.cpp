// Distinct rows of slices, and writing rows: what optimisers and Variable::assign_sub do with a sparse gradient.
#include "ops/index/rows.hpp"

#include <algorithm>
#include <cstring>
#include <reel/ops/pointwise.hpp>

#include "loops/loops.hpp"
#include "loops/parallel.hpp"
#include "tape/tape.hpp"

namespace reel {

namespace ops {

Rows distinct_rows(const char* op, const IndexedSlices& s) {
  check_slices(op, s);
  const Tensor indices = checked_indices(op, s.indices, 0, s.dense_shape[0]);
  const std::span<const std::int64_t> given = indices.data<std::int64_t>();
  if (std::adjacent_find(given.begin(), given.end(), std::greater_equal<>()) == given.end()) return {indices, s.values};
  std::vector<std::int64_t> rows(given.begin(), given.end());
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  const auto count = static_cast<std::int64_t>(rows.size());
  const Tensor distinct = detail::empty(DType::int64, {count}), place = detail::empty(DType::int64, indices.shape());
  std::copy(rows.begin(), rows.end(), detail::mutable_data<std::int64_t>(distinct));
  std::transform(given.begin(), given.end(), detail::mutable_data<std::int64_t>(place),
                 [&](std::int64_t row) { return std::lower_bound(rows.begin(), rows.end(), row) - rows.begin(); });
  Shape shape = s.dense_shape;
  shape[0] = count;
  return {distinct, scatter_rows(s.values, place, shape, 0)};
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

namespace {

// Calls copy(row of the table, row of the others, bytes) for each index.
template <class Copy>
void each_row(const Tensor& table, const Tensor& indices, const Tensor& rows, Copy copy) {
  if (rows.size() == 0) return;
  const std::int64_t count = indices.size(), elements = rows.size() / count;
  const std::int64_t bytes = elements * static_cast<std::int64_t>(item_size(table.dtype()));
  const auto* index = detail::mutable_data<std::int64_t>(indices);
  std::byte* in_table = detail::block(table)->data;
  std::byte* in_rows = detail::block(rows)->data;
  const std::int64_t grain = std::max<std::int64_t>(1, loops::parallel_threshold / elements);
  loops::parallel_for(count, grain, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k)
      copy(in_table + index[k] * bytes, in_rows + k * bytes, static_cast<std::size_t>(bytes));
  });
}

}  // namespace

void take_rows(const Tensor& table, const Tensor& indices, const Tensor& rows) {
  each_row(table, indices, rows, [](const std::byte* from, std::byte* to, std::size_t n) { std::memcpy(to, from, n); });
}

void put_rows(Tensor& table, const Tensor& indices, const Tensor& given) {
  const Tensor values = loops::contiguous(given);
  make_writable(table);
  each_row(table, indices, values,
           [](std::byte* to, const std::byte* from, std::size_t n) { std::memcpy(to, from, n); });
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
