// B-splines: the weights of the coefficients around each point by the recursion of Cox and de Boor, degree by degree,
// all points at once.
#include <reel/interpolate.hpp>
#include <reel/ops/sorting.hpp>
#include <utility>

#include "interpolate/interpolate.hpp"
#include "tape/observe/observe.hpp"

namespace reel {

namespace ops {

namespace {

constexpr std::int64_t most_degree = 31;  // the recurrence takes degree^2 passes over x

// [x's shape, count]: `first` and the numbers that follow it.
Tensor count_up_from(const Tensor& first, std::int64_t count) { return expand_dims(first, -1) + arange(count); }

void require_b_spline(const char* op, const Tensor& knots, const Tensor& c, std::int64_t degree) {
  if (degree < 0 || degree > most_degree)
    fail<ValueError>(op, "the degree is {}; it must be in [0, {}]", degree, most_degree);
  if (knots.rank() != 1 || c.rank() == 0 || c.shape()[-1] <= degree || knots.size() != c.shape()[-1] + degree + 1)
    fail<ShapeError>(
        op,
        "knots are {}, coefficients {}, of degree {}; they must be [n + degree + 1] and [..., n], n larger "
        "than the degree",
        knots.shape(), c.shape(), degree);
}

// The first knot [x's shape] of the interval that x is in, among those that are not empty.
Tensor interval_at(const Tensor& knots, const Tensor& x, std::int64_t degree) {
  const std::int64_t n = knots.size() - degree - 1;
  const Tensor inner = stop_gradient(last_axis(knots, degree, n + 1)), points = stop_gradient(x);
  const Tensor ends = gather_values(inner, tensor<std::int64_t>({0, n - degree}));
  const Tensor first = searchsorted(inner, ends(0), true) - 1, last = searchsorted(inner, ends(1)) - 1;
  return clip(searchsorted(inner, points, true) - 1, first, last) + degree;
}

// The B-splines that are not 0 in the interval, at x: [x's shape, degree + 1]. Those of one degree less, times the
// distances to the ends of their supports.
Quantity b_spline_weights(const Tensor& knots, const Tensor& x, const Tensor& interval, std::int64_t degree) {
  const Quantity at = expand_dims(x, -1);
  Quantity w = where(isnan(at), at, 1.0);
  if (degree == 0) return w;
  const Quantity around = gather_values(knots, count_up_from(interval - (degree - 1), 2 * degree));
  for (std::int64_t j = 1; j <= degree; ++j) {
    const Quantity lower = last_axis(around, degree - j, degree), upper = last_axis(around, degree, degree + j);
    const Quantity part = w / (upper - lower);
    const Quantity none = zeros_like(at);
    w = join((upper - at) * part, none) + join(none, (at - lower) * part);
  }
  return w;
}

// [..., x's shape]
Quantity b_spline_at(const Tensor& knots, const Tensor& c, std::int64_t degree, const Tensor& x) {
  const Tensor interval = interval_at(knots, x, degree);
  const Quantity own = gather_values(c, count_up_from(interval - degree, degree + 1));
  return sum_of_rows(own * b_spline_weights(knots, x, interval, degree));
}

// Knots and coefficients of the derivative, which has one degree less.
void differentiate(Quantity& knots, Quantity& c, std::int64_t degree) {
  const Quantity length = last_axis(knots, degree + 1, -1) - last_axis(knots, 1, -degree - 1);
  const Tensor empty = equal(length, 0);
  c = where(empty, 0, static_cast<double>(degree) * steps_of(c) / where(empty, 1, length));
  knots = last_axis(knots, 1, -1);
}
// Those of the integral from the first knot, which has one degree more.
void integrate(Quantity& knots, Quantity& c, std::int64_t degree) {
  const Quantity length = last_axis(knots, degree + 1, 0) - last_axis(knots, 0, -degree - 1);
  const Quantity sums = cumsum(c * length, -1) / static_cast<double>(degree + 1);
  c = join(zeros_like(last_axis(sums, 0, 1)), sums);
  knots = join(last_axis(knots, 0, 1), knots, last_axis(knots, -1, 0));
}

// The spline as it is evaluated. Its members are public and may have been changed.
struct CheckedSpline {
  Quantity knots, coefficients;
};
CheckedSpline check_spline(const char* op, const BSpline& f) {
  require_defined(op, f.knots, "knots");
  require_defined(op, f.coefficients, "coefficients");
  require_b_spline(op, f.knots, f.coefficients, f.degree);
  if (f.knots.dtype() != DType::float64 || f.coefficients.dtype() != DType::float64)
    fail<TypeError>(op, "knots are {}, coefficients {}; both must be float64", f.knots.dtype(), f.coefficients.dtype());
  return {f.knots, f.coefficients};
}

}  // namespace
}  // namespace ops

Tensor BSpline::operator()(const Operand& operand, int derivative) const {
  constexpr const char* op = "BSpline";
  const tape::OpScope scope(operand);
  auto [t, c] = ops::check_spline(op, *this);
  if (derivative < 0) fail<ValueError>(op, "the order of the derivative is {}; it must be at least 0", derivative);
  const DType result = ops::dtype_at(op, dtype, {&operand});
  const ops::Quantity x = ops::to_tensor(op, operand, DType::float64, "x");
  ops::require_rank(op, x.rank() + coefficients.rank());
  const std::int64_t orders = std::min(derivative, degree);
  for (std::int64_t k = 0; k < orders; ++k) ops::differentiate(t, c, degree - k);
  ops::Quantity y = ops::b_spline_at(t, c, degree - orders, x);
  if (derivative > degree) y = 0.0 * y;
  return ops::cast_to(y, result);
}

Tensor BSpline::integral(const Operand& from, const Operand& to) const {
  constexpr const char* op = "BSpline";
  const tape::OpScope scope(from);
  auto [t, c] = ops::check_spline(op, *this);
  const DType result = ops::dtype_at(op, dtype, {&from, &to});
  ops::Quantity a = ops::to_tensor(op, from, DType::float64, "a");
  ops::Quantity b = ops::to_tensor(op, to, DType::float64, "b");
  const Shape shape = ops::broadcast_shapes(op, a.shape(), b.shape());
  ops::require_rank(op, shape.rank() + coefficients.rank());
  ops::integrate(t, c, degree);
  a = broadcast_to(a, shape), b = broadcast_to(b, shape);
  // In this order with every compiler, as steps_of().
  const Tensor lower = ops::b_spline_at(t, c, degree + 1, a), upper = ops::b_spline_at(t, c, degree + 1, b);
  return ops::cast_to(upper - lower, result);
}

BSpline b_spline(const Operand& knots, const Operand& coefficients, int degree) {
  constexpr const char* op = "b_spline";
  const tape::OpScope scope(knots);
  const DType d = ops::promote_operands(op, {&knots, &coefficients}, ops::Accept::real).result;
  const ops::Quantity t = ops::to_tensor(op, knots, DType::float64, "knots");
  const ops::Quantity c = ops::to_tensor(op, coefficients, DType::float64, "coefficients");
  ops::require_b_spline(op, t, c, degree);
  return {ops::check_knots(op, t, degree), c, degree, d};
}

}  // namespace reel
