// Evaluation and recording of primitives.
#include "ops/apply/apply.hpp"

#include <algorithm>

#include "ops/apply/operation.hpp"

namespace reel::ops {

void Metas::reserve(std::size_t outputs, int rank) {
  if (outputs <= in_place) return;
  more_ = std::make_unique<More>();
  more_->outputs.reserve(outputs - in_place);
  more_->words.reserve((outputs - in_place) * 2 * static_cast<std::size_t>(rank));
}

void Metas::store(const Meta& m) {
  if (!more_) more_ = std::make_unique<More>();
  detail::List<std::int64_t>& words = more_->words;
  more_->outputs.push_back({m.dtype, m.view_of, m.shape.rank(), m.offset, words.size()});
  words.insert(words.end(), m.shape.begin(), m.shape.end());
  words.insert(words.end(), m.strides.begin(), m.strides.end());
  ++size_;
}

Meta Metas::restored(std::size_t k) const noexcept {
  const More::Output& m = more_->outputs[k];
  const std::int64_t* words = more_->words.data() + m.first;
  const auto rank = static_cast<std::size_t>(m.rank);
  return {m.dtype, m.view_of, m.offset, Shape(words, rank), Shape(words + rank, m.view_of < 0 ? 0 : rank)};
}

Tensor view_of(const Meta& m, Inputs inputs) {
  detail::Block* base = detail::block(*inputs[static_cast<std::size_t>(m.view_of)]);
  return TensorAccess::adopt(detail::new_view(base, m.offset, m.shape, m.strides));
}

Tensor Outputs::make(std::size_t k) const {
  Meta room;
  const Meta& m = metas_->get(k, room);
  return m.view_of < 0 ? detail::empty(m.dtype, m.shape) : view_of(m, inputs_);
}

namespace {

// Lists of up to this many inputs or outputs need no allocation.
using Pointers = detail::ShortList<const Tensor*, 8>;
static_assert(most_kept <= 8);

// The value that a tape keeps; null if none of its readers is followed.
const Tensor* kept(const Keep& k, Inputs inputs, std::span<const Tensor> outputs) noexcept {
  bool read = k.readers == 0;
  for (unsigned rest = k.readers; !read && rest; rest &= rest - 1) {
    const auto i = static_cast<std::size_t>(std::countr_zero(rest));
    read = i < inputs.size() && tape::followed(*inputs[i]);
  }
  const bool is_input = k.from == Keep::From::input;
  if (!read || k.index >= (is_input ? inputs.size() : outputs.size())) return nullptr;
  const Tensor* value = is_input ? inputs[k.index] : &outputs[k.index];
  return value->defined() ? value : nullptr;
}

// Records the call. `results` are the outputs that carry a gradient.
void record_entry(const Primitive& p, const Call& call, std::span<const Tensor> outputs, Inputs results) {
  const Inputs listed = call.inputs.first(call.inputs.size() - p.constants);
  if (p.keep_inputs) {
    const std::size_t count = call.inputs.size();
    Pointers values(any_followed(listed) ? count + p.residuals : 0);
    if (values.begin() == values.end()) return tape::record(p.rule, listed, results, {}, call.attributes);
    p.keep_inputs(call, std::span<const Tensor*>(values).first(count));
    for (std::size_t k = 0; k < p.residuals; ++k)
      if (const Tensor& y = outputs[outputs.size() - p.residuals + k]; y.defined()) values[count + k] = &y;
    return tape::record(p.rule, listed, results, values, call.attributes);
  }
  const Tensor* values[most_kept];
  std::size_t count = 0;
  for (; count < most_kept && p.keeps[count].from != Keep::From::nothing; ++count)
    values[count] = kept(p.keeps[count], call.inputs, outputs);
  tape::record(p.rule, listed, results, {values, count}, call.attributes);
}

// Records an evaluated call, or notes why it is not recorded.
void record(const Primitive& p, const Call& call, std::span<const Tensor> outputs) {
  const std::size_t handed_out = outputs.size() - p.residuals;
  const std::size_t carrying = handed_out - p.auxiliary;
  const auto carries = [](const Tensor& y) { return is_differentiable(detail::block(y)->dtype); };
  std::size_t k = 0;  // number of outputs processed so far
  if (p.rule.vjp && std::any_of(outputs.begin(), outputs.begin() + static_cast<std::ptrdiff_t>(carrying), carries)) {
    if (carrying == 1) {
      const Tensor* result = outputs.data();
      record_entry(p, call, outputs, {&result, 1});
    } else {
      Pointers results(carrying);
      for (std::size_t i = 0; i < carrying; ++i) results[i] = &outputs[i];
      record_entry(p, call, outputs, results);
    }
    k = carrying;
  }
  for (; k < handed_out; ++k)
    tape::note_unrecorded(
        p.rule.name, call.inputs.first(call.inputs.size() - p.constants), outputs[k],
        is_differentiable(detail::block(outputs[k])->dtype) ? tape::Unrecorded::stopped : tape::Unrecorded::integer);
}

// Whether a tape will read the residuals.
bool keeps_residuals(const Primitive& p, Inputs inputs) noexcept {
  return p.residuals > 0 && any_followed(inputs.first(inputs.size() - p.constants));
}

// Whether the only output carries a gradient that reads no value, as for linear ops.
bool keeps_nothing(const Primitive& p, std::span<const Tensor> outputs) noexcept {
  return outputs.size() == 1 && p.rule.vjp && p.keeps[0].from == Keep::From::nothing && !p.keep_inputs &&
         is_differentiable(detail::block(outputs[0])->dtype);
}

void record_if_active(const Primitive& p, const Call& call, std::span<const Tensor> outputs) {
  if (!tape::active()) return;
  if (!keeps_nothing(p, outputs)) return record(p, call, outputs);
  const Tensor* result = outputs.data();
  tape::record(p.rule, call.inputs.first(call.inputs.size() - p.constants), {&result, 1}, {}, call.attributes);
}

// Makes the outputs: evaluated, or abstract if an input is abstract.
void evaluate(const Primitive& p, const Call& call, const Metas& metas, Outputs& out) {
  if (traced(call.inputs)) [[unlikely]]
    return trace(p, call, metas, out.residuals_wanted(), out.tensors());
  p.evaluate(call, out);
  if (CallListener* listener = call_listener()) [[unlikely]]
    listener->called(p, call, out.tensors());
}

// The output of a call whose only output is a view.
Tensor view_of(const Primitive& p, const Call& call, const Metas& metas) {
  Tensor y = view_of(metas.first(), call.inputs);
  if (CallListener* listener = call_listener()) [[unlikely]]
    listener->called(p, call, {&y, 1});
  return y;
}

[[gnu::noinline]] Tensor apply_dense(const Primitive& p, const Call& call, const Metas& metas) {
  Outputs out(metas, call.inputs, keeps_residuals(p, call.inputs));
  evaluate(p, call, metas, out);
  record_if_active(p, call, out.tensors());
  return std::move(out.tensors()[0]);
}

}  // namespace

bool unobserved(Inputs inputs) noexcept { return !tape::active() && !traced(inputs) && !call_listener(); }

Tensor apply(const Primitive& p, Inputs inputs, Attributes attributes) {
  const Call call{inputs, attributes};
  Metas metas;
  p.infer(call, metas);
  if (!metas.one_view()) return apply_dense(p, call, metas);
  if (Tracer* tracer = Tracer::current()) [[unlikely]]
    for (const Tensor* x : inputs) tracer->note(*x);
  Tensor y = view_of(p, call, metas);
  detail::require_known(p.rule.name, y);  // abstract as its input is
  record_if_active(p, call, {&y, 1});
  return y;
}

Tensor apply_announced(const Primitive& p, Inputs inputs, Attributes attributes, DType dtype, const Shape& shape) {
  if (traced(inputs) || call_listener()) [[unlikely]]
    return apply(p, inputs, attributes);
  const Call call{inputs, attributes};
  Tensor y = detail::empty(dtype, shape);
  Outputs out({&y, 1});
  p.evaluate(call, out);
  record_if_active(p, call, {&y, 1});
  return y;
}

void apply(const Primitive& p, Inputs inputs, Attributes attributes, std::span<Tensor> outputs) {
  const Call call{inputs, attributes};
  Metas metas;
  p.infer(call, metas);
  Outputs out(metas, inputs, keeps_residuals(p, inputs));
  evaluate(p, call, metas, out);
  record_if_active(p, call, out.tensors());
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
  evaluate(p, call, metas, out);
  for (std::size_t k = 0; k < outputs.size(); ++k) outputs[k] = std::move(out.tensors()[k]);
}

}  // namespace reel::ops
