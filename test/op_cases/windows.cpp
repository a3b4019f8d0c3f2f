// Rows of the ops of <reel/ops/windows.hpp>.
#include "references/windows.hpp"

#include <reel/ops/windows.hpp>

namespace cases {

namespace {

using namespace reel;
using X = Operands;
using A = Arrays;

template <PadMode M>
Tensor pad_matrix(X x) {
  return pad(x[0], {2, 1}, {0, 3}, M);
}
template <PadMode M>
Array pad_matrix(A x) {
  return pad_of(x[0], {2, 1}, {0, 3}, M);
}
template <PadMode M>
Tensor pad_far(X x) {
  return pad(x[0], {7}, {8}, M);
}
template <PadMode M>
Array pad_far(A x) {
  return pad_of(x[0], {7}, {8}, M);
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
    {"sliding_window", "7;3x5", [](X x) { return sliding_window(x[0], 3); }, [](A x) { return sliding_window_of(x[0], -1, 3); }},
    {"sliding_window", "8x2", [](X x) { return sliding_window(x[0], 3, 0, 2, 2); }, [](A x) { return sliding_window_of(x[0], 0, 3, 2, 2); }},
    {"sliding_window", "3x4;4x3", [](X x) { return sliding_window(sliding_window(x[0], 2, 0), 2, 1); }, [](A x) { return sliding_window_of(sliding_window_of(x[0], 0, 2), 1, 2); }},
    {"overlap_add", "5x3", [](X x) { return overlap_add(x[0]); }, [](A x) { return overlap_add_of(x[0], 0, 1, 1, 0); }},
    {"overlap_add", "3x2x4;2x1x1", [](X x) { return overlap_add(x[0], 0, 2); }, [](A x) { return overlap_add_of(x[0], 0, 2, 1, 0); }},
    {"overlap_add", "2x3x2", [](X x) { return overlap_add(x[0], 1, 2, 3, 11); }, [](A x) { return overlap_add_of(x[0], 1, 2, 3, 3); }},
    {"pixel_shuffle", "4x2x3;2x8x1x2", [](X x) { return pixel_shuffle(x[0], 2); },
      [](A x) { return pixel_shuffle_of(x[0], 2); }},
    {"pixel_unshuffle", "1x4x6;2x1x2x2", [](X x) { return pixel_unshuffle(x[0], 2); },
      [](A x) { return pixel_unshuffle_of(x[0], 2); }},
    {"channel_shuffle", "6x2x1;2x6x1x2;0x1x1", [](X x) { return channel_shuffle(x[0], 3); }, [](A x) { return build(x[0].shape, [&](Index i) { std::int64_t& c = i[i.size() - 3]; c = c % 3 * (x[0].shape[-3] / 3) + c / 3; return at(x[0], i); }); }},
    {"space_to_batch", "2x3x5;1x3x2x2", [](X x) { return space_to_batch(x[0], {2}, {1}, {0}); },
      [](A x) { return space_to_batch_of(x[0], {2}, {1}, {0}); }},
    {"space_to_batch", "1x2x3", [](X x) { return space_to_batch(x[0], {2, 1}, {0, 0}, {2, 1}); },
      [](A x) { return space_to_batch_of(x[0], {2, 1}, {0, 0}, {2, 1}); }},
    {"batch_to_space", "6x2x2", [](X x) { return batch_to_space(x[0], {3}, {1}, {2}); }, [](A x) { return batch_to_space_of(x[0], {3}, {1}, {2}); }},
    {"batch_to_space", "4x1x2x2", [](X x) { return batch_to_space(x[0], {2, 2}, {0, 0}, {0, 1}); },
      [](A x) { return batch_to_space_of(x[0], {2, 2}, {0, 0}, {0, 1}); }},
};
// clang-format on

}  // namespace

std::span<const Shaped> windows() {
  static const auto kept = selected_rows(rows);
  return kept;
}

}  // namespace cases
