// Reductions of floating arrays (reduction/reduce.hpp), of integers and booleans, whose order does not matter.
#include "kernels/reductions.hpp"

#include <limits>

#include "kernels/reduction/reduce.hpp"
#include "kernels/simd/element.hpp"
#include "kernels/simd/integer.hpp"
#include "kernels/simd/pointwise.hpp"

namespace reel::kernels {

namespace {

// An operation as a function of a Map.
template <class Operation>
struct Combine {
  template <class V>
  [[gnu::always_inline]] V operator()(V a, V b) const {
    return Operation::combine(a, b);
  }
};

template <VecElement T, class Operation>
struct FloatReduction {
  static void run(Strided in, std::ptrdiff_t n, void* out) {
    const T* p = static_cast<const T*>(in.data);
    T* o = static_cast<T*>(out);
    if (n == 1) {
      *o = *p;
    } else if (in.stride == 1) {
      *o = reduce<T, Operation>(p, n);
    } else {
      using Order = Pairwise<T, Operation>;
      alignas(64) T buffer[static_cast<std::size_t>(Order::block)];
      *o = Order::run(n, StridedElements<T, Operation>{p, in.stride, buffer});
    }
  }
  static void merge(void* acc, const void* in, std::ptrdiff_t n) {
    const Strided operands[] = {{acc, 1}, {in, 1}};
    Map<T, Combine<Operation>, 4, 0, 1>::run(operands, acc, n);
  }
  static void merge_all(const void* const* in, std::ptrdiff_t count, void* out, std::ptrdiff_t n) {
    using L = Vec<T>;
    constexpr int vectors = 8;  // of sums at a time: they and the terms fit 16 registers
    const auto row = [&](std::ptrdiff_t r) { return static_cast<const T*>(in[r]); };
    T* to = static_cast<T*>(out);
    std::ptrdiff_t i = 0;
    for (; n - i >= vectors * L::size; i += vectors * L::size) {
      L acc[vectors];
      unrolled<vectors>([&](auto k) __attribute__((always_inline)) { acc[k] = L::load(row(0) + i + k * L::size); });
      for (std::ptrdiff_t r = 1; r < count; ++r)
        unrolled<vectors>([&](auto k) __attribute__((always_inline)) {
          acc[k] = Operation::combine(acc[k], L::load(row(r) + i + k * L::size));
        });
      unrolled<vectors>([&](auto k) __attribute__((always_inline)) { acc[k].store(to + i + k * L::size); });
    }
    for (; n - i >= L::size; i += L::size) {
      L acc = L::load(row(0) + i);
      for (std::ptrdiff_t r = 1; r < count; ++r) acc = Operation::combine(acc, L::load(row(r) + i));
      acc.store(to + i);
    }
    if (i == n) return;
    const L rest = L(Operation::template neutral<T>);
    L acc = load_first(row(0) + i, n - i, rest);
    for (std::ptrdiff_t r = 1; r < count; ++r) acc = Operation::combine(acc, load_first(row(r) + i, n - i, rest));
    store_first(acc, to + i, n - i);
  }
};

// Terms: the elements of an array, NaNs replaced by 0.
template <VecElement T>
struct Numbers {
  using L = Vec<T>;
  struct Block {
    static constexpr bool is_load = true;
    const T* p;
    [[gnu::always_inline]] static L number(L v) { return where(v == v, v, L(0)); }
    [[gnu::always_inline]] L whole(std::ptrdiff_t j) const { return number(L::load(p + j)); }
    [[gnu::always_inline]] L part(std::ptrdiff_t j, std::ptrdiff_t count) const {
      return number(load_first(p + j, count, L(0)));
    }
  };
  const T* p;
  [[gnu::always_inline]] Block block(std::ptrdiff_t i, std::ptrdiff_t) const { return {p + i}; }
};

// The sum of complex numbers: real and imaginary parts separately, in the same order.
template <VecElement T>
struct ComplexSum {
  static void run(Strided in, std::ptrdiff_t n, void* out) {
    const T* p = static_cast<const T*>(in.data);
    T parts[2];
    for (int part : {0, 1}) FloatReduction<T, Sum>::run({p + part, 2 * in.stride}, n, &parts[part]);
    std::memcpy(out, parts, sizeof parts);
  }
  static void merge(void* acc, const void* in, std::ptrdiff_t n) { FloatReduction<T, Sum>::merge(acc, in, 2 * n); }
};

// The same names for integers; every order gives the same bits.
struct IntegerSum {
  template <class E>
  E operator()(E a, E b) const {
    return a + b;
  }
};
struct IntegerProd {
  template <class E>
  E operator()(E a, E b) const {
    return a * b;
  }
};
struct IntegerMax {
  template <class E>
  E operator()(E a, E b) const {
    return maximum(a, b);
  }
};
struct IntegerMin {
  template <class E>
  E operator()(E a, E b) const {
    return minimum(a, b);
  }
};

template <class E, class Operation>
struct ElementReduction {
  static void run(Strided in, std::ptrdiff_t n, void* out) {
    const E* p = static_cast<const E*>(in.data);
    E total = *p;
    if (in.stride == 1)
      for (std::ptrdiff_t i = 1; i < n; ++i) total = Operation{}(total, p[i]);
    else
      for (std::ptrdiff_t i = 1; i < n; ++i) total = Operation{}(total, p[i * in.stride]);
    *static_cast<E*>(out) = total;
  }
  static void merge(void* acc, const void* in, std::ptrdiff_t n) {
    const Strided operands[] = {{acc, 1}, {in, 1}};
    ElementMap<Operation, E, E, E>::run(operands, acc, n);
  }
};

// The first element that equals the extreme, or is a NaN, which makes the extreme NaN. Stride is a number or a
// compile-time constant.
template <class T, class Stride>
std::ptrdiff_t first_of(T extreme, const T* p, Stride stride, std::ptrdiff_t n) {
  using Flag =
      std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;  // with one width the compiler vectorises
  const auto found = [&](std::ptrdiff_t i) {
    const T e = p[i * stride];
    return static_cast<Flag>(e == extreme) | static_cast<Flag>(e != e);
  };
  // Without a branch per element until the right block is found.
  constexpr std::ptrdiff_t block = 64;
  std::ptrdiff_t i = 0;
  for (; n - i > block; i += block) {
    Flag any = 0;
    for (std::ptrdiff_t j = 0; j < block; ++j) any |= found(i + j);
    if (any != 0) break;
  }
  while (found(i) == 0) ++i;
  return i;
}

struct IsGreater {
  template <class T>
  bool operator()(T a, T b) const {
    return a > b;
  }
};
struct IsLess {
  template <class T>
  bool operator()(T a, T b) const {
    return a < b;
  }
};

// The same for up to `width` neighbouring columns at once, element by element: a plain loop that the compiler
// vectorises. With a number of columns known at compile time it is 4 to 9 KB of code, so only for floating dtypes.
template <class T, class Before>
void first_of_neighbours(Strided in, std::ptrdiff_t n, std::ptrdiff_t count, std::int64_t* out) {
  using Index = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;
  constexpr std::ptrdiff_t width = 64;  // columns at a time: eight of the longest vectors of float64
  const T* p = static_cast<const T*>(in.data);
  for (std::ptrdiff_t j = 0; j < count; j += width, p += width, out += width) {
    T extreme[width];
    Index index[width] = {};
    const std::ptrdiff_t columns = count - j < width ? count - j : width;
    const auto each = [&](std::ptrdiff_t m) {
      for (std::ptrdiff_t c = 0; c < m; ++c) extreme[c] = p[c];
      for (std::ptrdiff_t i = 1; i < n; ++i) {
        const T* row = p + i * in.stride;
        for (std::ptrdiff_t c = 0; c < m; ++c) {
          const T e = row[c], best = extreme[c];
          const bool first = Before{}(e, best) | ((e != e) & (best == best));
          extreme[c] = first ? e : best;
          index[c] = first ? static_cast<Index>(i) : index[c];
        }
      }
      for (std::ptrdiff_t c = 0; c < m; ++c) out[c] = index[c];
    };
    if (std::is_floating_point_v<T> && columns == width)
      each(width);
    else
      each(columns);
  }
}

template <class T, class R, class Before>
void index_of_extreme(Strided in, std::ptrdiff_t n, std::ptrdiff_t count, std::int64_t* out) {
  if (in.stride != 1 && count > 1 && n <= std::numeric_limits<std::int32_t>::max())
    return first_of_neighbours<T, Before>(in, n, count, out);
  for (std::ptrdiff_t j = 0; j < count; ++j) {
    const T* p = static_cast<const T*>(in.data) + j;
    T extreme;
    R::run({p, in.stride}, n, &extreme);
    out[j] = in.stride == 1 ? first_of(extreme, p, std::integral_constant<std::ptrdiff_t, 1>(), n)
                            : first_of(extreme, p, in.stride, n);
  }
}

Reduction& at(ReductionKernels& all, ReduceFunction f, DType type) {
  return all.reduce[static_cast<std::size_t>(f)][index(type)];
}

template <VecElement T>
void enter_floats(ReductionKernels& all, DType type) {
  const auto entry = []<class Operation>(Operation) {
    using R = FloatReduction<T, Operation>;
    return Reduction{&R::run, &R::merge, &R::merge_all};
  };
  at(all, ReduceFunction::sum, type) = entry(Sum());
  at(all, ReduceFunction::prod, type) = entry(Prod());
  at(all, ReduceFunction::max, type) = entry(Max());
  at(all, ReduceFunction::min, type) = entry(Min());
  all.argmax[index(type)] = &index_of_extreme<T, FloatReduction<T, Max>, IsGreater>;
  all.argmin[index(type)] = &index_of_extreme<T, FloatReduction<T, Min>, IsLess>;
  all.sum_of_numbers[index(type)] = [](const void* x, std::ptrdiff_t n, void* out) {
    const T* p = static_cast<const T*>(x);
    *static_cast<T*>(out) = n > 1 ? Pairwise<T, Sum>::run(n, Numbers<T>{p}) : *p == *p ? *p : T(0);
  };
  all.dot[index(type)] = [](Strided a, Strided b, std::ptrdiff_t n, void* out) {
    *static_cast<T*>(out) = sum_of_products<T>(a, b, n);
  };
}

template <class E>
void enter_elements(ReductionKernels& all, DType type) {
  const auto entry = []<class Operation>(Operation) {
    return Reduction{&ElementReduction<E, Operation>::run, &ElementReduction<E, Operation>::merge};
  };
  using T = decltype(E::v);
  all.argmax[index(type)] = &index_of_extreme<T, ElementReduction<E, IntegerMax>, IsGreater>;
  all.argmin[index(type)] = &index_of_extreme<T, ElementReduction<E, IntegerMin>, IsLess>;
  at(all, ReduceFunction::max, type) = entry(IntegerMax());
  at(all, ReduceFunction::min, type) = entry(IntegerMin());
  if constexpr (!std::same_as<E, Boolean>) {
    at(all, ReduceFunction::sum, type) = entry(IntegerSum());
    at(all, ReduceFunction::prod, type) = entry(IntegerProd());
  }
}

}  // namespace

const void* reductions_kernels() {
  static ReductionKernels all;
  enter_floats<float>(all, DType::float32);
  enter_floats<double>(all, DType::float64);
  at(all, ReduceFunction::sum, DType::complex64) = {&ComplexSum<float>::run, &ComplexSum<float>::merge};
  at(all, ReduceFunction::sum, DType::complex128) = {&ComplexSum<double>::run, &ComplexSum<double>::merge};
  enter_elements<Boolean>(all, DType::boolean);
  enter_elements<Integer<std::uint8_t>>(all, DType::uint8);
  enter_elements<Integer<std::int32_t>>(all, DType::int32);
  enter_elements<Integer<std::int64_t>>(all, DType::int64);
  return &all;
}

}  // namespace reel::kernels
