// States, bounds and callbacks of levenberg_marquardt.
#include <reel/ops/make.hpp>
#include <reel/ops/shape.hpp>
#include <utility>

#include "optim/least_squares.hpp"
#include "optim/minimizer_state.hpp"

namespace reel::optim {

namespace {

constexpr const char* fit_name = "levenberg_marquardt";
constexpr std::size_t own_numbers = 3;  // radius, mu, the reason for the end

Vector read_bound(const Tensor& bound, const char* name, std::size_t p, double none) {
  if (!bound.defined()) return Vector(p, none);
  if (bound.dtype() != DType::float64)
    fail<TypeError>(fit_name, "{} is {}; it must be float64, as the parameters", name, bound.dtype());
  if (bound.rank() == 0) return Vector(p, bound.item());
  if (bound.shape() != Shape{static_cast<std::int64_t>(p)})
    fail<ShapeError>(fit_name, "{} has shape {}; it must be [{}], a bound for each parameter, or []", name,
                     bound.shape(), p);
  return bound.to_vector<double>();
}

}  // namespace

LeastSquaresFit fit_before(Vector start, const MinimizerState* state) {
  LeastSquaresFit fit;
  fit.parameters = std::move(start);
  const auto saved = read_state(fit_name, state, Method::levenberg_marquardt, fit.parameters.size(), own_numbers, 1);
  if (!saved) return fit;
  fit.parameters = saved->now.x;
  fit.iterations = saved->summary.iterations;
  fit.evaluations = saved->summary.evaluations;
  fit.jacobians = saved->summary.products;
  fit.radius = saved->numbers[0];
  fit.mu = saved->numbers[1];
  fit.reason = read_reason(fit_name, saved->numbers[2]);
  if (!saved->vectors.empty()) fit.scale = saved->vectors[0];
  return fit;
}

void save_fit(const LeastSquaresFit& fit, MinimizerState* state) {
  const std::size_t p = fit.parameters.size();
  Vector gradient(p, 0.0);
  for (std::size_t i = 0; i < fit.jacobian.size(); ++i) gradient[i % p] += 2 * fit.jacobian[i] * fit.residuals[i / p];
  Saved saved;
  saved.now = {fit.parameters, gradient, dot(fit.residuals, fit.residuals)};
  saved.summary.iterations = fit.iterations;
  saved.summary.evaluations = fit.evaluations;
  saved.summary.products = fit.jacobians;
  saved.numbers = {fit.radius, fit.mu, static_cast<double>(fit.reason)};
  saved.vectors = {fit.scale};
  write_state(state, Method::levenberg_marquardt, saved);
}

void read_bounds(const LevenbergMarquardtOptions& options, std::size_t p, Vector& lower, Vector& upper) {
  if (!options.lower.defined() && !options.upper.defined()) return;
  constexpr double inf = std::numeric_limits<double>::infinity();
  lower = read_bound(options.lower, "lower", p, -inf);
  upper = read_bound(options.upper, "upper", p, inf);
  require_bounds(fit_name, lower, upper);
}

void project(std::span<double> x, const Vector& lower, const Vector& upper) {
  for (std::size_t j = 0; j < lower.size(); ++j) x[j] = std::min(std::max(x[j], lower[j]), upper[j]);
}

bool is_active(std::size_t j, std::span<const double> x, std::span<const double> gradient, const Vector& lower,
               const Vector& upper) {
  if (lower.empty()) return false;
  return lower[j] == upper[j] || (gradient[j] > 0 && x[j] <= lower[j]) || (gradient[j] < 0 && x[j] >= upper[j]);
}

bool is_stopped(const LevenbergMarquardtOptions& options, std::int64_t iteration, double norm,
                std::span<const double> x, std::span<const double> gradient, const std::vector<bool>& active) {
  if (!options.callback) return false;
  Point here{{x.begin(), x.end()}, {gradient.begin(), gradient.end()}, norm * norm};
  for (double& g : here.gradient) g *= 2;
  const double size = here.gradient_size([&](std::size_t j) { return active[j]; });
  return options.callback({iteration, here.value, size});
}

}  // namespace reel::optim
