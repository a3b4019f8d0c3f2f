// logsumexp over any axes, and its derivatives. Bit d of `mask` means that axis d of x is summed over. All tensors have
// one dtype that has_row_functions() (rows.hpp); z is contiguous, and has x's shape with the axes of the mask removed
// or of extent 1.
#pragma once
#include "loops/loops.hpp"

namespace reel::loops {

/// The largest element of each row, and the sum of exp(x - most): contiguous, of the shape of z. Weights computed from
/// z, which is rounded, would not add up to 1.
struct Exponentials {
  Tensor most, sum;
};

/// z = log(sum(exp(x))), without overflow; at least one element is summed. x has any strides. Writes `parts` unless its
/// tensors are empty.
void logsumexp(const Tensor& x, std::int64_t mask, const Tensor& z, const Exponentials& parts);

/// out = g exp(x - most) / sum: g times the share of each element in the sum. In a row with an infinite sum, the
/// elements that equal it have equal shares: the limit for a row of -inf. g has the shape of z, possibly behind a
/// further leading axis; `out` is contiguous, of x's shape behind the same axis.
void logsumexp_vjp(const Tensor& g, const Tensor& x, const Exponentials& parts, std::int64_t mask, const Tensor& out);
/// The same with g = 1.
void logsumexp_weights(const Tensor& x, const Exponentials& parts, std::int64_t mask, const Tensor& out);

}  // namespace reel::loops
