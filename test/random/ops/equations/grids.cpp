// B-splines, values on grids and images at other sizes by their definitions.
#include "grids.hpp"

#include <reel/image.hpp>
#include <reel/interpolate.hpp>

#include "../../../op_cases/equations/grid_references.hpp"
#include "../../matrices.hpp"
#include "../../ranged.hpp"

namespace random_programs {

std::int64_t floor_of(const Jet& x) {
  if (!(std::fabs(x.v[0]) < 200)) throw Unfit();
  const auto i = static_cast<std::int64_t>(std::floor(x.v[0]));
  if (less(x, Jet(static_cast<Real>(i))) || !less(x, Jet(static_cast<Real>(i + 1)))) throw Ambiguous();
  return i;
}

namespace {

using interpolation::Around;
using interpolation::Beyond;
using interpolation::OnGrid;
using reel::Tensor;
using Jets = std::vector<Jet>;
using Strings = std::vector<std::string>;

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
void eval_b_spline(const Statement& s, const Inputs& in, Arrays& out) {
  const DType d = real_dtype(in);
  Array z(d, in[2]->shape);
  const Jets knots = jets_of_row(*in[0]), c = jets_of_row(*in[1]);
  for (std::int64_t i = 0; i < z.size(); ++i) {
    const Jet x = (*in[2])[i].re;
    const int degree = static_cast<int>(s.ints[0]), order = static_cast<int>(s.ints[1]);
    Jet y = order > degree ? Jet(0) : interpolation::b_spline(knots, c, degree, x, order);
    double steep = 1;
    for (int k = 0; k < degree; ++k) steep *= 1 + static_cast<double>(std::fabs(x.v[0]));
    for (int k = 0; k < Jet::count; ++k) y.e[k] += 16 * Jet::unit * steep;
    z[i] = settled(y, in);
  }
  out.push_back(std::move(z));
}
Op b_spline_op() {
  Op o;
  o.name = "b_spline";
  o.make = make_b_spline;
  o.eval = eval_b_spline;
  o.call = [](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    const auto degree = static_cast<int>(s.ints[0]), order = static_cast<int>(s.ints[1]);
    out.push_back(reel::b_spline(a[0], a[1], degree)(a[2], order));
  };
  o.text = [](const Statement& s, const Strings& a) {
    return "b_spline(" + a[0] + ", " + a[1] + ", " + std::to_string(s.ints[0]) + ")(" + a[2] + ", " +
           std::to_string(s.ints[1]) + ")";
  };
  return o;
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
void eval_grid(const Statement& s, const Inputs& in, Arrays& out) {
  const auto method = static_cast<OnGrid>(s.ints[0]);
  const DType dtype = method == OnGrid::cubic ? real_dtype(in) : computed_dtype(in);
  const std::size_t d = in.size() - 2;
  const Array &values = *in[d], &points = *in[d + 1];
  const std::int64_t behind = values.rank() > static_cast<int>(d) ? values.shape.back() : 1;
  std::vector<Jets> axes;
  std::vector<std::size_t> extents;
  for (std::size_t k = 0; k < d; ++k) axes.push_back(jets_of_row(*in[k])), extents.push_back(axes.back().size());
  Array z(dtype, {points.shape[0]});
  if (values.rank() > static_cast<int>(d)) z = Array(dtype, {points.shape[0], behind});
  for (std::int64_t i = 0; i < z.size(); ++i) {
    const auto coordinate = [&](std::size_t k) {
      return points[i / behind * static_cast<std::int64_t>(d) + static_cast<std::int64_t>(k)].re;
    };
    bool outside = false;
    for (std::size_t k = 0; k < d && s.ints[1] != 0; ++k)
      outside = outside || less(coordinate(k), axes[k].front()) || less(axes[k].back(), coordinate(k));
    const auto value = [&](const std::vector<std::size_t>& index) {
      std::int64_t position = 0;
      for (std::size_t k = 0; k < d; ++k)
        position = position * static_cast<std::int64_t>(extents[k]) + static_cast<std::int64_t>(index[k]);
      return values[position * behind + i % behind].re;
    };
    const auto one = [&](std::size_t k, const Jets& row) {
      return interpolation::on_axis(axes[k], row, coordinate(k), method);
    };
    z[i] = outside ? Jet(-2) : settled(interpolation::on_axes<Jet>(extents, value, one), in);
  }
  out.push_back(std::move(z));
}
reel::RegularGridOptions grid_options(const Statement& s) {
  reel::RegularGridOptions options{static_cast<reel::GridMethod>(s.ints[0]), std::nullopt};
  if (s.ints[1] != 0) options.fill = -2;
  return options;
}
Op grid_op() {
  Op o;
  o.name = "regular_grid";
  o.make = make_grid;
  o.eval = eval_grid;
  o.call = [](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    const std::vector<Tensor> all = a.tensors();
    out.push_back(
        reel::regular_grid(std::span(all).first(all.size() - 2), all[all.size() - 2], all.back(), grid_options(s)));
  };
  o.text = [](const Statement& s, const Strings& a) {
    const char* const methods[] = {"nearest", "linear", "cubic"};
    std::string axes;
    for (std::size_t k = 0; k + 2 < a.size(); ++k) axes += (k == 0 ? "" : ", ") + a[k];
    return "regular_grid({" + axes + "}, " + a[a.size() - 2] + ", " + a.back() +
           ", {.method = GridMethod::" + methods[at(s.ints[0])] +
           ", .fill = " + (s.ints[1] != 0 ? "-2" : "std::nullopt") + "})";
  };
  return o;
}

// ---- map_coordinates. args: the array, coordinates [d, positions]. ints: order, border. The fill value is -2.

// The value at positions of an array whose elements begin at `first`.
Jet value_at(const Array& x, std::int64_t first, const Extents& extents, const Jets& position, Around around,
             Beyond beyond, double fill) {
  for (const Jet& p : position)
    if (!(std::fabs(p.v[0]) < 100)) throw Unfit();
  const auto value = [&](const std::vector<std::size_t>& index) {
    std::int64_t offset = 0;
    for (std::size_t k = 0; k < extents.size(); ++k) offset = offset * extents[k] + static_cast<std::int64_t>(index[k]);
    return x[first + offset].re;
  };
  return interpolation::at_positions<Jet>(std::vector<std::size_t>(extents.begin(), extents.end()), value, position,
                                          around, beyond, Jet(fill));
}
constexpr Around around_order[] = {Around::nearest_up, Around::linear, Around::linear, Around::b_spline};

Op map_op() {
  Op o;
  o.name = "map_coordinates";
  o.make = [](Maker& m, Statement& s) {
    const std::int64_t d = m.between(1, 2), batch = m.below(2);
    Extents extents;
    for (std::int64_t k = 0; k < d + batch; ++k) extents.push_back(m.between(1, d == 1 ? 4 : 3));
    const int x = real_value(m, extents), c = x < 0 ? -1 : real_value(m, {d, m.between(1, 3)});
    if (c < 0) return false;
    s.args = {Maker::arg(x), Maker::arg(c)};
    s.ints = {m.choose(std::vector<std::int64_t>{0, 1, 3}), m.below(7)};
    return true;
  };
  o.eval = [](const Statement& s, const Inputs& in, Arrays& out) {
    const Array &x = *in[0], &c = *in[1];
    const DType dtype = computed_dtype(in);
    const std::int64_t d = c.shape[0], positions = c.shape[1], batch = x.rank() - d;
    const Extents extents(x.shape.begin() + batch, x.shape.end());
    Array z(dtype, batch > 0 ? Extents{x.shape[0], positions} : Extents{positions});
    for (std::int64_t i = 0; i < z.size(); ++i) {
      Jets position;
      for (std::int64_t k = 0; k < d; ++k) position.push_back(c[k * positions + i % positions].re);
      z[i] = settled(value_at(x, i / positions * elements(extents), extents, position, around_order[s.ints[0]],
                              static_cast<Beyond>(s.ints[1]), -2),
                     in);
    }
    out.push_back(std::move(z));
  };
  o.call = [](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(
        reel::map_coordinates(a[0], a[1], {static_cast<int>(s.ints[0]), static_cast<reel::Border>(s.ints[1]), -2}));
  };
  o.text = [](const Statement& s, const Strings& a) {
    return "map_coordinates(" + a[0] + ", " + a[1] + ", {" + std::to_string(s.ints[0]) + ", static_cast<Border>(" +
           std::to_string(s.ints[1]) + "), -2})";
  };
  return o;
}

// ---- grid_sample. args: images, the grid. ints: method, padding, align_corners.

Beyond beyond_of(const Statement& s) {
  if (s.ints[1] == 0) return Beyond::grid_constant;
  if (s.ints[1] == 1) return Beyond::nearest;
  return s.ints[2] != 0 ? Beyond::mirror : Beyond::reflect;
}
reel::GridSampleOptions sample_options(const Statement& s) {
  return {static_cast<reel::GridMethod>(s.ints[0]), static_cast<reel::GridPadding>(s.ints[1]), s.ints[2] != 0};
}
Op sample_op() {
  Op o;
  o.name = "grid_sample";
  o.make = [](Maker& m, Statement& s) {
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
  };
  o.eval = [](const Statement& s, const Inputs& in, Arrays& out) {
    const Array &x = *in[0], &grid = *in[1];
    const DType dtype = computed_dtype(in);
    const std::int64_t d = grid.shape.back(), channels = x.shape[1];
    const Extents extents(x.shape.begin() + 2, x.shape.end());
    Extents result = {x.shape[0], channels};
    std::int64_t places = 1;
    for (std::int64_t k = 1; k <= d; ++k) result.push_back(grid.shape[at(k)]), places *= grid.shape[at(k)];
    Array z(dtype, result);
    constexpr Around around[] = {Around::nearest_even, Around::linear, Around::keys};
    for (std::int64_t i = 0; i < z.size(); ++i) {
      const std::int64_t plane = i / places;
      Jets position;
      for (std::int64_t k = 0; k < d; ++k) {
        const Jet g = grid[(plane / channels * places + i % places) * d + d - 1 - k].re;
        const Real n = static_cast<Real>(extents[at(k)]);
        position.push_back(s.ints[2] != 0 ? (g + Jet(1)) * Jet((n - 1) / 2)
                                          : ((g + Jet(1)) * Jet(n) - Jet(1)) * Jet(0.5L));
      }
      z[i] = settled(value_at(x, plane * elements(extents), extents, position, around[s.ints[0]], beyond_of(s), 0), in);
    }
    out.push_back(std::move(z));
  };
  o.call = [](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(reel::grid_sample(a[0], a[1], sample_options(s)));
  };
  o.text = [](const Statement& s, const Strings& a) {
    return "grid_sample(" + a[0] + ", " + a[1] + ", {static_cast<GridMethod>(" + std::to_string(s.ints[0]) +
           "), static_cast<GridPadding>(" + std::to_string(s.ints[1]) + "), " + (s.ints[2] != 0 ? "true" : "false") +
           "})";
  };
  return o;
}

// ---- affine_grid. ints: align_corners, the extents of the grid.

Op affine_op() {
  Op o;
  o.name = "affine_grid";
  o.make = [](Maker& m, Statement& s) {
    const std::int64_t d = m.between(2, 3), batch = m.between(1, 2);
    const int theta = real_value(m, {batch, d, d + 1});
    if (theta < 0) return false;
    s.args = {Maker::arg(theta)};
    s.ints = {m.below(2)};
    for (std::int64_t k = 0; k < d; ++k) s.ints.push_back(m.between(1, 2));
    return true;
  };
  o.eval = [](const Statement& s, const Inputs& in, Arrays& out) {
    const Array& theta = *in[0];
    const DType dtype = computed_dtype(in);
    const std::int64_t d = theta.shape[1];
    Extents shape = {theta.shape[0]};
    for (std::int64_t k = 1; k <= d; ++k) shape.push_back(s.ints[at(k)]);
    shape.push_back(d);
    Array z(dtype, shape);
    for (std::int64_t i = 0; i < z.size(); ++i) {
      const Extents index = indices_of(shape, i);
      const std::int64_t row = (index[0] * d + index.back()) * (d + 1);
      Jet sum = theta[row + d].re;
      for (std::int64_t k = 0; k < d; ++k) {
        const Real n = static_cast<Real>(shape[at(d - k)]), j = static_cast<Real>(index[at(d - k)]);
        const Real place = s.ints[0] != 0 ? (n > 1 ? 2 * j / (n - 1) - 1 : 0) : (2 * j + 1) / n - 1;
        sum += theta[row + k].re * Jet(place);
      }
      z[i] = settled(sum, in);
    }
    out.push_back(std::move(z));
  };
  const auto size_of = [](const Statement& s, std::int64_t batch) {
    Extents size = {batch, 1};
    size.insert(size.end(), s.ints.begin() + 1, s.ints.end());
    return size;
  };
  o.call = [size_of](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    const Tensor theta = a.tensor(0);
    out.push_back(reel::affine_grid(theta, size_of(s, theta.shape()[0]), s.ints[0] != 0));
  };
  o.text = [size_of](const Statement& s, const Strings& a) {
    const std::string sizes = braces(size_of(s, 0)).substr(2);  // behind the batch, which theta has
    return "affine_grid(" + a[0] + ", {" + a[0] + ".shape()[0]" + sizes + ", " + (s.ints[0] != 0 ? "true" : "false") +
           ")";
  };
  return o;
}

// ---- resize. ints: method, antialias, align_corners, the extents of the result.

void eval_resize(const Statement& s, const Inputs& in, Arrays& out) {
  Array y = *in[0];
  const DType dtype = s.ints[0] == 0 ? y.dtype : computed_dtype(in);
  const interpolation::Resizing how = {static_cast<int>(s.ints[0]), s.ints[1] != 0, s.ints[2] != 0};
  for (std::size_t k = 0; k < y.shape.size(); ++k) {
    const std::int64_t n = y.shape[k], m = s.ints[k + 3];
    if (n == m) continue;
    if (n == 0) throw Unfit();
    Extents shape = y.shape;
    shape[k] = m;
    Array z(dtype, shape);
    for (std::int64_t i = 0; i < z.size(); ++i) {
      Extents index = indices_of(shape, i);
      const auto w = interpolation::resize_weights(how, n, m, index[k]);
      Num sum = Num(Real(0));
      for (std::int64_t j = 0; j < n; ++j) {
        index[k] = j;
        const Num& own = y[position_of(y.shape, index)];
        if (how.method == 0 && w[at(j)] != 0) sum = own;
        if (how.method != 0) sum += Num(rounded(own.re * Jet(w[at(j)]), 4));
      }
      z[i] = how.method == 0 ? sum : Num(settled(sum.re, in));
    }
    y = std::move(z);
  }
  y.dtype = dtype, y.weak = false;
  out.push_back(std::move(y));
}
Op resize_op() {
  Op o;
  o.name = "resize";
  o.make = [](Maker& m, Statement& s) {
    const int x = m.floating(0, 3);
    if (x < 0) return false;
    s.args = {Maker::arg(x)};
    s.ints = {m.below(5), m.below(2), m.below(2)};
    for (const std::int64_t n : m.at(x).shape) s.ints.push_back(m.chance(0.4) ? n : m.between(1, 4));
    return true;
  };
  o.eval = eval_resize;
  const auto size_of = [](const Statement& s) { return Extents(s.ints.begin() + 3, s.ints.end()); };
  o.call = [size_of](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    const auto method = static_cast<reel::ResizeMethod>(s.ints[0]);
    out.push_back(reel::resize(a[0], size_of(s), {method, s.ints[1] != 0, s.ints[2] != 0}));
  };
  o.text = [size_of](const Statement& s, const Strings& a) {
    const auto yes = [&](std::size_t k) { return s.ints[k] != 0 ? "true" : "false"; };
    return "resize(" + a[0] + ", " + braces(size_of(s)) + ", {static_cast<ResizeMethod>(" + std::to_string(s.ints[0]) +
           "), " + yes(1) + ", " + yes(2) + "})";
  };
  return o;
}

}  // namespace

void add_grids(std::vector<Op>& table) {
  for (Op o : {b_spline_op(), grid_op(), map_op(), sample_op(), affine_op(), resize_op()})
    table.push_back(std::move(o));
}

}  // namespace random_programs
