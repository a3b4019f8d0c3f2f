// The functions of <reel/special.hpp> whose references are power series, quadratures or closed forms, each on one
// domain for all its operands. Rows of op cases and of random programs are made from it. Whole numbers are fixed.
#pragma once
#include <reel/special.hpp>

#include "series.hpp"

namespace references {

/// Calls add(name, number of operands, low, high, reference, op) for each function. The reference takes pointers to
/// long doubles or to jets; the op takes anything that has operands by index.
template <class Add>
void for_each_function(const Add& add) {
  using L = long double;
  // clang-format off
  add("multigammaln", 1, 1.2, 4, [](const auto* x) { return log_gamma(x[0]) + log_gamma(x[0] - 0.5L) + std::log(pi) / 2; }, [](const auto& x) { return multigammaln(x[0], 2); });
  add("comb", 2, 0.6, 1.4, [](const auto* x) { return exp_of(log_gamma(x[0] + 1.0L) - log_gamma(x[1] + 1.0L) - log_gamma(x[0] - x[1] + 1.0L)); }, [](const auto& x) { return comb(x[0], x[1]); });
  add("zeta", 2, 1.3, 4, [](const auto* x) { return hurwitz(x[0], x[1]); }, [](const auto& x) { return zeta(x[0], x[1]); });
  add("zeta", 1, 1.3, 4, [](const auto* x) { return hurwitz(x[0], x[0] * 0.0L + 1.0L); }, [](const auto& x) { return zeta(x[0]); });
  add("spence", 1, 0.6, 1.6, [](const auto* x) { const auto z = 1.0L - x[0]; return z * hypergeometric(z, {1, 1, 1}, {2, 2}); }, [](const auto& x) { return spence(x[0]); });
  add("dawsn", 1, 0.2, 2, [](const auto* x) { return x[0] * hypergeometric(-(x[0] * x[0]), {1}, {1.5L}); }, [](const auto& x) { return dawsn(x[0]); });
  add("exp1", 1, 0.2, 3, [](const auto* x) { return -exponential_integral(-x[0], x[0]); }, [](const auto& x) { return exp1(x[0]); });
  add("expint", 1, 0.6, 3, [](const auto* x) { return exponential_integral(x[0], x[0]); }, [](const auto& x) { return expint(x[0]); });
  add("expn", 1, 0.2, 3, [](const auto* x) { const auto e1 = -exponential_integral(-x[0], x[0]), e = exp_of(-x[0]); return (e - x[0] * (e - x[0] * e1)) / 2.0L; }, [](const auto& x) { return expn(3, x[0]); });
  add("sinint", 1, 0.2, 3, [](const auto* x) { return x[0] * hypergeometric(x[0] * x[0] * -0.25L, {0.5L}, {1.5L, 1.5L}); }, [](const auto& x) { return sinint(x[0]); });
  add("cosint", 1, 0.8, 2.5, [](const auto* x) { const auto z = x[0] * x[0] * -0.25L; return euler + log_of(x[0]) + z * hypergeometric(z, {1, 1}, {2, 2, 1.5L}); }, [](const auto& x) { return cosint(x[0]); });
  add("fresnel_sin", 1, 0.3, 1.4, [](const auto* x) { const auto t = x[0] * x[0] * (pi / 2); return x[0] * t / 3.0L * hypergeometric(t * t * -0.25L, {0.75L}, {1.5L, 1.75L}); }, [](const auto& x) { return fresnel_sin(x[0]); });
  add("fresnel_cos", 1, 0.3, 1.4, [](const auto* x) { const auto t = x[0] * x[0] * (pi / 2); return x[0] * hypergeometric(t * t * -0.25L, {0.25L}, {0.5L, 1.25L}); }, [](const auto& x) { return fresnel_cos(x[0]); });
  add("lambertw", 1, 0.2, 3, [](const auto* x) { return lambert(x[0], 0.7L); }, [](const auto& x) { return lambertw(x[0]); });
  add("lambertw", 1, -0.33, -0.05, [](const auto* x) { return lambert(x[0], -2.5L); }, [](const auto& x) { return lambertw(x[0], -1); });
  add("iv", 2, 0.6, 3, [](const auto* x) { return bessel(x[0], x[1], 1); }, [](const auto& x) { return iv(x[0], x[1]); });
  add("ive", 2, 0.6, 3, [](const auto* x) { return bessel(x[0], x[1], 1) * exp_of(-x[1]); }, [](const auto& x) { return ive(x[0], x[1]); });
  add("kv", 2, 0.2, 0.8, [](const auto* x) { return bessel_k(x[0], x[1]); }, [](const auto& x) { return kv(x[0], x[1]); });
  add("kve", 2, 0.2, 0.8, [](const auto* x) { return bessel_k(x[0], x[1]) * exp_of(x[1]); }, [](const auto& x) { return kve(x[0], x[1]); });
  add("jv", 2, 0.3, 1.2, [](const auto* x) { return bessel(x[0], x[1], -1); }, [](const auto& x) { return jv(x[0], x[1]); });
  add("yv", 2, 0.2, 0.8, [](const auto* x) { return bessel_y(x[0], x[1]); }, [](const auto& x) { return yv(x[0], x[1]); });
  add("i0", 1, 0.2, 3, [](const auto* x) { return whole_bessel(0, x[0], 1); }, [](const auto& x) { return i0(x[0]); });
  add("i1", 1, 0.2, 3, [](const auto* x) { return whole_bessel(1, x[0], 1); }, [](const auto& x) { return i1(x[0]); });
  add("i0e", 1, 0.2, 3, [](const auto* x) { return whole_bessel(0, x[0], 1) * exp_of(-x[0]); }, [](const auto& x) { return i0e(x[0]); });
  add("i1e", 1, 0.2, 3, [](const auto* x) { return whole_bessel(1, x[0], 1) * exp_of(-x[0]); }, [](const auto& x) { return i1e(x[0]); });
  add("k0", 1, 0.2, 2, [](const auto* x) { return second_kind_0(x[0], 1) * -1.0L; }, [](const auto& x) { return k0(x[0]); });
  add("k1", 1, 0.2, 2, [](const auto* x) { return second_kind_1(x[0], 1); }, [](const auto& x) { return k1(x[0]); });
  add("k0e", 1, 0.2, 2, [](const auto* x) { return second_kind_0(x[0], 1) * exp_of(x[0]) * -1.0L; }, [](const auto& x) { return k0e(x[0]); });
  add("k1e", 1, 0.2, 2, [](const auto* x) { return second_kind_1(x[0], 1) * exp_of(x[0]); }, [](const auto& x) { return k1e(x[0]); });
  add("j0", 1, 0.2, 2, [](const auto* x) { return whole_bessel(0, x[0], -1); }, [](const auto& x) { return j0(x[0]); });
  add("j1", 1, 0.2, 3, [](const auto* x) { return whole_bessel(1, x[0], -1); }, [](const auto& x) { return j1(x[0]); });
  add("y0", 1, 1.2, 3, [](const auto* x) { return second_kind_0(x[0], -1) * (2 / pi); }, [](const auto& x) { return y0(x[0]); });
  add("y1", 1, 0.3, 1.8, [](const auto* x) { return second_kind_1(x[0], -1) * (-2 / pi); }, [](const auto& x) { return y1(x[0]); });
  add("jn", 1, 0.5, 4, [](const auto* x) { return whole_bessel(3, x[0], -1); }, [](const auto& x) { return jn(3, x[0]); });
  add("yn", 1, 0.3, 1.8, [](const auto* x) { return (2.0L / x[0] * second_kind_1(x[0], -1) + second_kind_0(x[0], -1)) * (-2 / pi); }, [](const auto& x) { return yn(2, x[0]); });
  add("spherical_jn", 1, 1, 4, [](const auto* x) { return ((3.0L / (x[0] * x[0]) - 1.0L) * sin_of(x[0]) - 3.0L / x[0] * cos_of(x[0])) / x[0]; }, [](const auto& x) { return spherical_jn(2, x[0]); });
  add("spherical_yn", 1, 0.6, 2, [](const auto* x) { return -(cos_of(x[0]) / x[0] + sin_of(x[0])) / x[0]; }, [](const auto& x) { return spherical_yn(1, x[0]); });
  add("spherical_in", 1, 1, 3, [](const auto* x) { const auto e = exp_of(x[0]), d = exp_of(-x[0]); return (e + d - (e - d) / x[0]) / (x[0] * 2.0L); }, [](const auto& x) { return spherical_in(1, x[0]); });
  add("spherical_kn", 1, 0.4, 3, [](const auto* x) { return exp_of(-x[0]) * (1.0L + 1.0L / x[0]) / x[0] * (pi / 2); }, [](const auto& x) { return spherical_kn(1, x[0]); });
  add("airy_ai", 1, 0.2, 2, [](const auto* x) { return airy(x[0], 0.355028053887817239260L, -0.258819403792806798405L); }, [](const auto& x) { return airy_ai(x[0]); });
  add("airy_bi", 1, 0.2, 2, [](const auto* x) { return airy(x[0], 0.614926627446000735151L, 0.448288357353826357915L); }, [](const auto& x) { return airy_bi(x[0]); });
  add("ellipk", 1, 0.1, 0.6, [](const auto* x) { return hypergeometric(x[0], {0.5L, 0.5L}, {1}) * (pi / 2); }, [](const auto& x) { return ellipk(x[0]); });
  add("ellipkm1", 1, 0.4, 0.9, [](const auto* x) { return hypergeometric(1.0L - x[0], {0.5L, 0.5L}, {1}) * (pi / 2); }, [](const auto& x) { return ellipkm1(x[0]); });
  add("ellipe", 1, 0.1, 0.6, [](const auto* x) { return hypergeometric(x[0], {-0.5L, 0.5L}, {1}) * (pi / 2); }, [](const auto& x) { return ellipe(x[0]); });
  add("ellipkinc", 2, 0.2, 0.8, [](const auto* x) { return x[0] * unit_integral([&](L t) { const auto s = sin_of(x[0] * t); return 1.0L / sqrt_of(1.0L - x[1] * s * s); }); }, [](const auto& x) { return ellipkinc(x[0], x[1]); });
  add("ellipeinc", 2, 0.2, 0.8, [](const auto* x) { return x[0] * unit_integral([&](L t) { const auto s = sin_of(x[0] * t); return sqrt_of(1.0L - x[1] * s * s); }); }, [](const auto& x) { return ellipeinc(x[0], x[1]); });
  add("elliprc", 2, 0.6, 3, [](const auto* x) { return half_line_integral([&](L t) { return 0.5L / (sqrt_of(x[0] + t) * (x[1] + t)); }); }, [](const auto& x) { return elliprc(x[0], x[1]); });
  add("elliprf", 3, 0.6, 3, [](const auto* x) { return half_line_integral([&](L t) { return 0.5L / root(x, t); }); }, [](const auto& x) { return elliprf(x[0], x[1], x[2]); });
  add("elliprd", 3, 0.6, 3, [](const auto* x) { return half_line_integral([&](L t) { return 1.5L / (root(x, t) * (x[2] + t)); }); }, [](const auto& x) { return elliprd(x[0], x[1], x[2]); });
  add("elliprg", 3, 0.6, 3, [](const auto* x) { return half_line_integral([&](L t) { return 0.25L * t / root(x, t) * (x[0] / (x[0] + t) + x[1] / (x[1] + t) + x[2] / (x[2] + t)); }); }, [](const auto& x) { return elliprg(x[0], x[1], x[2]); });
  add("elliprj", 4, 0.6, 3, [](const auto* x) { return half_line_integral([&](L t) { return 1.5L / (root(x, t) * (x[3] + t)); }); }, [](const auto& x) { return elliprj(x[0], x[1], x[2], x[3]); });
  add("exprel", 1, 0.2, 3, [](const auto* x) { return hypergeometric(x[0], {1}, {2}); }, [](const auto& x) { return exprel(x[0]); });
  add("owens_t", 2, 0.3, 1.6, [](const auto* x) { return x[1] / (2 * pi) * unit_integral([&](L t) { const auto s = x[1] * x[1] * (t * t) + 1.0L; return exp_of(x[0] * x[0] * s * -0.5L) / s; }); }, [](const auto& x) { return owens_t(x[0], x[1]); });
  add("hyp1f1", 3, 0.6, 3, [](const auto* x) { return kummer(x[0], x[1], x[2]); }, [](const auto& x) { return hyp1f1(x[0], x[1], x[2]); });
  add("hyp2f1", 4, 0.1, 0.6, [](const auto* x) { return gauss(x[0], x[1], x[2], x[3]); }, [](const auto& x) { return hyp2f1(x[0], x[1], x[2], x[3]); });
  add("legendre", 1, 1.1, 2, [](const auto* x) { return (x[0] * x[0] * 5.0L - 3.0L) * x[0] / 2.0L; }, [](const auto& x) { return legendre(3, x[0]); });
  add("chebyshev_t", 1, 1.1, 2, [](const auto* x) { return (x[0] * x[0] * 4.0L - 3.0L) * x[0]; }, [](const auto& x) { return chebyshev_t(3, x[0]); });
  add("chebyshev_u", 1, 1.1, 2, [](const auto* x) { return (x[0] * x[0] * 8.0L - 4.0L) * x[0]; }, [](const auto& x) { return chebyshev_u(3, x[0]); });
  add("hermite", 1, 1.4, 1.95, [](const auto* x) { return (x[0] * x[0] * 8.0L - 12.0L) * x[0]; }, [](const auto& x) { return hermite(3, x[0]); });
  add("hermite_e", 1, 2, 3, [](const auto* x) { return (x[0] * x[0] - 3.0L) * x[0]; }, [](const auto& x) { return hermite_e(3, x[0]); });
  add("laguerre", 1, 0.6, 1.8, [](const auto* x) { return hypergeometric(x[0], {-3}, {1}); }, [](const auto& x) { return laguerre(3, x[0]); });
  add("genlaguerre", 2, 0.1, 0.4, [](const auto* x) { return ((x[0] + 1.0L) * (x[0] + 2.0L) + x[1] * x[1]) / 2.0L - (x[0] + 2.0L) * x[1]; }, [](const auto& x) { return genlaguerre(2, x[0], x[1]); });
  add("gegenbauer", 2, 1.1, 2, [](const auto* x) { return x[0] * ((x[0] + 1.0L) * x[1] * x[1] * 2.0L - 1.0L); }, [](const auto& x) { return gegenbauer(2, x[0], x[1]); });
  add("jacobi", 3, 1.1, 2, [](const auto* x) { const auto h = (x[2] - 1.0L) / 2.0L, a1 = x[0] + 1.0L, a2 = x[0] + 2.0L, s = x[0] + x[1] + 3.0L; return a1 * a2 / 2.0L + a2 * s * h + s * (s + 1.0L) / 2.0L * h * h; }, [](const auto& x) { return jacobi(2, x[0], x[1], x[2]); });
  // clang-format on
}

}  // namespace references
