// Changes of rank one of Cholesky factors.
#pragma once
#include <reel/tensor.hpp>

#include "linalg/factorise.hpp"

namespace reel::loops {

/// out [..., n, n] = the lower triangular factor, of positive diagonal, of l l^H + x x^H, or of l l^H - x x^H if
/// `downdate`. l [..., n, n], of which the lower triangle is read, and x [..., n] have the batch axes of out, any
/// strides, and its dtype. A matrix or vector that is not finite gives NaN. FactorInfo: a leading minor that is
/// not positive.
FactorInfo cholesky_update(const Tensor& l, const Tensor& x, bool downdate, const Tensor& out);

}  // namespace reel::loops
