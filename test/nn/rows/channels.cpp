// Rows of the ops of <reel/nn.hpp>.
#include <reel/nn.hpp>

#include "../references/convolution.hpp"
#include "../references/normalization.hpp"

namespace cases {

namespace {

using namespace reel;
using X = Operands;
using A = Arrays;

// The same numbers for all planes: u of columns 0.7, of rows 0.25.
Tensor samples_for(const Tensor& x) {
  return broadcast_to(from_data(std::vector<double>{0.7, 0.25}), {x.shape()[0], x.shape()[1], 2});
}
template <class F>
Array fractional_by_samples(const Array& x, const Index& window, const Index& size, F f) {
  std::vector<double> samples;
  for (std::int64_t plane = 0; plane < x.shape[0] * x.shape[1]; ++plane) samples.insert(samples.end(), {0.7, 0.25});
  return fractional_of(x, window, size, samples, f);
}

// Every second position of an image, from that of the last element down, the same for all images. Allocates nothing
// besides tensors.
Tensor places_for(const Tensor& x) {
  Shape image = x.shape();
  image.erase(0);
  image.erase(0);
  return broadcast_to(reshape(flip(arange(image.elements()), 0), image), x.shape()) * 2;
}
Array unpooled_by_places(const Array& x, const Extents& size) {
  const std::int64_t given = behind_channels(x.shape).elements();
  Index places;
  for (std::int64_t i = 0; i < std::ssize(x.values); ++i) places.push_back(2 * (given - 1 - i % given));
  return unpooled(x, places, size);
}

// Two bags of three; offsets make them bags {}, {1, 0, -1, -2}, {1, 1}, {}. The table has three rows or more.
const Index ids = {1, 0, -1, -2, 1, 1}, two_offsets = {0, 3}, four_offsets = {0, 0, 4, 6};
Tensor ids_of_bags() { return from_data(ids, {2, 3}); }
Tensor offsets_of_bags() { return from_data(four_offsets); }

// clang-format off
const Shaped rows[] = {
    {"conv1d", "2x2x5,3x2x2;0x2x5,3x2x2;2x0x5,3x0x2", [](X x) { return conv1d(x[0], x[1]); }, [](A x) { return convolution_of(x, {{1}, {0}, {1}, {4}}); }, {-2, 2}, nullptr, none, 10},
    {"conv1d", "2x2x5,3x2x3", [](X x) { return conv1d(x[0], x[1], {.stride = 2, .padding = Padding::same}); }, [](A x) { return convolution_of(x, {{2}, {1}, {1}, {3}}); }, {-2, 2}, nullptr, none, 10},
    {"conv1d", "1x4x6,6x2x3", [](X x) { return conv1d(x[0], x[1], {.stride = 3, .padding = {1, 3}, .dilation = 2, .groups = 2}); }, [](A x) { return convolution_of(x, {{3}, {1}, {2}, {2}, 2}); }, {-2, 2}, nullptr, none, 10},
    {"conv1d_transpose", "2x3x4,3x2x2", [](X x) { return conv1d_transpose(x[0], x[1]); }, [](A x) { return transposed_convolution_of(x, {{1}, {0}, {1}, {5}}); }, {-2, 2}, nullptr, none, 10},
    {"conv1d_transpose", "1x4x2,4x2x3", [](X x) { return conv1d_transpose(x[0], x[1], {.stride = 3, .padding = {1, 1}, .dilation = 2, .groups = 2, .size = 8}); }, [](A x) { return transposed_convolution_of(x, {{3}, {1}, {2}, {8}, 2}); }, {-2, 2}, nullptr, none, 10},
    {"conv1d_transpose", "1x2x3,2x2x3", [](X x) { return conv1d_transpose(x[0], x[1], {.stride = 2, .padding = Padding::same}); }, [](A x) { return transposed_convolution_of(x, {{2}, {0}, {1}, {6}}); }, {-2, 2}, nullptr, none, 10},
    {"max_pool1d", "2x2x5;0x2x5", [](X x) { return max_pool1d(x[0], 2); }, [](A x) { return pooled(x[0], {2}, {{2}, {0}, {1}, {2}}, greatest); }},
    {"max_pool1d", "1x2x6", [](X x) { return max_pool1d(x[0], 3, {.stride = 2, .padding = {1, 2}, .dilation = 2}); }, [](A x) { return pooled(x[0], {3}, {{2}, {1}, {2}, {3}}, greatest); }},
    {"avg_pool1d", "2x2x5;0x2x5", [](X x) { return avg_pool1d(x[0], 2); }, [](A x) { return pooled(x[0], {2}, {{2}, {0}, {1}, {2}}, window_mean); }, {-2, 2}, nullptr, none, 2},
    {"avg_pool1d", "1x2x5", [](X x) { return avg_pool1d(x[0], 3, {.stride = 2, .padding = Padding::same, .count_include_padding = true}); }, [](A x) { return pooled(x[0], {3}, {{2}, {1}, {1}, {3}}, [](const Row& r) { return total(r) / 3; }); }, {-2, 2}, nullptr, none, 2},
    {"conv3d", "2x2x3x2x3,3x2x2x1x2;0x2x3x2x3,3x2x2x1x2", [](X x) { return conv3d(x[0], x[1]); }, [](A x) { return convolution_of(x, {{1, 1, 1}, {0, 0, 0}, {1, 1, 1}, {2, 2, 2}}); }, {-2, 2}, nullptr, none, 10},
    {"conv3d", "1x2x4x3x2,2x2x3x2x2", [](X x) { return conv3d(x[0], x[1], {.stride = {2, 1, 2}, .padding = Padding::same}); }, [](A x) { return convolution_of(x, {{2, 1, 2}, {0, 0, 0}, {1, 1, 1}, {2, 3, 1}}); }, {-2, 2}, nullptr, none, 10},
    {"conv3d", "1x4x4x3x3,4x2x3x2x2", [](X x) { return conv3d(x[0], x[1], {.stride = {3, 2, 1}, .padding = {{2, 3}, {1, 0}, {0, 2}}, .dilation = {2, 1, 3}, .groups = 2}); },
      [](A x) { return convolution_of(x, {{3, 2, 1}, {2, 1, 0}, {2, 1, 3}, {2, 2, 2}, 2}); }, {-2, 2}, nullptr, none, 10},
    {"conv3d_transpose", "1x2x2x2x2,2x2x2x1x2", [](X x) { return conv3d_transpose(x[0], x[1]); }, [](A x) { return transposed_convolution_of(x, {{1, 1, 1}, {0, 0, 0}, {1, 1, 1}, {3, 2, 3}}); }, {-2, 2}, nullptr, none, 10},
    {"conv3d_transpose", "1x4x2x2x1,4x2x3x2x1", [](X x) { return conv3d_transpose(x[0], x[1], {.stride = {3, 1, 2}, .padding = {{2, 1}, {1, 0}, {0, 0}}, .dilation = {2, 1, 1}, .groups = 2, .size = {6, 2, 2}}); },
      [](A x) { return transposed_convolution_of(x, {{3, 1, 2}, {2, 1, 0}, {2, 1, 1}, {6, 2, 2}, 2}); }, {-2, 2}, nullptr, none, 10},
    {"max_pool3d", "2x2x4x2x5;0x2x4x2x5", [](X x) { return max_pool3d(x[0], {2, 1, 2}); }, [](A x) { return pooled(x[0], {2, 1, 2}, {{2, 1, 2}, {0, 0, 0}, {1, 1, 1}, {2, 2, 2}}, greatest); }},
    {"max_pool3d", "1x1x5x4x3", [](X x) { return max_pool3d(x[0], {3, 2, 2}, {.stride = {2, 1, 1}, .padding = Padding::same, .dilation = {1, 2, 1}}); },
      [](A x) { return pooled(x[0], {3, 2, 2}, {{2, 1, 1}, {1, 1, 0}, {1, 2, 1}, {3, 4, 3}}, greatest); }},
    {"avg_pool3d", "2x2x4x2x5;0x2x4x2x5", [](X x) { return avg_pool3d(x[0], {2, 1, 2}); }, [](A x) { return pooled(x[0], {2, 1, 2}, {{2, 1, 2}, {0, 0, 0}, {1, 1, 1}, {2, 2, 2}}, window_mean); }, {-2, 2}, nullptr, none, 4},
    {"avg_pool3d", "1x1x4x3x3", [](X x) { return avg_pool3d(x[0], {3, 2, 2}, {.stride = {2, 3, 1}, .padding = {{1, 2}, {1, 1}, {0, 1}}}); },
      [](A x) { return pooled(x[0], {3, 2, 2}, {{2, 3, 1}, {1, 1, 0}, {1, 1, 1}, {3, 2, 3}}, window_mean); }, {-2, 2}, nullptr, none, 4},
    {"adaptive_avg_pool1d", "2x2x5;1x1x3;0x2x4", [](X x) { return adaptive_avg_pool1d(x[0], 3); }, [](A x) { return adaptive_of(x[0], {3}, window_mean); }, {-2, 2}, nullptr, none, 4},
    {"adaptive_avg_pool1d", "1x2x6;1x1x2", [](X x) { return adaptive_avg_pool1d(x[0], 4); }, [](A x) { return adaptive_of(x[0], {4}, window_mean); }, {-2, 2}, nullptr, none, 4},
    {"adaptive_max_pool1d", "2x2x5;1x1x3;0x2x4;1x1x2", [](X x) { return adaptive_max_pool1d(x[0], 3); }, [](A x) { return adaptive_of(x[0], {3}, greatest); }},
    {"adaptive_avg_pool2d", "1x2x5x4;2x1x2x3;2x0x2x2", [](X x) { return adaptive_avg_pool2d(x[0], {2, 3}); }, [](A x) { return adaptive_of(x[0], {2, 3}, window_mean); }, {-2, 2}, nullptr, none, 4},
    {"adaptive_max_pool2d", "1x2x5x4;2x1x2x3;2x0x2x2", [](X x) { return adaptive_max_pool2d(x[0], {2, 3}); }, [](A x) { return adaptive_of(x[0], {2, 3}, greatest); }},
    {"adaptive_avg_pool3d", "1x2x3x4x5;0x2x2x2x2", [](X x) { return adaptive_avg_pool3d(x[0], {2, 2, 3}); }, [](A x) { return adaptive_of(x[0], {2, 2, 3}, window_mean); }, {-2, 2}, nullptr, none, 4},
    {"adaptive_max_pool3d", "1x2x3x4x5;0x2x2x2x2", [](X x) { return adaptive_max_pool3d(x[0], {2, 2, 3}); }, [](A x) { return adaptive_of(x[0], {2, 2, 3}, greatest); }},
    {"lp_pool1d", "2x2x6;0x2x5", [](X x) { return lp_pool1d(x[0], 2, 2); }, [](A x) { return pooled(x[0], {2}, {{2}, {0}, {1}, {x[0].shape[2] / 2}}, power_mean(2)); }, {-2, 2}, nullptr, none, 10},
    {"lp_pool1d", "1x2x7", [](X x) { return lp_pool1d(x[0], 3, 3, 2); }, [](A x) { return pooled(x[0], {3}, {{2}, {0}, {1}, {3}}, power_mean(3)); }, {0.25, 2}, nullptr, none, 10},
    {"lp_pool2d", "1x2x4x5;0x1x2x3", [](X x) { return lp_pool2d(x[0], 2, {2, 3}, {1, 2}); }, [](A x) { return pooled(x[0], {2, 3}, {{1, 2}, {0, 0}, {1, 1}, {x[0].shape[2] - 1, (x[0].shape[3] - 1) / 2}}, power_mean(2)); }, {-2, 2}, nullptr, none, 10},
    {"lp_pool2d", "2x1x4x4", [](X x) { return lp_pool2d(x[0], 4, {2, 2}); }, [](A x) { return pooled(x[0], {2, 2}, {{2, 2}, {0, 0}, {1, 1}, {2, 2}}, power_mean(4)); }, {0.25, 2}, nullptr, none, 10},
    {"lp_pool3d", "1x2x3x2x5;0x1x2x2x3", [](X x) { return lp_pool3d(x[0], 2, {2, 1, 3}, {1, 2, 2}); }, [](A x) { return pooled(x[0], {2, 1, 3}, {{1, 2, 2}, {0, 0, 0}, {1, 1, 1}, {x[0].shape[2] - 1, (x[0].shape[3] + 1) / 2, (x[0].shape[4] - 1) / 2}}, power_mean(2)); }, {-2, 2}, nullptr, none, 10},
    {"lp_pool3d", "2x1x4x2x2", [](X x) { return lp_pool3d(x[0], 3, {2, 2, 1}); }, [](A x) { return pooled(x[0], {2, 2, 1}, {{2, 2, 1}, {0, 0, 0}, {1, 1, 1}, {2, 1, 2}}, power_mean(3)); }, {0.25, 2}, nullptr, none, 10},
    {"max_pool2d_with_indices", "1x2x4x5;2x1x2x2;0x2x3x4", [](X x) { return max_pool2d_with_indices(x[0], {2, 2}).y; }, [](A x) { return pooled(x[0], {2, 2}, {{2, 2}, {0, 0}, {1, 1}, {x[0].shape[2] / 2, x[0].shape[3] / 2}}, greatest); }},
    {"max_pool2d_with_indices", "1x2x5x4", [](X x) { return max_pool2d_with_indices(x[0], {3, 2}, {.stride = {2, 1}, .padding = {{1, 1}, {0, 1}}, .dilation = {1, 2}}).y; }, [](A x) { return pooled(x[0], {3, 2}, {{2, 1}, {1, 0}, {1, 2}, {3, 3}}, greatest); }},
    {"max_pool1d_with_indices", "2x2x5;0x2x5", [](X x) { return max_pool1d_with_indices(x[0], 2).y; }, [](A x) { return pooled(x[0], {2}, {{2}, {0}, {1}, {2}}, greatest); }},
    {"max_pool1d_with_indices", "1x2x6", [](X x) { return max_pool1d_with_indices(x[0], 3, {.stride = 2, .padding = {1, 2}, .dilation = 2}).y; }, [](A x) { return pooled(x[0], {3}, {{2}, {1}, {2}, {3}}, greatest); }},
    {"max_pool3d_with_indices", "2x2x4x2x5;0x2x4x2x5", [](X x) { return max_pool3d_with_indices(x[0], {2, 1, 2}).y; }, [](A x) { return pooled(x[0], {2, 1, 2}, {{2, 1, 2}, {0, 0, 0}, {1, 1, 1}, {2, 2, 2}}, greatest); }},
    {"max_pool3d_with_indices", "1x1x5x4x3", [](X x) { return max_pool3d_with_indices(x[0], {3, 2, 2}, {.stride = {2, 1, 1}, .padding = Padding::same, .dilation = {1, 2, 1}}).y; },
      [](A x) { return pooled(x[0], {3, 2, 2}, {{2, 1, 1}, {1, 1, 0}, {1, 2, 1}, {3, 4, 3}}, greatest); }},
    {"max_unpool1d", "1x2x3;2x1x4;0x2x2", [](X x) { return max_unpool1d(x[0], places_for(x[0]), 8); }, [](A x) { return unpooled_by_places(x[0], {8}); }},
    {"max_unpool2d", "1x2x2x2;1x2x2x3;0x2x1x2", [](X x) { return max_unpool2d(x[0], places_for(x[0]), {3, 4}); }, [](A x) { return unpooled_by_places(x[0], {3, 4}); }},
    {"max_unpool3d", "1x2x2x1x2;1x1x2x3x2;0x2x1x2x2", [](X x) { return max_unpool3d(x[0], places_for(x[0]), {2, 3, 4}); }, [](A x) { return unpooled_by_places(x[0], {2, 3, 4}); }},
    {"fractional_max_pool2d", "2x2x5x7;1x1x4x6;0x2x5x7", [](X x) { return fractional_max_pool2d(x[0], {2, 3}, {3, 4}, samples_for(x[0])); }, [](A x) { return fractional_by_samples(x[0], {2, 3}, {3, 4}, greatest); }},
    {"fractional_avg_pool2d", "2x2x5x7;1x1x4x6;0x2x5x7", [](X x) { return fractional_avg_pool2d(x[0], {2, 3}, {3, 4}, samples_for(x[0])); }, [](A x) { return fractional_by_samples(x[0], {2, 3}, {3, 4}, window_mean); }, {-2, 2}, nullptr, none, 4},
    {"dilation2d", "2x2x3x4,2x2x2;1x1x3x4,1x2x2;0x2x3x4,2x2x2;2x0x3x4,0x2x2", [](X x) { return dilation2d(x[0], x[1]); }, [](A x) { return morphology_of(x, {{1, 1}, {0, 0}, {1, 1}, {2, 3}}, false); }},
    {"dilation2d", "1x2x5x4,2x3x2", [](X x) { return dilation2d(x[0], x[1], {{2, 1}, {{1, 1}, {0, 1}}, {1, 2}}); }, [](A x) { return morphology_of(x, {{2, 1}, {1, 0}, {1, 2}, {3, 3}}, false); }},
    {"erosion2d", "2x2x3x4,2x2x2;1x1x3x4,1x2x2;0x2x3x4,2x2x2", [](X x) { return erosion2d(x[0], x[1]); }, [](A x) { return morphology_of(x, {{1, 1}, {0, 0}, {1, 1}, {2, 3}}, true); }},
    {"erosion2d", "1x2x5x4,2x3x2", [](X x) { return erosion2d(x[0], x[1], {{2, 1}, {{1, 1}, {0, 1}}, {1, 2}}); }, [](A x) { return morphology_of(x, {{2, 1}, {1, 0}, {1, 2}, {3, 3}}, true); }},
    {"embedding_bag", "3x2;4x1;3;5x2x2;3x0", [](X x) { return embedding_bag(x[0], ids_of_bags()); }, [](A x) { return embedding_bag_of(x, bags_of(ids, two_offsets), window_mean); }, {-2, 2}, nullptr, none, 4},
    {"embedding_bag", "3x2,2x3;4x1,2x3", [](X x) { return embedding_bag(x[0], ids_of_bags(), {.mode = BagMode::sum, .weights = x[1]}); }, [](A x) { return embedding_bag_of(x, bags_of(ids, two_offsets), total); }, {-2, 2}, nullptr, none, 4},
    {"embedding_bag", "4x2", [](X x) { return embedding_bag(x[0], reshape(ids_of_bags(), {6}), offsets_of_bags(), {.mode = BagMode::sum, .padding_id = -2}); }, [](A x) { return embedding_bag_of(x, bags_of(ids, four_offsets, -2), total); }, {-2, 2}, nullptr, none, 4},
    {"embedding_bag", "4x2", [](X x) { return embedding_bag(x[0], reshape(ids_of_bags(), {6}), offsets_of_bags(), {.mode = BagMode::max}); }, [](A x) { return embedding_bag_of(x, bags_of(ids, four_offsets), greatest_or_zero); }},
    {"group_norm", "2x4;2x4x3;1x2x3x2;0x4x2;2x4x0", [](X x) { return group_norm(x[0], 2, 0.01); }, [](A x) { return group_norm_of(x, 2, 0.01L); }, {-2, 2}, nullptr, none, 10},
    {"group_norm", "2x4x3,4,4;2x6x2x2,6,6;0x2x3,2,2", [](X x) { return group_norm(x[0], x[1], x[2], 2); }, [](A x) { return group_norm_of(x, 2, 1e-5L); }, {-2, 2}, nullptr, none, 20},
    {"instance_norm", "2x3x4;1x2x3x2;0x4x2;2x0x3", [](X x) { return instance_norm(x[0], 0.01); }, [](A x) { return group_norm_of(x, 0, 0.01L); }, {-2, 2}, nullptr, none, 10},
    {"instance_norm", "2x3x4,3,3;1x2x2x3,2,2", [](X x) { return instance_norm(x[0], x[1], x[2]); }, [](A x) { return group_norm_of(x, 0, 1e-5L); }, {-2, 2}, nullptr, none, 20},
    {"local_response_norm", "2x4;2x7x3;1x3x2x2;0x4x2", [](X x) { return local_response_norm(x[0]); }, [](A x) { return local_response_of(x[0], 5, 1e-4L, 0.75L, 1); }, {-2, 2}, nullptr, none, 4},
    {"local_response_norm", "2x4x2;1x1x3", [](X x) { return local_response_norm(x[0], {.size = 2, .alpha = 0.75, .beta = 0.5, .k = 2}); }, [](A x) { return local_response_of(x[0], 2, 0.75L, 0.5L, 2); }, {-2, 2}, nullptr, none, 10},
    {"l2_normalize", "3x4;5;2x3x20;0x3", [](X x) { return l2_normalize(x[0]); }, [](A x) { return along(x[0], -1, [](const Row& r) { return unit_vector(r, 1e-12L); }); }, {-2, 2}, nullptr, none, 10},
    {"l2_normalize", "2x3x4", [](X x) { return l2_normalize(x[0], {.axes = 1, .epsilon = 100}); }, [](A x) { return along(x[0], 1, [](const Row& r) { return unit_vector(r, 100); }); }, {-2, 2}, nullptr, none, 10},
    // Other p draw, from a generator that compiled functions take as an argument: test/nn/dropout.cpp.
    {"dropout", "3x4;0x3", [](X x) { Generator g(1); return dropout(x[0], 0, g); }, [](A x) { return x[0]; }},
    {"dropout", "3x4;0x3", [](X x) { Generator g(1); return dropout(x[0], 1, g); }, [](A x) { return filled<Real>(x[0].shape, 0); }},
};
// clang-format on

}  // namespace

std::span<const Shaped> nn() {
  static const auto kept = selected_rows(rows);
  return kept;
}

}  // namespace cases
