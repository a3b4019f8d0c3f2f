// Checked parameters, and the incomplete gamma and beta functions of <reel/special.hpp>, as tails of distributions.
#pragma once
#include <reel/ops/pointwise.hpp>

#include "stats/converted.hpp"

namespace reel::ops {

inline Tensor valid_or_nan(const Tensor& valid, const Tensor& x) { return where(valid, x, not_a_number); }
inline Tensor positive_or_nan(const Tensor& x) { return valid_or_nan(greater(x, 0), x); }
inline Tensor probability_or_nan(const Tensor& x) {
  return valid_or_nan(logical_and(greater_equal(x, 0), less_equal(x, 1)), x);
}

/// gammainc(a, x), gammaincc(a, x) or the logarithm of either.
Tensor incomplete_gamma(const char* op, Tail t, const Tensor& a, const Tensor& x);
/// betainc(a, b, x), betaincc(a, b, x) or the logarithm of either.
Tensor incomplete_beta(const char* op, Tail t, const Tensor& a, const Tensor& b, const Tensor& x);

}  // namespace reel::ops
