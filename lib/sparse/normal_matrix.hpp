// The matrices of sparse normal equations. Plain arrays, no tensors.
#pragma once
#include "sparse/colouring.hpp"

namespace reel::optim {

using autodiff::CompressedRows;

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
