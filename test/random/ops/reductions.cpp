// Reductions and scans, by their definitions. ints: axes..., reals: what an op adds.
#include <algorithm>
#include <cmath>
#include <map>
#include <reel/ops/scans.hpp>
#include <reel/ops/statistics.hpp>

#include "../program.hpp"

namespace random_programs {

namespace {

using reel::Axes;
using reel::Tensor;

// The attributes of a reduction: ints[0] whether keepdims, ints[1] whether all axes, ints[2...] the axes.
bool keeps(const Statement& s) { return s.ints[0] != 0; }
Axes axes_of(const Statement& s) {
  if (s.ints[1]) return {};
  return Axes(Extents(s.ints.begin() + 2, s.ints.end()));
}
std::vector<bool> reduced_axes(const Statement& s, int rank) {
  std::vector<bool> r(static_cast<std::size_t>(rank), s.ints[1] != 0);
  for (std::size_t i = 2; i < s.ints.size(); ++i)
    r[static_cast<std::size_t>(s.ints[i] < 0 ? s.ints[i] + rank : s.ints[i])] = true;
  return r;
}
std::string reduction_text(const Statement& s, const std::string& name, const std::string& x,
                           const std::string& middle) {
  return name + "(" + x + middle + ", " +
         (s.ints[1] ? std::string("{}") : braces(Extents(s.ints.begin() + 2, s.ints.end()))) +
         (keeps(s) ? ", true)" : ", false)");
}
void choose_axes(Maker& m, const Array& x, Statement& s) {
  s.ints = {m.chance(0.3), x.rank() == 0 || m.chance(0.35)};
  if (s.ints[1]) return;
  for (int a = 0; a < x.rank(); ++a)
    if (m.chance(0.5)) s.ints.push_back(m.chance(0.3) ? a - x.rank() : a);
  if (s.ints.size() == 2 && m.chance(0.9)) s.ints.push_back(m.below(x.rank()));
  if (m.chance(0.2)) std::reverse(s.ints.begin() + 2, s.ints.end());
}

using Group = std::vector<Num>;
/// Calls f with the elements of each group that is reduced to one, in row-major order.
template <class F>
Array reduce(const Statement& s, const Array& x, DType dtype, const F& f) {
  const std::vector<bool> gone = reduced_axes(s, x.rank());
  Extents kept = x.shape, shape;
  for (std::size_t a = 0; a < gone.size(); ++a) {
    if (gone[a]) kept[a] = 1;
    if (!gone[a] || keeps(s)) shape.push_back(kept[a]);
  }
  std::vector<Group> groups(static_cast<std::size_t>(elements(kept)));
  for (std::int64_t i = 0; i < x.size(); ++i) {
    Extents at = indices_of(x.shape, i);
    for (std::size_t a = 0; a < gone.size(); ++a)
      if (gone[a]) at[a] = 0;
    groups[static_cast<std::size_t>(position_of(kept, at))].push_back(x[i]);
  }
  Array y(dtype, shape);
  for (std::int64_t i = 0; i < y.size(); ++i) y[i] = f(groups[static_cast<std::size_t>(i)]);
  return y;
}

enum class Takes { floating, numbers, complex };
template <class F>
void add_reduction(std::vector<Op>& t, const char* name, Tensor (*call)(const reel::Operand&, const Axes&, bool),
                   Takes takes, const F& f) {
  Op o;
  o.name = name;
  o.body = true;
  o.make = [takes](Maker& m, Statement& s) {
    const int x = takes != Takes::floating && m.chance(0.15) ? m.number() : m.floating(0, 4, takes == Takes::complex);
    if (x < 0) return false;
    choose_axes(m, m.at(x), s);
    s.args = {Maker::arg(x)};
    return true;
  };
  o.eval = [f, takes](const Statement& s, const Inputs& in, Arrays& out) {
    if (reel::is_complex(in[0]->dtype) && takes != Takes::complex) throw Unfit();
    out.push_back(f(s, *in[0]));
  };
  o.call = [call](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
    out.push_back(call(a[0], axes_of(s), keeps(s)));
  };
  o.text = [name](const Statement& s, const std::vector<std::string>& a) { return reduction_text(s, name, a[0], ""); };
  t.push_back(std::move(o));
}

DType sum_dtype(DType d) { return d < DType::int64 ? DType::int64 : d; }
Num sum_of(const Group& g) {
  Num sum;
  for (const Num& x : g) sum += x;
  return sum;
}
Num mean_of(const Group& g) {
  if (g.empty()) throw Unfit();
  const Num sum = sum_of(g);
  const Jet n(static_cast<Real>(g.size()));
  Num r = complex_numbers ? Num(sum.re / n, sum.im / n) : Num(sum.re / n);
  if (g.size() > 1) r.re = rounded(r.re, 2), r.im = rounded(r.im, 2);  // not exact: it may multiply by 1 / n
  return r;
}
// The largest (sign 1) or smallest element; ties share.
Jet extreme(const Group& g, int sign) {
  if (g.empty()) throw Unfit();
  Jet best = g[0].re;
  for (const Num& x : g)
    if (sign > 0 ? less(best, x.re) : less(x.re, best)) best = x.re;
  Jet sum;
  int ties = 0;
  for (const Num& x : g)
    if (same(x.re, best)) sum += x.re, ++ties;
  return ties == 1 ? best : sum * Jet(1.0L / static_cast<Real>(ties));
}
Jet variance(const Group& g, double ddof) {
  const Jet n(static_cast<Real>(g.size()));
  if (static_cast<double>(g.size()) <= ddof) throw Unfit();
  const Num mean = mean_of(g);
  Jet sum;
  for (const Num& x : g) {
    sum += (x.re - mean.re) * (x.re - mean.re);
    if (complex_numbers) sum += (x.im - mean.im) * (x.im - mean.im);
  }
  return rounded(sum / (n - Jet(ddof)), 4);
}
Jet log_sum_exp(const Group& g) {
  if (g.empty()) throw Unfit();
  Jet r, sum;
  for (const Num& x : g) sum += exp(x.re);
  r = log(sum);
  double scale = 1;  // the derivatives are shares of 1
  for (const Num& x : g) scale = std::max(scale, static_cast<double>(std::fabs(x.re.v[0])));
  r = rounded(r, 24);
  r.e[0] += 8 * Jet::unit * scale;
  return r;
}
bool all_constant(const Jet& x) {
  for (int k = 1; k < Jet::count; ++k)
    if (x.v[k] != 0) return false;
  return true;
}
// (sum |x|^p)^(1/p), and 0 with derivative 0 at 0.
Jet norm_of(const Group& g, double p) {
  std::vector<Jet> size;
  bool zero = true;
  for (const Num& x : g) {
    if (complex_numbers && !(x.im.exact() && x.im.v[0] == 0 && all_constant(x.im))) {
      size.push_back(sqrt(x.re * x.re + x.im * x.im));
    } else {
      size.push_back(absolute(x.re));
    }
    zero = zero && same(size.back(), 0);
  }
  if (zero) return 0;
  if (p == 0) {
    Real n = 0;
    for (const Jet& x : size) n += !same(x, 0);
    return n;
  }
  if (std::isinf(p)) {
    Group list;
    for (const Jet& x : size) list.push_back(x);
    return extreme(list, 1);
  }
  const auto power = [](const Jet& x, Real q) { return chain(x, pow(Series::variable(x.v[0]), q), 8); };
  Jet r;
  {
    Jet sum;
    for (const Jet& x : size) {
      if (!same(x, 0)) {
        sum += p == 1 ? x : p == 2 ? x * x : power(x, p);
      } else if (p < 2 && p != 1) {
        throw Unfit();  // a derivative of some order is infinite there
      } else if (p == 2) {
        sum += x * x;
      }
    }
    if (p == 2) {  // with the squares of what is 0
      sum = Jet();
      for (const Num& x : g) sum += x.re * x.re + (complex_numbers ? x.im * x.im : Jet());
    }
    r = p == 1 ? sum : power(sum, 1 / static_cast<Real>(p));
  }
  return rounded(r, 24);
}

// Along one axis: f maps the elements of a line to those of a line of the same length.
template <class F>
Array along(const Array& x, std::int64_t axis, DType dtype, const F& f) {
  if (axis < 0) axis += x.rank();
  Array y(dtype, x.shape);
  const std::int64_t n = x.shape[static_cast<std::size_t>(axis)];
  for (std::int64_t i = 0; i < x.size(); ++i) {
    Extents at = indices_of(x.shape, i);
    if (at[static_cast<std::size_t>(axis)] != 0) continue;
    Group line;
    std::vector<std::int64_t> places;
    for (std::int64_t k = 0; k < n; ++k) {
      at[static_cast<std::size_t>(axis)] = k;
      places.push_back(position_of(x.shape, at));
      line.push_back(x[places.back()]);
    }
    const Group r = f(line);
    for (std::size_t k = 0; k < places.size(); ++k) y[places[k]] = r[k];
  }
  return y;
}

void add_plain(std::vector<Op>& t) {
  const auto sums = [](const Statement& s, const Array& x) {
    round_like(sum_dtype(x.dtype));
    return reduce(s, x, sum_dtype(x.dtype), sum_of);
  };
  add_reduction(t, "sum", reel::sum, Takes::complex, sums);
  add_reduction(t, "nansum", reel::nansum, Takes::numbers, sums);
  const auto means = [](const Statement& s, const Array& x) {
    round_like(floating_of(x.dtype));
    return reduce(s, x, floating_of(x.dtype), mean_of);
  };
  add_reduction(t, "mean", reel::mean, Takes::complex, means);
  add_reduction(t, "nanmean", reel::nanmean, Takes::numbers, means);
  const auto products = [](const Statement& s, const Array& x) {
    round_like(sum_dtype(x.dtype));
    return reduce(s, x, sum_dtype(x.dtype), [](const Group& g) {
      Num r(1);
      for (const Num& e : g) r = r * e;
      return r;
    });
  };
  add_reduction(t, "prod", reel::prod, Takes::complex, products);
  add_reduction(t, "nanprod", reel::nanprod, Takes::numbers, products);
  const auto largest = [](const Statement& s, const Array& x) {
    return reduce(s, x, x.dtype, [](const Group& g) { return extreme(g, 1); });
  };
  add_reduction(t, "max", reel::max, Takes::numbers, largest);
  add_reduction(t, "nanmax", reel::nanmax, Takes::numbers, largest);
  const auto smallest = [](const Statement& s, const Array& x) {
    return reduce(s, x, x.dtype, [](const Group& g) { return extreme(g, -1); });
  };
  add_reduction(t, "min", reel::min, Takes::numbers, smallest);
  add_reduction(t, "nanmin", reel::nanmin, Takes::numbers, smallest);
  add_reduction(t, "ptp", reel::ptp, Takes::floating, [](const Statement& s, const Array& x) {
    round_like(x.dtype);
    return reduce(s, x, x.dtype, [](const Group& g) { return extreme(g, 1) - extreme(g, -1); });
  });
  add_reduction(t, "any", reel::any, Takes::numbers, [](const Statement& s, const Array& x) {
    return reduce(s, x, DType::boolean, [](const Group& g) {
      bool r = false;
      for (const Num& e : g) r = r || !same(e.re, 0);
      return Num(r ? 1 : 0);
    });
  });
  add_reduction(t, "all", reel::all, Takes::numbers, [](const Statement& s, const Array& x) {
    return reduce(s, x, DType::boolean, [](const Group& g) {
      bool r = true;
      for (const Num& e : g) r = r && !same(e.re, 0);
      return Num(r ? 1 : 0);
    });
  });
  add_reduction(t, "logsumexp", reel::logsumexp, Takes::numbers, [](const Statement& s, const Array& x) {
    round_like(floating_of(x.dtype));
    return reduce(s, x, floating_of(x.dtype), log_sum_exp);
  });
}

// With a number: var and std its ddof, norm its p.
void add_parametrised(std::vector<Op>& t) {
  for (const std::string name : {"var", "std", "norm", "nanvar", "nanstd"}) {
    const bool square = name == "var" || name == "nanvar";
    Op o;
    o.name = name;
    o.body = true;
    o.make = [name](Maker& m, Statement& s) {
      const int x = m.floating(0, 4, name.rfind("nan", 0) != 0);
      if (x < 0) return false;
      choose_axes(m, m.at(x), s);
      static const std::vector<double> powers = {2, 2, 2, 1, 3, 1.5, 4, 0.5, -1, 0, HUGE_VAL};
      s.reals = {name == "norm" ? m.choose(powers) : m.chance(0.7) ? 0.0 : 1.0};
      s.args = {Maker::arg(x)};
      return true;
    };
    o.eval = [name, square](const Statement& s, const Inputs& in, Arrays& out) {
      const Array& x = *in[0];
      DType d = floating_of(x.dtype);
      round_like(d);
      const double p = s.reals[0];
      if (reel::is_complex(d)) {
        if (name.rfind("nan", 0) == 0) throw Unfit();
        d = d == DType::complex64 ? DType::float32 : DType::float64;
      }
      out.push_back(reduce(s, x, d, [&](const Group& g) -> Num {
        if (name == "norm") {
          if (g.empty() && (p < 0 || std::isinf(p))) throw Unfit();
          return norm_of(g, p);
        }
        const Jet v = variance(g, p);
        if (square) return v;
        bool constant = true;
        for (const Num& e : g) constant = constant && same(e.re, g[0].re) && same(e.im, g[0].im);
        if (constant) return Jet(0);
        return sqrt(v);
      }));
      if (!square && name != "norm")
        for (Num& e : out.back().data) e.re = rounded(e.re, 8);
    };
    o.call = [name](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
      using Spread = Tensor (*)(const reel::Operand&, const reel::Axes&, double, bool);
      const std::map<std::string, Spread> functions = {
          {"var", reel::var}, {"std", reel::std}, {"nanvar", reel::nanvar}, {"nanstd", reel::nanstd}};
      out.push_back(name == "norm" ? reel::norm(a[0], s.reals[0], axes_of(s), keeps(s))
                                   : functions.at(name)(a[0], axes_of(s), s.reals[0], keeps(s)));
    };
    o.text = [name](const Statement& s, const std::vector<std::string>& a) {
      const std::string number = std::isinf(s.reals[0]) ? "INFINITY" : std::to_string(s.reals[0]);
      if (name == "norm") return reduction_text(s, "norm", a[0], ", " + number);
      std::string text = reduction_text(s, name == "std" ? "reel::std" : name, a[0], "");
      return text.insert(text.rfind(','), ", " + number);
    };
    t.push_back(std::move(o));
  }
}

// Along one axis. ints: axis, and of scans exclusive, reverse; of argmax keepdims.
void add_lines(std::vector<Op>& t) {
  for (const std::string name : {"softmax", "log_softmax", "cumsum", "cumprod"}) {
    Op o;
    o.name = name;
    o.body = true;
    const bool scan = name[0] == 'c';
    o.make = [name, scan](Maker& m, Statement& s) {
      const int x = scan && m.chance(0.1) ? m.number(1) : m.floating(1, 4, scan);
      if (x < 0) return false;
      const int rank = m.at(x).rank();
      s.ints = {m.chance(0.5) ? m.below(rank) : m.below(rank) - rank, m.chance(0.4), m.chance(0.4)};
      s.args = {Maker::arg(x)};
      return true;
    };
    o.eval = [name, scan](const Statement& s, const Inputs& in, Arrays& out) {
      const Array& x = *in[0];
      DType d = scan ? sum_dtype(x.dtype) : floating_of(x.dtype);
      if (reel::is_complex(d) && !scan) throw Unfit();
      if (scan && d != x.dtype) throw Unfit();  // the header names no dtype for booleans and small integers
      round_like(d);
      out.push_back(along(x, s.ints[0], d, [&](const Group& line) {
        Group r(line.size());
        if (!scan) {
          const Jet total = log_sum_exp(line);
          for (std::size_t k = 0; k < line.size(); ++k) {
            const Jet z = line[k].re - total;
            r[k] = name == "softmax" ? exp(z) : z;
          }
          for (Num& e : r) e.re = rounded(e.re, 8);
          return r;
        }
        const bool exclusive = s.ints[1] != 0, reverse = s.ints[2] != 0;
        Num running(name == "cumsum" ? 0 : 1);
        for (std::size_t i = 0; i < line.size(); ++i) {
          const std::size_t k = reverse ? line.size() - 1 - i : i;
          const Num next = name == "cumsum" ? running + line[k] : running * line[k];
          r[k] = exclusive ? running : next;
          running = next;
        }
        return r;
      }));
    };
    o.call = [name](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
      if (name[0] != 'c')
        out.push_back((name == "softmax" ? reel::softmax : reel::log_softmax)(a[0], s.ints[0]));
      else
        out.push_back(
            (name == "cumsum" ? reel::cumsum : reel::cumprod)(a[0], s.ints[0], s.ints[1] != 0, s.ints[2] != 0));
    };
    o.text = [name, scan](const Statement& s, const std::vector<std::string>& a) {
      std::string text = name + "(" + a[0] + ", " + std::to_string(s.ints[0]);
      if (scan) text += std::string(s.ints[1] ? ", true" : ", false") + (s.ints[2] ? ", true" : ", false");
      return text + ")";
    };
    t.push_back(std::move(o));
  }
  for (const std::string name : {"cummax", "cummin", "logcumsumexp"}) {
    Op o;
    o.name = name;
    o.body = true;
    const bool logs = name[0] == 'l';
    o.make = [logs](Maker& m, Statement& s) {
      const int x = !logs && m.chance(0.1) ? m.number(1) : m.floating(1, 4);
      if (x < 0) return false;
      const int rank = m.at(x).rank();
      s.ints = {m.chance(0.5) ? m.below(rank) : m.below(rank) - rank, m.chance(0.4)};
      s.args = {Maker::arg(x)};
      return true;
    };
    o.eval = [name, logs](const Statement& s, const Inputs& in, Arrays& out) {
      const Array& x = *in[0];
      if (reel::is_complex(x.dtype)) throw Unfit();
      round_like(x.dtype);
      out.push_back(along(x, s.ints[0], x.dtype, [&](const Group& line) {
        Group r(line.size()), so_far;
        for (std::size_t i = 0; i < line.size(); ++i) {
          const std::size_t k = s.ints[1] ? line.size() - 1 - i : i;
          if (logs) {
            so_far.push_back(line[k]);
            r[k] = log_sum_exp(so_far);
          } else if (so_far.empty() ||
                     !(name == "cummax" ? less(line[k].re, so_far[0].re) : less(so_far[0].re, line[k].re))) {
            so_far = {line[k]};
            r[k] = line[k];
          } else {
            r[k] = so_far[0];
          }
        }
        return r;
      }));
    };
    o.call = [name](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
      const bool reverse = s.ints[1] != 0;
      out.push_back(name == "cummax"   ? reel::cummax(a[0], s.ints[0], reverse).values
                    : name == "cummin" ? reel::cummin(a[0], s.ints[0], reverse).values
                                       : reel::logcumsumexp(a[0], s.ints[0], false, reverse));
    };
    o.text = [name, logs](const Statement& s, const std::vector<std::string>& a) {
      return name + "(" + a[0] + ", " + std::to_string(s.ints[0]) + (logs ? ", false" : "") +
             (s.ints[1] ? ", true)" : ", false)") + (logs ? "" : ".values");
    };
    t.push_back(std::move(o));
  }
  for (const std::string name : {"argmax", "argmin"}) {
    Op o;
    o.name = name;
    o.make = [](Maker& m, Statement& s) {
      const int x = m.chance(0.2) ? m.number(1) : m.floating(1);
      if (x < 0) return false;
      s.ints = {m.below(m.at(x).rank()), m.chance(0.4)};
      s.args = {Maker::arg(x)};
      return true;
    };
    o.eval = [name](const Statement& s, const Inputs& in, Arrays& out) {
      if (reel::is_complex(in[0]->dtype) || in[0]->shape[static_cast<std::size_t>(s.ints[0])] == 0) throw Unfit();
      Statement r = s;
      r.ints = {s.ints[1], 0, s.ints[0]};
      out.push_back(reduce(r, *in[0], DType::int64, [&](const Group& g) {
        if (g.empty()) throw Unfit();
        std::size_t best = 0;
        for (std::size_t k = 1; k < g.size(); ++k)
          if (name == "argmax" ? less(g[best].re, g[k].re) : less(g[k].re, g[best].re)) best = k;
        return Num(static_cast<Real>(best));
      }));
    };
    o.call = [name](const Statement& s, const Operands& a, std::vector<Tensor>& out) {
      out.push_back((name == "argmax" ? reel::argmax : reel::argmin)(a[0], s.ints[0], s.ints[1] != 0));
    };
    o.text = [name](const Statement& s, const std::vector<std::string>& a) {
      return name + "(" + a[0] + ", " + std::to_string(s.ints[0]) + (s.ints[1] ? ", true)" : ", false)");
    };
    t.push_back(std::move(o));
  }
}

}  // namespace

void add_reductions(std::vector<Op>& t) {
  add_plain(t);
  add_parametrised(t);
  add_lines(t);
}

}  // namespace random_programs
