// The functions of <reel/special.hpp> against values at 50 digits, with derivatives by parameters up to the third
// order; inverses; the ends of the domains; dtypes.
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <reel/reel.hpp>
#include <reel/special.hpp>
#include <string>

#include "catch.hpp"
#include "partial.hpp"
#include "special/inverse.hpp"
#include "values.hpp"

using namespace reel;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity(), not_a_number = std::numeric_limits<double>::quiet_NaN();

using support::Arguments, support::Function, support::partial_at;

const std::map<std::string, Function>& functions() {
  static const std::map<std::string, Function> all = {
      {"gamma", [](const Arguments& x) { return reel::gamma(x[0]); }},
      {"rgamma", [](const Arguments& x) { return rgamma(x[0]); }},
      {"betaln", [](const Arguments& x) { return betaln(x[0], x[1]); }},
      {"beta", [](const Arguments& x) { return beta(x[0], x[1]); }},
      {"poch", [](const Arguments& x) { return poch(x[0], x[1]); }},
      {"gammainc", [](const Arguments& x) { return gammainc(x[0], x[1]); }},
      {"gammaincc", [](const Arguments& x) { return gammaincc(x[0], x[1]); }},
      {"betainc", [](const Arguments& x) { return betainc(x[0], x[1], x[2]); }},
  };
  return all;
}

double slope(const Function& f, const std::vector<double>& at, std::size_t by) {
  std::vector<int> orders(at.size());
  orders[by] = 1;
  return partial_at(f, at, orders);
}

}  // namespace

TEST_CASE("the sign of gamma between poles, at poles and at the ends of the range") {
  const double no_number = std::numeric_limits<double>::quiet_NaN();
  CHECK(gammasgn(tensor({-2.5, -1.5, -0.5, 0.5, -2, -1, 0, inf})).to_vector() ==
        std::vector<double>{-1, 1, -1, 1, 0, 0, 0, 1});
  CHECK(all(isnan(gammasgn(tensor({no_number, -inf})))).item<bool>());
  CHECK(gammasgn(tensor<int>({-3, 2})).dtype() == DType::float64);
  CHECK(gammasgn(tensor<float>({-3, 2})).dtype() == DType::float32);
}

TEST_CASE("special functions and their derivatives by every argument agree with tables") {
  for (const SpecialValue& v : special_values) {
    const std::size_t count = std::string(v.op) == "betainc" ? 3 : std::string(v.op).ends_with("gamma") ? 1 : 2;
    const double got =
        partial_at(functions().at(v.op), {v.arguments, v.arguments + count}, {v.orders, v.orders + count});
    const bool plain = v.orders[0] + v.orders[1] + v.orders[2] == 0;
    INFO(v.op << " at " << v.arguments[0] << ", " << v.arguments[1] << ", " << v.arguments[2] << ", orders "
              << v.orders[0] << v.orders[1] << v.orders[2] << ": " << got << ", not " << v.value);
    CHECK(std::abs(got - v.value) <= (plain ? 1e-15 : 1e-13) * std::abs(v.value));
  }
}

TEST_CASE("complementary functions add up to 1 and are accurate where they are small") {
  for (const double a : {1e-3, 0.5, 3.0, 40.0, 2e3})
    for (const double r : {0.1, 0.9, 1.0, 1.1, 3.0}) {
      INFO("a = " << a << ", x / a = " << r);
      CHECK(gammainc(a, a * r).item() + gammaincc(a, a * r).item() == Approx(1).epsilon(1e-15));
      CHECK(betainc(a, 7.0, r / 4).item() + betaincc(a, 7.0, r / 4).item() == Approx(1).epsilon(1e-15));
      CHECK(betaincc(a, 7.0, r / 4).item() == Approx(betainc(7.0, a, 1 - r / 4).item()).epsilon(1e-13));
    }
  CHECK(gammaincc(2.0, 700.0).item() == Approx(701 * std::exp(-700.0)).epsilon(1e-13));
  CHECK(gammaincc(1e-20, 1.0).item() == Approx(0.21938393439552027e-20).epsilon(1e-14));
}

// By mpmath in 260 digits. Near 0 the function is 1 / a + 1 / b, which has no mixed derivatives.
TEST_CASE("mixed derivatives of beta keep their digits where the function is far larger") {
  struct Mixed {
    double a, b;
    std::vector<int> orders;
    double value;
  };
  const Mixed all[] = {{1e-05, 1e-05, {1, 1}, 2.4040596909148221},  {1e-05, 1e-05, {2, 1}, -2.7057323528240211},
                       {1e-05, 1e-05, {1, 2}, -2.7057323528240211}, {1e-05, 1e-05, {2, 2}, 0.77239535363302956},
                       {1e-05, 0.002, {1, 1}, 2.3986887158207988},  {1e-05, 0.002, {2, 1}, -2.7041966633778282},
                       {1e-05, 0.002, {1, 2}, -2.6922492415930822}, {1e-05, 0.002, {2, 2}, 0.77101183555595525},
                       {1e-09, 0.1, {1, 1}, 2.1637647537503555},    {1e-09, 0.1, {2, 1}, -2.6318781694202459},
                       {1e-09, 0.1, {1, 2}, -2.1347975755713833},   {1e-09, 0.1, {2, 2}, 0.70780709493500612},
                       {0.12, 0.11, {1, 1}, 1.8697520466245251},    {0.12, 0.11, {2, 1}, -1.969643733669475},
                       {0.12, 0.11, {1, 2}, -2.0081211506256797},   {0.12, 0.11, {2, 2}, 0.62901347845987266}};
  for (const Mixed& v : all) {
    INFO(v.a << ", " << v.b << ", orders " << v.orders[0] << v.orders[1]);
    CHECK(partial_at(functions().at("beta"), {v.a, v.b}, v.orders) == Approx(v.value).epsilon(1e-13));
  }
}

TEST_CASE("incomplete gamma functions of large parameters are accurate near the mean") {
  const auto& f = functions();
  struct Far {
    double a, x, upper, by_a, by_a_twice;
  };
  const Far far[] = {{1e6, 1.001e6, 0.158655213631659708, 0.000241930409524133048, 2.4180954503304179e-7},
                     {1e6, 1.02e6, 3.80981032271336067e-88, 7.56356898980682251e-90, 1.4977855021492162e-91},
                     {3e7, 30005478, 0.158621046927615395, 0.0000441700183130760448, 8.06470908083479145e-9},
                     {1e6, 1000010, 0.495877683203090427, 0.000398920372564047079, 3.9891840789434702e-9}};
  for (const Far& v : far) {
    INFO("a = " << v.a << ", x = " << v.x);
    CHECK(gammaincc(v.a, v.x).item() == Approx(v.upper).epsilon(1e-13));
    CHECK(slope(f.at("gammaincc"), {v.a, v.x}, 0) == Approx(v.by_a).epsilon(1e-10));
    CHECK(partial_at(f.at("gammaincc"), {v.a, v.x}, {2, 0}) == Approx(v.by_a_twice).epsilon(1e-10));
    CHECK(gammainc(v.a, v.x).item() == Approx(1 - v.upper).epsilon(1e-15));
  }
  CHECK(partial_at(f.at("gammaincc"), {1e6, 1.001e6}, {3, 0}) == Approx(-2.41688781231501e-13).epsilon(1e-12));
  CHECK(gammainc(1e16, gammaincinv(1e16, 0.25)).item() == Approx(0.25).epsilon(1e-7));
}

// Against mpmath at 60 digits. 1 + (x - a) / a keeps no digits of such an x.
TEST_CASE("incomplete functions of arguments far below large parameters keep their digits") {
  const auto& f = functions();
  const double x = std::ldexp(1., -40);
  CHECK(gammainc(20., x).item() == Approx(6.16423024377497647e-260).epsilon(1e-14));
  CHECK(slope(f.at("gammainc"), {20, x}, 0) == Approx(-1.89527957896825773e-258).epsilon(1e-13));
  CHECK(betainc(20., 30., x).item() == Approx(4.24077176651414076e-228).epsilon(1e-14));
  CHECK(slope(f.at("betainc"), {20, 30, x}, 0) == Approx(-1.13841064960376414e-226).epsilon(1e-13));
  CHECK(slope(f.at("betainc"), {20, 30, x}, 1) == Approx(2.19481796169245106e-228).epsilon(1e-13));
  for (const std::size_t by : {0u, 1u}) CHECK(slope(f.at("betainc"), {30, 40, 1e-100}, by) == 0);
  CHECK(slope(f.at("gammainc"), {30, 1e-100}, 0) == 0);
}

TEST_CASE("inverse functions and their derivatives, to the ends of the range") {
  for (const double a : {0.02, 0.7, 3.0, 250.0})
    for (const double p : {1e-300, 1e-12, 0.01, 0.5, 0.97}) {
      INFO("a = " << a << ", p = " << p);
      const double low = gammaincinv(a, p).item(), high = gammainccinv(a, p).item();
      if (low > 1e-290) CHECK(gammainc(a, low).item() == Approx(p).epsilon(1e-12));
      CHECK(gammaincc(a, high).item() == Approx(p).epsilon(1e-12));
      const double x = betaincinv(a, 2.5, p).item();
      if (x > 1e-290) CHECK(betainc(a, 2.5, x).item() == Approx(p).epsilon(1e-12));
      if (low < 1e-290 || x < 1e-290) continue;
      const Function f = [](const Arguments& v) { return gammainc(v[0], gammaincinv(v[0], v[1])); };
      const Function h = [](const Arguments& v) { return gammaincc(v[0], gammainccinv(v[0], v[1])); };
      const Function i = [](const Arguments& v) { return betainc(v[0], 2.5, betaincinv(v[0], 2.5, v[1])); };
      for (const Function& identity : {f, h, i}) {
        CHECK(slope(identity, {a, p}, 1) == Approx(1).epsilon(1e-12));
        CHECK(std::abs(slope(identity, {a, p}, 0)) <= 1e-12 * std::abs(std::log(p)) * p / a);
      }
    }
  CHECK(gammaincinv(2.0, 0.0).item() == 0);
  CHECK(gammaincinv(2.0, 1.0).item() == inf);
  CHECK(gammainccinv(2.0, 0.0).item() == inf);
  CHECK(betaincinv(2.0, 3.0, 0.0).item() == 0);
  CHECK(betaincinv(0.5, 0.5, 0.5).item() == Approx(0.5).epsilon(1e-15));
  CHECK(betaincinv(1e8, 1e8, 0.5).item() == Approx(0.5).epsilon(1e-12));
  CHECK(betaincinv(2.0, 3.0, 1.0).item() == 1);
  for (const double p : {-0.1, 1.1, not_a_number}) {
    CHECK(std::isnan(gammaincinv(2.0, p).item()));
    CHECK(std::isnan(betaincinv(2.0, 3.0, p).item()));
  }
}

TEST_CASE("inverse functions take few steps where the function is flat") {
  using namespace reel::kernels::special;
  for (const Real a : {0.02L, 3.0L, 250.0L, 1e6L})
    for (const Real q : {1e-300L, 1e-12L, 0.3L}) {
      INFO("a = " << a << ", q = " << q);
      int steps = 0;
      const Real u = increasing_root(std::log(a) - 1, HUGE_VALL, [&](Real v) {
        ++steps;
        const Real x = std::exp(v);
        return log_difference(1, incomplete_gamma(a, x, true), x * gamma_density(a, x), 1 - q, q);
      });
      CHECK(steps <= 30);
      CHECK(std::abs(incomplete_gamma(a, std::exp(u), true) / q - 1) <= 1e-12L);
    }
}

TEST_CASE("special functions at poles and at the ends of their domains") {
  const auto& f = functions();
  for (int n = 0; n < 6; ++n) {
    CHECK(rgamma(-n).item() == 0);
    CHECK(slope(f.at("rgamma"), {-double(n)}, 0) == Approx((n % 2 == 0 ? 1 : -1) * std::tgamma(n + 1.0)));
  }
  CHECK(reel::gamma(0.0).item() == inf);
  CHECK(reel::gamma(-0.0).item() == -inf);
  CHECK(std::isnan(reel::gamma(-3.0).item()));
  CHECK(reel::gamma(172.0).item() == inf);
  CHECK(rgamma(inf).item() == 0);
  CHECK(gammainc(0.0, 2.0).item() == 1);
  CHECK(gammainc(2.0, 0.0).item() == 0);
  CHECK(gammaincc(2.0, inf).item() == 0);
  CHECK(gammainc(inf, 2.0).item() == 0);
  CHECK(slope(f.at("gammaincc"), {0, 2}, 0) == Approx(0.048900510708061120));  // E1(2)
  CHECK(slope(f.at("gammainc"), {0.5, 0}, 1) == inf);
  CHECK(slope(f.at("gammaincc"), {0.5, 0}, 1) == -inf);
  CHECK(slope(f.at("gammainc"), {1, 0}, 1) == 1);
  CHECK(slope(f.at("gammainc"), {3, 0}, 1) == 0);
  CHECK(slope(f.at("gammainc"), {3, 0}, 0) == 0);
  CHECK(partial_at(f.at("gammainc"), {2, 0}, {0, 2}) == 1);
  CHECK(partial_at(f.at("gammainc"), {2, 0}, {0, 3}) == -2);
  CHECK(partial_at(f.at("gammainc"), {1.5, 0}, {0, 2}) == inf);
  CHECK(slope(f.at("betainc"), {0.5, 2, 0}, 2) == inf);
  CHECK(slope(f.at("betainc"), {1, 2, 0}, 2) == Approx(2));
  CHECK(slope(f.at("betainc"), {3, 2, 0}, 2) == 0);
  CHECK(slope(f.at("betainc"), {2, 1, 1}, 2) == Approx(2));
  CHECK(slope(f.at("betainc"), {2, 0.5, 1}, 2) == inf);
  CHECK(partial_at(f.at("betainc"), {2, 3, 0}, {0, 0, 2}) == Approx(12));
  CHECK(partial_at(f.at("betainc"), {2, 3, 0}, {0, 0, 3}) == Approx(-48));
  CHECK(partial_at(f.at("betainc"), {3, 2, 1}, {0, 0, 2}) == Approx(-12));
  for (const double bad : {-1.0, not_a_number}) {
    CHECK(std::isnan(gammainc(bad, 2.0).item()));
    CHECK(std::isnan(gammainc(2.0, bad).item()));
    CHECK(std::isnan(betainc(bad, 1.0, 0.5).item()));
    CHECK(std::isnan(betainc(1.0, 1.0, bad).item()));
    CHECK(std::isnan(betaln(bad, 1.0).item()));
    CHECK(std::isnan(poch(bad, 0.5).item()));
  }
  CHECK(std::isnan(betainc(1.0, 1.0, 1.5).item()));
  CHECK(gammainc(1e13, 1e12).item() == 0);
}

TEST_CASE("dtypes, shapes and limits of special functions") {
  const Tensor a = tensor({0.5, 2, 9}), x = tensor({{1.0}, {4.0}});
  const Tensor y = gammainc(a, x);
  CHECK(y.shape() == Shape{2, 3});
  CHECK(y.dtype() == DType::float64);
  CHECK(gammainc(cast(a, DType::float32), 2.0).dtype() == DType::float32);
  const Tensor half = gammainc(cast(a, DType::float16), 2.0);
  CHECK(half.dtype() == DType::float16);
  CHECK(cast(half, DType::float64)[1].item() == Approx(0.59399415).epsilon(1e-3));
  CHECK(gammainc(tensor({1, 2}), 2).dtype() == DType::float64);
  CHECK_THROWS_AS(gammainc(make_complex(1.0, 1.0), 2.0), TypeError);
  CHECK_THROWS_AS(betaln(tensor({1.0, 2.0}), tensor({1.0, 2.0, 3.0})), ShapeError);
  // Order 7 in both variables takes 8 x 8 coefficients, the maximum.
  CHECK(std::isfinite(partial_at(functions().at("beta"), {2, 3}, {7, 7})));
  CHECK_THROWS_AS(partial_at(functions().at("beta"), {2, 3}, {8, 7}), ValueError);
}
