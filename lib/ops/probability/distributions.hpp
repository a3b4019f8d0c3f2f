// Distribution functions without a public name, and samples whose parameters have implicit derivatives. All operands
// have one dtype, float32 or float64, and broadcast.
#pragma once
#include <reel/tensor.hpp>

namespace reel::ops {

/// The logarithms of gammainc(a, x) and gammaincc(a, x), betainc(a, b, x) and betaincc(a, b, x), without underflow.
Tensor log_gammainc(const Tensor& a, const Tensor& x);
Tensor log_gammaincc(const Tensor& a, const Tensor& x);
Tensor log_betainc(const Tensor& a, const Tensor& b, const Tensor& x);
Tensor log_betaincc(const Tensor& a, const Tensor& b, const Tensor& x);

/// Of the probability of an angle up to x, -pi <= x <= pi, under von Mises's law: the derivatives by kappa, up to 10^7,
/// and by x. One shape.
Tensor vonmises_cdf_by_kappa(const Tensor& kappa, const Tensor& x);
Tensor vonmises_cdf_by_x(const Tensor& kappa, const Tensor& x);

}  // namespace reel::ops
