// Special functions of several arguments over tensors: see kernels/special/special.hpp.
#pragma once
#include <reel/tensor.hpp>
#include <span>

#include "kernels/special/special.hpp"

namespace reel::loops {

using SpecialFunction = kernels::special::Function;
using kernels::special::arguments_max, kernels::special::coefficients_max;
using kernels::special::Signature, kernels::special::signature, kernels::special::signatures;

/// out = f(in...), so often differentiated by each of the first arguments. All of one shape, float32 or float64; `in`
/// of any strides.
void special(SpecialFunction f, std::span<const std::int64_t> orders, std::span<const Tensor* const> in,
             const Tensor& out);

}  // namespace reel::loops
