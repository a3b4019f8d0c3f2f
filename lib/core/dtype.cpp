// Dtypes: names, promotion, and the conversions of the two 16-bit formats.
#include <bit>
#include <cmath>
#include <ostream>
#include <reel/dtype.hpp>

#include "core/fail.hpp"

namespace reel {

const char* name(DType d) noexcept {
  constexpr const char* names[] = {"boolean",  "uint8",   "int32",   "int64",     "float16",
                                   "bfloat16", "float32", "float64", "complex64", "complex128"};
  return d <= DType::complex128 ? names[static_cast<std::size_t>(d)] : "unknown";
}

void detail::fail_dtype(const char* op, DType d) {
  fail<TypeError>(op, "DType({}) is none of the ten dtypes; name one, as DType::float64", static_cast<int>(d));
}

std::ostream& operator<<(std::ostream& out, DType d) { return out << name(d); }

DType promote(DType a, DType b) {
  for (const DType d : {a, b})
    if (d > DType::complex128) [[unlikely]]
      detail::fail_dtype("promote", d);
  // clang-format off
  using enum DType;
  constexpr DType table[10][10] = {
    //            boolean     uint8       int32       int64       float16     bfloat16    float32     float64     complex64   complex128
    /*boolean*/  {boolean,    uint8,      int32,      int64,      float16,    bfloat16,   float32,    float64,    complex64,  complex128},
    /*uint8*/    {uint8,      uint8,      int32,      int64,      float16,    bfloat16,   float32,    float64,    complex64,  complex128},
    /*int32*/    {int32,      int32,      int32,      int64,      float16,    bfloat16,   float32,    float64,    complex64,  complex128},
    /*int64*/    {int64,      int64,      int64,      int64,      float16,    bfloat16,   float32,    float64,    complex64,  complex128},
    /*float16*/  {float16,    float16,    float16,    float16,    float16,    float32,    float32,    float64,    complex64,  complex128},
    /*bfloat16*/ {bfloat16,   bfloat16,   bfloat16,   bfloat16,   float32,    bfloat16,   float32,    float64,    complex64,  complex128},
    /*float32*/  {float32,    float32,    float32,    float32,    float32,    float32,    float32,    float64,    complex64,  complex128},
    /*float64*/  {float64,    float64,    float64,    float64,    float64,    float64,    float64,    float64,    complex128, complex128},
    /*complex64*/{complex64,  complex64,  complex64,  complex64,  complex64,  complex64,  complex64,  complex128, complex64,  complex128},
    /*complex128*/{complex128,complex128, complex128, complex128, complex128, complex128, complex128, complex128, complex128, complex128},
  };
  // clang-format on
  return table[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)];
}

// Shifts the significand so that the hardware's own rounding to nearest even falls on the last kept bit.
float16::float16(float value) noexcept {
  const auto sign = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16 & 0x8000);
  const float magnitude = std::fabs(value);
  if (std::isnan(value)) {
    bits = sign | 0x7e00;
  } else if (magnitude >= 65520.f) {
    bits = sign | 0x7c00;
  } else if (magnitude < 0x1p-14f) {
    bits = static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(std::nearbyint(magnitude * 0x1p24f)));
  } else {
    std::uint32_t b = std::bit_cast<std::uint32_t>(magnitude);
    b += 0xfff + (b >> 13 & 1);
    bits = static_cast<std::uint16_t>(sign | ((b - (112u << 23)) >> 13));
  }
}

float16::operator float() const noexcept {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  float m = exponent == 31  ? (fraction ? std::nanf("") : HUGE_VALF)
            : exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                            : std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
  return bits & 0x8000 ? -m : m;
}

bfloat16::bfloat16(float value) noexcept {
  std::uint32_t b = std::bit_cast<std::uint32_t>(value);
  b = std::isnan(value) ? b | 0x400000 : b + 0x7fff + (b >> 16 & 1);
  bits = static_cast<std::uint16_t>(b >> 16);
}

bfloat16::operator float() const noexcept { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

}  // namespace reel
