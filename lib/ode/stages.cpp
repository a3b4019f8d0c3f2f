#include "ode/stages.hpp"

#include <cmath>
#include <reel/functions.hpp>
#include <reel/ops/linalg.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/ops/shape.hpp>

#include "ops/engine.hpp"

namespace reel::autodiff {

namespace {

// Dormand and Prince, "A family of embedded Runge-Kutta formulae", 1980: nodes, stages, the difference of the solutions
// of order 5 and 4, and Shampine's interpolant: columns are the coefficients of the powers of the part.
constexpr double stage_times[] = {0, 1.0 / 5, 3.0 / 10, 4.0 / 5, 8.0 / 9, 1, 1};
constexpr double stage_weights[7][6] = {
    {},
    {1.0 / 5},
    {3.0 / 40, 9.0 / 40},
    {44.0 / 45, -56.0 / 15, 32.0 / 9},
    {19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729},
    {9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656},
    {35.0 / 384, 0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84},
};
constexpr double error_weights[] = {-71.0 / 57600,    0,           71.0 / 16695, -71.0 / 1920,
                                    17253.0 / 339200, -22.0 / 525, 1.0 / 40};
constexpr double part_weights[7][4] = {
    {1, -8048581381.0 / 2820520608, 8663915743.0 / 2820520608, -12715105075.0 / 11282082432},
    {0, 0, 0, 0},
    {0, 131558114200.0 / 32700410799, -68118460800.0 / 10900136933, 87487479700.0 / 32700410799},
    {0, -1754552775.0 / 470086768, 14199869525.0 / 1410260304, -10690763975.0 / 1880347072},
    {0, 127303824393.0 / 49829197408, -318862633887.0 / 49829197408, 701980252875.0 / 199316789632},
    {0, -282668133.0 / 205662961, 2019193451.0 / 616988883, -1453857185.0 / 822651844},
    {0, 40617522.0 / 29380423, -110615467.0 / 29380423, 69997945.0 / 29380423},
};

using ops::Quantity;

// The sum of weights times slopes.
Quantity combine(const std::vector<Quantity>& slopes, const double* weights, std::size_t count) {
  Quantity sum;
  for (std::size_t k = 0; k < count; ++k)
    if (weights[k] != 0) sum = sum.defined() ? sum + weights[k] * slopes[k] : weights[k] * slopes[k];
  return sum;
}

// The method of ode23s: Shampine and Reichelt, "The MATLAB ODE suite", 1997.
const double gamma_of_w = 1 / (2 + std::sqrt(2.0)), e32 = 6 + std::sqrt(2.0);

// Derivatives by y, as a matrix, and by t: [n, n] and [n, 1]; zeros where there are none.
struct Linearization {
  Quantity by_y, by_t;
};
Linearization linearize_field(const Ode& ode, const Tensor& y, const Tensor& t) {
  const std::int64_t n = y.size();
  GradientTape tape({.watch_accessed_variables = false});
  const Source sources[] = {y, t};
  for (const Source& s : sources) tape.watch(s.tensor());
  const Tensor targets[] = {reshape(slope_of(ode, y, t), {n})};
  const auto list = detail::jacobians(ode.name, tape, targets, sources);
  return {reshape(list[0], {n, n}), reshape(list[1], {n, 1})};
}

StepResult rosenbrock_step(const Ode& ode, const Tensor& y, const Tensor& time, const Tensor& length) {
  const std::int64_t n = y.size();
  if (n == 0) return {y, y, {y, y}};
  const Quantity t = time, h = length, d = gamma_of_w * h;
  const auto [by_y, by_t] = linearize_field(ode, identity(y), identity(t));
  const Quantity w = Quantity(eye(n, ode.dtype)) - d * by_y, drift = d * by_t;
  const auto shaped = [&](const Quantity& x, bool column) -> Quantity {
    return reshape(x, column ? Shape{n, 1} : y.shape());
  };
  const auto solved = [&](const Quantity& b) -> Quantity { return solve(w, b); };
  const Quantity f0 = shaped(slope_of(ode, y, t), true), k1 = solved(f0 + drift);
  const Quantity half = 0.5 * h, middle = y + half * shaped(k1, false);
  const Quantity f1 = shaped(slope_of(ode, middle, t + half), true), k2 = solved(f1 - k1) + k1;
  StepResult step{y + h * shaped(k2, false), {}, {shaped(k1, false), shaped(k2, false)}};
  const Quantity f2 = shaped(slope_of(ode, step.y, t + h), true);
  const Quantity k3 = solved(f2 - e32 * (k2 - f1) - 2.0 * (k1 - f0) + drift);
  step.error = shaped(h / 6 * (k1 - 2.0 * k2 + k3), false);
  return step;
}

}  // namespace

Quantity number_of(const Ode& ode, double x) { return full({}, x, ode.dtype); }

Quantity slope_of(const Ode& ode, const Tensor& y, const Tensor& t) {
  const Tensor slope = ode.f(y, t);
  if (!slope.defined())
    fail<ValueError>(ode.name, "the function returned an empty tensor; did you forget to return a value?");
  if (slope.shape() != y.shape())
    fail<ShapeError>(ode.name, "the function turns y of shape {} into {}; they must be equal", y.shape(),
                     slope.shape());
  if (slope.dtype() != y.dtype())
    fail<TypeError>(ode.name, "the function turns y of {} into {}; cast its result", y.dtype(), slope.dtype());
  return slope;
}

StepResult dormand_prince_step(const Ode& ode, const Tensor& y, const Tensor& time, const Tensor& length, bool whole) {
  const Quantity t = time, h = length;
  StepResult step{{}, {}, {slope_of(ode, y, t)}};
  for (std::size_t k = 1; k < 7; ++k) {
    step.y = y + h * combine(step.slopes, stage_weights[k], k);
    if (k < 6 || whole) step.slopes.push_back(slope_of(ode, step.y, t + stage_times[k] * h));
  }
  if (whole) step.error = h * combine(step.slopes, error_weights, 7);
  return step;
}

StepResult take_step(const Ode& ode, const Tensor& y, const Tensor& t, const Tensor& h, bool whole) {
  return ode.method == OdeMethod::rosenbrock ? rosenbrock_step(ode, y, t, h) : dormand_prince_step(ode, y, t, h, whole);
}

Quantity between(const Ode& ode, const Tensor& y, const StepResult& step, double h, double part) {
  double weights[7];
  const double d = gamma_of_w, rest = 1 - part;
  if (ode.method == OdeMethod::rosenbrock) {
    weights[0] = h * part * rest / (1 - 2 * d);
    weights[1] = h * part * (part - 2 * d) / (1 - 2 * d);
  } else {
    for (std::size_t k = 0; k < 7; ++k)
      weights[k] =
          h * part *
          (part_weights[k][0] + part * (part_weights[k][1] + part * (part_weights[k][2] + part * part_weights[k][3])));
  }
  return y + combine(step.slopes, weights, step.slopes.size());
}

}  // namespace reel::autodiff
