// Helper functions in C in two types. In their texts `real` is the type of an element, and @ marks a function of libm
// for that type. A name that ends with _f is the text for float alone.
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
