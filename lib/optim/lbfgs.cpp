// Limited-memory BFGS. Nocedal and Wright, "Numerical Optimization", 2nd edition, 2006, algorithms 7.4 and 7.5:
// 1. the direction is minus the modelled inverse of the Hessian times the gradient, by two loops over the history;
// 2. a line search finds a step along it; 3. step and change of the gradient enter the history.
#include "optim/descent.hpp"
#include "optim/history.hpp"

namespace reel {
namespace optim {
namespace {

class QuasiNewton {
 public:
  static constexpr std::size_t saved_numbers = 0;
  explicit QuasiNewton(int history) : history_(history) {}
  bool is_clear() const { return history_.is_clear(); }
  void clear() { history_.clear(); }
  Vector direction(const Point& now) const { return history_.direction(now.gradient); }
  double first_step(const Point&, double) const { return 1; }
  void add(const Point& before, const Point& now, double) { history_.add(before, now); }
  void save(Saved& to) const { history_.save(to); }
  void load(const Saved& from) { history_.load(from); }

 private:
  History history_;
};

}  // namespace
}  // namespace optim

detail::MinimizeSummary detail::lbfgs(std::span<double> x, const Evaluate& evaluate, const LbfgsOptions& options) {
  if (options.history < 1) fail<ValueError>("lbfgs", "history is {}, must be at least 1", options.history);
  optim::Descent method(x, evaluate, optim::QuasiNewton(options.history), optim::WolfeConstants());
  const MinimizeSummary summary = method.run("lbfgs", optim::Method::lbfgs, options);
  std::copy(method.x().begin(), method.x().end(), x.begin());
  return summary;
}

}  // namespace reel
