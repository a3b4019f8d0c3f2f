// A call of elementwise: prepares the arguments, traces the user's function unless an earlier call did, runs the
// program.
#include <algorithm>
#include <memory>
#include <reel/elementwise.hpp>

#include "core/fail.hpp"
#include "core/thread.hpp"
#include "ops/elementwise/program.hpp"
#include "ops/elementwise/trace.hpp"
#include "ops/engine.hpp"

namespace reel {

// The programs of a function object, by the kinds of its arguments; numbers among them are parameters.
struct detail::LaneTraces::State {
  struct CachedTrace {
    std::vector<std::size_t> kinds;
    ops::Shared program;
    const CachedTrace* next;
  };
  // 0 for a number, 1 for a tensor, 2 and its length for a row.
  static std::size_t kind_of(const LaneArgument& x) noexcept {
    const Operand* const operand = x.operand();
    return !operand ? 2 + x.row().size() : operand->is_tensor() ? 1 : 0;
  }
  const CachedTrace* find(std::span<const LaneArgument> arguments) const noexcept {
    for (const CachedTrace* k = first.load(std::memory_order_acquire); k; k = k->next)
      if (std::equal(arguments.begin(), arguments.end(), k->kinds.begin(), k->kinds.end(),
                     [](const LaneArgument& x, std::size_t kind) { return kind_of(x) == kind; }))
        return k;
    return nullptr;
  }
  // Two threads may trace the same kinds at once: the one added last is found first.
  void add(std::unique_ptr<CachedTrace> cached) noexcept {
    cached->next = first.load(std::memory_order_relaxed);
    while (!first.compare_exchange_weak(cached->next, cached.get(), std::memory_order_release)) {
    }
    static_cast<void>(cached.release());
  }
  ~State() {
    for (const CachedTrace* k = first.load(std::memory_order_acquire); k;) delete std::exchange(k, k->next);
  }

  explicit State(const ops::Primitive& primitive) noexcept : op(primitive) {}

  const ops::Primitive& op;
  std::atomic<const CachedTrace*> first{nullptr};
  std::atomic<std::int64_t> uses{1};
};

detail::LaneTraces::LaneTraces() : LaneTraces(ops::elementwise_primitive()) {}
detail::LaneTraces::LaneTraces(const ops::Primitive& op) : state_(new State(op)) {}
detail::LaneTraces::LaneTraces(const LaneTraces& other) noexcept : state_(other.state_) {
  state_->uses.fetch_add(1, std::memory_order_relaxed);
}
detail::LaneTraces& detail::LaneTraces::operator=(const LaneTraces& other) noexcept {
  LaneTraces copy(other);
  std::swap(state_, copy.state_);
  return *this;
}
detail::LaneTraces::~LaneTraces() {
  if (state_->uses.fetch_sub(1, std::memory_order_acq_rel) == 1) delete state_;
}

// The working memory of a call, kept for the next one.
struct detail::LaneProgram::State {
  // What a function did in its last call.
  struct Slot {
    const void* site = nullptr;
    std::uint32_t users = 0;  // the number of calls that follow the log, which must not change meanwhile
    ops::Log log;
  };
  // Per thread. A function finds its slot by its address; functions with the same slot evict each other.
  struct Recent {
    static constexpr std::size_t most = 64;  // slots; a program calls few functions
    Slot slots[most];
    State* spare = nullptr;
    ~Recent() { delete spare; }
  };
  // Null before the thread's first call.
  static Recent* recent() noexcept { return static_cast<Recent*>(this_thread.state->lane_programs); }
  static Recent& find_recent() {
    if (Recent* r = recent()) return *r;
    ThreadState& state = thread_state();
    auto* made = new Recent;
    state.lane_programs = made;
    return *made;
  }
  static void end_thread(ThreadState& state) noexcept {
    delete static_cast<Recent*>(std::exchange(state.lane_programs, nullptr));
  }
  static const bool installed;

  ops::Trace trace{ops::Trace::Numbers::parameters};
  std::vector<Lane> lanes;  // of all arguments
  std::vector<const Tensor*> inputs;
  std::vector<Tensor> cast;              // inputs that had to be cast
  std::vector<double> known_parameters;  // of a cached program
  std::vector<std::size_t> kinds;        // kinds of the arguments, if the program is not cached and is to be remembered
  Shape shape;
  DType dtype = DType::float64;
  const void* site = nullptr;
  Slot* slot = nullptr;
  bool follows = false;  // this call follows the slot's log
  const ops::Primitive* op = nullptr;
  LaneTraces::State* traces = nullptr;
  ops::Shared held;
  const ops::Program* program = nullptr;  // null until traced
  std::span<const double> parameters;

  static State* take() {
    Recent& r = find_recent();
    return r.spare ? std::exchange(r.spare, nullptr) : new State;
  }
  void set_inputs(std::span<const LaneArgument> arguments);
  void set_lanes(std::span<const LaneArgument> arguments);
  void begin(const void* function);
  void apply_cached(std::span<const LaneArgument> arguments, const LaneTraces::State::CachedTrace& cached);
  void remember(const ops::Shared& program);
  void end() noexcept;
  void give_back() noexcept;

 private:
  void add_input(const Tensor& x);
};

const bool detail::LaneProgram::State::installed = (detail::end_lane_programs = end_thread, true);

void detail::LaneProgram::State::add_input(const Tensor& x) {
  const Block* b = detail::block(x);
  inputs.push_back(b->dtype == dtype ? &x : &cast.emplace_back(ops::cast_to(x, dtype)));
  if (inputs.size() == 1)
    shape = b->shape();
  else if (shape.rank() != b->rank || !std::equal(shape.begin(), shape.end(), b->extents()))
    shape = ops::broadcast_shapes(op->rule.name, shape, b->shape());
}

// Casts the tensors among the arguments to their common dtype.
void detail::LaneProgram::State::set_inputs(std::span<const LaneArgument> arguments) {
  ops::CommonDType common;
  std::size_t count = 0;
  for (const LaneArgument& x : arguments) {
    if (const Operand* operand = x.operand()) {
      common.add(op->rule.name, *operand);
      ++count;
    } else {
      for (const Tensor& one : x.row()) common.add(op->rule.name, one);
      count += x.row().size();
    }
  }
  dtype = ops::floating_of(common.dtype());
  if (dtype != DType::float32 && dtype != DType::float64)
    fail<TypeError>(op->rule.name, "is not defined for {}; cast the arguments to float32 or float64 first", dtype);
  inputs.reserve(count);
  cast.reserve(count);  // so that elements do not move
  shape = {};
  for (const LaneArgument& x : arguments) {
    if (const Operand* operand = x.operand(); operand && operand->is_tensor())
      add_input(operand->tensor());
    else
      for (const Tensor& one : x.row()) add_input(one);
  }
}

// The lanes that stand for the arguments in the trace.
void detail::LaneProgram::State::set_lanes(std::span<const LaneArgument> arguments) {
  lanes.reserve(inputs.size() + arguments.size());
  std::int32_t next = 0;
  for (const LaneArgument& x : arguments) {
    if (const Operand* operand = x.operand(); operand && !operand->is_tensor()) {
      lanes.push_back(trace.lane(trace.number(operand->floating())));
    } else {
      for (std::size_t i = operand ? 1 : x.row().size(); i > 0; --i) lanes.push_back(trace.lane(next++));
    }
  }
}

void detail::LaneProgram::State::begin(const void* function) {
  site = function;
  slot = &find_recent().slots[reinterpret_cast<std::uintptr_t>(site) * 0x9e3779b97f4a7c15u >> 58];
  follows = slot->site == site && slot->log.program;
  if (follows) ++slot->users;
  trace.begin(inputs.size(), follows ? &slot->log : nullptr, true);
}

void detail::LaneProgram::State::apply_cached(std::span<const LaneArgument> arguments,
                                              const LaneTraces::State::CachedTrace& cached) {
  for (const LaneArgument& x : arguments)
    if (const Operand* operand = x.operand(); operand && !operand->is_tensor())
      known_parameters.push_back(operand->floating());
  program = &*cached.program;
  parameters = known_parameters;
}

// Remembers what this call did for the next one.
void detail::LaneProgram::State::remember(const ops::Shared& made) {
  if (slot->users > (follows ? 1u : 0u)) return;
  if (follows) --slot->users;
  follows = false;
  slot->site = site;
  slot->log = trace.take_log();
  slot->log.program = made;
}

void detail::LaneProgram::State::end() noexcept {
  trace.end();
  if (follows) --slot->users;
  follows = false;
}

void detail::LaneProgram::State::give_back() noexcept {
  end();
  inputs.clear();
  cast.clear();
  lanes.clear();
  known_parameters.clear();
  traces = nullptr;
  held = {};
  program = nullptr;
  if (Recent* r = recent(); r && !r->spare)
    r->spare = this;
  else
    delete this;
}

detail::LaneProgram::LaneProgram(const void* site, std::span<const LaneArgument> arguments) : state_(State::take()) {
  try {
    state_->op = &ops::elementwise_primitive();
    state_->set_inputs(arguments);
    state_->trace.set_numbers(ops::Trace::Numbers::parameters);
    state_->begin(site);
    state_->set_lanes(arguments);
  } catch (...) {
    state_->give_back();
    throw;
  }
}

detail::LaneProgram::LaneProgram(const LaneTraces& traces, std::span<const LaneArgument> arguments)
    : state_(State::take()) {
  try {
    State& s = *state_;
    s.traces = traces.state_;
    s.op = &s.traces->op;
    s.set_inputs(arguments);
    if (const auto* cached = s.traces->find(arguments)) {
      s.apply_cached(arguments, *cached);
      return;
    }
    s.kinds.clear();
    s.trace.set_numbers(ops::Trace::Numbers::parameters);
    for (const LaneArgument& x : arguments) s.kinds.push_back(LaneTraces::State::kind_of(x));
    s.trace.begin(s.inputs.size(), nullptr, false);
    s.set_lanes(arguments);
    s.trace.set_numbers(ops::Trace::Numbers::literals);
  } catch (...) {
    state_->give_back();
    throw;
  }
}

detail::LaneProgram::~LaneProgram() { state_->give_back(); }

bool detail::LaneProgram::traced() const noexcept { return state_->program; }

std::span<const Lane> detail::LaneProgram::lanes() const noexcept { return state_->lanes; }

void detail::LaneProgram::set_outputs(std::span<const Lane> outputs) {
  State& s = *state_;
  s.program = s.traces ? nullptr : s.trace.repeated(outputs);
  if (!s.program) {
    loops::Graph& graph = s.trace.graph();
    for (const Lane& x : outputs) graph.outputs.push_back(s.trace.node(x));
    s.held = ops::find_program(graph);
    s.program = &*s.held;
    if (!s.traces) s.remember(s.held);
  }
  s.parameters = s.trace.parameters();
  if (!s.traces) return;
  s.traces->add(
      std::unique_ptr<LaneTraces::State::CachedTrace>(new LaneTraces::State::CachedTrace{s.kinds, s.held, nullptr}));
}

std::size_t detail::LaneProgram::outputs() const noexcept { return state_->program->outputs(); }

void detail::LaneProgram::run(Tensor* results) {
  const State& s = *state_;
  ops::run(*s.op, *s.program, s.inputs, s.parameters, s.dtype, s.shape, {results, s.program->outputs()});
}

}  // namespace reel
