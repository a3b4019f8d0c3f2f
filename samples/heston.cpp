// Heston's model of stochastic volatility (1993): dS = S sqrt(v) dB, dv = kappa (theta - v) dt + sigma sqrt(v) dW, with
// correlation rho of B and W. Interest is 0.
//
// 1. Call prices by Fourier inversion (Lewis 2001) of the characteristic function in the form of Albrecher and others
//    (2007). Derivatives pass through complex numbers and the quadrature.
// 2. Calibration: parameters from the prices of 20 options, by the Levenberg-Marquardt method.
// 3. Greeks by conditional Monte Carlo, with antithetic paths: given the path of v, a price is Black and Scholes's
//    (Romano and Touzi 1997), which has second derivatives where a payoff has kinks. Each path has inputs of its own:
//    one gradient holds the Greeks of all, and their errors.
//
// Checks prices against published ones (Fang and Oosterlee 2008), the calibration against the parameters that made the
// prices, and each Greek within four standard errors of its semi-analytic value.
#include <array>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <reel/ops/normal.hpp>
#include <reel/optim.hpp>
#include <reel/reel.hpp>
#include <reel/solve.hpp>
#include <string>
#include <utility>
#include <vector>

#include "chart/chart.hpp"
#include "terminal/progress.hpp"

using reel::Tensor;

namespace {

struct Model {
  Tensor v0, kappa, theta, sigma, rho;
  auto leaves() { return std::tie(v0, kappa, theta, sigma, rho); }
};

// From numbers without bounds: logarithms, and the inverse hyperbolic tangent of rho.
Model model(const Tensor& x) {
  const Tensor positive = reel::exp(x);
  return {positive[0], positive[1], positive[2], positive[3], reel::tanh(x[4])};
}
Tensor unbounded(double v0, double kappa, double theta, double sigma, double rho) {
  return reel::tensor({std::log(v0), std::log(kappa), std::log(theta), std::log(sigma), std::atanh(rho)});
}

// Calls with strikes [m] and times to expiry [m].
Tensor price(const Tensor& spot, const Model& p, const Tensor& strikes, const Tensor& years) {
  const Tensor moneyness = reel::expand_dims(reel::log(spot / strikes), 1), t = reel::expand_dims(years, 1);
  const auto integrand = [p, moneyness, t](const Tensor& x) {
    const Tensor u = 20 * x / (1 - x), weight = 20 / reel::square(1 - x);  // from [0, 1) to all frequencies
    const Tensor variance = reel::square(p.sigma), lewis = reel::square(u) + 0.25;
    const Tensor xi = reel::make_complex(p.kappa - p.rho * p.sigma / 2, -p.rho * p.sigma * u);
    const Tensor d = reel::sqrt(reel::square(xi) + variance * lewis), e = reel::exp(-d * t), g = (xi - d) / (xi + d);
    const Tensor a = p.kappa * p.theta / variance * ((xi - d) * t - 2 * reel::log((1 - g * e) / (1 - g)));
    const Tensor b = p.v0 / variance * (xi - d) * (1 - e) / (1 - g * e);
    return weight * reel::real(reel::exp(a + b + reel::make_complex(0 * u, u * moneyness))) / lewis;
  };
  const Tensor integral = reel::fixed_quad(integrand, reel::zeros_like(strikes), reel::ones_like(strikes), 100);
  return spot - reel::sqrt(spot * strikes) / std::numbers::pi * integral;
}

// Prices of a call on each path [paths], whose normal numbers are [steps, paths], by Euler's method. v is cut off
// above 0, where its square root has no derivative.
Tensor path_prices(const Tensor& spot, const Model& p, double strike, double years, const Tensor& normals) {
  const double h = years / double(normals.shape()[0]);
  const auto step = [p, h](const std::array<Tensor, 3>& carry, const Tensor& z) {
    const auto& [v, variance, shock] = carry;  // v, the integrals of v dt and of sqrt(v) dW
    const Tensor now = reel::maximum(v, 1e-6), change = reel::sqrt(h * now) * z;
    const std::array<Tensor, 3> next{v + h * p.kappa * (p.theta - now) + p.sigma * change, variance + h * now,
                                     shock + change};
    return std::pair(next, std::tuple());  // no outputs but the carry
  };
  const Tensor zero = reel::zeros_like(p.v0);
  const auto [last, none] =
      reel::scan(step, std::array<Tensor, 3>{p.v0, zero, zero}, normals, {.memory_budget = 16 << 20});
  const auto& [v, variance, shock] = last;
  const Tensor rho2 = reel::square(p.rho), forward = spot * reel::exp(p.rho * shock - rho2 / 2 * variance);
  const Tensor spread = reel::sqrt((1 - rho2) * variance), d1 = reel::log(forward / strike) / spread + spread / 2;
  return forward * reel::ndtr(d1) - strike * reel::ndtr(d1 - spread);
}

bool check_published() {
  const Model p = model(unbounded(0.0175, 1.5768, 0.0398, 0.5751, -0.5711));
  const Tensor found = price(reel::scalar(100.), p, reel::full({2}, 100.), reel::tensor({1., 10.}));
  const double error = reel::max(reel::abs(found - reel::tensor({5.785155450, 22.318945791}))).item();
  std::printf("semi-analytic prices differ from published ones by %.1e\n", error);
  return error <= 1e-7;
}

bool calibrate(const Tensor& strikes, const Tensor& years, const Tensor& market, const Tensor& truth, Model& found) {
  terminal::Progress progress("evaluation");
  const auto residuals = [&](const Tensor& x) {
    progress.step();
    return price(reel::scalar(100.), model(x), strikes, years) - market;
  };
  const auto fit = reel::levenberg_marquardt(residuals, unbounded(0.1, 1, 0.1, 0.5, -0.2));
  progress.erase();
  const double error = reel::max(reel::abs(fit.parameters - truth)).item();
  found = model(fit.parameters);
  std::printf("calibrated after %lld steps: v0 %.4f, kappa %.4f, theta %.4f, sigma %.4f, rho %.4f; off by %.1e\n",
              static_cast<long long>(fit.iterations), found.v0.item(), found.kappa.item(), found.theta.item(),
              found.sigma.item(), found.rho.item(), error);
  return fit.converged() && error <= 1e-6;
}

// Price and Greeks of a call for one year, at the money.
bool compare_greeks(const Model& p) {
  constexpr std::int64_t paths = 16384, steps = 64;
  reel::Generator generator(1993);
  const Tensor half = reel::random_normal(generator, {steps, paths / 2}), normals = reel::concatenate({half, -half}, 1);
  const auto each = [](const Tensor& x) { return x * reel::ones({paths}); };
  const Tensor spot = each(reel::scalar(100.));
  const Model q{each(p.v0), each(p.kappa), each(p.theta), each(p.sigma), each(p.rho)};
  const auto value = [&](const Tensor& s, const Model& m) { return reel::sum(path_prices(s, m, 100, 1, normals)); };
  const auto exact = [&](const Tensor& s, const Model& m) {
    return reel::sum(price(s, m, reel::full({1}, 100.), reel::ones({1})));
  };
  terminal::Progress progress("simulation", 3);
  const Tensor prices = path_prices(spot, q, 100, 1, normals);
  progress.step();
  const auto [delta, greeks] = reel::grad(value)(spot, q);
  progress.step();
  const auto [exact_delta, exact_greeks] = reel::grad(exact)(reel::scalar(100.), p);
  // Prices depend on the spot of their own path only.
  const auto deltas = [&](const Tensor& s) { return reel::sum(reel::grad<0>(value)(s, q)); };
  const Tensor gamma = reel::grad(deltas)(spot);
  progress.erase();
  const Tensor exact_gamma = reel::grad<0>(reel::grad<0>(exact))(reel::scalar(100.), p);
  const struct {
    const char* name;
    Tensor found, expected;
  } rows[] = {
      {"price", prices, exact(reel::scalar(100.), p)},
      {"delta", delta, exact_delta},
      {"gamma", gamma, exact_gamma},
      {"by v0", greeks.v0, exact_greeks.v0},
      {"by kappa", greeks.kappa, exact_greeks.kappa},
      {"by theta", greeks.theta, exact_greeks.theta},
      {"by sigma", greeks.sigma, exact_greeks.sigma},
      {"by rho", greeks.rho, exact_greeks.rho},
  };
  bool good = true;
  std::printf("%-9s %12s %14s %14s\n", "", "Monte Carlo", "standard error", "semi-analytic");
  for (const auto& row : rows) {
    // A path and its mirror image are one sample.
    const Tensor sample = reel::mean(reel::reshape(row.found, {2, paths / 2}), {0});
    const double mean = reel::mean(sample).item(), error = reel::std(sample).item() / std::sqrt(paths / 2.);
    good &= std::abs(mean - row.expected.item()) <= 4 * error;
    std::printf("%-9s %12.5f %14.5f %14.5f\n", row.name, mean, error, row.expected.item());
  }
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string svg = chart::svg_argument(argc, argv);
  bool good = check_published();
  const Tensor strikes = reel::tile(reel::tensor({80., 90., 100., 110., 120.}), {4});
  const Tensor years = reel::repeat(reel::tensor({0.25, 0.5, 1., 2.}), 5, 0);
  const Tensor truth = unbounded(0.04, 2, 0.06, 0.4, -0.6);
  const Tensor market = price(reel::scalar(100.), model(truth), strikes, years);
  Model found;
  good &= calibrate(strikes, years, market, truth, found);
  good &= compare_greeks(found);
  if (!svg.empty()) {
    const Tensor fine = reel::linspace(75, 125, 101);
    chart::Panel panel{"calls", "spot 100", "prices over strikes, for a quarter, half, one and two years", {}};
    const char* names[] = {"1/4", "1/2", "1", "2"};
    for (std::int64_t k = 0; k < 4; ++k) {
      const auto of = [k](const Tensor& x) { return x(reel::range(5 * k, 5 * k + 5)).to_vector(); };
      const Tensor curve = price(reel::scalar(100.), found, fine, years[5 * k] * reel::ones({101}));
      panel.series.push_back({names[k], of(strikes), of(market), fine.to_vector(), curve.to_vector()});
    }
    chart::write(svg, "Heston's model, calibrated", {panel});
  }
  std::printf("%s\n", good ? "good" : "FAILED: wanted 1e-7, 1e-6 and four standard errors");
  return good ? 0 : 1;
}
