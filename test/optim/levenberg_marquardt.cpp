// levenberg_marquardt: known minima, statistics of the fit, regions of NaN, and refused arguments.
#include <cmath>
#include <limits>
#include <reel/optim.hpp>
#include <reel/reel.hpp>

#include "../catch.hpp"
#include "support/out_of_memory.hpp"

using namespace reel;
using Catch::Contains;

namespace {

// Rosenbrock's valley, a chain for more than two parameters: zero at ones.
Tensor valley(const Tensor& b) {
  const Tensor front = slice(b, {range_to(b.size() - 1)});
  const Tensor back = slice(b, {range_from(1)});
  return concatenate({10 * (back - square(front)), 1 - front}, 0);
}

const std::vector<double> line_x{1, 2, 3, 4, 5};
const std::vector<double> line_y{1.1, 1.9, 3.2, 3.9, 5.2};

Tensor line(const Tensor& b) { return b[0] + b[1] * from_data(line_x) - from_data(line_y); }

double largest_difference(const Tensor& x, const Tensor& y) { return max(abs(x - y)).item(); }

}  // namespace

TEST_CASE("a straight line: parameters and their covariance are those of the normal equations") {
  const LeastSquaresResult fit = levenberg_marquardt(line, tensor({0, 0}));
  CHECK(fit.converged());
  CHECK(fit.reason == StopReason::stationary);
  // By hand: n = 5, mean x = 3, Sxx = 10, Sxy = 10.2, mean y = 3.06.
  CHECK(largest_difference(fit.parameters, tensor({0.0, 1.02})) < 1e-14);
  const double s2 = (0.08 * 0.08 + 0.14 * 0.14 + 0.14 * 0.14 + 0.18 * 0.18 + 0.1 * 0.1) / 3;
  CHECK(fit.sum_of_squares == Approx(3 * s2).epsilon(1e-13));
  CHECK(fit.residual_standard_deviation() == Approx(std::sqrt(s2)).epsilon(1e-13));
  CHECK(fit.degrees_of_freedom() == 3);
  CHECK(largest_difference(fit.covariance(), s2 * tensor({{1.1, -0.3}, {-0.3, 0.1}})) < 1e-15);
  CHECK(largest_difference(fit.standard_deviations(), sqrt(s2 * tensor({1.1, 0.1}))) < 1e-15);
  CHECK(array_equal(fit.jacobian, tensor({{1, 1}, {1, 2}, {1, 3}, {1, 4}, {1, 5}})));
  CHECK(array_equal(fit.residuals, line(fit.parameters)));
}

TEST_CASE("levenberg_marquardt: Rosenbrock's function to an exact zero") {
  for (const std::int64_t size : {2, 3}) {
    const Tensor start = concatenate({tensor({-1.2}), ones({size - 1})}, 0);
    const LeastSquaresResult fit = levenberg_marquardt(valley, start);
    CHECK(fit.converged());
    CHECK(largest_difference(fit.parameters, ones({size})) < 1e-14);
    CHECK(fit.iterations < 100);
    CHECK(fit.jacobians >= fit.iterations);
    CHECK(fit.evaluations >= fit.iterations);
  }
}

TEST_CASE("levenberg_marquardt: converges to a solution with singular Jacobian") {
  // Powell's singular function.
  const auto residuals = [](const Tensor& b) {
    return stack({b[0] + 10 * b[1], std::sqrt(5.0) * (b[2] - b[3]), square(b[1] - 2 * b[2]),
                  std::sqrt(10.0) * square(b[0] - b[3])},
                 0);
  };
  const LeastSquaresResult fit = levenberg_marquardt(residuals, tensor({3, -1, 0, 1}));
  CHECK(fit.converged());
  CHECK(fit.sum_of_squares < 1e-25);
}

TEST_CASE("levenberg_marquardt: a minimum with large residuals in all digits") {
  // Residuals b^2 + 1 and b + 2, whose second derivatives Gauss-Newton ignores. At the minimum 4 b^3 + 6 b + 4 = 0.
  const auto residuals = [](const Tensor& b) { return stack({square(b[0]) + 1, b[0] + 2}, 0); };
  const LeastSquaresResult fit = levenberg_marquardt(residuals, tensor({3.0}));
  CHECK(fit.converged());
  const double b = fit.parameters.item();
  CHECK(std::fabs(4 * b * b * b + 6 * b + 4) < 1e-12);
}

TEST_CASE("steps into NaN are rejected") {
  // log is not defined for b <= 0; the minimum is at exp(1), and full steps from 20 lead across zero.
  const auto residuals = [](const Tensor& b) { return log(b) - 1; };
  const LeastSquaresResult fit = levenberg_marquardt(residuals, tensor({20.0}));
  CHECK(fit.converged());
  CHECK(fit.parameters.item() == Approx(std::exp(1.0)).epsilon(1e-14));
}

TEST_CASE("levenberg_marquardt: more parameters than residuals, parameters without influence") {
  const LeastSquaresResult wide =
      levenberg_marquardt([](const Tensor& b) { return b[0] * b[1] + b[2] - tensor({6.0}); }, tensor({1, 1, 1}));
  CHECK(wide.sum_of_squares < 1e-25);
  CHECK(std::isnan(wide.residual_standard_deviation()));
  CHECK(std::isnan(wide.standard_deviations().to_vector()[0]));

  const auto idle = [](const Tensor& b) { return line(b) + 0 * b[2]; };
  const LeastSquaresResult fit = levenberg_marquardt(idle, tensor({0, 0, 7}));
  CHECK(fit.converged());
  CHECK(largest_difference(fit.parameters, tensor({0, 1.02, 7})) < 1e-12);
  CHECK(std::isinf(fit.standard_deviations().to_vector()[2]));
}

TEST_CASE("levenberg_marquardt: does not depend on the units of parameters") {
  const auto residuals = [](double unit) {
    return [unit](const Tensor& b) {
      return b[0] * exp(-unit * b[1] * from_data(line_x)) - exp(-0.3 * from_data(line_y));
    };
  };
  const LeastSquaresResult one = levenberg_marquardt(residuals(1.0), tensor({1.0, 1.0}));
  const LeastSquaresResult other = levenberg_marquardt(residuals(0x1p-30), tensor({1.0, 0x1p30}));
  CHECK(one.iterations == other.iterations);
  CHECK(other.parameters.to_vector()[1] == 0x1p30 * one.parameters.to_vector()[1]);
}

TEST_CASE("levenberg_marquardt: zero iterations evaluate residuals, Jacobian and statistics at the start") {
  LevenbergMarquardtOptions options;
  options.max_iterations = 0;
  options.polish = false;
  const LeastSquaresResult fit = levenberg_marquardt(line, tensor({1, 1}), options);
  CHECK(fit.reason == StopReason::iteration_limit);
  CHECK_FALSE(fit.converged());
  CHECK(array_equal(fit.parameters, tensor({1, 1})));
  CHECK(fit.iterations == 0);
  CHECK(fit.jacobians == 1);
  CHECK(std::isfinite(fit.standard_deviations().to_vector()[0]));
}

TEST_CASE("levenberg_marquardt: the iteration limit is respected and reported") {
  LevenbergMarquardtOptions options;
  options.max_iterations = 3;
  const LeastSquaresResult fit = levenberg_marquardt(valley, tensor({-1.2, 1}), options);
  CHECK(fit.reason == StopReason::iteration_limit);
  CHECK(fit.iterations == 3);
  CHECK_THAT(to_string(fit.reason), Contains("max_iterations"));
}

TEST_CASE("levenberg_marquardt: ends at once if the residuals are zero") {
  const LeastSquaresResult fit = levenberg_marquardt(valley, tensor({1, 1}));
  CHECK(fit.reason == StopReason::exact);
  CHECK(fit.iterations == 0);
}

TEST_CASE("a tape of the caller records nothing of the fit") {
  const Tensor start = tensor({0, 0});
  GradientTape tape;
  tape.watch(start);
  const LeastSquaresResult fit = levenberg_marquardt(line, start);
  CHECK(tape.stats().entries == 0);
  CHECK(tape.active());
  CHECK_FALSE(tape.gradient(sum(fit.parameters), start));
}

TEST_CASE("levenberg_marquardt: errors name the argument") {
  CHECK_THROWS_AS(levenberg_marquardt(line, tensor<float>({0, 0})), TypeError);
  CHECK_THROWS_AS(levenberg_marquardt(line, tensor({{0, 0}})), ShapeError);
  CHECK_THROWS_WITH(levenberg_marquardt(line, tensor({{0, 0}})), Contains("use reshape(x, {-1})"));
  CHECK_THROWS_AS(levenberg_marquardt(line, zeros({0})), ValueError);
  CHECK_THROWS_AS(levenberg_marquardt({}, tensor({0, 0})), ValueError);
  CHECK_THROWS_AS(levenberg_marquardt([](const Tensor& b) { return sum(b); }, tensor({0, 0})), ShapeError);
  CHECK_THROWS_WITH(levenberg_marquardt([](const Tensor& b) { return sum(b); }, tensor({0, 0})),
                    Contains("the shape is []; return all of them along one axis, not the sum of their squares"));
  CHECK_THROWS_AS(levenberg_marquardt([](const Tensor& b) { return cast(b, DType::float32); }, tensor({0, 0})),
                  TypeError);
  CHECK_THROWS_WITH(levenberg_marquardt([](const Tensor& b) { return log(b); }, tensor({1, -1})),
                    Contains("levenberg_marquardt") && Contains("element 1") && Contains("finite"));
  LevenbergMarquardtOptions options;
  options.initial_radius = 0;
  CHECK_THROWS_AS(levenberg_marquardt(line, tensor({0, 0}), options), ValueError);
}

TEST_CASE("levenberg_marquardt: exceptions of the residual function propagate and leave tapes unchanged") {
  int calls = 0;
  const auto residuals = [&](const Tensor& b) {
    if (++calls == 4) throw std::runtime_error("mine");
    return valley(b);
  };
  GradientTape tape;
  CHECK_THROWS_WITH(levenberg_marquardt(residuals, tensor({-1.2, 1})), "mine");
  CHECK(tape.active());
}

TEST_CASE("levenberg_marquardt: a failed workspace allocation is not reported as a singular Jacobian") {
  // With so many parameters that LAPACK's workspaces are not on the stack.
  const LeastSquaresResult fit = levenberg_marquardt(
      [](const Tensor& b) {
        return concatenate({b - 1, b * 2 - 3});
      },
      zeros({20}, DType::float64));
  {
    const support::FailNothrowNew no_memory;
    CHECK_THROWS_AS(fit.covariance(), std::bad_alloc);
    CHECK_THROWS_AS(fit.standard_deviations(), std::bad_alloc);
    CHECK(no_memory.failures() == 2);
  }
  CHECK(all(isfinite(fit.standard_deviations())).item<bool>());  // the fit itself is as it was
  // Each allocation of the fit, the first that fails and all after it.
  const Tensor start = tensor({-1.2, 1});
  int count = 0;
  for (bool failed = true; failed; ++count) {
    REQUIRE(count < 10000);
    const support::FailNothrowNew after(count);
    LeastSquaresResult result;
    bool thrown = false;
    try {
      result = levenberg_marquardt(valley, start);
    } catch (const std::bad_alloc&) {
      thrown = true;
    }
    failed = after.failures() > 0;
    CHECK(thrown == failed);
    if (!thrown) CHECK(result.converged());
  }
  CHECK(count > 10);
}
