// The Chrome trace: events of ops and rules, kept per trace and written as JSON at its end. One trace may belong to
// this thread (ChromeTraceGuard), another to the process (REEL_TRACE), for every thread that uses tensors.
#include "tape/observe/timeline.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <utility>

#include "core/fail.hpp"
#include "core/system/system.hpp"
#include "tape/tape.hpp"

namespace reel {

// Members of types that other files name, hence not in the unnamed namespace.
namespace tape {

// Closed in any case.
struct OutputFile {
  explicit OutputFile(const char* path) noexcept : file(os::open_text(path)) {}
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile() {
    if (file) std::fclose(file);
  }
  std::FILE* file;
};

struct TraceEvent {
  std::string name, inputs, outputs;
  const char* category;
  Site site;
  std::int64_t start, end;
  std::uint64_t thread, result;  // result: the id of the op's first result
  bool rule;
};

// The size of a trace's file, in bytes: REEL_TRACE_LIMIT megabytes.
std::int64_t most_bytes() noexcept {
  static const std::int64_t bytes = [] {
    constexpr double megabyte = 1e6, standard = 100, most = 1e9;
    const char* text = std::getenv("REEL_TRACE_LIMIT");
    const double limit = text ? std::strtod(text, nullptr) : standard;
    return static_cast<std::int64_t>((limit > 0 && limit < most ? limit : standard) * megabyte);
  }();
  return bytes;
}

// Events as they will be written, up to the limit of the file; the number of those beyond.
struct Trace {
  std::vector<TraceEvent> events;
  std::int64_t bytes = 0, left_out = 0;

  void add(const TraceEvent& e) {
    // At least: an event's line without its texts has more characters.
    constexpr std::size_t line_min = 120;
    const auto size = static_cast<std::int64_t>(line_min + e.name.size() + e.inputs.size() + e.outputs.size());
    if (left_out > 0 || bytes + size > most_bytes()) {
      ++left_out;
      return;
    }
    events.push_back(e);
    bytes += size;
  }
};

}  // namespace tape

namespace {

using tape::in_quotes, tape::most_bytes, tape::OutputFile, tape::Trace, tape::TraceEvent;

std::string line_of(const TraceEvent& e, std::int64_t origin) {
  return fmt::format(
      "\n{{\"ph\": \"X\", \"pid\": 1, \"tid\": {}, \"ts\": {:.3f}, \"dur\": {:.3f}, \"name\": {}, \"cat\": \"{}\", "
      "\"args\": {{\"inputs\": {}, \"outputs\": {}, \"location\": {}}}}}",
      e.thread, static_cast<double>(e.start - origin) * 1e-3, static_cast<double>(e.end - e.start) * 1e-3,
      in_quotes(e.name), e.category, in_quotes(e.inputs), in_quotes(e.outputs), in_quotes(to_string(e.site)));
}

// Times in microseconds, relative to the first event. False, and an incomplete file, if writing fails or there is no
// memory for formatting.
bool write(OutputFile& output, const Trace& trace) noexcept try {
  constexpr std::int64_t frame_bytes = 300;  // of the beginning and the end
  std::FILE* const file = output.file;
  if (!file) return false;
  const std::vector<TraceEvent>& events = trace.events;
  std::int64_t origin = events.empty() ? 0 : events[0].start, left_out = trace.left_out, bytes = frame_bytes;
  for (const TraceEvent& e : events) origin = std::min(origin, e.start);
  std::fputs("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [", file);
  bool first = true;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const std::string line = line_of(events[i], origin);
    bytes += static_cast<std::int64_t>(line.size()) + 1;
    if (bytes > most_bytes()) {
      left_out += static_cast<std::int64_t>(events.size() - i);
      break;
    }
    if (!std::exchange(first, false)) std::fputc(',', file);
    std::fputs(line.c_str(), file);
  }
  if (left_out > 0) {
    detail::warn(fmt::format("a trace is full: {} events are left out; REEL_TRACE_LIMIT is its size in MB", left_out));
    std::fputs(fmt::format("\n], \"otherData\": {{\"events left out\": {}}}}}\n", left_out).c_str(), file);
  } else {
    std::fputs("\n]}\n", file);
  }
  return std::fflush(file) == 0 && !std::ferror(file);
} catch (const std::bad_alloc&) {
  return false;
}

std::string describe_list(std::span<const Tensor* const> tensors) {
  std::string text;
  for (const Tensor* x : tensors) text += (text.empty() ? "" : ", ") + tape::describe(*x);
  return text;
}

// The trace of the process. Never destroyed: threads may outlive main.
struct Process {
  std::mutex mutex;
  Trace trace;
  std::string path;
  bool written = false;
};
Process* process = nullptr;

void write_process() noexcept {
  Trace trace;
  {
    const std::lock_guard lock(process->mutex);
    std::swap(trace, process->trace);
    process->written = true;
  }
  OutputFile file(process->path.c_str());
  if (!write(file, trace)) detail::warn("REEL_TRACE: the trace could not be written whole");
}

const bool started = [] {
  const char* path = std::getenv("REEL_TRACE");
  if (!path || !*path) return false;
  process = new Process;
  process->path = path;
  std::atexit(write_process);
  // Called by the first op of a thread: the thread's state is created with its observer.
  detail::blank_state.watching = tape::watch_times;
  detail::on_new_thread = [] { tape::set_watching(tape::watch_times, true); };
  if (detail::this_thread.state != &detail::blank_state) detail::on_new_thread();
  return true;
}();

}  // namespace

struct TraceEvents {
  struct Rule {
    const tape::Frame* frame;
    std::uint64_t result;
    std::int64_t start;
  };
  tape::Trace trace;
  std::vector<Rule> rules;  // that run, the innermost last
};

struct ChromeTraceGuard::File {
  tape::OutputFile output;
  TraceEvents events;
};

ChromeTraceGuard::ChromeTraceGuard(std::string_view path) : file_(nullptr) {
  detail::ThreadState& state = detail::thread_state();
  if (state.events) fail<TapeError>("ChromeTraceGuard", "a trace is being made on this thread already");
  if (path.find('\0') != path.npos) fail<IoError>("ChromeTraceGuard", "a byte of the path is NUL");
  std::unique_ptr<File> file(new File{OutputFile(std::string(path).c_str()), {}});
  if (!file->output.file && errno == ENOMEM) throw std::bad_alloc();
  if (!file->output.file) fail<IoError>("ChromeTraceGuard", "cannot write '{}'; does its folder exist?", path);
  tape::set_watching(tape::watch_times, true);
  file_ = file.release();
  state.events = &file_->events;
}

ChromeTraceGuard::~ChromeTraceGuard() {
  detail::this_thread.state->events = nullptr;
  if (!started) tape::set_watching(tape::watch_times, false);
  if (!write(file_->output, file_->events.trace))
    detail::warn("ChromeTraceGuard: the trace could not be written whole");
  delete file_;
}

namespace tape {

std::int64_t now() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

namespace {

void add(const char* name, const char* category, std::int64_t start, const Site& site,
         std::span<const Tensor* const> inputs, std::span<const Tensor* const> outputs, std::uint64_t result,
         bool rule) noexcept {
  try {
    const std::int64_t end = now();
    TraceEvent e{name,
                 describe_list(inputs),
                 describe_list(outputs),
                 category,
                 site,
                 start,
                 end,
                 detail::this_thread_slot(),
                 result,
                 rule};
    if (process) {
      const std::lock_guard lock(process->mutex);
      if (!process->written) process->trace.add(e);
    }
    if (TraceEvents* own = detail::this_thread.state->events) own->trace.add(e);
  } catch (const std::bad_alloc&) {  // the event is lost
  }
}

}  // namespace

void add_event(const char* name, const char* category, std::int64_t start, const Site& site,
               std::span<const Tensor* const> inputs, std::span<const Tensor* const> outputs) noexcept {
  const bool made = !outputs.empty() && outputs[0]->defined();
  add(name, category, start, site, inputs, outputs, made ? detail::block(*outputs[0])->id : 0, false);
}

void add_rule_event(const char* name, std::int64_t start, const Site& site, std::span<const Tensor* const> inputs,
                    std::span<const Tensor* const> outputs) noexcept {
  const detail::ThreadState& state = *detail::this_thread.state;
  // Ops inside a rule move the start of its frame. Without an open rule, the trace began inside it.
  TraceEvents::Rule rule{nullptr, 0, start};
  if (state.events && !state.events->rules.empty() && state.events->rules.back().frame == state.frame)
    rule = state.events->rules.back();
  add(name, "backward", rule.start, site, inputs, outputs, rule.result, true);
}

void open_rule(const Frame* frame, std::uint64_t result) noexcept {
  try {
    if (TraceEvents* own = detail::this_thread.state->events) own->rules.push_back({frame, result, frame->start});
  } catch (const std::bad_alloc&) {  // the rule has no time
  }
}
void close_rule(const Frame* frame) noexcept {
  TraceEvents* own = detail::this_thread.state->events;
  if (own && !own->rules.empty() && own->rules.back().frame == frame) own->rules.pop_back();
}

std::unordered_map<std::uint64_t, Times> traced_times() {
  std::unordered_map<std::uint64_t, Times> times;
  if (const TraceEvents* own = detail::this_thread.state->events)
    for (const TraceEvent& e : own->trace.events)
      if (e.result) (e.rule ? times[e.result].backward : times[e.result].forward) += e.end - e.start;
  return times;
}

std::string in_quotes(std::string_view text) {
  std::string q = "\"";
  for (const char c : text)
    if (c == '"' || c == '\\')
      q += {'\\', c};
    else if (static_cast<unsigned char>(c) < 0x20 || c == '<')
      q += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      q += c;
  return q + '"';
}

}  // namespace tape

}  // namespace reel
