// Interpolation, integrals of samples, values on grids and images at other sizes: operands and calls.
#include <reel/image.hpp>
#include <reel/interpolate.hpp>
#include <reel/solve/integrate.hpp>

#include "../../../interpolate/references/arrays.hpp"
#include "../../matrices.hpp"

namespace random_programs {

/// For references: the whole number below. Ambiguous within error of one; Unfit far from 0.
std::int64_t floor_of(const Jet& x) {
  if (!(std::fabs(x.v[0]) < 200)) throw Unfit();
  const auto i = static_cast<std::int64_t>(std::floor(x.v[0]));
  if (less(x, Jet(static_cast<Real>(i))) || !less(x, Jet(static_cast<Real>(i + 1)))) throw Ambiguous();
  return i;
}

namespace {

using namespace cases::grids;
using reel::Tensor;
using Jets = RowOf<Jet>;

/// Ascending knots: a value of the program in [-1, 1] plus 0, step, 2 step ...; -1 if there is none.
int ascending_knots(Maker& m, std::int64_t count, double step) {
  const int drawn = m.within(real_value(m, {count}), -1, 1);
  if (drawn < 0 || !is_real_floating(m.at(drawn).dtype)) return -1;
  std::vector<double> by;
  for (std::int64_t k = 0; k < count; ++k) by.push_back(step * static_cast<double>(k));
  const int apart = m.input_of(m.at(drawn).dtype, {count}, by);
  return apart < 0 ? -1 : m.emit("add", {Maker::arg(drawn), Maker::arg(apart)});
}
/// With the error that rounding of polynomials and of systems for slopes has: at the size of all numbers.
ArrayOf<Jet> settled(ArrayOf<Jet> y, JetArrays x) {
  double operands = 0;
  for (const ArrayOf<Jet>& one : x)
    for (const Jet& v : one.values)
      for (int m = 0; m < Jet::count; ++m) operands = std::max(operands, static_cast<double>(std::fabs(v.v[m])));
  for (Jet& v : y.values) {
    double size = 1;
    for (int m = 0; m < Jet::count; ++m) size += static_cast<double>(std::fabs(v.v[m]));
    v = with_errors(v, 64 * std::max(size, operands));
  }
  return y;
}
template <class F>
Op settled_op(const char* name, std::function<bool(Maker&, Statement&)> make, DType (*dtype)(const Inputs&), F f,
              Call call) {
  return row_op<Jet>(
      name, std::move(make), dtype, [f](JetArrays x, const Statement& s) { return settled(f(x, s.ints), x); }, call);
}

// ---- Curves: knots, values, points. ints[0] is a choice of `kinds`.

std::function<bool(Maker&, Statement&)> make_piecewise(int kinds) {
  return [kinds](Maker& m, Statement& s) {
    const std::int64_t n = m.between(2, 5);
    const int knots = ascending_knots(m, n, 4);
    const int values = knots < 0 ? -1 : real_value(m, {n}), points = values < 0 ? -1 : m.floating(0, 2);
    if (points < 0 || m.at(points).size() > 12) return false;
    s.args = {Maker::arg(knots), Maker::arg(values), Maker::arg(points)};
    s.ints = {m.below(kinds)};
    return true;
  };
}
Ends ends_of(std::int64_t kind) { return kind == 1 ? Ends::natural : kind == 2 ? Ends::clamped : Ends::not_a_knot; }
reel::SplineOptions spline_options(std::int64_t kind) {
  using reel::SplineEnds;
  return {.ends = kind == 1 ? SplineEnds::natural : kind == 2 ? SplineEnds::clamped : SplineEnds::not_a_knot};
}
reel::InterpOptions line_options(std::int64_t kind) {
  return kind == 1 ? reel::InterpOptions{.left = -2, .right = 3} : reel::InterpOptions{};
}
void add_curves(std::vector<Op>& t) {
  const auto add = [&t](const char* name, int kinds, DType (*dtype)(const Inputs&), auto f, Call call) {
    t.push_back(settled_op(
        name, make_piecewise(kinds), dtype,
        [f](JetArrays x, const Ints& n) {
          return at_points(x, [&](const Jets& k, const Jets& v, const Jet& p) { return f(k, v, p, n[0]); });
        },
        call));
  };
  add(
      "interp", 2, computed_dtype,
      [](const Jets& k, const Jets& v, const Jet& p, std::int64_t kind) {
        return interpolation::linear(p, k, v, kind == 1 ? Jet(-2) : v.front(), kind == 1 ? Jet(3) : v.back());
      },
      REEL_CALL(reel::interp(x[2], x[0], x[1], line_options(i[0]))));
  add(
      "cubic_spline", 4, real_dtype,
      [](const Jets& k, const Jets& v, const Jet& p, std::int64_t kind) {
        return interpolation::spline(k, v, ends_of(kind)).at(p, kind == 3);
      },
      REEL_CALL(reel::cubic_spline(x[0], x[1], spline_options(i[0]))(x[2], i[0] == 3)));
  add(
      "pchip", 2, real_dtype,
      [](const Jets& k, const Jets& v, const Jet& p, std::int64_t kind) {
        return interpolation::monotone(k, v).at(p, kind == 1);
      },
      REEL_CALL(reel::pchip(x[0], x[1])(x[2], i[0] == 1)));
  add(
      "akima", 1, real_dtype,
      [](const Jets& k, const Jets& v, const Jet& p, std::int64_t) { return interpolation::by_changes(k, v).at(p, 0); },
      REEL_CALL(reel::akima(x[0], x[1])(x[2])));
}

// ---- Integrals of samples. ints: axis; reals: the spacing.

bool make_samples(Maker& m, Statement& s) {
  const int x = m.number(1, 3);
  if (x < 0) return false;
  s.args = {Maker::arg(x)};
  s.ints = {m.below(m.at(x).rank()) - (m.chance(0.5) ? m.at(x).rank() : 0)};
  s.reals = {0.5 * static_cast<double>(m.between(1, 4))};
  return true;
}
void add_integrals(std::vector<Op>& t) {
  const auto add = [&t](const char* name, bool keeps_axis, auto f, Call call) {
    t.push_back(row_op<Jet>(
        name, make_samples, computed_dtype,
        [=](JetArrays x, const Statement& s) {
          if (x[0].shape[s.ints[0]] == 0) throw Unfit();
          ArrayOf<Jet> y = integrals(x, s.ints[0], s.reals[0], f);
          for (Jet& v : y.values) v = rounded(v, 16);
          return keeps_axis ? y : without_axis(y, s.ints[0]);
        },
        call));
  };
  add("trapezoid", false, whole_trapezium<Jet>, REEL_CALL(reel::trapezoid(x[0], r[0], i[0])));
  add("cumulative_trapezoid", true, trapezium_sums<Jet>, REEL_CALL(reel::cumulative_trapezoid(x[0], r[0], i[0])));
  add("simpson", false, parabola_sum<Jet>, REEL_CALL(reel::simpson(x[0], r[0], i[0])));
}

// ---- b_spline. args: knots, coefficients, points. ints: degree, order of the derivative.

bool make_b_spline(Maker& m, Statement& s) {
  const std::int64_t degree = m.below(4), n = degree + m.between(1, 3);
  const int knots = ascending_knots(m, n + degree + 1, 3);
  const int c = knots < 0 ? -1 : real_value(m, {n}), points = c < 0 ? -1 : m.floating(0, 2);
  if (points < 0 || m.at(points).size() > 12) return false;
  s.args = {Maker::arg(knots), Maker::arg(c), Maker::arg(points)};
  s.ints = {degree, m.below(2)};
  return true;
}
ArrayOf<Jet> b_splines(JetArrays x, const Ints& n) {
  const int degree = static_cast<int>(n[0]), order = static_cast<int>(n[1]);
  return at_points(x, [=](const Jets& knots, const Jets& c, const Jet& p) {
    double steep = 1;
    for (int k = 0; k < degree; ++k) steep *= 1 + static_cast<double>(magnitude(p));
    return with_errors(order > degree ? Jet(0) : interpolation::b_spline(knots, c, degree, p, order), 16 * steep);
  });
}

// ---- regular_grid. args: the axes, values, points. ints: the method, whether outside the grid is -2.

bool make_grid(Maker& m, Statement& s) {
  const auto method = static_cast<OnGrid>(m.below(3));
  const std::int64_t d = m.between(1, 2), least = method == OnGrid::cubic ? 2 : 1;
  Extents extents;
  for (std::int64_t k = 0; k < d; ++k) {
    extents.push_back(m.between(least, d == 1 ? 4 : 3));
    const int axis = ascending_knots(m, extents.back(), 3);
    if (axis < 0) return false;
    s.args.push_back(Maker::arg(axis));
  }
  if (m.chance(0.5)) extents.push_back(2);
  const int values = real_value(m, extents), points = values < 0 ? -1 : real_value(m, {m.between(1, 3), d});
  if (points < 0) return false;
  s.args.push_back(Maker::arg(values)), s.args.push_back(Maker::arg(points));
  s.ints = {static_cast<std::int64_t>(method), m.below(2)};
  return true;
}
ArrayOf<Jet> grid_values(JetArrays x, const Ints& n) {
  const auto method = static_cast<OnGrid>(n[0]);
  if (method == OnGrid::cubic && Jet::unit > 0x1p-24) throw Unfit();  // of a narrow dtype
  return n[1] != 0 ? on_grid(x, method, -2) : on_grid(x, method);
}
Tensor call_grid(const std::vector<Tensor>& x, const Ints& n) {
  reel::RegularGridOptions options{static_cast<reel::GridMethod>(n[0]), std::nullopt};
  if (n[1] != 0) options.fill = -2;
  return reel::regular_grid(std::span(x).first(x.size() - 2), x[x.size() - 2], x.back(), options);
}

// ---- map_coordinates. args: the array, coordinates [d, positions]. ints: order, border. The fill value is -2.

bool make_map(Maker& m, Statement& s) {
  const std::int64_t d = m.between(1, 2), batch = m.below(2);
  Extents extents;
  for (std::int64_t k = 0; k < d + batch; ++k) extents.push_back(m.between(1, d == 1 ? 4 : 3));
  const int x = real_value(m, extents), c = x < 0 ? -1 : real_value(m, {d, m.between(1, 3)});
  if (c < 0) return false;
  s.args = {Maker::arg(x), Maker::arg(c)};
  s.ints = {m.choose(std::vector<std::int64_t>{0, 1, 3}), m.below(7)};
  return true;
}
void require_near(const ArrayOf<Jet>& positions) {
  for (const Jet& p : positions.values)
    if (!(magnitude(p) < 100)) throw Unfit();
}
ArrayOf<Jet> mapped_values(JetArrays x, const Ints& n) {
  require_near(x[1]);
  return mapped(x, static_cast<int>(n[0]), static_cast<Beyond>(n[1]), -2);
}

// ---- grid_sample. args: images, the grid. ints: method, padding, align_corners.

bool make_sample(Maker& m, Statement& s) {
  const std::int64_t d = m.between(2, 3), batch = m.between(1, 2);
  Extents image = {batch, m.between(1, 2)}, grid = {batch};
  for (std::int64_t k = 0; k < d; ++k)
    image.push_back(m.between(1, d == 2 ? 3 : 2)), grid.push_back(k == 0 ? 1 : m.between(1, 2));
  grid.push_back(d);
  const int x = real_value(m, image), g = x < 0 ? -1 : m.within(real_value(m, grid), -2, 2);
  if (g < 0) return false;
  s.args = {Maker::arg(x), Maker::arg(g)};
  s.ints = {d == 2 ? m.below(3) : m.below(2), m.below(3), m.below(2)};
  return true;
}
reel::GridSampleOptions sample_options(const Ints& n) {
  return {static_cast<reel::GridMethod>(n[0]), static_cast<reel::GridPadding>(n[1]), n[2] != 0};
}

// ---- affine_grid. ints: align_corners, the extents of the grid.

bool make_affine(Maker& m, Statement& s) {
  const std::int64_t d = m.between(2, 3), batch = m.between(1, 2);
  const int theta = real_value(m, {batch, d, d + 1});
  if (theta < 0) return false;
  s.args = {Maker::arg(theta)};
  s.ints = {m.below(2)};
  for (std::int64_t k = 0; k < d; ++k) s.ints.push_back(m.between(1, 2));
  return true;
}
Extents size_of_grid(std::int64_t batch, const Ints& n) {
  Extents size = {batch, 1};
  size.insert(size.end(), n.begin() + 1, n.end());
  return size;
}
Tensor call_affine(const Tensor& theta, const Ints& n) {
  return reel::affine_grid(theta, size_of_grid(theta.shape()[0], n), n[0] != 0);
}

// ---- resize. ints: method, antialias, align_corners, the extents of the result.

bool make_resize(Maker& m, Statement& s) {
  const int x = m.floating(0, 3);
  if (x < 0) return false;
  s.args = {Maker::arg(x)};
  s.ints = {m.below(5), m.below(2), m.below(2)};
  for (const std::int64_t n : m.at(x).shape) s.ints.push_back(m.chance(0.4) ? n : m.between(1, 4));
  return true;
}
Extents sizes_of(const Ints& n) { return {n.begin() + 3, n.end()}; }
reel::ResizeOptions resize_options(const Ints& n) {
  return {static_cast<reel::ResizeMethod>(n[0]), n[1] != 0, n[2] != 0};
}
ArrayOf<Jet> resized_values(JetArrays x, const Statement& s) {
  const Ints& n = s.ints;
  const ArrayOf<Jet> y = resized(x[0], cases::Extents(sizes_of(n)), {static_cast<int>(n[0]), n[1] != 0, n[2] != 0});
  return n[0] == 0 || y.shape == x[0].shape ? y : settled(y, x);
}

void add_grids(std::vector<Op>& t) {
  t.push_back(settled_op("b_spline", make_b_spline, real_dtype, b_splines,
                         REEL_CALL(reel::b_spline(x[0], x[1], static_cast<int>(i[0]))(x[2], static_cast<int>(i[1])))));
  t.push_back(settled_op("regular_grid", make_grid, computed_dtype, grid_values, REEL_CALL(call_grid(x.tensors(), i))));
  t.push_back(settled_op(
      "map_coordinates", make_map, computed_dtype, mapped_values,
      REEL_CALL(reel::map_coordinates(x[0], x[1], {static_cast<int>(i[0]), static_cast<reel::Border>(i[1]), -2}))));
  t.push_back(settled_op(
      "grid_sample", make_sample, computed_dtype,
      [](JetArrays x, const Ints& n) { return sampled(x, static_cast<int>(n[0]), static_cast<int>(n[1]), n[2] != 0); },
      REEL_CALL(reel::grid_sample(x[0], x[1], sample_options(i)))));
  t.push_back(settled_op(
      "affine_grid", make_affine, computed_dtype,
      [](JetArrays x, const Ints& n) { return affine(x[0], size_of_grid(x[0].shape[0], n), n[0] != 0); },
      REEL_CALL(call_affine(x.tensor(0), i))));
  t.push_back(row_op<Jet>("resize", make_resize, computed_dtype, resized_values,
                          REEL_CALL(reel::resize(x[0], sizes_of(i), resize_options(i)))));
}

}  // namespace

void add_interpolation(std::vector<Op>& t) {
  add_curves(t);
  add_integrals(t);
  add_grids(t);
}

}  // namespace random_programs
