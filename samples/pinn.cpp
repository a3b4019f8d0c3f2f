// A physics-informed network (Raissi et al. 2019) for -u'' = pi^2 sin(pi x) on [0, 1], u(0) = u(1) = 0, whose solution
// is sin(pi x). The residual needs u'' of the network: two nested tapes; a third trains it. Checks the error.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <reel/optim.hpp>
#include <reel/reel.hpp>

#include "terminal/progress.hpp"

using reel::Tensor, reel::Variable;

namespace {

const double pi = std::acos(-1.0);

// u(x) = x (1 - x) N(x) meets the boundary conditions whatever the network N is.
struct Network {
  Variable w1, b1, w2, b2, w3;
  auto leaves() { return std::tie(w1, b1, w2, b2, w3); }
  explicit Network(reel::Generator& g, std::int64_t width)
      : w1(reel::random_normal(g, {1, width}, 0, 2), "w1"),
        b1(reel::random_normal(g, {width}, 0, 1), "b1"),
        w2(reel::random_normal(g, {width, width}, 0, 1 / std::sqrt(double(width))), "w2"),
        b2(reel::zeros({width}), "b2"),
        w3(reel::random_normal(g, {width, 1}, 0, 1 / std::sqrt(double(width))), "w3") {}
  Tensor operator()(const Tensor& x) const {
    const Tensor h1 = reel::tanh(reel::matmul(x, w1) + b1);
    const Tensor h2 = reel::tanh(reel::matmul(h1, w2) + b2);
    return x * (1 - x) * reel::matmul(h2, w3);
  }
};

// u'' at every point: each u depends on its own x only, so sums over points keep them apart.
Tensor second_derivative(const Network& u, const Tensor& x) {
  reel::GradientTape outer;
  outer.watch(x);
  Tensor slope;
  {
    reel::GradientTape inner;
    inner.watch(x);
    slope = *inner.gradient(u(x), x);
  }
  return *outer.gradient(slope, x);
}

}  // namespace

int main() {
  reel::Generator generator(7);
  const Network u(generator, 16);
  const Tensor x = reel::reshape(reel::linspace(0, 1, 33), {33, 1});
  const Tensor load = pi * pi * reel::sin(pi * x);
  constexpr int steps = 4000;
  terminal::Progress progress("step", steps);

  const auto start = std::chrono::steady_clock::now();
  reel::Adam adam({.learning_rate = 0.01});
  double loss_now = 0;
  for (int step = 0; step < steps; ++step) {
    adam.options.learning_rate = 0.01 * std::pow(0.01, double(step) / steps);
    reel::GradientTape tape;
    const Tensor loss = reel::mean(reel::square(second_derivative(u, x) + load));
    adam.step(tape.gradient(loss, u), u);
    loss_now = loss.item();
    progress.step("loss", loss_now);
  }
  progress.erase();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;

  const Tensor fine = reel::reshape(reel::linspace(0, 1, 1001), {1001, 1});
  const double error = reel::max(reel::abs(u(fine) - reel::sin(pi * fine))).item();
  std::printf("-u'' = pi^2 sin(pi x): loss %.2e after %d steps in %.1f s, largest error against sin(pi x) %.1e: %s\n",
              loss_now, steps, elapsed.count(), error, error < 1e-3 ? "below 1e-3" : "FAILED, 1e-3 was wanted");
  return error < 1e-3 ? 0 : 1;
}
