// States of levenberg_marquardt.
#include <utility>

#include "optim/least_squares.hpp"
#include "optim/minimize/saved.hpp"

namespace reel::optim {

namespace {
constexpr std::size_t own_numbers = 3;  // radius, mu, the reason for the end
}

LeastSquaresFit fit_before(Vector start, const MinimizerState* state) {
  LeastSquaresFit fit;
  fit.parameters = std::move(start);
  const auto saved =
      read_state("levenberg_marquardt", state, Method::levenberg_marquardt, fit.parameters.size(), own_numbers, 1);
  if (!saved) return fit;
  fit.parameters = saved->now.x;
  fit.iterations = saved->summary.iterations;
  fit.evaluations = saved->summary.evaluations;
  fit.jacobians = saved->summary.products;
  fit.radius = saved->numbers[0];
  fit.mu = saved->numbers[1];
  fit.reason = read_reason("levenberg_marquardt", saved->numbers[2]);
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

}  // namespace reel::optim
