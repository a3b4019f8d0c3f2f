// B-splines and values on grids: SciPy's values, grid lines, ends, dtypes and errors. Values and derivatives in every
// shape and layout are checked by the op table.
#include <cmath>
#include <limits>
#include <reel/compile.hpp>
#include <reel/interpolate.hpp>
#include <reel/reel.hpp>
#include <string>

#include "catch.hpp"
#include "grid_values.hpp"
#include "support/derivatives.hpp"

using namespace reel;
using Catch::Contains;
using Doubles = std::vector<double>;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

double worst(const Tensor& got, const Doubles& expected) {
  const Doubles values = got.to_vector();
  REQUIRE(values.size() == expected.size());
  double largest = 0;
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (std::isnan(values[k]) && std::isnan(expected[k])) continue;
    const double error = std::abs(values[k] - expected[k]) / std::max(1.0, std::abs(expected[k]));
    largest = std::isnan(error) ? inf : std::max(largest, error);
  }
  return largest;
}
Doubles slopes(const std::function<Tensor(const Tensor&)>& f, const Tensor& x) {
  return grad([&](const Tensor& t) { return sum(f(t)); })(x).to_vector();
}

}  // namespace

TEST_CASE("B-splines, their derivatives and integrals are SciPy's") {
  for (const BSplineValue& row : b_spline_values) {
    INFO("degree " << row.degree);
    const Tensor coefficients = from_data(row.coefficients), points = from_data(row.points);
    const BSpline f = b_spline(from_data(row.knots), coefficients, row.degree);
    CHECK(worst(f(points), row.values) < 4e-13);
    CHECK(worst(f(points, 1), row.first) < 4e-13);
    CHECK(worst(f(points, 2), row.second) < 4e-13);
    CHECK(worst(f.integral(0.5, points), row.integrals) < 4e-13);
    CHECK(worst(f(points, row.degree + 1), Doubles(row.points.size())) == 0);
    CHECK(worst(from_data(slopes([&](const Tensor& x) { return f(x); }, points)), row.first) < 4e-13);
    CHECK(worst(from_data(slopes([&](const Tensor& x) { return f.integral(0.5, x); }, points)), row.values) < 4e-13);
    // B-splines sum to 1, also where the outermost ones go on.
    const auto values = [&](const Tensor& c) { return b_spline(from_data(row.knots), c, row.degree)(points); };
    CHECK(std::abs(sum(from_data(slopes(values, coefficients))).item() - static_cast<double>(points.size())) < 1e-10);
  }
}

TEST_CASE("regular_grid is SciPy's") {
  for (const RegularGridValue& row : regular_grid_values) {
    INFO(row.method << " on " << row.axes.size() << " axes");
    std::vector<Tensor> axes;
    std::vector<std::int64_t> extents;
    for (const Doubles& axis : row.axes) axes.push_back(from_data(axis)), extents.push_back(axes.back().size());
    extents.push_back(2);
    const auto d = static_cast<std::int64_t>(axes.size()), count = static_cast<std::int64_t>(row.points.size()) / d;
    const Tensor values = from_data(row.values, extents), points = from_data(row.points, Shape{count, d});
    const std::string method = row.method;
    RegularGridOptions options;
    options.method = method == "cubic"     ? GridMethod::cubic
                     : method == "nearest" ? GridMethod::nearest
                                           : GridMethod::linear;
    CHECK(worst(regular_grid(axes, values, points, options), row.inside) < 2e-14);
    options.fill = std::nullopt;
    CHECK(worst(regular_grid(axes, values, points, options), row.beyond) < 2e-13);
    options.fill = -7;
    const Tensor filled = regular_grid(axes, values, points, options);
    CHECK(filled(count - 1).to_vector() == Doubles{-7, -7});
  }
}

TEST_CASE("regular_grid on its lines, beyond them, and at no number") {
  const Tensor p = tensor({0, 1, 3}), v = tensor({1, 2, -2});
  const Tensor at = tensor({{0}, {1}, {3}});
  const RegularGridOptions open = {.fill = std::nullopt};
  const auto linear = [&](const Tensor& x) { return regular_grid({p}, v, x, open); };
  // The cell on the right; at the last point the last one; outside, those at the ends.
  CHECK(slopes(linear, at) == Doubles{1, -2, -2});
  CHECK(slopes(linear, tensor({{-5}, {7}})) == Doubles{1, -2});
  CHECK(slopes([&](const Tensor& x) { return regular_grid({p}, v, x); }, tensor({{-5}, {2}, {7}})) ==
        Doubles{0, -2, 0});
  CHECK(slopes([&](const Tensor& y) { return regular_grid({p}, y, tensor({{1.5}})); }, v) == Doubles{0, 0.75, 0.25});
  // By the points of the grid: minus the slope times the weights.
  CHECK(slopes([&](const Tensor& g) { return regular_grid({g}, v, tensor({{1.5}})); }, p) == Doubles{0, 1.5, 0.5});
  const RegularGridOptions nearest = {.method = GridMethod::nearest, .fill = std::nullopt};
  const auto closest = [&](const Tensor& x) { return regular_grid({p}, v, x, nearest); };
  CHECK(closest(tensor({{0.5}, {0.6}, {2}, {1e300}, {-inf}})).to_vector() == Doubles{1, 2, 2, -2, 1});
  CHECK(slopes(closest, tensor({{0.5}, {0.6}})) == Doubles{0, 0});
  const Tensor none = tensor({{std::nan("")}});
  for (const GridMethod m : {GridMethod::nearest, GridMethod::linear, GridMethod::cubic})
    for (const std::optional<double> fill : {std::optional<double>(), std::optional<double>(0)}) {
      CHECK(std::isnan(regular_grid({p}, v, none, {.method = m, .fill = fill}).item()));
      if (fill)
        CHECK(regular_grid({p}, v, tensor({{1e300}, {-inf}}), {.method = m, .fill = 0}).to_vector() == Doubles{0, 0});
    }
  // One point: inside only there; open, a constant.
  CHECK(worst(regular_grid({tensor({2})}, tensor({5}), tensor({{2}, {2.5}})), {5, NAN}) == 0);
  CHECK(regular_grid({tensor({2})}, tensor({5}), tensor({{2}, {1e300}}), open).to_vector() == Doubles{5, 5});
  CHECK(regular_grid({p, tensor({4})}, ones({3, 1, 0}), zeros({2, 2})).shape() == Shape{2, 0});
  CHECK(regular_grid({p}, v, zeros({0, 1})).shape() == Shape{0});
}

TEST_CASE("splines and grids: dtypes, errors, traces") {
  const Tensor p = tensor({0, 1, 2, 3}), v = tensor({1, 2, 0, 1}), x = tensor({{0.25}, {1.5}});
  for (const DType d : {DType::float16, DType::bfloat16, DType::float32}) {
    CHECK(regular_grid({cast(p, d)}, cast(v, d), cast(x, d)).dtype() == d);
    CHECK(b_spline(cast(p, d), cast(tensor({1, 2}), d), 1)(0.5).dtype() == d);
  }
  CHECK(regular_grid({arange(4)}, arange(4), ones({1, 1}, DType::int64)).dtype() == DType::float64);
  CHECK_THROWS_AS(b_spline(p, make_complex(x(all, 0), x(all, 0)), 1), TypeError);
  CHECK_THROWS_AS(regular_grid({p}, make_complex(v, v), x), TypeError);
  CHECK_THROWS_WITH(b_spline(p, v, 2), Contains("b_spline: knots are [4], coefficients [4], of degree 2"));
  CHECK_THROWS_AS(b_spline(p, tensor({1}), 2), ShapeError);
  CHECK_THROWS_WITH(b_spline(p, v, -1), Contains("b_spline: the degree is -1"));
  CHECK_THROWS_WITH(b_spline(tensor({0, 1, 0.5, 3}), tensor({1, 2}), 1),
                    Contains("b_spline: knots: number 2 is smaller"));
  CHECK_THROWS_WITH(b_spline(tensor({0, 1, 1, 3}), tensor({1, 2}), 1),
                    Contains("b_spline: knots: numbers 1 to 2 are all equal"));
  CHECK_THROWS_AS(b_spline(p, tensor({1, 2}), 1)(0.5, -1), ValueError);
  CHECK_THROWS_AS(BSpline()(0.5), ValueError);
  CHECK_THROWS_AS((BSpline{p, tensor({1, 2}), 2})(0.5), ShapeError);
  CHECK_THROWS_WITH(regular_grid({p, p}, v, x), Contains("regular_grid: of 2 axes, values are [4] and x [2, 1]"));
  CHECK_THROWS_WITH(regular_grid({p}, ones({3}), x), Contains("axis 0 is [4] and values are [3]"));
  CHECK_THROWS_AS(regular_grid({zeros({0})}, zeros({0}), x), ShapeError);
  CHECK_THROWS_AS(regular_grid({}, v, x), ShapeError);
  CHECK_THROWS_AS(regular_grid({tensor({0})}, tensor({1}), x, {.method = GridMethod::cubic}), ShapeError);
  CHECK_THROWS_WITH(regular_grid({tensor({0, 1, 1, 2})}, v, x),
                    Contains("regular_grid: knots: number 2 is not larger"));
  // More equal knots at an end than the degree needs: the interval is the next one that is not empty.
  CHECK(b_spline(tensor({0, 0, 0, 1, 2, 2, 2}), tensor({3, 3, 3, 3, 3}), 1)(tensor({0, 2, 5})).to_vector() ==
        Doubles{3, 3, 3});
  const auto traced = compile([](const Tensor& knots, const Tensor& values, const Tensor& at) {
    const RegularGridOptions cubic = {.method = GridMethod::cubic};
    return regular_grid({knots}, values, at, cubic) + b_spline(knots, values(range(0, 2)), 1)(at(all, 0));
  });
  const Tensor direct =
      regular_grid({p}, v, x, {.method = GridMethod::cubic}) + b_spline(p, v(range(0, 2)), 1)(x(all, 0));
  CHECK(array_equal(traced(p, v, x), direct));
  CHECK(array_equal(traced(p, v, x), direct));
  CHECK_THROWS_AS(traced(flip(p), v, x), ValueError);
}
