// Attention, block by block: scores are computed twice, once for the result and once for the gradient, and never kept.
#pragma once
#include <reel/tensor.hpp>

namespace reel::loops {

/// q [..., L, E], k [..., S, E], v [..., S, V]. Any strides; leading axes broadcast to `batch`. mask: [..., L, S], of
/// booleans or of the other operands' dtype, broadcasting with at least two axes; empty: none.
struct Attention {
  Tensor q, k, v, mask;
  double scale;
  bool causal;
  Shape batch;
};
/// y [batch, L, V] = softmax(scale q k^T + mask) v. For the gradient, z [2, batch, L]: the largest score of each query,
/// and 1 / sum(exp(score - largest)); inf and 0 for a query without keys, whose y is 0.
void attention(const Attention& a, const Tensor& y, const Tensor& z);
/// The cotangents of q, k and v for `count` cotangents g of y, all with a leading axis of that extent before the shape
/// of `batch`; an empty handle is not computed.
void attention_vjp(const Attention& a, std::int64_t count, const Tensor& g, const Tensor& y, const Tensor& z,
                   const Tensor& dq, const Tensor& dk, const Tensor& dv);

}  // namespace reel::loops
