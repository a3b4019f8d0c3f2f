// Values and gradients of the scalar programs of common/models.hpp, written by hand: the limit of compiled, native and
// generated code.
#include <array>

#include "../common/models.hpp"
#include "rollout.hpp"

namespace {

using namespace bench::models;

// Each adds no memory of its own but arrays of a fixed size; g is the gradient by x.
double by_hand(Rollout, const double* x, double* g) { return bench::rollout_by_hand(x, g); }

double by_hand(Rosenbrock, const double* x, double* g) {
  double sum = 0;
  for (int i = 0; i < 100; ++i) g[i] = 0;
  for (int i = 0; i + 1 < 100; ++i) {
    const double a = x[i + 1] - x[i] * x[i], b = 1 - x[i];
    sum += 100 * a * a + b * b;
    g[i] -= 400 * a * x[i] + 2 * b;
    g[i + 1] += 200 * a;
  }
  return sum;
}

double by_hand(BlackScholes, const double* x, double* g) {
  const double spot = x[0], strike = x[1], rate = x[2], volatility = x[3], years = x[4];
  const double root = std::sqrt(years), deviation = volatility * root;
  const double d1 = (std::log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / deviation;
  const auto normal = [](double d) { return 0.5 * (1 + std::erf(0.70710678118654752440 * d)); };
  const double n1 = normal(d1), n2 = normal(d1 - deviation);
  const double present = strike * std::exp(-rate * years), density = 0.39894228040143267794 * std::exp(-0.5 * d1 * d1);
  g[0] = n1;
  g[1] = -present / strike * n2;
  g[2] = years * present * n2;
  g[3] = spot * density * root;
  g[4] = spot * density * volatility / (2 * root) + rate * present * n2;
  return spot * n1 - present * n2;
}

// One step of Lotka and Volterra's equations: the states at which the method takes slopes, and the next state.
struct Stages {
  double x[4], y[4], next_x, next_y;

  Stages(const double* p, double at_x, double at_y) {
    constexpr double h = LotkaVolterra::h, part[4] = {0, h / 2, h / 2, h}, weight[4] = {h / 6, h / 3, h / 3, h / 6};
    double dx = 0, dy = 0;
    next_x = at_x;
    next_y = at_y;
    for (int s = 0; s < 4; ++s) {
      x[s] = at_x + part[s] * dx;
      y[s] = at_y + part[s] * dy;
      dx = x[s] * (p[0] - p[1] * y[s]);
      dy = y[s] * (p[3] * x[s] - p[2]);
      next_x += weight[s] * dx;
      next_y += weight[s] * dy;
    }
  }
};

double by_hand(LotkaVolterra, const double* p, double* g) {
  constexpr int steps = LotkaVolterra::steps;
  constexpr double h = LotkaVolterra::h, part[4] = {0, h / 2, h / 2, h};
  double xs[steps + 1] = {p[4]}, ys[steps + 1] = {p[5]}, cost = 0;
  for (int k = 0; k < steps; ++k) {
    const Stages s(p, xs[k], ys[k]);
    xs[k + 1] = s.next_x;
    ys[k + 1] = s.next_y;
    cost += (s.next_x - 1) * (s.next_x - 1) + (s.next_y - 1) * (s.next_y - 1);
  }
  double gx = 0, gy = 0, ga = 0, gb = 0, gc = 0, gd = 0;
  for (int k = steps; k-- > 0;) {
    gx += 2 * (xs[k + 1] - 1);
    gy += 2 * (ys[k + 1] - 1);
    const Stages s(p, xs[k], ys[k]);
    double kx[4] = {h / 6 * gx, h / 3 * gx, h / 3 * gx, h / 6 * gx};
    double ky[4] = {h / 6 * gy, h / 3 * gy, h / 3 * gy, h / 6 * gy};
    for (int i = 3; i >= 0; --i) {
      const double x = s.x[i], y = s.y[i];
      const double dx = kx[i] * (p[0] - p[1] * y) + ky[i] * y * p[3], dy = ky[i] * (p[3] * x - p[2]) - kx[i] * x * p[1];
      ga += kx[i] * x;
      gb -= kx[i] * x * y;
      gc -= ky[i] * y;
      gd += ky[i] * y * x;
      gx += dx;
      gy += dy;
      if (i > 0) {
        kx[i - 1] += part[i] * dx;
        ky[i - 1] += part[i] * dy;
      }
    }
  }
  const double all[6] = {ga, gb, gc, gd, gx, gy};
  for (int i = 0; i < 6; ++i) g[i] = all[i];
  return cost;
}

struct Moved {  // a state of the quadrotor, and 1 / the norm that its attitude was divided by
  double p[3], v[3], w[3], q[4], scale;
};

// The direction of the lift.
std::array<double, 3> up(const double* q) {
  return {2 * (q[1] * q[3] + q[0] * q[2]), 2 * (q[2] * q[3] - q[0] * q[1]), 1 - 2 * (q[1] * q[1] + q[2] * q[2])};
}

void move(const Moved& s, const double* u, Moved& n) {
  constexpr double h = Quadrotor::h;
  constexpr const double(&inertia)[3] = Quadrotor::inertia;
  const double lift = (u[0] + u[1] + u[2] + u[3]) / Quadrotor::mass;
  const double torque[3] = {Quadrotor::arm * (u[1] - u[3]), Quadrotor::arm * (u[2] - u[0]),
                            Quadrotor::drag * (u[0] - u[1] + u[2] - u[3])};
  const auto e = up(s.q);
  for (int i = 0; i < 3; ++i) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    n.v[i] = s.v[i] + h * (lift * e[i] - (i == 2 ? Quadrotor::gravity : 0));
    n.p[i] = s.p[i] + h * n.v[i];
    n.w[i] = s.w[i] + h / inertia[i] * (torque[i] - (inertia[k] - inertia[j]) * s.w[j] * s.w[k]);
  }
  const double *q = s.q, *w = n.w;
  const double r[4] = {q[0] - h / 2 * (q[1] * w[0] + q[2] * w[1] + q[3] * w[2]),
                       q[1] + h / 2 * (q[0] * w[0] + q[2] * w[2] - q[3] * w[1]),
                       q[2] + h / 2 * (q[0] * w[1] + q[3] * w[0] - q[1] * w[2]),
                       q[3] + h / 2 * (q[0] * w[2] + q[1] * w[1] - q[2] * w[0])};
  n.scale = 1 / std::sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + r[3] * r[3]);
  for (int i = 0; i < 4; ++i) n.q[i] = r[i] * n.scale;
}

struct Cotangent {
  double p[3] = {}, v[3] = {}, w[3] = {}, q[4] = {};
};

// Takes c from the state n to the state s before it, and writes the gradient by the four thrusts between them.
void pull_back(const Moved& s, const Moved& n, const double* u, Cotangent& c, double* g) {
  constexpr double h = Quadrotor::h, half = h / 2, arm = Quadrotor::arm, drag = Quadrotor::drag;
  constexpr const double(&inertia)[3] = Quadrotor::inertia;
  const double *q = s.q, *w = n.w;
  double along = 0, a[4], torque[3], rates[3];
  for (int i = 0; i < 4; ++i) along += c.q[i] * n.q[i];
  for (int i = 0; i < 4; ++i) a[i] = n.scale * (c.q[i] - n.q[i] * along);
  c.w[0] += half * (-a[0] * q[1] + a[1] * q[0] + a[2] * q[3] - a[3] * q[2]);
  c.w[1] += half * (-a[0] * q[2] - a[1] * q[3] + a[2] * q[0] + a[3] * q[1]);
  c.w[2] += half * (-a[0] * q[3] + a[1] * q[2] - a[2] * q[1] + a[3] * q[0]);
  c.q[0] = a[0] + half * (a[1] * w[0] + a[2] * w[1] + a[3] * w[2]);
  c.q[1] = a[1] + half * (-a[0] * w[0] - a[2] * w[2] + a[3] * w[1]);
  c.q[2] = a[2] + half * (-a[0] * w[1] + a[1] * w[2] - a[3] * w[0]);
  c.q[3] = a[3] + half * (-a[0] * w[2] - a[1] * w[1] + a[2] * w[0]);
  for (int i = 0; i < 3; ++i) {
    torque[i] = h / inertia[i] * c.w[i];
    rates[i] = c.w[i];
    c.v[i] += h * c.p[i];
  }
  for (int i = 0; i < 3; ++i) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    const double by = torque[i] * (inertia[k] - inertia[j]);
    rates[j] -= by * s.w[k];
    rates[k] -= by * s.w[j];
  }
  const double lift = (u[0] + u[1] + u[2] + u[3]) / Quadrotor::mass;
  const auto e = up(q);
  const double d_lift = h * (c.v[0] * e[0] + c.v[1] * e[1] + c.v[2] * e[2]) / Quadrotor::mass;
  const double d_up[3] = {h * lift * c.v[0], h * lift * c.v[1], h * lift * c.v[2]};
  c.q[0] += 2 * (d_up[0] * q[2] - d_up[1] * q[1]);
  c.q[1] += 2 * (d_up[0] * q[3] - d_up[1] * q[0]) - 4 * d_up[2] * q[1];
  c.q[2] += 2 * (d_up[0] * q[0] + d_up[1] * q[3]) - 4 * d_up[2] * q[2];
  c.q[3] += 2 * (d_up[0] * q[1] + d_up[1] * q[2]);
  g[0] = d_lift - arm * torque[1] + drag * torque[2];
  g[1] = d_lift + arm * torque[0] - drag * torque[2];
  g[2] = d_lift + arm * torque[1] + drag * torque[2];
  g[3] = d_lift - arm * torque[0] - drag * torque[2];
  for (int i = 0; i < 3; ++i) c.w[i] = rates[i];
}

double by_hand(Quadrotor, const double* u, double* g) {
  constexpr int steps = Quadrotor::steps;
  constexpr const double(&target)[3] = Quadrotor::target;
  Moved s[steps + 1];
  s[0] = {{}, {}, {}, {1, 0, 0, 0}, 1};
  double cost = 0;
  for (int k = 0; k < steps; ++k) {
    Moved& n = s[k + 1];
    move(s[k], u + 4 * k, n);
    for (int i = 0; i < 3; ++i) {
      const double away = n.p[i] - target[i];
      cost += away * away + 0.1 * n.w[i] * n.w[i] + 0.01 * n.v[i] * n.v[i];
    }
  }
  Cotangent c;
  for (int k = steps; k-- > 0;) {
    const Moved& n = s[k + 1];
    for (int i = 0; i < 3; ++i) {
      c.p[i] += 2 * (n.p[i] - target[i]);
      c.w[i] += 0.2 * n.w[i];
      c.v[i] += 0.02 * n.v[i];
    }
    pull_back(s[k], n, u + 4 * k, c, g + 4 * k);
  }
  return cost;
}

}  // namespace

int main() {
  bench::Program program;
  for_each([&]<class Model>(Model model) {
    const auto x = std::make_shared<const std::vector<double>>(Model::inputs());
    const auto result = std::make_shared<std::vector<double>>(1 + x->size());
    const auto run = [=] { result->front() = by_hand(model, x->data(), result->data() + 1); };
    const auto check = [=] {
      run();
      bench::Checksum sum;
      sum.add(result->data(), static_cast<std::int64_t>(result->size()));
      return sum.value();
    };
    for (const char* how : {"", ", compiled", ", native"})
      program.add(bench::Case{.name = row_name(model) + how,
                              .make =
                                  [=] {
                                    return bench::Body{run, check};
                                  },
                              .tolerance = 1e-6});
  });
  return program.serve();
}
