// The minimisers on the problems of More, Garbow and Hillstrom, "Testing unconstrained optimization software", ACM
// Transactions on Mathematical Software 7, 1981, from their three starts; published minima. And what goes round them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <reel/minimize.hpp>
#include <reel/ops/parts.hpp>
#include <reel/reel.hpp>
#include <reel/runtime.hpp>
#include <vector>

#include "../catch.hpp"
#include "support/bits.hpp"

using namespace reel;
using Catch::Contains;

namespace {

// Residuals of a problem; the function is the sum of their squares.
struct Problem {
  const char* name;
  std::vector<double> start;
  std::vector<double> minima;  // published values, the global one first; then where far starts lead
  Tensor (*residuals)(const Tensor& x);
  double floor = 0;  // of a valley so narrow and curved that a method may stop in it: below this it need not converge
  double cg_floor = 0;      // the same for nonlinear_cg
  bool slow_by_cg = false;  // ten thousand evaluations and more
};

Tensor numbers(int count, double first = 1, double step = 1) {  // first, first + step, ...
  return arange(static_cast<double>(count)) * step + first;
}
Tensor both(const Tensor& a, const Tensor& b) { return concatenate({reshape(a, {-1}), reshape(b, {-1})}, 0); }
Tensor row(std::initializer_list<Tensor> x) { return stack(std::vector<Tensor>(x), 0); }
Tensor observed(std::vector<double> y) { return from_data(y); }

Tensor helical_valley(const Tensor& x) {
  const Tensor theta = arctan2(x[1], x[0]) / (2 * std::numbers::pi);
  return row({10 * (x[2] - 10 * theta), 10 * (hypot(x[0], x[1]) - 1), x[2]});
}
Tensor biggs(const Tensor& x) {
  const Tensor t = numbers(13, 0.1, 0.1);
  const Tensor y = exp(-t) - 5 * exp(-10 * t) + 3 * exp(-4 * t);
  return x[2] * exp(-t * x[0]) - x[3] * exp(-t * x[1]) + x[5] * exp(-t * x[4]) - y;
}
Tensor gaussian(const Tensor& x) {
  const Tensor t = numbers(15, 3.5, -0.5);
  const Tensor y = observed(
      {.0009, .0044, .0175, .0540, .1295, .2420, .3521, .3989, .3521, .2420, .1295, .0540, .0175, .0044, .0009});
  return x[0] * exp(-x[1] * square(t - x[2]) / 2) - y;
}
Tensor powell_badly_scaled(const Tensor& x) { return row({1e4 * x[0] * x[1] - 1, exp(-x[0]) + exp(-x[1]) - 1.0001}); }
Tensor box(const Tensor& x) {
  const Tensor t = numbers(10, 0.1, 0.1);
  return exp(-t * x[0]) - exp(-t * x[1]) - x[2] * (exp(-t) - exp(-10 * t));
}
Tensor variably_dimensioned(const Tensor& x) {
  const Tensor s = sum(numbers(static_cast<int>(x.size())) * (x - 1));
  return both(x - 1, row({s, square(s)}));
}
Tensor watson(const Tensor& x) {
  const int n = static_cast<int>(x.size());
  const Tensor t = reshape(numbers(29) / 29., {29, 1}), j = numbers(n, 0);
  const Tensor powers = power(t, j);
  const Tensor slopes = concatenate({zeros({29, 1}), numbers(n - 1) * slice(powers, {all, range(0, n - 1)})}, 1);
  const Tensor r = matmul(slopes, x) - square(matmul(powers, x)) - 1;
  return both(r, row({x[0], x[1] - square(x[0]) - 1}));
}
Tensor penalty_1(const Tensor& x) { return both(std::sqrt(1e-5) * (x - 1), row({sum(square(x)) - 0.25})); }
Tensor penalty_2(const Tensor& x) {
  const int n = static_cast<int>(x.size());
  const double a = std::sqrt(1e-5);
  const Tensor e = exp(x / 10.);
  const Tensor i = numbers(n - 1, 2);
  const Tensor y = exp(i / 10.) + exp((i - 1) / 10.);
  const Tensor tail = slice(e, {range(1, n)});
  const Tensor first = a * (tail + slice(e, {range(0, n - 1)}) - y), second = a * (tail - std::exp(-0.1));
  const Tensor last = sum(numbers(n, n, -1) * square(x)) - 1;
  return concatenate({row({x[0] - 0.2}), first, second, row({last})}, 0);
}
Tensor brown_badly_scaled(const Tensor& x) { return row({x[0] - 1e6, x[1] - 2e-6, x[0] * x[1] - 2}); }
Tensor brown_dennis(const Tensor& x) {
  const Tensor t = numbers(20) / 5.;
  return square(x[0] + t * x[1] - exp(t)) + square(x[2] + x[3] * sin(t) - cos(t));
}
Tensor gulf(const Tensor& x) {
  const Tensor t = numbers(99) / 100.;
  const Tensor y = 25 + power(-50 * log(t), 2. / 3);
  return exp(-power(abs(y - x[1]), x[2]) / x[0]) - t;
}
Tensor trigonometric(const Tensor& x) {
  const int n = static_cast<int>(x.size());
  return n - sum(cos(x)) + numbers(n) * (1 - cos(x)) - sin(x);
}
Tensor rosenbrock(const Tensor& x) {
  const Tensor pairs = reshape(x, {-1, 2});
  const Tensor odd = pairs(all, 0), even = pairs(all, 1);
  return both(10 * (even - square(odd)), 1 - odd);
}
Tensor powell_singular(const Tensor& x) {
  const Tensor q = reshape(x, {-1, 4});
  const Tensor a = q(all, 0), b = q(all, 1), c = q(all, 2), d = q(all, 3);
  return both(both(a + 10 * b, std::sqrt(5.) * (c - d)), both(square(b - 2 * c), std::sqrt(10.) * square(a - d)));
}
Tensor beale(const Tensor& x) {
  const Tensor powers = power(x[1], numbers(3));
  return observed({1.5, 2.25, 2.625}) - x[0] * (1 - powers);
}
Tensor wood(const Tensor& x) {
  return row({10 * (x[1] - square(x[0])), 1 - x[0], std::sqrt(90.) * (x[3] - square(x[2])), 1 - x[2],
              std::sqrt(10.) * (x[1] + x[3] - 2), (x[1] - x[3]) / std::sqrt(10.)});
}
Tensor chebyquad(const Tensor& x) {
  const int n = static_cast<int>(x.size());
  const Tensor y = 2 * x - 1;
  std::vector<Tensor> t{ones_like(y), y};
  for (int i = 2; i <= n; ++i)
    t.push_back(2 * y * t[static_cast<std::size_t>(i) - 1] - t[static_cast<std::size_t>(i) - 2]);
  std::vector<Tensor> r;
  for (int i = 1; i <= n; ++i) r.push_back(mean(t[static_cast<std::size_t>(i)]) + (i % 2 ? 0. : 1. / (i * i - 1)));
  return stack(r, 0);
}

std::vector<double> repeated(std::vector<double> pattern, int times) {
  std::vector<double> all;
  for (int i = 0; i < times; ++i) all.insert(all.end(), pattern.begin(), pattern.end());
  return all;
}
std::vector<double> fractions(int n, double numerator, double denominator) {  // numerator i / denominator
  std::vector<double> x;
  for (int i = 1; i <= n; ++i) x.push_back(numerator * i / denominator);
  return x;
}

const std::vector<Problem> problems{
    {"helical valley", {-1, 0, 0}, {0}, helical_valley},
    {"Biggs EXP6", {1, 2, 1, 1, 1, 1}, {0, 5.65565e-3}, biggs},
    {"Gaussian", {.4, 1, 0}, {1.12793e-8}, gaussian},
    {"Powell badly scaled", {0, 1}, {0}, powell_badly_scaled, 2e-8, 2e-8},
    {"Box", {0, 10, 20}, {0, 7.55887e-2}, box},
    {"variably dimensioned", {.9, .8, .7, .6, .5, .4, .3, .2, .1, 0}, {0}, variably_dimensioned},
    {"Watson 6", repeated({0}, 6), {2.28767e-3}, watson},
    {"Watson 9", repeated({0}, 9), {1.39976e-6}, watson, 0, 0, true},
    {"penalty I 4", {1, 2, 3, 4}, {2.24997e-5}, penalty_1},
    {"penalty I 10", fractions(10, 1, 1), {7.08765e-5}, penalty_1},
    {"penalty II 4", repeated({.5}, 4), {9.37629e-6}, penalty_2},
    {"penalty II 10", repeated({.5}, 10), {2.93660e-4}, penalty_2, 0, 0, true},
    {"Brown badly scaled", {1, 1}, {0}, brown_badly_scaled, 0, 1e-11},
    {"Brown and Dennis", {25, 5, -5, -1}, {85822.2}, brown_dennis},
    {"Gulf", {5, 2.5, .15}, {0, 32.835}, gulf, 0, 0, true},
    {"trigonometric 10", repeated({.1}, 10), {0, 2.79506e-5, 4.21863e-5}, trigonometric},
    {"extended Rosenbrock 20", repeated({-1.2, 1}, 10), {0}, rosenbrock},
    {"extended Powell singular 20", repeated({3, -1, 0, 1}, 5), {0}, powell_singular},
    {"Beale", {1, 1}, {0}, beale},
    {"Wood", {-3, -1, -3, -1}, {0}, wood},
    {"Chebyquad 8", fractions(8, 1, 9), {3.51687e-3, 3.55039}, chebyquad},
    {"Chebyquad 9", fractions(9, 1, 10), {0, 3.99123}, chebyquad},
};

}  // namespace

namespace {

MinimizeResult<Tensor> minimum_of(const Problem& p, const std::string& method, const Tensor& start) {
  const auto f = [&](const Tensor& x) { return sum(square(p.residuals(x))); };
  if (method == "lbfgs") return lbfgs(f, start);
  if (method == "newton_cg") return newton_cg(f, start);
  if (method == "nonlinear_cg") return nonlinear_cg(f, start);
  return gauss_newton(p.residuals, start);
}

// What is published has six digits.
bool is_minimum(double value, const std::vector<double>& published) {
  return std::any_of(published.begin(), published.end(), [&](double minimum) {
    return std::abs(value - minimum) <= 5e-6 * minimum + (minimum == 0 ? 1e-12 : 0);
  });
}

}  // namespace

TEST_CASE("published minima are found from the published starts") {
  for (const Problem& p : problems)
    for (const double scale : {1., 10., 100.})
      for (const std::string method : {"lbfgs", "newton_cg", "nonlinear_cg", "gauss_newton"}) {
        const bool from_far = method == "lbfgs" || method == "newton_cg";  // others may end in other minima
        if ((scale > 1 && !from_far) || (p.slow_by_cg && method == "nonlinear_cg")) continue;
        const auto found = minimum_of(p, method, from_data(p.start) * scale);
        INFO(p.name << ", " << method << ", start times " << scale << ": value " << found.value << ", "
                    << found.iterations << " iterations, " << to_string(found.reason));
        if (found.value < (method == "nonlinear_cg" ? p.cg_floor : p.floor)) continue;
        CHECK(found.converged());
        CHECK(found.value == Approx(sum(square(p.residuals(found.parameters))).item()).epsilon(1e-15));
        CHECK(is_minimum(found.value, p.minima));
      }
}

TEST_CASE("a banded problem of many unknowns is solved in few iterations") {
  const auto f = [](const Tensor& x) { return sum(square(rosenbrock(x))); };
  const Tensor start = reshape(broadcast_to(tensor({-1.2, 1.}), {50000, 2}), {-1});
  const auto quasi = lbfgs(f, start), newton = newton_cg(f, start);
  for (const auto* found : {&quasi, &newton}) {
    CHECK(found->converged());
    CHECK(found->value < 1e-12);
    CHECK(found->iterations < 60);
  }
}

TEST_CASE("products with Jacobians take a banded problem with conjugate gradients, few for each iteration") {
  const Tensor start = reshape(broadcast_to(tensor({-1.2, 1.}), {1000, 2}), {-1});
  const auto fit = gauss_newton(rosenbrock, start);
  CHECK(fit.converged());
  CHECK(fit.value < 1e-12);
  CHECK(fit.products < 4 * fit.iterations);
  const auto by_cg = nonlinear_cg([](const Tensor& x) { return sum(square(rosenbrock(x))); }, start);
  CHECK(by_cg.converged());
  CHECK(by_cg.value < 1e-12);
  CHECK(by_cg.iterations < 100);
}

TEST_CASE("directions of nonlinear_cg are Hager and Zhang's, and their bound") {
  int bounded = 0;
  const auto f = [](const Tensor& x) { return 1e6 * sum(square(biggs(x))); };
  const Tensor start = tensor({1., 2., 1., 1., 1., 1.});
  MinimizerState before, state;
  nonlinear_cg(f, start, {.max_iterations = 1, .state = &state});
  for (std::int64_t n = 2; n < 40; ++n) {
    before = state;
    nonlinear_cg(f, start, {.max_iterations = n, .state = &state});
    const Tensor d = before.vectors[0], y = before.vectors[1], g = before.gradient;
    const double along = sum(d * y).item(), size = norm(g).item();
    const double free = sum((y - 2 * d * (sum(y * y) / along)) * g).item() / along;
    const double least = -1 / (norm(d).item() * std::min(0.01, size));
    bounded += free < least;
    CHECK(max(abs(state.vectors[0] - (std::max(free, least) * d - g))).item() < 1e-9 * size);
  }
  CHECK(bounded > 0);
}

TEST_CASE("trial steps of nonlinear_cg follow the unit of the function") {
  // 20 iterations end before rounding decides how many trials a line takes.
  for (const double unit : {1e-5, 1., 1e6}) {
    const auto f = [unit](const Tensor& x) { return unit * sum(square(rosenbrock(x))); };
    const auto found = nonlinear_cg(f, reshape(broadcast_to(tensor({-1.2, 1.}), {10, 2}), {-1}),
                                    {.max_iterations = 20, .gradient_tolerance = 0});
    CHECK(found.value < 1e-6 * unit);
    CHECK(found.evaluations < 58);  // 52 to 55; 61 to 65 where each line begins with the same step
  }
}

TEST_CASE("where rounding hides the decrease slopes decide, and no trials are wasted") {
  const Tensor one = ones({20}), weights = numbers(20);
  // Values near 1e6 are known to 1e-10: by them alone a minimiser gets to 1e-5 of the minimum; near 1e7, to 4e-5.
  const auto above = [&](double least) {
    return [&, least](const Tensor& x) { return least + sum(weights * square(x - one)) / 2; };
  };
  const Tensor start = one + 1e-4 * sin(weights);
  const auto check = [&](const auto& found, double most) {
    INFO(found.evaluations << " evaluations, " << found.iterations << " iterations");
    CHECK(found.converged());
    CHECK(found.evaluations < 45);
    CHECK(max(abs(found.parameters - one)).template item<double>() < most);
  };
  check(lbfgs(above(1e6), start, {.gradient_tolerance = 1e-15}), 5e-6);
  check(nonlinear_cg(above(1e6), start, {.gradient_tolerance = 1e-15}), 5e-6);
  check(projected_lbfgs(above(1e7), start, full({20}, -2.), full({20}, 2.), {.gradient_tolerance = 1e-15}), 2e-5);
}

TEST_CASE("a model within bounds is that of the elements that are free") {
  constexpr int n = 30;
  std::vector<double> elements;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) elements.push_back(((i + j) % 3 == 0 ? 1.5 : 1) / (1 + std::abs(i - j)));
  const Tensor m = from_data(elements, {n, n}), q = matmul(m, m, {.transpose_a = true}) + 0.01 * eye(n);
  const Tensor c = sin(numbers(n, 0, 2));
  const auto f = [&](const Tensor& x) { return sum(x * matmul(q, x)) / 2 - sum(c * x); };
  const auto found = projected_lbfgs(f, zeros({n}), full({n}, -0.05), full({n}, 0.1), {.history = n});
  CHECK(found.converged());
  CHECK(found.evaluations <= 25);  // 154 where pairs have the elements that are bound, too
}

TEST_CASE("a large residual and one that does not depend on the parameters are no obstacle to gauss_newton") {
  // The mean: residuals stay.
  const auto from_mean = [](const Tensor& x) { return tensor({1., 2., 6.}) - x[0]; };
  const auto found = gauss_newton(from_mean, tensor({10., 5.}));
  CHECK(found.converged());
  CHECK(found.parameters[0].item() == Approx(3));
  CHECK(found.parameters[1].item() == 5);
  CHECK(found.value == Approx(14));
  // The gradient is that of the sum of squares.
  const auto by_gradient =
      lbfgs([&](const Tensor& x) { return sum(square(from_mean(x))); }, tensor({10., 5.}), {.max_iterations = 0});
  CHECK(gauss_newton(from_mean, tensor({10., 5.}), {.max_iterations = 0}).gradient_size ==
        Approx(by_gradient.gradient_size));
  CHECK_THROWS_AS(gauss_newton([](const Tensor& x) { return cast(x, DType::int64); }, tensor({1.})), TypeError);
  CHECK_THROWS_WITH(gauss_newton([](const Tensor& x) { return log(x); }, tensor({-1.})),
                    Contains("gauss_newton") && Contains("not finite at the start"));
}

TEST_CASE("bounds are trees, and hold what the gradient would take out of them") {
  struct Line {
    Tensor slope = scalar(0.), offsets = zeros({2});
    auto leaves() { return std::tie(slope, offsets); }
  };
  const auto f = [](const Line& line) {
    return square(line.slope - 3) + sum(square(line.offsets - tensor({1., -2.})));
  };
  constexpr double no_bound = std::numeric_limits<double>::infinity();
  const Line lower{scalar(-no_bound), tensor({0., 0.})}, upper{scalar(2.), full({2}, no_bound)};
  const auto seen = [&](const Line& line) {
    CHECK(line.slope.item() <= 2);
    CHECK(min(line.offsets).item() >= 0);
    return f(line);
  };
  const auto found = projected_lbfgs(seen, Line{scalar(50.), full({2}, -3.)}, lower, upper);
  CHECK(found.converged());
  CHECK(found.gradient_size < 1e-9);
  CHECK(found.parameters.slope.item() == 2);
  CHECK(found.parameters.offsets.to_vector()[0] == Approx(1));
  CHECK(found.parameters.offsets.to_vector()[1] == 0);
  CHECK(found.value == Approx(5));
  CHECK_THROWS_AS(projected_lbfgs(f, Line(), upper, lower), ValueError);
  CHECK_THROWS_AS(projected_lbfgs(f, Line(), tensor({0.}), tensor({1.})), ShapeError);
  CHECK_THROWS_AS(projected_lbfgs(f, Line(), lower, upper, {.history = 0}), ValueError);
  const auto limited = projected_lbfgs(f, Line(), lower, upper, {.max_iterations = 0});
  CHECK(limited.reason == StopReason::iteration_limit);
}

TEST_CASE("a tree is minimised as what it is") {
  struct Line {
    Tensor slope = scalar(0.f), offsets = zeros({2});
    auto leaves() { return std::tie(slope, offsets); }
  };
  const auto f = [](const Line& line) {
    return square(line.slope - 3) + sum(square(line.offsets - tensor({1., -2.})));
  };
  const MinimizeResult<Line> found = lbfgs(f, Line());
  CHECK(found.converged());
  CHECK(found.parameters.slope.dtype() == DType::float32);
  CHECK(found.parameters.slope.item() == Approx(3));
  CHECK(max(abs(found.parameters.offsets - tensor({1., -2.}))).item() < 1e-6);
  CHECK(newton_cg(f, Line()).parameters.slope.item() == Approx(3));
}

TEST_CASE("points that are not finite are stepped back from") {
  const auto f = [](const Tensor& x) { return sum(x - log(x)); };  // NaN for negative x, minimum at 1
  for (const double start : {1e-3, 50.}) {
    CHECK(lbfgs(f, full({2}, start)).value == Approx(2));
    CHECK(nonlinear_cg(f, full({2}, start)).value == Approx(2));
    CHECK(projected_lbfgs(f, full({2}, start), full({2}, -1.), full({2}, 60.)).value == Approx(2));
    CHECK(newton_cg(f, full({2}, start)).value == Approx(2));
  }
}

TEST_CASE("a point within bounds where the gradient is not finite is stepped back from") {
  const auto f = [](const Tensor& x) { return sum(sqrt(square(x - 1))); };  // NaN at 1
  CHECK_FALSE(std::isfinite(grad(f)(tensor({1.})).item()));
  const auto found = projected_lbfgs(f, tensor({3.}), tensor({-5.}), tensor({5.}));
  CHECK(found.value > 0);
  CHECK(found.value < 1e-10);
}

TEST_CASE("what a minimiser cannot work with is refused") {
  const auto f = [](const Tensor& x) { return sum(log(x)); };
  CHECK_THROWS_WITH(lbfgs(f, tensor({-1.})), Contains("not finite at the start"));
  CHECK_THROWS_WITH(newton_cg(f, tensor({-1.})), Contains("not finite at the start"));
  CHECK_THROWS_WITH(nonlinear_cg(f, tensor({-1.})), Contains("not finite at the start"));
  CHECK_THROWS_AS(nonlinear_cg(f, tensor({1.}), {.max_iterations = -1}), ValueError);
  CHECK_THROWS_AS(lbfgs(f, tensor({1.}), {.history = 0}), ValueError);
  CHECK_THROWS_AS(lbfgs(f, tensor({1.}), {.max_iterations = -1}), ValueError);
  CHECK_THROWS_AS(newton_cg(f, tensor({1.}), {.gradient_tolerance = NAN}), ValueError);
  CHECK_THROWS_AS(newton_cg(f, tensor({1.}), {.initial_radius = 0}), ValueError);
  CHECK_THROWS_AS(lbfgs([](const Tensor& x) { return x; }, tensor({1., 2.})), ShapeError);
  const auto limited = lbfgs([](const Tensor& x) { return sum(power(x, 4.)); }, tensor({3.}), {.max_iterations = 2});
  CHECK(limited.reason == StopReason::iteration_limit);
  CHECK(limited.iterations == 2);
  CHECK_FALSE(limited.converged());
}

TEST_CASE("complex leaves are refused, and minimised as pairs") {
  const Tensor goal = as_complex(tensor({{1., 1.}, {-2., 0.5}})), start = zeros({2}, DType::complex128);
  const auto distance = [&](const Tensor& z) { return sum(square(abs(z - goal))); };
  CHECK_THROWS_WITH(lbfgs(distance, start),
                    Contains("objective: a leaf of the tree is complex; start from as_real(z)"));
  const auto of_pairs = [&](const Tensor& x) { return distance(as_complex(x)); };
  CHECK_THROWS_AS(projected_lbfgs(of_pairs, as_real(start), start, start), TypeError);
  const auto best = lbfgs(of_pairs, as_real(start));
  CHECK(best.converged());
  CHECK(max(abs(as_complex(best.parameters) - goal)).item() < 1e-9);
}

TEST_CASE("a function without a minimum ends") {
  const auto f = [](const Tensor& x) { return sum(x); };
  CHECK_FALSE(lbfgs(f, ones({2}), {.max_iterations = 50}).reason == StopReason::stationary);
  CHECK(newton_cg(f, ones({2}), {.max_iterations = 50}).reason == StopReason::iteration_limit);
}

TEST_CASE("dot, norm and axpy of trees are those of their vectors") {
  using Tensors = std::vector<Tensor>;
  const Tensors x{tensor({1, -2}), scalar(3.0)}, y{tensor({0.5, 4}), scalar(-1.0)};
  const Tensor u = ravel(x).first, v = ravel(y).first;
  CHECK(dot(x, y).item<double>() == dot(u, v).item<double>());
  CHECK(norm(x).item<double>() == Approx(norm(u).item<double>()).epsilon(1e-15));
  CHECK(array_equal(ravel(axpy(2, x, y)).first, 2 * u + v));
  CHECK(norm(Tensors{tensor({3e200}), tensor({4e200})}).item<double>() == Approx(5e200));
  CHECK(norm(Tensors()).item<double>() == 0);
  CHECK(dot(Tensors(), Tensors()).item<double>() == 0);
  const Tensor z = make_complex(tensor({1}), tensor({2}));
  CHECK(real(dot(Tensors{z}, Tensors{z})).item<double>() == 5);
  CHECK_THROWS_AS(dot(x, Tensors{u}), ShapeError);
  CHECK_THROWS_AS(axpy(1, x, Tensors{y[1], y[0]}), ShapeError);
  GradientTape tape;
  tape.watch(x);
  const std::vector<Gradient> g = tape.gradient(norm(axpy(3, x, y)) + dot(x, y), x);
  const Tensor w = 3 * u + v, expected = 3 * w / norm(w) + v;
  CHECK(max(abs(concatenate({g[0].dense(), reshape(g[1].dense(), {1})}) - expected)).item<double>() < 1e-14);
}

TEST_CASE("ravel gives every element once, and unravel gives the tree back") {
  const std::pair<Tensor, std::vector<Tensor>> tree{tensor<float>({{1, 2}, {3, 4}}),
                                                    {scalar(5.), zeros({0, 3}), tensor<int>({6, 7})}};
  const auto [vector, unravel] = ravel(tree);
  CHECK(support::same_bits(vector, tensor({1., 2., 3., 4., 5., 6., 7.})));
  const auto back = unravel(vector);
  CHECK(support::same_bits(back.first, tree.first));
  for (std::size_t i = 0; i < 3; ++i) CHECK(support::same_bits(back.second[i], tree.second[i]));
  CHECK(ravel(std::vector<Tensor>()).first.shape() == Shape{0});
  CHECK_THROWS_AS(unravel(zeros({6})), ShapeError);
  CHECK_THROWS_AS(unravel(zeros({7, 1})), ShapeError);
}

TEST_CASE("ravel and unravel are differentiable to second order") {
  const std::vector<Tensor> tree{tensor({1., 2.}), tensor({{3.}, {4.}})};
  const auto f = [](const std::vector<Tensor>& t) {
    const Tensor v = ravel(t).first;
    return sum(v * v * v);
  };
  CHECK(array_equal(grad(f)(tree)[1], tensor({{27.}, {48.}})));
  const auto unravel = ravel(tree).second;
  const auto g = [unravel](const Tensor& v) {
    const std::vector<Tensor> t = unravel(v);
    return sum(t[0]) * sum(square(t[1]));
  };
  CHECK(array_equal(hessian(g)(tensor({1., 2., 3., 4.})),
                    tensor({{0., 0., 6., 8.}, {0., 0., 6., 8.}, {6., 6., 6., 0.}, {8., 8., 0., 6.}})));
}

TEST_CASE("an objective serves optimisers that know doubles alone, without new memory") {
  const std::vector<Tensor> start{tensor({1., 2.}), scalar(3.)};
  const auto o = objective([](const std::vector<Tensor>& t) { return sum(square(t[0])) * t[1]; }, start);
  REQUIRE(o.size() == 3);
  double x[3], gradient[3];
  o.start(x);
  CHECK(o(x, gradient) == 15);
  CHECK(std::vector<double>(gradient, gradient + 3) == std::vector<double>{6, 12, 5});
  CHECK(o(x, nullptr) == 15);
  CHECK(array_equal(o.tree(x)[0], start[0]));
  for (int i = 0; i < 3; ++i) o(x, gradient);
  const std::int64_t before = memory_stats().pool_misses;
  for (int i = 0; i < 100; ++i) o(x, gradient);
  CHECK(memory_stats().pool_misses == before);
}

// Bounds and minima of Gay, "A trust-region approach to linearly constrained optimization", Lecture Notes in
// Mathematics 1066, 1984, as published at https://arnold-neumaier.at/glopt/bounds.html.
TEST_CASE("published minima within bounds are found") {
  struct Bounded {
    const char* name;
    std::vector<double> lower, upper;
    double minimum;
  };
  const Bounded list[] = {
      {"Powell badly scaled", {0, 1}, {1, 9}, 0.15125900e-9},
      {"Brown badly scaled", {0, 3e-5}, {1e6, 100}, 784},
      {"Beale", {.6, .5}, {10, 100}, 0},
      {"helical valley", {-100, -1, -1}, {.8, 1, 1}, 0.99042212},
      {"Gaussian", {.398, 1, -.5}, {4.2, 2, .1}, 0.112793e-7},
      {"Wood", {-100, -100, -100, -100}, {0, 10, 100, 100}, 1.5567008},
      {"Brown and Dennis", {-10, 0, -100, -20}, {100, 15, 0, .2}, 0.88860479e5},
  };
  for (const Bounded& b : list) {
    const auto p =
        std::find_if(problems.begin(), problems.end(), [&](const Problem& q) { return q.name == std::string(b.name); });
    REQUIRE(p != problems.end());
    const Tensor lower = from_data(b.lower), upper = from_data(b.upper);
    int outside = 0;
    const auto f = [&](const Tensor& x) {
      outside += any(logical_or(less(x, lower), greater(x, upper))).item<bool>();
      return sum(square(p->residuals(x)));
    };
    const auto found = projected_lbfgs(f, from_data(p->start), lower, upper);
    INFO(b.name << ": value " << found.value << ", " << found.iterations << " iterations, " << found.evaluations
                << " evaluations, " << to_string(found.reason));
    CHECK(outside == 0);
    CHECK(found.converged());
    CHECK(is_minimum(found.value, {b.minimum}));
  }
}
