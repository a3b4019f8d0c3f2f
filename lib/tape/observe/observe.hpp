// Observers of running ops: anomaly detection, tracing, the Chrome trace, source locations. If all of them are off, an
// op pays two loads and a branch at either end of its OpScope. If one that sees every op is on, a tape that records
// nothing is below this thread's tapes, so that ops find active() true and report through record() and
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

/// The observers that are active on this thread.
enum Watching : std::uint8_t {
  watch_sites = 1,
  watch_lines = 2,
  watch_anomalies = 4,
  watch_times = 8,
  watch_program = 32,  // a function is traced: every op must go through apply(), and write into no tensor
  keep_observer = 64,  // watch_program is off for a while: turning it on again takes no memory
  watch_error =
      detail::ThreadState::error_awaits_line  // an error was thrown: op scopes that it leaves add the caller's line
};
inline std::uint8_t watching() noexcept { return detail::this_thread.state->watching; }
void set_watching(Watching what, bool on);

/// A line of the user's program. `file` is a string literal made by the compiler.
struct Site {
  const char* file = nullptr;
  int line = 0;
  friend bool operator<(const Site& a, const Site& b) noexcept {
    return a.file != b.file ? std::less<>()(a.file, b.file) : a.line < b.line;
  }
};
/// `before` followed by "model.cpp:12"; empty if the site is unknown.
std::string to_string(const Site& site, std::string_view before = {});

/// The distinct sites; index 0 is the unknown one.
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

/// A running op or rule. Uninitialised unless something observes.
struct Frame {
  const char* file;
  int line;
  bool rule;
  std::int64_t start;
  Frame* outer;
};

/// Begins a frame. Drops the error of an earlier op that still awaits a line. Does nothing more unless another flag of
/// `Watching` is set. std::bad_alloc if this thread has no state yet and there is no memory for one.
void enter(Frame& frame, const Site& site, bool rule);
/// Ends the frame, if it began.
void leave(const Frame& frame) noexcept;
/// The same; an error that leaves the op gets the line of its operand, if there is one.
void leave(const Frame& frame, const Operand* operand) noexcept;
/// The line of the running op, and whether a rule runs.
Site here() noexcept;
bool in_rule() noexcept;

/// The scope of one op: knows the user's line and the start time. Inside another op's scope the outer line, which is
/// the user's, is kept. An error that leaves the scope gets the line: fail() sets watch_error, so that only ops that
/// throw pay for it.
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
  Frame frame_;  // uninitialised unless something observes
};

/// The scope of an op without an Operand: `at` is its caller's line.
class CallScope {
 public:
  explicit CallScope(const detail::CallLine& at) : caller_(0, at.file, at.line), scope_(caller_) {}

 private:
  const Operand caller_;
  const OpScope scope_;
};

/// While it lives, results are not checked for anomalies.
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

/// The scope of an entry's rule: ops in it have the entry's line, and only the results of the rule are checked. Also
/// checks that borrowed memory saved by the entry is unchanged.
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

/// Reports computed outputs. ValueError under an AnomalyGuard. Call it when watching.
void observe(const char* name, std::span<const Tensor* const> inputs, std::span<const Tensor* const> outputs);
/// The same without anomaly detection.
void observe_time(const char* name, std::span<const Tensor* const> inputs,
                  std::span<const Tensor* const> outputs) noexcept;
/// Reports gradients dx that a rule returned for cotangents g, or tangents dy for tangents t.
void observe_vjp(const Record& record, std::span<const Tensor> g, std::span<const Gradient> dx);
void observe_jvp(const Record& record, std::span<const Tensor> t, std::span<const Tensor> dy);
/// Computes checksums of the borrowed memory among saved values, for a later check.
void note_borrowed(Tape& tape, std::span<const Tensor* const> saved);
/// ValueError if borrowed memory that the entry saved has changed since.
void check_borrowed(const Tape& tape, const Entry& entry);

/// Nanoseconds of a monotonic clock.
std::int64_t now() noexcept;
/// Adds an event that ends now to the active Chrome traces.
void add_event(const char* name, const char* category, std::int64_t start, const Site& site,
               std::span<const Tensor* const> inputs, std::span<const Tensor* const> outputs) noexcept;
/// "float64 [2, 3]", "none" for an empty handle.
std::string describe(const Tensor& x);

/// Inserts the tape that records nothing below all stacks of this thread, or removes it.
void lay_observer();
void lift_observer() noexcept;

}  // namespace reel::tape
