// Rows of the ops of <reel/ops/windows.hpp>.
#include <reel/ops/windows.hpp>

#include "naive.hpp"

namespace cases {

namespace {

using namespace reel;
using X = Operands;
using A = Arrays;

// The element at position k, found by walking from the first element and reversing at the ends.
template <PadMode M>
std::int64_t walked(std::int64_t k, std::int64_t n) {
  std::int64_t i = 0, direction = k < 0 ? -1 : 1;
  for (std::int64_t steps = k < 0 ? -k : k; steps > 0; --steps) {
    const std::int64_t next = i + direction;
    if (next >= 0 && next < n) {
      i = next;
    } else if (M == PadMode::wrap) {
      i = direction > 0 ? 0 : n - 1;
    } else if (M == PadMode::symmetric) {
      direction = -direction;
    } else if (M == PadMode::reflect && n > 1) {
      direction = -direction;
      i += direction;
    }
  }
  return i;
}
template <PadMode M>
Array padded(const Array& x, const Shape& before, const Shape& after) {
  Shape shape = x.shape;
  for (int d = 0; d < shape.rank(); ++d) shape[d] += before[d] + after[d];
  return build(shape, [&](Index i) {
    for (std::size_t d = 0; d < i.size(); ++d) {
      const auto axis = static_cast<std::int64_t>(d);
      i[d] = walked<M>(i[d] - before[axis], x.shape[axis]);
    }
    return at(x, i);
  });
}
template <PadMode M>
Tensor pad_matrix(X x) {
  return pad(x[0], {2, 1}, {0, 3}, M);
}
template <PadMode M>
Array pad_matrix(A x) {
  return padded<M>(x[0], {2, 1}, {0, 3});
}
template <PadMode M>
Tensor pad_far(X x) {
  return pad(x[0], {7}, {8}, M);
}
template <PadMode M>
Array pad_far(A x) {
  return padded<M>(x[0], {7}, {8});
}

// Windows as the last axis, along `axis`.
Array windows(const Array& x, std::int64_t axis, std::int64_t size, std::int64_t stride, std::int64_t dilation) {
  Shape shape = x.shape;
  shape[axis] = 0;
  for (std::int64_t i = 0; i * stride + (size - 1) * dilation < x.shape[axis]; ++i) ++shape[axis];
  shape.push_back(size);
  return build(shape, [&](Index i) {
    const std::int64_t k = i.back();
    i.pop_back();
    std::int64_t& along_axis = i[static_cast<std::size_t>(axis)];
    along_axis = along_axis * stride + k * dilation;
    return at(x, i);
  });
}
Array added(const Array& x, std::int64_t axis, std::int64_t extent, std::int64_t stride, std::int64_t dilation) {
  Shape shape = x.shape;
  shape.pop_back();
  shape[axis] = extent;
  Array y = build(shape, [](const Index&) { return Real(0); });
  for_each_index(x.shape, [&](Index i) {
    const Real value = at(x, i);
    const std::int64_t k = i.back();
    i.pop_back();
    std::int64_t& along_axis = i[static_cast<std::size_t>(axis)];
    along_axis = along_axis * stride + k * dilation;
    at(y, i) += value;
  });
  return y;
}

// clang-format off
constexpr Shaped rows[] = {
    {"pad", "3x2;1x4", pad_matrix<PadMode::reflect>, pad_matrix<PadMode::reflect>},
    {"pad", "3x2;1x4", pad_matrix<PadMode::symmetric>, pad_matrix<PadMode::symmetric>},
    {"pad", "3x2;1x4", pad_matrix<PadMode::edge>, pad_matrix<PadMode::edge>},
    {"pad", "3x2;1x4", pad_matrix<PadMode::wrap>, pad_matrix<PadMode::wrap>},
    {"pad", "3;2;1", pad_far<PadMode::reflect>, pad_far<PadMode::reflect>},
    {"pad", "3;2;1", pad_far<PadMode::symmetric>, pad_far<PadMode::symmetric>},
    {"pad", "3;1", pad_far<PadMode::edge>, pad_far<PadMode::edge>},
    {"pad", "3;2;1", pad_far<PadMode::wrap>, pad_far<PadMode::wrap>},
    {"pad", "2x0x3", [](X x) { return pad(x[0], {0, 0, 1}, {1, 0, 0}, PadMode::reflect); }, [](A) { return Array{{3, 0, 4}, {}}; }},
    {"sliding_window", "7;3x5", [](X x) { return sliding_window(x[0], 3); }, [](A x) { return windows(x[0], x[0].shape.rank() - 1, 3, 1, 1); }},
    {"sliding_window", "8x2", [](X x) { return sliding_window(x[0], 3, 0, 2, 2); }, [](A x) { return windows(x[0], 0, 3, 2, 2); }},
    {"sliding_window", "3x4;4x3", [](X x) { return sliding_window(sliding_window(x[0], 2, 0), 2, 1); }, [](A x) { return windows(windows(x[0], 0, 2, 1, 1), 1, 2, 1, 1); }},
    {"overlap_add", "5x3", [](X x) { return overlap_add(x[0]); }, [](A x) { return added(x[0], 0, 7, 1, 1); }},
    {"overlap_add", "3x2x4;2x1x1", [](X x) { return overlap_add(x[0], 0, 2); }, [](A x) { return added(x[0], 0, (x[0].shape[0] - 1) * 2 + x[0].shape[2], 2, 1); }},
    {"overlap_add", "2x3x2", [](X x) { return overlap_add(x[0], 1, 2, 3, 11); }, [](A x) { return added(x[0], 1, 11, 2, 3); }},
    {"pixel_shuffle", "4x2x3;2x8x1x2", [](X x) { return pixel_shuffle(x[0], 2); },
      [](A x) { Shape s = x[0].shape; s[-3] /= 4; s[-2] *= 2; s[-1] *= 2; return build(s, [&](Index i) { const std::size_t r = i.size(); i[r - 3] = i[r - 3] * 4 + i[r - 2] % 2 * 2 + i[r - 1] % 2; i[r - 2] /= 2; i[r - 1] /= 2; return at(x[0], i); }); }},
    {"pixel_unshuffle", "1x4x6;2x1x2x2", [](X x) { return pixel_unshuffle(x[0], 2); },
      [](A x) { Shape s = x[0].shape; s[-3] *= 4; s[-2] /= 2; s[-1] /= 2; return build(s, [&](Index i) { const std::size_t r = i.size(); const auto place = i[r - 3] % 4; i[r - 3] /= 4; i[r - 2] = i[r - 2] * 2 + place / 2; i[r - 1] = i[r - 1] * 2 + place % 2; return at(x[0], i); }); }},
    {"channel_shuffle", "6x2x1;2x6x1x2;0x1x1", [](X x) { return channel_shuffle(x[0], 3); }, [](A x) { return build(x[0].shape, [&](Index i) { std::int64_t& c = i[i.size() - 3]; c = c % 3 * (x[0].shape[-3] / 3) + c / 3; return at(x[0], i); }); }},
    {"space_to_batch", "2x3x5;1x3x2x2", [](X x) { return space_to_batch(x[0], {2}, {1}, {0}); },
      [](A x) { Shape s = x[0].shape; const auto b = s[0]; s[0] *= 2; s[1] = 2; return build(s, [&](Index i) { i[1] = i[1] * 2 + i[0] / b - 1; i[0] %= b; return i[1] < 0 ? 0 : at(x[0], i); }); }},
    {"space_to_batch", "1x2x3", [](X x) { return space_to_batch(x[0], {2, 1}, {0, 0}, {2, 1}); },
      [](A x) { return build({2, 2, 4}, [&](const Index& i) { const auto row = i[1] * 2 + i[0]; return row < 2 && i[2] < 3 ? at(x[0], {0, row, i[2]}) : 0; }); }},
    {"batch_to_space", "6x2x2", [](X x) { return batch_to_space(x[0], {3}, {1}, {2}); }, [](A x) { return build({2, 3, 2}, [&](const Index& i) { const auto row = i[1] + 1; return at(x[0], {row % 3 * 2 + i[0], row / 3, i[2]}); }); }},
    {"batch_to_space", "4x1x2x2", [](X x) { return batch_to_space(x[0], {2, 2}, {0, 0}, {0, 1}); },
      [](A x) { return build({1, 2, 3, 2}, [&](const Index& i) { return at(x[0], {i[1] % 2 * 2 + i[2] % 2, i[1] / 2, i[2] / 2, i[3]}); }); }},
};
// clang-format on

}  // namespace

std::span<const Shaped> windows() {
  static const auto kept = selected_rows(rows);
  return kept;
}

}  // namespace cases
