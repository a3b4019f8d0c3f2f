// Connectionist temporal classification.
#pragma once
#include <reel/tensor.hpp>

namespace reel::loops {

/// log_probs [T, N, C] float64, targets [N, S] and lengths [N] int64, all contiguous and valid. loss [N] float64: minus
/// the logarithm of the probability of all alignments, inf if there is none, or 0 if `zero_infinity`. slopes, unless
/// empty, [T, N, C]: the derivatives of each loss, 0 if it is that.
void ctc(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths, const Tensor& target_lengths,
         std::int64_t blank, bool zero_infinity, const Tensor& loss, const Tensor& slopes);

/// Element `position` of these contiguous int64 tensors that is out of range: a length (what 0 and 1), or a label of a
/// target that is no class, or the blank (2). position -1: none.
struct InvalidAlignment {
  int what = 0;
  std::int64_t position = -1, value = 0;
};
InvalidAlignment find_invalid(const Shape& log_probs, const Tensor& targets, const Tensor& input_lengths,
                              const Tensor& target_lengths, std::int64_t blank);

}  // namespace reel::loops
