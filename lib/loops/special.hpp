// Special functions of several arguments over tensors: see kernels/special/special.hpp.
#pragma once
#include <reel/tensor.hpp>
#include <span>

#include "kernels/special/distributions.hpp"
#include "kernels/special/special.hpp"

namespace reel::loops {

using SpecialFunction = kernels::special::Function;
using kernels::special::arguments_max, kernels::special::coefficients_max;
using kernels::special::Signature, kernels::special::signature, kernels::special::signatures;

/// out = f(in...), differentiated orders[k] times by argument k. All tensors have one shape and are float32 or float64;
/// `in` has any strides.
void special(SpecialFunction f, std::span<const std::int64_t> orders, std::span<const Tensor* const> in,
             const Tensor& out);

using kernels::special::Distribution;
/// The same for a function of a distribution.
void special(Distribution f, std::span<const std::int64_t> orders, std::span<const Tensor* const> in,
             const Tensor& out);

}  // namespace reel::loops
