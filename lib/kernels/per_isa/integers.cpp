// Pointwise ops on integers and booleans, and shifts: values only, for they carry no gradient.
#include <limits>
#include <type_traits>

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
void enter_definition(PointwiseKernels& all) {
  using Definition = std::tuple_element_t<At, std::remove_cvref_t<decltype(Family)>>;
  auto& entries = all.op[table::first_of(Family) + At];
  const auto at = [&entries](DType dtype) -> Loop& { return entries[index(dtype)].value; };
  if constexpr (Definition::domain != table::floating) {
    at(DType::uint8) = element_loop<Integer<std::uint8_t>, Definition>();
    at(DType::int32) = element_loop<Integer<std::int32_t>, Definition>();
    at(DType::int64) = element_loop<Integer<std::int64_t>, Definition>();
  }
  if constexpr (Definition::domain == table::all) at(DType::boolean) = element_loop<Boolean, Definition>();
}

template <const auto& Family>
void enter_family(PointwiseKernels& all) {
  [&]<std::size_t... At>(std::index_sequence<At...>) { (enter_definition<Family, At>(all), ...); }
  (std::make_index_sequence<std::tuple_size_v<std::remove_cvref_t<decltype(Family)>>>());
}

// Counts are compared as unsigned numbers; the counts of the shifts themselves are in range, so that the compiler
// vectorises them.
struct Left {
  template <class T>
  T operator()(T x, T n) const {
    using U = std::make_unsigned_t<T>;
    constexpr U digits = std::numeric_limits<U>::digits;
    const auto count = static_cast<U>(n);
    const auto shifted = static_cast<U>(static_cast<U>(x) << (count & (digits - 1)));
    return static_cast<T>(count < digits ? shifted : U{0});
  }
};
struct Right {
  template <class T>
  T operator()(T x, T n) const {
    using U = std::make_unsigned_t<T>;
    constexpr U last = std::numeric_limits<U>::digits - 1;
    const auto count = static_cast<U>(n);
    return x >> (count < last ? count : last);
  }
};

template <class T>
void enter_shifts(PointwiseKernels& all, DType type) {
  all.shift[0][index(type)] = &ElementMap<Left, T, T, T>::run;
  all.shift[1][index(type)] = &ElementMap<Right, T, T, T>::run;
}

}  // namespace

void enter_integers(PointwiseKernels& all) {
  enter_family<table::arithmetic>(all);
  enter_family<table::powers>(all);
  enter_family<table::rectifiers>(all);
  enter_shifts<std::int32_t>(all, DType::int32);
  enter_shifts<std::int64_t>(all, DType::int64);
}

}  // namespace reel::kernels
