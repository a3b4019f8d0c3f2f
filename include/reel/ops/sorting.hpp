// Sorting, selection, quantiles and binary search. The order is NumPy's: NaN after all numbers, -0 equal to 0. Equal
// elements keep their order, also when descending. Every real dtype is allowed; complex numbers are a TypeError.
// Derivatives go to the selected elements, of equal ones to the first.
#pragma once
#include <reel/api.hpp>
#include <reel/tensor.hpp>

namespace REEL_API reel {

/// x sorted along `axis`. The sort is stable. Gradient: each element of g goes to where its element came from.
Tensor sort(const Operand& x, std::int64_t axis = -1, bool descending = false);
/// The indices that sort x along `axis`, int64: sort(x) is take_along_axis(x, argsort(x)). No gradient.
Tensor argsort(const Operand& x, std::int64_t axis = -1, bool descending = false);

/// Selected elements, and their int64 indices along the axis.
struct Selected {
  Tensor values, indices;
};
/// The k largest (smallest) elements along `axis`, the largest (smallest) first. ValueError unless 0 <= k <= the
/// extent.
Selected top_k(const Operand& x, std::int64_t k, std::int64_t axis = -1, bool largest = true);
/// The k-th smallest element along `axis`, where k = 1 is the smallest; the axis is removed (PyTorch's kthvalue).
/// ValueError unless 1 <= k <= the extent.
Selected kth_value(const Operand& x, std::int64_t k, std::int64_t axis = -1);
/// x partitioned along `axis` (NumPy's partition): position kth, from 0, holds the element it has in sorted order.
/// Elements before it are not larger, elements after it not smaller, in no particular order. A negative kth counts from
/// the end. ValueError if it is out of range.
Tensor partition(const Operand& x, std::int64_t kth, std::int64_t axis = -1);
/// The indices that partition x along `axis`, int64. No gradient.
Tensor argpartition(const Operand& x, std::int64_t kth, std::int64_t axis = -1);

/// The middle element along the axes, or the mean of the middle two, floating. NaN with gradient 0 if an element is
/// NaN. ValueError for no elements.
Tensor median(const Operand& x, const Axes& axes = {}, bool keepdims = false);
/// The median of the elements that are not NaN. NaN with gradient 0 if there are none.
Tensor nanmedian(const Operand& x, const Axes& axes = {}, bool keepdims = false);

/// How a quantile between two elements is computed, as in NumPy: linear interpolation at rank (n - 1) q, the lower,
/// higher or nearest element, their mean, or interpolation at other estimates of the rank. In the numbering of Hyndman
/// and Fan (1996): linear is type 7; hazen, weibull and median_unbiased are types 5, 6 and 8.
enum class QuantileMethod : std::uint8_t { linear, lower, higher, nearest, midpoint, hazen, weibull, median_unbiased };
/// Options of percentile and quantile, nanpercentile and nanquantile.
struct QuantileOptions {
  QuantileMethod method = QuantileMethod::linear;
  bool keepdims = false;
};
/// The quantiles q of x along the axes, floating: the shape of q, then that of x without the axes. NaN with gradient 0
/// if an element is NaN. ValueError for no elements, and for a q outside [0, 1]. Gradient to x: to the two elements, by
/// their weights. To q, if the method interpolates: (n - 1) times the difference of the two; where q is at an element,
/// that of the interval above it, if there is one, or 0 if it is infinite.
Tensor quantile(const Operand& x, const Operand& q, const Axes& axes = {}, const QuantileOptions& options = {});
/// The same with q in percent, in [0, 100].
Tensor percentile(const Operand& x, const Operand& q, const Axes& axes = {}, const QuantileOptions& options = {});
/// quantile of the elements that are not NaN; n counts these. NaN with gradient 0 if there are none.
Tensor nanquantile(const Operand& x, const Operand& q, const Axes& axes = {}, const QuantileOptions& options = {});
/// The same with q in percent, in [0, 100].
Tensor nanpercentile(const Operand& x, const Operand& q, const Axes& axes = {}, const QuantileOptions& options = {});

/// The index along the last axis of `sorted`, ascending, at which each value belongs, int64: before equal elements, or
/// after them with `right`. `sorted` is a vector, or has the leading axes of the values (ShapeError). No gradient.
Tensor searchsorted(const Operand& sorted, const Operand& values, bool right = false);
/// The bin of each element of x, int64: i for bins[i-1] <= x < bins[i]; with `right`, i for bins[i-1] < x <= bins[i].
/// The bins ascend. No gradient.
Tensor digitize(const Operand& x, const Operand& bins, bool right = false);

/// The distinct elements of a tensor, ascending, with NaN once. indices: where each occurs first, in row-major order.
/// inverse: for each element of the tensor, in its shape, which of the values it is. counts: how often each value
/// occurs. All three are int64.
struct Unique {
  Tensor values, indices, inverse, counts;
};
/// Finds the distinct elements of x. TraceError in a traced function, because their number depends on the elements.
/// Gradient of the values: to the first of equal elements.
Unique unique(const Operand& x);

}  // namespace reel
