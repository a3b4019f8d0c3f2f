// Sort keys: unsigned integers in the order of the elements. Equal elements have equal keys; NaN has the largest.
#pragma once
#include <bit>
#include <cstdint>
#include <reel/dtype.hpp>
#include <type_traits>

namespace reel::loops {

template <std::size_t Bytes>
using Unsigned = std::conditional_t<
    Bytes == 1, std::uint8_t,
    std::conditional_t<Bytes == 2, std::uint16_t, std::conditional_t<Bytes == 4, std::uint32_t, std::uint64_t>>>;

/// Keys for elements of type T. Sign and magnitude of floating-point numbers are mapped to a biased integer, like two's
/// complement.
template <class T>
struct Keys {
  using Key = Unsigned<sizeof(T)>;
  static constexpr bool floating = !std::is_integral_v<T>;
  static constexpr Key sign = static_cast<Key>(Key{1} << (8 * sizeof(T) - 1));
  static constexpr Key highest = static_cast<Key>(~Key{0});
  /// The bits of infinity. The bits of NaN are larger, apart from the sign.
  static constexpr Key infinity = [] {
    if constexpr (std::is_same_v<T, float16>)
      return Key{0x7c00};
    else if constexpr (sizeof(T) == 2)
      return Key{0x7f80};
    else if constexpr (sizeof(T) == 4)
      return Key{0x7f800000};
    else
      return static_cast<Key>(0x7ff0000000000000);
  }();
  bool descending;

  static bool is_nan(Key bits) noexcept { return static_cast<Key>(bits & ~sign) > infinity; }
  static bool is_zero(Key bits) noexcept { return static_cast<Key>(bits & ~sign) == 0; }

  Key operator()(T x) const noexcept {
    const Key bits = std::bit_cast<Key>(x);
    Key key = bits;
    if constexpr (floating) {
      if (is_nan(bits)) return highest;
      key = is_zero(bits) ? sign : static_cast<Key>(bits & sign ? ~bits : bits | sign);
    } else if constexpr (std::is_signed_v<T>) {
      key = bits ^ sign;
    }
    return descending ? static_cast<Key>(~key) : key;
  }
  /// The element of a key: for zeros +0, for NaN some NaN.
  T element(Key key) const noexcept {
    if constexpr (floating) {
      if (key == highest) return std::bit_cast<T>(highest);
    }
    if (descending) key = static_cast<Key>(~key);
    if constexpr (floating)
      key = static_cast<Key>(key & sign ? key ^ sign : ~key);
    else if constexpr (std::is_signed_v<T>)
      key = key ^ sign;
    return std::bit_cast<T>(key);
  }
};

}  // namespace reel::loops
