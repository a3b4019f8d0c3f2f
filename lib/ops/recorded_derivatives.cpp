// The derivatives of the pointwise table on tensors that a tape follows: one recorded op for each operation of a
// definition. Compiled for size: there is one function for each operand of each op, and the ops take the time.
#include "ops/recorded_derivatives.hpp"

#include "ops/derivatives.hpp"

namespace reel {

namespace table = kernels::table;

namespace ops {

namespace {

using RecordedDerivative = Tensor (*)(Inputs in);

template <std::size_t Index, std::size_t K>
constexpr RecordedDerivative make_recorded() {
  using Definition = std::tuple_element_t<Index, std::remove_cvref_t<decltype(table::definitions)>>;
  if constexpr (K < Definition::arity) {
    using P = std::tuple_element_t<K, decltype(Definition::derivatives)>;
    if constexpr (P::has_function)
      return [](Inputs in) {
        const auto input = [&](std::size_t i) -> const Tensor& { return *in[i < in.size() ? i : 0]; };
        return table::apply(std::get<K>(std::get<Index>(table::definitions).derivatives), input(0), input(1), input(2),
                            input(3), input(4));
      };
  }
  return nullptr;
}

using RecordedDerivatives = std::array<RecordedDerivative, pointwise_arity_max>;
constexpr auto recorded = []<std::size_t... Index>(std::index_sequence<Index...>) {
  return std::array<RecordedDerivatives, table::size>{
      RecordedDerivatives{make_recorded<Index, 0>(), make_recorded<Index, 1>(), make_recorded<Index, 2>()}...};
}
(std::make_index_sequence<table::size>());

}  // namespace

Tensor recorded_derivative(std::size_t definition, std::size_t k, Inputs in) { return recorded[definition][k](in); }

}  // namespace ops

}  // namespace reel
