// The distinct elements of a list, in sorted order or by counting; numbers out of range.
#pragma once
#include <reel/tensor.hpp>

namespace reel::loops {

/// The number of distinct elements of x [n]; `order` is that of argsort_rows. Both are contiguous.
std::int64_t count_distinct(const Tensor& x, const Tensor& order);
/// For each distinct element, ascending, its first occurrence and its count; for each element of x the index of its
/// value among the distinct ones. All int64, contiguous. Distinct elements beyond the extent of `first` are left out;
/// unused places are 0.
void distinct_elements(const Tensor& x, const Tensor& order, const Tensor& first, const Tensor& which,
                       const Tensor& counts);

/// The same for integers and booleans by counting, without an order, if their range is no longer than the list.
/// Otherwise returns -1, or false, and does nothing.
std::int64_t count_distinct_in_range(const Tensor& x);
bool distinct_elements_in_range(const Tensor& x, const Tensor& first, const Tensor& which, const Tensor& counts);

/// A number outside a range, if there is one.
struct OutOfRange {
  bool found = false;
  double value = 0;
  explicit operator bool() const noexcept { return found; }
};
/// The first element of x, float64, outside [0, most]; NaN is outside.
OutOfRange find_out_of_range(const Tensor& x, double most);
/// The first position of a contiguous float64 vector whose element is not larger than the one before, or is NaN; with
/// `equal_allowed`, smaller than the one before. -1: there is none.
std::int64_t first_not_ascending(const Tensor& x, bool equal_allowed = false);
/// Whether elements i and j of a contiguous float64 vector are equal.
bool equal_elements(const Tensor& x, std::int64_t i, std::int64_t j);

}  // namespace reel::loops
