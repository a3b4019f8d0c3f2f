// interp: a binary search for the interval of each point, then linear interpolation in one pass over memory.
#include <algorithm>
#include <cmath>
#include <reel/interpolate.hpp>
#include <reel/ops/sorting.hpp>

#include "interpolate/interpolate.hpp"
#include "ops/elementwise/composed.hpp"
#include "tape/observe/observe.hpp"

namespace reel {

namespace ops {

namespace {

constexpr const char* interp_name = "interp";

// x between x0 and x1, with values f0 and f1. An interval without length is a jump.
Lane on_line(const Lane* a) {
  const Lane &x = a[0], &x0 = a[1], &x1 = a[2], &f0 = a[3], &f1 = a[4];
  const Lane h = x1 - x0;
  const LaneMask below = x<x0, above = x> x1, empty = equal(h, 0);
  const Lane t = (where(below || above, x0, x) - x0) / where(empty, 1, h);
  // Without the difference where it overflows or a value is infinite or NaN: at a knot the other value does not count.
  const LaneMask apart = !isfinite(f1 - f0), between = apart && not_equal(t, 0) && not_equal(t, 1);
  const Lane d = where(apart, 0, f1 - f0), g0 = where(between, f0, 0), g1 = where(between, f1, 0);
  const Lane near = where(t < 0.5, f0 + t * d, f1 - (1 - t) * d);
  const Lane line = where(between, (1 - t) * g0 + t * g1, near);
  // The slope at NaN, which the line alone would leave finite, is NaN.
  const Lane odd = where(equal(x, x), 0, x), inside = where(equal(x, x), line, line + odd * odd);
  return where(below, f0, where(above || empty, f1, inside));
}
constexpr Composed lines[] = {{interp_name, on_line}};
constinit const ComposedOps line_ops(lines);

Tensor on_lines(const Tensor& x, const Tensor& xp, const Tensor& fp) {
  const std::int64_t n = xp.size();
  const Quantity left = clip(searchsorted(xp, x, true) - 1, 0, std::max<std::int64_t>(n - 2, 0));
  const Quantity right = minimum(left + 1, n - 1);
  const Quantity x0 = gather_values(xp, left), x1 = gather_values(xp, right), f0 = gather_values(fp, left),
                 f1 = gather_values(fp, right);
  const Operand operands[] = {x, x0, x1, f0, f1};
  const Operand* const list[] = {&operands[0], &operands[1], &operands[2], &operands[3], &operands[4]};
  return line_ops.call(0, list);
}

Tensor periodic(const Tensor& x, const Tensor& xp, const Tensor& fp, double period) {
  if (!std::isfinite(period)) fail<ValueError>(interp_name, "the period is {}; it must be a number", period);
  period = std::abs(period);
  const Quantity unordered = mod(xp, period), order = argsort(unordered);
  const Quantity knots = gather_values(unordered, order), values = gather_values(fp, order);
  const auto around = [](const Tensor& v, double shift) {
    return join(-shift + last_axis(v, -1, 0), v, shift + last_axis(v, 0, 1));
  };
  return on_lines(mod(x, period), around(knots, period), around(values, 0));
}

}  // namespace
}  // namespace ops

Tensor interp(const Operand& x_operand, const Operand& knots, const Operand& values, const InterpOptions& options) {
  const tape::OpScope scope(x_operand);
  const auto [d, wide] = ops::promote_operands(ops::interp_name, {&x_operand, &knots, &values}, ops::Accept::real);
  const ops::Quantity x = ops::to_tensor(ops::interp_name, x_operand, wide, "x");
  const ops::Quantity xp = ops::to_tensor(ops::interp_name, knots, wide, "xp");
  const ops::Quantity fp = ops::to_tensor(ops::interp_name, values, wide, "fp");
  if (xp.rank() != 1 || fp.rank() != 1 || xp.size() != fp.size() || xp.size() == 0)
    fail<ShapeError>(ops::interp_name, "xp is {} and fp {}; both must be vectors of as many elements, at least one",
                     xp.shape(), fp.shape());
  if (options.period != 0) return ops::cast_to(ops::periodic(x, xp, fp, options.period), d);
  ops::Quantity y = ops::on_lines(x, xp, fp);
  if (options.left) y = where(less(x, ops::last_axis(xp, 0, 1)(0)), *options.left, y);
  if (options.right) y = where(greater(x, ops::last_axis(xp, -1, 0)(0)), *options.right, y);
  return ops::cast_to(y, d);
}

}  // namespace reel
