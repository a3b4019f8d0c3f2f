// Integrals of samples along an axis, and of functions at the points of Gauss and Legendre.
#include <array>
#include <reel/solve/integrate.hpp>
#include <vector>

#include "interpolate/interpolate.hpp"
#include "special/gauss_legendre.hpp"
#include "tape/observe/observe.hpp"

namespace reel {

namespace ops {

namespace {

// The samples with their axis at the end, and the lengths of the intervals, which broadcast to them.
struct Sampled {
  Quantity y, h;
  std::int64_t n;
  int axis;
  bool even_spacing;
  DType dtype;
};
Sampled read_samples(const char* op, const Operand& samples, const Operand& spacing, std::int64_t axis) {
  const auto [d, wide] = promote_operands(op, {&samples, &spacing}, Accept::real);
  Sampled s;
  s.dtype = d;
  const Quantity y = to_tensor(op, samples, wide, "y");
  const Quantity x = to_tensor(op, spacing, wide, "spacing");
  s.axis = normalize(op, axis, y);
  s.n = y.shape()[s.axis];
  s.y = moveaxis(y, s.axis, -1);
  s.even_spacing = x.rank() == 0;
  if (x.rank() > 0 && x.shape() != y.shape() && (x.rank() != 1 || x.size() != s.n))
    fail<ShapeError>(
        op, "spacing is {}; it must be a number, the coordinates of {} samples, or coordinates in y's shape {}",
        x.shape(), s.n, y.shape());
  if (s.n < 2) return s;
  s.h = s.even_spacing ? x : steps_of(x.rank() == 1 ? x : Quantity(moveaxis(x, s.axis, -1)));
  return s;
}
// The integral over no interval: zeros that are connected.
Tensor nothing(const Sampled& s) { return cast_to(sum_of_rows(0.0 * s.y), s.dtype); }

Quantity trapezia(const Sampled& s) { return (0.5 * s.h) * (last_axis(s.y, 0, -1) + last_axis(s.y, 1, 0)); }

// The integral over the last interval, of length h1, under the parabola through the last three samples.
Quantity last_interval(const Sampled& s) {
  const auto back = [](const Tensor& v, std::int64_t k) {
    return last_axis(v, v.shape()[-1] - k, v.shape()[-1] - k + 1);
  };
  const Quantity y1 = back(s.y, 1), y2 = back(s.y, 2), y3 = back(s.y, 3);
  if (s.even_spacing) return sum_of_rows(s.h / 12 * (5.0 * y1 + 8.0 * y2 - y3));
  const Quantity h1 = back(s.h, 1), h0 = back(s.h, 2), ratio = h1 / h0, part = h1 / (h0 + h1);
  return sum_of_rows(h1 / 6 * ((3.0 - part) * y1 + (3.0 + ratio) * y2 - part * ratio * y3));
}
// Parabolas over pairs of intervals; an odd number of samples.
Quantity parabolas(const Sampled& s, std::int64_t n) {
  const Quantity y0 = last_axis(s.y, 0, n - 2, 2), y1 = last_axis(s.y, 1, n - 1, 2), y2 = last_axis(s.y, 2, n, 2);
  if (s.even_spacing) return s.h / 3 * sum_of_rows(y0 + 4 * y1 + y2);
  const Quantity h0 = last_axis(s.h, 0, n - 1, 2), h1 = last_axis(s.h, 1, n - 1, 2), up = h1 / h0, down = h0 / h1;
  return sum_of_rows((h0 + h1) / 6 * ((2.0 - up) * y0 + (2.0 + up + down) * y1 + (2.0 - down) * y2));
}

// Nodes in ascending order and weights on [-1, 1].
struct GaussRule {
  std::vector<double> nodes, weights;
  explicit GaussRule(int n) {
    std::vector<long double> x(static_cast<std::size_t>(n)), w(x.size());
    kernels::special::gauss_legendre(n, x.data(), w.data());
    nodes.assign(x.begin(), x.end());
    weights.assign(w.begin(), w.end());
  }
};

}  // namespace

}  // namespace ops

Tensor trapezoid(const Operand& y, const Operand& spacing, std::int64_t axis) {
  const tape::OpScope scope(y);
  const ops::Sampled s = ops::read_samples("trapezoid", y, spacing, axis);
  return s.n < 2 ? ops::nothing(s) : ops::cast_to(ops::sum_of_rows(ops::trapezia(s)), s.dtype);
}

Tensor cumulative_trapezoid(const Operand& y, const Operand& spacing, std::int64_t axis, bool initial) {
  constexpr const char* op = "cumulative_trapezoid";
  const tape::OpScope scope(y);
  const ops::Sampled s = ops::read_samples(op, y, spacing, axis);
  if (s.n == 0)
    fail<ShapeError>(op, "axis {} of y, of shape {}, has no samples; at least one is needed", s.axis,
                     moveaxis(s.y, -1, s.axis).shape());
  const ops::Quantity first = 0 * ops::last_axis(s.y, 0, 1);
  ops::Quantity sums = s.n < 2 ? slice(s.y, {ellipsis, range(0, 0)}) : cumsum(ops::trapezia(s), -1);
  if (initial) sums = ops::join(first, sums);
  return ops::cast_to(moveaxis(sums, -1, s.axis), s.dtype);
}

Tensor simpson(const Operand& y, const Operand& spacing, std::int64_t axis) {
  const tape::OpScope scope(y);
  const ops::Sampled s = ops::read_samples("simpson", y, spacing, axis);
  if (s.n == 0)
    fail<ShapeError>("simpson", "axis {} of y, of shape {}, has no samples; at least one is needed", s.axis,
                     moveaxis(s.y, -1, s.axis).shape());
  if (s.n == 1) return ops::nothing(s);
  if (s.n == 2) return ops::cast_to(ops::sum_of_rows(ops::trapezia(s)), s.dtype);
  const ops::Quantity whole = ops::parabolas(s, s.n % 2 == 1 ? s.n : s.n - 1);
  return ops::cast_to(s.n % 2 == 1 ? whole : whole + ops::last_interval(s), s.dtype);
}

Tensor fixed_quad(const Integrand& f, const Operand& from, const Operand& to, std::int64_t n) {
  constexpr const char* op = "fixed_quad";
  const tape::OpScope scope(from);
  if (!f) fail<ValueError>(op, "the function is empty");
  if (n < 1 || n > 100) fail<ValueError>(op, "n is {}; it must be from 1 to 100", n);
  const auto [d, wide] = ops::promote_operands(op, {&from, &to}, ops::Accept::real);
  const Tensor begin = ops::to_tensor(op, from, wide, "a"), end = ops::to_tensor(op, to, wide, "b");
  static_cast<void>(ops::broadcast_shapes(op, begin.shape(), end.shape()));
  const ops::Quantity a = expand_dims(begin, -1), b = expand_dims(end, -1);
  const ops::GaussRule rule(static_cast<int>(n));
  const ops::Quantity nodes = cast(from_data(rule.nodes), wide), weights = cast(from_data(rule.weights), wide);
  const ops::Quantity half = 0.5 * (b - a), x = 0.5 * (a + b) + half * nodes;
  const ops::Quantity y = f(x);
  ops::require_defined(op, y, "the function's result");
  if (y.shape() != x.shape())
    fail<ShapeError>(op, "the function turns shape {} into {}; they must be equal", x.shape(), y.shape());
  if (is_complex(y.dtype())) fail<TypeError>(op, "the function returned {}; it must be real", y.dtype());
  return ops::cast_to(ops::sum_of_rows(half * weights * y), d);
}

}  // namespace reel
