// Sparse matrices: patterns, products, conversion.
#include <algorithm>
#include <numeric>
#include <reel/ops/index.hpp>
#include <reel/ops/indexing.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/ops/reduce.hpp>
#include <reel/ops/shape.hpp>

#include "core/fail.hpp"
#include "gradient/sparse/patterns.hpp"
#include "ops/linalg/linalg.hpp"

namespace reel {

namespace autodiff {

SparsityPattern to_pattern(const CompressedRows& rows) {
  return {{rows.row_count(), rows.column_count}, from_data(rows.starts), from_data(rows.columns)};
}

CompressedRows to_rows(const char* op, const SparsityPattern& p) {
  if (p.shape.rank() != 2 || p.shape[0] < 0 || p.shape[1] < 0)
    fail<ShapeError>(op, "the pattern has shape {}, must have rows and columns", p.shape);
  for (const Tensor* x : {&p.row_starts, &p.columns}) {
    if (!x->defined()) fail<ValueError>(op, "the pattern is empty; make it with coo_to_csr or jacobian_sparsity");
    if (x->dtype() != DType::int64 || x->rank() != 1)
      fail<TypeError>(op, "row_starts and columns of the pattern must be int64 vectors, not {} of shape {}", x->dtype(),
                      x->shape());
  }
  CompressedRows rows{p.shape[1], p.row_starts.to_vector<std::int64_t>(), p.columns.to_vector<std::int64_t>()};
  const auto& starts = rows.starts;
  if (rows.row_count() != p.shape[0] || starts.front() != 0 || starts.back() != p.nonzeros() ||
      !std::is_sorted(starts.begin(), starts.end()))
    fail<ValueError>(
        op, "row_starts must ascend from 0 to the {} places of the pattern, one for each of {} rows and the end",
        p.nonzeros(), p.shape[0]);
  for (std::int64_t i = 0; i < rows.row_count(); ++i) {
    const auto row = rows.row(i);
    if (!row.empty() && (row.front() < 0 || row.back() >= p.shape[1]))
      fail<IndexError>(op, "row {} of the pattern has a column that is not in [0, {})", i, p.shape[1]);
    if (std::adjacent_find(row.begin(), row.end(), [](auto a, auto b) { return a >= b; }) != row.end())
      fail<ValueError>(op, "the columns of row {} of the pattern do not ascend; coo_to_csr sorts them", i);
  }
  return rows;
}

}  // namespace autodiff

Tensor SparsityPattern::rows() const {
  return make_tensor<std::int64_t>({nonzeros()}, [&](std::span<std::int64_t> list) {
    const std::vector<std::int64_t> starts = row_starts.to_vector<std::int64_t>();
    const auto first = list.begin();
    for (std::size_t i = 0; i + 1 < starts.size(); ++i)
      std::fill(first + starts[i], first + starts[i + 1], static_cast<std::int64_t>(i));
  });
}

SparsityPattern coo_to_csr(const Tensor& rows, const Tensor& columns, const Shape& shape) {
  constexpr const char* op = "coo_to_csr";
  if (shape.rank() != 2 || shape[0] < 0 || shape[1] < 0)
    fail<ShapeError>(op, "the shape is {}, must be of rows and columns", shape);
  if (rows.rank() != 1 || rows.shape() != columns.shape())
    fail<ShapeError>(op, "rows have shape {}, columns {}: both must be vectors of one length", rows.shape(),
                     columns.shape());
  if (!is_integer(rows.dtype()) || !is_integer(columns.dtype()))
    fail<TypeError>(op, "rows are {}, columns {}: both must be integers", rows.dtype(), columns.dtype());
  const auto values_of = [](const Tensor& x) {
    return ops::named(op, [&] { return cast(x, DType::int64).to_vector<std::int64_t>(); });
  };
  const auto i = values_of(rows), j = values_of(columns);
  std::vector<std::pair<std::int64_t, std::int64_t>> places;
  places.reserve(i.size());
  for (std::size_t k = 0; k < i.size(); ++k) {
    if (i[k] < 0 || i[k] >= shape[0] || j[k] < 0 || j[k] >= shape[1])
      fail<IndexError>(op, "place {}, ({}, {}), is out of range for shape {}", k, i[k], j[k], shape);
    places.emplace_back(i[k], j[k]);
  }
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  autodiff::CompressedRows list{shape[1], std::vector<std::int64_t>(static_cast<std::size_t>(shape[0]) + 1), {}};
  for (const auto& place : places) {
    ++list.starts[static_cast<std::size_t>(place.first) + 1];
    list.columns.push_back(place.second);
  }
  std::partial_sum(list.starts.begin(), list.starts.end(), list.starts.begin());
  return autodiff::to_pattern(list);
}

Tensor to_dense(const Csr& matrix) {
  const SparsityPattern& p = matrix.pattern;
  const Tensor places = p.rows() * p.shape[1] + p.columns;
  return reshape(segment_sum(matrix.values, places, p.shape[0] * p.shape[1]), p.shape);
}

Tensor csr_matmul(const Tensor& values, const SparsityPattern& pattern, const Tensor& x, bool transposed) {
  constexpr const char* op = "csr_matmul";
  if (values.shape() != Shape{pattern.nonzeros()})
    fail<ShapeError>(op, "values have shape {}, the pattern has {} places", values.shape(), pattern.nonzeros());
  const std::int64_t inner = pattern.shape[transposed ? 0 : 1], outer = pattern.shape[transposed ? 1 : 0];
  if ((x.rank() != 1 && x.rank() != 2) || x.shape()[0] != inner)
    fail<ShapeError>(op, "x has shape {}, must have {} rows: the matrix is {}{}", x.shape(), inner, pattern.shape,
                     transposed ? " transposed" : "");
  const Tensor rows = pattern.rows(), &columns = pattern.columns;
  const Tensor factors = gather(x, transposed ? rows : columns);
  const Tensor terms = (x.rank() == 2 ? expand_dims(values, 1) : values) * factors;
  return segment_sum(terms, transposed ? columns : rows, outer);
}

Tensor sampled_matmul(const SparsityPattern& pattern, const Tensor& x, const Tensor& y) {
  if (x.rank() != 2 || y.rank() != 2 || x.shape()[0] != pattern.shape[0] || y.shape()[1] != pattern.shape[1] ||
      x.shape()[1] != y.shape()[0])
    fail<ShapeError>("sampled_matmul", "x is {}, y is {}: their product must have the shape of the pattern, {}",
                     x.shape(), y.shape(), pattern.shape);
  return sum(gather(x, pattern.rows()) * gather(transpose(y), pattern.columns), 1);
}

}  // namespace reel
