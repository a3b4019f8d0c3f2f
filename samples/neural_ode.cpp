// A neural ordinary differential equation (Chen et al. 2018): a network f with y' = f(y) that follows a spiral, of
// which 61 points are observed. Training is by multiple shooting: every observation starts a short solution that should
// meet the next four, all in one batch. odeint's derivatives are those of its accepted steps.
//
// Checks gradients against the adjoint equation of Pontryagin, solved backwards by odeint too, and with a memory
// budget; and the network's spiral from the first observation to the last, which no solution of the training covers.
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <reel/ode.hpp>
#include <reel/optim.hpp>
#include <reel/reel.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "chart/chart.hpp"
#include "terminal/progress.hpp"

using reel::Tensor;

namespace {

constexpr std::int64_t width = 16, seen = 61, ahead = 4;  // hidden units, observations, how many each start should meet
constexpr double step = 0.1;                              // between observations

using Network = std::array<Tensor, 4>;

Network initial() {
  reel::Generator generator(2018);
  return {reel::random_normal(generator, {2, width}, 0, 0.5), reel::random_normal(generator, {width}, 0, 0.5),
          reel::random_normal(generator, {width, 2}, 0, 0.2), reel::zeros({2})};
}

// f at points [..., 2].
Tensor slope(const Network& p, const Tensor& y) {
  return reel::matmul(reel::tanh(reel::matmul(y, p[0]) + p[1]), p[2]) + p[3];
}

// From y0 [..., 2], at times [m]: [m, ..., 2].
Tensor follow(const Network& p, const Tensor& y0, const Tensor& t, const reel::OdeOptions& options = {}) {
  return reel::odeint([p](const Tensor& y, const Tensor&) { return slope(p, y); }, y0, t, options);
}

// What the network learns: y' = A y^3.
Tensor spiral(const Tensor& t) {
  const auto f = [](const Tensor& y, const Tensor&) {
    return reel::matmul(y * y * y, reel::tensor({{-0.1, -2.}, {2., -0.1}}));
  };
  return reel::odeint(f, reel::tensor({2., 0.}), t, {.relative_tolerance = 1e-9});
}

// The mean square distance of solutions from observations [seen, 2].
Tensor misfit(const Network& p, const Tensor& observed) {
  const Tensor starts = observed(reel::range_to(-ahead));
  const Tensor solutions = follow(p, starts, step * reel::arange(double(ahead + 1)));
  std::vector<Tensor> expected;
  for (std::int64_t k = 0; k <= ahead; ++k) expected.push_back(observed(reel::range(k, k + seen - ahead)));
  return reel::mean(reel::square(solutions - reel::stack(expected)));
}

// The gradient of sum(y(end)) by the network from a' = -a df/dy, a(end) = 1, and g' = -a df/dp, g(end) = 0, along with
// y' = f backwards in time. Nothing of the way there is kept.
Network adjoint(const Network& p, const Tensor& y0, double end, const reel::OdeOptions& options) {
  const Tensor last = follow(p, y0, reel::tensor({0., end}), options)[1];
  const auto state = std::tuple(last, reel::ones({2}),
                                reel::map_leaves<Tensor>(p, [](const Tensor& x) { return reel::zeros_like(x); }));
  const auto [vector, tree_of] = reel::ravel(state);
  const auto backwards = [p, unravel = tree_of](const Tensor& v, const Tensor&) {
    const auto [y, a, g] = unravel(v);
    const auto [f, vjp] = reel::make_vjp(slope)(p, y);
    const auto [by_network, by_y] = vjp(-a);
    return reel::ravel(std::tuple(f, by_y, by_network)).first;
  };
  const Tensor start = reel::odeint(backwards, vector, reel::tensor({end, 0.}), options)[1];
  return std::get<2>(tree_of(start));
}

double distance(const Network& found, const Network& expected) {
  return (reel::norm(reel::axpy(-1, expected, found)) / reel::norm(expected)).item();
}

// The gradient of sum(y(end)) by three ways.
bool compare_gradients(const Network& p) {
  const Tensor y0 = reel::tensor({2., 0.}), t = reel::tensor({0., 4.});
  const auto by_steps = [&](std::int64_t budget) {
    const reel::OdeOptions options{.relative_tolerance = 1e-10, .absolute_tolerance = 1e-11, .memory_budget = budget};
    return reel::grad([&](const Network& q) { return reel::sum(follow(q, y0, t, options)[1]); })(p);
  };
  const Network steps = by_steps(0);
  const double budget = distance(by_steps(64 << 10), steps);
  const double continuous =
      distance(adjoint(p, y0, 4, {.relative_tolerance = 1e-10, .absolute_tolerance = 1e-11}), steps);
  std::printf("gradient differs by %.1e within 64 KiB, by %.1e from the adjoint equation\n", budget, continuous);
  return budget <= 1e-12 && continuous <= 1e-6;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string svg = chart::svg_argument(argc, argv);
  const Tensor times = step * reel::arange(double(seen)), observed = spiral(times);
  bool good = compare_gradients(initial());

  const auto begin = std::chrono::steady_clock::now();
  terminal::Progress progress("evaluation");
  const auto loss = [&](const Network& p) {
    progress.step();
    return misfit(p, observed);
  };
  const auto found = reel::lbfgs(loss, initial(), {.max_iterations = 600});
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  progress.erase();

  const Tensor drawn = follow(found.parameters, observed[0], times);
  const double error = reel::max(reel::norm(drawn - observed, 2, {1})).item();
  good &= error <= 0.1;
  if (!svg.empty()) {
    const auto column = [](const Tensor& x, std::int64_t k) { return x(reel::all, k).to_vector(); };
    const Tensor smooth = follow(found.parameters, observed[0], reel::linspace(0, 8, 401));  // until a third later
    chart::Panel panel{"y' = f(y)", "", "observations, and the network's solution from the first", {}};
    panel.series = {{"", column(observed, 0), column(observed, 1), column(smooth, 0), column(smooth, 1)}};
    panel.equal_scales = true;
    chart::write(svg, "A spiral, learned", {panel});
  }
  std::printf("misfit %.1e after %lld steps of L-BFGS in %.1f s, spiral of radius 2 off by at most %.3f: %s\n",
              found.value, static_cast<long long>(found.iterations), elapsed.count(), error,
              good ? "good" : "FAILED: wanted 0.1 and equal gradients");
  return good ? 0 : 1;
}
