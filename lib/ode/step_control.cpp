// Steps whose lengths follow from estimates of their errors.
#include "ode/step_control.hpp"

#include <algorithm>
#include <cmath>
#include <reel/ops/reduce.hpp>
#include <reel/ops/shape.hpp>

namespace reel::autodiff {

namespace {

// The length of the next step over this one's (Hairer, Norsett and Wanner, "Solving ordinary differential equations I",
// 1993, section II.4), and after a step whose error is not finite.
constexpr double safety_factor = 0.9, least_factor = 0.2, most_factor = 10, factor_of_failed_step = 0.1;

// The first step, ibid.: norms below which y and its slope say nothing, and second derivatives below which none is
// seen; the length where norms are too small; the part of |y| / |y'|, and of the error allowed, that it may change.
constexpr double small_norm = 1e-5, small_curvature = 1e-15, small_step = 1e-6, shorter_step = 1e-3, first_part = 0.01,
                 most_first_factor = 100;

class StepSearch {
 public:
  StepSearch(const Ode& ode, double from, double to, const OdeOptions& options)
      : ode_(ode), from_(from), to_(to), options_(options), direction_(to < from ? -1 : 1) {}

  Tensor run(ops::Quantity y, const StepSink& accepted) {
    double t = from_, size = first_size(y);
    const double order = ode_.method == OdeMethod::dormand_prince ? 5 : 3;
    for (std::int64_t tries = 0; t != to_; ++tries) {
      if (options_.longest_step > 0) size = std::min(size, options_.longest_step);
      const double rest = std::abs(to_ - t);
      const bool last = size >= rest;
      const double h = direction_ * (last ? rest : size), next = last ? to_ : t + h;
      if (next == t || !(std::abs(h) > 0))
        fail<ValueError>(ode_.name, "the steps become too short at t = {}; the solution may end there, or be stiff: {}",
                         t, advice());
      if (tries >= options_.max_steps)
        fail<ValueError>(ode_.name, "{} steps reach t = {} only; allow for more (max_steps), or {}", options_.max_steps,
                         t, advice());
      const StepResult step = take_step(ode_, y, number_of(ode_, t), number_of(ode_, h), true);
      const double error = size_of_error(step.error, y, step.y);
      // Growth is limited, and less so after a rejected step.
      const double factor =
          error == 0 ? most_factor : std::clamp(safety_factor * std::pow(error, -1 / order), least_factor, most_factor);
      if (error <= 1) {
        const bool goes_on = accepted(y, {t, h, next}, step);
        y = step.y;
        if (!goes_on) break;
        t = next;
        size = std::abs(h) * (rejected_ ? std::min(factor, 1.0) : factor);
        rejected_ = false;
      } else {
        size = std::abs(h) * (std::isfinite(error) ? std::min(factor, 1.0) : factor_of_failed_step);
        rejected_ = true;
      }
    }
    return y;
  }

 private:
  // A stiff equation is unstable backwards in time, whatever the method.
  const char* advice() const {
    const bool stiff_method = ode_.method == OdeMethod::rosenbrock;
    if (options_.adjoint == OdeAdjoint::continuous)
      return stiff_method ? "use OdeAdjoint::discrete: a stiff equation is unstable backwards in time"
                          : "use OdeMethod::rosenbrock with OdeAdjoint::discrete";
    return stiff_method ? "use larger tolerances" : "use OdeMethod::rosenbrock";
  }
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
    const double span = std::abs(to_ - from_);
    if (options_.first_step > 0) return std::min(options_.first_step, span);
    const ops::Quantity f0 = slope_of(ode_, y, number_of(ode_, from_));
    const double d0 = norm_of(y, y, y), d1 = norm_of(f0, y, y);
    if (!std::isfinite(d0) || !std::isfinite(d1))
      fail<ValueError>(ode_.name, "y0 or the function at the start is infinite or NaN");
    const double h0 = std::min(span, d0 < small_norm || d1 < small_norm ? small_step : first_part * d0 / d1);
    const ops::Quantity f1 = slope_of(ode_, y + (direction_ * h0) * f0, number_of(ode_, from_ + direction_ * h0));
    const double d2 = norm_of(f1 - f0, y, y) / h0, most = std::max(d1, d2);
    const double order = ode_.method == OdeMethod::dormand_prince ? 5 : 3;
    const double h1 =
        most <= small_curvature ? std::max(small_step, shorter_step * h0) : std::pow(first_part / most, 1 / order);
    return std::min({most_first_factor * h0, h1 > 0 ? h1 : h0, span});  // 0 where the second slope is infinite
  }

  const Ode& ode_;
  double from_, to_;
  const OdeOptions& options_;
  double direction_;
  bool rejected_ = false;
};

}  // namespace

Tensor find_steps(const Ode& ode, const Tensor& y, double from, double to, const OdeOptions& options,
                  const StepSink& accepted) {
  return from == to ? y : StepSearch(ode, from, to, options).run(y, accepted);
}

}  // namespace reel::autodiff
