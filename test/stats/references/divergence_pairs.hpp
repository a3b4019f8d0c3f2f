// Divergences of two families, of <reel/stats/divergences.hpp>, by entropies and means; as distributions.hpp.
#pragma once
#include "distributions.hpp"

namespace references {

// Minus the entropies.
template <class N>
N of_beta(const N& a, const N& b) {
  return (a - 1.0L) * digamma_of(a) + (b - 1.0L) * digamma_of(b) - (a + b - 2.0L) * digamma_of(N(a + b)) -
         log_beta<N>(a, b);
}
template <class N>
N of_gamma(const N& a, const N& scale) {
  return (a - 1.0L) * digamma_of(a) - log_gamma(a) - a - log_of(scale);
}
template <class N>
N of_pareto(const N& b, const N& scale) {
  return log_of(b / scale) - 1.0L / b - 1.0L;
}

// Minus the mean logarithm of a density, by means of x, of log(x), of exp(-x / scale), and by the variance of x.
template <class N>
N to_norm(const N& mean, const N& variance, const N& loc, const N& scale) {
  return log_of(scale) + std::log(2 * pi) / 2 + (variance + square_of<N>(mean - loc)) / (square_of(scale) * 2.0L);
}
template <class N>
N to_gamma(const N& mean, const N& mean_log, const N& a, const N& scale) {
  return log_gamma(a) + a * log_of(scale) - (a - 1.0L) * mean_log + mean / scale;
}
template <class N>
N to_expon(const N& mean, const N& scale) {
  return log_of(scale) + mean / scale;
}
template <class N>
N to_gumbel(const N& mean, const N& mean_exp, const N& loc, const N& scale) {
  return log_of(scale) + (mean - loc) / scale + exp_of(loc / scale) * mean_exp;
}
template <class N>
N mean_log(const N& start, const N& width) {
  const N end = start + width;
  return (end * log_of(end) - start * log_of(start)) / width - 1.0L;
}
template <class N>
N mean_distance(const N& loc, const N& scale) {
  const N d = loc / scale;
  return scale * std::sqrt(2 / pi) * exp_of(-(d * d) / 2.0L) + loc * (normal_of(d) * 2.0L - 1.0L);
}
template <class N>
N beta_variance(const N& a, const N& b) {
  return a * b / (square_of<N>(a + b) * (a + b + 1.0L));
}

// Parameters are shifted from the operands as below.
// clang-format off
REEL_REFERENCE(BernoulliPoisson, 2, x[0] * log_of(x[0] / x[1]) + (1.0L - x[0]) * log_of(1.0L - x[0]) + x[1]);
REEL_REFERENCE(BetaExpon, 3, of_beta<N>(x[0], x[1] + 2.0L) + to_expon<N>(x[0] / (x[0] + x[1] + 2.0L), x[2]));
REEL_REFERENCE(BetaGamma, 4, of_beta(x[0], x[1]) + to_gamma<N>(x[0] / (x[0] + x[1]), digamma_of(x[0]) - digamma_of(N(x[0] + x[1])), x[2] + 2.0L, x[3]));
REEL_REFERENCE(BetaNorm, 4, of_beta(x[0], x[1]) + to_norm<N>(x[0] / (x[0] + x[1]), beta_variance(x[0], x[1]), x[2], x[3]));
REEL_REFERENCE(BetaUniform, 4, of_beta(x[0], x[1]) + log_of(x[3] + 4.0L) + x[2] * 0.0L);
REEL_REFERENCE(ExponGamma, 3, -1.0L - log_of(x[0]) + to_gamma<N>(x[0], log_of(x[0]) - euler, x[1] + 2.0L, x[2]));
REEL_REFERENCE(ExponGumbel, 3, -1.0L - log_of(x[0]) + to_gumbel<N>(x[0], 1.0L / (x[0] / x[2] + 1.0L), x[1], x[2]));
REEL_REFERENCE(ExponNorm, 3, -1.0L - log_of(x[0]) + to_norm<N>(x[0], square_of(x[0]), x[1], x[2]));
REEL_REFERENCE(GammaExpon, 3, of_gamma<N>(x[0], x[1] + 2.0L) + to_expon<N>(x[0] * (x[1] + 2.0L), x[2]));
REEL_REFERENCE(GammaGumbel, 4, of_gamma(x[0], x[1]) + to_gumbel<N>(x[0] * x[1], power_of<N>(x[1] / x[3] + 1.0L, -x[0]), x[2], x[3]));
REEL_REFERENCE(GammaNorm, 4, of_gamma(x[0], x[1]) + to_norm<N>(x[0] * x[1], x[0] * square_of(x[1]), x[2], x[3]));
REEL_REFERENCE(GumbelNorm, 4, -log_of(x[1]) - (euler + 1.0L) + to_norm<N>(x[0] + x[1] * euler, square_of(x[1]) * (pi * pi / 6), x[2], x[3]));
REEL_REFERENCE(LaplaceNorm, 4, -1.0L - log_of(x[1] * 2.0L) + to_norm<N>(x[0], square_of(x[1]) * 2.0L, x[2], x[3]));
REEL_REFERENCE(NormGumbel, 4, -log_of(x[1]) - (1.0L + std::log(2 * pi)) / 2 + to_gumbel<N>(x[0], exp_of(square_of<N>(x[1] / x[3]) / 2.0L - x[0] / x[3]), x[2], x[3]));
REEL_REFERENCE(NormLaplace, 4, -log_of(x[1]) - (1.0L + std::log(2 * pi)) / 2 + log_of(x[3] * 2.0L) + mean_distance<N>(x[0] - x[2], x[1]) / x[3]);
template <class N> N pareto_mean(const N& b, const N& scale) { return b * scale / (b - 1.0L); }
REEL_REFERENCE(ParetoExpon, 3, of_pareto<N>(x[0] + 3.0L, x[1] + 2.0L) + to_expon<N>(pareto_mean<N>(x[0] + 3.0L, x[1] + 2.0L), x[2]));
REEL_REFERENCE(ParetoGamma, 4, of_pareto<N>(x[0] + 3.0L, x[1]) + to_gamma<N>(pareto_mean<N>(x[0] + 3.0L, x[1]), log_of(x[1]) + 1.0L / (x[0] + 3.0L), x[2] + 2.0L, x[3]));
REEL_REFERENCE(ParetoNorm, 4, of_pareto<N>(x[0] + 3.0L, x[1]) + to_norm<N>(pareto_mean<N>(x[0] + 3.0L, x[1]), square_of<N>(x[1] / (x[0] + 2.0L)) * (x[0] + 3.0L) / (x[0] + 1.0L), x[2], x[3]));
// Of x from [x0 / 10, x0 / 10 + x1 / 4].
REEL_REFERENCE(UniformBeta, 4, log_beta<N>(x[2] + 2.0L, x[3]) - log_of(x[1] * 0.25L) - (x[2] + 1.0L) * mean_log<N>(x[0] * 0.1L, x[1] * 0.25L) - (x[3] - 1.0L) * mean_log<N>(1.0L - x[0] * 0.1L - x[1] * 0.25L, x[1] * 0.25L));
REEL_REFERENCE(UniformExpon, 3, to_expon<N>(x[0] + (x[1] + 2.0L) * 0.5L, x[2]) - log_of(x[1] + 2.0L));
REEL_REFERENCE(UniformGamma, 4, to_gamma<N>(x[0] + x[1] * 0.5L, mean_log(x[0], x[1]), x[2] + 2.0L, x[3]) - log_of(x[1]));
REEL_REFERENCE(UniformGumbel, 4, to_gumbel<N>(x[0] + x[1] * 0.5L, exp_of(-(x[0] / x[3])) * (1.0L - exp_of(-(x[1] / x[3]))) * x[3] / x[1], x[2], x[3]) - log_of(x[1]));
REEL_REFERENCE(UniformNorm, 4, to_norm<N>(x[0] + x[1] * 0.5L, square_of(x[1]) / 12.0L, x[2], x[3]) - log_of(x[1]));
// By the mean of log(x / x3), so that jets bound the error of terms that cancel in derivatives by x0 and x3.
REEL_REFERENCE(UniformPareto, 4, mean_log<N>(x[0] + 2.0L, x[1]) + (x[2] + 2.0L) * mean_log<N>((x[0] + 2.0L) / x[3], x[1] / x[3]) - log_of((x[2] + 2.0L) * x[1]));
// clang-format on

/// Calls add(name, reference, support, op) for each pair of families.
template <class Add>
void for_each_divergence_pair(const Add& add) {
  using namespace reel;
  // clang-format off
  add("bernoulli_poisson_kl", BernoulliPoisson{}, fraction, [](const auto& x) { return bernoulli_poisson_kl(x[0], x[1]); });
  add("beta_expon_kl", BetaExpon{}, rate, [](const auto& x) {
    const auto v = together<3>(x);
    return beta_expon_kl(v[0], v[1] + 2, v[2]);
  });
  add("beta_gamma_kl", BetaGamma{}, rate, [](const auto& x) {
    const auto v = together<4>(x);
    return beta_gamma_kl(v[0], v[1], v[2] + 2, v[3]);
  });
  add("beta_norm_kl", BetaNorm{}, rate, [](const auto& x) { return beta_norm_kl(x[0], x[1], x[2], x[3]); });
  add("beta_uniform_kl", BetaUniform{}, rate, [](const auto& x) {
    const auto v = together<4>(x);
    return beta_uniform_kl(v[0], v[1], v[2] - 2, v[3] + 4);
  });
  add("expon_gamma_kl", ExponGamma{}, rate, [](const auto& x) {
    const auto v = together<3>(x);
    return expon_gamma_kl(v[0], v[1] + 2, v[2]);
  });
  add("expon_gumbel_r_kl", ExponGumbel{}, rate, [](const auto& x) { return expon_gumbel_r_kl(x[0], x[1], x[2]); });
  add("expon_norm_kl", ExponNorm{}, rate, [](const auto& x) { return expon_norm_kl(x[0], x[1], x[2]); });
  add("gamma_expon_kl", GammaExpon{}, rate, [](const auto& x) {
    const auto v = together<3>(x);
    return gamma_expon_kl(v[0], v[1] + 2, v[2]);
  });
  add("gamma_gumbel_r_kl", GammaGumbel{}, rate, [](const auto& x) { return gamma_gumbel_r_kl(x[0], x[1], x[2], x[3]); });
  add("gamma_norm_kl", GammaNorm{}, rate, [](const auto& x) { return gamma_norm_kl(x[0], x[1], x[2], x[3]); });
  add("gumbel_r_norm_kl", GumbelNorm{}, whole_line, [](const auto& x) { return gumbel_r_norm_kl(x[0], x[1], x[2], x[3]); });
  add("laplace_norm_kl", LaplaceNorm{}, whole_line, [](const auto& x) { return laplace_norm_kl(x[0], x[1], x[2], x[3]); });
  add("norm_gumbel_r_kl", NormGumbel{}, rate, [](const auto& x) { return norm_gumbel_r_kl(x[0], x[1], x[2], x[3]); });
  add("norm_laplace_kl", NormLaplace{}, whole_line, [](const auto& x) { return norm_laplace_kl(x[0], x[1], x[2], x[3]); });
  add("pareto_expon_kl", ParetoExpon{}, rate, [](const auto& x) {
    const auto v = together<3>(x);
    return pareto_expon_kl(v[0] + 3, v[1] + 2, v[2]);
  });
  add("pareto_gamma_kl", ParetoGamma{}, rate, [](const auto& x) {
    const auto v = together<4>(x);
    return pareto_gamma_kl(v[0] + 3, v[1], v[2] + 2, v[3]);
  });
  add("pareto_norm_kl", ParetoNorm{}, rate, [](const auto& x) {
    const auto v = together<4>(x);
    return pareto_norm_kl(v[0] + 3, v[1], v[2], v[3]);
  });
  add("uniform_beta_kl", UniformBeta{}, rate, [](const auto& x) {
    const auto v = together<4>(x);
    return uniform_beta_kl(v[0] * 0.1, v[1] * 0.25, v[2] + 2, v[3]);
  });
  add("uniform_expon_kl", UniformExpon{}, rate, [](const auto& x) {
    const auto v = together<3>(x);
    return uniform_expon_kl(v[0], v[1] + 2, v[2]);
  });
  add("uniform_gamma_kl", UniformGamma{}, rate, [](const auto& x) {
    const auto v = together<4>(x);
    return uniform_gamma_kl(v[0], v[1], v[2] + 2, v[3]);
  });
  add("uniform_gumbel_r_kl", UniformGumbel{}, whole_line, [](const auto& x) { return uniform_gumbel_r_kl(x[0], x[1], x[2], x[3]); });
  add("uniform_norm_kl", UniformNorm{}, whole_line, [](const auto& x) { return uniform_norm_kl(x[0], x[1], x[2], x[3]); });
  add("uniform_pareto_kl", UniformPareto{}, rate, [](const auto& x) {
    const auto v = together<4>(x);
    return uniform_pareto_kl(v[0] + 2, v[1], v[2] + 2, v[3]);
  });
  // clang-format on
}

}  // namespace references
