// One loop per function and element size; shifts per type.
#include "kernels/baseline/bits.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/pointwise.hpp"
#include "kernels/simd/element.hpp"

namespace reel::kernels {
namespace {

struct And {
  template <class U>
  U operator()(U x, U y) const {
    return static_cast<U>(x & y);
  }
};
struct Or {
  template <class U>
  U operator()(U x, U y) const {
    return static_cast<U>(x | y);
  }
};
struct Xor {
  template <class U>
  U operator()(U x, U y) const {
    return static_cast<U>(x ^ y);
  }
};
struct Not {
  template <class U>
  U operator()(U x) const {
    return static_cast<U>(~x);
  }
};
// Unrolled: with fewer instructions it loses less to another thread of the core.
void invert(const void* x, void* out, std::ptrdiff_t bytes) {
  const auto* from = static_cast<const std::uint8_t*>(x);
  auto* to = static_cast<std::uint8_t*>(out);
#ifndef __clang__
#pragma GCC ivdep
#pragma GCC unroll 4
#endif
  for (std::ptrdiff_t i = 0; i < bytes; ++i) to[i] = static_cast<std::uint8_t>(~from[i]);
}
template <class T>
void invert(const Strided* in, void* out, std::ptrdiff_t n) {
  using Map = ElementMap<Not, T, T>;
  if (n != 1 && !direct(Map::layout(), in)) return staged(&invert<T>, Map::layout(), in, out, n);
  invert(in[0].data, out, n * static_cast<std::ptrdiff_t>(sizeof(T)));
}
struct LogicalNot {
  std::uint8_t operator()(std::uint8_t x) const { return x == 0; }
};

// Shifts of 8-bit integers, as those of the instruction sets.
struct Left {
  std::uint8_t operator()(std::uint8_t x, std::uint8_t n) const {
    return static_cast<std::uint8_t>(n < 8 ? x << n : 0);
  }
};
struct Right {
  std::uint8_t operator()(std::uint8_t x, std::uint8_t n) const {
    return static_cast<std::uint8_t>(n < 8 ? x >> n : 0);
  }
};

/// The parts of IEEE numbers.
template <class T>
struct Format {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  static constexpr int fraction = std::numeric_limits<T>::digits - 1, bias = std::numeric_limits<T>::max_exponent - 1;
};
template <class T>
void split(const T* x, std::ptrdiff_t n, T* mantissa, std::int32_t* exponent) {
  using F = Format<T>;
  using Bits = typename F::Bits;
  constexpr Bits field = static_cast<Bits>(2 * F::bias + 1) << F::fraction, half = static_cast<Bits>(F::bias - 1)
                                                                                   << F::fraction;
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    const auto bits = std::bit_cast<Bits>(x[i]);
    const int biased = static_cast<int>((bits & field) >> F::fraction);
    const bool normal = biased - 1 < 2 * F::bias && biased != 0;
    int e = biased - F::bias + 1;
    mantissa[i] = std::bit_cast<T>((bits & ~field) | half);
    if (!normal) {
      e = 0;
      mantissa[i] = std::isfinite(x[i]) ? std::frexp(x[i], &e) : x[i];
    }
    exponent[i] = e;
  }
}
struct Scale {
  template <class T>
  T operator()(T x, std::int32_t n) const {
    using F = Format<T>;
    if (n <= -F::bias || n > F::bias) return std::ldexp(x, n);
    return x * std::bit_cast<T>(static_cast<typename F::Bits>(n + F::bias) << F::fraction);  // a normal power
  }
};

template <class T>
Loop of_bits(BitFunction f) {
  using enum BitFunction;
  return f == conjunction   ? &ElementMap<And, T, T, T>::run
         : f == disjunction ? &ElementMap<Or, T, T, T>::run
         : f == exclusive   ? &ElementMap<Xor, T, T, T>::run
                            : &invert<T>;
}

}  // namespace

Loop bitwise(BitFunction f, DType d) {
  if (f == BitFunction::left || f == BitFunction::right) {
    const bool right = f == BitFunction::right;
    if (d != DType::uint8) return active<PointwiseKernels>().shift[right ? 1 : 0][static_cast<std::size_t>(d)];
    using Byte = std::uint8_t;
    return right ? &ElementMap<Right, Byte, Byte, Byte>::run : &ElementMap<Left, Byte, Byte, Byte>::run;
  }
  if (d == DType::boolean && f == BitFunction::complement)
    return &ElementMap<LogicalNot, std::uint8_t, std::uint8_t>::run;
  if (d == DType::boolean || d == DType::uint8) return of_bits<std::uint8_t>(f);
  return d == DType::int32 ? of_bits<std::uint32_t>(f) : of_bits<std::uint64_t>(f);
}
void split_numbers(DType d, const void* x, std::ptrdiff_t n, void* mantissa, std::int32_t* exponent) {
  if (d == DType::float32)
    split(static_cast<const float*>(x), n, static_cast<float*>(mantissa), exponent);
  else
    split(static_cast<const double*>(x), n, static_cast<double*>(mantissa), exponent);
}
Loop scale_by_power(DType d) {
  return d == DType::float32 ? &ElementMap<Scale, float, float, std::int32_t>::run
                             : &ElementMap<Scale, double, double, std::int32_t>::run;
}

}  // namespace reel::kernels
