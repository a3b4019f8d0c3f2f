// Effects of traced bodies. The variables that a body assigns and the random streams that it draws from become further
// arguments and results, so that the body is a pure function of tensors.
#pragma once
#include <reel/control.hpp>

#include "gradient/control/composite.hpp"
#include "gradient/programs/traced.hpp"
#include "program/trace.hpp"

namespace reel::autodiff {

struct BodyEffects {
  /// The effects of a body that was traced inside the current trace.
  explicit BodyEffects(const Traced& body);
  BodyEffects() = default;

  std::vector<Variable> variables;
  std::vector<const Generator*> generators;
  std::vector<Variable> read;  // the variables that the body also reads

  std::size_t size() const noexcept { return variables.size() + generators.size(); }
  void add(const BodyEffects& other);
  /// The list, followed by the current values of the variables, then of the streams, in the current trace. TraceError
  /// if a tape follows one of the variables read, or if the body belongs to a function that may be run again for its
  /// derivative.
  std::vector<Tensor> with_values(const char* owner, std::span<const Tensor> list) const;
  /// Removes the new values, which begin at `first`, from a list, and makes them the current ones of the trace.
  void take_values(std::vector<Tensor>& list, std::size_t first) const;
};

/// The pure function: takes the values behind its first `arguments`, returns the new ones behind its first `results`.
detail::FlatFunction with_effects(const detail::FlatFunction& f, const BodyEffects& effects, std::size_t arguments,
                                  std::size_t results);
/// The loop with the values as further loop variables, behind its own.
detail::FlatLoop with_effects(const detail::FlatLoop& loop, const BodyEffects& effects);

}  // namespace reel::autodiff
