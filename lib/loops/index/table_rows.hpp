// Rows of a table [rows, rest...] at positions: int64 [m], contiguous, in range.
#pragma once
#include <reel/tensor.hpp>

namespace reel::loops {

/// The distinct positions, ascending, and for each original position its index among them. Both are empty handles if
/// the positions are ascending and distinct already.
struct DistinctPositions {
  Tensor positions, places;
};
DistinctPositions distinct(const Tensor& positions);

/// rows[k] = table[positions[k]]. Both contiguous, of one dtype.
void take_rows(const Tensor& table, const Tensor& positions, const Tensor& rows);
/// table[positions[k]] = rows[k], for distinct positions. Both contiguous, of one dtype.
void put_rows(const Tensor& rows, const Tensor& positions, const Tensor& table);

}  // namespace reel::loops
