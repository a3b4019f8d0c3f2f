// Bessel functions of order 0 and 1 on a vector: I and K, also exponentially scaled, J and Y. float is computed in
// double: T, float or double, says how long the polynomials are. Errors are at most 4 ulp. Beyond 5, J and Y
// are sums that cancel near their zeros: an ulp there is one of sqrt(2 / (pi x)) / 2, half the envelope.
#pragma once
#include "kernels/math/basic.hpp"
#include "kernels/math/exp.hpp"
#include "kernels/math/log.hpp"
#include "kernels/math/special.hpp"
#include "kernels/math/trig.hpp"
#include "special/bessel/fits.hpp"

namespace reel::kernels {
namespace math {

inline constexpr double infinite = std::numeric_limits<double>::infinity();

// m e^x for -760 <= x <= 720. It overflows and underflows only where the product m e^x does.
template <class T>
[[gnu::always_inline]] inline Vec<double> times_exp(Vec<double> m, Vec<double> x) {
  const auto [n, r] = reduce_by_ln2(x);
  if constexpr (std::same_as<T, float>)
    return scale(fma(m, fma(r * r, polynomial_of(BesselFits<float>::exp_tail, r), r), m), n);
  else
    return scale(fma(m, expm1_near_zero(r), m), n);
}

template <int order, std::size_t M, std::size_t N>
constexpr const auto& choose(const double (&zero)[M], const double (&one)[N]) {
  if constexpr (order == 0)
    return zero;
  else
    return one;
}
// The polynomial with the coefficients of `zero` or `one`, as the order says.
template <int order, std::size_t M, std::size_t N>
[[gnu::always_inline]] inline Vec<double> of_order(const double (&zero)[M], const double (&one)[N], Vec<double> x) {
  return polynomial_of(choose<order>(zero, one), x);
}

// The polynomial less its first coefficient, divided by x. Where these terms are small, the sum with the first is the
// only rounding that matters.
template <std::size_t N>
[[gnu::always_inline]] inline Vec<double> after_first(const double (&c)[N], Vec<double> x) {
  const Vec<double> x2 = x * x;
  if constexpr (N <= 9) return fma(x, every<2, 2>(x2, c), every<2, 1>(x2, c));
  const Vec<double> x4 = x2 * x2;
  return fma(x2, fma(x, every<4, 4>(x4, c), every<4, 3>(x4, c)), fma(x, every<4, 2>(x4, c), every<4, 1>(x4, c)));
}

// ---- I. With a = |x|, the polynomials are in z = a^2 / 4 up to 8, and in t = 16 / a - 1 beyond.

// I_0(x), or I_1(x) / (x / 2), |x| <= 8.
template <class T, int order>
[[gnu::always_inline]] inline Vec<double> i_near(Vec<double> z) {
  using F = BesselFits<T>;
  // All terms are positive. Horner's scheme, from the last coefficient, rounds least.
  if constexpr (order == 0) return fma(z, every<1, 0>(z, F::i0_near), 1);
  return fma(z, every<1, 0>(z, F::i1_near), 1);
}
template <class T, int order, bool scaled>
[[gnu::noinline]] Vec<double> bessel_i(Vec<double> x) {
  using L = Vec<double>;
  using F = BesselFits<T>;
  const L a = abs(x), half = 0.5 * lesser_of(L(8), a);
  const auto near = a < 8;
  L y = i_near<T, order>(half * half);
  if (order == 1) y = y * half;
  if (scaled) y = times_exp<T>(y, -2 * half);
  if (!all(near)) {
    const L b = scaled ? greater_of(L(8), a) : clamp(8.0, 720.0, a), inverse = 1 / b;
    const L far = of_order<order>(F::i0_far, F::i1_far, 16 * inverse - 1) * sqrt(inverse);
    y = where(near, y, scaled ? far : times_exp<T>(far, b));
  }
  return order == 1 ? times_sign_of(x, y) : y;
}

// ---- K, whose float results are those of double. The polynomials are in z = x^2 up to 1, and in t = (x - 3) / (x + 1)
// beyond.

template <int order>
[[gnu::always_inline]] inline Vec<double> k_near(Vec<double> x) {
  using L = Vec<double>;
  using F = BesselFits<double>;
  const L z = x * x, l = log(x), i = i_near<double, order>(z * 0.25);
  if constexpr (order == 0) return fma(-l, i, polynomial_of(F::k0_near, z));
  const L y = fma(x, fma(0.5 * l, i, polynomial_of(F::k1_near, z)), 1 / x);
  return where(x == 0, infinite, y);
}
template <int order, bool scaled>
[[gnu::noinline]] Vec<double> bessel_k(Vec<double> x) {
  using L = Vec<double>;
  using F = BesselFits<double>;
  const auto near = x <= 1;
  const L b = scaled ? greater_of(L(1), x) : clamp(1.0, 760.0, x), t = 1 - 4 / (b + 1);
  const auto& fit = choose<order>(F::k0_far, F::k1_far);
  const L far = fma(t, after_first(fit, t), fit[0]) / sqrt(b);
  L y = scaled ? far : times_exp<double>(far, -b);
  if (any(near)) {
    const L c = lesser_of(L(1), x), close = k_near<order>(c);
    y = where(near, scaled ? where(isinf(close), close, times_exp<double>(close, greater_of(L(0), c))) : close, y);
  }
  return y;
}

// ---- J and Y. The polynomials are in z = x^2 up to 2, in t = (x - 3.5) / 1.5 from 2 to 5, and in t = 50 / x^2 - 1
// beyond.

// The difference of x and a zero of the function, with a small relative error: the zero is `zero` + `lost`.
[[gnu::always_inline]] inline Vec<double> beyond(double zero, double lost, Vec<double> x) { return (x - zero) - lost; }

template <class T, int order>
[[gnu::always_inline]] inline Vec<double> j_near(Vec<double> x, Vec<double> z) {
  if constexpr (order == 0)
    return fma(z, polynomial_of(BesselFits<T>::j0_near, z), 1);
  else
    return x * polynomial_of(BesselFits<T>::j1_near, z);
}
template <class T, int order>
[[gnu::always_inline]] inline Vec<double> y_near(Vec<double> x, Vec<double> z) {
  using L = Vec<double>;
  constexpr double two_over_pi = 0.63661977236758134308;
  const L product = log(x) * j_near<T, order>(x, z);
  const L y = order == 0 ? fma(two_over_pi, product, polynomial_of(BesselFits<T>::y0_near, z))
                         : fma(two_over_pi, product - 1 / x, x * polynomial_of(BesselFits<T>::y1_near, z));
  return where(x == 0, -infinite, y);
}
template <class T, int order, bool second>
[[gnu::always_inline]] inline Vec<double> j_or_y_middle(Vec<double> x) {
  const Vec<double> t = (x - 3.5) * (1 / 1.5);
  if constexpr (second && order == 0)
    return beyond(y0_first_zero, y0_first_zero_lost, x) * polynomial_of(BesselFits<T>::y0_middle, t);
  else if constexpr (second)
    return beyond(y1_first_zero, y1_first_zero_lost, x) * beyond(y1_second_zero, y1_second_zero_lost, x) *
           polynomial_of(BesselFits<T>::y1_middle, t);
  else if constexpr (order == 0)
    return beyond(j0_first_zero, j0_first_zero_lost, x) * beyond(j0_second_zero, j0_second_zero_lost, x) *
           polynomial_of(BesselFits<T>::j0_middle, t);
  else
    return beyond(j1_first_zero, j1_first_zero_lost, x) * beyond(j1_second_zero, j1_second_zero_lost, x) *
           polynomial_of(BesselFits<T>::j1_middle, t);
}
// DLMF 10.17.3 and 10.17.4, with polynomials P and Q and w = x - (2 order + 1) pi / 4: J = sqrt(2 / (pi x)) (P cos w -
// Q sin w), Y = sqrt(2 / (pi x)) (P sin w + Q cos w). P is 1 + `rest`.
template <class T, int order, bool second>
[[gnu::always_inline]] inline Vec<double> j_or_y_far(Vec<double> x) {
  using L = Vec<double>;
  using F = BesselFits<T>;
  constexpr double inverse_of_pi = 0.31830988618379067154;
  const L inverse = 1 / x, t = fma(50 * inverse, inverse, -1);
  const auto& fit = choose<order>(F::p0_far, F::p1_far);
  const L rest = fma(t, after_first(fit, t), fit[0] - 1), q = inverse * of_order<order>(F::q0_far, F::q1_far, t);
  const auto finite = x < infinite;
  const auto [s, c] = sin_and_cos(where(finite, x, 5));
  const L sum = s + c, difference = s - c;
  // sqrt(2) cos w and sqrt(2) sin w
  const L cosine = order == 0 ? sum : difference, sine = order == 0 ? difference : -sum;
  const L y = second ? sine + fma(rest, sine, q * cosine) : cosine + fma(rest, cosine, -(q * sine));
  return where(finite, sqrt(inverse_of_pi * inverse) * y, 0);
}
template <class T, int order, bool second>
[[gnu::noinline]] Vec<double> j_or_y(Vec<double> x) {
  using L = Vec<double>;
  const auto beyond_near = x > 2, far = x > 5;
  L y = 0;
  if (!all(beyond_near)) {
    const L close = lesser_of(L(2), x);
    y = second ? y_near<T, order>(close, close * close) : j_near<T, order>(close, close * close);
  }
  if (any(beyond_near)) y = where(beyond_near, j_or_y_middle<T, order, second>(clamp(2.0, 5.0, x)), y);
  if (any(far)) y = where(far, j_or_y_far<T, order, second>(greater_of(L(5), x)), y);
  return y;
}
template <class T, int order>
[[gnu::noinline]] Vec<double> bessel_j(Vec<double> x) {
  const Vec<double> y = j_or_y<T, order, false>(abs(x));
  return order == 1 ? times_sign_of(x, y) : y;
}
template <class T, int order>
[[gnu::noinline]] Vec<double> bessel_y(Vec<double> x) {
  return j_or_y<T, order, true>(x);
}

}  // namespace math
}  // namespace reel::kernels
