// Borders, windows and blocks by the rules that say where an element comes from or goes to, over any numbers.
#pragma once
#include <reel/ops/windows.hpp>

#include "../naive.hpp"

namespace cases {

/// The elements of x at from(index of the result).
template <class N, class F>
ArrayOf<N> taken_from(const ArrayOf<N>& x, const Extents& shape, F from) {
  return build<N>(shape, [&](const Index& i) { return at(x, from(i)); });
}
/// Each element of x added at to(its index).
template <class N, class F>
ArrayOf<N> added_to(const ArrayOf<N>& x, const Extents& shape, F to) {
  ArrayOf<N> y = filled<N>(shape, 0);
  for_each_index(x.shape, [&](const Index& i) { at(y, to(i)) += at(x, i); });
  return y;
}

/// The element of n at position k, which may lie outside.
inline std::int64_t place_beyond(std::int64_t k, std::int64_t n, reel::PadMode mode) {
  while (k < 0 || k >= n) {
    if (mode == reel::PadMode::edge) k = k < 0 ? 0 : n - 1;
    if (mode == reel::PadMode::wrap) k += k < 0 ? n : -n;
    if (mode == reel::PadMode::symmetric) k = k < 0 ? -1 - k : 2 * n - 1 - k;
    if (mode == reel::PadMode::reflect) k = n == 1 ? 0 : k < 0 ? -k : 2 * (n - 1) - k;
  }
  return k;
}
template <class N>
ArrayOf<N> pad_of(const ArrayOf<N>& x, const Extents& before, const Extents& after, reel::PadMode mode) {
  Extents shape = x.shape;
  for (int d = 0; d < shape.rank(); ++d) shape[d] += before[d] + after[d];
  return taken_from(x, shape, [&](Index i) {
    for (int d = 0; d < shape.rank(); ++d) {
      std::int64_t& k = i[static_cast<std::size_t>(d)];
      k = place_beyond(k - before[d], x.shape[d], mode);
    }
    return i;
  });
}

/// Where the element of a window, the last axis, stands in the array along `axis`.
inline Index out_of_window(Index i, std::size_t axis, std::int64_t stride, std::int64_t dilation) {
  const std::int64_t k = i.back();
  i.pop_back();
  i[axis] = i[axis] * stride + k * dilation;
  return i;
}
template <class N>
ArrayOf<N> sliding_window_of(const ArrayOf<N>& x, std::int64_t axis, std::int64_t size, std::int64_t stride = 1,
                             std::int64_t dilation = 1) {
  Extents shape = x.shape;
  shape[axis] = (x.shape[axis] - 1 - (size - 1) * dilation) / stride + 1;
  shape.push_back(size);
  return taken_from(x, shape,
                    [&](const Index& i) { return out_of_window(i, x.shape.position(axis), stride, dilation); });
}
/// `more` elements beyond those that windows cover.
template <class N>
ArrayOf<N> overlap_add_of(const ArrayOf<N>& x, std::int64_t axis, std::int64_t stride, std::int64_t dilation,
                          std::int64_t more) {
  Extents shape = x.shape;
  shape.pop_back();
  shape[axis] = (x.shape[axis] - 1) * stride + (x.shape[-1] - 1) * dilation + 1 + more;
  return added_to(x, shape, [&](const Index& i) { return out_of_window(i, shape.position(axis), stride, dilation); });
}

/// The channel, row and column of which a block of r x r channels makes this one.
inline Index out_of_block(Index i, std::int64_t r) {
  std::int64_t &channel = i[i.size() - 3], &row = i[i.size() - 2], &column = i.back();
  channel = channel * r * r + row % r * r + column % r;
  row /= r, column /= r;
  return i;
}
template <class N>
ArrayOf<N> pixel_shuffle_of(const ArrayOf<N>& x, std::int64_t r) {
  Extents shape = x.shape;
  shape[-3] /= r * r, shape[-2] *= r, shape[-1] *= r;
  return taken_from(x, shape, [&](const Index& i) { return out_of_block(i, r); });
}
template <class N>
ArrayOf<N> pixel_unshuffle_of(const ArrayOf<N>& x, std::int64_t r) {
  Extents shape = x.shape;
  shape[-3] *= r * r, shape[-2] /= r, shape[-1] /= r;
  return added_to(x, shape, [&](const Index& i) { return out_of_block(i, r); });
}

/// Where an element of axes 1, 2... stands when blocks go to the batch: axis 0 counts blocks, then images.
inline Index into_batch(Index i, const Extents& block, const Extents& before, std::int64_t batch) {
  std::int64_t number = 0;
  for (std::size_t d = 0; d < block.size(); ++d) {
    const auto axis = static_cast<std::int64_t>(d);
    const std::int64_t k = i[d + 1] + before[axis];
    number = number * block[axis] + k % block[axis];
    i[d + 1] = k / block[axis];
  }
  i[0] += number * batch;
  return i;
}
template <class N>
ArrayOf<N> space_to_batch_of(const ArrayOf<N>& x, const Extents& block, const Extents& before, const Extents& after) {
  Extents shape = x.shape;
  for (int d = 0; d < block.rank(); ++d) {
    shape[0] *= block[d];
    shape[d + 1] = (x.shape[d + 1] + before[d] + after[d]) / block[d];
  }
  return added_to(x, shape, [&](const Index& i) { return into_batch(i, block, before, x.shape[0]); });
}
template <class N>
ArrayOf<N> batch_to_space_of(const ArrayOf<N>& x, const Extents& block, const Extents& before, const Extents& after) {
  Extents shape = x.shape;
  for (int d = 0; d < block.rank(); ++d) {
    shape[0] /= block[d];
    shape[d + 1] = x.shape[d + 1] * block[d] - before[d] - after[d];
  }
  return taken_from(x, shape, [&](const Index& i) { return into_batch(i, block, before, shape[0]); });
}

}  // namespace cases
