// Errors and warnings: where messages are built and where they go.
#include <fmt/format.h>

#include <cstdio>
#include <mutex>
#include <reel/error.hpp>
#include <reel/runtime.hpp>

#include "core/fail.hpp"

namespace reel {

// Out of line, so that every library that throws one shares its type information.
Error::~Error() = default;
ValueError::~ValueError() = default;
ShapeError::~ShapeError() = default;
TypeError::~TypeError() = default;
IndexError::~IndexError() = default;
TapeError::~TapeError() = default;
LookupError::~LookupError() = default;
NotDifferentiable::~NotDifferentiable() = default;
IoError::~IoError() = default;

namespace {
struct Handler {
  std::mutex mutex;
  void (*call)(std::string_view, void*) = nullptr;
  void* context = nullptr;
  int times_repeated = 0;
};
static_assert(std::is_trivially_destructible_v<Handler>);  // a static object's destructor may warn
constinit Handler handler;
}  // namespace

void set_warning_handler(void (*call)(std::string_view, void*), void* context) {
  const std::lock_guard lock(handler.mutex);
  handler.call = call;
  handler.context = context;
  handler.times_repeated = 0;
}

void detail::warn_some_times(std::string_view text) {
  constexpr int most = 5;
  {
    const std::lock_guard lock(handler.mutex);
    if (handler.times_repeated++ >= most) return;
  }
  warn(text);
}

std::string detail::message(std::string_view op, fmt::string_view text, fmt::format_args args) {
  return fmt::format("{}: {}", op, fmt::vformat(text, args));
}

void detail::warn(std::string_view text) {
  void (*call)(std::string_view, void*);
  void* context;
  {
    const std::lock_guard lock(handler.mutex);
    call = handler.call;
    context = handler.context;
  }
  if (call) return call(text, context);
  std::fprintf(stderr, "reel: warning: %.*s\n", static_cast<int>(text.size()), text.data());
}

const char* version() noexcept { return REEL_VERSION; }

}  // namespace reel
