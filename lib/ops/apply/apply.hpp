// Evaluates a primitive and records it on every tape that follows an input: allocation, what a tape keeps, why a result
// is not followed, notification of observers. Pointwise ops have a shorter way in pointwise.hpp; ops with effects come
// from effect.hpp.
#pragma once
#include <initializer_list>

#include "core/thread.hpp"
#include "ops/apply/primitive.hpp"

namespace reel::ops {

/// The output of a primitive with a single output, recorded.
Tensor apply(const Primitive& primitive, Inputs inputs, Attributes attributes = {});
inline Tensor apply(const Primitive& primitive, std::initializer_list<const Tensor*> inputs,
                    Attributes attributes = {}) {
  return apply(primitive, Inputs(inputs.begin(), inputs.size()), attributes);
}
/// All outputs but residuals, recorded. `outputs` has one element for each.
void apply(const Primitive& primitive, Inputs inputs, Attributes attributes, std::span<Tensor> outputs);

/// apply() of a primitive with a single output, no view, and no residuals, whose dtype and shape the caller announces:
/// they are inferred only for a trace.
Tensor apply_announced(const Primitive& primitive, Inputs inputs, Attributes attributes, DType dtype,
                       const Shape& shape);

/// The output of a primitive with a single output, unrecorded: for fused derivatives of values that no tape follows.
Tensor evaluate(const Primitive& primitive, std::initializer_list<const Tensor*> inputs, Attributes attributes = {});
/// All outputs, including residuals if they are `wanted`, unrecorded.
void evaluate(const Primitive& primitive, Inputs inputs, Attributes attributes, std::span<Tensor> outputs,
              bool residuals_wanted);

/// Whether a recording tape or accumulator follows one of them. If so, a derivative must be an expression of recorded
/// ops, not a fused primitive.
template <class... T>
bool followed(const T&... x) noexcept {
  return tape::active() && (tape::followed(x) || ...);
}

/// The same for a list.
inline bool any_followed(Inputs inputs) noexcept {
  if (!tape::active()) return false;
  for (const Tensor* x : inputs)
    if (tape::followed(*x)) return true;
  return false;
}

/// Whether an op may write its result into the memory of an operand: the operand was passed as an rvalue, no other
/// handle holds it, and no tape, observer or trace is active.
inline bool given_up(const Operand& x) noexcept {
  if (x.kind() != detail::OperandKind::rvalue || !x.tensor().defined()) return false;
  const detail::Block* b = detail::block(x.tensor());
  return b->plain() && detail::reusable(b) && !tape::active() && !tape::watching() &&
         !detail::this_thread.state->tracer;
}

/// Attributes of all kinds as words, in the order given.
template <class... T>
constexpr std::array<std::int64_t, sizeof...(T)> words(const T&... values) {
  const auto word = []<class V>(const V& v) -> std::int64_t {
    if constexpr (std::is_floating_point_v<V>)
      return std::bit_cast<std::int64_t>(static_cast<double>(v));
    else
      return static_cast<std::int64_t>(v);
  };
  return {word(values)...};
}

/// For tests. While it exists, it observes each call of a primitive on this thread, with its outputs and residuals.
class CallListener {
 public:
  CallListener(const CallListener&) = delete;
  CallListener& operator=(const CallListener&) = delete;
  virtual void called(const Primitive& primitive, const Call& call, std::span<const Tensor> outputs) = 0;

 protected:
  CallListener() : outer_(detail::thread_state().calls) { detail::this_thread.state->calls = this; }
  ~CallListener() { detail::this_thread.state->calls = outer_; }

 private:
  CallListener* outer_;
};
/// Null if nobody listens.
inline CallListener* call_listener() noexcept { return detail::this_thread.state->calls; }

}  // namespace reel::ops
