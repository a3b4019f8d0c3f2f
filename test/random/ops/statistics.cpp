// Differences, scans by a function, averages, covariances, distances and normalisations, by their definitions.
#include <algorithm>
#include <cmath>
#include <reel/ops/scans.hpp>
#include <reel/ops/statistics.hpp>

#include "../program.hpp"

namespace random_programs {

namespace {

using reel::Tensor;
using Strings = std::vector<std::string>;
using Line = std::vector<Jet>;

// The lines of x along its last axis, and an array of lines in their places.
std::vector<Line> lines_of(const Array& x) {
  const std::int64_t n = x.shape.back();
  std::vector<Line> lines(static_cast<std::size_t>(n == 0 ? 0 : x.size() / n));
  for (std::int64_t i = 0; i < x.size(); ++i) lines[static_cast<std::size_t>(i / n)].push_back(x[i].re);
  return lines;
}
Array array_of_lines(const std::vector<Line>& lines, DType dtype, Extents shape) {
  Array y(dtype, std::move(shape));
  std::int64_t i = 0;
  for (const Line& line : lines)
    for (const Jet& v : line) y[i++] = Num(v);
  return y;
}

Jet sum_of(const Line& line) {
  Jet sum;
  for (const Jet& v : line) sum += v;
  return sum;
}
Line centred(const Line& line) {
  const Jet mean = rounded(sum_of(line) / Jet(static_cast<Real>(line.size())), 2);
  Line y;
  for (const Jet& v : line) y.push_back(v - mean);
  return y;
}
Jet product_of(const Line& a, const Line& b) {
  Jet sum;
  for (std::size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  return sum;
}

Jet distance(const Line& a, const Line& b) {
  Line v;
  for (std::size_t k = 0; k < a.size(); ++k) v.push_back(a[k] - b[k]);
  bool zero = true;
  for (const Jet& e : v) zero = zero && same(e, 0);
  return zero ? Jet(0) : rounded(sqrt(product_of(v, v)), 16);
}

// ---- along the last axis. ints: a number, a flag.

struct LastOp {
  const char* name;
  Line (*eval)(const Line& x, const Statement& s);
  Tensor (*call)(const reel::Operand& x, const Statement& s);
};

Line differences(const Line& x, const Statement& s) {
  Line y = x;
  for (std::int64_t n = s.ints[0]; n > 0 && !y.empty(); --n) {
    for (std::size_t k = 0; k + 1 < y.size(); ++k) y[k] = y[k + 1] - y[k];
    y.pop_back();
  }
  return y;
}
Line slopes(const Line& x, const Statement& s) {
  const std::size_t n = x.size();
  if (n < 2) throw Unfit();
  const Jet h(s.reals[0]);
  Line y;
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t low = k == 0 ? 0 : k - 1, high = std::min(k + 1, n - 1);
    y.push_back((x[high] - x[low]) / (h * Jet(static_cast<Real>(high - low))));
  }
  for (Jet& v : y) v = rounded(v, 4);
  return y;
}
Line products(const Line& x, const Statement& s) {
  Line y = x;
  const bool reverse = s.ints[1] != 0;
  if (reverse) std::reverse(y.begin(), y.end());
  for (std::size_t k = 1; k < y.size(); ++k) y[k] = rounded(y[k - 1] * y[k], 4);
  if (reverse) std::reverse(y.begin(), y.end());
  return y;
}
// Blocks are pooled from the left until none is above its right neighbour.
Line isotonic(const Line& x, const Statement& s) {
  struct Pool {
    Jet sum;
    std::size_t count;
    Jet mean() const { return count == 1 ? sum : rounded(sum / Jet(static_cast<Real>(count)), 2); }
  };
  std::vector<Pool> pools;
  for (const Jet& v : x) {
    pools.push_back({v, 1});
    while (pools.size() > 1) {
      const Pool last = pools.back(), before = pools[pools.size() - 2];
      if (!(s.ints[1] ? less(last.mean(), before.mean()) : less(before.mean(), last.mean()))) break;
      pools.pop_back();
      pools.back() = {before.sum + last.sum, before.count + last.count};
    }
  }
  Line y;
  for (const Pool& p : pools) y.insert(y.end(), p.count, p.mean());
  return y;
}

Line neighbours(const Line& x, const Statement&) {
  Line y;
  for (std::size_t k = 1; k < x.size(); ++k) y.push_back(x[k] - x[k - 1]);
  return y;
}
// ediff1d of each row, as the rows of a result.
Tensor differences_of_rows(const reel::Operand& operand, const Statement&) {
  const Tensor x = operand.tensor();
  std::vector<Tensor> rows;
  for (const Tensor& row : reel::unstack(reel::reshape(x, {-1, x.shape()[-1]}), 0)) rows.push_back(reel::ediff1d(row));
  reel::Shape shape = x.shape();
  shape[-1] -= 1;
  return reel::reshape(reel::stack(rows, 0), shape);
}

const LastOp last_ops[] = {
    {"ediff1d", neighbours, differences_of_rows},
    {"diff", differences, [](const reel::Operand& x, const Statement& s) { return reel::diff(x, s.ints[0]); }},
    {"gradient_along", slopes,
     [](const reel::Operand& x, const Statement& s) { return reel::gradient_along(x, -1, s.reals[0]); }},
    {"associative_scan", products,
     [](const reel::Operand& x, const Statement& s) {
       const auto times = [](const Tensor& a, const Tensor& b) { return a * b; };
       return reel::associative_scan(times, x, -1, s.ints[1] != 0);
     }},
    {"isotonic_regression", isotonic,
     [](const reel::Operand& x, const Statement& s) { return reel::isotonic_regression(x, s.ints[1] != 0); }},
};

void add_last(std::vector<Op>& t, const LastOp& last_op) {
  Op o;
  o.name = last_op.name;
  o.body = true;
  o.make = [](Maker& m, Statement& s) {
    const int x = m.floating(1, 3);
    if (x < 0 || m.at(x).size() == 0) return false;
    s.ints = {m.between(0, 2), m.chance(0.5)};
    s.reals = {m.chance(0.5) ? 1.0 : 0.5};
    s.args = {Maker::arg(x)};
    return true;
  };
  o.eval = [&last_op](const Statement& s, const Inputs& in, Arrays& out) {
    round_like(in[0]->dtype);
    std::vector<Line> lines = lines_of(*in[0]);
    for (Line& line : lines) line = last_op.eval(line, s);
    Extents shape = in[0]->shape;
    shape.back() = static_cast<std::int64_t>(lines[0].size());
    out.push_back(array_of_lines(lines, in[0]->dtype, shape));
  };
  o.call = [&last_op](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(last_op.call(a[0], s));
  };
  o.text = [&last_op](const Statement& s, const Strings& a) {
    return std::string(last_op.name) + "(" + a[0] + "), " + std::to_string(s.ints[0]) + ", " +
           std::to_string(s.ints[1]) + ", " + std::to_string(s.reals[0]);
  };
  t.push_back(std::move(o));
}

// ---- of rows of matrices

struct RowsOp {
  const char* name;
  Array (*eval)(const std::vector<Line>& rows, DType d);
  Tensor (*call)(const reel::Operand& x);
};

Array covariances(const std::vector<Line>& rows, DType d, bool units) {
  const auto v = static_cast<std::int64_t>(rows.size());
  if (rows[0].size() < 2) throw Unfit();
  std::vector<Line> c;
  for (const Line& row : rows) c.push_back(centred(row));
  Array y(d, {v, v});
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t j = 0; j < rows.size(); ++j) {
      Jet z = product_of(c[i], c[j]);
      if (!units) {
        z = z / Jet(static_cast<Real>(rows[0].size() - 1));
      } else {
        const Jet squares = product_of(c[i], c[i]) * product_of(c[j], c[j]);
        if (!less(1e-3L, squares)) throw Unfit();
        z = z / sqrt(squares);
      }
      y[static_cast<std::int64_t>(i) * v + static_cast<std::int64_t>(j)] = Num(rounded(z, 32));
    }
  return y;
}

const RowsOp rows_ops[] = {
    {"cov", [](const std::vector<Line>& rows, DType d) { return covariances(rows, d, false); },
     [](const reel::Operand& x) { return reel::cov(x); }},
    {"corrcoef", [](const std::vector<Line>& rows, DType d) { return covariances(rows, d, true); },
     [](const reel::Operand& x) { return reel::corrcoef(x); }},
    {"pdist",
     [](const std::vector<Line>& rows, DType d) {
       Line all;
       for (std::size_t i = 0; i < rows.size(); ++i)
         for (std::size_t j = i + 1; j < rows.size(); ++j) all.push_back(distance(rows[i], rows[j]));
       const auto count = static_cast<std::int64_t>(all.size());
       return array_of_lines({all}, d, {count});
     },
     [](const reel::Operand& x) { return reel::pdist(x); }},
    {"cdist",
     [](const std::vector<Line>& rows, DType d) {
       std::vector<Line> all;
       for (const Line& a : rows) {
         all.emplace_back();
         for (const Line& b : rows) {
           Line twice;
           for (const Jet& v : b) twice.push_back(v * Jet(2));
           all.back().push_back(distance(a, twice));
         }
       }
       const auto n = static_cast<std::int64_t>(rows.size());
       return array_of_lines(all, d, {n, n});
     },
     [](const reel::Operand& x) { return reel::cdist(x, reel::identity(x) * 2); }},
};

void add_rows(std::vector<Op>& t, const RowsOp& rows_op) {
  Op o;
  o.name = rows_op.name;
  o.body = true;
  o.make = [](Maker& m, Statement& s) {
    const int x = m.floating(2, 2);
    if (x < 0 || m.at(x).size() == 0) return false;
    s.args = {Maker::arg(x)};
    return true;
  };
  o.eval = [&rows_op](const Statement&, const Inputs& in, Arrays& out) {
    round_like(in[0]->dtype);
    out.push_back(rows_op.eval(lines_of(*in[0]), in[0]->dtype));
  };
  o.call = [&rows_op](const Statement&, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(rows_op.call(a[0]));
  };
  t.push_back(std::move(o));
}

// ---- of x and another array of its shape, along the last axis: weights, or a mask where it is above 0. One of a
// limit.

struct PairOp {
  const char* name;
  bool one;  // the axis goes
  Line (*eval)(const Line& x, const Line& w);
  Tensor (*call)(const Tensor& x, const Tensor& w);
};

Line average(const Line& x, const Line& w) {
  const Jet all = sum_of(w);
  if (less(all, 0.1L) && less(-0.1L, all)) throw Unfit();
  return {rounded(product_of(x, w) / all, 8)};
}
Line masked(const Line& x, const Line& w) {
  Jet sum;
  std::vector<bool> here;
  for (std::size_t k = 0; k < x.size(); ++k) {
    here.push_back(less(0, w[k]));
    if (here[k]) sum += exp(x[k]);
  }
  Line y;
  for (std::size_t k = 0; k < x.size(); ++k) y.push_back(here[k] ? rounded(exp(x[k]) / sum, 16) : Jet(0));
  return y;
}
Line log_of_sum(const Line& x, const Line& w) {
  Jet sum;
  double scale = 1;
  for (std::size_t k = 0; k < x.size(); ++k) {
    sum += rounded(exp(x[k]), 4) * w[k];
    scale = std::max(scale, static_cast<double>(std::fabs(x[k].v[0])));
  }
  if (less(sum, 0.1L)) throw Unfit();
  Jet y = rounded(log(sum), 48);
  y.e[0] += 16 * Jet::unit * scale;
  return {y};
}
Line limited(const Line& x, const Line&) {
  const Jet squares = product_of(x, x);
  if (same(squares, 1)) throw Unfit();  // a kink
  if (less(squares, 1)) return x;
  const Jet factor = rounded(Jet(1) / sqrt(squares), 16);
  Line y;
  for (const Jet& v : x) y.push_back(v * factor);
  return y;
}

const PairOp pair_ops[] = {
    {"average", true, average, [](const Tensor& x, const Tensor& w) { return reel::average(x, w, -1); }},
    {"masked_softmax", false, masked,
     [](const Tensor& x, const Tensor& w) { return reel::masked_softmax(x, reel::greater(w, 0)); }},
    {"weighted_logsumexp", true, log_of_sum,
     [](const Tensor& x, const Tensor& w) { return reel::weighted_logsumexp(x, w, -1).log; }},
    {"clip_by_norm", false, limited, [](const Tensor& x, const Tensor&) { return reel::clip_by_norm(x, 1.0, -1); }},
};

void add_pair(std::vector<Op>& t, const PairOp& pair_op) {
  Op o;
  o.name = pair_op.name;
  o.body = true;
  o.make = [](Maker& m, Statement& s) {
    const int x = m.floating(1, 3);
    if (x < 0 || m.at(x).size() == 0) return false;
    int w = m.pick([&](const Array& a) { return a.dtype == m.at(x).dtype && a.shape == m.at(x).shape; });
    if (w < 0) w = m.input(Role::constant, m.at(x).dtype, m.at(x).shape);
    if (w < 0) return false;
    s.args = {Maker::arg(x), Maker::arg(w)};
    return true;
  };
  o.eval = [&pair_op](const Statement&, const Inputs& in, Arrays& out) {
    if (reel::is_complex(in[0]->dtype)) throw Unfit();
    round_like(in[0]->dtype);
    std::vector<Line> lines = lines_of(*in[0]);
    const std::vector<Line> others = lines_of(*in[1]);
    for (std::size_t k = 0; k < lines.size(); ++k) lines[k] = pair_op.eval(lines[k], others[k]);
    Extents shape = in[0]->shape;
    if (pair_op.one) shape.pop_back();
    out.push_back(array_of_lines(lines, in[0]->dtype, shape));
  };
  o.call = [&pair_op](const Statement&, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(pair_op.call(a.tensor(0), a.tensor(1)));
  };
  t.push_back(std::move(o));
}

}  // namespace

void add_statistics(std::vector<Op>& t) {
  for (const LastOp& op : last_ops) add_last(t, op);
  for (const RowsOp& op : rows_ops) add_rows(t, op);
  for (const PairOp& op : pair_ops) add_pair(t, op);
}

}  // namespace random_programs
