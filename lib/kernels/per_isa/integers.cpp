// Pointwise ops on integers and booleans: values only, for they carry no gradient.
#include "kernels/per_isa/parts.hpp"
#include "kernels/simd/element.hpp"
#include "kernels/simd/integer.hpp"
#include "kernels/table.hpp"

namespace reel::kernels {

namespace {

template <class Element, class Definition>
constexpr Loop element_loop() {
  return []<std::size_t... K>(std::index_sequence<K...>)->Loop {
    return &ElementMap<decltype(Definition::value), Element, std::enable_if_t<K != 8, Element>...>::run;
  }
  (std::make_index_sequence<Definition::arity>());
}

template <const auto& Family, std::size_t At>
void enter_definition(Set& set) {
  using Definition = std::tuple_element_t<At, std::remove_cvref_t<decltype(Family)>>;
  auto& entries = set.op[table::first_of(Family) + At];
  const auto at = [&entries](DType dtype) -> Loop& { return entries[index(dtype)].value; };
  if constexpr (Definition::domain != table::floating) {
    at(DType::uint8) = element_loop<Integer<std::uint8_t>, Definition>();
    at(DType::int32) = element_loop<Integer<std::int32_t>, Definition>();
    at(DType::int64) = element_loop<Integer<std::int64_t>, Definition>();
  }
  if constexpr (Definition::domain == table::all) at(DType::boolean) = element_loop<Boolean, Definition>();
}

template <const auto& Family>
void enter_family(Set& set) {
  [&]<std::size_t... At>(std::index_sequence<At...>) { (enter_definition<Family, At>(set), ...); }
  (std::make_index_sequence<std::tuple_size_v<std::remove_cvref_t<decltype(Family)>>>());
}

}  // namespace

void enter_integers(Set& set) {
  enter_family<table::arithmetic>(set);
  enter_family<table::powers>(set);
  enter_family<table::rectifiers>(set);
}

}  // namespace reel::kernels
