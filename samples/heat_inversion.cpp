// Finds the heat source below a square plate from a noisy picture of its temperature, whose equation is
// u' = u_xx + u_yy - c u^3 + q on the unit square, u = 0 at the edge and at the start. A small multiple of |q|^2 is
// added to the misfit (Tikhonov regularisation). The loop of Euler steps is one entry on the tape. Under a memory
// budget it keeps some of its states and recomputes the others (Griewank and Walther 2000).
//
// Checks memory and gradients for several budgets, the source found with the true one and, where the cooling c is 0,
// with its closed form: a sine transform makes independent numbers of the temperatures.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <reel/elementwise.hpp>
#include <reel/fft.hpp>
#include <reel/optim.hpp>
#include <reel/reel.hpp>
#include <string>
#include <vector>

#include "chart/chart.hpp"
#include "terminal/progress.hpp"

using reel::Tensor;

namespace {

constexpr std::int64_t n = 32, steps = 200;  // points inside an axis, steps in time
constexpr double spacing = 1. / (n + 1), diffusion = 0.2, h = diffusion * spacing * spacing;
constexpr double cooling = 300, noise = 1e-3, weight = 3e-6;  // c, of the picture, of |q|^2

// The temperature after all steps. An elementwise function of shifted views makes a step one pass over memory.
Tensor heat(const Tensor& source, double c, std::int64_t memory_budget) {
  const auto step = reel::elementwise([c](auto u, auto up, auto down, auto left, auto right, auto q) {
    return u + diffusion * (up + down + left + right - 4 * u) + h * (q - c * u * u * u);
  });
  const auto body = [step, source](std::int64_t, const Tensor& u) {
    const Tensor wide = reel::pad(u, {1, 1}, {1, 1});  // zeros at the edge
    const auto moved = [&](int i, int j) { return wide(reel::range(1 + i, 1 + i + n), reel::range(1 + j, 1 + j + n)); };
    return step(u, moved(-1, 0), moved(1, 0), moved(0, -1), moved(0, 1), source);
  };
  return reel::fori_loop(steps, body, reel::zeros({n, n}), {.memory_budget = memory_budget});
}

struct Loss {
  Tensor picture;
  double c;
  std::int64_t memory_budget = 0;
  Tensor operator()(const Tensor& source) const {
    const Tensor misfit = heat(source, c, memory_budget) - picture;
    return reel::sum(reel::square(misfit)) + weight * reel::sum(reel::square(source));
  }
};

// Two warm spots and a cold one.
Tensor true_source() {
  const Tensor x = spacing * (1 + reel::arange(double(n))), y = reel::expand_dims(x, 1);
  const auto spot = [&](double at_x, double at_y, double width) {
    return reel::exp(-(reel::square(x - at_x) + reel::square(y - at_y)) / (2 * width * width));
  };
  return 10 * spot(0.3, 0.35, 0.08) + 6 * spot(0.7, 0.6, 0.12) - 5 * spot(0.3, 0.75, 0.07);
}

Tensor sine_transform(const Tensor& x) { return reel::dst(reel::dst(x, 1, 0), 1, 1); }

// The minimum of the loss without cooling. Steps multiply each coefficient of the sine transform by 1 - diffusion *
// eigenvalue and add h times that of the source: together a multiple, the gain.
Tensor closed_form(const Tensor& picture) {
  const Tensor k = 1 + reel::arange(double(n)), one = 2 - 2 * reel::cos(std::numbers::pi * spacing * k);
  const Tensor rate = diffusion * (one + reel::expand_dims(one, 1));
  const Tensor gain = h * (1 - reel::power(1 - rate, double(steps))) / rate;
  const Tensor found = gain * sine_transform(picture) / (reel::square(gain) + weight);
  return sine_transform(found) / reel::square(2. * (n + 1));  // the transform is its own inverse but for this factor
}

double distance(const Tensor& found, const Tensor& expected) {
  return (reel::norm(found - expected) / reel::norm(expected)).item();
}

// Whether each budget is kept, and the gradient does not depend on it.
bool compare_budgets(const Tensor& picture) {
  constexpr std::int64_t kib = 1024, budgets[] = {0, 512 * kib, 128 * kib};
  // Beside the budget: the results of one step on their way, and 64 KiB to which the peak is known.
  constexpr std::int64_t constant = 256 * kib;
  bool good = true;
  Tensor expected;
  for (const std::int64_t budget : budgets) {
    const auto begin = std::chrono::steady_clock::now();
    const std::int64_t before = reel::memory_stats().live_bytes;
    reel::reset_peak_bytes();
    const Tensor g = reel::grad(Loss{picture, cooling, budget})(reel::ones({n, n}));
    const std::int64_t memory = reel::memory_stats().peak_bytes - before;
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - begin;
    if (!expected.defined()) expected = g;
    const bool fits = (budget == 0 || memory <= budget + constant) && distance(g, expected) <= 1e-12;
    std::printf("gradient with budget %4s KiB: %5lld KiB, %5.1f ms, differs by %.1e%s\n",
                budget ? std::to_string(budget / kib).c_str() : "no", static_cast<long long>(memory / kib),
                elapsed.count(), distance(g, expected), fits ? "" : "  FAILED");
    good &= fits;
  }
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string svg = chart::svg_argument(argc, argv);
  reel::Generator generator(1822);
  const Tensor source = true_source(), grain = reel::random_normal(generator, {n, n}, 0, noise);
  const Tensor linear = heat(source, 0, 0) + grain, picture = heat(source, cooling, 0) + grain;
  bool good = compare_budgets(picture);

  terminal::Progress progress("evaluation");
  const auto counted = [&](const Loss& loss) {
    return [&progress, loss](const Tensor& x) {
      progress.step();
      return loss(x);
    };
  };
  const auto check = reel::lbfgs(counted({linear, 0}), reel::zeros({n, n}), {.gradient_tolerance = 1e-11});
  const double from_closed = distance(check.parameters, closed_form(linear));
  const auto begin = std::chrono::steady_clock::now();
  const auto found = reel::lbfgs(counted({picture, cooling, 128 << 10}), reel::zeros({n, n}));
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  progress.erase();
  const double from_true = distance(found.parameters, source);
  good &= check.converged() && found.converged() && from_closed <= 1e-5 && from_true <= 0.2;
  if (!svg.empty()) {
    const auto panel = [](const char* title, const char* note, const Tensor& x) {
      return chart::Panel{title, "", note, {}, {n, n, x.to_vector()}, 216};
    };
    chart::write(svg, "A heat source found from a picture of the temperature",
                 {panel("source", "below the plate", source), panel("picture", "with noise", picture),
                  panel("found", "from the picture", found.parameters)});
  }
  std::printf(
      "without cooling, source %.1e from its closed form\nwith cooling, %.0f %% from the true one after %lld steps "
      "of L-BFGS in %.1f s: %s\n",
      from_closed, 100 * from_true, static_cast<long long>(found.iterations), elapsed.count(),
      good ? "good" : "FAILED: wanted 1e-5, 20 %, memory within the budgets and equal gradients");
  return good ? 0 : 1;
}
