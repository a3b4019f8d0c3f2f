// The loop of a value or derivative over vectors. The function is instantiated once (twice if it is cheap), for the
// whole array, its tail and a single element alike, so that an element's bits do not depend on its position.
#pragma once
#include <utility>

#include "kernels/simd/family.hpp"
#include "kernels/simd/half.hpp"
#include "kernels/simd/staged.hpp"
#include "kernels/simd/tail.hpp"
#include "kernels/simd/unrolled.hpp"

namespace reel::kernels {

// out[i] = f(in[K][i]...), where f is a stateless function type. An operand of stride 0 is read with step 0 from a
// vector that repeats it, so that no loop branches on strides. Up to `Unroll` vectors at a time, then one.
template <VecElement T, class F, std::ptrdiff_t Unroll, std::size_t... K>
struct Map {
  using L = Vec<T>;
  static constexpr std::size_t operands = sizeof...(K);
  // The vectors of all operands stay in registers.
  static constexpr std::ptrdiff_t group = is_scalar ? 1 : many_registers || operands <= 3 ? Unroll : (Unroll + 1) / 2;

  static constexpr Layout layout() {
    Layout l{.operands = 0, .bytes = {}, .out_bytes = sizeof(T), .repeats = true};
    ((l.bytes[K] = sizeof(T), l.operands = K + 1), ...);
    return l;
  }

  static void run(const Strided* in, void* out, std::ptrdiff_t n) {
    if (n < 1) return;
    if (n > 1 && ((in[K].stride | ...) & ~std::ptrdiff_t(1)) != 0) return staged(&run, layout(), in, out, n);
    loop(in, static_cast<T*>(out), n, std::make_index_sequence<operands>());
  }

  // Groups of vectors; returns the number of elements that are left. All vectors of one operand are loaded, then those
  // of the next: AMD's processors lose a quarter of their speed on 512-bit loads from the second-level cache that
  // alternate between operands.
  template <std::size_t... J>
  [[gnu::always_inline]] static std::ptrdiff_t groups(const T* (&p)[operands], const std::ptrdiff_t (&step)[operands],
                                                      T*& out, std::ptrdiff_t n) {
    for (; n >= group * L::size; n -= group * L::size) {
      L value[operands][group];
      const auto load = [&](L(&to)[group], std::size_t k) {
        unrolled<group>([&](auto u) { to[u] = L::load(p[k] + u * step[k]); });
        p[k] += group * step[k];
      };
      (load(value[J], J), ...);
      unrolled<group>([&](auto u) { F{}(value[J][u]...).store(out + u * L::size); });
      out += group * L::size;
    }
    return n;
  }

  template <std::size_t... J>
  [[gnu::always_inline]] static void loop(const Strided* in, T* out, std::ptrdiff_t n, std::index_sequence<J...>) {
    const T* p[operands] = {static_cast<const T*>(in[K].data)...};
    std::ptrdiff_t step[operands] = {};
    alignas(64) T repeated[operands][static_cast<std::size_t>(L::size)];
    if (n > 1) {
      const std::ptrdiff_t stride[operands] = {in[K].stride...};
      const auto set_step = [&](std::size_t k) {
        step[k] = stride[k] * L::size;
        if (stride[k] != 0) return;
        L(*p[k]).store(repeated[k]);
        p[k] = repeated[k];
      };
      (set_step(J), ...);
    }
    if constexpr (group > 1) {
      n = groups<J...>(p, step, out, n);
      if (n == 0) return;
    }
    for (;;) {
      L value[operands];
      if (n >= L::size)
        ((value[J] = L::load(p[J])), ...);
      else if (n == 1)
        ((value[J] = L(*p[J])), ...);
      else
        ((value[J] = load_first(p[J], n, L(*p[J]))), ...);
      const L result = F{}(value[J]...);
      if (n < L::size) {
        if (n == 1)
          *out = first_element(result);
        else
          store_first(result, out, n);
        return;
      }
      result.store(out);
      if ((n -= L::size) == 0) return;
      out += L::size;
      ((p[J] += step[J]), ...);
    }
  }
};

// The loops of a family for one dtype: on vectors of float or double, and for half precision through float.
template <VecElement T, std::ptrdiff_t Unroll>
struct VecLoops {
  template <class F, std::size_t... K>
  static constexpr Loop loop() {
    return &Map<T, F, Unroll, K...>::run;
  }
};
template <class Half, std::ptrdiff_t Unroll>
struct HalfLoops {
  template <class F, std::size_t... K>
  static constexpr Loop loop() {
    return &run<F, K...>;
  }
  template <class F, std::size_t... K>
  static void run(const Strided* in, void* out, std::ptrdiff_t n) {
    through_float<Half>(&Map<float, F, Unroll, K...>::run, ((1u << K) | ...), in, out, n);
  }
};

// Sets a family's loops for every floating dtype.
template <std::ptrdiff_t Unroll, const auto& Family>
void enter_floating(PointwiseKernels& all) {
  enter<HalfLoops<Float16, Unroll>, Family>(all, DType::float16);
  enter<HalfLoops<Bfloat16, Unroll>, Family>(all, DType::bfloat16);
  enter<VecLoops<float, Unroll>, Family>(all, DType::float32);
  enter<VecLoops<double, Unroll>, Family>(all, DType::float64);
}

}  // namespace reel::kernels
