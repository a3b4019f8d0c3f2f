// Debugging: where a number went wrong, what a tape does, and when. Each tool is per thread and scoped. When all are
// off, they cost an op one load and one branch.
#pragma once
#include <cstdint>
#include <reel/api.hpp>
#include <string_view>

namespace REEL_API reel {

/// Options of AnomalyGuard.
struct AnomalyOptions {
  /// Whether the results of ops are checked.
  bool check_forward = true;
  /// Whether the gradients and tangents that rules return are checked.
  bool check_backward = true;
  /// Whether infinities count. False: only NaN does, for models that mask with -inf.
  bool infinity = true;
};

/// While it lives, the first op of this thread whose result is not finite, or whose rule returns a gradient or tangent
/// that is not, throws ValueError. The message names the op, the line that called it (for a gradient: the line of the
/// forward op, if it was recorded under a guard), shapes, how many elements are not finite and the first of them, and
/// whether an input or cotangent was not finite already. No tape is needed. Inside a rule only its results are checked.
/// A checksum of borrowed memory that a rule saves under a guard is compared when the rule runs: ValueError if the
/// memory has changed. Guards nest; the options of the innermost one apply. It reads every result: for debugging. A
/// compiled function that is called under a guard runs op by op. TraceError in a function that is being traced.
class AnomalyGuard {
 public:
  explicit AnomalyGuard(const AnomalyOptions& options = {});
  AnomalyGuard(const AnomalyGuard&) = delete;
  AnomalyGuard& operator=(const AnomalyGuard&) = delete;
  ~AnomalyGuard();

 private:
  AnomalyOptions outer_;
  bool nested_;
};

/// While true, tapes of this thread store the line that called each op they record, for explain, why_none and to_dot.
/// AnomalyGuard, set_tracing and a Chrome trace imply it.
void set_source_locations(bool on);

/// Sends the lines of set_tracing, on this thread, to `sink(line, context)`; nullptr restores the warning handler.
void set_trace_sink(void (*sink)(std::string_view line, void* context), void* context = nullptr);

/// Records the ops and rules that this thread runs while it lives, and writes them to `path` at its end: JSON in
/// Chrome's trace event format (chrome://tracing, Perfetto), with the name, duration, shapes and calling line of each.
/// Rules are in category "backward". IoError when the file cannot be opened. TapeError when a trace is active on this
/// thread already. The environment variable REEL_TRACE=file.json does the same for all threads, from their first tensor
/// to the end of the process. A file has at most REEL_TRACE_LIMIT megabytes, 100 by default: later events are left out,
/// with a warning, and their number is "events left out" in "otherData".
class ChromeTraceGuard {
 public:
  explicit ChromeTraceGuard(std::string_view path);
  ChromeTraceGuard(const ChromeTraceGuard&) = delete;
  ChromeTraceGuard& operator=(const ChromeTraceGuard&) = delete;
  ~ChromeTraceGuard();

 private:
  struct File;
  File* file_;
};

}  // namespace reel
