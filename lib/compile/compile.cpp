// compile(f): programs found by signature, traced where there is none.
#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <numeric>
#include <optional>
#include <reel/compile.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/ops/reduce.hpp>
#include <reel/ops/shape.hpp>
#include <set>

#include "compile/check.hpp"
#include "core/fail.hpp"
#include "gradient/control/deferred_call.hpp"
#include "gradient/gradient.hpp"
#include "gradient/programs/read_mostly.hpp"
#include "gradient/programs/trace_queue.hpp"
#include "gradient/programs/traced_function.hpp"
#include "ops/apply/operation.hpp"
#include "ops/engine.hpp"
#include "program/dot.hpp"
#include "program/trace.hpp"
#include "tape/tape.hpp"
#include "tape/variable.hpp"

namespace reel::detail {

namespace {

constexpr const char* who = "compile";

// The dtype, and whether the memory is the user's: results must not share it.
std::int64_t kind_of(const Tensor& x) noexcept {
  constexpr std::int64_t of_user = 0x100;
  const Block* b = block(x);
  const auto dtype = static_cast<std::int64_t>(b->dtype);
  if (!(b->flags & (view_flag | borrowed_flag))) [[likely]]
    return dtype;
  return ops::is_borrowed(x) ? dtype | of_user : dtype;
}

// Everything that a program depends on.
CallWords signature_of(const CallView& call) {
  constexpr std::size_t usual_rank = 4;  // of arguments; a higher one makes the list grow
  CallWords key;
  key.reserve(call.words.size() + call.tensors.size() * (2 + 2 * usual_rank));
  key.assign(call.words.begin(), call.words.end());
  for (const Tensor& x : call.tensors) {
    const Block* b = block(x);
    key.push_back(kind_of(x));
    key.push_back(b->rank);
    key.insert(key.end(), b->extents(), b->extents() + 2 * b->rank);  // and strides
  }
  const List<std::int64_t> overrides = autodiff::overrides_in_force();
  key.insert(key.end(), overrides.begin(), overrides.end());
  return key;
}

const Tensor& tensor_of(const Tensor& x) noexcept { return x; }
const Tensor& tensor_of(const Tensor* x) noexcept { return *x; }

// Whether it equals signature_of() a call with these words and tensors, or pointers to tensors, while no gradient is
// overridden. False for empty handles and abstract tensors.
template <class Tensors>
bool is_signature_of(const CallWords& key, std::span<const std::int64_t> words, const Tensors& tensors) noexcept {
  const std::int64_t *at = key.data(), *const end = at + key.size();
  const auto next_are = [&](const std::int64_t* list, std::ptrdiff_t count) {
    if (end - at < count) return false;
    for (std::ptrdiff_t i = 0; i < count; ++i)
      if (*at++ != list[i]) return false;
    return true;
  };
  if (!next_are(words.data(), std::ssize(words))) return false;
  for (const auto& one : tensors) {
    const Tensor& x = tensor_of(one);
    const Block* const b = block(x);
    if (!b || b->abstract()) return false;
    const std::int64_t kind[] = {kind_of(x), b->rank};
    if (!next_are(kind, 2) || !next_are(b->extents(), 2 * b->rank)) return false;  // extents and strides
  }
  return at == end;
}
[[gnu::noinline]] bool is_signature_of(const CallWords& key, const CallView& call) noexcept {
  return is_signature_of(key, call.words, call.tensors);
}

// f with further results: the number of blocks drawn from each generator, where the trace cannot tell it.
[[gnu::cold]] FlatFunction with_unknown_draws(FlatFunction f) {
  return [f = std::move(f)](std::span<const Tensor> x) {
    std::vector<Tensor> results = f(x);
    for (Tensor& draws : program::Trace::current()->unknown_draws()) results.push_back(std::move(draws));
    return results;
  };
}
// They are the last results; `count` of all.
void take_unknown_draws(CallResult& result, std::size_t count) {
  const auto unknown = std::count(result.draws.begin(), result.draws.end(), -1);
  std::size_t next = count - static_cast<std::size_t>(unknown);
  for (std::int64_t& blocks : result.draws)
    if (blocks < 0) blocks = mutable_data<std::int64_t>(result.tensors[next++])[1];
}

}  // namespace

// The part of each argument in the signature: its static values, and dtype, shape and strides of its tensors.
struct Aspects {
  struct Argument {
    const char* type;
    CallWords values, dtypes, shapes, strides;
  };
  std::vector<Argument> arguments;

  Aspects() = default;
  [[gnu::cold]] explicit Aspects(const CallView& call) {
    std::size_t word = 1, tensor = 0;  // the first word stands for the types
    for (const ArgumentPart& part : call.parts) {
      Argument& a = arguments.emplace_back(Argument{part.type, {}, {}, {}, {}});
      a.values.assign(call.words.begin() + static_cast<std::ptrdiff_t>(word),
                      call.words.begin() + static_cast<std::ptrdiff_t>(word + part.words));
      word += part.words;
      for (const Tensor& x : call.tensors.subspan(tensor, part.tensors)) {
        const Block* b = block(x);
        a.dtypes.push_back(static_cast<std::int64_t>(b->dtype));
        a.shapes.push_back(b->rank);
        a.shapes.insert(a.shapes.end(), b->extents(), b->extents() + b->rank);
        a.strides.insert(a.strides.end(), b->strides(), b->strides() + b->rank);
        a.strides.push_back(ops::is_borrowed(x));
      }
      tensor += part.tensors;
    }
  }
};

namespace {

using Aspect = CallWords Aspects::Argument::*;

// Describes an argument whose static values vary.
[[gnu::cold]] std::string values_vary(std::size_t number, std::string_view type, std::size_t count) {
  if (type == name_of_type<Variable> || type == name_of_type<std::vector<Variable>>)
    return fmt::format(
        "argument {} ({}) took {} shapes or identities: a variable that the function captures, or of which an "
        "optimiser keeps state, has a program of its own",
        number, type, count);
  return fmt::format("argument {} ({}) took {} {}", number, type, count,
                     type == "tree"
                         ? "structures: keep its sizes, keys and variables, and what signature() of its structs returns"
                         : "values: take it as auto or as a tensor");
}

// Describes which argument, static value or shape varies most among the calls.
[[gnu::cold]] std::string what_varies(std::span<const Aspects* const> calls) {
  struct Kind {
    Aspect aspect;
    const char* name;
    const char* remedy;
  };
  static constexpr Kind kinds[] = {{&Aspects::Argument::values, "values", ""},
                                   {&Aspects::Argument::dtypes, "dtypes", "cast it"},
                                   {&Aspects::Argument::shapes, "shapes", "pad it to a fixed shape"},
                                   {&Aspects::Argument::strides, "layouts", "pass contiguous(x)"}};
  std::size_t most = 1;
  std::string text = "its arguments vary in type";
  for (std::size_t i = 0; i < calls[0]->arguments.size(); ++i)
    for (const Kind& kind : kinds) {
      std::set<CallWords> distinct;
      for (const Aspects* call : calls)
        if (i < call->arguments.size()) distinct.insert(call->arguments[i].*kind.aspect);
      if (distinct.size() <= most) continue;
      most = distinct.size();
      const char* type = calls[0]->arguments[i].type;
      text = kind.aspect == &Aspects::Argument::values
                 ? values_vary(i + 1, type, most)
                 : fmt::format("argument {} ({}) took {} {}: {}", i + 1, type, most, kind.name, kind.remedy);
    }
  return text;
}

// The ids of the variables that it reads or assigns, if it has parameters, ascending. TraceError for a parameter of
// another function.
[[gnu::cold]] std::vector<std::uint64_t> captured_variables(const autodiff::Traced& traced) {
  std::vector<std::uint64_t> ids;
  const auto add = [&](const Variable& v) {
    const auto own = traced.parameters();
    if (VariableAccess::stands_in(v) && std::find(own.begin(), own.end(), v) == own.end())
      fail<TraceError>(who,
                       "the function captures variable '{}', which is a parameter that another function kept while "
                       "it was traced; capture the variable that is passed",
                       v.name());
    if (!own.empty()) ids.push_back(v.id());
  };
  for (const Source& s : traced.reads()) add(s.variable());
  for (const Variable& v : traced.assigned()) add(v);
  std::sort(ids.begin(), ids.end());
  return ids;
}

// Whether its words have the ids of the variables that it is given.
bool names_variables(const CallView& call) { return !call.id_words.empty() && call.words[call.id_words.front()] != 0; }
CallWords words_with_ids(const CallView& call) {
  CallWords words = call.words;
  for (const std::size_t at : call.id_words)
    words[at] = static_cast<std::int64_t>(call.variables[static_cast<std::size_t>(words[at + 1])].id());
  return words;
}

}  // namespace

struct Programs::State {
  struct CachedProgram {
    CallWords signature;
    std::shared_ptr<autodiff::Traced> traced;  // null if every call needs a program of its variables alone
    std::shared_ptr<const void> structure;
    Aspects aspects;
    std::shared_ptr<const program::Program> reference;  // the program as traced, while calls are to be checked
    mutable int unchecked = 0;                          // number of calls that are still to be checked
    mutable std::atomic<std::int64_t> used{0};          // grows with the time of the last call
    std::vector<std::uint64_t> captured;                // ids of the variables that it reads or assigns, if some are
                                                        // parameters; ascending

    // Whether it does not serve these variables: it has parameters for them, and reads or assigns one as itself.
    bool needs_ids(std::span<const Variable> variables) const {
      if (variables.empty() || (traced && captured.empty())) return false;
      return !traced || std::any_of(variables.begin(), variables.end(), [&](const Variable& v) {
        return std::binary_search(captured.begin(), captured.end(), v.id());
      });
    }
  };
  using Pointer = std::shared_ptr<const CachedProgram>;
  struct Table {
    std::vector<Pointer> programs;                        // by ascending signatures
    mutable std::atomic<const Pointer*> latest{nullptr};  // the element that the last call used

    auto place_of(const CallWords& signature) const {
      return std::lower_bound(programs.begin(), programs.end(), signature,
                              [](const Pointer& one, const CallWords& x) { return one->signature < x; });
    }
    // An element; null if there is none.
    const Pointer* find(const CallView& call) const {
      const Pointer* last = latest.load(std::memory_order_acquire);
      if (last && !thread_state().overrides && is_signature_of((*last)->signature, call)) return last;
      const CallWords signature = signature_of(call);
      const auto at = place_of(signature);
      return at != programs.end() && (*at)->signature == signature ? &*at : nullptr;
    }
  };
  // The program of the last call, and its frame, so that a call like that one takes a single atomic instruction. They
  // belong to whoever has set `busy`.
  struct Ready {
    Pointer program;
    program::Executable::KeptFrame frame;
    std::atomic<bool> busy{false};
  };
  std::atomic<int> uses{1};
  Ready ready;
  CompileOptions options;
  std::shared_ptr<codegen::NativeOptions> native;  // null: none
  autodiff::TraceQueue tracing;                    // of those who trace f; its mutex guards what changes
  autodiff::Published<Table> table{std::make_unique<Table>()};
  std::atomic<std::int64_t> latest_use{1};
  std::int64_t traces = 0;
  bool warned = false;

  [[gnu::cold]] explicit State(const CompileOptions& o) : options(o) {
    if (!o.native) return;
    native = std::make_shared<codegen::NativeOptions>();
    native->flags = o.native_flags;
  }
  void note_use(const Table& in, const Pointer& one) noexcept {
    constexpr auto relaxed = std::memory_order_relaxed;
    if (one->used.load(relaxed) != latest_use.load(relaxed))
      one->used.store(latest_use.fetch_add(1, relaxed) + 1, relaxed);
    if (one->traced && in.latest.load(relaxed) != &one) in.latest.store(&one, std::memory_order_release);
  }
  // Takes no lock. Null if the call has no program yet. Sets `again` if the last call had the same.
  Pointer find(const CallView& call, bool& again) {
    return table.read([&](const Table& now) {
      const Pointer* one = now.find(call);
      if (!one) return Pointer();
      again = (*one)->used.load(std::memory_order_relaxed) == latest_use.load(std::memory_order_relaxed);
      note_use(now, *one);
      return *one;
    });
  }
  // Sets `busy` to use what is ready. False if it is in use.
  bool enter() noexcept { return !ready.busy.exchange(true, std::memory_order_acquire); }
  // The program that is ready, if it is that of the call, or of one with these words and tensors. enter() first.
  template <class... Call>
  const CachedProgram* ready_for(const Call&... call) const noexcept {
    const CachedProgram* const one = ready.program.get();
    constexpr auto relaxed = std::memory_order_relaxed;
    const bool serves = one && one->used.load(relaxed) == latest_use.load(relaxed) && !this_thread.state->overrides &&
                        is_signature_of(one->signature, call...);
    return serves ? one : nullptr;
  }
  // Makes a program ready, or none, unless one is in use.
  void make_ready(Pointer one) noexcept {
    if (!enter()) return;
    const InUse until_end(ready.busy);
    if (ready.program == one) return;
    ready.frame.reset();
    ready.program.swap(one);
  }
  [[gnu::cold]] void warn_of(std::span<const std::shared_ptr<const CachedProgram>> programs,
                             const Aspects& newest) const {
    std::vector<const Aspects*> all{&newest};
    for (const auto& one : programs) all.push_back(&one->aspects);
    warn(fmt::format("{}: a function has more than {} signatures; {}, or raise max_signatures", who,
                     options.max_signatures, what_varies(all)));
  }
  [[gnu::cold]] void make_room(std::vector<std::shared_ptr<const CachedProgram>>& programs, const Aspects& newest) {
    while (programs.size() >= static_cast<std::size_t>(options.max_signatures)) {
      if (!std::exchange(warned, true)) warn_of(programs, newest);
      programs.erase(std::min_element(programs.begin(), programs.end(),
                                      [](const auto& a, const auto& b) { return a->used < b->used; }));
    }
  }
  [[gnu::cold]] void trace_into(CachedProgram& made, const CallView& call, FlatCall f) const {
    if (options.check > 0)
      made.reference = std::make_shared<const program::Program>(traced_program(who, f.function, call.tensors));
    made.traced = std::make_shared<autodiff::Traced>(
        who, with_unknown_draws(std::move(f.function)), call.tensors, std::span<const Source>(), nullptr,
        static_cast<std::size_t>(options.max_signatures), std::move(f.parameters), native);
    made.structure = std::move(f.structure);
    made.unchecked = options.check;
    made.captured = captured_variables(*made.traced);
  }
  [[gnu::cold]] Pointer trace(const CallView& call, const CallMakers& make) const {
    auto made = std::make_shared<CachedProgram>();
    made->signature = signature_of(call);
    made->aspects = Aspects(call);
    FlatCall f = make.trace(make.context, !names_variables(call));
    const std::vector<Variable> parameters = f.parameters;
    const auto identified = [&] {
      return std::any_of(parameters.begin(), parameters.end(), VariableAccess::identified);
    };
    try {
      trace_into(*made, call, std::move(f));
    } catch (const TraceError&) {
      if (!identified()) throw;
    }
    if (identified()) made->traced = nullptr;
    if (!made->traced) made->unchecked = 0;
    return made;
  }
  // Under the lock.
  [[gnu::cold]] void add(Pointer made) {
    ++traces;
    auto next = std::make_unique<Table>();
    next->programs = table.current().programs;
    make_room(next->programs, made->aspects);
    const auto place = next->place_of(made->signature);
    next->programs.insert(place, std::move(made));
    table.replace(std::move(next));
    make_ready(nullptr);  // it may have been dropped
  }
  // Throws if f computes something else than when it was traced.
  [[gnu::cold]] static void trace_again(const CachedProgram& one, const CallView& call, const CallMakers& make) {
    const FlatCall f = make.trace(make.context, !names_variables(call));
    const std::string text = first_difference(*one.reference, traced_program(who, f.function, call.tensors));
    if (!text.empty())
      fail<Error>(who,
                  "the function computes something else than when it was traced: {}. A program keeps C++ values and "
                  "captured tensors as they were; what changes has to be an argument or a Variable",
                  text);
  }
  using Reference = std::shared_ptr<const program::Program>;
  // The program of a call, traced if there is none. Sets `checked`, to the program as traced, if the call has to be
  // checked further.
  [[gnu::noinline, gnu::cold]] Pointer find_or_trace_in_turn(const CallView& call, const CallMakers& make,
                                                             Reference& checked) {
    const autodiff::TraceQueue::Turn turn(tracing);
    std::unique_lock lock(tracing.mutex);
    if (!table.current().find(call)) {
      lock.unlock();
      Pointer made = trace(call, make);
      lock.lock();
      if (!table.current().find(call)) add(std::move(made));
    }
    const Pointer& known = *table.current().find(call);
    note_use(table.current(), known);
    const Pointer one = known;
    if (one->unchecked > 0) {
      --one->unchecked;
      lock.unlock();
      checked = one->reference;
      trace_again(*one, call, make);
    }
    return one;
  }
  Pointer find_or_trace(const CallView& call, const CallMakers& make, Reference& checked) {
    if (options.check == 0) {
      bool again = false;
      if (Pointer found = find(call, again)) {
        if (again && found->traced && call.variables.empty() && !thread_state().overrides) make_ready(found);
        return found;
      }
    }
    return find_or_trace_in_turn(call, make, checked);
  }
};

[[gnu::cold]] Programs::Programs(const CompileOptions& options) : state_(nullptr) {
  if (options.max_signatures < 1)
    fail<ValueError>(who, "max_signatures is {}; it must be at least 1", options.max_signatures);
  state_ = new State(options);
}
Programs::Programs(const Programs& other) noexcept : state_(other.state_) { ++state_->uses; }
[[gnu::cold]] Programs::~Programs() {
  if (--state_->uses == 0) delete state_;
}

CalledPlainly Programs::inlined() const {
  constexpr int per_op = tape::watch_anomalies | tape::watch_times | tape::watch_lines;
  program::Trace* trace = program::Trace::current();
  if (!trace && !(tape::watching() & per_op) && !Beside::any()) return {};
  if (state_->tracing.mine() || (trace && trace->inlines(state_)))
    fail<TraceError>(who, "a compiled function calls itself; a program has no recursion: use while_loop or scan");
  if (!trace) return CalledPlainly(nullptr);
  trace->inlined().push_back(state_);
  return CalledPlainly(&trace->inlined());
}

namespace {

// Whether the elements have the same bits, but for signs of zeros, which may stand for no gradient, and bits of NaN,
// which the order of the operands of a commutative operation decides.
[[gnu::cold]] bool agree(const Tensor& a, const Tensor& b) {
  if (ops::same_bits(a, b)) return true;
  const tape::Suspend unseen;
  const auto comparable = [](const Tensor& x) {
    return where(isnan(x), full({}, std::numeric_limits<double>::quiet_NaN(), x.dtype()), x + 0.);
  };
  return is_differentiable(a.dtype()) && ops::same_bits(comparable(a), comparable(b));
}

// Whether they agree to rounding.
[[gnu::cold]] bool nearly_agree(const Tensor& a, const Tensor& b) {
  const tape::Suspend unseen;
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  constexpr double square_roots_of_epsilon[] = {1.5e-8, 3.5e-4, 0.1};  // of 64, 32 and 16 bits
  const std::size_t bytes = item_size(a.dtype()) / (is_complex(a.dtype()) ? 2 : 1);
  const double tolerance = square_roots_of_epsilon[bytes == 8 ? 0 : bytes == 4 ? 1 : 2];
  return allclose(a, b, {.rtol = tolerance, .atol = tolerance, .equal_nan = true});
}

// Whether native code may have computed one for the other.
[[gnu::cold]] bool agree_natively(const Tensor& a, const Tensor& b) {
  const tape::Suspend unseen;
  if (a.dtype() != b.dtype() || a.shape() != b.shape() || !is_differentiable(a.dtype())) return false;
  const double unit = a.dtype() == DType::float64 ? 1e-12 : 1e-5;
  const Tensor finite = isfinite(a), zero = zeros({}, a.dtype());
  const double largest = a.size() == 0 ? 0 : cast(max(where(finite, abs(a), zero)), DType::float64).item<double>();
  return allclose(a, b, {.rtol = unit, .atol = unit * std::max(1., largest), .equal_nan = true});
}

// Fails if what the program gives differs. `rounds`: it depends on derivatives that agree to rounding only, which its
// own operations may magnify.
[[gnu::cold]] void require_agreement(const Tensor& plain, const Tensor& got, bool rounds, bool native,
                                     const std::string& text) {
  if (agree(plain, got) || (native && agree_natively(plain, got))) return;
  if (!rounds) fail<Error>(who, "{}", text);
  if (!nearly_agree(plain, got))
    warn(fmt::format(
        "{}: {}, by more than rounding; it depends on a derivative that the function takes through a loop, a branch or "
        "a checkpoint, which may have other last bits in a program, and zeros where op by op there is no gradient",
        who, text));
}

// Runs f op by op, unrecorded, on copies of what it changes.
struct PlainRun {
  std::vector<Tensor> results;
  std::map<std::uint64_t, Beside::Assigned> variables;

  [[gnu::cold]] explicit PlainRun(const CallMakers& make) {
    const tape::Suspend unseen;
    Beside beside;
    results = make.plain(make.context);
    variables = beside.values();
  }
  // `assigned`: the variables whose new values `got` has behind the results. `read`: their values before, empty where
  // the program read none. `reference`: the program as traced.
  [[gnu::cold]] void compare(std::span<const Tensor> got, std::span<const Variable> assigned,
                             std::span<const Tensor> read, const program::Program& reference, bool native) const {
    const std::vector<bool> rounds = autodiff::depend_on_derivatives(reference);
    for (std::size_t k = 0; k < results.size(); ++k)
      require_agreement(results[k], got[k], rounds[k], native,
                        fmt::format("result {} of the program differs from what the function gives op by op", k + 1));
    const auto text = [](const Variable& v) {
      return fmt::format("the program gives variable '{}' another value than the function does op by op", v.name());
    };
    const auto new_values = got.last(assigned.size());
    for (std::size_t k = 0; k < assigned.size(); ++k) {
      const Tensor* plain = written(assigned[k]);
      require_agreement(plain               ? *plain
                        : read[k].defined() ? read[k]
                                            : assigned[k].read(),
                        new_values[k], rounds[rounds.size() - assigned.size() + k], native, text(assigned[k]));
    }
    for (const auto& [id, one] : variables)
      if (one.written && !VariableAccess::abandoned(one.variable) &&
          std::find(assigned.begin(), assigned.end(), one.variable) == assigned.end())
        require_agreement(one.value, one.variable.read(), false, native, text(one.variable));
  }

 private:
  // What the function assigned last; null if it did not assign.
  const Tensor* written(const Variable& v) const {
    const auto found = variables.find(v.id());
    return found != variables.end() && found->second.written ? &found->second.value : nullptr;
  }
};

}  // namespace

namespace {

// The results of a traced function, with nothing assigned.
[[gnu::noinline]] void run_traced(autodiff::Traced& traced, const CallView& call, program::Executable::KeptFrame* frame,
                                  CallResult& result) {
  if (!traced.parameters().empty()) result.variables = call.variables;
  traced.make(call.tensors, {}, result.variables, result.tensors, result.read, frame);
  if (traced.draws().empty()) return;
  result.draws.assign(traced.draws().begin(), traced.draws().end());
  take_unknown_draws(result, traced.size());
}

}  // namespace

bool Programs::call_again(const void* types, std::span<const Tensor* const> arguments,
                          std::span<Tensor> results) const {
  const ThreadState& thread = *this_thread.state;
  if (this_thread.top || thread.watching || thread.tracer || thread.effects || !state_->enter()) return false;
  State::Ready& ready = state_->ready;
  const InUse until_end(ready.busy);
  const auto word = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(types));
  const State::CachedProgram* const one = state_->ready_for(std::span(&word, 1), arguments);
  return one && one->traced->make_again(arguments, results, ready.frame);
}

// A call whose program was ready has none in its result, which keeps it in use.
CallResult Programs::call(const CallView& call, const CallMakers& make) const {
  for (const Tensor& x : call.tensors)
    if (!x.defined()) fail<ValueError>(who, "an argument holds an empty tensor (default-constructed or moved from)");
  CallResult result;
  if (call.variables.empty() && state_->enter()) {
    result.in_use = InUse(state_->ready.busy);
    if (const State::CachedProgram* one = state_->ready_for(call)) [[likely]] {
      run_traced(*one->traced, call, &state_->ready.frame, result);
      result.structure = one->structure.get();
      return result;
    }
    result.in_use = {};
  }
  State::Reference checked;
  State::Pointer found = state_->find_or_trace(call, make, checked);
  if (found->needs_ids(call.variables)) {
    checked.reset();
    const CallWords words = words_with_ids(call);
    found = state_->find_or_trace({call.tensors, words, call.parts, call.variables, call.id_words}, make, checked);
  }
  autodiff::Traced& traced = *found->traced;
  std::optional<PlainRun> plain;
  if (checked) [[unlikely]]
    plain.emplace(make);
  run_traced(traced, call, nullptr, result);
  if (plain)
    plain->compare(result.tensors, traced.assigned(result.variables), result.read, *checked, state_->options.native);
  result.structure = found->structure.get();
  result.program = std::move(found);
  return result;
}

bool Programs::commit(CallResult& made) const {
  if (made.read.empty()) return true;
  const auto* program = static_cast<const State::CachedProgram*>(made.program.get());
  if (!program) program = state_->ready.program.get();
  return program->traced->commit(made.tensors, made.read, made.variables);
}

[[gnu::cold]] CompileStats Programs::stats() const {
  const std::lock_guard lock(state_->tracing.mutex);
  const State::Table& table = state_->table.current();
  const State::Pointer* latest = table.latest.load();
  CompileStats s = latest ? (*latest)->traced->stats() : CompileStats();
  s.signatures = static_cast<std::int64_t>(table.programs.size());
  s.traces = state_->traces;
  return s;
}

[[gnu::cold]] std::string Programs::to_dot() const {
  const std::lock_guard lock(state_->tracing.mutex);
  const State::Pointer* latest = state_->table.current().latest.load();
  return latest ? program::to_dot((*latest)->traced->program()) : std::string("digraph program {\n}\n");
}

// ---- Arguments

// An abstract tensor must be noted by its trace, which identity() does.
Tensor fresh_argument(const Tensor& x) {
  return program::Trace::current() || tape::followed(x) ? identity(x) : alias(x);
}

void fail_empty_function() {
  fail<ValueError>(who, "this object holds no compiled function; assign one: step = compile(f)");
}

Tensor stream_of(const Generator& generator) {
  return from_data(std::array<std::int64_t, 2>{static_cast<std::int64_t>(generator.seed()),
                                               static_cast<std::int64_t>(generator.position())});
}

void bind_stream(Generator& generator, const Tensor& x) { program::Trace::current()->bind_stream(generator, x); }

// A parameter has no elements: a trace does not read them.
[[gnu::cold]] void StandIns::make_parameters() {
  std::vector<std::size_t> order(variables.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return variables[a].id() < variables[b].id(); });
  std::vector<std::optional<Variable>> made(variables.size());
  for (const std::size_t k : order)
    made[k].emplace(VariableAccess::stand_in(variables[k], ops::abstract(variables[k].dtype(), variables[k].shape())));
  for (const std::optional<Variable>& v : made) parameters.push_back(*v);
}
const Variable& StandIns::operator()(const Variable& v) const {
  if (parameters.empty()) return v;
  return parameters[static_cast<std::size_t>(std::find(variables.begin(), variables.end(), v) - variables.begin())];
}

// The words of a variable: its number and rank by construction among those of the call, and what a parameter is like.
// One that is newer than those before it, as the members of a model are, is told without a search.
void CallArguments::add(const Variable& v) {
  List<Variable>& variables = bound->variables;
  const auto count = static_cast<std::int64_t>(variables.size());
  const bool newest = v.id() > bound->newest;
  const auto at = newest ? count : std::find(variables.begin(), variables.end(), v) - variables.begin();
  bound->id_words.push_back(words.size());
  words.push_back(0);
  words.push_back(at);
  if (at < count) return;
  const auto older = [&](const Variable& other) { return other.id() < v.id(); };
  const Shape shape = v.shape();
  words.push_back(newest ? count : std::count_if(variables.begin(), variables.end(), older));
  bound->newest = std::max(bound->newest, v.id());
  words.push_back(static_cast<std::int64_t>(v.dtype()) << 1 | v.trainable());
  words.push_back(shape.rank());
  for (int axis = 0; axis < shape.rank(); ++axis) words.push_back(shape[axis]);
  variables.push_back(v);
}

GeneratorArgument::GeneratorArgument(Generator& x, StandIns& known) {
  std::shared_ptr<Generator>& stand_in = known.generators[&x];
  first = !stand_in;
  if (first) stand_in = std::make_shared<Generator>(x.seed());
  local = stand_in;
}

void GeneratorArgument::add(Generator& x, CallArguments& to) {
  List<Generator*>& generators = to.bound->generators;
  const auto found = std::find(generators.begin(), generators.end(), &x);
  to.words.push_back(found - generators.begin());  // the number of the generator
  if (found != generators.end()) return;
  to.tensors.push_back(stream_of(x));
  generators.push_back(&x);
}

namespace {

WeakScalar weak(const Tensor& value) {
  return {value, is_differentiable(value.dtype()) ? OperandKind::weak_floating : OperandKind::weak_integer};
}
// Numbers compute in their own dtypes, booleans in int64.
Tensor number(const Operand& x) {
  const Tensor value = ops::to_tensor(who, x);
  return value.dtype() == DType::boolean ? cast(value, DType::int64) : value;
}

}  // namespace

[[gnu::cold]] WeakScalar weak_negate(const WeakScalar& x) { return weak(-number(x)); }

[[gnu::cold]] WeakScalar weak_arithmetic(char op, const Operand& x, const Operand& y) {
  const Tensor a = number(x), b = number(y);
  switch (op) {
    case '+':
      return weak(a + b);
    case '-':
      return weak(a - b);
    case '*':
      return weak(a * b);
    default:
      if (!is_differentiable(a.dtype()) && !is_differentiable(b.dtype()))
        fail<TypeError>(who,
                        "an integer of a traced function is divided by another, which C++ would round; use "
                        "floor_divide, or a double");
      return weak(a / b);
  }
}

}  // namespace reel::detail
