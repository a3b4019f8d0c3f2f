// {fmt} formatters: fmt::format("{}", x) gives the text of operator<<, and a width or alignment applies to all of it.
#pragma once
#include <fmt/format.h>

#include <reel/gradient.hpp>
#include <string_view>

namespace reel::detail {

/// Formats what to_string(value) gives.
template <class T>
struct TextFormatter : fmt::formatter<std::string_view> {
  template <class Context>
  auto format(const T& value, Context& context) const {
    return fmt::formatter<std::string_view>::format(to_string(value), context);
  }
};

}  // namespace reel::detail

// clang-format off
template <> struct fmt::formatter<reel::Tensor>   : reel::detail::TextFormatter<reel::Tensor> {};
template <> struct fmt::formatter<reel::Variable> : reel::detail::TextFormatter<reel::Variable> {};
template <> struct fmt::formatter<reel::Gradient> : reel::detail::TextFormatter<reel::Gradient> {};
template <> struct fmt::formatter<reel::Shape>    : reel::detail::TextFormatter<reel::Shape> {};
// clang-format on

template <>
struct fmt::formatter<reel::DType> : fmt::formatter<std::string_view> {
  template <class Context>
  auto format(reel::DType d, Context& context) const {
    return fmt::formatter<std::string_view>::format(reel::name(d), context);
  }
};
