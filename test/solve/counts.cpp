// fixed_point, root and minimum: counts of evaluations and iterations that the methods determine, limits and tolerances
// that are reached exactly, what is refused.
#include <cmath>
#include <reel/linalg.hpp>
#include <reel/solve/equations.hpp>

#include "catch.hpp"
#include "support/derivatives.hpp"
#include "support/numbers.hpp"

using namespace reel;
using Catch::Contains;
using support::largest;

namespace {

// The number of evaluations of f by fixed_point.
template <class F>
int evaluations(const F& f, const Operand& start, const EquationOptions& options = {}) {
  int count = 0;
  static_cast<void>(fixed_point(
      [&](const Tensor& x) {
        ++count;
        return f(x);
      },
      start, options));
  return count;
}
constexpr double root_half = 0.70710678118654752440;

}  // namespace

TEST_CASE("fixed_point ends when a step is short: relative to x, or absolutely") {
  // Step k from 1 is 2^-(k + 1), to 2 - 2^-(k + 1); 16 rounding units of that are a little less than 2^-48.
  const auto to_two = [](const Tensor& x) { return 0.5 * x + 1; };
  CHECK(evaluations(to_two, 1.0) == 49);
  CHECK(evaluations(to_two, 1.0F) == 49);
  CHECK(evaluations([](const Tensor& x) { return 0.5F * x + 1.0F; }, scalar(1.0F)) == 20);
  CHECK(evaluations(to_two, 1.0, {.tolerance = 0, .absolute_tolerance = 0x1p-10}) == 10);
  CHECK(evaluations(to_two, 1.0, {.tolerance = 0}) > 50);
  // To 1000 by steps of 500 / 2^k: relative to x.
  CHECK(evaluations([](const Tensor& x) { return 0.5 * x + 500; }, 0.0, {.tolerance = 0x1p-10}) == 11);
  CHECK(evaluations([](const Tensor& x) { return 0.5 * x; }, 1.0, {.tolerance = 1}) == 1);
  const EquationOptions exact = {.tolerance = 0, .absolute_tolerance = 0x1p-10, .max_iterations = 10};
  CHECK(fixed_point(to_two, 1.0, exact).item() == 2 - 0x1p-10);
  CHECK_THROWS_WITH(fixed_point(to_two, 1.0, {.tolerance = 0, .absolute_tolerance = 0x1p-10, .max_iterations = 9}),
                    Contains("fixed_point: no convergence after 9 iterations, the last of length 0.001953125;"));
  CHECK_THROWS_WITH(fixed_point(to_two, 1.0, {.max_iterations = 0}),
                    Contains("no convergence after 0 iterations, the last of length 0;"));
  CHECK_THROWS_WITH(fixed_point([](const Tensor& x) { return x / 0.0; }, 1.0), Contains("iteration 0 gave infinity"));
}

TEST_CASE("root takes the iterations of Newton's method") {
  // The limits that are just enough.
  const auto enough = [](const EquationFunction& f, double start, EquationOptions o, std::int64_t iterations) {
    INFO(iterations << " iterations from " << start);
    o.max_iterations = iterations;
    CHECK_NOTHROW(root(f, start, o));
    o.max_iterations = iterations - 1;
    CHECK_THROWS_WITH(root(f, start, o),
                      Contains("root: no convergence after " + std::to_string(iterations - 1) + " iterations"));
  };
  // Steps 0.5, 0.0833, 0.00245, 2.1e-6 to sqrt(2).
  const auto half = [](const Tensor& x) { return x * x - 2; };
  enough(half, 1, {.tolerance = 1e-3}, 4);
  enough(half, 1, {.tolerance = 1e-1}, 2);
  // Steps 416.7, 80.1, 3.2, 0.0051 to 1000: relative to x.
  const auto large = [](const Tensor& x) { return x * x - 1e6; };
  enough(large, 1500, {.tolerance = 1e-3}, 4);
  enough(large, 1500, {.tolerance = 1e-6}, 5);
  // Norms 1, 1/4, 0.00694: at most the absolute tolerance, also after the last iteration.
  enough(half, 1, {.absolute_tolerance = 0.25}, 1);
  enough(half, 1, {.absolute_tolerance = 0.24}, 2);
  enough([](const Tensor& x) { return x - 2; }, 0, {}, 1);
  CHECK(root([](const Tensor& x) { return x - 2; }, 2.0, {.max_iterations = 0}).item() == 2);
  CHECK(root(half, 1.0, {.tolerance = 0}).item() == Approx(std::sqrt(2.0)).epsilon(3e-16));
  // Roots of multiplicity 2, to which steps are halves: 2^-k.
  enough([](const Tensor& x) { return x * x; }, 1, {.absolute_tolerance = 0x1p-20}, 10);
  // Linear systems are solved to `linear`'s tolerance, from 0.
  const Tensor matrix = tensor({{3., 1., 0.}, {-1., 2., 0.5}, {0., 1., 4.}}), b = tensor({1., 2., 3.});
  const auto line = [&](const Tensor& x) { return matmul(matrix, x) - b; };
  EquationOptions o = {.max_iterations = 2};
  o.linear.initial = ones({7});
  CHECK(largest(root(line, zeros({3}), o) - solve(matrix, b)) < 1e-15);
  const Tensor wide = support::Random("matrix").tensor({60, 60}) + 20 * eye(60);
  CHECK_NOTHROW(root([&](const Tensor& x) { return matmul(wide, x) - 1; }, zeros({60}),
                     {.absolute_tolerance = 1e-12, .max_iterations = 1}));
  o.linear.tolerance = 0.3;
  CHECK_THROWS_WITH(root(line, zeros({3}), o), Contains("no convergence after 2 iterations"));
  // Derivatives use the transposed preconditioner: with the inverse one product is enough.
  o = {.linear = {.max_iterations = 2, .preconditioner = [&](const Tensor& v) { return solve(matrix, v); }}};
  const auto solution = [&](const Tensor& p) {
    return root([&, p](const Tensor& x) { return matmul(matrix, x) - p; }, zeros({3}), o);
  };
  CHECK(largest(grad([&](const Tensor& p) {
                  return sum(solution(p) * tensor({1., 2., -1.}));
                })(b) -
                solve(transpose(matrix), tensor({1., 2., -1.}))) < 1e-14);
}

TEST_CASE("minimum accepts minima with flat directions, and no saddle of any shape") {
  const auto quadratic = [](const Tensor& curvatures) {
    return [=](const Tensor& x) { return sum(curvatures * square(x)); };
  };
  for (const int n : {1, 2, 3, 5, 12}) {
    INFO(n << " unknowns");
    const Tensor rising = arange(1, n + 1) * 1.0;
    CHECK(largest(minimum(quadratic(rising), zeros({n}))) == 0);
    CHECK(minimum(quadratic(where(rising > 1, rising, 0)), zeros({n})).size() == n);
    for (const double least : {-1.0, -1e-2}) {
      CHECK_THROWS_WITH(minimum(quadratic(where(rising > 1, rising, least)), zeros({n})),
                        Contains("minimum: the gradient vanishes where the function has a saddle or a maximum"));
      CHECK_THROWS_AS(minimum(quadratic(where(rising < n * 1.0, rising, least)), zeros({n})), ValueError);
    }
  }
  CHECK(minimum([](const Tensor& x) { return exp(x) - 2.0F * x; }, scalar(0.0F)).dtype() == DType::float32);
  CHECK(minimum([](const Tensor& x) { return square(square(x)); }, 0.0).item() == 0);
  // Of a flat direction, in which the minimum moves, there is no derivative.
  const auto flat = [](const Tensor& p) {
    const auto f = [p](const Tensor& x) { return square(x(0) - 1) + power(x(1), 4) - p * x(1); };
    return minimum(f, tensor({1.0, 0.0}));
  };
  CHECK_THROWS_WITH(grad([&](const Tensor& p) { return sum(flat(p)); })(scalar(0.0)),
                    Contains("minimum: no convergence"));
  // The function sees x as it was given when the error about its gradient is made.
  const auto apart = [](const Tensor& x) {
    CHECK(x.shape() == Shape{2, 3});
    CHECK(x.dtype() == DType::float32);
    return sum(matmul(stop_gradient(x), ones({3}, DType::float32)));
  };
  CHECK_THROWS_WITH(minimum(apart, zeros({2, 3}, DType::float32)), Contains("minimum: "));
}

TEST_CASE("starts of equations have no gradient, but where f reads them") {
  const Tensor a = scalar(2.0);
  GradientTape tape({.persistent = true});
  tape.watch(a);
  const Tensor by_root = root([a](const Tensor&x) { return x * x - a; }, a),
               by_steps = fixed_point([a](const Tensor&x) { return 0.5 * (x + a / x); }, a),
               lowest = minimum([a](const Tensor&x) { return square(square(x) - a); }, a),
               apart = root([](const Tensor&x) { return x * x - 2; }, a);
  tape.stop();
  for (const Tensor& x : {by_root, by_steps, lowest})
    CHECK(tape.gradient(x, a).dense().item() == Approx(0.5 * root_half).epsilon(1e-12));
  CHECK_FALSE(tape.gradient(apart, a));
}

TEST_CASE("equations refuse options and results one by one") {
  const EquationFunction f = [](const Tensor& x) { return sum(0.5 * x) + 0.0; };
  for (const auto solver : {fixed_point, root, minimum}) {
    const std::string name = solver == fixed_point ? "fixed_point" : solver == root ? "root" : "minimum";
    for (const EquationOptions& o : {EquationOptions{.tolerance = std::nan("")}, {.absolute_tolerance = -1}})
      CHECK_THROWS_WITH(solver(f, 1.0, o), Contains(name + ": tolerances are ") &&
                                               Contains("they must be numbers, the second at least 0"));
  }
  for (const auto solver : {fixed_point, root}) {
    const std::string name = solver == fixed_point ? "fixed_point" : "root";
    CHECK_THROWS_WITH(solver(f, ones({2}), {}), Contains(name + ": the function turns shape [2] into []"));
    CHECK_THROWS_WITH(solver(
                          [](const Tensor&) {
                            return ones({1, 2});
                          },
                          ones({2}), {}),
                      Contains(name + ": the function turns shape [2] into [1, 2]"));
    CHECK_THROWS_WITH(solver([](const Tensor& x) { return cast(x, DType::float32); }, 1.0, {}),
                      Contains(name + ": the function turns float64 into float32; cast its result"));
    CHECK_THROWS_WITH(solver([](const Tensor&) { return Tensor(); }, 1.0, {}),
                      Contains(name + ": the function returned an empty tensor; did you forget to return a value?"));
  }
  CHECK_THROWS_WITH(minimum([](const Tensor&) { return Tensor(); }, 1.0),
                    Contains("minimum: the function must return a tensor of size 1, not an empty one"));
  CHECK_THROWS_WITH(minimum([](const Tensor& x) { return x; }, ones({2})),
                    Contains("not of shape [2]; reduce it (sum, mean)"));
}
