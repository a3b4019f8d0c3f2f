// quad and fixed_quad: integrals known in closed form, derivatives by ends and by what the function reads, what is
// passed to the function and how often, tolerances by default, the limit of intervals, dtypes, errors.
#include <cmath>
#include <limits>
#include <numbers>
#include <reel/compile.hpp>
#include <reel/debug.hpp>
#include <reel/solve/integrate.hpp>

#include "catch.hpp"
#include "linalg/check.hpp"
#include "support/numbers.hpp"

using namespace reel;
using Catch::Contains;
using support::Doubles;
using support::largest;

namespace {
constexpr double inf = std::numeric_limits<double>::infinity();
const Integrand exponential = [](const Tensor& x) { return exp(x); };
}

TEST_CASE("quad: integrals in closed form, over infinite ranges, with singular ends and kinks") {
  struct Case {
    const char* text;
    Integrand f;
    double a, b, exact;
  };
  const double pi = std::numbers::pi;
  const Case cases[] = {
      {"exp", [](const Tensor& x) { return exp(x); }, 0, 1, std::exp(1.0) - 1},
      {"backwards", [](const Tensor& x) { return exp(x); }, 1, 0, 1 - std::exp(1.0)},
      {"no range", [](const Tensor& x) { return exp(x); }, 2, 2, 0},
      {"Lorentz", [](const Tensor& x) { return 1 / (1 + x * x); }, -inf, inf, pi},
      {"decay", [](const Tensor& x) { return exp(-x); }, 1, inf, std::exp(-1.0)},
      {"growth", [](const Tensor& x) { return exp(x); }, -inf, 1, std::exp(1.0)},
      {"growth backwards", [](const Tensor& x) { return exp(x); }, 1, -inf, -std::exp(1.0)},
      {"log", [](const Tensor& x) { return log(x); }, 0, 1, -1},
      {"rsqrt", [](const Tensor& x) { return 1 / sqrt(x); }, 0, 1, 2},
      {"kink", [](const Tensor& x) { return abs(x - 0.3); }, 0, 1, 0.5 * (0.09 + 0.49)},
      {"waves", [](const Tensor& x) { return square(sin(40 * x)); }, 0, pi, pi / 2},
      {"narrow", [](const Tensor& x) { return exp(-square(100 * (x - 0.37))); }, 0, 1, std::sqrt(pi) / 100},
  };
  for (const Case& c : cases) {
    INFO(c.text);
    CHECK(quad(c.f, c.a, c.b, {.tolerance = 1e-12, .absolute_tolerance = 1e-12}).item() ==
          Approx(c.exact).epsilon(2e-12));
    CHECK(std::abs(quad(c.f, c.a, c.b).item() - c.exact) <= 1.5e-8 * std::max(1.0, std::abs(c.exact)));
  }
  // Several components; float32.
  const Tensor powers = expand_dims(arange(3), -1);
  const Tensor several = quad([&](const Tensor& x) { return power(x, powers); }, 0, 2);
  CHECK(largest(several - tensor({2, 2, 8.0 / 3})) < 1e-8);
  const Tensor narrow = quad([](const Tensor& x) { return exp(x); }, scalar(0.0F), scalar(1.0F));
  CHECK(narrow.dtype() == DType::float32);
  CHECK(narrow.item<float>() == Approx(std::exp(1.0) - 1).epsilon(1e-6));
}

TEST_CASE("quad: derivatives by the ends (Leibniz's rule) and by captured tensors") {
  const QuadOptions fine = {.tolerance = 1e-13, .absolute_tolerance = 1e-13};
  linalg::check_one(
      [&](const support::Tensors& x) {
        const Tensor c = x[2];
        return quad([c](const Tensor& t) { return exp(sin(c * t)) * t; }, x[0], x[1], fine);
      },
      {scalar(0.3), scalar(1.7), scalar(1.2)}, {.order = 3, .slack = 10});
  linalg::check_one(
      [&](const support::Tensors& x) {
        const Tensor c = x[1];
        return quad([c](const Tensor& t) { return exp(-c * t * t); }, x[0], inf, fine);
      },
      {scalar(-0.4), scalar(1.5)}, {.order = 3, .slack = 10});
  // Functions with infinite slope at an end, and infinite functions at an end that no tape follows.
  const auto root_of = [](const Tensor& t) { return sqrt(t); };
  CHECK(grad([&](const Tensor& b) { return quad(root_of, 0.0, b); })(scalar(4.0)).item() == 2);
  CHECK(grad([&](const Tensor& a) { return quad(root_of, a, 1.0); })(scalar(0.25)).item() == -0.5);
  CHECK(
      grad([&](const Tensor& b) { return quad([](const Tensor& t) { return log(t); }, 0.0, b); })(scalar(1.0)).item() ==
      0);
  // An empty range, and derivatives of third order.
  const auto upper = [](const Tensor& b) { return quad([](const Tensor& t) { return exp(2 * t); }, 1.0, b); };
  CHECK(grad(upper)(scalar(1.0)).item() == Approx(std::exp(2.0)).epsilon(1e-15));
  CHECK(grad(grad(grad(grad(upper))))(scalar(0.5)).item() == Approx(8 * std::exp(1.0)).epsilon(1e-12));
  // Variables; and no tape changes a bit.
  const Variable w(scalar(1.5), "w");
  const Integrand with_variable = [w](const Tensor& t) { return cos(w * t); };
  const Tensor alone = quad(with_variable, 0, 2);
  GradientTape tape;
  const Tensor y = quad(with_variable, 0, 2);
  CHECK(array_equal(y, alone));
  const double exact = 2 * std::cos(3.0) / 1.5 - std::sin(3.0) / 2.25;
  CHECK(tape.gradient(y, w).dense().item() == Approx(exact).epsilon(1e-10));
}

TEST_CASE("infinite ranges are no anomaly") {
  const AnomalyGuard guard;
  const Integrand f = [](const Tensor& x) { return exp(-square(x)); };
  CHECK(quad(f, -inf, inf).item() == Approx(std::sqrt(std::numbers::pi)).epsilon(1e-8));
  CHECK(quad(f, 0, inf).item() == Approx(std::sqrt(std::numbers::pi) / 2).epsilon(1e-8));
  CHECK_THROWS_WITH(quad([](const Tensor& x) { return x / (0 * x); }, 0, inf), Contains("divide"));
}

TEST_CASE("fixed_quad is exact to degree 2 n - 1, and differentiable by its ends") {
  for (std::int64_t n = 1; n <= 100; n += n < 6 ? 1 : 13)
    for (const double degree : {0.0, static_cast<double>(n), 2.0 * static_cast<double>(n) - 1}) {
      INFO(n << " points, degree " << degree);
      const double y = fixed_quad([&](const Tensor& x) { return power(x, degree); }, 0, 1, n).item();
      CHECK(y == Approx(1 / (degree + 1)).epsilon(1e-14));
    }
  CHECK(fixed_quad([](const Tensor& x) { return square(x); }, 0, 3, 1).item() == 6.75);
  linalg::check_one(
      [](const support::Tensors& x) {
        const Tensor c = expand_dims(x[2], -1);
        return fixed_quad([c](const Tensor& t) { return exp(sin(c * t)) * t; }, x[0], x[1], 7);
      },
      {tensor({{0.3}, {-1}}), tensor({1.7, 2, 0.1}), tensor({1.2, 0.5, 2})}, {.order = 3, .slack = 10});
}

TEST_CASE("errors of quadrature name the cause") {
  const Integrand f = [](const Tensor& x) { return exp(x); };
  CHECK_THROWS_WITH(quad({}, 0, 1), Contains("quad: the function is empty"));
  CHECK_THROWS_WITH(quad(f, ones({2}), 1), Contains("quad: a is [2]"));
  CHECK_THROWS_WITH(quad(f, std::numeric_limits<double>::quiet_NaN(), 1), Contains("quad: the range is from nan"));
  CHECK_THROWS_AS(quad(f, 0, 1, {.tolerance = std::nan("")}), ValueError);
  CHECK_THROWS_WITH(quad([](const Tensor& x) { return 1 / x; }, 0, 1), Contains("quad: no convergence"));
  CHECK_THROWS_WITH(quad([](const Tensor& x) { return sin(1 / x); }, 0, 1, {.max_intervals = 3}),
                    Contains("3 intervals"));
  CHECK_THROWS_WITH(quad([](const Tensor& x) { return log(x); }, -1, 1), Contains("infinite or NaN between -1 and 1"));
  CHECK_THROWS_WITH(quad([](const Tensor& x) { return sum(x); }, 0, 1), Contains("the last axis of its result"));
  CHECK_THROWS_AS(quad([](const Tensor&) { return Tensor(); }, 0, 1), ValueError);
  CHECK_THROWS_AS(quad([](const Tensor& x) { return make_complex(x, x); }, 0, 1), TypeError);
  CHECK_THROWS_AS(compile([&](const Tensor& b) { return quad(f, 0, b); })(scalar(1.0)), TraceError);
  CHECK_THROWS_WITH(compile([&](const Tensor& b) { return quad(f, 0, b); })(scalar(1.0)),
                    Catch::StartsWith("quad: it"));
  CHECK_THROWS_WITH(fixed_quad({}, 0, 1), Contains("fixed_quad: the function is empty"));
  CHECK_THROWS_WITH(fixed_quad(f, 0, 1, 0), Contains("fixed_quad: n is 0"));
  CHECK_THROWS_WITH(fixed_quad(f, 0, 1, 101), Contains("fixed_quad: n is 101"));
  CHECK_THROWS_WITH(fixed_quad([](const Tensor& x) { return sum(x); }, 0, 1),
                    Contains("fixed_quad: the function turns"));
  CHECK_THROWS_AS(fixed_quad(f, make_complex(0, 1), 1), TypeError);
  CHECK_THROWS_WITH(fixed_quad([](const Tensor& x) { return make_complex(x, x); }, 0, 1),
                    Contains("fixed_quad: the function returned complex128"));
  CHECK_THROWS_WITH(fixed_quad(f, ones({2}), ones({3})), Contains("fixed_quad: shapes [2] and [3]"));
}

TEST_CASE("quad evaluates once per subdivision and once at the final points, inside the range") {
  std::vector<Doubles> calls;
  const auto f = [&](const Tensor& x) {
    calls.push_back(x.to_vector());
    return exp(x);
  };
  const auto sizes = [&](const Operand& a, const Operand& b, const QuadOptions& o = {}) {
    calls.clear();
    static_cast<void>(quad(f, a, b, o));
    std::vector<std::size_t> list;
    for (const Doubles& x : calls) {
      list.push_back(x.size());
      if (a.tensor().item() == b.tensor().item()) continue;
      for (const double at : x) CHECK((at - a.tensor().item()) * (at - b.tensor().item()) < 0);
    }
    return list;
  };
  using Sizes = std::vector<std::size_t>;
  CHECK(sizes(scalar(0.0), scalar(1.0)) == Sizes{15, 15});
  CHECK(sizes(scalar(1.0), scalar(0.0)) == Sizes{15, 15});
  CHECK(sizes(scalar(0.0), scalar(10.0), {.tolerance = 1e-6}) == Sizes{15, 30, 30});
  // An empty range: once, at its end, or at 0 where that is infinite.
  CHECK(sizes(scalar(2.0), scalar(2.0)) == Sizes{1});
  CHECK(calls[0] == Doubles{2});
  CHECK(sizes(scalar(inf), scalar(inf)) == Sizes{1});
  CHECK(calls[0] == Doubles{0});
  CHECK(quad(exponential, 2, 2).shape().rank() == 0);
  CHECK(quad([](const Tensor& x) { return stack({x, x}); }, 2, 2).shape() == Shape{2});
}

TEST_CASE("quad's tolerances by default are the square root of the rounding unit, each enough alone") {
  // The estimate of one interval is 1.0434e-8 of the value, the root 1.0537e-8.
  const auto scaled = [](double by) { return [by](const Tensor& x) { return exp(7.5 * x) * by; }; };
  const QuadOptions relative = {.absolute_tolerance = 0, .max_intervals = 1},
                    absolute = {.tolerance = 0, .max_intervals = 1};
  CHECK_NOTHROW(quad(scaled(1), 0, 1, {.max_intervals = 1}));
  CHECK_NOTHROW(quad(scaled(1e-9), 0, 1, relative));
  CHECK_NOTHROW(quad(scaled(1 / 240.94), 0, 1, absolute));
  CHECK_THROWS_AS(quad(scaled(1 / 236.0), 0, 1, absolute), ValueError);
  CHECK_THROWS_AS(quad(scaled(1), 0, 1, absolute), ValueError);
  CHECK_THROWS_AS(quad(scaled(1), 0, 1, {.tolerance = 0, .absolute_tolerance = 0, .max_intervals = 1}), ValueError);
  CHECK_THROWS_AS(quad(scaled(1 / 240.94), 0, 1, {.tolerance = 0, .absolute_tolerance = 0, .max_intervals = 1}),
                  ValueError);
  // A function that is 0 has no error.
  CHECK(quad([](const Tensor& x) { return zeros_like(x); }, 0, 1, {.tolerance = 0, .absolute_tolerance = 0}).item() ==
        0);
  const auto kink = [](const Tensor& x) { return abs(x - 0.5); };
  CHECK(quad(kink, 0, 1, {.max_intervals = 2}).item() == 0.25);
  CHECK_THROWS_WITH(quad(kink, 0, 1, {.max_intervals = 1}), Contains("there are too many intervals near 0.5"));
}

TEST_CASE("quad: the largest component decides the tolerance, and every component is refined") {
  const auto rough = [](const Tensor& x) { return sqrt(abs(x - 0.3)); };
  const double exact = 2.0 / 3 * (std::pow(0.3, 1.5) + std::pow(0.7, 1.5));
  const auto both = [&](const Tensor& x) { return stack({ones_like(x), rough(x), -1e3 * x}); };
  CHECK(largest(quad(both, 0, 1, {.tolerance = 1e-12}) - tensor({1.0, exact, -500.0})) < 2e-8);
  // With a tolerance of the largest component, rough is as far off as that allows, and no refinement is needed.
  CHECK_NOTHROW(quad(both, 0, 1, {.tolerance = 1e-3, .absolute_tolerance = 0, .max_intervals = 1}));
  CHECK_THROWS_AS(quad(rough, 0, 1, {.tolerance = 1e-3, .absolute_tolerance = 0, .max_intervals = 1}), ValueError);
  // Many intervals with equal errors; ranges of every kind.
  const auto waves = [](const Tensor& x) { return square(sin(5 * x)); };
  for (double tolerance = 1; tolerance > 1e-12; tolerance /= 5) {
    INFO("tolerance " << tolerance);
    const double y = quad(waves, 0, 60, {.tolerance = 0, .absolute_tolerance = tolerance}).item();
    CHECK(std::abs(y - (30 - std::sin(600.0) / 20)) <= tolerance);
  }
  CHECK(quad(exponential, -inf, 2).item() == Approx(std::exp(2.0)).epsilon(1e-8));
  CHECK(quad([](const Tensor& x) { return exp(-square(x - 3)); }, -inf, inf).item() ==
        Approx(std::sqrt(std::acos(-1.0))).epsilon(1e-8));
}

TEST_CASE("quad names where a function varies too much") {
  for (const double at : {0.3, -0.3}) {
    const auto pole = [at](const Tensor& x) { return power(abs(x - at), -0.9); };
    CHECK_THROWS_WITH(
        quad(pole, std::min(0.0, 3 * at), std::max(0.0, 3 * at)),
        Contains("the function varies too much near " + std::string(at > 0 ? "0.3" : "-0.3")) ||
            Contains("the function varies too much near " + std::string(at > 0 ? "0.29999" : "-0.29999")));
  }
}

TEST_CASE("quad: dtypes of points and results, ends that a tape follows") {
  std::vector<DType> seen;
  int calls = 0;
  const auto f = [&](const Tensor& x) {
    seen.push_back(x.dtype());
    ++calls;
    return exp(-x);
  };
  const Tensor zero = scalar(0.0F), one = scalar(1.0F);
  CHECK(quad(f, zero, one).dtype() == DType::float32);
  CHECK(quad(f, one, one).dtype() == DType::float32);
  CHECK(grad([&](const Tensor& b) { return quad(f, zero, b); })(one).item<float>() == Approx(std::exp(-1)));
  for (const DType d : seen) CHECK(d == DType::float32);
  CHECK(quad(f, cast(zero, DType::float16), cast(one, DType::float16)).dtype() == DType::float16);
  CHECK(quad(f, 0, 1).dtype() == DType::float64);
  // The ends are evaluated only where a tape follows them and they are finite.
  for (const bool backwards : {false, true}) {
    const auto derivative = [&](const Tensor& x, double finite) {
      calls = 0;
      GradientTape tape({.watch_accessed_variables = false});
      tape.watch(x);
      const Tensor y = backwards ? quad(f, x, finite, {.tolerance = 1e-3}) : quad(f, finite, x, {.tolerance = 1e-3});
      const int count = calls;
      CHECK(y.item() == Approx((backwards ? -1 : 1) * (std::exp(-finite) - std::exp(-x.item()))).epsilon(1e-3));
      const Gradient g = tape.gradient(y, x);
      CHECK((g ? std::abs(g.dense().item()) : 0.0) == Approx(std::exp(-x.item())));
      calls = 0;
      static_cast<void>(backwards ? quad(f, x, finite, {.tolerance = 1e-3}) : quad(f, finite, x, {.tolerance = 1e-3}));
      return count - calls;
    };
    CHECK(derivative(scalar(1.0), 0) == 1);
    CHECK(derivative(scalar(inf), 0) == 0);
  }
}

TEST_CASE("quad refuses operands, options and results one by one") {
  const Integrand f = exponential;
  CHECK_THROWS_WITH(quad(f, 0, ones({2})), Contains("quad: a is [] and b [2]; both must have one element"));
  CHECK_THROWS_WITH(quad(f, 0, std::numeric_limits<double>::quiet_NaN()), Contains("quad: the range is from 0 to nan"));
  for (const QuadOptions& o : {QuadOptions{std::nan(""), 1, 5}, {1, std::nan(""), 5}, {1, 1, 0}})
    CHECK_THROWS_WITH(quad(f, 0, 1, o), Contains("tolerances must be numbers, intervals at least 1"));
  CHECK_THROWS_WITH(quad([](const Tensor&) { return Tensor(); }, 0, 1),
                    Contains("quad: operand the function's result is empty"));
  for (const Tensor& y : {ones({3}), ones({15, 2}), scalar(1.0)})
    CHECK_THROWS_WITH(quad([&](const Tensor&) { return y; }, 0, 1), Contains("quad: the function turns [15] into"));
  CHECK_THROWS_WITH(quad([](const Tensor& x) { return cast(x, DType::int64); }, 0, 1),
                    Contains("quad: the function gives int64; it must be real and floating"));
  CHECK_THROWS_WITH(quad([](const Tensor& x) { return make_complex(x, x); }, 0, 1),
                    Contains("quad: the function gives complex128; it must be real and floating"));
}
