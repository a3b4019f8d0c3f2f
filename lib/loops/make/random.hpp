// Random tensors. Each element is a function of the seed and of its position in the seed's random stream alone, so that
// results do not depend on threads or instruction sets. A draw takes whole blocks of 128 bits.
#pragma once
#include <reel/tensor.hpp>

namespace reel::loops {

/// The position of a draw in the stream of a seed: the number of its first block.
struct RandomStream {
  std::uint64_t seed, first;
};
/// The number of blocks for n elements of a dtype: a block gives four numbers of a floating dtype below 64 bits,
/// otherwise two.
std::uint64_t random_blocks(DType dtype, std::int64_t n);

// y is contiguous and has a floating dtype unless stated otherwise.

/// Uniform in [low, high): rounding to the dtype of y does not reach `high`.
void draw_uniform(RandomStream from, double low, double high, const Tensor& y);
/// Normal.
void draw_normal(RandomStream from, double mean, double stddev, const Tensor& y);
/// Normal within two standard deviations of the mean.
void draw_truncated_normal(RandomStream from, double mean, double stddev, const Tensor& y);
/// True with probability p. y is boolean.
void draw_bernoulli(RandomStream from, double probability, const Tensor& y);
/// Classes from logits [rows..., classes] of a floating dtype and any strides. y is int64 [rows..., count]. Returns -1;
/// or, without drawing, the first row that is no distribution: one logit is NaN, or the largest is not finite.
std::int64_t draw_categorical(RandomStream from, const Tensor& logits, const Tensor& y);
/// Integers in [low, low + count), count > 0. y is int64.
void draw_integers(RandomStream from, std::int64_t low, std::uint64_t count, const Tensor& y);
/// A permutation of 0 ... n - 1 (Fisher and Yates). y is int64 [n].
void draw_permutation(RandomStream from, const Tensor& y);

}  // namespace reel::loops
