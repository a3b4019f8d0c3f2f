// How many elements a tensor can have.
#pragma once
#include <cstdint>

namespace reel::detail {

/// Sums of two such numbers fit std::int64_t.
inline constexpr std::int64_t elements_max = std::int64_t{1} << 62;
/// Of a float64 tensor: more elements would have more than 2^63 bytes.
inline constexpr std::int64_t double_elements_max = elements_max / 4;

}  // namespace reel::detail
