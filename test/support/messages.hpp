// Whole messages of errors that name the caller's line.
#pragma once
#include <string>
#include <string_view>

#include "catch.hpp"

namespace support {

/// Matches `text` followed by the line of a test, as in "det: a must be square (../test/ops/det.cpp:12)".
inline auto says(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    if (std::string_view("\\^$.|?*+()[]{}").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return Catch::Matches(pattern + R"( \([^()]*test/[^()]*\.cpp:[0-9]+\))");
}

}  // namespace support
