// Values, first and second derivatives of pointwise ops at tiny, huge and saturating operands, against mpmath. The
// table names the orders that lose digits there: the derivatives of a result that is rounded to its limit, such as
// tanh's, and second derivatives that are differences of such terms. Those are held to an absolute error.
#include <algorithm>
#include <cmath>
#include <map>
#include <reel/reel.hpp>
#include <reel/special.hpp>
#include <string_view>

#include "catch.hpp"
#include "extreme_values.hpp"
#include "special/partial.hpp"

using namespace reel;
using support::Arguments, support::Function;

namespace {

const std::map<std::string_view, Function>& functions() {
  // clang-format off
#define ONE(f) {#f, [](const Arguments& x) { return reel::f(x[0]); }}
#define TWO(f) {#f, [](const Arguments& x) { return reel::f(x[0], x[1]); }}
  static const std::map<std::string_view, Function> all = {
      ONE(softplus), ONE(log_sigmoid), ONE(sigmoid), ONE(silu), ONE(mish), ONE(gelu), ONE(gelu_tanh), ONE(softsign),
      ONE(tanh), ONE(sinh), ONE(cosh), ONE(exp), ONE(expm1), ONE(exp2), ONE(exp10), ONE(log), ONE(log2), ONE(log10),
      ONE(log1p), ONE(sqrt), ONE(rsqrt), ONE(cbrt), ONE(reciprocal), ONE(square), ONE(arctan), ONE(arcsinh),
      ONE(arccosh), ONE(arctanh), ONE(arcsin), ONE(arccos), ONE(erf), ONE(erfc), ONE(ndtr), ONE(log_ndtr), ONE(erfcx),
      ONE(log1mexp), ONE(logit), ONE(entr), ONE(sinc),
      TWO(logaddexp), TWO(logaddexp2), TWO(hypot), TWO(arctan2), TWO(divide), TWO(xlogy), TWO(xlog1py), TWO(power),
  };
#undef ONE
#undef TWO
  // clang-format on
  return all;
}

double at(const char* op, std::vector<double> point, const std::vector<int>& orders) {
  return support::partial_at(functions().at(op), point, orders);
}

}  // namespace

TEST_CASE("pointwise ops and their derivatives to order 2 at extreme operands") {
  const std::vector<std::vector<int>> of_one = {{0}, {1}, {2}},
                                      of_two = {{0, 0}, {1, 0}, {0, 1}, {2, 0}, {1, 1}, {0, 2}};
  constexpr double tolerances[] = {1e-14, 1e-13, 1e-11};
  for (const ExtremeValue& v : extreme_values) {
    const auto& all_orders = v.count == 1 ? of_one : of_two;
    for (std::size_t i = 0; i < all_orders.size(); ++i) {
      const double wanted = v.values[i];
      int order = 0;
      for (const int n : all_orders[i]) order += n;
      const double got = at(v.op, {v.operands, v.operands + v.count}, all_orders[i]);
      const bool left = std::string_view(v.left).find(static_cast<char>('0' + order)) != std::string_view::npos;
      // Products of tiny factors underflow before their quotient does.
      const double allowed =
          left ? 1e-7 * std::max(1.0, std::abs(wanted)) : std::max(tolerances[order] * std::abs(wanted), 1e-290);
      INFO(v.op << " at " << v.operands[0] << ", " << v.operands[1] << ", orders number " << i << ": " << got
                << ", not " << wanted);
      if (std::isinf(wanted)) {  // of either sign
        CHECK(std::isinf(got));
        continue;
      }
      CHECK(std::abs(got - wanted) <= allowed);
    }
  }
}

TEST_CASE("fmod keeps the sign of -0, and its slope there") {
  for (const DType dtype : {DType::float32, DType::float64}) {
    const Tensor x = cast(tensor({-0., 0., -4.}), dtype), y = cast(tensor({2., -2., 2.}), dtype);
    CHECK(array_equal(copysign(1, fmod(x, y)), tensor({-1., 1., -1.})));
    CHECK(array_equal(grad([&](const Tensor& v) { return sum(fmod(v, y)); })(x), ones({3})));
  }
  CHECK(all(isnan(fmod(tensor({-0., 0.}), tensor({0., std::numeric_limits<double>::quiet_NaN()})))).item<bool>());
}

TEST_CASE("saturated activations have finite derivatives at huge operands") {
  for (const char* op : {"softplus", "log_sigmoid", "sigmoid", "silu", "mish", "gelu", "gelu_tanh", "softsign", "tanh"})
    for (const double x : {1e8, 1e103, 1e155, 1e200, 1e300}) {
      INFO(op << " at " << x);
      const bool rises = std::string_view(op) != "log_sigmoid" && std::string_view(op) != "sigmoid" &&
                         std::string_view(op) != "softsign" && std::string_view(op) != "tanh";
      CHECK(at(op, {x}, {0}) == Approx(rises ? x : std::string_view(op) == "log_sigmoid" ? 0 : 1));
      CHECK(std::abs(at(op, {x}, {1}) - (rises ? 1 : 0)) < 1e-7);
      CHECK(std::abs(at(op, {-x}, {1}) - (std::string_view(op) == "log_sigmoid" ? 1 : 0)) < 1e-7);
      CHECK(std::abs(at(op, {x}, {2})) < 1e-11);
      CHECK(std::abs(at(op, {-x}, {2})) < 1e-11);
    }
}
