// Definitions of functions of the normal distribution. The derivative of an inverse is 1 / density. Near the middle the
// density is computed by exp; in the tails by erfcx, because z^2 needs more digits than z has there. Ends and operands
// of the other region are replaced before functions that would be infinite there.
#pragma once
#include "kernels/table/exponential.hpp"

namespace reel::kernels::table {

inline constexpr double half_root_pi = 0.88622692545275801365, root_two_pi = 2.50662827463100050242;

// clang-format off
inline constexpr std::tuple normal{
  op<"erfcx">([](auto x) { return erfcx(x); },
    d<x>([](auto g, auto x) { return g * erfcx_derivative(1, x); })),
  op<"erfcx_derivative">([](auto x, auto y) { return erfcx_derivative(x, y); },  // of order x at y
    unconnected,
    d<x | y>([](auto g, auto x, auto y) { return g * erfcx_derivative(x + 1, y); })),
  op<"ndtr">([](auto x) { return ndtr(x); },
    d<x>([](auto g, auto x) { auto u = bounded(x); return g * (inverse_root_two_pi * exp(-0.5 * (u * u))); })),
  op<"log_ndtr">([](auto x) { return log_ndtr(x); },
    d<x>([](auto g, auto x) { return g * log_ndtr_derivative(x); })),
  op<"erfinv">([](auto x) { return erfinv(x); },
    d<x | z>([](auto g, auto x, auto z) {
      const auto middle = abs(x) < 0.5;
      const auto near = where(middle, z, 0), far = where(logical_or(middle, isinf(z)), 1, abs(z));
      const auto tail = tail_slope(g, half_root_pi, far, z, 1 - abs(x));
      return g * where(middle, half_root_pi * exp(near * near), tail); })),
  op<"erfcinv">([](auto x) { return erfcinv(x); },
    d<x | z>([](auto g, auto x, auto z) {
      const auto middle = abs(x - 1) < 0.5;
      const auto near = where(middle, z, 0), far = where(logical_or(middle, isinf(z)), 1, abs(z));
      const auto tail = tail_slope(g, half_root_pi, far, z, where(x < 1, 0 + x, 2 - x));
      return -(g * where(middle, half_root_pi * exp(near * near), tail)); })),
  op<"ndtri">([](auto x) { return ndtri(x); },
    d<x | z>([](auto g, auto x, auto z) {
      const auto middle = abs(x - 0.5) < 0.25;
      const auto near = where(middle, z, 0), far = where(logical_or(middle, isinf(z)), 1, abs(z));
      const auto tail = tail_slope(g, 0.5 * root_two_pi, root_half * far, z, where(x < 0.5, 0 + x, 1 - x));
      return g * where(middle, root_two_pi * exp(0.5 * (near * near)), tail); })),
};
// clang-format on

}  // namespace reel::kernels::table
