// Cumulative extremes, cumulative logsumexp, differences of neighbours, and scans by a given function. With `reverse` a
// scan runs from the end of the axis.
#pragma once
#include <functional>
#include <reel/api.hpp>
#include <reel/tensor.hpp>
#include <span>
#include <vector>

namespace REEL_API reel {

/// Cumulative extremes, and their int64 indices along the axis.
struct RunningExtreme {
  Tensor values, indices;
};
/// The largest (smallest) element so far along `axis`; the latest of equal ones; NaN from the first NaN on. TypeError
/// for complex numbers. Gradient: to the elements at the indices. The indices have none.
RunningExtreme cummax(const Operand& x, std::int64_t axis, bool reverse = false);
RunningExtreme cummin(const Operand& x, std::int64_t axis, bool reverse = false);

/// Cumulative log(sum(exp(x))) along `axis`, without overflow. With `exclusive` each excludes its own element; no
/// elements give -inf. Floating; float16 and bfloat16 compute in float32. Gradient: by a recurrence whose factors
/// exp(z[i] - z[i+1]) are at most 1. A prefix of -inf, and infinite elements, share g equally.
Tensor logcumsumexp(const Operand& x, std::int64_t axis, bool exclusive = false, bool reverse = false);

/// x[i+1] - x[i] along `axis`, applied n times. Integers wrap. ValueError for a negative n. Linear in x.
Tensor diff(const Operand& x, std::int64_t n = 1, std::int64_t axis = -1);
/// The numerical derivative of samples along `axis`, in the shape of x (NumPy's gradient): central differences of
/// second order inside, one-sided ones of order `edge_order`, 1 or 2, at both ends. `spacing` is a number, or a vector
/// of the coordinates of the samples. Floating or complex. Differentiable by both operands. ShapeError for fewer than
/// edge_order + 1 samples, and for another number of coordinates. ValueError for another edge_order.
Tensor gradient_along(const Operand& x, std::int64_t axis, const Operand& spacing = 1.0, int edge_order = 1);

/// Differences of neighbours in row-major order, with one axis (NumPy's ediff1d). Linear in x.
Tensor ediff1d(const Operand& x);

/// The inclusive scan x[0], f(x[0], x[1]), f(f(x[0], x[1]), x[2]), ... along `axis`, for an associative f. f combines
/// slices of any extent along that axis and must return their shape (ShapeError). The scan is a tree of about 2 log2(n)
/// calls of f (Blelloch 1990), whose shape depends on n alone. With `reverse` it runs from the end. Gradient: that of
/// the ops f consists of.
Tensor associative_scan(const std::function<Tensor(const Tensor&, const Tensor&)>& f, const Operand& x,
                        std::int64_t axis = 0, bool reverse = false);
/// The same for several tensors of the same extent along the axis, which f combines together.
using ScanStep = std::function<std::vector<Tensor>(const std::vector<Tensor>& before, const std::vector<Tensor>& next)>;
std::vector<Tensor> associative_scan(const ScanStep& f, const std::vector<Tensor>& x, std::int64_t axis = 0,
                                     bool reverse = false, const detail::CallLine& at = {});

}  // namespace reel
