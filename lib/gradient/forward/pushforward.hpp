// The forward pass over a recorded tape: tangents of sources to tangents of targets, by the rules' jvp.
#pragma once
#include <reel/tape.hpp>

#include "tape/tape.hpp"

namespace reel::autodiff {

/// The tangents of the targets for these tangents of the sources (one each; an empty handle is zero): the directional
/// derivative of what the tape recorded, through other sources too. An empty handle where a target does not depend on
/// a source with a tangent. Uses up nothing; what is active meanwhile records it.
/// The tape is this thread's, watches the sources and was not used; the tangents fit the sources: callers see to it.
/// NotDifferentiable at an op without a jvp.
std::vector<Tensor> pushforward(tape::Tape& tape, std::span<const Source> sources, std::span<const Tensor> tangents,
                                std::span<const Tensor> targets);

/// What lies between the sources and the targets.
struct Path {
  bool connected = false;   ///< whether a target depends on a source
  bool can_push = true;     ///< whether every op has a jvp, and none an override, which replaces a vjp alone
  bool one_by_one = false;  ///< whether a rule of the user's takes one cotangent at a time
};
Path path_between(tape::Tape& tape, std::span<const Source> sources, std::span<const Tensor> targets);

}  // namespace reel::autodiff
