// Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3; SC 2011): from a 128-bit
// counter and a 64-bit key to 128 random bits. Functions of the random numbers use only operations that IEEE 754 rounds
// correctly, so that they give the same bits on every machine, independent of libm.
#pragma once
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace reel::loops {

using Bits128 = std::array<std::uint32_t, 4>;

/// The random block for this counter (lowest word first) under this key.
inline Bits128 philox(Bits128 counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * counter[0], b = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
               static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += 0x9E3779B9;  // the golden ratio's fraction
    key[1] += 0xBB67AE85;  // the fraction of the root of 3
  }
  return counter;
}

/// Block `position` of the stream of a seed, as two 64-bit words.
inline std::array<std::uint64_t, 2> random_block(std::uint64_t seed, std::uint64_t position) {
  const auto low = [](std::uint64_t v) { return static_cast<std::uint32_t>(v); };
  const Bits128 r = philox({low(position), low(position >> 32), 0, 0}, {low(seed), low(seed >> 32)});
  return {r[0] | std::uint64_t{r[1]} << 32, r[2] | std::uint64_t{r[3]} << 32};
}

/// Uniform in [0, 1), a multiple of 2^-53.
inline double unit_double(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }
/// Uniform in (0, 1), symmetric about 1/2.
inline double open_unit(std::uint64_t bits) { return (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52; }

/// log(x) of a positive normal number, to 2 ulp: 2 artanh((m - 1) / (m + 1)) + e log 2 for x = m 2^e.
inline double portable_log(double x) {
  auto bits = std::bit_cast<std::uint64_t>(x);
  // m in [sqrt(1/2), sqrt(2)): subtracting the lower bound's bits before the exponent is read.
  const std::uint64_t offset = bits - 0x3FE6A09E667F3BCDu;
  const auto e = static_cast<double>(static_cast<std::int64_t>(offset) >> 52);
  const auto m = std::bit_cast<double>(bits - (offset & 0xFFF0000000000000u));
  const double s = (m - 1) / (m + 1), q = s * s;
  double tail = 0;  // q / 3 + q^2 / 5 + ...
  for (int k = 23; k >= 3; k -= 2) tail = (tail + 1.0 / k) * q;
  return e * 0.6931471805599453 + (e * 2.3190468138462996e-17 + 2 * s * tail + 2 * s);
}

/// exp(x) for x <= 0, to 2 ulp.
inline double portable_exp(double x) {
  if (!(x > -745)) return 0;
  const double n = std::nearbyint(x * 1.4426950408889634);
  const double r = (x - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10;  // log 2 in two parts
  double sum = 1;
  for (int k = 13; k >= 1; --k) sum = 1 + sum * r / k;
  return std::ldexp(sum, static_cast<int>(n));
}

/// The quantile of the standard normal distribution, p not in the far tails, to 1e-15 relative: the rational functions
/// of algorithm AS 241 (Wichura, Applied Statistics 37, 1988).
inline double normal_quantile(double p) {
  constexpr double a[] = {2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457,
                          13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.3871328727963666080};
  constexpr double b[] = {5226.4952788528545610, 28729.085735721942674, 39307.895800092710610, 21213.794301586595867,
                          5394.1960214247511077, 687.18700749205790830, 42.313330701600911252, 1.0};
  constexpr double c[] = {7.74545014278341407640e-4, 0.0227238449892691845833, 0.241780725177450611770,
                          1.27045825245236838258,    3.64784832476320460504,   5.76949722146069140550,
                          4.63033784615654529590,    1.42343711074968357734};
  constexpr double d[] = {
      1.05075007164441684324e-9, 5.47593808499534494600e-4, 0.0151986665636164571966, 0.148103976427480074590,
      0.689767334985100004550,   1.67638483018380384940,    2.05319162663775882187,   1.0};
  const auto ratio = [](const double* above, const double* below, double r) {
    double x = 0, y = 0;
    for (int i = 0; i < 8; ++i) {
      x = x * r + above[i];
      y = y * r + below[i];
    }
    return x / y;
  };
  const double q = p - 0.5;
  if (std::fabs(q) <= 0.425) return q * ratio(a, b, 0.180625 - q * q);
  const double z = ratio(c, d, std::sqrt(-portable_log(q < 0 ? p : 1 - p)) - 1.6);
  return q < 0 ? -z : z;
}

}  // namespace reel::loops
