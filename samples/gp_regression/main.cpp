// A Gaussian process for the air pressure of the southern Pacific (NIST's ENSO data): the sum of three cycles, one of a
// year and two of unknown period, and noise (Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006).
//
// 1. The logarithms of amplitudes, periods and noise maximise the marginal likelihood of the data, by L-BFGS.
// 2. The Hessian there gives the standard deviations of the periods, by second derivatives of a Cholesky factorisation.
// 3. The process is conditioned on the data and drawn two years into the future.
//
// Checks the gradient against its trace formula, predictions without one observation against the leave-one-out
// identity, and periods, their standard deviations and the noise against NIST's least-squares fit.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <reel/linalg.hpp>
#include <reel/optim.hpp>
#include <reel/reel.hpp>
#include <string>
#include <utility>
#include <vector>

#include "../chart/chart.hpp"
#include "enso.hpp"

using reel::Tensor;

namespace {

constexpr double pi = std::numbers::pi;
constexpr std::int64_t n = 168;
// The parameters: amplitudes of the three cycles, periods of two of them in months, deviation of the noise.
constexpr int annual = 0, first = 1, second = 2, first_period = 3, second_period = 4, noise = 5;

// The months between each time of `a` and each of `b`.
Tensor gaps(const Tensor& a, const Tensor& b) { return reel::expand_dims(a, 1) - reel::expand_dims(b, 0); }

// The covariance of the three cycles at times that far apart: amplitude^2 cos(2 pi gap / period) each.
Tensor cycles(const Tensor& gap, const Tensor& p) {
  const auto cycle = [&](const Tensor& amplitude, const reel::Operand& period) {
    return reel::square(amplitude) * reel::cos(2 * pi * gap / period);
  };
  return cycle(p[annual], 12) + cycle(p[first], p[first_period]) + cycle(p[second], p[second_period]);
}

Tensor covariance(const Tensor& t, const Tensor& p) {
  return cycles(gaps(t, t), p) + reel::square(p[noise]) * reel::eye(t.size());
}

// log N(y; 0, K) by the Cholesky factor of K.
Tensor log_likelihood(const Tensor& logs, const Tensor& t, const Tensor& y) {
  const Tensor factor = reel::cholesky(covariance(t, reel::exp(logs)));
  const Tensor fit = reel::dot(y, reel::cholesky_solve(factor, y));
  return -0.5 * fit - reel::sum(reel::log(reel::diagonal(factor))) - 0.5 * std::log(2 * pi) * double(t.size());
}

// Mean and variance of the process at other times, given the data.
std::pair<Tensor, Tensor> predict(const Tensor& at, const Tensor& t, const Tensor& y, const Tensor& p) {
  const Tensor factor = reel::cholesky(covariance(t, p)), across = cycles(gaps(at, t), p);
  const Tensor prior = reel::sum(reel::square(p(reel::range(annual, second + 1))));
  const Tensor half = reel::triangular_solve(factor, reel::transpose(across));
  return {reel::matmul(across, reel::cholesky_solve(factor, y)), prior - reel::sum(reel::square(half), {0})};
}

// d/dq = tr((alpha alpha^T - K^-1) dK/dq) / 2 with alpha = K^-1 y (Rasmussen and Williams, equation 5.9), for the
// logarithms q of the parameters and derivatives of K by hand.
Tensor trace_formula(const Tensor& t, const Tensor& y, const Tensor& p) {
  const Tensor inverse = reel::cholesky_inverse(reel::cholesky(covariance(t, p)));
  const Tensor alpha = reel::matmul(inverse, y), weights = (reel::outer(alpha, alpha) - inverse) / 2;
  const Tensor gap = gaps(t, t);
  const Tensor square[] = {reel::square(p[annual]), reel::square(p[first]), reel::square(p[second])};
  const Tensor angle[] = {2 * pi * gap / 12, 2 * pi * gap / p[first_period], 2 * pi * gap / p[second_period]};
  std::vector<Tensor> by;
  for (int k = 0; k < 3; ++k) by.push_back(2 * square[k] * reel::cos(angle[k]));
  for (int k = 1; k < 3; ++k) by.push_back(square[k] * reel::sin(angle[k]) * angle[k]);
  by.push_back(2 * reel::square(p[noise]) * reel::eye(n));
  return reel::sum(weights * reel::stack(by), {1, 2});
}

// The largest difference, of mean and variance together, between predictions of one observation by all others, and y -
// alpha / diag(K^-1), with variance 1 / diag(K^-1) (Rasmussen and Williams, equation 5.12).
double leave_one_out_error(const Tensor& t, const Tensor& y, const Tensor& p) {
  const Tensor inverse = reel::cholesky_inverse(reel::cholesky(covariance(t, p)));
  const Tensor variance = 1 / reel::diagonal(inverse), mean = y - variance * reel::matmul(inverse, y);
  double worst = 0;
  for (std::int64_t i = 0; i < n; i += 24) {
    const auto without = [i](const Tensor& x) {
      return reel::concatenate({x(reel::range_to(i)), x(reel::range_from(i + 1))});
    };
    const auto [m, v] = predict(t(reel::range(i, i + 1)), without(t), without(y), p);
    const double difference =
        std::abs((m - mean[i]).item()) + std::abs((v + reel::square(p[noise]) - variance[i]).item());
    worst = std::isnan(worst) || difference <= worst ? worst : difference;
  }
  return worst;
}

void draw(const std::string& path, const Tensor& t, const Tensor& pressure, const Tensor& y, const Tensor& p) {
  const Tensor at = reel::linspace(1, 192, 765);
  const auto [m, v] = predict(at, t, y, p);
  const Tensor mean = m + reel::mean(pressure), band = 2 * reel::sqrt(v + reel::square(p[noise]));
  const std::vector<double> x = at.to_vector();
  chart::Panel panel{"ENSO", "two standard deviations", "month 1 to 168, and two years of prediction", {}};
  panel.series = {{"mean", t.to_vector(), pressure.to_vector(), x, mean.to_vector()},
                  {"lower", {}, {}, x, (mean - band).to_vector()},
                  {"upper", {}, {}, x, (mean + band).to_vector()}};
  panel.width = 840;
  chart::write(path, "Air pressure, Easter Island less Darwin: a Gaussian process of three cycles", {panel});
}

}  // namespace

int main(int argc, char** argv) {
  const std::string svg = chart::svg_argument(argc, argv);
  const Tensor t = reel::linspace(1, n, n), pressure = reel::from_data(enso::pressure);
  const Tensor y = pressure - reel::mean(pressure);
  const auto loss = [&](const Tensor& logs) { return -log_likelihood(logs, t, y); };

  const Tensor start = reel::log(reel::tensor({3., 1., 1., 44., 26., 2.}));
  const auto found = reel::lbfgs(loss, start);
  const Tensor p = reel::exp(found.parameters);
  // To first order the deviation of a parameter is that of its logarithm, times the parameter.
  const Tensor deviation = p * reel::sqrt(reel::diagonal(reel::inverse(reel::hessian(loss)(found.parameters))));

  const Tensor gradient = -reel::grad(loss)(start), expected = trace_formula(t, y, reel::exp(start));
  const double gradient_error = (reel::max(reel::abs(gradient - expected)) / reel::max(reel::abs(expected))).item();
  const double left_out = leave_one_out_error(t, y, p);
  bool good = found.converged() && gradient_error <= 1e-10 && left_out <= 1e-9;
  std::printf("log marginal likelihood %.4f after %lld steps; gradient off by %.1e, leave-one-out by %.1e\n",
              -found.value, static_cast<long long>(found.iterations), gradient_error, left_out);
  std::printf("%-10s %10s %10s %12s %12s\n", "", "found", "deviation", "NIST", "deviation");
  for (int k = 0; k < 2; ++k) {
    const double period = p[first_period + k].item(), spread = deviation[first_period + k].item();
    std::printf("period %-3d %10.4f %10.4f %12.4f %12.4f\n", k + 1, period, spread, enso::period[k],
                enso::period_deviation[k]);
    good &= std::abs(period - enso::period[k]) < 0.25 * spread;
    good &= std::abs(spread / enso::period_deviation[k] - 1) < 0.2;
  }
  std::printf("%-10s %10.4f %10.4f %12.4f\n", "noise", p[noise].item(), deviation[noise].item(),
              enso::residual_deviation);
  good &= std::abs(p[noise].item() / enso::residual_deviation - 1) < 0.02;
  if (!svg.empty()) draw(svg, t, pressure, y, p);
  std::printf("%s\n", good ? "good" : "FAILED: a figure is too far from its closed form or from NIST's");
  return good ? 0 : 1;
}
