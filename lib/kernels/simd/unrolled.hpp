// A loop whose index is a constant in each iteration. An array of vectors that is indexed so is held in registers; of
// other loops the compiler decides by size whether it unrolls them in time.
#pragma once
#include <type_traits>
#include <utility>

namespace reel::kernels {

// Calls f(0), f(1) to f(Count - 1), with constants of Count's type.
template <auto Count, class F>
[[gnu::always_inline]] inline void unrolled(const F& f) {
  using Index = decltype(Count);
  [&]<Index... I>(std::integer_sequence<Index, I...>) __attribute__((always_inline)) {
    (f(std::integral_constant<Index, I>()), ...);
  }
  (std::make_integer_sequence<Index, Count>());
}

}  // namespace reel::kernels
