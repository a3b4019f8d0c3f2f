// Sines and cosines are computed once per position, in float64: at position 1e5, angles in float32 would be off by
// 0.01.
#include "nn/rope_loops.hpp"

#include <cmath>

#include "core/visit.hpp"
#include "loops/loops.hpp"
#include "loops/product/matmul.hpp"

namespace reel::loops {

namespace {

template <class T>
void rotate(const Tensor& x, const Tensor& positions, double base, bool interleaved, bool back, const Tensor& y) {
  const std::int64_t width = x.shape()[-1], pairs = width / 2, count = positions.size();
  Shape leading = x.shape();
  leading.pop_back();
  const Tensor table = detail::empty(x.dtype(), {count, 2, pairs});
  T* const rotations = detail::mutable_data<T>(table);
  const double* position = detail::mutable_data<double>(positions);
  detail::List<double> frequency(static_cast<std::size_t>(pairs));
  for (std::int64_t i = 0; i < pairs; ++i)
    frequency[static_cast<std::size_t>(i)] = std::pow(base, -2 * static_cast<double>(i) / static_cast<double>(width));
  const std::int64_t grain = std::max<std::int64_t>(1, tuning::rows_grain / width);
  parallel_for(count, std::max<std::int64_t>(1, grain / 8), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p)
      for (std::int64_t i = 0; i < pairs; ++i) {
        const double angle = position[p] * frequency[static_cast<std::size_t>(i)];
        rotations[p * width + i] = static_cast<T>(std::cos(angle));
        rotations[p * width + pairs + i] = static_cast<T>(back ? -std::sin(angle) : std::sin(angle));
      }
  });
  const T* from = detail::mutable_data<T>(x);
  T* to = detail::mutable_data<T>(y);
  const Shape own = positions.shape();
  const std::int64_t step = interleaved ? 2 : 1, other = interleaved ? 1 : pairs;
  parallel_for(leading.elements(), grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const T *cosine = rotations + broadcast_index(row, leading, own) * width, *sine = cosine + pairs;
      const T *a = from + row * width, *b = a + other;
      T *first = to + row * width, *second = first + other;
      for (std::int64_t i = 0; i < pairs; ++i) {
        const T u = a[i * step], v = b[i * step];
        first[i * step] = u * cosine[i] - v * sine[i];
        second[i * step] = v * cosine[i] + u * sine[i];
      }
    }
  });
}

}  // namespace

void rotate_pairs(const Tensor& x, const Tensor& positions, double base, bool interleaved, bool back, const Tensor& y) {
  if (x.size() > 0)
    visit_among<float, double>(x.dtype(), [&]<class T>() { rotate<T>(x, positions, base, interleaved, back, y); });
}

}  // namespace reel::loops
