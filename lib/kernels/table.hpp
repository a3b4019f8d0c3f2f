// The pointwise table: every elementwise op, one row each, by family in rows/. An op's index in the kernel tables is
// its row here.
#pragma once
#include "kernels/kernels.hpp"
#include "kernels/rows/activation.hpp"
#include "kernels/rows/arithmetic.hpp"
#include "kernels/rows/exponential.hpp"
#include "kernels/rows/trigonometric.hpp"

namespace reel::kernels::table {

inline constexpr auto rows = std::tuple_cat(arithmetic, powers, special, trigonometric, activation);
inline constexpr std::size_t size = std::tuple_size_v<decltype(rows)>;
static_assert(size <= row_capacity);

namespace detail {
template <class... R>
consteval std::size_t find(const std::tuple<R...>&, std::string_view name) {
  std::size_t at = 0;
  static_cast<void>(((R::name == name ? true : (++at, false)) || ...));
  return at;
}
}  // namespace detail

// Where a family's rows begin.
template <class... R>
consteval std::size_t first_of(const std::tuple<R...>&) {
  return detail::find(rows, std::tuple_element_t<0, std::tuple<R...>>::name);
}

}  // namespace reel::kernels::table

namespace reel::kernels {

/// The index of the op with this name: row_of<"multiply">().
template <table::FixedString Name>
consteval std::size_t row_of() {
  constexpr std::size_t at = table::detail::find(table::rows, Name);
  static_assert(at < table::size, "the pointwise table has no row of this name");
  return at;
}

/// The row itself, for its value and products.
template <table::FixedString Name>
inline constexpr const auto& row = std::get<row_of<Name>()>(table::rows);

}  // namespace reel::kernels
