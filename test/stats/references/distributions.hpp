// The distributions of <reel/stats.hpp> by their definitions, of long doubles and of jets: rows of op cases and of
// random programs are made of it. Operands: x or p, shape, loc, scale.
#pragma once
#include <algorithm>
#include <array>
#include <reel/ops/pointwise.hpp>
#include <reel/ops/shape.hpp>
#include <reel/stats.hpp>

#include "../../random/normal.hpp"
#include "../../special/references/series.hpp"

namespace references {

using random_programs::Jet;

inline bool negative(long double x) { return x < 0; }
inline bool negative(const Jet& x) { return less(x, Jet(0)); }
inline long double arctan2_of(long double y, long double x) { return std::atan2(y, x); }
inline Jet arctan2_of(long double y, const Jet& x) { return arctan2(Jet(y), x); }
inline long double normal_of(long double z) { return std::erfc(-z / std::sqrt(2.0L)) / 2; }
inline Jet normal_of(const Jet& z) { return smooth(z, random_programs::normal_cdf); }
inline long double normal_quantile_of(long double p) { return references::ndtri(p); }
inline Jet normal_quantile_of(const Jet& p) {
  return chain(p, random_programs::quantile_series(references::ndtri(p.v[0]), std::sqrt(2 * pi), 0.5L), 16);
}
template <class N>
N power_of(const N& x, const N& y) {
  return exp_of(y * log_of(x));
}
template <class N>
N size_of(const N& x) {
  return negative(x) ? -x : x;
}

// Each in standard form: the logarithm of the density, both probabilities, and the quantile.
// clang-format off
struct Norm {
  static constexpr int shapes = 0;
  template <class N> static N logpdf(const N& z, const N&) { return -(z * z) / 2.0L - std::log(2 * pi) / 2; }
  template <class N> static N cdf(const N& z, const N&) { return normal_of(z); }
  template <class N> static N sf(const N& z, const N&) { return normal_of(-z); }
  template <class N> static N ppf(const N& p, const N&) { return normal_quantile_of(p); }
};
struct Expon {
  static constexpr int shapes = 0;
  template <class N> static N logpdf(const N& z, const N&) { return -z; }
  template <class N> static N cdf(const N& z, const N&) { return 1.0L - exp_of(-z); }
  template <class N> static N sf(const N& z, const N&) { return exp_of(-z); }
  template <class N> static N ppf(const N& p, const N&) { return -log_of(1.0L - p); }
};
struct Laplace {
  static constexpr int shapes = 0;
  template <class N> static N logpdf(const N& z, const N&) { using std::abs; return -abs(z) - std::log(2.0L); }
  template <class N> static N cdf(const N& z, const N&) { return negative(z) ? exp_of(z) / 2.0L : 1.0L - exp_of(-z) / 2.0L; }
  template <class N> static N sf(const N& z, const N& s) { return cdf<N>(-z, s); }
  template <class N> static N ppf(const N& p, const N&) { return negative(p - 0.5L) ? log_of(p * 2.0L) : -log_of((1.0L - p) * 2.0L); }
};
struct Logistic {
  static constexpr int shapes = 0;
  template <class N> static N logpdf(const N& z, const N&) { return -z - log_of(1.0L + exp_of(-z)) * 2.0L; }
  template <class N> static N cdf(const N& z, const N&) { return 1.0L / (1.0L + exp_of(-z)); }
  template <class N> static N sf(const N& z, const N&) { return 1.0L / (1.0L + exp_of(z)); }
  template <class N> static N ppf(const N& p, const N&) { return log_of(p / (1.0L - p)); }
};
struct Cauchy {
  static constexpr int shapes = 0;
  template <class N> static N logpdf(const N& z, const N&) { return -log_of((z * z + 1.0L) * pi); }
  template <class N> static N cdf(const N& z, const N&) { return arctan2_of(1.0L, -z) / pi; }
  template <class N> static N sf(const N& z, const N&) { return arctan2_of(1.0L, z) / pi; }
  template <class N> static N ppf(const N& p, const N&) { return -cos_of(p * pi) / sin_of(p * pi); }
};
struct Gumbel {
  static constexpr int shapes = 0;
  template <class N> static N logpdf(const N& z, const N&) { return -z - exp_of(-z); }
  template <class N> static N cdf(const N& z, const N&) { return exp_of(-exp_of(-z)); }
  template <class N> static N sf(const N& z, const N&) { return 1.0L - exp_of(-exp_of(-z)); }
  template <class N> static N ppf(const N& p, const N&) { return -log_of(-log_of(p)); }
};
struct Uniform {
  static constexpr int shapes = 0;
  template <class N> static N logpdf(const N& z, const N&) { return z * 0.0L; }
  template <class N> static N cdf(const N& z, const N&) { return z; }
  template <class N> static N sf(const N& z, const N&) { return 1.0L - z; }
  template <class N> static N ppf(const N& p, const N&) { return p; }
};
struct Pareto {
  static constexpr int shapes = 1;
  template <class N> static N logpdf(const N& z, const N& b) { return log_of(b) - (b + 1.0L) * log_of(z); }
  template <class N> static N cdf(const N& z, const N& b) { return 1.0L - sf(z, b); }
  template <class N> static N sf(const N& z, const N& b) { return power_of<N>(z, -b); }
  template <class N> static N ppf(const N& p, const N& b) { return exp_of(-log_of(1.0L - p) / b); }
};
struct Lognorm {
  static constexpr int shapes = 1;
  template <class N> static N logpdf(const N& z, const N& s) { return Norm::logpdf<N>(log_of(z) / s, s) - log_of(s * z); }
  template <class N> static N cdf(const N& z, const N& s) { return normal_of(log_of(z) / s); }
  template <class N> static N sf(const N& z, const N& s) { return normal_of(-(log_of(z) / s)); }
  template <class N> static N ppf(const N& p, const N& s) { return exp_of(s * normal_quantile_of(p)); }
};
struct Weibull {
  static constexpr int shapes = 1;
  template <class N> static N logpdf(const N& z, const N& c) { return log_of(c) + (c - 1.0L) * log_of(z) - power_of(z, c); }
  template <class N> static N cdf(const N& z, const N& c) { return 1.0L - sf(z, c); }
  template <class N> static N sf(const N& z, const N& c) { return exp_of(-power_of(z, c)); }
  template <class N> static N ppf(const N& p, const N& c) { return power_of<N>(-log_of(1.0L - p), 1.0L / c); }
};
// clang-format on

enum DistributionFunction { logpdf, pdf, cdf, logcdf, sf, logsf, ppf, isf, ilogcdf, ilogsf };

/// With loc and scale.
template <class Distribution, DistributionFunction kind>
struct Function {
  static constexpr int operands = Distribution::shapes + 3;
  template <class N>
  N operator()(const N* x) const {
    const N &loc = x[operands - 2], &scale = x[operands - 1], shape = x[operands - 3];
    const N z = (x[0] - loc) / scale;
    if constexpr (kind == logpdf)
      return Distribution::template logpdf<N>(z, shape) - log_of(scale);
    else if constexpr (kind == pdf)
      return exp_of(Distribution::template logpdf<N>(z, shape)) / scale;
    else if constexpr (kind == cdf)
      return Distribution::template cdf<N>(z, shape);
    else if constexpr (kind == logcdf)
      return log_of(Distribution::template cdf<N>(z, shape));
    else if constexpr (kind == sf)
      return Distribution::template sf<N>(z, shape);
    else if constexpr (kind == logsf)
      return log_of(Distribution::template sf<N>(z, shape));
    else if constexpr (kind == ppf)
      return loc + scale * Distribution::template ppf<N>(x[0], shape);
    else if constexpr (kind == isf)
      return loc + scale * Distribution::template ppf<N>(1.0L - x[0], shape);
    else if constexpr (kind == ilogcdf)
      return loc + scale * Distribution::template ppf<N>(exp_of(-x[0]), shape);
    else
      return loc + scale * Distribution::template ppf<N>(1.0L - exp_of(-x[0]), shape);
  }
};
/// The quantile of the other probability.
template <class Quantile>
struct Upper {
  static constexpr int operands = Quantile::operands;
  template <class N>
  N operator()(const N* x) const {
    std::array<N, operands> y;
    std::copy_n(x, operands, y.begin());
    y[0] = 1.0L - x[0];
    return Quantile{}(y.data());
  }
};
/// The quantile of the probability exp(-x).
template <class Quantile>
struct OfLog {
  static constexpr int operands = Quantile::operands;
  template <class N>
  N operator()(const N* x) const {
    std::array<N, operands> y;
    std::copy_n(x, operands, y.begin());
    y[0] = exp_of(-x[0]);
    return Quantile{}(y.data());
  }
};

// From a root of the values alone, two of Newton's steps give every derivative up to the third.
template <class N, class F, class Slope>
N improved(long double root, const N& p, const F& f, const Slope& slope) {
  N x = root;
  for (int i = 0; i < 2; ++i) x = x - (f(x) - p) / slope(x);
  return x;
}

// Without loc and scale where operands are few; k and n are numbers.
// clang-format off
struct Gamma {
  static constexpr int shapes = 1;
  template <class N> static N logpdf(const N& z, const N& a) { return (a - 1.0L) * log_of(z) - z - log_gamma(a); }
  template <class N> static N cdf(const N& z, const N& a) { return gammainc(a, z); }
  template <class N> static N sf(const N& z, const N& a) { return 1.0L - gammainc(a, z); }
  template <class N> static N ppf(const N& p, const N& a) {
    return improved(gammaincinv(value_of(a), value_of(p)), p, [&](const N& x) { return gammainc(a, x); }, [&](const N& x) { return gamma_density(a, x); });
  }
};
struct Chi2 {
  static constexpr int shapes = 1;
  template <class N> static N cdf(const N& z, const N& v) { return gammainc<N>(v / 2.0L, z / 2.0L); }
  template <class N> static N sf(const N& z, const N& v) { return 1.0L - cdf(z, v); }
  template <class N> static N ppf(const N& p, const N& v) { return Gamma::ppf<N>(p, v / 2.0L) * 2.0L; }
  template <class N> static N logpdf(const N& z, const N& v) { return Gamma::logpdf<N>(z / 2.0L, v / 2.0L) - std::log(2.0L); }
};
struct T {
  static constexpr int shapes = 1;
  template <class N> static N logpdf(const N& z, const N& v) {
    return log_gamma((v + 1.0L) / 2.0L) - log_gamma(v / 2.0L) - log_of(v * pi) / 2.0L - (v + 1.0L) / 2.0L * log_of(z * z / v + 1.0L);
  }
  // DLMF 15.8.1, 15.4; in the tails 8.17.
  template <class N> static N cdf(const N& z, const N& v) {
    const N y = z * z / (v + z * z);
    if (value_of(y) > 0.5L) {
      const N tail = betainc<N>(v / 2.0L, N(0.5L), v / (v + z * z)) / 2.0L;
      return value_of(z) > 0 ? 1.0L - tail : tail;
    }
    N term = 1, sum = 1;
    for (int k = 0; k < 160; ++k) {
      const long double n = k;
      term = term * y * ((v + 1.0L) / 2.0L + n) / (1.5L + n);
      sum = sum + term;
    }
    return z * exp_of(logpdf(z, v)) * sum + 0.5L;
  }
  template <class N> static N sf(const N& z, const N& v) { return cdf<N>(-z, v); }
  template <class N> static N ppf(const N& p, const N& v) {
    const auto f = [&](const N& z) { return cdf<N>(z, v); };
    const auto density = [&](const N& z) { return exp_of(logpdf<N>(z, v)); };
    long double root = 0;
    for (int i = 0; i < 200 && std::abs(root) < 1e3L; ++i) {
      const long double step = (cdf<long double>(root, value_of(v)) - value_of(p)) / exp_of(logpdf<long double>(root, value_of(v)));
      root -= step;
      if (std::abs(step) < 1e-18L) break;
    }
    return improved(root, p, f, density);
  }
};
struct BetaLog {
  static constexpr int operands = 5;
  template <class N> N operator()(const N* x) const {
    const N z = (x[0] - x[3]) / x[4];
    return (x[1] - 1.0L) * log_of(z) + (x[2] - 1.0L) * log_of(1.0L - z) - log_beta(x[1], x[2]) - log_of(x[4]);
  }
};
struct PoissonLog {
  static constexpr int operands = 1;
  template <class N> N operator()(const N* x) const { return log_of(x[0]) * 3.0L - x[0] - std::log(6.0L); }
};
struct BinomLog {
  static constexpr int operands = 1;
  template <class N> N operator()(const N* x) const { return log_of(x[0]) * 2.0L + log_of(1.0L - x[0]) * 3.0L + std::log(10.0L); }
};
struct NbinomLog {
  static constexpr int operands = 2;
  template <class N> N operator()(const N* x) const {
    const N &p = x[0], &n = x[1];
    return log_of(n * (n + 1.0L) * (n + 2.0L)) - std::log(6.0L) + n * log_of(p) + log_of(1.0L - p) * 3.0L;
  }
};
struct BernoulliLog {
  static constexpr int operands = 1;
  template <class N> N operator()(const N* x) const { return log_of(1.0L - x[0]); }
};
struct GeomLog {
  static constexpr int operands = 1;
  template <class N> N operator()(const N* x) const { return log_of(x[0]) + log_of(1.0L - x[0]) * 3.0L; }
};
// clang-format on
template <class Log>
struct Exp {
  static constexpr int operands = Log::operands;
  template <class N>
  N operator()(const N* x) const {
    return exp_of(Log{}(x));
  }
};

template <class F>
struct Log {
  static constexpr int operands = F::operands;
  template <class N>
  N operator()(const N* x) const {
    return log_of(F{}(x));
  }
};

// Functions of a few numbers each, of vectors of two elements made of them, and of bounded distributions.
// clang-format off
#define REEL_REFERENCE(name, count, ...) struct name { static constexpr int operands = count; template <class N> N operator()(const N* x) const { return __VA_ARGS__; } }
template <class N> N square_of(const N& x) { return x * x; }
template <class N> N standard(const N* x) { return (x[0] - x[3]) / x[4]; }
inline long double digamma_of(long double x) { return digamma(x); }  // of jets: random/functions.hpp
REEL_REFERENCE(BetaCdf, 5, betainc<N>(x[1], x[2], standard(x)));
REEL_REFERENCE(BetaSf, 5, 1.0L - betainc<N>(x[1], x[2], standard(x)));
REEL_REFERENCE(BetaPpf, 5, x[3] + x[4] * improved(betaincinv(value_of(x[1]), value_of(x[2]), value_of(x[0])), x[0], [&](const N& y) { return betainc(x[1], x[2], y); }, [&](const N& y) { return beta_density(x[1], x[2], y); }));
REEL_REFERENCE(PoissonSf, 1, gammainc<N>(N(4), x[0]));
REEL_REFERENCE(BinomSf, 1, betainc<N>(N(3), N(3), x[0]));
REEL_REFERENCE(NbinomCdf, 2, betainc<N>(x[1], N(4), x[0]));
REEL_REFERENCE(BernoulliSf, 1, x[0] * 1.0L);
REEL_REFERENCE(GeomSf, 1, exp_of(log_of(1.0L - x[0]) * 4.0L));
template <class F> struct Complement {
  static constexpr int operands = F::operands;
  template <class N> N operator()(const N* x) const { return 1.0L - F{}(x); }
};
REEL_REFERENCE(Vonmises, 3, x[2] * (cos_of(x[0] - x[1])) - log_of(whole_bessel(0, x[2], 1) * (2 * pi)));
// Of x, loc and kappa.
REEL_REFERENCE(VonmisesCdf, 3, (x[0] - x[1]) * unit_integral([&](long double t) { return exp_of(x[2] * cos_of((x[0] - x[1]) * t)); }) / (whole_bessel(0, x[2], 1) * (2 * pi)) + 0.5L);
// By Newton's steps from 0: on numbers, then from the root.
template <class N> N vonmises_steps(N z, const N& p, const N& kappa, int count) {
  for (int i = 0; i < count; ++i) {
    const N x[] = {z, N(0.0L), kappa};
    z = z - (VonmisesCdf{}(x) - p) / exp_of(Vonmises{}(x));
  }
  return z;
}
REEL_REFERENCE(VonmisesPpf, 3, vonmises_steps<N>(N(vonmises_steps<long double>(0, value_of(x[0]), value_of(x[2]), 12)), x[0], x[2], 2) + x[1]);
// The smallest number, from `first` on, up to which the probabilities sum to q; each is the one before times ratio(k).
template <class N, class Ratio>
N number_quantile(const N& q, int first, N term, const Ratio& ratio) {
  N sum = term;
  int k = first;
  for (; negative(sum - q); ++k) {
    term = term * ratio(k);
    sum = sum + term;
  }
  return static_cast<long double>(k);
}
REEL_REFERENCE(PoissonPpf, 2, number_quantile(x[0], 0, exp_of(-x[1]), [&](int k) { return x[1] / (k + 1.0L); }));
REEL_REFERENCE(BinomPpf, 2, number_quantile(x[0], 0, exp_of(log_of(1.0L - x[1] * 0.5L) * 9.0L), [&](int k) { return x[1] * ((9.0L - k) / (k + 1.0L)) / (2.0L - x[1]); }));
REEL_REFERENCE(NbinomPpf, 2, number_quantile(x[0], 0, exp_of(x[1] * std::log(0.375L)), [&](int k) { return (x[1] + static_cast<long double>(k)) * (0.625L / (k + 1.0L)); }));
REEL_REFERENCE(BernoulliPpf, 2, number_quantile<N>(x[0], 0, 1.0L - x[1] * 0.5L, [&](int) { return x[1] / (2.0L - x[1]); }));
REEL_REFERENCE(GeomPpf, 2, number_quantile<N>(x[0], 1, x[1] * 0.5L, [&](int) { return 1.0L - x[1] * 0.5L; }));
// Of a = -x1 and b = x2 + 1.
REEL_REFERENCE(TruncnormCdf, 5, (normal_of(standard(x)) - normal_of(-x[1])) / (normal_of(x[2] + 1.0L) - normal_of(-x[1])));
REEL_REFERENCE(TruncnormPpf, 5, normal_quantile_of(normal_of(-x[1]) + x[0] * (normal_of(x[2] + 1.0L) - normal_of(-x[1]))) * x[4] + x[3]);
REEL_REFERENCE(Truncnorm, 5, -square_of(standard(x)) / 2.0L - std::log(2 * pi) / 2 - log_of(normal_of(x[2] + 1.0L) - normal_of(-x[1])) - log_of(x[4]));
REEL_REFERENCE(Dirichlet2, 3, (x[1] + 1.0L) * log_of(x[0]) + (x[2] - 1.0L) * log_of(1.0L - x[0]) - log_beta<N>(x[1] + 2.0L, x[2]));
// Of x = (x0, 0.5), mean (x3, x3 / 2), factor ((x1, -), (x4, x2)).
REEL_REFERENCE(Normal2, 5, -square_of((x[0] - x[3]) / x[1]) / 2.0L - square_of((0.5L - x[3] * 0.5L - x[4] * (x[0] - x[3]) / x[1]) / x[2]) / 2.0L - log_of(x[1] * x[2]) - std::log(2 * pi));
REEL_REFERENCE(NormKl, 4, log_of(x[3] / x[1]) + (square_of(x[1]) + square_of(x[0] - x[2])) / (square_of(x[3]) * 2.0L) - 0.5L);
REEL_REFERENCE(ExponKl, 2, log_of(x[1] / x[0]) + x[0] / x[1] - 1.0L);
template <class N> N gamma_divergence(const N& a, const N& b) { return log_gamma(a) - log_gamma(b) - (a - b) * digamma_of(b); }
REEL_REFERENCE(GammaKl, 4, gamma_divergence<N>(x[2] + 2.0L, x[0]) + x[0] * (x[1] / x[3] - 1.0L) + (x[2] + 2.0L) * log_of(x[3] / x[1]));
REEL_REFERENCE(BetaKl, 4, gamma_divergence<N>(x[2] + 2.0L, x[0]) + gamma_divergence<N>(x[3], x[1]) - gamma_divergence<N>(x[2] + 2.0L + x[3], x[0] + x[1]));
REEL_REFERENCE(BernoulliKl, 2, x[0] * log_of(x[0] / (x[1] * 0.5L)) + (1.0L - x[0]) * log_of((1.0L - x[0]) / (1.0L - x[1] * 0.5L)));
REEL_REFERENCE(PoissonKl, 2, x[0] * log_of(x[0] / x[1]) - x[0] + x[1]);
// s exp(-|d| / s) + |d|; at d = 0 by its even terms, as the third derivative has a jump there.
template <class N> N laplace_rest(const N& d, const N& s) {
  const N size = size_of(d);
  return value_of(d) == 0 ? s + d * d / (s * 2.0L) : s * exp_of(-size / s) + size;
}
REEL_REFERENCE(LaplaceKl, 4, log_of(x[3] / x[1]) + laplace_rest<N>(x[0] - x[2], x[1]) / x[3] - 1.0L);
REEL_REFERENCE(CauchyKl, 4, log_of((square_of(x[1] + x[3]) + square_of(x[0] - x[2])) / (x[1] * x[3] * 4.0L)));
// Of the ratio of scales and the difference of locs by the second scale.
template <class N> N gumbel_divergence(const N& r, const N& d) { return exp_of(d + log_gamma(r + 1.0L)) - d - log_of(r) + r * euler - (1.0L + euler); }
REEL_REFERENCE(GumbelKl, 4, gumbel_divergence<N>(x[1] / x[3], (x[2] - x[0]) / x[3]));
REEL_REFERENCE(WeibullKl, 4, gumbel_divergence<N>((x[2] + 2.0L) / x[0], (x[2] + 2.0L) * log_of(x[1] / x[3])));
// Of [x0, x0 + x1] in [x2 - 6, x2 + x3 + 6].
REEL_REFERENCE(UniformKl, 4, log_of((x[3] + 12.0L) / x[1]) + (x[0] + x[2]) * 0.0L);
REEL_REFERENCE(ParetoKl, 4, log_of(x[0] / (x[2] + 2.0L)) + (x[2] + 2.0L) / x[0] - 1.0L + (x[2] + 2.0L) * log_of((x[1] + 3.0L) / x[3]));
REEL_REFERENCE(LognormKl, 4, log_of((x[2] + 2.0L) / x[0]) + (square_of(x[0]) + square_of(log_of(x[1] / x[3]))) / (square_of(x[2] + 2.0L) * 2.0L) - 0.5L);
REEL_REFERENCE(Chi2Kl, 2, gamma_divergence<N>((x[1] + 2.0L) * 0.5L, x[0] * 0.5L));
REEL_REFERENCE(GeomKl, 2, BernoulliKl{}(x) / x[0]);
REEL_REFERENCE(BinomKl, 2, BernoulliKl{}(x) * 7.0L);
REEL_REFERENCE(NbinomKl, 2, BernoulliKl{}(x) / x[0] * 2.5L);
REEL_REFERENCE(VonmisesKl, 4, log_of(whole_bessel(0, x[2] + 2.0L, 1) / whole_bessel(0, x[0], 1)) + (x[0] - (x[2] + 2.0L) * cos_of(x[1] - x[3])) * (whole_bessel(1, x[0], 1) / whole_bessel(0, x[0], 1)));
// Of means (x0, 0) and (x3, 0.5), factors ((x1, -), (0.5, x2)) and ((x4, -), (-0.5, x1)): m = ((x1 / x4, 0), ((0.5 + x1 / x4 / 2) / x1, x2 / x1)).
REEL_REFERENCE(Normal2Kl, 5, (square_of(x[1] / x[4]) + square_of((x[1] / x[4] * 0.5L + 0.5L) / x[1]) + square_of(x[2] / x[1]) - 2.0L - log_of(square_of(x[2] / x[4])) + square_of((x[0] - x[3]) / x[4]) + square_of(((x[0] - x[3]) / x[4] - 1.0L) * 0.5L / x[1])) / 2.0L);
// clang-format on

/// The sum, without moving from x, which has further uses.
inline reel::Tensor plus(const reel::Operand& x, const reel::Tensor& y) {
  return x.is_tensor() ? reel::add(x.tensor(), y) : reel::add(x, y);
}
/// The operands, of which the first is a tensor, with the shape and dtype that they have together.
template <std::size_t n, class X>
std::array<reel::Tensor, n> together(const X& x) {
  const reel::Operand& first = x[0];
  reel::Tensor zero = reel::multiply(first.tensor(), 0.0);
  for (std::size_t k = 1; k < n; ++k) zero = reel::multiply(plus(x[k], zero), 0.0);
  std::array<reel::Tensor, n> all;
  for (std::size_t k = 0; k < n; ++k) all[k] = plus(x[k], zero);
  return all;
}
inline reel::Tensor vector_of(const reel::Tensor& x, const reel::Tensor& y) { return reel::stack({x, y}, -1); }
/// Lower triangular matrices, with a number that is not read above the diagonal.
inline reel::Tensor factor_of(const reel::Tensor& x, const reel::Tensor& below, const reel::Tensor& y) {
  return reel::stack({vector_of(x, 0 * x + 7), vector_of(below, y)}, -2);
}

/// Where x lies: anywhere, well above loc, between loc and loc + scale; or it is a probability, or a rate;
/// or not far above loc; or it is a probability whose quantile is a whole number.
enum Support { whole_line, half_line, unit, fraction, rate, near_loc, number };

/// Calls add(name, reference, support, op) for each function.
template <class Add>
void for_each_distribution_function(const Add& add) {
  using namespace reel;
  // clang-format off
// A distribution with all its functions; the arguments that follow x.
#define REEL_ROW(name, Distribution, kind, support, ...) \
  add(#name "_" #kind, Function<Distribution, kind>{}, support, [](const auto& x) { return name##_##kind(__VA_ARGS__); });
#define REEL_ROWS(name, Distribution, support, ...) \
  REEL_ROW(name, Distribution, logpdf, support, x[0], __VA_ARGS__) REEL_ROW(name, Distribution, pdf, support, x[0], __VA_ARGS__) \
  REEL_ROW(name, Distribution, cdf, support, x[0], __VA_ARGS__) REEL_ROW(name, Distribution, logcdf, support, x[0], __VA_ARGS__) \
  REEL_ROW(name, Distribution, sf, support, x[0], __VA_ARGS__) REEL_ROW(name, Distribution, logsf, support, x[0], __VA_ARGS__) \
  REEL_ROW(name, Distribution, ppf, fraction, x[0], __VA_ARGS__) REEL_ROW(name, Distribution, isf, fraction, x[0], __VA_ARGS__) \
  REEL_ROW(name, Distribution, ilogcdf, fraction, negative(x[0]), __VA_ARGS__) \
  REEL_ROW(name, Distribution, ilogsf, fraction, negative(x[0]), __VA_ARGS__)
  REEL_ROWS(norm, Norm, whole_line, x[1], x[2])
  REEL_ROWS(expon, Expon, half_line, x[1], x[2])
  REEL_ROWS(laplace, Laplace, whole_line, x[1], x[2])
  REEL_ROWS(logistic, Logistic, whole_line, x[1], x[2])
  REEL_ROWS(cauchy, Cauchy, whole_line, x[1], x[2])
  REEL_ROWS(gumbel_r, Gumbel, whole_line, x[1], x[2])
  REEL_ROWS(uniform, Uniform, unit, x[1], x[2])
  REEL_ROWS(pareto, Pareto, half_line, x[1], x[2], x[3])
  REEL_ROWS(lognorm, Lognorm, half_line, x[1], x[2], x[3])
  REEL_ROWS(weibull_min, Weibull, half_line, x[1], x[2], x[3])
#undef REEL_ROWS
#undef REEL_ROW
  add("gamma_logpdf", Function<Gamma, logpdf>{}, half_line, [](const auto& x) { return gamma_logpdf(x[0], x[1], x[2], x[3]); });
  add("gamma_pdf", Function<Gamma, pdf>{}, half_line, [](const auto& x) { return gamma_pdf(x[0], x[1], x[2], x[3]); });
  add("chi2_logpdf", Function<Chi2, logpdf>{}, half_line, [](const auto& x) { return chi2_logpdf(x[0], x[1], x[2], x[3]); });
  add("chi2_pdf", Function<Chi2, pdf>{}, half_line, [](const auto& x) { return chi2_pdf(x[0], x[1], x[2], x[3]); });
  add("t_logpdf", Function<T, logpdf>{}, whole_line, [](const auto& x) { return t_logpdf(x[0], x[1], x[2], x[3]); });
  add("t_pdf", Function<T, pdf>{}, whole_line, [](const auto& x) { return t_pdf(x[0], x[1], x[2], x[3]); });
  add("beta_logpdf", BetaLog{}, unit, [](const auto& x) { return beta_logpdf(x[0], x[1], x[2], x[3], x[4]); });
  add("beta_pdf", Exp<BetaLog>{}, unit, [](const auto& x) { return beta_pdf(x[0], x[1], x[2], x[3], x[4]); });
  add("poisson_logpmf", PoissonLog{}, rate, [](const auto& x) { return poisson_logpmf(3, x[0]); });
  add("poisson_pmf", Exp<PoissonLog>{}, rate, [](const auto& x) { return poisson_pmf(3, x[0]); });
  add("binom_logpmf", BinomLog{}, fraction, [](const auto& x) { return binom_logpmf(2, 5, x[0]); });
  add("binom_pmf", Exp<BinomLog>{}, fraction, [](const auto& x) { return binom_pmf(2, 5, x[0]); });
  add("nbinom_logpmf", NbinomLog{}, fraction, [](const auto& x) { return nbinom_logpmf(3, x[1], x[0]); });
  add("nbinom_pmf", Exp<NbinomLog>{}, fraction, [](const auto& x) { return nbinom_pmf(3, x[1], x[0]); });
  add("bernoulli_logpmf", BernoulliLog{}, fraction, [](const auto& x) { return bernoulli_logpmf(0, x[0]); });
  add("bernoulli_pmf", Exp<BernoulliLog>{}, fraction, [](const auto& x) { return bernoulli_pmf(0, x[0]); });
  add("geom_logpmf", GeomLog{}, fraction, [](const auto& x) { return geom_logpmf(4, x[0]); });
  add("geom_pmf", Exp<GeomLog>{}, fraction, [](const auto& x) { return geom_pmf(4, x[0]); });
  add("vonmises_logpdf", Vonmises{}, whole_line, [](const auto& x) { return vonmises_logpdf(x[0], x[2], x[1]); });
  add("vonmises_pdf", Exp<Vonmises>{}, whole_line, [](const auto& x) { return vonmises_pdf(x[0], x[2], x[1]); });
  add("vonmises_cdf", VonmisesCdf{}, near_loc, [](const auto& x) { return vonmises_cdf(x[0], x[2], x[1]); });
  add("vonmises_sf", Complement<VonmisesCdf>{}, near_loc, [](const auto& x) { return vonmises_sf(x[0], x[2], x[1]); });
  add("vonmises_logcdf", Log<VonmisesCdf>{}, near_loc, [](const auto& x) { return vonmises_logcdf(x[0], x[2], x[1]); });
  add("vonmises_logsf", Log<Complement<VonmisesCdf>>{}, near_loc, [](const auto& x) { return vonmises_logsf(x[0], x[2], x[1]); });
  add("vonmises_ppf", VonmisesPpf{}, fraction, [](const auto& x) { return vonmises_ppf(x[0], x[2], x[1]); });
  add("vonmises_isf", Upper<VonmisesPpf>{}, fraction, [](const auto& x) { return vonmises_isf(x[0], x[2], x[1]); });
  add("vonmises_ilogcdf", OfLog<VonmisesPpf>{}, fraction, [](const auto& x) { return vonmises_ilogcdf(negative(x[0]), x[2], x[1]); });
  add("vonmises_ilogsf", OfLog<Upper<VonmisesPpf>>{}, fraction, [](const auto& x) { return vonmises_ilogsf(negative(x[0]), x[2], x[1]); });
  add("truncnorm_logpdf", Truncnorm{}, unit, [](const auto& x) {
    const auto v = together<5>(x);
    return truncnorm_logpdf(v[0], -v[1], v[2] + 1, v[3], v[4]);
  });
  add("truncnorm_pdf", Exp<Truncnorm>{}, unit, [](const auto& x) { const auto v = together<5>(x); return truncnorm_pdf(v[0], -v[1], v[2] + 1, v[3], v[4]); });
  add("truncnorm_cdf", TruncnormCdf{}, unit, [](const auto& x) { const auto v = together<5>(x); return truncnorm_cdf(v[0], -v[1], v[2] + 1, v[3], v[4]); });
  add("truncnorm_sf", Complement<TruncnormCdf>{}, unit, [](const auto& x) { const auto v = together<5>(x); return truncnorm_sf(v[0], -v[1], v[2] + 1, v[3], v[4]); });
  add("truncnorm_logcdf", Log<TruncnormCdf>{}, unit, [](const auto& x) { const auto v = together<5>(x); return truncnorm_logcdf(v[0], -v[1], v[2] + 1, v[3], v[4]); });
  add("truncnorm_logsf", Log<Complement<TruncnormCdf>>{}, unit, [](const auto& x) { const auto v = together<5>(x); return truncnorm_logsf(v[0], -v[1], v[2] + 1, v[3], v[4]); });
  add("truncnorm_ppf", TruncnormPpf{}, fraction, [](const auto& x) { const auto v = together<5>(x); return truncnorm_ppf(v[0], -v[1], v[2] + 1, v[3], v[4]); });
  add("truncnorm_isf", Upper<TruncnormPpf>{}, fraction, [](const auto& x) { const auto v = together<5>(x); return truncnorm_isf(v[0], -v[1], v[2] + 1, v[3], v[4]); });
  add("truncnorm_ilogcdf", OfLog<TruncnormPpf>{}, fraction, [](const auto& x) { const auto v = together<5>(x); return truncnorm_ilogcdf(-v[0], -v[1], v[2] + 1, v[3], v[4]); });
  add("truncnorm_ilogsf", OfLog<Upper<TruncnormPpf>>{}, fraction, [](const auto& x) { const auto v = together<5>(x); return truncnorm_ilogsf(-v[0], -v[1], v[2] + 1, v[3], v[4]); });
  add("dirichlet_logpdf", Dirichlet2{}, fraction, [](const auto& x) {
    const auto v = together<3>(x);
    return dirichlet_logpdf(vector_of(v[0], 1 - v[0]), vector_of(v[1] + 2, v[2]));
  });
  add("multivariate_normal_logpdf", Normal2{}, unit, [](const auto& x) {
    const auto v = together<5>(x);
    return multivariate_normal_logpdf(vector_of(v[0], 0 * v[0] + 0.5), vector_of(v[3], v[3] * 0.5), factor_of(v[1], v[4], v[2]));
  });
  add("gamma_cdf", Function<Gamma, cdf>{}, half_line, [](const auto& x) { return gamma_cdf(x[0], x[1], x[2], x[3]); });
  add("gamma_sf", Function<Gamma, sf>{}, half_line, [](const auto& x) { return gamma_sf(x[0], x[1], x[2], x[3]); });
  add("gamma_logcdf", Function<Gamma, logcdf>{}, half_line, [](const auto& x) { return gamma_logcdf(x[0], x[1], x[2], x[3]); });
  add("gamma_logsf", Function<Gamma, logsf>{}, half_line, [](const auto& x) { return gamma_logsf(x[0], x[1], x[2], x[3]); });
  add("gamma_ppf", Function<Gamma, ppf>{}, fraction, [](const auto& x) { return gamma_ppf(x[0], x[1], x[2], x[3]); });
  add("gamma_isf", Function<Gamma, isf>{}, fraction, [](const auto& x) { return gamma_isf(x[0], x[1], x[2], x[3]); });
  add("gamma_ilogcdf", Function<Gamma, ilogcdf>{}, fraction, [](const auto& x) { return gamma_ilogcdf(negative(x[0]), x[1], x[2], x[3]); });
  add("gamma_ilogsf", Function<Gamma, ilogsf>{}, fraction, [](const auto& x) { return gamma_ilogsf(negative(x[0]), x[1], x[2], x[3]); });
  add("chi2_cdf", Function<Chi2, cdf>{}, half_line, [](const auto& x) { return chi2_cdf(x[0], x[1], x[2], x[3]); });
  add("chi2_sf", Function<Chi2, sf>{}, half_line, [](const auto& x) { return chi2_sf(x[0], x[1], x[2], x[3]); });
  add("chi2_logcdf", Function<Chi2, logcdf>{}, half_line, [](const auto& x) { return chi2_logcdf(x[0], x[1], x[2], x[3]); });
  add("chi2_logsf", Function<Chi2, logsf>{}, half_line, [](const auto& x) { return chi2_logsf(x[0], x[1], x[2], x[3]); });
  add("chi2_ppf", Function<Chi2, ppf>{}, fraction, [](const auto& x) { return chi2_ppf(x[0], x[1], x[2], x[3]); });
  add("chi2_isf", Function<Chi2, isf>{}, fraction, [](const auto& x) { return chi2_isf(x[0], x[1], x[2], x[3]); });
  add("chi2_ilogcdf", Function<Chi2, ilogcdf>{}, fraction, [](const auto& x) { return chi2_ilogcdf(negative(x[0]), x[1], x[2], x[3]); });
  add("chi2_ilogsf", Function<Chi2, ilogsf>{}, fraction, [](const auto& x) { return chi2_ilogsf(negative(x[0]), x[1], x[2], x[3]); });
  add("beta_cdf", BetaCdf{}, unit, [](const auto& x) { return beta_cdf(x[0], x[1], x[2], x[3], x[4]); });
  add("beta_sf", BetaSf{}, unit, [](const auto& x) { return beta_sf(x[0], x[1], x[2], x[3], x[4]); });
  add("beta_logcdf", Log<BetaCdf>{}, unit, [](const auto& x) { return beta_logcdf(x[0], x[1], x[2], x[3], x[4]); });
  add("beta_logsf", Log<BetaSf>{}, unit, [](const auto& x) { return beta_logsf(x[0], x[1], x[2], x[3], x[4]); });
  add("beta_ppf", BetaPpf{}, fraction, [](const auto& x) { return beta_ppf(x[0], x[1], x[2], x[3], x[4]); });
  add("beta_isf", Upper<BetaPpf>{}, fraction, [](const auto& x) { return beta_isf(x[0], x[1], x[2], x[3], x[4]); });
  add("beta_ilogcdf", OfLog<BetaPpf>{}, fraction, [](const auto& x) { return beta_ilogcdf(negative(x[0]), x[1], x[2], x[3], x[4]); });
  add("beta_ilogsf", OfLog<Upper<BetaPpf>>{}, fraction, [](const auto& x) { return beta_ilogsf(negative(x[0]), x[1], x[2], x[3], x[4]); });
  add("t_cdf", Function<T, cdf>{}, near_loc, [](const auto& x) { return t_cdf(x[0], x[1], x[2], x[3]); });
  add("t_sf", Function<T, sf>{}, near_loc, [](const auto& x) { return t_sf(x[0], x[1], x[2], x[3]); });
  add("t_logcdf", Function<T, logcdf>{}, near_loc, [](const auto& x) { return t_logcdf(x[0], x[1], x[2], x[3]); });
  add("t_logsf", Function<T, logsf>{}, near_loc, [](const auto& x) { return t_logsf(x[0], x[1], x[2], x[3]); });
  add("t_ppf", Function<T, ppf>{}, fraction, [](const auto& x) { return t_ppf(x[0], x[1], x[2], x[3]); });
  add("t_isf", Function<T, isf>{}, fraction, [](const auto& x) { return t_isf(x[0], x[1], x[2], x[3]); });
  add("t_ilogcdf", Function<T, ilogcdf>{}, fraction, [](const auto& x) { return t_ilogcdf(negative(x[0]), x[1], x[2], x[3]); });
  add("t_ilogsf", Function<T, ilogsf>{}, fraction, [](const auto& x) { return t_ilogsf(negative(x[0]), x[1], x[2], x[3]); });
  add("poisson_cdf", Complement<PoissonSf>{}, rate, [](const auto& x) { return poisson_cdf(3.5, x[0]); });
  add("poisson_sf", PoissonSf{}, rate, [](const auto& x) { return poisson_sf(3, x[0]); });
  add("poisson_logcdf", Log<Complement<PoissonSf>>{}, rate, [](const auto& x) { return poisson_logcdf(3.5, x[0]); });
  add("poisson_logsf", Log<PoissonSf>{}, rate, [](const auto& x) { return poisson_logsf(3, x[0]); });
  add("binom_cdf", Complement<BinomSf>{}, fraction, [](const auto& x) { return binom_cdf(2, 5, x[0]); });
  add("binom_sf", BinomSf{}, fraction, [](const auto& x) { return binom_sf(2.5, 5, x[0]); });
  add("binom_logcdf", Log<Complement<BinomSf>>{}, fraction, [](const auto& x) { return binom_logcdf(2, 5, x[0]); });
  add("binom_logsf", Log<BinomSf>{}, fraction, [](const auto& x) { return binom_logsf(2.5, 5, x[0]); });
  add("nbinom_cdf", NbinomCdf{}, fraction, [](const auto& x) { return nbinom_cdf(3.5, x[1], x[0]); });
  add("nbinom_sf", Complement<NbinomCdf>{}, fraction, [](const auto& x) { return nbinom_sf(3, x[1], x[0]); });
  add("nbinom_logcdf", Log<NbinomCdf>{}, fraction, [](const auto& x) { return nbinom_logcdf(3.5, x[1], x[0]); });
  add("nbinom_logsf", Log<Complement<NbinomCdf>>{}, fraction, [](const auto& x) { return nbinom_logsf(3, x[1], x[0]); });
  add("bernoulli_cdf", Complement<BernoulliSf>{}, fraction, [](const auto& x) { return bernoulli_cdf(0, x[0]); });
  add("bernoulli_sf", BernoulliSf{}, fraction, [](const auto& x) { return bernoulli_sf(0.5, x[0]); });
  add("bernoulli_logcdf", Log<Complement<BernoulliSf>>{}, fraction, [](const auto& x) { return bernoulli_logcdf(0, x[0]); });
  add("bernoulli_logsf", Log<BernoulliSf>{}, fraction, [](const auto& x) { return bernoulli_logsf(0.5, x[0]); });
  add("geom_cdf", Complement<GeomSf>{}, fraction, [](const auto& x) { return geom_cdf(4.5, x[0]); });
  add("geom_sf", GeomSf{}, fraction, [](const auto& x) { return geom_sf(4, x[0]); });
  add("geom_logcdf", Log<Complement<GeomSf>>{}, fraction, [](const auto& x) { return geom_logcdf(4.5, x[0]); });
  add("geom_logsf", Log<GeomSf>{}, fraction, [](const auto& x) { return geom_logsf(4, x[0]); });
  add("poisson_ppf", PoissonPpf{}, number, [](const auto& x) { return poisson_ppf(x[0], x[1]); });
  add("binom_ppf", BinomPpf{}, number, [](const auto& x) {
    const auto v = together<2>(x);
    return binom_ppf(v[0], 9, v[1] * 0.5);
  });
  add("nbinom_ppf", NbinomPpf{}, number, [](const auto& x) { return nbinom_ppf(x[0], x[1], 0.375); });
  add("bernoulli_ppf", BernoulliPpf{}, number, [](const auto& x) {
    const auto v = together<2>(x);
    return bernoulli_ppf(v[0], v[1] * 0.5);
  });
  add("geom_ppf", GeomPpf{}, number, [](const auto& x) {
    const auto v = together<2>(x);
    return geom_ppf(v[0], v[1] * 0.5);
  });
  add("poisson_isf", Upper<PoissonPpf>{}, number, [](const auto& x) { return poisson_isf(x[0], x[1]); });
  add("binom_isf", Upper<BinomPpf>{}, number, [](const auto& x) {
    const auto v = together<2>(x);
    return binom_isf(v[0], 9, v[1] * 0.5);
  });
  add("nbinom_isf", Upper<NbinomPpf>{}, number, [](const auto& x) { return nbinom_isf(x[0], x[1], 0.375); });
  add("bernoulli_isf", Upper<BernoulliPpf>{}, number, [](const auto& x) {
    const auto v = together<2>(x);
    return bernoulli_isf(v[0], v[1] * 0.5);
  });
  add("geom_isf", Upper<GeomPpf>{}, number, [](const auto& x) {
    const auto v = together<2>(x);
    return geom_isf(v[0], v[1] * 0.5);
  });
  add("norm_kl", NormKl{}, whole_line, [](const auto& x) { return norm_kl(x[0], x[1], x[2], x[3]); });
  add("expon_kl", ExponKl{}, rate, [](const auto& x) { return expon_kl(x[0], x[1]); });
  add("gamma_kl", GammaKl{}, rate, [](const auto& x) {
    const auto v = together<4>(x);
    return gamma_kl(v[0], v[1], v[2] + 2, v[3]);
  });
  add("beta_kl", BetaKl{}, rate, [](const auto& x) {
    const auto v = together<4>(x);
    return beta_kl(v[0], v[1], v[2] + 2, v[3]);
  });
  add("bernoulli_kl", BernoulliKl{}, fraction, [](const auto& x) {
    const auto v = together<2>(x);
    return bernoulli_kl(v[0], v[1] * 0.5);
  });
  add("poisson_kl", PoissonKl{}, rate, [](const auto& x) { return poisson_kl(x[0], x[1]); });
  add("laplace_kl", LaplaceKl{}, whole_line, [](const auto& x) { return laplace_kl(x[0], x[1], x[2], x[3]); });
  add("cauchy_kl", CauchyKl{}, whole_line, [](const auto& x) { return cauchy_kl(x[0], x[1], x[2], x[3]); });
  add("gumbel_r_kl", GumbelKl{}, rate, [](const auto& x) { return gumbel_r_kl(x[0], x[1], x[2], x[3]); });
  add("weibull_min_kl", WeibullKl{}, rate, [](const auto& x) {
    const auto v = together<4>(x);
    return weibull_min_kl(v[0], v[1], v[2] + 2, v[3]);
  });
  add("uniform_kl", UniformKl{}, whole_line, [](const auto& x) {
    const auto v = together<4>(x);
    return uniform_kl(v[0], v[1], v[2] - 6, v[3] + 12);
  });
  add("pareto_kl", ParetoKl{}, rate, [](const auto& x) {
    const auto v = together<4>(x);
    return pareto_kl(v[0], v[1] + 3, v[2] + 2, v[3]);
  });
  add("lognorm_kl", LognormKl{}, rate, [](const auto& x) {
    const auto v = together<4>(x);
    return lognorm_kl(v[0], v[1], v[2] + 2, v[3]);
  });
  add("vonmises_kl", VonmisesKl{}, rate, [](const auto& x) {
    const auto v = together<4>(x);
    return vonmises_kl(v[0], v[1], v[2] + 2, v[3]);
  });
  add("chi2_kl", Chi2Kl{}, rate, [](const auto& x) {
    const auto v = together<2>(x);
    return chi2_kl(v[0], v[1] + 2);
  });
  add("geom_kl", GeomKl{}, fraction, [](const auto& x) {
    const auto v = together<2>(x);
    return geom_kl(v[0], v[1] * 0.5);
  });
  add("binom_kl", BinomKl{}, fraction, [](const auto& x) {
    const auto v = together<2>(x);
    return binom_kl(7, v[0], v[1] * 0.5);
  });
  add("nbinom_kl", NbinomKl{}, fraction, [](const auto& x) {
    const auto v = together<2>(x);
    return nbinom_kl(2.5, v[0], v[1] * 0.5);
  });
  add("dirichlet_kl", BetaKl{}, rate, [](const auto& x) {
    const auto v = together<4>(x);
    return dirichlet_kl(vector_of(v[0], v[1]), vector_of(v[2] + 2, v[3]));
  });
  add("multivariate_normal_kl", Normal2Kl{}, whole_line, [](const auto& x) {
    const auto v = together<5>(x);
    const reel::Tensor zero = 0 * v[0];
    return multivariate_normal_kl(vector_of(v[0], zero), factor_of(v[1], zero + 0.5, v[2]), vector_of(v[3], zero + 0.5), factor_of(v[4], zero - 0.5, v[1]));
  });
  // clang-format on
}

}  // namespace references
