// Definitions of ops that cost a few instructions: arithmetic, maximum and minimum, rounding. Derivatives at kinks:
// those of |x| and copysign are 0 at 0. A tie of maximum or minimum passes g / 2 to each side, a NaN operand all of g.
// clip passes g to x on its edges, and nothing to the bounds there. The sign of a NaN is +.
#pragma once
#include "kernels/table/definition.hpp"

namespace reel::kernels::table {

// The share of g of one operand of maximum or minimum: g if it wins, half of it if both do, else 0. A NaN wins.
inline constexpr auto share = [](auto g, auto wins, auto other_wins) {
  return where(wins, where(other_wins, g * 0.5, g), 0);
};
inline constexpr auto not_below = [](auto x, auto y) { return logical_or(x >= y, isnan(x)); };
inline constexpr auto not_above = [](auto x, auto y) { return logical_or(x <= y, isnan(x)); };

// clang-format off
inline constexpr std::tuple arithmetic{
  op<"add", all>([](auto x, auto y) { return x + y; }, same, same),
  op<"subtract", numbers>([](auto x, auto y) { return x - y; },
    same,
    d<none>([](auto g) { return -g; })),
  op<"multiply", all>([](auto x, auto y) { return x * y; }, times<y>, times<x>),
  op<"divide">([](auto x, auto y) { return x / y; },
    d<y>([](auto g, auto y) { return g / y; }),
    d<x | y>([](auto g, auto x, auto y) { return -g * (x / y) / y; })),
  op<"negative", numbers>([](auto x) { return -x; },
    d<none>([](auto g) { return -g; })),
  op<"square", numbers>([](auto x) { return x * x; },
    d<x>([](auto g, auto x) { return g * (2 * x); })),
  op<"squared_difference", numbers>([](auto x, auto y) { auto difference = x - y; return difference * difference; },
    d<x | y>([](auto g, auto x, auto y) { return g * (2 * (x - y)); }),
    d<x | y>([](auto g, auto x, auto y) { return g * (2 * (y - x)); })),
  op<"reciprocal">([](auto x) { return reciprocal(x); },
    d<z>([](auto g, auto z) { return -g * (z * z); })),
  op<"abs", numbers>([](auto x) { return abs(x); },
    d<x>([](auto g, auto x) { return g * sign(x); })),
  op<"sign", numbers>([](auto x) { return sign(x); }, zero),
  op<"copysign">([](auto x, auto y) { return copysign(x, where(isnan(y), 0, y)); },
    d<x | z>([](auto g, auto x, auto z) { return g * (sign(x) * sign(z)); }),
    zero),

  op<"maximum", all>([](auto x, auto y) { return maximum(x, y); },
    d<x | y>([](auto g, auto x, auto y) { return share(g, not_below(x, y), not_below(y, x)); }),
    d<x | y>([](auto g, auto x, auto y) { return share(g, not_below(y, x), not_below(x, y)); })),
  op<"minimum", all>([](auto x, auto y) { return minimum(x, y); },
    d<x | y>([](auto g, auto x, auto y) { return share(g, not_above(x, y), not_above(y, x)); }),
    d<x | y>([](auto g, auto x, auto y) { return share(g, not_above(y, x), not_above(x, y)); })),
  op<"clip", numbers>([](auto x, auto y, auto w) { return minimum(maximum(x, y), w); },
    d<x | y | w>([](auto g, auto x, auto y, auto w) { return where(logical_and(x >= y, x <= w), g, 0); }),
    d<x | y | w>([](auto g, auto x, auto y, auto w) { return where(logical_and(x < y, y <= w), g, 0); }),
    d<x | y | w>([](auto g, auto x, auto y, auto w) { return where(logical_or(x > w, y > w), g, 0); })),

  op<"fma">([](auto x, auto y, auto w) { return fma_rounded_once(x, y, w); }, times<y>, times<x>, same),

  // Exact at both ends, whatever the other one is. Without the difference where it overflows or an end is infinite.
  op<"lerp">([](auto x, auto y, auto w) {
      const auto d = y - x, near = where(w < 0.5, x + w * d, y - (1 - w) * d), apart = (1 - w) * x + w * y;
      return where(isfinite(d), near, where(equal(w, 0), x, where(equal(w, 1), y, apart))); },
    d<w>([](auto g, auto w) { return g * (1 - w); }),
    times<w>,
    d<x | y>([](auto g, auto x, auto y) { return g * (y - x); })),

  op<"floor", numbers>([](auto x) { return floor(x); }, zero),
  op<"ceil",  numbers>([](auto x) { return ceil(x); },  zero),
  op<"round", numbers>([](auto x) { return round(x); }, zero),
  op<"trunc", numbers>([](auto x) { return trunc(x); }, zero),
  op<"frac">([](auto x) { return x - trunc(x); }, same),
  op<"floor_divide", numbers>([](auto x, auto y) { return floor_divide(x, y); }, zero, zero),
  op<"mod", numbers>([](auto x, auto y) { return mod(x, y); },
    same,
    d<x | y>([](auto g, auto x, auto y) { return -g * floor_divide(x, y); })),
};
// clang-format on

}  // namespace reel::kernels::table
