// A loop whose index is a constant in each iteration. An array of vectors that is indexed so is held in registers; of
// other loops the compiler decides by size whether it unrolls them in time.
#pragma once
#include <type_traits>
#include <utility>

namespace reel::kernels {

// Calls f(0), f(1) to f(Count - 1).
template <int Count, class F>
[[gnu::always_inline]] inline void unrolled(const F& f) {
  [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) {
    (f(std::integral_constant<int, I>()), ...);
  }
  (std::make_integer_sequence<int, Count>());
}

}  // namespace reel::kernels
