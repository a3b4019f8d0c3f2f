// Special functions, with derivatives of every order by every argument, parameters too, in both modes: of float32 and
// float64; halves as in float32, integers and booleans as float64; TypeError for complex numbers. Operands broadcast.
// Computed element by element in long double: values have the last place but one of float64, derivatives by parameters
// 13 digits, away from zeros. NaN outside the domain. The product of the orders by each argument, each plus 1, may be
// up to 64 (ValueError). They are no functions of lanes, but those of <reel/ops/normal.hpp>, which this includes, are.
// Optional: <reel/reel.hpp> does not include it.
#pragma once
#include <reel/ops/normal.hpp>
#include <reel/tensor.hpp>

namespace [[gnu::visibility("default")]] reel {

/// Gamma(x): +-inf at +-0, NaN at negative whole numbers. Gradient: g z digamma(x).
Tensor gamma(const Operand& x);
/// 1 / Gamma(x), 0 at the poles of Gamma, where its derivative is (-1)^n n! at -n. Gradient: -g z digamma(x).
Tensor rgamma(const Operand& x);
/// Gamma(a) Gamma(b) / Gamma(a + b), a, b > 0. Gradient: g z (digamma(a) - digamma(a + b)), likewise for b.
Tensor beta(const Operand& a, const Operand& b);
/// Its logarithm, also where a and b are very different: without the difference of two large terms (Didonato and Morris
/// 1992).
Tensor betaln(const Operand& a, const Operand& b);
/// Gamma(a + m) / Gamma(a), a > 0, a + m > 0: Pochhammer's symbol. Gradient: g z (digamma(a + m) - digamma(a)), g z
/// digamma(a + m).
Tensor poch(const Operand& a, const Operand& m);

/// P(a, x), the regularised lower incomplete gamma function, a >= 0, x >= 0: the distribution function of the gamma law
/// of shape a. Gradient: for x g exp(-x) x^(a - 1) / Gamma(a); for a by the series (DLMF 8.11.4) and the continued
/// fraction (8.9.2), differentiated as Taylor polynomials in a. At x = 0, a < 1 the slope is infinite. Time grows with
/// sqrt(a) where x is near a; NaN there for a above 1e10.
Tensor gammainc(const Operand& a, const Operand& x);
/// Q(a, x) = 1 - P(a, x), without loss where it is small.
Tensor gammaincc(const Operand& a, const Operand& x);
/// I_x(a, b), the regularised incomplete beta function, a, b > 0, 0 <= x <= 1: the distribution function of the beta
/// law. Gradient: for x g x^(a - 1) (1 - x)^(b - 1) / B(a, b); for a and b by the continued fraction (DLMF 8.17.22).
Tensor betainc(const Operand& a, const Operand& b, const Operand& x);
/// 1 - I_x(a, b), without loss where it is small.
Tensor betaincc(const Operand& a, const Operand& b, const Operand& x);

/// x with P(a, x) = p, a > 0, 0 <= p <= 1: the quantile of the gamma law. Gradient: g by the density at z; for a -g
/// dP/da by the density.
Tensor gammaincinv(const Operand& a, const Operand& p);
/// x with Q(a, x) = q, in the upper tail without loss.
Tensor gammainccinv(const Operand& a, const Operand& q);
/// x with I_x(a, b) = p, a, b > 0, 0 <= p <= 1: the quantile of the beta law. Gradient: as for gammaincinv.
Tensor betaincinv(const Operand& a, const Operand& b, const Operand& p);

}  // namespace reel
