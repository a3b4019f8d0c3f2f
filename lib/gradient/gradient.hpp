// What replay, forward mode and explain share: reasons for a missing gradient, and access to Gradient's insides.
#pragma once
#include <reel/tape.hpp>

#include "tape/tape.hpp"

namespace reel::autodiff {

using Gradients = detail::List<Gradient>;
inline std::vector<Gradient> as_vector(Gradients list) {
  return {std::move_iterator(list.begin()), std::move_iterator(list.end())};
}

/// Why there is no gradient: a code, with the op (or variable) it is about, that op's number on the tape, and the line
/// that called it.
struct Reason {
  WhyNone why = WhyNone::unknown;
  std::string op{};
  std::int64_t index = 0;
  tape::Site site{};
};
/// In words.
std::string describe(const Reason& reason);

/// The slot of a source on the tape, tape::no_slot if it is not followed.
std::uint32_t slot_of(const tape::Tape& tape, const Source& source) noexcept;
/// The same of a target: of the value, or where that was read unseen, of the variable.
std::uint32_t slot_of(const tape::Tape& tape, const Target& target) noexcept;
std::uint32_t slot_of(const tape::Tape& tape, const Tensor& x) noexcept;
/// By slot: whether a target was computed from it, stopped or not.
std::vector<bool> useful_slots(const tape::Tape& tape, std::span<const Target> targets);
/// Why no gradient of the targets reached the source. Reads no entry: replay may have dropped them. `stopped`: a target
/// was computed from the source, so stop_gradients ended the path.
Reason why_none(const tape::Tape& tape, std::span<const Target> targets, const Source& source, bool stopped = false);
/// For tape.explain.
std::string explain(const tape::Tape& tape, std::span<const Target> targets, std::span<const Source> sources);

inline Shape shape_of(const Source& s) { return s.is_variable() ? s.variable().shape() : s.tensor().shape(); }
inline DType dtype_of_source(const Source& s) { return s.is_variable() ? s.variable().dtype() : s.tensor().dtype(); }

/// The extents of a, then those of b.
Shape join(const Shape& a, const Shape& b);

/// What every reverse pass checks of its arguments, and the tape: it belongs to this thread and is not used up.
void check(const char* who, const tape::Tape& tape, std::span<const Target> targets, std::span<const Source> sources,
           const GradientOptions& options);

/// The reverse pass: one gradient per source. Arguments checked first; uses up a tape that is not persistent. `who` is
/// named in errors.
Gradients replay(tape::Tape& tape, std::span<const Target> targets, std::span<const Source> sources,
                 const GradientOptions& options, const char* who = "GradientTape.gradient");

/// `count` reverse passes from one target, many in each sweep: cotangent i is 1 at the elements i, i + count, ... of
/// the target. The results stand along a leading axis: [count] + the source's shape, dense; none where all are. Checks,
/// records and uses up as replay does. TypeError for a complex target.
Gradients replay_rows(const char* who, tape::Tape& tape, const Target& target, std::span<const Source> sources,
                      UnconnectedGradients unconnected, std::int64_t count);

/// The same for cotangents that are given: [count] + the target's shape, of its dtype.
Gradients replay_batch(const char* who, tape::Tape& tape, const Target& target, std::span<const Source> sources,
                       UnconnectedGradients unconnected, const Tensor& cotangents);

/// The derivatives of the target by each source, of shape target.shape + source.shape. ShapeError beyond max_rank.
Gradients jacobian(const char* who, tape::Tape& tape, const Target& target, std::span<const Source> sources,
                   UnconnectedGradients unconnected);

/// The Jacobian of each element of a batch: see GradientTape::batch_jacobian.
Gradient batch_jacobian(const char* who, tape::Tape& tape, const Target& target, const Source& source,
                        UnconnectedGradients unconnected);

/// Whether the op of the entry has a jvp.
bool has_jvp(const tape::Entry& entry) noexcept;
/// Numbers of the gradients that replace others on this thread, the innermost first; each guard has one of its own.
detail::List<std::int64_t> overrides_in_force();

/// The tape is used up: it holds nothing from here on but the list of what it watched.
void use_up(tape::Tape& tape) noexcept;

/// The gradient function that an OverrideGuard of this thread puts in place of the op's own; null if none.
struct Override;
inline const Override* overrides() noexcept { return detail::this_thread.state->overrides; }  // the newest
const Override* look_up_override(const char* name) noexcept;
inline const Override* find_override(const char* name) noexcept {
  return overrides() ? look_up_override(name) : nullptr;
}
void call_override(const Override& override, const tape::Tape& tape, const tape::Record& record,
                   const tape::Entry& entry, std::span<const Tensor> g, std::span<Gradient> dx);

}  // namespace reel::autodiff

namespace reel {

struct GradientAccess {
  static Gradient none(autodiff::Reason reason);
  /// The tensor of a dense gradient, taken out: replay adds into it.
  static Tensor& value(Gradient& g) noexcept { return g.value_; }
  /// The same to look at.
  static const Tensor& value(const Gradient& g) noexcept { return g.value_; }
  /// Neither a gradient nor a reason for having none.
  static bool blank(const Gradient& g) noexcept { return !g.value_.defined() && !g.extra_; }
};

}  // namespace reel
