#include "optim/minimize/line_search.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace reel::optim {
namespace {

constexpr double sufficient_decrease = 1e-4;  // of the value, as a fraction of what the first slope promises
constexpr double curvature = 0.9;             // of the slope, as a fraction of the first one
constexpr double shrink = 0.66;               // of the interval in two steps, at least
constexpr double relative_width = 1e-16;      // of an interval that is a point

// What the minimiser of the cubic with the values and slopes of two trials is computed from.
struct Cubic {
  double theta, gamma = 0;

  Cubic(const Trial& a, const Trial& b) : theta(3 * (a.value - b.value) / (b.step - a.step) + a.slope + b.slope) {
    const double scale = std::max({std::abs(theta), std::abs(a.slope), std::abs(b.slope)});
    if (scale == 0) return;
    const double square = (theta / scale) * (theta / scale) - (a.slope / scale) * (b.slope / scale);
    gamma = scale * std::sqrt(std::max(0., square));
  }
};

// That minimiser, as a step from `a` towards `b`.
double cubic_from(const Trial& a, const Trial& b) {
  const Cubic c(a, b);
  const double gamma = b.step < a.step ? -c.gamma : c.gamma;
  const double p = gamma - a.slope + c.theta, q = gamma - a.slope + gamma + b.slope;
  return a.step + p / q * (b.step - a.step);
}

// From two slopes alone.
double secant(const Trial& a, const Trial& b) { return b.step + b.slope / (b.slope - a.slope) * (a.step - b.step); }

}  // namespace

LineSearch::LineSearch(const Trial& start, double first_step, double longest)
    : start_(start),
      best_(start),
      other_(start),
      step_(std::min(first_step, longest)),
      longest_(longest),
      width_(longest),
      width_before_(2 * longest),
      high_(5 * step_) {
  best_.step = other_.step = 0;
}

bool LineSearch::take(double value, double slope) {
  const double promised = sufficient_decrease * start_.slope;
  const double bound = start_.value + step_ * promised;
  decreased_ = value <= bound;
  if (first_stage_ && decreased_ && slope >= std::min(sufficient_decrease, curvature) * start_.slope)
    first_stage_ = false;
  if (decreased_ && std::abs(slope) <= -curvature * start_.slope) return true;
  if (decreased_ && slope <= promised && step_ >= longest_) return true;
  if (bracketed_ && (step_ <= low_ || step_ >= high_ || high_ - low_ <= relative_width * high_)) return true;

  if (first_stage_ && value <= best_.value && !decreased_) {
    // Of the function less the promised decrease, whose interval holds steps that meet the conditions.
    for (Trial* t : {&best_, &other_}) t->value -= t->step * promised, t->slope -= promised;
    narrow({step_, value - step_ * promised, slope - promised});
    for (Trial* t : {&best_, &other_}) t->value += t->step * promised, t->slope += promised;
  } else {
    narrow({step_, value, slope});
  }
  next_step();
  return false;
}

void LineSearch::step_back() {
  longest_ = step_;
  decreased_ = false;
  step_ = best_.step + 0.5 * (step_ - best_.step);
  high_ = std::min(high_, longest_);
}

// Updates the interval and chooses the next step in it: the paper's section 4, cases 1 to 4.
void LineSearch::narrow(Trial trial) {
  const bool higher = trial.value > best_.value;
  const bool turned = trial.slope * best_.slope < 0;
  double next = 0;
  if (higher) {
    const double cubic = cubic_from(best_, trial);
    const double span = trial.step - best_.step;
    const double quadratic = best_.step + best_.slope / ((best_.value - trial.value) / span + best_.slope) / 2 * span;
    next = std::abs(cubic - best_.step) < std::abs(quadratic - best_.step) ? cubic : cubic + (quadratic - cubic) / 2;
    bracketed_ = true;
  } else if (turned) {
    const double cubic = cubic_from(trial, best_), linear = secant(best_, trial);
    next = std::abs(cubic - trial.step) > std::abs(linear - trial.step) ? cubic : linear;
    bracketed_ = true;
  } else if (std::abs(trial.slope) < std::abs(best_.slope)) {
    // The cubic may have no minimiser beyond the trial.
    const Cubic c(best_, trial);
    const double gamma = trial.step > best_.step ? -c.gamma : c.gamma;
    const double r = (gamma - trial.slope + c.theta) / (gamma + (best_.slope - trial.slope) + gamma);
    const double end = trial.step > best_.step ? high_ : low_;
    const double cubic = r < 0 && gamma != 0 ? trial.step + r * (best_.step - trial.step) : end;
    const double linear = secant(best_, trial);
    const bool cubic_is_nearer = std::abs(cubic - trial.step) < std::abs(linear - trial.step);
    next = cubic_is_nearer == bracketed_ ? cubic : linear;
    if (bracketed_) {
      const double limit = trial.step + shrink * (other_.step - trial.step);
      next = trial.step > best_.step ? std::min(limit, next) : std::max(limit, next);
    }
    next = std::clamp(next, std::min(low_, high_), std::max(low_, high_));
  } else {
    next = bracketed_ ? cubic_from(trial, other_) : trial.step > best_.step ? high_ : low_;
  }
  if (higher) {
    other_ = trial;
  } else {
    if (turned) other_ = best_;
    best_ = trial;
  }
  step_ = next;
}

void LineSearch::next_step() {
  if (bracketed_) {
    const double width = std::abs(other_.step - best_.step);
    if (width >= shrink * width_before_) step_ = best_.step + 0.5 * (other_.step - best_.step);
    width_before_ = std::exchange(width_, width);
    low_ = std::min(best_.step, other_.step);
    high_ = std::max(best_.step, other_.step);
  } else {
    low_ = step_ + 1.1 * (step_ - best_.step);
    high_ = step_ + 4 * (step_ - best_.step);
  }
  step_ = std::clamp(step_, 0., longest_);
  if (bracketed_ && (step_ <= low_ || step_ >= high_ || high_ - low_ <= relative_width * high_)) step_ = best_.step;
}

}  // namespace reel::optim
