// Reductions in a fixed pairwise order: blocks of 8 x 8 vectors with eight accumulators each, then the blocks in the
// order of a binary counter. The error of a sum grows with the logarithm of n. The order depends on n alone, not on
// strides, threads or alignment.
#pragma once
#include <utility>

#include "kernels/math.hpp"
#include "kernels/reduction/across.hpp"
#include "kernels/simd/staged.hpp"
#include "kernels/simd/tail.hpp"
#include "kernels/simd/unrolled.hpp"

namespace reel::kernels {

// How two vectors, or two elements, are combined. maximum and minimum with a NaN are NaN.
struct Sum {
  template <class V>
  [[gnu::always_inline]] static V combine(V a, V b) {
    return a + b;
  }
  template <class T>
  static constexpr T neutral = T(0);
};
struct Prod {
  template <class V>
  [[gnu::always_inline]] static V combine(V a, V b) {
    return a * b;
  }
  template <class T>
  static constexpr T neutral = T(1);
};
struct Max {
  template <class V>
  [[gnu::always_inline]] static V combine(V a, V b) {
    return maximum(a, b);
  }
  template <VecElement T>
  [[gnu::always_inline]] static T combine(T a, T b) {
    return a > b || a != a ? a : b;
  }
  template <class T>
  static constexpr T neutral = -std::numeric_limits<T>::infinity();
};
struct Min {
  template <class V>
  [[gnu::always_inline]] static V combine(V a, V b) {
    return minimum(a, b);
  }
  template <VecElement T>
  [[gnu::always_inline]] static T combine(T a, T b) {
    return a < b || a != a ? a : b;
  }
  template <class T>
  static constexpr T neutral = std::numeric_limits<T>::infinity();
};

// Reduces terms.block(i, count), called once per block. It returns an object with the vector whole(j) at i + j and, for
// the tail of the array, the vector part(j, count), whose lanes from count on are neutral.
template <VecElement T, class Operation>
struct Pairwise {
  using L = Vec<T>;
  static constexpr int accumulators = 8;
  static constexpr std::ptrdiff_t block = 8 * accumulators * L::size;  // elements

  [[gnu::always_inline]] static L combine(L a, L b) { return Operation::combine(a, b); }

  // Calls f(0) to f(accumulators - 1). With constants where each term is a load, so that accumulators are registers;
  // code of longer terms would not fit the instruction cache eight times.
  template <class Block, class F>
  [[gnu::always_inline]] static void for_each_accumulator(const F& f) {
    if constexpr (requires { Block::is_load; } && !is_scalar)
      unrolled<accumulators>(f);
    else
      for (int k = 0; k < accumulators; ++k) f(k);
  }

  // `groups` >= 1, of eight vectors each.
  template <class Block>
  [[gnu::always_inline]] static L eight_by(std::ptrdiff_t groups, const Block& terms) {
    L acc[accumulators];
    for_each_accumulator<Block>([&](auto k) __attribute__((always_inline)) { acc[k] = terms.whole(k * L::size); });
    // If unrolled, loads would be grouped by accumulator, 512 bytes apart: prefetchers follow ascending addresses.
#ifdef __clang__
#pragma clang loop unroll(disable)
#else
#pragma GCC unroll 1
#endif
    for (std::ptrdiff_t g = 1; g < groups; ++g)
      for_each_accumulator<Block>([&](auto k) __attribute__((always_inline)) {
        acc[k] = combine(acc[k], terms.whole((g * accumulators + k) * L::size));
      });
    return combine(combine(combine(acc[0], acc[1]), combine(acc[2], acc[3])),
                   combine(combine(acc[4], acc[5]), combine(acc[6], acc[7])));
  }

  template <class Terms>
  static T run(std::ptrdiff_t n, const Terms& terms) {
    return across<Operation>(vector(n, terms));
  }

  // All vectors combined into one. eight_by() and what is inlined into it are many instructions: one call site.
  template <class Terms>
  [[gnu::always_inline]] static L vector(std::ptrdiff_t n, const Terms& terms) {
    constexpr std::ptrdiff_t group = accumulators * L::size;
    L partial[60];  // sums of 2^k blocks, for the bits k of the number of blocks
    std::ptrdiff_t depth = 0, i = 0;
    for (std::size_t blocks = 1; i < n; i += block, ++blocks) {
      const std::ptrdiff_t count = n - i < block ? n - i : block, groups = count / group;
      const auto here = terms.block(i, count);
      if (groups > 0) {
        L sum = eight_by(groups, here);
        if (count == block)
          for (std::size_t rest = blocks; (rest & 1u) == 0; rest >>= 1) sum = combine(partial[--depth], sum);
        partial[depth++] = sum;
      }
      if (count < block) depth = tail(count, groups * group, here, partial, depth);
    }
    L total = partial[--depth];
    while (depth > 0) total = combine(partial[--depth], total);
    return total;
  }

  // Appends the sum of the vectors from j on, fewer than eight, and the partial vector behind them.
  template <class Block>
  [[gnu::always_inline]] static std::ptrdiff_t tail(std::ptrdiff_t count, std::ptrdiff_t j, const Block& terms,
                                                    L* partial, std::ptrdiff_t depth) {
    if (count - j >= L::size) {
      L sum = terms.whole(j);
      for (j += L::size; count - j >= L::size; j += L::size) sum = combine(sum, terms.whole(j));
      partial[depth++] = sum;
    }
    if (count > j) partial[depth++] = terms.part(j, count - j);
    return depth;
  }
};

// Terms: the elements of an array.
template <VecElement T, class Operation>
struct Elements {
  using L = Vec<T>;
  struct Block {
    static constexpr bool is_load = true;
    const T* p;
    [[gnu::always_inline]] L whole(std::ptrdiff_t j) const { return L::load(p + j); }
    [[gnu::always_inline]] L part(std::ptrdiff_t j, std::ptrdiff_t count) const {
      return load_first(p + j, count, L(Operation::template neutral<T>));
    }
  };
  const T* p;
  [[gnu::always_inline]] Block block(std::ptrdiff_t i, std::ptrdiff_t) const { return {p + i}; }
};
// The same for an array with a stride, gathered block by block.
template <VecElement T, class Operation>
struct StridedElements {
  const T* p;
  std::ptrdiff_t stride;
  T* buffer;
  typename Elements<T, Operation>::Block block(std::ptrdiff_t i, std::ptrdiff_t count) const {
    gather(p + i * stride, stride, buffer, count, sizeof(T));
    return {buffer};
  }
};
// Terms: products of the elements of two arrays.
template <VecElement T>
struct Products {
  using L = Vec<T>;
  struct Block {
    const T *a, *b;
    [[gnu::always_inline]] L whole(std::ptrdiff_t j) const { return L::load(a + j) * L::load(b + j); }
    [[gnu::always_inline]] L part(std::ptrdiff_t j, std::ptrdiff_t count) const {
      return load_first(a + j, count, L(0)) * load_first(b + j, count, L(0));
    }
  };
  const T *a, *b;
  std::ptrdiff_t a_stride, b_stride;
  T *a_buffer, *b_buffer;
  [[gnu::always_inline]] Block block(std::ptrdiff_t i, std::ptrdiff_t count) const {
    const auto from = [&](const T* p, std::ptrdiff_t stride, T* buffer) {
      if (stride == 1) return p + i;
      gather(p + i * stride, stride, buffer, count, sizeof(T));
      return static_cast<const T*>(buffer);
    };
    return {from(a, a_stride, a_buffer), from(b, b_stride, b_buffer)};
  }
};

template <VecElement T, class Operation>
T reduce(const T* p, std::ptrdiff_t n) {
  return Pairwise<T, Operation>::run(n, Elements<T, Operation>{p});
}
template <VecElement T>
T sum_of_products(Strided a, Strided b, std::ptrdiff_t n) {
  alignas(64) T buffer[2][static_cast<std::size_t>(Pairwise<T, Sum>::block)];
  const Products<T> terms{
      static_cast<const T*>(a.data), static_cast<const T*>(b.data), a.stride, b.stride, buffer[0], buffer[1]};
  return Pairwise<T, Sum>::run(n, terms);
}

}  // namespace reel::kernels
