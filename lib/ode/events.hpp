// Events of odeint: roots in the steps taken, and their times and states as differentiable tensors.
#pragma once
#include <span>

#include "core/rounding.hpp"
#include "ode/step_control.hpp"

namespace reel::autodiff {

/// A root of an event inside a step, which begins there and has this length.
struct EventRoot {
  std::size_t event, step;
  double length;
};

class EventSearch {
 public:
  EventSearch(const Ode& ode, std::span<const OdeEvent> events, const Tensor& y, double start);
  /// Appends the roots in the step of this number, in order of time, up to the first terminal one. Its event, or -1.
  std::int64_t find(const Tensor& y, const TakenStep& taken, const StepResult& step, std::size_t number,
                    std::vector<EventRoot>& roots);

 private:
  std::vector<EventRoot> roots_of(std::size_t event, const Tensor& y, const TakenStep& taken, const StepResult& step);
  double value_at(std::size_t event, const Tensor& y, double t) const;
  /// At the end of a step of this length from y.
  double value_after(std::size_t event, const Tensor& y, double start, double length) const;
  double refine_root(std::size_t event, const Tensor& y, double start, double low, double at_low, double high,
                     double at_high) const;
  double unit() const { return detail::epsilon(ode_.dtype); }

  const Ode& ode_;
  std::span<const OdeEvent> events_;
  double start_;                // where roots are none, to rounding
  std::vector<double> before_;  // values at the start of the next step
};

/// The time and the state of a root of the event of this number: time begin + h and state(h), h the solution of g = 0
/// whose value is `length`.
struct EventPoint {
  Tensor t, y;
};
EventPoint event_point(const Ode& ode, const OdeEvent& event, std::size_t number, double begin, double length,
                       const Callback<Tensor(const Tensor&)>& state);

}  // namespace reel::autodiff
