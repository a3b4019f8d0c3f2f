// Matrix products for other ops, and as instructions of programs.
#pragma once
#include <reel/ops/linalg.hpp>
#include <reel/ops/shape.hpp>

#include "loops/range_function.hpp"
#include "ops/apply/primitive.hpp"

namespace reel::ops {

/// The matrix product of a and b, of one dtype that loops::matmul supports (float16 and bfloat16 through float32). `op`
/// is the name in errors.
Tensor product(const char* op, const Tensor& a, const Tensor& b, const MatmulOptions& options = {});

/// The last two axes exchanged: a view, recorded.
inline Tensor swap_matrix_axes(const Tensor& x) { return moveaxis(x, -1, -2); }

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
