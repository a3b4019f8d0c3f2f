// Effects: what a primitive does besides giving outputs. Reads and assigns of variables and draws from generators pass
// through perform(), where a handler of this thread may look on, act in their place, or pass them on. With no handler
// they cost one load and one branch.
#pragma once
#include <reel/ops/make.hpp>

#include "core/thread.hpp"
#include "ops/apply/primitive.hpp"

namespace reel::ops {

/// A run of a primitive with an effect, before it has happened.
struct Effect {
  const Primitive& primitive;
  /// The primitive's inputs; where it reads variables, those behind the values of the variables.
  Inputs inputs = {};
  /// Those of a draw begin with the seed and the number of the first block, which are set where it is performed.
  std::span<std::int64_t> attributes = {};
  /// Distinct. A primitive that reads variables has their values as its first inputs. One that writes gives new values
  /// as its first outputs; the variables that are left over it only reads.
  std::span<const Variable> variables = {};
  /// Which a draw advances.
  Generator* generator = nullptr;
  /// Where outputs go that are no variable's new value.
  std::span<Tensor> outputs = {};
};

/// While it lives, effects of the given kinds on this thread go to it first. Handlers nest: the innermost has the first
/// word. What it calls meanwhile may have effects only by pass_on().
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
  /// To the handlers around this one, and at last to the variables and generators themselves.
  void pass_on(const Effect& effect) const { perform_from(outer_, effect); }

 private:
  friend void perform(const Effect& effect);
  friend const EffectHandler* handler_of(unsigned kinds) noexcept;
  static void perform_from(EffectHandler* handler, const Effect& effect);
  unsigned kinds_;
  EffectHandler* outer_;
};

/// The handler that effects of these kinds go to; null if there is none.
inline const EffectHandler* handler_of(unsigned kinds) noexcept {
  const EffectHandler* h = detail::this_thread.state->effects;
  while (h && !(h->kinds_ & kinds)) h = h->outer_;
  return h;
}
inline bool handled(unsigned kinds) noexcept { return handler_of(kinds) != nullptr; }
/// The one way to an effect. Not recorded, but for the outputs of a draw.
inline void perform(const Effect& effect) { EffectHandler::perform_from(detail::this_thread.state->effects, effect); }

/// Performs a draw at this place in the stream of a seed. No generator moves.
void draw_at(const Effect& effect, std::uint64_t seed, std::uint64_t first);

/// What a draw gives `offset` blocks behind the position of the stream: int64 [2], a generator's seed and position.
Tensor draw_from(const Tensor& stream, std::int64_t offset, const Effect& effect);

/// How evaluate_in_place() gets memory, and whether observers see the result.
struct InPlace {
  /// Memory for outputs that do not fit into their places, and for residuals; made where it is empty. Afterwards
  /// spare[k] is what output k has replaced.
  std::span<Tensor> spare = {};
  bool observed = false;
};
/// Evaluates a primitive that writes: output k replaces *places[k], in its own memory where nobody else holds that. The
/// places are the first inputs if it reads variables; `inputs` are the others. Strong guarantee.
void evaluate_in_place(const Primitive& primitive, std::span<Tensor* const> places, Inputs inputs,
                       Attributes attributes, const InPlace& options);

/// The same where each place has memory that nobody else holds, for as many outputs as there are places and no
/// residual: asks for no memory. `inputs` have room for the places in front. Nobody listens.
template <std::size_t Places>
void evaluate_in_own_memory(const Primitive& primitive, const std::array<Tensor*, Places>& places,
                            std::span<const Tensor*> inputs) {
  // The handles are borrowed, not doubled; they go back whatever happens.
  struct Borrowed {
    const std::array<Tensor*, Places>& from;
    std::array<Tensor, Places> values;
    ~Borrowed() {
      for (std::size_t k = 0; k < Places; ++k) *from[k] = std::move(values[k]);
    }
  } borrowed{places, {}};
  for (std::size_t k = 0; k < Places; ++k) {
    borrowed.values[k] = std::move(*places[k]);
    inputs[k] = &borrowed.values[k];
  }
  Outputs out(borrowed.values);
  primitive.evaluate({inputs, {}}, out);
  for (const Tensor& value : borrowed.values) detail::renew(detail::block(value));
}
/// Makes output k a copy of input k, unless it has its memory.
void copy_to_output(const Call& call, Outputs& out, std::size_t k);

}  // namespace reel::ops
