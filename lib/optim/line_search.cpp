#include "optim/line_search.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace reel::optim {
namespace {

constexpr double interval_reduction = 0.66;   // factor by which two trials must shrink the interval; the paper's delta
constexpr double interval_tolerance = 1e-16;  // relative width of an interval that is not divided further
constexpr double least_extrapolation = 1.1,
                 most_extrapolation = 4;  // factors of the last step, before a bracket is found

// The discriminant terms of the cubic that interpolates values and slopes of two trials.
struct Cubic {
  double theta, gamma = 0;

  Cubic(const Trial& a, const Trial& b) : theta(3 * (a.value - b.value) / (b.step - a.step) + a.slope + b.slope) {
    const double scale = std::max({std::abs(theta), std::abs(a.slope), std::abs(b.slope)});
    if (scale == 0) return;
    const double square = (theta / scale) * (theta / scale) - (a.slope / scale) * (b.slope / scale);
    gamma = scale * std::sqrt(std::max(0., square));
  }
};

// The minimiser of the cubic through both values and slopes.
double cubic_step(const Trial& a, const Trial& b) {
  const Cubic c(a, b);
  const double gamma = b.step < a.step ? -c.gamma : c.gamma;
  const double p = gamma - a.slope + c.theta, q = gamma - a.slope + gamma + b.slope;
  return a.step + p / q * (b.step - a.step);
}

// The minimiser of the parabola through both values and the slope of a.
double quadratic_step(const Trial& a, const Trial& b) {
  const double width = b.step - a.step;
  return a.step + a.slope / ((a.value - b.value) / width + a.slope) / 2 * width;
}

// The minimiser of the parabola through both slopes.
double secant_step(const Trial& a, const Trial& b) {
  return b.step + b.slope / (b.slope - a.slope) * (a.step - b.step);
}

bool is_nearer(double a, double b, double to) { return std::abs(a - to) < std::abs(b - to); }

// The standard deviation of the errors of values at equidistant steps, by fourth differences, in which a smooth
// function vanishes: More and Wild, "Estimating computational noise", SIAM Journal on Scientific Computing 33, 2011,
// equation 2.5. Where neighbours are equal the values are multiples of a quantum, whose errors are uniform.
template <std::size_t N>
double noise_of(std::array<double, N> values) {
  constexpr std::size_t order = 4;
  constexpr double factor = 1. / 70, of_quantum = 0.29;  // (order!)^2 / (2 order)!, 1 / sqrt(12)
  double quantum = HUGE_VAL;
  int ties = 0;
  for (std::size_t pass = 1; pass <= order; ++pass) {
    for (std::size_t k = 0; k + pass < N; ++k) values[k] = values[k + 1] - values[k];
    if (pass > 1) continue;
    for (std::size_t k = 0; k + 1 < N; ++k) {
      ties += values[k] == 0;
      if (values[k] != 0) quantum = std::min(quantum, std::abs(values[k]));
    }
  }
  double squares = 0;
  for (std::size_t k = 0; k + order < N; ++k) squares += values[k] * values[k];
  const double noise = std::sqrt(factor * squares / static_cast<double>(N - order));
  return ties > 1 && std::isfinite(quantum) ? std::max(noise, of_quantum * quantum) : noise;
}

// Whether the noise of values around the minimiser of a parabola hides its depth. Close by, values may be equal
// although their error is larger; farther away a parabola still has no fourth differences.
bool is_hidden_by_noise(double depth, double start, double minimiser, const Callback<Trial(double)>& at) {
  constexpr double margin = 10;  // a search fails before the depth is as small as the noise
  double noise = rounding_of(start);
  for (const double spacing : {0.25, 1.}) {
    std::array<double, 8> values{start};
    for (std::size_t k = 1; k < values.size(); ++k) values[k] = at(minimiser * spacing * static_cast<double>(k)).value;
    if (std::all_of(values.begin(), values.end(), [&](double v) { return v == start; })) return true;
    noise = std::max(noise, noise_of(values));
  }
  return depth <= margin * noise && std::abs(at(minimiser).value - start) <= margin * noise;
}

// The trial of the auxiliary function psi, f less the line of sufficient decrease.
Trial auxiliary(const Trial& t, double line_slope) {
  return {t.step, t.value - t.step * line_slope, t.slope - line_slope};
}

}  // namespace

LineSearch::LineSearch(const Trial& start, double first_step, double longest, const WolfeConstants& constants)
    : constants_(constants),
      start_(start),
      best_(start),
      opposite_(start),
      step_(std::min(first_step, longest)),
      longest_(longest),
      width_(longest),
      previous_width_(2 * longest),
      upper_bound_((1 + most_extrapolation) * step_) {}

bool LineSearch::add_trial(double value, double slope) {
  const double line_slope = constants_.decrease * start_.slope;
  const double rounding = rounding_of(start_.value);
  sufficient_decrease_ = value <= start_.value + step_ * line_slope;
  hidden_decrease_ =
      std::abs(value - start_.value) <= rounding && is_slope_of_decrease(slope, start_.slope, constants_.decrease);
  if (sufficient_decrease_ && slope >= std::min(constants_.decrease, constants_.curvature) * start_.slope)
    first_stage_ = false;
  if ((sufficient_decrease_ || hidden_decrease_) && std::abs(slope) <= -constants_.curvature * start_.slope)
    return true;
  if (sufficient_decrease_ && slope <= line_slope && step_ >= longest_) return true;
  if (is_interval_exhausted() || -step_ * start_.slope <= rounding) return true;

  const Trial trial{step_, value, slope};
  if (first_stage_ && value <= best_.value && !sufficient_decrease_) {
    best_ = auxiliary(best_, line_slope);
    opposite_ = auxiliary(opposite_, line_slope);
    update_interval(auxiliary(trial, line_slope));
    best_ = auxiliary(best_, -line_slope);
    opposite_ = auxiliary(opposite_, -line_slope);
  } else {
    update_interval(trial);
  }
  safeguard_step();
  return false;
}

void LineSearch::reject_trial() {
  longest_ = step_;
  sufficient_decrease_ = hidden_decrease_ = false;
  step_ = best_.step + 0.5 * (step_ - best_.step);
  upper_bound_ = std::min(upper_bound_, longest_);
}

// Section 4 of the paper: the cases 1 to 4, in this order.
void LineSearch::update_interval(const Trial& trial) {
  const bool higher = trial.value > best_.value;
  const bool opposite_slopes = trial.slope * best_.slope < 0;
  double next = 0;
  if (higher) {
    const double cubic = cubic_step(best_, trial), quadratic = quadratic_step(best_, trial);
    next = is_nearer(cubic, quadratic, best_.step) ? cubic : cubic + (quadratic - cubic) / 2;
  } else if (opposite_slopes) {
    const double cubic = cubic_step(trial, best_), secant = secant_step(best_, trial);
    next = is_nearer(secant, cubic, trial.step) ? cubic : secant;
  } else if (std::abs(trial.slope) < std::abs(best_.slope)) {
    next = extrapolated_step(trial);
  } else if (bracketed_) {
    next = cubic_step(trial, opposite_);
  } else {
    next = trial.step > best_.step ? upper_bound_ : lower_bound_;
  }
  bracketed_ = bracketed_ || higher || opposite_slopes;
  if (higher) {
    opposite_ = trial;
  } else {
    if (opposite_slopes) opposite_ = best_;
    best_ = trial;
  }
  step_ = next;
}

// Case 3: the slope shrinks without changing sign. The cubic may have no minimiser beyond the trial.
double LineSearch::extrapolated_step(const Trial& trial) const {
  const bool forward = trial.step > best_.step;
  const Cubic c(best_, trial);
  const double gamma = forward ? -c.gamma : c.gamma;
  const double r = (gamma - trial.slope + c.theta) / (gamma + (best_.slope - trial.slope) + gamma);
  const bool has_minimiser = r < 0 && gamma != 0;
  const double cubic = has_minimiser ? trial.step + r * (best_.step - trial.step)
                       : forward     ? upper_bound_
                                     : lower_bound_;
  const double secant = secant_step(best_, trial);
  double next = is_nearer(cubic, secant, trial.step) == bracketed_ ? cubic : secant;
  if (bracketed_) {
    const double limit = trial.step + interval_reduction * (opposite_.step - trial.step);
    next = forward ? std::min(limit, next) : std::max(limit, next);
  }
  return std::clamp(next, std::min(lower_bound_, upper_bound_), std::max(lower_bound_, upper_bound_));
}

// Bounds the next step, and bisects an interval that shrinks too slowly.
void LineSearch::safeguard_step() {
  if (bracketed_) {
    const double width = std::abs(opposite_.step - best_.step);
    if (width >= interval_reduction * previous_width_) step_ = best_.step + 0.5 * (opposite_.step - best_.step);
    previous_width_ = std::exchange(width_, width);
    lower_bound_ = std::min(best_.step, opposite_.step);
    upper_bound_ = std::max(best_.step, opposite_.step);
  } else {
    lower_bound_ = step_ + least_extrapolation * (step_ - best_.step);
    upper_bound_ = step_ + most_extrapolation * (step_ - best_.step);
  }
  step_ = std::clamp(step_, 0., longest_);
  if (is_interval_exhausted()) step_ = best_.step;
}

bool LineSearch::is_interval_exhausted() const noexcept {
  return bracketed_ && (step_ <= lower_bound_ || step_ >= upper_bound_ ||
                        upper_bound_ - lower_bound_ <= interval_tolerance * upper_bound_);
}

bool hides_gain(const Trial& start, double first_step, const Callback<Trial(double)>& at) {
  constexpr int most_probes = 20;
  constexpr double near = 0.5;     // of the slope at the start: a step near the minimiser
  constexpr double factor = 1000;  // most change of a step
  if (!(start.slope < 0)) return false;
  double step = first_step;
  for (int probe = 0; probe < most_probes && step > 0; ++probe) {
    const Trial trial = at(step);
    if (!std::isfinite(trial.value) || !std::isfinite(trial.slope)) {
      step /= 4;
      continue;
    }
    const double minimiser = trial.slope > start.slope ? step * start.slope / (start.slope - trial.slope) : HUGE_VAL;
    if (std::abs(trial.slope) <= -near * start.slope)
      return is_hidden_by_noise(-0.5 * start.slope * minimiser, start.value, minimiser, at);
    step = std::clamp(minimiser, step / factor, step * factor);
  }
  return false;
}

}  // namespace reel::optim
