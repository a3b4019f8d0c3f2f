// Nonlinear conjugate gradients. Hager and Zhang, "A new conjugate gradient method with guaranteed descent and an
// efficient line search", SIAM Journal on Optimization 16, 2005: with y the change of the gradient and d the last
// direction, the next is -g + beta d, beta = max(bound, (y - 2 d |y|^2 / d.y) . g / d.y), equations 1.3 to 1.7. Its
// slope is at most -7/8 |g|^2 whatever the line search.
#include "optim/descent.hpp"

namespace reel {
namespace optim {
namespace {

class ConjugateGradients {
 public:
  static constexpr std::size_t saved_numbers = 1;
  bool is_clear() const { return direction_.empty(); }
  void clear() { direction_.clear(); }

  Vector direction(const Point& now) {
    Vector next(now.gradient);
    for (double& x : next) x = -x;
    if (!is_clear()) add(next, beta(now.gradient), direction_);
    return candidate_ = next;
  }
  // The first trial: a step of length 1 along the negative gradient; later, the step that predicts the last decrease
  // again.
  double first_step(const Point& now, double slope) const {
    return is_clear() ? 1 / length(now.gradient) : decrease_ / slope;
  }
  void add(const Point& before, const Point& now, double step) {
    decrease_ = step * dot(before.gradient, candidate_);
    direction_ = candidate_;
    change_ = now.gradient;
    optim::add(change_, -1, before.gradient);
  }
  void save(Saved& to) const {
    to.numbers = {decrease_};
    if (!is_clear()) to.vectors = {direction_, change_};
  }
  void load(const Saved& from) {
    decrease_ = from.numbers.front();
    if (from.vectors.empty()) return;
    direction_ = from.vectors.front();
    change_ = from.vectors.back();
  }

 private:
  using V = Vector;
  static void add(V& y, double factor, const V& x) { optim::add(y, factor, x); }

  double beta(const Vector& gradient) const {
    constexpr double eta = 0.01;  // of the lower bound of beta, as in the paper
    const double along = dot(direction_, change_);
    if (!(along > 0)) return 0;
    const double factor = 2 * dot(change_, change_) / along;
    const double free = (dot(change_, gradient) - factor * dot(direction_, gradient)) / along;
    return std::max(free, -1 / (length(direction_) * std::min(eta, length(gradient))));
  }

  Vector direction_, change_;  // of the last step; empty if there is none
  Vector candidate_;
  double decrease_ = 0;  // predicted along the last direction, divided by its step
};

}  // namespace
}  // namespace optim

detail::MinimizeSummary detail::nonlinear_cg(std::span<double> x, const Evaluate& evaluate,
                                             const NonlinearCgOptions& options) {
  optim::Descent method(x, evaluate, optim::ConjugateGradients(), optim::WolfeConstants{.curvature = 0.1});
  const MinimizeSummary summary = method.run("nonlinear_cg", optim::Method::nonlinear_cg, options);
  std::copy(method.x().begin(), method.x().end(), x.begin());
  return summary;
}

}  // namespace reel
