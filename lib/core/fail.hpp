// Error reporting: one line at the call site; the message is formatted out of line by fmt.
#pragma once
#include <fmt/core.h>

#include <reel/dtype.hpp>
#include <reel/error.hpp>
#include <reel/shape.hpp>
#include <string>
#include <string_view>

namespace reel::detail {

std::string message(std::string_view op, fmt::string_view text, fmt::format_args args);

/// A shape in a message.
struct ShownShape {
  const Shape* shape;
};

// How fmt sees an argument. The library specialises no formatter for the types of the interface: <reel/fmt.hpp> does,
// for user programs.
template <class A>
const A& shown(const A& a) noexcept {
  return a;
}
inline ShownShape shown(const Shape& s) noexcept { return {&s}; }
inline std::string_view shown(DType d) noexcept { return name(d); }
template <class A>
using Shown = std::remove_cvref_t<decltype(shown(std::declval<const A&>()))>;

// The text of a format string, which fmt 12 does not convert by itself and fmt 9 gives no other way.
template <class Format>
constexpr fmt::string_view text_of(const Format& format) {
  if constexpr (requires { format.get(); })
    return format.get();
  else
    return format;
}

/// From here on the op scopes that the error leaves add the caller's line to it: see tape::OpScope.
void await_line(Error& error) noexcept;
/// Sets " (file:line)" in the error that awaits a line, replacing an earlier one. The outermost op, called by the user,
/// comes last.
void give_line(const char* file, int line) noexcept;
/// The error awaits a line no longer.
void forget_error() noexcept;

// One function for each type of error, with or without a line: those for lists of arguments are many, and short.
template <class E, bool Located>
[[noreturn, gnu::cold, gnu::noinline]] void raise(std::string_view op, fmt::string_view text, fmt::format_args args) {
  E error(message(op, text, args));
  if constexpr (Located) await_line(error);
  throw error;
}

/// Throws E with the text "op: ...".
template <class E, class... A>
[[noreturn, gnu::cold, gnu::noinline]] void fail(std::string_view op, fmt::format_string<Shown<A>...> text,
                                                 const A&... args) {
  raise<E, true>(op, text_of(text), fmt::make_format_args(static_cast<const Shown<A>&>(shown(args))...));
}

/// The same for an error that never gets a line: where the thread's state, which holds pending lines, is being made or
/// must not be made, because it would precede the first tensor.
template <class E, class... A>
[[noreturn, gnu::cold, gnu::noinline]] void fail_without_line(std::string_view op, fmt::format_string<Shown<A>...> text,
                                                              const A&... args) {
  raise<E, false>(op, text_of(text), fmt::make_format_args(static_cast<const Shown<A>&>(shown(args))...));
}

/// Sends a warning to the handler set with set_warning_handler (standard error by default).
void warn(std::string_view text);
/// The same for warnings that may recur at every step: the handler gets at most five of these in all.
void warn_some_times(std::string_view text);

}  // namespace reel::detail

template <>
struct fmt::formatter<reel::detail::ShownShape> {
  constexpr const char* parse(format_parse_context& context) const { return context.begin(); }
  appender format(reel::detail::ShownShape s, format_context& context) const;
};

namespace reel {
using detail::fail, detail::fail_without_line;
}
