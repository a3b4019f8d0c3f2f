// Loops over contiguous operands one element at a time, for the compiler to vectorise: integers, comparisons,
// selections.
#pragma once
#include <utility>

#include "kernels/simd/staged.hpp"

namespace reel::kernels {

// A type for each operand and for the result; F is stateless.
template <class F, class Out, class... In>
struct ElementMap {
  static constexpr Layout layout() {
    return {.operands = sizeof...(In), .bytes = {sizeof(In)...}, .out_bytes = sizeof(Out), .repeats = false};
  }

  static void run(const Strided* in, void* out, std::ptrdiff_t n) {
    if (n != 1 && !direct(layout(), in)) return staged(&run, layout(), in, out, n);
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      loop(static_cast<Out*>(out), n, static_cast<const In*>(in[K].data)...);
    }
    (std::index_sequence_for<In...>());
  }
  [[gnu::always_inline]] static void loop(Out* out, std::ptrdiff_t n, const In*... in) {
    // out is an operand itself or overlaps none, so iterations are independent.
#ifndef __clang__
#pragma GCC ivdep
#endif
    for (std::ptrdiff_t i = 0; i < n; ++i) out[i] = F{}(in[i]...);
  }
};

}  // namespace reel::kernels
