// Slices applied row by row: the cost is proportional to the rows they name, not to the table.
#pragma once
#include "ops/index/indices.hpp"

namespace reel::ops {

/// Rows of a table: indices [m], in range, and their values [m, rest].
struct Rows {
  Tensor indices, values;
};
/// The rows that slices name, in their order, as positions. Throws what check_slices and check_indices throw.
Rows check_rows(const char* op, const IndexedSlices& slices);
/// The same rows, ascending, with duplicates summed in order. Not recorded. Their number depends on the indices, so a
/// trace cannot call it.
Rows distinct_rows(Rows rows);
/// The sum of slices as a tensor, with the bits of concatenated slices. Recorded. An empty handle where concatenating
/// them costs less, or would be rounded less often.
Tensor sum_of_slices(std::span<const IndexedSlices> slices);
/// The norm of the elements of distinct_rows(). Recorded.
Tensor norm_of_rows(const Rows& rows);
/// Makes x writable: itself with a fresh id if no other handle holds its memory, otherwise a copy.
void make_writable(Tensor& x);

}  // namespace reel::ops
