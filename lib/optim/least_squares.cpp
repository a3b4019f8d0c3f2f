// Levenberg-Marquardt as a scaled trust-region method (J. J. More, "The Levenberg-Marquardt algorithm: implementation
// and theory", LNM 630, 1978; Nocedal and Wright, "Numerical Optimization", chapters 4 and 10), then Gauss-Newton steps
// judged by the gradient, because the sum of squares itself says nothing below the square root of its rounding.
#include "optim/least_squares.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <utility>

#include "core/fail.hpp"
#include "linalg/lapack/plain.hpp"

namespace reel::optim {
namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();
constexpr double rounding_of_fit = 1e-11;  // of the norm: a removable part below it is rounding
// A multiplier that has left its bounds starts again at this part of the upper one at least (More 1978).
constexpr double least_part_of_upper = 1e-3;

std::ptrdiff_t extent(std::size_t count) { return static_cast<std::ptrdiff_t>(count); }

bool are_finite(std::span<const double> x) {
  return std::all_of(x.begin(), x.end(), [](double v) { return std::isfinite(v); });
}

// False for what LAPACK reports about a matrix. Throws for a workspace that could not be allocated and for a matrix
// that is too large.
bool succeeded(int code) {
  if (code == kernels::out_of_memory) throw std::bad_alloc();
  if (code < 0)
    fail<ValueError>("levenberg_marquardt", "more than 2^31 - 1 residuals or parameters are more than LAPACK takes");
  return code == 0;
}

// The linear problem min |J s + r| for the step s, under a bound on |D s|. With u = E s, E the norms of J's columns,
// and pivoted QR it becomes min |R u + c|. R is upper triangular (column-major, columns in pivot order) and zero, up to
// rounding, from the row of its rank on: no parameter can change the residuals' components there.
class LinearModel {
 public:
  // False when LAPACK reports an error.
  bool factorise(std::span<const double> jacobian, std::span<const double> residuals, std::span<const double> scale) {
    const std::size_t p = scale.size();
    const std::size_t m = residuals.size();
    columns_.resize(m * p);
    lengths_.resize(p);
    weights_.resize(p);
    for (std::size_t j = 0; j < p; ++j) {
      const std::span<double> column(columns_.data() + j * m, m);
      for (std::size_t i = 0; i < m; ++i) column[i] = jacobian[i * p + j];
      lengths_[j] = length(column);
      if (lengths_[j] == 0) lengths_[j] = 1;
      for (double& v : column) v /= lengths_[j];
      weights_[j] = scale[j] / lengths_[j];
    }
    const std::size_t reflectors = std::min(m, p);
    tau_.resize(reflectors);
    order_.assign(p, 0);
    Vector rotated(residuals.begin(), residuals.end());
    if (!succeeded(kernels::linear_algebra::geqp3(extent(m), extent(p), columns_.data(), extent(m), order_.data(),
                                                  tau_.data())) ||
        !succeeded(kernels::linear_algebra::ormqr(kernels::Side::left, kernels::Transposed::yes, extent(m), 1,
                                                  extent(reflectors), columns_.data(), extent(m), tau_.data(),
                                                  rotated.data(), extent(m))))
      return false;
    const double negligible = epsilon * static_cast<double>(std::max(m, p));
    rank_ = 0;
    while (rank_ < reflectors && std::fabs(columns_[rank_ + rank_ * m]) > negligible) ++rank_;
    r_.assign(p * p, 0.0);
    for (std::size_t j = 0; j < p; ++j)
      std::copy_n(columns_.begin() + extent(j * m), std::min(j + 1, rank_), r_.begin() + extent(j * p));
    c_.assign(p, 0.0);
    std::copy_n(rotated.begin(), rank_, c_.begin());
    return true;
  }

  bool full_rank() const { return rank_ == c_.size(); }

  // The Gauss-Newton step z = D s: the smallest |R u + c|, with zeros for the columns beyond the rank. With full rank
  // `slope` becomes the derivative of |z(mu)| by mu at 0.
  bool solve_undamped(Vector& z, double& slope) {
    const std::size_t p = c_.size();
    Vector u = negated_c();
    if (!solve(kernels::Transposed::no, r_, p, rank_, u)) return false;
    return finish(u, r_, p, z, full_rank() ? &slope : nullptr);
  }

  // The z = D s that minimises |R u + c|^2 + mu |z|^2, mu > 0, and the derivative of its length by mu.
  bool solve_damped(double mu, Vector& z, double& slope) {
    const std::size_t p = c_.size();
    const std::size_t rows = 2 * p;
    columns_.assign(rows * p, 0.0);
    for (std::size_t j = 0; j < p; ++j) {
      std::copy_n(r_.begin() + extent(j * p), j + 1, columns_.begin() + extent(j * rows));
      columns_[p + j + j * rows] = std::sqrt(mu) * weight(j);
    }
    Vector u = negated_c();
    u.resize(rows, 0.0);
    tau_.resize(p);
    if (!succeeded(
            kernels::linear_algebra::geqrf(extent(rows), extent(p), columns_.data(), extent(rows), tau_.data())) ||
        !succeeded(kernels::linear_algebra::ormqr(kernels::Side::left, kernels::Transposed::yes, extent(rows), 1,
                                                  extent(p), columns_.data(), extent(rows), tau_.data(), u.data(),
                                                  extent(rows))))
      return false;
    u.resize(p);
    return solve(kernels::Transposed::no, columns_, rows, p, u) && finish(u, columns_, rows, z, &slope);
  }

  // Length of the change of the linearised residuals, |J s|.
  double image_length(const Vector& z) const {
    const std::size_t p = z.size();
    Vector y(p, 0.0);
    for (std::size_t j = 0; j < p; ++j) {
      const double u = z[column(j)] / weight(j);
      for (std::size_t i = 0; i <= j; ++i) y[i] += r_[i + j * p] * u;
    }
    return length(y);
  }

  // Length of the gradient with respect to z.
  double gradient_length() const {
    const std::size_t p = c_.size();
    Vector g(p, 0.0);
    for (std::size_t j = 0; j < p; ++j) {
      for (std::size_t i = 0; i <= j; ++i) g[j] += r_[i + j * p] * c_[i];
      g[j] /= weight(j);
    }
    return length(g);
  }

  // Length of the residuals' projection on the columns of J: what a full Gauss-Newton step promises to remove.
  double removable() const { return length(c_); }

 private:
  std::size_t column(std::size_t j) const { return static_cast<std::size_t>(order_[j] - 1); }
  double weight(std::size_t j) const { return weights_[column(j)]; }

  Vector negated_c() const {
    Vector x(c_.size());
    std::transform(c_.begin(), c_.end(), x.begin(), std::negate<>());
    return x;
  }

  // The leading `order` rows and columns of a triangle; the rest of x becomes zero.
  static bool solve(kernels::Transposed transposed, const Vector& triangle, std::size_t rows, std::size_t order,
                    Vector& x) {
    std::fill(x.begin() + extent(order), x.end(), 0.0);
    const int code =
        kernels::linear_algebra::trtrs(kernels::Triangle::upper, transposed, kernels::Diagonal::stored, extent(order),
                                       1, triangle.data(), extent(rows), x.data(), extent(order));
    return succeeded(code) && are_finite(x);
  }

  // From u in pivot order to z = W u in the parameters' order, W = D / E. The slope is -|S^-T W z|^2 / |z| for the
  // triangle S of the system that gave u.
  bool finish(const Vector& u, const Vector& triangle, std::size_t rows, Vector& z, double* slope) const {
    const std::size_t p = u.size();
    z.resize(p);
    for (std::size_t j = 0; j < p; ++j) z[column(j)] = weight(j) * u[j];
    if (!are_finite(z)) return false;
    if (slope == nullptr) return true;
    Vector v(p);
    for (std::size_t j = 0; j < p; ++j) v[j] = weight(j) * z[column(j)];
    if (!are_finite(v) || !solve(kernels::Transposed::yes, triangle, rows, p, v)) return false;
    const double shorter = length(v);
    *slope = -shorter * (shorter / length(z));
    return true;
  }

  Vector r_;
  Vector c_;
  Vector lengths_;  // E
  Vector weights_;  // D / E
  std::vector<int> order_;
  std::size_t rank_ = 0;
  Vector columns_;
  Vector tau_;
};

// The step of the trust region |z| <= radius, to within a tenth of the radius.
struct Step {
  Vector z;
  double length = 0;
  double mu = 0;
};

// Newton's method on 1/|z(mu)| = 1/radius, which is concave in mu, so that from the left it never overshoots;
// bracketed.
bool trust_region_step(LinearModel& model, double radius, double previous_mu, Step& step) {
  constexpr double slack = 0.1;  // of the radius (More 1978, section 5)
  double slope = 0;
  double lower = 0;
  const auto newton = [&] { return (1 - step.length / radius) * step.length / slope; };
  step.mu = 0;
  if (model.solve_undamped(step.z, slope)) {
    step.length = length(step.z);
    if (step.length <= (1 + slack) * radius) return step.length > 0;
    if (model.full_rank()) lower = newton();
    if (!std::isfinite(lower)) lower = 0;
  }
  double upper = model.gradient_length() / radius;
  if (!(upper > 0) || !std::isfinite(upper)) return false;
  lower = std::min(lower, upper);
  double mu = std::clamp(previous_mu, lower, upper);
  bool found = false;
  for (int trial = 0; trial < 40; ++trial) {
    if (!(mu > 0)) mu = std::max(least_part_of_upper * upper, std::sqrt(lower) * std::sqrt(upper));
    found = model.solve_damped(mu, step.z, slope);
    step.mu = mu;
    if (!found) {  // singular even so: sqrt(mu) is lost beside R
      lower = mu;
      mu = std::sqrt(mu) * std::sqrt(upper);
      continue;
    }
    step.length = length(step.z);
    const double excess = step.length - radius;
    if (std::fabs(excess) <= slack * radius) break;
    (excess > 0 ? lower : upper) = mu;
    const double next = mu + newton();
    mu = std::isfinite(next) ? std::clamp(next, lower, upper) : std::sqrt(lower) * std::sqrt(upper);
    if (upper - lower <= 4 * epsilon * upper) break;
  }
  return found && step.length > 0;
}

using ParameterIndices = std::vector<std::size_t>;

Vector chosen(const Vector& x, const ParameterIndices& which) {
  Vector some(which.size());
  for (std::size_t k = 0; k < which.size(); ++k) some[k] = x[which[k]];
  return some;
}

// A trial point. Relative to the sum of squares: what the linear model promises, and half its slope along the step.
struct TrialStep {
  Vector parameters;
  double promised = 0, slope = 0;
  double length = 0;  // of the step, scaled
  double mu = 0;
  bool at_bound = false;  // the step would leave the bounds
};

class Fitter {
 public:
  Fitter(const LeastSquaresProblem& problem, const LeastSquaresFit& before, const LevenbergMarquardtOptions& options)
      : problem_(problem), options_(options), fit_(before) {
    fit_.residuals.resize(problem.residual_count);
    fit_.jacobian.resize(problem.residual_count * problem.parameter_count);
    fit_.scale.resize(problem.parameter_count, 0.0);
  }

  LeastSquaresFit run() {
    const bool continued = fit_.evaluations > 0;  // which has counted the first point
    problem_.residuals(fit_.parameters, fit_.residuals);
    require_finite(fit_.residuals, "residuals");
    norm_ = length(fit_.residuals);
    problem_.jacobian(fit_.parameters, fit_.jacobian);
    require_finite(fit_.jacobian, "the Jacobian");
    if (!continued) fit_.evaluations = fit_.jacobians = 1;
    find_free();
    if (fit_.reason != StopReason::iteration_limit) return std::move(fit_);
    fit_.reason = iterate();
    // A small step may also be one whose gain is hidden by rounding.
    if (options_.polish && (fit_.reason == StopReason::stationary || fit_.reason == StopReason::small_step)) polish();
    return std::move(fit_);
  }

 private:
  void evaluate(const Vector& parameters, Vector& residuals) {
    problem_.residuals(parameters, residuals);
    ++fit_.evaluations;
  }

  void differentiate(const Vector& parameters, Vector& jacobian) {
    problem_.jacobian(parameters, jacobian);
    ++fit_.jacobians;
  }

  void require_finite(const Vector& values, const char* what) const {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!std::isfinite(values[i]))
        fail<ValueError>("levenberg_marquardt",
                         "{} must be finite at the initial parameters: element {} of {} is {}; start elsewhere", what,
                         i, values.size(), values[i]);
    }
  }

  bool is_bounded() const { return !problem_.lower.empty(); }
  Vector gradient() const {
    const std::size_t p = fit_.parameters.size();
    Vector g(p, 0.0);
    for (std::size_t i = 0; i < fit_.jacobian.size(); ++i) g[i % p] += fit_.jacobian[i] * fit_.residuals[i / p];
    return g;
  }
  // Sets which parameters are free, and which are active: constant at a bound.
  void find_free() {
    const std::size_t p = fit_.parameters.size();
    const Vector g = is_bounded() ? gradient() : Vector();
    free_.clear();
    fit_.active.assign(p, false);
    for (std::size_t j = 0; j < p; ++j) {
      fit_.active[j] = is_active(j, fit_.parameters, g, problem_.lower, problem_.upper);
      if (!fit_.active[j]) free_.push_back(j);
    }
  }
  // The linear model of some parameters; false when LAPACK reports an error.
  bool factorise(LinearModel& model, const Vector& jacobian, const Vector& residuals, const Vector& d,
                 const ParameterIndices& some) const {
    const std::size_t p = d.size();
    if (some.size() == p) return model.factorise(jacobian, residuals, d);
    Vector columns;
    for (std::size_t i = 0; i < residuals.size(); ++i)
      for (const std::size_t j : some) columns.push_back(jacobian[i * p + j]);
    return model.factorise(columns, residuals, chosen(d, some));
  }
  // After a step: whether the callback ends the fit.
  bool is_stopped() const {
    return options_.callback &&
           optim::is_stopped(options_, fit_.iterations, norm_, fit_.parameters, gradient(), fit_.active);
  }

  // D: the largest norm of each column over all Jacobians so far. A parameter whose column vanishes (exp(-b x) with b
  // large) keeps its weight and does not run away.
  void update_scale() {
    Vector& scale = fit_.scale;
    const std::size_t p = scale.size();
    Vector column(problem_.residual_count);
    for (std::size_t j = 0; j < p; ++j) {
      for (std::size_t i = 0; i < column.size(); ++i) column[i] = fit_.jacobian[i * p + j];
      scale[j] = std::max(scale[j], length(column));
    }
  }

  Vector divisor() const {  // D, with 1 for parameters without any influence so far
    Vector d = fit_.scale;
    std::replace(d.begin(), d.end(), 0.0, 1.0);
    return d;
  }

  static double scaled_length(const Vector& d, const Vector& x) {
    Vector scaled(x.size());
    std::transform(d.begin(), d.end(), x.begin(), scaled.begin(), std::multiplies<>());
    return length(scaled);
  }

  // The parameters after part of a step of those that are free.
  Vector move_by(const Vector& from, const ParameterIndices& some, const Vector& z, const Vector& d,
                 double fraction) const {
    Vector y(from);
    for (std::size_t k = 0; k < some.size(); ++k) {
      const std::size_t j = some[k];
      y[j] = fit_.parameters[j] + fraction * (z[k] / d[j]);
    }
    return y;
  }
  bool is_within(const Vector& x) const {
    for (std::size_t j = 0; j < problem_.lower.size(); ++j)
      if (x[j] < problem_.lower[j] || x[j] > problem_.upper[j]) return false;
    return true;
  }

  bool is_stationary(double removable, double norm) const {
    const double cosine = removable / norm;
    return cosine * cosine <= options_.reduction_tolerance;
  }

  StopReason iterate() {
    double& radius = fit_.radius;
    while (true) {
      if (norm_ == 0) return StopReason::exact;
      update_scale();
      const Vector d = divisor();
      if (free_.empty()) return StopReason::stationary;
      LinearModel model;
      if (!factorise(model, fit_.jacobian, fit_.residuals, d, free_)) return StopReason::stalled;
      if (is_stationary(model.removable(), norm_)) return StopReason::stationary;
      if (fit_.iterations >= options_.max_iterations) return StopReason::iteration_limit;
      const double parameters_length = scaled_length(d, fit_.parameters);
      if (radius == 0) radius = options_.initial_radius * (parameters_length > 0 ? parameters_length : norm_);
      ++fit_.iterations;
      while (!advance(model, d, radius, fit_.mu)) {
        if (radius <= options_.step_tolerance * parameters_length || radius < std::numeric_limits<double>::min())
          return blocked_ ? StopReason::stalled : StopReason::small_step;
      }
      if (is_stopped()) return StopReason::stopped;
    }
  }

  // A trial within the bounds by a step in the trust region. False if there is no step.
  bool propose(LinearModel& model, const Vector& d, double radius, double mu, TrialStep& trial) const {
    Step step;
    if (!trust_region_step(model, radius, mu, step)) return false;
    trial.parameters = move_by(fit_.parameters, free_, step.z, d, 1.0);
    trial.length = step.length;
    trial.mu = step.mu;
    if (is_within(trial.parameters)) {
      const double linear = model.image_length(step.z) / norm_;
      const double damping = std::sqrt(step.mu) * step.length / norm_;
      trial.promised = linear * linear + 2 * damping * damping;
      trial.slope = -(linear * linear + damping * damping);
    } else {
      stop_at_bounds(d, radius, trial);
    }
    return true;
  }
  // The better of two trials by the linear model: the projection, and that of stop_and_solve.
  void stop_at_bounds(const Vector& d, double radius, TrialStep& trial) const {
    TrialStep projected(trial);
    project(projected.parameters, problem_.lower, problem_.upper);
    trial.parameters = stop_and_solve(d, radius, trial);
    promise(trial);
    promise(projected);
    if (projected.promised > trial.promised) trial = projected;
    Vector step(trial.parameters);
    for (std::size_t j = 0; j < step.size(); ++j) step[j] -= fit_.parameters[j];
    const double length = scaled_length(d, step);
    trial.length = length > 0 ? length : radius;
    trial.at_bound = true;
  }
  // Parameters that leave the bounds end there, and the others solve again, until none leaves them.
  Vector stop_and_solve(const Vector& d, double radius, const TrialStep& trial) const {
    Vector held(fit_.parameters), to(trial.parameters);
    ParameterIndices some(free_);
    while (true) {
      ParameterIndices inside;
      for (const std::size_t j : some) {
        held[j] = std::clamp(to[j], problem_.lower[j], problem_.upper[j]);
        if (held[j] == to[j]) inside.push_back(j);
      }
      if (inside.size() == some.size()) return to;
      some = std::move(inside);
      for (const std::size_t j : some) held[j] = fit_.parameters[j];
      Vector residuals = image(held);
      for (std::size_t i = 0; i < residuals.size(); ++i) residuals[i] += fit_.residuals[i];
      LinearModel model;
      Step step;
      if (some.empty() || !factorise(model, fit_.jacobian, residuals, d, some) ||
          !trust_region_step(model, radius, trial.mu, step))
        return held;
      to = move_by(held, some, step.z, d, 1.0);
    }
  }
  // The change of the linearised residuals.
  Vector image(const Vector& to) const {
    const std::size_t p = to.size();
    Vector y(fit_.residuals.size(), 0.0);
    for (std::size_t i = 0; i < y.size(); ++i)
      for (std::size_t j = 0; j < p; ++j) y[i] += fit_.jacobian[i * p + j] * (to[j] - fit_.parameters[j]);
    return y;
  }
  void promise(TrialStep& trial) const {
    const Vector y = image(trial.parameters);
    double along = 0, square = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      along += fit_.residuals[i] / norm_ * (y[i] / norm_);
      square += y[i] / norm_ * (y[i] / norm_);
    }
    trial.promised = -2 * along - square;
    trial.slope = along;
  }

  // Tries one step and adapts radius and mu to its result. True if the step was taken.
  bool advance(LinearModel& model, const Vector& d, double& radius, double& mu) {
    TrialStep trial;
    blocked_ = !propose(model, d, radius, mu, trial);
    if (blocked_) {
      radius *= 0.1;
      return false;
    }
    Vector residuals(fit_.residuals.size());
    evaluate(trial.parameters, residuals);
    const double norm = length(residuals);
    const bool usable = std::isfinite(norm);
    const double gained = usable && 0.1 * norm < norm_ ? 1 - (norm / norm_) * (norm / norm_) : -1;
    const double agreement = trial.promised > 0 ? gained / trial.promised : 0;
    mu = trial.mu;
    if (agreement <= 0.25) {
      // Shrink to the minimum of the parabola through both ends with the known slope, but by no more than ten.
      double factor = gained >= 0 ? 0.5 : 0.5 * trial.slope / (trial.slope + 0.5 * gained);
      if (!(factor >= 0.1) || 0.1 * norm >= norm_ || !usable) factor = 0.1;
      radius = factor * std::min(radius, 10 * trial.length);
      mu /= factor;
    } else if (trial.mu == 0 || agreement >= 0.75) {
      radius = trial.at_bound ? std::max(radius, 2 * trial.length) : 2 * trial.length;
      mu *= 0.5;
    }
    blocked_ = !usable;
    return agreement >= least_agreement && accept(trial.parameters, residuals, norm, radius);
  }

  // The iteration cannot continue from a point with a Jacobian that is not finite.
  bool accept(const Vector& parameters, Vector& residuals, double norm, double& radius) {
    Vector jacobian(fit_.jacobian.size());
    differentiate(parameters, jacobian);
    if (!are_finite(jacobian)) {
      blocked_ = true;
      radius *= 0.1;
      return false;
    }
    fit_.parameters = parameters;
    fit_.residuals.swap(residuals);
    fit_.jacobian.swap(jacobian);
    norm_ = norm;
    find_free();
    return true;
  }

  // Gauss-Newton steps while the residuals come closer to orthogonal to the Jacobian. Where the curvature of the
  // residuals makes full steps overshoot, shorter ones converge.
  void polish() {
    double fraction = 1;
    Vector z;
    double slope = 0;
    LinearModel model;
    double removable = removable_part(fit_.jacobian, fit_.residuals, model);
    for (int trial = 0; trial < 100 && removable > 0; ++trial) {
      if (!model.solve_undamped(z, slope)) return;
      const Vector parameters = move_by(fit_.parameters, free_, z, divisor(), fraction);
      if (parameters == fit_.parameters || !is_within(parameters)) return;
      Vector residuals(fit_.residuals.size());
      Vector jacobian(fit_.jacobian.size());
      evaluate(parameters, residuals);
      const double norm = length(residuals);
      if (!(norm <= norm_ * (1 + polishing_slack))) return;
      differentiate(parameters, jacobian);
      if (!are_finite(jacobian)) return;
      LinearModel next;
      const double remains = removable_part(jacobian, residuals, next);
      if (remains < removable) {
        fit_.parameters = parameters;
        fit_.residuals.swap(residuals);
        fit_.jacobian.swap(jacobian);
        model = std::move(next);
        removable = remains;
        ++fit_.iterations;
        if (is_stationary(removable, norm)) fit_.reason = StopReason::stationary;
        if (is_stopped()) {
          fit_.reason = StopReason::stopped;
          return;
        }
      } else {
        const bool rounding = removable <= rounding_of_fit * norm_;
        fraction *= 0.5;
        if (rounding || fraction < 0.1) return;
      }
    }
  }

  double removable_part(const Vector& jacobian, const Vector& residuals, LinearModel& model) const {
    return !free_.empty() && factorise(model, jacobian, residuals, divisor(), free_) ? model.removable() : 0;
  }

  const LeastSquaresProblem& problem_;
  const LevenbergMarquardtOptions& options_;
  LeastSquaresFit fit_;
  ParameterIndices free_;  // parameters that a step may move
  double norm_ = 0;
  bool blocked_ = false;  // the last trial had no step, or its residuals or Jacobian were not finite
};

}  // namespace

double length(std::span<const double> x) {
  double largest = 0;
  for (const double v : x) {
    if (!std::isfinite(v)) return std::fabs(v);
    largest = std::max(largest, std::fabs(v));
  }
  if (largest == 0) return 0;
  double sum = 0;
  for (const double v : x) sum += (v / largest) * (v / largest);
  return largest * std::sqrt(sum);
}

LeastSquaresFit fit_least_squares(const LeastSquaresProblem& problem, const LeastSquaresFit& before,
                                  const LevenbergMarquardtOptions& options) {
  return Fitter(problem, before, options).run();
}

Vector inverse_of_normal_matrix(std::span<const double> jacobian, std::size_t residual_count,
                                std::size_t parameter_count) {
  const std::size_t m = residual_count;
  const std::size_t p = parameter_count;
  Vector result(p * p, std::numeric_limits<double>::infinity());
  if (p == 0 || m < p || !are_finite(jacobian)) return result;
  // Columns of length 1 keep the factor's condition apart from the parameters' units.
  Vector columns(m * p);
  Vector scale(p);
  for (std::size_t j = 0; j < p; ++j) {
    for (std::size_t i = 0; i < m; ++i) columns[i + j * m] = jacobian[i * p + j];
    scale[j] = length(std::span(columns).subspan(j * m, m));
    if (scale[j] == 0) return result;
    for (std::size_t i = 0; i < m; ++i) columns[i + j * m] /= scale[j];
  }
  Vector tau(p);
  if (!succeeded(kernels::linear_algebra::geqrf(extent(m), extent(p), columns.data(), extent(m), tau.data())))
    return result;
  Vector inverse(p * p, 0.0);  // column-major R^-1
  for (std::size_t j = 0; j < p; ++j) {
    if (std::fabs(columns[j + j * m]) <= 10 * epsilon) return result;
    inverse[j + j * p] = 1;
  }
  if (!succeeded(kernels::linear_algebra::trtrs(kernels::Triangle::upper, kernels::Transposed::no,
                                                kernels::Diagonal::stored, extent(p), extent(p), columns.data(),
                                                extent(m), inverse.data(), extent(p))))
    return result;
  for (std::size_t i = 0; i < p; ++i) {
    for (std::size_t j = 0; j < p; ++j)
      result[i * p + j] =
          kernels::linear_algebra::dot(extent(p), &inverse[i], extent(p), &inverse[j], extent(p)) / scale[i] / scale[j];
  }
  return result;
}

}  // namespace reel::optim
