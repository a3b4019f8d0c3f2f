// The line search on the functions of More and Thuente, "Line search algorithms with guaranteed sufficient decrease",
// 1994, section 5: the strong Wolfe conditions hold after the published number of evaluations.
#include "optim/line_search.hpp"

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

Function wavy(double a) {  // (5.3), of 39 waves
  const double pi = std::acos(-1), beta = 0.01, waves = 39;
  Function f = {std::abs(a - 1), a < 1 ? -1.0 : 1.0};
  if (std::abs(a - 1) < beta) f = {(a - 1) * (a - 1) / (2 * beta) + beta / 2, (a - 1) / beta};
  f.value += 2 * (1 - beta) / (waves * pi) * std::sin(waves * pi / 2 * a);
  f.slope += (1 - beta) * std::cos(waves * pi / 2 * a);
  return f;
}
// (5.4): convex, with a bend of this sharpness at each end of [0, 1].
template <int BendAt0, int BendAt1>
Function bends(double a) {
  const double b1 = 1e-3 * BendAt0, b2 = 1e-3 * BendAt1;
  const auto gamma = [](double b) { return std::sqrt(1 + b * b) - b; };
  const double r1 = std::hypot(1 - a, b2), r2 = std::hypot(a, b1);
  return {gamma(b1) * r1 + gamma(b2) * r2, gamma(b1) * (a - 1) / r1 + gamma(b2) * a / r2};
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

// The intervals of the first and the last shrink so slowly that they are bisected.
TEST_CASE("the line search takes as many evaluations as published where interpolation is poor") {
  struct Row {
    double first_step;
    int evaluations[4];
    double steps[4];
  };
  const Row rows[] = {{1e-3, {12, 4, 6, 13}, {1.0, 0.085, 0.075, 0.93}},
                      {1e-1, {12, 1, 3, 11}, {1.0, 0.10, 0.078, 0.93}},
                      {1e1, {10, 3, 7, 8}, {1.0, 0.35, 0.073, 0.92}},
                      {1e3, {13, 4, 8, 11}, {1.0, 0.83, 0.076, 0.92}}};
  const auto check = [](const Row& row, int table, Function (*f)(double), double constant) {
    INFO("table " << table + 3 << ", first step " << row.first_step);
    const Found found = search(f, row.first_step, {.decrease = constant, .curvature = constant});
    CHECK(found.evaluations == row.evaluations[table]);
    CHECK(found.step == Approx(row.steps[table]).epsilon(0.01));
  };
  for (const Row& row : rows) {
    check(row, 0, wavy, 1e-1);
    check(row, 1, bends<1, 1>, 1e-3);
    check(row, 2, bends<10, 1>, 1e-3);
    check(row, 3, bends<1, 10>, 1e-3);
  }
}

TEST_CASE("the steps of a line search respect the upper bound") {
  LineSearch line({0, 0, -1}, 5, 3);
  CHECK(line.step() == 3);
  CHECK(line.add_trial(-3, -1));  // a straight line down
  CHECK(line.has_sufficient_decrease());
}

TEST_CASE("a trial that is not finite is bisected towards the best one") {
  LineSearch line({0, 0, -1}, 1, 100);
  line.reject_trial();
  CHECK(line.step() == 0.5);
  line.reject_trial();
  CHECK(line.step() == 0.25);
  CHECK_FALSE(line.has_sufficient_decrease());
  CHECK(line.best_step() == 0);
}
