// float16 and bfloat16 as bits: conversion to and from float, rounded to nearest even. NaN stays NaN, and subnormal
// numbers are exact.
#pragma once
#include <bit>
#include <cstdint>

namespace reel::kernels {

constexpr float float_of_bfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}
constexpr std::uint16_t bfloat16_of_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>(bits >> 16 | 0x40u);  // a quiet NaN
  return static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

constexpr float float_of_float16(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000u) << 16, rest = bits & 0x7fffu;
  if (rest >= 0x7c00u)  // infinity or NaN
    return std::bit_cast<float>(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
  if (rest >= 0x0400u)  // normal: the exponent's bias goes from 15 to 127
    return std::bit_cast<float>(sign | ((rest << 13) + (112u << 23)));
  const float magnitude = static_cast<float>(rest) * 0x1p-24f;
  return sign != 0 ? -magnitude : magnitude;
}
constexpr std::uint16_t float16_of_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu;
  if (rest > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u | (rest >> 13 & 0x3ffu));
  if (rest >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // 65520 and more round to infinity
  if (rest >= 0x38800000u)                                                     // at least 2^-14: normal
    return static_cast<std::uint16_t>(sign | (rest - (112u << 23) + 0xfffu + (rest >> 13 & 1u)) >> 13);
  // Subnormal: adding 0.5 aligns the last place at 2^-24, and the addition rounds to it.
  const float aligned = std::bit_cast<float>(rest) + 0.5f;
  return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(aligned) - 0x3f000000u));
}

// The two as elements of arrays.
struct Float16 {
  using Number = float;
  std::uint16_t bits;
  static constexpr Float16 from(float number) { return {float16_of_float(number)}; }
  constexpr float number() const { return float_of_float16(bits); }
};
struct Bfloat16 {
  using Number = float;
  std::uint16_t bits;
  static constexpr Bfloat16 from(float number) { return {bfloat16_of_float(number)}; }
  constexpr float number() const { return float_of_bfloat16(bits); }
};

}  // namespace reel::kernels
