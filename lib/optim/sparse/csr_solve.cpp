// Sparse systems with pivoting, reordered for small bandwidth and solved as banded systems by recorded ops.
#include <algorithm>
#include <reel/linalg/structured.hpp>
#include <reel/ops/index.hpp>
#include <reel/ops/indexing.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/shape.hpp>
#include <reel/sparse.hpp>

#include "core/fail.hpp"
#include "gradient/sparse/patterns.hpp"
#include "ops/linalg/linalg.hpp"
#include "optim/sparse/cholesky.hpp"

namespace reel {

namespace optim {
namespace {

using Numbers = std::vector<std::int64_t>;

// The pattern of a + a^T + I.
CompressedRows symmetric_pattern(const CompressedRows& a) {
  const std::int64_t n = a.row_count();
  std::vector<Numbers> neighbours(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    neighbours[static_cast<std::size_t>(i)].push_back(i);
    for (const std::int64_t j : a.row(i)) {
      neighbours[static_cast<std::size_t>(i)].push_back(j);
      neighbours[static_cast<std::size_t>(j)].push_back(i);
    }
  }
  CompressedRows all{n, {0}, {}};
  for (Numbers& row : neighbours) {
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
    all.columns.insert(all.columns.end(), row.begin(), row.end());
    all.starts.push_back(static_cast<std::int64_t>(all.columns.size()));
  }
  return all;
}

// Where the values are in the band of the matrix in elimination order.
struct BandOrder {
  std::int64_t below = 0, above = 0;
  Numbers order, position;  // order[k] is the row that comes k-th, position[order[k]] = k
  Numbers places;           // of each value, in the band [below + above + 1, n] as a vector
};
BandOrder band_order(const CompressedRows& a, bool transposed) {
  const std::int64_t n = a.row_count();
  BandOrder band;
  band.order = reverse_cuthill_mckee(symmetric_pattern(a));
  band.position.resize(band.order.size());
  for (std::size_t k = 0; k < band.order.size(); ++k)
    band.position[static_cast<std::size_t>(band.order[k])] = static_cast<std::int64_t>(k);
  const auto each = [&](const auto& f) {
    for (std::int64_t i = 0; i < n; ++i)
      for (const std::int64_t j : a.row(i)) {
        const std::int64_t p = band.position[static_cast<std::size_t>(i)],
                           q = band.position[static_cast<std::size_t>(j)];
        transposed ? f(q, p) : f(p, q);
      }
  };
  each([&](std::int64_t row, std::int64_t column) {
    band.below = std::max(band.below, row - column);
    band.above = std::max(band.above, column - row);
  });
  each([&](std::int64_t row, std::int64_t column) { band.places.push_back((band.above + row - column) * n + column); });
  return band;
}

}  // namespace
}  // namespace optim

Tensor csr_solve(const Tensor& values, const SparsityPattern& pattern, const Tensor& b, bool transposed) {
  constexpr const char* op = "csr_solve";
  const tape::OpScope scope;
  const optim::CompressedRows rows = autodiff::to_rows(op, pattern);
  autodiff::require_values(op, pattern, values);
  const std::int64_t n = pattern.shape[0];
  if (pattern.shape[1] != n) fail<ShapeError>(op, "the matrix is {}; it must be square", pattern.shape);
  ops::require_defined(op, b, "b");
  if ((b.rank() != 1 && b.rank() != 2) || b.shape()[0] != n)
    fail<ShapeError>(op, "b has shape {}, must have {} rows", b.shape(), n);
  const optim::BandOrder band = optim::band_order(rows, transposed);
  const std::int64_t height = band.below + band.above + 1;
  const Tensor bands = reshape(segment_sum(values, from_data(band.places), height * n), {height, n});
  return ops::named(op, [&] {
    return gather(banded_solve(bands, band.below, band.above, gather(b, from_data(band.order))),
                  from_data(band.position));
  });
}

}  // namespace reel
