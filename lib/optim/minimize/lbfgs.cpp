// Limited-memory BFGS. Nocedal and Wright, "Numerical Optimization", 2nd edition, 2006, algorithms 7.4 and 7.5:
// 1. the direction is minus the modelled inverse of the Hessian times the gradient, by two loops over the history;
// 2. a line search finds a step along it; 3. step and change of the gradient enter the history.
#include <deque>
#include <limits>

#include "optim/minimize/line_search.hpp"
#include "optim/minimize/vectors.hpp"

namespace reel {
namespace optim {
namespace {

constexpr int most_trials = 40;  // of a line search; a step halves at least every second one
constexpr double longest_step = 1e20;

// A step, the change of the gradient along it, and the inverse of their product.
struct Pair {
  Vector step, change;
  double inverse;
};

class History {
 public:
  explicit History(int capacity) : capacity_(static_cast<std::size_t>(capacity)) {}
  bool empty() const { return pairs_.empty(); }
  void clear() { pairs_.clear(); }
  /// Leaves out a pair without positive curvature, which would make the model indefinite.
  void add(Vector step, Vector change) {
    const double product = dot(step, change);
    if (!(product > std::numeric_limits<double>::epsilon() * length(step) * length(change))) return;
    if (pairs_.size() == capacity_) pairs_.pop_front();
    pairs_.push_back({std::move(step), std::move(change), 1 / product});
  }
  Vector direction(const Vector& gradient) const {
    Vector d(gradient);
    Vector factors(pairs_.size());
    for (std::size_t i = pairs_.size(); i-- > 0;) {
      factors[i] = pairs_[i].inverse * dot(pairs_[i].step, d);
      optim::add(d, -factors[i], pairs_[i].change);
    }
    const double scale = pairs_.empty() ? 1 / length(gradient)
                                        : 1 / (pairs_.back().inverse * dot(pairs_.back().change, pairs_.back().change));
    for (double& x : d) x *= scale;
    for (std::size_t i = 0; i < pairs_.size(); ++i)
      optim::add(d, factors[i] - pairs_[i].inverse * dot(pairs_[i].change, d), pairs_[i].step);
    for (double& x : d) x = -x;
    return d;
  }

 private:
  std::size_t capacity_;
  std::deque<Pair> pairs_;
};

class Lbfgs {
 public:
  Lbfgs(std::span<double> x, const detail::Evaluate& evaluate, const LbfgsOptions& options)
      : evaluate_(evaluate), options_(options), history_(options.history) {
    now_.x.assign(x.begin(), x.end());
    next_.x = next_.gradient = now_.gradient = now_.x;
  }

  detail::MinimizeSummary run() {
    evaluate(now_);
    require_start("lbfgs", now_);
    while (!done()) {
      const bool forgetful = history_.empty();
      if (advance()) {
        ++summary_.iterations;
      } else if (forgetful) {
        summary_.reason = now_.gradient_size() <= hidden_by_rounding ? StopReason::small_step : StopReason::stalled;
        break;
      } else {
        history_.clear();  // once more, along the gradient
      }
    }
    summary_.value = now_.value;
    summary_.gradient_size = now_.gradient_size();
    return summary_;
  }
  const Vector& x() const { return now_.x; }

 private:
  void evaluate(Point& p) {
    ++summary_.evaluations;
    p.value = evaluate_(p.x.data(), p.gradient.data());
  }
  bool done() {
    const bool stationary = now_.gradient_size() <= options_.gradient_tolerance;
    if (stationary) summary_.reason = StopReason::stationary;
    return stationary || summary_.iterations == options_.max_iterations;
  }
  // Moves along the model's direction. False where no lower value was found.
  bool advance() {
    const Vector direction = history_.direction(now_.gradient);
    const double slope = dot(now_.gradient, direction);
    if (!(slope < 0) || !search(direction, slope)) return false;
    Vector step(next_.x), change(next_.gradient);
    optim::add(step, -1, now_.x);
    optim::add(change, -1, now_.gradient);
    history_.add(std::move(step), std::move(change));
    std::swap(now_, next_);
    return true;
  }
  bool search(const Vector& direction, double slope) {
    LineSearch line({0, now_.value, slope}, 1, longest_step);
    for (int trial = 0; trial < most_trials; ++trial) {
      evaluate_along(direction, line.step());
      if (!all_finite(next_.value, next_.gradient))
        line.reject_trial();
      else if (line.add_trial(next_.value, dot(next_.gradient, direction)))
        return line.has_sufficient_decrease() && next_.value < now_.value;
    }
    // The interval was not narrowed to a step that meets both conditions: a lower value serves as well.
    evaluate_along(direction, line.best_step());
    return next_.value < now_.value;
  }
  void evaluate_along(const Vector& direction, double step) {
    next_.x = now_.x;
    optim::add(next_.x, step, direction);
    evaluate(next_);
  }
  const detail::Evaluate& evaluate_;
  const LbfgsOptions& options_;
  History history_;
  Point now_, next_;
  detail::MinimizeSummary summary_;
};

}  // namespace
}  // namespace optim

detail::MinimizeSummary detail::lbfgs(std::span<double> x, const Evaluate& evaluate, const LbfgsOptions& options) {
  optim::require_options("lbfgs", options.max_iterations, options.gradient_tolerance);
  if (options.history < 1) fail<ValueError>("lbfgs", "history is {}, must be at least 1", options.history);
  optim::Lbfgs method(x, evaluate, options);
  const MinimizeSummary summary = method.run();
  std::copy(method.x().begin(), method.x().end(), x.begin());
  return summary;
}

}  // namespace reel
