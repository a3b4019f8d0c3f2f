// Errors and warnings: construction of messages, and the warning handler.
#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <exception>
#include <mutex>
#include <new>
#include <reel/error.hpp>
#include <reel/runtime.hpp>
#include <thread>

#include "core/fail.hpp"
#include "core/thread.hpp"
#include "core/version.hpp"

namespace reel {

// The message with the caller's line. Shared by the copies of an error and by the thread that threw it, until the error
// is destroyed or the thread's next op begins.
struct detail::LocatedText {
  std::atomic<int> uses;
  std::string message, located;
};

struct ErrorAccess {
  static void share(Error& error, detail::LocatedText* text) noexcept { error.located_ = text; }
  static detail::LocatedText* text(const Error& error) noexcept { return error.located_; }
};

Error::Error(const Error& other) noexcept : std::runtime_error(other), located_(other.located_) {
  if (located_) ++located_->uses;
}
Error& Error::operator=(const Error& other) noexcept {
  Error copy(other);
  std::runtime_error::operator=(other);
  std::swap(located_, copy.located_);
  return *this;
}
// Destructors are out of line, so that every library that throws an error shares its type information.
Error::~Error() {
  if (!located_) return;
  const int left = --located_->uses;
  if (left == 1 && detail::this_thread.state->awaiting == located_)
    detail::forget_error();
  else if (left == 0)
    delete located_;
}
const char* Error::what() const noexcept {
  return located_ && !located_->located.empty() ? located_->located.c_str() : std::runtime_error::what();
}

void detail::await_line(Error& error) noexcept {
  forget_error();
  try {
    ThreadState& state = thread_state();
    state.awaiting = new LocatedText{2, error.what(), {}};
    state.watching |= ThreadState::error_awaits_line;
    ErrorAccess::share(error, state.awaiting);
  } catch (const std::exception&) {  // out of memory, or no state for this thread: an error without its line
  }
}

namespace {
void locate(detail::LocatedText& text, const char* file, int line) noexcept {
  try {
    const std::string place = fmt::format("{}:{}", file, line);
    if (text.message.find(place) == std::string::npos) text.located = fmt::format("{} ({})", text.message, place);
  } catch (const std::exception&) {  // out of memory: an error without its line
  }
}
}  // namespace

void detail::give_line(const char* file, int line) noexcept {
  LocatedText* text = this_thread.state->awaiting;
  if (text && file && std::uncaught_exceptions() != 0) locate(*text, file, line);
}

// An error that this thread awaits no line for may be read by other threads.
void detail::name_line(Error& error, const CallLine& at) noexcept {
  LocatedText* text = ErrorAccess::text(error);
  if (text && text == this_thread.state->awaiting && at.file && text->located.empty()) locate(*text, at.file, at.line);
}

void detail::forget_error() noexcept {
  ThreadState& state = *this_thread.state;
  if (!state.awaiting) return;
  if (--state.awaiting->uses == 0) delete state.awaiting;
  state.awaiting = nullptr;
  state.watching = static_cast<std::uint8_t>(state.watching & ~ThreadState::error_awaits_line);
}

ValueError::~ValueError() = default;
ShapeError::~ShapeError() = default;
TypeError::~TypeError() = default;
IndexError::~IndexError() = default;
TapeError::~TapeError() = default;
LookupError::~LookupError() = default;
NotDifferentiable::~NotDifferentiable() = default;
TraceError::~TraceError() = default;
IoError::~IoError() = default;

namespace {
// Held for a few assignments. std::mutex has a destructor on some systems.
class SpinLock {
 public:
  void lock() noexcept {
    while (held_.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
  }
  void unlock() noexcept { held_.clear(std::memory_order_release); }

 private:
  std::atomic_flag held_;
};

struct Handler {
  SpinLock lock;
  void (*call)(std::string_view, void*) = nullptr;
  void* context = nullptr;
  int times_repeated = 0;
};
static_assert(std::is_trivially_destructible_v<Handler>);  // the destructor of a static object may warn
constinit Handler handler;
}  // namespace

void set_warning_handler(void (*call)(std::string_view, void*), void* context) {
  const std::lock_guard guard(handler.lock);
  handler.call = call;
  handler.context = context;
  handler.times_repeated = 0;
}

void detail::warn_some_times(std::string_view text) {
  constexpr int most = 5;  // warnings per process
  {
    const std::lock_guard guard(handler.lock);
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
    const std::lock_guard guard(handler.lock);
    call = handler.call;
    context = handler.context;
  }
  if (call) return call(text, context);
  std::fprintf(stderr, "reel: warning: %.*s\n", static_cast<int>(text.size()), text.data());
}

const char* version() noexcept { return detail::library_version; }

}  // namespace reel

fmt::appender fmt::formatter<reel::detail::ShownShape>::format(reel::detail::ShownShape s,
                                                               format_context& context) const {
  const std::string text = to_string(*s.shape);
  return std::copy(text.begin(), text.end(), context.out());
}
