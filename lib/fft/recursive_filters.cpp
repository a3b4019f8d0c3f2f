#include "fft/recursive_filters.hpp"

#include <algorithm>

#include "core/visit.hpp"
#include "loops/loops.hpp"

namespace reel::loops {

namespace {

template <class T>
void rows(const Tensor& a, const Tensor& x, const Tensor& out) {
  const std::int64_t order = a.size(), n = out.shape()[-1];
  if (out.size() == 0) return;
  const T *c = reinterpret_cast<const T*>(detail::block(a)->data),
          *from = reinterpret_cast<const T*>(detail::block(x)->data);
  T* const to = reinterpret_cast<T*>(detail::block(out)->data);
  const std::int64_t grain = std::max<std::int64_t>(1, tuning::rows_grain / (n * (order + 1)));
  parallel_for(out.size() / n, grain, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const T* const u = from + row * n;
      T* const y = to + row * n;
      for (std::int64_t i = 0; i < n; ++i) {
        T sum = u[i];
        for (std::int64_t k = 0; k < std::min(order, i); ++k) sum -= c[k] * y[i - 1 - k];
        y[i] = sum;
      }
    }
  });
}

}  // namespace

void recursion(const Tensor& a, const Tensor& x, const Tensor& out) {
  Tensor held_a, held_x;
  const Tensor &c = contiguous(a, held_a), &u = contiguous(x, held_x);
  visit_among<float, double>(out.dtype(), [&]<class T>() { rows<T>(c, u, out); });
}

}  // namespace reel::loops
