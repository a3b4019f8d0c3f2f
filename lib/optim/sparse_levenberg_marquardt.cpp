// Levenberg-Marquardt with a sparse Jacobian. Steps solve the damped normal equations (J^T J + mu D^2) s = -J^T r,
// where D holds the largest norm of each column of J so far. mu follows the ratio of the actual to the predicted
// reduction: Nielsen, "Damping parameter in Marquardt's method", 1999. At the end, Gauss-Newton steps for as long as
// they reduce the gradient.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <reel/ops/make.hpp>
#include <reel/optim/minimize.hpp>
#include <reel/sparse.hpp>

#include "core/fail.hpp"
#include "optim/least_squares.hpp"
#include "optim/minimizer_state.hpp"
#include "optim/robust_loss.hpp"
#include "sparse/factors.hpp"
#include "sparse/normal_matrix.hpp"
#include "sparse/patterns.hpp"
#include "tape/record.hpp"

namespace reel {

namespace {

using optim::Vector;

constexpr const char* op = "levenberg_marquardt";
constexpr double first_damping = 1e-3;  // scaled by the first trust region, in factors of 10
constexpr double most_first_damping = 1e12;
constexpr double most_damping = 1e100;  // steps that are still refused there change nothing
constexpr double polishing_damping = 1e-14;

double size_of(std::span<const double> x) { return optim::length(x); }  // without overflow
bool all_finite(const Vector& x) {
  return std::all_of(x.begin(), x.end(), [](double v) { return std::isfinite(v); });
}

// A point: parameters and what is evaluated there.
struct State {
  Vector x, residuals, jacobian;  // of the robust loss; the values of the Jacobian
  double norm = 0;                // of the residuals
};

class SparseFit {
 public:
  SparseFit(const TensorFunction& residuals, const SparseJacobian& jacobian, const LevenbergMarquardtOptions& options,
            const NormalSolver& solver)
      : f_(residuals),
        jacobian_(jacobian),
        options_(options),
        solver_(solver),
        rows_(autodiff::to_rows(op, jacobian.pattern())),
        normal_(rows_),
        pattern_(autodiff::to_pattern(normal_.pattern())) {
    if (!solver_) factors_.emplace(optim::analysis_of(normal_.pattern()));
    optim::read_bounds(options, static_cast<std::size_t>(jacobian.pattern().shape[1]), lower_, upper_);
  }

  SparseLeastSquaresResult run(const Vector& start, MinimizerState* state) {
    now_.x = start;
    const auto saved =
        optim::read_state(op, state, optim::Method::sparse_levenberg_marquardt, start.size(), own_numbers, 1);
    if (saved) now_.x = saved->now.x;
    optim::project(now_.x, lower_, upper_);
    if (!evaluate(now_) || !differentiate(now_))
      fail<ValueError>(op, "residuals and Jacobian must be finite at the initial parameters; start elsewhere");
    if (saved) continue_from(*saved);
    if (result_.reason == StopReason::iteration_limit) finish(start);
    result_.parameters = tensor_of(now_.x);
    result_.residuals = f_(result_.parameters);
    result_.jacobian = jacobian_(result_.parameters);
    result_.cost = now_.norm * now_.norm;
    const double plain = size_of(result_.residuals.to_vector<double>());
    result_.sum_of_squares = plain * plain;
    linearize();
    result_.active = make_tensor<bool>({static_cast<std::int64_t>(active_.size())}, [&](std::span<bool> to) {
      std::copy(active_.begin(), active_.end(), to.begin());
    });
    if (state) save(*state);
    return std::move(result_);
  }

 private:
  static constexpr std::size_t own_numbers = 2;  // mu, the reason for the end

  void finish(const Vector& start) {
    result_.reason = iterate();
    if (result_.iterations == 0 && result_.reason != StopReason::exact && size_of(now_.jacobian) == 0)
      detail::require_gradient(op, f_, start);
    if (options_.polish && (result_.reason == StopReason::stationary || result_.reason == StopReason::exact ||
                            result_.reason == StopReason::small_step))
      polish();
  }
  // Evaluations of the starting point are counted in the run that the state is of.
  void continue_from(const optim::Saved& saved) {
    result_.iterations = saved.summary.iterations;
    result_.evaluations = saved.summary.evaluations;
    result_.jacobians = saved.summary.products;
    mu_ = saved.numbers[0];
    result_.reason = optim::read_reason(op, saved.numbers[1]);
    if (!saved.vectors.empty()) squares_ = saved.vectors[0];
  }
  void save(MinimizerState& state) {
    optim::Saved saved;
    saved.now = {now_.x, gradient_, now_.norm * now_.norm};
    for (double& g : saved.now.gradient) g *= 2;
    saved.summary.iterations = result_.iterations;
    saved.summary.evaluations = result_.evaluations;
    saved.summary.products = result_.jacobians;
    saved.numbers = {mu_, static_cast<double>(result_.reason)};
    saved.vectors = {squares_};
    optim::write_state(&state, optim::Method::sparse_levenberg_marquardt, saved);
  }

  static Tensor tensor_of(const Vector& x) { return from_data(x, {static_cast<std::int64_t>(x.size())}); }
  optim::RobustResidual robust(double r) const { return optim::robust_residual(options_.loss, options_.loss_scale, r); }

  // Residuals and Jacobian. False if a number is not finite.
  bool evaluate(State& s) {
    ++result_.evaluations;
    const Tensor r = f_(tensor_of(s.x));
    if (r.dtype() != DType::float64 || r.shape() != Shape{rows_.row_count()})
      fail<ShapeError>(op, "the residuals are {} of shape {}, must be float64 of shape {}, as the rows of the pattern",
                       r.dtype(), r.shape(), Shape{rows_.row_count()});
    plain_ = r.to_vector<double>();
    s.residuals = plain_;
    for (double& v : s.residuals) v = robust(v).value;
    s.norm = size_of(s.residuals);
    return std::isfinite(s.norm);
  }
  // After evaluate() at the same point.
  bool differentiate(State& s) {
    ++result_.jacobians;
    s.jacobian = jacobian_(tensor_of(s.x)).values.to_vector<double>();
    for (std::int64_t i = 0; i < rows_.row_count(); ++i)
      for (std::int64_t p = start(i); p < start(i + 1); ++p)
        s.jacobian[static_cast<std::size_t>(p)] *= robust(plain_[static_cast<std::size_t>(i)]).slope;
    return all_finite(s.jacobian);
  }
  std::int64_t start(std::int64_t i) const { return rows_.starts[static_cast<std::size_t>(i)]; }

  // The matrix and right-hand side of the steps.
  void linearize() {
    gradient_.assign(now_.x.size(), 0.0);
    for (std::int64_t i = 0; i < rows_.row_count(); ++i)
      for (std::int64_t p = start(i); p < start(i + 1); ++p)
        gradient_[static_cast<std::size_t>(rows_.columns[static_cast<std::size_t>(p)])] +=
            now_.jacobian[static_cast<std::size_t>(p)] * now_.residuals[static_cast<std::size_t>(i)];
    matrix_ = normal_.values(now_.jacobian);
    squares_.resize(now_.x.size(), 0.0);
    for (std::size_t j = 0; j < squares_.size(); ++j) squares_[j] = std::max(squares_[j], diagonal(j));
    active_.resize(now_.x.size());
    for (std::size_t j = 0; j < active_.size(); ++j)
      active_[j] = optim::is_active(j, now_.x, gradient_, lower_, upper_);
  }
  bool is_stopped() const {
    return optim::is_stopped(options_, result_.iterations, now_.norm, now_.x, gradient_, active_);
  }
  double diagonal(std::size_t j) const { return matrix_[static_cast<std::size_t>(normal_.diagonal()[j])]; }
  double weight(std::size_t j) const { return squares_[j] > 0 ? squares_[j] : 1; }  // the element of D^2
  double scaled_length(const Vector& x) const {
    Vector scaled(x);
    for (std::size_t j = 0; j < x.size(); ++j) scaled[j] *= std::sqrt(weight(j));
    return size_of(scaled);
  }
  // The largest squared cosine between the residuals and a column of the Jacobian.
  double cosine() const {
    double greatest = 0;
    for (std::size_t j = 0; j < gradient_.size(); ++j)
      if (diagonal(j) > 0 && !active_[j])
        greatest = std::max(greatest, std::abs(gradient_[j]) / std::sqrt(diagonal(j)) / now_.norm);
    return greatest * greatest;
  }

  // The step of the damped equations within the bounds: parameters that leave them end there, and the others solve
  // again, until none leaves them.
  bool step(double mu, Vector& s) {
    std::vector<bool> held(active_);
    Vector ends(now_.x.size(), 0.0);  // the steps of those that are held
    while (solve(mu, held, ends, s)) {
      bool leaves = false;
      for (std::size_t j = 0; j < lower_.size(); ++j) {
        const double to = now_.x[j] + s[j];
        if (held[j] || (to >= lower_[j] && to <= upper_[j])) continue;
        ends[j] = std::clamp(to, lower_[j], upper_[j]) - now_.x[j];
        held[j] = leaves = true;
      }
      if (!leaves) return true;
    }
    return false;
  }
  bool solve(double mu, const std::vector<bool>& held, const Vector& ends, Vector& s) {
    Vector damped(matrix_);
    for (std::size_t j = 0; j < now_.x.size(); ++j)
      damped[static_cast<std::size_t>(normal_.diagonal()[j])] += mu * weight(j);
    s = gradient_;
    for (double& v : s) v = -v;
    if (!lower_.empty()) hold(held, ends, damped, s);
    if (solver_)
      s = solver_({pattern_, from_data(damped)}, tensor_of(s)).to_vector<double>();
    else if (factors_->factorise(damped.data(), optim::Factors<double>::Kind::positive_definite))
      factors_->solve(s.data(), 1, false);
    else
      return false;
    if (s.size() != now_.x.size())
      fail<ShapeError>(op, "the linear solver returned {} elements, expected {}", s.size(), now_.x.size());
    return all_finite(s);
  }

  // Makes the equations of those that are held s = ends.
  void hold(const std::vector<bool>& held, const Vector& ends, Vector& damped, Vector& right) const {
    const autodiff::CompressedRows& rows = normal_.pattern();
    for (std::size_t i = 0; i < held.size(); ++i)
      for (std::int64_t p = rows.starts[i]; p < rows.starts[i + 1]; ++p) {
        const auto j = static_cast<std::size_t>(rows.columns[static_cast<std::size_t>(p)]);
        if (!held[i] && !held[j]) continue;
        if (!held[i]) right[i] -= damped[static_cast<std::size_t>(p)] * ends[j];
        damped[static_cast<std::size_t>(p)] = i == j ? 1 : 0;
      }
    for (std::size_t i = 0; i < held.size(); ++i)
      if (held[i]) right[i] = ends[i];
  }
  // What the linear model promises of a step that bounds have cut: -2 g.s - s.N s.
  double promise(const Vector& s) const {
    const autodiff::CompressedRows& rows = normal_.pattern();
    double sum = 0;
    for (std::size_t i = 0; i < s.size(); ++i) {
      double curved = 2 * gradient_[i];
      for (std::int64_t p = rows.starts[i]; p < rows.starts[i + 1]; ++p)
        curved += matrix_[static_cast<std::size_t>(p)] *
                  s[static_cast<std::size_t>(rows.columns[static_cast<std::size_t>(p)])];
      sum -= s[i] * curved;
    }
    return sum;
  }

  StopReason iterate() {
    linearize();
    const double start_length = scaled_length(now_.x);
    const double radius = options_.initial_radius * (start_length > 0 ? start_length : now_.norm);
    double& mu = mu_;
    double growth = 2;
    Vector s;
    if (mu == 0) {
      mu = first_damping;
      while (step(mu, s) && scaled_length(s) > radius && mu < most_first_damping) mu *= 10;
    }
    while (true) {
      if (now_.norm == 0) return StopReason::exact;
      if (cosine() <= options_.reduction_tolerance) return StopReason::stationary;
      if (result_.iterations >= options_.max_iterations) return StopReason::iteration_limit;
      const bool solved = step(mu, s);
      if (solved && scaled_length(s) <= options_.step_tolerance * scaled_length(now_.x))
        return blocked_ ? StopReason::stalled : StopReason::small_step;
      const double agreement = solved ? try_step(mu, s) : 0;
      if (agreement > optim::least_agreement) {
        ++result_.iterations;
        linearize();
        mu *= std::max(1. / 3, 1 - std::pow(2 * agreement - 1, 3));
        growth = 2;
        if (is_stopped()) return StopReason::stopped;
      } else {
        mu *= growth;
        growth *= 2;
        if (!(mu < most_damping)) return StopReason::stalled;
      }
    }
  }

  // The ratio of the actual to the predicted reduction; moves to the trial point if the ratio is large enough.
  double try_step(double mu, const Vector& s) {
    State next = now_;
    double predicted = 0;
    for (std::size_t j = 0; j < s.size(); ++j) {
      next.x[j] += s[j];
      predicted += s[j] * (mu * weight(j) * s[j] - gradient_[j]);
    }
    if (!lower_.empty()) {
      predicted = promise(s);
      optim::project(next.x, lower_, upper_);  // rounding of x + s
    }
    blocked_ = !evaluate(next);
    if (blocked_ || !(predicted > 0)) return 0;
    const double actual = (now_.norm - next.norm) * (now_.norm + next.norm), agreement = actual / predicted;
    if (!(agreement > optim::least_agreement)) return 0;
    blocked_ = !differentiate(next);
    if (blocked_) return 0;
    now_ = std::move(next);
    return std::min(agreement, 2.);
  }

  void polish() {
    Vector s;
    for (int trial = 0; trial < 100 && now_.norm > 0; ++trial) {
      const double before = cosine();
      State old = now_;
      if (!step(polishing_damping, s)) return;
      for (std::size_t j = 0; j < s.size(); ++j) now_.x[j] += s[j];
      optim::project(now_.x, lower_, upper_);
      const bool usable = evaluate(now_) && now_.norm <= old.norm * (1 + optim::polishing_slack) && differentiate(now_);
      if (usable) linearize();
      if (!usable || !(cosine() < before)) {
        now_ = std::move(old);
        return linearize();
      }
      ++result_.iterations;
      if (cosine() <= options_.reduction_tolerance) result_.reason = StopReason::stationary;
      if (is_stopped()) return void(result_.reason = StopReason::stopped);
    }
  }

  const TensorFunction& f_;
  const SparseJacobian& jacobian_;
  const LevenbergMarquardtOptions& options_;
  const NormalSolver& solver_;
  autodiff::CompressedRows rows_;
  optim::NormalMatrix normal_;
  SparsityPattern pattern_;
  std::optional<optim::Factors<double>> factors_;
  State now_;
  Vector plain_;  // the residuals evaluated last, without their loss
  Vector gradient_, matrix_, squares_;
  Vector lower_, upper_;      // empty without bounds
  std::vector<bool> active_;  // of the parameters: constant at a bound
  double mu_ = 0;             // of the next step; 0 before the first
  bool blocked_ = false;      // the last trial met numbers that are not finite
  SparseLeastSquaresResult result_;
};

}  // namespace

bool SparseLeastSquaresResult::converged() const noexcept {
  return reason == StopReason::stationary || reason == StopReason::exact || reason == StopReason::small_step;
}

namespace {

SparseLeastSquaresResult fit_sparse(const TensorFunction& residuals, const SparseJacobian& jacobian,
                                    const Tensor& initial, const LevenbergMarquardtOptions& options,
                                    const NormalSolver& solver, MinimizerState* state) {
  optim::require_options(options);
  detail::require_untraced(op);
  if (!residuals) fail<ValueError>(op, "the residual function is empty");
  if (initial.dtype() != DType::float64 || initial.shape() != Shape{jacobian.pattern().shape[1]})
    fail<ShapeError>(
        op, "the initial parameters are {} of shape {}, must be float64 of shape {}, as the columns of the pattern",
        initial.dtype(), initial.shape(), Shape{jacobian.pattern().shape[1]});
  const tape::Suspend suspended;
  return SparseFit(residuals, jacobian, options, solver).run(initial.to_vector<double>(), state);
}

}  // namespace

REEL_API SparseLeastSquaresResult levenberg_marquardt(const TensorFunction& residuals, const SparseJacobian& jacobian,
                                                      const Tensor& initial, const LevenbergMarquardtOptions& options,
                                                      const NormalSolver& solver) {
  return fit_sparse(residuals, jacobian, initial, options, solver, nullptr);
}
REEL_API SparseLeastSquaresResult levenberg_marquardt(const TensorFunction& residuals, const SparseJacobian& jacobian,
                                                      const Tensor& initial, const LevenbergMarquardtOptions& options,
                                                      const NormalSolver& solver, MinimizerState& state) {
  return fit_sparse(residuals, jacobian, initial, options, solver, &state);
}

}  // namespace reel
