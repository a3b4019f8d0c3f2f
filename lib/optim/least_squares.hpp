// Nonlinear least squares on plain float64 arrays: minimise the sum of squares of m residuals over p parameters.
// Knows neither tensors nor tapes; levenberg_marquardt.cpp brings those. Nothing here depends on the problem at hand.
#pragma once
#include <cstddef>
#include <functional>
#include <reel/optim/least_squares.hpp>
#include <reel/optim/optimizers.hpp>
#include <span>
#include <vector>

namespace reel::optim {

using Vector = std::vector<double>;

/// Steps that polish a fit may raise the norm of the residuals by this part: rounding, not a worse fit.
inline constexpr double polishing_slack = 1e-6;
/// The ratio of the actual to the predicted reduction from which on a step is taken (as in MINPACK's lmder).
inline constexpr double least_agreement = 1e-4;

struct LeastSquaresProblem {
  std::size_t residual_count;   // m, any relation to p
  std::size_t parameter_count;  // p
  std::function<void(std::span<const double> parameters, std::span<double> residuals)> residuals;
  // Row-major [m, p]; called after `residuals` at the same parameters.
  std::function<void(std::span<const double> parameters, std::span<double> jacobian)> jacobian;
  Vector lower = {}, upper = {};  // bounds: p each, or empty without any
};

/// The parameters between their bounds, which are empty where there are none.
void project(std::span<double> x, const Vector& lower, const Vector& upper);
/// Whether the gradient keeps parameter j at a bound. False without bounds.
bool is_active(std::size_t j, std::span<const double> x, std::span<const double> gradient, const Vector& lower,
               const Vector& upper);
/// The bounds of the options for p parameters: ValueError, ShapeError, TypeError.
void read_bounds(const LevenbergMarquardtOptions& options, std::size_t p, Vector& lower, Vector& upper);
/// Whether the callback of the options, if there is one, ends a fit here; the gradient is J^T r.
bool is_stopped(const LevenbergMarquardtOptions& options, std::int64_t iteration, double norm,
                std::span<const double> x, std::span<const double> gradient, const std::vector<bool>& active);

struct LeastSquaresFit {
  Vector parameters;
  Vector residuals;
  Vector jacobian;  // row-major [m, p], at `parameters`
  std::int64_t iterations = 0;
  std::int64_t evaluations = 0;
  std::int64_t jacobians = 0;
  StopReason reason = StopReason::iteration_limit;
  // What the next step would start from.
  Vector scale;  // of each parameter: the largest norm of its column so far
  double radius = 0, mu = 0;
  std::vector<bool> active = {};  // of the parameters: constant at a bound
};

// Euclidean norm without overflow or underflow on the way; inf or NaN when an element is.
double length(std::span<const double> x);

// Throws ValueError when residuals or Jacobian are not finite at the start. Exceptions of the callables pass through.
// `before` has the start as its parameters. A fit that max_iterations ended is continued from its counts, scale, radius
// and mu, its reason given, with the steps of a single fit; one that ended otherwise takes no step.
LeastSquaresFit fit_least_squares(const LeastSquaresProblem& problem, const LeastSquaresFit& before,
                                  const LevenbergMarquardtOptions& options);

// A fit before its first step; where the state is not empty, the fit that it was saved from. ValueError for a state of
// another method, or of another number of parameters.
LeastSquaresFit fit_before(Vector start, const MinimizerState* state);
// Does nothing if the handle is null.
void save_fit(const LeastSquaresFit& fit, MinimizerState* state);

// ValueError for bad options.
void require_options(const LevenbergMarquardtOptions& options);

// (J^T J)^-1, row-major [p, p], from the triangular factor of J; all infinite when J has not full column rank.
Vector inverse_of_normal_matrix(std::span<const double> jacobian, std::size_t residual_count,
                                std::size_t parameter_count);

}  // namespace reel::optim
