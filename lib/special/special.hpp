// Special functions of up to four arguments and their partial derivatives of every order, element by element in long
// double; values of some in double (lib/special/values). Compiled once, for the baseline instruction set.
#pragma once
#include <cstddef>
#include <cstdint>
#include <reel/dtype.hpp>

#include "special/bounds.hpp"

namespace reel::kernels::special {

/// The table of functions. Enumerator; name of the op; number of arguments; number of trailing arguments without a
/// derivative, which are whole numbers but in quantiles; family, the function of arguments.hpp that evaluates it.
///
/// The last twenty belong to distributions, and lib/special/functions.cpp adds names of other distributions that are
/// the same function: logarithms of gammainc to betaincc, without underflow, and their inverses; the probability of an
/// angle from -pi to x under von Mises's distribution, of kappa and x, its logarithm and the inverses of both;
/// quantiles of Student's distribution, of p or its logarithm and the degrees of freedom; the smallest number whose
/// distribution function is at least p, or -1 for p = 0; that whose complement is at most p, or -1 for p = 1.
// clang-format off
#define REEL_SPECIAL_FUNCTIONS(F)                                    \
  F(gamma, "gamma", 1, 0, gamma_or_beta)                             \
  F(rgamma, "rgamma", 1, 0, gamma_or_beta)                           \
  F(betaln, "betaln", 2, 0, gamma_or_beta)                           \
  F(beta, "beta", 2, 0, gamma_or_beta)                               \
  F(poch, "poch", 2, 0, gamma_or_beta)                               \
  F(gammainc, "gammainc", 2, 0, incomplete)                          \
  F(gammaincc, "gammaincc", 2, 0, incomplete)                        \
  F(betainc, "betainc", 3, 0, incomplete)                            \
  F(betaincc, "betaincc", 3, 0, incomplete)                          \
  F(gammaincinv, "gammaincinv", 2, 0, incomplete_inverse)            \
  F(gammainccinv, "gammainccinv", 2, 0, incomplete_inverse)          \
  F(betaincinv, "betaincinv", 3, 0, incomplete_inverse)              \
  F(betainccinv, "betainccinv", 3, 0, incomplete_inverse)            \
  F(multigammaln, "multigammaln", 2, 1, gamma_like)                  \
  F(comb, "comb", 2, 0, gamma_like)                                  \
  F(zeta, "zeta", 2, 0, gamma_like)                                  \
  F(riemann_zeta, "zeta", 1, 0, gamma_like)                          \
  F(spence, "spence", 1, 0, integral)                                \
  F(dawsn, "dawsn", 1, 0, integral)                                  \
  F(exp1, "exp1", 1, 0, integral)                                    \
  F(expint, "expint", 1, 0, integral)                                \
  F(expn, "expn", 2, 1, integral)                                    \
  F(sinint, "sinint", 1, 0, integral)                                \
  F(cosint, "cosint", 1, 0, integral)                                \
  F(fresnel_sin, "fresnel_sin", 1, 0, integral)                      \
  F(fresnel_cos, "fresnel_cos", 1, 0, integral)                      \
  F(lambertw, "lambertw", 1, 0, lambert_w)                           \
  F(lambertw_lower, "lambertw", 1, 0, lambert_w)                     \
  F(iv, "iv", 2, 0, bessel)                                          \
  F(ive, "ive", 2, 0, bessel)                                        \
  F(kv, "kv", 2, 0, bessel)                                          \
  F(kve, "kve", 2, 0, bessel)                                        \
  F(jv, "jv", 2, 0, bessel)                                          \
  F(yv, "yv", 2, 0, bessel)                                          \
  F(i0, "i0", 1, 0, bessel)                                          \
  F(i1, "i1", 1, 0, bessel)                                          \
  F(i0e, "i0e", 1, 0, bessel)                                        \
  F(i1e, "i1e", 1, 0, bessel)                                        \
  F(k0, "k0", 1, 0, bessel)                                          \
  F(k1, "k1", 1, 0, bessel)                                          \
  F(k0e, "k0e", 1, 0, bessel)                                        \
  F(k1e, "k1e", 1, 0, bessel)                                        \
  F(j0, "j0", 1, 0, bessel)                                          \
  F(j1, "j1", 1, 0, bessel)                                          \
  F(y0, "y0", 1, 0, bessel)                                          \
  F(y1, "y1", 1, 0, bessel)                                          \
  F(jn, "jn", 2, 1, bessel)                                          \
  F(yn, "yn", 2, 1, bessel)                                          \
  F(spherical_jn, "spherical_jn", 2, 1, bessel)                      \
  F(spherical_yn, "spherical_yn", 2, 1, bessel)                      \
  F(spherical_in, "spherical_in", 2, 1, bessel)                      \
  F(spherical_kn, "spherical_kn", 2, 1, bessel)                      \
  F(airy_ai, "airy_ai", 1, 0, bessel)                                \
  F(airy_bi, "airy_bi", 1, 0, bessel)                                \
  F(ellipk, "ellipk", 1, 0, elliptic)                                \
  F(ellipkm1, "ellipkm1", 1, 0, elliptic)                            \
  F(ellipe, "ellipe", 1, 0, elliptic)                                \
  F(ellipkinc, "ellipkinc", 2, 0, elliptic)                          \
  F(ellipeinc, "ellipeinc", 2, 0, elliptic)                          \
  F(elliprc, "elliprc", 2, 0, elliptic)                              \
  F(elliprf, "elliprf", 3, 0, elliptic)                              \
  F(elliprd, "elliprd", 3, 0, elliptic)                              \
  F(elliprg, "elliprg", 3, 0, elliptic)                              \
  F(elliprj, "elliprj", 4, 0, elliptic)                              \
  F(exprel, "exprel", 1, 0, hypergeometric)                          \
  F(owens_t, "owens_t", 2, 0, hypergeometric)                        \
  F(hyp1f1, "hyp1f1", 3, 0, hypergeometric)                          \
  F(hyp2f1, "hyp2f1", 4, 0, hypergeometric)                          \
  F(legendre, "legendre", 2, 1, polynomial)                          \
  F(chebyshev_t, "chebyshev_t", 2, 1, polynomial)                    \
  F(chebyshev_u, "chebyshev_u", 2, 1, polynomial)                    \
  F(hermite, "hermite", 2, 1, polynomial)                            \
  F(hermite_e, "hermite_e", 2, 1, polynomial)                        \
  F(laguerre, "laguerre", 2, 1, polynomial)                          \
  F(genlaguerre, "genlaguerre", 3, 1, polynomial)                    \
  F(gegenbauer, "gegenbauer", 3, 1, polynomial)                      \
  F(jacobi, "jacobi", 4, 1, polynomial)                              \
  F(log_gammainc, "gamma_logcdf", 2, 0, distribution_function)       \
  F(log_gammaincc, "gamma_logsf", 2, 0, distribution_function)       \
  F(log_betainc, "beta_logcdf", 3, 0, distribution_function)         \
  F(log_betaincc, "beta_logsf", 3, 0, distribution_function)         \
  F(vonmises_cdf, "vonmises_cdf", 2, 0, distribution_function)       \
  F(vonmises_logcdf, "vonmises_logcdf", 2, 0, distribution_function) \
  F(vonmises_ppf, "vonmises_ppf", 2, 0, distribution_function)       \
  F(log_gammaincinv, "gamma_ilogcdf", 2, 0, distribution_function)   \
  F(log_gammainccinv, "gamma_ilogsf", 2, 0, distribution_function)   \
  F(log_betaincinv, "beta_ilogcdf", 3, 0, distribution_function)     \
  F(log_betainccinv, "beta_ilogsf", 3, 0, distribution_function)     \
  F(vonmises_ilogcdf, "vonmises_ilogcdf", 2, 0, distribution_function) \
  F(t_ppf, "t_ppf", 2, 2, distribution_function)                     \
  F(t_ilogcdf, "t_ilogcdf", 2, 2, distribution_function)             \
  F(poisson_ppf, "poisson_ppf", 2, 2, distribution_function)         \
  F(binom_ppf, "binom_ppf", 3, 3, distribution_function)             \
  F(nbinom_ppf, "nbinom_ppf", 3, 3, distribution_function)           \
  F(poisson_isf, "poisson_isf", 2, 2, distribution_function)         \
  F(binom_isf, "binom_isf", 3, 3, distribution_function)             \
  F(nbinom_isf, "nbinom_isf", 3, 3, distribution_function)
// clang-format on

enum class Function : std::uint8_t {
#define REEL_ENUMERATOR(enumerator, name, arguments, constants, family) enumerator,
  REEL_SPECIAL_FUNCTIONS(REEL_ENUMERATOR)
#undef REEL_ENUMERATOR
};
struct Signature {
  const char* name;
  std::uint8_t arguments, constants;
};
inline constexpr Signature signatures[] = {
#define REEL_SIGNATURE(enumerator, name, arguments, constants, family) {name, arguments, constants},
    REEL_SPECIAL_FUNCTIONS(REEL_SIGNATURE)
#undef REEL_SIGNATURE
};
constexpr const Signature& signature(Function f) { return signatures[static_cast<std::size_t>(f)]; }

/// out[i] = f(in[0][i], in[1][i], ...), differentiated orders[k] times by argument k; float32 or float64. The inverses
/// have no derivatives here. out and in are contiguous and do not overlap.
void evaluate(Function f, const int* orders, const void* const* in, void* out, std::ptrdiff_t n, DType d);

}  // namespace reel::kernels::special
