// Interpolation between samples: piecewise linear, piecewise cubic with SciPy's choices of slopes, B-splines, and
// values on grids.
//
// float32 and float64; float16 and bfloat16 compute as float32, integers and booleans as float64; TypeError for complex
// numbers. Derivatives of every order in both modes by points, knots and values. <reel/reel.hpp> does not include this
// header.
#pragma once
#include <initializer_list>
#include <limits>
#include <optional>
#include <reel/api.hpp>
#include <reel/tensor.hpp>
#include <span>

namespace REEL_API reel {

/// Options of interp().
struct InterpOptions {
  std::optional<double> left = {},
                        right = {};  ///< results below and above the knots; the outermost values if not given
  /// Points and knots are taken modulo the period, and `left` and `right` are not used. 0: none.
  double period = 0;
};
/// The piecewise linear function with values fp at knots xp, at each element of x (NumPy's interp). xp and fp are
/// vectors of as many elements, at least one (ShapeError). The knots must ascend; with a period they may have any
/// order. This is not checked, and knots in another order give meaningless results. At equal knots the function jumps
/// and has the last of their values. Gradients: to x the slope, at a knot that of the interval on its right, at the
/// last knot that of the last interval, 0 outside; to fp the weights; to xp minus the slope times the weights. NaN in x
/// gives NaN. At a knot an infinite or NaN value at another one does not count; the gradient to x is 0 there.
Tensor interp(const Operand& x, const Operand& xp, const Operand& fp, const InterpOptions& options = {});

/// A piecewise cubic function: between knots i and i + 1 the sum over k of coefficients[k, ..., i] (x - knots[i])^k.
/// Beyond the outermost knots the first and the last polynomial are continued; a periodic function repeats.
/// Coefficients overflow or underflow where the cube of an interval's length, or a value divided by it, leaves
/// float64's range: choose another unit for x.
struct PiecewiseCubic {
  Tensor knots;                  ///< [n], ascending, float64
  Tensor coefficients;           ///< [4, ..., n - 1], float64; the axes between are those of the values
  DType dtype = DType::float64;  ///< of the results, unless that of the points is wider
  bool periodic = false;

  /// The function, or its derivative of this order, at x: [..., x's shape]. At a knot it is that of the piece on the
  /// right. ValueError for a negative order.
  Tensor operator()(const Operand& x, int derivative = 0) const;
  /// Its integral from a to b, which broadcast: [..., their shape].
  Tensor integral(const Operand& a, const Operand& b) const;
};

/// The condition at the outermost knots. Not-a-knot: the third derivative is continuous at the second knot and at the
/// last but one. Natural: the second derivative is 0. Clamped: the first derivative is given. Periodic: the
/// first two derivatives at both ends are equal; the last value is taken to be the first, and is not read.
enum class SplineEnds : std::uint8_t { not_a_knot, natural, clamped, periodic };
/// Options of cubic_spline().
struct SplineOptions {
  SplineEnds ends = SplineEnds::not_a_knot;
  /// Derivatives at the ends of a clamped spline: y's shape without its last axis, or one that broadcasts to it; zeros
  /// unless given. ValueError if given for other ends.
  Tensor first = {}, last = {};
};
/// The interpolating function with continuous second derivatives: knots x [n], values y [..., n], n at least 2
/// (ShapeError). ValueError unless the knots ascend strictly. Of two values not-a-knot is a straight line, of three a
/// parabola (SciPy's CubicSpline). Gradients: those of tridiagonal_solve, and of the polynomials. Computed in float64.
PiecewiseCubic cubic_spline(const Operand& x, const Operand& y, const SplineOptions& options = {});
/// The interpolating function that is monotone where the values are (Fritsch and Butland 1984; SciPy's
/// PchipInterpolator). The slope at an inner knot is the weighted harmonic mean of the slopes of the two intervals;
/// where one of these is 0 or they differ in sign, it is 0 and has derivative 0. That at an end, beside an interval of
/// slope m0 and one of slope m1, is the three-point estimate d = ((2 h0 + h1) m0 - h0 m1) / (h0 + h1), h the lengths,
/// with two limits: 0, with derivative 0, where d and m0 differ in sign or just one is 0, and 3 m0 where m0 and m1
/// differ in sign and d is steeper than that. Where both slopes are 0 the derivative is that of d. Knots and errors are
/// those of cubic_spline.
PiecewiseCubic pchip(const Operand& x, const Operand& y);
/// The interpolating function of Akima (1970; SciPy's Akima1DInterpolator), for data with jumps. The slope at a knot is
/// the mean of the slopes of the two intervals, each weighted by the absolute change of slope on the other side. Where
/// both changes sum to at most 1e-9 of the largest such sum, the weights are equal. Two values are joined by a straight
/// line. Knots and errors are those of cubic_spline. A change of slope that is 0 has derivative 0.
PiecewiseCubic akima(const Operand& x, const Operand& y);

/// A piecewise polynomial of one degree: the sum over j of coefficients[..., j] times the B-spline of the
/// knots j to j + degree + 1 (de Boor 1972; SciPy's BSpline). It is defined between knots[degree] and knots[n];
/// beyond them the first and the last polynomial are continued.
struct BSpline {
  Tensor knots;         ///< [n + degree + 1], ascending, float64; equal knots lower the continuity
  Tensor coefficients;  ///< [..., n], float64
  int degree = 0;
  DType dtype = DType::float64;  ///< of the results, unless that of the points is wider

  /// The function, or its derivative of this order, at x: [..., x's shape]. At a knot it is that of the piece on the
  /// right, at the last one that of the last piece. ValueError for a negative order.
  Tensor operator()(const Operand& x, int derivative = 0) const;
  /// Its integral from a to b, which broadcast: [..., their shape].
  Tensor integral(const Operand& a, const Operand& b) const;
};
/// The function with these knots [n + degree + 1] and coefficients [..., n], n larger than the degree (ShapeError).
/// ValueError for knots that descend or do not span an interval, and for a degree that is not in [0, 31]. Gradients: to
/// points the derivative, to coefficients the B-splines, and to knots, where they are distinct. Computed in float64.
BSpline b_spline(const Operand& knots, const Operand& coefficients, int degree = 3);

// Values on grids
//
// Gradients of every order: to values the weights, to positions the differences of neighbours that follow from them,
// and 0 to positions of the nearest point. Where a derivative jumps, at the points of an axis, it is that of the cell
// on the right; at the last point that of the last cell. A position that is NaN gives NaN. A value without weight does
// not count, even if it is infinite or NaN.

/// The value at the nearest point, linear interpolation between the points around, or cubic interpolation.
enum class GridMethod : std::uint8_t { nearest, linear, cubic };

/// Options of regular_grid().
struct RegularGridOptions {
  GridMethod method = GridMethod::linear;
  /// The result outside the grid. Not given: the polynomials of the outermost cells are continued.
  std::optional<double> fill = std::numeric_limits<double>::quiet_NaN();
};
/// Values [n_1, ..., n_d, ...] on the grid of the coordinates axes[k] [n_k], at each of x [..., d]: x's shape without
/// its last axis, then the further axes of the values. (SciPy's RegularGridInterpolator.) Nearest: halfway between two
/// points the one before. Cubic: not-a-knot splines along each axis, computed in float64, of at least 2 points on each
/// axis; of 2 a straight line, of 3 a parabola. The coordinates of the grid have gradients, too. ValueError unless they
/// ascend strictly. ShapeError without axes, for coordinates that are not a vector of n_k elements, for an axis without
/// points, for values of fewer than d axes, and for x whose last extent is not d.
Tensor regular_grid(std::span<const Tensor> axes, const Operand& values, const Operand& x,
                    const RegularGridOptions& options = {});
Tensor regular_grid(std::initializer_list<Tensor> axes, const Operand& values, const Operand& x,
                    const RegularGridOptions& options = {});

/// What an array a b c d is beyond its ends, by SciPy's names.
enum class Border : std::uint8_t {
  constant,       ///< positions outside [0, n - 1] have the fill value as their result
  nearest,        ///< a a a | a b c d | d d d
  reflect,        ///< c b a | a b c d | d c b
  mirror,         ///< d c b | a b c d | c b a
  wrap,           ///< positions have the period n - 1, so that d and a are at the same place
  grid_constant,  ///< the fill value k at each point: k k k | a b c d | k k k
  grid_wrap       ///< b c d | a b c d | a b c
};
/// Options of map_coordinates().
struct MapCoordinatesOptions {
  int order = 3;  ///< 0: the nearest point, halves up; 1: linear; 3: the cubic spline through the values
  Border border = Border::constant;
  double fill = 0;
  /// With order 3: values are interpolated. Otherwise they are taken to be the coefficients of B-splines.
  bool prefilter = true;
};
/// The array x [..., n_1, ..., n_d] at the positions coordinates[k, ...] along its last d axes, counted from 0: [...,
/// the shape of the coordinates without its first axis]. (SciPy's map_coordinates, with batch axes; its spline for
/// `reflect` misses the values of short axes, this one does not.) ShapeError for an axis without elements, ValueError
/// for another order. Infinite positions give NaN where the border repeats the array.
Tensor map_coordinates(const Operand& x, const Operand& coordinates, const MapCoordinatesOptions& options = {});

/// What images are beyond their borders: 0, the outermost elements, or their mirror image.
enum class GridPadding : std::uint8_t { zeros, border, reflection };
/// Options of grid_sample().
struct GridSampleOptions {
  GridMethod method = GridMethod::linear;  ///< nearest: halves to even; cubic: Keys's kernel with coefficient -0.75
  GridPadding padding = GridPadding::zeros;
  /// Whether -1 and 1 are the centres of the outermost elements, rather than their outer edges. A mirror image then
  /// does not repeat the outermost elements.
  bool align_corners = false;
};
/// Images x [batch, channels, height, width] at the positions grid [batch, ..., 2], or volumes [batch, channels, depth,
/// height, width] at [batch, ..., 3], in as many axes: [batch, channels, ...]. The last axis of the grid is (column,
/// row) or (column, row, plane), from -1 to 1. (PyTorch's grid_sample, whose gradient has no derivative; cubic also for
/// volumes.) ShapeError for an image without elements.
Tensor grid_sample(const Operand& x, const Operand& grid, const GridSampleOptions& options = {});
/// The grid for grid_sample to images of `size` {batch, channels, height, width} with theta [batch, 2, 3]: the position
/// theta (column, row, 1) for each element, [batch, height, width, 2]; for volumes of {batch, channels, depth, height,
/// width} with theta [batch, 3, 4]: [batch, depth, height, width, 3]. (PyTorch's affine_grid.) ShapeError if the
/// shapes do not match.
Tensor affine_grid(const Operand& theta, const Shape& size, bool align_corners = false);

}  // namespace reel
