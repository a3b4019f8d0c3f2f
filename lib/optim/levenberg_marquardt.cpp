// Levenberg-Marquardt on tensors: residuals and Jacobian come from the user's function and the tape, the method itself
// is least_squares.cpp. Tapes of the caller are suspended throughout.
#include <algorithm>
#include <cmath>
#include <limits>
#include <ostream>
#include <reel/functions.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/shape.hpp>
#include <reel/optim/least_squares.hpp>
#include <reel/optim/minimize.hpp>
#include <reel/optim/optimizers.hpp>

#include "core/fail.hpp"
#include "optim/least_squares.hpp"
#include "optim/robust_loss.hpp"
#include "tape/record.hpp"

namespace reel {
namespace {

constexpr const char* minimizer = "levenberg_marquardt";

std::int64_t count(std::size_t n) { return static_cast<std::int64_t>(n); }

Tensor as_parameters(std::span<const double> x) { return from_data(x, {count(x.size())}); }

void require_vector(const Tensor& x, const char* what, const char* remedy) {
  if (x.dtype() != DType::float64)
    fail<TypeError>(minimizer, "{} must be float64, not {}; use cast(x, DType::float64)", what, x.dtype());
  if (x.rank() != 1)
    fail<ShapeError>(minimizer, "{} must have one axis, but the shape is {}; {}", what, x.shape(), remedy);
}

void require_residuals(const Tensor& r) {
  require_vector(r, "the residuals", "return all of them along one axis, not the sum of their squares");
}

// Checks what the user's function returned and copies it out.
void read_residuals(const Tensor& r, std::span<double> out) {
  require_residuals(r);
  if (r.size() != count(out.size()))
    fail<ShapeError>(minimizer, "the number of residuals changed from {} to {}", out.size(), r.size());
  const std::vector<double> values = r.to_vector<double>();
  std::copy(values.begin(), values.end(), out.begin());
}

// Residuals and Jacobian of the user's function, as those of the robust residuals.
class ResidualFunctions {
 public:
  ResidualFunctions(const Callback<Tensor(const Tensor&)>& residuals, std::size_t count,
                    const LevenbergMarquardtOptions& options)
      : residuals_(residuals), options_(options), plain_(count) {}

  void residuals(std::span<const double> x, std::span<double> r) {
    read_residuals(residuals_(as_parameters(x)), plain_);
    for (std::size_t i = 0; i < r.size(); ++i) r[i] = robust(plain_[i]).value;
  }
  // After residuals() at the same x.
  void jacobian(std::span<const double> x, std::span<double> j) {
    const std::vector<double> values = derivative(x).to_vector<double>();
    if (values.size() != j.size())
      fail<ShapeError>(minimizer, "the Jacobian has {} elements, expected {}: the number of residuals changed",
                       values.size(), j.size());
    std::copy(values.begin(), values.end(), j.begin());
    if (options_.loss == Loss::squares) return;
    for (std::size_t i = 0; i < j.size(); ++i) j[i] *= robust(plain_[i / x.size()]).slope;
  }
  Tensor derivative(std::span<const double> x) const { return reel::jacobian(residuals_)(as_parameters(x)); }

 private:
  optim::RobustResidual robust(double r) const {
    if (options_.loss == Loss::squares) return {r, 1};
    return optim::robust_residual(options_.loss, options_.loss_scale, r);
  }
  const Callback<Tensor(const Tensor&)>& residuals_;
  const LevenbergMarquardtOptions& options_;
  optim::Vector plain_;  // the residuals evaluated last, without their loss
};

}  // namespace

void optim::require_options(const LevenbergMarquardtOptions& o) {
  if (o.max_iterations < 0) fail<ValueError>(minimizer, "max_iterations is {}, must not be negative", o.max_iterations);
  if (!(o.initial_radius > 0)) fail<ValueError>(minimizer, "initial_radius is {}, must be positive", o.initial_radius);
  if (!(o.reduction_tolerance >= 0 && o.step_tolerance >= 0))
    fail<ValueError>(minimizer, "tolerances must not be negative: reduction_tolerance is {}, step_tolerance is {}",
                     o.reduction_tolerance, o.step_tolerance);
  if (!(o.loss_scale > 0)) fail<ValueError>(minimizer, "loss_scale is {}, must be positive", o.loss_scale);
}

std::ostream& operator<<(std::ostream& out, StopReason reason) { return out << to_string(reason); }
std::string to_string(StopReason reason) {
  switch (reason) {
    case StopReason::stationary:
      return "stationary: no change of the parameters reduces the value to first order";
    case StopReason::exact:
      return "exact: every residual is zero";
    case StopReason::small_step:
      return "small step: nothing is gained above the rounding of the parameters or of the value";
    case StopReason::stalled:
      return "stalled: nothing lower, or nothing finite, was found nearby";
    case StopReason::iteration_limit:
      return "iteration limit: max_iterations was reached";
    case StopReason::stopped:
      return "stopped: the callback ended it";
  }
  return "unknown";
}

bool LeastSquaresResult::converged() const noexcept {
  return reason == StopReason::stationary || reason == StopReason::exact || reason == StopReason::small_step;
}

namespace {

std::vector<bool> active_of(const LeastSquaresResult& fit) {
  std::vector<bool> active(static_cast<std::size_t>(fit.parameters.size()));
  if (fit.active.defined()) std::copy_n(fit.active.data<bool>().begin(), active.size(), active.begin());
  return active;
}
std::int64_t free_count(const std::vector<bool>& active) { return std::count(active.begin(), active.end(), false); }

}  // namespace

std::int64_t LeastSquaresResult::degrees_of_freedom() const { return residuals.size() - free_count(active_of(*this)); }

double LeastSquaresResult::residual_standard_deviation() const {
  const std::int64_t freedom = degrees_of_freedom();
  if (freedom <= 0) return std::numeric_limits<double>::quiet_NaN();
  return std::sqrt(sum_of_squares / static_cast<double>(freedom));
}

Tensor LeastSquaresResult::covariance() const {
  const std::size_t p = static_cast<std::size_t>(parameters.size());
  const std::vector<bool> fixed = active_of(*this);
  const auto varied = static_cast<std::size_t>(free_count(fixed));
  const std::span<const double> elements = jacobian.data<double>();
  optim::Vector columns;
  for (std::size_t i = 0; i < elements.size(); ++i)
    if (!fixed[i % p]) columns.push_back(elements[i]);
  const std::vector<double> inverse =
      optim::inverse_of_normal_matrix(columns, static_cast<std::size_t>(residuals.size()), varied);
  const double s = residual_standard_deviation();
  std::vector<double> values(p * p, 0.0);
  auto next = inverse.begin();
  for (std::size_t k = 0; k < p * p; ++k)
    if (!fixed[k / p] && !fixed[k % p]) values[k] = *next++ * (s * s);
  return from_data(values, {count(p), count(p)});
}

Tensor LeastSquaresResult::standard_deviations() const {
  const std::vector<double> variances = covariance().to_vector<double>();
  const std::size_t p = static_cast<std::size_t>(parameters.size());
  std::vector<double> values(p);
  for (std::size_t j = 0; j < p; ++j) values[j] = std::sqrt(variances[j * p + j]);
  return from_data(values, {count(p)});
}

namespace {

Tensor boolean_tensor(const std::vector<bool>& x) {
  return make_tensor<bool>({count(x.size())}, [&](std::span<bool> to) { std::copy(x.begin(), x.end(), to.begin()); });
}

LeastSquaresResult result_of(const optim::LeastSquaresFit& fit, const Callback<Tensor(const Tensor&)>& residuals,
                             const ResidualFunctions& functions, const LevenbergMarquardtOptions& options) {
  const double norm = optim::length(fit.residuals);
  LeastSquaresResult result;
  result.parameters = from_data(fit.parameters);
  result.cost = result.sum_of_squares = norm * norm;
  if (options.loss == Loss::squares) {
    result.residuals = from_data(fit.residuals);
    result.jacobian = from_data(fit.jacobian, {count(fit.residuals.size()), count(fit.parameters.size())});
  } else {
    result.residuals = residuals(result.parameters);
    result.jacobian = functions.derivative(fit.parameters);
    const double plain = optim::length(result.residuals.to_vector<double>());
    result.sum_of_squares = plain * plain;
  }
  result.iterations = fit.iterations;
  result.evaluations = fit.evaluations + 1;
  result.jacobians = fit.jacobians;
  result.reason = fit.reason;
  result.active = boolean_tensor(fit.active);
  return result;
}

LeastSquaresResult fit_vector(const Callback<Tensor(const Tensor&)>& residuals, const Tensor& initial,
                              const LevenbergMarquardtOptions& options, MinimizerState* state) {
  detail::require_untraced(minimizer);
  require_vector(initial, "the initial parameters", "use reshape(x, {-1})");
  optim::require_options(options);
  if (!residuals) fail<ValueError>(minimizer, "the residual function is empty");
  if (initial.size() == 0)
    fail<ValueError>(minimizer, "there are no parameters: the initial parameters have shape [0]");
  optim::LeastSquaresFit before = optim::fit_before(initial.to_vector<double>(), state);
  optim::LeastSquaresProblem problem;
  optim::read_bounds(options, before.parameters.size(), problem.lower, problem.upper);
  optim::project(before.parameters, problem.lower, problem.upper);
  const tape::Suspend suspended;
  const Tensor first = residuals(as_parameters(before.parameters));
  require_residuals(first);
  if (first.size() == 0) fail<ValueError>(minimizer, "there are no residuals: the function returned shape [0]");

  ResidualFunctions functions(residuals, static_cast<std::size_t>(first.size()), options);
  problem.residual_count = static_cast<std::size_t>(first.size());
  problem.parameter_count = static_cast<std::size_t>(initial.size());
  problem.residuals = [&](std::span<const double> x, std::span<double> r) { functions.residuals(x, r); };
  problem.jacobian = [&](std::span<const double> x, std::span<double> j) { functions.jacobian(x, j); };
  const optim::LeastSquaresFit fit = optim::fit_least_squares(problem, before, options);
  if (fit.iterations == 0 && fit.reason == StopReason::stationary && optim::length(fit.jacobian) == 0)
    detail::require_gradient(minimizer, residuals, fit.parameters);
  LeastSquaresResult result = result_of(fit, residuals, functions, options);
  optim::save_fit(fit, state);
  return result;
}

}  // namespace

REEL_API LeastSquaresResult levenberg_marquardt(const Callback<Tensor(const Tensor&)>& residuals, const Tensor& initial,
                                                const LevenbergMarquardtOptions& options) {
  return fit_vector(residuals, initial, options, nullptr);
}
REEL_API LeastSquaresResult levenberg_marquardt(const Callback<Tensor(const Tensor&)>& residuals, const Tensor& initial,
                                                const LevenbergMarquardtOptions& options, MinimizerState& state) {
  return fit_vector(residuals, initial, options, &state);
}

}  // namespace reel
