// Rotary position embedding.
#pragma once
#include <reel/tensor.hpp>

namespace reel::loops {

/// y = x [..., E] with the pairs of each row rotated by position * base^(-2 i / E), or back. Pairs are elements 2 i and
/// 2 i + 1, or i and i + E / 2. positions: float64, broadcasting to the axes of x but the last. x and positions are
/// contiguous.
void rotate_pairs(const Tensor& x, const Tensor& positions, double base, bool interleaved, bool back, const Tensor& y);

}  // namespace reel::loops
