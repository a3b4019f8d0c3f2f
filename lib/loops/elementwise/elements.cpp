#include "loops/elementwise/elements.hpp"

#include <algorithm>
#include <concepts>

#include "core/visit.hpp"
#include "loops/loops.hpp"

namespace reel::loops {

namespace {

// Whether `holds` is true for an element; float16 and bfloat16 are passed as float.
template <class Condition>
bool any_element(const Tensor& x, const Condition& holds) {
  const Tensor dense = contiguous(x);
  return visit(dense.dtype(), [&]<class T>() {
    const T* first = detail::mutable_data<T>(dense);
    return std::any_of(first, first + dense.size(), [&](const T& element) {
      if constexpr (std::same_as<T, float16> || std::same_as<T, bfloat16>)
        return holds(static_cast<float>(element));
      else
        return holds(element);
    });
  });
}

}  // namespace

bool any_zero(const Tensor& x) {
  return any_element(x, [](const auto& element) { return element == std::remove_cvref_t<decltype(element)>(0); });
}

bool any_negative(const Tensor& x) {
  return any_element(x, [](const auto& element) {
    if constexpr (std::totally_ordered<std::remove_cvref_t<decltype(element)>> &&
                  std::is_signed_v<std::remove_cvref_t<decltype(element)>>)
      return element < 0;
    else
      return false;
  });
}

SumOfSquares first_small_sum(const Tensor& x, std::int64_t step, double least) {
  const Tensor dense = contiguous(x);
  return visit_among<float, double>(dense.dtype(), [&]<class T>() -> SumOfSquares {
    const T* const from = detail::mutable_data<T>(dense);
    for (std::int64_t i = 0; i < step; ++i) {
      double sum = 0;
      for (std::int64_t k = i; k < dense.size(); k += step)
        sum += static_cast<double>(from[k]) * static_cast<double>(from[k]);
      if (!(sum > least)) return {i, sum};
    }
    return {-1, 0};
  });
}

}  // namespace reel::loops
