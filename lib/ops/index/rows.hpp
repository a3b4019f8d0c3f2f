// Slices applied row by row: the cost is that of the rows named, whatever the size of the table.
#pragma once
#include "ops/index/indices.hpp"

namespace reel::ops {

/// Rows of a table: indices [m], in range, and their values [m, rest].
struct Rows {
  Tensor indices, values;
};
/// The rows that slices name, as positions in their order. What check_slices and checked_indices throw.
Rows checked_rows(const char* op, const IndexedSlices& slices);
/// The same ones ascending, duplicates summed in order. Not recorded.
Rows distinct_rows(Rows rows);
/// Makes x a tensor that may be written to: itself under a fresh id if nobody else holds its memory, else a copy.
void make_writable(Tensor& x);

}  // namespace reel::ops
