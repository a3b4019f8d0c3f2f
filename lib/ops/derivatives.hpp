// Functions that derivatives of the pointwise table are made of and that are not ops themselves. These forms are
// recorded where a tape or a program differentiates them again. The kernels compute each in one piece, with the same
// bits for real numbers.
#pragma once
#include <concepts>
#include <reel/elementwise.hpp>
#include <reel/ops/neural.hpp>
#include <reel/ops/pointwise.hpp>

namespace reel {

// sigmoid(x) sigmoid(-x): z (1 - z) has no digit left where z is rounded to 1.
template <class V>
requires std::same_as<V, Tensor> || std::same_as<V, Lane> V sigmoid_derivative(const V& x) {
  const V e = exp(where(x > 0, -x, x)), s = 1 + e;
  return e / (s * s);
}

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

// 1 / cosh(x)^2; cosh overflows, and complex numbers have no sigmoid.
template <class V>
requires std::same_as<V, Tensor> || std::same_as<V, Lane> V tanh_derivative(const V& x) {
  if constexpr (std::same_as<V, Tensor>)
    if (is_complex(x.dtype())) return 1 - square(tanh(x));
  return 4 * sigmoid_derivative(2 * x);
}

// Lookup by argument finds them for lanes here.
namespace detail::lanes {
using reel::arctan_derivative, reel::sigmoid_derivative, reel::sigmoid_tail, reel::tanh_derivative;
}

}  // namespace reel
