// Special functions of several arguments, by their power series; quantiles by Newton's steps on jets.
#include <algorithm>
#include <string_view>

#include "../../special/references/table.hpp"
#include "../ranged.hpp"

namespace random_programs {

namespace {

using reel::Tensor;
using Jets = const Jet*;

using Special = RangedFunction;

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
  const OperandRange shape{0.6, 5}, fraction{0.1, 0.6}, any{0.2, 8};
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
      {"betainccinv",
       {shape, shape, {0.4, 0.9}},
       [](Jets x) { return beta_quantile(x[0], x[1], 1 - x[2]); },
       [](const Operands& x) { return betainccinv(x[0], x[1], x[2]); }},
  };
}
const std::vector<Special>& functions() {
  static const std::vector<Special> all = [] {
    std::vector<Special> functions = by_series();
    references::for_each_function([&]<class F, class Call>(const char* name, int operands, double low, double high, F,
                                                           Call) {
      const auto same = [name](const Special& f) { return std::string_view(f.name) == name; };
      if (std::any_of(functions.begin(), functions.end(), same)) return;  // an op's other forms
      functions.push_back({name, std::vector<OperandRange>(static_cast<std::size_t>(operands), OperandRange{low, high}),
                           [](Jets x) -> Jet { return F{}(x); },
                           [](const Operands& x) -> Tensor { return Call{}(x); }});
    });
    return functions;
  }();
  return all;
}

}  // namespace

void add_special_functions(std::vector<Op>& t) {
  for (const Special& f : functions()) add_ranged(t, f);
}

}  // namespace random_programs
