// Sparsity patterns, checked, and as plain arrays.
#pragma once
#include <reel/sparse.hpp>

#include "sparse/colouring.hpp"

namespace reel::autodiff {

/// A pattern that has been checked. Functions of patterns take the tensors from here.
class CheckedPattern {
 public:
  /// TypeError, ShapeError, ValueError or IndexError for `op`, a literal, unless the tensors form a pattern. In a
  /// traced function the program checks those that are not known before it runs. The pattern must outlive the object.
  CheckedPattern(const char* op, const SparsityPattern& pattern);
  const Shape& shape() const noexcept { return pattern_.shape; }
  /// The row and the column of each position: int64 [nonzeros].
  const Tensor& rows() const noexcept { return rows_; }
  const Tensor& columns() const noexcept { return pattern_.columns; }

 private:
  const SparsityPattern& pattern_;
  Tensor rows_;
};

/// ValueError or ShapeError unless there is one value for each position.
void require_values(const char* op, const SparsityPattern& pattern, const Tensor& values);
SparsityPattern to_pattern(const CompressedRows& rows);
/// The pattern, checked as by CheckedPattern. TraceError unless its elements are known.
CompressedRows to_rows(const char* op, const SparsityPattern& pattern);

}  // namespace reel::autodiff
