// Special functions of several arguments, by their power series; quantiles by Newton's steps on jets.
#include <algorithm>
#include <string_view>

#include "../../op_cases/special/table.hpp"
#include "../program.hpp"

namespace random_programs {

namespace {

using reel::Tensor;
using Jets = const Jet*;

struct Range {
  double low, high;
};

// An op whose operands lie in their ranges.
struct Special {
  const char* name;
  std::vector<Range> ranges;
  Jet (*eval)(Jets x);
  Tensor (*call)(const Operands& x);
};

// From a root of the values alone, two steps give every derivative up to the third.
template <class F, class Slope>
Jet inverse(Real root, const Jet& p, const F& f, const Slope& slope) {
  Jet x = root;
  for (int i = 0; i < 2; ++i) x = x - (f(x) - p) / slope(x);
  return x;
}
Jet gamma_quantile(const Jet& a, const Jet& p) {
  return inverse(
      references::gammaincinv(a.v[0], p.v[0]), p, [&](const Jet& x) { return references::gammainc(a, x); },
      [&](const Jet& x) { return references::gamma_density(a, x); });
}
Jet beta_quantile(const Jet& a, const Jet& b, const Jet& p) {
  return inverse(
      references::betaincinv(a.v[0], b.v[0], p.v[0]), p, [&](const Jet& x) { return references::betainc(a, b, x); },
      [&](const Jet& x) { return references::beta_density(a, b, x); });
}

std::vector<Special> by_series() {
  const Range shape{0.6, 5}, fraction{0.1, 0.6}, any{0.2, 8};
  return {
      {"gamma", {{0.5, 5}}, [](Jets x) { return exp(lgamma(x[0])); }, [](const Operands& x) { return gamma(x[0]); }},
      {"rgamma", {{0.5, 5}}, [](Jets x) { return exp(-lgamma(x[0])); }, [](const Operands& x) { return rgamma(x[0]); }},
      {"beta",
       {shape, shape},
       [](Jets x) { return exp(references::log_beta(x[0], x[1])); },
       [](const Operands& x) { return beta(x[0], x[1]); }},
      {"betaln",
       {shape, shape},
       [](Jets x) { return references::log_beta(x[0], x[1]); },
       [](const Operands& x) { return betaln(x[0], x[1]); }},
      {"poch",
       {shape, shape},
       [](Jets x) { return exp(lgamma(x[0] + x[1]) - lgamma(x[0])); },
       [](const Operands& x) { return poch(x[0], x[1]); }},
      {"gammainc",
       {shape, any},
       [](Jets x) { return references::gammainc(x[0], x[1]); },
       [](const Operands& x) { return gammainc(x[0], x[1]); }},
      {"gammaincc",
       {shape, any},
       [](Jets x) { return 1 - references::gammainc(x[0], x[1]); },
       [](const Operands& x) { return gammaincc(x[0], x[1]); }},
      {"betainc",
       {shape, shape, fraction},
       [](Jets x) { return references::betainc(x[0], x[1], x[2]); },
       [](const Operands& x) { return betainc(x[0], x[1], x[2]); }},
      {"betaincc",
       {shape, shape, fraction},
       [](Jets x) { return 1 - references::betainc(x[0], x[1], x[2]); },
       [](const Operands& x) { return betaincc(x[0], x[1], x[2]); }},
      {"gammaincinv",
       {shape, fraction},
       [](Jets x) { return gamma_quantile(x[0], x[1]); },
       [](const Operands& x) { return gammaincinv(x[0], x[1]); }},
      {"gammainccinv",
       {shape, {0.4, 0.9}},
       [](Jets x) { return gamma_quantile(x[0], 1 - x[1]); },
       [](const Operands& x) { return gammainccinv(x[0], x[1]); }},
      {"betaincinv",
       {shape, shape, fraction},
       [](Jets x) { return beta_quantile(x[0], x[1], x[2]); },
       [](const Operands& x) { return betaincinv(x[0], x[1], x[2]); }},
  };
}
const std::vector<Special>& functions() {
  static const std::vector<Special> all = [] {
    std::vector<Special> functions = by_series();
    references::for_each_function(
        [&]<class F, class Call>(const char* name, int operands, double low, double high, F, Call) {
          const auto same = [name](const Special& f) { return std::string_view(f.name) == name; };
          if (std::any_of(functions.begin(), functions.end(), same)) return;  // an op's other forms
          functions.push_back({name, std::vector<Range>(static_cast<std::size_t>(operands), Range{low, high}),
                               [](Jets x) -> Jet { return F{}(x); },
                               [](const Operands& x) -> Tensor { return Call{}(x); }});
        });
    return functions;
  }();
  return all;
}

bool make(const Special& f, Maker& m, Statement& s) {
  const int x = m.floating();
  if (x < 0) return false;
  for (std::size_t k = 0; k < f.ranges.size(); ++k) {
    const auto [low, high] = f.ranges[k];
    Arg a = k == 0 ? Maker::arg(x) : m.beside(x);
    if (a.kind == Arg::value) {
      a.index = m.within(a.index, low, high);
      if (a.index < 0) return false;
    } else if (a.number < low || a.number > high) {
      a = Maker::weak((low + high) / 2);
    }
    s.args.push_back(a);
  }
  return true;
}

void eval(const Special& f, const Inputs& in, Arrays& out) {
  const DType d = promoted(in);
  if (reel::is_complex(d)) throw Unfit();
  Extents shape = in[0]->shape;
  for (const auto* x : in) shape = broadcast_shapes(shape, x->shape);
  round_like(floating_of(d));
  Array z(floating_of(d), shape);
  for (std::int64_t i = 0; i < z.size(); ++i) {
    Jet x[4];
    for (std::size_t k = 0; k < f.ranges.size(); ++k) {
      x[k] = (*in[k])[broadcast_index(in[k]->shape, shape, i)].re;
      if (static_cast<double>(x[k].v[0]) < f.ranges[k].low || static_cast<double>(x[k].v[0]) > f.ranges[k].high)
        throw Unfit();
    }
    z[i] = rounded(f.eval(x), 16);
  }
  out.push_back(std::move(z));
}

}  // namespace

void add_special_functions(std::vector<Op>& t) {
  for (const Special& f : functions()) {
    Op o;
    o.name = f.name;
    o.make = [&f](Maker& m, Statement& s) { return make(f, m, s); };
    o.eval = [&f](const Statement&, const Inputs& in, Arrays& out) { eval(f, in, out); };
    o.call = [&f](const Statement&, const Operands& a, std::vector<Tensor>& out) { out.push_back(f.call(a)); };
    t.push_back(std::move(o));
  }
}

}  // namespace random_programs
