// Newton's method in a trust region: Nocedal and Wright, "Numerical Optimization", 2nd edition, 2006, algorithms 4.1
// and 7.2.
// 1. Conjugate gradients minimise the quadratic model, until the residual is small enough, the curvature is negative or
// the boundary of the region is reached.
// 2. The step is taken if the value decreases.
// 3. The radius follows the ratio of the actual to the predicted reduction.
#include <limits>
#include <string_view>

#include "optim/line_search.hpp"
#include "optim/minimizer_state.hpp"

namespace reel {
namespace optim {
namespace {

constexpr double machine_epsilon = std::numeric_limits<double>::epsilon();
constexpr double taken_above = 1e-4, poor = 0.25, good = 0.75;  // ratios of the actual to the predicted reduction
constexpr double largest_radius = 1e10;

// An approximate minimiser of the model within the trust region.
struct ModelStep {
  Vector step;
  double reduction = 0;  // predicted by the model
  bool at_boundary = false;
};

class NewtonCg {
 public:
  NewtonCg(std::span<double> x, const detail::Evaluate& evaluate, const detail::Linearize& linearize,
           const NewtonOptions& options)
      : evaluate_(evaluate), linearize_(linearize), options_(options), radius_(options.initial_radius) {
    now_.x.assign(x.begin(), x.end());
    now_.gradient = next_ = curved_ = now_.x;
  }

  detail::MinimizeSummary run(const char* op) {
    const Method method = op == std::string_view("newton_cg") ? Method::newton_cg : Method::gauss_newton;
    start(op, read_state(op, options_.state, method, now_.x.size(), 1));
    descend();
    write_state(options_.state, method, {now_, summary_, {radius_}, {}});
    summary_.value = now_.value;
    summary_.gradient_size = now_.gradient_size();
    return summary_;
  }
  const Vector& x() const { return now_.x; }

 private:
  // A saved state holds no Hessian-vector product, so it is linearised again: one more evaluation.
  void start(const char* op, const std::optional<Saved>& saved) {
    if (saved) now_ = saved->now;
    linearize_here();
    if (!saved) return require_start(op, now_);
    summary_ = saved->summary;
    radius_ = saved->numbers.front();
  }
  void descend() {
    while (!done()) {
      const ModelStep model = minimize_model();
      const std::int64_t taken = summary_.iterations;
      if (radius_ <= machine_epsilon * std::max(1., length(now_.x)) || !try_step(model)) {
        const bool hidden = now_.gradient_size() <= hidden_by_rounding || hides_gain_along(model.step);
        summary_.reason = hidden ? StopReason::small_step : StopReason::stalled;
        break;
      }
      if (summary_.iterations > taken && options_.callback &&
          options_.callback({summary_.iterations, now_.value, now_.gradient_size()})) {
        summary_.reason = StopReason::stopped;
        break;
      }
    }
  }
  bool hides_gain_along(const Vector& step) {
    if (!(length(step) > 0)) return false;
    Point there(now_);
    const auto at = [&](double part) {
      there.x = now_.x;
      add(there.x, part, step);
      ++summary_.evaluations;
      there.value = linearize_(there.x.data(), there.gradient.data(), &product_);
      return Trial{part, there.value, dot(there.gradient, step)};
    };
    return hides_gain({0, now_.value, dot(now_.gradient, step)}, 1, at);
  }
  void linearize_here() {
    ++summary_.evaluations;
    now_.value = linearize_(now_.x.data(), now_.gradient.data(), &product_);
  }
  bool done() {
    const bool stationary = now_.gradient_size() <= options_.gradient_tolerance;
    if (stationary) summary_.reason = StopReason::stationary;
    return stationary || summary_.iterations == options_.max_iterations;
  }

  // Goes from `step` along `direction` to the boundary of the region.
  void go_to_boundary(ModelStep& m, const Vector& direction) const {
    const double a = dot(direction, direction), b = dot(m.step, direction), c = dot(m.step, m.step) - radius_ * radius_;
    const double root = std::sqrt(std::max(0., b * b - a * c));
    add(m.step, b > 0 ? -c / (b + root) : (root - b) / a, direction);
    m.at_boundary = true;
  }

  ModelStep minimize_model() {
    ModelStep m{Vector(now_.x.size(), 0.)};
    Vector residual(now_.gradient), direction(now_.gradient), curved_step(now_.x.size(), 0.);
    for (double& d : direction) d = -d;
    double square = dot(residual, residual);
    const double enough = std::min(0.5, std::sqrt(std::sqrt(square))) * std::sqrt(square);
    for (std::size_t i = 0; i < 2 * now_.x.size() + 10 && std::sqrt(square) > enough; ++i) {
      ++summary_.products;
      product_(direction.data(), curved_.data());
      const double curvature = dot(direction, curved_);
      const Vector before = m.step;
      const double length_along = curvature > 0 ? square / curvature : 0;
      if (curvature > 0) add(m.step, length_along, direction);
      if (!(curvature > 0) || length(m.step) >= radius_) {
        m.step = before;
        go_to_boundary(m, direction);
        Vector moved(m.step);
        add(moved, -1, before);
        add(curved_step, dot(moved, direction) / dot(direction, direction), curved_);
        break;
      }
      add(curved_step, length_along, curved_);
      add(residual, length_along, curved_);
      const double next = dot(residual, residual);
      for (std::size_t k = 0; k < direction.size(); ++k) direction[k] = next / square * direction[k] - residual[k];
      square = next;
    }
    m.reduction = -dot(now_.gradient, m.step) - 0.5 * dot(m.step, curved_step);
    return m;
  }

  // Takes the step if the value decreases, and adapts the radius. False if neither the model nor the value can
  // decrease.
  bool try_step(const ModelStep& model) {
    next_ = now_.x;
    add(next_, 1, model.step);
    ++summary_.evaluations;
    const double value = evaluate_(next_.data(), nullptr);
    const double rounding = 8 * machine_epsilon * std::max(std::abs(now_.value), std::numeric_limits<double>::min());
    const double reduction = now_.value - value;
    // Below the rounding of the value the ratio is meaningless: the model is trusted.
    const double ratio =
        model.reduction <= rounding && std::abs(reduction) <= rounding ? 1 : reduction / model.reduction;
    if (!(ratio >= poor))
      radius_ = poor * length(model.step);
    else if (ratio > good && model.at_boundary)
      radius_ = std::min(2 * radius_, largest_radius);
    if (!(ratio > taken_above)) return model.reduction > 0;
    return take(value);
  }
  bool take(double value) {
    const Point before = now_;
    now_.x = next_;
    linearize_here();
    ++summary_.iterations;
    const bool better = value < before.value || now_.gradient_size() < before.gradient_size();
    if (better && all_finite(now_.value, now_.gradient)) return true;
    now_ = before;
    if (better) {  // a lower value with a gradient that is not finite: try closer
      radius_ = poor * radius_;
      linearize_here();
    }
    return better;
  }

  const detail::Evaluate& evaluate_;
  const detail::Linearize& linearize_;
  const NewtonOptions& options_;
  double radius_;
  Point now_;
  Vector next_, curved_;
  Callback<void(const double*, double*)> product_;
  detail::MinimizeSummary summary_;
};

}  // namespace
}  // namespace optim

detail::MinimizeSummary detail::newton_cg(std::span<double> x, const Evaluate& evaluate, const Linearize& linearize,
                                          const NewtonOptions& options, const char* op) {
  optim::require_options(op, options.max_iterations, options.gradient_tolerance);
  if (!(options.initial_radius > 0))
    fail<ValueError>(op, "initial_radius is {}, must be positive", options.initial_radius);
  optim::NewtonCg method(x, evaluate, linearize, options);
  const MinimizeSummary summary = method.run(op);
  std::copy(method.x().begin(), method.x().end(), x.begin());
  return summary;
}

}  // namespace reel
