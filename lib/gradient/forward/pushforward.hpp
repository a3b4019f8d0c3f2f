// The forward pass over a recorded tape: tangents of sources to tangents of targets, by the rules' jvp.
#pragma once
#include <reel/tape.hpp>

#include "tape/tape.hpp"

namespace reel::autodiff {

/// The tangents of the targets for these tangents of the sources (one each; an empty handle is zero): the directional
/// derivative of what the tape recorded, through other sources too. An empty handle where a target does not depend on
/// a source with a tangent. Uses up nothing; what is active meanwhile records it.
/// ValueError, ShapeError or TypeError when the tangents do not fit the sources, TapeError for a tape whose saved
/// values are gone, NotDifferentiable at an op without a jvp.
std::vector<Tensor> pushforward(tape::Tape& tape, std::span<const Source> sources, std::span<const Tensor> tangents,
                                std::span<const Tensor> targets);

/// Whether every op between the sources and the targets has the library's own jvp.
bool can_push(tape::Tape& tape, std::span<const Source> sources, std::span<const Tensor> targets);

}  // namespace reel::autodiff
