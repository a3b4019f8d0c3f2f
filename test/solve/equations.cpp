// Fixed points, roots and minima: what is found, implicit derivatives to order 3 in both modes by captured tensors and
// variables, counts of evaluations and iterations that the methods determine, limits and tolerances that are reached
// exactly, errors.
#include <cmath>
#include <functional>
#include <reel/compile.hpp>
#include <reel/linalg.hpp>
#include <reel/solve/equations.hpp>

#include "catch.hpp"
#include "linalg/check.hpp"
#include "support/derivatives.hpp"
#include "support/numbers.hpp"

using namespace reel;
using Catch::Contains;
using support::largest;
using support::Tensors;

namespace {

Tensor drawn(const Shape& shape, const char* seed) { return support::Random(seed).tensor(shape); }
// x = tanh(a x + b), a contraction.
Tensor layer(const Tensor& a, const Tensor& b, const Tensor& x) { return tanh(matmul(a, x) + b); }
Tensor settled_layer(const Tensors& p) {
  return fixed_point([a = 0.3 * p[0], b = p[1]](const Tensor& x) { return layer(a, b, x); }, zeros({3}));
}
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

TEST_CASE("fixed_point, root and minimum agree with closed forms") {
  const double golden = (std::sqrt(5.0) - 1) / 2;
  CHECK(fixed_point([](const Tensor& x) { return 1 / (1 + x); }, 1.0).item() == Approx(golden).epsilon(1e-14));
  CHECK(root([](const Tensor& x) { return x * x + x - 1; }, 1.0).item() == Approx(golden).epsilon(1e-15));
  CHECK(root([](const Tensor& x) { return exp(x) - 1; }, 3.0).item() == Approx(0).margin(1e-15));
  CHECK(root([](const Tensor& x) { return arctan(x); }, 5.0).item() == 0);  // full steps diverge
  const Tensor matrix = drawn({40, 40}, "a") + 8 * eye(40), b = drawn({40}, "b");
  CHECK(largest(root([&](const Tensor& x) { return matmul(matrix, x) - b; }, zeros({40})) - solve(matrix, b)) < 1e-13);
  // The Rosenbrock function's minimum; a tensor of any shape; float32.
  const auto valley = [](const Tensor& x) { return square(1 - x(0, 0)) + 100 * square(x(0, 1) - square(x(0, 0))); };
  CHECK(largest(minimum(valley, tensor({{-1.2, 1}})) - 1) < 1e-13);
  CHECK(minimum([](const Tensor& x) { return exp(x) - 2 * x; }, 0.0).item() == Approx(std::log(2.0)).epsilon(1e-15));
  const Tensor narrow = root([](const Tensor& x) { return x * x - 2.0F; }, tensor<float>({1, 3}));
  CHECK(narrow.dtype() == DType::float32);
  CHECK(largest(cast(narrow, DType::float64) - std::sqrt(2.0)) < 2e-7);
  CHECK(largest(fixed_point([](const Tensor& x) { return cos(x); }, zeros({2, 2})) - 0.7390851332151607) < 1e-14);
  // In float32 the rounding of values hides the last steps of the descent.
  const Tensor p = tensor<float>({-0.15058071911334991F, 1.0546637773513794F});
  const Tensor low = minimum([p](const Tensor& x) { return sum(exp(x) + square(x) - p * x); }, zeros_like(p));
  CHECK(largest(exp(low) + 2.0F * low - p) < 4e-7);
  // The start is the solution; no unknowns; convergence by absolute tolerance.
  CHECK(root([](const Tensor& x) { return x - 2; }, 2.0).item() == 2);
  CHECK(root([](const Tensor& x) { return x - 2; }, zeros({0})).shape() == Shape{0});
  CHECK(root([](const Tensor& x) { return x * x; }, 1.0, {.absolute_tolerance = 1e-10}).item() < 1.1e-5);
}

TEST_CASE("fixed_point, root and minimum report each step to a callback, which may end them") {
  struct Case {
    const char* name;
    std::function<Tensor(const EquationOptions&)> run;
    bool has_value;
  };
  const auto bowl = [](const Tensor& x) { return sum(exp(x) - 2 * x); };
  const Case cases[] = {
      {"fixed_point",
       [](const EquationOptions& o) { return fixed_point([](const Tensor& x) { return cos(x); }, 1.0, o); }, false},
      {"root", [](const EquationOptions& o) { return root([](const Tensor& x) { return exp(x) - 2; }, 3.0, o); },
       false},
      {"minimum", [&](const EquationOptions& o) { return minimum(bowl, 3.0, o); }, true},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    std::vector<EquationProgress> seen;
    const Tensor whole = c.run({.callback = [&](const EquationProgress& p) {
      seen.push_back(p);
      return false;
    }});
    CHECK(whole.item() == c.run({}).item());
    REQUIRE(seen.size() > 3);
    for (std::size_t k = 0; k < seen.size(); ++k) CHECK(seen[k].iteration == static_cast<std::int64_t>(k) + 1);
    CHECK(seen.back().residual < 1e-3 * seen.front().residual);
    CHECK((seen.back().value != 0) == c.has_value);
    std::int64_t last = 0;
    const Tensor early = c.run({.callback = [&](const EquationProgress& p) { return (last = p.iteration) == 2; }});
    CHECK(last == 2);
    CHECK(early.item() != whole.item());
    CHECK_THROWS_AS(c.run({.callback = [](const EquationProgress&) -> bool { throw std::runtime_error("stop"); }}),
                    std::runtime_error);
  }
}

TEST_CASE("implicit derivatives of fixed points, roots and minima to order 3") {
  linalg::check_one(settled_layer, {drawn({3, 3}, "a"), drawn({3}, "b")}, {.order = 3, .slack = 10});
  linalg::check_one(
      [](const Tensors& p) {
        return root([a = p[0], b = p[1]](const Tensor& x) { return matmul(a, x) + 0.5 * x * x * x - b; }, ones({3}));
      },
      {drawn({3, 3}, "a") + 3 * eye(3), drawn({3}, "b")}, {.order = 3, .slack = 10});
  linalg::check_one(
      [](const Tensors& p) {
        return minimum([a = p[0], b = p[1]](
                           const Tensor& x) { return sum(exp(a * x) + square(x)) + square(sum(b * x)) - sum(b * x); },
                       zeros({3}));
      },
      {drawn({3}, "a"), drawn({3}, "b")}, {.order = 3, .slack = 10});
  // Composed and nested solutions.
  linalg::check_one(
      [](const Tensors& p) {
        const Tensor inner = settled_layer(p);
        return root(
            [inner](const Tensor& x) {
              const Tensor half = fixed_point([x](const Tensor& y) { return 0.5 * sin(y) + 0.25 * x; }, zeros({3}));
              return x + half - inner;
            },
            zeros({3}));
      },
      {drawn({3, 3}, "a"), drawn({3}, "b")}, {.order = 2, .slack = 10});
}

TEST_CASE("implicit derivatives agree with closed forms") {
  const auto cube_root = [](const Tensor& t) {
    return root([t](const Tensor& x) { return x * x * x - t; }, scalar(1.5));
  };
  const Tensor t = scalar(2.0);
  CHECK(grad(cube_root)(t).item() == Approx(std::pow(2, -2.0 / 3) / 3).epsilon(1e-14));
  CHECK(grad(grad(cube_root))(t).item() == Approx(-2 * std::pow(2, -5.0 / 3) / 9).epsilon(1e-14));
  CHECK(grad(grad(grad(cube_root)))(t).item() == Approx(10 * std::pow(2, -8.0 / 3) / 27).epsilon(1e-13));
  CHECK(grad(grad(grad(grad(cube_root))))(t).item() == Approx(-80 * std::pow(2, -11.0 / 3) / 81).epsilon(1e-12));
}

TEST_CASE("solutions are one entry, not connected to the start, with the same bits under a tape") {
  const Variable a(0.3 * drawn({3, 3}, "a"), "a");
  const Tensor b = drawn({3}, "b"), start = 0.1 * b;
  const EquationFunction f = [a, b](const Tensor& x) { return layer(a, b, x); };
  const Tensor alone = fixed_point(f, start);
  GradientTape tape({.persistent = true});
  tape.watch(start);
  const std::int64_t before = static_cast<std::int64_t>(tape.stats().entries);
  const Tensor x = fixed_point(f, start);
  CHECK(static_cast<std::int64_t>(tape.stats().entries) - before < 4);
  CHECK(array_equal(x, alone));
  const Tensor loss = sum(square(x));
  tape.stop();
  CHECK_FALSE(tape.gradient(loss, start));
  const Tensor g = tape.gradient(loss, a).dense();
  const auto by_matrix = [&](const Tensor& m) {
    return sum(square(fixed_point([m, b](const Tensor& y) { return layer(m, b, y); }, start)));
  };
  CHECK(largest(g - grad(by_matrix)(a.read())) < 1e-14);
  // The gradient is that at the recorded value of the variable.
  a.assign(zeros({3, 3}));
  CHECK(array_equal(tape.gradient(loss, a).dense(), g));
}

TEST_CASE("errors of equations without solution and of arguments") {
  const EquationFunction f = [](const Tensor& x) { return x * x + 1; };
  CHECK_THROWS_WITH(root(f, 1.0), Contains("root: no progress"));
  CHECK_THROWS_WITH(root(f, 0.0), Contains("the Jacobian is singular"));
  CHECK_THROWS_WITH(root([](const Tensor& x) { return exp(x); }, 0.0), Contains("root: no"));
  CHECK_THROWS_WITH(root([](const Tensor& x) { return x * x - 2; }, 1e6, {.max_iterations = 3}),
                    Contains("after 3 iterations"));
  CHECK_THROWS_WITH(root([](const Tensor& x) { return log(x); }, -1.0), Contains("infinity or NaN"));
  CHECK_THROWS_WITH(fixed_point([](const Tensor& x) { return -x + 1; }, 1.0), Contains("after 1000 iterations"));
  CHECK_THROWS_WITH(fixed_point([](const Tensor& x) { return x * x; }, 3.0), Contains("gave infinity or NaN"));
  CHECK_THROWS_WITH(minimum([](const Tensor& x) { return sum(-square(x)); }, 1.0, {.max_iterations = 20}),
                    Contains("minimum: no convergence"));
  for (const auto solver : {fixed_point, root, minimum}) {
    CHECK_THROWS_AS(solver({}, 1.0, {}), ValueError);
    CHECK_THROWS_AS(solver([](const Tensor&) { return Tensor(); }, 1.0, {}), Error);
    CHECK_THROWS_AS(solver([](const Tensor&) { return ones({2}); }, 1.0, {}), ShapeError);
    CHECK_THROWS_AS(solver(f, arange(3), {}), TypeError);
    CHECK_THROWS_AS(solver(f, 1.0, {.tolerance = std::nan("")}), ValueError);
    CHECK_THROWS_AS(solver(f, Tensor(), {}), ValueError);
    CHECK_THROWS_AS(compile([&](const Tensor& x) {
                      return solver([x](const Tensor& y) { return 0.5 * y * y + x; }, 0.0, {});
                    })(scalar(0.1)),
                    TraceError);
    const char* name = solver == fixed_point ? "fixed_point: it reads" : solver == root ? "root: it" : "minimum: it";
    CHECK_THROWS_WITH(compile([&](const Tensor& x) { return solver(f, x, {}); })(scalar(0.1)), Catch::StartsWith(name));
  }
  CHECK_THROWS_WITH(root([](const Tensor& x) { return cast(x, DType::float32); }, 1.0),
                    Contains("root: the function turns float64"));
  CHECK_THROWS_WITH(fixed_point([](const Tensor& x) { return cast(0.5 * x + 1, DType::float32); }, 1.0),
                    Contains("fixed_point: the function turns float64"));
  // A start without a path to the value is no minimum; a gradient that vanishes there is no error.
  CHECK_THROWS_WITH(minimum([](const Tensor& x) { return sum(square(stop_gradient(x) - 1)); }, ones({2, 1})),
                    Contains("minimum: no gradient reaches the parameters: ") && Contains("stop_gradient"));
  CHECK(minimum([](const Tensor& x) { return square(x); }, 0.0).item() == 0);
  CHECK_THROWS_WITH(minimum([](const Tensor& x) { return cast(square(x), DType::int32); }, 1.0),
                    Contains("minimum: the function returned int32"));
  CHECK_THROWS_WITH(minimum([](const Tensor& x) { return make_complex(square(x), x); }, 1.0),
                    Contains("minimum: the function returned complex128"));
  CHECK_THROWS_WITH(minimum([](const Tensor& x) { return square(x); }, zeros({2})),
                    Contains("minimum: the function must return a tensor of size 1, not of shape [2]; reduce it"));
  // The first linear system is solved inexactly, so that further steps follow.
  const auto ill_scaled = [](const Tensor& x) { return stack({x[0] * 1e10 - 1, x[1] * 1e-10 - 1}); };
  CHECK(largest(ill_scaled(root(ill_scaled, zeros({2})))) < 1e-15);
  // A stationary point that is not a minimum; a gradient that tends to 0 at infinity.
  const auto saddle = [](const Tensor& x) { return square(x[0]) - square(x[1]); };
  CHECK_THROWS_WITH(minimum(saddle, tensor({1., 0.})), Contains("minimum: the gradient vanishes where"));
  CHECK_THROWS_WITH(minimum([](const Tensor& x) { return cos(x); }, 0.0), Contains("a saddle or a maximum"));
  CHECK_THROWS_AS(minimum([](const Tensor& x) { return 1 / x; }, 1.0), ValueError);
  CHECK(minimum([](const Tensor& x) { return sum(square(square(x))); }, zeros({2})).to_vector() ==
        std::vector<double>{0, 0});
  // A double root has a singular Jacobian: its derivative does not exist.
  const auto twice = [](const Tensor& t) {
    return root([t](const Tensor& x) { return square(x - t) * 1.0; }, scalar(1.0), {.absolute_tolerance = 1e-300});
  };
  CHECK_THROWS_WITH(grad(twice)(scalar(1.0)), Contains("root: no convergence"));
}

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
