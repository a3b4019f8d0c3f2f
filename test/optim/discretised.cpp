// root and minimum with default options on discretised differential equations, whose Jacobians have condition numbers
// of n^2, so that gmres stagnates: values and derivatives against dense linear algebra.
#include <reel/compile.hpp>
#include <reel/linalg.hpp>
#include <reel/solve/equations.hpp>

#include "catch.hpp"
#include "support/numbers.hpp"

using namespace reel;
using Catch::Contains;
using support::largest;

namespace {

// -u'' + wind u' on n points inside of (0, 1), zero at the ends.
Tensor derivatives(const Tensor& u, double wind) {
  const std::int64_t n = u.shape()[0];
  const double inverse_width = static_cast<double>(n + 1);
  const Tensor end = zeros_like(slice(u, {range(0, 1)})), padded = concatenate({end, u, end}, 0);
  const Tensor left = slice(padded, {range(0, n)}), right = slice(padded, {range(2, n + 2)});
  return (2 * u - left - right) * (inverse_width * inverse_width) + (right - left) * (wind * inverse_width / 2);
}
Tensor equation(const Tensor& u, const Tensor& f, double wind) { return derivatives(u, wind) + u * u * u - f; }
Tensor energy(const Tensor& u, const Tensor& f) {
  return sum(0.5 * u * derivatives(u, 0) + 0.25 * square(square(u)) - f * u);
}
Tensor force(std::int64_t n) { return 1 + 10 * square(linspace(0.0, 1.0, n)); }

Tensor solution(const Tensor& f, double wind = 0) {
  return root([f, wind](const Tensor& u) { return equation(u, f, wind); }, zeros_like(f));
}
Tensor lowest(const Tensor& f) {
  return minimum([f](const Tensor& u) { return energy(u, f); }, zeros_like(f));
}
// By Newton's method with dense factorisations.
Tensor dense_solution(const Tensor& f, double wind, Tensor& matrix) {
  const auto residual = [&](const Tensor& u) { return equation(u, f, wind); };
  Tensor u = zeros_like(f);
  for (int k = 0; k < 12; ++k) {
    matrix = jacobian(residual)(u);
    u = u - solve(matrix, residual(u));
  }
  return u;
}
double error(const Tensor& x, const Tensor& right) { return largest(x - right) / largest(right); }

}  // namespace

TEST_CASE("root and minimum solve discretised differential equations, with their gradients") {
  for (const std::int64_t n : {15, 63, 255, 1000}) {
    INFO("n " << n);
    const double condition = static_cast<double>(n * n), unit = 0x1p-53;
    const Tensor f = force(n);
    for (const double wind : {0., 30.}) {
      if (n == 1000 && wind != 0) continue;
      Tensor matrix;
      const Tensor u = dense_solution(f, wind, matrix), slope = solve(transpose(matrix), 2 * u);
      const auto loss = [&](const Tensor& x) { return sum(square(solution(x, wind))); };
      CHECK(error(solution(f, wind), u) < condition * unit);
      CHECK(error(grad(loss)(f), slope) < 16 * condition * unit);
      if (n < 1000) CHECK(std::abs(jvp(loss, f, f).second.item() / dot(slope, f).item() - 1) < 16 * condition * unit);
      if (wind != 0) continue;
      CHECK(error(lowest(f), u) < condition * unit);
      CHECK(error(grad([](const Tensor& x) { return sum(square(lowest(x))); })(f), slope) < 16 * condition * unit);
    }
  }
}

TEST_CASE("discretised equations: compiled, in float32, in two dimensions, second derivatives") {
  const Tensor f = force(63);
  Tensor matrix;
  const Tensor u = dense_solution(f, 0, matrix), slope = solve(transpose(matrix), 2 * u);
  const auto compiled = compile([](const Tensor& v, const Tensor& g) { return equation(v, g, 0); });
  const auto loss = [&](const Tensor& g) {
    return sum(square(root([g, compiled](const Tensor& v) { return compiled(v, g); }, zeros_like(g))));
  };
  CHECK(error(grad(loss)(f), slope) < 1e-11);
  const Tensor f32 = cast(f, DType::float32);
  CHECK(error(cast(solution(f32), DType::float64), u) < 1e-4);
  CHECK(error(cast(lowest(f32), DType::float64), u) < 1e-4);
  CHECK(error(cast(grad([](const Tensor& g) { return sum(square(solution(g))); })(f32), DType::float64), slope) < 1e-3);
  CHECK(error(cast(grad([](const Tensor& g) { return sum(square(lowest(g))); })(cast(force(255), DType::float32)),
                   DType::float64),
              grad([](const Tensor& g) { return sum(square(lowest(g))); })(force(255))) < 1e-2);
  // The Hessian's product with f against the difference of gradients.
  const auto squares = [](const Tensor& g) { return sum(square(solution(g))); };
  const double h = 1e-4;
  const Tensor difference = (grad(squares)((1 + h) * f) - grad(squares)((1 - h) * f)) / (2 * h);
  CHECK(error(hvp(squares)(f, f), difference) < 1e-6);
  // A membrane of 16 by 16 points: all axes are one vector.
  const auto membrane = [](const Tensor& g) {
    return root(
        [g](const Tensor& v) { return derivatives(v, 0) + transpose(derivatives(transpose(v), 0)) + exp(v) - g; },
        zeros({16, 16}));
  };
  const Tensor load = outer(force(16), force(16)), v = membrane(load);
  CHECK(largest(derivatives(v, 0) + transpose(derivatives(transpose(v), 0)) + exp(v) - load) < 1e-11);
  const Tensor weights = grad([&](const Tensor& g) { return sum(membrane(g)); })(load);
  CHECK(largest(derivatives(weights, 0) + transpose(derivatives(transpose(weights), 0)) + exp(v) * weights - 1) <
        1e-11);
}

TEST_CASE("equations that no linear solver solves name the options of the linear systems") {
  // No ends: constants are in the null space, and the right-hand side is outside of the range.
  const EquationFunction ring = [](const Tensor& u) { return 2 * u - roll(u, 1, 0) - roll(u, -1, 0) - 1; };
  CHECK_THROWS_WITH(root(ring, zeros({64})), Contains("the Jacobian is singular") && Contains("linear.tolerance is"));
  CHECK_THROWS_WITH(
      grad([](const Tensor& t) {
        return sum(root([t](const Tensor& u) { return 2 * u - roll(u, 1, 0) - roll(u, -1, 0) - t; }, zeros({64})));
      })(zeros({64})),
      Contains("root: no convergence") && Contains("linear.preconditioner"));
  // A limit of products of the user's is kept.
  CHECK_THROWS_WITH(root([f = force(63)](const Tensor& u) { return equation(u, f, 0); }, zeros({63}),
                         {.max_iterations = 2, .linear = {.max_iterations = 5}}),
                    Contains("root: no"));
}
