// softmax, log_softmax and logsumexp of one contiguous row, and their products. The greatest element is subtracted
// first; its own term, exp(0) = 1, is left out of the sum where log1p of the rest keeps what adding it to 1 would lose.
#pragma once
#include "kernels/loop/reduce.hpp"

namespace reel::kernels {

// out[i] = f(lane of in0, lane of in1, ...) over contiguous arrays; the lanes' rest repeats the first element.
template <LaneElement T, class I, class F, class... In>
[[gnu::always_inline]] inline void over_row(std::ptrdiff_t n, T* out, F f, const In*... in) {
  using L = Lane<T, I>;
  std::ptrdiff_t i = 0;
  for (; n - i >= L::size; i += L::size) f(L::load(in + i)...).store(out + i);
  if (i < n) store_first(f(load_first(in + i, n - i, L(in[i]))...), out + i, n - i);
}

// Terms exp(x[i] - shift).
template <LaneElement T, class I>
struct ExpTerms {
  using L = Lane<T, I>;
  struct Block {
    const T* x;
    L shift;
    [[gnu::always_inline]] L whole(std::ptrdiff_t j) const { return exp(L::load(x + j) - shift); }
    [[gnu::always_inline]] L part(std::ptrdiff_t j, std::ptrdiff_t count) const {
      return exp(load_first(x + j, count, L(-std::numeric_limits<T>::infinity())) - shift);
    }
  };
  const T* x;
  L shift;
  [[gnu::always_inline]] Block block(std::ptrdiff_t i, std::ptrdiff_t) const { return {x + i, shift}; }
};

template <LaneElement T, class I>
struct RowFunctions {
  using L = Lane<T, I>;

  static T greatest(const T* x, std::ptrdiff_t n) { return reduce<T, I, Max>(x, n); }
  static bool is_finite(T a) { return std::abs(a) < std::numeric_limits<T>::infinity(); }

  [[gnu::noinline]] static T exp_sum(const T* x, std::ptrdiff_t n, T shift) {
    return n < 1 ? T(0) : Pairwise<T, I, Sum>::run(n, ExpTerms<T, I>{x, L(shift)});
  }
  // log(sum(exp(x - m))) for the finite maximum m: log1p of the terms before and after its first occurrence.
  static T log_of_sum(const T* x, std::ptrdiff_t n, T m) {
    std::ptrdiff_t at = 0;
    for (; n - at >= L::size && !any(L::load(x + at) == L(m)); at += L::size) continue;
    while (x[at] != m) ++at;
    return first_element(log1p(L(exp_sum(x, at, m) + exp_sum(x + at + 1, n - at - 1, m))));
  }

  static void softmax(const void* x, void* out, std::ptrdiff_t n) {
    const T* in = static_cast<const T*>(x);
    T* o = static_cast<T*>(out);
    const L shift(greatest(in, n));
    over_row<T, I>(
        n, o, [shift](L a) { return exp(a - shift); }, in);
    const L scale(T(1) / reduce<T, I, Sum>(o, n));
    over_row<T, I>(
        n, o, [scale](L a) { return a * scale; }, o);
  }
  static void log_softmax(const void* x, void* out, std::ptrdiff_t n) {
    const T* in = static_cast<const T*>(x);
    const T m = greatest(in, n);
    const L shift(m), rest(is_finite(m) ? log_of_sum(in, n, m) : T(0));  // inf - inf below is the NaN that it should be
    over_row<T, I>(
        n, static_cast<T*>(out), [shift, rest](L a) { return a - shift - rest; }, in);
  }
  static void logsumexp(const void* x, void* out, std::ptrdiff_t n) {
    const T* in = static_cast<const T*>(x);
    const T m = greatest(in, n);
    *static_cast<T*>(out) = is_finite(m) ? m + log_of_sum(in, n, m) : m;
  }

  static void softmax_product(const void* g, const void* z, void* out, std::ptrdiff_t n) {
    const L mean(sum_of_products<T, I>({g, 1}, {z, 1}, n));
    over_row<T, I>(
        n, static_cast<T*>(out), [mean](L a, L b) { return b * (a - mean); }, static_cast<const T*>(g),
        static_cast<const T*>(z));
  }
  static void log_softmax_product(const void* g, const void* z, void* out, std::ptrdiff_t n) {
    const L total(reduce<T, I, Sum>(static_cast<const T*>(g), n));
    over_row<T, I>(
        n, static_cast<T*>(out), [total](L a, L b) { return a - exp(b) * total; }, static_cast<const T*>(g),
        static_cast<const T*>(z));
  }
};

}  // namespace reel::kernels
