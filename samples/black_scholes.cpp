// Prices 10^5 European calls and computes their Greeks of first and second order, by two nested tapes. Compares every
// figure with its closed form (Black and Scholes 1973; Merton 1973).
#include <chrono>
#include <cmath>
#include <cstdio>
#include <reel/reel.hpp>

using reel::Tensor;

namespace {

Tensor normal_cdf(const Tensor& x) { return 0.5 * reel::erfc(x * -std::sqrt(0.5)); }

// A call on a spot price, struck at `strike`, after `years`, with continuous rate and volatility per year.
Tensor call(const Tensor& spot, const Tensor& strike, const Tensor& years, const Tensor& rate,
            const Tensor& volatility) {
  const Tensor spread = volatility * reel::sqrt(years);
  const Tensor d1 = (reel::log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / spread;
  return spot * normal_cdf(d1) - strike * reel::exp(-rate * years) * normal_cdf(d1 - spread);
}

// The largest difference, relative to 1 + |expected|.
double error(const Tensor& found, const Tensor& expected) {
  return reel::max(reel::abs(found - expected) / (1 + reel::abs(expected))).item();
}

}  // namespace

int main() {
  constexpr std::int64_t options = 100000;
  reel::Generator generator(1973);
  const Tensor spot = reel::random_uniform(generator, {options}, 80, 120);
  const Tensor strike = reel::random_uniform(generator, {options}, 80, 120);
  const Tensor years = reel::random_uniform(generator, {options}, 0.1, 2);
  const Tensor rate = reel::random_uniform(generator, {options}, 0.0, 0.08);
  const Tensor volatility = reel::random_uniform(generator, {options}, 0.1, 0.6);

  const auto start = std::chrono::steady_clock::now();
  reel::GradientTape outer({.persistent = true});
  outer.watch(std::tuple(spot, volatility));
  Tensor price, delta, vega, theta, rho;
  {
    reel::GradientTape inner;
    inner.watch(std::tuple(spot, years, rate, volatility));
    price = call(spot, strike, years, rate, volatility);
    // Each price depends on its own inputs only, so the gradient of their sum holds every option's derivative.
    const auto [ds, dt, dr, dv] = inner.gradient(price, std::tuple(spot, years, rate, volatility));
    delta = *ds, theta = -*dt, rho = *dr, vega = *dv;
  }
  outer.stop();
  const auto [gamma, vanna] = outer.gradient(delta, std::tuple(spot, volatility));
  const reel::Gradient volga = outer.gradient(vega, volatility);
  const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;

  const Tensor root = reel::sqrt(years), spread = volatility * root;
  const Tensor d1 = (reel::log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / spread,
               d2 = d1 - spread;
  const Tensor density = reel::exp(-0.5 * d1 * d1) / std::sqrt(2 * std::acos(-1.0));
  const Tensor discounted = strike * reel::exp(-rate * years);
  const struct {
    const char* name;
    Tensor found, expected;
  } rows[] = {
      {"price", price, spot * normal_cdf(d1) - discounted * normal_cdf(d2)},
      {"delta", delta, normal_cdf(d1)},
      {"gamma", *gamma, density / (spot * spread)},
      {"vega", vega, spot * density * root},
      {"theta", theta, -spot * density * volatility / (2 * root) - rate * discounted * normal_cdf(d2)},
      {"rho", rho, years * discounted * normal_cdf(d2)},
      {"vanna", *vanna, -density * d2 / volatility},
      {"volga", *volga, spot * density * root * d1 * d2 / volatility},
  };
  bool good = true;
  std::printf("%-8s %14s %14s %12s\n", "figure", "mean", "closed form", "worst error");
  for (const auto& row : rows) {
    const double worst = error(row.found, row.expected);
    good &= worst <= 1e-10;
    std::printf("%-8s %14.8f %14.8f %12.1e\n", row.name, reel::mean(row.found).item(), reel::mean(row.expected).item(),
                worst);
  }
  std::printf("%lld options, price and seven Greeks in %.1f ms: %s\n", static_cast<long long>(options), elapsed.count(),
              good ? "all within 1e-10 of the closed forms" : "FAILED: an error exceeds 1e-10");
  return good ? 0 : 1;
}
