// Rows of neural-network activations. relu, elu and selu read only their result (rule S21); derivatives at the kink 0:
// relu 0, leaky_relu its slope, elu alpha, selu 1.7581. A slope and an alpha are operands like any other; alpha must
// not be negative.
#pragma once
#include "kernels/rows/row.hpp"

namespace reel::kernels::table {

inline constexpr double selu_scale = 1.05070098735548049342, selu_scale_alpha = 1.75809934084737685994;
inline constexpr double root_half = 0.70710678118654752440, inverse_root_two_pi = 0.39894228040143267794;

// clang-format off
inline constexpr std::tuple activation{
  op<"relu", numbers>([](auto x) { return where(x <= 0, 0, x); },
    d<z>([](auto g, auto z) { return where(z > 0, g, 0); })),
  op<"leaky_relu">([](auto x, auto y) { return where(x > 0, x, y * x); },
    d<x | y>([](auto g, auto x, auto y) { return where(x > 0, g, g * y); }),
    d<x>([](auto g, auto x) { return g * where(x > 0, 0, x); })),
  op<"elu">([](auto x, auto y) { return elu(x, y); },
    d<y | z>([](auto g, auto y, auto z) { return where(z > 0, g, g * (z + y)); }),
    d<x>([](auto g, auto x) { return g * expm1(where(x > 0, 0, x)); })),
  op<"selu">([](auto x) { return selu(x); },
    d<z>([](auto g, auto z) { return where(z > 0, g * selu_scale, g * (z + selu_scale_alpha)); })),
  op<"gelu">([](auto x) { return gelu(x); },
    d<x>([](auto g, auto x) {
      return g * (0.5 * erfc(-root_half * x) + x * (inverse_root_two_pi * exp(-0.5 * (x * x)))); })),
  op<"silu">([](auto x) { return silu(x); },
    d<x>([](auto g, auto x) { auto s = sigmoid(x); return g * (s * (1 + x * (1 - s))); })),
  op<"sigmoid">([](auto x) { return sigmoid(x); },
    d<z>([](auto g, auto z) { return g * (z * (1 - z)); })),
  op<"softplus">([](auto x) { return softplus(x); },
    d<x>([](auto g, auto x) { return g * sigmoid(x); })),
  op<"softsign">([](auto x) { return softsign(x); },
    d<x>([](auto g, auto x) { auto s = 1 + abs(x); return g / (s * s); })),
  // of logits and labels; with labels in [0, 1] both terms are positive
  op<"sigmoid_cross_entropy">([](auto x, auto y) { return x * where(x > 0, 1 - y, -y) + softplus(-abs(x)); },
    d<x | y>([](auto g, auto x, auto y) { return g * (sigmoid(x) - y); }),
    d<x>([](auto g, auto x) { return -(g * x); })),
};
// clang-format on

}  // namespace reel::kernels::table
