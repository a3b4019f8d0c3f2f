// Functions that occur in derivatives of the pointwise table and are not public ops. These forms are recorded, where a
// tape or a program differentiates them again. The kernels compute each function in one piece, with the same bits.
#pragma once
#include <concepts>
#include <reel/elementwise.hpp>
#include <reel/ops/neural.hpp>
#include <reel/ops/pointwise.hpp>

namespace reel {

// sigmoid(-|x|), whose derivative at 0 is that of sigmoid(x).
template <class V>
requires std::same_as<V, Tensor> || std::same_as<V, Lane> V sigmoid_tail(const V& x) {
  return sigmoid(where(x > 0, -x, x));
}

// 1 / (1 + x^2); where x^2 may overflow it is (1 / x)^2 to the last place.
template <class V>
requires std::same_as<V, Tensor> || std::same_as<V, Lane> V arctan_derivative(const V& x) {
  const auto far = abs(x) > 1e9;
  const V q = 1 / where(far, x, 1 + x * x);
  return q * where(far, q, 1);
}

// Argument-dependent lookup finds them here for lanes.
namespace detail::lanes {
using reel::arctan_derivative, reel::sigmoid_tail;
}

}  // namespace reel
