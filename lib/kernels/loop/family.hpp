// A family of rows, compiled: the loops of every row's value and products, entered into the table. Families go by
// reference, which keeps the types of their rows out of every name.
#pragma once
#include <bit>
#include <utility>

#include "kernels/table.hpp"

namespace reel::kernels {

// What the row at `At` of a family compiles to. Compiled::loop<F, K...>() is the loop of a type F of stateless function
// that reads the operands K.
template <class Compiled, const auto& Family, std::size_t At>
struct RowLoops {
  using Row = std::tuple_element_t<At, std::remove_cvref_t<decltype(Family)>>;

  static constexpr Loop value() {
    return []<std::size_t... K>(std::index_sequence<K...>)->Loop {
      return Compiled::template loop<decltype(Row::value), K...>();
    }
    (std::make_index_sequence<Row::arity>());
  }

  template <std::size_t K>
  static constexpr Loop product() {
    using Product = std::tuple_element_t<K, decltype(Row::products)>;
    if constexpr (!Product::has_function) {
      return nullptr;
    } else {
      return []<std::size_t... J>(std::index_sequence<J...>)->Loop {
        return Compiled::template loop<decltype(Product::function), 0, 1 + read_at(Product::reads, J)...>();
      }
      (std::make_index_sequence<static_cast<std::size_t>(std::popcount(static_cast<unsigned>(Product::reads)))>());
    }
  }
  // Which of x, y, w, z is the nth that a product reads.
  static constexpr std::size_t read_at(unsigned reads, std::size_t nth) {
    std::size_t bit = 0;
    while ((reads >> bit & 1u) == 0 || nth-- != 0) ++bit;
    return bit;
  }

  static constexpr Pointwise all() {
    return []<std::size_t... K>(std::index_sequence<K...>)->Pointwise { return {value(), {product<K>()...}}; }
    (std::make_index_sequence<Row::arity>());
  }
};

// Enters the loops of a family's rows for a type into the table.
template <class Compiled, const auto& Family>
void enter(Set& set, DType type) {
  [&]<std::size_t... At>(std::index_sequence<At...>) {
    ((set.op[table::first_of(Family) + At][index(type)] = RowLoops<Compiled, Family, At>::all()), ...);
  }
  (std::make_index_sequence<std::tuple_size_v<std::remove_cvref_t<decltype(Family)>>>());
}

}  // namespace reel::kernels
