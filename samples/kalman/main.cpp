// The level of the Nile as a random walk that is observed with noise: x' = x + N(0, Q), y = x + N(0, R), with a diffuse
// prior (Durbin and Koopman, "Time Series Analysis by State Space Methods", 2012, chapter 2: the local level model).
//
// 1. A Kalman filter, one scan over the years, gives the log likelihood of Q and R.
// 2. Newton's method finds their most likely values.
// 3. Derivatives of the same function by the observations are a smoother (Tweedie's formula for Gaussian noise):
//    mean(x | y) = y + R dl/dy, var(x | y) = R + R^2 d^2l/dy^2. No backward recursion is written.
//
// Checks likelihood, gradient and smoother against the joint normal distribution of all observations, written with
// matrices, and the variances found against published ones.
#include <cmath>
#include <cstdio>
#include <numbers>
#include <reel/linalg.hpp>
#include <reel/ops/arranging.hpp>
#include <reel/optim.hpp>
#include <reel/reel.hpp>
#include <reel/stats.hpp>
#include <string>
#include <utility>
#include <vector>

#include "../chart/chart.hpp"
#include "nile.hpp"

using reel::Tensor;

namespace {

constexpr std::int64_t years = 100;

// log p(y[1], y[2], ... | y[0]) for logs = (log R, log Q). After the first observation the level is y[0] with variance
// R.
Tensor filter(const Tensor& logs, const Tensor& y) {
  const Tensor variances = reel::exp(logs), r = variances[0], q = variances[1];
  const auto year = [r, q](const std::pair<Tensor, Tensor>& level, const Tensor& observed) {
    const auto& [mean, variance] = level;
    const Tensor surprise = observed - mean, spread = variance + r, gain = variance / spread;
    const Tensor log_density = -0.5 * (reel::log(2 * std::numbers::pi * spread) + reel::square(surprise) / spread);
    return std::pair(std::pair(mean + gain * surprise, (1 - gain) * variance + q), log_density);
  };
  const auto [last, log_densities] = reel::scan(year, std::pair(y[0], r + q), y(reel::range_from(1)));
  return reel::sum(log_densities);
}

// The differences of neighbouring observations are jointly normal: each has variance Q + 2 R, neighbours have
// covariance -R.
Tensor covariance_of_differences(const Tensor& logs) {
  const Tensor r = reel::exp(logs[0]), q = reel::exp(logs[1]);
  const Tensor row = reel::concatenate({reel::stack({q + 2 * r, -r}), reel::zeros({years - 3})});
  return reel::toeplitz(row, row);
}
Tensor differences(const Tensor& y) { return y(reel::range_from(1)) - y(reel::range_to(-1)); }
Tensor joint_log_likelihood(const Tensor& logs, const Tensor& y) {
  return reel::multivariate_normal_logpdf(differences(y), 0, reel::cholesky(covariance_of_differences(logs)));
}

struct Smoothed {
  Tensor mean, variance;
};
Smoothed smooth(const Tensor& logs, const Tensor& y) {
  const auto likelihood = [&](const Tensor& v) { return filter(logs, v); };
  const Tensor r = reel::exp(logs[0]);
  return {y + r * reel::grad(likelihood)(y), r + r * r * reel::diagonal(reel::hessian(likelihood)(y))};
}
// The same by the conditional distribution: with D the matrix of differences and K their covariance, y - R D^T K^-1 D y
// and R - R^2 diag(D^T K^-1 D).
Smoothed condition(const Tensor& logs, const Tensor& y) {
  const Tensor d = reel::jacobian(differences)(y), k = covariance_of_differences(logs), r = reel::exp(logs[0]);
  const Tensor precision = reel::matmul(reel::transpose(d), reel::solve(k, d));
  return {y - r * reel::matmul(precision, y), r - r * r * reel::diagonal(precision)};
}

// The largest difference, relative to the largest expected number.
double error(const Tensor& found, const Tensor& expected) {
  return (reel::max(reel::abs(found - expected)) / reel::max(reel::abs(expected))).item();
}

void draw(const std::string& path, const Tensor& y, const Smoothed& level) {
  const std::vector<double> year = reel::linspace(1871, 1970, years).to_vector();
  const Tensor band = 1.96 * reel::sqrt(level.variance);
  chart::Panel panel{"Nile", "10^8 m^3 a year", "observations; smoothed level within 95 %", {}};
  panel.series = {{"level", year, y.to_vector(), year, level.mean.to_vector()},
                  {"lower", {}, {}, year, (level.mean - band).to_vector()},
                  {"upper", {}, {}, year, (level.mean + band).to_vector()}};
  panel.width = 840;
  chart::write(path, "The level of the Nile, by derivatives of a Kalman filter's likelihood", {panel});
}

}  // namespace

int main(int argc, char** argv) {
  const std::string svg = chart::svg_argument(argc, argv);
  const Tensor y = reel::from_data(nile::flow), start = reel::log(reel::tensor({10000., 10000.}));
  const auto loss = [&](const Tensor& logs) { return -filter(logs, y); };
  const auto found = reel::newton_cg(loss, start);
  const Tensor logs = found.parameters, variances = reel::exp(logs);
  const Tensor deviations = variances * reel::sqrt(reel::diagonal(reel::inverse(reel::hessian(loss)(logs))));
  const Smoothed level = smooth(logs, y), expected = condition(logs, y);

  const struct {
    const char* name;
    double error;
  } rows[] = {
      {"log likelihood", error(filter(start, y), joint_log_likelihood(start, y))},
      {"gradient by R and Q", error(-reel::grad(loss)(start), reel::grad<0>(joint_log_likelihood)(start, y))},
      {"smoothed levels", error(level.mean, expected.mean)},
      {"their variances", error(level.variance, expected.variance)},
  };
  bool good = found.converged();
  for (const auto& row : rows) {
    std::printf("%-20s differs from the joint normal distribution by %.1e\n", row.name, row.error);
    good &= row.error <= 1e-10;
  }
  const double published[] = {nile::observation_variance, nile::level_variance};
  std::printf("log likelihood %.4f after %lld steps of Newton's method\n", -found.value,
              static_cast<long long>(found.iterations));
  for (int k = 0; k < 2; ++k) {
    std::printf("%c %9.1f, deviation %7.1f, published %9.1f\n", "RQ"[k], variances[k].item(), deviations[k].item(),
                published[k]);
    good &= std::abs(variances[k].item() / published[k] - 1) < 1e-4;
  }
  if (!svg.empty()) draw(svg, y, level);
  std::printf("%s\n", good ? "good" : "FAILED: wanted 1e-10, and the published variances to 1e-4");
  return good ? 0 : 1;
}
