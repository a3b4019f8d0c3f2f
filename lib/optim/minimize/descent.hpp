// Descent along the directions of a model, which the steps update. If a search finds neither a lower value nor, where
// rounding hides the values, a smaller gradient, the model is cleared, and the direction is the negative gradient.
#pragma once
#include <utility>

#include "optim/minimize/line_search.hpp"
#include "optim/minimize/saved.hpp"

namespace reel::optim {

/// Calls advance(), which takes a step and returns whether its search found something, until the size of the gradient
/// is at most the tolerance, the iterations are used up, or a search along the negative gradient finds nothing.
template <class Model, class Size, class Advance>
void descend(Model& model, detail::MinimizeSummary& summary, std::int64_t max_iterations, double gradient_tolerance,
             const Size& gradient_size, const Advance& advance) {
  while (true) {
    const double size = gradient_size();
    if (size <= gradient_tolerance) summary.reason = StopReason::stationary;
    if (size <= gradient_tolerance || summary.iterations == max_iterations) return;
    const bool along_gradient = model.is_clear();
    if (advance()) {
      ++summary.iterations;
    } else if (along_gradient) {
      summary.reason = gradient_size() <= hidden_by_rounding ? StopReason::small_step : StopReason::stalled;
      return;
    } else {
      model.clear();
    }
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
    descend(
        model_, summary_, options.max_iterations, options.gradient_tolerance, [&] { return now_.gradient_size(); },
        [&] { return advance(); });
    Saved saved{now_, summary_, {}, {}};
    model_.save(saved);
    write_state(options.state, method, saved);
    summary_.value = now_.value;
    summary_.gradient_size = now_.gradient_size();
    return summary_;
  }
  const Vector& x() const { return now_.x; }

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
  // Moves along the model's direction. False if no lower value was found.
  bool advance() {
    const Vector direction = model_.direction(now_);
    const double slope = dot(now_.gradient, direction);
    if (!(slope < 0) || !search(direction, slope)) return false;
    model_.add(now_, next_, step_);
    std::swap(now_, next_);
    return true;
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
  double step_ = 0;  // of the last trial
  detail::MinimizeSummary summary_;
};

}  // namespace reel::optim
