// The incomplete gamma and beta functions of <reel/special.hpp>, as tails of distributions.
#pragma once
#include "stats/converted.hpp"

namespace reel::ops {

/// gammainc(a, x), gammaincc(a, x) or the logarithm of either.
Tensor incomplete_gamma(const char* op, Tail t, const Tensor& a, const Tensor& x);
/// betainc(a, b, x), betaincc(a, b, x) or the logarithm of either.
Tensor incomplete_beta(const char* op, Tail t, const Tensor& a, const Tensor& b, const Tensor& x);

}  // namespace reel::ops
