// Helper functions in C on matrices, in two types. In their texts `real` is the type of an element, and @ marks a
// function of libm, or of this file, for that type.
#pragma once
#include <span>
#include <string_view>

namespace reel::csource {

struct Helper {
  std::string_view name, text;
};
std::span<const Helper> matrix_helpers() noexcept;

}  // namespace reel::csource
