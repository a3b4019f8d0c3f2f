// Factors of sparse symmetric positive definite matrices, and normal equations. Plain arrays, no tensors.
#pragma once
#include "gradient/sparse/colouring.hpp"

namespace reel::optim {

using autodiff::CompressedRows;

/// An order of elimination with small bandwidth: reverse Cuthill and McKee, "Reducing the bandwidth of sparse symmetric
/// matrices", 1969. order[k] is the row that comes k-th.
std::vector<std::int64_t> reverse_cuthill_mckee(const CompressedRows& a);

/// L D L^T of matrices of one pattern, row by row along the elimination tree: Davis, "Algorithm 849: a concise sparse
/// Cholesky factorization package", ACM Transactions on Mathematical Software 31, 2005.
class SparseCholesky {
 public:
  /// The pattern must be symmetric and contain the diagonal.
  explicit SparseCholesky(const CompressedRows& a);
  /// False where the matrix is not positive definite.
  bool factorise(std::span<const double> values);
  /// Replaces b by the solution of the last factorised system.
  void solve(std::vector<double>& b) const;
  /// Elements of L below the diagonal.
  std::int64_t factor_size() const noexcept { return starts_.back(); }

 private:
  // Elements of a row of the permuted matrix up to the diagonal: columns, and positions of their values.
  struct Row {
    std::vector<std::int64_t> columns, places;
  };
  std::span<const std::int64_t> reach(std::int64_t k);

  std::vector<std::int64_t> order_;
  std::vector<Row> rows_;
  std::vector<std::int64_t> parents_;           // in the elimination tree; -1: a root
  std::vector<std::int64_t> starts_, indices_;  // L by columns
  std::vector<double> factor_, diagonal_;
  std::vector<std::int64_t> marks_, path_;  // work space
};

/// J^T J for Jacobians of one pattern.
class NormalMatrix {
 public:
  explicit NormalMatrix(const CompressedRows& jacobian);
  /// Includes the diagonal, whatever the Jacobian's pattern.
  const CompressedRows& pattern() const noexcept { return pattern_; }
  /// The position of each diagonal element among the values.
  const std::vector<std::int64_t>& diagonal() const noexcept { return diagonal_; }
  std::vector<double> values(std::span<const double> jacobian) const;

 private:
  CompressedRows jacobian_, columns_;  // and its transpose, with the positions of its values
  std::vector<std::int64_t> places_;
  CompressedRows pattern_;
  std::vector<std::int64_t> diagonal_;
};

}  // namespace reel::optim
