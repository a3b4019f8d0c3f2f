// Rows of the ops of <reel/special.hpp>, at moderate arguments; test/special/special.cpp goes to their ends.
#include <reel/special.hpp>

#include "../op_cases/naive.hpp"
#include "references/table.hpp"

namespace cases {

namespace {

using namespace reel;
using X = Operands;
using A = Arrays;

// f of the elements, which broadcast: of up to two axes, aligned at the last.
template <class F>
Array pointwise_of(A x, F f) {
  Shape shape;
  for (const Array& a : x)
    if (a.shape.rank() > shape.rank()) shape = a.shape;
  return build(shape, [&](const Index& i) {
    Real at_index[4] = {};
    for (std::size_t k = 0; k < x.size(); ++k) {
      Index own(i.end() - x[k].shape.rank(), i.end());
      for (std::size_t d = 0; d < own.size(); ++d)
        if (x[k].shape[static_cast<std::int64_t>(d)] == 1) own[d] = 0;
      at_index[k] = cases::at(x[k], own);
    }
    return f(at_index);
  });
}
template <auto f>
Array one(A x) {
  return pointwise_of(x, [](const Real* v) { return f(v[0]); });
}
template <auto f>
Array two(A x) {
  return pointwise_of(x, [](const Real* v) { return f(v[0], v[1]); });
}
template <auto f>
Array three(A x) {
  return pointwise_of(x, [](const Real* v) { return f(v[0], v[1], v[2]); });
}

// The last operand in (0, 1): from the domain [0.6, 4].
Tensor second_fraction(const Tensor& drawn, std::size_t operand) { return operand == 1 ? drawn * 0.2 : drawn; }
Tensor third_fraction(const Tensor& drawn, std::size_t operand) { return operand == 2 ? drawn * 0.15 : drawn; }

constexpr auto gamma_of = [](Real x) { return std::tgamma(x); };
constexpr auto gammasgn_of = [](Real x) { return std::tgamma(x) < 0 ? Real{-1} : Real{1}; };
constexpr auto rgamma_of = [](Real x) { return 1 / std::tgamma(x); };
constexpr auto betaln_of = [](Real a, Real b) { return references::log_beta(a, b); };
constexpr auto beta_of = [](Real a, Real b) { return std::exp(references::log_beta(a, b)); };
constexpr auto poch_of = [](Real a, Real m) { return std::exp(std::lgamma(a + m) - std::lgamma(a)); };
constexpr auto gammainc_of = [](Real a, Real x) { return references::gammainc(a, x); };
constexpr auto gammaincc_of = [](Real a, Real x) { return 1 - references::gammainc(a, x); };
constexpr auto betainc_of = [](Real a, Real b, Real x) { return references::betainc(a, b, x); };
constexpr auto betaincc_of = [](Real a, Real b, Real x) { return 1 - references::betainc(a, b, x); };
constexpr auto gammaincinv_of = [](Real a, Real p) { return references::gammaincinv(a, p); };
constexpr auto gammainccinv_of = [](Real a, Real q) { return references::gammaincinv(a, 1 - q); };
constexpr auto betaincinv_of = [](Real a, Real b, Real p) { return references::betaincinv(a, b, p); };

constexpr auto betainccinv_of = [](Real a, Real b, Real q) { return references::betaincinv(a, b, 1 - q); };

constexpr Domain positive = {0.6, 4};

// clang-format off
constexpr Shaped rows[] = {
    {"gamma", "3;2x2;()", [](X x) { return gamma(x[0]); }, one<gamma_of>, positive},
    {"gamma", "3", [](X x) { return gamma(x[0]); }, one<gamma_of>, {-1.8, -1.2}, nullptr, none, 4},
    {"rgamma", "3;2x2;()", [](X x) { return rgamma(x[0]); }, one<rgamma_of>, positive},
    {"rgamma", "3", [](X x) { return rgamma(x[0]); }, one<rgamma_of>, {-1.8, 0.4}, nullptr, none, 4},
    {"gammasgn", "2x3;()", [](X x) { return gammasgn(x[0]); }, one<gammasgn_of>, {-3.9, 2}},
    {"beta", "2x3,3;(),2;2,2", [](X x) { return beta(x[0], x[1]); }, two<beta_of>, positive},
    {"betaln", "2x3,3;(),2;2,2", [](X x) { return betaln(x[0], x[1]); }, two<betaln_of>, positive, nullptr, none, 4},
    {"poch", "2x3,3;(),2;2,2", [](X x) { return poch(x[0], x[1]); }, two<poch_of>, positive, nullptr, none, 4},
    {"gammainc", "2x3,3;(),2;2x2,2x1;0,0", [](X x) { return gammainc(x[0], x[1]); }, two<gammainc_of>, positive},
    {"gammaincc", "2x3,3;(),2", [](X x) { return gammaincc(x[0], x[1]); }, two<gammaincc_of>, positive},
    {"betainc", "2x3,3,();2,2,2", [](X x) { return betainc(x[0], x[1], x[2]); }, three<betainc_of>, positive, third_fraction, none, 4},
    {"betaincc", "2x3,3,();2,2,2", [](X x) { return betaincc(x[0], x[1], x[2]); }, three<betaincc_of>, positive, third_fraction, none, 4},
    {"gammaincinv", "2x3,3;(),2", [](X x) { return gammaincinv(x[0], x[1]); }, two<gammaincinv_of>, positive, second_fraction, none, 16},
    {"gammainccinv", "2x3,3;(),2", [](X x) { return gammainccinv(x[0], x[1]); }, two<gammainccinv_of>, positive, second_fraction, none, 16},
    {"betaincinv", "3,3,();2,2,2", [](X x) { return betaincinv(x[0], x[1], x[2]); }, three<betaincinv_of>, positive, third_fraction, none, 16},
    {"betainccinv", "3,3,();2,2,2", [](X x) { return betainccinv(x[0], x[1], x[2]); }, three<betainccinv_of>, positive, third_fraction, none, 16},
};
// clang-format on

std::vector<Shaped> all_rows() {
  auto all = selected_rows(rows);
  references::for_each_function([&]<class F, class Op>(const char* name, int operands, double low, double high, F, Op) {
    if (!selected(name)) return;
    constexpr const char* shapes[] = {"3;2x2;()", "2x3,3;(),2;2,2", "2x3,3,();2,2,2", "2x3,3,(),3;2,2,2,2"};
    all.push_back({name,
                   shapes[operands - 1],
                   [](X x) -> Tensor { return Op{}(x); },
                   [](A x) { return pointwise_of(x, [](const Real* v) { return F{}(v); }); },
                   {low, high},
                   nullptr,
                   none,
                   8});
  });
  return all;
}

}  // namespace

std::span<const Shaped> special() {
  static const std::vector<Shaped> kept = all_rows();
  return kept;
}

}  // namespace cases
