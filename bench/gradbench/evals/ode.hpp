// ode: a linear differential equation, by the classical Runge-Kutta method, and the gradient of its last component.
#pragma once
#include "../eval.hpp"

namespace gradbench::ode {

using reel::Tensor;

struct Input {
  Tensor x;        // [n] factors
  std::int64_t s;  // steps
};

// y at time 2, [n]. The state has a 1 in front, whose derivative is 0, so that y_0' = x_0 is no exception.
inline Tensor primal(const Tensor& x, std::int64_t s) {
  const double h = 2.0 / static_cast<double>(s);
  const Tensor factors = pad(x, {1}, {0});
  const auto derivative = [&](const Tensor& y) { return factors * roll(y, 1, 0); };
  Tensor y = pad(zeros_like(x), {1}, {0}, 1.0);
  for (std::int64_t step = 0; step < s; ++step) {
    const Tensor k1 = derivative(y);
    const Tensor k2 = derivative(y + h / 2 * k1);
    const Tensor k3 = derivative(y + h / 2 * k2);
    const Tensor k4 = derivative(y + h * k3);
    y = y + h / 6 * (k1 + k4) + h / 3 * (k2 + k3);
  }
  return slice(y, {reel::range_from(1)});
}

inline Module functions() {
  const auto read = [](const Field& input) {
    return Input{input.at("x").tensor({any_extent}), input.at("s").integer(1)};
  };
  const auto last = [](const Tensor& x, std::int64_t s) { return primal(x, s)[-1]; };
  return {{"primal", timed(read, [](const Input& input) { return primal(input.x, input.s); })},
          {"gradient", timed(read, [=](const Input& input) { return reel::grad<0>(last)(input.x, input.s); })}};
}

}  // namespace gradbench::ode
