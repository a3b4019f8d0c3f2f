// Slices applied row by row: the cost is that of the rows named, whatever the size of the table.
#pragma once
#include "ops/index/indices.hpp"

namespace reel::ops {

/// Rows of a table: indices [m], ascending and distinct, and their values [m, rest].
struct Rows {
  Tensor indices, values;
};
/// The rows that slices name, duplicates summed in order. What check_slices and checked_indices throw.
Rows distinct_rows(const char* op, const IndexedSlices& slices);
/// The same of rows whose positions have been checked. Not recorded.
Rows distinct_rows(const Tensor& positions, const Tensor& rows);
/// Makes x a tensor that may be written to: itself under a fresh id if nobody else holds its memory, else a copy.
void make_writable(Tensor& x);
/// Replaces rows of the table by values of its dtype: in place if nobody else holds its memory, else in a copy.
void put_rows(Tensor& table, const Tensor& indices, const Tensor& values);

}  // namespace reel::ops
