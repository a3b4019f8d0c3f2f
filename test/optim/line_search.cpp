// The line search on the functions of More and Thuente, "Line search algorithms with guaranteed sufficient decrease",
// 1994, section 5: the strong Wolfe conditions hold after the published number of evaluations.
#include "optim/minimize/line_search.hpp"

#include <cmath>

#include "../catch.hpp"

using namespace reel::optim;

namespace {

struct Function {
  double value, slope;
};

Function rational(double a) {  // (5.1)
  const double b = 2, d = a * a + b;
  return {-a / d, (a * a - b) / (d * d)};
}
Function quintic(double a) {  // (5.2)
  const double t = a + 0.004;
  return {std::pow(t, 5) - 2 * std::pow(t, 4), 5 * std::pow(t, 4) - 8 * std::pow(t, 3)};
}

struct Found {
  int evaluations = 0;
  double step = 0;
};

// Searches, and checks the conditions at the step found.
template <class F>
Found search(F f, double first_step, const WolfeConstants& constants) {
  const Function at_start = f(0);
  LineSearch line({0, at_start.value, at_start.slope}, first_step, 1e20, constants);
  Found found;
  for (bool done = false; !done && found.evaluations < 50;) {
    found.step = line.step();
    const Function at = f(found.step);
    ++found.evaluations;
    done = line.add_trial(at.value, at.slope);
  }
  const Function at = f(found.step);
  CHECK(at.value <= at_start.value + constants.decrease * found.step * at_start.slope);
  CHECK(std::abs(at.slope) <= constants.curvature * std::abs(at_start.slope));
  return found;
}

}  // namespace

TEST_CASE("the line search takes as many evaluations as its authors publish") {
  struct Row {
    double first_step;
    int rational, quintic;  // tables I and II
  };
  for (const Row& row : {Row{1e-3, 6, 12}, Row{1e-1, 3, 8}, Row{1e1, 1, 8}, Row{1e3, 4, 11}}) {
    INFO("first step " << row.first_step);
    CHECK(search(rational, row.first_step, {.decrease = 1e-3, .curvature = 1e-1}).evaluations == row.rational);
    const Found found = search(quintic, row.first_step, {.decrease = 1e-1, .curvature = 1e-1});
    CHECK(found.evaluations == row.quintic);
    CHECK(found.step == Approx(1.6).margin(0.005));
  }
}

TEST_CASE("no step of a line search is longer than the longest") {
  LineSearch line({0, 0, -1}, 5, 3);
  CHECK(line.step() == 3);
  CHECK(line.add_trial(-3, -1));  // a straight line down
  CHECK(line.has_sufficient_decrease());
}

TEST_CASE("a trial that is not finite is halved towards the best one") {
  LineSearch line({0, 0, -1}, 1, 100);
  line.reject_trial();
  CHECK(line.step() == 0.5);
  line.reject_trial();
  CHECK(line.step() == 0.25);
  CHECK_FALSE(line.has_sufficient_decrease());
  CHECK(line.best_step() == 0);
}
