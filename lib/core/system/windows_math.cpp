// Functions of mingw-w64's C library that are wrong: definitions in their place, for this library and what it is linked
// into. sin and cos are the x87 instructions, whose pi has 66 bits: sin(1e5) errs by 16 ulp, sin(1e22) altogether.
// acosh and acosl cancel near 1.
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace reel::os {

namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::uint64_t two_over_pi[] = {0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
                                         0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
                                         0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
                                         0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
                                         0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab, 0xf0cfbc209af4361d,
                                         0xa9e391615ee61b08, 0x6599855f14a06840};
constexpr int words = sizeof two_over_pi / sizeof *two_over_pi, window = 5;
constexpr long double half_pi = 1.57079632679489661923132169163975144L,
                      half_pi_rest = -2.50827880633416601177e-20L;  // pi / 2 less its long double

// The word of 2 / pi that begins at a bit behind the point.
std::uint64_t word_from(int bit) {
  const int at = bit / 64, shift = bit % 64;
  const std::uint64_t first = at < words ? two_over_pi[at] : 0, second = at + 1 < words ? two_over_pi[at + 1] : 0;
  return shift ? first << shift | second >> (64 - shift) : first;
}

// x = quadrant pi / 2 + rest, with |rest| <= pi / 4: M. Payne and R. Hanek, Radian reduction for trigonometric
// functions, SIGNUM Newsletter 18 (1983). For |x| < 2^1080.
struct Reduced {
  long double rest;
  unsigned quadrant;
};
Reduced reduce(long double x) {
  if (std::fabs(x) <= half_pi / 2) return {x, 0};
  std::uint64_t mantissa;
  std::uint16_t sign_and_exponent;
  std::memcpy(&mantissa, &x, sizeof mantissa);
  std::memcpy(&sign_and_exponent, reinterpret_cast<const char*>(&x) + sizeof mantissa, sizeof sign_and_exponent);
  const int exponent = (sign_and_exponent & 0x7fff) - 16383 - 63;  // |x| = mantissa 2^exponent
  const int skipped = exponent > 2 ? exponent - 2 : 0;             // bits that give multiples of 4
  // mantissa times the window of 2 / pi: product[0] is the lowest word, the point is at bit `point`.
  std::uint64_t product[window + 1];
  Wide carry = 0;
  for (int i = 0; i < window; ++i) {
    carry += static_cast<Wide>(word_from(skipped + 64 * (window - 1 - i))) * mantissa;
    product[i] = static_cast<std::uint64_t>(carry);
    carry >>= 64;
  }
  product[window] = static_cast<std::uint64_t>(carry);
  // Shifted so that the point is between the two highest words.
  const int left = 64 * (window + 1) - (64 * window - (exponent - skipped)) - 64;
  const auto bits = [&](int from) {  // 64 bits from bit `from` of the product on; bits below 0 are 0
    const int at = from >= 0 ? from / 64 : -((63 - from) / 64), shift = from - 64 * at;
    const auto word = [&](int k) { return k >= 0 && k <= window ? product[k] : 0; };
    return shift ? word(at) >> shift | word(at + 1) << (64 - shift) : word(at);
  };
  const int point = 64 * window - left;
  unsigned quadrant = static_cast<unsigned>(bits(point) & 3);
  std::uint64_t fraction[3] = {bits(point - 64), bits(point - 128), bits(point - 192)};  // the highest first
  const bool above = fraction[0] >> 63;
  if (above) {
    ++quadrant;
    for (std::uint64_t& each : fraction) each = ~each;
  }
  int scale = -64;
  if (!fraction[0]) {
    fraction[0] = fraction[1];
    fraction[1] = fraction[2];
    fraction[2] = 0;
    scale -= 64;
  }
  if (const int zeros = std::countl_zero(fraction[0]); zeros > 0 && zeros < 64) {
    fraction[0] = fraction[0] << zeros | fraction[1] >> (64 - zeros);
    fraction[1] = fraction[1] << zeros | fraction[2] >> (64 - zeros);
    scale -= zeros;
  }
  const long double high = std::ldexp(static_cast<long double>(fraction[0]), scale),
                    low = std::ldexp(static_cast<long double>(fraction[1]), scale - 64);
  const long double rest = high * half_pi + (high * half_pi_rest + low * half_pi);
  const bool negative = sign_and_exponent >> 15;
  return {above != negative ? -rest : rest, (negative ? 0 - quadrant : quadrant) & 3};
}

struct SineCosine {
  long double sine, cosine;
};
SineCosine of(long double x) {
  if (!std::isfinite(x)) return {x - x, x - x};
  const auto [rest, quadrant] = reduce(x);
  long double s, c;
  __asm__("fsincos" : "=t"(c), "=u"(s) : "0"(rest));
  switch (quadrant) {
    case 0:
      return {s, c};
    case 1:
      return {c, -s};
    case 2:
      return {-s, -c};
    default:
      return {-c, s};
  }
}
template <class T>
T tangent(T x) {
  const auto [s, c] = of(x);
  return static_cast<T>(s / c);
}
// log(x + sqrt(x^2 - 1)) by what x exceeds 1.
long double inverse_cosh(long double x) {
  const long double t = x - 1;
  return x > 1e9L ? std::log(x) + 0.693147180559945309417232121458176568L : std::log1p(t + std::sqrt(t * (t + 2)));
}

// high + low to odd: of long doubles that bracket the sum, the one whose last bit is set. Rounded to at most 62 bits it
// is the sum rounded once: S. Boldo and G. Melquiond, Emulation of FMA and correctly rounded sums, IEEE Transactions on
// Computers 57 (2008). `rest` stands for what is smaller still.
long double to_odd(long double high, long double low, long double rest) {
  const long double sum = high + low, part = sum - high, lost = (high - (sum - part)) + (low - part);
  const long double error = lost != 0 ? lost : rest;
  std::uint64_t mantissa;
  std::memcpy(&mantissa, &sum, sizeof mantissa);
  if (error == 0 || mantissa & 1 || !std::isfinite(sum)) return sum;
  return std::nextafter(sum, error > 0 ? HUGE_VALL : -HUGE_VALL);
}

double upper_half(double x) {
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & ~std::uint64_t{0x7ffffff});
}

}  // namespace

extern "C" {
double fma(double x, double y, double z) {
  const long double product = static_cast<long double>(x) * y;
  if (!std::isfinite(x) || !std::isfinite(y) || !std::isfinite(z) || product == 0)
    return static_cast<double>(product + z);
  const long double xh = upper_half(x), xl = x - xh, yh = upper_half(y), yl = y - yh;
  const long double rest = ((xh * yh - product) + xh * yl + xl * yh) + xl * yl;  // exact: T. J. Dekker
  const long double sum = product + z, part = sum - product, lost = (product - (sum - part)) + (z - part);
  const long double low = lost + rest, low_part = low - lost;
  return static_cast<double>(to_odd(sum, low, (lost - (low - low_part)) + (rest - low_part)));
}
float fmaf(float x, float y, float z) { return static_cast<float>(to_odd(static_cast<long double>(x) * y, z, 0)); }
double sin(double x) { return static_cast<double>(of(x).sine); }
float sinf(float x) { return static_cast<float>(of(x).sine); }
long double sinl(long double x) { return of(x).sine; }
double cos(double x) { return static_cast<double>(of(x).cosine); }
float cosf(float x) { return static_cast<float>(of(x).cosine); }
long double cosl(long double x) { return of(x).cosine; }
double tan(double x) { return tangent(x); }
float tanf(float x) { return tangent(x); }
long double tanl(long double x) { return tangent(x); }
void sincos(double x, double* s, double* c) {
  const auto [sine, cosine] = of(x);
  *s = static_cast<double>(sine);
  *c = static_cast<double>(cosine);
}
void sincosf(float x, float* s, float* c) {
  const auto [sine, cosine] = of(x);
  *s = static_cast<float>(sine);
  *c = static_cast<float>(cosine);
}
void sincosl(long double x, long double* s, long double* c) {
  const auto [sine, cosine] = of(x);
  *s = sine;
  *c = cosine;
}
double acosh(double x) { return static_cast<double>(inverse_cosh(x)); }
float acoshf(float x) { return static_cast<float>(inverse_cosh(x)); }
long double acoshl(long double x) { return inverse_cosh(x); }
long double acosl(long double x) { return std::atan2(std::sqrt((1 - x) * (1 + x)), x); }
}  // extern "C"

}  // namespace reel::os
