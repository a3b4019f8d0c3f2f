// Interpolation and integrals of samples by their definitions.
#include <reel/interpolate.hpp>
#include <reel/solve/integrate.hpp>

#include "../../../op_cases/equations/references.hpp"
#include "../../matrices.hpp"
#include "grids.hpp"

namespace random_programs {

std::vector<Jet> jets_of_row(const Array& x) {
  std::vector<Jet> list;
  for (const Num& n : x.data) list.push_back(n.re);
  return list;
}

int ascending_knots(Maker& m, std::int64_t count, double step) {
  const int drawn = m.within(real_value(m, {count}), -1, 1);
  if (drawn < 0 || !is_real_floating(m.at(drawn).dtype)) return -1;
  std::vector<double> by;
  for (std::int64_t k = 0; k < count; ++k) by.push_back(step * static_cast<double>(k));
  const int apart = m.input_of(m.at(drawn).dtype, {count}, by);
  return apart < 0 ? -1 : m.emit("add", {Maker::arg(drawn), Maker::arg(apart)});
}

Jet settled(Jet y, const Inputs& in) {
  double size = 1;
  for (int m = 0; m < Jet::count; ++m) size += static_cast<double>(std::fabs(y.v[m]));
  for (const Array* x : in)
    for (const Num& n : x->data)
      for (int m = 0; m < Jet::count; ++m) size = std::max(size, static_cast<double>(std::fabs(n.re.v[m])));
  for (int m = 0; m < Jet::count; ++m) y.e[m] += 64 * Jet::unit * size;
  return y;
}

namespace {

using interpolation::Ends;
using interpolation::Pieces;
using reel::Tensor;
using Jets = std::vector<Jet>;
using Strings = std::vector<std::string>;

// ints[0] is a choice of `kinds`.
bool make_piecewise(Maker& m, Statement& s, int kinds) {
  const std::int64_t n = m.between(2, 5);
  const int knots = ascending_knots(m, n, 4);
  const int values = knots < 0 ? -1 : real_value(m, {n}), points = values < 0 ? -1 : m.floating(0, 2);
  if (points < 0 || m.at(points).size() > 12) return false;
  s.args = {Maker::arg(knots), Maker::arg(values), Maker::arg(points)};
  s.ints = {m.below(kinds)};
  return true;
}

struct Piecewise {
  const char* name;
  int kinds;
  Jet (*at)(const Jets& knots, const Jets& values, const Jet& x, std::int64_t kind);
  Tensor (*call)(const Operands& a, std::int64_t kind);
  std::string (*text)(const Strings& a, std::int64_t kind);
};

Jet line_at(const Jets& knots, const Jets& values, const Jet& x, std::int64_t kind) {
  return interpolation::linear(x, knots, values, kind == 1 ? Jet(-2) : values.front(),
                               kind == 1 ? Jet(3) : values.back());
}
Jet spline_at(const Jets& knots, const Jets& values, const Jet& x, std::int64_t kind) {
  return interpolation::spline(knots, values,
                               kind == 1   ? Ends::natural
                               : kind == 2 ? Ends::clamped
                                           : Ends::not_a_knot)
      .at(x, kind == 3);
}
reel::SplineOptions spline_options(std::int64_t kind) {
  using reel::SplineEnds;
  return {.ends = kind == 1 ? SplineEnds::natural : kind == 2 ? SplineEnds::clamped : SplineEnds::not_a_knot};
}
std::string call_text(const char* name, const Strings& a, const std::string& options, const std::string& behind) {
  return std::string(name) + "(" + a[0] + ", " + a[1] + options + ")(" + a[2] + behind + ")";
}

// clang-format off
const Piecewise functions[] = {
    {"interp", 2, line_at,
     [](const Operands& a, std::int64_t kind) { return kind == 1 ? reel::interp(a[2], a[0], a[1], {.left = -2, .right = 3}) : reel::interp(a[2], a[0], a[1]); },
     [](const Strings& a, std::int64_t kind) { return "interp(" + a[2] + ", " + a[0] + ", " + a[1] + (kind == 1 ? ", {.left = -2, .right = 3})" : ")"); }},
    {"cubic_spline", 4, spline_at,
     [](const Operands& a, std::int64_t kind) { return reel::cubic_spline(a[0], a[1], spline_options(kind))(a[2], kind == 3); },
     [](const Strings& a, std::int64_t kind) { return call_text("cubic_spline", a, kind == 1 ? ", {.ends = SplineEnds::natural}" : kind == 2 ? ", {.ends = SplineEnds::clamped}" : "", kind == 3 ? ", 1" : ""); }},
    {"pchip", 2, [](const Jets& k, const Jets& v, const Jet& x, std::int64_t kind) { return interpolation::monotone(k, v).at(x, kind == 1); },
     [](const Operands& a, std::int64_t kind) { return reel::pchip(a[0], a[1])(a[2], kind == 1); },
     [](const Strings& a, std::int64_t kind) { return call_text("pchip", a, "", kind == 1 ? ", 1" : ""); }},
    {"akima", 1, [](const Jets& k, const Jets& v, const Jet& x, std::int64_t) { return interpolation::by_changes(k, v).at(x, 0); },
     [](const Operands& a, std::int64_t) { return reel::akima(a[0], a[1])(a[2]); },
     [](const Strings& a, std::int64_t) { return call_text("akima", a, "", ""); }},
};
// clang-format on

Op op_of(const Piecewise& f) {
  Op o;
  o.name = f.name;
  o.make = [&f](Maker& m, Statement& s) { return make_piecewise(m, s, f.kinds); };
  o.eval = [&f](const Statement& s, const Inputs& in, Arrays& out) {
    const bool narrow = std::string(f.name) == "interp";
    const DType d = std::string(f.name) == "interp" ? floating_of(promoted(in)) : real_dtype(in);
    if (reel::is_complex(d) || (narrow && !is_real_floating(d))) throw Unfit();
    round_like(d);
    Array z(d, in[2]->shape);
    const Jets knots = jets_of_row(*in[0]), values = jets_of_row(*in[1]);
    for (std::int64_t i = 0; i < z.size(); ++i) z[i] = settled(f.at(knots, values, (*in[2])[i].re, s.ints[0]), in);
    out.push_back(std::move(z));
  };
  o.call = [&f](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(f.call(a, s.ints[0]));
  };
  o.text = [&f](const Statement& s, const Strings& a) { return f.text(a, s.ints[0]); };
  return o;
}

// ---- Integrals of samples. ints: axis; reals: the spacing.

struct OfSamples {
  const char* name;
  bool keeps_axis;
  Jets (*row)(const Jets& y, const Jets& x);
  Tensor (*call)(const reel::Operand& y, double spacing, std::int64_t axis);
};
const OfSamples integrals[] = {
    {"trapezoid", false,
     [](const Jets& y, const Jets& x) { return Jets{interpolation::running_trapezia(y, x).back()}; },
     [](const reel::Operand& y, double h, std::int64_t axis) { return reel::trapezoid(y, h, axis); }},
    {"cumulative_trapezoid", true,
     [](const Jets& y, const Jets& x) {
       Jets sums = interpolation::running_trapezia(y, x);
       sums.erase(sums.begin());
       return sums;
     },
     [](const reel::Operand& y, double h, std::int64_t axis) { return reel::cumulative_trapezoid(y, h, axis); }},
    {"simpson", false, [](const Jets& y, const Jets& x) { return Jets{interpolation::parabolas(y, x)}; },
     [](const reel::Operand& y, double h, std::int64_t axis) { return reel::simpson(y, h, axis); }},
};

void eval_samples(const OfSamples& f, const Statement& s, const Array& y, Arrays& out) {
  const DType d = floating_of(y.dtype);
  if (reel::is_complex(d)) throw Unfit();
  round_like(d);
  const auto a = static_cast<std::ptrdiff_t>(s.ints[0] < 0 ? s.ints[0] + y.rank() : s.ints[0]);
  const std::int64_t n = y.shape[static_cast<std::size_t>(a)], kept = f.keeps_axis ? n - 1 : 1;
  if (n == 0) throw Unfit();
  Extents rest = y.shape, shape = y.shape;
  rest.erase(rest.begin() + a);
  shape[static_cast<std::size_t>(a)] = kept;
  Array z(d, f.keeps_axis ? shape : rest);
  for (std::int64_t r = 0; r < elements(rest); ++r) {
    Extents at = indices_of(rest, r);
    at.insert(at.begin() + a, 0);
    Jets row, x;
    for (auto& i = at[static_cast<std::size_t>(a)]; i < n; ++i) {
      row.push_back(y[position_of(y.shape, at)].re);
      x.push_back(Jet(s.reals[0] * static_cast<Real>(i)));
    }
    const Jets made = f.row(row, x);
    for (std::int64_t k = 0; k < kept; ++k) {
      at[static_cast<std::size_t>(a)] = k;
      z[f.keeps_axis ? position_of(shape, at) : r] = rounded(made[static_cast<std::size_t>(k)], 16);
    }
  }
  out.push_back(std::move(z));
}

Op op_of(const OfSamples& f) {
  Op o;
  o.name = f.name;
  o.make = [](Maker& m, Statement& s) {
    const int x = m.number(1, 3);
    if (x < 0) return false;
    s.args = {Maker::arg(x)};
    s.ints = {m.below(m.at(x).rank()) - (m.chance(0.5) ? m.at(x).rank() : 0)};
    s.reals = {0.5 * static_cast<double>(m.between(1, 4))};
    return true;
  };
  o.eval = [&f](const Statement& s, const Inputs& in, Arrays& out) { eval_samples(f, s, *in[0], out); };
  o.call = [&f](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(f.call(a[0], s.reals[0], s.ints[0]));
  };
  o.text = [&f](const Statement& s, const Strings& a) {
    return std::string(f.name) + "(" + a[0] + ", " + std::to_string(s.reals[0]) + ", " + std::to_string(s.ints[0]) +
           ")";
  };
  return o;
}

}  // namespace

void add_interpolation(std::vector<Op>& t) {
  for (const Piecewise& f : functions) t.push_back(op_of(f));
  for (const OfSamples& f : integrals) t.push_back(op_of(f));
  add_grids(t);
}

}  // namespace random_programs
