// bracketed_root: roots of many equations, derivatives to order 3, when it stops, in both dtypes, which element an
// error names, what derivatives notice.
#include <bit>
#include <cmath>
#include <reel/compile.hpp>
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
