// B-splines, values on grids, images at other sizes: values of peers, grid lines, ends, dtypes and errors. Values and
// derivatives in every shape and layout are checked by the op table.
#include <algorithm>
#include <cmath>
#include <limits>
#include <reel/compile.hpp>
#include <reel/image.hpp>
#include <reel/interpolate.hpp>
#include <reel/reel.hpp>
#include <string>

#include "catch.hpp"
#include "grid_values.hpp"
#include "support/derivatives.hpp"
#include "support/numbers.hpp"

using namespace reel;
using Catch::Contains;
using support::Doubles;
using support::inf;
using support::worst;

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
    CHECK(worst(from_data(support::slope_at([&](const Tensor& x) { return f(x); }, points)), row.first) < 4e-13);
    CHECK(worst(from_data(support::slope_at([&](const Tensor& x) { return f.integral(0.5, x); }, points)), row.values) <
          4e-13);
    // B-splines sum to 1, also where the outermost ones go on.
    const auto values = [&](const Tensor& c) { return b_spline(from_data(row.knots), c, row.degree)(points); };
    CHECK(std::abs(sum(from_data(support::slope_at(values, coefficients))).item() -
                   static_cast<double>(points.size())) < 1e-10);
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

TEST_CASE("regular_grid takes the right cell on a grid line, extrapolates, and is NaN at NaN") {
  const Tensor p = tensor({0, 1, 3}), v = tensor({1, 2, -2});
  const Tensor at = tensor({{0}, {1}, {3}});
  const RegularGridOptions open = {.fill = std::nullopt};
  const auto linear = [&](const Tensor& x) { return regular_grid({p}, v, x, open); };
  // The cell on the right; at the last point the last one; outside, those at the ends.
  CHECK(support::slope_at(linear, at) == Doubles{1, -2, -2});
  CHECK(support::slope_at(linear, tensor({{-5}, {7}})) == Doubles{1, -2});
  CHECK(support::slope_at([&](const Tensor& x) { return regular_grid({p}, v, x); }, tensor({{-5}, {2}, {7}})) ==
        Doubles{0, -2, 0});
  CHECK(support::slope_at([&](const Tensor& y) { return regular_grid({p}, y, tensor({{1.5}})); }, v) ==
        Doubles{0, 0.75, 0.25});
  // By the points of the grid: minus the slope times the weights.
  CHECK(support::slope_at([&](const Tensor& g) { return regular_grid({g}, v, tensor({{1.5}})); }, p) ==
        Doubles{0, 1.5, 0.5});
  const RegularGridOptions nearest = {.method = GridMethod::nearest, .fill = std::nullopt};
  const auto closest = [&](const Tensor& x) { return regular_grid({p}, v, x, nearest); };
  CHECK(closest(tensor({{0.5}, {0.6}, {2}, {1e300}, {-inf}})).to_vector() == Doubles{1, 2, 2, -2, 1});
  CHECK(support::slope_at(closest, tensor({{0.5}, {0.6}})) == Doubles{0, 0});
  const Tensor no_number = tensor({{std::nan("")}});
  for (const GridMethod m : {GridMethod::nearest, GridMethod::linear, GridMethod::cubic})
    for (const std::optional<double> fill : {std::optional<double>(), std::optional<double>(0)}) {
      CHECK(std::isnan(regular_grid({p}, v, no_number, {.method = m, .fill = fill}).item()));
      if (fill)
        CHECK(regular_grid({p}, v, tensor({{1e300}, {-inf}}), {.method = m, .fill = 0}).to_vector() == Doubles{0, 0});
    }
  // Positions outside, which weights of the cell overflow at, have no part in gradients.
  for (const double far : {1e200, inf})
    for (const GridMethod m : {GridMethod::linear, GridMethod::cubic}) {
      const Doubles one =
          support::slope_at([&](const Tensor& a) { return regular_grid({p}, a, tensor({{0.5}}), {.method = m}); }, v);
      const Tensor two = tensor({{0.5}, {far}});
      CHECK(support::slope_at([&](const Tensor& a) { return regular_grid({p}, a, two, {.method = m, .fill = 0}); },
                              v) == one);
      CHECK(support::slope_at([&](const Tensor& x) { return regular_grid({p}, v, x, {.method = m, .fill = 0}); },
                              two)[1] == 0);
    }
  // One point: inside only there; open, a constant.
  CHECK(worst(regular_grid({tensor({2})}, tensor({5}), tensor({{2}, {2.5}})), {5, NAN}) == 0);
  CHECK(regular_grid({tensor({2})}, tensor({5}), tensor({{2}, {1e300}}), open).to_vector() == Doubles{5, 5});
  CHECK(regular_grid({p, tensor({4})}, ones({3, 1, 0}), zeros({2, 2})).shape() == Shape{2, 0});
  CHECK(regular_grid({p}, v, zeros({0, 1})).shape() == Shape{0});
}

namespace {

Border border_of(const std::string& name) {
  const std::vector<std::string> names = {"constant", "nearest",       "reflect",  "mirror",
                                          "wrap",     "grid-constant", "grid-wrap"};
  return static_cast<Border>(std::find(names.begin(), names.end(), name) - names.begin());
}
const std::vector<Border> all_borders = {Border::constant, Border::nearest,       Border::reflect,  Border::mirror,
                                         Border::wrap,     Border::grid_constant, Border::grid_wrap};

}  // namespace

TEST_CASE("map_coordinates agrees with SciPy, and interpolates exactly where SciPy does not") {
  for (const MapValue& row : map_values) {
    INFO("order " << row.order << ", " << row.border << ", " << row.shape.size() << " axes of " << row.shape[0]);
    const auto d = static_cast<std::int64_t>(row.shape.size());
    const Tensor at = from_data(row.coordinates, Shape{d, static_cast<std::int64_t>(row.coordinates.size()) / d});
    const MapCoordinatesOptions options = {.order = row.order, .border = border_of(row.border), .fill = -1.5};
    const Tensor x = from_data(row.array, row.shape);
    CHECK(worst(map_coordinates(x, at, options), row.values) < 4e-15 * (row.order == 3 ? 20 : 1));
    // A batch axis, and positions of two axes.
    const Tensor two = map_coordinates(stack({x, 2 * x}), expand_dims(at, 1), {row.order, options.border, -3});
    CHECK(two.shape() == Shape{2, 1, at.shape()[1]});
    if (row.order < 3 && options.border != Border::constant && options.border != Border::grid_constant)
      CHECK(worst(two(1, 0) / 2, row.values) < 4e-15);
  }
}

TEST_CASE("map_coordinates is bounded far away and NaN at NaN for every border") {
  const Tensor x = tensor({1, 2, 4, 3});
  const auto at = [&](double p, Border border, int order) {
    return map_coordinates(x, tensor({{p}}), {order, border, -7}).item();
  };
  const auto slope = [&](double p, Border border) {
    return support::slope_at([&](const Tensor& c) { return map_coordinates(x, c, {1, border, -7}); }, tensor({{p}}))[0];
  };
  for (const Border border : all_borders) {
    INFO("border " << static_cast<int>(border));
    // On the right of a grid line, but of one that ends the array.
    CHECK(slope(1, border) == 2);
    CHECK(slope(0, border) == 1);
    for (const int order : {0, 1, 3}) {
      CHECK(std::isnan(at(std::nan(""), border, order)));
      for (const double far : {1e300, -1e300, 1e15, -1e9}) CHECK(std::abs(at(far, border, order)) <= 7);
      // One element is everywhere.
      const Tensor one = map_coordinates(tensor({5}), tensor({{0, 0.25}}), {order, border, 5});
      CHECK(worst(one, {5, 5}) < 1e-15);
    }
  }
  CHECK(slope(3, Border::constant) == -1);
  CHECK(slope(3, Border::wrap) == -1);
  CHECK(slope(3, Border::nearest) == 0);
  CHECK(slope(3, Border::reflect) == 0);
  CHECK(slope(3, Border::mirror) == 1);
  CHECK(slope(3, Border::grid_constant) == -10);
  CHECK(slope(3, Border::grid_wrap) == -2);
  CHECK(slope(7, Border::constant) == 0);
  for (const int order : {0, 1, 3}) {
    CHECK(at(inf, Border::nearest, order) == at(4000, Border::nearest, order));
    CHECK(at(-inf, Border::constant, order) == -7);
    CHECK(at(inf, Border::grid_constant, order) == at(4000, Border::grid_constant, order));
    CHECK(std::isnan(at(inf, Border::reflect, order)));
  }
  // Gradients to values are the weights. A position outside has none.
  const auto to_values = [&](const Tensor& v) {
    return map_coordinates(v, tensor({{0.25, 9}}), {1, Border::constant, 0});
  };
  CHECK(support::slope_at(to_values, x) == Doubles{0.75, 0.25, 0, 0});
  // The coefficients themselves: B-splines at a point are 1/6, 2/3, 1/6.
  const Tensor raw = map_coordinates(x, tensor({{1}}), {.prefilter = false});
  CHECK(std::abs(raw.item() - (1 + 4 * 2 + 4) / 6.0) < 1e-15);
}

TEST_CASE("grid_sample and affine_grid are PyTorch's") {
  for (const SampleValue& row : sample_values) {
    INFO(row.method << ", " << row.padding << ", " << row.shape.size() << " axes, corners " << row.align_corners);
    const std::string method = row.method, padding = row.padding;
    const GridSampleOptions options = {method == "nearest"    ? GridMethod::nearest
                                       : method == "bilinear" ? GridMethod::linear
                                                              : GridMethod::cubic,
                                       padding == "zeros"    ? GridPadding::zeros
                                       : padding == "border" ? GridPadding::border
                                                             : GridPadding::reflection,
                                       row.align_corners};
    const Tensor x = from_data(row.images, row.shape), grid = from_data(row.grid, row.grid_shape);
    CHECK(worst(grid_sample(x, grid, options), row.values) < 1e-14);
    const auto squares = [&](const Tensor& v, const Tensor& g) { return sum(square(grid_sample(v, g, options))); };
    CHECK(worst(grad([&](const Tensor& v) { return squares(v, grid); })(x), row.to_images) < 4e-14);
    CHECK(worst(grad([&](const Tensor& g) { return squares(x, g); })(grid), row.to_grid) < 4e-14);
  }
  for (const AffineGridValue& row : affine_grid_values) {
    const auto d = static_cast<std::int64_t>(row.size.size()) - 2;
    const Tensor theta = from_data(row.theta, Shape{row.size[0], d, d + 1});
    CHECK(worst(affine_grid(theta, row.size, row.align_corners), row.grid) < 2e-15);
  }
}

TEST_CASE("grid_sample has the second derivatives of the form that it interpolates by") {
  // In a cell the bilinear function is a + b u + c v + e u v: its mixed derivative is e, with 1 for each pixel.
  const Tensor x = tensor({{1, 2}, {5, 11}}), at = tensor({0.25, -0.5});
  const auto f = [&](const Tensor& p) {
    return sum(grid_sample(reshape(x, {1, 1, 2, 2}), reshape(p, {1, 1, 1, 2}), {.align_corners = true}));
  };
  CHECK(worst(hessian(f)(at), {0, 5 / 4.0, 5 / 4.0, 0}) < 1e-15);
  // Nothing far outside but zeros; the nearest element for infinite positions; NaN at NaN.
  const Tensor image = reshape(x, {1, 1, 2, 2});
  const auto one = [&](double c, double r, const GridSampleOptions& o) {
    return grid_sample(image, reshape(tensor({c, r}), {1, 1, 1, 2}), o).item();
  };
  for (const GridMethod m : {GridMethod::nearest, GridMethod::linear, GridMethod::cubic}) {
    CHECK(one(1e300, 0, {m}) == 0);
    CHECK(one(-inf, inf, {m}) == 0);
    CHECK(std::abs(one(-inf, 1e300, {m, GridPadding::border}) - 5) < 1e-14);
    CHECK(std::isfinite(one(1e300, -1e18, {m, GridPadding::reflection})));
    CHECK(std::isnan(one(std::nan(""), 0, {m})));
    CHECK(grid_sample(image, zeros({1, 0, 3, 2}), {m}).shape() == Shape{1, 1, 0, 3});
    CHECK(grid_sample(zeros({0, 2, 3, 3}), zeros({0, 1, 3, 2}), {m}).shape() == Shape{0, 2, 1, 3});
  }
}

TEST_CASE("resize follows the definitions of jax.image, and agrees with PyTorch and Pillow") {
  for (const ResizeValue& row : resize_values) {
    INFO("method " << row.method << ", " << row.shape.size() << " axes of " << row.shape[0] << ", corners "
                   << row.align_corners);
    const ResizeOptions options = {static_cast<ResizeMethod>(row.method), row.antialias, row.align_corners, row.cubic};
    CHECK(worst(resize(from_data(row.x, row.shape), row.size, options), row.y) < 1e-14);
  }
}

TEST_CASE("cubic grid_sample repeats the border as PyTorch's cubic resize without antialias does") {
  const Tensor line = reshape(tensor({1, 5, 2, 7}), {1, 1, 1, 4}), identity = tensor({{{1, 0, 0}, {0, 1, 0}}});
  const Tensor grid = affine_grid(cast(identity, DType::float64), {1, 1, 1, 8});
  const Tensor y = grid_sample(cast(line, DType::float64), grid, {GridMethod::cubic, GridPadding::border});
  const Doubles torch = {0.578125, 2.01171875, 4.41015625, 4.56640625, 2.29296875, 2.81640625, 5.76171875, 7.52734375};
  CHECK(worst(y, torch) < 1e-14);
  // resize leaves out the weights beyond the border: it differs there alone.
  const Doubles cut = resize(reshape(line, {4}), {8}, {ResizeMethod::cubic, false, false, -0.75}).to_vector();
  CHECK(cut[3] == torch[3]);
  CHECK(std::abs(cut[0] - torch[0]) > 0.1);
}

TEST_CASE("resize: NaN spreads only to results with a weight other than zero") {
  const Tensor pair = tensor({1, 2}), four = tensor({1, 2, 3, 4});
  const auto doubled = [](const Tensor& x) { return resize(x, {4}); };
  CHECK(doubled(pair).to_vector() == Doubles{1, 1.25, 1.75, 2});
  CHECK(support::slope_at([&](const Tensor& x) { return four * doubled(x); }, pair) == Doubles{3.25, 6.75});
  // Weights whose sum is zero count as zero.
  CHECK(resize(ones({1}), {3}, {.method = ResizeMethod::cubic, .cubic = 10}).to_vector() == Doubles{0, 1, 0});
  // NaN stays where its weight is.
  const Tensor hole = tensor({1, 2, std::nan(""), 4, 5, 6});
  for (const ResizeMethod m : {ResizeMethod::nearest, ResizeMethod::linear, ResizeMethod::cubic}) {
    const Doubles y = resize(hole, {12}, {m}).to_vector();
    CHECK(std::isnan(y[4]));
    CHECK(!std::isnan(y[0]));
    CHECK(!std::isnan(y[11]));
  }
  // At the places of elements the weights of their neighbours are 0.
  const Doubles between = resize(hole, {11}, {ResizeMethod::cubic, true, true}).to_vector();
  CHECK((between[2] == 2 && std::isnan(between[4]) && between[6] == 4));
  for (const ResizeMethod m : {ResizeMethod::linear, ResizeMethod::cubic, ResizeMethod::lanczos3})
    CHECK(worst(resize(tensor({1, 2, 4, 7}), {2}, {m, false, true}), {1, 7}) < 1e-15);
  for (const DType d : {DType::float16, DType::bfloat16}) {
    const Tensor narrow = cast(linspace(0.1, 0.9, 7), d);
    CHECK(array_equal(resize(narrow, {5}), cast(resize(cast(narrow, DType::float32), {5}), d)));
    CHECK(resize(zeros({0, 3}, d), {0, 2}).dtype() == d);
  }
  const Doubles y = resize(hole, {3}).to_vector();
  CHECK((!std::isnan(y[2]) && std::isnan(y[1])));
  // The sum of the results is that of the image, divided by the ratio, where no weight is cut off.
  CHECK(array_equal(resize(four, {4}), four));
  const Tensor x = reshape(arange(0.0, 24.0), {2, 3, 4});
  CHECK(worst(resize(x, {2, 6, 4}), resize(resize(x, {2, 3, 4}), {2, 6, 4}).to_vector()) == 0);
  CHECK(worst(max(abs(resize(ones({3, 5}), {7, 2}, {ResizeMethod::lanczos5}) - 1)), {0}) < 1e-15);
  // Derivatives of the second order are those of what is made of it.
  const auto f = [](const Tensor& v) { return sum(square(resize(v, {3}, {ResizeMethod::cubic}))); };
  const auto row = [](std::int64_t k) { return slice(resize(eye(2), {3, 2}, {ResizeMethod::cubic}), {all, k}); };
  for (std::int64_t i = 0; i < 2; ++i)
    for (std::int64_t j = 0; j < 2; ++j)
      CHECK(std::abs(hessian(f)(pair)(i, j).item() - 2 * sum(row(i) * row(j)).item()) < 1e-15);
}

TEST_CASE("resize: dtypes, errors, no elements, traces") {
  const Tensor x = reshape(arange(0.0, 12.0), {3, 4});
  for (const DType d : {DType::float16, DType::bfloat16, DType::float32})
    CHECK(resize(cast(x, d), {2, 5}).dtype() == d);
  CHECK(resize(cast(x, DType::int32), {2, 5}).dtype() == DType::float64);
  for (const DType d : {DType::boolean, DType::int32, DType::complex64})
    CHECK(resize(cast(x, d), {2, 5}, {ResizeMethod::nearest}).dtype() == d);
  CHECK_THROWS_AS(resize(make_complex(x, x), {2, 5}), TypeError);
  CHECK_THROWS_WITH(resize(x, {2}), Contains("resize: x is [3, 4] and the shape [2]"));
  CHECK_THROWS_WITH(resize(zeros({0, 4}), {2, 4}), Contains("resize: axis 0 of x has 0 elements and shall have 2"));
  CHECK_THROWS_AS(resize(x, {-1, 4}), ShapeError);
  CHECK_THROWS_AS(resize(x, {3, std::int64_t{1} << 30}), ShapeError);
  CHECK_THROWS_WITH(resize(x, {2, 4}, {.cubic = inf}), Contains("resize: the cubic coefficient is inf"));
  CHECK_THROWS_AS(resize(x, {2, 4}, {static_cast<ResizeMethod>(9)}), ValueError);
  CHECK_THROWS_AS(resize(Tensor(), {2, 4}), ValueError);
  CHECK(resize(x, {3, 0}).shape() == Shape{3, 0});
  CHECK(resize(zeros({0, 4}), {0, 9}).shape() == Shape{0, 9});
  CHECK(resize(zeros({}), {}).item() == 0);
  const auto traced = compile([](const Tensor& v) { return resize(v, {5, 2}, {ResizeMethod::lanczos3}); });
  CHECK(array_equal(traced(x), resize(x, {5, 2}, {ResizeMethod::lanczos3})));
}

TEST_CASE("splines and grids: dtypes, errors, traces") {
  const Tensor p = tensor({0, 1, 2, 3}), v = tensor({1, 2, 0, 1}), x = tensor({{0.25}, {1.5}});
  for (const DType d : {DType::float16, DType::bfloat16, DType::float32}) {
    CHECK(regular_grid({cast(p, d)}, cast(v, d), cast(x, d)).dtype() == d);
    CHECK(b_spline(cast(p, d), cast(tensor({1, 2}), d), 1)(0.5).dtype() == d);
  }
  CHECK(regular_grid({arange(4)}, arange(4), ones({1, 1}, DType::int64)).dtype() == DType::float64);
  CHECK_THROWS_AS(b_spline(p, make_complex(x(all, 0), x(all, 0)), 1), TypeError);
  // A jump: no slope is between its coefficients.
  const auto summed = [](const Tensor& c) {
    return sum(b_spline(tensor({0, 0, 1, 1, 2, 2}), c, 1)(tensor({0.5, 1.5}), 1));
  };
  CHECK(grad(summed)(tensor({1, 2, 4, 8})).to_vector() == std::vector<double>{-1, 1, -1, 1});
  CHECK_THROWS_AS(regular_grid({p}, make_complex(v, v), x), TypeError);
  CHECK_THROWS_WITH(b_spline(p, v, 2), Contains("b_spline: knots are [4], coefficients [4], of degree 2"));
  CHECK_THROWS_AS(b_spline(p, tensor({1}), 2), ShapeError);
  CHECK_THROWS_WITH(b_spline(p, v, -1), Contains("b_spline: the degree is -1"));
  CHECK_THROWS_WITH(b_spline(tensor({0, 1, 0.5, 3}), tensor({1, 2}), 1), Contains("b_spline: knot 2 is smaller"));
  CHECK_THROWS_WITH(b_spline(tensor({0, 1, 1, 3}), tensor({1, 2}), 1),
                    Contains("b_spline: knots 1 to 2 are all equal"));
  CHECK_THROWS_AS(b_spline(p, tensor({1, 2}), 1)(0.5, -1), ValueError);
  CHECK_THROWS_AS(BSpline()(0.5), ValueError);
  CHECK_THROWS_AS((BSpline{p, tensor({1, 2}), 2})(0.5), ShapeError);
  CHECK_THROWS_WITH(regular_grid({p, p}, v, x), Contains("regular_grid: of 2 axes, values are [4] and x [2, 1]"));
  CHECK_THROWS_WITH(regular_grid({p}, ones({3}), x), Contains("axis 0 is [4] and values are [3]"));
  CHECK_THROWS_AS(regular_grid({zeros({0})}, zeros({0}), x), ShapeError);
  CHECK_THROWS_AS(regular_grid({}, v, x), ShapeError);
  CHECK_THROWS_AS(regular_grid({tensor({0})}, tensor({1}), x, {.method = GridMethod::cubic}), ShapeError);
  CHECK_THROWS_WITH(regular_grid({tensor({0, 1, 1, 2})}, v, x), Contains("regular_grid: knot 2 is not larger"));
  // More equal knots at an end than the degree needs: the interval is the next one that is not empty.
  CHECK(b_spline(tensor({0, 0, 0, 1, 2, 2, 2}), tensor({3, 3, 3, 3, 3}), 1)(tensor({0, 2, 5})).to_vector() ==
        Doubles{3, 3, 3});
  const Tensor image = ones({1, 2, 3, 4}), grid = zeros({1, 2, 2, 2});
  for (const DType d : {DType::float16, DType::bfloat16, DType::float32}) {
    CHECK(map_coordinates(cast(v, d), cast(transpose(x), d)).dtype() == d);
    CHECK(grid_sample(cast(image, d), cast(grid, d)).dtype() == d);
    CHECK(affine_grid(ones({1, 2, 3}, d), {1, 1, 2, 2}).dtype() == d);
  }
  CHECK(map_coordinates(arange(4), ones({1, 1}, DType::int64)).dtype() == DType::float64);
  CHECK_THROWS_WITH(map_coordinates(v, transpose(x), {.order = 2}), Contains("map_coordinates: the order is 2"));
  CHECK_THROWS_WITH(map_coordinates(v, x), Contains("map_coordinates: x is [4] and coordinates are [2, 1]"));
  CHECK_THROWS_AS(map_coordinates(v, zeros({0, 2})), ShapeError);
  CHECK_THROWS_WITH(map_coordinates(zeros({2, 0, 3}), zeros({2, 1})), Contains("axis 1 has no elements"));
  CHECK_THROWS_AS(map_coordinates(make_complex(v, v), x), TypeError);
  CHECK_THROWS_WITH(grid_sample(image, zeros({2, 2, 2, 2})),
                    Contains("grid_sample: x is [1, 2, 3, 4] and the grid [2, 2, 2, 2]"));
  CHECK_THROWS_AS(grid_sample(image, zeros({1, 2, 2, 3})), ShapeError);
  CHECK_THROWS_WITH(grid_sample(zeros({1, 2, 0, 4}), grid), Contains("axis 2 has no elements"));
  CHECK_THROWS_WITH(affine_grid(ones({1, 2, 3}), {2, 1, 4, 4}),
                    Contains("affine_grid: theta is [1, 2, 3] and the size [2, 1, 4, 4]"));
  CHECK_THROWS_AS(affine_grid(ones({1, 2, 3}), {1, 1, -1, 4}), ShapeError);
  const auto warped = compile([](const Tensor& images, const Tensor& theta, const Tensor& array, const Tensor& at) {
    return grid_sample(images, affine_grid(theta, {1, 1, 1, 2}), {.padding = GridPadding::reflection}) +
           map_coordinates(array, at, {.border = Border::grid_wrap});
  });
  const Tensor theta = tensor({{{0.5, 0.1, 0.2}, {-0.3, 0.8, 0}}}), images = reshape(arange(0.0, 24.0), {1, 2, 3, 4});
  const Tensor warp = grid_sample(images, affine_grid(theta, {1, 1, 1, 2}), {.padding = GridPadding::reflection}) +
                      map_coordinates(v, transpose(x), {.border = Border::grid_wrap});
  CHECK(array_equal(warped(images, theta, v, transpose(x)), warp));
  CHECK(array_equal(warped(images, theta, v, transpose(x)), warp));
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

TEST_CASE("resize: constants stay, equal extents and aligned corners too; axes of one element") {
  for (const ResizeMethod method : {ResizeMethod::nearest, ResizeMethod::linear, ResizeMethod::cubic,
                                    ResizeMethod::lanczos3, ResizeMethod::lanczos5})
    for (const bool antialias : {false, true})
      for (const bool corners : {false, true})
        for (const std::int64_t n : {1, 2, 5})
          for (const std::int64_t m : {1, 2, 3, 7}) {
            INFO("method " << static_cast<int>(method) << " from " << n << " to " << m);
            const ResizeOptions options = {method, antialias, corners};
            const Tensor x = sin(arange(n) + 1.0), y = resize(x, {m}, options);
            CHECK(worst(resize(full({n}, 3.0), {m}, options), std::vector<double>(static_cast<std::size_t>(m), 3)) <
                  1e-14);
            if (n == m) CHECK(array_equal(y, x));
            if (n == 1) CHECK(worst(y, std::vector<double>(static_cast<std::size_t>(m), x(0).item())) < 1e-15);
            if (corners && n > 1 && m >= n) {
              CHECK(y(0).item() == Approx(x(0).item()).epsilon(1e-14));
              CHECK(y(-1).item() == Approx(x(-1).item()).epsilon(1e-14));
            }
          }
}

TEST_CASE("map_coordinates: an axis of one element, where the array continues everywhere by that element") {
  const Tensor x = tensor({2.5}), positions = tensor({{-7.25, -0.5, 0., 0.5, 3.75}});
  for (const Border border : {Border::reflect, Border::mirror, Border::nearest, Border::wrap, Border::grid_wrap})
    for (const int order : {0, 1, 3}) {
      INFO("border " << static_cast<int>(border) << ", order " << order);
      const MapCoordinatesOptions options = {order, border};
      CHECK(worst(map_coordinates(x, positions, options), {2.5, 2.5, 2.5, 2.5, 2.5}) < 1e-14);
      const auto f = [&](const Tensor& p) { return sum(map_coordinates(x, p, options)); };
      CHECK(worst(grad(f)(positions), {0, 0, 0, 0, 0}) < 1e-14);
      CHECK(worst(grad([&](const Tensor& v) { return sum(map_coordinates(v, positions, options)); })(x), {5}) < 1e-14);
    }
}
