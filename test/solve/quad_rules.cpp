// quad: what it passes to the function and how often, tolerances by default, the limit of intervals, dtypes, refusals.
#include <cmath>
#include <limits>
#include <reel/solve/integrate.hpp>

#include "catch.hpp"
#include "support/numbers.hpp"

using namespace reel;
using Catch::Contains;
using support::Doubles;
using support::largest;

namespace {
constexpr double inf = std::numeric_limits<double>::infinity();
const Integrand exponential = [](const Tensor& x) { return exp(x); };
}  // namespace

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
  CHECK_THROWS_WITH(quad(f, 0, std::nan("")), Contains("quad: the range is from 0 to nan"));
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
