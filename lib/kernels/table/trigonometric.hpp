// Definitions of trigonometric and hyperbolic functions and their inverses. tan reads its operand, not its result (rule
// S20). tanh reads its result: its derivative is 0 where that is rounded to +-1, and has few digits near there. Reading
// the operand would keep the digits but cost an exp in each derivative. Where |x| >= 1e9, sqrt(x^2 + 1) and sqrt(x^2 -
// 1) are |x| to the last place, and x^2 may overflow; there x is replaced before it is squared, so that higher
// derivatives are finite.
#pragma once
#include "kernels/table/definition.hpp"

namespace reel::kernels::table {

inline constexpr double radians_per_degree = 0.017453292519943295769, degrees_per_radian = 57.295779513082320877;

// clang-format off
inline constexpr std::tuple trigonometric{
  op<"sin">([](auto x) { return sin(x); },
    d<x>([](auto g, auto x) { return g * cos(x); })),
  op<"cos">([](auto x) { return cos(x); },
    d<x>([](auto g, auto x) { return -g * sin(x); })),
  op<"tan">([](auto x) { return tan(x); },
    d<x>([](auto g, auto x) { auto q = reciprocal(cos(x)); return g * (q * q); })),
  op<"arcsin">([](auto x) { return arcsin(x); },
    d<x>([](auto g, auto x) { return g / sqrt(one_minus_square(x)); })),
  op<"arccos">([](auto x) { return arccos(x); },
    d<x>([](auto g, auto x) { return -g / sqrt(one_minus_square(x)); })),
  op<"arctan">([](auto x) { return arctan(x); },
    d<x>([](auto g, auto x) { return g * arctan_derivative(x); })),
  op<"arctan2">([](auto x, auto y) { return arctan2(x, y); },
    d<x | y>([](auto g, auto x, auto y) { return g * over_square(y, hypot(x, y)); }),
    d<x | y>([](auto g, auto x, auto y) { return -g * over_square(x, hypot(x, y)); })),
  op<"deg2rad">([](auto x) { return x * radians_per_degree; },
    d<none>([](auto g) { return g * radians_per_degree; })),
  op<"rad2deg">([](auto x) { return x * degrees_per_radian; },
    d<none>([](auto g) { return g * degrees_per_radian; })),
  op<"sinh">([](auto x) { return sinh(x); },
    d<x>([](auto g, auto x) { return g * cosh(x); })),
  op<"cosh">([](auto x) { return cosh(x); },
    d<x>([](auto g, auto x) { return g * sinh(x); })),
  op<"tanh">([](auto x) { return tanh(x); },
    d<z>([](auto g, auto z) { return g * (1 - z * z); })),
  op<"arcsinh">([](auto x) { return arcsinh(x); },
    d<x>([](auto g, auto x) {
      auto far = abs(x) >= 1e9;
      auto near = where(far, 0, x);
      return g / where(far, abs(x), sqrt(1 + near * near)); })),
  op<"arccosh">([](auto x) { return arccosh(x); },
    d<x>([](auto g, auto x) {
      auto far = x >= 1e9;
      auto near = where(far, 2, x);
      return g / where(far, x, sqrt(near - 1) * sqrt(near + 1)); })),
  op<"arctanh">([](auto x) { return arctanh(x); },
    d<x>([](auto g, auto x) { return g / one_minus_square(x); })),
};
// clang-format on

}  // namespace reel::kernels::table
