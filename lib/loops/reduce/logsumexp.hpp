// logsumexp over any axes, and its derivatives. Bit d of `mask` means that axis d of x is summed over. All tensors have
// one dtype that has_row_functions() (rows.hpp); z is contiguous, and has x's shape with the axes of the mask removed
// or of extent 1.
#pragma once
#include "loops/loops.hpp"

namespace reel::loops {

/// z = log(sum(exp(x))), without overflow; at least one element is summed. x has any strides.
void logsumexp(const Tensor& x, std::int64_t mask, const Tensor& z);

/// w = exp(x - z), the share of each element in the sum. In a row with an infinite sum, the elements that equal it have
/// equal shares: the limit for a row of -inf. w is contiguous, of x's shape.
void logsumexp_weights(const Tensor& x, const Tensor& z, std::int64_t mask, const Tensor& w);

/// out = g exp(x - z), with those weights. g has the shape of z, possibly behind a further leading axis; `out` is
/// contiguous, of x's shape behind the same axis.
void logsumexp_vjp(const Tensor& g, const Tensor& x, const Tensor& z, std::int64_t mask, const Tensor& out);

}  // namespace reel::loops
