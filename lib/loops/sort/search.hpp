// The distinct elements of a list, which are those of a new key in its order, or are counted; numbers out of range.
#pragma once
#include <reel/tensor.hpp>

namespace reel::loops {

/// How many elements of x [n] differ; `order` is that of argsort_rows. Both are contiguous.
std::int64_t count_distinct(const Tensor& x, const Tensor& order);
/// For each distinct element, ascending, where it stands first, and how often; and which of them each element of x is.
/// All int64, contiguous. Distinct elements beyond the extent of `first`, and places beyond the last, are left out: 0.
void distinct_elements(const Tensor& x, const Tensor& order, const Tensor& first, const Tensor& which,
                       const Tensor& counts);

/// The same of integers and booleans without an order, by counting: where they lie in a range that is no longer than
/// the list. -1, or false and nothing done, where they do not.
std::int64_t count_distinct_in_range(const Tensor& x);
bool distinct_elements_in_range(const Tensor& x, const Tensor& first, const Tensor& which, const Tensor& counts);

/// A number outside a range, if there is one.
struct OutOfRange {
  bool found = false;
  double value = 0;
  explicit operator bool() const noexcept { return found; }
};
/// The first element of x, float64, that is not in [0, most]: NaN is not.
OutOfRange find_out_of_range(const Tensor& x, double most);

}  // namespace reel::loops
