// Definitions of neural-network activations. relu and sigmoid read only their result (rule S21). elu and selu read
// their operand, because a derivative computed from the result has no digits where the result is rounded to its limit;
// sigmoid accepts that for large x. logistic is the sigmoid that occurs in derivatives; its own keeps all digits. gelu
// and silu have reached their limits at 100 and 800, so that no derivative multiplies infinity by 0. Derivatives at the
// kink 0: relu 0, leaky_relu its slope, elu alpha, selu 1.7581. slope and alpha are operands like any other. alpha must
// not be negative. The pieces of relu6, hard_sigmoid and hard_swish are chosen by comparisons that a NaN fails, so that
// it reaches the result.
#pragma once
#include "kernels/table/exponential.hpp"

namespace reel::kernels::table {

inline constexpr double selu_scale = 1.05070098735548049342, selu_scale_alpha = 1.75809934084737685994;

// Of two definitions, with one kernel.
inline constexpr auto sigmoid_value = [](auto x) { return sigmoid(x); };

// clang-format off
// Of a few instructions each.
inline constexpr std::tuple rectifiers{
  op<"relu", numbers>([](auto x) { return where(x <= 0, 0, x); },
    d<z>([](auto g, auto z) { return where(z > 0, g, 0); })),
  op<"relu6">([](auto x) { return where(x >= 6, 6, where(x <= 0, 0, x)); },
    d<z>([](auto g, auto z) { return where(logical_or(z <= 0, z >= 6), 0, g); })),
  op<"hard_sigmoid">([](auto x) { return where(x >= 3, 1, where(x <= -3, 0, (x + 3) / 6)); },
    d<x>([](auto g, auto x) { return where(logical_or(x <= -3, x >= 3), 0, g / 6); })),
  op<"hard_swish">([](auto x) { return where(x >= 3, x, where(x <= -3, 0, x * (x + 3) / 6)); },
    d<x>([](auto g, auto x) { return where(x >= 3, g, where(x <= -3, 0, g * ((2 * x + 3) / 6))); })),
  op<"hardshrink">([](auto x, auto y) { return where(abs(x) <= y, 0, x); },
    d<x | y>([](auto g, auto x, auto y) { return where(abs(x) <= y, 0, g); }),
    unconnected),
  op<"leaky_relu">([](auto x, auto y) { return where(x > 0, x, y * x); },
    d<x | y>([](auto g, auto x, auto y) { return where(x > 0, g, g * y); }),
    d<x>([](auto g, auto x) { return g * where(x > 0, 0, x); })),
};
// With an exponential, or a division.
inline constexpr std::tuple activation{
  op<"elu">([](auto x, auto y) { return elu(x, y); },
    d<x | y>([](auto g, auto x, auto y) { return where(x > 0, g, g * (y * exp(where(x > 0, 0, x)))); }),
    d<x>([](auto g, auto x) { return g * expm1(where(x > 0, 0, x)); })),
  op<"selu">([](auto x) { return selu(x); },
    d<x>([](auto g, auto x) {
      return g * where(x > 0, selu_scale, selu_scale_alpha * exp(where(x > 0, 0, x))); })),
  op<"gelu">([](auto x) { return gelu(x); },
    d<x>([](auto g, auto x) {
      auto u = limited(x, 100);
      return g * (0.5 * erfc(-root_half * u) + u * (inverse_root_two_pi * exp(-0.5 * (u * u)))); })),
  op<"silu">([](auto x) { return silu(x); },
    d<x>([](auto g, auto x) { return g * silu_derivative(x); })),
  op<"sigmoid">(sigmoid_value,
    d<z>([](auto g, auto z) { return g * (z * (1 - z)); })),
  op<"softplus">([](auto x) { return softplus(x); },
    d<x>([](auto g, auto x) { return g * logistic(x); })),
  op<"softsign">([](auto x) { return softsign(x); },
    d<x>([](auto g, auto x) { auto q = 1 / (1 + abs(x)); return g * (q * q); })),
  // x: logits, y: labels. With labels in [0, 1] both terms are positive. sigmoid(x) - 1 is -sigmoid(-x).
  op<"sigmoid_cross_entropy">([](auto x, auto y) { return x * where(x > 0, 1 - y, -y) + softplus(-abs(x)); },
    d<x | y>([](auto g, auto x, auto y) {
      auto s = sigmoid_tail(x);
      return g * where(x > 0, (1 - y) - s, s - y); }),
    d<x>([](auto g, auto x) { return -(g * x); })),
  op<"logistic">(sigmoid_value,
    d<x | z>([](auto g, auto x, auto z) { return g * logistic_derivative(x, z); })),
};
// clang-format on

}  // namespace reel::kernels::table
