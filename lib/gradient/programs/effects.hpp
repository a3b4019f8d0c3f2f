// Effects of bodies that are traced: the variables that a body assigns and the streams that it draws from become
// further values that it gets and gives, so that it is a function of tensors alone.
#pragma once
#include <reel/control.hpp>

#include "gradient/programs/traced.hpp"
#include "program/trace.hpp"

namespace reel::autodiff {

struct BodyEffects {
  /// What a body did that was traced in the trace of this thread.
  explicit BodyEffects(const Traced& body);
  BodyEffects() = default;

  std::vector<Variable> variables;
  std::vector<const Generator*> generators;
  std::vector<Variable> read;  // of the variables: those that the body also reads

  std::size_t size() const noexcept { return variables.size() + generators.size(); }
  void add(const BodyEffects& other);
  /// The list, and behind it the values of the variables, then of the streams, where the trace of this thread stands.
  /// TraceError if a tape follows one of the variables that are read, or if the body is a part of a function that may
  /// be run again for its derivative.
  std::vector<Tensor> with_values(const char* owner, std::span<const Tensor> list) const;
  /// Takes them out of a list in which they begin at `first`: the trace of this thread has them from here on.
  void take_values(std::vector<Tensor>& list, std::size_t first) const;
};

/// The function, which gets the values behind its first `arguments`, and gives them behind its first `results`.
detail::FlatFunction with_effects(const detail::FlatFunction& f, const BodyEffects& effects, std::size_t arguments,
                                  std::size_t results);
/// The loop with the values as further loop variables, behind its own.
detail::FlatLoop with_effects(const detail::FlatLoop& loop, const BodyEffects& effects);

}  // namespace reel::autodiff
