// Writes the model of samples/controller as C: flight_step, one step of a quadrotor with its Jacobians, and
// flight_cost, what a plan costs and its gradient. samples/meson.build runs it and compiles the result.
//
// Usage: controller_generator FOLDER
#include <cstdio>
#include <reel/codegen.hpp>
#include <reel/control.hpp>
#include <reel/geometry.hpp>
#include <reel/linalg.hpp>
#include <reel/reel.hpp>
#include <utility>
#include <vector>

#include "controller/model.hpp"

using reel::Tensor;

namespace {

// Newton's and Euler's equations by the symplectic Euler method. The state is position, velocity (world), attitude (a
// unit quaternion, body to world) and spin (body); thrusts are those of the rotors at +x, +y, -x and -y.
Tensor advance(const Tensor& state, const Tensor& thrust, const Tensor& h) {
  constexpr double mass = 0.5, arm = 0.17, drag = 0.0245;  // kg, m, torque about z per thrust in m
  const Tensor inertia = reel::tensor({0.0023, 0.0023, 0.004}), weight = reel::tensor({0., 0., model::gravity});
  const Tensor lever = reel::tensor({{0., arm, 0., -arm}, {-arm, 0., arm, 0.}, {drag, -drag, drag, -drag}});
  const auto part = [&](std::int64_t from, std::int64_t to) { return state(reel::range(from, to)); };
  const Tensor attitude = part(6, 10), spin = part(10, 13);
  const Tensor lift = reel::sum(thrust) / mass * reel::tensor({0., 0., 1.});
  const Tensor velocity = part(3, 6) + h * (reel::quaternion_rotate(attitude, lift) - weight);
  const Tensor turning = spin + h * (reel::matmul(lever, thrust) - reel::cross(spin, inertia * spin)) / inertia;
  const Tensor turned =
      attitude +
      0.5 * h * reel::quaternion_multiply(attitude, reel::pad(turning, {1}, {0}));  // the quaternion (0, spin)
  return reel::concatenate({part(0, 3) + h * velocity, velocity, turned / reel::norm(turned), turning});
}

// Of a plan [horizon, controls] from a state: the squared distances from the target, and the effort, weighted.
Tensor cost_of(const Tensor& plan, const Tensor& state, const Tensor& target) {
  const Tensor of_state = reel::from_data(model::state_weights),
               hover = reel::full({4}, model::hover, reel::DType::float64);
  const auto step = [&](const Tensor& x, const Tensor& u) {
    const Tensor next = advance(x, u, reel::scalar(model::period));
    const Tensor cost =
        reel::sum(of_state * reel::square(next - target)) + model::control_weight * reel::sum(reel::square(u - hover));
    return std::pair(next, cost);
  };
  return reel::sum(reel::scan(step, state, plan, {.compiled = true}).second);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: controller_generator FOLDER\n"), 2;
  const Tensor state = reel::zeros({model::states}, reel::DType::float64),
               thrust = reel::full({model::controls}, model::hover, reel::DType::float64),
               plan = reel::full({model::horizon, model::controls}, model::hover, reel::DType::float64);
  const auto step = [](const Tensor& x, const Tensor& u, const Tensor& h) {
    reel::GradientTape tape({.persistent = true});
    tape.watch(x);
    tape.watch(u);
    const Tensor next = advance(x, u, h);
    return std::vector{next, *tape.jacobian(next, x), *tape.jacobian(next, u)};
  };
  reel::generate_c(step, {.name = "flight_step", .inputs = {"x", "u", "h"}, .outputs = {"next", "by_x", "by_u"}}, state,
                   thrust, reel::scalar(model::period))
      .write(argv[1]);
  const auto cost = [](const Tensor& u, const Tensor& x, const Tensor& target) {
    return reel::value_and_grad([&](const Tensor& p) { return cost_of(p, x, target); })(u);
  };
  const reel::CSource source =
      reel::generate_c(cost, {.name = "flight_cost", .inputs = {"plan", "x", "target"}, .outputs = {"cost", "slope"}},
                       plan, state, state);
  source.write(argv[1]);
}
