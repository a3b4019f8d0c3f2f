// Sparsity patterns as plain arrays.
#pragma once
#include <reel/sparse.hpp>

#include "gradient/sparse/colouring.hpp"

namespace reel::autodiff {

SparsityPattern to_pattern(const CompressedRows& rows);
/// TypeError, ShapeError, ValueError or IndexError for `op` unless the tensors form a pattern.
CompressedRows to_rows(const char* op, const SparsityPattern& pattern);

}  // namespace reel::autodiff
