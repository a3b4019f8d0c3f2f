// Random tensors. Each element is a function of the seed and of its place in the seed's stream of random bits alone, so
// that neither threads nor instruction sets show in the numbers. A draw takes whole blocks of 128 bits.
#pragma once
#include <reel/tensor.hpp>

namespace reel::loops {

/// Where a draw begins in the stream of a seed: the number of its first block.
struct RandomStream {
  std::uint64_t seed, first;
};
/// The blocks that n elements of a dtype take: a block gives four numbers of a floating dtype below 64 bits, else two.
std::uint64_t random_blocks(DType dtype, std::int64_t n);

// y is contiguous. It has a floating dtype unless a function says otherwise.

/// Uniform in [low, high): rounding to the dtype of y does not reach `high`.
void draw_uniform(RandomStream from, double low, double high, const Tensor& y);
/// Normal.
void draw_normal(RandomStream from, double mean, double stddev, const Tensor& y);
/// Normal within two standard deviations of the mean.
void draw_truncated_normal(RandomStream from, double mean, double stddev, const Tensor& y);
/// True with this probability. y is boolean.
void draw_bernoulli(RandomStream from, double probability, const Tensor& y);
/// Classes from logits [rows..., classes] of a floating dtype and any strides. y is int64 [rows..., count]. -1, or the
/// first row whose logits are no distribution, as one is NaN or the greatest is not finite: nothing is drawn then.
std::int64_t draw_categorical(RandomStream from, const Tensor& logits, const Tensor& y);
/// A permutation of 0 ... n - 1 (Fisher and Yates). y is int64 [n].
void draw_permutation(RandomStream from, const Tensor& y);

}  // namespace reel::loops
