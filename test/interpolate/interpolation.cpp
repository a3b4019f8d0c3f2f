// Interpolation and integrals of samples: SciPy's values, kinks, ends, dtypes and errors. Values and derivatives in
// every shape and layout are checked by the op table.
#include <cmath>
#include <limits>
#include <reel/compile.hpp>
#include <reel/interpolate.hpp>
#include <reel/reel.hpp>
#include <reel/solve/integrate.hpp>
#include <string>

#include "catch.hpp"
#include "interpolation_values.hpp"
#include "support/derivatives.hpp"
#include "support/numbers.hpp"

using namespace reel;
using Catch::Contains;
using support::Doubles;
using support::worst;

namespace {

PiecewiseCubic made(const std::string& name, const Tensor& x, const Tensor& y) {
  if (name == "pchip") return pchip(x, y);
  if (name == "akima") return akima(x, y);
  if (name == "natural") return cubic_spline(x, y, {.ends = SplineEnds::natural});
  if (name == "periodic") return cubic_spline(x, y, {.ends = SplineEnds::periodic});
  if (name == "clamped")
    return cubic_spline(x, y, {.ends = SplineEnds::clamped, .first = scalar(2.0), .last = scalar(-1.0)});
  return cubic_spline(x, y);
}

}  // namespace

TEST_CASE("splines, their derivatives and integrals agree with SciPy") {
  for (const InterpolationValue& row : interpolation_values) {
    INFO(row.function << " of " << row.x.size() << " knots");
    const PiecewiseCubic f = made(row.function, from_data(row.x), from_data(row.y));
    const Tensor points = from_data(row.points);
    CHECK(worst(f(points), row.values) < 2e-13);
    CHECK(worst(f(points, 1), row.first) < 2e-13);
    CHECK(worst(f(points, 2), row.second) < 2e-13);
    CHECK(worst(f.integral(0.5, points), row.integrals) < 2e-13);
    CHECK(worst(f(points, 4), Doubles(row.points.size())) == 0);
    // The derivative by the point is that of the polynomial.
    CHECK(worst(from_data(support::slope_at([&](const Tensor& x) { return f(x); }, points)), row.first) < 2e-13);
    CHECK(worst(from_data(support::slope_at([&](const Tensor& x) { return f.integral(0.5, x); }, points)), row.values) <
          2e-13);
  }
}

TEST_CASE("interp agrees with NumPy; its derivative at a knot is the right one, outside it is 0") {
  const Tensor x = tensor({0, 1, 1.125, 4, 9, 9.5}), y = tensor({1, -2, 30, 31, 31.5, 8});
  const Tensor points = from_data(interp_points);
  CHECK(worst(interp(points, x, y), interp_plain) < 1e-15);
  CHECK(worst(interp(points, x, y, {.left = -7, .right = 70}), interp_ends) < 1e-15);
  CHECK(worst(interp(points, x, y, {.period = 6.5}), interp_period) < 2e-14);
  CHECK(worst(interp(points, x, y, {.period = -6.5}), interp_period) < 2e-14);
  const auto f = [&](const Tensor& p) { return interp(p, x, y); };
  CHECK(support::slope_at(f, tensor({-1, 0, 1, 4, 9, 9.5, 10})) == Doubles{0, -3, 256, 0.1, -47, -47, 0});
  // Derivatives by values are the weights; by knots, minus the slope times the weights.
  CHECK(support::slope_at([&](const Tensor& v) { return interp(0.25, x, v); }, y) == Doubles{0.75, 0.25, 0, 0, 0, 0});
  CHECK(support::slope_at([&](const Tensor& k) { return interp(0.25, k, y); }, x) == Doubles{2.25, 0.75, 0, 0, 0, 0});
  CHECK(support::slope_at([&](const Tensor& v) { return interp(-5, x, v); }, y) == Doubles{1, 0, 0, 0, 0, 0});
  CHECK(support::slope_at([&](const Tensor& v) { return interp(-5, x, v, {.left = 2}); }, y) == Doubles(6));
  // A jump between equal knots, one knot, infinite points and NaN.
  const Tensor jump = interp(tensor({0.5, 1, 1.5}), tensor({0, 1, 1, 2}), tensor({0, 1, 5, 6}));
  CHECK(jump.to_vector() == Doubles{0.5, 5, 5.5});
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(interp(tensor({-inf, 0.5, inf}), tensor({0}), tensor({3})).to_vector() == Doubles{3, 3, 3});
  CHECK(interp(tensor({-inf, inf}), x, y).to_vector() == Doubles{1, 8});
  CHECK(support::slope_at(f, tensor({-inf, inf})) == Doubles{0, 0});
  CHECK(std::isnan(interp(std::numeric_limits<double>::quiet_NaN(), x, y).item()));
  const Doubles at_nan = support::slope_at(f, tensor({1, std::numeric_limits<double>::quiet_NaN()}));
  CHECK(at_nan[0] == 256);
  CHECK(std::isnan(at_nan[1]));
  for (const double weight :
       support::slope_at([&](const Tensor& v) { return interp(std::numeric_limits<double>::quiet_NaN(), x, v); },
                         tensor({1, 2, 3, 4, 5, 6})))
    CHECK((std::isnan(weight) || weight == 0));
}

TEST_CASE("an infinite or NaN value does not count where it has no weight") {
  const Tensor knots = tensor({0, 1, 2}), x = tensor({0, 1, 2, 0.5, 1.5});
  const auto same = [](const Tensor& y, const std::vector<double>& expected) {
    const std::vector<double> v = y.to_vector();
    bool equal = v.size() == expected.size();
    for (std::size_t i = 0; equal && i < v.size(); ++i)
      equal = v[i] == expected[i] || (std::isnan(v[i]) && std::isnan(expected[i]));
    return equal;
  };
  for (const double node : {support::inf, -support::inf, support::qnan}) {
    const Tensor values = tensor({0, node, 1}), ends = tensor({node, 1, 3});
    CAPTURE(node);
    CHECK(same(interp(x, knots, values), {0, node, 1, node, node}));
    CHECK(same(compile([&](const Tensor& t) { return interp(t, knots, values); })(x), {0, node, 1, node, node}));
    CHECK(same(interp(x, knots, ends), {node, 1, 3, node, 2}));
    CHECK(same(regular_grid({knots}, values, expand_dims(x, -1)), {0, node, 1, node, node}));
    CHECK(same(map_coordinates(values, expand_dims(x, 0), {.order = 1}), {0, node, 1, node, node}));
    CHECK(same(map_coordinates(values, expand_dims(x, 0), {.order = 0}), {0, node, 1, node, 1}));
    CHECK(same(lerp(tensor({node, 1, 1, node}), tensor({2, node, node, 2}), tensor({1, 0, 0.75, 0.25})),
               {2, 1, node, node}));
    // To the values the weights, also beside such a value; to a position between finite values the slope.
    const auto of_values = [&](const Tensor& v) { return sum(interp(tensor({0, 2, 1.5}), knots, v)); };
    CHECK(same(grad(of_values)(values), {1, 0.5, 1.5}));
    CHECK(same(grad([&](const Tensor& t) { return sum(interp(t, knots, ends)); })(tensor({1, 1.5, 2})), {2, 2, 2}));
    CHECK(same(grad([&](const Tensor& t) { return sum(map_coordinates(ends, t, {.order = 1})); })(tensor({{1.5, 2}})),
               {2, 2}));
  }
  const double most = 0x1p1023;  // half the least number that overflows
  CHECK(same(interp(tensor({0.5, 0.25}), tensor({0, 1}), tensor({-most, most})), {0, -most / 2}));
  CHECK(same(lerp(-most, most, tensor({0, 0.5, 1})), {-most, 0, most}));
}

TEST_CASE("pchip and akima where secant slopes change sign or vanish") {
  const Tensor x = tensor({0, 1, 2, 3}), up_and_down = tensor({0, 1, 1, 0});
  CHECK(pchip(x, up_and_down)(x, 1).to_vector() == Doubles{1.5, 0, 0, -1.5});
  // Where the harmonic mean is 0, so is its derivative.
  CHECK(support::slope_at(
            [&](const Tensor& y) {
              return pchip(x, y)(tensor({1, 2}), 1);
            },
            up_and_down) == Doubles{0, 0, 0, 0});
  CHECK(akima(x, tensor({1, 1, 1, 1}))(x, 1).to_vector() == Doubles{0, 0, 0, 0});
  const Doubles by_line =
      support::slope_at([&](const Tensor& y) { return akima(x, y)(tensor({1.5})); }, tensor({0, 1, 2, 3}));
  for (const double g : by_line) CHECK(std::isfinite(g));
  // Values of any size: slopes are multiplied by a power of two exactly, as the values are.
  const Tensor points = tensor({0.25, 1.5, 2.75, 3.5}), knots = tensor({0, 1, 2.5, 3, 4.5});
  for (const auto& f : {pchip, akima})
    for (const double scale : {0x1p-1000, 0x1p-700, 0x1p700}) {
      const Tensor y = tensor({1, 2, 4.5, 5, 9});
      CHECK(array_equal(f(knots, scale * y)(points), scale * f(knots, y)(points)));
      const auto at = [&](const Tensor& v) { return f(knots, v)(points); };
      for (std::size_t k = 0; k < 5; ++k)
        CHECK(support::slope_at(at, scale * y)[k] == Approx(support::slope_at(at, y)[k]).margin(1e-13));
    }
}

TEST_CASE("pchip: slopes at the ends are SciPy's three-point estimate and its two limits, with their derivatives") {
  const Tensor x = tensor({0, 1, 3, 4});
  // The slope at the first knot and its derivatives by the values; the data are those of the other end as well.
  const auto check = [&](const Doubles& values, double slope, const Doubles& weights) {
    INFO("values " << Catch::Detail::stringify(values));
    const Tensor y = from_data(values);
    CHECK(pchip(x, y)(0, 1).item() == Approx(slope).epsilon(1e-15));
    const Doubles first = support::slope_at([&](const Tensor& v) { return pchip(x, v)(0, 1); }, y);
    const auto last = [&](const Tensor& v) { return -pchip(4 - flip(x, 0), flip(v, 0))(4, 1); };
    CHECK(last(y).item() == Approx(slope).epsilon(1e-15));
    const Doubles mirrored = support::slope_at(last, y);
    for (std::size_t k = 0; k < weights.size(); ++k) {
      CHECK(first[k] == Approx(weights[k]).margin(1e-15));
      CHECK(mirrored[k] == Approx(weights[k]).margin(1e-15));
    }
  };
  // m0 and m1 are the slopes of the first two intervals, of lengths 1 and 2: the estimate is (4 m0 - m1) / 3.
  const Doubles estimate = {-4. / 3, 1.5, -1. / 6, 0}, limited = {-3, 3, 0, 0}, no_slope = {0, 0, 0, 0};
  check({0, 2, 3, 5}, 2.5, estimate);       // m0 = 2, m1 = 1/2
  check({0, 2, -1, 5}, 19. / 6, estimate);  // m0 = 2, m1 = -3/2
  check({0, -2, -3, 5}, -2.5, estimate);    // m0 = -2, m1 = -1/2
  check({0, 2, -22, 5}, 6, limited);        // m0 = 2, m1 = -12
  check({0, -2, 22, 5}, -6, limited);       // m0 = -2, m1 = 12
  check({0, 2, 30, 5}, 0, no_slope);        // m0 = 2, m1 = 14: the estimate has the other sign
  check({0, 1, 9, 5}, 0, no_slope);         // the estimate is 0
  check({0, 1, -9, 5}, 3, estimate);        // the estimate is 3 m0
  check({1, 1, 1, 5}, 0, estimate);         // m0 = m1 = 0
  check({1, 1, 1, 1}, 0, estimate);
  check({1, 1, 5, 5}, 0, no_slope);  // m0 = 0
  check({1, 1, -5, 5}, 0, no_slope);
  check({1, 3, 3, 5}, 8. / 3, estimate);  // m1 = 0
}

TEST_CASE("simpson over coordinates near the ends of the range") {
  const Tensor x = tensor({0, 1, 3, 4, 6, 6.5}), y = tensor({1, 0, 2, -1, 0.5, 3});
  for (const DType d : {DType::float32, DType::float64})
    for (const std::int64_t n : {5, 6})
      for (const double power : {-1.0, 1.0}) {
        const Tensor scale =
            cast(scalar(std::ldexp(1.0, static_cast<int>(power * (d == DType::float32 ? 100 : 900)))), d);
        const Tensor samples = cast(slice(y, {range(0, n)}), d), at = cast(slice(x, {range(0, n)}), d);
        const auto integral = [&](const Tensor& knots) { return simpson(samples, knots); };
        CHECK(array_equal(integral(at * scale), integral(at) * scale));
        CHECK(array_equal(support::gradient_at(integral, at * scale), support::gradient_at(integral, at)));
      }
}

TEST_CASE("interpolation: dtypes, errors, traces") {
  const Tensor x = tensor({0, 1, 2}), y = tensor({1, 2, 5});
  for (const DType d : {DType::float16, DType::bfloat16, DType::float32}) {
    CHECK(interp(cast(0.5 * x, d), cast(x, d), cast(y, d)).dtype() == d);
    CHECK(cubic_spline(cast(x, d), cast(y, d))(0.5).dtype() == d);
    CHECK(simpson(cast(y, d)).dtype() == d);
  }
  const Tensor counts = arange(3);
  CHECK(interp(counts, counts, counts).dtype() == DType::float64);
  CHECK(trapezoid(counts).item() == 2);
  CHECK(simpson(ones({1})).item() == 0);
  CHECK(trapezoid(ones({2, 0})).to_vector() == Doubles{0, 0});
  CHECK(cumulative_trapezoid(ones({1}), 1.0, 0, true).to_vector() == Doubles{0});
  CHECK_THROWS_WITH(interp(0.5, x, ones({2})), Contains("interp: xp is [3] and fp [2]"));
  CHECK_THROWS_AS(interp(0.5, zeros({0}), zeros({0})), ShapeError);
  CHECK_THROWS_AS(interp(make_complex(x, x), x, y), TypeError);
  CHECK_THROWS_WITH(interp(0.5, x, y, {.period = std::numeric_limits<double>::quiet_NaN()}),
                    Contains("interp: the period is nan"));
  for (const Tensor& bad :
       {tensor({0, 0, 1}), tensor({0, 2, 1}), tensor({0, std::numeric_limits<double>::quiet_NaN(), 1})})
    CHECK_THROWS_WITH(pchip(bad, y),
                      Contains("pchip: knot 1 is not larger") || Contains("pchip: knot 2 is not larger"));
  CHECK_THROWS_AS(akima(x, ones({2, 2})), ShapeError);
  CHECK_THROWS_AS(cubic_spline(ones({1}), ones({1})), ShapeError);
  CHECK_THROWS_WITH(cubic_spline(x, y, {.first = scalar(1.0)}), Contains("clamped"));
  CHECK_THROWS_WITH(cubic_spline(x, ones({2, 3}), {.ends = SplineEnds::clamped, .last = ones({2, 2})}),
                    Catch::StartsWith("cubic_spline: the derivative at an end is [2, 2]; it must broadcast"));
  CHECK_THROWS_WITH(cubic_spline(x, ones({2, 3}), {.ends = SplineEnds::clamped, .first = ones({3})}),
                    Catch::StartsWith("cubic_spline: shapes [3] and [2]"));
  CHECK_THROWS_AS(cubic_spline(x, y)(0.5, -1), ValueError);
  CHECK_THROWS_AS(PiecewiseCubic()(0.5), ValueError);
  CHECK_THROWS_AS((PiecewiseCubic{x, ones({3, 2})})(0.5), ShapeError);
  CHECK_THROWS_AS(trapezoid(y, ones({2})), ShapeError);
  CHECK_THROWS_AS(simpson(zeros({0})), ShapeError);
  const auto traced = compile([](const Tensor& knots, const Tensor& values, const Tensor& at) {
    return interp(at, knots, values) + cubic_spline(knots, values)(at) + akima(knots, values)(at) + simpson(values);
  });
  const Tensor at = tensor({0.25, 1.5});
  const Tensor direct = interp(at, x, y) + cubic_spline(x, y)(at) + akima(x, y)(at) + simpson(y);
  CHECK(array_equal(traced(x, y, at), direct));
  CHECK(array_equal(traced(x, y, at), direct));
  CHECK_THROWS_AS(traced(flip(x), y, at), ValueError);
  CHECK_THROWS_WITH(compile([](const Tensor& knots) { return cubic_spline(knots, knots)(0.5); })(flip(x)),
                    Contains("cubic_spline: knot 1 is not larger"));
}
