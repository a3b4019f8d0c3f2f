// The engine of pointwise primitives: operands of any kind, and derivatives by fused kernels.
#include "ops/apply/pointwise.hpp"

#include "loops/reduce/reduce.hpp"
#include "ops/complex.hpp"
#include "ops/engine.hpp"
#include "ops/shape/view.hpp"

namespace reel::ops {

namespace {

const char* operand_name(std::size_t i) { return i == 0 ? "x" : i == 1 ? "y" : "w"; }

// The operand whose memory may hold the result, or null.
detail::Block* reusable_operand(std::span<const Operand* const> operands, const Tensor* const* x, DType d,
                                const Shape& shape) {
  if (tape::watching()) return nullptr;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i]->kind() != detail::OperandKind::rvalue || x[i] != &operands[i]->tensor()) continue;
    detail::Block* b = detail::block(*x[i]);
    if (b->dtype != d || !detail::reusable(b) || b->shape() != shape) continue;
    bool alone = true;  // false if the same handle is two operands
    for (std::size_t k = 0; k < operands.size(); ++k) alone &= k == i || x[k] != x[i];
    if (alone && tape::active())  // a tape may keep it
      for (std::size_t k = 0; k < operands.size(); ++k)
        alone &= !tape::followed(*x[k]) && !tape::is_known_unrecorded(*x[k]);
    if (alone) return TensorAccess::take(const_cast<Tensor&>(*x[i]));
  }
  return nullptr;
}

}  // namespace

DType computing_dtype(const PointwisePrimitive& p, DType d) {
  if (p.domain == kernels::table::Domain::floating) d = floating_of(d);
  if (!p.loop(d)) fail<TypeError>(p.name, "is not defined for {}; {}", d, remedy(d));
  return d;
}

Shape infer_shape(const PointwisePrimitive& p, Inputs inputs) {
  const detail::Block* first = detail::block(*inputs[0]);
  Shape shape = first->shape();
  for (const Tensor* x : inputs.subspan(1))
    if (const detail::Block* b = detail::block(*x); !same_shape(b, first))
      shape = broadcast_shapes(p.name, shape, b->shape());
  return shape;
}

void evaluate(const PointwisePrimitive& p, Inputs inputs, const Tensor& out) {
  if (p.check) p.check(inputs);
  const detail::Block* to = detail::block(out);
  if (to->size != 0) loops::pointwise(p.loop(to->dtype), inputs, out);
}

[[gnu::noinline]] Tensor apply_in_place(kernels::Loop loop, std::span<const Tensor*> x, std::size_t reused) {
  Tensor z = TensorAccess::adopt(TensorAccess::take(const_cast<Tensor&>(*x[reused])));
  x[reused] = &z;
  if (detail::block(z)->size != 0) loops::pointwise(loop, x, z);
  detail::renew(detail::block(z));
  return z;
}

[[gnu::noinline]] Tensor apply_any(const PointwisePrimitive& p, std::span<const Operand* const> operands) {
  Tensor made[pointwise_arity_max];  // operands cast to the common dtype
  const Tensor* x[pointwise_arity_max] = {};
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (operands[i]->is_tensor()) require_defined(p.name, operands[i]->tensor(), operand_name(i));
  const DType common = common_dtype(p.name, operands);
  if (operands.size() == 1 && is_complex(common) && !p.loop(common))
    if (Tensor z = complex_form(p.name, as_tensor(p.name, *operands[0], made[0])); z.defined()) return z;
  const DType d = computing_dtype(p, common);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i]->is_tensor()) {
      x[i] = &operands[i]->tensor();
      if (x[i]->dtype() != d) x[i] = &(made[i] = cast_to(*x[i], d));
    } else {
      x[i] = &(made[i] = to_tensor(p.name, *operands[i], d, operand_name(i)));
    }
  }
  const Inputs inputs{x, operands.size()};
  const Shape shape = infer_shape(p, inputs);
  Tensor z;
  if (traced(inputs)) [[unlikely]] {
    z = trace(p.operation(), inputs, d, shape);
    if (tape::active()) record(p, inputs, z);
    return z;
  }
  if (detail::Block* reused = reusable_operand(operands, x, d, shape)) {
    z = TensorAccess::adopt(reused);
    for (const Tensor*& input : x)
      if (input && !input->defined()) input = &z;
    evaluate(p, inputs, z);
    detail::renew(reused);
    return z;
  }
  z = detail::empty(d, shape);
  evaluate(p, inputs, z);
  if (tape::active()) record(p, inputs, z);
  return z;
}

// ---- Derivatives

namespace {

Shape shape_of(const Tensor& g, const Shape* shape) { return shape ? *shape : detail::block(g)->shape(); }

// The result summed down to `target` in the same pass; empty if that is not faster.
[[gnu::noinline]] Tensor fused_sum(kernels::Loop loop, Inputs in, DType dtype, const Shape& shape,
                                   const Shape& target) {
  if (target == shape || is_half(dtype)) return {};
  Tensor out = detail::empty(dtype, target);
  if (!loops::pointwise_reduce(loop, shape, in, loops::ReduceFunction::sum, summed_axes(shape, target), out)) out = {};
  return out;
}

}  // namespace

[[gnu::noinline]] Tensor evaluate_fused(kernels::Loop loop, const Tensor& g, Inputs in, const FusedOptions& options) {
  const DType dtype = detail::block(g)->dtype;
  if (options.sum_to)
    if (Tensor sum = fused_sum(loop, in, dtype, shape_of(g, options.shape), *options.sum_to); sum.defined()) return sum;
  if (options.reuse && !tape::active() && !tape::watching() && detail::reusable(detail::block(g))) {
    loops::pointwise(loop, in, g);
    detail::renew(detail::block(g));
    return std::move(const_cast<Tensor&>(g));
  }
  Tensor out =
      options.shape ? detail::empty(dtype, *options.shape) : TensorAccess::adopt(detail::new_like(detail::block(g)));
  if (detail::block(out)->size) loops::pointwise(loop, in, out);
  return out;
}

Tensor times_one(const Tensor& g, const Tensor& x, const Shape* shape) {
  if (!tape::is_one(g)) return {};
  const detail::Block* b = detail::block(x);
  const Shape full = shape_of(g, shape);
  if (detail::block(g)->size < view_elements_min && (is_borrowed(x) || !b->contiguous() || b->shape() != full))
    return {};
  if (!is_borrowed(x)) return broadcast_view(x, full);
  if (!b->contiguous()) return {};
  return broadcast_view(multiply(x, 1.0), full);
}

Tensor add_to_sum(const tape::Record& record, std::size_t i, kernels::Loop loop, Inputs in, const Shape* shape) {
  const Tensor& g = *in[0];
  const DType dtype = detail::block(g)->dtype;
  if (is_complex(dtype)) return {};
  Tensor sum = record.take_sum(i);
  if (sum.defined()) loops::pointwise_into_sum(loop, shape_of(g, shape), in, loop_of<"add">(dtype), sum);
  return sum;
}

}  // namespace reel::ops
