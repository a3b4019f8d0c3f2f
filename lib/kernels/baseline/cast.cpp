// The 10 x 10 conversions between element types. Numbers round to nearest even; integers wrap; a floating number is
// truncated to an integer, which fails if it is NaN or the integer type cannot hold it.
#include "kernels/baseline/cast.hpp"

#include <cmath>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

#include "kernels/half.hpp"

namespace reel::kernels {

namespace {

// Each element type as stored, and the type it is computed with; half precisions are those of kernels/half.hpp.
template <class T>
struct Plain {
  using Number = T;
  T v;
  static Plain from(T number) { return {number}; }
  T number() const { return v; }
};
struct BooleanByte {
  using Number = bool;
  std::uint8_t v;
  static BooleanByte from(bool number) { return {number}; }
  bool number() const { return v != 0; }
};
template <class T>
struct ComplexNumber {
  using Number = T;
  T re, im;
  static ComplexNumber from(T number) { return {number, 0}; }
  T number() const { return re; }
};
using Elements = std::tuple<BooleanByte, Plain<std::uint8_t>, Plain<std::int32_t>, Plain<std::int64_t>, Float16,
                            Bfloat16, Plain<float>, Plain<double>, ComplexNumber<float>, ComplexNumber<double>>;

template <class E>
inline constexpr bool is_complex = false;
template <class T>
inline constexpr bool is_complex<ComplexNumber<T>> = true;
template <class E>
inline constexpr bool is_half = std::is_same_v<E, Float16> || std::is_same_v<E, Bfloat16>;

// From wider types, rounding to float and then to the 11 or 8 significant bits of a half precision would round twice.
// The first rounding is therefore to odd: an exact value strictly between two floats becomes the one with an odd last
// bit, which preserves what the second rounding needs.
float to_odd(double exact) {
  const auto nearest = static_cast<float>(exact);
  if (static_cast<double>(nearest) == exact || !std::isfinite(nearest) || exact != exact) return nearest;
  const auto bits = std::bit_cast<std::uint32_t>(nearest);
  if ((bits & 1u) != 0) return nearest;
  const bool away = std::abs(static_cast<double>(nearest)) < std::abs(exact);
  return std::bit_cast<float>(away ? bits + 1 : bits - 1);
}

// Converts x to To; false if To is an integer type that cannot hold it. The bounds are powers of two, exact in every
// floating type.
template <class To, class From>
bool convert(const From& x, To& result) {
  using N = typename From::Number;
  using M = typename To::Number;
  if constexpr (std::is_same_v<M, bool>) {
    if constexpr (is_complex<From>)
      result = To::from(x.re != 0 || x.im != 0);
    else
      result = To::from(x.number() != 0);
  } else if constexpr (is_complex<To> && is_complex<From>) {
    result = {static_cast<M>(x.re), static_cast<M>(x.im)};
  } else if constexpr (std::is_integral_v<M> && std::is_floating_point_v<N>) {
    constexpr int bits = std::numeric_limits<M>::digits;
    const N number = x.number(), upper = std::ldexp(N(1), bits), lower = std::is_signed_v<M> ? -upper : N(0);
    // -0.9 truncates to 0 and -128.9 to -128; at 64 bits there is no number between the bound and the next lower one.
    const bool fits = number < upper && (number >= lower || number > lower - 1);
    result = To::from(fits ? static_cast<M>(number) : M(0));
    return fits;
  } else if constexpr (is_half<To> && (sizeof(N) > sizeof(float) || std::is_same_v<N, std::int32_t>)) {
    if constexpr (std::is_floating_point_v<N> || sizeof(N) < 8) {
      result = To::from(to_odd(static_cast<double>(x.number())));
    } else {
      // An integer beyond 2^53 that is not a double is only compared with far coarser numbers: a sticky bit marks the
      // truncation.
      const std::int64_t number = x.number(), low = number & 0x7ff;
      const bool wide = number >= (std::int64_t(1) << 53) || number <= -(std::int64_t(1) << 53);
      result = To::from(to_odd(static_cast<double>(wide ? number - low + (low != 0 ? 0x400 : 0) : number)));
    }
  } else {
    result = To::from(static_cast<M>(x.number()));
  }
  return true;
}

template <class To, class From>
bool cast_loop(Strided in, void* out, std::ptrdiff_t n) {
  const From* p = static_cast<const From*>(in.data);
  To* o = static_cast<To*>(out);
  bool good = true;
  if (in.stride == 1)
    for (std::ptrdiff_t i = 0; i < n; ++i) good &= convert(p[i], o[i]);
  else
    for (std::ptrdiff_t i = 0; i < n; ++i) good &= convert(p[i * in.stride], o[i]);
  return good;
}

template <std::size_t... Pair>
Cast find_cast(std::size_t pair, std::index_sequence<Pair...>) {
  static constexpr Cast casts[] = {&cast_loop<std::tuple_element_t<Pair % dtype_count, Elements>,
                                              std::tuple_element_t<Pair / dtype_count, Elements>>...};
  return casts[pair];
}

}  // namespace

Cast cast(DType from, DType to) {
  return find_cast(index(from) * dtype_count + index(to), std::make_index_sequence<dtype_count * dtype_count>());
}

}  // namespace reel::kernels
