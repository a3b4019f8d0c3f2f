// The pointwise table: the definitions of all pointwise ops, by family in table/. An op's index here is its index in
// the kernel tables.
#pragma once
#include "kernels/pointwise.hpp"
#include "kernels/table/activation.hpp"
#include "kernels/table/arithmetic.hpp"
#include "kernels/table/exponential.hpp"
#include "kernels/table/normal.hpp"
#include "kernels/table/trigonometric.hpp"

namespace reel::kernels::table {

inline constexpr auto definitions =
    std::tuple_cat(arithmetic, powers, special, normal, trigonometric, rectifiers, activation);
inline constexpr std::size_t size = std::tuple_size_v<decltype(definitions)>;
static_assert(size <= definition_capacity);

namespace detail {
template <class... R>
consteval std::size_t find(const std::tuple<R...>&, std::string_view name) {
  std::size_t at = 0;
  static_cast<void>(((R::name == name ? true : (++at, false)) || ...));
  return at;
}
}  // namespace detail

// The index of a family's first definition.
template <class... R>
consteval std::size_t first_of(const std::tuple<R...>&) {
  return detail::find(definitions, std::tuple_element_t<0, std::tuple<R...>>::name);
}

}  // namespace reel::kernels::table

namespace reel::kernels {

/// The index of the op with this name: index_of<"multiply">().
template <table::FixedString Name>
consteval std::size_t index_of() {
  constexpr std::size_t at = table::detail::find(table::definitions, Name);
  static_assert(at < table::size, "the pointwise table has no op of this name");
  return at;
}

/// The definition of the op with this name: its value and derivatives.
template <table::FixedString Name>
inline constexpr const auto& definition = std::get<index_of<Name>()>(table::definitions);

}  // namespace reel::kernels
