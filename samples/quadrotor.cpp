// Plans the flight of a quadrotor: the thrusts of four rotors over 50 steps of 40 ms that take it from hovering to
// hovering three metres further, around a pillar. The rollout of the rigid body and its derivative are compiled once
// and run as a program for each evaluation of the Gauss-Newton method.
//
// Checks that the flight ends at its target and clears the pillar, that the compiled value and gradient have the bits
// of those computed op by op, and the gradient against central differences. The same rollout and method, asked for the
// least effort of a climb from rest to rest, must find the acceleration in closed form.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <reel/compile.hpp>
#include <reel/geometry.hpp>
#include <reel/linalg.hpp>
#include <reel/optim.hpp>
#include <reel/reel.hpp>
#include <string>
#include <utility>
#include <vector>

#include "chart/chart.hpp"
#include "terminal/progress.hpp"

using reel::Tensor;

namespace {

constexpr std::int64_t steps = 50;
constexpr double h = 0.04, mass = 0.5, gravity = 9.81, arm = 0.17;  // s, kg, m/s^2, m
constexpr double hover = mass * gravity / 4, drag = 0.0245;         // N; torque about z per thrust, m
constexpr double pillar_x = 1.5, pillar_radius = 0.5;               // m; it stands at y = 0

struct State {
  Tensor position, velocity, attitude, spin;  // world, world, unit quaternion body to world, body
};

State hovering() { return {reel::zeros({3}), reel::zeros({3}), reel::tensor({1., 0., 0., 0.}), reel::zeros({3})}; }

// One step of Newton's and Euler's equations under the thrusts [4] of the rotors at +x, +y, -x and -y: velocities first
// (symplectic Euler method).
State advance(const State& s, const Tensor& thrust) {
  const Tensor inertia = reel::tensor({0.0023, 0.0023, 0.004}), weight = reel::tensor({0., 0., gravity});
  const Tensor lever = reel::tensor({{0., arm, 0., -arm}, {-arm, 0., arm, 0.}, {drag, -drag, drag, -drag}});
  const Tensor torque = reel::matmul(lever, thrust);
  const Tensor lift = reel::sum(thrust) / mass * reel::tensor({0., 0., 1.});
  State next;
  next.velocity = s.velocity + h * (reel::quaternion_rotate(s.attitude, lift) - weight);
  next.position = s.position + h * next.velocity;
  next.spin = s.spin + h * (torque - reel::cross(s.spin, inertia * s.spin)) / inertia;
  const Tensor rate = reel::pad(next.spin, {1}, {0});  // the quaternion (0, spin)
  const Tensor turned = s.attitude + h / 2 * reel::quaternion_multiply(s.attitude, rate);
  next.attitude = turned / reel::norm(turned);
  return next;
}

// The last state, and the position after each step [steps, 3], for controls [steps, 4] around those that hover.
std::pair<State, Tensor> fly(const Tensor& controls) {
  State s = hovering();
  std::vector<Tensor> path;
  for (std::int64_t k = 0; k < steps; ++k) {
    s = advance(s, hover * reel::exp(controls[k]));
    path.push_back(s.position);
  }
  return {s, reel::stack(path)};
}

// The Gauss-Newton method minimises the sum of their squares: distance from the target, intrusion into the pillar's
// surroundings, controls and their changes.
Tensor residuals(const Tensor& controls) {
  const auto [end, path] = fly(controls);
  const Tensor target = reel::tensor({3., 0., 1.}), flat = reel::tensor({1., 0., 0., 0.});
  const Tensor away = reel::norm(path(reel::all, reel::range(0, 2)) - reel::tensor({pillar_x, 0.}), 2, {1});
  const Tensor changes = controls(reel::range_from(1)) - controls(reel::range_to(-1));
  return reel::concatenate({end.position - target, 0.3 * end.velocity, 0.3 * (end.attitude - flat), 0.1 * end.spin,
                            0.03 * reel::softplus(20 * (pillar_radius + 0.1 - away)),
                            reel::reshape(0.01 * controls, {-1}), reel::reshape(0.03 * changes, {-1})});
}
Tensor cost(const Tensor& controls) { return reel::sum(reel::square(residuals(controls))); }

template <class F>
double microseconds(const F& f) {
  f();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) f();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / 20;
}

// Value and gradient, compiled and op by op: whether the bits are equal and a central difference agrees.
bool compare(const Tensor& at) {
  const auto plain = reel::value_and_grad(cost);
  const auto compiled = reel::compile(plain);
  const auto [value, gradient] = plain(at);
  const auto [fast_value, fast_gradient] = compiled(at);
  const bool equal = reel::array_equal(value, fast_value) && reel::array_equal(gradient, fast_gradient);
  reel::Generator generator(4);
  double worst = 0;
  for (int k = 0; k < 3; ++k) {
    const Tensor v = reel::random_normal(generator, at.shape());
    const double e = 1e-6, slope = reel::sum(gradient * v).item();
    const double difference = std::abs(((cost(at + e * v) - cost(at - e * v)) / (2 * e)).item() / slope - 1);
    worst = std::isnan(worst) || difference <= worst ? worst : difference;
  }
  std::printf("value and gradient: %.0f us op by op, %.0f us compiled, %s bits; central differences differ by %.1e\n",
              microseconds([&] { plain(at); }), microseconds([&] { compiled(at); }), equal ? "equal" : "DIFFERENT",
              worst);
  return equal && worst < 1e-6;
}

// A climb of one metre from rest to rest: the residuals' squares are the effort, the sum of h acceleration^2 with the
// mean over the rotors, and the distance from the end with a weight that all but fixes it.
Tensor climb(const Tensor& controls) {
  const State end = fly(controls).first;
  const Tensor accelerations = 4 * hover / mass * reel::exp(controls) - gravity;
  return reel::concatenate({1e4 * (end.position - reel::tensor({0., 0., 1.})), 1e4 * end.velocity,
                            reel::reshape(std::sqrt(h) / 2 * accelerations, {-1})});
}
// Whether it is found. For distance d in time T the least effort is the acceleration 6 d / T^2 (1 - 2 t / T). In n
// steps of the symplectic Euler method it is c ((n - 1) / 2 - k) at step k, with c = 12 d / (h^2 n (n^2 - 1)).
bool climbs_with_least_effort() {
  const auto found = reel::gauss_newton(reel::compile(climb), reel::zeros({steps, 4}), {.gradient_tolerance = 1e-9});
  const double n = steps, c = 12 / (h * h * n * (n * n - 1));
  const Tensor expected = c * ((n - 1) / 2 - reel::arange(n)),
               accelerations = 4 * hover / mass * reel::exp(found.parameters);
  const double error =
      reel::max(reel::abs(accelerations - gravity - reel::expand_dims(expected, 1))).item() / expected[0].item();
  std::printf("a climb of least effort: accelerations differ from the closed form by %.1e of the largest\n", error);
  return error < 1e-5;
}

void draw(const std::string& file, const Tensor& path, const Tensor& thrusts) {
  const auto column = [](const Tensor& x, std::int64_t k) { return x(reel::all, k).to_vector(); };
  const Tensor angle = reel::linspace(0, 2 * std::acos(-1.0), 100);
  const auto x = column(path, 0), y = column(path, 1), z = column(path, 2);
  const auto time = (h * reel::arange(double(steps))).to_vector();
  chart::Panel above{"path", "metres", "from above: y over x, around the pillar", {}};
  above.series = {{"path", x, y, x, y},
                  {"pillar",
                   {},
                   {},
                   (pillar_x + pillar_radius * reel::cos(angle)).to_vector(),
                   (pillar_radius * reel::sin(angle)).to_vector()}};
  above.equal_scales = true;
  chart::Panel thrust{"thrusts", "newtons", "of the rotors over seconds", {}};
  for (std::int64_t k = 0; k < 4; ++k)
    thrust.series.push_back({std::string(1, "0123"[k]), {}, {}, time, column(thrusts, k)});
  chart::write(file, "A quadrotor flies around a pillar",
               {above, {"height", "metres", "z over x", {{"", x, z, x, z}}}, thrust});
}

}  // namespace

int main(int argc, char** argv) {
  const std::string svg = chart::svg_argument(argc, argv);
  reel::Generator generator(2);
  const Tensor start = reel::random_normal(generator, {steps, 4}, 0, 0.01);
  bool good = compare(start) && climbs_with_least_effort();

  const auto begin = std::chrono::steady_clock::now();
  terminal::Progress progress("evaluation");
  const auto counted = [&, compiled = reel::compile(residuals)](const Tensor& controls) {
    progress.step();
    return compiled(controls);
  };
  const auto found = reel::gauss_newton(counted, start, {.gradient_tolerance = 2e-4});
  progress.erase();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  const auto [end, path] = fly(found.parameters);
  const double miss = reel::norm(end.position - reel::tensor({3., 0., 1.})).item(),
               speed = reel::norm(end.velocity).item();
  const Tensor away = reel::norm(path(reel::all, reel::range(0, 2)) - reel::tensor({pillar_x, 0.}), 2, {1});
  const double clearance = reel::min(away).item() - pillar_radius;
  good &= found.converged() && miss < 0.01 && speed < 0.01 && clearance > 0;
  if (!svg.empty()) draw(svg, path, hover * reel::exp(found.parameters));
  std::printf(
      "%lld steps of the Gauss-Newton method in %.2f s (%s): %.1e m from the target at %.1e m/s, %.2f m from "
      "the pillar: %s\n",
      static_cast<long long>(found.iterations), elapsed.count(), reel::to_string(found.reason).c_str(), miss, speed,
      clearance,
      good ? "good" : "FAILED: wanted 1 cm, 1 cm/s, no contact, equal bits, equal gradients and the closed form");
  return good ? 0 : 1;
}
