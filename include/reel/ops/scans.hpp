// Running extremes and logarithms of sums, differences of neighbours, and scans by a function of yours. With `reverse`
// a scan runs from the end of the axis.
#pragma once
#include <functional>
#include <reel/tensor.hpp>
#include <span>
#include <vector>

namespace [[gnu::visibility("default")]] reel {

/// Running extremes, and where along the axis each stands, int64.
struct RunningExtreme {
  Tensor values, indices;
};
/// The largest (smallest) element so far along `axis`, of equal ones the latest; NaN from the first NaN on. Every dtype
/// but complex ones (TypeError). Gradient: to the elements at the indices; the indices have none.
RunningExtreme cummax(const Operand& x, std::int64_t axis, bool reverse = false);
RunningExtreme cummin(const Operand& x, std::int64_t axis, bool reverse = false);

/// log(sum(exp(x))) of the elements up to (with exclusive: before) each along `axis`, without overflow; -inf of
/// nothing. Floating; halves compute in float32. Gradient: by a recurrence whose factors exp(z[i] - z[i+1]) are at most
/// 1; equal shares for a prefix of -inf, and among infinite elements.
Tensor logcumsumexp(const Operand& x, std::int64_t axis, bool exclusive = false, bool reverse = false);

/// x[i+1] - x[i] along `axis`, n times; integers wrap. ValueError for a negative n.
Tensor diff(const Operand& x, std::int64_t n = 1, std::int64_t axis = -1);
/// The derivative of samples along `axis`, in x's shape (NumPy's gradient): second-order central differences, and at
/// both ends one-sided ones of first or second `edge_order`. The spacing is a number, or the samples' coordinates, a
/// vector. Floating or complex. ShapeError for fewer samples than edge_order + 1, and for coordinates of another
/// number; ValueError for other orders. Differentiable in both.
Tensor gradient_along(const Operand& x, std::int64_t axis, const Operand& spacing = 1.0, int edge_order = 1);

/// Differences of neighbours in row-major order, with one axis (NumPy's ediff1d).
Tensor ediff1d(const Operand& x);

/// x[0], f(x[0], x[1]), f(f(x[0], x[1]), x[2]), ... along `axis` for an associative f of slices of any extent along
/// that axis, by a tree of about 2 log2(n) calls of f (Blelloch 1990) whose shape n alone decides. f gives the shape of
/// its arguments (ShapeError). With `reverse`, from the end. Gradient: that of what f records.
Tensor associative_scan(const std::function<Tensor(const Tensor&, const Tensor&)>& f, const Operand& x,
                        std::int64_t axis = 0, bool reverse = false);
/// The same of several tensors, of one extent along the axis, that f combines together.
using ScanStep = std::function<std::vector<Tensor>(const std::vector<Tensor>& before, const std::vector<Tensor>& next)>;
std::vector<Tensor> associative_scan(const ScanStep& f, const std::vector<Tensor>& x, std::int64_t axis = 0,
                                     bool reverse = false);

}  // namespace reel
