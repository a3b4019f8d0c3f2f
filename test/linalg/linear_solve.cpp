// Solutions of linear systems given as operators: what the methods find, why they stop, and implicit derivatives by b,
// captured tensors and variables, in both modes and to every order, compared with those of a dense solve.
#include <cmath>
#include <limits>
#include <reel/compile.hpp>
#include <reel/linalg.hpp>
#include <string>
#include <utility>

#include "catch.hpp"
#include "linalg/check.hpp"
#include "support/numbers.hpp"

using namespace reel;
using Catch::Contains;
using support::largest;

namespace {

Tensor drawn(const Shape& shape, const char* seed) { return support::Random(seed).tensor(shape); }
Tensor general(std::int64_t n) { return drawn({n, n}, "a") + 4 * eye(n); }
Tensor positive(std::int64_t n) {
  const Tensor x = drawn({n, n}, "p");
  return matmul(x, x, {.transpose_b = true}) + 2 * eye(n);
}
LinearOperator times(const Tensor& a) {
  return [a](const Tensor& v) { return matmul(a, v); };
}
const IterativeOptions exact = {.tolerance = 1e-14};

using Method = IterativeResult (*)(const LinearOperator&, const Tensor&, const IterativeOptions&);

}  // namespace

TEST_CASE("Krylov methods solve and report the residual") {
  const Tensor b = drawn({40}, "b");
  struct Case {
    Method method;
    Tensor a;
  };
  for (const Case& c : {Case{cg, positive(40)}, {gmres, general(40)}, {bicgstab, general(40)}}) {
    const Method method = c.method;
    const Tensor& a = c.a;
    const IterativeResult r = method(times(a), b, {.tolerance = 1e-12});
    CHECK(r.converged());
    CHECK(r.iterations > 3);
    CHECK(r.iterations <= 120);
    const double residual = norm(matmul(a, r.x) - b).item();
    CHECK(residual <= 3e-12 * norm(b).item());
    CHECK(r.residual <= 1e-12 * norm(b).item());
    CHECK(largest(r.x - solve(a, b)) < 1e-10);
    // Starting at the solution takes no iteration; a zero right side has a zero solution.
    CHECK(method(times(a), b, {.tolerance = 1e-8, .initial = r.x}).iterations == 0);
    CHECK(largest(method(times(a), zeros({40}), {}).x) == 0);
    // A vector of any shape, in float32.
    const IterativeResult narrow = method(
        [&](const Tensor& v) {
          return reshape(matmul(cast(a, DType::float32), reshape(v, {40})), {5, 8});
        },
        cast(reshape(b, {5, 8}), DType::float32), {});
    CHECK(narrow.converged());
    CHECK(narrow.x.dtype() == DType::float32);
    CHECK(largest(reshape(narrow.x, {40}) - solve(a, b)) < 1e-2);
    // Why it stopped.
    const IterativeResult few = method(times(a), b, {.tolerance = 1e-12, .max_iterations = 3});
    CHECK(few.reason == IterativeStop::iteration_limit);
    CHECK(few.iterations <= 4);
    const Tensor nan = full({40}, std::numeric_limits<double>::quiet_NaN());
    CHECK(method(times(a), nan, {}).reason == IterativeStop::not_a_number);
    CHECK(method(times(a * std::numeric_limits<double>::quiet_NaN()), b, {}).reason == IterativeStop::not_a_number);
  }
  CHECK(cg(times(-1.0 * positive(5)), drawn({5}, "b"), {}).reason == IterativeStop::breakdown);
  CHECK(gmres(times(zeros({3, 3})), ones({3}), {}).reason == IterativeStop::breakdown);
  CHECK(bicgstab(times(zeros({3, 3})), ones({3}), {}).reason == IterativeStop::breakdown);
  // A regular matrix whose first product is orthogonal to b: gmres needs all directions, and finds the solution.
  const Tensor cycle = tensor({{0, 1, 0}, {0, 0, 1}, {1, 0, 0}});
  CHECK(largest(gmres(times(cycle), tensor({1, 0, 0}), {}).x - tensor({0, 1, 0})) < 1e-14);
  CHECK(to_string(IterativeStop::breakdown) == "breakdown");
}

TEST_CASE("gmres reports convergence only at its tolerance; linear_solve throws otherwise") {
  // The basis loses orthogonality by rounding, so the estimated residual reaches zero long before the true one.
  const Tensor a = diag(pow(10.0, linspace(-16.0, 0.0, 120))), b = ones({120});
  const IterativeOptions options = {.tolerance = 1e-12, .restart = 200};
  const IterativeResult r = gmres(times(a), b, options);
  const double residual = norm(b - matmul(a, r.x)).item();
  CHECK(r.residual == Approx(residual).epsilon(1e-3));
  CHECK(r.converged() == (residual <= 1.01e-12 * norm(b).item()));
  if (r.converged())
    CHECK_NOTHROW(linear_solve(times(a), b, options));
  else
    CHECK_THROWS_WITH(linear_solve(times(a), b, options), Contains("no convergence"));
  // Cycles that are too short for the operator make no progress: the second is not started.
  const Tensor cycle = roll(eye(6), 1, 0);
  const IterativeResult short_cycles = gmres(times(cycle), one_hot(0, 6), {.restart = 3});
  CHECK(short_cycles.reason == IterativeStop::breakdown);
  CHECK(short_cycles.iterations == 3);
}

TEST_CASE("Krylov methods solve systems of every magnitude, and refuse infinity") {
  const double inf = std::numeric_limits<double>::infinity();
  const LinearOperator twice = [](const Tensor& v) { return 2 * v; };
  for (const Method method : {cg, gmres, bicgstab}) {
    for (const double size : {1e-300, 1e-200, 1e200, 1e307}) {
      INFO("size " << size);
      const Tensor b = size * tensor({1, 2, -3});
      for (const Tensor& initial : {Tensor(), Tensor(zeros({3})), b}) {
        const IterativeResult r = method(twice, b, {.initial = initial});
        CHECK(r.converged());
        CHECK(largest(r.x / size - tensor({0.5, 1, -1.5})) < 1e-15);
      }
      CHECK(method(twice, b, {.absolute_tolerance = 10 * size}).iterations == 0);
    }
    for (const float size : {1e-23F, 1e-38F, 1e25F, 1e38F}) {
      const Tensor b = size * tensor<float>({1, 2, -3});
      const IterativeResult r = method(twice, b, {});
      CHECK(r.converged());
      CHECK(largest(cast(r.x / b, DType::float64) - 0.5) < 1e-6);
    }
    for (const double bad : {inf, -inf}) {
      CHECK(method(twice, tensor({1, bad}), {}).reason == IterativeStop::not_a_number);
      CHECK(method(twice, ones({2}), {.initial = tensor({1, bad})}).reason == IterativeStop::not_a_number);
      CHECK(method([bad](const Tensor& v) { return v * bad; }, ones({2}), {}).reason == IterativeStop::not_a_number);
    }
    CHECK(method(twice, zeros({0}), {}).converged());
  }
}

TEST_CASE("preconditioners and restarts") {
  const Tensor scale = exp(5 * drawn({60}, "scale")), a = positive(60) * outer(scale, scale), b = drawn({60}, "b");
  const Tensor diagonal_of = diagonal(a);
  const LinearOperator jacobi = [&](const Tensor& r) { return r / diagonal_of; };
  const IterativeOptions with = {.tolerance = 1e-10, .max_iterations = 2000, .preconditioner = jacobi};
  const IterativeResult plain = cg(times(a), b, {.tolerance = 1e-10, .max_iterations = 2000}),
                        better = cg(times(a), b, with);
  CHECK(better.converged());
  CHECK(better.iterations < plain.iterations / 2);
  for (const Method method : {gmres, bicgstab})
    CHECK(method(times(general(60) + 10 * eye(60)), b,
                 {.tolerance = 1e-10, .preconditioner = [](const Tensor& r) { return r / 4; }, .restart = 5})
              .converged());
}

TEST_CASE("implicit derivatives by b and by captured tensors agree with a dense solve, to order 3") {
  const Tensor a = general(3), p = positive(3), b = drawn({3}, "b");
  const auto check_against_solve = [&](const support::Function& iterative, const support::Function& dense,
                                       const support::Tensors& x) {
    support::Function f = iterative, g = dense;
    for (int order = 0; order < 3; ++order) {
      support::Random random("directions");
      const support::Tensors y = g(x), v = random.like(y), t = random.like(x);
      INFO("order " << order);
      CHECK(support::difference(f(x), y).error < 1e-11);
      CHECK(support::difference(support::pull(f, x, v), support::pull(g, x, v)).error < 1e-10);
      CHECK(support::difference(support::push(f, x, t), support::push(g, x, t)).error < 1e-10);
      f = support::gradient_of(f, v);
      g = support::gradient_of(g, v);
    }
  };
  using X = support::Tensors;
  const auto dense = [](const X& x) { return X{solve(x[0], x[1])}; };
  check_against_solve([](const X& x) { return X{linear_solve(times(x[0]), x[1], exact)}; }, dense, {a, b});
  check_against_solve([](const X& x) { return X{gmres(times(x[0]), x[1], exact).x}; }, dense, {a, b});
  check_against_solve([](const X& x) { return X{bicgstab(times(x[0]), x[1], exact).x}; }, dense, {a, b});
  const auto symmetric = [](const Tensor& m) { return 0.5 * (m + transpose(m)); };
  check_against_solve([&](const X& x) { return X{cg(times(symmetric(x[0])), x[1], exact).x}; },
                      [&](const X& x) { return X{solve(symmetric(x[0]), x[1])}; }, {p, b});
  // A user-defined solver, which is never differentiated.
  const LinearSolver own = [](const LinearOperator& product, const Tensor& right) {
    std::vector<Tensor> columns;
    for (std::int64_t i = 0; i < right.size(); ++i) columns.push_back(product(one_hot(i, right.size())));
    return solve(stop_gradient(stack(columns, 1)), stop_gradient(right));
  };
  check_against_solve([&](const X& x) { return X{linear_solve(times(x[0]), x[1], own)}; }, dense, {a, b});
  check_against_solve([&](const X& x) { return X{linear_solve(times(symmetric(x[0])), x[1], own, true)}; },
                      [&](const X& x) { return X{solve(symmetric(x[0]), x[1])}; }, {p, b});
  // Operators that are not linear in what they read, and a preconditioner that depends on it too.
  check_against_solve(
      [](const X& x) {
        const Tensor d = exp(x[0]);
        return X{gmres([d](const Tensor& v) { return d * v + 0.25 * roll(v, 1, 0) * d; }, sin(x[1]),
                       {.tolerance = 1e-14, .preconditioner = [d](const Tensor& r) { return r / d; }})
                     .x};
      },
      [](const X& x) {
        const Tensor d = expand_dims(exp(x[0]), 1);
        return X{solve(d * (eye(3) + 0.25 * roll(eye(3), 1, 0)), sin(x[1]))};
      },
      {drawn({3}, "d"), b});
}

TEST_CASE("a solver that needs no product: derivatives by what the operator reads, at the right side 0 too") {
  const Tensor a = general(3), t = drawn({3, 3}, "t"), db = drawn({3}, "db"), w = drawn({3}, "w");
  const Tensor inverted = inverse(a);
  const LinearSolver prepared = [inverted](const LinearOperator&, const Tensor& b) { return matmul(inverted, b); };
  // By both at once: d^2 x = -2 a^-1 t a^-1 db, if b = 0.
  const Tensor expected = -2.0 * solve(a, matmul(t, solve(a, db)));
  const auto check = [&](const auto& solution) {
    const auto along = [&](const Tensor& s) { return solution(a + s * t, s * db); };
    const auto first = [&](const Tensor& s) { return jvp(along, s, scalar(1.0)).second; };
    CHECK(largest(jvp(first, scalar(0.0), scalar(1.0)).second - expected) < 1e-11);
    const auto pulled = [&](const Tensor& s) { return grad([&](const Tensor& r) { return sum(w * along(r)); })(s); };
    CHECK(jvp(pulled, scalar(0.0), scalar(1.0)).second.item() == Approx(sum(w * expected).item()).epsilon(1e-10));
    const auto by_a = [&](const Tensor& s) {
      return grad([&](const Tensor& m) { return sum(w * solution(m, s * db)); })(a);
    };
    const Tensor outward = -outer(solve(transpose(a), w), solve(a, db));
    CHECK(largest(jvp(by_a, scalar(0.0), scalar(1.0)).second - outward) < 1e-11);
  };
  check([](const Tensor& m, const Tensor& b) { return gmres(times(m), b, exact).x; });
  check([](const Tensor& m, const Tensor& b) { return bicgstab(times(m), b, exact).x; });
  check([](const Tensor& m, const Tensor& b) { return linear_solve(times(m), b, exact); });
  const Tensor b = drawn({3}, "b");
  const auto by_prepared = [&](const Tensor& m) { return sum(w * linear_solve(times(m), b, prepared)); };
  // With its transpose the prepared solver would need another matrix: forward mode alone.
  CHECK(jvp(by_prepared, a, t).second.item() == Approx(-sum(w * solve(a, matmul(t, solve(a, b)))).item()));
}

TEST_CASE("a tensor that a solver captured and returns is not the solution that the tape follows") {
  const Tensor known = drawn({3}, "k"), b = 2.0 * known;
  bool first = true;
  const LinearSolver solver = [&](const LinearOperator&, const Tensor& r) {
    return std::exchange(first, false) ? known : 0.5 * r;
  };
  GradientTape tape({.persistent = true});
  tape.watch(std::vector<Tensor>{known, b});
  const Tensor x = linear_solve([](const Tensor& v) { return 2.0 * v; }, b, solver);
  CHECK(array_equal(x, known));
  CHECK(!tape.gradient(sum(x), known));
  CHECK(array_equal(*tape.gradient(sum(x), b), full({3}, 0.5)));
}

TEST_CASE("implicit derivatives find variables that the operator reads") {
  const Variable w(general(3), "w");
  const Tensor b = drawn({3}, "b");
  GradientTape tape({.persistent = true});
  tape.watch(b);
  const Tensor y = sum(square(linear_solve([&](const Tensor& v) { return matmul(w, v); }, b, exact)));
  const Tensor expected = sum(square(solve(w, b)));
  tape.stop();
  CHECK(largest(*tape.gradient(y, w) - *tape.gradient(expected, w)) < 1e-12);
  CHECK(largest(*tape.gradient(y, b) - *tape.gradient(expected, b)) < 1e-12);
}

TEST_CASE("the gradient of linear_solve solves with the values that variables had") {
  const auto divide = [](const LinearOperator& a, const Tensor& b) { return b / a(ones({2})); };
  for (const bool trainable : {true, false}) {
    Variable w(tensor({2., 4.}), "w", trainable);
    const Tensor b = ones({2});
    GradientTape tape;
    tape.watch(b);
    const ForwardAccumulator along(b, b);
    const Tensor x = linear_solve([w](const Tensor& v) { return w * v; }, b, divide);
    w.assign(full({2}, 10.));
    CHECK(tape.gradient(x, b).dense().to_vector<double>() == std::vector{.5, .25});
    CHECK(along.jvp(x).dense().to_vector<double>() == std::vector{.5, .25});
  }
}

TEST_CASE("the gradient costs one solve with the transpose and one product, whatever the number of iterations") {
  const Tensor a = general(30), b = drawn({30}, "b");
  int products = 0;
  const LinearOperator counted = [&](const Tensor& v) {
    ++products;
    return matmul(a, v);
  };
  GradientTape tape;
  tape.watch(a);
  const IterativeResult r = gmres(counted, b, {.tolerance = 1e-10, .restart = 40});
  const int forward = products;
  CHECK(forward <= r.iterations + 3);
  CHECK(tape.stats().entries < 4);
  const Tensor g = *tape.gradient(sum(r.x), a);
  CHECK(products - forward <= r.iterations + 6);
  CHECK(largest(g + outer(solve(transpose(a), ones({30})), r.x)) < 1e-8);
}

TEST_CASE("values of linear_solve do not depend on a tape") {
  const Tensor a = general(20), b = drawn({20}, "b");
  const Tensor alone = gmres(times(a), b).x;
  GradientTape tape;
  tape.watch(std::vector<Tensor>{a, b});
  CHECK(array_equal(gmres(times(a), b).x, alone));
}

TEST_CASE("errors of linear_solve name the cause") {
  const auto traced = [](const auto& method) {
    return compile([=](const Tensor& b) { return method([](const Tensor& v) { return 2.0 * v; }, b); });
  };
  const auto x_of = [](Method method) {
    return [method](const LinearOperator& a, const Tensor& b) { return method(a, b, {}).x; };
  };
  CHECK_THROWS_WITH(traced(x_of(cg))(ones({2})), Catch::StartsWith("cg: it reads elements"));
  CHECK_THROWS_WITH(traced(x_of(gmres))(ones({2})), Catch::StartsWith("gmres: it reads elements"));
  CHECK_THROWS_WITH(traced(x_of(bicgstab))(ones({2})), Catch::StartsWith("bicgstab: it reads elements"));
  CHECK_THROWS_WITH(traced([](const LinearOperator& a, const Tensor& b) { return linear_solve(a, b); })(ones({2})),
                    Catch::StartsWith("linear_solve: it reads elements"));
  const Tensor a = general(3), b = ones({3});
  CHECK_THROWS_WITH(cg({}, b), Contains("cg: the operator is empty"));
  CHECK_THROWS_WITH(cg(times(a), Tensor()), Contains("cg: "));
  CHECK_THROWS_WITH(gmres(times(a), ones({3}, DType::int32)), Contains("gmres: b is int32"));
  CHECK_THROWS_WITH(gmres([](const Tensor& v) { return sum(v); }, b), Contains("the operator turns shape [3] into []"));
  CHECK_THROWS_WITH(gmres([](const Tensor& v) { return cast(v, DType::float32); }, b), Contains("cast its result"));
  CHECK_THROWS_WITH(bicgstab(times(a), b, {.tolerance = std::nan("")}), Contains("bicgstab: tolerances are"));
  CHECK_THROWS_WITH(gmres(times(a), b, {.restart = 0}), Contains("restart is 0"));
  CHECK_THROWS_WITH(cg(times(a), b, {.initial = ones({2})}), Contains("cg: initial is [2]"));
  CHECK_THROWS_WITH(linear_solve(times(zeros({3, 3})), b),
                    Contains("linear_solve: no convergence") && Contains("breakdown"));
  CHECK_THROWS_WITH(linear_solve(times(a), b, LinearSolver()), Contains("the solver is empty"));
  // The error occurs in the gradient: b is in the range of the singular operator, so the solution was found.
  const Tensor singular = tensor({{1, 0}, {0, 0}});
  GradientTape tape;
  const Tensor right = tensor({1, 0});
  tape.watch(right);
  const Tensor x = gmres(times(singular), right).x;
  CHECK_THROWS_WITH(tape.gradient(sum(x), right), Contains("gmres: no convergence"));
}
