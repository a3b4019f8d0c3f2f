// compile(f): programs found by signature, traced where there is none.
#include <atomic>
#include <map>
#include <mutex>
#include <reel/compile.hpp>
#include <thread>

#include "compile/traced.hpp"
#include "core/fail.hpp"
#include "program/dot.hpp"
#include "program/trace.hpp"
#include "tape/tape.hpp"

namespace reel::detail {

namespace {

constexpr const char* who = "compile";

// All that a program depends on.
CallWords signature_of(std::span<const Tensor> arguments, const CallWords& words) {
  CallWords key(words);
  for (const Tensor& x : arguments) {
    const Block* b = block(x);
    key.push_back(static_cast<std::int64_t>(b->dtype));
    key.push_back(b->rank);
    key.insert(key.end(), b->extents(), b->extents() + 2 * b->rank);  // and strides
  }
  return key;
}

}  // namespace

struct Programs::State {
  struct Held {
    std::shared_ptr<compiler::Traced> traced;
    std::shared_ptr<const void> structure;
    std::int64_t used = 0;  // the number of the call that used it last
  };
  std::atomic<int> uses{1};
  CompileOptions options;
  std::mutex mutex;
  std::atomic<std::thread::id> tracing{};  // the thread that traces f
  std::map<CallWords, Held> held;
  std::shared_ptr<compiler::Traced> last;
  std::int64_t calls = 0, traces = 0;
  bool warned = false;

  explicit State(const CompileOptions& o) : options(o) {}
  void make_room() {
    while (held.size() >= static_cast<std::size_t>(options.max_signatures)) {
      auto oldest = held.begin();
      for (auto at = held.begin(); at != held.end(); ++at)
        if (at->second.used < oldest->second.used) oldest = at;
      held.erase(oldest);
      if (std::exchange(warned, true)) continue;
      warn(
          fmt::format("{}: a function has been traced for more than {} signatures; a number, a shape or a layout among "
                      "its arguments varies: pass numbers that vary as tensors, or raise max_signatures",
                      who, options.max_signatures));
    }
  }
  Held& find_or_trace(std::span<const Tensor> arguments, const CallWords& key, FlatCall (*make)(const void*),
                      const void* context) {
    if (const auto found = held.find(key); found != held.end()) return found->second;
    FlatCall f = make(context);
    tracing = std::this_thread::get_id();
    struct Done {
      std::atomic<std::thread::id>& thread;
      ~Done() { thread = std::thread::id(); }
    } done{tracing};
    auto traced = std::make_shared<compiler::Traced>(who, std::move(f.function), arguments);
    ++traces;
    make_room();
    return held.emplace(key, Held{std::move(traced), std::move(f.structure), 0}).first->second;
  }
};

Programs::Programs(const CompileOptions& options) : state_(nullptr) {
  if (options.max_signatures < 1)
    fail<ValueError>(who, "max_signatures is {}; it must be at least 1", options.max_signatures);
  state_ = new State(options);
}
Programs::Programs(const Programs& other) noexcept : state_(other.state_) { ++state_->uses; }
Programs::~Programs() {
  if (--state_->uses == 0) delete state_;
}

CallResult Programs::call(std::span<const Tensor> arguments, const CallWords& words,
                          FlatCall (*make)(const void* context), const void* context) const {
  for (const Tensor& x : arguments)
    if (!x.defined()) fail<ValueError>(who, "an argument holds an empty tensor (default-constructed or moved from)");
  constexpr int per_op = tape::watch_anomalies | tape::watch_times | tape::watch_lines;
  if (program::Trace::current() || tape::watching() & per_op) {  // part of that trace; what looks on sees each op
    if (state_->tracing.load() == std::this_thread::get_id())
      fail<TraceError>(who, "a compiled function calls itself; a program has no recursion: use while_loop or scan");
    const FlatCall f = make(context);
    const std::vector<Tensor> results = f.function(arguments);
    return {{results.begin(), results.end()}, f.structure};
  }
  const CallWords key = signature_of(arguments, words);
  std::shared_ptr<compiler::Traced> traced;
  CallResult result;
  {
    const std::lock_guard lock(state_->mutex);
    State::Held& held = state_->find_or_trace(arguments, key, make, context);
    held.used = ++state_->calls;
    state_->last = traced = held.traced;
    result.structure = held.structure;
  }
  result.tensors = traced->call(arguments);
  return result;
}

CompileStats Programs::stats() const {
  const std::lock_guard lock(state_->mutex);
  CompileStats s = state_->last ? state_->last->stats() : CompileStats();
  s.signatures = static_cast<std::int64_t>(state_->held.size());
  s.traces = state_->traces;
  return s;
}

std::string Programs::to_dot() const {
  const std::lock_guard lock(state_->mutex);
  return state_->last ? program::to_dot(state_->last->program()) : std::string("digraph program {\n}\n");
}

}  // namespace reel::detail
