// Discrete Fourier transforms of 2, 3, 4, 5, 8 and 16 complex numbers, in each lane of a vector. Real and imaginary
// parts are in vectors of their own. The exponent's sign is negative; swapping all real with all imaginary parts
// changes the sign.
#pragma once
#include <array>

#include "kernels/simd/unrolled.hpp"
#include "kernels/vec.hpp"

namespace reel::kernels::fourier {

template <VecElement T>
struct Lanes {
  Vec<T> re, im;

  [[gnu::always_inline]] friend Lanes operator+(Lanes a, Lanes b) { return {a.re + b.re, a.im + b.im}; }
  [[gnu::always_inline]] friend Lanes operator-(Lanes a, Lanes b) { return {a.re - b.re, a.im - b.im}; }
  [[gnu::always_inline]] friend Lanes operator*(Lanes a, Lanes b) {
    return {fms(a.re, b.re, a.im * b.im), fma(a.re, b.im, a.im * b.re)};
  }
};

// a + i b and a - i b.
template <VecElement T>
[[gnu::always_inline]] inline Lanes<T> plus_i(Lanes<T> a, Lanes<T> b) {
  return {a.re - b.im, a.im + b.re};
}
template <VecElement T>
[[gnu::always_inline]] inline Lanes<T> minus_i(Lanes<T> a, Lanes<T> b) {
  return {a.re + b.im, a.im - b.re};
}

// cos(2 pi m / P) and sin(2 pi m / P), m = 1 to (P - 1) / 2.
template <std::size_t P>
struct PrimeRoots;
template <>
struct PrimeRoots<3> {
  static constexpr double cosine[] = {-0.5};
  static constexpr double sine[] = {0.866025403784438646763723170752936183};
};
template <>
struct PrimeRoots<5> {
  static constexpr double cosine[] = {0.309016994374947424102293417182819059, -0.809016994374947424102293417182819059};
  static constexpr double sine[] = {0.951056516295153572116439333379382143, 0.587785252292473129168705954639072769};
};

// cos(2 pi m / p) and sin(2 pi m / p), m = 0 to p - 1, of p = 7, 11 and 13.
inline constexpr double cosines_7[] = {1,
                                       0.623489801858733530525004884004239811,
                                       -0.222520933956314404288902564496794759,
                                       -0.900968867902419126236102319507445051,
                                       -0.900968867902419126236102319507445051,
                                       -0.222520933956314404288902564496794759,
                                       0.623489801858733530525004884004239811};
inline constexpr double sines_7[] = {0,
                                     0.781831482468029808708444526674057751,
                                     0.974927912181823607018131682993931217,
                                     0.433883739117558120475768332848358754,
                                     -0.433883739117558120475768332848358754,
                                     -0.974927912181823607018131682993931217,
                                     -0.781831482468029808708444526674057751};
inline constexpr double cosines_11[] = {1,
                                        0.841253532831181168861811648919367718,
                                        0.415415013001886425529274149229623204,
                                        -0.142314838273285140443792668616369668,
                                        -0.654860733945285064056925072466293554,
                                        -0.959492973614497389890368057066327700,
                                        -0.959492973614497389890368057066327700,
                                        -0.654860733945285064056925072466293554,
                                        -0.142314838273285140443792668616369668,
                                        0.415415013001886425529274149229623204,
                                        0.841253532831181168861811648919367718};
inline constexpr double sines_11[] = {0,
                                      0.540640817455597582107635954318691696,
                                      0.909631995354518371411715383079028460,
                                      0.989821441880932732376092037776718786,
                                      0.755749574354258283774035843972344421,
                                      0.281732556841429697711417915346616900,
                                      -0.281732556841429697711417915346616900,
                                      -0.755749574354258283774035843972344421,
                                      -0.989821441880932732376092037776718786,
                                      -0.909631995354518371411715383079028460,
                                      -0.540640817455597582107635954318691696};
inline constexpr double cosines_13[] = {1,
                                        0.885456025653209895900375522015098879,
                                        0.568064746731155802511807559127516625,
                                        0.120536680255323053349067687452543582,
                                        -0.354604887042535625969637892600018474,
                                        -0.748510748171101098634630599701351384,
                                        -0.970941817426052027156982276293789227,
                                        -0.970941817426052027156982276293789227,
                                        -0.748510748171101098634630599701351384,
                                        -0.354604887042535625969637892600018474,
                                        0.120536680255323053349067687452543582,
                                        0.568064746731155802511807559127516625,
                                        0.885456025653209895900375522015098879};
inline constexpr double sines_13[] = {0,
                                      0.464723172043768545656015335133104778,
                                      0.822983865893656394579617423439381991,
                                      0.992708874098053992800751649492520179,
                                      0.935016242685414823439784599837830729,
                                      0.663122658240795202376785492666766280,
                                      0.239315664287557767148753726260211895,
                                      -0.239315664287557767148753726260211895,
                                      -0.663122658240795202376785492666766280,
                                      -0.935016242685414823439784599837830729,
                                      -0.992708874098053992800751649492520179,
                                      -0.822983865893656394579617423439381991,
                                      -0.464723172043768545656015335133104778};
inline const double* cosines(std::ptrdiff_t p) { return p == 7 ? cosines_7 : p == 11 ? cosines_11 : cosines_13; }
inline const double* sines(std::ptrdiff_t p) { return p == 7 ? sines_7 : p == 11 ? sines_11 : sines_13; }

// The transform of P numbers, P odd: x[j] and x[P - j] have one cosine and opposite sines.
template <std::size_t P, VecElement T>
[[gnu::always_inline]] inline void butterfly_odd(std::array<Lanes<T>, P>& x) {
  constexpr std::size_t half = (P - 1) / 2;
  std::array<Lanes<T>, half> sum, difference, even, odd;
  unrolled<half>([&](auto j) {
    sum[j] = x[j + 1] + x[P - 1 - j];
    difference[j] = x[j + 1] - x[P - 1 - j];
  });
  Lanes<T> total = x[0];
  unrolled<half>([&](auto j) { total = total + sum[j]; });
  unrolled<half>([&](auto q) {
    Lanes<T> a = x[0], b = {0, 0};
    unrolled<half>([&](auto j) {
      constexpr std::size_t root = (j + 1) * (q + 1) % P;
      constexpr std::size_t m = root > half ? P - root : root;
      constexpr double c = PrimeRoots<P>::cosine[m - 1],
                       s = root > half ? -PrimeRoots<P>::sine[m - 1] : PrimeRoots<P>::sine[m - 1];
      a = {fma(Vec<T>(c), sum[j].re, a.re), fma(Vec<T>(c), sum[j].im, a.im)};
      if constexpr (j == 0)
        b = {Vec<T>(s) * difference[j].re, Vec<T>(s) * difference[j].im};
      else
        b = {fma(Vec<T>(s), difference[j].re, b.re), fma(Vec<T>(s), difference[j].im, b.im)};
    });
    even[q] = a;
    odd[q] = b;
  });
  x[0] = total;
  unrolled<half>([&](auto q) {
    x[q + 1] = minus_i(even[q], odd[q]);
    x[P - 1 - q] = plus_i(even[q], odd[q]);
  });
}

template <VecElement T>
[[gnu::always_inline]] inline void butterfly_4(Lanes<T>& x0, Lanes<T>& x1, Lanes<T>& x2, Lanes<T>& x3) {
  const Lanes<T> a = x0 + x2, b = x0 - x2, c = x1 + x3, d = x1 - x3;
  x0 = a + c;
  x1 = minus_i(b, d);
  x2 = a - c;
  x3 = plus_i(b, d);
}

template <VecElement T>
[[gnu::always_inline]] inline void butterfly_8(std::array<Lanes<T>, 8>& x) {
  butterfly_4(x[0], x[2], x[4], x[6]);
  butterfly_4(x[1], x[3], x[5], x[7]);
  const Vec<T> root = 0.707106781186547524400844362104849039;
  // x[3] and x[7] times exp(-i pi / 4) and exp(-3 i pi / 4), without the root of one half.
  const Lanes<T> u = {x[3].re + x[3].im, x[3].im - x[3].re}, v = {x[7].im - x[7].re, x[7].re + x[7].im};
  const Lanes<T> e0 = x[0], e1 = x[2], e2 = x[4], e3 = x[6], o0 = x[1], o2 = x[5];
  x[0] = e0 + o0;
  x[4] = e0 - o0;
  x[1] = {fma(root, u.re, e1.re), fma(root, u.im, e1.im)};
  x[5] = {fnma(root, u.re, e1.re), fnma(root, u.im, e1.im)};
  x[2] = minus_i(e2, o2);
  x[6] = plus_i(e2, o2);
  x[3] = {fma(root, v.re, e3.re), fnma(root, v.im, e3.im)};
  x[7] = {fnma(root, v.re, e3.re), fma(root, v.im, e3.im)};
}

// x[K] and x[K + 8] = a + w b and a - w b, w = c - i s.
template <std::size_t K, VecElement T>
[[gnu::always_inline]] inline void join(std::array<Lanes<T>, 16>& x, Lanes<T> a, Lanes<T> b, Vec<T> c, Vec<T> s) {
  x[K] = {fma(c, b.re, fma(s, b.im, a.re)), fma(c, b.im, fnma(s, b.re, a.im))};
  x[K + 8] = {fnma(c, b.re, fnma(s, b.im, a.re)), fnma(c, b.im, fma(s, b.re, a.im))};
}

template <VecElement T>
[[gnu::always_inline]] inline void butterfly_16(std::array<Lanes<T>, 16>& x) {
  std::array<Lanes<T>, 8> e, o;
  unrolled<std::size_t(8)>([&](auto k) __attribute__((always_inline)) {
    e[k] = x[2 * k];
    o[k] = x[2 * k + 1];
  });
  butterfly_8(e);
  butterfly_8(o);
  const Vec<T> root = 0.707106781186547524400844362104849039;
  const Vec<T> c = 0.923879532511286756128183189396788287, s = 0.382683432365089771728459984030398867;  // of pi / 8
  // o[2] and o[6] times exp(-i pi / 4) and exp(-3 i pi / 4), without the root of one half.
  const Lanes<T> u = {o[2].re + o[2].im, o[2].im - o[2].re}, v = {o[6].im - o[6].re, o[6].re + o[6].im};
  x[0] = e[0] + o[0];
  x[8] = e[0] - o[0];
  join<1>(x, e[1], o[1], c, s);
  x[2] = {fma(root, u.re, e[2].re), fma(root, u.im, e[2].im)};
  x[10] = {fnma(root, u.re, e[2].re), fnma(root, u.im, e[2].im)};
  join<3>(x, e[3], o[3], s, c);
  x[4] = minus_i(e[4], o[4]);
  x[12] = plus_i(e[4], o[4]);
  join<5>(x, e[5], o[5], -s, c);
  x[6] = {fma(root, v.re, e[6].re), fnma(root, v.im, e[6].im)};
  x[14] = {fnma(root, v.re, e[6].re), fma(root, v.im, e[6].im)};
  join<7>(x, e[7], o[7], -c, s);
}

template <std::size_t R, VecElement T>
[[gnu::always_inline]] inline void butterfly(std::array<Lanes<T>, R>& x) {
  if constexpr (R == 2) {
    const Lanes<T> difference = x[0] - x[1];
    x[0] = x[0] + x[1];
    x[1] = difference;
  } else if constexpr (R == 4) {
    butterfly_4(x[0], x[1], x[2], x[3]);
  } else if constexpr (R == 8) {
    butterfly_8(x);
  } else if constexpr (R == 16) {
    butterfly_16(x);
  } else {
    butterfly_odd<R>(x);
  }
}

}  // namespace reel::kernels::fourier
