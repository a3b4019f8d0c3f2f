// Fixed points, roots and minima: what is found, implicit derivatives to order 3 in both modes by captured tensors and
// variables, errors.
#include <cmath>
#include <functional>
#include <reel/compile.hpp>
#include <reel/linalg.hpp>
#include <reel/solve/equations.hpp>

#include "catch.hpp"
#include "linalg/check.hpp"
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

TEST_CASE("bracketed_root finds roots of many equations to rounding") {
  const Tensor c = linspace(1e-3, 900.0, 1000);
  CHECK(largest(bracketed_root([c](const Tensor& x) { return x * x * x - c; }, zeros({1000}), 10.0) / cbrt(c) - 1) <
        16 * 0x1p-53);
  // Ends in either order, of shapes that broadcast, at a root; float32; no elements.
  const Tensor roots =
      bracketed_root([](const Tensor& x) { return sin(x); }, tensor({{4.0}, {3.5}}), tensor({3., 2.5}));
  CHECK(largest(roots - std::acos(-1.0)) < 5e-16);
  CHECK(bracketed_root([](const Tensor& x) { return x * (x - 1); }, 1.0, 3.0).item() == 1);
  CHECK(bracketed_root([](const Tensor& x) { return x * (x - 1); }, -1.0, 0.0).item() == 0);
  const Tensor narrow = bracketed_root([](const Tensor& x) { return x * x - 2.0F; }, tensor<float>({0, 1}), 2.0F);
  CHECK(narrow.dtype() == DType::float32);
  CHECK(largest(cast(narrow, DType::float64) - std::sqrt(2.0)) < 2e-7);
  CHECK(bracketed_root([](const Tensor& x) { return x; }, zeros({0, 3}), 1.0).shape() == Shape{0, 3});
  // f and x of every magnitude, of roots far below the ends, flat functions and steps.
  const Tensor at = tensor({1e-320, -1e-300, 1e-9, 1, 1e150, -1e307});
  for (const double scale : {1e-300, 1.0, 1e300}) {
    INFO("scale " << scale);
    const auto step = [&](const Tensor& x) { return where(greater(x, at), scale, -scale); };
    CHECK(largest(bracketed_root(step, -1.7e308, full({6}, 1.7e308)) / at - 1) <= 16 * 0x1p-53);
    const auto line = [&](const Tensor& x) { return (x / at - 1) * scale; };
    CHECK(largest(bracketed_root(line, tensor({0.0}) * at, 16 * at) / at - 1) < 1e-15);
    const auto flat = [&](const Tensor& x) { return power(x - 1, 9) * scale; };
    CHECK(largest(bracketed_root(flat, -3.0, 4.0) - 1) < (scale == 1e-300 ? 1.0 : 1e-15));  // f underflows
  }
  const auto step = [](const Tensor& x) { return where(greater(x, 1e-44F), ones_like(x), -1); };
  CHECK(bracketed_root(step, -1.0F, tensor<float>({2}), {.tolerance = 0}).item<float>() ==
        Approx(1e-44F).margin(2e-45));
  CHECK(bracketed_root([](const Tensor& x) { return x * x - 2; }, 0.0, 2.0, {.tolerance = 1e-3}).item() ==
        Approx(std::sqrt(2.0)).epsilon(1e-3));
  int calls = 0;
  const auto counted = [&](const Tensor& x) {
    ++calls;
    return exp(x) - 2;
  };
  CHECK(std::abs(bracketed_root(counted, 0.0, 3.0, {.absolute_tolerance = 1e-3}).item() - std::log(2.0)) < 6e-4);
  CHECK(calls < 10);
  calls = 0;
  CHECK(bracketed_root(counted, 0.0, 3.0).item() == Approx(std::log(2.0)).epsilon(4e-16));
  CHECK(calls < 14);  // bisection takes 50
}

TEST_CASE("derivatives of bracketed_root to order 3, by tensors and variables") {
  const auto kepler = [](const Tensors& p) {
    return bracketed_root([e = 0.5 + 0.2 * p[0], m = p[1]](const Tensor& x) { return x - e * sin(x) - m; },
                          full({2, 3}, -9.0), 9.0);
  };
  linalg::check_one(kepler, {drawn({3}, "a"), drawn({2, 1}, "b")}, {.order = 3, .slack = 10});
  const auto nested = [&](const Tensors& p) {
    return bracketed_root([y = kepler(p)](const Tensor& x) { return exp(x) + x - y; }, full({2, 3}, -20.0), 20.0);
  };
  linalg::check_one(nested, {drawn({3}, "a"), drawn({2, 1}, "b")}, {.order = 2, .slack = 10});
  const auto cube_root = [](const Tensor& t) {
    return sum(bracketed_root([t](const Tensor& x) { return x * x * x - t; }, zeros({2}), 5.0));
  };
  const Tensor t = tensor({2., 3.});
  CHECK(largest(grad(cube_root)(t) * (3 * square(cbrt(t))) - 1) < 1e-15);
  CHECK(largest(sum(hessian(cube_root)(t), 1) / (-2 * power(t, -5. / 3) / 9) - 1) < 1e-14);
  const Variable v(t, "v");
  GradientTape tape;
  const Tensor x = bracketed_root([&](const Tensor& y) { return y * y * y - v; }, zeros({2}), 5.0);
  CHECK(array_equal(x, bracketed_root([t](const Tensor& y) { return y * y * y - t; }, zeros({2}), 5.0)));
  const Tensor loss = sum(x);
  tape.stop();
  CHECK(largest(tape.gradient(loss, v).dense() - grad(cube_root)(t)) == 0);
  // A multiple root has no derivative; the other element has.
  const Tensor at = tensor({2., 2.});
  const auto triple = [&](const Tensor& p) {
    const auto f = [p](const Tensor& y) { return where(tensor({true, false}), power(y - 1, 3) * p, y - p); };
    return bracketed_root(f, zeros({2}), tensor({2., 4.}));
  };
  CHECK(jvp(triple, at, ones({2})).second[1].item() == 1);
  CHECK_FALSE(std::isfinite(jvp(triple, at, ones({2})).second[0].item()));
}

TEST_CASE("errors of bracketed_root name elements and arguments") {
  const EquationFunction f = [](const Tensor& x) { return x * x - tensor({{4., -1.}, {9., -2.}}); };
  const Tensor a = zeros({2, 2});
  CHECK_THROWS_WITH(bracketed_root(f, a, 5.0),
                    Catch::StartsWith("bracketed_root: the function has one sign at both ends of 2 of 4 elements, "
                                      "the first at [0, 1]: it is 1 at 0 and 26 at 5; choose ends on either "
                                      "side of a root"));
  CHECK_THROWS_WITH(bracketed_root([](const Tensor& x) { return log(x); }, tensor({0.5, -1.}), 2.0),
                    Contains("the function is NaN at -1, of element [1]; it must be defined between the ends"));
  CHECK_THROWS_WITH(bracketed_root([](const Tensor& x) { return exp(x) - 2; }, a, 5.0, {.max_iterations = 3}),
                    Contains("no convergence of 4 of 4 elements after 3 iterations, the first at [0, 0], between"));
  CHECK_THROWS_WITH(bracketed_root(f, 0.0, 5.0), Contains("bracketed_root: the function turns shape [] into [2, 2]"));
  CHECK_THROWS_WITH(bracketed_root(f, a, HUGE_VAL), Contains("b has an element that is infinite or NaN"));
  CHECK_THROWS_WITH(bracketed_root(f, a + std::nan(""), 1.0), Contains("a has an element that is infinite or NaN"));
  CHECK_THROWS_AS(bracketed_root({}, a, 5.0), ValueError);
  CHECK_THROWS_AS(bracketed_root([](const Tensor&) { return Tensor(); }, a, 5.0), ValueError);
  CHECK_THROWS_AS(bracketed_root([](const Tensor& x) { return cast(x, DType::float32); }, a, 5.0), TypeError);
  CHECK_THROWS_AS(bracketed_root(f, arange(3), arange(3)), TypeError);
  CHECK_THROWS_AS(bracketed_root(f, cast(a, DType::float16), 5.0), TypeError);
  CHECK_THROWS_AS(bracketed_root(f, a, ones({3})), ShapeError);
  CHECK_THROWS_AS(bracketed_root(f, Tensor(), 1.0), ValueError);
  CHECK_THROWS_AS(bracketed_root(f, a, 5.0, {.tolerance = std::nan("")}), ValueError);
  CHECK_THROWS_AS(bracketed_root(f, a, 5.0, {.absolute_tolerance = -1}), ValueError);
  CHECK_THROWS_WITH(compile([&](const Tensor& x) { return bracketed_root(f, x, 5.0); })(a),
                    Catch::StartsWith("bracketed_root: it reads"));
  // Derivatives notice equations of several unknowns.
  const auto coupled = [](const Tensor& t) {
    return bracketed_root([t](const Tensor& x) { return x + 0.25 * flip(x) - t; }, full({2}, -3.0), 3.0);
  };
  const Tensor t = tensor({1., 1.});
  CHECK(largest(coupled(t) - 0.8) < 1e-15);
  CHECK_THROWS_WITH(
      jvp(coupled, t, tensor({1., 0.})),
      Contains("bracketed_root: element k of the function depends on other elements of x than k; use root"));
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
