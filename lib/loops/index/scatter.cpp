#include "loops/index/scatter.hpp"

#include "core/visit.hpp"
#include "loops/elementwise/cast.hpp"
#include "loops/index/along.hpp"

namespace reel::loops {
namespace {

template <class T>
void add_to(T& sum, T x) {
  if constexpr (std::is_same_v<T, bool>)
    sum = sum || x;
  else if constexpr (std::is_integral_v<T>)
    sum = static_cast<T>(static_cast<std::make_unsigned_t<T>>(sum) + static_cast<std::make_unsigned_t<T>>(x));
  else
    sum = static_cast<T>(sum + x);
}
template <class T>
void add_to(complex<T>& sum, complex<T> x) {
  sum = {sum.re + x.re, sum.im + x.im};
}

// add(sums, terms) on contiguous numbers of one type, by way of float32 where the sum has 16-bit floats.
template <class F>
void with_numbers(const Tensor& sum, const Tensor& strided, const F& add) {
  Tensor scratch;
  const Tensor& terms = contiguous(strided, scratch);
  visit(sum.dtype(), [&]<class T>() {
    if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
      const Tensor wide = detail::empty(DType::float32, sum.shape());
      const Tensor wide_terms = detail::empty(DType::float32, terms.shape());
      cast(sum, wide);
      cast(terms, wide_terms);
      add(detail::mutable_data<float>(wide), detail::mutable_data<const float>(wide_terms));
      cast(wide, sum);
    } else {
      add(detail::mutable_data<T>(sum), detail::mutable_data<const T>(terms));
    }
  });
}

}  // namespace

void scatter_add(const Tensor& terms, const Tensor& positions, int axis, const Tensor& sum) {
  if (terms.size() == 0) return;
  const AxisSplit split(sum.shape(), axis);
  const std::int64_t count = positions.size();
  const auto* position = detail::mutable_data<std::int64_t>(positions);
  with_numbers(sum, terms, [&]<class T>(T* sums, const T* numbers) {
    const auto add = [=](std::int64_t outer, std::int64_t begin, std::int64_t end) {
      for (std::int64_t k = 0; k < count; ++k) {
        T* to = sums + (outer * split.extent + position[k]) * split.inner;
        const T* from = numbers + (outer * count + k) * split.inner;
        for (std::int64_t i = begin; i < end; ++i) add_to(to[i], from[i]);
      }
    };
    const auto add_all = [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t outer = begin; outer < end; ++outer) add(outer, 0, split.inner);
    };
    if (terms.size() < parallel_threshold)
      add_all(0, split.outer);
    else if (split.outer > 1)
      parallel_for(split.outer, 1, add_all);
    else
      parallel_for(split.inner, 64, [&](std::int64_t begin, std::int64_t end) { add(0, begin, end); });
  });
}

void add_along(const Tensor& terms, const Tensor& positions, int axis, const Tensor& sum) {
  with_numbers(sum, terms, [&]<class T>(T* sums, const T* numbers) {
    for_each_along(positions, axis, sum.shape()[axis],
                   [=](std::int64_t p, std::int64_t q) { add_to(sums[p], numbers[q]); });
  });
}

}  // namespace reel::loops
