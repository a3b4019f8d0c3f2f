// Special functions of up to four arguments and their partial derivatives of every order, element by element in long
// double; values of some in double (lib/kernels/special/values). Compiled once, for the baseline instruction set.
#pragma once
#include <cstddef>
#include <cstdint>
#include <reel/dtype.hpp>

namespace reel::kernels::special {

/// Enumerator, name of the op, number of arguments, and the number of trailing arguments without a derivative, which
/// are whole numbers but in quantiles. The last ten belong to laws, and lib/special/functions.cpp adds names of other
/// laws that are the same function: logarithms of gammainc to betaincc, without underflow; the probability of an angle
/// from -pi to x under von Mises's law, of kappa and x, its logarithm and its inverse; the smallest number whose
/// distribution function is at least p, or -1 for p = 0.
// clang-format off
#define REEL_SPECIAL_FUNCTIONS(F) \
  F(gamma, "gamma", 1, 0) F(rgamma, "rgamma", 1, 0) F(betaln, "betaln", 2, 0) F(beta, "beta", 2, 0) \
  F(poch, "poch", 2, 0) \
  F(gammainc, "gammainc", 2, 0) F(gammaincc, "gammaincc", 2, 0) F(betainc, "betainc", 3, 0) \
  F(betaincc, "betaincc", 3, 0) \
  F(gammaincinv, "gammaincinv", 2, 0) F(gammainccinv, "gammainccinv", 2, 0) F(betaincinv, "betaincinv", 3, 0) \
  F(multigammaln, "multigammaln", 2, 1) F(comb, "comb", 2, 0) F(zeta, "zeta", 2, 0) F(riemann_zeta, "zeta", 1, 0) \
  F(spence, "spence", 1, 0) F(dawsn, "dawsn", 1, 0) F(exp1, "exp1", 1, 0) F(expint, "expint", 1, 0) \
  F(expn, "expn", 2, 1) \
  F(sinint, "sinint", 1, 0) F(cosint, "cosint", 1, 0) F(fresnel_sin, "fresnel_sin", 1, 0) \
  F(fresnel_cos, "fresnel_cos", 1, 0) \
  F(lambertw, "lambertw", 1, 0) F(lambertw_lower, "lambertw", 1, 0) \
  F(iv, "iv", 2, 0) F(ive, "ive", 2, 0) F(kv, "kv", 2, 0) F(kve, "kve", 2, 0) F(jv, "jv", 2, 0) F(yv, "yv", 2, 0) \
  F(i0, "i0", 1, 0) F(i1, "i1", 1, 0) F(i0e, "i0e", 1, 0) F(i1e, "i1e", 1, 0) F(k0, "k0", 1, 0) F(k1, "k1", 1, 0) \
  F(k0e, "k0e", 1, 0) F(k1e, "k1e", 1, 0) \
  F(j0, "j0", 1, 0) F(j1, "j1", 1, 0) F(y0, "y0", 1, 0) F(y1, "y1", 1, 0) F(jn, "jn", 2, 1) F(yn, "yn", 2, 1) \
  F(spherical_jn, "spherical_jn", 2, 1) F(spherical_yn, "spherical_yn", 2, 1) \
  F(spherical_in, "spherical_in", 2, 1) F(spherical_kn, "spherical_kn", 2, 1) \
  F(airy_ai, "airy_ai", 1, 0) F(airy_bi, "airy_bi", 1, 0) \
  F(ellipk, "ellipk", 1, 0) F(ellipkm1, "ellipkm1", 1, 0) F(ellipe, "ellipe", 1, 0) \
  F(ellipkinc, "ellipkinc", 2, 0) F(ellipeinc, "ellipeinc", 2, 0) \
  F(elliprc, "elliprc", 2, 0) F(elliprf, "elliprf", 3, 0) F(elliprd, "elliprd", 3, 0) F(elliprg, "elliprg", 3, 0) \
  F(elliprj, "elliprj", 4, 0) \
  F(legendre, "legendre", 2, 1) F(chebyshev_t, "chebyshev_t", 2, 1) F(chebyshev_u, "chebyshev_u", 2, 1) \
  F(hermite, "hermite", 2, 1) F(hermite_e, "hermite_e", 2, 1) F(laguerre, "laguerre", 2, 1) \
  F(genlaguerre, "genlaguerre", 3, 1) F(gegenbauer, "gegenbauer", 3, 1) F(jacobi, "jacobi", 4, 1) \
  F(log_gammainc, "gamma_logcdf", 2, 0) F(log_gammaincc, "gamma_logsf", 2, 0) \
  F(log_betainc, "beta_logcdf", 3, 0) F(log_betaincc, "beta_logsf", 3, 0) F(vonmises_cdf, "vonmises_cdf", 2, 0) \
  F(vonmises_logcdf, "vonmises_logcdf", 2, 0) F(vonmises_ppf, "vonmises_ppf", 2, 0) F(poisson_ppf, "poisson_ppf", 2, 2) \
  F(binom_ppf, "binom_ppf", 3, 3) F(nbinom_ppf, "nbinom_ppf", 3, 3)
// clang-format on

enum class Function : std::uint8_t {
#define REEL_ENUMERATOR(enumerator, name, arguments, constants) enumerator,
  REEL_SPECIAL_FUNCTIONS(REEL_ENUMERATOR)
#undef REEL_ENUMERATOR
};
struct Signature {
  const char* name;
  std::uint8_t arguments, constants;
};
inline constexpr Signature signatures[] = {
#define REEL_SIGNATURE(enumerator, name, arguments, constants) {name, arguments, constants},
    REEL_SPECIAL_FUNCTIONS(REEL_SIGNATURE)
#undef REEL_SIGNATURE
};
constexpr const Signature& signature(Function f) { return signatures[static_cast<std::size_t>(f)]; }
inline constexpr std::size_t arguments_max = 4;

/// The product of (order + 1) over the arguments of a derivative is below this bound.
inline constexpr int coefficients_max = 64;

/// out[i] = f(in[0][i], in[1][i], ...), differentiated orders[k] times by argument k; float32 or float64. The inverses
/// have no derivatives here. out and in are contiguous and do not overlap.
void evaluate(Function f, const int* orders, const void* const* in, void* out, std::ptrdiff_t n, DType d);

}  // namespace reel::kernels::special
