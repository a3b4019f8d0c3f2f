// Line search for the strong Wolfe conditions.
#pragma once
#include <cmath>
#include <limits>
#include <reel/callback.hpp>

namespace reel::optim {

/// A trial step: its length, the value of the function there and the directional derivative there.
struct Trial {
  double step = 0, value = 0, slope = 0;
};

/// The constants of the strong Wolfe conditions: value <= start.value + decrease step start.slope, and
/// |slope| <= curvature |start.slope|.
struct WolfeConstants {
  double decrease = 1e-4, curvature = 0.9;
};

/// The difference up to which values are equal but for rounding: 8 units in the last place of the start's value.
inline double rounding_of(double value) { return 8 * std::numeric_limits<double>::epsilon() * std::abs(value); }
/// Equation 4.1 of Hager and Zhang: where values are equal but for rounding, whether the slope at a step is that of a
/// parabola with sufficient decrease.
inline bool is_slope_of_decrease(double slope, double start_slope, double decrease) {
  return slope <= (2 * decrease - 1) * start_slope;
}

/// More and Thuente, "Line search algorithms with guaranteed sufficient decrease", ACM Transactions on Mathematical
/// Software 20, 1994. The caller evaluates the function at step() and passes the result to add_trial(), until that
/// returns true.
///
/// 1. Steps are extrapolated until an interval contains a minimiser: it is *bracketed*.
/// 2. Each trial replaces an end of the interval; the next one is interpolated in it.
/// 3. The search ends at a step with sufficient decrease (Armijo) and a small slope (curvature condition).
/// 4. Where rounding hides the decrease, slopes decide: the approximate Wolfe conditions of Hager and Zhang, equation
/// 4.1 (SIAM Journal on Optimization 16, 2005). The search also ends where rounding would hide the expected decrease.
class LineSearch {
 public:
  /// `start` is the trial of step 0; its slope is negative. No step exceeds `longest`.
  LineSearch(const Trial& start, double first_step, double longest, const WolfeConstants& constants = {});

  double step() const noexcept { return step_; }
  /// Adds the trial at step(). True when both conditions hold, or when the interval cannot shrink any more.
  bool add_trial(double value, double slope);
  /// Rejects step(), where value or slope is not finite: the next step is shorter.
  void reject_trial();
  /// The step of the lowest value; 0 if no trial was below the start.
  double best_step() const noexcept { return best_.step; }
  /// Whether the last trial has sufficient decrease.
  bool has_sufficient_decrease() const noexcept { return sufficient_decrease_; }
  /// Whether the last trial's value equals the start's but for rounding, while its slope is that of a sufficient
  /// decrease.
  bool has_hidden_decrease() const noexcept { return hidden_decrease_; }

 private:
  void update_interval(const Trial& trial);
  void safeguard_step();
  bool is_interval_exhausted() const noexcept;
  double extrapolated_step(const Trial& trial) const;

  WolfeConstants constants_;
  Trial start_, best_, opposite_;  // best_ and opposite_ are the ends of the interval
  double step_, longest_;
  double width_, previous_width_;         // of the interval
  double lower_bound_ = 0, upper_bound_;  // of the next step
  bool bracketed_ = false, sufficient_decrease_ = false, hidden_decrease_ = false;
  bool first_stage_ = true;  // the paper's: no trial yet with sufficient decrease and a slope near zero or positive
};

/// Where a search along a direction found nothing lower: whether rounding hides what there is to gain. `start` is the
/// trial of step 0, and at(step) evaluates others. The minimiser along the direction follows from the slopes, which
/// must become small near it, as at no kink and with no wrong gradient; the gain there is compared with the noise of
/// the values around it.
bool hides_gain(const Trial& start, double first_step, const Callback<Trial(double)>& at);

}  // namespace reel::optim
