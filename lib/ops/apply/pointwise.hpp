// Pointwise primitives: definitions of the table as ops. One engine implements what all definitions share: promotion,
// broadcasting, reuse of an operand's memory, what a tape keeps, and fused derivative kernels.
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

/// What the derivative of an operand is: g times a function, g times the value that it reads, g itself, 0, or nothing.
enum class DerivativeKind : std::uint8_t { function, times, identity, zero, unconnected };

/// A definition of the pointwise table as an op. The functions of the rule are those of all such ops: they find the op
/// by Record::rule().
struct PointwisePrimitive : tape::Rule {
  std::size_t index, arity;  // of the definition
  kernels::table::Domain domain;
  // Of the derivative of each operand:
  tape::Reads reads;
  std::array<DerivativeKind, pointwise_arity_max> kinds;
  /// Throws for elements that the op refuses; part of evaluation. Null: it refuses none.
  void (*check)(Inputs inputs) = nullptr;

  kernels::Loop loop(DType d) const noexcept { return kernels::pointwise(index, d).value; }
  Operation operation() const noexcept {
    return {.name = name, .definition = static_cast<std::uint16_t>(index), .check = check};
  }
};

/// The dtype that the op computes in for operands with common dtype `d`. TypeError if the op does not exist for it.
DType computing_dtype(const PointwisePrimitive& primitive, DType d);
/// The shape that the inputs broadcast to. The result has it, and the inputs' dtype.
Shape infer_shape(const PointwisePrimitive& primitive, Inputs inputs);
/// Writes the values to `out`, which has that shape and may share the block of an input of that shape.
void evaluate(const PointwisePrimitive& primitive, Inputs inputs, const Tensor& out);

/// Any operands: numbers, mixed dtypes and shapes, any strides, rvalues whose memory may hold the result.
Tensor apply_any(const PointwisePrimitive& primitive, std::span<const Operand* const> operands);
/// Records a computed result.
inline void record(const PointwisePrimitive& primitive, Inputs inputs, const Tensor& z) {
  if (is_differentiable(detail::block(z)->dtype)) [[likely]]
    tape::record(primitive, inputs, z, primitive.reads);
  else
    tape::note_unrecorded(primitive.name, inputs, z, tape::Unrecorded::integer);
}

inline bool same_shape(const detail::Block* a, const detail::Block* b) noexcept {
  if (a->rank != b->rank) return false;
  for (int i = 0; i < a->rank; ++i)
    if (a->extents()[i] != b->extents()[i]) return false;
  return true;
}

/// loop(x...), for contiguous tensors of one shape, in the memory of x[reused], which is taken from its handle.
Tensor apply_in_place(kernels::Loop loop, std::span<const Tensor*> x, std::size_t reused);

/// The result of a pointwise primitive, recorded. The common case is handled inline: contiguous tensors of one dtype
/// and shape. Where nothing is recorded or observed, the first of them that is reusable takes the result. apply_any()
/// handles other cases.
template <std::size_t Arity>
[[gnu::always_inline]] inline Tensor apply(const PointwisePrimitive& primitive,
                                           const std::array<const Operand*, Arity>& operands) {
  const detail::Block* first = operands[0]->is_tensor() ? detail::block(operands[0]->tensor()) : nullptr;
  if (!first || !first->plain() || primitive.check) return apply_any(primitive, operands);
  const bool active = tape::active();
  if (active && Tracer::current()) [[unlikely]]
    return apply_any(primitive, operands);
  const Tensor* x[Arity];
  std::size_t reused = Arity;
  for (std::size_t i = 0; i < Arity; ++i) {
    if (!operands[i]->is_tensor()) return apply_any(primitive, operands);
    x[i] = &operands[i]->tensor();
    const detail::Block* b = detail::block(*x[i]);
    if (!b || b->dtype != first->dtype || !b->plain() || (i > 0 && !same_shape(b, first)))
      return apply_any(primitive, operands);
    if (operands[i]->kind() != detail::OperandKind::rvalue || !detail::reusable(b)) continue;
    if (active ? !tape::followed(*x[i]) : tape::watching() != 0) return apply_any(primitive, operands);
    if (active || reused != Arity) continue;
    for (std::size_t k = 0; k < Arity; ++k)
      if (k != i && operands[k]->is_tensor() && &operands[k]->tensor() == x[i]) return apply_any(primitive, operands);
    reused = i;
  }
  const kernels::Loop loop = primitive.loop(first->dtype);
  if (!loop || (primitive.domain == kernels::table::Domain::floating && !is_differentiable(first->dtype)))
    return apply_any(primitive, operands);
  if (reused != Arity) return apply_in_place(loop, x, reused);
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

/// The op of a definition.
const PointwisePrimitive& pointwise_primitive(std::size_t definition);
/// What its public function does.
Tensor pointwise(const PointwisePrimitive& primitive, const Operand& x);
Tensor pointwise(const PointwisePrimitive& primitive, const Operand& x, const Operand& y);
Tensor pointwise(const PointwisePrimitive& primitive, const Operand& x, const Operand& y, const Operand& w);

// ---- Derivatives of pointwise primitives that no tape records

/// Where a vjp kernel writes, and what becomes of the result.
struct FusedOptions {
  const Shape* shape = nullptr;   // of the result; null: the cotangent's
  const Shape* sum_to = nullptr;  // sum down to this shape in the same pass, where that is faster; null: do not
  bool reuse = false;             // the result may take the memory of the cotangent g, which is not read afterwards
};
/// loop(in...), where in[0] is the cotangent or tangent g, unrecorded. Inputs that the loop does not read are g.
Tensor evaluate_fused(kernels::Loop loop, const Tensor& g, Inputs in, const FusedOptions& options);
/// The size of g from which times_one() is worth calling: below, a product is as cheap as a view.
inline constexpr std::int64_t view_elements_min = 1024;
/// g times x as a view of x, if g is a repeated 1 and the view is laid out as what an op returns; otherwise an empty
/// handle. A trace asks for any size: later sums add in the order of strides. If x is borrowed, the view is one of a
/// copy, which must have the same strides: a variable, which is contiguous, may or may not be borrowed when a program
/// runs.
Tensor times_one(const Tensor& g, const Tensor& x, const Shape* shape);
/// The size of g from which add_to_sum() is worth calling: below, a new block is as cheap.
inline constexpr std::int64_t in_place_elements_min = loops::parallel_threshold;
/// loop(in...) plus the cotangents that have arrived at input i of the record, in their memory; empty if there are none
/// that may be overwritten.
Tensor add_to_sum(const tape::Record& record, std::size_t i, kernels::Loop loop, Inputs in, const Shape* shape);

}  // namespace reel::ops
