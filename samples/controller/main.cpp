// Model-predictive control of a quadrotor, 25 times a second, without the library: the model is the C that
// samples/controller/generator.cpp has written. It flies to a point, and holds it in a gust.
//
// Each period plans 25 steps ahead by the iterative linear-quadratic regulator (Li and Todorov 2004): a Riccati
// recursion along the plan, with the Jacobians of flight_step, gives a step, whose length is chosen by the cost and
// gradient of flight_cost. The first thrusts of the plan are flown.
//
// Checks the distance to the target at the end and after the gust, that the gust moved it at all, that thrusts stay
// within what rotors give, and that the generated gradient is the slope of the generated cost.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "chart/chart.hpp"
#include "controller/model.hpp"
#include "flight_cost.h"
#include "flight_step.h"

namespace {

using model::controls, model::horizon, model::states;
using State = std::array<double, states>;
using Control = std::array<double, controls>;
using Plan = std::array<Control, horizon>;

constexpr double most_thrust = 3;  // N, of a rotor

State hovering_at(double x, double y, double z) { return {x, y, z, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0}; }

struct Step {
  State next;
  double by_x[states][states], by_u[states][controls];
};
Step advance(const State& x, const Control& u, double h) {
  Step s;
  alignas(8) static std::byte work[FLIGHT_STEP_WORKSPACE + 8];
  flight_step(x.data(), u.data(), &h, s.next.data(), s.by_x[0], s.by_u[0], work);
  return s;
}

double cost_of(const Plan& plan, const State& x, const State& target, Plan& slope) {
  alignas(8) static std::byte work[FLIGHT_COST_WORKSPACE + 8];
  double cost = 0;
  flight_cost(plan[0].data(), x.data(), target.data(), &cost, slope[0].data(), work);
  return cost;
}

// Solves a x = b [controls, n] in place, a symmetric positive definite.
template <std::size_t n>
void solve(double (&a)[controls][controls], double (&b)[controls][n]) {
  for (std::size_t k = 0; k < controls; ++k)
    for (std::size_t i = k + 1; i < controls; ++i) {
      const double f = a[i][k] / a[k][k];
      for (std::size_t j = k; j < controls; ++j) a[i][j] -= f * a[k][j];
      for (std::size_t j = 0; j < n; ++j) b[i][j] -= f * b[k][j];
    }
  for (std::size_t k = controls; k-- > 0;)
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t i = k + 1; i < controls; ++i) b[k][j] -= a[k][i] * b[i][j];
      b[k][j] /= a[k][k];
    }
}

class Controller {
 public:
  Controller() { plan_.fill({model::hover, model::hover, model::hover, model::hover}); }

  // The thrusts for this period.
  Control operator()(const State& x, const State& target) {
    std::rotate(plan_.begin(), plan_.begin() + 1, plan_.end());
    plan_.back() = plan_[horizon - 2];
    for (int iteration = 0; iteration < 3; ++iteration)
      if (!improve(x, target)) break;
    Control u = plan_[0];
    for (double& thrust : u) thrust = std::clamp(thrust, 0., most_thrust);
    return u;
  }

 private:
  // Whether a step along the feedback of the Riccati recursion lowers the cost by a part of what the slope promises.
  bool improve(const State& x0, const State& target) {
    std::vector<State> path{x0};
    std::vector<Step> steps;
    for (const Control& u : plan_) {
      steps.push_back(advance(path.back(), u, model::period));
      path.push_back(steps.back().next);
    }
    regulate(path, steps, target);
    Plan slope, unused;
    const double before = cost_of(plan_, x0, target, slope);
    for (double length = 1; length > 1e-3; length /= 2) {
      const Plan next = follow(path, length);
      double promised = 0;
      for (std::size_t k = 0; k < horizon; ++k)
        for (std::size_t i = 0; i < controls; ++i) promised += slope[k][i] * (next[k][i] - plan_[k][i]);
      if (cost_of(next, x0, target, unused) > before + 0.1 * std::min(0., promised)) continue;
      plan_ = next;
      return promised < -1e-6 * before;
    }
    return false;
  }

  // Feedback u + offset + gain (x - path), from the last step to the first. v, w: slope and curvature of the cost to
  // go.
  void regulate(const std::vector<State>& path, const std::vector<Step>& steps, const State& target) {
    double v[states], w[states][states] = {};
    for (std::size_t i = 0; i < states; ++i) v[i] = 0;
    for (std::size_t k = horizon; k-- > 0;) {
      for (std::size_t i = 0; i < states; ++i) {
        v[i] += 2 * model::state_weights[i] * (path[k + 1][i] - target[i]);
        w[i][i] += 2 * model::state_weights[i];
      }
      const auto& a = steps[k].by_x;
      const auto& b = steps[k].by_u;
      double wa[states][states], wb[states][controls], of_x[states], curvature[controls][controls];
      multiply(w, a, wa);
      multiply(w, b, wb);
      double feedback[controls][states + 1];  // the last column is the offset
      for (std::size_t i = 0; i < controls; ++i) {
        for (std::size_t j = 0; j < controls; ++j)
          curvature[i][j] = inner(b, i, wb, j) + (i == j ? 2 * model::control_weight : 0);
        for (std::size_t j = 0; j < states; ++j) feedback[i][j] = -inner(b, i, wa, j);
        feedback[i][states] = -2 * model::control_weight * (plan_[k][i] - model::hover);
        for (std::size_t j = 0; j < states; ++j) feedback[i][states] -= b[j][i] * v[j];
      }
      solve(curvature, feedback);
      for (std::size_t i = 0; i < states; ++i) {
        of_x[i] = 0;
        for (std::size_t j = 0; j < states; ++j) of_x[i] += a[j][i] * v[j];
        for (std::size_t j = 0; j < controls; ++j) of_x[i] += inner(a, i, wb, j) * feedback[j][states];
      }
      for (std::size_t i = 0; i < states; ++i)
        for (std::size_t j = 0; j < states; ++j) {
          w[i][j] = inner(a, i, wa, j);
          for (std::size_t l = 0; l < controls; ++l) w[i][j] += inner(a, i, wb, l) * feedback[l][j];
        }
      std::copy(of_x, of_x + states, v);
      for (std::size_t i = 0; i < controls; ++i)
        std::copy(feedback[i], feedback[i] + states + 1, feedback_[k][i].begin());
    }
  }
  Plan follow(const std::vector<State>& path, double length) const {
    Plan plan = plan_;
    State x = path[0];
    for (std::size_t k = 0; k < horizon; ++k) {
      for (std::size_t i = 0; i < controls; ++i) {
        plan[k][i] += length * feedback_[k][i][states];
        for (std::size_t j = 0; j < states; ++j) plan[k][i] += feedback_[k][i][j] * (x[j] - path[k][j]);
        plan[k][i] = std::clamp(plan[k][i], 0., most_thrust);
      }
      x = advance(x, plan[k], model::period).next;
    }
    return plan;
  }

  template <std::size_t n>
  static void multiply(const double (&x)[states][states], const double (&y)[states][n], double (&z)[states][n]) {
    for (std::size_t i = 0; i < states; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        z[i][j] = 0;
        for (std::size_t k = 0; k < states; ++k) z[i][j] += x[i][k] * y[k][j];
      }
  }
  // Column i of x times column j of y.
  template <std::size_t m, std::size_t n>
  static double inner(const double (&x)[states][m], std::size_t i, const double (&y)[states][n], std::size_t j) {
    double s = 0;
    for (std::size_t k = 0; k < states; ++k) s += x[k][i] * y[k][j];
    return s;
  }

  Plan plan_;
  std::array<std::array<std::array<double, states + 1>, controls>, horizon> feedback_ = {};
};

// The largest error of the generated gradient against central differences, relative to its largest element.
double error_of_slope() {
  Plan plan, slope, unused;
  for (std::size_t k = 0; k < horizon; ++k)
    for (std::size_t i = 0; i < controls; ++i)
      plan[k][i] = model::hover + 0.02 * std::sin(static_cast<double>(7 * k + 3 * i));
  const State x = hovering_at(0.1, -0.2, 0.3), target = hovering_at(0, 0, 0);
  static_cast<void>(cost_of(plan, x, target, slope));
  double largest = 0, error = 0;
  for (std::size_t k = 0; k < horizon; k += 6)
    for (std::size_t i = 0; i < controls; ++i) {
      constexpr double h = 1e-5;
      Plan up = plan, down = plan;
      up[k][i] += h;
      down[k][i] -= h;
      const double difference = (cost_of(up, x, target, unused) - cost_of(down, x, target, unused)) / (2 * h);
      largest = std::max(largest, std::abs(slope[k][i]));
      error = std::max(error, std::abs(slope[k][i] - difference));
    }
  return error / largest;
}

double distance(const State& x, const State& target) {
  return std::hypot(x[0] - target[0], x[1] - target[1], x[2] - target[2]);
}

void draw(const std::string& path, const std::vector<double>& times, const std::array<std::vector<double>, 3>& at,
          const std::array<std::vector<double>, 2>& thrusts) {
  chart::Panel position{"Position", "m over s", "a gust from 4 s to 4.4 s", {}};
  const char* names[] = {"x", "y", "z"};
  for (std::size_t i = 0; i < 3; ++i) position.series.push_back({names[i], {}, {}, times, at[i]});
  chart::Panel effort{"Thrust", "N over s", "of two rotors", {}};
  effort.series.push_back({"front", {}, {}, times, thrusts[0]});
  effort.series.push_back({"left", {}, {}, times, thrusts[1]});
  position.width = effort.width = 400;
  chart::write(path, "Model-predictive control in generated C", {position, effort});
}

}  // namespace

int main(int argc, char** argv) {
  const std::string svg = chart::svg_argument(argc, argv);
  constexpr std::size_t periods = 200;
  constexpr int parts = 4;
  const State target = hovering_at(2, -1, 1.5);
  State x = hovering_at(0, 0, 0);
  Controller controller;
  std::vector<double> times;
  std::array<std::vector<double>, 3> at;
  std::array<std::vector<double>, 2> thrusts;
  double worst = 0, total = 0, arrived = 0, pushed = 0;
  bool within = true;
  for (std::size_t k = 0; k < periods; ++k) {
    const auto begin = std::chrono::steady_clock::now();
    const Control u = controller(x, target);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    worst = std::max(worst, took.count());
    total += took.count();
    for (const double thrust : u) within = within && thrust >= 0 && thrust <= most_thrust;
    times.push_back(static_cast<double>(k) * model::period);
    for (std::size_t i = 0; i < 3; ++i) at[i].push_back(x[i]);
    thrusts[0].push_back(u[0]);
    thrusts[1].push_back(u[1]);
    // The plant: the same body in shorter steps, and a gust of 4 m/s^2 that the controller does not know of.
    for (int part = 0; part < parts; ++part) {
      x = advance(x, u, model::period / parts).next;
      if (k >= 100 && k < 110) x[4] += 4 * model::period / parts;
    }
    if (k == 99) arrived = distance(x, target);
    if (k >= 100) pushed = std::max(pushed, distance(x, target));
  }
  const double rest = distance(x, target), slope = error_of_slope();
  std::printf("distance to the target: %.4f m after 4 s, %.3f m in the gust, %.4f m at the end\n", arrived, pushed,
              rest);
  std::printf("latency of a period of %.0f ms: %.2f ms on average, %.2f ms at worst\n", 1000 * model::period,
              total / static_cast<double>(periods), worst);
  std::printf("workspace: %d bytes; error of the gradient: %.1e\n", FLIGHT_STEP_WORKSPACE + FLIGHT_COST_WORKSPACE,
              slope);
  if (!svg.empty()) draw(svg, times, at, thrusts);
  return !(arrived < 0.02 && pushed > 0.05 && pushed < 1 && rest < 0.02 && within && slope < 1e-6);
}
