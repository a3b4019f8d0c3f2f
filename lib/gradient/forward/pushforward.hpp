// The forward pass over a recorded tape: from tangents of sources to tangents of targets, by the jvp of each rule.
#pragma once
#include <optional>
#include <reel/tape.hpp>

#include "tape/tape.hpp"

namespace reel::autodiff {

/// The tangents of the targets along the tangents of the sources (one each; an empty handle is zero): the directional
/// derivative of what the tape recorded, including paths through other sources. Empty where a target depends on no
/// source with a tangent. Does not use up the tape; active tapes record it. Preconditions: the tape belongs to this
/// thread, watches the sources and is not used up, and the tangents fit the sources. NotDifferentiable at an op without
/// a jvp.
std::vector<Tensor> pushforward(tape::Tape& tape, std::span<const Source> sources, std::span<const Tensor> tangents,
                                std::span<const Tensor> targets);

/// The ops between the sources and the targets. An op without a jvp inside a function that is one entry is not seen:
/// pushforward throws NotDifferentiable there.
struct Path {
  bool connected = false;    ///< whether a target depends on a source
  bool can_push = true;      ///< whether every entry has a jvp, and no override, which replaces a vjp alone, may apply
  bool one_by_one = false;   ///< whether a rule of the user's takes one cotangent at a time
  bool linear = true;        ///< whether the reverse pass is known to be linear: no rule of the user's, no loop or
                             ///< compiled call, none that depends on the zeros of a cotangent
  std::int64_t largest = 0;  ///< elements of the largest tensor
};
Path path_between(tape::Tape& tape, std::span<const Source> sources, std::span<const Tensor> targets);

/// f(), which pushes forward along a path that can_push; nothing where it meets an op without a jvp inside a function
/// that is one entry, which path_between does not see.
template <class F>
auto if_differentiable(const F& f) -> std::optional<decltype(f())> {
  try {
    return f();
  } catch (const NotDifferentiable&) {
    return std::nullopt;
  }
}

}  // namespace reel::autodiff
