// What the rows of the table call on a Lane beyond its own functions: the names that Tensors use for comparisons and
// logic.
#pragma once
#include "kernels/loop/pointwise.hpp"
#include "kernels/math.hpp"

namespace reel::kernels {

template <class T, class I>
[[gnu::always_inline]] inline Mask<T, I> equal(Lane<T, I> a, std::type_identity_t<Lane<T, I>> b) {
  return a == b;
}
template <class T, class I>
[[gnu::always_inline]] inline Mask<T, I> logical_and(Mask<T, I> a, Mask<T, I> b) {
  return a & b;
}
template <class T, class I>
[[gnu::always_inline]] inline Mask<T, I> logical_or(Mask<T, I> a, Mask<T, I> b) {
  return a | b;
}
template <LaneConstant C, class T, class I>
[[gnu::always_inline]] inline Lane<T, I> polygamma(C order, Lane<T, I> a) {
  return polygamma(Lane<T, I>(order), a);
}

}  // namespace reel::kernels
