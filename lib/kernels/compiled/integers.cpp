// The rows of the table on integers and booleans: values only, for no gradient flows through them.
#include "kernels/compiled/parts.hpp"
#include "kernels/loop/element.hpp"
#include "kernels/loop/integer.hpp"
#include "kernels/table.hpp"

namespace reel::kernels {

namespace {

template <class Element, class Row>
constexpr Loop element_loop() {
  return []<std::size_t... K>(std::index_sequence<K...>)->Loop {
    return &ElementMap<decltype(Row::value), Element, std::enable_if_t<K != 8, Element>...>::run;
  }
  (std::make_index_sequence<Row::arity>());
}

template <const auto& Family, std::size_t At>
void enter_row(Set& set) {
  using Row = std::tuple_element_t<At, std::remove_cvref_t<decltype(Family)>>;
  auto& entries = set.op[table::first_of(Family) + At];
  const auto at = [&entries](DType type) -> Loop& { return entries[index(type)].value; };
  if constexpr (Row::domain != table::floating) {
    at(DType::uint8) = element_loop<Integer<std::uint8_t>, Row>();
    at(DType::int32) = element_loop<Integer<std::int32_t>, Row>();
    at(DType::int64) = element_loop<Integer<std::int64_t>, Row>();
  }
  if constexpr (Row::domain == table::all) at(DType::boolean) = element_loop<Boolean, Row>();
}

template <const auto& Family>
void enter_family(Set& set) {
  [&]<std::size_t... At>(std::index_sequence<At...>) { (enter_row<Family, At>(set), ...); }
  (std::make_index_sequence<std::tuple_size_v<std::remove_cvref_t<decltype(Family)>>>());
}

}  // namespace

void enter_integers(Set& set) {
  enter_family<table::arithmetic>(set);
  enter_family<table::powers>(set);
  enter_family<table::activation>(set);
}

}  // namespace reel::kernels
