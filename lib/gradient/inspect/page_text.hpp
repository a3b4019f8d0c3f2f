// The HTML page of a tape without its data.
#pragma once
#include <string_view>

namespace reel::autodiff {

/// What stands before and behind the JSON text. The data are in a script element of type application/json; the script
/// behind it draws them.
extern const std::string_view page_before, page_behind;

}  // namespace reel::autodiff
