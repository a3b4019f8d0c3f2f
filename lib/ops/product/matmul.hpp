// Matrix products as instructions of programs.
#pragma once
#include "loops/range_function.hpp"
#include "ops/apply/primitive.hpp"

namespace reel::ops {

/// The primitive of products.
const Primitive& matmul_of_tensors() noexcept;
/// The primitive that adds a product of matrices to its first input, in place if the output has that input's memory.
/// Its attributes are those of the product.
const Primitive& matmul_added() noexcept;
/// Whether it has the bits of the two ops, and takes one pass less, for these factors.
bool adds_like_two_ops(const Tensor& a, const Tensor& b, Attributes attributes);
/// The number of products in each of its sums, for this first factor.
std::int64_t terms_of_product(const Tensor& a, Attributes attributes);
/// Evaluates it into out: loops::matmul_then.
bool matmul_then(Inputs inputs, Attributes attributes, const Tensor& out, const loops::RangeFunction* then);

}  // namespace reel::ops
