// Effects: what a primitive does besides computing outputs. Reads and assigns of variables and draws from generators go
// through perform(), where a handler of this thread may observe them, replace them, or pass them on. Without a handler
// they cost one load and one branch.
#pragma once
#include <reel/ops/make.hpp>

#include "core/thread.hpp"
#include "ops/apply/primitive.hpp"

namespace reel::ops {

/// A call of a primitive with an effect, before it is performed.
struct Effect {
  const Primitive& primitive;
  /// The inputs of the primitive. If it reads variables, their values come first and are not in this list.
  Inputs inputs = {};
  /// Attributes of a draw begin with the seed and the number of the first block, which are set when it is performed.
  std::span<std::int64_t> attributes = {};
  /// Distinct. A primitive that reads variables takes their values as its first inputs. One that writes returns new
  /// values as its first outputs; the remaining variables are only read.
  std::span<const Variable> variables = {};
  /// The generator that a draw advances.
  Generator* generator = nullptr;
  /// Outputs that are not the new value of a variable.
  std::span<Tensor> outputs = {};
};

/// While it lives, effects of the given kinds on this thread go to this handler first. Handlers nest, the innermost
/// first. What a handler calls has effects only through pass_on().
class EffectHandler {
 public:
  EffectHandler(const EffectHandler&) = delete;
  EffectHandler& operator=(const EffectHandler&) = delete;
  virtual void perform(const Effect& effect) = 0;

 protected:
  /// `kinds`: bits of Effects.
  explicit EffectHandler(unsigned kinds) : kinds_(kinds), outer_(detail::thread_state().effects) {
    detail::this_thread.state->effects = this;
  }
  ~EffectHandler() { detail::this_thread.state->effects = outer_; }
  /// Passes the effect to the handlers around this one, and finally to the variables and generators themselves.
  void pass_on(const Effect& effect) const { perform_from(outer_, effect); }

 private:
  friend void perform(const Effect& effect);
  friend const EffectHandler* handler_of(unsigned kinds) noexcept;
  static void perform_from(EffectHandler* handler, const Effect& effect);
  unsigned kinds_;
  EffectHandler* outer_;
};

/// The handler for effects of these kinds; null if there is none.
inline const EffectHandler* handler_of(unsigned kinds) noexcept {
  const EffectHandler* h = detail::this_thread.state->effects;
  while (h && !(h->kinds_ & kinds)) h = h->outer_;
  return h;
}
inline bool handled(unsigned kinds) noexcept { return handler_of(kinds) != nullptr; }
/// Performs an effect; the only way to do so. Only the outputs of a draw are recorded.
inline void perform(const Effect& effect) { EffectHandler::perform_from(detail::this_thread.state->effects, effect); }

/// Performs a draw at this position in the stream of a seed. No generator advances.
void draw_at(const Effect& effect, std::uint64_t seed, std::uint64_t first);

/// The outputs of a draw `offset` blocks behind the position of the stream, an int64 [2] tensor: seed and position.
Tensor draw_from(const Tensor& stream, std::int64_t offset, const Effect& effect);

/// How evaluate_in_place() gets memory, and whether observers see the result.
struct InPlace {
  /// Memory for outputs that cannot be written in place, and for residuals; allocated where empty. Afterwards spare[k]
  /// holds what output k has replaced.
  std::span<Tensor> spare = {};
  bool observed = false;
};
/// Evaluates a primitive that writes: output k replaces *places[k], in its own memory if no other handle holds that. If
/// the primitive reads variables, the places are its first inputs; `inputs` are the others. Strong guarantee.
void evaluate_in_place(const Primitive& primitive, std::span<Tensor* const> places, Inputs inputs,
                       Attributes attributes, const InPlace& options);

/// The same without allocations, if every place has memory that no other handle holds, and there are as many outputs as
/// places and no residuals. `inputs` has room for the places in front. There must be no listener.
template <std::size_t Count>
void evaluate_in_own_memory(const Primitive& primitive, const std::array<Tensor*, Count>& places,
                            std::span<const Tensor*> inputs) {
  // The handles are moved in, not copied, and moved back in any case.
  struct Borrowed {
    const std::array<Tensor*, Count>& from;
    std::array<Tensor, Count> values;
    ~Borrowed() {
      for (std::size_t k = 0; k < Count; ++k) *from[k] = std::move(values[k]);
    }
  } borrowed{places, {}};
  for (std::size_t k = 0; k < Count; ++k) {
    borrowed.values[k] = std::move(*places[k]);
    inputs[k] = &borrowed.values[k];
  }
  Outputs out(borrowed.values);
  primitive.evaluate({inputs, {}}, out);
  for (const Tensor& value : borrowed.values) detail::renew(detail::block(value));
}
/// Whether dtypes, shapes and the bits of all elements are equal.
bool same_bits(const Tensor& a, const Tensor& b);
/// Makes output k a copy of input k, unless they share memory.
void copy_to_output(const Call& call, Outputs& out, std::size_t k);

}  // namespace reel::ops
