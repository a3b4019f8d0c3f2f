// Sparse matrices made from others: a pattern, and for each of its values which values of the operands it comes from.
#include <algorithm>
#include <limits>
#include <numeric>
#include <reel/ops/index.hpp>
#include <reel/ops/indexing.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/ops/reduce.hpp>
#include <reel/ops/shape.hpp>

#include "core/fail.hpp"
#include "linalg/matrices.hpp"
#include "sparse/patterns.hpp"

namespace reel {

namespace {

using Indices = std::vector<std::int64_t>;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

autodiff::CheckedPattern check_pattern(const char* op, const Csr& a) {
  autodiff::CheckedPattern pattern(op, a.pattern);
  autodiff::require_values(op, a.pattern, a.values);
  return pattern;
}
autodiff::CompressedRows check_rows(const char* op, const Csr& a) {
  autodiff::CompressedRows rows = autodiff::to_rows(op, a.pattern);
  autodiff::require_values(op, a.pattern, a.values);
  return rows;
}

// The columns of one row at a time, in any order and repeatedly; then places of all of them in the pattern.
class RowUnion {
 public:
  explicit RowUnion(std::int64_t columns) : pattern_{columns, {0}, {}}, place_(at(columns), -1) {}
  void add(std::int64_t column) {
    if (place_[at(column)] < pattern_.starts.back()) {
      place_[at(column)] = std::numeric_limits<std::int64_t>::max();  // in this row
      pattern_.columns.push_back(column);
    }
  }
  void finish_row() {
    std::sort(pattern_.columns.begin() + pattern_.starts.back(), pattern_.columns.end());
    for (std::size_t k = at(pattern_.starts.back()); k < pattern_.columns.size(); ++k)
      place_[at(pattern_.columns[k])] = static_cast<std::int64_t>(k);
    pattern_.starts.push_back(static_cast<std::int64_t>(pattern_.columns.size()));
  }
  // Of a column of the row that was finished last.
  std::int64_t place(std::int64_t column) const { return place_[at(column)]; }
  const autodiff::CompressedRows& pattern() const { return pattern_; }

 private:
  autodiff::CompressedRows pattern_;
  Indices place_;  // of each column, in the last row that has it
};

}  // namespace

Csr to_csr(const Tensor& dense, const SparsityPattern& pattern) {
  constexpr const char* op = "to_csr";
  const autodiff::CheckedPattern positions(op, pattern);
  if (dense.shape() != pattern.shape)
    fail<ShapeError>(op, "the matrix has shape {}, the pattern {}", dense.shape(), pattern.shape);
  return {pattern, index(dense, {positions.rows(), positions.columns()})};
}

Csr to_csr(const Tensor& dense) {
  if (dense.rank() != 2)
    fail<ShapeError>("to_csr", "the matrix has shape {}, must have rows and columns", dense.shape());
  const std::vector<Tensor> places = ops::named("to_csr", [&] { return nonzero(dense); });
  return to_csr(dense, coo_to_csr(places[0], places[1], dense.shape()));
}

Csr transpose(const Csr& a) {
  const autodiff::CompressedRows rows = check_rows("transpose", a);
  const autodiff::CompressedRows result = autodiff::transpose(rows);
  Indices next(result.starts.begin(), result.starts.end() - 1), from(rows.columns.size());
  std::int64_t k = 0;
  for (std::int64_t i = 0; i < rows.row_count(); ++i)
    for (const std::int64_t j : rows.row(i)) from[at(next[at(j)]++)] = k++;
  return {autodiff::to_pattern(result), gather(a.values, from_data(from))};
}

Csr add(const Csr& a, const Csr& b) {
  const autodiff::CompressedRows left = check_rows("add", a), right = check_rows("add", b);
  if (a.pattern.shape != b.pattern.shape)
    fail<ShapeError>("add", "the matrices are {} and {}; they must have the same shape", a.pattern.shape,
                     b.pattern.shape);
  RowUnion sums(left.column_count);
  Indices of_left, of_right;
  for (std::int64_t i = 0; i < left.row_count(); ++i) {
    for (const std::int64_t j : left.row(i)) sums.add(j);
    for (const std::int64_t j : right.row(i)) sums.add(j);
    sums.finish_row();
    for (const std::int64_t j : left.row(i)) of_left.push_back(sums.place(j));
    for (const std::int64_t j : right.row(i)) of_right.push_back(sums.place(j));
  }
  of_left.insert(of_left.end(), of_right.begin(), of_right.end());
  const SparsityPattern pattern = autodiff::to_pattern(sums.pattern());
  return {pattern, segment_sum(concatenate({a.values, b.values}), from_data(of_left), pattern.nonzeros())};
}

Csr matmul(const Csr& a, const Csr& b) {
  const autodiff::CompressedRows left = check_rows("matmul", a), right = check_rows("matmul", b);
  if (a.pattern.shape[1] != b.pattern.shape[0])
    fail<ShapeError>("matmul", "inner dimensions differ: a is {}, b is {}", a.pattern.shape, b.pattern.shape);
  RowUnion sums(right.column_count);
  Indices of_left, of_right, place;  // of each product of elements
  for (std::int64_t i = 0; i < left.row_count(); ++i) {
    for (const std::int64_t k : left.row(i))
      for (const std::int64_t j : right.row(k)) sums.add(j);
    sums.finish_row();
    std::int64_t element = left.starts[at(i)];
    for (const std::int64_t k : left.row(i)) {
      std::int64_t other = right.starts[at(k)];
      for (const std::int64_t j : right.row(k)) {
        of_left.push_back(element);
        of_right.push_back(other++);
        place.push_back(sums.place(j));
      }
      ++element;
    }
  }
  const SparsityPattern pattern = autodiff::to_pattern(sums.pattern());
  const Tensor terms = gather(a.values, from_data(of_left)) * gather(b.values, from_data(of_right));
  return {pattern, segment_sum(terms, from_data(place), pattern.nonzeros())};
}

Tensor sum(const Csr& a, std::int64_t axis) {
  const autodiff::CheckedPattern pattern = check_pattern("sum", a);
  if (axis < -2 || axis > 1)
    fail<IndexError>("sum", "axis {} is out of range for shape {}: it must be from -2 to 1", axis, pattern.shape());
  const bool along_rows = axis == 1 || axis == -1;
  return segment_sum(a.values, along_rows ? pattern.rows() : pattern.columns(), pattern.shape()[along_rows ? 0 : 1]);
}

Csr softmax(const Csr& a) {
  const Tensor rows = check_pattern("softmax", a).rows();
  const std::int64_t n = a.pattern.shape[0];
  const Tensor most = gather(segment_max(stop_gradient(a.values), rows, n), rows), e = exp(a.values - most);
  return {a.pattern, e / gather(segment_sum(e, rows, n), rows)};
}

}  // namespace reel
