// Special functions, with derivatives of every order, in both modes, by every argument, parameters included.
// <reel/reel.hpp> does not include this header.
//
// Dtypes: float32 and float64; float16 and bfloat16 compute as float32, integers and booleans as float64; TypeError for
// complex numbers. Operands broadcast. An operand n or d is a whole number, of any dtype, and has no gradient; other
// numbers give NaN. An argument outside the domain gives NaN. At an infinite argument functions and derivatives have
// their limits where these exist. ValueError where the product of (order + 1) over the arguments of a derivative
// exceeds 64.
//
// Accuracy: the Bessel functions of order 0 and 1 run on vectors, with errors of at most 4 units in the last place, and
// 8 for first derivatives; near zeros of j and y a unit is that of sqrt(1 / (2 pi x)). All others are computed in long
// double, element by element. Their relative errors away from zeros are about 2^-52, and 1e-13 for derivatives by
// parameters.
//
// elementwise() has only the functions of <reel/ops/normal.hpp>, which this header includes.
#pragma once
#include <reel/api.hpp>
#include <reel/ops/normal.hpp>
#include <reel/tensor.hpp>

namespace REEL_API reel {

/// Gamma(x): +-inf at +-0, NaN at negative whole numbers. Gradient: g z digamma(x).
Tensor gamma(const Operand& x);
/// 1 / Gamma(x): 0 at the poles -n of Gamma, where its derivative is (-1)^n n!. Gradient: -g z digamma(x).
Tensor rgamma(const Operand& x);
/// Gamma(a) Gamma(b) / Gamma(a + b), a, b > 0. Gradient: g z (digamma(a) - digamma(a + b)), likewise for b.
Tensor beta(const Operand& a, const Operand& b);
/// log(beta(a, b)), accurate where a and b are very different too: it avoids the difference of two large terms
/// (Didonato and Morris 1992).
Tensor betaln(const Operand& a, const Operand& b);
/// Pochhammer's symbol Gamma(a + m) / Gamma(a), a > 0, a + m > 0. Gradient: to a g z (digamma(a + m) - digamma(a)), to
/// m g z digamma(a + m).
Tensor poch(const Operand& a, const Operand& m);

/// P(a, x), the regularised lower incomplete gamma function, a >= 0, x >= 0: the distribution function of the gamma
/// distribution of shape a. Gradient to x: g exp(-x) x^(a - 1) / Gamma(a), infinite at x = 0 for a < 1. Gradient to a:
/// by the series (DLMF 8.11.4), the continued fraction (8.9.2) and, for a >= 10^6 and x near a, Temme's uniform
/// expansion (8.12.3), each differentiated as Taylor polynomials in a. For x near a, time grows with sqrt(a) up to a =
/// 10^6.
Tensor gammainc(const Operand& a, const Operand& x);
/// Q(a, x) = 1 - P(a, x), accurate where it is small.
Tensor gammaincc(const Operand& a, const Operand& x);
/// I_x(a, b), the regularised incomplete beta function, a, b > 0, 0 <= x <= 1: the distribution function of the beta
/// distribution. Gradient to x: g x^(a - 1) (1 - x)^(b - 1) / B(a, b); to a and b: by the continued fraction (DLMF
/// 8.17.22) and, for a or b above 10^10, by the incomplete gamma function (8.18.14), which has all digits.
Tensor betainc(const Operand& a, const Operand& b, const Operand& x);
/// 1 - I_x(a, b), accurate where it is small.
Tensor betaincc(const Operand& a, const Operand& b, const Operand& x);

/// x with P(a, x) = p, a > 0, 0 <= p <= 1: the quantile of the gamma distribution. Gradient to p: g / density at z; to
/// a: -g dP/da / density.
Tensor gammaincinv(const Operand& a, const Operand& p);
/// x with Q(a, x) = q, accurate in the upper tail.
Tensor gammainccinv(const Operand& a, const Operand& q);
/// x with I_x(a, b) = p, a, b > 0, 0 <= p <= 1: the quantile of the beta distribution. Gradient: as for gammaincinv.
Tensor betaincinv(const Operand& a, const Operand& b, const Operand& p);
/// x with 1 - I_x(a, b) = q, accurate where q is small.
Tensor betainccinv(const Operand& a, const Operand& b, const Operand& q);

/// The sign of Gamma(x), 0 at its poles, NaN at -inf. Gradient: 0.
Tensor gammasgn(const Operand& x);
/// The logarithm of the multivariate gamma function of dimension d (James 1964): the sum of lgamma(a - j / 2) over j <
/// d, plus d (d - 1) / 4 log(pi). a > (d - 1) / 2, 1 <= d <= 10000. Gradient: g times the sum of digamma(a - j / 2).
Tensor multigammaln(const Operand& a, const Operand& d);
/// The binomial coefficient n over k for real numbers, Gamma(n + 1) / (Gamma(k + 1) Gamma(n - k + 1)) (SciPy's binom).
/// It is 0 where k or n - k is a negative whole number, NaN where n is one. Gradient: by gamma functions, to n and k.
Tensor comb(const Operand& n, const Operand& k);
/// Riemann's zeta function for all s: inf at 1. Gradient: by the Euler-Maclaurin formula (DLMF 25.2.9), for s < 0 by
/// reflection (25.4.1). Below -1000 it is +-inf, without a gradient.
Tensor zeta(const Operand& s);
/// Hurwitz's zeta function, the sum of (q + k)^-s over k = 0, 1, ..., for s > 1: inf at s = 1 and at q = 0, -1, -2,
/// ...; other q < 0, down to -10^6, only for whole s. Gradient to q: -g s zeta(s + 1, q); to s: by the Euler-Maclaurin
/// formula (DLMF 25.11.5).
Tensor zeta(const Operand& s, const Operand& q);

/// The dilogarithm of 1 - x, x >= 0: minus the integral of log(t) / (t - 1) from 1 to x (SciPy's spence). Gradient: g
/// log(x) / (1 - x), which is -g at 1 and -inf at 0.
Tensor spence(const Operand& x);
/// Dawson's integral: exp(-x^2) times the integral of exp(t^2) from 0 to x. Gradient: g (1 - 2 x z), without
/// cancellation where x is large (DLMF 7.12.1).
Tensor dawsn(const Operand& x);
/// The exponential integral E1(x), x >= 0: inf at 0. Gradient: -g exp(-x) / x.
Tensor exp1(const Operand& x);
/// The exponential integral Ei(x): -inf at 0. Gradient: g exp(x) / x.
Tensor expint(const Operand& x);
/// The exponential integral E_n(x), n >= 0, x >= 0. At x = 0 it is 1 / (n - 1), and inf for n < 2. Gradient: -g expn(n
/// - 1, x).
Tensor expn(const Operand& n, const Operand& x);
/// Si(x), the integral of sin(t) / t from 0 to x. Gradient: g sin(x) / x, g at 0.
Tensor sinint(const Operand& x);
/// Ci(x) = euler + log(|x|) + the integral of (cos(t) - 1) / t from 0 to |x|: -inf at 0, NaN at -inf (SciPy's sici).
/// Gradient: g cos(x) / x.
Tensor cosint(const Operand& x);
/// S(x), the integral of sin(pi t^2 / 2) from 0 to x. Gradient: g sin(pi x^2 / 2), whose argument is reduced exactly.
Tensor fresnel_sin(const Operand& x);
/// C(x), the integral of cos(pi t^2 / 2) from 0 to x. Gradient: g cos(pi x^2 / 2).
Tensor fresnel_cos(const Operand& x);
/// w with w exp(w) = x (Corless and others 1996). Branch 0: x >= -1/e, w >= -1. Branch -1: -1/e <= x <= 0, w <= -1, and
/// -inf at 0. NaN elsewhere. Arguments up to 1e-16 below -1/e count as -1/e, so that its double does. Gradient: g /
/// (exp(z) (1 + z)), infinite at -1/e. ValueError for another branch.
Tensor lambertw(const Operand& x, int branch = 0);

/// The modified Bessel function I_nu(x) of real order nu, positive or negative, for x >= 0; for whole nu all x.
/// Gradient to x: g (I_(nu-1) + I_(nu+1)) / 2; to nu: by the power series and Hankel's expansion (DLMF 10.25.2,
/// 10.40.1), differentiated. Where nu^2 > x the time grows with x, and the result is NaN if both nu and x exceed about
/// 4e5.
Tensor iv(const Operand& nu, const Operand& x);
/// exp(-|x|) I_nu(x).
Tensor ive(const Operand& nu, const Operand& x);
/// The modified Bessel function K_nu(x) of real order, x >= 0: inf at 0. Gradient to x: -g (K_(nu-1) + K_(nu+1)) / 2;
/// to nu: by the integral of exp(-x cosh(t)) cosh(nu t) (DLMF 10.32.9), differentiated.
Tensor kv(const Operand& nu, const Operand& x);
/// exp(x) K_nu(x).
Tensor kve(const Operand& nu, const Operand& x);
/// The Bessel function J_nu(x) of real order, x >= 0. The absolute error is about 1e-18 where |nu| < x. Gradient to x:
/// g (J_(nu-1) - J_(nu+1)) / 2; to nu: by the power series, Hankel's expansion (DLMF 10.17.3) and Schlaefli's integrals
/// (10.9.6), from |nu| + x = 2000 on along paths of steepest descent (10.9.17, 10.9.18), differentiated. The time grows
/// with x up to there. Where x > |nu| the phase has an error of about 1e-19 nu^2 / x (x86-64): 1e-13 at nu^2 / x = 1e6;
/// NaN where it would exceed 1e-10. At x = 0 only the value for nu >= 0 exists; derivatives there are NaN.
Tensor jv(const Operand& nu, const Operand& x);
/// The Bessel function Y_nu(x) of real order, x >= 0: -inf at 0. Gradient: as that of jv.
Tensor yv(const Operand& nu, const Operand& x);
/// I_0(x). Gradient: g i1(x).
Tensor i0(const Operand& x);
/// I_1(x). Gradient: g (i0(x) - z / x), g / 2 at 0.
Tensor i1(const Operand& x);
/// exp(-|x|) I_0(x). Gradient: g (i1e(x) - sign(x) z), 0 at the kink.
Tensor i0e(const Operand& x);
/// exp(-|x|) I_1(x).
Tensor i1e(const Operand& x);
/// K_0(x), x >= 0: inf at 0. Gradient: -g k1(x).
Tensor k0(const Operand& x);
/// K_1(x), x >= 0: inf at 0.
Tensor k1(const Operand& x);
/// exp(x) K_0(x).
Tensor k0e(const Operand& x);
/// exp(x) K_1(x).
Tensor k1e(const Operand& x);
/// The Bessel function J_0(x), by recurrence over orders (Miller), and from 25 on by Hankel's expansion (DLMF 10.17.3).
/// Near zeros the absolute error is about 1e-19. Gradient: -g j1(x).
Tensor j0(const Operand& x);
/// J_1(x). Gradient: g (j0(x) - z / x), g / 2 at 0.
Tensor j1(const Operand& x);
/// The Bessel function Y_0(x), x >= 0: -inf at 0 (Neumann's series, DLMF 10.8.2). Gradient: -g y1(x).
Tensor y0(const Operand& x);
/// Y_1(x), x >= 0: -inf at 0.
Tensor y1(const Operand& x);
/// J_n(x), |n| <= 10^6. Gradient: g (J_(n-1)(x) - J_(n+1)(x)) / 2. NaN where x is above 10^6 and n above x.
Tensor jn(const Operand& n, const Operand& x);
/// Y_n(x), x >= 0, |n| <= 10^6. At 0 it is -inf, and (-1)^n times that for n < 0. Gradient: as that of jn.
Tensor yn(const Operand& n, const Operand& x);
/// The spherical Bessel function j_n(x), n >= 0. Gradient: g (n j_(n-1)(x) - (n + 1) j_(n+1)(x)) / (2 n + 1).
Tensor spherical_jn(const Operand& n, const Operand& x);
/// y_n(x), n >= 0, x >= 0: -inf at 0. Gradient: as that of spherical_jn.
Tensor spherical_yn(const Operand& n, const Operand& x);
/// sqrt(pi / (2 x)) I_(n + 1/2)(x), n >= 0. Gradient: g (n i_(n-1)(x) + (n + 1) i_(n+1)(x)) / (2 n + 1).
Tensor spherical_in(const Operand& n, const Operand& x);
/// sqrt(pi / (2 x)) K_(n + 1/2)(x), n >= 0, x >= 0: inf at 0. Gradient: minus that of spherical_in, of k.
Tensor spherical_kn(const Operand& n, const Operand& x);
/// The Airy function Ai(x): by Taylor polynomials about whole numbers, above 1 by K_(1/3), below -10.5 by DLMF 9.7.9
/// with an error of about 1e-19 |x|^(3/2) times its amplitude. Gradient: that of a solution of z'' = x z.
Tensor airy_ai(const Operand& x);
/// The Airy function Bi(x).
Tensor airy_bi(const Operand& x);

/// The complete elliptic integral of the first kind K(m), m = k^2 <= 1: inf at 1. Gradient: g (E(m) / (1 - m) - z) / (2
/// m). All elliptic integrals use Carlson's forms by duplication (DLMF 19.36.1), differentiated.
Tensor ellipk(const Operand& m);
/// K(1 - p), p >= 0, accurate where p is small.
Tensor ellipkm1(const Operand& p);
/// The complete elliptic integral of the second kind E(m), m <= 1. Gradient: g (z - K(m)) / (2 m), -inf at 1.
Tensor ellipe(const Operand& m);
/// F(phi, m), the integral of (1 - m sin(t)^2)^(-1/2) from 0 to phi, m sin(phi)^2 <= 1. Gradient to phi: g / sqrt(1 - m
/// sin(phi)^2).
Tensor ellipkinc(const Operand& phi, const Operand& m);
/// E(phi, m), the integral of (1 - m sin(t)^2)^(1/2) from 0 to phi. Gradient to phi: g sqrt(1 - m sin(phi)^2).
Tensor ellipeinc(const Operand& phi, const Operand& m);
/// R_C(x, y) = R_F(x, y, y), x >= 0, y >= 0: inf at y = 0. At most one argument of Carlson's forms may be 0;
/// derivatives by it are infinite or NaN. Negative arguments give NaN: principal values are not computed.
Tensor elliprc(const Operand& x, const Operand& y);
/// R_F(x, y, z), half the integral of ((t + x) (t + y) (t + z))^(-1/2) over t > 0 (DLMF 19.16.1), symmetric.
Tensor elliprf(const Operand& x, const Operand& y, const Operand& z);
/// R_D(x, y, z) = R_J(x, y, z, z): inf at z = 0.
Tensor elliprd(const Operand& x, const Operand& y, const Operand& z);
/// R_G(x, y, z), DLMF 19.16.3, symmetric.
Tensor elliprg(const Operand& x, const Operand& y, const Operand& z);
/// R_J(x, y, z, p), DLMF 19.16.2, symmetric in the first three, p >= 0: inf at p = 0.
Tensor elliprj(const Operand& x, const Operand& y, const Operand& z, const Operand& p);

/// (exp(x) - 1) / x, 1 at 0, without cancellation. Gradient: g times the integral of t exp(t x) for t from 0 to 1.
Tensor exprel(const Operand& x);
/// Owen's function T(h, a): the integral of exp(-h^2 (1 + t^2) / 2) / (1 + t^2) for t from 0 to a, over 2 pi. Gradient:
/// to h -g exp(-h^2 / 2) erf(a h / sqrt(2)) / sqrt(8 pi), to a g times the integrand at a over 2 pi. At infinite a it
/// is half of the normal tail, whose derivatives by h at the kink h = 0 count as 0.
Tensor owens_t(const Operand& h, const Operand& a);
/// The confluent hypergeometric function 1F1(a; b; x) of Kummer, for real arguments: the sum of (a)_n / (b)_n x^n / n!
/// (DLMF 13.2.2). NaN for b = 0, -1, .... Gradient to x: g a / b 1F1(a + 1; b + 1; x); to a and b: by the series, the
/// expansion for large |x| (13.7.1) and Taylor series along the differential equation (13.2.1), differentiated. For b
/// > 0 the relative error is about 1e-16 away from zeros; for b < 0 terms may cancel, and the result is NaN where the
/// estimate of its error exceeds 1e-11. NaN too where |x| is above 11000 and not far above a^2 and a b. Derivatives by
/// a and b at infinite x are NaN. It takes a microsecond to milliseconds an element.
Tensor hyp1f1(const Operand& a, const Operand& b, const Operand& x);
/// Gauss's hypergeometric function 2F1(a, b; c; z) of real arguments, z <= 1: the sum of (a)_n (b)_n / (c)_n z^n / n!
/// and its continuation to z <= -1 (DLMF 15.2.1). z > 1 where a or b is 0, -1, ..., so that it is a polynomial; NaN for
/// other z > 1 and for c = 0, -1, .... Gradient to z: g a b / c 2F1(a + 1, b + 1; c + 1; z); to a, b and c: by the
/// series, the transformations of Euler and Pfaff (15.8.1) and Taylor series along the differential equation (15.10.1),
/// differentiated. For c > 0 the relative error is about 1e-14 away from zeros, for parameters up to 1000; for c < 0
/// terms may cancel, and the result is NaN where the estimate of its error exceeds 1e-11. At z = 1 with c <= a + b and
/// at infinite z derivatives by the parameters are NaN. It takes a microsecond to milliseconds an element, with large
/// parameters up to a second.
Tensor hyp2f1(const Operand& a, const Operand& b, const Operand& c, const Operand& z);

/// Legendre's polynomial P_n(x). Orthogonal polynomials take all x and 0 <= n <= 10^5, by recurrence over the degree
/// (DLMF 18.9.1). Gradients differentiate the recurrence, by real parameters too. NaN beyond 10^4932. Terms of the
/// recurrence cancel near zeros: measured relative errors there are 1e-15 to 5e-14, for degrees up to 200.
Tensor legendre(const Operand& n, const Operand& x);
/// Chebyshev's polynomial of the first kind, T_n(x).
Tensor chebyshev_t(const Operand& n, const Operand& x);
/// Chebyshev's polynomial of the second kind, U_n(x).
Tensor chebyshev_u(const Operand& n, const Operand& x);
/// Hermite's polynomial H_n(x), of weight exp(-x^2).
Tensor hermite(const Operand& n, const Operand& x);
/// Hermite's polynomial He_n(x), of weight exp(-x^2 / 2).
Tensor hermite_e(const Operand& n, const Operand& x);
/// Laguerre's polynomial L_n(x).
Tensor laguerre(const Operand& n, const Operand& x);
/// The generalised Laguerre polynomial of real alpha. Where alpha <= -1 the recurrence may cancel: measured relative
/// errors are up to 1e-12 at alpha = -4.1.
Tensor genlaguerre(const Operand& n, const Operand& alpha, const Operand& x);
/// Gegenbauer's polynomial C_n^(alpha)(x) of real alpha. Where alpha <= -1/2 the recurrence may cancel, near whole
/// numbers 2 alpha the most: the measured relative error is 1e-5 at alpha = -4.97, x = 1.
Tensor gegenbauer(const Operand& n, const Operand& alpha, const Operand& x);
/// Jacobi's polynomial P_n^(alpha, beta)(x) of real alpha and beta. NaN where alpha + beta is a whole number from -2 n
/// to -2 and the recurrence divides by 0.
Tensor jacobi(const Operand& n, const Operand& alpha, const Operand& beta, const Operand& x);

}  // namespace reel
