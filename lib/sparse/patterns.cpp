// Sparsity patterns: the one check that every function of patterns relies on, the row of each position, and lists made
// of patterns and back.
#include "sparse/patterns.hpp"

#include <algorithm>
#include <numeric>
#include <reel/ops/indexing.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/pointwise.hpp>

#include "core/block.hpp"
#include "core/fail.hpp"
#include "linalg/csr_rows.hpp"
#include "linalg/matrices.hpp"
#include "ops/apply/apply.hpp"
#include "ops/apply/operation.hpp"
#include "ops/attributes.hpp"
#include "ops/engine.hpp"
#include "program/trace.hpp"

namespace reel {

namespace autodiff {

namespace {

void check_shapes(const char* op, const SparsityPattern& p) {
  if (p.shape.rank() != 2 || p.shape[0] < 0 || p.shape[1] < 0)
    fail<ShapeError>(op, "the pattern has shape {}, must have rows and columns", p.shape);
  for (const Tensor* x : {&p.row_starts, &p.columns}) {
    if (!x->defined()) fail<ValueError>(op, "the pattern is empty; make it with coo_to_csr or jacobian_sparsity");
    if (x->dtype() != DType::int64 || x->rank() != 1)
      fail<TypeError>(op, "row_starts and columns of the pattern must be int64 vectors, not {} of shape {}", x->dtype(),
                      x->shape());
  }
  if (p.row_starts.size() < 1 || p.row_starts.size() - 1 != p.shape[0])
    fail<ValueError>(op,
                     "row_starts of the pattern has {} elements, must have one for each of {} rows and one for the end",
                     p.row_starts.size(), p.shape[0]);
}

[[noreturn]] void fail_elements(const char* op, const loops::BadPattern& bad, std::int64_t column_count) {
  using enum loops::BadPattern::Kind;
  switch (bad.kind) {
    case first_start:
      fail<ValueError>(op, "row_starts of the pattern begins with {}, must begin with 0", bad.value);
    case last_start:
      fail<ValueError>(op, "row_starts of the pattern ends with {}, must end with the number of its columns, {}",
                       bad.value, bad.at);
    case start:
      fail<ValueError>(op, "row_starts[{}] of the pattern is {}, less than the one before, {}; coo_to_csr makes them",
                       bad.at, bad.value, bad.before);
    case column_range:
      fail<IndexError>(op, "columns[{}] of the pattern, in row {}, is {}, must be in [0, {})", bad.at, bad.row,
                       bad.value, column_count);
    default:
      fail<ValueError>(op, "columns[{}] of the pattern, in row {}, is {} after {}: must ascend; coo_to_csr sorts them",
                       bad.at, bad.row, bad.value, bad.before);
  }
}

// rows[k] = the row of position k; rows may be empty. Throws unless the elements form a pattern.
void fill_rows(const char* op, std::int64_t column_count, const Tensor& row_starts, const Tensor& columns,
               const Tensor& rows) {
  if (const auto bad = loops::find_pattern_rows(row_starts, columns, column_count, rows))
    fail_elements(op, bad, column_count);
}

Tensor row_indices(const char* op, const SparsityPattern& p) {
  const Tensor rows = detail::empty(DType::int64, p.columns.shape());
  fill_rows(op, p.shape[1], p.row_starts, p.columns, rows);
  return rows;
}

// The same as an instruction of a program; inputs: row_starts, columns; attributes: the address of the op's name, a
// literal, and the number of columns.
void infer_rows(const ops::Call& call, ops::Metas& out) { out.add(DType::int64, call.input(1).shape()); }
void evaluate_rows(const ops::Call& call, ops::Outputs& out) {
  fill_rows(reinterpret_cast<const char*>(call.attribute(0)), call.attribute(1), call.input(0), call.input(1), out[0]);
}
constexpr ops::Primitive rows_primitive = {.rule = {.name = "pattern_rows"},
                                           .infer = infer_rows,
                                           .evaluate = evaluate_rows,
                                           .constants = 2,
                                           .effects = ops::may_throw};

Tensor rows_of(const char* op, const SparsityPattern& p) {
  check_shapes(op, p);
  const Tensor* const inputs[] = {&p.row_starts, &p.columns};
  if (!ops::any_abstract(inputs)) return row_indices(op, p);
  return ops::apply(rows_primitive, inputs, ops::words(reinterpret_cast<std::intptr_t>(op), p.shape[1]));
}

}  // namespace

CheckedPattern::CheckedPattern(const char* op, const SparsityPattern& pattern)
    : pattern_(pattern), rows_(rows_of(op, pattern)) {}

void require_values(const char* op, const SparsityPattern& pattern, const Tensor& values) {
  ops::require_defined(op, values, "values");
  if (values.shape() != Shape{pattern.nonzeros()})
    fail<ShapeError>(op, "values have shape {}, the pattern has {} places", values.shape(), pattern.nonzeros());
}

SparsityPattern to_pattern(const CompressedRows& rows) {
  return {{rows.row_count(), rows.column_count}, from_data(rows.starts), from_data(rows.columns)};
}

CompressedRows to_rows(const char* op, const SparsityPattern& p) {
  check_shapes(op, p);
  fill_rows(op, p.shape[1], p.row_starts, p.columns, {});
  return {p.shape[1], p.row_starts.to_vector<std::int64_t>(), p.columns.to_vector<std::int64_t>()};
}

}  // namespace autodiff

Tensor SparsityPattern::rows() const { return autodiff::CheckedPattern("SparsityPattern::rows", *this).rows(); }

namespace {

using Numbers = std::vector<std::int64_t>;

// The pattern of pairs, and of each pair the index of its position.
struct PatternPositions {
  autodiff::CompressedRows pattern;
  Numbers of;
};
PatternPositions positions_of(const char* op, const Tensor& rows, const Tensor& columns, const Shape& shape) {
  if (shape.rank() != 2 || shape[0] < 0 || shape[1] < 0)
    fail<ShapeError>(op, "the shape is {}, must be of rows and columns", shape);
  if (rows.rank() != 1 || rows.shape() != columns.shape())
    fail<ShapeError>(op, "rows have shape {}, columns {}: both must be vectors of one length", rows.shape(),
                     columns.shape());
  if (!is_integer(rows.dtype()) || !is_integer(columns.dtype()))
    fail<TypeError>(op, "rows are {}, columns {}: both must be integers", rows.dtype(), columns.dtype());
  const auto values_of = [&](const Tensor& x) {
    if (ops::is_abstract(x)) return ops::named(op, [&] { return x.to_vector<std::int64_t>(); });  // throws
    const program::Untraced computing;
    return cast(x, DType::int64).to_vector<std::int64_t>();
  };
  const Numbers i = values_of(rows), j = values_of(columns);
  Numbers starts(static_cast<std::size_t>(shape[0]) + 1, 0);
  for (std::size_t k = 0; k < i.size(); ++k) {
    if (i[k] < 0 || i[k] >= shape[0] || j[k] < 0 || j[k] >= shape[1])
      fail<IndexError>(op, "place {}, ({}, {}), is out of range for shape {}", k, i[k], j[k], shape);
    ++starts[static_cast<std::size_t>(i[k]) + 1];
  }
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  std::vector<std::pair<std::int64_t, std::size_t>> sorted(i.size());  // column and pair, row by row
  Numbers next(starts.begin(), starts.end() - 1);
  for (std::size_t k = 0; k < i.size(); ++k)
    sorted[static_cast<std::size_t>(next[static_cast<std::size_t>(i[k])]++)] = {j[k], k};
  PatternPositions made{{shape[1], {0}, {}}, Numbers(i.size())};
  Numbers& list = made.pattern.columns;
  for (std::size_t row = 0; row + 1 < starts.size(); ++row) {
    const auto begin = sorted.begin() + starts[row], end = sorted.begin() + starts[row + 1];
    if (!std::is_sorted(begin, end)) std::sort(begin, end);
    for (auto at = begin; at != end; ++at) {
      if (at == begin || at->first != list.back()) list.push_back(at->first);
      made.of[at->second] = static_cast<std::int64_t>(list.size()) - 1;
    }
    made.pattern.starts.push_back(static_cast<std::int64_t>(list.size()));
  }
  return made;
}

}  // namespace

SparsityPattern coo_to_csr(const Tensor& rows, const Tensor& columns, const Shape& shape) {
  return autodiff::to_pattern(positions_of("coo_to_csr", rows, columns, shape).pattern);
}

Csr coo_to_csr(const Tensor& rows, const Tensor& columns, const Tensor& values, const Shape& shape) {
  constexpr const char* op = "coo_to_csr";
  ops::require_defined(op, values, "values");
  if (values.shape() != rows.shape())
    fail<ShapeError>(op, "values have shape {}, rows {}: there must be one for each pair", values.shape(),
                     rows.shape());
  const PatternPositions made = positions_of(op, rows, columns, shape);
  const std::int64_t count = static_cast<std::int64_t>(made.pattern.columns.size());
  return {autodiff::to_pattern(made.pattern), segment_sum(values, from_data(made.of), count)};
}

}  // namespace reel
