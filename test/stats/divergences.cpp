// Divergences of two families, <reel/stats/divergences.hpp>: values and gradients by quadrature of the densities,
// supports that do not contain one another, parameters out of range, dtypes. tails_and_joint_densities.cpp compares
// digits, and the op table derivatives of every mode.
#include <cmath>
#include <functional>
#include <map>
#include <reel/reel.hpp>
#include <reel/solve/integrate.hpp>
#include <reel/stats.hpp>
#include <span>
#include <string>

#include "catch.hpp"
#include "support/numbers.hpp"

using namespace reel;
using namespace support;

namespace {

using Scalars = std::span<const Tensor>;

// A family: how many parameters, and the logarithm of the density at x.
struct Family {
  std::size_t parameters;
  std::function<Tensor(const Tensor& x, Scalars p)> logpdf;
};
const std::map<std::string, Family> families = {
    {"beta", {2, [](const Tensor& x, Scalars p) { return beta_logpdf(x, p[0], p[1]); }}},
    {"expon", {1, [](const Tensor& x, Scalars p) { return expon_logpdf(x, 0, p[0]); }}},
    {"gamma", {2, [](const Tensor& x, Scalars p) { return gamma_logpdf(x, p[0], 0, p[1]); }}},
    {"gumbel_r", {2, [](const Tensor& x, Scalars p) { return gumbel_r_logpdf(x, p[0], p[1]); }}},
    {"laplace", {2, [](const Tensor& x, Scalars p) { return laplace_logpdf(x, p[0], p[1]); }}},
    {"norm", {2, [](const Tensor& x, Scalars p) { return norm_logpdf(x, p[0], p[1]); }}},
    {"pareto", {2, [](const Tensor& x, Scalars p) { return pareto_logpdf(x, p[0], 0, p[1]); }}},
    {"uniform", {2, [](const Tensor& x, Scalars p) { return uniform_logpdf(x, p[0], p[1]); }}},
};

struct Pair {
  const char *first, *second;
  std::function<Tensor(Scalars)> divergence;
  std::vector<Doubles> parameters;
  // Where the second distribution has values that the first has not, or no mean: inf.
  std::vector<Doubles> infinite = {};
};
// clang-format off
#define THREE(name) [](Scalars x) { return name(x[0], x[1], x[2]); }
#define FOUR(name) [](Scalars x) { return name(x[0], x[1], x[2], x[3]); }
const Pair pairs[] = {
    {"beta", "expon", THREE(beta_expon_kl), {{1.5, 2.5, 0.75}, {30, 20, 0.25}}},
    {"beta", "gamma", FOUR(beta_gamma_kl), {{1.5, 2.5, 3.25, 0.75}, {30, 20, 40, 0.25}}},
    {"beta", "norm", FOUR(beta_norm_kl), {{1.5, 2.5, -0.25, 0.75}, {30, 20, 0.5, 0.25}}},
    {"beta", "uniform", FOUR(beta_uniform_kl), {{1.5, 2.5, -0.25, 1.75}, {30, 20, -3, 4.5}}, {{1.5, 2.5, 0.25, 1.75}, {1.5, 2.5, -0.25, 0.75}}},
    {"expon", "gamma", THREE(expon_gamma_kl), {{1.5, 3.25, 0.75}, {0.25, 2.25, 2}}},
    {"expon", "gumbel_r", THREE(expon_gumbel_r_kl), {{1.5, 0.25, 0.75}, {0.25, -1, 2}}},
    {"expon", "norm", THREE(expon_norm_kl), {{1.5, 0.25, 0.75}, {0.25, -1, 2}}},
    {"gamma", "expon", THREE(gamma_expon_kl), {{1.5, 3.25, 0.75}, {30, 0.25, 2}}},
    {"gamma", "gumbel_r", FOUR(gamma_gumbel_r_kl), {{1.5, 3.25, 0.25, 2.75}, {30, 0.25, 7, 2}}},
    {"gamma", "norm", FOUR(gamma_norm_kl), {{1.5, 3.25, 0.25, 0.75}, {30, 0.25, 7, 2}, {9.5, 1, 9, 3}, {10.5, 1, 10, 3}}},
    {"gumbel_r", "norm", FOUR(gumbel_r_norm_kl), {{0.25, 1.5, 2, 0.75}, {-1, 0.25, 1, 4}}},
    {"laplace", "norm", FOUR(laplace_norm_kl), {{0.25, 1.5, 2, 0.75}, {-1, 0.25, 1, 4}}},
    {"norm", "gumbel_r", FOUR(norm_gumbel_r_kl), {{0.25, 1.5, 2, 1.75}, {-1, 0.25, 1, 4}}},
    {"norm", "laplace", FOUR(norm_laplace_kl), {{0.25, 1.5, 2, 0.75}, {-1, 0.25, 1, 4}}},
    {"pareto", "expon", THREE(pareto_expon_kl), {{3.5, 2, 0.75}, {20, 0.25, 2}}, {{1, 2, 0.75}, {0.25, 2, 0.75}}},
    {"pareto", "gamma", FOUR(pareto_gamma_kl), {{3.5, 2, 3.25, 0.75}, {20, 0.25, 12, 2}}, {{1, 2, 3.25, 0.75}, {0.25, 2, 3.25, 0.75}}},
    {"pareto", "norm", FOUR(pareto_norm_kl), {{4.5, 2, 3.25, 0.75}, {20, 0.25, 1, 2}}, {{2, 2, 3.25, 0.75}, {0.25, 2, 3.25, 0.75}, {1, 2, 3.25, 0.75}}},
    {"uniform", "beta", FOUR(uniform_beta_kl), {{0.25, 0.5, 1.5, 2.5}, {0.125, 0.0625, 30, 20}}, {{-0.25, 0.5, 1.5, 2.5}, {0.75, 0.5, 1.5, 2.5}}},
    {"uniform", "expon", THREE(uniform_expon_kl), {{0.25, 1.5, 0.75}, {12, 0.25, 4}}, {{-0.25, 1.5, 0.75}}},
    {"uniform", "gamma", FOUR(uniform_gamma_kl), {{0.25, 1.5, 3.25, 0.75}, {12, 0.25, 30, 0.5}}, {{-0.25, 1.5, 3.25, 0.75}}},
    {"uniform", "gumbel_r", FOUR(uniform_gumbel_r_kl), {{0.25, 1.5, 3.25, 0.75}, {12, 0.25, 30, 4}}},
    {"uniform", "norm", FOUR(uniform_norm_kl), {{0.25, 1.5, 3.25, 0.75}, {12, 0.25, 30, 4}}},
    {"uniform", "pareto", FOUR(uniform_pareto_kl), {{0.875, 1.5, 3.25, 0.75}, {12, 0.25, 30, 4}}, {{0.25, 1.5, 3.25, 0.75}}},
};
// clang-format on

std::string name_of(const Pair& pair) { return std::string(pair.first) + "_" + pair.second + "_kl"; }

// The integral of p (log(p) - log(q)), over variables t for which x depends smoothly on the parameters.
Tensor by_quadrature(const Pair& pair, Scalars x) {
  const std::string first = pair.first;
  const Family &p = families.at(first), &q = families.at(pair.second);
  const Scalars own = x.first(p.parameters), other = x.subspan(p.parameters);
  const auto point = [&](const Tensor& t) {
    return first == "uniform" ? own[0] + own[1] * t : first == "pareto" ? own[1] * exp(t) : t;
  };
  const auto integrand = [&](const Tensor& everywhere) {
    const Tensor negligible = less(stop_gradient(p.logpdf(point(everywhere), own)), -700);
    const Tensor t = where(negligible, 0.5, everywhere), at = point(t), log_p = p.logpdf(at, own);
    const Tensor slope = first == "uniform" ? own[1] + 0 * t : first == "pareto" ? at : ones_like(t);
    return where(negligible, 0, slope * exp(log_p) * (log_p - q.logpdf(at, other)));
  };
  const bool whole = first == "norm" || first == "gumbel_r" || first == "laplace";
  Doubles ends = {whole ? -inf : 0, first == "uniform" || first == "beta" ? 1 : inf};
  if (first == "laplace") ends.insert(ends.begin() + 1, own[0].item());
  if (pair.second == std::string("laplace")) ends.insert(ends.begin() + 1, other[0].item());
  Tensor sum = zeros({});
  for (std::size_t k = 0; k + 1 < ends.size(); ++k)
    sum = sum + quad(integrand, ends[k], ends[k + 1], {.tolerance = 1e-11, .absolute_tolerance = 1e-11});
  return sum;
}

struct Slopes {
  double value;
  Doubles gradient;
};
Slopes slopes(const Doubles& parameters, const std::function<Tensor(Scalars)>& f) {
  std::vector<Tensor> x;
  for (const double v : parameters) x.push_back(scalar(v));
  GradientTape tape;
  for (const Tensor& t : x) tape.watch(t);
  const Tensor y = f(x);
  Slopes s{y.item(), {}};
  for (const Gradient& g : tape.gradient(y, x)) s.gradient.push_back(g ? number(g) : 0);
  return s;
}

}  // namespace

TEST_CASE("divergences of two families: values and gradients by quadrature") {
  for (const Pair& pair : pairs)
    for (const Doubles& x : pair.parameters) {
      INFO(name_of(pair) << " at " << x[0] << ", " << x[1] << ", " << x[2]);
      const Slopes got = slopes(x, pair.divergence);
      const Slopes expected = slopes(x, [&](Scalars s) { return by_quadrature(pair, s); });
      CHECK(got.value > 0);
      CHECK(std::abs(got.value - expected.value) < 1e-9 * (1 + got.value));
      for (std::size_t k = 0; k < x.size(); ++k) {
        INFO("gradient of operand " << k << ": " << got.gradient[k] << ", by quadrature " << expected.gradient[k]);
        CHECK(std::abs(got.gradient[k] - expected.gradient[k]) < 1e-7 * (1 + std::abs(got.gradient[k])));
      }
    }
  // Sums over both values.
  for (const double p : {0.25, 0.75})
    for (const double mu : {0.125, 2.0}) {
      double sum = 0;
      for (const double k : {0.0, 1.0})
        sum += bernoulli_pmf(k, p).item() * (bernoulli_logpmf(k, p) - poisson_logpmf(k, mu)).item();
      CHECK(std::abs(bernoulli_poisson_kl(p, mu).item() - sum) < 1e-15);
    }
}

TEST_CASE("divergences of two families: infinite beyond the other support, NaN for parameters out of range") {
  for (const Pair& pair : pairs) {
    INFO(name_of(pair));
    for (const Doubles& x : pair.infinite) {
      INFO("at " << x[0] << ", " << x[1] << ", " << x[2]);
      const Slopes s = slopes(x, pair.divergence);
      CHECK(s.value == inf);
      for (const double g : s.gradient) CHECK(g == 0);
    }
    std::vector<Doubles> points = pair.infinite;
    points.push_back(pair.parameters[0]);
    const auto is_loc = [&](std::size_t k) {
      const std::size_t of_first = families.at(pair.first).parameters;
      const std::string distribution = k < of_first ? pair.first : pair.second;
      const bool with_loc = distribution == "norm" || distribution == "gumbel_r" || distribution == "laplace" ||
                            distribution == "uniform";
      return with_loc && (k == 0 || k == of_first);
    };
    for (const Doubles& point : points)
      for (std::size_t k = 0; k < point.size(); ++k)
        for (const double bad : {qnan, 0.0, -1.0}) {
          if (is_loc(k) && !std::isnan(bad)) continue;
          Doubles x = point;
          x[k] = bad;
          INFO("operand " << k << " of " << x.size() << " is " << bad << ", beside " << point[0]);
          CHECK(std::isnan(slopes(x, pair.divergence).value));
        }
  }
  for (const double bad : {-0.25, 1.25, qnan}) CHECK(std::isnan(bernoulli_poisson_kl(bad, 1).item()));
  for (const double bad : {-0.25, qnan}) CHECK(std::isnan(bernoulli_poisson_kl(0.5, bad).item()));
}

TEST_CASE("divergences of two families: equal distributions, ends of supports, dtypes") {
  CHECK(bernoulli_poisson_kl(0.0, 0.0).item() == 0);
  CHECK(bernoulli_poisson_kl(0.5, 0.0).item() == inf);
  CHECK(bernoulli_poisson_kl(1.0, 1.0).item() == 1);
  // Uniform and exponential distributions as cases of others.
  CHECK(beta_uniform_kl(1, 1, 0, 1).item() == 0);
  CHECK(uniform_beta_kl(0, 1, 1, 1).item() == 0);
  CHECK(gamma_expon_kl(1, 3, 3).item() == 0);
  CHECK(expon_gamma_kl(3, 1, 3).item() == 0);
  CHECK(std::abs(uniform_beta_kl(0, 1, 2.5, 1.5).item() - beta_kl(1, 1, 2.5, 1.5).item()) < 1e-15);
  CHECK(std::abs(uniform_expon_kl(0, 2, 1).item() - (1 - std::log(2))) < 1e-15);
  CHECK(std::abs(uniform_gamma_kl(0, 2, 1, 1).item() - uniform_expon_kl(0, 2, 1).item()) < 1e-15);
  CHECK(std::abs(uniform_pareto_kl(1, 1, 1, 1).item() - (4 * std::log(2) - 2)) < 1e-15);
  // Far apart.
  CHECK(norm_laplace_kl(1e200, 1, 0, 1e199).item() ==
        Approx(10 + std::log(2e199) - (1 + std::log(8 * std::atan(1))) / 2));
  CHECK(gamma_norm_kl(1e12, 1e-6, 1e6, 1).item() == Approx(1 / 3e12).epsilon(1e-3));
  for (const DType d : {DType::float16, DType::bfloat16, DType::float32, DType::float64}) {
    const Tensor x = cast(tensor({0.5, 1.5}), d);
    CHECK(gamma_norm_kl(x, x, 0, x).dtype() == d);
    CHECK(uniform_pareto_kl(x + 2, 1, x, 1).dtype() == d);
  }
  CHECK(gumbel_r_norm_kl(ones({2, 1}), 1, 0, ones({3})).shape() == Shape{2, 3});
  CHECK_THROWS_AS(norm_laplace_kl(zeros({2}), 1, zeros({3}), 1), ShapeError);
  CHECK_THROWS_AS(norm_laplace_kl(ones({2}, DType::complex128), 1, 0, 1), TypeError);
}

TEST_CASE(
    "divergences of beta and Dirichlet distributions: float32 values and gradients are those of float64, rounded") {
  using Function = std::function<Tensor(Scalars)>;
  const std::pair<const char*, Function> functions[] = {
      {"beta_kl", [](Scalars x) { return beta_kl(x[0], x[1], x[2], 0.5); }},
      {"beta_gamma_kl", [](Scalars x) { return beta_gamma_kl(x[0], x[1], x[2], 2); }},
      {"beta_expon_kl", [](Scalars x) { return beta_expon_kl(x[0], x[1], x[2]); }},
      {"beta_norm_kl", [](Scalars x) { return beta_norm_kl(x[0], x[1], 0.25, x[2]); }},
      {"beta_uniform_kl", [](Scalars x) { return beta_uniform_kl(x[0], x[1], -0.5, x[2] + 2); }},
      {"uniform_beta_kl", [](Scalars x) { return uniform_beta_kl(0.984375, 0.0078125, x[0], x[1]) + x[2]; }},
      {"dirichlet_kl",
       [](Scalars x) {
         return dirichlet_kl(stack({x[0], x[1], x[2]}), stack({x[0] * 0 + 2, x[1] * 0 + 0.5, x[2] * 0 + 9.5}));
       }},
  };
  const double shapes[] = {0.03125, 3, 9.5, 1000, 131072};
  for (const auto& function : functions)
    for (const double a : shapes)
      for (const double b : shapes)
        for (const double c : shapes) {
          INFO(function.first << " at " << a << ", " << b << ", " << c);
          const auto at = [&](DType d) {
            std::vector<Tensor> x;
            for (const double v : {a, b, c}) x.push_back(full({}, v, d));
            GradientTape tape;
            tape.watch(x);
            const Tensor y = function.second(x);
            CHECK(y.dtype() == d);
            Doubles all = {cast(y, DType::float64).item()};
            for (const Gradient& g : tape.gradient(y, x)) all.push_back(cast(g.dense(), DType::float64).item());
            return all;
          };
          const Doubles narrow = at(DType::float32), wide = at(DType::float64);
          for (std::size_t k = 0; k < wide.size(); ++k)
            CHECK(std::abs(narrow[k] - wide[k]) <= 0x1p-23 * (std::abs(wide[k]) + std::abs(c) * (k == 0)));
        }
}

TEST_CASE("divergences of a beta and a uniform distribution: an end that the dtype of operands rounds to 1 is 1") {
  const auto narrow = [](double x) { return full({}, x, DType::float32); };
  const auto value = [](const Tensor& x) { return cast(x, DType::float64).item(); };
  const Tensor a = narrow(1.5);
  // The sums of 0.6 and 0.4, and of -0.4 and 1.4, rounded to float32 each, are 1 + 2^-25 and 1 - 2^-25.
  CHECK(value(uniform_beta_kl(narrow(0.6), narrow(0.4), a, a)) ==
        Approx(uniform_beta_kl(0.6, 0.4, 1.5, 1.5).item()).epsilon(1e-6));
  CHECK(value(beta_uniform_kl(a, a, narrow(-0.4), narrow(1.4))) ==
        Approx(beta_uniform_kl(1.5, 1.5, -0.5, 1.5).item() + std::log(1.4 / 1.5)).epsilon(1e-6));
  CHECK(value(uniform_beta_kl(narrow(0.6), narrow(0.4 + 0x1p-22), a, a)) == inf);
  CHECK(value(beta_uniform_kl(a, a, narrow(-0.4), narrow(1.4 - 0x1p-22))) == inf);
}
