// Definitions of powers, exponentials, logarithms, error and gamma functions. Derivatives of any order stay finite
// wherever the function is smooth: a singular operand is replaced before the singular function is called, not
// after.
#pragma once
#include "kernels/table/definition.hpp"

namespace reel::kernels::table {

inline constexpr double log_of_2 = 0.69314718055994530942;
inline constexpr double log2_of_e = 1.44269504088896340736, log10_of_e = 0.43429448190325182765;
inline constexpr double two_over_root_pi = 1.12837916709551257390;
inline constexpr double root_half = 0.70710678118654752440, inverse_root_two_pi = 0.39894228040143267794;
inline constexpr double one_third = 0.33333333333333333333;

// clang-format off
inline constexpr std::tuple powers{
  // d/dx x**0 is 0 to every order. Where powers of x might overflow on the way, by the outer selection, which costs its
  // derivative by y, 1 / x; the inner one keeps the discarded side finite. d/dy 0**y is 0 for y >= 0: x is replaced by 1,
  // whose logarithm is 0. 0**y is 0 or 1 just for these y; z is tested instead of y, since complex y have no order.
  op<"power", numbers>([](auto x, auto y) { return power(x, y); },
    d<x | y>([](auto g, auto x, auto y) {
      const auto far = (x * x) * (x * x), y_at_ends = where(equal(far - far, 0), where(equal(far, 0), y, 1), y);
      const auto none = equal(y_at_ends, 0);
      return g * where(none, 0, y * power(x, where(none, 1, y) - 1)); }),
    d<x | z>([](auto g, auto x, auto z) {
      return g * (z * log(where(logical_and(equal(x, 0), logical_or(equal(z, 0), equal(z, 1))), 1, x))); })),
  op<"sqrt">([](auto x) { return sqrt(x); },
    d<z>([](auto g, auto z) { return g * 0.5 / z; })),
  op<"rsqrt">([](auto x) { return rsqrt(x); },
    d<z>([](auto g, auto z) { return g * (-0.5 * z * (z * z)); })),
  op<"cbrt">([](auto x) { return cbrt(x); },
    d<z>([](auto g, auto z) { auto q = reciprocal(z); return g * (one_third * (q * q)); })),
  // The derivative at the origin is 0 to every order.
  op<"hypot">([](auto x, auto y) { return hypot(x, y); },
    d<x | z>([](auto g, auto x, auto z) { return g * over_hypot(x, z); }),
    d<y | z>([](auto g, auto y, auto z) { return g * over_hypot(y, z); })),

  op<"exp">([](auto x) { return exp(x); },
    d<z>([](auto g, auto z) { return g * z; })),
  op<"exp2">([](auto x) { return exp2(x); },
    d<z>([](auto g, auto z) { return g * (z * log_of_2); })),
  op<"expm1">([](auto x) { return expm1(x); },
    d<x>([](auto g, auto x) { return g * exp(x); })),
  op<"log">([](auto x) { return log(x); },
    d<x>([](auto g, auto x) { return g / x; })),
  op<"log2">([](auto x) { return log2(x); },
    d<x>([](auto g, auto x) { return g * log2_of_e / x; })),
  op<"log10">([](auto x) { return log10(x); },
    d<x>([](auto g, auto x) { return g * log10_of_e / x; })),
  op<"log1p">([](auto x) { return log1p(x); },
    d<x>([](auto g, auto x) { return g / (1 + x); })),
  op<"logit">([](auto x) { return logit(x); },
    d<x>([](auto g, auto x) { return g / x + g / (1 - x); })),
  // Where it is infinite for finite operands the derivatives are those of y - x. At x = 0 they are -inf and 1, also for
  // y = 0.
  op<"kl_div">([](auto x, auto y) { return kl_div(x, y); },
    d<x | y>([](auto g, auto x, auto y) {
      const auto infinite = logical_or(logical_or(x < 0, y < 0), logical_and(equal(y, 0), x > 0));
      const auto zeros = logical_and(equal(x, 0), equal(y, 0));
      return g * where(infinite, -1, log_ratio(where(infinite, 1, x), where(logical_or(infinite, zeros), 1, y))); }),
    d<x | y>([](auto g, auto x, auto y) {
      const auto linear = logical_or(logical_or(x < 0, y <= 0), logical_and(isinf(y), isfinite(x)));
      return g * where(linear, 1, (y - x) / where(linear, 1, y)); })),
  // Equal infinities each get half of g, like other ties: their difference counts as 0.
  op<"logaddexp">([](auto x, auto y) { return logaddexp(x, y); },
    d<x | y>([](auto g, auto x, auto y) { return g * logistic(where(logical_and(equal(x, y), isinf(x)), 0, x - y)); }),
    d<x | y>([](auto g, auto x, auto y) { return g * logistic(where(logical_and(equal(x, y), isinf(x)), 0, y - x)); })),
};

inline constexpr std::tuple special{
  op<"erf">([](auto x) { return erf(x); },
    d<x>([](auto g, auto x) { auto u = bounded(x); return g * (two_over_root_pi * exp(-(u * u))); })),
  op<"erfc">([](auto x) { return erfc(x); },
    d<x>([](auto g, auto x) { auto u = bounded(x); return g * (-two_over_root_pi * exp(-(u * u))); })),
  op<"lgamma">([](auto x) { return lgamma(x); },
    d<x>([](auto g, auto x) { return g * digamma(x); })),
  op<"digamma">([](auto x) { return digamma(x); },
    d<x>([](auto g, auto x) { return g * polygamma(1, x); })),
  op<"polygamma">([](auto x, auto y) { return polygamma(x, y); },  // of order x at y
    unconnected,
    d<x | y>([](auto g, auto x, auto y) { return g * polygamma(x + 1, y); })),
};
// clang-format on

}  // namespace reel::kernels::table
