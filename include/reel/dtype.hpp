// Element types: the ten dtypes, the C++ type of each, and what holds for all of them.
// float16, bfloat16 and the complex types are plain storage here; arithmetic on them happens in the library's lanes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <reel/api.hpp>
#include <type_traits>

namespace REEL_API reel {

/// The type of a tensor's elements, in order of promotion within a category.
enum class DType : std::uint8_t {
  boolean,
  uint8,
  int32,
  int64,
  float16,
  bfloat16,
  float32,
  float64,
  complex64,
  complex128
};

/// IEEE 754 binary16, stored; converts through float (round to nearest even).
struct float16 {
  std::uint16_t bits = 0;
  float16() = default;
  explicit float16(float value) noexcept;
  explicit operator float() const noexcept;
  friend bool operator==(float16 a, float16 b) noexcept { return float(a) == float(b); }
};

/// The upper half of an IEEE 754 binary32, stored; converts through float (round to nearest even).
struct bfloat16 {
  std::uint16_t bits = 0;
  bfloat16() = default;
  explicit bfloat16(float value) noexcept;
  explicit operator float() const noexcept;
  friend bool operator==(bfloat16 a, bfloat16 b) noexcept { return float(a) == float(b); }
};

/// A complex number, layout-compatible with std::complex<T>, into and out of which it converts.
template <class T>
struct complex {
  T re{}, im{};
  constexpr complex(T real = 0, T imag = 0) noexcept : re(real), im(imag) {}
  template <class C>
  requires requires(const C& c) { c.real(), c.imag(), typename C::value_type(); }
  constexpr complex(const C& c) noexcept : re(static_cast<T>(c.real())), im(static_cast<T>(c.imag())) {}
  template <class C>
  requires(std::is_constructible_v<C, T, T> && !std::is_same_v<C, complex>) && requires(const C& c) {
    c.real(), c.imag();
  }
  constexpr operator C() const noexcept { return C(re, im); }
  constexpr T real() const noexcept { return re; }
  constexpr T imag() const noexcept { return im; }
  friend constexpr bool operator==(const complex&, const complex&) = default;
};
using complex64 = complex<float>;    ///< complex of float32
using complex128 = complex<double>;  ///< complex of float64

namespace detail {
template <class T>
struct DTypeOf {
  static constexpr bool known = false;
};
template <DType D>
struct Known {
  static constexpr bool known = true;
  static constexpr DType value = D;
};
template <class T>
concept LooksComplex = (sizeof(T) == 8 || sizeof(T) == 16) && requires(const T& c) {
  c.real(), c.imag(), typename T::value_type();
};
// clang-format off
template <> struct DTypeOf<bool>               : Known<DType::boolean> {};
template <> struct DTypeOf<unsigned char>      : Known<DType::uint8> {};
template <> struct DTypeOf<int>                : Known<DType::int32> {};
template <> struct DTypeOf<long>               : Known<sizeof(long) == 8 ? DType::int64 : DType::int32> {};
template <> struct DTypeOf<long long>          : Known<DType::int64> {};
template <> struct DTypeOf<float16>            : Known<DType::float16> {};
template <> struct DTypeOf<bfloat16>           : Known<DType::bfloat16> {};
template <> struct DTypeOf<float>              : Known<DType::float32> {};
template <> struct DTypeOf<double>             : Known<DType::float64> {};
template <> struct DTypeOf<complex64>          : Known<DType::complex64> {};
template <> struct DTypeOf<complex128>         : Known<DType::complex128> {};
// clang-format on
template <LooksComplex T>
struct DTypeOf<T> : Known<sizeof(T) == 8 ? DType::complex64 : DType::complex128> {};
[[noreturn]] void fail_dtype(const char* op, DType d);
}  // namespace detail

/// A C++ type that a tensor can hold: bool, std::uint8_t, int, std::int64_t, float16, bfloat16, float, double, and
/// std::complex (or reel::complex) of float and double.
template <class T>
concept Element = detail::DTypeOf<std::remove_cv_t<T>>::known;

/// The dtype that holds elements of type T.
template <Element T>
inline constexpr DType dtype_of = detail::DTypeOf<std::remove_cv_t<T>>::value;

/// Bytes of one element.
constexpr std::size_t item_size(DType d) noexcept {
  // The logarithms, a digit for each dtype: a table inside a function would be laid out anew at every call.
  // The mask is for values that are no dtype: it costs nothing where shifts wrap.
  return std::size_t{1} << (0x4332113200u >> (4 * static_cast<unsigned>(d) & 63) & 15);
}
constexpr bool is_integer(DType d) noexcept { return d >= DType::uint8 && d <= DType::int64; }
constexpr bool is_floating(DType d) noexcept { return d >= DType::float16 && d <= DType::float64; }
constexpr bool is_complex(DType d) noexcept { return d >= DType::complex64; }
/// True for the dtypes that carry gradients: floating and complex. The others are constants to a tape.
constexpr bool is_differentiable(DType d) noexcept { return d >= DType::float16; }

/// "float32", "boolean", ... : the name of a dtype, as printed; "unknown" for what is none.
const char* name(DType d) noexcept;
std::ostream& operator<<(std::ostream& out, DType d);

/// The dtype in which two tensors of these dtypes are combined: NumPy's, except that an integer with a floating dtype
/// gives that floating dtype and float16 with bfloat16 gives float32. samples/README.md has the table. TypeError for a
/// value outside the enumeration.
DType promote(DType a, DType b);

}  // namespace reel
