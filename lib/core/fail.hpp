// How the library reports a fault: one line at the call site, the message built out of line by fmt.
#pragma once
#include <fmt/core.h>
#include <reel/dtype.hpp>
#include <reel/error.hpp>
#include <reel/shape.hpp>
#include <string>
#include <string_view>

// Out of line: <fmt/core.h> declares far less than <fmt/format.h>, and every op includes this file.
template <>
struct fmt::formatter<reel::Shape> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  fmt::format_context::iterator format(const reel::Shape& shape, fmt::format_context& context) const;
};
template <>
struct fmt::formatter<reel::DType> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  fmt::format_context::iterator format(reel::DType dtype, fmt::format_context& context) const;
};

namespace reel::detail {

std::string message(std::string_view op, fmt::string_view text, fmt::format_args args);

/// Throws E with the text "op: ...".
template <class E, class... A>
[[noreturn, gnu::cold, gnu::noinline]] void fail(std::string_view op, fmt::format_string<A...> text, const A&... args) {
  throw E(message(op, text, fmt::make_format_args(args...)));
}

/// Sends a warning to the handler set with set_warning_handler (standard error by default).
void warn(std::string_view text);

}  // namespace reel::detail

namespace reel {
using detail::fail;
}
