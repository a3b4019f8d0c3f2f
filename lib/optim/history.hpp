// The last steps and gradient differences, as a model of the inverse Hessian: Nocedal and Wright, "Numerical
// Optimization", 2nd edition, 2006, algorithm 7.4.
#pragma once
#include <deque>
#include <limits>

#include "optim/minimizer_state.hpp"

namespace reel::optim {

/// A step s, the gradient difference y along it, and 1 / (s . y).
struct Pair {
  Vector step, change;
  double inverse;
};

class History {
 public:
  explicit History(int capacity) : capacity_(static_cast<std::size_t>(capacity)) {}
  bool is_clear() const { return pairs_.empty(); }
  void clear() { pairs_.clear(); }
  /// Skips a pair without positive curvature, which would make the model indefinite.
  void add(Vector step, Vector change) {
    const double product = dot(step, change);
    if (!(product > std::numeric_limits<double>::epsilon() * length(step) * length(change))) return;
    if (pairs_.size() == capacity_) pairs_.pop_front();
    pairs_.push_back({std::move(step), std::move(change), 1 / product});
  }
  void add(const Point& before, const Point& now) {
    Vector step(now.x), change(now.gradient);
    optim::add(step, -1, before.x);
    optim::add(change, -1, before.gradient);
    add(std::move(step), std::move(change));
  }
  /// Minus the modelled inverse Hessian times the gradient.
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
  const std::deque<Pair>& pairs() const { return pairs_; }
  void save(Saved& to) const {
    for (const Pair& p : pairs_) to.vectors.insert(to.vectors.end(), {p.step, p.change});
  }
  void load(const Saved& from) {
    for (std::size_t k = 0; k + 1 < from.vectors.size(); k += 2) add(from.vectors[k], from.vectors[k + 1]);
  }

 private:
  std::size_t capacity_;
  std::deque<Pair> pairs_;
};

}  // namespace reel::optim
