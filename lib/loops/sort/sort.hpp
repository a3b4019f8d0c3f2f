// Rows in order: sorted, their permutations, elements of some ranks, places among sorted elements. The order is that of
// NumPy: NaN behind all else, -0 equal to 0, equal elements as they stood. Descending, NaN stays behind all else, and
// equal elements stay as they stood. Operands and results are contiguous and share no memory; complex numbers have no
// order.
#pragma once
#include <reel/tensor.hpp>

namespace reel::loops {

/// y [rows, n] = the rows of x in order.
void sort_rows(const Tensor& x, bool descending, const Tensor& y);
/// positions [rows, n], int64: where in its row of x each element of the sorted row stands.
void argsort_rows(const Tensor& x, bool descending, const Tensor& positions);
/// positions [rows, last - first], int64: the same for the ranks [first, last) alone, 0 <= first < last <= n.
void select_rows(const Tensor& x, std::int64_t first, std::int64_t last, bool descending, const Tensor& positions);
/// positions [rows, n], int64: rank `kth` in its place, smaller ones in front of it, larger ones behind it.
void partition_rows(const Tensor& x, std::int64_t kth, const Tensor& positions);
/// places [rows, m], int64: how many elements of its row of `sorted` [rows, n] stand before each element of
/// values [rows, m], which has its dtype; those that equal it count with `right`. A single row of `sorted` is that of
/// all.
void search_rows(const Tensor& sorted, const Tensor& values, bool right, const Tensor& places);

}  // namespace reel::loops
