// What replay, forward mode and explain share: reasons for a missing gradient, and access to Gradient's insides.
#pragma once
#include <reel/tape.hpp>

#include "tape/tape.hpp"

namespace reel::autodiff {

/// Why there is no gradient: a code, with the op (or variable) it is about and that op's number on the tape.
struct Reason {
  WhyNone why = WhyNone::unknown;
  std::string op;
  std::int64_t index = 0;
};
/// In words.
std::string describe(const Reason& reason);

/// The slot of a source on the tape, tape::no_slot if it is not followed.
std::uint32_t slot_of(const tape::Tape& tape, const Source& source) noexcept;
std::uint32_t slot_of(const tape::Tape& tape, const Tensor& x) noexcept;
/// Why no gradient of the targets reached the source.
Reason why_none(const tape::Tape& tape, std::span<const Target> targets, const Source& source);
/// For tape.explain.
std::string explain(const tape::Tape& tape, std::span<const Target> targets, std::span<const Source> sources);

/// The reverse pass: one gradient per source. Arguments checked first; uses up a tape that is not persistent. `op` is
/// whose errors they are.
std::vector<Gradient> replay(tape::Tape& tape, std::span<const Target> targets, std::span<const Source> sources,
                             const GradientOptions& options, const char* op = "GradientTape.gradient");

/// The gradient function that an OverrideGuard of this thread puts in place of the op's own; null if none.
struct Override;
const Override* find_override(const char* name) noexcept;
void call_override(const Override& override, const tape::Record& record, const tape::Entry& entry,
                   std::span<const Tensor> g, std::span<Gradient> dx);

}  // namespace reel::autodiff

namespace reel {

struct GradientAccess {
  static Gradient none(autodiff::Reason reason);
  /// The tensor of a dense gradient, taken out: replay adds into it.
  static Tensor& value(Gradient& g) noexcept { return g.value_; }
};

}  // namespace reel
