// Capture: runs code out of sight of the tapes of this thread and finds out what it reads that they follow. This is how
// a function becomes one entry: its arguments and what it captured are the entry's inputs.
#pragma once
#include <map>
#include <reel/tape.hpp>
#include <set>

#include "tape/record.hpp"

namespace reel::tape {

/// While it lives, the tapes and accumulators that were active do not record; ops still report to it. Tapes that are
/// made meanwhile record as usual. Captures nest: an inner one's world is part of the outer one's.
class Capture {
 public:
  Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  ~Capture();

  /// What was used so far and is followed by a hidden tape, in the order of first use, each once.
  std::span<const Tensor> tensors() const noexcept { return tensors_; }
  /// The variables that were read and that a hidden tape follows, in the order of their construction; their values are
  /// not among the tensors.
  std::vector<Variable> variables() const;
  /// The other variables that were read, and what was read first of each: constants, but a later run must read the
  /// same.
  std::span<const Variable> constants() const noexcept { return constants_; }
  std::span<const Tensor> constant_values() const noexcept { return constant_values_; }
  /// From here on, `tape` watches each tensor that is captured, and the variables.
  void watch_on(Tape* tape) noexcept { watcher_ = tape; }

  /// Whether a hidden tape follows x.
  bool hides(const detail::Block* x) const noexcept;
  /// Whether a hidden tape would follow what is read of the variable.
  bool would_follow(const Variable& v) const noexcept;
  /// The newest hidden tape.
  Tape* hidden() const noexcept { return outer_.top_; }
  /// Notes the inputs of an op, or what the code that ran gave.
  void note(std::span<const Tensor* const> inputs);
  void note(std::span<const Tensor> results);
  /// Notes that the variable was read, and the id of what was read: an id of this read's own.
  void note(const Variable& variable, std::uint64_t id);
  /// The same for a variable that no hidden tape follows, here and in the captures around this one.
  void note_constant(const Variable& variable, const Tensor& value);
  Tape* watcher() const noexcept { return watcher_; }

  /// The innermost of this thread, null if there is none.
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
