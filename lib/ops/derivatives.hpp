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

// log(x / y) for positive numbers. It does not cancel for close x and y. The quotient is formed where it is in the
// range of float: a derivative that is not finite would reach the gradient as 0 times infinity.
template <class V>
requires std::same_as<V, Tensor> || std::same_as<V, Lane> V log_ratio(const V& x, const V& y) {
  constexpr double high = 0x1p60, low = 1 / high;
  const auto near = logical_and(x <= 4 * y, y <= 4 * x), safe = logical_and(minimum(x, y) > low, maximum(x, y) < high);
  const V close = log1p(where(near, x - y, 0) / where(near, y, 1));
  const V quotient = where(safe, x, 1) / where(safe, y, 1);
  return where(near, close, where(safe, log(quotient), log(x) - log(y)));
}

// Argument-dependent lookup finds them here for lanes.
namespace detail::lanes {
using reel::arctan_derivative, reel::log_ratio, reel::sigmoid_tail;
}

}  // namespace reel
