// logsumexp over any axes, and its derivatives. `mask` has bit d for each axis d of x that is summed over. All tensors
// have one dtype that has_row_functions() (rows.hpp); z is x with the axes of the mask gone or of extent 1, contiguous.
#pragma once
#include "loops/loops.hpp"

namespace reel::loops {

/// z = log(sum(exp(x))), without overflow; at least one element is summed. x has any strides.
void logsumexp(const Tensor& x, std::int64_t mask, const Tensor& z);

/// w = exp(x - z), the share of each element in the sum. A row whose sum is infinite has it in equal shares from the
/// elements that equal it: the limit for a row of -inf. w is contiguous, of x's shape.
void logsumexp_weights(const Tensor& x, const Tensor& z, std::int64_t mask, const Tensor& w);

/// out = g exp(x - z), with those weights. g has the shape of z, or any number of such in front; `out` is contiguous,
/// of x's shape behind the same further axis.
void logsumexp_vjp(const Tensor& g, const Tensor& x, const Tensor& z, std::int64_t mask, const Tensor& out);

}  // namespace reel::loops
