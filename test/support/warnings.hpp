// Collects the library's warnings while it exists.
#pragma once
#include <reel/runtime.hpp>
#include <string>
#include <vector>

struct WarningLog {
  std::vector<std::string> texts;
  WarningLog() {
    reel::set_warning_handler(
        [](std::string_view text, void* self) { static_cast<WarningLog*>(self)->texts.emplace_back(text); }, this);
  }
  WarningLog(const WarningLog&) = delete;
  WarningLog& operator=(const WarningLog&) = delete;
  ~WarningLog() { reel::set_warning_handler(nullptr); }
};
