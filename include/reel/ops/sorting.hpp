// Order: sorting, selection, quantiles, places in sorted rows. The order is NumPy's: NaN behind all else, -0 equal to
// 0, equal elements as they stand, in both directions. Every real dtype has it; complex numbers are TypeError.
// Derivatives go to the elements chosen: of equal ones to that which comes first.
#pragma once
#include <reel/tensor.hpp>

namespace [[gnu::visibility("default")]] reel {

/// x in order along `axis`; stable. Gradient: the cotangent, each element where it came from.
Tensor sort(const Operand& x, std::int64_t axis = -1, bool descending = false);
/// The indices that sort x along `axis`, int64: sort(x) is take_along_axis(x, argsort(x)). No gradient.
Tensor argsort(const Operand& x, std::int64_t axis = -1, bool descending = false);

/// Elements, and where they stand along the axis, int64.
struct Selected {
  Tensor values, indices;
};
/// The k largest (smallest) elements along `axis`, the first of them first. ValueError unless 0 <= k <= the extent.
Selected top_k(const Operand& x, std::int64_t k, std::int64_t axis = -1, bool largest = true);
/// The k-th smallest element along `axis`, which goes: the smallest for k = 1 (PyTorch's kthvalue). ValueError unless
/// 1 <= k <= the extent.
Selected kth_value(const Operand& x, std::int64_t k, std::int64_t axis = -1);
/// x along `axis` with the element of rank `kth`, from 0, in its place, smaller ones in front of it and larger ones
/// behind it, in no order (NumPy's partition); kth counts from the end where negative. ValueError out of range.
Tensor partition(const Operand& x, std::int64_t kth, std::int64_t axis = -1);
/// The indices that do so, int64. No gradient.
Tensor argpartition(const Operand& x, std::int64_t kth, std::int64_t axis = -1);

/// The element in the middle along the axes, or the mean of the two, floating; NaN with gradient 0 if one is NaN.
/// ValueError of nothing.
Tensor median(const Operand& x, const Axes& axes = {}, bool keepdims = false);
/// The same of the elements that are not NaN; NaN with gradient 0 if there is none.
Tensor nanmedian(const Operand& x, const Axes& axes = {}, bool keepdims = false);

/// What lies between two elements, as NumPy has it: interpolated by (n - 1) q, or one of both, or their mean, or
/// interpolated by other estimates of the rank (Hyndman and Fan 1996: types 7; 5, 6 and 8).
enum class QuantileMethod : std::uint8_t { linear, lower, higher, nearest, midpoint, hazen, weibull, median_unbiased };
struct QuantileOptions {
  QuantileMethod method = QuantileMethod::linear;
  bool keepdims = false;
};
/// The quantiles q of x along the axes, floating: shape of q, then that of x without the axes. NaN with gradient 0 if
/// an element is NaN. ValueError of nothing, and for a q outside [0, 1]. Gradient: to two elements by their weights; to
/// q, where the method interpolates, (n - 1) times their difference, at an element that of the interval above, if any.
Tensor quantile(const Operand& x, const Operand& q, const Axes& axes = {}, const QuantileOptions& options = {});
/// The same with q in percent, in [0, 100].
Tensor percentile(const Operand& x, const Operand& q, const Axes& axes = {}, const QuantileOptions& options = {});

/// Where along the last axis of `sorted`, ascending, each value belongs, int64: before equal elements, with `right`
/// behind them. `sorted` has one axis, or the leading axes of the values (ShapeError). No gradient.
Tensor searchsorted(const Operand& sorted, const Operand& values, bool right = false);
/// In which bin each element of x is, int64: i for bins[i-1] <= x < bins[i], with `right` bins[i-1] < x <= bins[i]. The
/// bins ascend. No gradient.
Tensor digitize(const Operand& x, const Operand& bins, bool right = false);

/// The distinct elements of a tensor, ascending, with NaN once; where each stands first in row-major order, which of
/// them each element of the tensor is, in its shape, and how often each occurs; int64.
struct Unique {
  Tensor values, indices, inverse, counts;
};
/// How many there are depends on the elements: TraceError in a function that is traced. Gradient of the values: to the
/// first of equal elements.
Unique unique(const Operand& x);

}  // namespace reel
