// Fits the rates of the Lotka-Volterra equations to populations of 256 colonies observed at fifty times. Derivatives go
// back through 5000 Runge-Kutta steps, at a cost that does not grow with the number of parameters. scan records the
// steps as one entry. Under a memory budget it keeps some of the states and recomputes the others (Griewank and Walther
// 2000). Checks memory, gradients and the fit.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <deque>
#include <reel/reel.hpp>
#include <string>
#include <vector>

using reel::Tensor;

namespace {

constexpr std::int64_t colonies = 256, steps = 5000, seen_every = 100;
constexpr double h = 0.002;  // years

using State = std::array<Tensor, 2>;  // prey and predators of each colony
using Rates = std::array<Tensor, 4>;  // a, b, c, d in x' = a x - b x y, y' = c x y - d y

State runge_kutta(const State& s, const Rates& rates) {
  const auto slope = [&](const State& at) {
    const auto& [x, y] = at;
    return State{x * (rates[0] - rates[1] * y), y * (rates[2] * x - rates[3])};
  };
  const auto along = [&](const State& k, double time) { return State{s[0] + time * k[0], s[1] + time * k[1]}; };
  const State k1 = slope(s), k2 = slope(along(k1, h / 2)), k3 = slope(along(k2, h / 2)), k4 = slope(along(k3, h));
  const auto next = [&](std::size_t i) { return s[i] + h / 6 * (k1[i] + 2 * (k2[i] + k3[i]) + k4[i]); };
  return {next(0), next(1)};
}

// The parameters are the logarithms of the rates, which are positive.
Rates rates_of(const Tensor& parameters) {
  const Tensor rates = reel::exp(parameters);
  return {rates[0], rates[1], rates[2], rates[3]};
}
State start() { return {reel::linspace(1, 12, colonies), reel::linspace(5, 2, colonies)}; }

std::vector<State> observe(const Rates& rates) {
  std::vector<State> seen;
  State state = start();
  for (std::int64_t i = 1; i <= steps; ++i) {
    state = runge_kutta(state, rates);
    if (i % seen_every == 0) seen.push_back(state);
  }
  return seen;
}

// The mean square of the differences from what was seen.
Tensor misfit(const Tensor& parameters, const std::vector<State>& seen, std::int64_t memory_budget) {
  const Rates rates = rates_of(parameters);
  // Captures by value what ends with this function, because the step is run again for the derivative.
  const auto step = [rates, &seen](const std::pair<State, Tensor>& carry, const Tensor& index) {
    const State next = runge_kutta(carry.first, rates);
    Tensor sum = carry.second;
    const std::int64_t i = index.item<std::int64_t>() + 1;
    if (i % seen_every == 0) {
      const State& expected = seen[static_cast<std::size_t>(i / seen_every - 1)];
      sum += reel::sum(reel::square(next[0] - expected[0]) + reel::square(next[1] - expected[1]));
    }
    return std::pair(std::pair(next, sum), std::tuple());  // no outputs but the carry
  };
  const auto [carry, none] =
      reel::scan(step, std::pair(start(), reel::scalar(0.0)), reel::arange(steps), {.memory_budget = memory_budget});
  return carry.second / double(2 * colonies * steps / seen_every);
}

double inner(const Tensor& a, const Tensor& b) { return reel::dot(a, b).item(); }

// BFGS with the last 20 steps as memory (Nocedal 1980).
template <class F>
Tensor minimise(const F& value_and_gradient, Tensor x) {
  struct Pair {
    Tensor s, y;
    double sy;
  };
  std::deque<Pair> memory;
  auto [value, g] = value_and_gradient(x);
  int evaluations = 1;
  for (int iteration = 0;; ++iteration) {
    const double slope = std::sqrt(inner(g, g));
    if (iteration % 10 == 0 || slope < 1e-8)
      std::printf("%9d %12d %12.3e %12.3e\n", iteration, evaluations, value.item(), slope);
    if (slope < 1e-8 || iteration == 200) return x;
    Tensor d = -g;
    std::vector<double> weights;
    for (auto p = memory.rbegin(); p != memory.rend(); ++p) {
      weights.push_back(inner(p->s, d) / p->sy);
      d -= weights.back() * p->y;
    }
    if (!memory.empty()) d *= memory.back().sy / inner(memory.back().y, memory.back().y);
    for (const Pair& p : memory) {
      d += (weights.back() - inner(p.y, d) / p.sy) * p.s;
      weights.pop_back();
    }
    // Halves the step until the misfit decreases enough (Armijo condition).
    double length = memory.empty() ? std::min(1.0, 0.1 / slope) : 1;
    for (;; length /= 2) {
      const Tensor trial = x + length * d;
      auto [trial_value, trial_g] = value_and_gradient(trial);
      ++evaluations;
      if (trial_value.item() > value.item() + 1e-4 * length * inner(g, d) && length > 1e-10) continue;
      Pair pair{trial - x, trial_g - g, 0};
      pair.sy = inner(pair.s, pair.y);
      if (pair.sy > 0) memory.push_back(pair);
      if (memory.size() > 20) memory.pop_front();
      x = trial, value = trial_value, g = trial_g;
      break;
    }
  }
}

}  // namespace

int main() {
  const auto since = [](auto start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  const Tensor truth = reel::log(reel::tensor({1.1, 0.4, 0.1, 0.4})),
               guess = reel::log(reel::tensor({1.0, 0.5, 0.12, 0.35}));
  const std::vector<State> seen = observe(rates_of(truth));

  constexpr std::int64_t budgets[] = {0, 4 << 20, 1 << 20, 256 << 10};
  // Beside the budget: the results of one step on their way, and 64 KiB to which the peak is known.
  constexpr std::int64_t kib = 1024, constant = 192 * kib;
  bool good = true;
  Tensor expected;
  std::printf("%11s %11s %9s   gradient of the misfit\n", "budget, KiB", "memory, KiB", "seconds");
  for (const std::int64_t budget : budgets) {
    const auto begin = std::chrono::steady_clock::now();
    const std::int64_t before = reel::memory_stats().live_bytes;
    reel::reset_peak_bytes();
    const Tensor g = reel::grad([&](const Tensor& p) { return misfit(p, seen, budget); })(guess);
    const std::int64_t memory = reel::memory_stats().peak_bytes - before;
    if (!expected.defined()) expected = g;
    const double error = reel::max(reel::abs(g - expected)).item() / reel::max(reel::abs(expected)).item();
    const bool fits = (budget == 0 || memory <= budget + constant) && error <= 1e-12;
    std::printf("%11s %11lld %9.2f   differs by %.1e%s\n", budget ? std::to_string(budget / kib).c_str() : "none",
                static_cast<long long>(memory / kib), since(begin), error, fits ? "" : "  FAILED");
    good &= fits;
  }

  std::printf("\n%9s %12s %12s %12s\n", "iteration", "evaluations", "misfit", "|gradient|");
  const auto begin = std::chrono::steady_clock::now();
  const Tensor found = minimise(
      [&](const Tensor& p) {
        return reel::value_and_grad([&](const Tensor& q) { return misfit(q, seen, budgets[3]); })(p);
      },
      guess);
  const double error = reel::max(reel::abs(found - truth)).item();
  good &= error <= 1e-8;
  const Rates rates = rates_of(found);
  std::printf("rates %.6f %.6f %.6f %.6f; the worst of %lld parameters is off by %.1e after %.1f s: %s\n",
              rates[0].item(), rates[1].item(), rates[2].item(), rates[3].item(), static_cast<long long>(found.size()),
              error, since(begin),
              good ? "good" : "FAILED: wanted 1e-8, memory within the budgets and equal gradients");
  return good ? 0 : 1;
}
