// Sets the loops of a family of definitions, values and derivatives. Families are passed by
// reference, which keeps the types of their definitions out of symbol names.
#pragma once
#include <bit>
#include <utility>

#include "kernels/table.hpp"

namespace reel::kernels {

// The loops of definition `At` of a family. Compiled::loop<F, K...>() returns the loop of a stateless function type F
// that reads the operands K.
template <class Compiled, const auto& Family, std::size_t At>
struct DefinitionLoops {
  using Definition = std::tuple_element_t<At, std::remove_cvref_t<decltype(Family)>>;

  static constexpr Loop value() {
    return []<std::size_t... K>(std::index_sequence<K...>)->Loop {
      return Compiled::template loop<decltype(Definition::value), K...>();
    }
    (std::make_index_sequence<Definition::arity>());
  }

  template <std::size_t K>
  static constexpr Loop derivative() {
    using Derivative = std::tuple_element_t<K, decltype(Definition::derivatives)>;
    if constexpr (!Derivative::has_function) {
      return nullptr;
    } else {
      return []<std::size_t... J>(std::index_sequence<J...>)->Loop {
        return Compiled::template loop<decltype(Derivative::function), 0, 1 + read_at(Derivative::reads, J)...>();
      }
      (std::make_index_sequence<static_cast<std::size_t>(std::popcount(static_cast<unsigned>(Derivative::reads)))>());
    }
  }
  // Which of x, y, w, z is the n-th operand that a derivative reads.
  static constexpr std::size_t read_at(unsigned reads, std::size_t nth) {
    std::size_t bit = 0;
    while ((reads >> bit & 1u) == 0 || nth-- != 0) ++bit;
    return bit;
  }

  static constexpr Pointwise all() {
    return []<std::size_t... K>(std::index_sequence<K...>)->Pointwise { return {value(), {derivative<K>()...}}; }
    (std::make_index_sequence<Definition::arity>());
  }
};

// Sets a family's loops for one dtype.
template <class Compiled, const auto& Family>
void enter(PointwiseKernels& all, DType dtype) {
  [&]<std::size_t... At>(std::index_sequence<At...>) {
    ((all.op[table::first_of(Family) + At][index(dtype)] = DefinitionLoops<Compiled, Family, At>::all()), ...);
  }
  (std::make_index_sequence<std::tuple_size_v<std::remove_cvref_t<decltype(Family)>>>());
}

}  // namespace reel::kernels
