// Pointwise ops: each result element depends on the operand elements at its position; operands broadcast as in NumPy.
// Dtypes combine by promote(); functions that say "floating" compute integers in float64. Integers wrap modulo 2^n.
// float16 and bfloat16 compute in float32 and are rounded once.
// Gradients are in the shape and dtype of each operand; "g" is the cotangent, "z" the result.
#pragma once
#include <reel/api.hpp>
#include <reel/tensor.hpp>

namespace REEL_API reel {

// Arithmetic.
Tensor add(const Operand& x, const Operand& y);       ///< x + y. Gradient: g, g. On booleans: or.
Tensor subtract(const Operand& x, const Operand& y);  ///< x - y. Gradient: g, -g. TypeError on booleans.
Tensor multiply(const Operand& x, const Operand& y);  ///< x * y. Gradient: g y, g x. On booleans: and.
Tensor divide(const Operand& x, const Operand& y);    ///< x / y, floating. Gradient: g / y, -g z / y.
/// x to the power y. Real numbers to the powers -4, ..., 4 are products, with an error of at most 0.51 units in the
/// last place unless they are near overflow or underflow. Gradient to x: g y x^(y-1), 0 where y is 0; its derivative by
/// y is g / x there, or 0 where x^4 overflows or underflows. Gradient to y: g z log(x), 0 where x is 0 and y >= 0, NaN
/// for x < 0. ValueError for a negative integer exponent of an integer.
Tensor power(const Operand& x, const Operand& y);
/// Another name of power.
inline Tensor pow(const Operand& x, const Operand& y) { return power(x, y); }
/// The floor of x / y (Python's //). Gradient: zero. ValueError for an integer divisor 0.
Tensor floor_divide(const Operand& x, const Operand& y);
/// x - y floor(x / y), with the sign of y (Python's %). Gradient: g, -g floor(x / y). ValueError for an integer divisor
/// 0.
Tensor mod(const Operand& x, const Operand& y);
Tensor negative(const Operand& x);  ///< -x. Gradient: -g. TypeError on booleans.
Tensor square(const Operand& x);    ///< x x. Gradient: 2 g x.
/// |x|, real. Gradient: g sign(x), of complex x g x / |x|; 0 at 0, to every order: the second derivative of abs(x)^2 is
/// 0 there, not 2. Where x may be 0 write square(x), of complex x square(real(x)) + square(imag(x)). Second derivatives
/// by complex x, as the gradient of its sign, are infinite or NaN where 1 / |x| overflows.
Tensor abs(const Operand& x);
/// -1, 0, 1; NaN at NaN; of complex x, x / |x|, where parts are infinite that of their signs. Gradient: zero, of
/// complex x that of x / |x|.
Tensor sign(const Operand& x);
/// |x| with the sign of y, floating; the sign of a NaN y is taken as +. Gradient to x: g where the sign stays, -g where
/// it changes, 0 at x = 0; to y: zero.
Tensor copysign(const Operand& x, const Operand& y);
Tensor reciprocal(const Operand& x);  ///< 1 / x, floating. Gradient: -g z^2.
/// (x - y)^2. Gradient: 2 g (x - y), -2 g (x - y).
Tensor squared_difference(const Operand& x, const Operand& y);

// Powers, exponentials, logarithms: floating.
Tensor sqrt(const Operand& x);   ///< Gradient: g / (2 z): infinite at 0.
Tensor rsqrt(const Operand& x);  ///< 1 / sqrt(x). Gradient: -g z^3 / 2.
Tensor cbrt(const Operand& x);   ///< The real cube root. Gradient: g / (3 z^2).
Tensor exp(const Operand& x);    ///< Gradient: g z.
Tensor exp2(const Operand& x);   ///< 2^x. Gradient: g z log 2.
Tensor expm1(const Operand& x);  ///< exp(x) - 1, accurate near 0. Gradient: g exp(x).
Tensor log(const Operand& x);    ///< Natural logarithm. Gradient: g / x.
Tensor log2(const Operand& x);   ///< Gradient: g / (x log 2).
Tensor log10(const Operand& x);  ///< Gradient: g / (x log 10).
Tensor log1p(const Operand& x);  ///< log(1 + x), accurate near 0. Gradient: g / (1 + x).
Tensor logit(const Operand& x);  ///< log(x / (1 - x)), the inverse of sigmoid. Gradient: g / (x (1 - x)).
/// logit of x limited to [eps, 1 - eps] (torch.logit); float16 and bfloat16 compute in float32. ValueError unless eps
/// is in [0, 0.5]. Gradient: g / (x (1 - x)) where eps <= x <= 1 - eps, else 0.
Tensor logit(const Operand& x, double eps);
/// log(exp(x) + exp(y)), without overflow. Gradient: g exp(x - z), g exp(y - z); equal shares where both are -inf.
Tensor logaddexp(const Operand& x, const Operand& y);
/// rel_entr(x, y) - x + y, at least 0, with all digits for close x and y. Gradient: g log(x / y), g (1 - x / y). The
/// second derivative by y loses digits where y is far larger than x.
Tensor kl_div(const Operand& x, const Operand& y);

// Trigonometric and hyperbolic: floating, radians.
Tensor sin(const Operand& x);     ///< Gradient: g cos(x).
Tensor cos(const Operand& x);     ///< Gradient: -g sin(x).
Tensor tan(const Operand& x);     ///< Gradient: g (1 + z^2).
Tensor arcsin(const Operand& x);  ///< Gradient: g / sqrt(1 - x^2).
Tensor arccos(const Operand& x);  ///< Gradient: -g / sqrt(1 - x^2).
Tensor arctan(const Operand& x);  ///< Gradient: g / (1 + x^2).
/// The angle of the point (x, y), in [-pi, pi]. Gradient: g x / (x^2 + y^2), -g y / (x^2 + y^2); NaN at the origin.
Tensor arctan2(const Operand& y, const Operand& x);
Tensor sinh(const Operand& x);  ///< Gradient: g cosh(x).
Tensor cosh(const Operand& x);  ///< Gradient: g sinh(x).
/// Gradient: g (1 - z^2). A tape keeps z alone, so that digits are lost where z is near 1 or -1: half of them at |x| =
/// 9 (float32 5), all from 19 on (float32 10). 2 exp(log_sigmoid(2 x)) - 1 keeps them.
Tensor tanh(const Operand& x);
Tensor arcsinh(const Operand& x);  ///< Gradient: g / sqrt(1 + x^2).
Tensor arccosh(const Operand& x);  ///< Gradient: g / sqrt(x^2 - 1).
Tensor arctanh(const Operand& x);  ///< Gradient: g / (1 - x^2).
/// sqrt(x^2 + y^2), without overflow. Gradient: g x / z, g y / z; g or -g for an infinite operand; 0 at the origin, to
/// every order: the second derivative of hypot(x, y)^2 is 0 there, not 2. Where both may be 0 write square(x) +
/// square(y). The second derivative by an operand far larger than the other, which is nearly 0, has no digits; where
/// 1 / z overflows it is infinite or NaN.
Tensor hypot(const Operand& x, const Operand& y);
Tensor deg2rad(const Operand& x);  ///< x pi / 180. Gradient: g pi / 180.
Tensor rad2deg(const Operand& x);  ///< x 180 / pi. Gradient: g 180 / pi.

// Special functions: floating.
Tensor erf(const Operand& x);     ///< Gradient: g 2 / sqrt(pi) exp(-x^2).
Tensor erfc(const Operand& x);    ///< 1 - erf(x), accurate for large x. Gradient: -g 2 / sqrt(pi) exp(-x^2).
Tensor lgamma(const Operand& x);  ///< log |Gamma(x)|. Gradient: g digamma(x).
/// d/dx lgamma(x): -inf at 0, NaN at negative integers. Gradient: g polygamma(1, x).
Tensor digamma(const Operand& x);
/// The n-th derivative of digamma; n is a non-negative integer-valued operand. Gradient: none for n, g polygamma(n + 1,
/// x).
Tensor polygamma(const Operand& n, const Operand& x);

// Activations: floating, except relu.
/// 1 / (1 + exp(-x)). Gradient: g z (1 - z). A tape keeps z alone, so that digits are lost where z is near 1: half of
/// them at x = 18 (float32 8), all from 37 on (float32 17); near 0 the second derivative loses its own.
/// exp(log_sigmoid(x)) keeps those of the first.
Tensor sigmoid(const Operand& x);
/// log(1 + exp(x)), without overflow. Gradient: g sigmoid(x). The second derivative keeps its digits in both tails, as
/// do those of log_sigmoid and logaddexp.
Tensor softplus(const Operand& x);
Tensor relu(const Operand& x);          ///< maximum(x, 0), but for the tie. Gradient: g where x > 0, else 0.
Tensor relu6(const Operand& x);         ///< x limited to [0, 6]. Gradient: 0 at both kinks.
Tensor hard_sigmoid(const Operand& x);  ///< relu6(x + 3) / 6. Gradient: g / 6, 0 at both kinks.
/// x relu6(x + 3) / 6. Gradient: g (2 x + 3) / 6 between the kinks, 0 at -3, g at 3.
Tensor hard_swish(const Operand& x);
/// x where |x| > l, else 0. Gradient: g where |x| > l; none to l.
Tensor hardshrink(const Operand& x, const Operand& l = 0.5);
/// x where x > 0, else slope x. Gradient to x: g where x > 0, else g slope (also at 0); to the slope: g x where x < 0.
Tensor leaky_relu(const Operand& x, const Operand& slope = 0.01);
/// x where x > 0, else alpha (exp(x) - 1). Gradient: g where x > 0, else g (z + alpha), which is g alpha at 0.
/// ValueError for a negative alpha.
Tensor elu(const Operand& x, const Operand& alpha = 1.0);
/// Scaled elu (Klambauer et al. 2017). Gradient at 0: 1.7581.
Tensor selu(const Operand& x);
/// x Phi(x), where Phi is the normal distribution function, by erfc (Hendrycks and Gimpel 2016; PyTorch's exact gelu).
/// Gradient: g (Phi(x) + x phi(x)), phi being the density.
Tensor gelu(const Operand& x);
/// x s, s = sigmoid(x), also known as swish. Gradient: g s (1 + x (1 - s)). The second derivative loses digits above 6,
/// half of them at 20, all but one from 37 on.
Tensor silu(const Operand& x);
Tensor softsign(const Operand& x);  ///< x / (1 + |x|). Gradient: g / (1 + |x|)^2.

// Order and rounding.
/// The larger operand; NaN if either is NaN. Gradient: g to the larger, g / 2 to each on a tie.
Tensor maximum(const Operand& x, const Operand& y);
/// The smaller operand; NaN if either is NaN. Gradient: g to the smaller, g / 2 to each on a tie.
Tensor minimum(const Operand& x, const Operand& y);
/// x limited to [low, high]. Gradient: g to x where low <= x <= high, else g to the bound that replaces x.
Tensor clip(const Operand& x, const Operand& low, const Operand& high);
/// x y + z, rounded once on every machine; float16 and bfloat16 compute in float32. Gradient: g y, g x, g.
Tensor fma(const Operand& x, const Operand& y, const Operand& z);
/// x + t (y - x): x for t = 0 and y for t = 1, whatever the other is. Gradient: g (1 - t), g t, g (y - x).
Tensor lerp(const Operand& x, const Operand& y, const Operand& t);
Tensor floor(const Operand& x);  ///< Gradient: zero.
Tensor ceil(const Operand& x);   ///< Gradient: zero.
Tensor round(const Operand& x);  ///< To the nearest integer, halves to even. Gradient: zero.
Tensor trunc(const Operand& x);  ///< Gradient: zero.
Tensor frac(const Operand& x);   ///< x - trunc(x), floating. Gradient: g.

// Compositions of the functions above, each one pass over memory, with the derivatives of its parts. float32 and
// float64; float16 and bfloat16 compute in float32, integers and booleans in float64; TypeError for complex numbers.
Tensor fmod(const Operand& x, const Operand& y);  ///< C's remainder, with the sign of x. Gradient: g, -g trunc(x / y).
Tensor fmax(const Operand& x, const Operand& y);  ///< As maximum, but a number wins over NaN, which gets no gradient.
Tensor fmin(const Operand& x, const Operand& y);  ///< As minimum, but a number wins over NaN, which gets no gradient.
Tensor logaddexp2(const Operand& x, const Operand& y);  ///< log2(2^x + 2^y).
Tensor exp10(const Operand& x);                         ///< 10^x.
Tensor log1mexp(const Operand& x);                      ///< log(1 - exp(-x)) for x > 0, accurate near 0 and far out.
Tensor sinc(const Operand& x);                          ///< sin(pi x) / (pi x), 1 at 0, with its derivatives there.
/// x log(y), 0 where x = 0 unless y is NaN. Gradient: g log(y), g x / y, both 0 where x = 0 and log(y) is not finite.
Tensor xlogy(const Operand& x, const Operand& y);
Tensor xlog1py(const Operand& x, const Operand& y);  ///< x log1p(y), otherwise as xlogy.
Tensor xdivy(const Operand& x, const Operand& y);    ///< x / y, 0 with gradient 0 where both are 0.
/// x / y, 0 with gradient 0 where y is 0.
Tensor divide_no_nan(const Operand& x, const Operand& y);
/// x y, 0 with gradient 0 where y is 0 and x infinite or NaN.
Tensor multiply_no_nan(const Operand& x, const Operand& y);
/// -x log(x), 0 at 0, -inf below. Gradient: -g (log(x) + 1), infinite at 0 and at infinity. Where 1 / x overflows (1 /
/// x^2 for the second derivative), only reverse mode is right.
Tensor entr(const Operand& x);
/// x log(x / y), 0 where x = 0 <= y, infinite where x < 0 or y < 0 or where y = 0 < x. Derivatives by x at
/// infinity and at tiny x are minus those of entr.
Tensor rel_entr(const Operand& x, const Operand& y);
/// x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2. The second derivative loses digits above 3, and is 0 from 8 on.
/// At infinity forward mode gives NaN.
Tensor gelu_tanh(const Operand& x);
/// x limited to [low, high]. Gradient: 0 at both kinks, none to the bounds.
Tensor hard_tanh(const Operand& x, const Operand& low = -1.0, const Operand& high = 1.0);
/// x tanh(softplus(x)). The second derivative loses digits above 3, and is 0 from 20 on.
Tensor mish(const Operand& x);
/// x where x > 0, else alpha expm1(x / alpha).
Tensor celu(const Operand& x, const Operand& alpha = 1.0);
Tensor log_sigmoid(const Operand& x);  ///< log(sigmoid(x)) = -softplus(-x).
/// x where x > t, else value. Gradient to x: g where x > t; to the value: g elsewhere; none to t.
Tensor threshold(const Operand& x, const Operand& t, const Operand& value);
/// x - l where x > l, x + l where x < -l, else 0.
Tensor softshrink(const Operand& x, const Operand& l = 0.5);
/// x with NaN replaced by `nan`, and infinities by `high` and `low`, which default to the largest and the lowest number
/// of the result's dtype. Gradient: g, 0 where x is replaced.
Tensor nan_to_num(const Operand& x, double nan = 0);
Tensor nan_to_num(const Operand& x, double nan, double high, double low);

// For complex numbers the holomorphic functions above exist: arithmetic, square, reciprocal, power, sqrt, exp, exp2,
// expm1, log, log2, log10, log1p, sin to tanh and their inverses. Branch cuts are NumPy's; on a cut the sign of a zero
// selects the side. sign is x / |x|, 0 at 0. Others throw TypeError. The gradient of a real L is dL/d(re) + i dL/d(im),
// as in TensorFlow and PyTorch: for abs(z)^2 it is 2 z. A real operand gets the real part of its gradient.
Tensor real(const Operand& x);  ///< The real part; a real x itself. Gradient: g + 0i.
Tensor imag(const Operand& x);  ///< The imaginary part; zeros for a real x. Gradient: 0 + gi.
Tensor conj(const Operand& x);  ///< The complex conjugate; a real x itself. Gradient: conj(g).
/// The argument of x, in [-pi, pi], floating. Gradient: g i x / |x|^2, 0 at 0; zero for a real x.
Tensor angle(const Operand& x);
/// re + i im: complex64 for float32 and narrower, complex128 for float64 and integers. TypeError for a complex operand.
/// Gradient: real(g), imag(g).
Tensor make_complex(const Operand& re, const Operand& im);

/// Comparisons and logic: boolean results, which carry no gradient.
Tensor equal(const Operand& x, const Operand& y);
Tensor not_equal(const Operand& x, const Operand& y);
Tensor less(const Operand& x, const Operand& y);
Tensor less_equal(const Operand& x, const Operand& y);
Tensor greater(const Operand& x, const Operand& y);
Tensor greater_equal(const Operand& x, const Operand& y);
Tensor logical_and(const Operand& x, const Operand& y);  ///< A number counts as true where it is not zero.
Tensor logical_or(const Operand& x, const Operand& y);
Tensor logical_xor(const Operand& x, const Operand& y);
Tensor logical_not(const Operand& x);
Tensor isnan(const Operand& x);
Tensor isinf(const Operand& x);
Tensor isfinite(const Operand& x);
/// Whether shapes and all elements are equal (NaN differs from itself). Returns a bool, not a tensor.
bool array_equal(const Operand& x, const Operand& y);
/// Options of allclose().
struct AllcloseOptions {
  double rtol = 1e-5, atol = 1e-8;
  bool equal_nan = false;  ///< whether NaN is close to NaN
};
/// Whether |x - y| <= atol + rtol |y| for all elements, after broadcasting; equal infinities are close. Complex numbers
/// by their distance, integers as float64. Returns a bool, not a tensor. ValueError for tolerances that are negative or
/// NaN, ShapeError where the shapes do not broadcast. NumPy's allclose.
bool allclose(const Operand& x, const Operand& y, const AllcloseOptions& options = {});

/// x where the condition is true (not zero), else y; all three broadcast. Gradient: g where chosen, 0 elsewhere. An
/// infinite slope makes NaN of that 0, as of where(x > 0, sqrt(x), 0) at 0: choose before, sqrt(where(x > 0, x, 1)).
Tensor where(const Operand& condition, const Operand& x, const Operand& y);

// clang-format off
/// The op of the same name: add, subtract, multiply, divide, mod, negative and the comparisons.
inline Tensor operator+(const Operand& x, const Operand& y) { return add(x, y); }
inline Tensor operator-(const Operand& x, const Operand& y) { return subtract(x, y); }
inline Tensor operator*(const Operand& x, const Operand& y) { return multiply(x, y); }
inline Tensor operator/(const Operand& x, const Operand& y) { return divide(x, y); }
inline Tensor operator%(const Operand& x, const Operand& y) { return mod(x, y); }
inline Tensor operator-(const Operand& x) { return negative(x); }
inline Tensor operator<(const Operand& x, const Operand& y) { return less(x, y); }
inline Tensor operator<=(const Operand& x, const Operand& y) { return less_equal(x, y); }
inline Tensor operator>(const Operand& x, const Operand& y) { return greater(x, y); }
inline Tensor operator>=(const Operand& x, const Operand& y) { return greater_equal(x, y); }
inline Tensor& operator+=(Tensor& x, const Operand& y) { return x = add(Operand(static_cast<Tensor&&>(x), y.file(), y.line()), y); }
inline Tensor& operator-=(Tensor& x, const Operand& y) { return x = subtract(Operand(static_cast<Tensor&&>(x), y.file(), y.line()), y); }
inline Tensor& operator*=(Tensor& x, const Operand& y) { return x = multiply(Operand(static_cast<Tensor&&>(x), y.file(), y.line()), y); }
inline Tensor& operator/=(Tensor& x, const Operand& y) { return x = divide(Operand(static_cast<Tensor&&>(x), y.file(), y.line()), y); }
inline Tensor& operator%=(Tensor& x, const Operand& y) { return x = mod(Operand(static_cast<Tensor&&>(x), y.file(), y.line()), y); }
template <detail::Temporary X> void operator+=(X&&, const Operand&) = delete;  // tensors are immutable: write x = slice_add(x, {0}, y), of <reel/ops/indexing.hpp>
template <detail::Temporary X> void operator-=(X&&, const Operand&) = delete;  // tensors are immutable: write x = slice_add(x, {0}, -y), of <reel/ops/indexing.hpp>
template <detail::Temporary X> void operator*=(X&&, const Operand&) = delete;  // tensors are immutable: write x = slice_update(x, {0}, x[0] * y), of <reel/ops/indexing.hpp>
template <detail::Temporary X> void operator/=(X&&, const Operand&) = delete;  // tensors are immutable: write x = slice_update(x, {0}, x[0] / y), of <reel/ops/indexing.hpp>
template <detail::Temporary X> void operator%=(X&&, const Operand&) = delete;  // tensors are immutable: write x = slice_update(x, {0}, x[0] % y), of <reel/ops/indexing.hpp>
// Deleted, because == could be elementwise or one bool. Write equal(x, y) or array_equal(x, y).
void operator==(const Tensor& x, const Operand& y) = delete;
void operator!=(const Tensor& x, const Operand& y) = delete;

}  // namespace reel

// Every function made from the table of derivatives, with its number of operands. <reel/elementwise.hpp> declares their
// forms for elementwise() from this list; lib/ops/pointwise.cpp defines those of tensors.
// clang-format off
#define REEL_POINTWISE_FUNCTIONS(F) \
  F(add, 2) F(subtract, 2) F(multiply, 2) F(divide, 2) F(negative, 1) F(square, 1) F(squared_difference, 2)            \
  F(reciprocal, 1) F(abs, 1) F(sign, 1) F(maximum, 2) F(minimum, 2) F(clip, 3) F(fma, 3) F(floor, 1) F(ceil, 1)          \
  F(round, 1) F(trunc, 1) F(floor_divide, 2) F(mod, 2) F(power, 2) F(sqrt, 1) F(rsqrt, 1) F(cbrt, 1) F(hypot, 2) F(exp, 1)         \
  F(exp2, 1) F(expm1, 1) F(log, 1) F(log2, 1) F(log10, 1) F(log1p, 1) F(logaddexp, 2) F(erf, 1) F(erfc, 1)             \
  F(lgamma, 1) F(digamma, 1) F(polygamma, 2) F(sin, 1) F(cos, 1) F(tan, 1) F(arcsin, 1) F(arccos, 1) F(arctan, 1)      \
  F(arctan2, 2) F(sinh, 1) F(cosh, 1) F(tanh, 1) F(arcsinh, 1) F(arccosh, 1) F(arctanh, 1) F(relu, 1)                  \
  F(leaky_relu, 2) F(elu, 2) F(selu, 1) F(gelu, 1) F(silu, 1) F(sigmoid, 1) F(softplus, 1) F(softsign, 1)              \
  F(sigmoid_cross_entropy, 2) F(frac, 1) F(copysign, 2) F(logit, 1) F(deg2rad, 1) F(rad2deg, 1) F(relu6, 1)            \
  F(hard_sigmoid, 1) F(hard_swish, 1) F(hardshrink, 2) F(lerp, 3) F(kl_div, 2)
/// The functions that are compositions of those, likewise.
#define REEL_COMPOSED_FUNCTIONS(F) \
  F(fmod, 2) F(fmax, 2) F(fmin, 2) F(logaddexp2, 2) F(exp10, 1) F(log1mexp, 1) F(sinc, 1) F(xlogy, 2) F(xlog1py, 2)    \
  F(xdivy, 2) F(divide_no_nan, 2) F(multiply_no_nan, 2) F(entr, 1) F(rel_entr, 2) F(gelu_tanh, 1)                      \
  F(hard_tanh, 3) F(mish, 1) F(celu, 2) F(log_sigmoid, 1) F(threshold, 3) F(softshrink, 2)
// clang-format on
