// Loops that gain nothing from wider registers: cumulative sums and products, one element after the other, and the search for the
// index of an extreme, whose value the active set has found.
#include <cstring>

#include "kernels/kernels.hpp"
#include "kernels/loop/integer.hpp"

namespace reel::kernels {

namespace {

struct Plus {
  template <class E>
  E operator()(E a, E b) const {
    return a + b;
  }
};
struct Times {
  template <class E>
  E operator()(E a, E b) const {
    return a * b;
  }
};

template <class E, class Operation>
void scan(Strided in, void* out, std::ptrdiff_t out_stride, std::ptrdiff_t n) {
  if (n < 1) return;
  const E* p = static_cast<const E*>(in.data);
  E* o = static_cast<E*>(out);
  E total = *p;
  *o = total;
  for (std::ptrdiff_t i = 1; i < n; ++i) {
    total = Operation{}(total, p[i * in.stride]);
    o[i * out_stride] = total;
  }
}

template <class Operation>
Scan scan_of(Type t) {
  switch (t) {
    case Type::uint8: return &scan<Integer<std::uint8_t>, Operation>;
    case Type::int32: return &scan<Integer<std::int32_t>, Operation>;
    case Type::int64: return &scan<Integer<std::int64_t>, Operation>;
    case Type::float32: return &scan<float, Operation>;
    case Type::float64: return &scan<double, Operation>;
    default: return nullptr;
  }
}

template <class E, Reduce Kind, Type T>
void index_of_extreme(Strided in, std::ptrdiff_t n, std::int64_t* out) {
  E extreme;
  active().reduction(Kind, T).run(in, n, &extreme);
  const E* p = static_cast<const E*>(in.data);
  const auto found = [&](std::ptrdiff_t i) {
    const E e = p[i * in.stride];
    return (e == extreme) | (e != e);  // a NaN makes the extreme NaN
  };
  // Without a branch per element until the right block is found.
  constexpr std::ptrdiff_t block = 32;
  std::ptrdiff_t i = 0;
  for (; n - i > block; i += block) {
    bool any = false;
    for (std::ptrdiff_t j = 0; j < block; ++j) any |= found(i + j);
    if (any) break;
  }
  while (!found(i)) ++i;
  *out = i;
}

template <Reduce Kind>
ArgReduce arg_reduce(Type t) {
  switch (t) {
    case Type::boolean: return &index_of_extreme<std::uint8_t, Kind, Type::boolean>;
    case Type::uint8: return &index_of_extreme<std::uint8_t, Kind, Type::uint8>;
    case Type::int32: return &index_of_extreme<std::int32_t, Kind, Type::int32>;
    case Type::int64: return &index_of_extreme<std::int64_t, Kind, Type::int64>;
    case Type::float32: return &index_of_extreme<float, Kind, Type::float32>;
    case Type::float64: return &index_of_extreme<double, Kind, Type::float64>;
    default: return nullptr;
  }
}

}  // namespace

Scan cumsum(Type t) { return scan_of<Plus>(t); }
Scan cumprod(Type t) { return scan_of<Times>(t); }
ArgReduce argmax(Type t) { return arg_reduce<Reduce::max>(t); }
ArgReduce argmin(Type t) { return arg_reduce<Reduce::min>(t); }

}  // namespace reel::kernels
