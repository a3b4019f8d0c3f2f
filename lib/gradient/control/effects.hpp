// Effects of traced bodies. The variables that a body assigns and the random streams that it draws from become further
// arguments and results, in front of its own, so that the body is a pure function of tensors.
#pragma once
#include <optional>
#include <reel/control.hpp>

#include "gradient/control/composite_entry.hpp"
#include "gradient/programs/traced_function.hpp"

namespace reel::autodiff {

struct BodyEffects {
  std::vector<Variable> variables;  // that are assigned
  std::vector<const Generator*> generators;
  std::vector<Variable> read;  // the variables that are also read

  bool any() const noexcept { return !variables.empty() || !generators.empty(); }
  /// Adds those of a body that was traced inside the current trace.
  void add(const Traced& body);
  /// The current values of the variables, then of the streams, in the current trace.
  Tensors values() const;
  /// Calls pure bodies with the current values, and makes the new ones, the first results, the current ones. Returns
  /// the other results. TraceError if a tape follows one of the variables read, or if the body belongs to a function
  /// that may be run again for its derivative.
  std::optional<Tensors> perform(const char* owner, const Callback<std::optional<Tensors>(TensorSpan)>& call) const;

 private:
  void check(const char* owner) const;
};

/// The pure function.
detail::FlatFunction with_effects(const detail::FlatFunction& f, const BodyEffects& effects);
/// The loop with the values as further loop variables. A condition gets them and returns none.
detail::FlatLoop with_effects(const detail::FlatLoop& loop, const BodyEffects& effects);

}  // namespace reel::autodiff
