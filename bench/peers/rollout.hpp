// The rollout of a planar quadrotor, written by hand: what compiled functions and generated C are measured beside.
#pragma once
#include <cmath>

namespace bench {

/// Sum over 50 steps of 20 ms of the distance from (1, 1), for the thrusts [50, 2] of two rotors, and its gradient
/// [50, 2]. Euler's method, velocities first.
inline double rollout_by_hand(const double* thrusts, double* gradient) {
  constexpr int steps = 50;
  constexpr double h = 0.02, gravity = 9.81, arm = 4;
  double xs[steps], zs[steps], angles[steps], sines[steps], cosines[steps];
  double x = 0, z = 0, angle = 0, vx = 0, vz = 0, spin = 0, cost = 0;
  for (int k = 0; k < steps; ++k) {
    const double left = thrusts[2 * k], right = thrusts[2 * k + 1], thrust = left + right;
    sines[k] = std::sin(angle);
    cosines[k] = std::cos(angle);
    vx -= h * (thrust * sines[k]);
    vz += h * (thrust * cosines[k] - gravity);
    spin += h * (arm * (left - right));
    xs[k] = x += h * vx;
    zs[k] = z += h * vz;
    angles[k] = angle += h * spin;
    cost += (x - 1) * (x - 1) + (z - 1) * (z - 1) + 0.1 * angle * angle;
  }
  double gx = 0, gz = 0, g_angle = 0, gvx = 0, gvz = 0, g_spin = 0;
  for (int k = steps; k-- > 0;) {
    const double thrust = thrusts[2 * k] + thrusts[2 * k + 1];
    gx += 2 * (xs[k] - 1);
    gz += 2 * (zs[k] - 1);
    g_angle += 0.2 * angles[k];
    gvx += h * gx;
    gvz += h * gz;
    g_spin += h * g_angle;
    const double g_thrust = h * (gvz * cosines[k] - gvx * sines[k]);
    gradient[2 * k] = g_thrust + arm * h * g_spin;
    gradient[2 * k + 1] = g_thrust - arm * h * g_spin;
    g_angle -= h * thrust * (gvx * cosines[k] + gvz * sines[k]);
  }
  return cost;
}

}  // namespace bench
