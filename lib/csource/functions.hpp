// Helper functions in C, of doubles, for what C99's libm lacks.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace reel::csource {

bool is_helper(std::string_view name) noexcept;
/// Its definition; names of helpers begin with the prefix.
std::string helper_text(std::string_view name, std::string_view prefix);
std::vector<std::string> helpers_called_by(std::string_view name);

}  // namespace reel::csource
