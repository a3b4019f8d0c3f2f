// The numbers that the generator and the controller share.
#pragma once
#include <cstddef>
#include <vector>

namespace model {

constexpr std::size_t states = 13, controls = 4, horizon = 25;
constexpr double period = 0.04, gravity = 9.81, hover = 0.5 * gravity / 4;  // s, m/s^2, N
/// Of position, velocity, attitude and spin in the cost of a plan.
inline const std::vector<double> state_weights{10, 10, 10, 1, 1, 1, 0.1, 0.1, 0.1, 0.1, 0.02, 0.02, 0.02};
constexpr double control_weight = 0.05;

}  // namespace model
