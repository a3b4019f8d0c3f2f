// Minima under nonlinear constraints by NLopt, a library of other people's optimisers that takes functions of plain
// doubles. `objective` makes one of the function to minimise and one of each constraint, with gradients from a tape.
//
// Checks the minima against published ones, and that no call asks the system for memory after the first few.
#include <cmath>
#include <cstdio>
#include <nlopt.hpp>
#include <reel/optim.hpp>
#include <reel/reel.hpp>
#include <vector>

using reel::Tensor;

namespace {

using Function = reel::Callback<Tensor(const Tensor& x)>;

struct Problem {
  const char* name;
  nlopt::algorithm method;
  Function minimized;
  std::vector<Function> at_most_zero, zero;  // constraints
  std::vector<double> lower, upper, start;   // bounds and the first point
  std::vector<double> published;             // where the minimum lies
  double published_minimum;
};

Problem tutorial() {
  // The tutorial of NLopt's manual: minimum sqrt(8 / 27) at (1/3, 8/27).
  const auto cube = [](double a, double b) {
    return Function([a, b](const Tensor& x) { return power(a * x[0] + b, 3) - x[1]; });
  };
  return {"NLopt's tutorial, MMA",
          nlopt::LD_MMA,
          [](const Tensor& x) { return sqrt(x[1]); },
          {cube(2, 0), cube(-1, 1)},
          {},
          {-HUGE_VAL, 1e-6},
          {HUGE_VAL, HUGE_VAL},
          {1.234, 5.678},
          {1 / 3., 8 / 27.},
          std::sqrt(8 / 27.)};
}

Problem hock_schittkowski_71() {
  // Hock and Schittkowski, "Test examples for nonlinear programming codes", 1981, problem 71.
  return {"Hock and Schittkowski 71, SLSQP",
          nlopt::LD_SLSQP,
          [](const Tensor& x) { return x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2]; },
          {[](const Tensor& x) { return 25 - prod(x); }},
          {[](const Tensor& x) { return sum(square(x)) - 40; }},
          {1, 1, 1, 1},
          {5, 5, 5, 5},
          {1, 5, 5, 1},
          {1, 4.7429994, 3.8211503, 1.3794082},
          17.0140173};
}

using Flat = reel::Objective<Function, Tensor>;

// What NLopt calls: value and, if asked, gradient at x of one function, and how many calls asked for system memory.
struct Called {
  explicit Called(const Function& f, std::size_t n) : flat(reel::objective(f, reel::zeros({std::int64_t(n)}))) {}

  static double call(unsigned, const double* x, double* gradient, void* called) {
    Called& self = *static_cast<Called*>(called);
    const std::int64_t before = reel::memory_stats().pool_misses;
    const double value = self.flat(x, gradient);
    const bool allocated = reel::memory_stats().pool_misses != before;
    self.allocating += allocated && self.calls >= 3;
    ++self.calls;
    return value;
  }

  Flat flat;
  int calls = 0, allocating = 0;
};

bool solve(const Problem& problem) {
  const std::size_t n = problem.start.size();
  std::vector<Called> called;
  called.reserve(1 + problem.at_most_zero.size() + problem.zero.size());  // NLopt keeps their addresses
  nlopt::opt optimizer(problem.method, static_cast<unsigned>(n));
  const auto added = [&](const Function& f) { return &called.emplace_back(f, n); };
  optimizer.set_min_objective(Called::call, added(problem.minimized));
  for (const Function& f : problem.at_most_zero) optimizer.add_inequality_constraint(Called::call, added(f), 1e-10);
  for (const Function& f : problem.zero) optimizer.add_equality_constraint(Called::call, added(f), 1e-10);
  optimizer.set_lower_bounds(problem.lower);
  optimizer.set_upper_bounds(problem.upper);
  optimizer.set_xtol_rel(1e-10);
  std::vector<double> x = problem.start;
  double minimum = 0;
  optimizer.optimize(x, minimum);

  double error = std::abs(minimum - problem.published_minimum);
  for (std::size_t i = 0; i < n; ++i) error = std::fmax(error, std::abs(x[i] - problem.published[i]));
  int calls = 0, allocating = 0;
  for (const Called& each : called) calls += each.calls, allocating += each.allocating;
  const bool good = error < 1e-6 && allocating == 0;
  std::printf("%-33s minimum %.7f (published %.7f), %d calls, %d of them with allocations: %s\n", problem.name, minimum,
              problem.published_minimum, calls, allocating, good ? "good" : "FAILED");
  return good;
}

}  // namespace

int main() {
  const bool both[] = {solve(tutorial()), solve(hock_schittkowski_71())};
  return both[0] && both[1] ? 0 : 1;
}
