// odeint: the steps are chosen unrecorded. Then the accepted steps are run again, recorded.
#include <algorithm>
#include <cmath>
#include <reel/control.hpp>
#include <reel/ode.hpp>
#include <reel/ops/index.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/reduce.hpp>
#include <vector>

#include "ops/engine.hpp"
#include "optim/equations/stages.hpp"
#include "tape/observe/observe.hpp"

namespace reel {

namespace autodiff {

namespace {

struct TakenStep {
  double start, length, end;
};
// Accepted steps in order, and for each time the step that reaches it.
struct StepPlan {
  std::vector<TakenStep> steps;
  std::vector<std::size_t> step_of_output;
};

class StepSearch {
 public:
  StepSearch(const Ode& ode, const std::vector<double>& times, const OdeOptions& options)
      : ode_(ode), times_(times), options_(options), direction_(times.back() < times.front() ? -1 : 1) {}

  StepPlan run(ops::Quantity y) {
    StepPlan plan;
    plan.step_of_output.push_back(0);
    if (times_.size() == 1) return plan;
    double t = times_[0], size = first_size(y);
    const double order = ode_.method == OdeMethod::dormand_prince ? 5 : 3;
    std::int64_t tries = 0;
    while (plan.step_of_output.size() < times_.size()) {
      const double rest = std::abs(times_.back() - t);
      const bool last = size >= rest;
      const double h = direction_ * (last ? rest : size), next = last ? times_.back() : t + h;
      if (next == t || !(std::abs(h) > 0))
        fail<ValueError>(ode_name, "the steps become too short at t = {}; the solution may end there, or be stiff", t);
      if (tries++ >= options_.max_steps)
        fail<ValueError>(ode_name, "{} steps reach t = {} only; allow for more, or use OdeMethod::rosenbrock",
                         options_.max_steps, t);
      const StepResult step = take_step(ode_, y, number_of(ode_, t), number_of(ode_, h), true);
      const double error = size_of_error(step.error, y, step.y);
      // The step grows by a bounded factor, which is smaller after a rejected step.
      const double factor = error == 0 ? 10 : std::clamp(0.9 * std::pow(error, -1 / order), 0.2, 10.0);
      if (error <= 1) {
        plan.steps.push_back({t, h, next});
        for (std::size_t k = plan.step_of_output.size(); k < times_.size() && direction_ * (next - times_[k]) >= 0; ++k)
          plan.step_of_output.push_back(plan.steps.size() - 1);
        y = step.y;
        t = next;
        size = std::abs(h) * (rejected_ ? std::min(factor, 1.0) : factor);
        rejected_ = false;
      } else {
        size = std::abs(h) * (std::isfinite(error) ? std::min(factor, 1.0) : 0.1);
        rejected_ = true;
      }
    }
    return plan;
  }

 private:
  double norm_of(const ops::Quantity& x, const Tensor& y, const Tensor& z) const {
    if (x.size() == 0) return 0;
    const ops::Quantity size = maximum(abs(y), abs(z)),
                        scale = options_.absolute_tolerance + options_.relative_tolerance * size;
    return std::sqrt(cast(mean(square(x / scale)), DType::float64).item());
  }
  double size_of_error(const Tensor& error, const Tensor& before, const Tensor& after) const {
    const double size = norm_of(error, before, after);
    return std::isnan(size) ? HUGE_VAL : size;
  }
  double first_size(const Tensor& y) const {
    const double span = std::abs(times_.back() - times_[0]);
    if (options_.first_step > 0) return std::min(options_.first_step, span);
    const ops::Quantity f0 = slope_of(ode_, y, number_of(ode_, times_[0]));
    const double d0 = norm_of(y, y, y), d1 = norm_of(f0, y, y);
    if (!std::isfinite(d0) || !std::isfinite(d1))
      fail<ValueError>(ode_name, "y0 or the function at the start is infinite or NaN");
    const double h0 = d0 < 1e-5 || d1 < 1e-5 ? 1e-6 : 0.01 * d0 / d1;
    const ops::Quantity f1 = slope_of(ode_, y + (direction_ * h0) * f0, number_of(ode_, times_[0] + direction_ * h0));
    const double d2 = norm_of(f1 - f0, y, y) / h0, most = std::max(d1, d2);
    const double order = ode_.method == OdeMethod::dormand_prince ? 5 : 3;
    const double h1 = most <= 1e-15 ? std::max(1e-6, 1e-3 * h0) : std::pow(0.01 / most, 1 / order);
    return std::min({100 * h0, std::isfinite(h1) ? h1 : h0, span});
  }

  const Ode& ode_;
  const std::vector<double>& times_;
  const OdeOptions& options_;
  double direction_;
  bool rejected_ = false;
};

StepResult taken_again(const Ode& ode, const Tensor& y, const TakenStep& step, bool whole) {
  return take_step(ode, y, number_of(ode, step.start), number_of(ode, step.length), whole);
}

// The state after steps [first, last), none of which has an output: as a loop if there are several.
ops::Quantity passed(const Ode& ode, const StepPlan& plan, std::size_t first, std::size_t last, const Tensor& y,
                     std::int64_t budget) {
  if (last - first < 4 || budget == 0) {
    ops::Quantity now = y;
    for (std::size_t k = first; k < last; ++k) now = taken_again(ode, now, plan.steps[k], false).y;
    return now;
  }
  std::vector<double> starts, lengths;
  for (std::size_t k = first; k < last; ++k) {
    starts.push_back(plan.steps[k].start);
    lengths.push_back(plan.steps[k].length);
  }
  detail::FlatLoop loop{.name = ode_name};
  loop.variables = 1;
  loop.steps = static_cast<std::int64_t>(starts.size());
  loop.step = [ode](std::span<const Tensor> state, std::span<const Tensor> x) {
    return std::vector<Tensor>{take_step(ode, state[0], x[0], x[1], false).y};
  };
  const Tensor initial[] = {y}, xs[] = {cast(from_data(starts), ode.dtype), cast(from_data(lengths), ode.dtype)};
  return detail::run_loop(loop, initial, xs, {.memory_budget = budget})[0];
}

// y with its derivative with respect to time: adds a step over t minus t's own value, whose length is zero.
ops::Quantity with_time(const Ode& ode, const Tensor& y, const Tensor& t, bool backwards) {
  const ops::Quantity at = stop_gradient(t), by = backwards ? at - t : t - at;
  return dormand_prince_step(ode, y, backwards ? t : at, by, false).y;
}

Tensor integrated(const Ode& ode, ops::Quantity y, const Tensor& t, const std::vector<double>& times,
                  const StepPlan& plan, std::int64_t budget) {
  const bool by_time = tape::followed(t);
  std::vector<Tensor> outputs{y};
  if (by_time) y = with_time(ode, y, t(0), true);
  std::size_t at = 0;  // the next step
  for (std::size_t k = 1; k < times.size();) {
    const std::size_t step = plan.step_of_output[k];
    y = passed(ode, plan, at, step, y, budget);
    const auto [start, length, end] = plan.steps[step];
    const StepResult taken = taken_again(ode, y, plan.steps[step], true);
    for (; k < times.size() && plan.step_of_output[k] == step; ++k) {
      const double part = (times[k] - start) / length;
      ops::Quantity z = times[k] == end ? taken.y : between(ode, y, taken, length, part);
      if (by_time) z = with_time(ode, z, t(static_cast<std::int64_t>(k)), false);
      outputs.push_back(z);
    }
    y = taken.y;
    at = step + 1;
  }
  return stack(outputs, 0);
}

void require_ode_options(const OdeOptions& o) {
  if (!(o.relative_tolerance >= 0) || !(o.absolute_tolerance >= 0) ||
      !(o.relative_tolerance + o.absolute_tolerance > 0))
    fail<ValueError>(ode_name, "tolerances are {} and {}; they must be at least 0, and one of them above",
                     o.relative_tolerance, o.absolute_tolerance);
  if (!(o.first_step >= 0) || o.max_steps < 1 || o.memory_budget < 0)
    fail<ValueError>(ode_name, "first_step is {}, max_steps {}, memory_budget {}; they must be at least 0, 1 and 0",
                     o.first_step, o.max_steps, o.memory_budget);
  if (o.method > OdeMethod::rosenbrock) fail<ValueError>(ode_name, "there is no such method");
}

}  // namespace

}  // namespace autodiff

Tensor odeint(const OdeFunction& f, const Operand& start, const Operand& given, const OdeOptions& options) {
  using autodiff::ode_name;
  const tape::OpScope scope(start);
  if (!f) fail<ValueError>(ode_name, "the function is empty");
  autodiff::require_ode_options(options);
  const Tensor y =
      start.is_weak() ? ops::to_tensor(ode_name, start, DType::float64, "y0") : ops::to_tensor(ode_name, start, "y0");
  if (y.dtype() != DType::float32 && y.dtype() != DType::float64)
    fail<TypeError>(ode_name, "y0 is {}; it must be float32 or float64: cast it", y.dtype());
  ops::require_rank(ode_name, y.rank() + 1);
  Tensor t = ops::to_tensor(ode_name, given, "t");
  if (is_complex(t.dtype())) fail<TypeError>(ode_name, "t is {}; it must be real", t.dtype());
  t = ops::cast_to(t, y.dtype());
  if (t.rank() != 1 || t.size() == 0)
    fail<ShapeError>(ode_name, "t is {}; it must be a vector of at least one time", t.shape());
  const std::vector<double> times = cast(t, DType::float64).to_vector();
  for (std::size_t k = 0; k < times.size(); ++k) {
    const bool ascends = k == 0 || times[k] > times[k - 1], descends = k == 0 || times[k] < times[k - 1];
    if (!std::isfinite(times[k]) || !(times.back() < times.front() ? descends : ascends))
      fail<ValueError>(ode_name, "time {} is {}; times must ascend or descend strictly", k, times[k]);
  }
  const autodiff::Ode ode{f, options.method, y.dtype()};
  autodiff::StepPlan plan;
  {
    const tape::Suspend unrecorded;
    plan = autodiff::StepSearch(ode, times, options).run(stop_gradient(y));
  }
  return autodiff::integrated(ode, y, t, times, plan, options.memory_budget);
}

}  // namespace reel
