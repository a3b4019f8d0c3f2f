// Between xtensor and reel: any xtensor expression becomes a tensor, and a tensor is seen by xtensor without a copy.
// xtensor keeps shapes and layouts of its own; elements keep their places: x(i, j) is the same number on both sides.
#pragma once
#if __has_include(<xtensor/containers/xadapt.hpp>)
#include <xtensor/containers/xadapt.hpp>
#include <xtensor/core/xexpression.hpp>
#include <xtensor/core/xnoalias.hpp>
#else
#include <xtensor/xadapt.hpp>
#include <xtensor/xexpression.hpp>
#include <xtensor/xnoalias.hpp>
#endif

#include <cstddef>
#include <reel/ops/make.hpp>

namespace reel {

namespace detail {

/// The element type for a value type of xtensor's: itself, or the next wider one.
template <class V>
consteval auto element_for() {
  if constexpr (Element<V>)
    return std::type_identity<V>();
  else if constexpr (std::is_floating_point_v<V>)
    return std::type_identity<double>();
  else if constexpr (std::is_integral_v<V> && sizeof(V) < 4)
    return std::type_identity<int>();
  else if constexpr (std::is_integral_v<V>)
    return std::type_identity<std::int64_t>();
}
template <class V>
using ElementFor = typename decltype(element_for<V>())::type;

template <class T>
auto strided_adaptor(T* data, const Shape& shape, const Shape& strides) {
  xt::dynamic_shape<std::size_t> extents(shape.begin(), shape.end());
  xt::dynamic_shape<std::ptrdiff_t> steps(strides.begin(), strides.end());
  std::size_t size = 1;
  for (std::size_t e : extents) size *= e;
  return xt::adapt(static_cast<T*&&>(data), size, xt::no_ownership(), std::move(extents), std::move(steps));
}

}  // namespace detail

/// The value of an xtensor expression (container of any layout, view, lazy expression) as a tensor: a copy, row-major,
/// of the dtype of its value type; integer types that no dtype has (std::size_t, short) become the next wider one, long
/// double becomes float64. Not recorded.
template <class E>
Tensor from_xtensor(const xt::xexpression<E>& expression) {
  const E& e = expression.derived_cast();
  using T = detail::ElementFor<std::remove_cv_t<typename E::value_type>>;
  Shape shape;
  for (auto extent : e.shape()) shape.push_back(detail::checked(extent));
  void* data = nullptr;
  Tensor result = detail::uninitialized(shape, dtype_of<T>, data);
  if (result.size() != 0) {
    auto target = xt::adapt(static_cast<T*>(data), static_cast<std::size_t>(result.size()), xt::no_ownership(),
                            xt::dynamic_shape<std::size_t>(shape.begin(), shape.end()));
    xt::noalias(target) = e;
  }
  return result;
}

/// x as an xtensor expression over the same memory, with x's strides: read-only, no copy, any layout. Valid while a
/// handle to x lives. TypeError unless T is the dtype's type. Reading it is not recorded.
template <Element T = double>
auto as_xtensor(const Tensor& x) {
  return detail::strided_adaptor(static_cast<const T*>(detail::strided_data(x, dtype_of<T>)), x.shape(), x.strides());
}
template <Element T = double>
void as_xtensor(const Tensor&& x) = delete;

}  // namespace reel
