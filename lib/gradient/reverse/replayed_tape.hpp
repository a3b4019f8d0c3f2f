// A tape while gradients or tangents are computed from its entries.
#pragma once
#include "gradient/gradient.hpp"

namespace reel::autodiff {

/// One that is not persistent leaves the stack before, and is used up afterwards, even by an exception: it keeps only
/// the list of what it watched.
class ReplayedTape {
 public:
  explicit ReplayedTape(tape::Tape& t) : tape_(off_the_stack(t)) {}
  ReplayedTape(const ReplayedTape&) = delete;
  ReplayedTape& operator=(const ReplayedTape&) = delete;
  ~ReplayedTape() {
    if (uses_up_) use_up(tape_);
  }
  bool uses_up() const noexcept { return uses_up_; }
  /// Leaves the entries for another replay.
  void keep() noexcept { uses_up_ = false; }
  /// Counts what was recorded since the constructor on a tape that records its own replay. Warns, once per tape, when
  /// such entries are more than eight times the others.
  void count_entries(const char* who) const {
    if (uses_up_) return;
    tape_.replay_entries = tape_.entries.count() - forward_;
    if (tape_.replay_entries > 8 * forward_ && !tape_.warned_growth) [[unlikely]]
      warn_of_growth(who);
  }

 private:
  static tape::Tape& off_the_stack(tape::Tape& t) {
    if (!t.options.persistent && t.status == tape::Tape::Status::on_stack) tape::pop(&t);
    return t;
  }
  [[gnu::cold, gnu::noinline]] void warn_of_growth(const char* who) const;

  tape::Tape& tape_;
  bool uses_up_ = !tape_.options.persistent;
  const std::int64_t forward_ = tape_.entries.count() - tape_.replay_entries;
  const tape::Replaying replaying_{tape_};  // a gradient function may destroy the tape
};

}  // namespace reel::autodiff
