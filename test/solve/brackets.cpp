// bracketed_root: when it stops, in both dtypes, which element an error names, what derivatives notice.
#include <bit>
#include <cmath>
#include <reel/solve/equations.hpp>

#include "catch.hpp"
#include "support/numbers.hpp"

using namespace reel;
using Catch::Contains;
using support::largest;

namespace {

// The number of evaluations of f between a and b.
template <class F>
int evaluations(const F& f, const Operand& a, const Operand& b, const EquationOptions& options = {}) {
  int count = 0;
  static_cast<void>(bracketed_root(
      [&](const Tensor& x) {
        ++count;
        return f(x);
      },
      a, b, options));
  return count;
}
auto jump(double at) {
  return [at](const Tensor& x) { return where(x > at, ones_like(x), -ones_like(x)); };
}

}  // namespace

TEST_CASE("bracketed_root stops at a root, at either tolerance, or at neighbours") {
  CHECK(evaluations([](const Tensor& x) { return x - 1; }, 0.0, 2.0) == 3);
  CHECK(evaluations([](const Tensor& x) { return x - 1; }, 0.0, 3.0, {.absolute_tolerance = 0.5}) == 3);
  CHECK(evaluations([](const Tensor& x) { return x - 2.375; }, 2.0, 3.0, {.tolerance = 0.5}) == 2);
  CHECK(evaluations([](const Tensor& x) { return x + 2.375; }, -3.0, -2.0, {.tolerance = 0.5}) == 2);
  // Halves of [1, 2] down to 16 rounding units of 1.95, which is just below 2^-48; down to neighbours.
  CHECK(evaluations(jump(1.95), 1.0, 2.0) == 51);
  CHECK(evaluations(jump(1.95), 1.0, 2.0, {.tolerance = 0}) == 54);
  CHECK(evaluations(jump(1.95), scalar(1.0F), scalar(2.0F)) == 22);
  CHECK(evaluations(jump(1.95), scalar(1.0F), scalar(2.0F), {.tolerance = 0}) == 25);
  // Numbers of float32 between float32 ends; bisection takes 25 evaluations.
  const auto square_of_two = [](const Tensor& x) { return x * x - 2.0F; };
  CHECK(evaluations(square_of_two, scalar(0.0F), scalar(2.0F), {.tolerance = 0}) < 20);
  // The end is a root: no iteration is needed. Else there have to be some.
  CHECK(bracketed_root([](const Tensor& x) { return x - 1; }, 1.0, 3.0, {.max_iterations = 0}).item() == 1);
  CHECK_THROWS_WITH(bracketed_root([](const Tensor& x) { return x - 1.1; }, 0.0, 3.0, {.max_iterations = 0}),
                    Contains("after 0 iterations"));
}

TEST_CASE("bracketed_root halves the count of numbers from the 61st iteration on") {
  for (const double sign : {1.0, -1.0}) {
    std::vector<std::int64_t> points;  // as integers of the order of their magnitudes
    std::vector<bool> beyond;
    const auto f = [&](const Tensor& x) {
      points.push_back(std::bit_cast<std::int64_t>(std::abs(x.item())));
      beyond.push_back(std::abs(x.item()) > 1e-300);
      return sign * where(sign * x > 1e-300, ones_like(x), -ones_like(x));
    };
    const double x = bracketed_root(f, 0.0, sign).item();
    CHECK(x == Approx(sign * 1e-300).epsilon(2e-15));
    REQUIRE(points.size() > 100);
    REQUIRE(points.size() <= 126);
    std::int64_t low = points[0], high = points[1];
    for (std::size_t k = 2; k < points.size(); ++k) {
      if (k >= 62) CHECK(points[k] == (low + high) / 2);
      (beyond[k] ? high : low) = points[k];
    }
  }
}

TEST_CASE("errors of bracketed_root name the first element that they are about") {
  const Tensor at = tensor({{0.5, 0.5}, {0.5, 7.0}});
  CHECK_THROWS_WITH(bracketed_root([&](const Tensor& x) { return x - at; }, zeros({2, 2}), 1.0),
                    Contains("at both ends of 1 of 4 elements, the first at [1, 1]: it is -7 at 0 and -6 at 1;"));
  const auto of = [](double from, double to) {
    return bracketed_root([=](const Tensor& x) { return from + (to - from) * x; }, zeros({2}), 1.0);
  };
  CHECK_THROWS_WITH(of(0.25, 0.5), Contains("at both ends of 2 of 2 elements, the first at [0]: it is 0.25 at 0"));
  CHECK_THROWS_WITH(of(-0.25, -0.5), Contains("at both ends of 2 of 2 elements, the first at [0]: it is -0.25 at 0"));
  for (const auto& [from, to] : {std::pair{0.5, -0.5}, {-0.5, 0.5}}) CHECK(largest(of(from, to) - 0.5) == 0);
  for (const auto& [from, to] : {std::pair{0.0, -1.0}, {0.0, 1.0}}) {
    CHECK(largest(of(from, to)) == 0);
    CHECK(largest(of(to, from) - 1) == 0);
  }
  CHECK_THROWS_WITH(bracketed_root([](const Tensor& x) { return log(x); }, tensor({-1.0, 0.5}), 2.0),
                    Contains("the function is NaN at -1, of element [0]"));
  // The first element is found at once.
  CHECK_THROWS_WITH(bracketed_root(
                        [](const Tensor& x) {
                          return x * x * x - tensor({1.0, 1.1, 1.2});
                        },
                        zeros({3}), 2.0, {.max_iterations = 2}),
                    Contains("no convergence of 2 of 3 elements after 2 iterations, the first at [1], between"));
  const EquationFunction f = [](const Tensor& x) { return x - 1; };
  for (const EquationOptions& o : {EquationOptions{.tolerance = std::nan("")}, {.absolute_tolerance = -1}})
    CHECK_THROWS_WITH(bracketed_root(f, 0.0, 3.0, o), Contains("they must be numbers, the second at least 0"));
}

TEST_CASE("the ends of bracketed_root have no gradient, but where f reads them") {
  const Tensor a = scalar(2.0);
  const auto half = [](const Tensor& x) { return x * x - 2; };
  GradientTape tape({.persistent = true});
  tape.watch(a);
  const Tensor apart = bracketed_root(half, 0.0, a),
               read = bracketed_root([a](const Tensor&x) { return x * x - a; }, a, 0.0);
  tape.stop();
  CHECK_FALSE(tape.gradient(apart, a));
  CHECK(tape.gradient(read, a).dense().item() == Approx(1 / std::sqrt(8.0)).epsilon(1e-14));
}

TEST_CASE("derivatives of bracketed_root notice other elements, weak and of other magnitudes, and no rounding error") {
  for (const double coupling : {1e-4, -1e-4}) {  // of the first element to the second alone
    const auto solution = [&](const Tensor& t) {
      return bracketed_root(
          [=](const Tensor& x) {
            return x - t + coupling * tensor({1.0, 0.0}) * (x(1) - t(1));
          },
          full({2}, -3.0), 3.0);
    };
    CHECK_THROWS_AS(jvp(solution, tensor({1.0, 2.0}), tensor({1.0, 3.0})), ValueError);
  }
  const auto derivative = [](const Tensor& scale, double coupling) {
    const auto solution = [&](const Tensor& t) {
      const auto f = [=](const Tensor& x) { return scale * (x - t) + coupling * (flip(x) - flip(t)); };
      return bracketed_root(f, full({2}, -3.0), 3.0);
    };
    return jvp(solution, tensor({1.0, 2.0}), tensor({1.0, 3.0})).second;
  };
  for (const double sign : {1.0, -1.0}) {
    CHECK_THROWS_WITH(derivative(tensor({sign, sign}), 1e-4), Contains("element k of the function depends on other"));
    CHECK_THROWS_AS(derivative(tensor({sign, sign}), -1e-4), ValueError);
    CHECK_THROWS_AS(derivative(sign * tensor({1.0, 1e-3}), 1e-6), ValueError);
    CHECK(largest(derivative(tensor({sign, sign}), 0) - tensor({1.0, 3.0})) == 0);
    CHECK(largest(derivative(sign * tensor({1e-150, 1e150}), 0) - tensor({1.0, 3.0})) < 1e-15);
  }
}
