// State of the library per thread. One thread_local of 16 bytes has the initial-exec model, so that an op reads it with
// one load; many copies of the library fit into a process, whose static TLS block has 1664 spare bytes. Everything else
// is in the thread's state, which its memory pool stores. The pool's pthread key ends it: unlike the destructor of a
// thread_local, which aborts the process if memory runs out, setting a key reports failure.
#pragma once
#include <cstdint>
#include <reel/debug.hpp>
#include <vector>

namespace reel {
struct TraceEvents;
namespace tape {
struct Tape;
struct Frame;
class Suspend;
class Capture;
}  // namespace tape
namespace autodiff {
struct Override;
}
namespace ops {
class Trace;
class EffectHandler;
class Tracer;
class CallListener;
}  // namespace ops

namespace detail {

struct LocatedText;

/// State of a thread besides its tape stack. Each member belongs to the named file.
struct ThreadState {
  static constexpr std::uint8_t error_awaits_line = 16;  // a flag of `watching`: see `awaiting`
  std::uint8_t watching = 0;                             // tape/observe/observe.hpp: active flags
  LocatedText* awaiting = nullptr;                       // core/error.cpp: the error that awaits the caller's line
  autodiff::Override* overrides = nullptr;               // gradient/registry.cpp: the newest; null if there is none
  tape::Capture* capture = nullptr;                      // tape/capture.cpp: the innermost
  tape::Suspend* suspended = nullptr;                    // tape/tape.cpp: stacks hidden by Suspends, the newest first
  tape::Tape* observer = nullptr;         // tape/tape.cpp: below all stacks while something observes every op
  tape::Frame* frame = nullptr;           // tape/observe/observe.cpp: the innermost
  AnomalyOptions anomalies;               // tape/observe/observe.cpp
  TraceEvents* events = nullptr;          // tape/observe/timeline.cpp: where a ChromeTraceGuard collects
  const char* interned = nullptr;         // gradient/registry.cpp: the newest name
  ops::Trace* lane_trace = nullptr;       // ops/elementwise/trace.cpp: the innermost
  ops::EffectHandler* effects = nullptr;  // ops/apply/effect.hpp: the innermost
  ops::Tracer* tracer = nullptr;          // ops/apply/operation.hpp: null unless a function is traced
  ops::CallListener* calls = nullptr;     // ops/apply/apply.hpp: the innermost
  void* lane_programs = nullptr;          // ops/elementwise/call.cpp, of a type of its own
  void (*sink)(std::string_view line, void* context) = nullptr;  // tape/observe/trace.cpp
  void* sink_context = nullptr;

  // tape/tape.cpp: cleared tapes for reuse, so that a training step allocates none.
  static constexpr int most_spare_tapes = 4;
  tape::Tape* spare_tapes[most_spare_tapes] = {};
  int spare_tape_count = 0;
};

/// `top`: the tapes of this thread, the newest first. `state` is never null: before the thread's first tensor it is
/// blank_state, which threads read and never write.
struct ThisThread {
  tape::Tape* top;
  ThreadState* state;
};
static_assert(sizeof(ThisThread) == 2 * sizeof(void*));
extern constinit thread_local ThisThread this_thread [[gnu::tls_model("initial-exec")]];
extern ThreadState& blank_state;

/// This thread's state, for writing. std::bad_alloc when it has none yet and there is no memory for one.
ThreadState& thread_state();

/// Called when a thread ends, before its pool is abandoned. The pool still accepts what they free.
extern void (*end_lane_programs)(ThreadState& state) noexcept;
extern void (*end_tapes)(ThreadState& state) noexcept;

}  // namespace detail
}  // namespace reel
