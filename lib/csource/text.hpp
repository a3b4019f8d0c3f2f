// C99 as text, valid as C++17 too: types, constants, names, and sums of index terms.
#pragma once
#include <cstdint>
#include <reel/dtype.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reel::csource {

/// The C type of an element; null for a dtype that is not written: float16, bfloat16, complex.
const char* type_of(DType dtype) noexcept;

/// A constant of the dtype. Floating ones are hexadecimal; negative ones are in parentheses.
std::string literal(double value, DType dtype);
std::string literal(std::int64_t value, DType dtype);
/// The macros for infinities and NaN that literals use, to stand after <math.h>: tcc has no constant expressions for
/// INFINITY and NAN. Empty if the source needs none.
std::string_view special_values(std::string_view source = "REEL_NAN)");

/// The parts, one after another.
std::string cat(std::initializer_list<std::string_view> parts);

/// The form with each of the letters replaced by the value at its place.
std::string filled(std::string_view form, std::string_view letters, std::initializer_list<std::string_view> values);

/// Two numbers compared; `op` counts as kernels::Comparison does.
std::string comparison(std::size_t op, std::string_view x, std::string_view y);
/// Two truths connected; `op` counts as kernels::Logical does, without negation.
std::string connection(std::size_t op, std::string_view x, std::string_view y);

/// Whether C and C++ both take the text as a name: an identifier that is no keyword.
bool is_name(std::string_view text);

/// Calls f(identifier) for each identifier in the text.
template <class F>
void for_each_identifier(std::string_view text, const F& f) {
  const auto starts = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto continues = [&](char c) { return starts(c) || (c >= '0' && c <= '9'); };
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t begin = i;
    while (i < text.size() && continues(text[i])) ++i;
    if (i == begin)
      ++i;
    else if (starts(text[begin]))
      f(text.substr(begin, i - begin));
  }
}

/// A position along an axis: a constant plus multiples of int32_t expressions.
class Index {
 public:
  Index(std::int64_t constant = 0) : constant_(constant) {}
  /// `expression`: a name or a parenthesised expression.
  explicit Index(std::string expression) { terms_.emplace_back(std::move(expression), 1); }
  Index& add(const Index& other, std::int64_t factor = 1);
  friend Index operator+(Index a, const Index& b) { return std::move(a.add(b)); }
  friend Index operator-(Index a, const Index& b) { return std::move(a.add(b, -1)); }
  friend Index operator*(const Index& a, std::int64_t factor) { return std::move(Index().add(a, factor)); }
  std::string text() const;
  bool is_constant() const noexcept { return terms_.empty(); }
  std::int64_t constant() const noexcept { return constant_; }

 private:
  std::int64_t constant_ = 0;
  std::vector<std::pair<std::string, std::int64_t>> terms_;  // without zero factors
};

}  // namespace reel::csource
