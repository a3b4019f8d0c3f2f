// Derivatives where formulas would give NaN, 0 or no digits, though the right number is finite and representable: at
// infinities, at the largest and smallest numbers, in saturated tails, near zeros of a derivative, for huge parameters.
// Values by mpmath; each in every mode, and in the dtypes that hold the point.
#include <cmath>
#include <complex>
#include <limits>
#include <map>
#include <reel/compile.hpp>
#include <reel/forward.hpp>
#include <reel/reel.hpp>
#include <reel/special.hpp>
#include <reel/stats/densities.hpp>
#include <reel/stats/tails.hpp>
#include <string>

#include "catch.hpp"
#include "special/partial.hpp"

using namespace reel;
using support::Arguments, support::Function;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity(), least = 5e-324, largest = 1.7e308;

const std::map<std::string, Function>& functions() {
  // clang-format off
#define ONE(f) {#f, [](const Arguments& x) { return reel::f(x[0]); }}
#define TWO(f) {#f, [](const Arguments& x) { return reel::f(x[0], x[1]); }}
#define OF_DEGREE(f) {#f, [](const Arguments& x) { return reel::f(stop_gradient(x[0]), x[1]); }}
  static const std::map<std::string, Function> all = {
      ONE(silu), ONE(gelu), ONE(softplus), ONE(log_sigmoid), ONE(cbrt), ONE(arctan), ONE(arcsin),
      ONE(arccos), ONE(arcsinh), ONE(arccosh), ONE(arctanh), ONE(erf), ONE(erfc), ONE(ndtr), ONE(log_ndtr), ONE(tan),
      ONE(entr), ONE(erfinv), ONE(erfcinv), ONE(ndtri), ONE(sinc), TWO(rel_entr), TWO(kl_div), ONE(gamma), ONE(ellipk), ONE(ellipkm1), ONE(ellipe),
      TWO(hypot), TWO(arctan2), TWO(power), TWO(logaddexp), TWO(logaddexp2), TWO(zeta), TWO(beta), TWO(betaln),
      TWO(poch), TWO(comb), TWO(iv), TWO(jv), TWO(kv), TWO(elliprc), TWO(ellipkinc), TWO(ellipeinc), TWO(t_logpdf), TWO(t_cdf),
      OF_DEGREE(legendre), OF_DEGREE(chebyshev_t), OF_DEGREE(hermite), OF_DEGREE(laguerre),
      {"multigammaln", [](const Arguments& x) { return multigammaln(x[0], 3); }},
      {"elliprf", [](const Arguments& x) { return elliprf(x[0], x[1], x[2]); }},
      {"elliprd", [](const Arguments& x) { return elliprd(x[0], x[1], x[2]); }},
      {"elliprg", [](const Arguments& x) { return elliprg(x[0], x[1], x[2]); }},
      {"elliprj", [](const Arguments& x) { return elliprj(x[0], x[1], x[2], x[3]); }},
  };
#undef ONE
#undef TWO
#undef OF_DEGREE
  // clang-format on
  return all;
}

// The right values of the listed orders; dtypes by their bits: 16 for float16, 32, 64.
struct Row {
  const char* function;
  std::vector<double> at;
  struct Value {
    std::vector<int> orders;
    double value;
  };
  std::vector<Value> values;
  int least_bits = 32, most_bits = 64;
  double tolerance = 1e-13;  // relative, in float64
};

// clang-format off
const Row rows[] = {
    // Infinities.
    {"silu", {inf}, {{{1}, 1}, {{2}, 0}}, 16}, {"silu", {-inf}, {{{1}, 0}, {{2}, 0}}, 16},
    {"gelu", {inf}, {{{1}, 1}, {{2}, 0}}, 16}, {"gelu", {-inf}, {{{1}, 0}, {{2}, 0}}, 16},
    {"gelu", {largest}, {{{1}, 1}, {{2}, 0}}, 64}, 
    {"cbrt", {inf}, {{{1}, 0}, {{2}, 0}}, 16}, {"cbrt", {-inf}, {{{1}, 0}, {{2}, 0}}, 16},
    {"arctan", {inf}, {{{1}, 0}, {{2}, 0}}, 16}, {"arctan", {-inf}, {{{1}, 0}, {{2}, 0}}, 16},
    {"arcsinh", {inf}, {{{1}, 0}, {{2}, 0}}, 16}, {"arcsinh", {-inf}, {{{1}, 0}, {{2}, 0}}, 16},
    {"arccosh", {inf}, {{{1}, 0}, {{2}, 0}}, 16},
    {"erf", {inf}, {{{1}, 0}, {{2}, 0}}, 16}, {"erf", {-largest}, {{{1}, 0}, {{2}, 0}}, 64},
    {"erfc", {-inf}, {{{1}, 0}, {{2}, 0}}, 16}, {"ndtr", {inf}, {{{1}, 0}, {{2}, 0}}, 16},
    {"ndtr", {largest}, {{{1}, 0}, {{2}, 0}}, 64}, {"ndtr", {-inf}, {{{1}, 0}, {{2}, 0}}, 16},
    {"log_ndtr", {inf}, {{{1}, 0}, {{2}, 0}}, 16}, {"log_ndtr", {-inf}, {{{1}, inf}, {{2}, -1}}, 16},
    {"hypot", {inf, 3}, {{{1, 0}, 1}, {{0, 1}, 0}, {{2, 0}, 0}, {{1, 1}, 0}, {{0, 2}, 0}}, 16},
    {"hypot", {3, -inf}, {{{1, 0}, 0}, {{0, 1}, -1}, {{2, 0}, 0}, {{1, 1}, 0}, {{0, 2}, 0}}, 16},
    {"arctan2", {inf, 3}, {{{1, 0}, 0}, {{0, 1}, 0}, {{2, 0}, 0}, {{1, 1}, 0}, {{0, 2}, 0}}, 16},
    {"arctan2", {3, -inf}, {{{1, 0}, 0}, {{0, 1}, 0}, {{2, 0}, 0}, {{1, 1}, 0}, {{0, 2}, 0}}, 16},
    
    {"zeta", {3.5, inf}, {{{0, 0}, 0}, {{1, 0}, 0}, {{0, 1}, 0}, {{0, 2}, 0}}},
    {"zeta", {inf, 2.5}, {{{0, 0}, 0}, {{1, 0}, 0}, {{0, 1}, 0}}}, {"zeta", {inf, 1}, {{{0, 0}, 1}, {{1, 0}, 0}}},
    {"ellipk", {-inf}, {{{0}, 0}, {{1}, 0}, {{2}, 0}}}, {"ellipkm1", {inf}, {{{0}, 0}, {{1}, 0}, {{2}, 0}}},
    {"ellipe", {-inf}, {{{0}, inf}, {{1}, 0}, {{2}, 0}}},
    {"entr", {inf}, {{{0}, -inf}, {{1}, -inf}, {{2}, 0}}, 16}, {"entr", {0}, {{{1}, inf}, {{2}, -inf}}, 16},
    {"rel_entr", {inf, 2}, {{{0, 0}, inf}, {{1, 0}, inf}, {{0, 1}, -inf}, {{2, 0}, 0}, {{1, 1}, -0.5}, {{0, 2}, inf}}, 16},
    {"rel_entr", {2, inf}, {{{0, 0}, -inf}, {{1, 0}, -inf}, {{0, 1}, 0}, {{2, 0}, 0.5}, {{1, 1}, 0}, {{0, 2}, 0}}, 16},
    {"kl_div", {inf, 2}, {{{0, 0}, inf}, {{1, 0}, inf}, {{0, 1}, -inf}, {{2, 0}, 0}, {{1, 1}, -0.5}, {{0, 2}, inf}}, 16},
    {"kl_div", {2, inf}, {{{0, 0}, inf}, {{1, 0}, -inf}, {{0, 1}, 1}, {{2, 0}, 0.5}, {{1, 1}, 0}, {{0, 2}, 0}}, 16},
    {"kl_div", {0, inf}, {{{0, 0}, inf}, {{1, 0}, -inf}, {{0, 1}, 1}, {{0, 2}, 0}}, 16}, {"kl_div", {inf, 0}, {{{0, 0}, inf}}, 16},
    {"erfinv", {1}, {{{0}, inf}, {{1}, inf}, {{2}, inf}}, 16}, {"erfinv", {-1}, {{{0}, -inf}, {{1}, inf}, {{2}, -inf}}, 16},
    {"erfcinv", {0}, {{{0}, inf}, {{1}, -inf}, {{2}, inf}}, 16}, {"erfcinv", {2}, {{{0}, -inf}, {{1}, -inf}, {{2}, -inf}}, 16},
    {"ndtri", {0}, {{{0}, -inf}, {{1}, inf}, {{2}, -inf}}, 16}, {"ndtri", {1}, {{{0}, inf}, {{1}, inf}, {{2}, inf}}, 16},
    {"sinc", {inf}, {{{0}, 0}, {{1}, 0}, {{2}, 0}}, 16}, {"sinc", {-inf}, {{{0}, 0}, {{1}, 0}, {{2}, 0}}, 16},
    {"ellipkinc", {1, -inf}, {{{0, 0}, 0}, {{1, 0}, 0}, {{0, 1}, 0}}}, {"ellipeinc", {-1, -inf}, {{{0, 0}, -inf}, {{0, 1}, 0}}},
    {"multigammaln", {inf}, {{{1}, inf}, {{2}, 0}}},
    {"beta", {inf, 2}, {{{0, 0}, 0}, {{1, 0}, 0}, {{0, 1}, 0}}},
    {"betaln", {2, inf}, {{{0, 0}, -inf}, {{0, 1}, 0}, {{1, 1}, 0}, {{2, 0}, 0.64493406684822644}}},
    {"poch", {inf, -0.5}, {{{0, 0}, 0}, {{1, 0}, 0}, {{0, 1}, 0}}}, {"poch", {inf, 1}, {{{0, 0}, inf}, {{1, 0}, 1}, {{2, 0}, 0}}},
    {"comb", {inf, -0.5}, {{{0, 0}, 0}, {{1, 0}, 0}}}, {"comb", {inf, 2}, {{{0, 0}, inf}, {{1, 0}, inf}, {{2, 0}, 1}}},
    {"comb", {2.5, inf}, {{{0, 0}, 0}, {{0, 1}, 0}}},
    {"iv", {inf, 2}, {{{0, 0}, 0}, {{1, 0}, 0}, {{0, 1}, 0}}}, {"jv", {inf, 2}, {{{0, 0}, 0}, {{0, 1}, 0}}},
    {"kv", {-inf, 2}, {{{0, 0}, inf}}},
    {"elliprc", {inf, 2}, {{{0, 0}, 0}, {{1, 0}, 0}, {{0, 1}, 0}}}, {"elliprc", {2, inf}, {{{0, 0}, 0}, {{0, 1}, 0}}},
    {"elliprf", {2, inf, 3}, {{{0, 0, 0}, 0}, {{1, 0, 0}, 0}, {{0, 1, 0}, 0}}}, {"elliprd", {2, 3, inf}, {{{0, 0, 0}, 0}, {{0, 0, 1}, 0}}},
    {"elliprg", {inf, 2, 3}, {{{0, 0, 0}, inf}, {{1, 0, 0}, 0}, {{0, 1, 0}, 0}}},
    {"elliprj", {2, 3, 4, inf}, {{{0, 0, 0, 0}, 0}, {{0, 0, 0, 1}, 0}}},
    {"chebyshev_t", {1, inf}, {{{0, 0}, inf}, {{0, 1}, 1}, {{0, 2}, 0}}}, {"hermite", {2, -inf}, {{{0, 0}, inf}, {{0, 1}, -inf}, {{0, 2}, 8}}},
    {"legendre", {3, -inf}, {{{0, 0}, -inf}, {{0, 1}, inf}}}, {"laguerre", {3, inf}, {{{0, 0}, -inf}}},
    {"t_logpdf", {2, inf}, {{{0, 0}, -2.9189385332046727}, {{1, 0}, -2}, {{2, 0}, -1}, {{0, 1}, 0}}},
    // The largest and the smallest numbers.
    {"log_ndtr", {-largest}, {{{1}, largest}, {{2}, -1}}, 64}, {"log_ndtr", {-1e20}, {{{1}, 1e20}, {{2}, -1}}},
    {"log_ndtr", {-1e3}, {{{1}, 1000.000999998}, {{2}, -0.99999900000599995}}, 16}, {"log_ndtr", {-6e4}, {{{2}, -0.99999999972222222}}, 16},
    {"log_ndtr", {-49}, {{{1}, 49.020391198838456}, {{2}, -0.99958454407441695}}, 16},
    {"log_ndtr", {-51}, {{{1}, 51.01959279488113}, {{2}, -0.99961641654887025}}, 16},
    {"power", {least, 0}, {{{1, 0}, 0}, {{2, 0}, 0}}, 64}, {"power", {-1e-200, 0}, {{{1, 0}, 0}, {{2, 0}, 0}}, 64},
    {"power", {2.6, 0}, {{{1, 0}, 0}, {{0, 1}, 0.95551144502743636}, {{1, 1}, 0.38461538461538464}, {{2, 0}, 0}}},
    {"power", {0, 0}, {{{1, 0}, 0}, {{2, 0}, 0}}}, {"power", {inf, 0}, {{{1, 0}, 0}, {{2, 0}, 0}}},
    {"power", {1e-40, 1}, {{{1, 0}, 1}, {{2, 0}, 0}}}, {"power", {least, 1}, {{{1, 0}, 1}, {{2, 0}, 0}}, 64},
    {"elliprj", {2, 3, 4, 1e-20}, {{{0, 0, 0, 0}, 14.229391504661472}}}, {"elliprj", {2, 3, 4, 1e-150}, {{{0, 0, 0, 0}, 105.88196822124491}}, 64},
    {"elliprj", {2, 3, 4, 1e-100}, {{{0, 0, 0, 0}, 70.630977176405124}, {{0, 0, 0, 1}, -3.06186217848e99}}, 64, 64, 1e-11},
    {"gamma", {0}, {{{0}, inf}, {{1}, -inf}}},
    // Saturated tails.
    {"softplus", {20}, {{{2}, 2.0611536139418493e-9}}}, {"softplus", {40}, {{{2}, 4.248354255291589e-18}}},
    {"softplus", {100}, {{{2}, 3.720075976020836e-44}}, 64}, {"softplus", {700}, {{{2}, 9.8596765437597709e-305}}, 64},
    {"log_sigmoid", {-40}, {{{2}, -4.248354255291589e-18}}}, {"logaddexp", {40, 3}, {{{2, 0}, 8.5330476257440643e-17}, {{1, 1}, -8.5330476257440643e-17}}},
    {"silu", {6}, {{{2}, -0.0097928521895617311}}, 64, 64, 1e-12},
    // Zeros of a derivative.
    {"arcsin", {1e-20}, {{{2}, 1e-20}}}, {"arcsin", {1e-3}, {{{2}, 0.001000001500001875}}}, {"arcsin", {-0.3}, {{{2}, -0.3455884077105225}}},
    {"arccos", {1e-20}, {{{2}, -1e-20}}}, {"arccos", {1e-200}, {{{2}, -1e-200}}, 64},
    {"arctanh", {1e-20}, {{{2}, 2e-20}}}, {"arctanh", {0.3}, {{{2}, 0.72455017509962561}}},
    
    // Many degrees of freedom.
    {"t_logpdf", {2, 1e8}, {{{0, 0}, -2.9189385157046734}, {{0, 1}, -1.7499998666666731e-16}, {{0, 2}, 3.4999996000000256e-24}}},
    {"t_logpdf", {0.5, 1e6}, {{{0, 1}, 3.5937497395821468e-13}, {{0, 2}, -7.1874992187452539e-19}}},
    {"t_logpdf", {7, 1e12}, {{{0, 1}, -5.7549999996198417e-22}}}, {"t_logpdf", {3, 1e4}, {{{0, 1}, -1.5479770939680073e-7}, {{0, 2}, 3.0939333738419521e-11}}},
    {"t_logpdf", {2, 1e3}, {{{0, 1}, -1.73673051125613e-6}, {{0, 2}, 3.4602550991318471e-9}}},
    {"t_logpdf", {0, 1e8}, {{{0, 1}, 2.5e-17}}}, {"t_logpdf", {30, 1e5}, {{{0, 1}, -1.9964813362314958e-5}}},
    {"t_cdf", {0.5, 1e6}, {{{0, 1}, 5.5010190288118006e-14}}, 32, 64, 1e-9}, {"t_cdf", {1, 1e6}, {{{0, 1}, 1.2098530176687542e-13}}, 32, 64, 1e-9},
    {"t_cdf", {3, 1e4}, {{{0, 1}, 3.3282403426193826e-10}}, 32, 64, 1e-11},
};
// clang-format on

using Mode = Tensor (*)(const Function& f, const Arguments& x, std::vector<int> orders);

Tensor by_forward_mode(const Function& f, const Arguments& point, std::vector<int> orders) {
  Arguments x = point;
  for (std::size_t k = 0; k < x.size(); ++k) {
    if (orders[k] == 0) continue;
    --orders[k];
    x[k] = identity(x[k]);
    const ForwardAccumulator forward({x[k]}, {ones_like(x[k])});
    return *forward.jvp(support::partial(f, x, orders), UnconnectedGradients::zero);
  }
  return f(x);
}
Tensor by_compiled(const Function& f, const Arguments& x, std::vector<int> orders) {
  return compile([&](const Arguments& v) { return support::partial(f, v, orders); })(x);
}

void check(const Row& row, const Row::Value& wanted, DType dtype, double tolerance) {
  Arguments x;
  for (const double v : row.at) x.push_back(cast(scalar(v), dtype));
  const Function& f = functions().at(row.function);
  const double right = cast(cast(scalar(wanted.value), dtype), DType::float64).item();
  for (const Mode mode : {Mode(support::partial), Mode(by_forward_mode), Mode(by_compiled)}) {
    const double got = cast(mode(f, x, wanted.orders), DType::float64).item();
    INFO(row.function << " at " << row.at[0] << ", " << row.at.back() << ", orders " << wanted.orders.front() << " "
                      << wanted.orders.back() << ", " << name(dtype) << ": " << got << ", not " << right);
    if (std::isinf(right) || right == 0)
      CHECK(got == right);
    else
      CHECK(std::abs(got - right) <= tolerance * std::abs(right));
  }
}

}  // namespace

TEST_CASE("derivatives are right where their formulas have no value or no digits") {
  for (const Row& row : rows)
    for (const Row::Value& wanted : row.values) {
      if (row.most_bits >= 64) check(row, wanted, DType::float64, row.tolerance);
      if (row.least_bits <= 32) check(row, wanted, DType::float32, 2e-6);
      if (row.least_bits <= 16) check(row, wanted, DType::float16, 3e-3);
    }
}

TEST_CASE("entropies of numbers with an infinite reciprocal have derivatives of both orders in reverse mode") {
  const Function entropy = [](const Arguments& x) { return entr(x[0]); };
  const Function relative = [](const Arguments& x) { return rel_entr(x[0], x[1]); };
  const auto at = [](const Function& f, DType d, std::vector<double> point, const std::vector<int>& orders) {
    Arguments x;
    for (const double v : point) x.push_back(cast(scalar(v), d));
    return cast(support::partial(f, x, orders), DType::float64).item();
  };
  const double tiny = 0x1p-149, log_tiny = std::log(tiny), log_least = std::log(least);  // tiny: the least float
  CHECK(at(entropy, DType::float64, {least}, {0}) == 744 * least);
  CHECK(at(entropy, DType::float64, {least}, {1}) == Approx(-log_least - 1));
  CHECK(at(entropy, DType::float32, {tiny}, {1}) == Approx(-log_tiny - 1));
  CHECK(at(relative, DType::float64, {least, 2}, {1, 0}) == Approx(log_least + 1 - std::log(2)));
  CHECK(at(relative, DType::float64, {least, 1}, {0, 1}) == -least);
  CHECK(at(relative, DType::float64, {least, 1e10}, {1, 1}) == Approx(-1e-10));
  for (const DType d : {DType::float32, DType::float64}) {
    const double x = d == DType::float32 ? tiny : least;
    CHECK(at(entropy, d, {x}, {2}) == -inf);
    CHECK(at(relative, d, {x, 1}, {2, 0}) == inf);
  }
}

TEST_CASE("complex derivatives do not overflow on the way") {
  using C = std::complex<double>;
  const auto slope = [](Tensor (*f)(const Operand&), C z, DType dtype) {
    const Tensor x = cast(scalar(z), dtype);
    GradientTape tape;
    tape.watch(x);
    const Tensor y = f(x);
    return std::conj(cast(*tape.gradient(y, x, {.output_gradients = {ones_like(y)}}), DType::complex128).item<C>());
  };
  const C far = {-6.192391396544376e-44, 1.353062205036713e-43},
          near = {1.4025272286580928e-17, 9.5952050182646647e-18};
  CHECK(std::abs(slope(tan, {1, 50}, DType::complex64) - far) < 3e-45);  // subnormal
  CHECK(std::abs(slope(tan, {1, 50}, DType::complex128) - far) < 1e-13 * std::abs(far));
  CHECK(std::abs(slope(tan, {0.3, 20}, DType::complex128) - near) < 1e-13 * std::abs(near));
  for (const DType dtype : {DType::complex64, DType::complex128}) {
    const double big = dtype == DType::complex64 ? 1e30 : 1e300;
    CHECK(slope(tan, {1, 1e4}, dtype) == 0.);
    CHECK(slope(tan, {1, -1e4}, dtype) == 0.);
    for (const C z : {C(big, 1), C(1, big), C(-big, big)}) {
      CHECK(slope(arctan, z, dtype) == 0.);
      CHECK(slope(arctanh, z, dtype) == 0.);
    }
  }
}

TEST_CASE("abs and sign of infinite complex numbers: the limit, or half of a right angle, and derivatives of 0") {
  const double half = std::sqrt(0.5), nan = std::numeric_limits<double>::quiet_NaN();
  struct Far {
    double re, im, along_re, along_im;
  };
  for (const Far& z :
       {Far{inf, 2, 1, 0}, {-inf, 0, -1, 0}, {2, -inf, 0, -1}, {inf, inf, half, half}, {-inf, inf, -half, half}})
    for (const DType d : {DType::float32, DType::float64}) {
      INFO(z.re << ' ' << z.im << ' ' << d);
      const auto number = [&](const Arguments& x) { return make_complex(cast(x[0], d), cast(x[1], d)); };
      const Function size = [&](const Arguments&x) { return abs(number(x)); },
                     re = [&](const Arguments&x) { return real(sign(number(x))); },
                     im = [&](const Arguments&x) { return imag(sign(number(x))); };
      const auto at = [&](const Function& f, int m, int n) { return support::partial_at(f, {z.re, z.im}, {m, n}); };
      CHECK(at(size, 0, 0) == inf);
      CHECK(at(size, 1, 0) == Approx(z.along_re).margin(1e-30));
      CHECK(at(size, 0, 1) == Approx(z.along_im).margin(1e-30));
      CHECK(at(re, 0, 0) == Approx(z.along_re).margin(1e-30));
      CHECK(at(im, 0, 0) == Approx(z.along_im).margin(1e-30));
      for (const auto& [m, n] : {std::pair(2, 0), {1, 1}, {0, 2}}) CHECK(at(size, m, n) == 0);
      for (const Function& f : {re, im}) CHECK((at(f, 1, 0) == 0 && at(f, 0, 1) == 0));
    }
  CHECK(std::isnan(real(sign(make_complex(scalar(2.), scalar(nan)))).item()));
  CHECK(std::isnan(imag(sign(make_complex(scalar(inf), scalar(nan)))).item()));
}
