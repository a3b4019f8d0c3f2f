// How the library reports a fault: one line at the call site, the message built out of line by fmt.
#pragma once
#include <fmt/core.h>

#include <reel/dtype.hpp>
#include <reel/error.hpp>
#include <reel/shape.hpp>
#include <string>
#include <string_view>

namespace reel::detail {

std::string message(std::string_view op, fmt::string_view text, fmt::format_args args);

// What fmt gets to see of an argument. The library specialises no formatter of its own types: <reel/fmt.hpp> does, for
// the user's program.
template <class A>
const A& shown(const A& a) noexcept {
  return a;
}
inline std::string shown(const Shape& s) { return to_string(s); }
inline std::string_view shown(DType d) noexcept { return name(d); }
template <class A>
using Shown = std::remove_cvref_t<decltype(shown(std::declval<const A&>()))>;

/// From here on the scopes of ops that the error leaves add the caller's line to it: see tape::OpScope.
void await_line(Error& error) noexcept;
/// Adds " (file:line)" to the error that awaits a line, in place of the one that it has; nothing if it names that
/// already. The outermost op's is the user's.
void give_line(const char* file, int line) noexcept;
/// No scope adds to it any more.
void forget_error() noexcept;

/// Throws E with the text "op: ...".
template <class E, class... A>
[[noreturn, gnu::cold, gnu::noinline]] void fail(std::string_view op, fmt::format_string<Shown<A>...> text,
                                                 const A&... args) {
  E error(message(op, text, fmt::make_format_args(static_cast<const Shown<A>&>(shown(args))...)));
  await_line(error);
  throw error;
}

/// The same for an error that never gets a line. For what fails while the thread's state, where lines wait, is made;
/// and for what must not make one, because it comes before the first tensor.
template <class E, class... A>
[[noreturn, gnu::cold, gnu::noinline]] void fail_without_line(std::string_view op, fmt::format_string<Shown<A>...> text,
                                                              const A&... args) {
  throw E(message(op, text, fmt::make_format_args(static_cast<const Shown<A>&>(shown(args))...)));
}

/// Sends a warning to the handler set with set_warning_handler (standard error by default).
void warn(std::string_view text);
/// The same for what may come up at every step: all of these together reach a handler five times.
void warn_some_times(std::string_view text);

}  // namespace reel::detail

namespace reel {
using detail::fail, detail::fail_without_line;
}
