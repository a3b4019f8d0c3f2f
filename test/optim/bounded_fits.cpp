// levenberg_marquardt within bounds, dense and sparse: known solutions, the conditions of Karush, Kuhn and Tucker,
// statistics and derivatives through the free parameters, refused bounds.
#include <cmath>
#include <limits>
#include <reel/linalg.hpp>
#include <reel/optim/minimize.hpp>
#include <reel/solve/equations.hpp>
#include <reel/sparse.hpp>

#include "catch.hpp"
#include "support/derivatives.hpp"
#include "support/numbers.hpp"

using namespace reel;
using Catch::Contains;
using support::largest;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

Tensor drawn(const Shape& shape, const char* seed) { return support::Random(seed).tensor(shape); }
Tensor valley(const Tensor& b) { return stack({10 * (b[1] - square(b[0])), 1 - b[0]}); }
bool within(const Tensor& x, const Tensor& lower, const Tensor& upper) {
  return all(logical_and(greater_equal(x, lower), less_equal(x, upper))).item<bool>();
}

// The gradient of half the cost: 0 where a parameter is free, out of the bounds where it is active.
void check_optimal(const LeastSquaresResult& fit, const Tensor& lower, const Tensor& upper) {
  CHECK(fit.converged());
  CHECK(within(fit.parameters, lower, upper));
  const Tensor g = matmul(transpose(fit.jacobian), fit.residuals);
  const Tensor size = sqrt(sum(square(fit.jacobian), 0)) * norm(fit.residuals) + 1e-300;
  const Tensor at_lower = equal(fit.parameters, lower), at_upper = equal(fit.parameters, upper);
  const Tensor free_part = where(fit.active, 0., g / size);
  CHECK(largest(free_part) < 1e-7);
  CHECK(all(logical_or(logical_not(fit.active), logical_or(at_lower, at_upper))).item<bool>());
  CHECK(all(where(fit.active, where(greater(g, 0.), at_lower, at_upper), true)).item<bool>());
}

// Decays with a background, which noise makes negative.
const Tensor times = linspace(0.0, 3.0, 20);
Tensor decay(const Tensor& b) { return b[0] * exp(-b[1] * times) + b[2]; }
Tensor observed() { return 2 * exp(-1.3 * times) - 0.05 + 0.01 * cos(40 * times); }

}  // namespace

TEST_CASE("levenberg_marquardt within bounds: known solutions") {
  // The valley cut at b[0] = 0.5: the floor of the valley there. From a start outside, which is projected.
  std::vector<double> seen;
  const auto recorded = [&](const Tensor& b) {
    seen.push_back(b[0].item());
    return valley(b);
  };
  const LeastSquaresResult cut = levenberg_marquardt(recorded, tensor({3, -1}), {.upper = tensor({0.5, inf})});
  CHECK(cut.converged());
  CHECK(largest(cut.parameters - tensor({0.5, 0.25})) < 1e-14);
  CHECK(cut.active.to_vector<bool>() == std::vector<bool>{true, false});
  CHECK(*std::max_element(seen.begin(), seen.end()) == 0.5);
  // Both bounds, a bound for all, a parameter that is fixed, bounds that are far away.
  const LeastSquaresResult box =
      levenberg_marquardt(valley, tensor({0, 0}), {.lower = tensor({-1, -1}), .upper = tensor({2, 0.25})});
  check_optimal(box, tensor({-1, -1}), tensor({2, 0.25}));
  CHECK(box.active.to_vector<bool>() == std::vector<bool>{false, true});
  const double x = box.parameters[0].item();  // 200 x (x^2 - 1/4) = 1 - x
  CHECK(std::abs(200 * x * (x * x - 0.25) - (1 - x)) < 1e-11);
  CHECK(levenberg_marquardt(valley, tensor({-1, 1}), {.upper = scalar(0.0)}).parameters.to_vector() ==
        std::vector<double>{0, 0});
  const Tensor fixed = tensor({0.3, -inf}), to = tensor({0.3, inf});
  CHECK(largest(levenberg_marquardt(valley, tensor({0, 0}), {.lower = fixed, .upper = to}).parameters -
                tensor({0.3, 0.09})) < 1e-15);
  const LeastSquaresResult far = levenberg_marquardt(valley, tensor({-1.2, 1}), {.lower = scalar(-100.)}),
                           unbounded = levenberg_marquardt(valley, tensor({-1.2, 1}));
  CHECK(far.parameters.to_vector() == unbounded.parameters.to_vector());
  CHECK(far.evaluations == unbounded.evaluations);
  CHECK_FALSE(any(unbounded.active).item<bool>());
}

TEST_CASE("levenberg_marquardt within bounds: nonnegative least squares, and random problems") {
  const Tensor a = drawn({30, 12}, "a"), right = drawn({30}, "b");
  const auto linear = [&](const Tensor& x) { return matmul(a, x) - right; };
  const LeastSquaresResult fit = levenberg_marquardt(linear, ones({12}), {.lower = scalar(0.0)});
  check_optimal(fit, zeros({12}), full({12}, inf));
  const std::int64_t active = sum(fit.active).item<std::int64_t>();
  CHECK(active > 2);
  CHECK(active < 10);
  CHECK(fit.jacobians < 12);
  for (int k = 0; k < 40; ++k) {
    INFO("problem " << k);
    const std::string name = std::to_string(k);
    const Tensor c = drawn({9, 4}, ("c" + name).c_str()), d = drawn({9}, ("d" + name).c_str()),
                 low = -abs(drawn({4}, ("l" + name).c_str())), high = abs(drawn({4}, ("u" + name).c_str())) / 2;
    const auto f = [&](const Tensor& x) {
      return matmul(c, x + 0.5 * square(x)) + 0.3 * sin(3 * matmul(c, x)) - 2 * d;
    };
    const LevenbergMarquardtOptions options = {.lower = low, .upper = high};
    const LeastSquaresResult found = levenberg_marquardt(f, zeros({4}), options);
    check_optimal(found, low, high);
    CHECK(found.jacobians < 200);  // most polish: the residuals are large
    // No worse than by first-order steps from the solution.
    const auto best = projected_lbfgs([&](const Tensor& x) { return sum(square(f(x))); }, found.parameters, low, high);
    CHECK(found.cost <= best.value * (1 + 1e-10));
  }
}

TEST_CASE("levenberg_marquardt within bounds: statistics, losses, trees and states") {
  const auto residuals = [](const Tensor& b) { return decay(b) - observed(); };
  const LevenbergMarquardtOptions options = {.lower = zeros({3})};
  const LeastSquaresResult fit = levenberg_marquardt(residuals, tensor({1, 1, 1}), options);
  check_optimal(fit, zeros({3}), full({3}, inf));
  CHECK(fit.active.to_vector<bool>() == std::vector<bool>{false, false, true});
  // As if the background were no parameter.
  const auto without = [&](const Tensor& b) { return residuals(concatenate({b, zeros({1})}, 0)); };
  const LeastSquaresResult two = levenberg_marquardt(without, tensor({1, 1}));
  CHECK(largest(slice(fit.parameters, {range(0, 2)}) - two.parameters) < 1e-10);
  CHECK(fit.degrees_of_freedom() == 18);
  const Tensor covariance = fit.covariance();
  CHECK(largest(slice(covariance, {range(0, 2), range(0, 2)}) / two.covariance() - 1) < 1e-8);
  CHECK(largest(covariance[2]) == 0);
  CHECK(fit.standard_deviations()[2].item() == 0);
  for (const Loss loss : {Loss::soft_l1, Loss::huber, Loss::cauchy}) {
    LevenbergMarquardtOptions robust(options);
    robust.loss = loss, robust.loss_scale = 0.03;
    const LeastSquaresResult found = levenberg_marquardt(residuals, tensor({1, 1, 1}), robust);
    CHECK(found.converged());
    const auto best =
        projected_lbfgs([&](const Tensor& b) { return sum(square(robust_residuals(residuals(b), loss, 0.03))); },
                        found.parameters, zeros({3}), full({3}, inf));
    CHECK(found.cost <= best.value * (1 + 1e-9));
  }
  using Tree = std::map<std::string, Tensor>;
  const Tree start{{"background", scalar(1.0)}, {"decay", tensor({1, 1})}},
      lower{{"background", scalar(0.0)}, {"decay", zeros({2})}},
      upper{{"background", scalar(inf)}, {"decay", full({2}, inf)}};
  const auto of_tree = [&](const Tree& t) {
    return residuals(concatenate({t.at("decay"), reshape(t.at("background"), {1})}, 0));
  };
  const auto tree = levenberg_marquardt(of_tree, start, lower, upper);
  CHECK(tree.tree.at("background").item() == 0);
  CHECK(largest(tree.tree.at("decay") - two.parameters) < 1e-10);
  MinimizerState state;
  LevenbergMarquardtOptions part(options);
  for (int k = 1; k < 100; ++k) {
    part.max_iterations = k;
    const LeastSquaresResult found = levenberg_marquardt(residuals, tensor({1, 1, 1}), part, state);
    if (found.reason == StopReason::iteration_limit) continue;
    CHECK(found.parameters.to_vector() == fit.parameters.to_vector());
    break;
  }
}

TEST_CASE("levenberg_marquardt within bounds: a sparse Jacobian") {
  // A chain of valleys, every third parameter cut.
  const auto chain = [](const Tensor& b) {
    const std::int64_t n = b.size();
    const Tensor front = slice(b, {range(0, n - 1)}), back = slice(b, {range(1, n)});
    return concatenate({3 * (back - square(front)), 1 - front}, 0);
  };
  const Tensor start = full({30}, 0.2), upper = where(equal(arange(30) % 3, 1), full({30}, 0.6), inf);
  const auto sparse = sparse_jacobian(chain, start);
  const LevenbergMarquardtOptions options = {.lower = scalar(-2.0), .upper = upper};
  const LeastSquaresResult dense = levenberg_marquardt(chain, start, options);
  check_optimal(dense, full({30}, -2.0), upper);
  const SparseLeastSquaresResult fit = levenberg_marquardt(chain, sparse, start, options);
  CHECK(fit.converged());
  CHECK(within(fit.parameters, full({30}, -2.0), upper));
  CHECK(array_equal(fit.active, dense.active));
  CHECK(sum(fit.active).item<std::int64_t>() > 5);
  CHECK(largest(fit.parameters - dense.parameters) < 1e-9);
  CHECK(fit.jacobians < 100);
  CHECK_THROWS_WITH(levenberg_marquardt(chain, sparse, start, {.lower = ones({2})}),
                    Contains("levenberg_marquardt: lower has shape [2]; it must be [30]"));
}

TEST_CASE("derivatives of a bounded fit through its free parameters") {
  // minimum() of the cost as a function of the free parameters, as the header of levenberg_marquardt says.
  const Tensor bound = zeros({3});
  const auto solution = [&](const Tensor& data) {
    const LeastSquaresResult fit =
        levenberg_marquardt([&](const Tensor& b) { return decay(b) - data; }, tensor({1, 1, 1}), {.lower = bound});
    return minimum(
        [data, bound, active = fit.active](const Tensor& x) {
          const Tensor at = where(active, bound, x);
          return sum(square(decay(at) - data)) + sum(square(where(active, x - bound, 0.)));
        },
        fit.parameters);
  };
  const Tensor data = observed(), along = sin(7 * times);
  const auto [value, slope] = jvp(solution, data, along);
  CHECK(value[2].item() == 0);
  CHECK(slope[2].item() == 0);
  const double h = 1e-4;
  const Tensor difference = (solution(data + h * along) - solution(data - h * along)) / (2 * h);
  CHECK(largest(slope - difference) < 1e-7);
  const Tensor weights = tensor({1, -2, 3});
  const Tensor gradient = grad([&](const Tensor& y) { return sum(weights * solution(y)); })(data);
  CHECK(sum(gradient * along).item() == Approx(sum(weights * slope).item()).epsilon(1e-9));
}

TEST_CASE("levenberg_marquardt refuses bounds that are none") {
  const Tensor start = tensor({0, 0});
  CHECK_THROWS_AS(levenberg_marquardt(valley, start, {.lower = ones({3})}), ShapeError);
  CHECK_THROWS_AS(levenberg_marquardt(valley, start, {.upper = ones({2}, DType::float32)}), TypeError);
  CHECK_THROWS_WITH(levenberg_marquardt(valley, start, {.lower = tensor({0, 1}), .upper = tensor({1, 0.5})}),
                    Contains("the lower bound of element 1 is 1, the upper 0.5"));
  CHECK_THROWS_AS(levenberg_marquardt(valley, start, {.lower = scalar(std::nan(""))}), ValueError);
  CHECK_THROWS_AS(
      levenberg_marquardt([](const std::vector<Tensor>& b) { return valley(b[0]); }, std::vector<Tensor>{start},
                          std::vector<Tensor>{ones({3})}, std::vector<Tensor>{ones({3})}),
      ShapeError);
}
