// Differences of neighbours, derivatives of samples, and associative scans: composed of slices and other ops.
#include <algorithm>
#include <reel/ops/index.hpp>
#include <reel/ops/scans.hpp>

#include "ops/engine.hpp"

namespace reel {
namespace ops {
namespace {

Tensor numbers(const char* op, const Operand& operand) {
  const Tensor x = to_tensor(op, operand);
  if (x.dtype() == DType::boolean) fail<TypeError>(op, "is not defined for boolean; cast x first");
  return x;
}

Tensor along(const Tensor& x, int axis, const SliceItem& item) {
  detail::List<SliceItem> items(static_cast<std::size_t>(axis));
  items.push_back(item);
  return slice(x, items);
}
// The elements [first, last) of the last axis; negative numbers count from the end.
Tensor last(const Tensor& x, std::int64_t first, std::int64_t end) {
  const std::int64_t n = x.shape()[-1];
  return along(x, x.rank() - 1, range(first < 0 ? first + n : first, end <= 0 ? end + n : end));
}

// ---- Derivatives of samples f along the last axis, inside and at both ends, for equal spacing and for coordinates

struct Stencil {
  Tensor inside, first, last;
};

Stencil uniform(const Tensor& f, const Tensor& h, int order) {
  const auto at = [&](std::int64_t i) { return last(f, i, i + 1); };
  Stencil s;
  s.inside = (last(f, 2, 0) - last(f, 0, -2)) / (2 * h);
  if (order == 1) {
    s.first = (at(1) - at(0)) / h;
    s.last = (at(-1) - at(-2)) / h;
  } else {
    s.first = (4 * (at(1) - at(0)) - (at(2) - at(0))) / (2 * h);
    s.last = (4 * (at(-1) - at(-2)) - (at(-1) - at(-3))) / (2 * h);
  }
  return s;
}

// By divided differences d of neighbours at distances h.
Stencil at_coordinates(const Tensor& f, const Tensor& coordinates, int order) {
  const Tensor h = last(coordinates, 1, 0) - last(coordinates, 0, -1), d = (last(f, 1, 0) - last(f, 0, -1)) / h;
  const Tensor left = last(h, 0, -1), right = last(h, 1, 0);
  Stencil s;
  s.inside = (right * last(d, 0, -1) + left * last(d, 1, 0)) / (left + right);
  s.first = last(d, 0, 1);
  s.last = last(d, -1, 0);
  if (order == 2) {
    const auto bend =
        [&](std::int64_t i) {  // second divided difference: the curvature of the parabola through three samples
          return (last(d, i + 1, i + 2) - last(d, i, i + 1)) / (last(h, i, i + 1) + last(h, i + 1, i + 2));
        };
    const std::int64_t n = h.shape()[-1];
    s.first = s.first - last(h, 0, 1) * bend(0);
    s.last = s.last + last(h, -1, 0) * bend(n - 2);
  }
  return s;
}

// ---- associative_scan

using Tensors = std::vector<Tensor>;

Tensors each_along(const Tensors& x, int axis, const SliceItem& item) {
  Tensors y;
  for (const Tensor& one : x) y.push_back(along(one, axis, item));
  return y;
}
// Interleaves even[0], odd[0], even[1], ... along the axis; there are as many even ones as odd ones, or one more.
Tensor interleave(const Tensor& even, const Tensor& odd, int axis) {
  const std::int64_t pairs = odd.shape()[axis], n = even.shape()[axis];
  const Tensor front = n == pairs ? even : along(even, axis, range(0, pairs));
  Shape shape = odd.shape();
  shape[axis] = 2 * pairs;
  const Tensor y = reshape(stack({front, odd}, axis + 1), shape);
  return n == pairs ? y : concatenate({y, along(even, axis, range(pairs, n))}, axis);
}

struct Combine {
  const ScanStep& f;
  int axis;
  Tensors operator()(const Tensors& before, const Tensors& next) const {
    Tensors y = f(before, next);
    bool fits = y.size() == before.size();
    for (std::size_t k = 0; fits && k < y.size(); ++k)
      fits = y[k].defined() && y[k].shape() == before[k].shape() && y[k].dtype() == before[k].dtype();
    if (!fits)
      fail<ShapeError>("associative_scan",
                       "the function must give as many tensors as it takes, of the same shapes "
                       "and dtypes");
    return y;
  }
};

// Combines pairs; then, by recursion, all prefixes of even length; then the others.
Tensors scan(const Combine& f, const Tensors& x) {
  const std::int64_t n = x[0].shape()[f.axis];
  if (n < 2) return x;
  const Tensors odd = scan(f, f(each_along(x, f.axis, range(0, n - 1, 2)), each_along(x, f.axis, range(1, n, 2))));
  Tensors even = each_along(x, f.axis, range(0, 1));
  if (n > 2) {
    const std::int64_t rest = (n - 1) / 2;
    const Tensors later = f(each_along(odd, f.axis, range(0, rest)), each_along(x, f.axis, range(2, n, 2)));
    for (std::size_t k = 0; k < even.size(); ++k) even[k] = concatenate({even[k], later[k]}, f.axis);
  }
  for (std::size_t k = 0; k < even.size(); ++k) even[k] = interleave(even[k], odd[k], f.axis);
  return even;
}

}  // namespace
}  // namespace ops

Tensor diff(const Operand& operand, std::int64_t n, std::int64_t axis) {
  const tape::OpScope scope(operand);
  Tensor x = ops::numbers("diff", operand);
  const int a = ops::normalize("diff", axis, x);
  if (n < 0) fail<ValueError>("diff", "n is {}; it must be at least 0", n);
  for (; n > 0 && x.shape()[a] > 0; --n)
    x = ops::along(x, a, range_from(1)) - ops::along(x, a, range(0, x.shape()[a] - 1));
  return x;
}

Tensor ediff1d(const Operand& operand) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::numbers("ediff1d", operand);
  return diff(reshape(x, {x.size()}));
}

Tensor gradient_along(const Operand& operand, std::int64_t axis, const Operand& spacing, int edge_order) {
  const tape::OpScope scope(operand);
  const Tensor uncast = ops::to_tensor("gradient_along", operand);
  const int a = ops::normalize("gradient_along", axis, uncast);
  if (edge_order != 1 && edge_order != 2)
    fail<ValueError>("gradient_along", "edge_order is {}; it must be 1 or 2", edge_order);
  const std::int64_t n = uncast.shape()[a];
  if (n <= edge_order)
    fail<ShapeError>("gradient_along", "axis {} of x, of shape {}, has fewer than {} samples", a, uncast.shape(),
                     edge_order + 1);
  const Tensor x = ops::cast_to(uncast, ops::floating_of(uncast.dtype()));
  const Tensor h = ops::to_tensor("gradient_along", spacing, x.dtype(), "spacing");
  if (h.rank() > 1 || (h.rank() == 1 && h.size() != n))
    fail<ShapeError>("gradient_along", "spacing has shape {}; it must be a number, or the coordinates of {} samples",
                     h.shape(), n);
  const Tensor f = a + 1 < x.rank() ? moveaxis(x, a, -1) : x;
  const ops::Stencil s = h.rank() == 0 ? ops::uniform(f, h, edge_order) : ops::at_coordinates(f, h, edge_order);
  const Tensor y = concatenate({s.first, s.inside, s.last}, -1);
  return a + 1 < x.rank() ? moveaxis(y, -1, a) : y;
}

std::vector<Tensor> associative_scan(const ScanStep& f, const std::vector<Tensor>& tensors, std::int64_t axis,
                                     bool reverse, const detail::CallLine& at) {
  const tape::CallScope scope(at);
  if (tensors.empty()) fail<ValueError>("associative_scan", "there are no tensors to scan");
  ops::Tensors x;
  int a = 0;
  for (std::size_t k = 0; k < tensors.size(); ++k) {
    x.push_back(ops::to_tensor("associative_scan", tensors[k]));
    const int own = ops::normalize("associative_scan", axis, x[k]);
    if (k == 0) a = own;
    if (own != a || x[k].shape()[a] != x[0].shape()[a])
      fail<ShapeError>("associative_scan", "tensor {} has shape {}, tensor 0 {}: they must agree along axis {}", k,
                       x[k].shape(), x[0].shape(), a);
    if (reverse) x[k] = flip(x[k], a);
  }
  ops::Tensors y = ops::scan({f, a}, x);
  if (reverse)
    for (Tensor& one : y) one = flip(one, a);
  return y;
}

Tensor associative_scan(const std::function<Tensor(const Tensor&, const Tensor&)>& f, const Operand& operand,
                        std::int64_t axis, bool reverse) {
  const tape::OpScope scope(operand);
  const ScanStep step = [&](const std::vector<Tensor>& before, const std::vector<Tensor>& next) {
    return std::vector<Tensor>{f(before[0], next[0])};
  };
  return associative_scan(step, std::vector<Tensor>{ops::to_tensor("associative_scan", operand)}, axis, reverse)[0];
}

}  // namespace reel
