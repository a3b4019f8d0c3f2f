// The minimisers on the problems of More, Garbow and Hillstrom, from their three starts; and what goes round them.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <reel/compile.hpp>
#include <reel/ops/parts.hpp>
#include <reel/optim.hpp>
#include <reel/optim/minimize.hpp>
#include <reel/reel.hpp>
#include <reel/runtime.hpp>
#include <vector>

#include "../catch.hpp"
#include "optim/problems.hpp"
#include "support/bits.hpp"

using namespace reel;
using namespace minimization;
using Catch::Contains;

namespace {

MinimizeResult<Tensor> minimum_of(const Problem& p, const std::string& method, const Tensor& start) {
  const auto f = [&](const Tensor& x) { return sum(square(p.residuals(x))); };
  if (method == "lbfgs") return lbfgs(f, start);
  if (method == "newton_cg") return newton_cg(f, start);
  if (method == "nonlinear_cg") return nonlinear_cg(f, start);
  return gauss_newton(p.residuals, start);
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

TEST_CASE("gauss_newton solves a banded problem with few conjugate gradient steps per iteration") {
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

TEST_CASE("nonlinear_cg: directions and their lower bound are Hager and Zhang's") {
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

TEST_CASE("nonlinear_cg: initial trial steps scale with the function") {
  // 20 iterations end before rounding decides how many trials a line takes.
  for (const double unit : {1e-5, 1., 1e6}) {
    const auto f = [unit](const Tensor& x) { return unit * sum(square(rosenbrock(x))); };
    const auto found = nonlinear_cg(f, reshape(broadcast_to(tensor({-1.2, 1.}), {10, 2}), {-1}),
                                    {.max_iterations = 20, .gradient_tolerance = 0});
    CHECK(found.value < 1e-6 * unit);
    CHECK(found.evaluations < 58);  // 52 to 55; 61 to 65 where each line begins with the same step
  }
}

TEST_CASE("line searches decide by derivatives where rounding hides the decrease") {
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

TEST_CASE("projected_lbfgs: the model uses pairs of free elements only") {
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

TEST_CASE("gauss_newton: large residuals and residuals independent of the parameters") {
  // A fit of the mean, with nonzero residuals.
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

TEST_CASE("projected_lbfgs: bounds are trees, and every evaluated point lies within them") {
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
  CHECK_THROWS_WITH(
      projected_lbfgs(f, Line(), tensor({0.}), tensor({1.})),
      Contains("projected_lbfgs: the bounds have 1 and 1 elements, the start 3; each bound needs as many as the "
               "start"));
  CHECK_THROWS_WITH(
      projected_lbfgs([](const Tensor& x) { return square(x); }, scalar(0.), scalar(2.), scalar(1.)),
      Contains("projected_lbfgs: the lower bound of element 0 is 2, the upper 1; lower <= upper must hold"));
  CHECK_THROWS_AS(projected_lbfgs(f, Line(), lower, upper, {.history = 0}), ValueError);
  const auto limited = projected_lbfgs(f, Line(), lower, upper, {.max_iterations = 0});
  CHECK(limited.reason == StopReason::iteration_limit);
}

TEST_CASE("minimisers keep the structure and dtypes of a tree of parameters") {
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

TEST_CASE("minimisers step back from points that are not finite") {
  const auto f = [](const Tensor& x) { return sum(x - log(x)); };  // NaN for negative x, minimum at 1
  for (const double start : {1e-3, 50.}) {
    CHECK(lbfgs(f, full({2}, start)).value == Approx(2));
    CHECK(nonlinear_cg(f, full({2}, start)).value == Approx(2));
    CHECK(projected_lbfgs(f, full({2}, start), full({2}, -1.), full({2}, 60.)).value == Approx(2));
    CHECK(newton_cg(f, full({2}, start)).value == Approx(2));
  }
}

TEST_CASE("minimisers with bounds step back from points whose gradient is not finite") {
  const auto f = [](const Tensor& x) { return sum(sqrt(square(x - 1))); };  // NaN at 1
  CHECK_FALSE(std::isfinite(grad(f)(tensor({1.})).item()));
  const auto found = projected_lbfgs(f, tensor({3.}), tensor({-5.}), tensor({5.}));
  CHECK(found.value > 0);
  CHECK(found.value < 1e-10);
}

TEST_CASE("errors of minimisers") {
  const auto f = [](const Tensor& x) { return sum(log(x)); };
  CHECK_THROWS_WITH(lbfgs(f, tensor({-1.})), Contains("not finite at the start"));
  CHECK_THROWS_WITH(newton_cg(f, tensor({-1.})), Contains("not finite at the start"));
  CHECK_THROWS_WITH(nonlinear_cg(f, tensor({-1.})), Contains("not finite at the start"));
  CHECK_THROWS_AS(nonlinear_cg(f, tensor({1.}), {.max_iterations = -1}), ValueError);
  CHECK_THROWS_AS(lbfgs(f, tensor({1.}), {.history = 0}), ValueError);
  CHECK_THROWS_AS(lbfgs(f, tensor({1.}), {.max_iterations = -1}), ValueError);
  CHECK_THROWS_AS(newton_cg(f, tensor({1.}), {.gradient_tolerance = NAN}), ValueError);
  CHECK_THROWS_AS(newton_cg(f, tensor({1.}), {.initial_radius = 0}), ValueError);
  const auto vector = [](const Tensor& x) { return x; };
  const Tensor start = tensor({1., 2.});
  CHECK_THROWS_AS(lbfgs(vector, start), ShapeError);
  CHECK_THROWS_WITH(lbfgs(vector, start), Contains("lbfgs: ") && Contains("shape [2]"));
  CHECK_THROWS_WITH(nonlinear_cg(vector, start), Contains("nonlinear_cg: "));
  CHECK_THROWS_WITH(newton_cg(vector, start), Contains("newton_cg: "));
  CHECK_THROWS_WITH(projected_lbfgs(vector, start, start, start), Contains("projected_lbfgs: "));
  double at[] = {1, 2}, slope[2];
  CHECK_THROWS_WITH(objective(vector, start)(at, slope), Contains("objective: "));
  const auto limited = lbfgs([](const Tensor& x) { return sum(power(x, 4.)); }, tensor({3.}), {.max_iterations = 2});
  CHECK(limited.reason == StopReason::iteration_limit);
  CHECK(limited.iterations == 2);
  CHECK_FALSE(limited.converged());
}

TEST_CASE("minimisers say why no gradient reaches the parameters, where the start would pass for a minimum") {
  const auto refused = [](const auto& f, const Tensor& start, const std::string& why) {
    const auto total = [&](const Tensor& x) { return sum(f(x)); };
    const std::string no = ": no gradient reaches the parameters: ";
    CHECK_THROWS_WITH(lbfgs(total, start), Contains("lbfgs" + no) && Contains(why));
    CHECK_THROWS_WITH(nonlinear_cg(total, start), Contains("nonlinear_cg" + no) && Contains(why));
    CHECK_THROWS_WITH(newton_cg(total, start), Contains("newton_cg" + no) && Contains(why));
    CHECK_THROWS_WITH(projected_lbfgs(total, start, start - 1, start + 1), Contains("projected_lbfgs" + no));
    CHECK_THROWS_WITH(gauss_newton(f, start), Contains("gauss_newton" + no) && Contains(why));
    CHECK_THROWS_WITH(levenberg_marquardt(f, start), Contains("levenberg_marquardt" + no) && Contains(why));
  };
  refused([](const Tensor& x) { return square(stop_gradient(x) - 1); }, tensor({3., 4.}), "stop_gradient");
  refused([](const Tensor& x) { return from_data(x.to_vector<double>()); }, tensor({3., 4.}), "that are read");
  // One parameter of two, a gradient that vanishes, and no parameters are no errors.
  CHECK(lbfgs([](const Tensor& x) { return square(x[0] - 1); }, tensor({1., 4.})).converged());
  CHECK(lbfgs([](const Tensor& x) { return sum(relu(x)); }, tensor({-1., -4.})).converged());
  CHECK(lbfgs([](const Tensor& x) { return sum(x) + 1; }, zeros({0})).converged());
  CHECK(levenberg_marquardt([](const Tensor& x) { return relu(x) + 1; }, tensor({-1.})).converged());
}

TEST_CASE("minimisers refuse complex leaves and take them as pairs of reals") {
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

TEST_CASE("minimising an unbounded function terminates") {
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

TEST_CASE("an objective for optimisers that take doubles allocates nothing per call") {
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

TEST_CASE("in a traced function minimisers and fits say that they cannot be traced") {
  const auto f = [](const Tensor& x) { return sum(square(x)); };
  const auto r = [](const Tensor& x) { return x; };
  const Tensor bound = ones({2});
  const std::pair<const char*, std::function<void(const Tensor&)>> calls[] = {
      {"lbfgs: ", [&](const Tensor& x) { lbfgs(f, x); }},
      {"nonlinear_cg: ", [&](const Tensor& x) { nonlinear_cg(f, x); }},
      {"projected_lbfgs: ", [&](const Tensor& x) { projected_lbfgs(f, x, -bound, bound); }},
      {"newton_cg: ", [&](const Tensor& x) { newton_cg(f, x); }},
      {"gauss_newton: ", [&](const Tensor& x) { gauss_newton(r, x); }},
      {"levenberg_marquardt: ", [&](const Tensor& x) { levenberg_marquardt(r, x); }},
  };
  for (const auto& [name, minimizer] : calls)
    CHECK_THROWS_WITH(compile([&call = minimizer](const Tensor& x) {
                        call(x);
                        return x;
                      })(ones({2})),
                      Catch::StartsWith(name) && Catch::Contains("tensors of a traced function do not have"));
}

TEST_CASE("minimisers end as converged where the rounding of the values hides what is left to gain") {
  // Differences of large numbers: the noise of the values is far above their own rounding, which the gradient lacks.
  for (int k = 0; k < 36; ++k) {
    const double scale = std::pow(10., k % 4), offset = std::pow(10., 5 + k % 3);
    const Tensor to = sin(arange(6) + 0.1 * k), weights = scale * pow(10., linspace(0., 2., 6));
    const auto f = [&](const Tensor& x) { return (offset + sum(weights * (cosh(x - to) - 1))) - offset; };
    const auto residuals = [&](const Tensor& x) { return (offset + sqrt(weights) * sinh(x - to)) - offset; };
    const Tensor start = zeros({6}), cut = where(equal(arange(6), 2), to - 0.1, 9.);
    const auto check = [&](const char* method, const MinimizeResult<Tensor>& found, const Tensor& right) {
      INFO(method << ", problem " << k << ": " << to_string(found.reason) << ", " << found.gradient_size);
      CHECK(found.converged());
      CHECK(max(abs(found.parameters - right)).item() < 1e-3);
    };
    check("lbfgs", lbfgs(f, start), to);
    check("nonlinear_cg", nonlinear_cg(f, start), to);
    check("newton_cg", newton_cg(f, start), to);
    check("gauss_newton", gauss_newton(residuals, start), to);
    check("projected_lbfgs", projected_lbfgs(f, start, full({6}, -9.), full({6}, 9.)), to);
    check("projected_lbfgs", projected_lbfgs(f, start, full({6}, -9.), cut), minimum(to, cut));
  }
}

TEST_CASE("minimisers do not end as converged at kinks, nor by gradients that are wrong") {
  const auto kink = [](const Tensor& x) { return 1 + 1e3 * sum(where(greater(x, 0.3), x - 0.3, 2 * (0.3 - x))); };
  const auto wrong = custom_gradient([](const Tensor& x) {
    return std::pair(1 + sum(square(x - 2)), [x](const Tensor& g) { return g * -2 * (x - 2); });
  });
  const auto tilted = custom_gradient([](const Tensor& x) {
    return std::pair(1 + sum(square(x - 2)), [](const Tensor& g) { return g * tensor({1., 1.}); });
  });
  const Tensor start = tensor({0.5, 2.25}), lower = full({2}, -9.), upper = full({2}, 9.);
  const std::vector<std::function<Tensor(const Tensor&)>> functions{kink, wrong, tilted};
  for (const auto& f : functions) {
    INFO("function " << &f - functions.data());
    CHECK_FALSE(lbfgs(f, start, {.max_iterations = 100}).converged());
    CHECK_FALSE(nonlinear_cg(f, start, {.max_iterations = 100}).converged());
    CHECK_FALSE(projected_lbfgs(f, start, lower, upper, {.max_iterations = 100}).converged());
  }
  CHECK_FALSE(newton_cg(kink, start).converged());
}
