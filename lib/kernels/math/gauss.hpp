// The error function, and functions computed from it: erfc, the normal density and distribution function, gelu. For a
// >= 0, erfc(a) = e^(-a^2) P(t) / (1 + 2a) with t = (a - K) / (a + K). P is our own Remez fit, up to where erfc
// underflows. a^2 is carried in two parts, and the power of two is applied last, so that the far tail keeps its digits.
#pragma once
#include "kernels/math/exp.hpp"

namespace reel::kernels {
namespace math {

template <class T>
struct GaussConstants;
template <>
struct GaussConstants<float> {
  static constexpr float erf_one = 4, erfc_zero = 10.2F, cdf_zero = 14.4F;  // the result is 1 or 0 from here on
};
template <>
struct GaussConstants<double> {
  static constexpr double erf_one = 6, erfc_zero = 27.3, cdf_zero = 38.6;
};

// An unevaluated sum: `lost` is the rounding error of `value`, far below its last place.
template <class T>
struct Compensated {
  Vec<T> value, lost;
};
template <class T>
[[gnu::always_inline]] inline Compensated<T> compensated_sum(T large, Vec<T> small) {
  const Vec<T> sum = large + small;
  return {sum, (large - sum) + small};
}

// (1 + 2a) e^(a^2) erfc(a)
[[gnu::always_inline]] inline Compensated<float> scaled_erfc_polynomial(Vec<float> a) {
  const auto t = (a - 2.5F) / (a + 2.5F);
  return compensated_sum(
      0x1.43cc70p+0F,
      t * polynomial(t, -0x1.f52c4ep-4F, -0x1.959a66p-4F, 0x1.42d272p-3F, -0x1.a5c79ep-4F, 0x1.0c8180p-5F,
                     0x1.00b6f8p-10F, -0x1.219660p-8F, 0x1.68d26cp-12F, 0x1.41939ap-11F, 0x1.49d536p-14F));
}
[[gnu::always_inline]] inline Compensated<double> scaled_erfc_polynomial(Vec<double> a) {
  const auto t = (a - 3.5) / (a + 3.5);
  return compensated_sum(
      0x1.3e0a99a0ee914p+0,
      t * polynomial(t, -0x1.1ebd220ea593bp-3, -0x1.59e2c284b0e98p-7, 0x1.8f702ec6b32c9p-4, -0x1.d76830c354c7dp-4,
                     0x1.686106046fe7fp-4, -0x1.8ff5ef767ef57p-5, 0x1.38ec6670cb6b9p-6, -0x1.143c4cc850765p-8,
                     -0x1.3cf368b228be3p-12, 0x1.27e66ca0f8ccep-11, -0x1.fda91f46c9e8fp-14, -0x1.66e4703f3f5dbp-15,
                     0x1.970a35d172a0dp-16, 0x1.38f12bfa8e4ddp-19, -0x1.0011911ace9d2p-18, -0x1.b3fb24aeca46dp-25,
                     0x1.4366ab72280ebp-21, 0x1.8d3e84dd8b97ap-34, -0x1.99ce0ec1619fbp-24, -0x1.5854edc911b9fp-28,
                     0x1.996665f8b24f2p-27, 0x1.ce111d38991cep-30, -0x1.d8a57f68c3ad5p-32));
}

// erf(x) / x - 1 for |x| <= 0.9, z = x^2
[[gnu::always_inline]] inline Vec<float> erf_near_zero(Vec<float> z) {
  return polynomial(z, 0x1.06eba8p-3F, -0x1.812744p-2F, 0x1.ce2e60p-4F, -0x1.b8162ap-6F, 0x1.5513f4p-8F,
                    -0x1.acf800p-11F, 0x1.662518p-14F);
}
[[gnu::always_inline]] inline Vec<double> erf_near_zero(Vec<double> z) {
  return polynomial(z, 0x1.06eba8214db69p-3, -0x1.812746b0379e3p-2, 0x1.ce2f21a042835p-4, -0x1.b82ce312736cfp-6,
                    0x1.565bcd0a6eef0p-8, -0x1.c02db31efd183p-11, 0x1.f9a307605bac0p-14, -0x1.f4cf6f9e271bbp-17,
                    0x1.b9b866a819804p-20, -0x1.5d8af025bb3b7p-23, 0x1.e2dcfeab54fdep-27, -0x1.d32bb0847fed2p-31);
}

// erf(a) for 0.9 <= a <= erf_one. In float it is 1 - e^P(a), where erfc(a) = e^P(a) <= 0.21 needs few digits.
[[gnu::always_inline]] inline Vec<float> erf_far(Vec<float> a) {
  const Vec<float> p = horner(a, 0x1.12ed1ap-13F, -0x1.211a8cp+0F, -0x1.4479b6p-1F, -0x1.b9d742p-4F, 0x1.978ae2p-6F,
                              -0x1.0bcc96p-8F, 0x1.b7232ep-12F, -0x1.4de74cp-16F);
  const auto [n, r] = reduce_by_ln2(p);
  const Vec<float> power = exponential_of_two(n);
  return (1 - power) - power * expm1_near_zero(r);
}

// normal_cdf(x) = 1/2 + x P(x^2) for |x| <= 3/4
[[gnu::always_inline]] inline Vec<float> cdf_near_zero(Vec<float> z) {
  return horner(z, 0x1.988454p-2F, -0x1.105822p-4F, 0x1.46c64ep-7F, -0x1.35aebcp-10F, 0x1.affccep-14F);
}
[[gnu::always_inline]] inline Vec<double> cdf_near_zero(Vec<double> z) {
  return horner(z, 0x1.9884533d43650p-2, -0x1.1058377e2ce87p-4, 0x1.46d0429760d6ep-7, -0x1.37403f66e49aap-10,
                0x1.e42b0a9a8356ep-14, -0x1.3ce88a8b983f3p-17, 0x1.6574d171fdc59p-21, -0x1.5fc3c2f076ffap-25,
                0x1.13b00476336b6p-29);
}

// e^(a^2) erfc(a)
template <class T>
[[gnu::always_inline]] inline Compensated<T> scaled_erfc(Vec<T> a) {
  using L = Vec<T>;
  const auto p = scaled_erfc_polynomial(a);
  const L twice = 2 * a, d = 1 + twice, back = d - twice, d_lost = (1 - back) + (twice - (d - back));
  const L inverse = 1 / d, q = p.value * inverse;
  const auto [high, low] = exact_product(q, d);
  return {q, (((p.value - high) - low) + (p.lost - q * d_lost)) * inverse};
}

// e^(-a^2 s) = (1 + m) 2^k; s is a power of two.
template <class T>
[[gnu::always_inline]] inline Split<T> exp_of_minus_square(Vec<T> a, T s) {
  using C = ExpConstants<T>;
  using L = Vec<T>;
  const auto reduced = [&](L square) { return fma(square, -s * C::log2_e, rounder<T>) - rounder<T>; };
  if constexpr (has_fma) {
    const L n = reduced(a * a);
    return {expm1_near_zero(fma(n, -C::ln2_low, fma(-s * a, a, n * -C::ln2_high))), n};
  } else {
    const auto [high, low] = exact_product(a, a);
    const L n = reduced(high);
    return {expm1_near_zero(fma(n, -C::ln2_low, fma(n, -C::ln2_high, -s * high)) - low * s), n};
  }
}

// q (1 + m) with a single rounding: both factors enter with their rounding errors.
template <class T>
[[gnu::always_inline]] inline Vec<T> product(Compensated<T> q, Vec<T> m) {
  return q.value + fma(q.value, m, fma(q.lost, m, q.lost));
}

// erfc(a) for 0 <= a <= erfc_zero
template <class T>
[[gnu::always_inline]] inline Vec<T> erfc_positive(Vec<T> a) {
  const auto e = exp_of_minus_square(a, T(1));
  return scale(product(scaled_erfc(a), e.m), e.k);
}

[[gnu::always_inline]] inline Vec<double> erf_far(Vec<double> a) { return 1 - erfc_positive(a); }

// factor * (1 - normal_cdf(a)) for 0 <= a <= cdf_zero
template <class T>
[[gnu::always_inline]] inline Vec<T> normal_tail(Vec<T> a, Vec<T> factor) {
  using L = Vec<T>;
  constexpr T root = static_cast<T>(0.70710678118654752440), two_over_root_pi = static_cast<T>(1.12837916709551257390);
  constexpr T root_lost = static_cast<T>(0.70710678118654752440L - root);
  const auto e = exp_of_minus_square(a, T(0.5));
  const auto [s, low] = exact_product(a, L(root));
  auto q = scaled_erfc(s);  // its derivative by s is 2 s q - 2 / sqrt(pi)
  q.lost += (2 * s * q.value - two_over_root_pi) * fma(a, root_lost, low);
  return scale(factor * product(q, e.m), e.k - 1);
}

// a (1 - normal_cdf(a)) for 0 <= a <= cdf_zero. The float version is for a >= 0.7: e^(-a^2 / 2) / sqrt(2 pi) a / (a +
// W), where W = P / Q falls to 0. The rounding errors of Q and a Q cancel in the quotient a Q / (a Q + P).
[[gnu::always_inline]] inline Vec<float> gelu_tail(Vec<float> a) {
  using L = Vec<float>;
  constexpr float inverse_root = 0x1.988454p-2F;  // 1 / sqrt(2 pi); the fit includes its rounding
  const auto e = exp_of_minus_square(a, 0.5F);
  const L z = a * a;
  const L p = fma(z, fma(a, 0x1.03213ep-6F, 0x1.f7544ap-4F), fma(a, 0x1.c70762p-2F, 0x1.987eb8p-1F));
  const L q = fma(z, fma(z, L(0x1.032f84p-6F), fma(a, 0x1.f6ac40p-4F, 0x1.ea81bap-2F)), fma(a, 0x1.0316aep+0F, 1));
  const L aq = a * q;
  return scale(aq / (aq + p) * fma(e.m, inverse_root, inverse_root), e.k);
}
[[gnu::always_inline]] inline Vec<double> gelu_tail(Vec<double> a) { return normal_tail(a, a); }

}  // namespace math

template <class T>
[[gnu::noinline]] Vec<T> erf(Vec<T> x) {
  using C = math::GaussConstants<T>;
  const Vec<T> a = abs(x), far = math::erf_far(lesser_of(Vec<T>(C::erf_one), a));
  return where(a < T(0.9), fma(x, math::erf_near_zero(x * x), x), copysign(far, x));
}

template <class T>
[[gnu::noinline]] Vec<T> erfc(Vec<T> x) {
  using C = math::GaussConstants<T>;
  const Vec<T> a = abs(x), y = math::erfc_positive(lesser_of(Vec<T>(C::erfc_zero), a));
  return where(a < T(0.5), fma(-x, math::erf_near_zero(x * x), 1 - x), where(x < 0, 2 - y, y));
}

// erfc(-x / sqrt(2)) / 2
template <class T>
[[gnu::noinline]] Vec<T> normal_cdf(Vec<T> x) {
  using C = math::GaussConstants<T>;
  const Vec<T> a = abs(x), y = math::normal_tail(lesser_of(Vec<T>(C::cdf_zero), a), Vec<T>(1));
  return where(a < T(0.75), fma(x, math::cdf_near_zero(x * x), T(0.5)), where(x < 0, y, 1 - y));
}

// x normal_cdf(x). It is -0 at -inf.
template <class T>
[[gnu::noinline]] Vec<T> gelu(Vec<T> x) {
  using L = Vec<T>;
  const L a = lesser_of(L(math::GaussConstants<T>::cdf_zero), abs(x)), positive = greater_of(L(T(-0.0)), x);
  return where(a < T(0.75), x * fma(x, math::cdf_near_zero(x * x), T(0.5)), positive - math::gelu_tail(a));
}

}  // namespace reel::kernels
