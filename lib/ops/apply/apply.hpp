// The one way to run an op: evaluates a primitive, and records it on every tape that follows an input. It does once
// what no op repeats: allocation, recording, what a tape keeps, why a result is not followed, notice to observers.
#pragma once
#include <initializer_list>

#include "core/thread.hpp"
#include "ops/apply/primitive.hpp"

namespace reel::ops {

/// The output of a primitive with one output, recorded.
Tensor apply(const Primitive& primitive, Inputs inputs, Attributes attributes = {});
inline Tensor apply(const Primitive& primitive, std::initializer_list<const Tensor*> inputs,
                    Attributes attributes = {}) {
  return apply(primitive, Inputs(inputs.begin(), inputs.size()), attributes);
}
/// All outputs but residuals, recorded. `outputs` has room for exactly those.
void apply(const Primitive& primitive, Inputs inputs, Attributes attributes, std::span<Tensor> outputs);

/// The output of a primitive with one output, unrecorded: for fused derivatives of what no tape follows.
Tensor evaluate(const Primitive& primitive, std::initializer_list<const Tensor*> inputs, Attributes attributes = {});
/// All outputs, residuals too if they are `wanted`, unrecorded.
void evaluate(const Primitive& primitive, Inputs inputs, Attributes attributes, std::span<Tensor> outputs,
              bool residuals_wanted);

/// Whether a tape or accumulator that records follows one of them: then a derivative has to be an expression of
/// recorded ops, not a fused primitive.
template <class... T>
bool followed(const T&... x) noexcept {
  return tape::active() && (tape::followed(x) || ...);
}

/// The same of a list.
inline bool any_followed(Inputs inputs) noexcept {
  if (!tape::active()) return false;
  for (const Tensor* x : inputs)
    if (tape::followed(*x)) return true;
  return false;
}

/// Whether an op may write its result into the memory of an operand: it was given up, nobody else holds it, and neither
/// tapes nor observers nor a trace look on.
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

/// For tests: while it lives, sees each call of a primitive on this thread with its outputs, residuals included.
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
/// Null: nobody listens.
inline CallListener* call_listener() noexcept { return detail::this_thread.state->calls; }

}  // namespace reel::ops
