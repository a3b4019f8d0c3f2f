// Rows of the ops of <reel/interpolate.hpp>, <reel/solve/integrate.hpp> and <reel/image.hpp>.
#include <reel/image.hpp>
#include <reel/interpolate.hpp>
#include <reel/solve/integrate.hpp>

#include "references/arrays.hpp"

namespace cases {

namespace {

using namespace reel;
using namespace grids;
using X = Operands;
using A = Arrays;

// Operand 0 ascends from about -1.5 on in steps of about 1.
Tensor knots_first(const Tensor& x, std::size_t operand) {
  return operand == 0 ? 0.15 * x + arange(x.size()) - 1.5 : x;
}

Array linear_of(A x, const Real* ends) {
  return at_points(x, [ends](const Row& xp, const Row& fp, Real p) {
    return interpolation::linear(p, xp, fp, ends ? ends[0] : fp.front(), ends ? ends[1] : fp.back());
  });
}
constexpr Real two_ends[] = {-3, 5};
// Knots in [0, period), at least one; the line over the gap goes on to the next period.
Array repeated(A x, Real period) {
  std::vector<std::pair<Real, Real>> knots;
  const auto within = [period](Real v) { return v - period * std::floor(v / period); };
  for (std::size_t k = 0; k < x[0].values.size(); ++k) knots.emplace_back(within(x[0].values[k]), x[1].values[k]);
  std::sort(knots.begin(), knots.end());
  const auto first = knots.front(), last = knots.back();
  knots.insert(knots.begin(), {last.first - period, last.second});
  knots.emplace_back(first.first + period, first.second);
  Row xp, fp;
  for (const auto& [at, value] : knots) xp.push_back(at), fp.push_back(value);
  return build(x[2].shape,
               [&](const Index& i) { return interpolation::linear<Real>(within(at(x[2], i)), xp, fp, 0, 0); });
}

// f(knots, row of values) as a piecewise function, and of(function, point).
template <class F, class Of>
Array piecewise(A x, F f, Of of) {
  return at_points(x, [&](const Row& knots, const Row& values, Real p) { return of(f(knots, values), p); });
}
template <int Derivative>
Real derivative_of(const interpolation::Pieces<Real>& p, Real at) {
  return p.at(at, Derivative);
}
Real from_half(const interpolation::Pieces<Real>& p, Real at) { return p.integral(at) - p.integral(0.5L); }
template <Ends E>
interpolation::Pieces<Real> spline_of(const Row& x, const Row& y) {
  return interpolation::spline<Real>(x, y, E, 0.5L, -2);
}
// New tensors for each call: op_primitives overwrites what a rule does not keep.
SplineOptions clamped() { return {SplineEnds::clamped, scalar(0.5), scalar(-2.0)}; }

// For B-splines of degree 3: points are around the intervals of the domain.
Tensor knots_around(const Tensor& x, std::size_t operand) {
  return operand == 0 ? 0.15 * x + arange(x.size()) - 4.5 : x;
}
template <int Degree, int Derivative>
Array b_spline_of(A x) {
  return at_points(x, [](const Row& knots, const Row& c, Real p) {
    return interpolation::b_spline<Real>(knots, c, Degree, p, Derivative);
  });
}
Array b_spline_integral_of(A x) {
  return at_points(x, [](const Row& knots, const Row& c, Real p) {
    const auto to = [&](Real end) { return interpolation::b_spline_integral<Real>(knots, c, 2, end); };
    return to(p) - to(0.5L);
  });
}

// Grids: the coordinates of the axes, the values, the points.
Tensor axis_first(const Tensor& x, std::size_t operand) { return operand == 0 ? knots_first(x, 0) : x; }
Tensor axes_first(const Tensor& x, std::size_t operand) { return operand < 2 ? knots_first(x, 0) : x; }
template <OnGrid Method>
Array on_grid(A x) {
  return grids::on_grid(x, Method);
}
constexpr RegularGridOptions open_grid(GridMethod m) { return {.method = m, .fill = std::nullopt}; }

// Arrays at positions: coordinates as the second operand.
Tensor positions_second(const Tensor& x, std::size_t operand) { return operand == 1 ? 1.5 * x + 1 : x; }
// Of any order and border; the fill value is 0.5.
template <int Order, Border B>
Array mapped(A x) {
  return grids::mapped(x, Order, static_cast<Beyond>(B), 0.5L);
}
template <int Order, Border B>
Tensor map_at(X x) {
  return map_coordinates(x[0], x[1], {Order, B, 0.5});
}

template <GridMethod M, GridPadding P, bool Align>
Array sampled(A x) {
  return grids::sampled(x, static_cast<int>(M), static_cast<int>(P), Align);
}
template <GridMethod M, GridPadding P, bool Align>
Tensor sample(X x) {
  return grid_sample(x[0], x[1], {M, P, Align});
}
// Even axes get two elements more, odd ones one less.
template <class Extents>
Extents other_size(Extents s) {
  for (int k = 0; k < s.rank(); ++k) s[k] += k % 2 == 0 ? 2 : -1;
  return s;
}
template <int Method, bool Antialias, bool Align>
Array resized(A x) {
  return grids::resized(x[0], other_size(x[0].shape), {Method, Antialias, Align});
}
template <int Method, bool Antialias, bool Align>
Tensor resize_by(X x) {
  return resize(x[0], other_size(x[0].shape()), {static_cast<ResizeMethod>(Method), Antialias, Align});
}

Tensor ascending_second(const Tensor& x, std::size_t operand) { return operand == 1 ? 0.15 * x + arange(x.size()) : x; }

// clang-format off
const Shaped rows[] = {
    {"interp", "4,4,7;5,5,2x3;2,2,();3,3,0x2", [](X x) { return interp(x[2], x[0], x[1]); }, [](A x) { return linear_of(x, nullptr); }, {-2, 2}, knots_first, none, 4},
    {"interp", "4,4,7", [](X x) { return interp(x[2], x[0], x[1], {.left = -3, .right = 5}); }, [](A x) { return linear_of(x, two_ends); }, {-2, 2}, knots_first, none, 4},
    {"interp", "4,4,7;3,3,2x3", [](X x) { return interp(x[2], x[0], x[1], {.period = 1.7}); }, [](A x) { return repeated(x, 1.7); }, {-2, 2}, nullptr, none, 40},
    {"cubic_spline", "6,6,9;4,2x3x4,2x2;3,3,5;2,2x2,3;5,5,()", [](X x) { return cubic_spline(x[0], x[1])(x[2]); }, [](A x) { return piecewise(x, spline_of<Ends::not_a_knot>, derivative_of<0>); }, {-2, 2}, knots_first, none, 60},
    {"cubic_spline", "6,6,9;4,2x4,3", [](X x) { return cubic_spline(x[0], x[1])(x[2], 1); }, [](A x) { return piecewise(x, spline_of<Ends::not_a_knot>, derivative_of<1>); }, {-2, 2}, knots_first, none, 100},
    {"cubic_spline", "6,6,9;4,2x4,3", [](X x) { return cubic_spline(x[0], x[1]).integral(0.5, x[2]); }, [](A x) { return piecewise(x, spline_of<Ends::not_a_knot>, from_half); }, {-2, 2}, knots_first, none, 60},
    {"cubic_spline", "6,6,9;3,3x3,2", [](X x) { return cubic_spline(x[0], x[1], {.ends = SplineEnds::natural})(x[2], 2); }, [](A x) { return piecewise(x, spline_of<Ends::natural>, derivative_of<2>); }, {-2, 2}, knots_first, none, 100},
    {"cubic_spline", "6,6,9;2,2,3;3,3x3,2", [](X x) { return cubic_spline(x[0], x[1], clamped())(x[2]); }, [](A x) { return piecewise(x, spline_of<Ends::clamped>, derivative_of<0>); }, {-2, 2}, knots_first, none, 60},
    {"cubic_spline", "6,6,9;3,3,4;4,2x4,3", [](X x) { return cubic_spline(x[0], x[1], {.ends = SplineEnds::periodic})(0.2 * x[2]); }, [](A x) { Array p = x[2]; for (Real& v : p.values) v *= 0.2L; return piecewise(std::vector<Array>{x[0], x[1], p}, spline_of<Ends::periodic>, derivative_of<0>); }, {-2, 2}, knots_first, none, 60},
    {"pchip", "6,6,9;4,2x3x4,2x2;3,3,5;2,2x2,3", [](X x) { return pchip(x[0], x[1])(x[2]); }, [](A x) { return piecewise(x, interpolation::monotone<Real>, derivative_of<0>); }, {-2, 2}, knots_first, none, 60},
    {"akima", "6,6,9;4,2x3x4,2x2;3,3,5;2,2x2,3", [](X x) { return akima(x[0], x[1])(x[2]); }, [](A x) { return piecewise(x, interpolation::by_changes<Real>, derivative_of<0>); }, {-2, 2}, knots_first, none, 60},
    {"b_spline", "8,4,5;9,2x5,2x3;8,2x1x4,()", [](X x) { return b_spline(x[0], x[1])(x[2]); }, b_spline_of<3, 0>, {-2, 2}, knots_around, none, 100},
    {"b_spline", "8,4,5;9,2x5,3", [](X x) { return b_spline(x[0], x[1])(x[2], 1); }, b_spline_of<3, 1>, {-2, 2}, knots_around, none, 100},
    {"b_spline", "6,3,4;7,2x4,3", [](X x) { return b_spline(x[0], x[1], 2).integral(0.5, x[2]); }, b_spline_integral_of, {-2, 2}, knots_first, none, 100},
    {"b_spline", "3,2,4;4,2x3,3", [](X x) { return b_spline(x[0], x[1], 0)(x[2]); }, b_spline_of<0, 0>, {-2, 2}, knots_first},
    {"regular_grid", "4,4,5x1;1,1x2,2x1;3,3x2x2,3x2x1", [](X x) { return regular_grid({x[0]}, x[1], x[2], open_grid(GridMethod::linear)); }, on_grid<OnGrid::linear>, {-2, 2}, axis_first, none, 10},
    {"regular_grid", "3,4,3x4x2,5x2;1,2,1x2,2;2,2,2x2x0,2x2", [](X x) { return regular_grid({x[0], x[1]}, x[2], x[3], open_grid(GridMethod::linear)); }, on_grid<OnGrid::linear>, {-2, 2}, axes_first, none, 20},
    {"regular_grid", "3,4,3x4x2,5x2;1,2,1x2,2", [](X x) { return regular_grid({x[0], x[1]}, x[2], x[3], open_grid(GridMethod::nearest)); }, on_grid<OnGrid::nearest>, {-2, 2}, axes_first},
    {"regular_grid", "4,4,3x1;2,2x2,2x1;3,3,1", [](X x) { return regular_grid({x[0]}, x[1], x[2], open_grid(GridMethod::cubic)); }, on_grid<OnGrid::cubic>, {-2, 2}, axis_first, none, 100},
    {"regular_grid", "3,5,3x5x2,2x2", [](X x) { return regular_grid({x[0], x[1]}, x[2], x[3], open_grid(GridMethod::cubic)); }, on_grid<OnGrid::cubic>, {-2, 2}, axes_first, none, 200},
    {"map_coordinates", "4,1x5;2x3,1x4", map_at<0, Border::reflect>, mapped<0, Border::reflect>, {-2, 2}, positions_second, none, 1},
    {"map_coordinates", "4,1x5;3x4,2x3;2x3x2,2x2x2", map_at<1, Border::constant>, mapped<1, Border::constant>, {-2, 2}, positions_second, none, 10},
    {"map_coordinates", "4,1x5;1x3,2x2", map_at<1, Border::mirror>, mapped<1, Border::mirror>, {-2, 2}, positions_second, none, 20},
    {"map_coordinates", "2x2,2x4", map_at<1, Border::grid_constant>, mapped<1, Border::grid_constant>, {-2, 2}, positions_second, none, 20},
    {"map_coordinates", "4,1x5", map_at<3, Border::constant>, mapped<3, Border::constant>, {-2, 2}, positions_second, none, 60},
    {"map_coordinates", "3,1x4", map_at<3, Border::nearest>, mapped<3, Border::nearest>, {-2, 2}, positions_second, none, 60},
    {"map_coordinates", "4,1x5;2,1x2", map_at<3, Border::reflect>, mapped<3, Border::reflect>, {-2, 2}, positions_second, none, 60},
    {"map_coordinates", "3x2,2x3", map_at<3, Border::mirror>, mapped<3, Border::mirror>, {-2, 2}, positions_second, none, 100},
    {"map_coordinates", "4,1x5", map_at<3, Border::wrap>, mapped<3, Border::wrap>, {-2, 2}, positions_second, none, 60},
    {"map_coordinates", "2,1x3", map_at<3, Border::grid_constant>, mapped<3, Border::grid_constant>, {-2, 2}, positions_second, none, 60},
    {"map_coordinates", "5,1x4;2x2x3,2x2", map_at<3, Border::grid_wrap>, mapped<3, Border::grid_wrap>, {-2, 2}, positions_second, none, 100},
    {"grid_sample", "1x2x3x4,1x2x2x2;2x1x2x2,2x1x3x2", sample<GridMethod::linear, GridPadding::zeros, false>, sampled<GridMethod::linear, GridPadding::zeros, false>, {-2, 2}, nullptr, none, 20},
    {"grid_sample", "1x1x2x3x2,1x1x2x1x3", sample<GridMethod::linear, GridPadding::border, true>, sampled<GridMethod::linear, GridPadding::border, true>, {-2, 2}, nullptr, none, 20},
    {"grid_sample", "1x1x3x2,1x2x2x2", sample<GridMethod::linear, GridPadding::reflection, true>, sampled<GridMethod::linear, GridPadding::reflection, true>, {-2, 2}, nullptr, none, 20},
    {"grid_sample", "1x1x3x4,1x2x2x2", sample<GridMethod::nearest, GridPadding::reflection, false>, sampled<GridMethod::nearest, GridPadding::reflection, false>, {-2, 2}, nullptr, none, 1},
    {"grid_sample", "1x1x3x2,1x1x3x2", sample<GridMethod::cubic, GridPadding::border, false>, sampled<GridMethod::cubic, GridPadding::border, false>, {-2, 2}, nullptr, none, 60},
    {"grid_sample", "1x2x2x3,1x2x1x2", sample<GridMethod::cubic, GridPadding::reflection, true>, sampled<GridMethod::cubic, GridPadding::reflection, true>, {-2, 2}, nullptr, none, 60},
    {"affine_grid", "2x2x3", [](X x) { return affine_grid(x[0], {2, 1, 2, 3}); }, [](A x) { return affine(x[0], {2, 1, 2, 3}, false); }, {-2, 2}, nullptr, none, 8},
    {"affine_grid", "1x3x4", [](X x) { return affine_grid(x[0], {1, 2, 2, 1, 3}, true); }, [](A x) { return affine(x[0], {1, 2, 2, 1, 3}, true); }, {-2, 2}, nullptr, none, 8},
    {"resize", "3x4;2x3x2", resize_by<0, true, false>, resized<0, true, false>, {-2, 2}, nullptr, none, 1},
    {"resize", "3;3x5;2x4x1x2", resize_by<1, true, false>, resized<1, true, false>, {-2, 2}, nullptr, none, 10},
    {"resize", "4x3;1x4", resize_by<1, false, true>, resized<1, false, true>, {-2, 2}, nullptr, none, 10},
    {"resize", "3x6;2", resize_by<2, true, false>, resized<2, true, false>, {-2, 2}, nullptr, none, 10},
    {"resize", "4x3", resize_by<2, false, true>, resized<2, false, true>, {-2, 2}, nullptr, none, 10},
    {"resize", "3x5", resize_by<3, true, false>, resized<3, true, false>, {-2, 2}, nullptr, none, 10},
    {"resize", "2x4", resize_by<4, true, true>, resized<4, true, true>, {-2, 2}, nullptr, none, 10},
    {"trapezoid", "5;2x3;0x4;3x1", [](X x) { return trapezoid(x[0], 0.25); }, [](A x) { return without_axis(integrals(x, -1, 0.25L, whole_trapezium<Real>), -1); }, {-2, 2}, nullptr, none, 4},
    {"trapezoid", "4x2,4;3x2x3,3", [](X x) { return trapezoid(x[0], x[1], 0); }, [](A x) { return without_axis(integrals(x, 0, 1, whole_trapezium<Real>), 0); }, {-2, 2}, ascending_second, none, 4},
    {"cumulative_trapezoid", "5;2x3;3x1", [](X x) { return cumulative_trapezoid(x[0], 0.25); }, [](A x) { return integrals(x, -1, 0.25L, trapezium_sums<Real>); }, {-2, 2}, nullptr, none, 4},
    {"cumulative_trapezoid", "4x2,4;3x2x3,3", [](X x) { return cumulative_trapezoid(x[0], x[1], 0, true); }, [](A x) { return integrals(x, 0, 1, interpolation::running_trapezia<Real>); }, {-2, 2}, ascending_second, none, 4},
    {"simpson", "5;2x3;3x1;2x2;6;2x4", [](X x) { return simpson(x[0], 0.25); }, [](A x) { return without_axis(integrals(x, -1, 0.25L, parabola_sum<Real>), -1); }, {-2, 2}, nullptr, none, 8},
    {"simpson", "5x2,5;3,3;4,4;6x2,6;2x3,2", [](X x) { return simpson(x[0], x[1], 0); }, [](A x) { return without_axis(integrals(x, 0, 1, parabola_sum<Real>), 0); }, {-2, 2}, ascending_second, none, 20},
};
// clang-format on

}  // namespace

std::span<const Shaped> interpolation_rows() {
  static const auto kept = selected_rows(rows);
  return kept;
}

}  // namespace cases
