// A step length along a direction of descent that meets the strong Wolfe conditions.
#pragma once

namespace reel::optim {

/// A length, the value there and its derivative along the direction.
struct Trial {
  double step = 0, value = 0, slope = 0;
};

/// The search of More and Thuente, "Line search algorithms with guaranteed sufficient decrease", ACM Transactions on
/// Mathematical Software 20, 1994. The caller evaluates at step(), hands the result to take(), until that says done.
class LineSearch {
 public:
  /// `start.slope` is negative. No step is longer than `longest`.
  LineSearch(const Trial& start, double first_step, double longest);

  double step() const noexcept { return step_; }
  /// Takes the result at step(). True when it meets the conditions, or when no longer or shorter step can.
  bool take(double value, double slope);
  /// Takes that value or slope is not finite at step(): the next step is shorter.
  void step_back();
  /// The step with the lowest value so far; 0 where none was lower than the start's.
  double best_step() const noexcept { return best_.step; }
  /// Whether the value at the last step meets the condition of sufficient decrease.
  bool decreased() const noexcept { return decreased_; }

 private:
  void narrow(Trial trial);
  void next_step();

  Trial start_, best_, other_;  // other_ is the far end of the interval once that is bracketed
  double step_, longest_;
  double width_, width_before_;
  double low_ = 0, high_;  // where the next step may be
  bool bracketed_ = false, first_stage_ = true, decreased_ = false;
};

}  // namespace reel::optim
