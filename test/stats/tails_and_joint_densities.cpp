// Joint densities, distribution functions, their logarithms and divergences of <reel/stats.hpp>: values and gradients
// to rounding, outside the support and at its ends, for parameters out of range, batches, errors. The op table checks
// values and derivatives in every mode.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <reel/ops/arranging.hpp>
#include <reel/reel.hpp>
#include <reel/special.hpp>
#include <reel/stats.hpp>
#include <string>

#include "catch.hpp"
#include "support/numbers.hpp"
#include "tail_values.hpp"

using namespace reel;
using namespace support;

namespace {

using Scalars = std::vector<Tensor>;
using Call = std::function<Tensor(const Scalars&)>;

// The scalars from `first` on as a vector, and as a lower triangular matrix of two rows.
Tensor vector_at(const Scalars& x, std::size_t first, std::size_t count) {
  return stack(std::span(x).subspan(first, count));
}
Tensor factor_at(const Scalars& x, std::size_t first) {
  return stack({stack({x[first], scalar(99.0)}), stack({x[first + 1], x[first + 2]})});
}

// clang-format off
#define ALL_OF(n, name) {#name, [](const Scalars& x) { return name ARGUMENTS_##n; }}
#define ARGUMENTS_2 (x[0], x[1])
#define ARGUMENTS_3 (x[0], x[1], x[2])
#define ARGUMENTS_4 (x[0], x[1], x[2], x[3])
#define ARGUMENTS_5 (x[0], x[1], x[2], x[3], x[4])
const std::map<std::string, Call> functions = {
    {"multivariate_normal_logpdf", [](const Scalars& x) { return multivariate_normal_logpdf(vector_at(x, 0, 2), vector_at(x, 2, 2), factor_at(x, 4)); }},
    {"dirichlet_logpdf", [](const Scalars& x) { return dirichlet_logpdf(vector_at(x, 0, 3), vector_at(x, 3, 3)); }},
    ALL_OF(3, vonmises_logpdf), ALL_OF(3, vonmises_pdf), ALL_OF(3, vonmises_cdf), ALL_OF(3, vonmises_sf), ALL_OF(3, vonmises_logcdf), ALL_OF(3, vonmises_logsf),
    ALL_OF(3, vonmises_ppf), ALL_OF(5, truncnorm_logpdf), ALL_OF(5, truncnorm_pdf), ALL_OF(5, truncnorm_cdf), ALL_OF(5, truncnorm_sf), ALL_OF(5, truncnorm_logcdf),
    ALL_OF(5, truncnorm_logsf), ALL_OF(5, truncnorm_ppf),
    ALL_OF(4, gamma_cdf), ALL_OF(4, gamma_sf), ALL_OF(4, chi2_cdf), ALL_OF(4, chi2_sf), ALL_OF(5, beta_cdf), ALL_OF(5, beta_sf),
    ALL_OF(4, t_cdf), ALL_OF(4, t_sf), ALL_OF(2, poisson_cdf), ALL_OF(2, poisson_sf), ALL_OF(3, binom_cdf), ALL_OF(3, binom_sf),
    ALL_OF(3, nbinom_cdf), ALL_OF(3, nbinom_sf), ALL_OF(2, geom_cdf), ALL_OF(2, geom_sf), ALL_OF(2, bernoulli_cdf), ALL_OF(2, bernoulli_sf),
    ALL_OF(4, gamma_logcdf), ALL_OF(4, gamma_logsf), ALL_OF(4, chi2_logcdf), ALL_OF(4, chi2_logsf), ALL_OF(5, beta_logcdf), ALL_OF(5, beta_logsf),
    ALL_OF(4, t_logcdf), ALL_OF(4, t_logsf), ALL_OF(2, poisson_logcdf), ALL_OF(2, poisson_logsf), ALL_OF(3, binom_logcdf), ALL_OF(3, binom_logsf),
    ALL_OF(3, nbinom_logcdf), ALL_OF(3, nbinom_logsf), ALL_OF(2, geom_logcdf), ALL_OF(2, geom_logsf), ALL_OF(2, bernoulli_logcdf), ALL_OF(2, bernoulli_logsf),
    ALL_OF(2, poisson_ppf), ALL_OF(3, binom_ppf), ALL_OF(3, nbinom_ppf), ALL_OF(2, geom_ppf), ALL_OF(2, bernoulli_ppf),
    ALL_OF(4, norm_kl), ALL_OF(2, expon_kl), ALL_OF(4, gamma_kl), ALL_OF(4, beta_kl), ALL_OF(2, bernoulli_kl), ALL_OF(2, poisson_kl),
    ALL_OF(4, laplace_kl), ALL_OF(4, cauchy_kl), ALL_OF(4, gumbel_r_kl), ALL_OF(4, weibull_min_kl), ALL_OF(4, uniform_kl), ALL_OF(4, pareto_kl), ALL_OF(4, lognorm_kl),
    ALL_OF(4, vonmises_kl), ALL_OF(2, chi2_kl), ALL_OF(2, geom_kl), ALL_OF(3, binom_kl), ALL_OF(3, nbinom_kl),
    ALL_OF(2, bernoulli_poisson_kl), ALL_OF(3, beta_expon_kl), ALL_OF(4, beta_gamma_kl), ALL_OF(4, beta_norm_kl), ALL_OF(4, beta_uniform_kl), ALL_OF(3, expon_gamma_kl),
    ALL_OF(3, expon_gumbel_r_kl), ALL_OF(3, expon_norm_kl), ALL_OF(3, gamma_expon_kl), ALL_OF(4, gamma_gumbel_r_kl), ALL_OF(4, gamma_norm_kl), ALL_OF(4, gumbel_r_norm_kl),
    ALL_OF(4, laplace_norm_kl), ALL_OF(4, norm_gumbel_r_kl), ALL_OF(4, norm_laplace_kl), ALL_OF(3, pareto_expon_kl), ALL_OF(4, pareto_gamma_kl), ALL_OF(4, pareto_norm_kl),
    ALL_OF(4, uniform_beta_kl), ALL_OF(3, uniform_expon_kl), ALL_OF(4, uniform_gamma_kl), ALL_OF(4, uniform_gumbel_r_kl), ALL_OF(4, uniform_norm_kl), ALL_OF(4, uniform_pareto_kl),
    {"dirichlet_kl", [](const Scalars& x) { return dirichlet_kl(vector_at(x, 0, 3), vector_at(x, 3, 3)); }},
    {"multivariate_normal_kl", [](const Scalars& x) {
       return multivariate_normal_kl(vector_at(x, 0, 2), factor_at(x, 2), vector_at(x, 5, 2), factor_at(x, 7));
     }},
};
// clang-format on

struct FirstOrder {
  double value;
  Doubles gradient;
};
FirstOrder first_order(const std::string& name, const Doubles& x) {
  Scalars operands;
  for (const double v : x) operands.push_back(scalar(v));
  GradientTape tape;
  for (const Tensor& t : operands) tape.watch(t);
  const Tensor y = functions.at(name)(operands);
  FirstOrder f{y.item(), {}};
  for (const Gradient& g : tape.gradient(y, operands)) f.gradient.push_back(g ? g.dense().item() : 0);
  return f;
}
double value(const std::string& name, const Doubles& x) { return first_order(name, x).value; }
void check_constant(const std::string& name, const Doubles& x, double expected) {
  INFO(name << " at " << x[0]);
  const FirstOrder f = first_order(name, x);
  CHECK(f.value == expected);
  for (const double g : f.gradient) CHECK(g == 0);
}

}  // namespace

TEST_CASE("tails and joint densities: values and gradients agree with references in all digits") {
  constexpr double unit = 0x1p-52;
  for (const TailValue& row : tail_values) {
    std::string text = row.function;
    for (const double v : row.operands) text += " " + std::to_string(v);
    INFO(text);
    const FirstOrder got = first_order(row.function, row.operands);
    double condition = 0;
    for (std::size_t k = 0; k < row.operands.size(); ++k) condition += std::abs(row.operands[k] * row.gradient[k]);
    // Densities and divergences with shape parameters are sums of terms of lgamma, of at most 500 here.
    const std::string name = row.function;
    const auto has = [&](const char* distribution) { return name.find(distribution) != std::string::npos; };
    const bool of_lgamma = name.starts_with("dirichlet") || (name.ends_with("_kl") && (has("gamma") || has("beta")));
    const double terms = of_lgamma ? std::min(500.0, std::abs(row.value) * 1e3 + 40) : 0;
    INFO(got.value << ", not " << row.value);
    CHECK(std::abs(got.value - row.value) <= 8 * unit * (std::abs(row.value) + condition + terms));
    for (std::size_t k = 0; k < row.gradient.size(); ++k) {
      INFO("gradient of operand " << k << ": " << got.gradient[k] << ", not " << row.gradient[k]);
      CHECK(std::abs(got.gradient[k] - row.gradient[k]) <=
            5e-13 * std::abs(row.gradient[k]) + 8 * unit * row.conditions[k]);
    }
  }
}

TEST_CASE("tails and joint densities: outside the support, ends, parameters out of range") {
  for (const double far : {-inf, inf}) {
    check_constant("multivariate_normal_logpdf", {far, 0, 0, 0, 1, 0.5, 1}, -inf);
    check_constant("vonmises_logpdf", {far, 2, 0}, -inf);
    check_constant("truncnorm_logpdf", {far, -inf, inf, 0, 1}, -inf);
    for (const char* distribution : {"gamma", "chi2", "t"}) {
      check_constant(std::string(distribution) + "_cdf", {far, 2.5, 0.25, 2}, far > 0);
      check_constant(std::string(distribution) + "_sf", {far, 2.5, 0.25, 2}, far < 0);
      check_constant(std::string(distribution) + "_logcdf", {far, 2.5, 0.25, 2}, far > 0 ? 0 : -inf);
      check_constant(std::string(distribution) + "_logsf", {far, 2.5, 0.25, 2}, far < 0 ? 0 : -inf);
    }
  }
  check_constant("dirichlet_logpdf", {0.5, 0.5, 0.5, 1, 2, 3}, -inf);
  check_constant("dirichlet_logpdf", {-0.5, 1, 0.5, 1, 2, 3}, -inf);
  check_constant("dirichlet_logpdf", {inf, 1, 0.5, 1, 2, 3}, -inf);
  check_constant("truncnorm_logpdf", {2.5, -1, 1, 0.25, 2}, -inf);
  check_constant("truncnorm_logpdf", {-2, -1, 1, 0.25, 2}, -inf);
  for (const auto& [distribution, inside] :
       std::map<std::string, Doubles>{{"truncnorm", {-1, 1, 0.25, 2}}, {"vonmises", {3, 0.25}}})
    for (const double far : {-inf, -7., 7., inf}) {
      Doubles x = inside;
      x.insert(x.begin(), far);
      check_constant(distribution + "_cdf", x, far > 0);
      check_constant(distribution + "_sf", x, far < 0);
      check_constant(distribution + "_logcdf", x, far > 0 ? 0 : -inf);
      check_constant(distribution + "_logsf", x, far < 0 ? 0 : -inf);
    }
  check_constant("truncnorm_pdf", {2.5, -1, 1, 0.25, 2}, 0);
  check_constant("gamma_cdf", {-1, 2.5, 0, 1}, 0);
  check_constant("chi2_sf", {-1, 2.5, 0, 1}, 1);
  check_constant("beta_cdf", {-0.5, 2.5, 1.5, 0, 1}, 0);
  check_constant("beta_cdf", {1.5, 2.5, 1.5, 0, 1}, 1);
  check_constant("beta_sf", {1.5, 2.5, 1.5, 0, 1}, 0);
  check_constant("beta_logcdf", {-0.5, 2.5, 1.5, 0, 1}, -inf);
  check_constant("beta_logsf", {1.5, 2.5, 1.5, 0, 1}, -inf);
  // At the ends of the support.
  CHECK(value("gamma_logcdf", {0, 2.5, 0, 1}) == -inf);
  check_constant("gamma_logsf", {0, 2.5, 0, 1}, 0);
  CHECK(first_order("gamma_logsf", {0, 1, 0, 1}).gradient[0] == -1);
  CHECK(first_order("gamma_logsf", {0, 0.5, 0, 1}).gradient[0] == -inf);
  CHECK(first_order("beta_logcdf", {1, 2, 1, 0, 1}).gradient[0] == 2);
  CHECK(first_order("beta_logsf", {0, 1, 3, 0, 1}).gradient[0] == -3);
  CHECK(first_order("beta_logsf", {0, 0.5, 3, 0, 1}).gradient[0] == -inf);
  CHECK(value("beta_logsf", {1, 2, 1.5, 0, 1}) == -inf);
  CHECK(std::abs(value("truncnorm_logpdf", {1, -inf, inf, 0, 1}) - norm_logpdf(1.0).item()) < 1e-15);
  const FirstOrder half = first_order("truncnorm_logpdf", {1, 0, inf, 0, 1});
  CHECK(std::abs(half.value - norm_logpdf(1.0).item() - std::log(2)) < 1e-15);
  for (const double g : half.gradient) CHECK(std::isfinite(g));
  CHECK(half.gradient[2] == 0);
  // Infinite ends, the ends themselves, quantiles of 0 and 1.
  CHECK(std::abs(value("truncnorm_cdf", {1, -inf, inf, 0, 1}) - norm_cdf(1.0).item()) < 1e-15);
  CHECK(std::abs(value("truncnorm_logcdf", {-50, -inf, inf, 0, 1}) - norm_logcdf(-50.0).item()) < 1e-12);
  CHECK(std::abs(value("truncnorm_logsf", {41, 40, inf, 0, 1}) - norm_logsf(41.0).item() + norm_logsf(40.0).item()) <
        1e-12);
  const FirstOrder start = first_order("truncnorm_cdf", {-3.5, -2, 1, 0.5, 2});
  CHECK(start.value == 0);
  CHECK(std::abs(start.gradient[0] - value("truncnorm_pdf", {-3.5, -2, 1, 0.5, 2})) < 1e-15);
  const FirstOrder end = first_order("truncnorm_sf", {42, 40, 42, 0, 1});
  CHECK(end.value == 0);
  CHECK(std::abs(end.gradient[0] / value("truncnorm_pdf", {42, 40, 42, 0, 1}) + 1) < 1e-12);
  CHECK(value("truncnorm_logcdf", {-2, -2, 1, 0, 1}) == -inf);
  CHECK(value("truncnorm_logcdf", {1, -2, 1, 0, 1}) == 0);
  CHECK(value("truncnorm_ppf", {0, -inf, 1, 0, 1}) == -inf);
  CHECK(value("truncnorm_ppf", {0, -2, 1, 0.5, 2}) == -3.5);
  CHECK(value("truncnorm_ppf", {1, -2, 1, 0.5, 2}) == 2.5);
  const double pi = std::acos(-1.0);
  CHECK(value("vonmises_ppf", {0, 3, 0.5}) == 0.5 - pi);
  CHECK(value("vonmises_ppf", {1, 3, 0.5}) == 0.5 + pi);
  CHECK(value("vonmises_ppf", {0.5, 3, 0.5}) == 0.5);
  CHECK(std::abs(value("vonmises_ppf", {1e-300, 1e-3, 0}) + pi) < 1e-15);
  CHECK(value("vonmises_cdf", {1.25, 1e200, 1.25}) == 0.5);
  CHECK(std::abs(value("vonmises_ppf", {0.25, 1e200, 0}) / (norm_ppf(0.25).item() * 1e-100) - 1) < 1e-15);
  CHECK(std::abs(value("vonmises_cdf", {1, 0, 0}) - (0.5 + 0.5 / pi)) < 1e-16);
  // Uniform where kappa is 0, and there the one-sided derivative.
  const FirstOrder uniform = first_order("vonmises_logpdf", {1, 0, 0.25});
  CHECK(std::abs(uniform.value + std::log(8 * std::atan(1))) < 1e-15);
  CHECK(std::abs(uniform.gradient[1] - std::cos(0.75)) < 1e-15);
  CHECK(std::abs(value("dirichlet_logpdf", {0, 0.5, 0.5, 1, 2, 3}) - std::log(7.5)) < 1e-15);
  CHECK(value("dirichlet_logpdf", {0, 0.5, 0.5, 2, 2, 3}) == -inf);
  CHECK(value("binom_cdf", {0, 0, 0.5}) == 1);
  const FirstOrder middle = first_order("t_cdf", {0.5, 3, 0.5, 2});
  CHECK(middle.value == 0.5);
  CHECK(std::abs(middle.gradient[0] - t_pdf(0.5, 3.0, 0.5, 2.0).item()) < 1e-15);

  const std::map<std::string, std::vector<Doubles>> invalid = {
      {"multivariate_normal_logpdf", {{0, qnan, 0, 0, 1, 0, 1}, {0, 0, 0, 0, -1, 0, 1}, {inf, 0, 0, 0, 1, 0, -1}}},
      {"dirichlet_logpdf",
       {{0.5, 0.25, 0.25, 1, 0, 1}, {0.5, 0.25, 0.25, 1, -1, 1}, {0.5, 0.25, 2, 1, qnan, 1}, {qnan, -1, 1, 1, 2, 3}}},
      {"vonmises_logpdf", {{1, -1, 0}, {inf, -1, 0}, {qnan, 1, 0}, {1, 1, qnan}, {1, qnan, 0}}},
      {"truncnorm_logpdf", {{1, 2, 2, 0, 1}, {1, 3, 2, 0, 1}, {1, 0, 2, 0, 0}, {9, qnan, 2, 0, 1}, {qnan, 0, 2, 0, 1}}},
      {"truncnorm_cdf", {{1, 2, 2, 0, 1}, {1, 3, 2, 0, 1}, {1, 0, 2, 0, 0}, {9, qnan, 2, 0, 1}, {qnan, 0, 2, 0, 1}}},
      {"truncnorm_logsf", {{1, 2, 2, 0, 1}, {-9, 3, 2, 0, 1}, {1, 0, 2, 0, 0}, {9, qnan, 2, 0, 1}, {qnan, 0, 2, 0, 1}}},
      {"truncnorm_ppf", {{1, 2, 2, 0, 1}, {1.5, 0, 2, 0, 1}, {-1, 0, 2, 0, 1}, {1, 0, 2, 0, 0}, {qnan, 0, 2, 0, 1}}},
      {"vonmises_cdf", {{1, -1, 0}, {inf, -1, 0}, {qnan, 1, 0}, {1, 1, qnan}, {1, qnan, 0}, {1, inf, 0}}},
      {"vonmises_logsf", {{1, -1, 0}, {-9, -1, 0}, {qnan, 1, 0}, {1, 1, qnan}, {1, qnan, 0}, {1, inf, 0}}},
      {"vonmises_ppf", {{0.5, -1, 0}, {1.5, 1, 0}, {-1, 1, 0}, {qnan, 1, 0}, {0.5, 1, qnan}, {0.5, qnan, 0}}},
      {"gamma_cdf", {{1, 0, 0, 1}, {-1, -1, 0, 1}, {1, 1, 0, -1}, {inf, 1, 0, 0}, {qnan, 1, 0, 1}}},
      {"beta_sf", {{0.5, 0, 1, 0, 1}, {2, 1, -1, 0, 1}, {0.5, 1, 1, 0, 0}, {qnan, 1, 1, 0, 1}}},
      {"gamma_logsf", {{1, 0, 0, 1}, {-1, -1, 0, 1}, {1, 1, 0, -1}, {inf, 1, 0, 0}, {qnan, 1, 0, 1}}},
      {"beta_logcdf", {{0.5, 0, 1, 0, 1}, {2, 1, -1, 0, 1}, {0.5, 1, 1, 0, 0}, {qnan, 1, 1, 0, 1}}},
      {"t_logcdf", {{1, 0, 0, 1}, {-inf, -1, 0, 1}, {1, 1, 0, 0}, {qnan, 1, 0, 1}, {0, qnan, 0, 1}}},
      {"poisson_logsf", {{1, -1}, {-1, qnan}, {qnan, 1}}},
      {"geom_logcdf", {{1, 0}, {-1, 1.5}, {qnan, 0.5}}},
      {"t_cdf", {{1, 0, 0, 1}, {-inf, -1, 0, 1}, {1, 1, 0, 0}, {qnan, 1, 0, 1}, {0, qnan, 0, 1}}},
      {"poisson_cdf", {{1, -1}, {-1, qnan}, {qnan, 1}}},
      {"binom_sf", {{1, 2.5, 0.5}, {1, -1, 0.5}, {9, 5, 1.5}, {1, inf, 0.5}, {qnan, 5, 0.5}}},
      {"nbinom_cdf", {{1, 0, 0.5}, {1, 2, 0}, {-1, 2, 2}, {qnan, 2, 0.5}}},
      {"bernoulli_cdf", {{0, 1.5}, {-1, -1}, {2, qnan}, {qnan, 0.5}}},
      {"geom_sf", {{1, 0}, {-1, 1.5}, {qnan, 0.5}}},
      {"poisson_ppf", {{0.5, -1}, {1.5, 1}, {-0.5, 1}, {qnan, 1}, {0.5, qnan}, {0, -1}, {1, inf}}},
      {"binom_ppf", {{0.5, 2.5, 0.5}, {0.5, -1, 0.5}, {0, 5, 1.5}, {1.5, 5, 0.5}, {qnan, 5, 0.5}}},
      {"nbinom_ppf", {{0.5, 0, 0.5}, {0.5, 2, 0}, {1, 2, 2}, {-1, 2, 0.5}, {qnan, 2, 0.5}}},
      {"bernoulli_ppf", {{0.5, 1.5}, {0, -1}, {1.5, 0.5}, {qnan, 0.5}, {0, qnan}}},
      {"geom_ppf", {{0.5, 0}, {0, 1.5}, {-1, 0.5}, {qnan, 0.5}, {-1, 1}, {1.5, 1}, {qnan, 1}}},
      {"norm_kl", {{0, 0, 0, 1}, {0, 1, 0, -1}, {qnan, 1, 0, 1}}},
      {"expon_kl", {{0, 1}, {1, -1}}},
      {"gamma_kl", {{0, 1, 1, 1}, {1, 1, 1, 0}, {1, qnan, 1, 1}, {20, 1, -1, 1}, {1, 1, 0, 1}}},
      {"beta_kl", {{1, 0, 1, 1}, {1, 1, -1, 1}, {-0.5, 1, 1, 1}, {1, 1, 1, -0.5}, {0, 1, 1, 1}, {1, 1, 1, 0}}},
      {"bernoulli_kl", {{1.5, 0.5}, {0.5, -1}, {0.5, 1.5}, {qnan, 0.5}}},
      {"poisson_kl", {{-1, 1}, {1, -1}}},
      {"laplace_kl", {{0, 0, 0, 1}, {0, 1, 0, -1}, {qnan, 1, 0, 1}}},
      {"cauchy_kl", {{0, 0, 0, 1}, {0, 1, 0, -1}, {qnan, 1, 0, 1}}},
      {"gumbel_r_kl", {{0, 0, 0, 1}, {0, 1, 0, -1}, {qnan, 1, 0, 1}}},
      {"weibull_min_kl", {{0, 1, 1, 1}, {1, -1, 1, 1}, {1, 1, 0, 1}, {1, 1, 1, -1}, {1, qnan, 1, 1}}},
      {"uniform_kl",
       {{0, 0, 0, 1}, {0, 1, 0, -1}, {qnan, 1, 0, 1}, {0, 1, qnan, 9}, {-1, 1, 0, -1}, {9, 1, 0, qnan}, {-1, 0, 0, 1}}},
      {"pareto_kl",
       {{0, 1, 1, 1}, {1, -1, 1, 1}, {1, 1, 0, 1}, {1, 1, 1, -1}, {1, qnan, 1, 1}, {0, 1, 1, 2}, {1, 1, -1, 2}}},
      {"lognorm_kl", {{0, 1, 1, 1}, {1, -1, 1, 1}, {1, 1, 0, 1}, {1, 1, 1, -1}, {1, qnan, 1, 1}}},
      {"vonmises_kl", {{-1, 1, 1, 1}, {1, 1, -1, 1}, {1, qnan, 1, 1}}},
      {"chi2_kl", {{0, 1}, {1, -1}, {qnan, 1}}},
      {"geom_kl", {{0, 0.5}, {0.5, 1.5}, {0.5, 0}, {qnan, 0.5}}},
      {"binom_kl", {{2.5, 0.5, 0.5}, {-1, 0.5, 0.5}, {3, 1.5, 0.5}, {3, 0.5, qnan}}},
      {"nbinom_kl", {{0, 0.5, 0.5}, {2.5, 0, 0.5}, {2.5, 0.5, -1}, {qnan, 0.5, 0.5}}},
      {"dirichlet_kl", {{1, 0, 1, 1, 1, 1}, {1, -0.5, 1, 1, 1, 1}, {1, 1, 1, 1, 1, -1}, {1, 1, 1, 1, 1, 0}}},
      {"multivariate_normal_kl",
       {{0, 0, 1, 0, -1, 0, 0, 1, 0, 1}, {0, 0, 1, 0, 1, 0, 0, -1, 0, 1}, {0, 0, 1, 0, 1, 0, 0, 0, 0, 1}}},
  };
  for (const auto& [name, all] : invalid) {
    for (const Doubles& x : all) {
      INFO(name << " of " << x[0] << ", " << x[1]);
      CHECK(std::isnan(value(name, x)));
    }
  }
}

TEST_CASE("divergences: equal distributions, other supports, the second derivative where locs are equal") {
  const std::map<std::string, Doubles> distributions = {
      {"laplace", {0.25, 2}}, {"cauchy", {0.25, 2}}, {"gumbel_r", {0.25, 2}}, {"weibull_min", {1.5, 2}},
      {"uniform", {0.25, 2}}, {"pareto", {1.5, 2}},  {"lognorm", {0.5, 2}},   {"vonmises", {3, 0.25}},
      {"chi2", {2.5}},        {"geom", {0.25}}};
  for (const auto& [distribution, parameters] : distributions) {
    INFO(distribution);
    Doubles both = parameters;
    both.insert(both.end(), parameters.begin(), parameters.end());
    CHECK(std::abs(value(distribution + "_kl", both)) < 1e-15);
  }
  CHECK(value("uniform_kl", {0, 1, 0.5, 9}) == inf);
  CHECK(value("uniform_kl", {0, 1, -9, 9.5}) == inf);
  CHECK(value("pareto_kl", {1, 1, 1, 2}) == inf);
  CHECK(value("geom_kl", {0.5, 1}) == inf);
  CHECK(value("binom_kl", {3, 0, 0.5}) == 3 * value("bernoulli_kl", {0, 0.5}));
  CHECK(value("binom_kl", {3, 0.5, 0}) == inf);
  for (const double p2 : {0.0, 0.25, 1.0})
    check_constant("binom_kl", {0, 0.5, p2}, 0);  // both distributions are all at 0
  CHECK(std::abs(value("vonmises_kl", {0, 1, 0, 2})) == 0);
  const Tensor loc = scalar(1.5);
  GradientTape outer;
  outer.watch(loc);
  Tensor slope;
  {
    GradientTape inner;
    inner.watch(loc);
    slope = inner.gradient(laplace_kl(loc, 2, 1.5, 4), loc).dense();
  }
  CHECK(slope.item() == 0);
  CHECK(outer.gradient(slope, loc).dense().item() == 0.125);
}

TEST_CASE("discrete distributions: x is rounded down; probabilities are constant outside the support") {
  const std::map<std::string, Doubles> distributions = {{"poisson", {0, 1.5}},
                                                        {"binom", {5, 5, 0.25}},
                                                        {"nbinom", {0, 2.5, 0.25}},
                                                        {"bernoulli", {1, 0.25}},
                                                        {"geom", {1, 0.25}}};
  for (const auto& [distribution, given] : distributions) {
    Doubles x = given;
    for (const double low : {-inf, -1., -1e-9}) {
      check_constant(distribution + "_cdf", (x[0] = low, x), 0);
      check_constant(distribution + "_sf", (x[0] = low, x), 1);
      check_constant(distribution + "_logcdf", (x[0] = low, x), -inf);
      check_constant(distribution + "_logsf", (x[0] = low, x), 0);
    }
    check_constant(distribution + "_cdf", (x[0] = inf, x), 1);
    check_constant(distribution + "_sf", (x[0] = inf, x), 0);
    check_constant(distribution + "_logcdf", (x[0] = inf, x), 0);
    check_constant(distribution + "_logsf", (x[0] = inf, x), -inf);
    const bool ends = distribution == "binom" || distribution == "bernoulli";
    if (ends) check_constant(distribution + "_cdf", (x[0] = given[0], x), 1);
    if (ends) check_constant(distribution + "_sf", (x[0] = given[0] + 3.5, x), 0);
    for (const double k : {1., 2., 3.}) {
      if (distribution == "bernoulli") continue;
      INFO(distribution << " " << k);
      CHECK(value(distribution + "_cdf", (x[0] = k, x)) == value(distribution + "_cdf", (x[0] = k + 0.75, x)));
      CHECK(first_order(distribution + "_cdf", x).gradient[0] == 0);
      const double pmf = distribution == "poisson" ? poisson_pmf(k, x[1]).item()
                         : distribution == "binom" ? binom_pmf(k, x[1], x[2]).item()
                         : distribution == "geom"  ? geom_pmf(k, x[1]).item()
                                                   : nbinom_pmf(k, x[1], x[2]).item();
      const double above = value(distribution + "_cdf", (x[0] = k, x)),
                   below = value(distribution + "_cdf", (x[0] = k - 1, x));
      CHECK(std::abs(above - below - pmf) < 1e-15);
      CHECK(std::abs(value(distribution + "_sf", (x[0] = k, x)) + above - 1) < 1e-15);
      CHECK(std::abs(std::exp(value(distribution + "_logcdf", x)) - above) < 1e-15);
      CHECK(std::abs(std::exp(value(distribution + "_logsf", x)) + above - 1) < 1e-15);
    }
  }
}

// d/dp (1 - p)^k = -k (1 - p)^(k - 1) at p = 1, where log(1 - p) has no derivative.
TEST_CASE("discrete distributions: derivatives of tails by a probability of 1 or 0") {
  const auto slope = [](const char* name, double k, double p) { return first_order(name, {k, p}).gradient[1]; };
  CHECK(slope("geom_cdf", 1, 1) == 1);
  CHECK(slope("geom_cdf", 3, 1) == 0);
  CHECK(slope("geom_sf", 1.5, 1) == -1);
  CHECK(slope("geom_logcdf", 1, 1) == 1);
  CHECK(slope("geom_logcdf", 2, 1) == 0);
  CHECK(slope("geom_logsf", 2, 1) == -inf);
  for (const char* name : {"geom_cdf", "geom_sf", "geom_logcdf", "geom_logsf", "bernoulli_logcdf"}) {
    CAPTURE(name);
    CHECK(slope(name, -1, 1) == 0);
  }
  CHECK(slope("bernoulli_logcdf", 1, 1) == 0);
  CHECK(slope("bernoulli_logsf", 1, 0) == 0);
  CHECK(slope("bernoulli_logsf", -1, 0) == 0);
  CHECK(hessian([](const Tensor& p) { return geom_sf(2, p); })(scalar(1.)).item() == 2);
}

TEST_CASE("t_cdf near loc: second derivatives are those of the density; nearly normal for many degrees of freedom") {
  for (const double v : {0.125, 3., 1e6}) {
    for (const double z : {0., 1e-7, -1e-7, 1e-4, 0.0078125, -0.015625, -0.5}) {
      INFO(z << ", df " << v);
      const Tensor x = scalar(z), df = scalar(v);
      GradientTape outer, inner;
      outer.watch(x), inner.watch(x);
      const Tensor slope = inner.gradient(t_cdf(x, df), x).dense();
      const double expected = -t_pdf(z, v).item() * (v + 1) * z / (v + z * z);
      CHECK(std::abs(outer.gradient(slope, x).dense().item() - expected) <= 1e-9 * std::abs(expected));
      if (v == 1e6) CHECK(std::abs(t_cdf(x, 1e12).item() - norm_cdf(x).item()) < 1e-12);
    }
  }
}

TEST_CASE("logarithms of probabilities are differentiated to every order at the ends of the support") {
  const auto first = [](const auto& f, double at) { return slope_at(f, scalar(at))[0]; };
  const auto second = [](const auto& f, double at) {
    return slope_at([&](const Tensor& x) { return gradient_at(f, x); }, scalar(at))[0];
  };
  const auto third = [&](const auto& f, double at) {
    return second([&](const Tensor& x) { return gradient_at(f, x); }, at);
  };
  const auto poisson = [](double k) { return [k](const Tensor& mu) { return poisson_logcdf(k, mu); }; };
  CHECK(first(poisson(0), 0) == -1);  // -mu
  CHECK(second(poisson(0), 0) == 0);
  CHECK(second(poisson(1), 0) == -1);  // log(1 + mu) - mu
  CHECK(third(poisson(2), 0) == -1);   // log(1 + mu + mu^2 / 2) - mu
  CHECK(first(poisson(3), inf) == -1);
  CHECK(second([](const Tensor& p) { return binom_logcdf(0, 5, p); }, 0) == -5);  // 5 log(1 - p)
  CHECK(second([](const Tensor& x) { return gamma_logsf(x, 1); }, 0) == 0);
  CHECK(second([](const Tensor& x) { return gamma_logsf(x, 1.5); }, 0) == -inf);
  CHECK(second([](const Tensor& x) { return beta_logcdf(x, 2, 1); }, 1) == -2);  // 2 log(x)
  CHECK(second([](const Tensor& x) { return beta_logsf(x, 2, 3); }, 0) == -12);  // 3 log(1 - x) + log(1 + 3 x)
}

TEST_CASE("tails and joint densities: quantiles invert distribution functions") {
  for (const double p : {1e-9, 0.25, 0.5, 0.9375}) {
    INFO(p);
    CHECK(std::abs(gamma_cdf(gamma_ppf(p, 2.5, 0.25, 2), 2.5, 0.25, 2).item() - p) < 1e-14);
    CHECK(std::abs(chi2_cdf(chi2_ppf(p, 3, 0.25, 2), 3, 0.25, 2).item() - p) < 1e-14);
    CHECK(std::abs(beta_cdf(beta_ppf(p, 2.5, 1.5, 0.25, 2), 2.5, 1.5, 0.25, 2).item() - p) < 1e-14);
  }
  for (const double p : {1e-300, 1e-9, 0.25, 0.4999999999999, 0.5, 0.9375})
    for (const double df : {0.5, 3., 1e6}) {
      const double z = t_ppf(p, df, 0.25, 2).item();
      INFO(p << " " << df);
      // The probability changes by at most z^2 times the relative error of z.
      if (std::isfinite(z)) CHECK(std::abs(t_cdf(z, df, 0.25, 2).item() / p - 1) < 1e-13 + z * z * 0x1p-52);
    }
  // Near the centre quantiles are p - 1/2 over the density.
  const Tensor df = scalar(3.0), near_half = scalar(0.5 + 0x1p-32);
  const double by_df = grad([&](const Tensor& d) { return t_ppf(near_half, d); })(df).item();
  const double expected = 0.5 / 3 - 0.5 * (digamma(scalar(2.0)) - digamma(scalar(1.5))).item();
  CHECK(by_df == Approx(t_ppf(near_half, df).item() * expected).epsilon(1e-12));
  for (const double z : {-9e3, -2e4, -3e5, -4e8}) {  // y = df / (df + z^2) is small, but 1 - y is not 1
    const double p = t_cdf(z, df).item(), slope = grad([&](const Tensor&d) { return t_ppf(p, d); })(df).item();
    const double expected_slope = -grad([&](const Tensor& d) { return t_cdf(z, d); })(df).item() / t_pdf(z, df).item();
    CHECK(slope == Approx(expected_slope).epsilon(1e-12));
  }
  CHECK(t_ppf(0.0, 3).item() == -inf);
  for (const double p : {1e-31, 1e-150, 1e-160, 1e-300}) {  // the square of the quantile overflows at the last two
    CHECK(t_ppf(p, 1).item() == Approx(cauchy_ppf(p).item()).epsilon(1e-12));
    const double slope = grad([&](const Tensor& d) { return t_ppf(p, d); })(scalar(1.0)).item();
    CHECK(slope == Approx(cauchy_ppf(p).item() * (std::log(6.283185307179586 * p) - 0.5)).epsilon(1e-12));
  }
  CHECK(grad([](const Tensor& d) { return t_ppf(0.0, d); })(df).item() == 0);
  CHECK(t_ppf(1.0, 3).item() == inf);
  CHECK(gamma_ppf(0.0, 2.5, 0.25, 2).item() == 0.25);
  CHECK(gamma_ppf(1.0, 2.5, 0.25, 2).item() == inf);
  CHECK(beta_ppf(1.0, 2.5, 1.5, 0.25, 2).item() == 2.25);
  for (const double bad : {-0.25, 1.5, qnan}) {
    CHECK(std::isnan(gamma_ppf(bad, 2.5).item()));
    CHECK(std::isnan(chi2_ppf(bad, 2.5).item()));
    CHECK(std::isnan(t_ppf(bad, 2.5).item()));
    CHECK(std::isnan(beta_ppf(bad, 2.5, 1).item()));
    CHECK(std::isnan(beta_ppf(0.5, 2.5, 1, 0, -1).item()));
  }
}

// By mpmath.
TEST_CASE("t_ppf: few degrees of freedom, where a probability near 1/2 is far out") {
  const double points[][3] = {{0.05, 0.3, -3119.2191460330314},     {0.03, 0.26, -256642741.76911396},
                              {0.03, 0.3, -2176366.8122488193},     {0.02, 0.35, -3963725.1748989114},
                              {0.02, 0.26, -11293754787316.499},    {0.01, 0.45, -1890.1317414591389},
                              {0.01, 0.26, -1.2601105747461818e+27}};
  for (const auto& [df, p, expected] : points) CHECK(t_ppf(p, df).item() == Approx(expected).epsilon(2e-13));
}

TEST_CASE("t_ppf: second derivatives by many degrees of freedom, and where the square of the quantile overflows") {
  const auto slopes = [](double p, double df) {
    const auto f = [p](const Tensor& d) { return t_ppf(p, d); };
    const Tensor d = scalar(df);
    return std::pair(grad(f)(d).item(), grad(grad(f))(d).item());
  };
  for (const double p : {0.001, 0.3, 0.6, 0.99})
    for (const double df : {1e4, 1e6, 1e8}) {  // the quantile is that of the normal distribution and a / df
      const auto [first, second] = slopes(p, df);
      CHECK(second * df / first == Approx(-2).epsilon(1e-3));
    }
  CHECK(slopes(0.5, 1e6).second == 0);
  const auto [first, second] = slopes(1e-300, 1);
  CHECK(std::isfinite(first));
  CHECK(second == Approx(-1.5174e305).epsilon(1e-4));
}

TEST_CASE("tails and joint densities: divergences of equal distributions are 0, with vanishing gradients nearby") {
  for (const auto& [name, x] :
       std::map<std::string, Doubles>{{"norm_kl", {0.5, 2, 0.5, 2}},
                                      {"expon_kl", {3, 3}},
                                      {"gamma_kl", {1.5, 3, 1.5, 3}},
                                      {"beta_kl", {12, 30, 12, 30}},
                                      {"bernoulli_kl", {0.25, 0.25}},
                                      {"poisson_kl", {7, 7}},
                                      {"dirichlet_kl", {1, 2, 30, 1, 2, 30}},
                                      {"multivariate_normal_kl", {1, 2, 3, 1, 2, 1, 2, 3, 1, 2}}}) {
    INFO(name);
    const FirstOrder f = first_order(name, x);
    CHECK(f.value == 0);
    for (const double g : f.gradient) CHECK(std::abs(g) < 1e-14);
  }
  CHECK(bernoulli_kl(0.0, 0.5).item() == std::log(2));
  CHECK(bernoulli_kl(0.5, 0.0).item() == inf);
  CHECK(bernoulli_kl(1.0, 1.0).item() == 0);
  CHECK(poisson_kl(0.0, 2.0).item() == 2);
  CHECK(poisson_kl(2.0, 0.0).item() == inf);
  // Of factors the lower triangles are read.
  const Tensor mean = tensor({0.5, -1}), lower = tensor({{1, 0}, {0.5, 2}}), full_of_it = tensor({{1, 7}, {0.5, 2}});
  const double expected = multivariate_normal_kl(mean, lower, zeros({2}), eye(2)).item();
  CHECK(multivariate_normal_kl(mean, full_of_it, zeros({2}), eye(2)).item() == expected);
  CHECK(multivariate_normal_kl(mean, eye(2), zeros({2}), full_of_it).item() ==
        multivariate_normal_kl(mean, eye(2), zeros({2}), lower).item());
}

TEST_CASE("tails and joint densities: batches, dtypes and errors") {
  const Tensor mean = from_data(std::vector<double>{0.5, -1, 2}), points = reshape(arange(24.0), {2, 4, 3}) / 8;
  const Tensor factors = stack({eye(3), 2 * eye(3) + tril(ones({3, 3}), -1)});
  const Tensor got = multivariate_normal_logpdf(points, mean, expand_dims(factors, 1));
  CHECK(got.shape() == Shape{2, 4});
  for (const std::int64_t i : {0, 1}) {
    for (const std::int64_t j : {0, 3}) {
      const Tensor one = multivariate_normal_logpdf(points(i, j), mean, factors(i));
      CHECK(std::abs(one.item() - got(i, j).item()) < 1e-14);
    }
  }
  CHECK(std::abs(got(0, 0).item() - sum(norm_logpdf(points(0, 0), mean)).item()) < 1e-14);
  CHECK(multivariate_normal_logpdf(points, 0, factors(0)).shape() == Shape{2, 4});
  CHECK(multivariate_normal_logpdf(zeros({0, 3}), mean, factors(0)).shape() == Shape{0});
  CHECK(multivariate_normal_logpdf(zeros({0}), zeros({0}), zeros({0, 0})).item() == 0);
  CHECK(multivariate_normal_kl(mean, factors, zeros({4, 1, 3}), factors(1)).shape() == Shape{4, 2});
  CHECK(dirichlet_kl(ones({2, 1, 3}), ones({4, 3})).shape() == Shape{2, 4});
  const Tensor thirds = full({5, 3}, 1.0 / 3), ones_of_4 = ones({4, 1, 3});
  CHECK(dirichlet_logpdf(thirds, ones_of_4).shape() == Shape{4, 5});
  CHECK(std::abs(dirichlet_logpdf(thirds, ones_of_4)(0, 0).item() - std::log(2)) < 1e-15);
  for (const DType d : {DType::float16, DType::bfloat16, DType::float32}) {
    const Tensor x = cast(thirds, d);
    CHECK(dirichlet_logpdf(x, 1 + x).dtype() == d);
    CHECK(bool(all(isfinite(dirichlet_logpdf(x, 1 + x)))));
    CHECK(vonmises_logpdf(x, 100).dtype() == d);
    CHECK(t_cdf(x, 3).dtype() == d);
    CHECK(poisson_sf(3, x).dtype() == d);
    CHECK(gamma_kl(x, 1, x, 2).dtype() == d);
  }
  CHECK(t_cdf(arange(3), 2).dtype() == DType::float64);
  CHECK_THROWS_AS(multivariate_normal_logpdf(points, mean, ones({3, 2})), ShapeError);
  CHECK_THROWS_AS(multivariate_normal_logpdf(points, mean, eye(2)), ShapeError);
  CHECK_THROWS_AS(multivariate_normal_logpdf(points, zeros({2}), eye(3)), ShapeError);
  CHECK_THROWS_AS(multivariate_normal_logpdf(points, mean, ones({3, 1, 3, 3})), ShapeError);
  CHECK(bool(all(isnan(multivariate_normal_logpdf(points, mean, zeros({3, 3}))))));
  CHECK_THROWS_AS(multivariate_normal_logpdf(0.5, 0, eye(1)), ShapeError);
  CHECK_THROWS_AS(multivariate_normal_kl(mean, eye(3), zeros({2}), eye(3)), ShapeError);
  CHECK_THROWS_AS(multivariate_normal_kl(0, eye(1), zeros({1}), eye(1)), ShapeError);
  CHECK_THROWS_AS(multivariate_normal_kl(mean, eye(3), mean, ones({2, 3})), ShapeError);
  CHECK_THROWS_AS(multivariate_normal_kl(mean, eye(3), mean, eye(2)), ShapeError);
  CHECK(multivariate_normal_kl(mean, eye(3), mean, factors).shape() == Shape{2});
  CHECK_THROWS_WITH(multivariate_normal_kl(zeros({4, 3}), factors, mean, eye(3)),
                    Catch::StartsWith("multivariate_normal_kl"));
  CHECK_THROWS_WITH(multivariate_normal_logpdf(zeros({4, 3}), mean, factors),
                    Catch::StartsWith("multivariate_normal_logpdf"));
  for (const auto& [one, other] : {std::pair(scalar(1.), ones({2})), {ones({2}), scalar(1.)}, {ones({2}), ones({3})}}) {
    CHECK_THROWS_WITH(dirichlet_logpdf(one, other), Catch::StartsWith("dirichlet_logpdf: x and alpha need"));
    CHECK_THROWS_WITH(dirichlet_kl(one, other), Catch::StartsWith("dirichlet_kl: both need"));
  }
  // The sum of the vector is 1 up to the root of the unit of its dtype: 1/32 of float16, 1/16 of bfloat16.
  const Tensor nearly = tensor({0.5, 0.5469});
  CHECK(dirichlet_logpdf(cast(nearly, DType::float16), ones({2}, DType::float16)).item<double>() == -inf);
  CHECK(dirichlet_logpdf(cast(nearly, DType::bfloat16), ones({2}, DType::bfloat16)).item<double>() == 0);
  CHECK(gamma_ppf(cast(thirds, DType::float16), 2).dtype() == DType::float16);
  CHECK_THROWS_AS(dirichlet_logpdf(thirds, ones({2})), ShapeError);
  CHECK_THROWS_AS(dirichlet_logpdf(1.0, 1.0), ShapeError);
  CHECK_THROWS_AS(dirichlet_kl(zeros({2, 0}), zeros({2, 0})), ShapeError);
  CHECK_THROWS_AS(t_cdf(zeros({2}), zeros({3})), ShapeError);
  CHECK_THROWS_AS(poisson_sf(zeros({2}, DType::complex64), 1), TypeError);
  CHECK_THROWS_AS(vonmises_logpdf(zeros({2}, DType::complex64), 1), TypeError);
}

// The continued fraction of huge parameters converges to rounding noise. Figures from mpmath with 40 digits.
TEST_CASE("tails with huge shape parameters have the stated accuracy") {
  const auto near = [](const Tensor& value, double expected, double error) {
    return std::abs(value.item() / expected - 1) <= error;
  };
  CHECK(near(t_sf(2.0, 1e11), 0.02275013194952898, 1e-8));
  CHECK(near(t_sf(4.0, 1e12), 3.167124183539503e-05, 1e-8));
  CHECK(near(t_sf(6.0, 1e10), 9.865876787588485e-10, 1e-10));
  CHECK(near(exp(t_logsf(4.0, 1e12)), 3.167124183539503e-05, 1e-8));
  CHECK(near(betainc(1e11, 0.5, 1 - 2e-11), 0.04550025496108427, 1e-8));
  CHECK(near(binom_cdf(0, 1e12, 4e-12), 0.018315638888587585, 1e-7));
  const Tensor slope = grad([](const Tensor& df) { return t_logsf(4.0, df); })(scalar(1e12));
  CHECK(std::abs(slope.item()) < 1e-19);
}

// Distributions share incomplete gamma and beta functions.
TEST_CASE("functions of distributions are recorded and fail under the name of their distribution") {
  const std::vector<std::pair<const char*, std::function<Tensor(const Tensor&)>>> distributions = {
      {"gamma_logcdf", [](const Tensor& x) { return gamma_logcdf(2, x); }},
      {"gamma_logsf", [](const Tensor& x) { return gamma_logsf(2, x); }},
      {"chi2_logcdf", [](const Tensor& x) { return chi2_logcdf(2, x); }},
      {"chi2_logsf", [](const Tensor& x) { return chi2_logsf(2, x); }},
      {"poisson_logcdf", [](const Tensor& x) { return poisson_logcdf(2, x); }},
      {"poisson_logsf", [](const Tensor& x) { return poisson_logsf(2, x); }},
      {"beta_logcdf", [](const Tensor& x) { return beta_logcdf(0.25, x, 2); }},
      {"beta_logsf", [](const Tensor& x) { return beta_logsf(0.25, x, 2); }},
      {"t_logcdf", [](const Tensor& x) { return t_logcdf(2, x); }},
      {"t_logsf", [](const Tensor& x) { return t_logsf(2, x); }},
      {"binom_logcdf", [](const Tensor& x) { return binom_logcdf(2, 5, x); }},
      {"binom_logsf", [](const Tensor& x) { return binom_logsf(2, 5, x); }},
      {"nbinom_logcdf", [](const Tensor& x) { return nbinom_logcdf(2, 3, x); }},
      {"nbinom_logsf", [](const Tensor& x) { return nbinom_logsf(2, 3, x); }},
      {"vonmises_cdf", [](const Tensor& x) { return vonmises_cdf(0.25, x); }},
      {"vonmises_sf", [](const Tensor& x) { return vonmises_sf(0.25, x); }},
      {"vonmises_logcdf", [](const Tensor& x) { return vonmises_logcdf(0.25, x); }},
      {"vonmises_logsf", [](const Tensor& x) { return vonmises_logsf(0.25, x); }}};
  const Tensor x = scalar(0.5);
  for (const auto& [name, f] : distributions) {
    GradientTape tape({.persistent = true}), outer;
    tape.watch(x);
    outer.watch(x);
    const Tensor slope = *tape.gradient(f(x), x);
    const std::string text = tape.to_dot() + outer.to_dot();  // the derivative too
    for (const auto& other : distributions) {
      INFO(name << " as " << other.first);
      const std::size_t place = text.find(other.first);  // binom_logsf is a part of nbinom_logsf
      CHECK((place != std::string::npos && text[place - 1] != 'n') == (name == std::string_view(other.first)));
    }
  }
  const AnomalyGuard guard;
  CHECK_THROWS_WITH(poisson_logsf(3, 0.0), Catch::StartsWith("poisson_logsf: its result is not finite"));
  CHECK_THROWS_WITH(chi2_logcdf(0.0, 2), Catch::StartsWith("chi2_logcdf: its result is not finite"));
}
