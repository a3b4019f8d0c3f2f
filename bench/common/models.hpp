// Scalar programs as templates over the number: what scalar tapes are made for. reel's tensors, the numbers of the
// peers' tapes and the code by hand compute the same functions of the same inputs.
#pragma once
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "protocol.hpp"

namespace bench::models {

/// A number that no derivative is asked for.
template <class T>
T constant(double value) {
  return T(value);
}

/// The planar quadrotor of peers/rollout.hpp: the thrusts of two rotors in 50 steps.
struct Rollout {
  static constexpr const char* name = "rollout of 50 steps";
  static std::vector<double> inputs() { return uniform<double>(100, 4.5, 5.5, 1); }

  template <class T>
  static T value(const std::vector<T>& thrusts) {
    using std::cos, std::sin;
    constexpr double h = 0.02, gravity = 9.81, arm = 4;
    T x = constant<T>(0), z = x, angle = x, vx = x, vz = x, spin = x, cost = x;
    for (std::size_t k = 0; k < 50; ++k) {
      const T left = thrusts[2 * k], right = thrusts[2 * k + 1], thrust = left + right;
      vx = vx - h * (thrust * sin(angle));
      vz = vz + h * (thrust * cos(angle) - gravity);
      spin = spin + h * (arm * (left - right));
      x = x + h * vx;
      z = z + h * vz;
      angle = angle + h * spin;
      cost = cost + ((x - 1.) * (x - 1.) + (z - 1.) * (z - 1.) + 0.1 * (angle * angle));
    }
    return cost;
  }
};

/// A rigid body with four rotors whose attitude is a quaternion; 50 steps of 20 ms of Euler's method, velocities first.
/// The sum of squared distances from (1, 0.5, 1), and of squared rates and velocities, for the thrusts [50, 4].
struct Quadrotor {
  static constexpr int steps = 50;
  static constexpr double h = 0.02, mass = 0.5, gravity = 9.81, arm = 0.17, drag = 0.0245;
  static constexpr double inertia[3] = {0.0023, 0.0023, 0.004};
  static constexpr double target[3] = {1, 0.5, 1};
  static constexpr const char* name = "quadrotor with quaternion, 50 steps";
  static std::vector<double> inputs() { return uniform<double>(4 * steps, 1.1, 1.35, 1); }

  template <class T>
  struct State {
    T p[3], v[3], w[3], q[4];  // position, velocity, rates, attitude (its real part first)
  };

  template <class T>
  static void move(State<T>& s, const T* u) {
    const T lift = (u[0] + u[1] + u[2] + u[3]) * (1 / mass);
    const T torque[3] = {arm * (u[1] - u[3]), arm * (u[2] - u[0]), drag * (u[0] - u[1] + u[2] - u[3])};
    const auto& q = s.q;
    const T up[3] = {2. * (q[1] * q[3] + q[0] * q[2]), 2. * (q[2] * q[3] - q[0] * q[1]),
                     1. - 2. * (q[1] * q[1] + q[2] * q[2])};
    const T rates[3] = {s.w[0], s.w[1], s.w[2]};
    for (int i = 0; i < 3; ++i) {
      const int j = (i + 1) % 3, k = (i + 2) % 3;
      s.v[i] = s.v[i] + h * (i == 2 ? lift * up[i] - gravity : lift * up[i]);
      s.p[i] = s.p[i] + h * s.v[i];
      s.w[i] = rates[i] + (h / inertia[i]) * (torque[i] - (inertia[k] - inertia[j]) * (rates[j] * rates[k]));
    }
  }

  template <class T>
  static void turn(State<T>& s) {
    using std::sqrt;
    const auto& w = s.w;
    const auto& q = s.q;
    const T r[4] = {q[0] - (h / 2) * (q[1] * w[0] + q[2] * w[1] + q[3] * w[2]),
                    q[1] + (h / 2) * (q[0] * w[0] + q[2] * w[2] - q[3] * w[1]),
                    q[2] + (h / 2) * (q[0] * w[1] + q[3] * w[0] - q[1] * w[2]),
                    q[3] + (h / 2) * (q[0] * w[2] + q[1] * w[1] - q[2] * w[0])};
    const T scale = 1. / sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + r[3] * r[3]);
    for (int i = 0; i < 4; ++i) s.q[i] = r[i] * scale;
  }

  template <class T>
  static T value(const std::vector<T>& thrusts) {
    const T z = constant<T>(0);
    State<T> s{{z, z, z}, {z, z, z}, {z, z, z}, {constant<T>(1), z, z, z}};
    T cost = z;
    for (int k = 0; k < steps; ++k) {
      move(s, &thrusts[static_cast<std::size_t>(4 * k)]);
      turn(s);
      for (int i = 0; i < 3; ++i) {
        const T away = s.p[i] - target[i];
        cost = cost + (away * away + 0.1 * (s.w[i] * s.w[i]) + 0.01 * (s.v[i] * s.v[i]));
      }
    }
    return cost;
  }
};

/// The equations of Lotka and Volterra, 100 steps of 0.05 of the classical method of Runge and Kutta. Inputs: the four
/// rates and both populations at the start. The sum of squared distances from (1, 1).
struct LotkaVolterra {
  static constexpr int steps = 100;
  static constexpr double h = 0.05;
  static constexpr const char* name = "Lotka-Volterra by RK4, 100 steps";
  static std::vector<double> inputs() { return {1.03, 0.57, 0.94, 0.48, 0.87, 1.12}; }

  template <class T>
  static T value(const std::vector<T>& p) {
    const auto slope_x = [&p](const T& x, const T& y) { return T(x * (p[0] - p[1] * y)); };
    const auto slope_y = [&p](const T& x, const T& y) { return T(y * (p[3] * x - p[2])); };
    T x = p[4], y = p[5], cost = constant<T>(0);
    for (int k = 0; k < steps; ++k) {
      const T k1 = slope_x(x, y), l1 = slope_y(x, y);
      const T x2 = x + (h / 2) * k1, y2 = y + (h / 2) * l1, k2 = slope_x(x2, y2), l2 = slope_y(x2, y2);
      const T x3 = x + (h / 2) * k2, y3 = y + (h / 2) * l2, k3 = slope_x(x3, y3), l3 = slope_y(x3, y3);
      const T x4 = x + h * k3, y4 = y + h * l3, k4 = slope_x(x4, y4), l4 = slope_y(x4, y4);
      x = x + (h / 6) * (k1 + 2. * (k2 + k3) + k4);
      y = y + (h / 6) * (l1 + 2. * (l2 + l3) + l4);
      const T dx = x - 1., dy = y - 1.;
      cost = cost + (dx * dx + dy * dy);
    }
    return cost;
  }
};

/// The price of a European call by Black and Scholes, for spot, strike, rate, volatility and years.
struct BlackScholes {
  static constexpr const char* name = "Black-Scholes";
  static std::vector<double> inputs() { return {104.2, 97.5, 0.031, 0.22, 1.3}; }

  template <class T>
  static T value(const std::vector<T>& x) {
    using std::erf, std::exp, std::log, std::sqrt;
    const auto normal = [](const T& d) { return T(0.5 * (1. + erf(0.70710678118654752440 * d))); };
    const T deviation = x[3] * sqrt(x[4]);
    const T d1 = (log(x[0] / x[1]) + (x[2] + 0.5 * (x[3] * x[3])) * x[4]) / deviation;
    const T d2 = d1 - deviation;
    return x[0] * normal(d1) - x[1] * exp(-(x[2] * x[4])) * normal(d2);
  }
};

/// Rosenbrock's function of 100 numbers, one by one.
struct Rosenbrock {
  static constexpr const char* name = "Rosenbrock n = 100 by scalars";
  static std::vector<double> inputs() { return uniform<double>(100, -1, 1, 1); }

  template <class T>
  static T value(const std::vector<T>& x) {
    T sum = constant<T>(0);
    for (std::size_t i = 0; i + 1 < x.size(); ++i) {
      const T a = x[i + 1] - x[i] * x[i], b = 1. - x[i];
      sum = sum + (100. * (a * a) + b * b);
    }
    return sum;
  }
};

/// Calls f(model) for each.
template <class F>
void for_each(F f) {
  f(Rollout());
  f(Quadrotor());
  f(LotkaVolterra());
  f(BlackScholes());
  f(Rosenbrock());
}

/// The name of a model's rows, without how the function runs.
template <class Model>
std::string row_name(const Model&) {
  return std::string(Model::name) + ", value and gradient, f64";
}

/// A peer's case: f() gives the value and then the gradient.
template <class F>
Case case_of(const std::string& name, F f) {
  return {.name = name,
          .make = [f]() -> Body {
            return {[f] { f(); },
                    [f] {
                      const std::vector<double> result = f();
                      Checksum sum;
                      sum.add(result.data(), static_cast<std::int64_t>(result.size()));
                      return sum.value();
                    }};
          },
          .tolerance = 1e-6};
}

}  // namespace bench::models
