// One loop per function and element size; shifts per type.
#include "kernels/baseline/bits.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

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
struct LogicalNot {
  std::uint8_t operator()(std::uint8_t x) const { return x == 0; }
};

template <class T>
bool shifts_all(T n) {
  using U = std::make_unsigned_t<T>;
  return static_cast<U>(n) >= std::numeric_limits<U>::digits;
}
struct Left {
  template <class T>
  T operator()(T x, T n) const {
    return shifts_all(n) ? T{0} : static_cast<T>(static_cast<std::uint64_t>(x) << n);
  }
};
struct Right {
  template <class T>
  T operator()(T x, T n) const {
    return static_cast<T>(shifts_all(n) ? (x < T{0} ? -1 : 0) : x >> n);
  }
};

/// The parts of IEEE numbers.
template <class T>
struct Format {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  static constexpr int fraction = std::numeric_limits<T>::digits - 1, bias = std::numeric_limits<T>::max_exponent - 1;
};
struct Exponent {
  template <class T>
  std::int32_t operator()(T x) const {
    using F = Format<T>;
    const int biased = static_cast<int>(std::bit_cast<typename F::Bits>(x) >> F::fraction) & (2 * F::bias + 1);
    if (biased > 2 * F::bias) return 0;  // infinite, NaN
    if (biased > 0) return biased - F::bias + 1;
    int e = 0;
    static_cast<void>(std::frexp(x, &e));
    return e;
  }
};
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
                            : &ElementMap<Not, T, T>::run;
}
template <class T>
Loop of_integers(BitFunction f) {
  return f == BitFunction::left ? &ElementMap<Left, T, T, T>::run : &ElementMap<Right, T, T, T>::run;
}

}  // namespace

Loop bitwise(BitFunction f, DType d) {
  const bool shift = f == BitFunction::left || f == BitFunction::right;
  if (d == DType::boolean)
    return f == BitFunction::complement ? &ElementMap<LogicalNot, std::uint8_t, std::uint8_t>::run
                                        : of_bits<std::uint8_t>(f);
  if (d == DType::uint8) return shift ? of_integers<std::uint8_t>(f) : of_bits<std::uint8_t>(f);
  if (d == DType::int32) return shift ? of_integers<std::int32_t>(f) : of_bits<std::uint32_t>(f);
  return shift ? of_integers<std::int64_t>(f) : of_bits<std::uint64_t>(f);
}
Loop exponent(DType d) {
  return d == DType::float32 ? &ElementMap<Exponent, std::int32_t, float>::run
                             : &ElementMap<Exponent, std::int32_t, double>::run;
}
Loop scale_by_power(DType d) {
  return d == DType::float32 ? &ElementMap<Scale, float, float, std::int32_t>::run
                             : &ElementMap<Scale, double, double, std::int32_t>::run;
}

}  // namespace reel::kernels
