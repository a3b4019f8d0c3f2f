// B-splines and values on grids by their definitions.
#include "grids.hpp"

#include <reel/interpolate.hpp>

#include "../../../op_cases/equations/grid_references.hpp"
#include "../further/jet_matrices.hpp"

namespace random_programs {

namespace {

using interpolation::OnGrid;
using reel::Tensor;
using Jets = std::vector<Jet>;
using Strings = std::vector<std::string>;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// The dtype of results, computed in it.
DType floating_dtype(const Inputs& in) {
  const DType d = floating_of(promoted(in));
  if (!is_real_floating(d)) throw Unfit();
  round_like(d);
  return d;
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
  const DType dtype = method == OnGrid::cubic ? real_dtype(in) : floating_dtype(in);
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

}  // namespace

void add_grids(std::vector<Op>& table) {
  table.push_back(b_spline_op());
  table.push_back(grid_op());
}

}  // namespace random_programs
