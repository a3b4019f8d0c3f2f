// Evaluation of recorded operations, and tracing of ops in place of evaluation.
#include "ops/apply/operation.hpp"

#include <algorithm>

#include "kernels/pointwise.hpp"
#include "loops/loops.hpp"
#include "loops/reduce/reduce.hpp"
#include "ops/apply/apply.hpp"
#include "ops/engine.hpp"

namespace reel::ops {

namespace {

kernels::Loop value_loop(const Operation& o, DType d) noexcept {
  const kernels::Pointwise& p = kernels::pointwise(o.definition, d);
  return o.operand == Operation::value ? p.value : p.derivative[static_cast<std::size_t>(o.operand)];
}

// A derivative in the shape of its cotangent, summed down to that of `out`.
void evaluate_summed(kernels::Loop loop, Inputs inputs, const Tensor& out) {
  const Shape full = inputs[0]->shape(), axes = summed_axes(full, out.shape());
  if (loops::pointwise_reduce(loop, full, inputs, loops::ReduceFunction::sum, axes, out)) return;
  const Tensor derivative = detail::empty(out.dtype(), full);
  if (derivative.size() != 0) loops::pointwise(loop, inputs, derivative);
  loops::reduce(loops::ReduceFunction::sum, derivative, axes, out);
}

// Of an op that is traced: either there is a tracer, or an input is abstract.
Tracer& tracer_of(const char* op, Inputs inputs) {
  if (Tracer* tracer = Tracer::current()) return *tracer;
  detail::fail_abstract(
      op, detail::block(**std::find_if(inputs.begin(), inputs.end(), [](const Tensor* x) { return is_abstract(*x); })));
}

}  // namespace

void evaluate_pointwise(const Operation& o, Inputs inputs, const Tensor& out) {
  if (o.check) o.check(inputs);
  const detail::Block* to = detail::block(out);
  const kernels::Loop loop = value_loop(o, to->dtype);
  if (o.summed) return evaluate_summed(loop, inputs, out);
  if (to->size != 0) loops::pointwise(loop, inputs, out);
}

namespace {

Tensor abstract_by(const detail::Maker& maker, DType dtype, const Shape& shape) {
  Shape strides = shape;
  std::int64_t stride = 1;
  for (int d = shape.rank(); d-- > 0; stride *= shape[d]) strides[d] = stride;
  return TensorAccess::adopt(detail::new_abstract(dtype, shape, strides, maker));
}

detail::Maker running(const char* op) noexcept {
  const tape::Site line = tape::here();
  return {op, line.file, line.line};
}

}  // namespace

Tensor abstract(DType dtype, const Shape& shape) { return abstract_by({}, dtype, shape); }

void trace(const Primitive& p, const Call& call, const Metas& metas, bool residuals_wanted, std::span<Tensor> outputs) {
  Tracer& tracer = tracer_of(p.rule.name, call.inputs);
  const detail::Maker maker = running(p.rule.name);
  const std::size_t wanted = metas.size() - (residuals_wanted ? 0 : p.residuals);
  bool computes = wanted == 0;  // such as a branch without results, which may throw
  for (std::size_t k = 0; k < wanted; ++k) {
    const Meta m = metas[k];
    computes = computes || m.view_of < 0;
    outputs[k] = m.view_of < 0 ? abstract_by(maker, m.dtype, m.shape) : view_of(m, call.inputs);
  }
  for (const Tensor* x : call.inputs) tracer.note(*x);
  if (computes) tracer.add({p.rule.name, &p}, call, outputs.first(metas.size()));
}

Tensor trace(const Operation& operation, Inputs inputs, DType dtype, const Shape& shape) {
  Tracer& tracer = tracer_of(operation.name, inputs);
  Tensor z = abstract_by(running(operation.name), dtype, shape);
  tracer.add(operation, {inputs, {}}, {&z, 1});
  return z;
}

}  // namespace reel::ops
