// Tensors of random layouts for the tests of loops: views that flip, step, permute and broadcast, and their expected
// elements, found by index arithmetic alone.
#pragma once
#include <reel/ops/make.hpp>
#include <vector>

#include "core/block.hpp"

namespace layouts {

using reel::Shape;
using reel::Tensor;

inline std::uint64_t next(std::uint64_t& state) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return state >> 33;
}

/// Elements in [-1, 1), row-major.
inline std::vector<double> numbers(std::int64_t n, std::uint64_t seed) {
  std::vector<double> values(static_cast<std::size_t>(n));
  for (double& v : values) v = static_cast<double>(next(seed)) / (1u << 30) - 1;
  return values;
}

/// A view of fresh float64 data of this shape: axes in random memory order, some flipped, some with gaps; the axes of
/// `repeated` have stride 0.
inline Tensor view(const Shape& shape, std::uint64_t seed, std::uint64_t repeated = 0) {
  const int rank = shape.rank();
  Shape order, strides = shape;
  for (int d = 0; d < rank; ++d) order.insert(static_cast<int>(next(seed) % static_cast<unsigned>(d + 1)), d);
  std::int64_t size = 1, offset = 0;
  for (std::int64_t d : order) {
    if (repeated >> d & 1) {
      strides[d] = 0;
      continue;
    }
    const std::int64_t gap = next(seed) % 3 == 0 ? 2 : 1, extent = shape[d];
    strides[d] = size * gap;
    size *= extent * gap;
    if (extent > 0 && next(seed) % 3 == 0) {
      offset += strides[d] * (extent - 1);
      strides[d] = -strides[d];
    }
  }
  const Tensor base = reel::from_data(numbers(size, seed), {size});
  return reel::TensorAccess::adopt(reel::detail::new_view(reel::detail::block(base), offset, shape, strides));
}

/// Calls f(index) for each index of the shape in row-major order.
template <class F>
void for_each_index(const Shape& shape, const F& f) {
  if (shape.elements() == 0) return;
  Shape index = shape;
  for (std::int64_t& i : index) i = 0;
  for (;;) {
    f(index);
    int d = shape.rank() - 1;
    for (; d >= 0 && ++index[d] == shape[d]; --d) index[d] = 0;
    if (d < 0) return;
  }
}

/// The element at an index of a shape that x broadcasts to.
inline double at(const Tensor& x, const Shape& index) {
  const reel::detail::Block* b = reel::detail::block(x);
  std::int64_t offset = 0;
  for (int d = 0; d < b->rank; ++d)
    if (b->extents()[d] != 1) offset += index[index.rank() - b->rank + d] * b->strides()[d];
  return reinterpret_cast<const double*>(b->data)[offset];
}

}  // namespace layouts
