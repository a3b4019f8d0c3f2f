// Pointwise primitives: definitions of the table as ops. One engine does for all of them what no definition repeats:
// promotion, broadcasting, reuse of an operand's memory, what a tape keeps, and fused kernels of derivatives.
#pragma once
#include <algorithm>
#include <array>
#include <reel/ops/pointwise.hpp>

#include "loops/loops.hpp"
#include "ops/apply/operation.hpp"
#include "ops/apply/table.hpp"
#include "tape/tape.hpp"

namespace reel::ops {

inline constexpr std::size_t pointwise_arity_max = 3;
static_assert(pointwise_arity_max + 1 == tape::most_read);

/// A definition of the pointwise table as an op.
struct PointwisePrimitive {
  tape::Rule rule;
  std::size_t index, arity;  // of the definition
  kernels::table::Domain domain;
  tape::Reads reads;  // by the derivative of each operand
  /// Throws for elements that the op refuses; part of evaluating. Null: it takes all.
  void (*check)(Inputs inputs) = nullptr;

  kernels::Loop loop(DType d) const noexcept { return kernels::active().pointwise(index, d).value; }
  Operation operation() const noexcept {
    return {.name = rule.name, .definition = static_cast<std::uint16_t>(index), .check = check};
  }
};

/// The dtype that the op computes in, for operands whose common dtype is `d`. TypeError when it does not exist for it.
DType computed_in(const PointwisePrimitive& primitive, DType d);
/// The shape that the inputs broadcast to. The result has it, and the inputs' dtype.
Shape infer_shape(const PointwisePrimitive& primitive, Inputs inputs);
/// The values, into `out`, which is of that shape and may be the block of an input that has it.
void evaluate(const PointwisePrimitive& primitive, Inputs inputs, const Tensor& out);

/// Any operands: numbers, of different dtypes and shapes, of any strides, rvalues whose memory may hold the result.
Tensor apply_any(const PointwisePrimitive& primitive, std::span<const Operand* const> operands);
/// Records a result that was just computed.
inline void record(const PointwisePrimitive& primitive, Inputs inputs, const Tensor& z) {
  if (is_differentiable(detail::block(z)->dtype)) [[likely]]
    tape::record(primitive.rule, inputs, z, primitive.reads);
  else
    tape::note_unrecorded(primitive.rule.name, inputs, z, tape::Unrecorded::integer);
}

inline bool same_shape(const detail::Block* a, const detail::Block* b) noexcept {
  if (a->rank != b->rank) return false;
  for (int i = 0; i < a->rank; ++i)
    if (a->extents()[i] != b->extents()[i]) return false;
  return true;
}

/// The result of a pointwise primitive, recorded. Here is the common case: contiguous tensors of one dtype and shape,
/// none of them reusable; apply_any() does the others.
template <std::size_t Arity>
Tensor apply(const PointwisePrimitive& primitive, const std::array<const Operand*, Arity>& operands) {
  const detail::Block* first = operands[0]->is_tensor() ? detail::block(operands[0]->tensor()) : nullptr;
  if (!first || !first->plain() || primitive.check) return apply_any(primitive, operands);
  const bool active = tape::active();
  if (active && Tracer::current()) [[unlikely]]
    return apply_any(primitive, operands);
  const Tensor* x[Arity];
  for (std::size_t i = 0; i < Arity; ++i) {
    if (!operands[i]->is_tensor()) return apply_any(primitive, operands);
    x[i] = &operands[i]->tensor();
    const detail::Block* b = detail::block(*x[i]);
    if (!b || b->dtype != first->dtype || !b->plain() || (i > 0 && !same_shape(b, first)) ||
        (operands[i]->kind() == detail::OperandKind::rvalue && detail::reusable(b) &&
         !(active && tape::followed(*x[i]))))
      return apply_any(primitive, operands);
  }
  const kernels::Loop loop = primitive.loop(first->dtype);
  if (!loop || (primitive.domain == kernels::table::Domain::floating && !is_differentiable(first->dtype)))
    return apply_any(primitive, operands);
  Tensor z = TensorAccess::adopt(detail::new_like(first));
  if (first->size < loops::parallel_threshold) {
    kernels::Strided in[Arity];
    for (std::size_t i = 0; i < Arity; ++i) in[i] = {detail::block(*x[i])->data, 1};
    loop(in, detail::block(z)->data, first->size);
  } else {
    loops::pointwise(loop, z.shape(), x, z);
  }
  if (active) record(primitive, x, z);
  return z;
}

// ---- Derivatives of pointwise primitives that no tape records

/// Where the vjp kernel of an operand writes, and what becomes of it.
struct FusedOptions {
  const Shape* shape = nullptr;   // of the result; null: the cotangent's
  const Shape* sum_to = nullptr;  // sum down to it in the same pass where that is faster; null: do not
  bool reuse = false;             // the result may take the memory of the cotangent g, which nobody reads afterwards
};
/// loop(in...), where in[0] is the cotangent or tangent g, unrecorded. An input that the loop does not read is g.
Tensor evaluate_fused(kernels::Loop loop, const Tensor& g, Inputs in, const FusedOptions& options);
/// Elements of g from which on times_one() is worth asking: below, a product is as cheap as a view.
inline constexpr std::int64_t view_elements_min = 1024;
/// g times x as a view of x, where g is a 1 repeated; else an empty handle.
Tensor times_one(const Tensor& g, const Tensor& x, const Shape* shape);
/// Elements of g from which on add_to_sum() is worth asking: below, a block of its own is as cheap.
inline constexpr std::int64_t in_place_elements_min = loops::parallel_threshold;
/// The sum of loop(in...) and the cotangents that have come to input i of the record so far, in their memory; empty
/// when there is none that may be added to.
Tensor add_to_sum(const tape::Record& record, std::size_t i, kernels::Loop loop, Inputs in, const Shape* shape);

}  // namespace reel::ops
