// Helper functions in C in several types: double, float with the suffix _f, int64_t with the suffix _int64. In their
// texts `real` is the type of an element, and @ marks a function of libm for that type. A name that ends with a suffix
// is the text for that type alone.
#pragma once
#include <span>
#include <string_view>

namespace reel::csource {

struct Helper {
  std::string_view name, text;
};
std::span<const Helper> matrix_helpers() noexcept;
std::span<const Helper> neural_helpers() noexcept;
std::span<const Helper> random_helpers() noexcept;

}  // namespace reel::csource
