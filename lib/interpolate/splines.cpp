// Piecewise cubic functions. The methods differ in the slopes at the knots. Values and slopes determine the polynomial
// of each interval, which is evaluated by Horner's scheme.
#include <algorithm>
#include <cmath>
#include <reel/interpolate.hpp>
#include <reel/linalg/structured.hpp>
#include <reel/ops/sorting.hpp>

#include "csource/steps.hpp"
#include "interpolate/interpolate.hpp"
#include "linalg/matrices.hpp"
#include "loops/loops.hpp"
#include "loops/sort/search.hpp"
#include "ops/apply/apply.hpp"
#include "ops/elementwise/composed.hpp"
#include "tape/observe/observe.hpp"

namespace reel {

namespace ops {

namespace {

// ---- Knots: checked to be ascending, and passed on. Attributes: the address of the op's name, and the degree of a
// spline whose knots may repeat, or -1.

void infer_knots(const Call& call, Metas& out) { out.add_like(call.input(0)); }
void evaluate_knots(const Call& call, Outputs& out) {
  loops::copy(call.input(0), out[0]);
  const auto* op = reinterpret_cast<const char*>(call.attribute(0));
  const std::int64_t degree = call.attribute(1);
  const std::int64_t k = loops::first_not_ascending(out[0], degree >= 0);
  if (k >= 0 && degree < 0)
    fail<ValueError>(op, "knot {} is not larger than the one before, or NaN; sort the knots and leave out equal ones",
                     k);
  if (k >= 0) fail<ValueError>(op, "knot {} is smaller than the one before, or NaN; sort the knots", k);
  const std::int64_t last = out[0].size() - 1 - degree;
  if (degree >= 0 && loops::equal_elements(out[0], degree, last))
    fail<ValueError>(op, "knots {} to {} are all equal, so the spline has no interval", degree, last);
}
Tensor same(const tape::Record&, const Tensor& g) { return g; }
void write_knots(const Call& call, csource::Writer& w) {
  const std::int64_t n = call.input(0).size(), degree = call.attribute(1), last = n - 1 - degree;
  csource::write_steps(w, call.input(0).dtype(),
                       degree < 0 ? "copy i0 o0\nrefuse $disordered(o0, #0, 0)|knots are not ascending"
                                  : "copy i0 o0\nrefuse $disordered(o0, #0, 1)|knots are not ascending\n"
                                    "refuse (o0)[#1] == (o0)[#2]|the spline has no interval",
                       {n, degree, last});
}
constexpr Primitive knots_primitive = {.rule = linear<same, same>("knots"),
                                       .infer = infer_knots,
                                       .evaluate = evaluate_knots,
                                       .effects = may_throw,
                                       .write_c = write_knots};

}  // namespace

Quantity check_knots(const char* op, const Tensor& x, std::int64_t degree) {
  return apply(knots_primitive, {&x}, words(reinterpret_cast<std::intptr_t>(op), degree));
}

namespace {

// ---- Pointwise parts

// The slope at a knot between intervals of slopes m0 and m1 and lengths h0 and h1.
Lane harmonic(const Lane* a) {
  const Lane &m0 = a[0], &m1 = a[1], &h0 = a[2], &h1 = a[3];
  const LaneMask agree = (m0 > 0 && m1 > 0) || (m0 < 0 && m1 < 0), first = abs(m0) < abs(m1);
  const Lane w0 = 2 * h1 + h0, w1 = h1 + 2 * h0;
  // By the quotient of the slopes, so that those of any size leave no range.
  const Lane small = where(agree, where(first, m0, m1), 1), large = where(agree, where(first, m1, m0), 1);
  return where(agree, small * ((w0 + w1) / (where(first, w0, w1) + where(first, w1, w0) * (small / large))), 0);
}
// The slope at the end of an interval of slope m0; m1 is that of the next one. The three-point estimate d, unless its
// sign is not that of m0, or m1 has another sign than m0 and d is too steep. If all are 0, the derivative is that of d.
Lane at_end(const Lane* a) {
  const Lane &m0 = a[0], &m1 = a[1], &h0 = a[2], &h1 = a[3];
  const Lane d = ((2 * h0 + h1) * m0 - h0 * m1) / (h0 + h1);
  const LaneMask turns = (m0 > 0 && m1 <= 0) || (m0 < 0 && m1 >= 0) || (equal(m0, 0) && not_equal(m1, 0));
  const LaneMask agree = (d > 0 && m0 > 0) || (d < 0 && m0 < 0) || (equal(d, 0) && equal(m0, 0));
  return where(agree, where(turns && abs(d) > 3 * abs(m0), 3 * m0, d), 0);
}
// (c0 m0 + c1 m1) / (c0 + c1), or the mean of m0 and m1 where the changes of slope c0 + c1 do not exceed the threshold.
Lane by_changes(const Lane* a) {
  const Lane &m0 = a[0], &m1 = a[1], &c0 = a[2], &c1 = a[3], &threshold = a[4];
  const LaneMask live = c0 + c1 > threshold;
  const Lane sum = where(live, c0 + c1, 1);
  return where(live, where(live, c0, 0) / sum * m0 + where(live, c1, 0) / sum * m1, 0.5 * (m0 + m1));
}
// The polynomial with coefficients a[1] ... a[4] at a[0].
Lane horner(const Lane* a) { return a[1] + a[0] * (a[2] + a[0] * (a[3] + a[0] * a[4])); }
enum SplineFunction : std::size_t { slope_inside, slope_at_end, slope_by_changes, polynomial };
constexpr Composed spline_functions[] = {
    {"pchip", harmonic}, {"pchip", at_end}, {"akima", by_changes}, {"piecewise_cubic", horner}};
constinit const ComposedOps spline_ops(spline_functions);

Tensor spline_call(SplineFunction f, std::initializer_list<Tensor> x) {
  detail::List<Operand> operands(x.begin(), x.end());
  detail::List<const Operand*> list;
  for (const Operand& operand : operands) list.push_back(&operand);
  return spline_ops.call(f, list);
}

// ---- Samples

struct Samples {
  Quantity x, y;      // [n], [..., n], float64
  Quantity h, slope;  // lengths of the intervals, and slopes in them
  std::int64_t n;
  DType dtype;
};
Samples samples(const char* op, const Operand& x, const Operand& y) {
  Samples s;
  s.dtype = promote_operands(op, {&x, &y}, Accept::real).result;
  const Quantity knots = to_tensor(op, x, DType::float64, "x");
  s.y = to_tensor(op, y, DType::float64, "y");
  if (knots.rank() != 1 || s.y.rank() == 0 || knots.size() != s.y.shape()[-1] || knots.size() < 2)
    fail<ShapeError>(op, "x is {} and y {}; x must be a vector of at least 2 knots, the last axis of y as long",
                     knots.shape(), s.y.shape());
  require_rank(op, s.y.rank() + 1);
  s.x = check_knots(op, knots);
  s.n = knots.size();
  s.h = steps_of(s.x);
  s.slope = steps_of(s.y) / s.h;
  return s;
}
// The function with these slopes at the knots.
PiecewiseCubic hermite(const Samples& s, const Tensor& slopes, bool periodic = false) {
  const Quantity left = last_axis(slopes, 0, -1), right = last_axis(slopes, 1, 0);
  const Quantity bend = (left + right - 2 * s.slope) / s.h;
  const Quantity square = (s.slope - left) / s.h - bend;
  return {s.x, stack({last_axis(s.y, 0, -1), left, square, bend / s.h}, 0), s.dtype, periodic};
}

// ---- Slopes of splines: the equations of continuous second derivatives, one per inner knot, and of the ends.

// The solution with vectors b [..., n] for right sides.
Tensor solve_for_rows(const Tensor& lower, const Tensor& diagonal, const Tensor& upper, const Tensor& b) {
  const std::int64_t n = b.shape()[-1];
  const Quantity rows = reshape(b, {b.size() / n, n});
  const Quantity x = tridiagonal_solve(lower, diagonal, upper, transpose(rows));
  return reshape(transpose(x), b.shape());
}

struct Equations {
  Quantity lower, diagonal, upper, right;
};
// The equations of the inner knots.
Equations inner(const Tensor& h, const Tensor& slope) {
  const Quantity h0 = last_axis(h, 0, -1), h1 = last_axis(h, 1, 0);
  return {h1, 2 * (h0 + h1), h0, 3 * (h1 * last_axis(slope, 0, -1) + h0 * last_axis(slope, 1, 0))};
}

// The equation of one end: the coefficient of its own slope, of its neighbour's, and the right side. h and slope begin
// at that end.
struct EndEquation {
  Quantity own, next, right;
};
EndEquation end_equation(const Samples& s, const SplineOptions& options, bool first) {
  const std::int64_t k = first ? 0 : -1;
  const auto at = [&](const Tensor& v, std::int64_t i) {
    const std::int64_t m = v.shape()[-1], from = k == 0 ? i : m - 1 - i;
    return last_axis(v, from, from + 1);
  };
  const Quantity h0 = at(s.h, 0), m0 = at(s.slope, 0);
  switch (options.ends) {
    case SplineEnds::natural:
      return {2 * h0, h0, 3 * h0 * m0};
    case SplineEnds::not_a_knot: {
      if (s.n == 2) return {ones_like(h0), zeros_like(h0), m0};
      const Quantity h1 = at(s.h, 1), m1 = at(s.slope, 1), both = h0 + h1;
      if (s.n == 3) return {ones_like(h0), ones_like(h0), 2 * m0};
      return {h1, both, ((h0 + 2 * both) * h1 * m0 + h0 * h0 * m1) / both};
    }
    default: {
      const Tensor& derivative = first ? options.first : options.last;
      const Quantity value =
          derivative.defined() ? expand_dims(cast_to(derivative, DType::float64), -1) : zeros_like(m0);
      return {ones_like(h0), zeros_like(h0), broadcast_to(value, m0.shape())};
    }
  }
}

void require_end(const char* op, const Samples& s, const Tensor& derivative) {
  Shape batch = s.y.shape();
  batch.pop_back();
  if (derivative.defined() &&
      (derivative.rank() > batch.rank() || broadcast_shapes(op, derivative.shape(), batch) != batch))
    fail<ShapeError>(op, "the derivative at an end is {}; it must broadcast to y's shape without its last axis, {}",
                     derivative.shape(), batch);
}

Tensor spline_slopes(const Samples& s, const SplineOptions& options) {
  const EndEquation first = end_equation(s, options, true), last = end_equation(s, options, false);
  if (s.n == 2) return solve_for_rows(last.next, join(first.own, last.own), first.next, join(first.right, last.right));
  const Equations in = inner(s.h, s.slope);
  return solve_for_rows(join(in.lower, last.next), join(first.own, in.diagonal, last.own), join(first.next, in.upper),
                        join(first.right, in.right, last.right));
}

}  // namespace

Quantity not_a_knot_slopes(const char* op, const Tensor& x, const Tensor& y) {
  return spline_slopes(samples(op, x, y), SplineOptions{});
}

namespace {

// The cyclic equations by the formula of Sherman and Morrison, with the corners as a matrix of rank 1.
Tensor periodic_slopes(Samples& s) {
  const std::int64_t m = s.n - 1;
  s.y = join(last_axis(s.y, 0, -1), last_axis(s.y, 0, 1));
  s.slope = steps_of(s.y) / s.h;
  // Equation i is that of knot i, between intervals i - 1 and i.
  const Quantity before = roll(s.h, 1, -1), own = s.h;
  const Quantity lower = own, upper = before, diagonal = 2 * (before + own);
  const Quantity right = 3 * (own * roll(s.slope, 1, -1) + before * s.slope);
  Quantity slopes;
  if (m == 1) {
    slopes = zeros_like(right);
  } else if (m == 2) {
    const Quantity sum = lower + upper;
    slopes = solve_for_rows(last_axis(sum, 1, 0), diagonal, last_axis(sum, 0, 1), right);
  } else {
    const Quantity corner = last_axis(lower, 0, 1), other = last_axis(upper, -1, 0), pivot = last_axis(diagonal, 0, 1);
    const Quantity ends =
        join(-1 * pivot, zeros({m - 2}), other);  // the rank-1 matrix: ends [1, 0, ..., -corner / pivot]
    const Quantity reduced =
        join(2 * pivot, last_axis(diagonal, 1, -1), last_axis(diagonal, -1, 0) + corner * other / pivot);
    const Quantity below = last_axis(lower, 1, 0), above = last_axis(upper, 0, -1);
    const auto across = [&](const Tensor& v) { return last_axis(v, 0, 1) - corner / pivot * last_axis(v, -1, 0); };
    const Quantity x = solve_for_rows(below, reduced, above, right), z = solve_for_rows(below, reduced, above, ends);
    slopes = x - across(x) / (1 + across(z)) * z;
  }
  return join(slopes, last_axis(slopes, 0, 1));
}

// ---- Evaluation

struct SplinePlace {
  Quantity interval, within, laps;  // the number of the interval, x - its first knot; whole periods before x
};
SplinePlace place_of(const PiecewiseCubic& f, Tensor x) {
  const std::int64_t n = f.knots.size();
  SplinePlace p;
  if (f.periodic) {
    const Quantity first = f.knots(0), period = f.knots(n - 1) - first;
    p.laps = stop_gradient(floor((x - first) / period));
    x = x - p.laps * period;
  }
  p.interval = clip(searchsorted(f.knots, x, true) - 1, 0, n - 2);
  p.within = x - gather_values(f.knots, p.interval);
  return p;
}
void require_function(const char* op, const PiecewiseCubic& f) {
  require_defined(op, f.knots, "knots");
  require_defined(op, f.coefficients, "coefficients");
  const Tensor &k = f.knots, &c = f.coefficients;
  if (k.rank() != 1 || k.size() < 2 || c.rank() < 2 || c.shape()[0] != 4 || c.shape()[-1] != k.size() - 1)
    fail<ShapeError>(op, "knots are {}, coefficients {}; they must be [n], n at least 2, and [4, ..., n - 1]",
                     k.shape(), c.shape());
  if (k.dtype() != DType::float64 || c.dtype() != DType::float64)
    fail<TypeError>(op, "knots are {}, coefficients {}; both must be float64", k.dtype(), c.dtype());
}

// The integral from the first knot.
Tensor antiderivative(const PiecewiseCubic& f, const Tensor& x) {
  const Tensor &c = f.coefficients, h = steps_of(f.knots);
  const auto integrate = [](const Tensor& d, const Tensor* k) {
    return d * spline_call(polynomial, {d, k[0], k[1] / 2, k[2] / 3, k[3] / 4});
  };
  const Tensor all[] = {c(0), c(1), c(2), c(3)};
  const Quantity whole = integrate(h, all), before = cumsum(whole, -1, true);
  const SplinePlace p = place_of(f, x);
  Tensor own[4];
  for (std::size_t k = 0; k < 4; ++k) own[k] = gather_values(all[k], p.interval);
  Quantity y = gather_values(before, p.interval) + integrate(p.within, own);
  if (p.laps.defined()) {
    Quantity total = sum_of_rows(whole);
    for (int k = 0; k < x.rank(); ++k) total = expand_dims(total, -1);
    y = y + p.laps * total;
  }
  return y;
}

}  // namespace

}  // namespace ops

Tensor PiecewiseCubic::operator()(const Operand& operand, int derivative) const {
  constexpr const char* op = "PiecewiseCubic";
  const tape::OpScope scope(operand);
  ops::require_function(op, *this);
  if (derivative < 0) fail<ValueError>(op, "the order of the derivative is {}; it must be at least 0", derivative);
  const DType result = ops::dtype_at(op, dtype, {&operand});
  const ops::Quantity x = ops::to_tensor(op, operand, DType::float64, "x");
  ops::require_rank(op, x.rank() + coefficients.rank() - 2);
  const ops::SplinePlace p = ops::place_of(*this, x);
  Tensor c[4];
  for (int k = 0; k < 4; ++k) {
    double factor = 1;
    for (int j = 0; j < derivative; ++j) factor *= k + derivative - j;
    c[k] = k + derivative < 4 ? ops::gather_values(coefficients(k + derivative), p.interval)
                              : zeros_like(k == 0 ? ops::gather_values(coefficients(0), p.interval) : c[0]);
    if (factor != 1) c[k] = factor * c[k];
  }
  return ops::cast_to(ops::spline_call(ops::polynomial, {p.within, c[0], c[1], c[2], c[3]}), result);
}

Tensor PiecewiseCubic::integral(const Operand& from, const Operand& to) const {
  constexpr const char* op = "PiecewiseCubic";
  const tape::OpScope scope(from);
  ops::require_function(op, *this);
  const DType result = ops::dtype_at(op, dtype, {&from, &to});
  ops::Quantity a = ops::to_tensor(op, from, DType::float64, "a");
  ops::Quantity b = ops::to_tensor(op, to, DType::float64, "b");
  const Shape shape = ops::broadcast_shapes(op, a.shape(), b.shape());
  ops::require_rank(op, shape.rank() + coefficients.rank() - 2);
  a = broadcast_to(a, shape), b = broadcast_to(b, shape);
  return ops::cast_to(ops::antiderivative(*this, b) - ops::antiderivative(*this, a), result);
}

PiecewiseCubic cubic_spline(const Operand& x, const Operand& y, const SplineOptions& options) {
  constexpr const char* op = "cubic_spline";
  const tape::OpScope scope(x);
  if (options.ends > SplineEnds::periodic) fail<ValueError>(op, "these are no ends of a spline");
  if (options.ends != SplineEnds::clamped && (options.first.defined() || options.last.defined()))
    fail<ValueError>(op, "derivatives at the ends are given; they are for clamped ends alone");
  ops::Samples s = ops::samples("cubic_spline", x, y);
  ops::require_end(op, s, options.first);
  ops::require_end(op, s, options.last);
  return ops::named(op, [&] {
    const bool periodic = options.ends == SplineEnds::periodic;
    const ops::Quantity slopes = periodic ? ops::periodic_slopes(s) : ops::spline_slopes(s, options);
    return ops::hermite(s, slopes, periodic);
  });
}

PiecewiseCubic pchip(const Operand& x, const Operand& y) {
  const tape::OpScope scope(x);
  const ops::Samples s = ops::samples("pchip", x, y);
  using ops::last_axis;
  const Tensor &h = s.h, &m = s.slope;
  if (s.n == 2) return ops::hermite(s, ops::join(m, m));
  const ops::Quantity inside = ops::spline_call(
      ops::slope_inside, {last_axis(m, 0, -1), last_axis(m, 1, 0), last_axis(h, 0, -1), last_axis(h, 1, 0)});
  const auto end = [&](std::int64_t own, std::int64_t next) {
    const auto at = [](const Tensor& v, std::int64_t i) { return last_axis(v, i, i + 1); };
    return ops::spline_call(ops::slope_at_end, {at(m, own), at(m, next), at(h, own), at(h, next)});
  };
  return ops::hermite(s, ops::join(end(0, 1), inside, end(s.n - 2, s.n - 3)));
}

PiecewiseCubic akima(const Operand& x, const Operand& y) {
  const tape::OpScope scope(x);
  const ops::Samples s = ops::samples("akima", x, y);
  using ops::last_axis;
  const Tensor& m = s.slope;
  if (s.n == 2) return ops::hermite(s, ops::join(m, m));
  const auto at = [&](std::int64_t i) { return last_axis(m, i, i + 1); };
  const std::int64_t k = s.n - 2;
  const ops::Quantity l1 = 2 * at(0) - at(1), l0 = 2 * l1 - at(0), r0 = 2 * at(k) - at(k - 1), r1 = 2 * r0 - at(k);
  const ops::Quantity all = ops::join(ops::join(l0, l1, m), r0, r1), change = abs(ops::steps_of(all));
  const ops::Quantity after = last_axis(change, 2, 0), before = last_axis(change, 0, -2);
  constexpr double least_change = 1e-9;  // relative to the largest: below, the slopes are averaged, as by SciPy
  const ops::Quantity threshold = stop_gradient(least_change * max(after + before, -1, true));
  return ops::hermite(s, ops::spline_call(ops::slope_by_changes,
                                          {last_axis(all, 1, -2), last_axis(all, 2, -1), after, before, threshold}));
}

}  // namespace reel
