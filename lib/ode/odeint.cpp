// odeint: the steps are found unrecorded; the accepted ones are taken again, recorded.
#include <algorithm>
#include <cmath>
#include <reel/control.hpp>
#include <reel/ode.hpp>
#include <reel/ops/index.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/reduce.hpp>
#include <reel/optim/minimize.hpp>
#include <vector>

#include "ode/adjoint.hpp"
#include "ode/events.hpp"
#include "ode/step_control.hpp"
#include "ops/engine.hpp"
#include "tape/observe/observe.hpp"

namespace reel {

namespace autodiff {

namespace {

// Accepted steps in order, for each time that is reached the step that reaches it, and roots of events.
struct StepPlan {
  std::vector<TakenStep> steps;
  std::vector<std::size_t> step_of_output = {0};
  std::vector<EventRoot> roots = {};
  std::int64_t stopped_by = -1;
};

// An equation with what is asked for.
struct OdeProblem {
  Ode ode;
  OdeOptions options;
  Tensor y, t;
  std::vector<double> times;
  std::vector<OdeEvent> events = {};

  double direction() const { return times.back() < times.front() ? -1 : 1; }
  bool passes(double from, double to) const { return direction() * (to - from) >= 0; }
};

double root_time(const StepPlan& plan, std::size_t root) {
  const TakenStep& step = plan.steps[plan.roots[root].step];
  return plan.roots[root].length == step.length ? step.end : step.start + plan.roots[root].length;
}

StepPlan plan_of(const OdeProblem& p) {
  const tape::Suspend unrecorded;
  StepPlan plan;
  const Tensor y0 = stop_gradient(p.y);
  EventSearch events(p.ode, p.events, y0, p.times[0]);
  find_steps(p.ode, y0, p.times[0], p.times.back(), p.options,
             [&](const Tensor& y, const TakenStep& taken, const StepResult& step) {
               plan.stopped_by = events.find(y, taken, step, plan.steps.size(), plan.roots);
               plan.steps.push_back(taken);
               const double end = plan.stopped_by < 0 ? taken.end : root_time(plan, plan.roots.size() - 1);
               for (std::size_t k = plan.step_of_output.size(); k < p.times.size() && p.passes(p.times[k], end); ++k)
                 plan.step_of_output.push_back(plan.steps.size() - 1);
               return plan.stopped_by < 0;
             });
  return plan;
}

StepResult repeat_step(const Ode& ode, const Tensor& y, const TakenStep& step, bool whole) {
  return take_step(ode, y, number_of(ode, step.start), number_of(ode, step.length), whole);
}

// The state after steps [first, last), none of which has an output: as a loop if there are several.
ops::Quantity take_steps(const Ode& ode, const StepPlan& plan, std::size_t first, std::size_t last, const Tensor& y,
                         std::int64_t budget) {
  if (last - first < 4 || budget == 0) {
    ops::Quantity now = y;
    for (std::size_t k = first; k < last; ++k) now = repeat_step(ode, now, plan.steps[k], false).y;
    return now;
  }
  std::vector<double> starts, lengths;
  for (std::size_t k = first; k < last; ++k) {
    starts.push_back(plan.steps[k].start);
    lengths.push_back(plan.steps[k].length);
  }
  detail::FlatLoop loop{.name = ode.name};
  loop.variables = 1;
  loop.steps = static_cast<std::int64_t>(starts.size());
  loop.step = [ode](std::span<const Tensor> state, std::span<const Tensor> x) {
    return std::vector<Tensor>{take_step(ode, state[0], x[0], x[1], false).y};
  };
  const Tensor initial[] = {y}, xs[] = {cast(from_data(starts), ode.dtype), cast(from_data(lengths), ode.dtype)};
  return detail::run_loop(loop, initial, xs, {.memory_budget = budget})[0];
}

// The solution at time number k, in the step that reaches it.
Tensor output_of(const OdeProblem& p, std::size_t k, const Tensor& y, const TakenStep& taken, const StepResult& step,
                 bool by_time) {
  const double part = (p.times[k] - taken.start) / taken.length;
  const Tensor z = p.times[k] == taken.end ? step.y : between(p.ode, y, step, taken.length, part);
  if (!by_time) return z;
  const Tensor t = p.t(static_cast<std::int64_t>(k));
  return flow(p.ode, p.options, z, stop_gradient(t), t);
}

// Outputs and events as they are found.
struct OdeResults {
  const OdeProblem& problem;
  std::vector<Tensor> outputs;
  std::vector<std::vector<Tensor>> times, states;

  explicit OdeResults(const OdeProblem& p)
      : problem(p), outputs{p.y}, times(p.events.size()), states(p.events.size()) {}
  void add(std::size_t event, const EventPoint& point) {
    times[event].push_back(point.t);
    states[event].push_back(point.y);
  }
  OdeEvents result(std::int64_t stopped_by) const {
    OdeEvents all{stack(outputs, 0), {}, {}, stopped_by};
    Shape none = problem.y.shape();
    none.insert(0, 0);
    for (std::size_t e = 0; e < times.size(); ++e) {
      all.times.push_back(times[e].empty() ? zeros({0}, problem.ode.dtype) : stack(times[e], 0));
      all.states.push_back(states[e].empty() ? zeros(none, problem.ode.dtype) : stack(states[e], 0));
    }
    return all;
  }
};

OdeEvents integrate(const OdeProblem& p) {
  const StepPlan plan = plan_of(p);
  const bool by_time = tape::followed(p.t);
  OdeResults found(p);
  ops::Quantity y = p.y;
  if (by_time) y = flow(p.ode, p.options, y, p.t(0), stop_gradient(p.t(0)));
  std::size_t at = 0, k = 1, r = 0;  // the next step, output and root
  while (k < plan.step_of_output.size() || r < plan.roots.size()) {
    std::size_t next = plan.steps.size();
    if (k < plan.step_of_output.size()) next = plan.step_of_output[k];
    if (r < plan.roots.size()) next = std::min(next, plan.roots[r].step);
    y = take_steps(p.ode, plan, at, next, y, p.options.memory_budget);
    const TakenStep& taken = plan.steps[next];
    for (; r < plan.roots.size() && plan.roots[r].step == next; ++r) {
      const EventRoot& root = plan.roots[r];
      const auto state = [ode = p.ode, y, t = number_of(p.ode, taken.start)](const Tensor& h) {
        return take_step(ode, y, t, h, false).y;
      };
      found.add(root.event, event_point(p.ode, p.events[root.event], root.event, taken.start, root.length, state));
    }
    const bool outputs_follow = k < plan.step_of_output.size();
    if (!outputs_follow && r == plan.roots.size()) break;
    const StepResult step = repeat_step(p.ode, y, taken, true);
    for (; k < plan.step_of_output.size() && plan.step_of_output[k] == next; ++k)
      found.outputs.push_back(output_of(p, k, y, taken, step, by_time));
    y = step.y;
    at = next + 1;
  }
  return found.result(plan.stopped_by);
}

// Where nothing is recorded, in the search itself.
Tensor integrate_unrecorded(const OdeProblem& p) {
  std::vector<Tensor> outputs{p.y};
  find_steps(p.ode, p.y, p.times[0], p.times.back(), p.options,
             [&](const Tensor& y, const TakenStep& taken, const StepResult& step) {
               for (std::size_t k = outputs.size(); k < p.times.size() && p.passes(p.times[k], taken.end); ++k)
                 outputs.push_back(output_of(p, k, y, taken, step, false));
               return true;
             });
  return stack(outputs, 0);
}

// The continuous adjoint: an entry per interval between times.
Tensor solve_with_adjoint(const OdeProblem& p) {
  std::vector<Tensor> outputs{p.y};
  for (std::int64_t k = 1; k < p.t.size(); ++k)
    outputs.push_back(flow(p.ode, p.options, outputs.back(), p.t(k - 1), p.t(k)));
  return stack(outputs, 0);
}

// The same with events. The time of a root solves g = 0 along the solution through its state, in an interval without
// length.
OdeEvents solve_events_with_adjoint(const OdeProblem& p) {
  const StepPlan plan = plan_of(p);
  OdeResults found(p);
  Tensor y = p.y, at = p.t(0);
  std::size_t k = 1, r = 0;  // the next output and root
  while (k < plan.step_of_output.size() || r < plan.roots.size()) {
    if (r == plan.roots.size() || (k < plan.step_of_output.size() && !p.passes(root_time(plan, r), p.times[k]))) {
      const Tensor t = p.t(static_cast<std::int64_t>(k++));
      y = flow(p.ode, p.options, y, at, t), at = t;
      found.outputs.push_back(y);
      continue;
    }
    const double time = root_time(plan, r);
    const Tensor t = number_of(p.ode, time);
    y = flow(p.ode, p.options, y, at, t), at = t;
    const auto state = [p, y, t](const Tensor& moved) { return flow(p.ode, p.options, y, t, moved); };
    const std::size_t event = plan.roots[r++].event;
    found.add(event, event_point(p.ode, p.events[event], event, 0, time, state));
  }
  return found.result(plan.stopped_by);
}

void require_ode_options(const char* op, const OdeOptions& o) {
  if (!(o.relative_tolerance >= 0) || !(o.absolute_tolerance >= 0) ||
      !(o.relative_tolerance + o.absolute_tolerance > 0))
    fail<ValueError>(op, "tolerances are {} and {}; they must be at least 0, and one of them above",
                     o.relative_tolerance, o.absolute_tolerance);
  if (!(o.first_step >= 0) || o.max_steps < 1 || o.memory_budget < 0)
    fail<ValueError>(op, "first_step is {}, max_steps {}, memory_budget {}; they must be at least 0, 1 and 0",
                     o.first_step, o.max_steps, o.memory_budget);
  if (!(o.longest_step >= 0)) fail<ValueError>(op, "longest_step is {}; it must be at least 0", o.longest_step);
  if (o.method > OdeMethod::rosenbrock) fail<ValueError>(op, "there is no such method");
  if (o.adjoint > OdeAdjoint::continuous) fail<ValueError>(op, "there is no such adjoint");
}

OdeProblem problem_of(const char* op, const OdeFunction& f, const Operand& start, const Operand& times_operand,
                      const OdeOptions& options) {
  detail::require_untraced(op);
  if (!f) fail<ValueError>(op, "the function is empty");
  require_ode_options(op, options);
  const Tensor y = start.is_weak() ? ops::to_tensor(op, start, DType::float64, "y0") : ops::to_tensor(op, start, "y0");
  if (y.dtype() != DType::float32 && y.dtype() != DType::float64)
    fail<TypeError>(op, "y0 is {}; it must be float32 or float64: cast it", y.dtype());
  ops::require_rank(op, y.rank() + 1);
  Tensor t = ops::to_tensor(op, times_operand, "t");
  if (is_complex(t.dtype())) fail<TypeError>(op, "t is {}; it must be real", t.dtype());
  t = ops::cast_to(t, y.dtype());
  if (t.rank() != 1 || t.size() == 0)
    fail<ShapeError>(op, "t is {}; it must be a vector of at least one time", t.shape());
  const std::vector<double> times = cast(t, DType::float64).to_vector();
  for (std::size_t k = 0; k < times.size(); ++k) {
    const bool ascends = k == 0 || times[k] > times[k - 1], descends = k == 0 || times[k] < times[k - 1];
    if (!std::isfinite(times[k]) || !(times.back() < times.front() ? descends : ascends))
      fail<ValueError>(op, "time {} is {}; times must ascend or descend strictly", k, times[k]);
  }
  return {{f, options.method, y.dtype(), op}, options, y, t, times};
}

}  // namespace

}  // namespace autodiff

Tensor odeint(const OdeFunction& f, const Operand& y0, const Operand& t, const OdeOptions& options) {
  const tape::OpScope scope(y0);
  const autodiff::OdeProblem problem = autodiff::problem_of("odeint", f, y0, t, options);
  if (options.adjoint == OdeAdjoint::continuous) return autodiff::solve_with_adjoint(problem);
  return tape::active() ? autodiff::integrate(problem).y : autodiff::integrate_unrecorded(problem);
}

OdeEvents odeint_events(const OdeFunction& f, const Operand& y0, const Operand& t, const std::vector<OdeEvent>& events,
                        const OdeOptions& options) {
  constexpr const char* op = "odeint_events";
  const tape::OpScope scope(y0);
  autodiff::OdeProblem problem = autodiff::problem_of(op, f, y0, t, options);
  for (std::size_t k = 0; k < events.size(); ++k) {
    if (!events[k].function) fail<ValueError>(op, "the function of event {} is empty", k);
    if (events[k].direction < -1 || events[k].direction > 1)
      fail<ValueError>(op, "the direction of event {} is {}; it must be -1, 0 or 1", k, events[k].direction);
  }
  problem.events = events;
  return options.adjoint == OdeAdjoint::continuous ? autodiff::solve_events_with_adjoint(problem)
                                                   : autodiff::integrate(problem);
}

}  // namespace reel
