// Special functions of several arguments over tensors: see special/table.hpp.
#pragma once
#include <reel/tensor.hpp>
#include <span>

#include "special/table.hpp"

namespace reel::loops {

using SpecialFunction = kernels::special::Function;
using kernels::special::arguments_max, kernels::special::coefficients_max;
using kernels::special::Signature, kernels::special::signature, kernels::special::signatures;

/// out = f(in...), differentiated orders[k] times by argument k; without `orders` the value. All tensors have one shape
/// and are float32 or float64; `in` has any strides.
void special(SpecialFunction f, std::span<const std::int64_t> orders, std::span<const Tensor* const> in,
             const Tensor& out);

}  // namespace reel::loops
