// What looks on while ops run: anomaly detection, tracing, the Chrome trace, source locations. With all of them off an
// op pays two loads and a branch at either end of its OpScope. With one on that sees every op, a tape that records
// nothing lies below this thread's tapes, so that ops find active() true and report through record() and
// note_unrecorded().
#pragma once
#include <functional>
#include <map>
#include <reel/debug.hpp>
#include <reel/gradient.hpp>
#include <span>
#include <string>
#include <vector>

#include "core/thread.hpp"

namespace reel::tape {

struct Tape;
struct Entry;
class Record;

/// What is on, on this thread.
enum Watching : std::uint8_t {
  watch_sites = 1,
  watch_lines = 2,
  watch_anomalies = 4,
  watch_times = 8,
  watch_program = 32,  // a function is traced: no op takes a way around apply(), or writes into a tensor
  watch_error = detail::ThreadState::error_awaits_line  // one was thrown: scopes that it leaves add the caller's line
};
inline std::uint8_t watching() noexcept { return detail::this_thread.state->watching; }
void set_watching(Watching what, bool on);

/// A line of the user's program. The text is a literal of the compiler's.
struct Site {
  const char* file = nullptr;
  int line = 0;
  friend bool operator<(const Site& a, const Site& b) noexcept {
    return a.file != b.file ? std::less<>()(a.file, b.file) : a.line < b.line;
  }
};
/// `before` and then "model.cpp:12"; empty when unknown.
std::string to_string(const Site& site, std::string_view before = {});

/// Each distinct site once; number 0 is the unknown one.
class Sites {
 public:
  std::uint32_t add(const Site& site);
  std::uint32_t find(const Site& site) const noexcept;
  Site operator[](std::uint32_t i) const noexcept { return i ? list_[i - 1] : Site{}; }
  void clear() noexcept;

 private:
  std::vector<Site> list_;
  std::map<Site, std::uint32_t> numbers_;
};

/// What is known of an op or a rule that runs. Left uninitialised while nothing looks on.
struct Frame {
  const char* file;
  int line;
  bool rule;
  std::int64_t start;
  Frame* outer;
};

/// Begins a frame. First drops the error that awaits a line: it was an earlier op's. Does nothing more when no other
/// flag of `Watching` is set. std::bad_alloc when this thread has no state yet and there is no memory for one.
void enter(Frame& frame, const Site& site, bool rule);
/// Ends the frame, if it began.
void leave(const Frame& frame) noexcept;
/// The same, and gives an error that leaves an op the line of its operand, if there is one.
void leave(const Frame& frame, const Operand* operand) noexcept;
/// The line of the op that runs now, and whether a rule does.
Site here() noexcept;
bool in_rule() noexcept;

/// The scope of one op, at its entry: knows the user's line and when it began. Inside another op's, the outer line
/// holds: it is the user's. An error that leaves it gets the line: fail() sets watch_error, so that only what throws
/// pays for that.
class OpScope {
 public:
  OpScope() : operand_(nullptr) {
    if (watching()) [[unlikely]]
      enter(frame_, {}, false);
  }
  explicit OpScope(const Operand& x) : operand_(&x) {
    if (watching()) [[unlikely]]
      enter(frame_, {x.file(), x.line()}, false);
  }
  OpScope(const OpScope&) = delete;
  OpScope& operator=(const OpScope&) = delete;
  ~OpScope() {
    if (watching()) [[unlikely]]
      leave(frame_, operand_);
  }

 private:
  const Operand* operand_;
  Frame frame_;  // left uninitialised unless something looks on
};

/// While it lives, results are not looked at.
class QuietScope {
 public:
  QuietScope() : entered_(watching() != 0) {
    if (entered_) enter(frame_, here(), true);
  }
  QuietScope(const QuietScope&) = delete;
  QuietScope& operator=(const QuietScope&) = delete;
  ~QuietScope() {
    if (entered_) leave(frame_);
  }

 private:
  bool entered_;
  Frame frame_;
};

/// While an entry's rule runs: ops in it have the entry's line, and only what the rule gives is looked at. Checks that
/// borrowed memory which the entry saved is what it was.
class RuleScope {
 public:
  inline RuleScope(const Tape& tape, const Entry& entry);
  RuleScope(const RuleScope&) = delete;
  RuleScope& operator=(const RuleScope&) = delete;
  ~RuleScope() {
    if (entered_) [[unlikely]]
      leave_watched();
  }

 private:
  void enter_watched(const Tape& tape, const Entry& entry);
  void leave_watched();
  bool entered_;
  Frame frame_;
};

/// An op has computed outputs from inputs. ValueError under an AnomalyGuard. Call it when watching.
void observe(const char* name, std::span<const Tensor* const> inputs, std::span<const Tensor* const> outputs);
/// The same without the anomalies.
void observe_time(const char* name, std::span<const Tensor* const> inputs,
                  std::span<const Tensor* const> outputs) noexcept;
/// A rule has given gradients dx for cotangents g, or tangents dy for tangents t.
void observe_vjp(const Record& record, std::span<const Tensor> g, std::span<const Gradient> dx);
void observe_jvp(const Record& record, std::span<const Tensor> t, std::span<const Tensor> dy);
/// Sums up the borrowed memory among saved values, for the tape's later check.
void note_borrowed(Tape& tape, std::span<const Tensor* const> saved);
/// ValueError when borrowed memory that the entry saved has changed since.
void check_borrowed(const Tape& tape, const Entry& entry);

/// Nanoseconds of a clock that never goes back.
std::int64_t now() noexcept;
/// Adds an event that ends now to the Chrome traces that this thread's ops go to.
void add_event(const char* name, const char* category, std::int64_t start, const Site& site,
               std::span<const Tensor* const> inputs, std::span<const Tensor* const> outputs) noexcept;
/// "float64 [2, 3]", "none" for an empty handle.
std::string describe(const Tensor& x);

/// Puts the tape that records nothing below all stacks of this thread, or takes it off them.
void lay_observer();
void lift_observer() noexcept;

}  // namespace reel::tape
