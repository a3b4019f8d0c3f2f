// Optional header: gradients one by one, while the reverse pass goes on. An optimiser can step a parameter, or a
// program send its gradient to other machines, before the gradients of earlier layers are computed.
#pragma once
#include <cstddef>
#include <reel/api.hpp>
#include <reel/callback.hpp>
#include <reel/tape.hpp>
#include <span>

namespace REEL_API reel {

/// Gets sources[k]'s gradient, which is final.
using FinalGradient = Callback<void(std::size_t k, const Gradient& gradient)>;

/// As tape.gradient(target, sources, options), but each gradient is handed to `f` as soon as it is final: when the
/// reverse pass has left the first op that reads the source. So the sources that are used last come first. A source
/// without such an op comes after the pass. f is called once per source, on this thread, and must not use the tape; an
/// exception of f ends the pass and propagates. The values have the bits of tape.gradient.
void for_each_gradient(GradientTape& tape, const Target& target, std::span<const Source> sources,
                       const FinalGradient& f, const GradientOptions& options = {});

}  // namespace reel
