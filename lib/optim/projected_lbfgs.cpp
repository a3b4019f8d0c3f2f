// Minima within bounds. Bertsekas, "Projected Newton methods for optimization problems with simple constraints", SIAM
// Journal on Control and Optimization 20, 1982, with the model of lbfgs in place of the Hessian:
// 1. elements at, or nearly at, a bound that the gradient step would leave are *binding*: they move along the gradient;
// 2. the other elements are free: they move along the model's direction, from the history of the free elements alone;
// 3. the step is halved until the value at the projected point has decreased sufficiently (equation 22).
#include "optim/descent.hpp"
#include "optim/history.hpp"

namespace reel {
namespace optim {
namespace {

constexpr const char* op = "projected_lbfgs";
constexpr double sufficient = 1e-4;  // fraction of the predicted decrease
constexpr int most_trials = 60;
constexpr double widest_margin =
    1e-8;  // the distance from a bound within which an element is binding; any positive value converges

class ProjectedLbfgs {
 public:
  ProjectedLbfgs(std::span<double> x, std::span<const double> lower, std::span<const double> upper,
                 const detail::Evaluate& evaluate, const LbfgsOptions& options)
      : lower_(lower), upper_(upper), evaluate_(evaluate), options_(options), history_(options.history) {
    now_.x.assign(x.begin(), x.end());
    project(now_.x);
    next_.x = next_.gradient = now_.gradient = now_.x;
  }

  detail::MinimizeSummary run() {
    start(read_state(op, options_.state, Method::projected_lbfgs, now_.x.size()));
    descend(*this, options_);
    Saved saved{now_, summary_, {}, {}};
    history_.save(saved);
    write_state(options_.state, Method::projected_lbfgs, saved);
    summary_.value = now_.value;
    summary_.gradient_size = gradient_size(now_);
    return summary_;
  }
  const Vector& x() const { return now_.x; }

  History& model() { return history_; }
  detail::MinimizeSummary& summary() { return summary_; }
  double value() const { return now_.value; }
  double gradient_size() const { return gradient_size(now_); }
  bool advance() {
    const std::vector<bool> bound = binding();
    const Vector gradient = free_part(now_.gradient, bound);
    History model(options_.history);
    for (const Pair& p : history_.pairs()) model.add(free_part(p.step, bound), free_part(p.change, bound));
    Vector direction = length(gradient) > 0 ? model.direction(gradient) : gradient;
    double slope = dot(gradient, direction);
    if (!(slope < 0)) {
      direction = gradient;
      for (double& d : direction) d = -d;
      slope = -dot(gradient, gradient);
    }
    for (std::size_t i = 0; i < bound.size(); ++i)
      if (bound[i]) direction[i] = -now_.gradient[i];
    if (!search(direction, slope, bound)) {
      if (!history_.is_clear()) refused_ = direction;
      return false;
    }
    refused_.clear();
    history_.add(now_, next_);
    std::swap(now_, next_);
    return true;
  }
  const Vector& gradient() const { return now_.gradient; }
  const Vector& refused() const { return refused_; }
  // Slopes are those of the projected path, relative to that at its beginning.
  bool hides_gain_along(Vector direction) {
    for (std::size_t i = 0; i < direction.size(); ++i)
      if (direction[i] < 0 ? now_.x[i] <= lower_[i] : now_.x[i] >= upper_[i]) direction[i] = 0;
    const double slope = dot(now_.gradient, direction);
    const auto at = [&](double step) {
      next_.x = now_.x;
      add(next_.x, step, direction);
      project(next_.x);
      evaluate(next_);
      Vector way(next_.x);
      add(way, -1, now_.x);
      return Trial{step, next_.value, slope * (dot(next_.gradient, way) / dot(now_.gradient, way))};
    };
    return optim::hides_gain({0, now_.value, slope}, 1 / length(direction), at);
  }

 private:
  void start(const std::optional<Saved>& saved) {
    if (!saved) {
      evaluate(now_);
      return require_start(op, now_);
    }
    now_ = saved->now;
    summary_ = saved->summary;
    history_.load(*saved);
  }
  void evaluate(Point& p) {
    ++summary_.evaluations;
    p.value = evaluate_(p.x.data(), p.gradient.data());
  }
  void project(Vector& x) const {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::min(std::max(x[i], lower_[i]), upper_[i]);
  }
  // The size of the projected gradient: components that point out of the bounds count as 0.
  double gradient_size(const Point& p) const {
    return p.gradient_size(
        [&](std::size_t i) { return p.gradient[i] > 0 ? p.x[i] <= lower_[i] : p.x[i] >= upper_[i]; });
  }

  std::vector<bool> binding() const {
    Vector moved(now_.x);
    add(moved, -1, now_.gradient);
    project(moved);
    add(moved, -1, now_.x);
    const double margin = std::min(widest_margin, length(moved));
    std::vector<bool> list(moved.size());
    for (std::size_t i = 0; i < list.size(); ++i)
      list[i] = now_.gradient[i] > 0 ? now_.x[i] <= lower_[i] + margin : now_.x[i] >= upper_[i] - margin;
    return list;
  }
  static Vector free_part(const Vector& x, const std::vector<bool>& bound) {
    Vector some(x);
    for (std::size_t i = 0; i < some.size(); ++i)
      if (bound[i]) some[i] = 0;
    return some;
  }

  bool search(const Vector& direction, double slope, const std::vector<bool>& bound) {
    const double rounding = rounding_of(now_.value);
    double step = 1;
    for (int trial = 0; trial < most_trials; ++trial, step *= 0.5) {
      next_.x = now_.x;
      add(next_.x, step, direction);
      project(next_.x);
      if (next_.x == now_.x) return false;
      evaluate(next_);
      double predicted = step * slope;
      for (std::size_t i = 0; i < bound.size(); ++i)
        if (bound[i]) predicted += now_.gradient[i] * (next_.x[i] - now_.x[i]);
      if (all_finite(next_.value, next_.gradient) && (is_lower(predicted) || has_hidden_decrease(rounding)))
        return true;
      if (-predicted <= rounding) return false;
    }
    return false;
  }
  bool is_lower(double predicted) const {
    return next_.value <= now_.value + sufficient * predicted && next_.value < now_.value;
  }
  // As LineSearch::has_hidden_decrease, along the path from now_ to next_; the projected gradient must also shrink.
  bool has_hidden_decrease(double rounding) const {
    if (std::abs(next_.value - now_.value) > rounding) return false;
    Vector way(next_.x);
    add(way, -1, now_.x);
    return is_slope_of_decrease(dot(next_.gradient, way), dot(now_.gradient, way), sufficient) &&
           gradient_size(next_) < gradient_size(now_);
  }

  std::span<const double> lower_, upper_;
  const detail::Evaluate& evaluate_;
  const LbfgsOptions& options_;
  History history_;
  Point now_, next_;
  Vector refused_;  // see descend()
  detail::MinimizeSummary summary_;
};

}  // namespace
}  // namespace optim

detail::MinimizeSummary detail::projected_lbfgs(std::span<double> x, std::span<const double> lower,
                                                std::span<const double> upper, const Evaluate& evaluate,
                                                const LbfgsOptions& options) {
  using optim::op;
  optim::require_options(op, options.max_iterations, options.gradient_tolerance);
  if (options.history < 1) fail<ValueError>(op, "history is {}, must be at least 1", options.history);
  if (lower.size() != x.size() || upper.size() != x.size())
    fail<ShapeError>(op, "the bounds have {} and {} elements, the start {}; each bound needs as many as the start",
                     lower.size(), upper.size(), x.size());
  optim::require_bounds(op, lower, upper);
  optim::ProjectedLbfgs method(x, lower, upper, evaluate, options);
  const MinimizeSummary summary = method.run();
  std::copy(method.x().begin(), method.x().end(), x.begin());
  return summary;
}

}  // namespace reel
