// Special functions of up to four arguments and their partial derivatives of every order, element by element in long
// double; values of some in double (lib/special/values). Compiled once, for the baseline instruction set.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <reel/dtype.hpp>

#include "special/bounds.hpp"

namespace reel::kernels::special {

/// Where an argument may lie: beyond the ends the function is NaN, and for a whole number at others. At the ends it may
/// have limits, and inside it may be NaN where several arguments do not fit together.
struct Domain {
  double low, high;
  bool is_whole = false;
};
namespace domains {
inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double branch_point = -0.36787944117144233;  // the first number above -1 / e
inline constexpr Domain real{-infinity, infinity}, positive{0, infinity}, from_0{0, infinity}, from_1{1, infinity},
    to_0{-infinity, 0}, to_1{-infinity, 1}, unit{0, 1}, from_branch{branch_point, infinity},
    lower_branch{branch_point, 0}, count{0, infinity, true}, whole{-infinity, infinity, true};
}  // namespace domains

/// The table of functions. Enumerator; name of the op; number of arguments; number of trailing arguments without a
/// derivative, which are whole numbers but in quantiles; family, the function of arguments.hpp that evaluates it;
/// orders of derivatives that it computes, which are all but for inverses and quantiles; domain of each argument.
///
/// The last twenty belong to distributions, and lib/special/functions.cpp adds names of other distributions that are
/// the same function: logarithms of gammainc to betaincc, without underflow, and their inverses; the probability of an
/// angle from -pi to x under von Mises's distribution, of kappa and x, its logarithm and the inverses of both;
/// quantiles of Student's distribution, of p or its logarithm and the degrees of freedom; the smallest number whose
/// distribution function is at least p, or -1 for p = 0; that whose complement is at most p, or -1 for p = 1.
// clang-format off
#define REEL_SPECIAL_FUNCTIONS(F) \
  F(gamma, "gamma", 1, 0, gamma_or_beta, every, (real)) \
  F(rgamma, "rgamma", 1, 0, gamma_or_beta, every, (real)) \
  F(betaln, "betaln", 2, 0, gamma_or_beta, every, (positive, positive)) \
  F(beta, "beta", 2, 0, gamma_or_beta, every, (positive, positive)) \
  F(poch, "poch", 2, 0, gamma_or_beta, every, (positive, real)) \
  F(gammainc, "gammainc", 2, 0, incomplete, every, (from_0, from_0)) \
  F(gammaincc, "gammaincc", 2, 0, incomplete, every, (from_0, from_0)) \
  F(betainc, "betainc", 3, 0, incomplete, every, (positive, positive, unit)) \
  F(betaincc, "betaincc", 3, 0, incomplete, every, (positive, positive, unit)) \
  F(gammaincinv, "gammaincinv", 2, 0, incomplete_inverse, value, (positive, unit)) \
  F(gammainccinv, "gammainccinv", 2, 0, incomplete_inverse, value, (positive, unit)) \
  F(betaincinv, "betaincinv", 3, 0, incomplete_inverse, value, (positive, positive, unit)) \
  F(betainccinv, "betainccinv", 3, 0, incomplete_inverse, value, (positive, positive, unit)) \
  F(multigammaln, "multigammaln", 2, 1, gamma_like, every, (positive, count)) \
  F(comb, "comb", 2, 0, gamma_like, every, (real, real)) \
  F(zeta, "zeta", 2, 0, gamma_like, every, (from_1, real)) \
  F(riemann_zeta, "zeta", 1, 0, gamma_like, every, (real)) \
  F(spence, "spence", 1, 0, integral, every, (from_0)) \
  F(dawsn, "dawsn", 1, 0, integral, every, (real)) \
  F(exp1, "exp1", 1, 0, integral, every, (from_0)) \
  F(expint, "expint", 1, 0, integral, every, (real)) \
  F(expn, "expn", 2, 1, integral, every, (from_0, count)) \
  F(sinint, "sinint", 1, 0, integral, every, (real)) \
  F(cosint, "cosint", 1, 0, integral, every, (real)) \
  F(fresnel_sin, "fresnel_sin", 1, 0, integral, every, (real)) \
  F(fresnel_cos, "fresnel_cos", 1, 0, integral, every, (real)) \
  F(lambertw, "lambertw", 1, 0, lambert_w, every, (from_branch)) \
  F(lambertw_lower, "lambertw", 1, 0, lambert_w, every, (lower_branch)) \
  F(iv, "iv", 2, 0, bessel, every, (real, real)) \
  F(ive, "ive", 2, 0, bessel, every, (real, real)) \
  F(kv, "kv", 2, 0, bessel, every, (real, from_0)) \
  F(kve, "kve", 2, 0, bessel, every, (real, from_0)) \
  F(jv, "jv", 2, 0, bessel, every, (real, from_0)) \
  F(yv, "yv", 2, 0, bessel, every, (real, from_0)) \
  F(i0, "i0", 1, 0, bessel, every, (real)) \
  F(i1, "i1", 1, 0, bessel, every, (real)) \
  F(i0e, "i0e", 1, 0, bessel, every, (real)) \
  F(i1e, "i1e", 1, 0, bessel, every, (real)) \
  F(k0, "k0", 1, 0, bessel, every, (from_0)) \
  F(k1, "k1", 1, 0, bessel, every, (from_0)) \
  F(k0e, "k0e", 1, 0, bessel, every, (from_0)) \
  F(k1e, "k1e", 1, 0, bessel, every, (from_0)) \
  F(j0, "j0", 1, 0, bessel, every, (real)) \
  F(j1, "j1", 1, 0, bessel, every, (real)) \
  F(y0, "y0", 1, 0, bessel, every, (from_0)) \
  F(y1, "y1", 1, 0, bessel, every, (from_0)) \
  F(jn, "jn", 2, 1, bessel, every, (real, whole)) \
  F(yn, "yn", 2, 1, bessel, every, (from_0, whole)) \
  F(spherical_jn, "spherical_jn", 2, 1, bessel, every, (real, count)) \
  F(spherical_yn, "spherical_yn", 2, 1, bessel, every, (from_0, count)) \
  F(spherical_in, "spherical_in", 2, 1, bessel, every, (real, count)) \
  F(spherical_kn, "spherical_kn", 2, 1, bessel, every, (from_0, count)) \
  F(airy_ai, "airy_ai", 1, 0, bessel, every, (real)) \
  F(airy_bi, "airy_bi", 1, 0, bessel, every, (real)) \
  F(ellipk, "ellipk", 1, 0, elliptic, every, (to_1)) \
  F(ellipkm1, "ellipkm1", 1, 0, elliptic, every, (from_0)) \
  F(ellipe, "ellipe", 1, 0, elliptic, every, (to_1)) \
  F(ellipkinc, "ellipkinc", 2, 0, elliptic, every, (real, real)) \
  F(ellipeinc, "ellipeinc", 2, 0, elliptic, every, (real, real)) \
  F(elliprc, "elliprc", 2, 0, elliptic, every, (from_0, from_0)) \
  F(elliprf, "elliprf", 3, 0, elliptic, every, (from_0, from_0, from_0)) \
  F(elliprd, "elliprd", 3, 0, elliptic, every, (from_0, from_0, from_0)) \
  F(elliprg, "elliprg", 3, 0, elliptic, every, (from_0, from_0, from_0)) \
  F(elliprj, "elliprj", 4, 0, elliptic, every, (from_0, from_0, from_0, from_0)) \
  F(exprel, "exprel", 1, 0, hypergeometric, every, (real)) \
  F(owens_t, "owens_t", 2, 0, hypergeometric, every, (real, real)) \
  F(hyp1f1, "hyp1f1", 3, 0, hypergeometric, every, (real, real, real)) \
  F(hyp2f1, "hyp2f1", 4, 0, hypergeometric, every, (real, real, real, real)) \
  F(legendre, "legendre", 2, 1, polynomial, every, (real, count)) \
  F(chebyshev_t, "chebyshev_t", 2, 1, polynomial, every, (real, count)) \
  F(chebyshev_u, "chebyshev_u", 2, 1, polynomial, every, (real, count)) \
  F(hermite, "hermite", 2, 1, polynomial, every, (real, count)) \
  F(hermite_e, "hermite_e", 2, 1, polynomial, every, (real, count)) \
  F(laguerre, "laguerre", 2, 1, polynomial, every, (real, count)) \
  F(genlaguerre, "genlaguerre", 3, 1, polynomial, every, (real, real, count)) \
  F(gegenbauer, "gegenbauer", 3, 1, polynomial, every, (real, real, count)) \
  F(jacobi, "jacobi", 4, 1, polynomial, every, (real, real, real, count)) \
  F(log_gammainc, "gamma_logcdf", 2, 0, distribution_function, every, (positive, from_0)) \
  F(log_gammaincc, "gamma_logsf", 2, 0, distribution_function, every, (positive, from_0)) \
  F(log_betainc, "beta_logcdf", 3, 0, distribution_function, every, (positive, positive, unit)) \
  F(log_betaincc, "beta_logsf", 3, 0, distribution_function, every, (positive, positive, unit)) \
  F(vonmises_cdf, "vonmises_cdf", 2, 0, distribution_function, every, (from_0, real)) \
  F(vonmises_logcdf, "vonmises_logcdf", 2, 0, distribution_function, every, (from_0, real)) \
  F(vonmises_ppf, "vonmises_ppf", 2, 0, distribution_function, value, (from_0, unit)) \
  F(log_gammaincinv, "gamma_ilogcdf", 2, 0, distribution_function, value, (positive, to_0)) \
  F(log_gammainccinv, "gamma_ilogsf", 2, 0, distribution_function, value, (positive, to_0)) \
  F(log_betaincinv, "beta_ilogcdf", 3, 0, distribution_function, value, (positive, positive, to_0)) \
  F(log_betainccinv, "beta_ilogsf", 3, 0, distribution_function, value, (positive, positive, to_0)) \
  F(vonmises_ilogcdf, "vonmises_ilogcdf", 2, 0, distribution_function, value, (from_0, to_0)) \
  F(t_ppf, "t_ppf", 2, 2, distribution_function, value, (unit, positive)) \
  F(t_ilogcdf, "t_ilogcdf", 2, 2, distribution_function, value, (to_0, positive)) \
  F(poisson_ppf, "poisson_ppf", 2, 2, distribution_function, value, (unit, from_0)) \
  F(binom_ppf, "binom_ppf", 3, 3, distribution_function, value, (unit, count, unit)) \
  F(nbinom_ppf, "nbinom_ppf", 3, 3, distribution_function, value, (unit, positive, unit)) \
  F(poisson_isf, "poisson_isf", 2, 2, distribution_function, value, (unit, from_0)) \
  F(binom_isf, "binom_isf", 3, 3, distribution_function, value, (unit, count, unit)) \
  F(nbinom_isf, "nbinom_isf", 3, 3, distribution_function, value, (unit, positive, unit))
// clang-format on

enum class Function : std::uint8_t {
#define REEL_ENUMERATOR(enumerator, ...) enumerator,
  REEL_SPECIAL_FUNCTIONS(REEL_ENUMERATOR)
#undef REEL_ENUMERATOR
};
struct Signature {
  const char* name;
  std::uint8_t arguments, constants;
};
inline constexpr Signature signatures[] = {
#define REEL_SIGNATURE(enumerator, name, arguments, constants, ...) {name, arguments, constants},
    REEL_SPECIAL_FUNCTIONS(REEL_SIGNATURE)
#undef REEL_SIGNATURE
};
constexpr const Signature& signature(Function f) { return signatures[static_cast<std::size_t>(f)]; }

/// out[i] = f(in[0][i], in[1][i], ...), differentiated orders[k] times by argument k; float32 or float64. The inverses
/// have no derivatives here. out and in are contiguous and do not overlap.
void evaluate(Function f, const int* orders, const void* const* in, void* out, std::ptrdiff_t n, DType d);

}  // namespace reel::kernels::special
