// Distributions of <reel/stats.hpp>: values, gradients and Hessians in all digits, what lies outside the support, ends
// of it and of quantiles, dtypes, errors, entries on tapes. Values and derivatives in every shape and layout are
// checked by the op table.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numbers>
#include <reel/reel.hpp>
#include <reel/stats.hpp>
#include <string>

#include "catch.hpp"
#include "distribution_values.hpp"
#include "support/derivatives.hpp"
#include "support/numbers.hpp"

using namespace reel;
using namespace support;

namespace {

using Tensors = support::Tensors;
using Call = std::function<Tensor(const Tensors&)>;

// clang-format off
#define DISTRIBUTION_0(name) {#name, [](const Tensors& x) { return name(x[0], x[1], x[2]); }}
#define DISTRIBUTION_1(name) {#name, [](const Tensors& x) { return name(x[0], x[1], x[2], x[3]); }}
#define DISTRIBUTION(distribution, shapes) DISTRIBUTION_##shapes(distribution##_logpdf), DISTRIBUTION_##shapes(distribution##_pdf), DISTRIBUTION_##shapes(distribution##_cdf), DISTRIBUTION_##shapes(distribution##_logcdf), DISTRIBUTION_##shapes(distribution##_sf), DISTRIBUTION_##shapes(distribution##_logsf), DISTRIBUTION_##shapes(distribution##_ppf)
const std::map<std::string, Call> functions = {
    DISTRIBUTION(norm, 0), DISTRIBUTION(expon, 0), DISTRIBUTION(laplace, 0), DISTRIBUTION(logistic, 0), DISTRIBUTION(cauchy, 0), DISTRIBUTION(gumbel_r, 0), DISTRIBUTION(uniform, 0),
    DISTRIBUTION(pareto, 1), DISTRIBUTION(lognorm, 1), DISTRIBUTION(weibull_min, 1),
#define ALL_OF(n, name) {#name, [](const Tensors& x) { return name ARGUMENTS_##n; }}
#define ARGUMENTS_2 (x[0], x[1])
#define ARGUMENTS_3 (x[0], x[1], x[2])
#define ARGUMENTS_4 (x[0], x[1], x[2], x[3])
#define ARGUMENTS_5 (x[0], x[1], x[2], x[3], x[4])
    ALL_OF(4, gamma_logpdf), ALL_OF(4, gamma_pdf), ALL_OF(4, chi2_logpdf), ALL_OF(4, chi2_pdf), ALL_OF(5, beta_logpdf),
    ALL_OF(5, beta_pdf), ALL_OF(4, t_logpdf), ALL_OF(4, t_pdf), ALL_OF(2, poisson_logpmf), ALL_OF(2, poisson_pmf),
    ALL_OF(3, binom_logpmf), ALL_OF(3, binom_pmf), ALL_OF(3, nbinom_logpmf), ALL_OF(3, nbinom_pmf),
    ALL_OF(2, bernoulli_logpmf), ALL_OF(2, bernoulli_pmf), ALL_OF(2, geom_logpmf), ALL_OF(2, geom_pmf)};
// clang-format on
const std::map<std::string, int> shape_parameters = {{"pareto", 1}, {"lognorm", 1}, {"weibull_min", 1}};

Tensors numbers(const Doubles& x, DType dtype = DType::float64) {
  Tensors all;
  for (double v : x) all.push_back(cast(scalar(v), dtype));
  return all;
}
struct Derivatives {
  double value;
  Doubles gradient, hessian;
};
double item_or_0(const Gradient& g) { return g ? g.dense().item() : 0; }
Derivatives derivatives(const Call& f, const Doubles& x) {
  const Tensors operands = numbers(x);
  GradientTape outer({.persistent = true}), inner;
  for (const Tensor& t : operands) outer.watch(t), inner.watch(t);
  const Tensor y = f(operands);
  Derivatives d{y.item(), {}, {}};
  Tensors first;
  for (const Gradient& g : inner.gradient(y, operands)) {
    first.push_back(g ? g.dense() : scalar(0.0));
    d.gradient.push_back(item_or_0(g));
  }
  for (std::size_t k = 0; k < x.size(); ++k) {
    const auto row = outer.gradient(first[k], operands);
    for (std::size_t j = k; j < x.size(); ++j) d.hessian.push_back(item_or_0(row[j]));
  }
  return d;
}

// The sum of |operand times derivative|: the change of the value for relative changes of the operands.
struct Conditions {
  double value = 0;
  Doubles gradient;
};
Conditions conditions(const DistributionValue& row) {
  Conditions c;
  const std::size_t n = row.operands.size();
  c.gradient.assign(n, 0);
  std::size_t at = 0;
  for (std::size_t k = 0; k < n; ++k) {
    if (!std::isnan(row.gradient[k])) c.value += std::abs(row.operands[k] * row.gradient[k]);
    for (std::size_t j = k; j < n; ++j, ++at) {
      if (std::isnan(row.hessian[at])) continue;
      c.gradient[k] += std::abs(row.operands[j] * row.hessian[at]);
      if (j != k) c.gradient[j] += std::abs(row.operands[k] * row.hessian[at]);
    }
  }
  return c;
}
// Of the second derivatives by operand k and by operand j.
double geometric_mean(const DistributionValue& row, std::size_t k, std::size_t j) {
  const auto diagonal = [&](std::size_t i) {
    const std::size_t n = row.operands.size();
    return std::sqrt(std::abs(row.hessian[i * n - i * (i + 1) / 2 + i]));
  };
  return diagonal(k) * diagonal(j);
}
// Densities with parameters below 10 are sums of terms up to 9 log(9), 20: an error of their logarithm, and a relative
// one of themselves.
double largest_term(const DistributionValue& row) {
  const std::string name = row.function;
  const std::size_t first = name.ends_with("pmf") ? 0 : 1;
  for (const char* distribution : {"gamma", "chi2", "beta_", "poisson", "binom", "nbinom"})
    if (name.starts_with(distribution) && std::abs(row.operands[first]) < 10)
      return name.find("_log") == std::string::npos ? 20 * std::abs(row.value) : 20;
  return 0;
}
void check_close(double got, double expected, double tolerance) {
  INFO(got << ", not " << expected);
  if (std::isnan(expected))  // a number below 1e-300
    CHECK(std::abs(got) < 1e-300);
  else
    CHECK(std::abs(got - expected) <= tolerance + 1e-300);
}

}  // namespace

TEST_CASE("distributions: values, gradients and Hessians agree with references in all digits") {
  constexpr double unit = 0x1p-52;
  for (const DistributionValue& row : distribution_values) {
    std::string text = row.function;
    for (double v : row.operands) text += " " + std::to_string(v);
    INFO(text);
    const Derivatives got = derivatives(functions.at(row.function), row.operands);
    const Conditions condition = conditions(row);
    check_close(got.value, row.value, 4 * unit * (std::abs(row.value) + condition.value + largest_term(row)));
    // Where a derivative passes through 0 its error is one of the size of those by loc and scale.
    double others = 0;
    for (const double g : {row.gradient[row.gradient.size() - 2], row.gradient.back()})
      if (!std::isnan(g)) others = std::max(others, std::abs(g));
    std::size_t at = 0;
    for (std::size_t k = 0; k < row.gradient.size(); ++k) {
      INFO("gradient of operand " << k);
      check_close(got.gradient[k], row.gradient[k],
                  8 * unit * (std::abs(row.gradient[k]) + condition.gradient[k] + others));
      for (std::size_t j = k; j < row.gradient.size(); ++j, ++at) {
        INFO("and of operand " << j);
        check_close(got.hessian[at], row.hessian[at],
                    1e-12 * std::abs(row.hessian[at]) + 64 * unit * (geometric_mean(row, k, j) + others));
      }
    }
  }
}

namespace {

struct Ends {
  const char* distribution;
  Doubles inside;  // an operand inside the support, and the parameters
  double lower, upper;
};
const std::vector<Ends> all_ends = {
    {"norm", {0.5, 0.25, 2}, -inf, inf},         {"expon", {0.5, 0.25, 2}, 0.25, inf},
    {"laplace", {0.5, 0.25, 2}, -inf, inf},      {"logistic", {0.5, 0.25, 2}, -inf, inf},
    {"cauchy", {0.5, 0.25, 2}, -inf, inf},       {"gumbel_r", {0.5, 0.25, 2}, -inf, inf},
    {"uniform", {0.5, 0.25, 2}, 0.25, 2.25},     {"pareto", {3, 1.5, 0.25, 2}, 2.25, inf},
    {"lognorm", {0.5, 1.5, 0.25, 2}, 0.25, inf}, {"weibull_min", {0.5, 1.5, 0.25, 2}, 0.25, inf},
};
constexpr const char* kinds[] = {"logpdf", "pdf", "cdf", "logcdf", "sf", "logsf"};
constexpr double below_support[] = {-inf, 0, 0, -inf, 1, 0}, above_support[] = {-inf, 0, 1, 0, 0, -inf};

void check_constant(const std::string& name, const Doubles& x, double expected) {
  INFO(name << " at " << x[0]);
  const Derivatives d = derivatives(functions.at(name), x);
  CHECK(d.value == expected);
  for (const double g : d.gradient) CHECK(g == 0);
  for (const double h : d.hessian) CHECK(h == 0);
}

}  // namespace

TEST_CASE("distributions: constant with gradient 0 outside the support and at infinity") {
  for (const Ends& e : all_ends) {
    for (std::size_t k = 0; k < std::size(kinds); ++k) {
      const std::string name = std::string(e.distribution) + "_" + kinds[k];
      Doubles x = e.inside;
      for (const double low : {-inf, e.lower - 1, e.lower - 1e6})
        check_constant(name, (x[0] = low, x), below_support[k]);
      for (const double high : {inf, e.upper + 1, e.upper + 1e6})
        check_constant(name, (x[0] = high, x), above_support[k]);
    }
  }
}

TEST_CASE("distributions: NaN operands, invalid scales and shapes, and probabilities above 1 give NaN") {
  for (const Ends& e : all_ends) {
    for (const char* kind : {"logpdf", "pdf", "cdf", "logcdf", "sf", "logsf", "ppf"}) {
      const std::string name = std::string(e.distribution) + "_" + kind;
      const Call& f = functions.at(name);
      const auto at = [&](std::size_t k, double v) {
        INFO(name << ", operand " << k << " is " << v);
        Doubles x = e.inside;
        if (std::string(kind) == "ppf") x[0] = 0.5;
        CHECK(std::isfinite(f(numbers(x)).item()));
        x[k] = v;
        CHECK(std::isnan(f(numbers(x)).item()));
        x[0] = std::string(kind) == "ppf" ? 1 : inf;  // nor do constants outside hide it
        if (k > 0) CHECK(std::isnan(f(numbers(x)).item()));
      };
      for (std::size_t k = 0; k < e.inside.size(); ++k) at(k, qnan);
      for (const double v : {0., -1., -inf}) {
        at(e.inside.size() - 1, v);
        if (e.inside.size() == 4) at(1, v);
      }
      if (std::string(kind) == "ppf")
        for (const double p : {-0x1p-1074, 1.25, inf, -inf}) at(0, p);
    }
  }
}

TEST_CASE("distributions: at the ends of the support, and quantiles of 0 and 1") {
  for (const Ends& e : all_ends) {
    INFO(e.distribution);
    const auto value = [&](const char* kind, double at) {
      Doubles x = e.inside;
      x[0] = at;
      return functions.at(std::string(e.distribution) + "_" + kind)(numbers(x)).item();
    };
    CHECK(value("ppf", 0) == e.lower);
    CHECK(value("ppf", -0.0) == e.lower);
    CHECK(value("ppf", 1) == e.upper);
    CHECK(value("cdf", e.lower) == 0);
    CHECK(value("sf", e.lower) == 1);
    CHECK(value("logcdf", e.lower) == -inf);
    CHECK(value("logsf", e.lower) == 0);
    CHECK(value("cdf", e.upper) == 1);
    CHECK(value("sf", e.upper) == 0);
    CHECK(value("logcdf", e.upper) == 0);
    CHECK(value("logsf", e.upper) == -inf);
  }
  CHECK(expon_pdf(0.0).item() == 1);
  CHECK(uniform_pdf(0.0).item() == 1);
  CHECK(uniform_pdf(1.0).item() == 1);
  CHECK(pareto_pdf(1.0, 2.5).item() == 2.5);
  CHECK(lognorm_logpdf(0.0, 1.0).item() == -inf);
  CHECK(weibull_min_pdf(0.0, 0.5).item() == inf);
  CHECK(weibull_min_pdf(0.0, 1.0).item() == 1);
  CHECK(weibull_min_pdf(0.0, 2.0).item() == 0);
  CHECK(weibull_min_logpdf(0.0, 1.0).item() == 0);
  // Quantiles increase.
  for (const auto ppf : {+[](const Tensor& p) { return norm_ppf(p); }, +[](const Tensor& p) { return laplace_ppf(p); },
                         +[](const Tensor& p) { return logistic_ppf(p); }})
    CHECK(grad(ppf)(scalar(-0.0)).item() == inf);
  CHECK(grad([](const Tensor& p) { return gumbel_r_ppf(p); })(scalar(1.0)).item() == inf);
  // Beyond what exp(-exp(-z)) and exp(-z^c) hold.
  CHECK(gumbel_r_cdf(-800.0).item() == 0);
  CHECK(gumbel_r_logsf(800.0).item() == -800);
  check_constant("gumbel_r_pdf", {-800, 0, 1}, 0);
  check_constant("gumbel_r_sf", {-800, 0, 1}, 1);
  check_constant("weibull_min_pdf", {1e200, 3, 0, 1}, 0);
  check_constant("weibull_min_logcdf", {1e200, 3, 0, 1}, 0);
  CHECK(weibull_min_logcdf(1e-200, 2.0).item() == 2 * std::log(1e-200));
  CHECK(std::abs(cauchy_logpdf(1e200).item() + std::log(std::numbers::pi) + 2 * std::log(1e200)) < 1e-12);
}

// log(z) has the mixed derivative 0 by x and scale; the formula of z gives a difference of two terms in 1 / z.
TEST_CASE("distributions: quantiles of upper and of logarithms of probabilities have all digits in the tails") {
  using F = Tensor (*)(const Tensor&);
  struct Point {
    const char* name;
    F f;
    double p, value;
  };
  // clang-format off
  const Point points[] = {
#define AT(distribution, ...) #distribution, [](const Tensor& p) { return distribution(p __VA_OPT__(, ) __VA_ARGS__); }
      {AT(norm_isf), 1e-300, 37.0470962993611992}, {AT(expon_isf), 1e-300, 690.775527898213705}, {AT(laplace_isf), 1e-300, 690.08238071765376},
      {AT(logistic_isf), 1e-300, 690.775527898213705}, {AT(cauchy_isf), 1e-300, 3.18309886183790664e+299}, {AT(gumbel_r_isf), 1e-300, 690.775527898213705},
      {AT(pareto_isf, 2), 1e-300, 1e150}, {AT(weibull_min_isf, 1.5), 1e-300, 78.1432186770480251}, {AT(lognorm_isf, 0.5), 1e-300, 110834443.920875868},
      {AT(uniform_isf), 0.25, 0.75}, {AT(gamma_isf, 2.5), 1e-300, 700.320292826513435}, {AT(chi2_isf, 3), 1e-300, 1388.33677385468577},
      {AT(t_isf, 3), 1e-10, 2225.76928468309319}, {AT(truncnorm_isf, -2, 39), 1e-300, 37.0477170223995173}, {AT(vonmises_isf, 0.5, 1.0), 0.25, 2.11244693630091533},
      {AT(norm_ilogcdf), -1e-20, 9.26234008979840758}, {AT(norm_ilogcdf), -0.25, 0.768149395303850931}, {AT(norm_ilogcdf), -5, -2.47093863726158842},
      {AT(norm_ilogcdf), -79.5, -12.3338755465022011}, {AT(norm_ilogcdf), -81, -12.4541288565432336}, {AT(norm_ilogcdf), -745.5, -38.4949311260647352},
      {AT(norm_ilogcdf), -1e5, -447.197893678525051}, {AT(lognorm_ilogcdf, 0.5), -1e5, 7.80209489684525114e-98}, {AT(logistic_ilogcdf), -700, -700},
      {AT(logistic_ilogcdf), -1e-20, 46.0517018598809137}, {AT(expon_ilogcdf), -1e-20, 46.0517018598809137}, {AT(gumbel_r_ilogcdf), -1e-20, 46.0517018598809137},
      {AT(gumbel_r_ilogcdf), -700, -6.55108033504340467}, {AT(cauchy_ilogcdf), -1e-20, 3.18309886183790689e+19}, {AT(cauchy_ilogcdf), -700, -3.22840089906651436e+303},
      {AT(laplace_ilogcdf), -1e-20, 45.3585546793209684}, {AT(laplace_ilogcdf), -700, -699.306852819440055}, {AT(pareto_ilogcdf, 2), -1e-20, 1e10},
      {AT(weibull_min_ilogcdf, 1.5), -1e-20, 12.8478499618921429}, {AT(uniform_ilogcdf), -2, 0.135335283236612692},
      {AT(norm_ilogsf), -1e5, 447.197893678525051}, {AT(norm_ilogsf), -1e-20, -9.26234008979840758}, {AT(lognorm_ilogsf, 0.5), -1e5, 1.28170704563507186e+97},
      {AT(logistic_ilogsf), -700, 700}, {AT(expon_ilogsf), -700, 700}, {AT(gumbel_r_ilogsf), -700, 700}, {AT(gumbel_r_ilogsf), -1e-20, -3.82976471880194679},
      {AT(cauchy_ilogsf), -700, 3.22840089906651436e+303}, {AT(laplace_ilogsf), -700, 699.306852819440055}, {AT(pareto_ilogsf, 2), -700, 1.00709088702807976e+152},
      {AT(weibull_min_ilogsf, 1.5), -700, 78.8373516310524282}, {AT(uniform_ilogsf), -2, 0.864664716763387308},
      {AT(beta_isf, 2.5, 1.5), 1e-5, 0.999794505130793061}, {AT(beta_isf, 2, 60), 1e-300, 0.999990662199969991},
      {AT(gamma_ilogcdf, 2.5), -800, 1.71552193074017944e-139}, {AT(gamma_ilogcdf, 1e4), -2e4, 524.993976473984652}, {AT(gamma_ilogcdf, 2.5), -0.25, 3.49624646729321816},
      {AT(gamma_ilogsf, 2.5), -800, 809.762280037159623}, {AT(gamma_ilogsf, 2.5), -1e5, 100016.98497507739}, {AT(gamma_ilogsf, 1e15), -1e30, 1.00000000000003554e30},
      {AT(chi2_ilogcdf, 3), -800, 5.75082890701051816e-232}, {AT(chi2_ilogsf, 3), -800, 1606.93174263275203},
      {AT(beta_ilogcdf, 20, 30), -800, 9.02918709762925497e-19}, {AT(beta_ilogcdf, 500, 600), -2e4, 9.41171813305550099e-19}, {AT(beta_ilogcdf, 20, 3), -300, 2.33024820492975552e-7},
      {AT(beta_ilogsf, 500, 600), -1000, 0.943531621674952306}, {AT(beta_ilogsf, 5, 6), -2e4, 1}, {AT(beta_ilogcdf, 1e-3, 2), -2, 0},
      {AT(t_ilogcdf, 30), -800, -1912953930229.92311}, {AT(t_ilogcdf, 1000), -800, -62.5381240802912324}, {AT(t_ilogcdf, 1e6), -2e4, -201.984784849461969},
      {AT(t_ilogcdf, 30), -5, -2.62582374052454506}, {AT(t_ilogcdf, 30), -1e-9, 8.4458627964716719}, {AT(t_ilogsf, 3), -40, 637881.502942738285}, {AT(t_ilogsf, 3), -1e6, inf},
      {AT(vonmises_ilogcdf, 2000), -1000, -1.04455449126454879}, {AT(vonmises_ilogsf, 2000), -1000, 1.04455449126454879}, {AT(vonmises_ilogcdf, 2e4), -2e4, -1.57050279236424512},
      {AT(vonmises_ilogcdf, 5), -3, -0.779396522711353974}, {AT(vonmises_ilogsf, 5), 0, -std::numbers::pi},
      {AT(truncnorm_ilogcdf, -60, 2), -800, -39.8852714580410616}, {AT(truncnorm_ilogsf, -2, 60), -800, 39.8852714580410616}, {AT(truncnorm_ilogcdf, -2, 1), -0.25, 0.413206285881166414},
      {AT(truncnorm_ilogcdf, 3, 5), 0, 5}, {AT(truncnorm_ilogsf, 3, 5), -1e-30, 3}};
#undef AT
  // clang-format on
  for (const Point& at : points) {
    INFO(at.name << ' ' << at.p);
    CHECK(at.f(scalar(at.p)).item() == Approx(at.value).epsilon(2e-14));
    CHECK(std::isnan(at.f(scalar(1.5)).item()));
    CHECK(std::isnan(at.f(scalar(qnan)).item()));
  }
  // Derivatives of norm_ilogcdf by mpmath.
  for (const auto& [y, slope, bend] : {std::tuple(-0.25, 2.62207314070326465, 7.90330575578039624),
                                       {-5., 0.357617037701269958, 0.0416088296669444785},
                                       {-81., 0.079786682126152079, 0.000504760851307180462},
                                       {-1e5, 0.00223613530801365592, 1.11812939666201793e-8}}) {
    INFO(y);
    const Derivatives d = derivatives([](const Tensors& x) { return norm_ilogcdf(x[0]); }, {y});
    CHECK(d.gradient[0] == Approx(slope).epsilon(1e-13));
    CHECK(d.hessian[0] == Approx(bend).epsilon(1e-10));
  }
  CHECK(norm_ilogcdf(scalar(-inf)).item() == -inf);
  CHECK(norm_ilogcdf(scalar(0.)).item() == inf);
  CHECK(expon_ilogcdf(scalar(0.)).item() == inf);
  CHECK(norm_isf(tensor({0, 1})).to_vector() == Doubles{inf, -inf});
  CHECK(weibull_min_isf(tensor({0, 1}), 2).to_vector() == Doubles{inf, 0});
  CHECK(lognorm_isf(tensor({0, 1}), 2).to_vector() == Doubles{inf, 0});
  CHECK(norm_ilogcdf(cast(scalar(-5.), DType::float16)).dtype() == DType::float16);
  // Where the quantile rounds to the end it has no gradient by the shape.
  CHECK(grad([](const Tensor& a) { return gamma_ilogcdf(-1e5, a); })(scalar(2.5)).item() == 0);
  CHECK(grad([](const Tensor& a) { return beta_ilogcdf(-1e5, a, 3); })(scalar(2.5)).item() == 0);
  CHECK(t_ilogcdf(cast(scalar(-5.), DType::float32), 30).dtype() == DType::float32);
  CHECK(truncnorm_ilogcdf(tensor({0, -inf}), -3, 4).to_vector() == Doubles{4, -3});
}

TEST_CASE("distributions: mixed derivatives of logcdf by x and scale near the lower end") {
  for (const double z : {1e-300, 1e-160, 1e-12, 1e-3, 0.0156, 0.0157}) {
    for (const double scale : {1., 3., 1e-5}) {
      INFO("z " << z << ", scale " << scale);
      const double u = z * scale / scale;
      const double expected = (0.5 - u / 6 + u * u * u / 180 - u * u * u * u * u / 5040) / (scale * scale);
      const Doubles h = derivatives(functions.at("expon_logcdf"), {z * scale, 0, scale}).hessian;
      CHECK(std::abs(h[2] - expected) <= 1e-13 * expected);
      CHECK(std::abs(derivatives(functions.at("uniform_logcdf"), {z * scale, 0, scale}).hessian[2]) <=
            1e-14 / (z * scale * scale * 1e3));
      for (const char* name : {"weibull_min_logcdf", "lognorm_logcdf", "lognorm_logpdf"})
        CHECK(!std::isnan(derivatives(functions.at(name), {z * scale, 2, 0, scale}).hessian[3]));
    }
  }
  CHECK(derivatives(functions.at("uniform_logcdf"), {1e-300, 0, 3}).hessian[2] == 0);
}

TEST_CASE("distributions: second derivatives far from loc have all digits") {
  const double pi = 3.141592653589793;
  for (const double scale : {2.5, 1e20})
    for (const double z : {1e3, 1e9, -1e9}) {
      // d/dx d/dscale and d^2/dscale^2 by the leading terms in w = 1 / z; the others are below 4 w^2.
      const double x = scale * z, w = 1 / z, s2 = scale * scale, tolerance = 8 * w * w + 1e-13;
      const auto check = [&](const char* name, const Tensor& h, double mixed, double own) {
        INFO(name << " at " << x << ", scale " << scale);
        CHECK(h.to_vector()[1] == Approx(mixed).epsilon(tolerance));
        CHECK(h.to_vector()[3] == Approx(own).epsilon(tolerance));
      };
      const auto of = [&](auto f) {
        return hessian([&](const Tensor& v) { return f(v[0], v[1]); })(tensor({x, scale}));
      };
      check("logpdf", of([](const Tensor& a, const Tensor& s) { return cauchy_logpdf(a, 0.0, s); }), 4 * w * w * w / s2,
            -1 / s2);
      check("pdf", of([](const Tensor& a, const Tensor& s) { return cauchy_pdf(a, 0.0, s); }),
            -2 * w * w * w / (pi * s2 * scale), -6 * w * w * w * w / (pi * s2 * scale));
      check("cdf", of([](const Tensor& a, const Tensor& s) { return cauchy_cdf(a, 0.0, s); }), w * w / (pi * s2),
            2 * w * w * w / (pi * s2));
      check("sf", of([](const Tensor& a, const Tensor& s) { return cauchy_sf(a, 0.0, s); }), -w * w / (pi * s2),
            -2 * w * w * w / (pi * s2));
      const bool upper = z > 0;  // log(cdf) is -|w| / pi above and log(|w|) - w^2 / 3 below
      check("tail", of([&](const Tensor& a, const Tensor& s) {
              return upper ? cauchy_logsf(a, 0.0, s) : cauchy_logcdf(a, 0.0, s);
            }),
            4. / 3 * w * w * w / s2, -1 / s2);
      if (!upper) continue;
      check("pareto_pdf", of([](const Tensor& a, const Tensor& s) { return pareto_pdf(a, 1.0, 0.0, s); }),
            -2 * w * w * w / (s2 * scale), 0);
      const Tensor half = of([](const Tensor& a, const Tensor& s) { return pareto_pdf(a, 0.5, 0.0, s); });
      CHECK(half.to_vector()[3] == Approx(-0.125 * std::pow(w, 1.5) / (s2 * scale)).epsilon(1e-13));
    }
}

TEST_CASE("distributions: the gradient of gumbel_r_logpdf near its maximum has all digits") {
  for (const double z : {1e-12, -1e-6, 0.001, -0.25, 0.499, 0.501, -0.501, 3.}) {
    INFO(z);
    CHECK(std::abs(derivatives(functions.at("gumbel_r_logpdf"), {z, 0, 1}).gradient[0] / std::expm1(-z) - 1) < 1e-15);
    const double pdf = std::exp(-z - std::exp(-z));
    CHECK(std::abs(derivatives(functions.at("gumbel_r_pdf"), {z, 0, 1}).gradient[0] / std::expm1(-z) / pdf - 1) <
          2e-15);
  }
}

// A density of 0 at an end of the support counts as one outside; other derivatives there are those of the formula.
TEST_CASE("distributions: gradients at the ends of the support") {
  for (const char* kind : {"_logpdf", "_pdf"}) {
    const double expected = kind[1] == 'l' ? -inf : 0;
    for (const char* distribution : {"gamma", "weibull_min"})
      check_constant(distribution + std::string(kind), {0.5, 1.25, 0.5, 2}, expected);
    check_constant("chi2" + std::string(kind), {0.5, 2.5, 0.5, 2}, expected);
    check_constant("beta" + std::string(kind), {0.5, 1.25, 1, 0.5, 2}, expected);
    check_constant("beta" + std::string(kind), {2.5, 1, 1.25, 0.5, 2}, expected);
  }
  CHECK(derivatives(functions.at("gamma_logpdf"), {0, 1, 0, 2}).gradient[0] == -0.5);
  CHECK(derivatives(functions.at("weibull_min_pdf"), {0, 1, 0, 2}).gradient[0] == -0.25);
  CHECK(derivatives(functions.at("gamma_logpdf"), {0, 0.5, 0, 1}).gradient[0] == -inf);

  // Where only one number is possible: probabilities have finite derivatives, logarithms of 0 the gradient 0.
  const auto slopes = [](const char* name, const Doubles& x) {
    const Derivatives d = derivatives(functions.at(name), x);
    return Doubles{d.value, d.gradient.back(), d.hessian.back()};
  };
  CHECK(slopes("poisson_pmf", {0, 0}) == Doubles{1, -1, 1});
  for (const Doubles& x : {Doubles{1, 1.5}, {1, 2}, {1, -0.5}}) {
    CHECK(std::isnan(geom_logpmf(x[0], x[1]).item()));
    CHECK(std::isnan(bernoulli_logpmf(x[0], x[1]).item()));
    CHECK(std::isnan(binom_logpmf(x[0], 1, x[1]).item()));
  }
  for (const double k : {0., 2.}) CHECK(std::isnan(nbinom_logpmf(k, 0, 0.5).item()));
  CHECK(slopes("poisson_pmf", {1, 0}) == Doubles{0, 1, -2});
  CHECK(slopes("poisson_pmf", {2, 0})[2] == 1);
  CHECK(slopes("poisson_pmf", {30, 0}) == Doubles{0, 0, 0});
  CHECK(slopes("poisson_logpmf", {0, 0}) == Doubles{0, -1, 0});
  CHECK(slopes("binom_pmf", {0, 5, 0}) == Doubles{1, -5, 20});
  CHECK(std::abs(slopes("binom_pmf", {1, 5, 0})[1] - 5) < 1e-14);
  CHECK(std::abs(slopes("binom_pmf", {4, 5, 1})[1] + 5) < 1e-14);
  CHECK(std::abs(slopes("binom_pmf", {3, 5, 1})[2] - 20) < 1e-13);
  CHECK(slopes("binom_pmf", {500, 1000000, 0}) == Doubles{0, 0, 0});
  CHECK(std::abs(slopes("nbinom_pmf", {0, 2.5, 1})[1] - 2.5) < 1e-14);
  CHECK(std::abs(slopes("nbinom_pmf", {1, 2.5, 1})[1] + 2.5) < 1e-14);
  CHECK(slopes("geom_pmf", {1, 1}) == Doubles{1, 1, 0});
  CHECK(slopes("geom_pmf", {2, 1}) == Doubles{0, -1, -2});
  CHECK(slopes("geom_logpmf", {1, 1})[1] == 1);
  check_constant("poisson_logpmf", {1, 0}, -inf);
  check_constant("binom_logpmf", {1, 5, 0}, -inf);
  check_constant("binom_logpmf", {4, 5, 1}, -inf);
  check_constant("nbinom_logpmf", {1, 2.5, 1}, -inf);
  check_constant("bernoulli_logpmf", {1, 0}, -inf);
  check_constant("geom_logpmf", {2, 1}, -inf);
}

TEST_CASE("distributions: dtypes, one entry on a tape, errors") {
  const Tensor x = from_data(std::vector<float>{0.25f, 0.5f});
  CHECK(norm_logpdf(x).dtype() == DType::float32);
  CHECK(norm_logpdf(cast(x, DType::bfloat16), 0, 2).dtype() == DType::bfloat16);
  CHECK(norm_logpdf(from_data(std::vector<std::int64_t>{0, 1})).dtype() == DType::float64);
  CHECK(pareto_ppf(x, ones({3, 1})).shape() == Shape{3, 2});
  CHECK_THROWS_AS(norm_cdf(cast(x, DType::complex64)), TypeError);
  CHECK_THROWS_AS(norm_cdf(x, zeros({3})), ShapeError);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = lognorm_logcdf(x, 0.5);
  CHECK(tape.stats().entries == 1);
}

TEST_CASE("densities: outside the support, at its ends, parameters out of range") {
  for (const char* distribution : {"gamma", "chi2", "t"}) {
    const std::string name = distribution;
    for (const double x : {-inf, inf, -3.}) {
      if (x == -3 && name == "t") continue;
      check_constant(name + "_logpdf", {x, 2.5, 0.25, 2}, -inf);
      check_constant(name + "_pdf", {x, 2.5, 0.25, 2}, 0);
    }
    for (const Doubles& x :
         {Doubles{1, 0, 0, 1}, {1, -1, 0, 1}, {1, 2, 0, 0}, {inf, 0, 0, 1}, {qnan, 2, 0, 1}, {-1, qnan, 0, 1}}) {
      CHECK(std::isnan(functions.at(name + "_logpdf")(numbers(x)).item()));
      CHECK(std::isnan(functions.at(name + "_pdf")(numbers(x)).item()));
    }
  }
  check_constant("weibull_min_logsf", {-1, 3000, 0, 1}, 0);
  check_constant("weibull_min_logpdf", {-1, 3000, 0, 1}, -inf);
  for (const double x : {-inf, inf, -3., 2.5}) {
    check_constant("beta_logpdf", {x, 2.5, 1.5, 0.25, 2}, -inf);
    check_constant("beta_pdf", {x, 2.5, 1.5, 0.25, 2}, 0);
  }
  for (const Doubles& x :
       {Doubles{0.5, 0, 1, 0, 1}, {0.5, 1, 0, 0, 1}, {2, 1, -1, 0, 1}, {0.5, 1, 1, 0, -1}, {qnan, 1, 1, 0, 1}})
    CHECK(std::isnan(functions.at("beta_logpdf")(numbers(x)).item()));
  CHECK(gamma_pdf(0.0, 1.0).item() == 1);
  CHECK(gamma_pdf(0.0, 0.5).item() == inf);
  CHECK(gamma_pdf(0.0, 12.0).item() == 0);
  CHECK(std::abs(beta_pdf(0.0, 1.0, 2.5).item() - 2.5) < 1e-14);
  CHECK(std::abs(beta_pdf(1.0, 2.5, 1.0).item() - 2.5) < 1e-14);
  CHECK(beta_logpdf(1.0, 30.0, 30.0).item() == -inf);
}

TEST_CASE("discrete distributions: impossible numbers, ends and parameters out of range") {
  const std::map<std::string, Doubles> parameters = {
      {"poisson", {1.5}}, {"binom", {5, 0.25}}, {"nbinom", {2.5, 0.25}}, {"bernoulli", {0.25}}, {"geom", {0.25}}};
  for (const auto& [distribution, given] : parameters) {
    Doubles x = {0};
    x.insert(x.end(), given.begin(), given.end());
    for (const double k : {-1., 0.5, -inf, inf}) {
      check_constant(distribution + "_logpmf", (x[0] = k, x), -inf);
      check_constant(distribution + "_pmf", (x[0] = k, x), 0);
    }
    for (const double k : {1., 0.5}) {
      for (const double bad : {qnan, -1.}) {
        Doubles y = x;
        y[0] = k;
        y.back() = bad;
        INFO(distribution << " of " << k << " and " << bad);
        CHECK(std::isnan(functions.at(distribution + "_logpmf")(numbers(y)).item()));
      }
    }
    CHECK(std::isnan(functions.at(distribution + "_pmf")(numbers((x[0] = qnan, x))).item()));
  }
  check_constant("binom_pmf", {6, 5, 0.25}, 0);
  check_constant("bernoulli_pmf", {2, 0.25}, 0);
  check_constant("geom_pmf", {0, 0.25}, 0);
  CHECK(std::isnan(binom_pmf(1.0, 2.5, 0.5).item()));
  CHECK(std::isnan(binom_pmf(1.0, 2.0, 1.5).item()));
  CHECK(std::isnan(nbinom_pmf(1.0, 2.0, 0.0).item()));
  CHECK(poisson_pmf(0.0, 0.0).item() == 1);
  CHECK(poisson_pmf(3.0, 0.0).item() == 0);
  CHECK(poisson_pmf(30.0, 0.0).item() == 0);
  CHECK(binom_pmf(0.0, 0.0, 0.5).item() == 1);
  CHECK(binom_pmf(0.0, 4.0, 0.0).item() == 1);
  CHECK(binom_pmf(4.0, 4.0, 1.0).item() == 1);
  CHECK(binom_pmf(3.0, 4.0, 1.0).item() == 0);
  CHECK(geom_pmf(1.0, 1.0).item() == 1);
  CHECK(bernoulli_pmf(1.0, 0.0).item() == 0);
  CHECK(bernoulli_logpmf(0.0, 0.0).item() == 0);
  CHECK(derivatives(functions.at("binom_logpmf"), {0, 5, 0}).gradient[2] == -5);
}
