// Shared by replay, forward mode and explain: reasons for a missing gradient, and access to the members of Gradient.
#pragma once
#include <reel/tape.hpp>

#include "tape/tape.hpp"

namespace reel::autodiff {

using Gradients = detail::List<Gradient>;
inline std::vector<Gradient> as_vector(Gradients list) {
  return {std::move_iterator(list.begin()), std::move_iterator(list.end())};
}

/// Why there is no gradient: a code, the op or variable concerned, the number of that op on the tape, and the line that
/// called it.
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
/// The slot of a target: that of its value, or of the variable if the value was read unrecorded.
std::uint32_t slot_of(const tape::Tape& tape, const Target& target) noexcept;
std::uint32_t slot_of(const tape::Tape& tape, const Tensor& x) noexcept;
/// For each slot, whether a target depends on it, including paths that were stopped.
std::vector<bool> useful_slots(const tape::Tape& tape, std::span<const Target> targets);
/// Why no gradient reached the source from the targets. Reads no entry: replay may have dropped them. `stopped`: a
/// target depends on the source, so stop_gradients cut the path.
Reason why_none(const tape::Tape& tape, std::span<const Target> targets, const Source& source, bool stopped = false);
/// The same for tape.explain.
std::string explain(const tape::Tape& tape, std::span<const Target> targets, std::span<const Source> sources);

inline Shape shape_of(const Source& s) { return s.is_variable() ? s.variable().shape() : s.tensor().shape(); }
inline DType dtype_of_source(const Source& s) { return s.is_variable() ? s.variable().dtype() : s.tensor().dtype(); }

/// The extents of a, then those of b.
Shape join(const Shape& a, const Shape& b);

/// Checks the arguments of a reverse pass, and that the tape belongs to this thread and is not used up.
void check(const char* who, const tape::Tape& tape, std::span<const Target> targets, std::span<const Source> sources,
           const GradientOptions& options);

/// What a caller does with gradients that are slices.
enum class Slices : std::uint8_t {
  kept,      // it hands them on
  densified  // it makes tensors of them: their terms may be added to one tensor at once
};

/// The reverse pass: one gradient per source. Arguments are checked first; a tape that is not persistent is used up.
/// `who` is named in errors.
Gradients replay(tape::Tape& tape, std::span<const Target> targets, std::span<const Source> sources,
                 const GradientOptions& options, const char* who = "GradientTape.gradient",
                 Slices slices = Slices::kept);

/// Arranges stacked rows as the result for a source, as a part of the replay.
using ArrangeRows = Tensor (*)(const Tensor& rows, const Shape& of_target, const Shape& of_source);

/// `count` reverse passes from one target, many at once: cotangent i is 1 at the elements i, i + count, ... of the
/// target. The results are stacked along a leading axis, [count] + the source's shape, dense, then arranged; none if
/// all are. Checks, records and uses up the tape as replay does. TypeError for a complex target.
Gradients replay_rows(const char* who, tape::Tape& tape, const Target& target, std::span<const Source> sources,
                      UnconnectedGradients unconnected, std::int64_t count, ArrangeRows arrange = nullptr);

/// The same for given cotangents: [count] + the target's shape, in its dtype.
Gradients replay_batch(const char* who, tape::Tape& tape, const Target& target, std::span<const Source> sources,
                       UnconnectedGradients unconnected, const Tensor& cotangents);

/// The reverse pass for `rows` cotangents of every target at once: a leading axis of each cotangent and gradient.
/// Checks, records and uses up the tape as replay does.
Gradients replay_together(tape::Tape& tape, std::span<const Target> targets, std::span<const Source> sources,
                          Gradients cotangents, std::int64_t rows);

/// The Jacobians of the target by each source, of shape target.shape + source.shape. ShapeError beyond max_rank.
Gradients jacobian(const char* who, tape::Tape& tape, const Target& target, std::span<const Source> sources,
                   UnconnectedGradients unconnected);

/// The Jacobian of each element of a batch: see GradientTape::batch_jacobian.
Gradient batch_jacobian(const char* who, tape::Tape& tape, const Target& target, const Source& source,
                        UnconnectedGradients unconnected);

/// Whether the op of the entry has a jvp.
bool has_jvp(const tape::Entry& entry) noexcept;
/// The ids of the active overrides of this thread, the innermost first; each guard has its own id.
detail::List<std::int64_t> overrides_in_force();

/// Uses up the tape: only the list of watched variables remains.
void use_up(tape::Tape& tape) noexcept;

/// The gradient function that an OverrideGuard of this thread substitutes for the op's own; null if none does.
struct Override;
inline const Override* overrides() noexcept { return detail::this_thread.state->overrides; }  // the newest
const Override* look_up_override(const char* name) noexcept;
inline const Override* find_override(const char* name) noexcept {
  return overrides() ? look_up_override(name) : nullptr;
}
void call_override(const Override& override, const tape::Record& record, const tape::Entry& entry,
                   std::span<const Tensor> g, std::span<Gradient> dx);

}  // namespace reel::autodiff

namespace reel {

struct GradientAccess {
  static Gradient none(autodiff::Reason reason);
  /// The tensor of a dense gradient, moved out: replay adds to it in place.
  static Tensor& value(Gradient& g) noexcept { return g.value_; }
  /// The same by reference.
  static const Tensor& value(const Gradient& g) noexcept { return g.value_; }
  /// Whether it is none without a reason.
  static bool blank(const Gradient& g) noexcept { return !g.value_.defined() && !g.extra_; }
};

}  // namespace reel
