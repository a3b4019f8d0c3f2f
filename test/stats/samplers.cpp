// Samplers of <reel/stats.hpp>: their distributions, gradients through parameters, dtypes, errors; generators by keys,
// shuffles and choices.
#include <algorithm>
#include <cmath>
#include <functional>
#include <reel/compile.hpp>
#include <reel/ops/arranging.hpp>
#include <reel/reel.hpp>
#include <reel/runtime.hpp>
#include <reel/special.hpp>
#include <reel/stats.hpp>
#include <set>

#include "catch.hpp"
#include "support/numbers.hpp"

using namespace reel;
using namespace support;
using Catch::StartsWith;

namespace {

using DistributionParameters = std::vector<Tensor>;
// The probability of an angle from -pi to x, by its Fourier series.
Tensor vonmises_series(const Tensor& x, const Tensor& kappa, int terms) {
  const Tensor pi = scalar(std::acos(-1.0)), first = ive(0, kappa);
  Tensor sum = 0.5 * x;
  for (int n = 1; n < terms; ++n) sum = sum + ive(n, kappa) / first * sin(n * x) / n;
  return 0.5 + sum / pi;
}
struct Sampler {
  const char* name;
  Doubles parameters;  // of shape, loc, scale
  Tensor (*draw)(Generator& g, const Shape& shape, const DistributionParameters& p, DType dtype);
  Tensor (*cdf)(const Tensor& x, const DistributionParameters& p);
};
#define SAMPLER_0(distribution)                                                                                          \
  {                                                                                                                      \
#distribution, {0.5, 2 },                                                                                              \
           [](Generator & g, const Shape& s, const DistributionParameters& p,                                              \
              DType d) { return distribution##_rvs(g, s, p[0], p[1], d); }, [](const Tensor& x,                            \
                                                                      const DistributionParameters&                        \
                                                                          p) { return distribution##_cdf(x, p[0], p[1]); } \
  }
#define SAMPLER_1(distribution)                                                                                               \
  {                                                                                                                           \
#distribution,                                                                                                              \
        {1.5, 0.5, 2 },                                                                                                \
         [](Generator & g, const Shape& s, const DistributionParameters& p,                                                     \
            DType                                                                                                      \
                d) { return distribution##_rvs(g, s, p[0], p[1], p[2], d); },                                                   \
                                                                  [](const Tensor& x,                                  \
                                                                     const DistributionParameters&                              \
                                                                         p) { return distribution##_cdf(x, p[0], p[1], p[2]); } \
  }
// The distribution functions are the library's, which distributions.cpp compares with mpmath, or made of its gammainc
// and betainc.
const std::vector<Sampler> samplers = {
    SAMPLER_0(norm),
    SAMPLER_0(expon),
    SAMPLER_0(laplace),
    SAMPLER_0(logistic),
    SAMPLER_0(cauchy),
    SAMPLER_0(gumbel_r),
    SAMPLER_0(uniform),
    SAMPLER_1(pareto),
    SAMPLER_1(lognorm),
    SAMPLER_1(weibull_min),
    {"gamma",
     {1.5, 0.5, 2},
     [](Generator& g, const Shape& s, const DistributionParameters& p, DType d) {
       return gamma_rvs(g, s, p[0], p[1], p[2], d);
     },
     [](const Tensor& x, const DistributionParameters& p) { return gammainc(p[0], (x - p[1]) / p[2]); }},
    {"chi2",
     {3, 0.5, 2},
     [](Generator& g, const Shape& s, const DistributionParameters& p, DType d) {
       return chi2_rvs(g, s, p[0], p[1], p[2], d);
     },
     [](const Tensor& x, const DistributionParameters& p) { return gammainc(p[0] / 2, (x - p[1]) / (2 * p[2])); }},
    {"beta",
     {1.5, 2.5, 0.5, 2},
     [](Generator& g, const Shape& s, const DistributionParameters& p, DType d) {
       return beta_rvs(g, s, p[0], p[1], p[2], p[3], d);
     },
     [](const Tensor& x, const DistributionParameters& p) { return betainc(p[0], p[1], (x - p[2]) / p[3]); }},
    {"t",
     {3.5, 0.5, 2},
     [](Generator& g, const Shape& s, const DistributionParameters& p, DType d) {
       return t_rvs(g, s, p[0], p[1], p[2], d);
     },
     [](const Tensor& x, const DistributionParameters& p) { return t_cdf(x, p[0], p[1], p[2]); }},
    {"vonmises",
     {2.5, 0.5},
     [](Generator& g, const Shape& s, const DistributionParameters& p, DType d) {
       return vonmises_rvs(g, s, p[0], p[1], d);
     },
     [](const Tensor& x, const DistributionParameters& p) { return vonmises_series(x - p[1], p[0], 40); }},
    {"truncnorm",
     {-0.5, 1.5, 0.5, 2},
     [](Generator& g, const Shape& s, const DistributionParameters& p, DType d) {
       return truncnorm_rvs(g, s, p[0], p[1], p[2], p[3], d);
     },
     [](const Tensor& x, const DistributionParameters& p) {
       return (norm_cdf(x, p[2], p[3]) - norm_cdf(p[0])) / (norm_cdf(p[1]) - norm_cdf(p[0]));
     }},
};
DistributionParameters parameters_of(const Sampler& s) {
  DistributionParameters p;
  for (const double v : s.parameters) p.push_back(scalar(v));
  return p;
}
Doubles sorted(const Tensor& x) {
  Doubles v = cast(x, DType::float64).to_vector<double>();
  std::sort(v.begin(), v.end());
  return v;
}
// Kolmogorov's statistic of probabilities in order: above 1.95 with probability 0.001.
double kolmogorov(const Doubles& u) {
  double distance = 0;
  const auto n = static_cast<double>(u.size());
  for (std::size_t i = 0; i < u.size(); ++i)
    distance = support::worse(distance, u[i] - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - u[i]);
  return distance * std::sqrt(n);
}

struct Rejection {
  const char* name;
  Doubles parameters;
  Tensor (*draw)(Generator& g, const Shape& shape, const DistributionParameters& p);
  Tensor (*cdf)(const Tensor& x, const DistributionParameters& p);
  Tensor (*ppf)(const Tensor& x, const DistributionParameters& p);
};
// clang-format off
#define REJECTION_1(distribution, a) {#distribution, {a}, [](Generator& g, const Shape& s, const DistributionParameters& p) { return distribution##_rvs(g, s, p[0]); }, \
    [](const Tensor& x, const DistributionParameters& p) { return distribution##_cdf(x, p[0]); }, [](const Tensor& x, const DistributionParameters& p) { return distribution##_ppf(x, p[0]); }}
#define REJECTION_2(distribution, a, b) {#distribution, {a, b}, [](Generator& g, const Shape& s, const DistributionParameters& p) { return distribution##_rvs(g, s, p[0], p[1]); }, \
    [](const Tensor& x, const DistributionParameters& p) { return distribution##_cdf(x, p[0], p[1]); }, [](const Tensor& x, const DistributionParameters& p) { return distribution##_ppf(x, p[0], p[1]); }}
const std::vector<Rejection> by_rejection = {
    REJECTION_1(gamma, 0.02), REJECTION_1(gamma, 0.3), REJECTION_1(gamma, 1), REJECTION_1(gamma, 40), REJECTION_1(gamma, 1e5),
    REJECTION_1(chi2, 0.5), REJECTION_1(chi2, 1e3), REJECTION_2(beta, 0.1, 0.25), REJECTION_2(beta, 200, 0.5), REJECTION_2(beta, 1e3, 3e3),
    REJECTION_1(t, 0.25), REJECTION_1(t, 1), REJECTION_1(t, 4e3),
};
// clang-format on

}  // namespace

TEST_CASE("samples follow their distributions") {
  for (const Sampler& s : samplers) {
    INFO(s.name);
    for (const DType dtype : {DType::float64, DType::float32}) {
      Generator generator(20);
      const DistributionParameters p = parameters_of(s);
      constexpr std::int64_t n = 3000;
      const Tensor x = s.draw(generator, {n}, p, dtype);
      CHECK(x.dtype() == dtype);
      const Doubles u = sorted(s.cdf(cast(x, DType::float64), p));
      CHECK(kolmogorov(u) < 1.95);
      CHECK(kolmogorov(u) > 0.1);
      Generator again(20), other(21);
      CHECK(bool(all(equal(s.draw(again, {n}, p, dtype), x))));
      CHECK(again.position() == generator.position());
      CHECK_FALSE(bool(any(equal(s.draw(other, {n}, p, dtype), x))));
      CHECK_FALSE(bool(any(equal(s.draw(again, {n}, p, dtype), x))));
    }
  }
}

// The distribution function of a sample does not depend on the parameters: each derivative of it is 0.
TEST_CASE("samplers: gradients with respect to parameters, of first and second order") {
  for (const Sampler& s : samplers) {
    INFO(s.name);
    const DistributionParameters p = parameters_of(s);
    const auto probability = [&](const DistributionParameters& q) {
      Generator generator(3);
      const Tensor x = s.draw(generator, {20}, q, DType::float64);
      return std::pair(x, s.cdf(x, q));
    };
    GradientTape outer({.persistent = true}), inner;
    for (const Tensor& t : p) outer.watch(t), inner.watch(t);
    const auto [x, u] = probability(p);
    DistributionParameters first;
    for (const Gradient& g : inner.gradient(u, p)) first.push_back(g.dense());
    for (std::size_t k = 0; k < p.size(); ++k) {
      INFO("parameter " << k);
      CHECK(std::abs(first[k].item()) < 1e-12);
      for (const Gradient& g : outer.gradient(first[k], p)) CHECK((!g || std::abs(g.dense().item()) < 1e-10));
      const Tensor slope = outer.gradient(x, p[k]).dense();
      CHECK(std::isfinite(slope.item()));
      CHECK(slope.item() != 0);
    }
  }
}

TEST_CASE("samples by rejection: distributions and implicit gradients for small and large parameters") {
  for (const Rejection& s : by_rejection) {
    INFO(s.name << " " << s.parameters[0]);
    Generator generator(31);
    DistributionParameters p;
    for (const double v : s.parameters) p.push_back(scalar(v));
    const Doubles u = sorted(s.cdf(s.draw(generator, {1500}, p), p));
    CHECK(kolmogorov(u) < 1.95);
    // The gradient is that of the quantile at the same probability: a central difference, of error 1e-9.
    DistributionParameters all;
    for (const double v : s.parameters) all.push_back(full({6}, v));
    GradientTape tape;
    for (const Tensor& t : all) tape.watch(t);
    const Tensor x = s.draw(generator, {6}, all);
    const auto slopes = tape.gradient(x, all);
    const Tensor probability = s.cdf(x, p);
    for (std::size_t k = 0; k < p.size(); ++k) {
      INFO("parameter " << k);
      const double step = 1e-5 * s.parameters[k];
      DistributionParameters up = p, down = p;
      up[k] = scalar(s.parameters[k] + step), down[k] = scalar(s.parameters[k] - step);
      const Tensor difference = (s.ppf(probability, up) - s.ppf(probability, down)) / (2 * step);
      const Tensor close = less(abs(slopes[k].dense() - difference), 1e-5 * abs(difference) + 1e-12 * abs(x) / step);
      // Beyond 0.98, rounding of the probability dominates the difference.
      CHECK(bool(reel::all(logical_or(close, greater(probability, 0.98)))));
    }
  }
}

TEST_CASE("gamma_rvs of shape a has the mean a and the variance a") {
  Generator generator(47);
  constexpr double n = 40000;
  for (const double a : {0.3, 1., 40.}) {
    INFO(a);
    const Tensor x = gamma_rvs(generator, {40000}, a);
    CHECK(std::abs(mean(x).item() - a) < 4 * std::sqrt(a / n));
    CHECK(std::abs(var(x).item() / a - 1) < 4 * std::sqrt((2 + 6 / a) / n));
  }
}

TEST_CASE("gamma_rvs of shape 1e-3: implicit gradients where the sample nearly underflows") {
  Generator generator(33);
  const Tensor a = full({40}, 1e-3);
  GradientTape tape;
  tape.watch(a);
  const Tensor z = gamma_rvs(generator, {40}, a), slopes = tape.gradient(z, a).dense();
  int tiny = 0;
  for (std::int64_t i = 0; i < 40; ++i) {
    const double value = z(i).item(), slope = slopes(i).item();
    if (value == 0) CHECK(slope == 0);
    if (!(value > 0 && value < 1e-20)) continue;
    ++tiny;
    // z = (p Gamma(a + 1))^(1 / a)
    const double expected = value * (digamma(scalar(1.001)).item() - std::log(value)) / 1e-3;
    CHECK(std::abs(slope - expected) <= 1e-12 * expected);
  }
  CHECK(tiny > 3);
  GradientTape outer, inner;
  outer.watch(a), inner.watch(a);
  const Tensor slope = inner.gradient(sum(gamma_rvs(generator, {40}, a)), a).dense();
  CHECK(bool(all(isfinite(outer.gradient(slope, a).dense()))));
}

TEST_CASE("beta_rvs: no gradient where a sample is rounded to an end") {
  Generator generator(37);
  const Tensor a = full({40}, 1e-3);
  GradientTape tape;
  tape.watch(a);
  const Tensor x = beta_rvs(generator, {40}, a, 1e-3), slopes = tape.gradient(x, a).dense();
  const Tensor at_end = logical_or(equal(x, 0), equal(x, 1));
  CHECK(bool(any(at_end)));
  CHECK(bool(all(equal(where(at_end, slopes, 0), 0))));
  // The density vanishes at 1.
  const auto at_one = [&](const Tensor& b) { return sum(beta_rvs(generator, {40}, 1e18, b)); };
  CHECK(at_one(scalar(1.5)).item() == 40);
  CHECK(grad(at_one)(scalar(1.5)).item() == 0);
  CHECK(hessian(at_one)(scalar(1.5)).item() == 0);
}

TEST_CASE("t_rvs far out: the logarithm of the probability beyond a sample does not depend on df") {
  Generator generator(35);
  const Tensor df = scalar(0.02);
  GradientTape outer, inner;
  outer.watch(df), inner.watch(df);
  const Tensor z = t_rvs(generator, {200}, df), far = logical_and(isfinite(z), greater(abs(z), 1e10));
  CHECK(sum(cast(far, DType::int64)).item() > 50);
  const Tensor first = inner.gradient(sum(where(far, t_logsf(abs(where(far, z, 1e12)), df), 0)), df).dense();
  CHECK(std::abs(first.item()) < 1e-9);
  CHECK(std::abs(outer.gradient(first, df).dense().item()) < 1e-6);
}

// The record is from an implementation of the same algorithm in Python, which is not in the tree.
TEST_CASE("samples by rejection have the same bits for any number of threads, those on record") {
  const int threads = num_threads();
  const auto draw = [] {
    Generator generator(2026);
    return std::vector<Tensor>{gamma_rvs(generator, {20000}, 2.5), beta_rvs(generator, {20000}, 0.5, 0.25),
                               t_rvs(generator, {20000}, 3), gamma_rvs(generator, {20001}, 0.5, 0, 1, DType::float32)};
  };
  const std::vector<Tensor> expected = draw();
  set_num_threads(threads == 1 ? 2 : 1);
  const std::vector<Tensor> got = draw();
  set_num_threads(threads);
  for (std::size_t k = 0; k < got.size(); ++k) CHECK(bool(all(equal(got[k], expected[k]))));
  const std::vector<Doubles> recorded = {
      {4.530704217147657, 2.477378774653986, 0.408834490787614, 2.1763570600720117},
      {0.9999996861631858, 0.015075436302464678, 0.9994107362584931, 0.5787643203556898},
      {-0.4101557515009411, 0.7955102132458273, -1.0205603085890451, 1.2856659987874626},
      {0.022768367409773692, 0.13999843056560646, 0.2723671698716593, 0.0424531092074164, 1.2969438633744788,
       1.213563479949669}};
  for (std::size_t k = 0; k < recorded.size(); ++k)
    for (std::size_t i = 0; i < recorded[k].size(); ++i) {
      INFO("sampler " << k << ", element " << i);
      const double value = cast(expected[k](static_cast<std::int64_t>(i)), DType::float64).item();
      CHECK(std::abs(value - recorded[k][i]) <= (k == 3 ? 1e-7 : 1e-14) * std::abs(recorded[k][i]));
    }
}

TEST_CASE("vonmises_rvs follows its distribution for kappa from 0 to 1e200") {
  Generator generator(41);
  const double pi = std::acos(-1.0);
  const Tensor flat = vonmises_rvs(generator, {1500}, 0);
  CHECK(kolmogorov(sorted((flat + pi) / (2 * pi))) < 1.95);
  CHECK(kolmogorov(sorted(vonmises_series(vonmises_rvs(generator, {1500}, 1e-3), scalar(1e-3), 10))) < 1.95);
  CHECK(kolmogorov(sorted(vonmises_series(vonmises_rvs(generator, {1500}, 60), scalar(60.0), 90))) < 1.95);
  for (const double kappa : {0.5, 2.5, 60.}) {
    const Tensor c = cos(vonmises_rvs(generator, {20000}, kappa));
    const double error = mean(c).item() - i1e(scalar(kappa)).item() / i0e(scalar(kappa)).item();
    CHECK(std::abs(error) < 4 * reel::std(c).item() / std::sqrt(20000.));
  }
  // 2 sqrt(kappa) sin(x / 2) tends to a normal variate.
  for (const double kappa : {1e6, 1e9, 1e200})
    CHECK(kolmogorov(sorted(norm_cdf(2 * std::sqrt(kappa) * sin(0.5 * vonmises_rvs(generator, {1500}, kappa))))) <
          1.95);
  // The implicit gradient, also by the expansion for large kappa.
  const auto slopes = [&](double kappa) {
    Generator same(43);
    const Tensor k = full({20}, kappa);
    GradientTape tape;
    tape.watch(k);
    const Tensor x = vonmises_rvs(same, {20}, k);
    return tape.gradient(x, k).dense();
  };
  CHECK(bool(all(equal(slopes(0) * 0, 0))));
  Generator again(43);
  const Tensor sharp = vonmises_rvs(again, {20}, 1e12);
  CHECK(bool(all(less_equal(abs(slopes(1e12) + sharp / 2e12), 1e-9 * abs(sharp / 2e12)))));
  for (const double bad : {-1., qnan, inf}) CHECK(std::isnan(vonmises_rvs(generator, {}, bad).item()));
  const std::uint64_t before = generator.position();
  CHECK_THROWS_AS(vonmises_rvs(generator, {2}, zeros({3})), ShapeError);
  CHECK_THROWS_AS(vonmises_rvs(generator, {2}, 1, 0, DType::int64), TypeError);
  CHECK(generator.position() == before);
}

TEST_CASE("samplers: parameters that broadcast, dtypes, ends of the uniform numbers") {
  Generator generator(5);
  const Tensor loc = from_data(std::vector<double>{0, 1000});
  const Tensor x = norm_rvs(generator, {3, 2}, loc, 0.5);
  CHECK(x.shape() == Shape{3, 2});
  CHECK(bool(all(less(abs(x - loc), 10))));
  for (const DType dtype : {DType::float16, DType::bfloat16, DType::float32, DType::float64}) {
    const Tensor y = expon_rvs(generator, {20000}, 0, 1, dtype);
    CHECK(y.dtype() == dtype);
    CHECK(bool(all(isfinite(y))));
    CHECK(bool(all(greater(cast(y, DType::float64), 0))));
  }
  CHECK(gamma_rvs(generator, {0, 3}, 2.0).shape() == Shape{0, 3});
  for (const double bad : {0., -1., qnan}) {
    CHECK(std::isnan(norm_rvs(generator, {}, 0, bad).item()));
    CHECK(std::isnan(gamma_rvs(generator, {}, 2, 0, bad).item()));
    CHECK(std::isnan(chi2_rvs(generator, {}, bad).item()));
    CHECK(std::isnan(beta_rvs(generator, {}, 1, bad).item()));
    CHECK(std::isnan(pareto_rvs(generator, {}, bad).item()));
  }
  const std::uint64_t before = generator.position();
  CHECK_THROWS_AS(norm_rvs(generator, {2}, zeros({3})), ShapeError);
  CHECK_THROWS_AS(norm_rvs(generator, {2}, zeros({3, 2})), ShapeError);
  CHECK_THROWS_AS(norm_rvs(generator, {2}, 0, 1, DType::int64), TypeError);
  CHECK_THROWS_AS(beta_rvs(generator, {2}, zeros({2}, DType::complex64), 1), TypeError);
  CHECK_THROWS_AS(norm_rvs(generator, {-1}), ShapeError);
  CHECK(generator.position() == before);
}

TEST_CASE("truncnorm_rvs in the tails and in narrow intervals") {
  Generator generator(9);
  for (const Doubles& ends :
       std::vector<Doubles>{{30, 31}, {-100, -99.5}, {50, inf}, {-inf, -1e4}, {2, 2.000001}, {-inf, inf}, {-9, 12}}) {
    const double a = ends[0], b = ends[1];
    INFO(a << " to " << b);
    const Tensor low = scalar(a), high = scalar(b);
    GradientTape tape;
    tape.watch(low), tape.watch(high);
    const Tensor x = truncnorm_rvs(generator, {500}, low, high);
    CHECK(bool(all(logical_and(greater_equal(x, a), less_equal(x, b)))));
    // Where the density falls as exp(-a (x - a)) the distance from the end has the mean 1 / |a|.
    const double end = std::isinf(b) ? a : b;
    const double scaled = mean(abs(x - end)).item() * std::abs(end);
    if (std::isinf(b) != std::isinf(a)) CHECK(std::abs(scaled - 1) < 0.2);
    const auto g = tape.gradient(x, {low, high});
    for (const Gradient& one : g) CHECK(std::isfinite(one.dense().item()));
    if (std::isinf(a)) CHECK(g[0].dense().item() == 0);
    // The whole interval moves with its ends, up to the slope of the density across it.
    if (b - a < 1e-3) CHECK(std::abs(g[0].dense().item() + g[1].dense().item() - 500) < 0.01);
  }
  for (const Doubles& bad : std::vector<Doubles>{{1, 1}, {2, 1}, {qnan, 1}, {0, qnan}})
    CHECK(std::isnan(truncnorm_rvs(generator, {}, bad[0], bad[1]).item()));
  CHECK(std::isnan(truncnorm_rvs(generator, {}, 0, 1, 0, 0).item()));
  CHECK(std::isnan(t_rvs(generator, {}, -1).item()));
}

// The probability between an end and x is that of both ends times exp(logpdf to the far end - logpdf to x), at the end.
TEST_CASE("truncnorm_rvs in the tails: quantiles of uniform numbers, with implicit gradients") {
  for (const Doubles& ends : std::vector<Doubles>{{30, 31}, {-100, -99.5}, {50, 52}, {-31, -30}, {13, 14}}) {
    INFO(ends[0] << " to " << ends[1]);
    Generator generator(23), again(23);
    const DistributionParameters p = {scalar(ends[0]), scalar(ends[1])};
    GradientTape outer({.persistent = true}), inner;
    for (const Tensor& t : p) outer.watch(t), inner.watch(t);
    const Tensor x = truncnorm_rvs(generator, {40}, p[0], p[1]);
    const Tensor share = exp(truncnorm_logpdf(p[0], p[0], p[1]) - truncnorm_logpdf(p[0], p[0], x));
    CHECK(bool(all(less(abs(share - random_uniform(again, {40})), 1e-10))));
    DistributionParameters first;
    for (const Gradient& g : inner.gradient(share, p)) first.push_back(g.dense());
    for (const Tensor& g : first) {
      CHECK(std::abs(g.item()) < 1e-7);
      for (const Gradient& h : outer.gradient(g, p)) CHECK((!h || std::abs(h.dense().item()) < 1e-4));
    }
  }
}

// The elements of a Dirichlet sample follow beta distributions, and the derivative of a mean is the mean of
// derivatives.
TEST_CASE("dirichlet_rvs: marginal distributions, gradients, small parameters") {
  const Tensor alpha = from_data(std::vector<double>{0.5, 2, 3.5});
  constexpr std::int64_t n = 3000;
  Generator generator(13);
  GradientTape tape;
  tape.watch(alpha);
  const Tensor x = dirichlet_rvs(generator, {n, 3}, alpha);
  CHECK(bool(all(less(abs(sum(x, -1) - 1), 1e-15 * 8))));
  for (const std::int64_t k : {0, 1, 2}) {
    const Doubles u = sorted(betainc(alpha(k), 6 - alpha(k), minimum(x(range_from(0), k), 1)));
    CHECK(kolmogorov(u) < 1.95);
  }
  const Doubles slopes = tape.gradient(mean(x(range_from(0), 1)), alpha).dense().to_vector<double>();
  const Doubles expected = {-2. / 36, 4. / 36, -2. / 36};
  for (std::size_t k = 0; k < 3; ++k) CHECK(std::abs(slopes[k] - expected[k]) < 0.01);
  const Tensor tiny = dirichlet_rvs(generator, {200, 3}, 1e-4);
  CHECK(bool(all(isfinite(tiny))));
  CHECK(bool(all(less(abs(sum(tiny, -1) - 1), 1e-14))));
  // The derivative of a logarithm overflows where its sample is 0 or 1, whose own derivative is 0.
  const auto second = [](const Tensor& t) {
    Generator same(5);
    return sum(dirichlet_rvs(same, {8, 3}, t, t.dtype()), 0)(1);
  };
  for (const Tensor& a : {full({3}, 2.4587069e-37, DType::float32), full({3}, 1e-200)})
    CHECK(grad(second)(a).to_vector() == Doubles{0, 0, 0});
  CHECK(dirichlet_rvs(generator, {4, 2}, 3.0, DType::float16).dtype() == DType::float16);
  CHECK(std::isnan(dirichlet_rvs(generator, {2}, 0.0)(0).item()));
  const std::uint64_t before = generator.position();
  CHECK_THROWS_AS(dirichlet_rvs(generator, {}, 1.0), ShapeError);
  CHECK_THROWS_AS(dirichlet_rvs(generator, {2}, ones({3})), ShapeError);
  CHECK_THROWS_AS(dirichlet_rvs(generator, {2}, 1.0, DType::int32), TypeError);
  CHECK(generator.position() == before);
}

TEST_CASE("multivariate_normal_rvs: whitened samples are normal, gradients, errors") {
  Generator generator(17);
  const Tensor location = from_data(std::vector<double>{1, -2}),
               factor = reshape(from_data(std::vector<double>{2, 99, 0.5, 0.25}), {2, 2});
  constexpr std::int64_t n = 3000;
  GradientTape tape;
  tape.watch(location), tape.watch(factor);
  const Tensor x = multivariate_normal_rvs(generator, {n, 2}, location, factor);
  const Tensor z = swapaxes(triangular_solve(factor, swapaxes(x - location, 0, 1)), 0, 1);
  const Doubles u = sorted(norm_cdf(reshape(z, {2 * n})));
  CHECK(kolmogorov(u) < 1.95);
  CHECK(std::abs(mean(z(range_from(0), 0) * z(range_from(0), 1)).item()) < 0.06);
  const auto g = tape.gradient(x, {location, factor});
  CHECK(g[0].dense().to_vector<double>() == Doubles{n, n});
  const Doubles sums = sum(z, 0).to_vector<double>(), of_factor = g[1].dense().to_vector<double>();
  CHECK(std::abs(of_factor[0] - sums[0]) < 1e-9);
  CHECK(of_factor[1] == 0);
  CHECK(std::abs(of_factor[3] - sums[1]) < 1e-9);
  CHECK(multivariate_normal_rvs(generator, {3, 4, 2}, 0, stack({factor, factor, factor, factor}), DType::float32)
            .dtype() == DType::float32);
  CHECK(multivariate_normal_rvs(generator, {2}, location, factor, DType::float32).dtype() == DType::float32);
  const std::uint64_t before = generator.position();
  CHECK_THROWS_AS(multivariate_normal_rvs(generator, {3, 3}, 0, factor), ShapeError);
  CHECK_THROWS_AS(multivariate_normal_rvs(generator, {}, 0, factor), ShapeError);
  CHECK_THROWS_AS(multivariate_normal_rvs(generator, {2}, 0, stack({factor, factor})), ShapeError);
  CHECK_THROWS_AS(multivariate_normal_rvs(generator, {2}, zeros({3}), factor), ShapeError);
  CHECK_THROWS_AS(multivariate_normal_rvs(generator, {2}, 0, ones({2, 3})), ShapeError);
  CHECK_THROWS_AS(multivariate_normal_rvs(generator, {2}, 0, cast(factor, DType::complex64)), TypeError);
  CHECK(generator.position() == before);
}

TEST_CASE("samplers draw new numbers in each call of a compiled function") {
  Generator plain(8), traced(8);
  const Tensor a = scalar(2.0);
  const auto step = compile([](Generator& g, const Tensor& shape) { return gamma_rvs(g, {4}, shape); });
  for (int i = 0; i < 3; ++i) {
    const Tensor expected = gamma_rvs(plain, {4}, a);
    CHECK(bool(all(equal(step(traced, a), expected))));
  }
}

TEST_CASE("split(generator, key): distinct seeds for distinct keys, the generator does not advance") {
  Generator generator(42);
  std::set<std::uint64_t> seeds = {42};
  for (std::uint64_t key = 0; key < 1000; ++key) seeds.insert(reel::split(generator, key).seed());
  CHECK(seeds.size() == 1001);
  CHECK(reel::split(generator, 7).seed() == reel::split(Generator(42), 7).seed());
  CHECK(reel::split(generator, 7).seed() != reel::split(Generator(43), 7).seed());
  CHECK(generator.position() == 0);
  CHECK(reel::split(generator, 7).position() == 0);
}

// Of two places out of three without replacement, the first has the probability w_i, the second w_j / (1 - w_i).
TEST_CASE("random_choice draws in proportion to the weights") {
  Generator generator(37);
  const Tensor x = arange(3.0), weights = from_data(std::vector<double>{0.5, 1.5, 2});
  constexpr double n = 4000;
  Doubles counts(3);
  for (const double v : random_choice(generator, x, 4000, weights).to_vector<double>()) counts.at(std::size_t(v)) += 1;
  const Doubles p = {0.125, 0.375, 0.5};
  double square = 0;  // chi-square of 2 degrees of freedom: above 13.8 with probability 0.001
  for (std::size_t i = 0; i < 3; ++i) square += (counts[i] - n * p[i]) * (counts[i] - n * p[i]) / (n * p[i]);
  CHECK(square < 13.8);
  std::vector<Doubles> pairs(3, Doubles(3));
  for (int i = 0; i < 2000; ++i) {
    const Doubles two = random_choice(generator, x, 2, weights, false).to_vector<double>();
    pairs.at(std::size_t(two[0])).at(std::size_t(two[1])) += 1;
  }
  square = 0;  // of 5 degrees of freedom: above 20.5
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) {
      const double expected = i == j ? 0 : 2000 * p[i] * p[j] / (1 - p[i]);
      if (i == j) CHECK(pairs[i][j] == 0);
      if (i != j) square += (pairs[i][j] - expected) * (pairs[i][j] - expected) / expected;
    }
  CHECK(square < 20.5);

  // Parts of weight 0 are not chosen; huge and whole weights.
  const Tensor huge = from_data(std::vector<double>{0, 1e308, 1e308});
  CHECK(bool(all(greater(random_choice(generator, x, 500, huge), 0))));
  CHECK(sorted(random_choice(generator, x, 2, huge, false)) == Doubles{1, 2});
  const Tensor tiny = from_data(std::vector<double>{0x1p-1074, 0, 0x1p-1074});
  CHECK(bool(all(not_equal(random_choice(generator, x, 500, tiny), 1))));
  CHECK(sorted(random_choice(generator, x, 2, tiny, false)) == Doubles{0, 2});
  CHECK(random_choice(generator, reshape(arange(6.0), {2, 3}), 2, from_data(std::vector<std::int32_t>{1, 0, 3}), false,
                      -1)
            .shape() == Shape{2, 2});
  CHECK(random_choice(generator, zeros({0, 2}), 0, zeros({0})).shape() == Shape{0, 2});
  Generator again(5), other(5);
  const auto step = compile([&](Generator& g, const Tensor& w) { return random_choice(g, arange(3.0), 2, w, false); });
  for (int i = 0; i < 3; ++i) CHECK(bool(all(equal(step(again, weights), random_choice(other, x, 2, weights, false)))));
  GradientTape tape;
  tape.watch(x);
  CHECK(sum(tape.gradient(random_choice(generator, x, 9, weights), x).dense()).item() == 9);

  const std::uint64_t before = generator.position();
  CHECK_THROWS_WITH(random_choice(generator, x, 3, huge, false),
                    StartsWith("random_choice: count is 3, but only 2 weights are above 0"));
  for (const auto& [bad, text] : {std::pair(-1., "-1"), {inf, "inf"}, {qnan, "nan"}})
    CHECK_THROWS_WITH(
        random_choice(generator, x, 1, from_data(std::vector<double>{1, bad, 1})),
        StartsWith(std::string("random_choice: weight 1 is ") + text + "; weights must be finite and at least 0"));
  CHECK_THROWS_WITH(random_choice(generator, x, 1, zeros({3})), StartsWith("random_choice: all 3 weights are 0"));
  CHECK_THROWS_WITH(random_choice(generator, x, 1, ones({2})), StartsWith("random_choice: weights have the shape [2]"));
  CHECK_THROWS_AS(random_choice(generator, x, 1, ones({3}, DType::complex64)), TypeError);
  CHECK_THROWS_AS(random_choice(generator, x, 1, Tensor()), ValueError);
  CHECK_THROWS_AS(random_choice(generator, x, 4, weights, false), ValueError);
  CHECK(generator.position() == before);
}

TEST_CASE("shuffle and choice: elements of the operand, with gradients") {
  Generator generator(11);
  const Tensor x = arange(40.0);
  const Tensor shuffled = random_shuffle(generator, x);
  CHECK(sorted(shuffled) == x.to_vector<double>());
  CHECK_FALSE(bool(all(equal(shuffled, x))));
  const Tensor rows = reshape(x, {4, 10});
  const Tensor columns = random_shuffle(generator, rows, -1);
  CHECK(columns.shape() == Shape{4, 10});
  CHECK(bool(all(equal(columns - columns(range(0, 1)), rows - rows(range(0, 1))))));  // whole columns
  CHECK(random_shuffle(generator, cast(x, DType::int32)).dtype() == DType::int32);

  const Doubles chosen = sorted(random_choice(generator, x, 40, false));
  CHECK(chosen == x.to_vector<double>());
  const Doubles some = sorted(random_choice(generator, x, 7, false));
  CHECK(std::set(some.begin(), some.end()).size() == 7);
  const Tensor many = random_choice(generator, x, 4000);
  Doubles counts(40);
  for (const double v : many.to_vector<double>()) counts.at(static_cast<std::size_t>(v)) += 1;
  double square = 0;  // chi-square of 39 degrees of freedom: above 72.1 with probability 0.001
  for (const double c : counts) square += (c - 100) * (c - 100) / 100;
  CHECK(square < 72.1);
  CHECK(square > 10);
  CHECK(random_choice(generator, rows, 3, true, 1).shape() == Shape{4, 3});
  CHECK(random_choice(generator, zeros({0}), 0).shape() == Shape{0});

  GradientTape tape;
  tape.watch(x);
  const Tensor picked = random_choice(generator, x, 100);
  const Tensor g = tape.gradient(picked, x).dense();
  CHECK(sum(g).item() == 100);
  CHECK(sum(g * x).item() == sum(picked).item());

  CHECK_THROWS_AS(random_choice(generator, x, 41, false), ValueError);
  CHECK_THROWS_AS(random_choice(generator, x, -1), ValueError);
  CHECK_THROWS_AS(random_choice(generator, zeros({0}), 1), ValueError);
  CHECK_THROWS_AS(random_choice(generator, x, 1, true, 1), IndexError);
  CHECK_THROWS_AS(random_shuffle(generator, 1.0), IndexError);
}

TEST_CASE("samples and quantiles of huge parameters are normal, and so are their gradients") {
  const Tensor z = tensor({-3.5, -0.25, 1e-3, 2.5});
  for (const double huge : {1e17, 1e100, 1e300}) {
    INFO(huge);
    Generator generator(5);
    const Tensor parameter = scalar(huge), kappa = scalar(huge);
    GradientTape tape({.persistent = true});
    tape.watch(parameter);
    tape.watch(kappa);
    const Tensor angle = vonmises_rvs(generator, {300}, kappa);
    const Tensor quantile = t_ppf(ndtr(z), parameter);
    tape.stop();
    // A normal variate has a mean square of 1, up to 3 standard deviations of sqrt(2 / 300).
    CHECK(std::abs(mean(square(angle * std::sqrt(huge))).item() - 1) < 0.25);
    CHECK(largest(quantile / ndtri(ndtr(z)) - 1) < 1e-14);
    if (huge > 1e100) continue;  // the gradients underflow
    CHECK(std::abs(number(tape.gradient(angle, kappa)) / (-0.5 * sum(angle).item() / huge) - 1) < 1e-12);
    const double slope = -sum(z * (square(z) + 1)).item() / 4 / huge / huge;
    CHECK(std::abs(number(tape.gradient(quantile, parameter)) / slope - 1) < 1e-12);
  }
}
