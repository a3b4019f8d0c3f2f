// Integer<T> and Boolean: one element with the functions that the definitions of the table call. Integers wrap modulo
// 2^n and divide as Python does, rounding down; nothing here is undefined, dividing by zero (0) and powers with a
// negative exponent (0) included. The compiler turns loops over these into SIMD itself.
#pragma once
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace reel::kernels {

template <std::integral T>
struct Integer {
  using Bits = std::make_unsigned_t<T>;
  T v;

  Integer() = default;
  template <std::integral C>
  constexpr Integer(C c) : v(static_cast<T>(c)) {}

  // Arithmetic is that of unsigned numbers; the narrow ones would be promoted to int, whose overflow is undefined.
  using Wide = std::conditional_t<(sizeof(T) < sizeof(unsigned)), unsigned, Bits>;
  static constexpr Wide wide(Integer a) { return static_cast<Wide>(a.v); }

  friend constexpr Integer operator+(Integer a, Integer b) { return static_cast<T>(wide(a) + wide(b)); }
  friend constexpr Integer operator-(Integer a, Integer b) { return static_cast<T>(wide(a) - wide(b)); }
  friend constexpr Integer operator*(Integer a, Integer b) { return static_cast<T>(wide(a) * wide(b)); }
  friend constexpr Integer operator-(Integer a) { return static_cast<T>(Wide(0) - wide(a)); }
  friend constexpr bool operator<=(Integer a, Integer b) { return a.v <= b.v; }

  friend constexpr Integer where(bool c, Integer a, Integer b) { return c ? a : b; }
  friend constexpr Integer abs(Integer a) { return a.v < 0 ? -a : a; }
  friend constexpr Integer sign(Integer a) { return (a.v > 0) - (a.v < 0); }
  friend constexpr Integer maximum(Integer a, Integer b) { return a.v < b.v ? b : a; }
  friend constexpr Integer minimum(Integer a, Integer b) { return b.v < a.v ? b : a; }
  friend constexpr Integer floor(Integer a) { return a; }
  friend constexpr Integer ceil(Integer a) { return a; }
  friend constexpr Integer round(Integer a) { return a; }
  friend constexpr Integer trunc(Integer a) { return a; }

  friend constexpr Integer floor_divide(Integer a, Integer b) {
    if (b.v == 0) return 0;
    if constexpr (std::is_signed_v<T>)
      if (b.v == -1) return -a;  // the least integer has no negative
    return static_cast<T>(a.v / b.v - (a.v % b.v != 0 && (a.v < 0) != (b.v < 0)));
  }
  friend constexpr Integer mod(Integer a, Integer b) {
    if (b.v == 0) return 0;
    if constexpr (std::is_signed_v<T>)
      if (b.v == -1) return 0;
    const T rest = static_cast<T>(a.v % b.v);
    return rest != 0 && (rest < 0) != (b.v < 0) ? Integer(rest) + b : Integer(rest);
  }
  friend constexpr Integer power(Integer a, Integer b) {
    if (b.v < 0) return 0;
    Integer result = 1;
    for (Bits rest = static_cast<Bits>(b.v); rest != 0; rest = static_cast<Bits>(rest >> 1)) {
      if ((rest & 1u) != 0) result = result * a;
      a = a * a;
    }
    return result;
  }
};

// One byte, 0 or 1.
struct Boolean {
  std::uint8_t v;

  friend constexpr Boolean operator+(Boolean a, Boolean b) { return {static_cast<std::uint8_t>(a.v | b.v)}; }
  friend constexpr Boolean operator*(Boolean a, Boolean b) { return {static_cast<std::uint8_t>(a.v & b.v)}; }
  friend constexpr Boolean maximum(Boolean a, Boolean b) { return a + b; }
  friend constexpr Boolean minimum(Boolean a, Boolean b) { return a * b; }
};

}  // namespace reel::kernels
