// Sorting and selection along one axis, by insertion; places in sorted rows, by counting. ints: the axis, what an op
// adds; reals: the fraction of a quantile.
#include <algorithm>
#include <cmath>
#include <reel/ops/sorting.hpp>

#include "../program.hpp"

namespace random_programs {

namespace {

using reel::Tensor;
using Strings = std::vector<std::string>;
using Line = std::vector<Num>;

// The order of a line: positions, equal elements as they stand.
std::vector<std::size_t> order_of(const Line& line, bool descending) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < line.size(); ++i) {
    std::size_t at = order.size();
    while (at > 0 && (descending ? less(line[order[at - 1]].re, line[i].re) : less(line[i].re, line[order[at - 1]].re)))
      --at;
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(at), i);
  }
  return order;
}

// What lies at a rank between two elements.
Num between(const Line& line, double rank) {
  const std::vector<std::size_t> order = order_of(line, false);
  const double low = std::floor(rank);
  const Num& a = line[order[static_cast<std::size_t>(low)]];
  if (rank == low) return a;
  const Num& b = line[order[static_cast<std::size_t>(low) + 1]];
  return Num(a.re + (b.re - a.re) * Jet(static_cast<Real>(rank - low)));
}

struct LineOp {
  std::string name;
  bool positions;  // gives int64
  bool floating;   // gives a floating dtype
  bool one;        // the axis goes
  Line (*eval)(const Line& line, const Statement& s);
  Tensor (*call)(const reel::Operand& x, const Statement& s);
};

std::size_t count_of(const Statement& s) { return static_cast<std::size_t>(s.ints[1]); }

Line sorted(const Line& line, const Statement& s) {
  Line y;
  for (const std::size_t i : order_of(line, s.ints[2] != 0)) y.push_back(line[i]);
  return y;
}
Line positions(const Line& line, const Statement& s) {
  Line y;
  for (const std::size_t i : order_of(line, s.ints[2] != 0)) y.emplace_back(static_cast<Real>(i));
  return y;
}
Line selected(const Line& line, const Statement& s) {
  if (count_of(s) > line.size()) throw Unfit();
  Line y = sorted(line, s);
  y.resize(count_of(s));
  return y;
}
Line kth(const Line& line, const Statement& s) {
  Statement ascending = s;
  ascending.ints[2] = 0;
  if (count_of(s) == 0) throw Unfit();
  return {selected(line, ascending).back()};
}
// The elements before and after the rank of a partition have no order, so they are sorted for the comparison.
Line partitioned(const Line& line, const Statement& s) {
  Statement ascending = s;
  ascending.ints[2] = 0;
  if (count_of(s) >= line.size()) throw Unfit();
  const Line y = sorted(line, ascending);
  for (std::size_t i = 1; i < y.size(); ++i)
    if (same(y[i - 1].re, y[i].re)) throw Unfit();  // equal elements change places
  return y;
}
Line counted(const Line& line, const Statement& s) {
  if (count_of(s) >= line.size()) throw Unfit();
  Line y;
  for (std::size_t i = 0; i < line.size(); ++i) y.emplace_back(static_cast<Real>(i));
  return y;
}
Line middle(const Line& line, const Statement&) {
  if (line.empty()) throw Unfit();
  Line y = {between(line, 0.5 * static_cast<double>(line.size() - 1))};
  y[0].re = rounded(y[0].re, 2);
  return y;
}
Line fraction(const Line& line, const Statement& s) {
  if (line.empty()) throw Unfit();
  Line y = {between(line, s.reals[0] * static_cast<double>(line.size() - 1))};
  y[0].re = rounded(y[0].re, 8);
  return y;
}

const LineOp line_ops[] = {
    {"sort", false, false, false, sorted,
     [](const reel::Operand& x, const Statement& s) { return reel::sort(x, s.ints[0], s.ints[2] != 0); }},
    {"argsort", true, false, false, positions,
     [](const reel::Operand& x, const Statement& s) { return reel::argsort(x, s.ints[0], s.ints[2] != 0); }},
    {"top_k", false, false, false, selected,
     [](const reel::Operand& x, const Statement& s) {
       return reel::top_k(x, s.ints[1], s.ints[0], s.ints[2] != 0).values;
     }},
    {"kth_value", false, false, true, kth,
     [](const reel::Operand& x, const Statement& s) { return reel::kth_value(x, s.ints[1], s.ints[0]).values; }},
    {"partition", false, false, false, partitioned,
     [](const reel::Operand& x, const Statement& s) {
       return reel::sort(reel::partition(x, s.ints[1], s.ints[0]), s.ints[0]);
     }},
    {"argpartition", true, false, false, counted,
     [](const reel::Operand& x, const Statement& s) {
       return reel::sort(reel::argpartition(x, s.ints[1], s.ints[0]), s.ints[0]);
     }},
    {"median", false, true, true, middle,
     [](const reel::Operand& x, const Statement& s) { return reel::median(x, s.ints[0]); }},
    {"nanmedian", false, true, true, middle,
     [](const reel::Operand& x, const Statement& s) { return reel::nanmedian(x, s.ints[0]); }},
    {"quantile", false, true, true, fraction,
     [](const reel::Operand& x, const Statement& s) { return reel::quantile(x, s.reals[0], s.ints[0]); }},
    {"percentile", false, true, true, fraction,
     [](const reel::Operand& x, const Statement& s) { return reel::percentile(x, 100 * s.reals[0], s.ints[0]); }},
    {"nanquantile", false, true, true, fraction,
     [](const reel::Operand& x, const Statement& s) { return reel::nanquantile(x, s.reals[0], s.ints[0]); }},
    {"nanpercentile", false, true, true, fraction,
     [](const reel::Operand& x, const Statement& s) { return reel::nanpercentile(x, 100 * s.reals[0], s.ints[0]); }},
};

std::string line_text(const std::string& name, const Statement& s, const std::string& x) {
  const auto n = [&](std::size_t i) { return std::to_string(s.ints[i]); };
  const std::string flag = s.ints[2] ? "true" : "false";
  if (name == "top_k") return name + "(" + x + ", " + n(1) + ", " + n(0) + ", " + flag + ").values";
  if (name == "kth_value") return name + "(" + x + ", " + n(1) + ", " + n(0) + ").values";
  if (name == "partition" || name == "argpartition")
    return "sort(" + name + "(" + x + ", " + n(1) + ", " + n(0) + "), " + n(0) + ")";
  if (name.ends_with("quantile")) return name + "(" + x + ", " + std::to_string(s.reals[0]) + ", " + n(0) + ")";
  if (name.ends_with("percentile")) return name + "(" + x + ", " + std::to_string(100 * s.reals[0]) + ", " + n(0) + ")";
  return name + "(" + x + ", " + n(0) + (name[0] == 's' || name[0] == 'a' ? ", " + flag : "") + ")";
}

Array along(const Array& x, std::size_t axis, DType dtype, bool one, const std::function<Line(const Line&)>& f) {
  Extents outer = x.shape, shape = x.shape;
  outer[axis] = 1;
  const std::int64_t n = x.shape[axis];
  std::vector<Line> lines;
  for (std::int64_t i = 0; i < elements(outer); ++i) {
    Extents where = indices_of(outer, i);
    Line line;
    for (where[axis] = 0; where[axis] < n; ++where[axis]) line.push_back(x[position_of(x.shape, where)]);
    lines.push_back(f(line));
  }
  if (lines.empty()) throw Unfit();
  shape[axis] = static_cast<std::int64_t>(lines[0].size());
  Array y(dtype, shape);
  for (std::int64_t i = 0; i < elements(outer); ++i) {
    Extents where = indices_of(outer, i);
    for (where[axis] = 0; where[axis] < shape[axis]; ++where[axis])
      y[position_of(shape, where)] = lines[static_cast<std::size_t>(i)][static_cast<std::size_t>(where[axis])];
  }
  if (one) y.shape.erase(y.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  return y;
}

void add_line_op(std::vector<Op>& t, const LineOp& line_op) {
  Op o;
  o.name = line_op.name;
  o.body = true;
  o.make = [](Maker& m, Statement& s) {
    const int x = m.chance(0.15) ? m.number(1) : m.floating(1, 4);
    if (x < 0) return false;
    const int rank = m.at(x).rank();
    s.ints = {m.below(rank) - (m.chance(0.5) ? rank : 0), m.between(1, 3), m.chance(0.4)};
    static const std::vector<double> fractions = {0, 0.25, 0.5, 0.75, 1};
    s.reals = {m.choose(fractions)};
    s.args = {Maker::arg(x)};
    return true;
  };
  o.eval = [&line_op](const Statement& s, const Inputs& in, Arrays& out) {
    const Array& x = *in[0];
    if (reel::is_complex(x.dtype)) throw Unfit();
    const DType dtype = line_op.positions ? DType::int64 : line_op.floating ? floating_of(x.dtype) : x.dtype;
    round_like(dtype);
    const std::size_t axis = static_cast<std::size_t>(s.ints[0] < 0 ? s.ints[0] + x.rank() : s.ints[0]);
    out.push_back(along(x, axis, dtype, line_op.one, [&](const Line& line) { return line_op.eval(line, s); }));
  };
  o.call = [&line_op](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(line_op.call(a[0], s));
  };
  o.text = [&line_op](const Statement& s, const Strings& a) { return line_text(line_op.name, s, a[0]); };
  t.push_back(std::move(o));
}

void add_unique(std::vector<Op>& t) {
  Op o;
  o.name = "unique";
  o.weight = 0.6;
  o.make = [](Maker& m, Statement& s) {
    const int x = m.floating(0, 3);
    s.args = {Maker::arg(x)};
    return x >= 0;
  };
  o.eval = [](const Statement&, const Inputs& in, Arrays& out) {
    const Array& x = *in[0];
    Line distinct;
    for (const std::size_t i : order_of(x.data, false))
      if (distinct.empty() || !same(distinct.back().re, x.data[i].re)) distinct.push_back(x.data[i]);
    Array y(x.dtype, {static_cast<std::int64_t>(distinct.size())});
    y.data = distinct;
    out.push_back(std::move(y));
  };
  o.call = [](const Statement&, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(reel::unique(a[0]).values);
  };
  o.text = [](const Statement&, const Strings& a) { return "unique(" + a[0] + ").values"; };
  t.push_back(std::move(o));
}

// args: sorted, values; of digitize the other way round. ints: whether equal elements stand before.
void add_search(std::vector<Op>& t) {
  for (const bool bins : {false, true}) {
    Op o;
    o.name = bins ? "digitize" : "searchsorted";
    o.weight = 0.6;
    o.make = [bins](Maker& m, Statement& s) {
      const int v = m.floating(bins ? 0 : 1, 3);
      if (v < 0) return false;
      const int table =
          m.emit("sort", {Maker::arg(m.input_of(m.at(v).dtype, {4}, {m.uniform(-2, 2), 1, 0, 0}))}, {0, 1, 0}, {0});
      if (table < 0) return false;
      s.args = {Maker::arg(bins ? v : table), Maker::arg(bins ? table : v)};
      s.ints = {m.chance(0.5)};
      return true;
    };
    o.eval = [bins](const Statement& s, const Inputs& in, Arrays& out) {
      const Array &table = *in[bins ? 1 : 0], &values = *in[bins ? 0 : 1];
      const bool right = (s.ints[0] != 0) != bins;
      Array y(DType::int64, values.shape);
      for (std::int64_t i = 0; i < y.size(); ++i) {
        std::int64_t count = 0;
        for (std::int64_t k = 0; k < table.size(); ++k)
          count += right ? !less(values[i].re, table[k].re) : less(table[k].re, values[i].re);
        y[i] = Num(static_cast<Real>(count));
      }
      out.push_back(std::move(y));
    };
    o.call = [bins](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
      out.push_back((bins ? reel::digitize : reel::searchsorted)(a[0], a[1], s.ints[0] != 0));
    };
    o.text = [bins](const Statement& s, const Strings& a) {
      return std::string(bins ? "digitize(" : "searchsorted(") + a[0] + ", " + a[1] +
             (s.ints[0] ? ", true)" : ", false)");
    };
    t.push_back(std::move(o));
  }
}

}  // namespace

void add_sorting(std::vector<Op>& t) {
  for (const LineOp& line_op : line_ops) add_line_op(t, line_op);
  add_unique(t);
  add_search(t);
}

}  // namespace random_programs
