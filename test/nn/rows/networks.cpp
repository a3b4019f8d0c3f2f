// Rows of normalisations and losses of neural networks.
#include "../references/convolution.hpp"
#include "../references/normalization.hpp"
#include "labels.hpp"

namespace cases {

namespace {

using namespace reel;
using X = Operands;
using A = Arrays;

Array sparse_of(const Array& x, std::int64_t axis) {
  return sparse_cross_entropy_of(x, axis, some_labels(x.shape, axis, true), ignored_label);
}
Tensor positive(const Tensor& drawn, std::size_t) { return abs(drawn) + 0.1; }
Tensor probability(const Tensor& drawn, std::size_t) { return sigmoid(drawn); }
Tensor last_positive(const Tensor& drawn, std::size_t k) { return k == 4 ? abs(drawn) + 0.1 : drawn; }

// clang-format off
constexpr Shaped rows[] = {
    {"layer_norm", "3x4;5;2x3x4;2x40;0x3;3x0", [](X x) { return layer_norm(x[0]); }, [](A x) { return normalized_of(x, {-1}, 1e-5L, true); }, {-2, 2}, nullptr, none, 10},
    {"layer_norm", "3x4,4,4;5,5,5;2x3x20,20,20;0x3,3,3;17x9,9,9", [](X x) { return layer_norm(x[0], x[1], x[2], {.epsilon = 0.01}); }, [](A x) { return normalized_of(x, {-1}, 0.01L, true); }, {-2, 2}, nullptr, none, 10},
    {"layer_norm", "2x3x4,3x4,3x4", [](X x) { return layer_norm(x[0], x[1], x[2], {.axes = {1, 2}}); }, [](A x) { return normalized_of(x, {1, 2}, 1e-5L, true); }, {-2, 2}, nullptr, none, 10},
    {"layer_norm", "2x3x4,2x3,2x3", [](X x) { return layer_norm(x[0], x[1], x[2], {.axes = {0, 1}}); }, [](A x) { return normalized_of(x, {0, 1}, 1e-5L, true); }, {-2, 2}, nullptr, none, 10},
    {"layer_norm", "2x3x4,4x3,4x3;2x3x3,3x3,3x3", [](X x) { return layer_norm(x[0], x[1], x[2], {.axes = {2, 1}}); }, [](A x) { return normalized_of(x, {2, 1}, 1e-5L, true); }, {-2, 2}, nullptr, none, 10},
    {"layer_norm", "2x3x4,4x2x3,4x2x3;2x2x2,2x2x2,2x2x2", [](X x) { return layer_norm(x[0], x[1], x[2], {.axes = {-1, 0, 1}}); }, [](A x) { return normalized_of(x, {2, 0, 1}, 1e-5L, true); }, {-2, 2}, nullptr, none, 10},
    {"rms_norm", "2x3x4,4x2;2x3x2,2x2", [](X x) { return rms_norm(x[0], x[1], {.axes = {2, 0}}); },
      [](A x) { return normalized_of(x, {2, 0}, 1e-5L, false); }, {-2, 2}, nullptr, none, 10},
    {"rms_norm", "3x4,4;5,5", [](X x) { return rms_norm(x[0], x[1]); },
      [](A x) { return normalized_of(x, {-1}, 1e-5L, false); }, {-2, 2}, nullptr, none, 10},
    {"batch_norm", "5x3,3,3;2x3x4,3,3;2x2x3x3,2,2;1x2x20,2,2;0x3,3,3", [](X x) { return batch_norm(x[0], x[1], x[2]).y; }, [](A x) { return batch_norm_of(x, 1, 1e-5L)[0]; }, {-2, 2}, nullptr, none, 20},
    {"batch_norm", "3x5,3,3", [](X x) { return batch_norm(x[0], x[1], x[2], {.axis = 0, .epsilon = 0.01}).y; }, [](A x) { return batch_norm_of(x, 0, 0.01L)[0]; }, {-2, 2}, nullptr, none, 20},
    {"batch_norm", "2x3x2,3,3,3,3;0x3,3,3,3,3", [](X x) { return batch_norm(x[0], x[1], x[2], x[3], x[4]); }, [](A x) { return batch_norm_of(x, 1, 1e-5L)[0]; }, {-2, 2}, last_positive, none, 20},
    {"softmax_cross_entropy", "3x4,3x4;5,5;2x3x20,2x3x20;0x3,0x3;3x40,3x40", [](X x) { return softmax_cross_entropy(x[0], x[1]); }, [](A x) { return softmax_cross_entropy_of(x, -1, 0); }, {-2, 2}, nullptr, none, 10},
    {"softmax_cross_entropy", "2x3x4,2x3x4", [](X x) { return softmax_cross_entropy(x[0], x[1], {.axis = 1, .label_smoothing = 0.2}); }, [](A x) { return softmax_cross_entropy_of(x, 1, 0.2L); }, {-2, 2}, nullptr, none, 10},
    {"sparse_softmax_cross_entropy", "3x4;2x3x20;19x3;2x40;0x3", [](X x) { return sparse_softmax_cross_entropy(x[0], some_labels(x[0], -1, true), {.ignore_index = -7}); },
      [](A x) { return sparse_of(x[0], -1); }, {-2, 2}, nullptr, none, 10},
    {"sparse_softmax_cross_entropy", "2x3x4", [](X x) { return sparse_softmax_cross_entropy(x[0], some_labels(x[0], 1, true), {.axis = 1, .ignore_index = -7}); },
      [](A x) { return sparse_of(x[0], 1); }, {-2, 2}, nullptr, none, 10},
    {"binary_cross_entropy", "3x4,3x4", [](X x) { return binary_cross_entropy(x[0], x[1]); },
      of_elements<binary_cross_entropy_of>, {-2, 2}, probability, none, 10},
    {"kl_divergence", "3x4,3x4", [](X x) { return kl_divergence(x[0], x[1]); },
      of_elements<kl_divergence_of>, {-2, 2}, positive, none, 10},
    {"huber", "3x4,3x4", [](X x) { return huber(x[0], x[1], 0.7); },
      [](A x) { return by_elements(x, [](const Real* v) { return huber_of(v, 0.7); }); }},
    {"conv2d", "2x2x4x5,3x2x3x2;0x2x4x5,3x2x3x2", [](X x) { return conv2d(x[0], x[1]); }, [](A x) { return convolution_of(x, {.results = {2, 4}}); }, {-2, 2}, nullptr, none, 10},
    {"conv2d", "2x2x5x4,3x2x3x2", [](X x) { return conv2d(x[0], x[1], {.stride = {2, 1}, .padding = Padding::same}); }, [](A x) { return convolution_of(x, {.stride = {2, 1}, .before = {1, 0}, .results = {3, 4}}); }, {-2, 2}, nullptr, none, 10},
    {"conv2d", "1x4x5x6,6x2x2x2", [](X x) { return conv2d(x[0], x[1], {.stride = {1, 3}, .padding = {{1, 0}, {0, 2}}, .dilation = {2, 1}, .groups = 2}); },
      [](A x) { return convolution_of(x, {.stride = {1, 3}, .before = {1, 0}, .dilation = {2, 1}, .results = {4, 3}, .groups = 2}); }, {-2, 2}, nullptr, none, 10},
    {"conv2d", "3x4x1x2,4x2x1x2", [](X x) { return conv2d(x[0], x[1], {.groups = 2}); }, [](A x) { return convolution_of(x, {.results = {1, 1}, .groups = 2}); }, {-2, 2}, nullptr, none, 10},
    {"conv2d_transpose", "2x3x2x4,3x2x3x2", [](X x) { return conv2d_transpose(x[0], x[1]); }, [](A x) { return transposed_convolution_of(x, {.results = {4, 5}}); }, {-2, 2}, nullptr, none, 10},
    {"conv2d_transpose", "1x4x3x2,4x2x2x3", [](X x) { return conv2d_transpose(x[0], x[1], {.stride = {2, 3}, .padding = {{1, 0}, {1, 1}}, .dilation = {1, 2}, .groups = 2, .size = {6, 8}}); },
      [](A x) { return transposed_convolution_of(x, {.stride = {2, 3}, .before = {1, 1}, .dilation = {1, 2}, .results = {6, 8}, .groups = 2}); }, {-2, 2}, nullptr, none, 10},
    {"max_pool2d", "2x2x4x5;0x2x4x5", [](X x) { return max_pool2d(x[0], {2, 2}); }, [](A x) { return pooled(x[0], {2, 2}, {.stride = {2, 2}, .results = {2, 2}}, greatest); }},
    {"max_pool2d", "1x2x5x4", [](X x) { return max_pool2d(x[0], {3, 2}, {.stride = {2, 1}, .padding = Padding::same, .dilation = {1, 2}}); },
      [](A x) { return pooled(x[0], {3, 2}, {.stride = {2, 1}, .before = {1, 1}, .dilation = {1, 2}, .results = {3, 4}}, greatest); }},
    {"avg_pool2d", "2x2x4x5;0x2x4x5", [](X x) { return avg_pool2d(x[0], {2, 2}); }, [](A x) { return pooled(x[0], {2, 2}, {.stride = {2, 2}, .results = {2, 2}}, window_mean); }},
    {"avg_pool2d", "1x2x5x4", [](X x) { return avg_pool2d(x[0], {3, 2}, {.stride = {1, 3}, .padding = {{1, 2}, {1, 0}}}); },
      [](A x) { return pooled(x[0], {3, 2}, {.stride = {1, 3}, .before = {1, 1}, .results = {6, 2}}, window_mean); }},
};
// clang-format on

}  // namespace

std::span<const Shaped> networks() {
  static const auto kept = selected_rows(rows);
  return kept;
}

}  // namespace cases
