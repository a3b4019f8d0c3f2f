// Descent along the directions of a model, which the steps update. If a search finds neither a lower value nor, where
// rounding hides the values, a smaller gradient, the model is cleared, and the direction is the negative gradient.
#pragma once
#include <utility>

#include "optim/line_search.hpp"
#include "optim/minimizer_state.hpp"

namespace reel::optim {

/// Whether rounding hides what the last searches could have gained: along the refused direction, if there is one, and
/// along the negative gradient.
template <class Method>
bool hides_last_gain(Method& method) {
  Vector downhill(method.gradient());
  for (double& d : downhill) d = -d;
  const Vector& refused = method.refused();
  return (refused.empty() || method.hides_gain_along(refused)) && method.hides_gain_along(downhill);
}

/// Calls advance(), which takes a step and returns whether its search found something, until the size of the gradient
/// is at most the tolerance, the iterations are used up, the callback ends the run, a search along the negative
/// gradient finds nothing, or steps change nothing. A method has model(), summary(), and of its point value(),
/// gradient() and gradient_size(); advance(); refused(), the model's direction from the point along which nothing was
/// found, or empty; and hides_gain_along(direction), whether rounding hides what a search there could have gained.
template <class Method, class Options>
void descend(Method& method, const Options& options) {
  // In noise, values may stay equal while the gradient shrinks by its last digits.
  constexpr int most_idle = 20;
  constexpr double idle_above = 0.999;  // of the gradient's size
  detail::MinimizeSummary& summary = method.summary();
  for (int idle = 0;;) {
    const double size = method.gradient_size(), value = method.value();
    if (size <= options.gradient_tolerance) summary.reason = StopReason::stationary;
    if (size <= options.gradient_tolerance || summary.iterations == options.max_iterations) return;
    const bool along_gradient = method.model().is_clear(), found = method.advance();
    if (found) {
      ++summary.iterations;
      idle = method.value() == value && method.gradient_size() > idle_above * size ? idle + 1 : 0;
      if (options.callback && options.callback({summary.iterations, method.value(), method.gradient_size()})) {
        summary.reason = StopReason::stopped;
        return;
      }
    }
    if (found ? idle == most_idle : along_gradient) {
      const bool hidden = method.gradient_size() <= hidden_by_rounding || hides_last_gain(method);
      summary.reason = hidden ? StopReason::small_step : StopReason::stalled;
      return;
    }
    if (!found) method.model().clear();
  }
}

/// Descent by the line search of More and Thuente, shared by lbfgs and nonlinear_cg.
/// A Model has clear() and is_clear(), direction(now), first_step(now, slope), which is called after direction() and
/// gives the first trial along it, add(before, now, step), where `step` is in units of the direction, save(saved) and
/// load(saved).
template <class Model>
class Descent {
  static constexpr int most_trials = 40;  // of a line search, which halves the interval at least every second trial
  static constexpr double longest_step = 1e20;

 public:
  Descent(std::span<double> x, const detail::Evaluate& evaluate, Model model, const WolfeConstants& constants)
      : evaluate_(evaluate), model_(std::move(model)), constants_(constants) {
    now_.x.assign(x.begin(), x.end());
    next_.x = next_.gradient = now_.gradient = now_.x;
  }

  template <class Options>
  detail::MinimizeSummary run(const char* op, Method method, const Options& options) {
    require_options(op, options.max_iterations, options.gradient_tolerance);
    start(op, read_state(op, options.state, method, now_.x.size(), Model::saved_numbers));
    descend(*this, options);
    Saved saved{now_, summary_, {}, {}};
    model_.save(saved);
    write_state(options.state, method, saved);
    summary_.value = now_.value;
    summary_.gradient_size = now_.gradient_size();
    return summary_;
  }
  const Vector& x() const { return now_.x; }

  Model& model() { return model_; }
  detail::MinimizeSummary& summary() { return summary_; }
  double value() const { return now_.value; }
  double gradient_size() const { return now_.gradient_size(); }
  // Moves along the model's direction. False if no lower value was found.
  bool advance() {
    const bool along_gradient = model_.is_clear();
    const Vector direction = model_.direction(now_);
    const double slope = dot(now_.gradient, direction);
    if (!(slope < 0) || !search(direction, slope)) {
      if (!along_gradient && slope < 0) refused_ = direction;
      return false;
    }
    refused_.clear();
    model_.add(now_, next_, step_);
    std::swap(now_, next_);
    return true;
  }
  const Vector& gradient() const { return now_.gradient; }
  const Vector& refused() const { return refused_; }
  bool hides_gain_along(const Vector& direction) {
    const auto at = [&](double step) {
      evaluate_along(direction, step);
      return Trial{step, next_.value, dot(next_.gradient, direction)};
    };
    return optim::hides_gain({0, now_.value, dot(now_.gradient, direction)}, 1 / length(direction), at);
  }

 private:
  void start(const char* op, std::optional<Saved> saved) {
    if (!saved) {
      evaluate(now_);
      return require_start(op, now_);
    }
    now_ = saved->now;
    summary_ = saved->summary;
    model_.load(*saved);
  }
  void evaluate(Point& p) {
    ++summary_.evaluations;
    p.value = evaluate_(p.x.data(), p.gradient.data());
  }
  bool search(const Vector& direction, double slope) {
    LineSearch line({0, now_.value, slope}, model_.first_step(now_, slope), longest_step, constants_);
    for (int trial = 0; trial < most_trials; ++trial) {
      evaluate_along(direction, line.step());
      if (!all_finite(next_.value, next_.gradient))
        line.reject_trial();
      else if (line.add_trial(next_.value, dot(next_.gradient, direction)))
        return (line.has_sufficient_decrease() && next_.value < now_.value) ||
               (line.has_hidden_decrease() && next_.gradient_size() < now_.gradient_size());
    }
    // No trial met both conditions: any lower value is accepted.
    evaluate_along(direction, line.best_step());
    return next_.value < now_.value;
  }
  void evaluate_along(const Vector& direction, double step) {
    step_ = step;
    next_.x = now_.x;
    add(next_.x, step, direction);
    evaluate(next_);
  }

  const detail::Evaluate& evaluate_;
  Model model_;
  WolfeConstants constants_;
  Point now_, next_;
  Vector refused_;   // see descend()
  double step_ = 0;  // of the last trial
  detail::MinimizeSummary summary_;
};

}  // namespace reel::optim
