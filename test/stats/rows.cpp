// Rows of the distributions of <reel/stats.hpp>, at moderate arguments; test/stats/distributions.cpp goes to their
// tails.
#include "../op_cases/naive.hpp"
#include "references/divergence_pairs.hpp"

namespace cases {

namespace {

using namespace reel;
using X = Operands;
using A = Arrays;
using references::Support;

// f of the elements, which broadcast: of up to two axes, aligned at the last.
template <class F>
Array elements_of(A x, F f) {
  Shape shape;
  for (const Array& a : x)
    if (a.shape.rank() > shape.rank()) shape = a.shape;
  return build(shape, [&](const Index& i) {
    Real v[5] = {};
    for (std::size_t k = 0; k < x.size(); ++k) {
      const Index own(i.end() - x[k].shape.rank(), i.end());
      v[k] = cases::at(x[k], own);
    }
    return f(v);
  });
}

// Operands are drawn from [0.6, 1.4].
Tensor above_loc(const Tensor& drawn, std::size_t operand) { return operand == 0 ? drawn + 3 : drawn; }
template <std::size_t loc>
Tensor within_scale(const Tensor& drawn, std::size_t operand) {
  return operand == 0 ? drawn * 0.3 : operand == loc ? drawn * 0.1 : drawn;
}
Tensor probability(const Tensor& drawn, std::size_t operand) { return operand == 0 ? drawn * 0.5 : drawn; }

std::vector<Shaped> all_rows() {
  std::vector<Shaped> all;
  const auto add = [&]<class F, class Op>(const char* name, F, Support support, Op) {
    if (!selected(name)) return;
    constexpr decltype(Shaped::prepare) prepare[] = {nullptr, above_loc, within_scale<1>, probability,
                                                     nullptr, nullptr,   probability};
    constexpr const char* shapes[] = {"3;2x2;()", "2x3,3;(),2", "2x3,3,();(),2,2;0,0,0", "2x3,3,(),3;2,2,2,2",
                                      "2x3,3,(),3,3"};
    all.push_back({name,
                   shapes[F::operands - 1],
                   [](X x) -> Tensor { return Op{}(x); },
                   [](A x) { return elements_of(x, [](const Real* v) { return F{}(v); }); },
                   {0.6, 1.4},
                   F::operands == 5 ? within_scale<3> : prepare[support],
                   support == references::number ? constant : none,
                   16});
  };
  references::for_each_distribution_function(add);
  references::for_each_divergence_pair(add);
  return all;
}

}  // namespace

std::span<const Shaped> distributions() {
  static const std::vector<Shaped> kept = all_rows();
  return kept;
}

}  // namespace cases
