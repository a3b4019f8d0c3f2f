// What reductions share: which axes go, the shapes with and without them, and the bare reduction, which is not
// recorded. A rule gets its axes as a mask in attribute 0: bit d for axis d.
#pragma once
#include <reel/ops/reduce.hpp>

#include "core/block.hpp"
#include "kernels/kernels.hpp"
#include "loops/loops.hpp"
#include "ops/apply/apply.hpp"
#include "ops/engine.hpp"

namespace reel::ops {

struct Reduced {
  std::int64_t mask = 0;
  Shape axes;              // from the front, ascending
  Shape shape;             // of the result, as asked for
  std::int64_t count = 1;  // elements that become one
  bool keepdims = false;

  Reduced(const char* op, const Shape& full, const Axes& which, bool keep);
};

/// The axes as a mask. IndexError and ValueError as normalize().
std::int64_t axes_mask(const char* op, const Axes& axes, int rank);
/// How many elements become one.
std::int64_t reduced_count(const Shape& full, std::int64_t mask);
/// The shape of the result.
Shape reduced_shape(const Shape& full, std::int64_t mask, bool keepdims);

/// Announces the result of reducing input 0, in dtype d.
inline void infer_reduced(const Call& call, DType d, Metas& out) {
  out.add(d, reduced_shape(call.input(0).shape(), call.attribute(0), call.attribute(1) != 0));
}

constexpr kernels::Type type_of(DType d) { return static_cast<kernels::Type>(d); }
/// TypeError: the op has no kernel for d.
[[noreturn]] void fail_no_kernel(const char* op, DType d);

/// x reduced; its elements are those of `identity` where there is nothing to reduce (ValueError if null and
/// the result has any).
Tensor reduce_bare(const char* op, kernels::Reduce kind, const Tensor& x, const Reduced& r, const Operand* identity);

/// The axes of a mask.
Shape axes_of(std::int64_t mask);
/// g, in a result's shape with or without the reduced axes, with them: recorded.
Tensor with_axes(const Tensor& g, const Shape& full, std::int64_t mask);
/// x as [..., n], the reduced axes made one and last; and back from there to the shape `full`. Recorded.
Tensor to_rows(const Tensor& x, std::int64_t mask);
Tensor from_rows(const Tensor& rows, const Shape& full, std::int64_t mask);

}  // namespace reel::ops
