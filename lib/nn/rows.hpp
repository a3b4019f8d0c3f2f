// Shared by normalisations and losses: the dtype they compute in, and moving the axis of interest to the end.
#pragma once
#include "ops/reduce/reduction.hpp"

namespace reel::ops {

/// The dtype of the result, and the dtype to compute in: float32 for float16 and bfloat16. TypeError unless it is
/// floating and real.
struct Computed {
  DType result, wide;
};
inline Computed floating_dtypes(const char* op, std::initializer_list<const Operand*> operands) {
  const DType d = common_dtype(op, std::span(operands.begin(), operands.size()));
  if (!is_differentiable(d) || is_complex(d)) fail_no_kernel(op, d);
  return {d, widened(d)};
}

/// The same with float64 for integers and booleans.
inline Computed real_dtypes_of(const char* op, std::initializer_list<const Operand*> operands) {
  const DType d = floating_of(common_dtype(op, std::span(operands.begin(), operands.size())));
  if (is_complex(d)) fail_no_kernel(op, d);
  return {d, widened(d)};
}

/// x [outer, channels, inner], with elements, normalised in rows of channels / groups times inner elements, times scale
/// plus offset, [channels] each. One entry.
Tensor group_norm_rows(const Tensor& x, const Tensor& scale, const Tensor& offset, std::int64_t groups, double epsilon);

/// x with `axis` moved to the end: recorded, and held in `scratch`.
inline const Tensor& last(const Tensor& x, int axis, Tensor& scratch) {
  if (axis == x.rank() - 1) return x;
  Shape order;
  for (int d = 0; d < x.rank(); ++d)
    if (d != axis) order.push_back(d);
  order.push_back(axis);
  return scratch = transpose(x, order);
}

}  // namespace reel::ops
