// gmm: the log posterior of a Gaussian mixture with a Wishart prior on the precisions, and its gradient.
#pragma once
#include <cmath>
#include <numbers>
#include <tuple>

#include "../eval.hpp"

namespace gradbench::gmm {

using reel::Tensor;

struct Parameters {
  Tensor alpha;  // [k] logarithms of the weights, up to a constant
  Tensor mu;     // [k, d] means
  Tensor q;      // [k, d] logarithms of the diagonals of the factors Q of the precisions Q^T Q
  Tensor l;      // [k, d (d - 1) / 2] what is below the diagonals, column by column
  auto leaves() { return std::tie(alpha, mu, q, l); }
};

struct Input {
  Parameters parameters;
  Tensor x;  // [n, d] points
  double gamma;
  std::int64_t m;  // of the prior
};

// Where each element of a d x d factor is in (diagonal, below the diagonal, one zero).
inline Tensor layout(std::int64_t d) {
  std::vector<std::int64_t> places(static_cast<std::size_t>(d * d), d + d * (d - 1) / 2);
  std::int64_t next = d;
  for (std::int64_t column = 0; column < d; ++column) {
    places[static_cast<std::size_t>(column * d + column)] = column;
    for (std::int64_t row = column + 1; row < d; ++row) places[static_cast<std::size_t>(row * d + column)] = next++;
  }
  return reel::from_data(places);
}

// The logarithm of the multivariate gamma function.
inline double log_gamma(double a, std::int64_t d) {
  double result = 0.25 * static_cast<double>(d * (d - 1)) * std::log(std::numbers::pi);
  for (std::int64_t j = 0; j < d; ++j) result += std::lgamma(a - 0.5 * static_cast<double>(j));
  return result;
}

inline Tensor log_sum_exp(const Tensor& x) {
  const Tensor largest = stop_gradient(max(x, 0));
  return log(sum(exp(x - largest), 0)) + largest;
}

inline Tensor objective(const Parameters& parameters, const Input& input) {
  const auto& [alpha, mu, q, l] = parameters;
  const std::int64_t k = mu.shape()[0], d = mu.shape()[1], n = input.x.shape()[0];
  const Tensor diagonals = exp(q), sums = sum(q, 1);

  // Q (x - mu) of all components and points in one product: (Q, -Q mu) (x, 1), [k, d, n].
  const Tensor elements = reel::concatenate({diagonals, l, reel::zeros({k, 1})}, 1);
  const Tensor factors = reshape(gather(elements, layout(d), 1), {k, d, d});
  const Tensor offsets = matmul(factors, reel::expand_dims(mu, 2));
  const Tensor affine = reshape(reel::concatenate({factors, -offsets}, 2), {k * d, d + 1});
  const Tensor points = reel::concatenate({input.x, reel::ones({n, 1})}, 1);
  const Tensor residuals = reshape(matmul(affine, points, {.transpose_b = true}), {k, d, n});
  const Tensor exponents = reel::expand_dims(alpha + sums, 1) - 0.5 * sum(square(residuals), 1);

  const double nd = static_cast<double>(n * d), m = static_cast<double>(input.m),
               freedom = static_cast<double>(d) + m + 1;
  const double constant =
      -0.5 * nd * std::log(2 * std::numbers::pi) +
      static_cast<double>(k) * (freedom * static_cast<double>(d) * std::log(input.gamma / std::numbers::sqrt2) -
                                log_gamma(0.5 * freedom, d));
  const Tensor likelihood = sum(log_sum_exp(exponents)) - static_cast<double>(n) * logsumexp(alpha);
  const Tensor prior = m * sum(sums) - 0.5 * input.gamma * input.gamma * (sum(square(diagonals)) + sum(square(l)));
  return likelihood + prior + constant;
}

inline Json to_json(const Parameters& gradient) {
  using gradbench::to_json;
  return {{"alpha", to_json(gradient.alpha)},
          {"mu", to_json(gradient.mu)},
          {"q", to_json(gradient.q)},
          {"l", to_json(gradient.l)}};
}

inline Input read(const Field& input) {
  const std::int64_t d = input.at("d").integer(1), k = input.at("k").integer(1), n = input.at("n").integer(1);
  const Field gamma = input.at("gamma");
  if (gamma.number() <= 0) gamma.fail(gamma.json().dump(), "positive");
  return {{input.at("alpha").tensor({k}), input.at("mu").tensor({k, d}), input.at("q").tensor({k, d}),
           input.at("l").tensor({k, d * (d - 1) / 2})},
          input.at("x").tensor({n, d}),
          gamma.number(),
          input.at("m").integer(0)};
}

inline Module functions() {
  return {
      {"objective", timed(read, [](const Input& input) { return objective(input.parameters, input); })},
      {"jacobian", timed(read, [](const Input& input) { return reel::grad<0>(objective)(input.parameters, input); })}};
}

}  // namespace gradbench::gmm
