// Signs of events are compared at the quarters of each step: by the interpolant, and where that shows a change, by
// shorter steps, which also define the root. So the state at a root is that of a step as accurate as the others, and
// the derivatives of both are exact for what is computed.
#include "ode/events.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <reel/ops/make.hpp>
#include <reel/ops/shape.hpp>

#include "ops/engine.hpp"
#include "solve/implicit.hpp"
#include "tape/record.hpp"

namespace reel::autodiff {

namespace {

constexpr std::size_t parts = 4;  // of a step
using Values = std::array<double, parts + 1>;

int sign_of(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }
bool is_root(double before, double after) { return before != 0 && sign_of(before) != sign_of(after); }

Tensor value_of(const Ode& ode, const OdeEvent& event, std::size_t number, const Tensor& y, const Tensor& t) {
  const Tensor g = event.function(y, t);
  if (!g.defined())
    fail<ValueError>(ode.name, "event {} returned an empty tensor; did you forget to return a value?", number);
  if (g.size() != 1)
    fail<ShapeError>(ode.name, "event {} returned shape {}; it must have one element", number, g.shape());
  if (is_complex(g.dtype()) || !is_differentiable(g.dtype()))
    fail<TypeError>(ode.name, "event {} returned {}; it must be real and floating", number, g.dtype());
  return reshape(ops::cast_to(g, ode.dtype), {});
}

}  // namespace

EventSearch::EventSearch(const Ode& ode, std::span<const OdeEvent> events, const Tensor& y, double start)
    : ode_(ode), events_(events), start_(start) {
  for (std::size_t k = 0; k < events.size(); ++k) before_.push_back(value_at(k, y, start));
}

double EventSearch::value_at(std::size_t event, const Tensor& y, double t) const {
  const double g = cast(value_of(ode_, events_[event], event, y, number_of(ode_, t)), DType::float64).item();
  if (std::isnan(g)) fail<ValueError>(ode_.name, "event {} is NaN at t = {}", event, t);
  return g;
}
double EventSearch::value_after(std::size_t event, const Tensor& y, double start, double length) const {
  return value_at(event, take_step(ode_, y, number_of(ode_, start), number_of(ode_, length), false).y, start + length);
}

// Chandrupatla, "A new hybrid quadratic/bisection algorithm for finding the zero of a nonlinear function", 1997.
double EventSearch::refine_root(std::size_t event, const Tensor& y, double start, double low, double at_low,
                                double high, double at_high) const {
  double a = high, fa = at_high, b = low, fb = at_low, c = a, fc = fa, part = 0.5;
  for (int k = 0; k < 200; ++k) {
    const double x = a + part * (b - a), f = value_after(event, y, start, x);
    if (sign_of(f) == sign_of(fa)) {
      c = a, fc = fa;
    } else {
      c = b, fc = fb;
      b = a, fb = fa;
    }
    a = x, fa = f;
    const double best = std::abs(fa) < std::abs(fb) ? a : b;
    const double limit = unit() * std::max(std::abs(best), std::abs(start + best)) / std::abs(b - a);
    if (fa == 0 || limit > 0.5) return best;
    const double xi = (a - b) / (c - b), phi = (fa - fb) / (fc - fb);
    part = 0.5;
    if (1 - std::sqrt(1 - xi) < phi && phi < std::sqrt(xi))
      part = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb);
    part = std::clamp(part, limit, 1 - limit);
  }
  return a;
}

std::vector<EventRoot> EventSearch::roots_of(std::size_t event, const Tensor& y, const TakenStep& taken,
                                             const StepResult& step) {
  const auto at = [&](std::size_t k) { return taken.length * static_cast<double>(k) / parts; };
  Values g{before_[event]};
  g[parts] = value_at(event, step.y, taken.end);
  bool changes = is_root(g[0], g[parts]);
  for (std::size_t k = 1; k < parts; ++k) {
    g[k] = value_at(event, between(ode_, y, step, taken.length, static_cast<double>(k) / parts), taken.start + at(k));
    changes = changes || sign_of(g[k]) != sign_of(g[parts]);
  }
  before_[event] = g[parts];
  std::vector<EventRoot> roots;
  if (!changes) return roots;
  for (std::size_t k = 1; k < parts; ++k) g[k] = value_after(event, y, taken.start, at(k));
  for (std::size_t k = 0; k < parts; ++k) {
    const int direction = events_[event].direction;
    if (!is_root(g[k], g[k + 1]) || direction * g[k] > 0) continue;
    const double length =
        g[k + 1] == 0 ? at(k + 1) : refine_root(event, y, taken.start, at(k), g[k], at(k + 1), g[k + 1]);
    const double rounding = unit() * std::max(std::abs(taken.start), std::abs(taken.length));
    if (taken.start != start_ || std::abs(length) > 64 * rounding) roots.push_back({event, 0, length});
  }
  return roots;
}

std::int64_t EventSearch::find(const Tensor& y, const TakenStep& taken, const StepResult& step, std::size_t number,
                               std::vector<EventRoot>& roots) {
  std::vector<EventRoot> found;
  for (std::size_t k = 0; k < events_.size(); ++k)
    for (const EventRoot& root : roots_of(k, y, taken, step)) found.push_back({k, number, root.length});
  std::stable_sort(found.begin(), found.end(),
                   [](const EventRoot& a, const EventRoot& b) { return std::abs(a.length) < std::abs(b.length); });
  for (const EventRoot& root : found) {
    roots.push_back(root);
    if (events_[root.event].terminal) return static_cast<std::int64_t>(root.event);
  }
  return -1;
}

EventPoint event_point(const Ode& ode, const OdeEvent& event, std::size_t number, double begin, double length,
                       const Callback<Tensor(const Tensor&)>& state) {
  const Tensor found = number_of(ode, length);
  const ops::Quantity start = number_of(ode, begin);
  const auto residual = [ode, event, number, state, start](const Tensor& h) {
    return value_of(ode, event, number, state(h), start + h);
  };
  // The matrix is the derivative by time alone.
  const LinearSolver by_slope = [name = ode.name, number](const LinearOperator& slope, const Tensor& b) {
    const Tensor by_time = slope(ones_like(b));
    if (cast(by_time, DType::float64).item() == 0)
      fail<ValueError>(name, "event {} touches zero where its derivative by time is zero: the time has no derivative",
                       number);
    return divide(b, by_time);
  };
  const Equation equation{ode.name, residual, by_slope, by_slope, true};
  const ops::Quantity h = implicit_solution(equation, [&] {
    if (tape::active()) static_cast<void>(residual(found));  // tells what it reads
    return found;
  });
  return {start + h, state(h)};
}

}  // namespace reel::autodiff
