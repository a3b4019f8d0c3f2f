// Sparsity patterns in compressed sparse rows: the check of their elements, and the row of each position.
#pragma once
#include <reel/tensor.hpp>

namespace reel::loops {

/// The first element that makes vectors of row starts and columns no pattern.
struct BadPattern {
  enum class Kind : std::uint8_t { none, first_start, last_start, start, column_range, column_order };
  Kind kind = Kind::none;
  std::int64_t at = 0;                 // its position among the row starts or the columns
  std::int64_t row = 0;                // of a column
  std::int64_t value = 0, before = 0;  // the element, and the one before it
  explicit operator bool() const noexcept { return kind != Kind::none; }
};
/// rows[k] = the row of position k; rows may be empty. The row starts, one or more, must ascend from 0 to the number of
/// columns; columns must be in [0, column_count) and ascend within each row. Both are int64 vectors with any stride.
/// The rows are unspecified if the result is an error.
BadPattern find_pattern_rows(const Tensor& row_starts, const Tensor& columns, std::int64_t column_count,
                             const Tensor& rows);

}  // namespace reel::loops
