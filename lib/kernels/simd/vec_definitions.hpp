// What definitions of the table call on a Vec besides arithmetic and kernels/math: the names that Tensors use for
// comparisons and logic.
#pragma once
#include "kernels/math.hpp"
#include "kernels/simd/pointwise.hpp"

namespace reel::kernels {

template <class T>
[[gnu::always_inline]] inline Mask<T> equal(Vec<T> a, std::type_identity_t<Vec<T>> b) {
  return a == b;
}
template <class T>
[[gnu::always_inline]] inline Mask<T> logical_and(Mask<T> a, Mask<T> b) {
  return a & b;
}
template <class T>
[[gnu::always_inline]] inline Mask<T> logical_or(Mask<T> a, Mask<T> b) {
  return a | b;
}
template <VecConstant C, class T>
[[gnu::always_inline]] inline Vec<T> polygamma(C order, Vec<T> a) {
  return polygamma(Vec<T>(order), a);
}
template <VecConstant C, class T>
[[gnu::always_inline]] inline Vec<T> erfcx_derivative(C order, Vec<T> a) {
  return erfcx_derivative(Vec<T>(order), a);
}

}  // namespace reel::kernels
