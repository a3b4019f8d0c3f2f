// Rows in order: sorting, permutations, selection of ranks, search in sorted rows. The order is NumPy's: NaN last, -0
// equal to 0, stable. Descending order also has NaN last and is stable. Operands and results are contiguous and share
// no memory; complex numbers have no order.
#pragma once
#include <reel/tensor.hpp>

namespace reel::loops {

/// y [rows, n] = the sorted rows of x.
void sort_rows(const Tensor& x, bool descending, const Tensor& y);
/// positions [rows, n], int64: for each element of the sorted row its index in the row of x.
void argsort_rows(const Tensor& x, bool descending, const Tensor& positions);
/// positions [rows, last - first], int64: the same for the ranks [first, last) only, 0 <= first < last <= n.
void select_rows(const Tensor& x, std::int64_t first, std::int64_t last, bool descending, const Tensor& positions);
/// positions [rows, n], int64: rank `kth` at index kth, smaller elements in front of it, larger ones behind it.
void partition_rows(const Tensor& x, std::int64_t kth, const Tensor& positions);
/// places [rows, m], int64: for each element of values [rows, m], the number of elements of `sorted` [rows, n], of the
/// same dtype, that stand before it; with `right` including equal ones. A single row of `sorted` serves all rows of
/// values.
void search_rows(const Tensor& sorted, const Tensor& values, bool right, const Tensor& places);

}  // namespace reel::loops
