// Capture: runs code without recording on the tapes of this thread, and finds out which tensors it reads that they
// follow. So a function becomes one entry, whose inputs are its arguments and captured tensors.
#pragma once
#include <map>
#include <reel/tape.hpp>
#include <set>

#include "tape/record.hpp"

namespace reel::tape {

/// While it lives, the tapes and accumulators that were active do not record; ops report to it instead. Tapes made
/// meanwhile record as usual. Captures nest: what an inner one captures, the outer one captures too.
class Capture {
 public:
  Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  ~Capture();

  /// The distinct tensors used so far that a hidden tape follows, in the order of first use.
  std::span<const Tensor> tensors() const noexcept { return tensors_; }
  /// The variables read that a hidden tape follows, in the order of construction. Their values are not among the
  /// tensors.
  std::vector<Variable> variables() const;
  /// The other variables that were read, with the first value read of each. They are constants, but a later run must
  /// read the same values.
  std::span<const Variable> constants() const noexcept { return constants_; }
  std::span<const Tensor> constant_values() const noexcept { return constant_values_; }
  /// Whether x is one of these tensors, or a value that was read of one of these variables.
  bool knows(const Tensor& x) const { return known_.contains(x.id()); }
  /// From here on, `tape` watches each captured tensor, and the variables.
  void watch_on(Tape* tape) noexcept { watcher_ = tape; }

  /// Whether a hidden tape follows x.
  bool hides(const detail::Block* x) const noexcept;
  /// Whether a hidden tape would follow a value read of the variable.
  bool would_follow(const Variable& v) const noexcept;
  /// The newest hidden tape.
  Tape* hidden() const noexcept { return outer_.top_; }
  /// Notes the inputs of an op, or the results of the code that ran.
  void note(std::span<const Tensor* const> inputs);
  void note(std::span<const Tensor> results);
  /// Notes that the variable was read, and the id of the value: an id that stands for this read alone.
  void note(const Variable& variable, std::uint64_t id);
  /// The same for a variable that no tape follows, hidden by this or an enclosing capture.
  void note_constant(const Variable& variable, const Tensor& value);
  Tape* watcher() const noexcept { return watcher_; }

  /// Whether this runs for an accumulator with a recording tape inside it: in a jvp of that accumulator, or in a trace
  /// or Capture inside them; or for a second derivative in reverse mode that takes tangents of its own, in a trace or
  /// marked by Tape::over_tangents.
  static bool in_forward_over_reverse() noexcept;
  /// The innermost capture of this thread; null if there is none.
  static Capture* innermost() noexcept { return detail::this_thread.state->capture; }

 private:
  void note(const Tensor& x);

  Suspend outer_;
  Tape* sentinel_;
  Tape* watcher_ = nullptr;
  Capture* below_;
  std::vector<Tensor> tensors_;
  std::map<std::uint64_t, Variable> variables_;  // by id
  std::vector<Variable> constants_;
  std::vector<Tensor> constant_values_;      // of constants_
  std::set<std::uint64_t> known_constants_;  // ids of constants_
  std::set<std::uint64_t> known_;            // ids of captured tensors, and of values read of variables
};

}  // namespace reel::tape
