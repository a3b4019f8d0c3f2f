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

// Lists of so many inputs or outputs need no memory.
using Pointers = detail::ShortList<const Tensor*, 8>;
static_assert(most_kept <= 8);

// The value that a tape keeps, null where none of its readers is followed.
const Tensor* kept(const Keep& k, Inputs inputs, std::span<const Tensor> outputs) noexcept {
  bool read = k.readers == 0;
  for (std::size_t i = 0; !read && i < inputs.size(); ++i) read = k.readers >> i & 1 && tape::followed(*inputs[i]);
  const bool is_input = k.from == Keep::From::input;
  if (!read || k.index >= (is_input ? inputs.size() : outputs.size())) return nullptr;
  const Tensor* value = is_input ? inputs[k.index] : &outputs[k.index];
  return value->defined() ? value : nullptr;
}

// What the tapes keep: `keeps`, or what keep_inputs chooses.
class Kept {
 public:
  Kept(const Primitive& p, const Call& call, std::span<const Tensor> outputs)
      : values_(p.keep_inputs ? call.inputs.size() : most_kept) {
    if (p.keep_inputs) {
      if (!any_followed(call.inputs)) return;
      p.keep_inputs(call, values_);
      count_ = call.inputs.size();
    }
    for (; count_ < most_kept && p.keeps[count_].from != Keep::From::nothing; ++count_)
      values_[count_] = kept(p.keeps[count_], call.inputs, outputs);
  }
  Inputs values() noexcept { return {values_.data(), count_}; }

 private:
  Pointers values_;
  std::size_t count_ = 0;
};

// Records what has been evaluated, or notes why it is not recorded.
void record(const Primitive& p, const Call& call, std::span<const Tensor> outputs) {
  const Inputs listed = call.inputs.first(call.inputs.size() - p.constants);
  const std::size_t handed_out = outputs.size() - p.residuals;
  std::size_t k = 0;
  if (p.rule.vjp && is_differentiable(detail::block(outputs[0])->dtype)) {
    Pointers results(handed_out - p.auxiliary);
    for (; k < handed_out - p.auxiliary; ++k) results[k] = &outputs[k];
    tape::record(p.rule, listed, results, Kept(p, call, outputs).values(), call.attributes);
  }
  for (; k < handed_out; ++k)
    tape::note_cut(p.rule.name, listed, outputs[k],
                   is_differentiable(detail::block(outputs[k])->dtype) ? tape::Cut::stopped : tape::Cut::integer);
}

// Whether a tape will read the residuals.
bool keeps_residuals(const Primitive& p, Inputs inputs) noexcept {
  return p.residuals > 0 && any_followed(inputs.first(inputs.size() - p.constants));
}

// The outputs of a call. What infer announces has to outlive what evaluate makes of it.
class Execution {
 public:
  Execution(const Primitive& p, const Call& call, bool residuals_wanted)
      : primitive_(p), call_(call), out_(infer(), call.inputs, residuals_wanted) {
    p.evaluate(call, out_);
    if (call_listener) [[unlikely]]
      call_listener(p, call, out_.tensors());
  }
  void record() {
    if (tape::active()) ops::record(primitive_, call_, out_.tensors());
  }
  Tensor take(std::size_t k) noexcept { return std::move(out_.tensors()[k]); }

 private:
  const Metas& infer() {
    primitive_.infer(call_, metas_);
    return metas_;
  }
  const Primitive& primitive_;
  Call call_;
  Metas metas_;
  Outputs out_;
};

}  // namespace

Tensor apply(const Primitive& p, Inputs inputs, Attributes attributes) {
  Execution execution(p, {inputs, attributes}, keeps_residuals(p, inputs));
  execution.record();
  return execution.take(0);
}

void apply(const Primitive& p, Inputs inputs, Attributes attributes, std::span<Tensor> outputs) {
  Execution execution(p, {inputs, attributes}, keeps_residuals(p, inputs));
  execution.record();
  for (std::size_t k = 0; k < outputs.size(); ++k) outputs[k] = execution.take(k);
}

Tensor evaluate(const Primitive& p, std::initializer_list<const Tensor*> inputs, Attributes attributes) {
  return Execution(p, {{inputs.begin(), inputs.size()}, attributes}, false).take(0);
}

void evaluate(const Primitive& p, Inputs inputs, Attributes attributes, std::span<Tensor> outputs,
              bool residuals_wanted) {
  Execution execution(p, {inputs, attributes}, residuals_wanted);
  for (std::size_t k = 0; k < outputs.size(); ++k) outputs[k] = execution.take(k);
}

}  // namespace reel::ops
