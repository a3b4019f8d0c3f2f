// Matrix products as instructions of programs.
#pragma once
#include "loops/range_function.hpp"
#include "ops/apply/primitive.hpp"

namespace reel::ops {

/// The primitive of products.
const Primitive& matmul_of_tensors() noexcept;
/// The number of products in each of its sums, for this first factor.
std::int64_t terms_of_product(const Tensor& a, Attributes attributes);
/// Evaluates it into out: loops::matmul_then.
bool matmul_then(Inputs inputs, Attributes attributes, const Tensor& out, const loops::RangeFunction* then);

}  // namespace reel::ops
