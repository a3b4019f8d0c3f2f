// Types, constants and names of C.
#include "csource/text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace reel::csource {

const char* type_of(DType d) noexcept {
  switch (d) {
    case DType::boolean:
    case DType::uint8:
      return "uint8_t";
    case DType::int32:
      return "int32_t";
    case DType::int64:
      return "int64_t";
    case DType::float32:
      return "float";
    case DType::float64:
      return "double";
    default:
      return nullptr;
  }
}

std::string literal(double x, DType d) {
  const char* suffix = d == DType::float32 ? "F" : "";
  if (d == DType::float32) x = static_cast<double>(static_cast<float>(x));
  if (!std::isfinite(x))
    return fmt::format("(({})REEL_{})", type_of(d),
                       std::isnan(x)     ? "NAN"
                       : std::signbit(x) ? "INFINITY(-)"
                                         : "INFINITY(+)");
  std::string text;
  if (const double a = std::abs(x); a == std::floor(a) && a < 1e6)
    text = fmt::format("{:.1f}{}", a, suffix);
  else
    text = fmt::format("{:a}{}", a, suffix);
  return std::signbit(x) ? fmt::format("(-{})", text) : text;
}

std::string_view special_values(std::string_view source) {
  if (source.find("REEL_INFINITY(") == source.npos && source.find("REEL_NAN)") == source.npos) return {};
  return "#ifndef REEL_INFINITY\n#if defined(__TINYC__)\n#define REEL_INFINITY(sign) (sign 1.0 / 0.0)\n"
         "#define REEL_NAN (0.0 / 0.0)\n#else\n#define REEL_INFINITY(sign) (sign INFINITY)\n#define REEL_NAN NAN\n"
         "#endif\n#endif\n\n";
}

std::string literal(std::int64_t x, DType d) {
  if (d != DType::int64) return x < 0 ? fmt::format("({})", x) : fmt::format("{}", x);
  if (x == std::numeric_limits<std::int64_t>::min()) return "INT64_MIN";
  return x < 0 ? fmt::format("(-INT64_C({}))", -x) : fmt::format("INT64_C({})", x);
}

std::string filled(std::string_view form, std::string_view letters, std::initializer_list<std::string_view> values) {
  std::string text;
  for (const char& c : form) {
    const std::size_t k = letters.find(c);
    text += k == letters.npos ? std::string_view(&c, 1) : values.begin()[k];
  }
  return text;
}

std::string cat(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += part;
  return text;
}

namespace {

// Of C99 to C23 and C++98 to C++23.
constexpr std::array keywords{"alignas",
                              "alignof",
                              "and",
                              "and_eq",
                              "asm",
                              "atomic_cancel",
                              "atomic_commit",
                              "auto",
                              "bitand",
                              "bitor",
                              "bool",
                              "break",
                              "case",
                              "catch",
                              "char",
                              "char16_t",
                              "char32_t",
                              "char8_t",
                              "class",
                              "co_await",
                              "co_return",
                              "co_yield",
                              "compl",
                              "concept",
                              "const",
                              "const_cast",
                              "consteval",
                              "constexpr",
                              "constinit",
                              "continue",
                              "decltype",
                              "default",
                              "delete",
                              "do",
                              "double",
                              "dynamic_cast",
                              "else",
                              "enum",
                              "explicit",
                              "export",
                              "extern",
                              "false",
                              "float",
                              "for",
                              "friend",
                              "goto",
                              "if",
                              "inline",
                              "int",
                              "long",
                              "mutable",
                              "namespace",
                              "new",
                              "noexcept",
                              "not",
                              "not_eq",
                              "nullptr",
                              "operator",
                              "or",
                              "or_eq",
                              "private",
                              "protected",
                              "public",
                              "reflexpr",
                              "register",
                              "reinterpret_cast",
                              "requires",
                              "restrict",
                              "return",
                              "short",
                              "signed",
                              "sizeof",
                              "static",
                              "static_assert",
                              "static_cast",
                              "struct",
                              "switch",
                              "synchronized",
                              "template",
                              "this",
                              "thread_local",
                              "throw",
                              "true",
                              "try",
                              "typedef",
                              "typeid",
                              "typename",
                              "typeof",
                              "typeof_unqual",
                              "union",
                              "unsigned",
                              "using",
                              "virtual",
                              "void",
                              "volatile",
                              "wchar_t",
                              "while",
                              "xor",
                              "xor_eq"};

}  // namespace

std::string comparison(std::size_t op, std::string_view x, std::string_view y) {
  constexpr std::string_view signs[] = {" == ", " != ", " < ", " <= ", " > ", " >= "};
  return cat({x, signs[op], y});
}
std::string connection(std::size_t op, std::string_view x, std::string_view y) {
  constexpr std::string_view signs[] = {" && ", " || ", " != "};
  return cat({x, signs[op], y});
}

bool is_name(std::string_view text) {
  std::size_t identifiers = 0;
  for_each_identifier(text, [&](std::string_view one) { identifiers += one == text; });
  const bool reserved = text.starts_with('_') || text.find("__") != text.npos;
  return identifiers == 1 && !reserved && std::find(keywords.begin(), keywords.end(), text) == keywords.end();
}

Index& Index::add(const Index& other, std::int64_t factor) {
  if (factor == 0) return *this;
  constant_ += factor * other.constant_;
  for (const auto& added : std::vector(other.terms_)) {
    const auto same = [&](const auto& term) { return term.first == added.first; };
    const auto at = std::find_if(terms_.begin(), terms_.end(), same);
    if (at == terms_.end())
      terms_.emplace_back(added.first, factor * added.second);
    else if ((at->second += factor * added.second) == 0)
      terms_.erase(at);
  }
  return *this;
}

std::string Index::text() const {
  std::string text;
  for (const auto& [name, factor] : terms_) {
    if (!text.empty()) text += factor < 0 ? " - " : " + ";
    const std::int64_t shown = text.empty() ? factor : std::abs(factor);
    text += shown == 1 ? name : shown == -1 ? "-" + name : fmt::format("{} * {}", shown, name);
  }
  if (text.empty()) return fmt::format("{}", constant_);
  if (constant_ != 0) text += fmt::format(" {} {}", constant_ < 0 ? '-' : '+', std::abs(constant_));
  return text;
}

}  // namespace reel::csource
