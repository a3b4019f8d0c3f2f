// Evaluation and recording of primitives.
#include "ops/apply/apply.hpp"

namespace reel::ops {

CallListener call_listener = nullptr;

Meta& Metas::next() {
  if (size_++ < in_place) return few_[size_ - 1];
  more_.emplace_back();
  return more_.back();
}

Tensor Outputs::make(std::size_t k) const {
  const Meta& m = metas_[k];
  if (m.view_of < 0) return detail::empty(m.dtype, m.shape);
  detail::Block* base = detail::block(*inputs_[static_cast<std::size_t>(m.view_of)]);
  return TensorAccess::adopt(detail::new_view(base, m.offset, m.shape, m.strides));
}

namespace {

constexpr std::size_t few = 4;  // inputs and outputs of nearly every op

using Pointers = detail::ShortList<const Tensor*, few>;

// The values that `keeps` names, null where none of the readers is followed. How many there are is returned.
std::size_t kept(const Primitive& p, Inputs inputs, std::span<const Tensor> outputs,
                 std::array<const Tensor*, most_kept>& saved) {
  std::size_t count = 0;
  for (const Keep& k : p.keeps) {
    if (k.from == Keep::From::nothing) break;
    bool read = k.readers == 0;
    for (std::size_t i = 0; !read && i < inputs.size(); ++i) read = k.readers >> i & 1 && tape::followed(*inputs[i]);
    const bool is_input = k.from == Keep::From::input;
    const bool there = k.index < (is_input ? inputs.size() : outputs.size());
    const Tensor* value = !read || !there ? nullptr : is_input ? inputs[k.index] : &outputs[k.index];
    saved[count++] = value && value->defined() ? value : nullptr;
  }
  return count;
}

// Records what has been evaluated, or notes why it is not recorded.
void record(const Primitive& p, Inputs inputs, Attributes attributes, std::span<const Tensor> outputs) {
  const Inputs listed = inputs.first(inputs.size() - p.constants);
  const std::size_t handed_out = outputs.size() - p.residuals, differentiable = handed_out - p.auxiliary;
  const bool carries = is_differentiable(detail::block(outputs[0])->dtype);
  if (p.rule.vjp && carries) {
    std::array<const Tensor*, most_kept> saved;
    const std::size_t count = kept(p, inputs, outputs, saved);
    Pointers results(differentiable);
    for (std::size_t k = 0; k < differentiable; ++k) results[k] = &outputs[k];
    tape::record(p.rule, listed, results, {saved.data(), count}, attributes);
  }
  for (std::size_t k = p.rule.vjp && carries ? differentiable : 0; k < handed_out; ++k)
    tape::note_cut(p.rule.name, listed, outputs[k],
                   is_differentiable(detail::block(outputs[k])->dtype) ? tape::Cut::stopped : tape::Cut::integer);
}

// Whether a tape will read the residuals.
bool keeps_residuals(const Primitive& p, Inputs inputs) noexcept {
  return p.residuals > 0 && any_followed(inputs.first(inputs.size() - p.constants));
}

// Evaluates into `out`.
void run(const Primitive& p, const Call& call, Outputs& out) {
  p.evaluate(call, out);
  if (call_listener) [[unlikely]]
    call_listener(p, call, out.tensors());
}

}  // namespace

Tensor apply(const Primitive& p, Inputs inputs, Attributes attributes) {
  const Call call{inputs, attributes};
  Metas metas;
  p.infer(call, metas);
  Outputs out(metas, inputs, keeps_residuals(p, inputs));
  run(p, call, out);
  if (tape::active()) record(p, inputs, attributes, out.tensors());
  return std::move(out.tensors()[0]);
}

void apply(const Primitive& p, Inputs inputs, Attributes attributes, std::span<Tensor> outputs) {
  const Call call{inputs, attributes};
  Metas metas;
  p.infer(call, metas);
  Outputs out(metas, inputs, keeps_residuals(p, inputs));
  run(p, call, out);
  if (tape::active()) record(p, inputs, attributes, out.tensors());
  for (std::size_t k = 0; k < outputs.size(); ++k) outputs[k] = std::move(out.tensors()[k]);
}

Tensor evaluate(const Primitive& p, std::initializer_list<const Tensor*> inputs, Attributes attributes) {
  Tensor y;
  evaluate(p, Inputs(inputs.begin(), inputs.size()), attributes, {&y, 1}, false);
  return y;
}

void evaluate(const Primitive& p, Inputs inputs, Attributes attributes, std::span<Tensor> outputs,
              bool residuals_wanted) {
  const Call call{inputs, attributes};
  Metas metas;
  p.infer(call, metas);
  Outputs out(metas, inputs, residuals_wanted);
  run(p, call, out);
  for (std::size_t k = 0; k < outputs.size(); ++k) outputs[k] = std::move(out.tensors()[k]);
}

}  // namespace reel::ops
