// Integer<T> and Boolean: one element with the functions that the definitions of the table call. Integers wrap modulo
// 2^n and divide as in Python, rounding down. Nothing is undefined here: dividing by zero and powers with a negative
// exponent give 0. The compiler vectorises loops over these types.
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

  // Computed on unsigned numbers; narrow ones would be promoted to int, whose overflow is undefined.
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

  // The divisor, with 1 in place of 0 and of -1: the smallest integer has no quotient by -1.
  static constexpr T divisor(T b) {
    if constexpr (std::is_signed_v<T>) return b == 0 || b == -1 ? T(1) : b;
    return b == 0 ? T(1) : b;
  }
  // The quotient, rounded towards zero. Vectors have no integer division. Division of doubles gives the right integer
  // if both operands have at most 32 bits: a quotient that is not an integer differs from one by more than 2^-32 of its
  // value, and the rounding error is 2^-53.
  static constexpr T quotient(T a, T b) {
    if constexpr (sizeof(T) <= 4)
      return static_cast<T>(static_cast<double>(a) / static_cast<double>(b));
    else
      return a / b;
  }
  friend constexpr Integer floor_divide(Integer a, Integer b) {
    const T by = divisor(b.v), q = quotient(a.v, by), rest = static_cast<T>(a.v - q * by);
    const Integer floor = q - T((rest != 0) & ((a.v < 0) != (by < 0)));
    if constexpr (std::is_signed_v<T>) return where(b.v == 0, Integer(0), where(b.v == -1, -a, floor));
    return where(b.v == 0, Integer(0), floor);
  }
  friend constexpr Integer mod(Integer a, Integer b) {
    const T by = divisor(b.v), rest = static_cast<T>(a.v - quotient(a.v, by) * by);
    const bool below = (rest != 0) & ((rest < 0) != (by < 0));
    return static_cast<T>(rest + (below ? by : T(0)));
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
