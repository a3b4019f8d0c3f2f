// Calls of traced functions: runs of their programs, entries on tapes, derivatives.
#include "gradient/programs/traced_function.hpp"

#include <algorithm>
#include <numeric>
#include <reel/ops/make.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/ops/shape.hpp>

#include "core/fail.hpp"
#include "core/word.hpp"
#include "gradient/control/deferred_call.hpp"
#include "gradient/gradient.hpp"
#include "gradient/programs/derivative.hpp"
#include "loops/loops.hpp"
#include "ops/apply/effect.hpp"
#include "ops/apply/operation.hpp"
#include "ops/apply/pointwise.hpp"
#include "ops/index/slice.hpp"
#include "tape/capture.hpp"
#include "tape/tape.hpp"
#include "tape/variable.hpp"

namespace reel::autodiff {

namespace {

// Whether an active tape or accumulator follows one of them. Captures around this call note those that they follow.
bool any_followed(std::span<const Tensor> list) {
  if (!tape::active()) return false;
  if (tape::Capture* capture = tape::Capture::innermost()) capture->note(list);
  return std::any_of(list.begin(), list.end(), [](const Tensor& x) { return tape::followed(x); });
}

// The index of a variable in the list, or the length of it.
std::size_t index_of(const Variable& v, std::span<const Source> list) {
  const auto is = [&](const Source& s) { return s.is_variable() && s.variable() == v; };
  return static_cast<std::size_t>(std::find_if(list.begin(), list.end(), is) - list.begin());
}

template <class List>
void append(List& to, std::span<const Tensor> more) {
  to.insert(to.end(), more.begin(), more.end());
}

// Whether a batched pass over the operations of a program calls no rule once per cotangent, and has an axis to spare.
[[gnu::cold]] bool takes_many_cotangents(const program::Program& p) {
  const auto fits = [](const program::Value& v) { return v.tensor.rank() + 2 <= max_rank; };
  const auto batched = [](const program::Instruction& i) {
    const ops::Primitive* primitive = i.operation.primitive;
    return !primitive || !primitive->rule.vjp || primitive->rule.batched;
  };
  return std::all_of(p.values.begin(), p.values.end(), fits) &&
         std::all_of(p.instructions.begin(), p.instructions.end(), batched);
}

// VariableAccess::exchange of variables in any order; takes the values.
bool exchange_by_id(std::span<const Variable> variables, std::span<const Tensor> read, std::span<Tensor> values) {
  std::vector<std::size_t> order(variables.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return variables[a].id() < variables[b].id(); });
  std::vector<Variable> ordered;
  std::vector<Tensor> were, are;
  for (auto* list : {&were, &are}) list->reserve(order.size());
  ordered.reserve(order.size());
  for (const std::size_t k : order) {
    ordered.push_back(variables[k]);
    were.push_back(read[k]);
    are.push_back(std::move(values[k]));
  }
  return VariableAccess::exchange(ordered, were, are);
}

[[gnu::cold]] std::int64_t largest_result(const program::Program& p) {
  std::int64_t elements = 0;
  for (const program::Value& v : p.values)
    if (v.origin == program::Value::Origin::result) elements = std::max(elements, v.tensor.size());
  return elements;
}

// Whether an instruction, or its derivative by an input that is not fixed, reads an input or output.
class RuleReads {
 public:
  RuleReads(const program::Program& p, const program::Instruction& i, const std::vector<bool>& fixed) : i_(i) {
    for (std::size_t k = 0; k < i.inputs.size() && k < 64; ++k)
      if (i.inputs[k] != program::nothing && !fixed[p.operands[i.inputs[k]].value]) followed_ |= std::uint64_t{1} << k;
    const ops::Primitive* const primitive = i.operation.primitive;
    all_ = i.may_throw() || (primitive ? primitive->keep_inputs || primitive->residuals > 0 || lacks_rule(p, i)
                                       : i.operation.operand != ops::Operation::value || !i.pointwise());
  }
  bool input(std::size_t k) const { return all_ || reads(ops::Keep::From::input, k); }
  bool output(std::size_t k) const { return all_ || reads(ops::Keep::From::output, k); }

 private:
  // Such as softmax.vjp, in whose place a rule computes by ops with rules where a tape follows what it reads.
  static bool lacks_rule(const program::Program& p, const program::Instruction& i) {
    const tape::Rule& rule = i.operation.primitive->rule;
    return !rule.vjp && !rule.jvp && std::any_of(i.outputs.begin(), i.outputs.end(), [&](program::Index v) {
      return v != program::nothing && is_differentiable(p.values[v].tensor.dtype());
    });
  }
  bool reads(ops::Keep::From from, std::size_t number) const {
    if (const ops::Primitive* const primitive = i_.operation.primitive)
      return std::any_of(primitive->keeps.begin(), primitive->keeps.end(), [&](const ops::Keep& keep) {
        return keep.from == from && keep.index == number && (keep.readers == 0 || (keep.readers & followed_) != 0);
      });
    const tape::Reads& by = ops::pointwise_primitive(i_.operation.definition).reads;
    const std::size_t bit = from == ops::Keep::From::output ? tape::most_read - 1 : number;
    for (std::size_t k = 0; k < by.size(); ++k)
      if (followed_ >> k & 1 && by[k] >> bit & 1) return true;
    return false;
  }
  const program::Instruction& i_;
  std::uint64_t followed_ = 0;  // inputs that are not fixed
  bool all_ = false;
};
// Which arguments what a rule or a check reads is computed from, in the order of the instructions.
class ReadArguments {
 public:
  ReadArguments(const program::Program& p, std::size_t arguments)
      : p_(p), fixed_(p.values.size()), from_(p.values.size(), arguments), read_(1, arguments) {
    for (std::size_t v = 0; v < fixed_.size(); ++v) fixed_[v] = p.values[v].origin == program::Value::Origin::constant;
    for (std::size_t i = 0; i < arguments; ++i) from_.set(p.arguments[i], i);
  }
  void add(const program::Instruction& i) {
    const RuleReads reads(p_, i, fixed_);
    bool fixed = true;
    for (std::size_t n = 0; n < i.inputs.size(); ++n) {
      if (i.inputs[n] == program::nothing) continue;
      const program::Index v = p_.operands[i.inputs[n]].value;
      fixed = fixed && fixed_[v];
      if (reads.input(n)) read_.add(0, from_, v);
      for (const program::Index output : i.outputs)
        if (output != program::nothing) from_.add(output, from_, v);
    }
    for (std::size_t k = 0; k < i.outputs.size(); ++k) {
      if (i.outputs[k] == program::nothing) continue;
      fixed_[i.outputs[k]] = fixed;
      if (reads.output(k)) read_.add(0, from_, i.outputs[k]);
    }
  }
  bool read(std::size_t argument) const { return read_(0, argument); }

 private:
  const program::Program& p_;
  std::vector<bool> fixed_;  // values that are computed from constants alone: no tape follows them
  Connections from_, read_;
};
// The row-major floating arguments whose elements no derivative of any order reads, nor a check that may throw.
[[gnu::cold, gnu::noinline]] std::vector<std::size_t> unread_arguments(const program::Program& p,
                                                                       std::size_t arguments) {
  std::vector<std::size_t> unread;
  for (std::size_t i = 0; i < arguments; ++i)
    if (const Tensor& x = p.values[p.arguments[i]].tensor;
        is_differentiable(x.dtype()) && detail::block(x)->contiguous())
      unread.push_back(i);
  ReadArguments found(p, arguments);
  for (const program::Instruction& i : p.instructions) {
    if (unread.empty()) break;
    found.add(i);
    std::erase_if(unread, [&](std::size_t argument) { return found.read(argument); });
  }
  return unread;
}

}  // namespace

[[gnu::cold]] Traced::Traced(const char* owner, detail::FlatFunction f, std::span<const Tensor> arguments,
                             std::span<const Source> reads, program::Trace* enclosing, std::size_t most_derivatives,
                             std::vector<Variable> parameters, std::shared_ptr<const codegen::NativeOptions> native)
    : owner_(owner),
      f_(std::move(f)),
      arguments_(arguments.size()),
      parameters_(std::move(parameters)),
      native_(std::move(native)),
      pulls_(most_derivatives),
      pushes_(most_derivatives),
      pullbacks_(most_derivatives) {
  for (std::size_t k = 0; k < parameters_.size(); ++k) parameter_numbers_.emplace_back(parameters_[k].id(), k);
  std::sort(parameter_numbers_.begin(), parameter_numbers_.end());
  program::Program program;
  {
    program::Trace trace(owner, enclosing);
    if (native_) trace.keep_both();
    std::vector<Tensor> abstract_arguments;
    for (const Tensor& x : arguments) abstract_arguments.push_back(trace.argument(x));
    for (const Source& s : reads) trace.add_read(s);
    std::vector<Tensor> results = f_(abstract_arguments);
    results_ = results.size();
    for (const Variable& v : trace.assigned()) assigned_.push_back(v);
    for (const Variable& v : trace.read_and_assigned()) read_and_assigned_.push_back(v);
    for (const Tensor& value : trace.assigned_values()) results.push_back(value);
    program = trace.finish(results);
    reads_ = {trace.reads().begin(), trace.reads().end()};
    for (const Variable& v : assigned_) read_as_.push_back(index_of(v, reads_));
    captured_.assign(trace.captured().begin(), trace.captured().end());
    draws_ = trace.draws();
    drawn_ = trace.drawn();
    has_rules_ = trace.has_rules() || !overrides_in_force().empty();
  }
  if (enclosing) {
    connected_ =
        has_rules_ ? Connections(program.results.size(), program.arguments.size(), true) : connections(program);
    const std::vector<bool> depend = depend_on_derivatives(program);
    derives_ = std::find(depend.begin(), depend.end(), true) != depend.end();
  }
  const bool keeps_parts = enclosing && enclosing->keeps_parts();
  if (keeps_parts) without_passes_ = std::make_shared<const program::Program>(program);
  if (!enclosing && !has_rules_) unread_ = unread_arguments(program, arguments_);
  batched_ = takes_many_cotangents(program);
  inner_elements_ = largest_result(program);
  passes_ = program::simplify(program);
  if (enclosing && enclosing->keeps_both()) simple_ = std::make_unique<const program::Program>(program);
  if (native_) {
    const std::size_t before = program.instructions.size();
    codegen::compile_native(program, *native_);
    passes_.push_back({"compile_native", before, program.instructions.size()});
  }
  if (!keeps_parts)
    for (const program::PassCounts& pass : program::fuse(program)) passes_.push_back(pass);
  executable_ = std::make_unique<program::Executable>(std::move(program));
}
[[gnu::cold]] Traced::~Traced() = default;

[[gnu::cold]] std::vector<Tensor> Traced::results() const {
  std::vector<Tensor> list;
  for (std::size_t k = 0; k < results_; ++k) list.push_back(result(k));
  return list;
}

bool Traced::Inputs::followed(std::span<const Tensor> also) const {
  bool any = false;  // no short cut: captures note the followed tensors of each list
  for (const std::span<const Tensor> list : {std::span<const Tensor>(all), std::span<const Tensor>(captured), also})
    any |= any_followed(list);
  return any;
}

// The variable that a call with these variables reads or assigns.
const Variable& Traced::bound(const Variable& v, std::span<const Variable> variables) const noexcept {
  if (parameter_numbers_.empty()) return v;
  const auto at =
      std::lower_bound(parameter_numbers_.begin(), parameter_numbers_.end(), std::pair(v.id(), std::size_t{0}));
  return at != parameter_numbers_.end() && at->first == v.id() ? variables[at->second] : v;
}

std::vector<Variable> Traced::assigned(std::span<const Variable> variables) const {
  std::vector<Variable> list;
  list.reserve(assigned_.size());
  for (const Variable& v : assigned_) list.push_back(bound(v, variables));
  return list;
}

// Takes the values, except those that others hold too. A handler, such as one that refuses assigns, does not see those
// of branches that did not run: they leave the value that was read.
bool Traced::commit(std::span<Tensor> tensors, std::span<const Tensor> read,
                    std::span<const Variable> variables) const {
  if (assigned_.empty()) return true;
  const std::span values = tensors.subspan(results_);
  if (ops::handled(ops::writes_variables)) {
    const tape::Suspend unseen;
    for (std::size_t k = 0; k < assigned_.size(); ++k) {
      const Variable& v = bound(assigned_[k], variables);
      if (!read[k].defined() || !ops::same_bits(v.read(), values[k])) v.assign(values[k]);
    }
    return true;
  }
  for (Tensor& x : values)
    if (const detail::Block* b = detail::block(x); !b->contiguous() || !detail::held_once(b))
      x = detail::alias(loops::contiguous(x));
  if (parameters_.empty()) return VariableAccess::exchange(assigned_, read, values);
  return exchange_by_id(assigned(variables), read, values);
}

// Returns the results, then the values of assigned variables.
detail::List<Tensor> Traced::run(std::span<const Tensor> inputs) const {
  detail::List<Tensor> results(results_ + assigned_.size());
  executable_->run(inputs, results);
  return results;
}

// The same, keeping the residuals of the gradient.
detail::List<Tensor> Traced::run_keeping(Inputs& inputs) const {
  const Pullback& p = *inputs.pullback;
  const std::size_t own = results_ + assigned_.size();
  List results(own + p.residuals);
  p.forward->run(inputs.all, results);
  inputs.residuals.assign(std::make_move_iterator(results.begin() + static_cast<std::ptrdiff_t>(own)),
                          std::make_move_iterator(results.end()));
  results.resize(own);
  return results;
}

detail::List<Tensor> Traced::call(std::span<const Tensor> arguments, std::span<const Tensor> given) {
  for (;;) {
    List made, read;
    make(arguments, given, {}, made, read);
    if (!commit(made, read)) continue;
    made.resize(results_);
    return made;
  }
}

void Traced::make(std::span<const Tensor> arguments, std::span<const Tensor> given, std::span<const Variable> variables,
                  List& made, List& read, program::Executable::KeptFrame* kept) {
  for (const Tensor& x : arguments) detail::require_known(owner_, x);
  if (reads_.empty() && read_as_.empty() && !tape::active()) {
    made.resize(results_ + assigned_.size());
    return executable_->run_borrowing(arguments, made, kept);
  }
  List all;
  all.reserve(arguments.size() + reads_.size());
  append(all, arguments);
  append(all, given);
  for (const Source& v : reads().subspan(given.size())) all.push_back(bound(v.variable(), variables).read());
  if (!read_as_.empty()) read.reserve(read_as_.size());
  for (const std::size_t i : read_as_)
    read.push_back(i >= given.size() && i < reads_.size() ? all[arguments.size() + i] : Tensor());
  for (std::size_t i = arguments.size() + given.size(); i < all.size(); ++i)
    if (!detail::block(all[i])->contiguous()) all[i] = contiguous(all[i]);  // the layout that was traced
  if (tape::active() && record_if_followed(all, variables, made)) return;
  made.resize(results_ + assigned_.size());
  executable_->run_borrowing(all, made, kept);
}

// False, and nothing is run, if no tape follows an input.
bool Traced::record_if_followed(List& all, std::span<const Variable> variables, List& made) {
  Inputs inputs;
  any_followed(captured_);
  for (const Tensor& x : captured_)
    if (tape::followed(x)) inputs.captured.push_back(x);
  if (!any_followed(all) && inputs.captured.empty()) return false;
  inputs.wanted.reserve(all.size());
  for (const Tensor& x : all) inputs.wanted.push_back(tape::followed(x));
  inputs.all = std::move(all);
  inputs.num_arguments = arguments_;
  inputs.variables = detail::List<Variable>(variables.begin(), variables.end());
  made = record(inputs);
  return true;
}

// Whether an entry with these inputs can have this pullback.
bool Traced::fits(const Pullback& p, const Inputs& inputs) const {
  const auto same = [](const Tensor& a, const Tensor& b) { return a.id() == b.id(); };
  const auto covers = [&](const std::vector<bool>& wanted) {
    for (std::size_t i = 0; i < wanted.size(); ++i)
      if (inputs.wanted[i] && !wanted[i]) return false;
    return true;
  };
  const auto equals = [&](const std::vector<bool>& wanted) {
    return std::equal(wanted.begin(), wanted.end(), inputs.wanted.begin(), inputs.wanted.end());
  };
  return (&p == prepared_.get() ? covers(p.wanted) : equals(p.wanted)) &&
         std::equal(p.captured.begin(), p.captured.end(), inputs.captured.begin(), inputs.captured.end(), same);
}

// A recorded call; the attribute of the tape's entry points to it.
class Traced::Entry {
 public:
  Entry(std::shared_ptr<Traced> traced, Inputs&& inputs)
      : rule_{.name = traced->owner_,
              .vjp = vjp,
              .jvp = jvp,
              .accepts_none = true,
              .release = release,
              .retain = retain,
              .batched = traced->batched_,
              .inner_elements = traced->inner_elements_},
        traced_(std::move(traced)),
        inputs_(std::move(inputs)) {}
  static void record(std::shared_ptr<Traced> traced, Inputs&& inputs, std::span<const Tensor> results) {
    detail::ShortList<const Tensor*, 16> in(inputs.all.size() + inputs.captured.size()), out(results.size());
    auto* entry =
        new (std::allocator_traits<Allocator>::allocate(allocator, 1)) Entry(std::move(traced), std::move(inputs));
    std::size_t k = 0;
    for (const List* list : {&entry->inputs_.all, &entry->inputs_.captured})
      for (const Tensor& x : *list) in[k++] = &x;
    for (k = 0; k < results.size(); ++k) out[k] = &results[k];
    const std::int64_t attributes[] = {detail::word_of(entry)};
    struct Done {
      std::span<const std::int64_t> attributes;
      ~Done() { release(attributes); }
    } done{attributes};
    tape::record(entry->rule_, in, out, {}, attributes);
    if (program::Trace::current() || !entry->inputs_.captured.empty()) return;
    const Traced& t = *entry->traced_;
    for (const std::size_t i : t.unread_) entry->inputs_.all[i] = t.program().values[t.program().arguments[i]].tensor;
  }

 private:
  using Allocator = detail::PoolAllocator<Entry>;
  static inline Allocator allocator;

  static Entry& of(std::span<const std::int64_t> attributes) noexcept {
    return *detail::pointer_of<Entry>(attributes[0]);
  }
  static void retain(std::span<const std::int64_t> attributes) noexcept { ++of(attributes).uses_; }
  static void release(std::span<const std::int64_t> attributes) noexcept {
    Entry& e = of(attributes);
    if (--e.uses_ > 0) return;
    e.~Entry();
    allocator.deallocate(&e, 1);
  }
  static void vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
    const Entry& e = of(r.attributes());
    List list = e.traced_->pull(e.inputs_, g, r.batch_size());
    for (std::size_t i = 0; i < list.size(); ++i)
      if (list[i].defined()) dx[i] = Gradient(std::move(list[i]));
  }
  static void jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
    const Entry& e = of(r.attributes());
    List list = e.traced_->push(e.inputs_, dx);
    std::move(list.begin(), list.end(), dy.begin());
  }

  std::atomic<int> uses_{1};
  tape::Rule rule_;
  std::shared_ptr<Traced> traced_;
  Inputs inputs_;
};

// Zeros in place of arguments that an entry has not kept: of argument i, which is unread_, and of all.
void Traced::fill(std::span<Tensor> arguments, std::size_t i) const {
  const Tensor& like = program().values[program().arguments[i]].tensor;
  if (detail::block(arguments[i]) == detail::block(like)) arguments[i] = zeros(like.shape(), like.dtype());
}
void Traced::fill(std::span<Tensor> arguments) const {
  for (const std::size_t i : unread_) fill(arguments, i);
}

detail::List<Tensor> Traced::record(Inputs& inputs) {
  if (auto p = latest(); p && fits(*p, inputs)) inputs.pullback = std::move(p);
  List made = inputs.pullback ? run_keeping(inputs) : run(inputs.all);
  // New handles, so that a tape can follow them as the outputs of this entry.
  for (std::size_t k = 0; k < results_; ++k) made[k] = detail::alias(made[k]);
  Entry::record(shared_from_this(), std::move(inputs), std::span(made).first(results_));
  return made;
}

// The derivative by the gradient that was asked for last.
std::shared_ptr<const Pullback> Traced::latest() const {
  auto p = pullbacks_.latest();
  return p ? p : prepared_;
}

// ---- Derivatives

// The cotangents or tangents that are defined in a list, and their indices.
struct DefinedTensors {
  detail::List<Tensor> tensors;
  detail::List<std::size_t> numbers;
  std::int64_t rows;  // see Differentiated
  explicit DefinedTensors(std::span<const Tensor> list, std::int64_t at_once = 0) : rows(at_once) {
    for (std::size_t k = 0; k < list.size(); ++k)
      if (list[k].defined()) {
        numbers.push_back(k);
        tensors.push_back(contiguous(list[k]));
      }
  }
};

Traced::Key Traced::key_of(const Inputs& inputs, const DefinedTensors& seeds) {
  Key key{static_cast<std::uint64_t>(seeds.rows), seeds.numbers.size()};
  key.insert(key.end(), seeds.numbers.begin(), seeds.numbers.end());
  for (const bool wanted : inputs.wanted) key.push_back(wanted);
  for (const Tensor& w : inputs.captured) key.push_back(w.id());
  return key;
}

[[gnu::cold]] Differentiated Traced::differentiated(const Inputs& inputs, std::span<const std::size_t> seeded,
                                                    std::int64_t rows) const {
  return {.f = f_,
          .arguments = arguments_,
          .reads = reads_,
          .captured = {inputs.captured.begin(), inputs.captured.end()},
          .wanted = {inputs.wanted.begin(), inputs.wanted.end()},
          .seeded = {seeded.begin(), seeded.end()},
          .rows = rows};
}

[[gnu::cold]] Traced::Derivative Traced::make_derivative(DerivativeFunction function, Differentiated what,
                                                         std::span<const Tensor> arguments,
                                                         program::Trace* enclosing) const {
  auto exists = std::make_shared<std::vector<bool>>();
  auto f = [what = std::move(what), exists, function](std::span<const Tensor> x) {
    return existing(function(what, x), *exists);
  };
  auto traced =
      std::make_shared<Traced>(owner_, std::move(f), arguments, reads_, enclosing, pulls_.most(), parameters_, native_);
  return {std::move(traced), *exists};
}

// It assigns nothing.
detail::List<Tensor> Traced::derivative_of(const Derivative& d, std::span<const Tensor> arguments,
                                           const Inputs& inputs) {
  List some, read;
  d.traced->make(arguments, inputs.read(), inputs.variables, some, read);
  return with_gaps(some, d.exists);
}

template <class Value, class Make>
std::shared_ptr<const Value> Traced::find_or_make(RecentMap<Key, Value>& known, Key key, const Make& make) {
  if (auto found = known.find(key)) return found;
  const TraceQueue::Turn turn(tracing_);
  if (auto found = known.find(key)) return found;
  std::shared_ptr<const Value> made = make();
  const std::lock_guard lock(tracing_.mutex);
  if (auto found = known.find(key)) return found;
  known.add(std::move(key), made);
  return made;
}

detail::List<Tensor> Traced::differentiate(Derivatives& known, DerivativeFunction function, const Inputs& inputs,
                                           const DefinedTensors& seeds) {
  List arguments(inputs.arguments().begin(), inputs.arguments().end());
  fill(arguments);
  append(arguments, seeds.tensors);
  const auto d = find_or_make(known, key_of(inputs, seeds), [&] {
    return std::make_shared<const Derivative>(
        make_derivative(function, differentiated(inputs, seeds.numbers, seeds.rows), arguments));
  });
  return derivative_of(*d, arguments, inputs);
}

// Throws if the derivative assigns variables that the function does not: they would be assigned before it runs.
[[gnu::cold]] void Traced::check_assigned(const program::Trace& trace) const {
  const std::vector<Variable> now = trace.assigned();
  const auto same = [](const Variable& a, const Variable& b) { return a.id() == b.id(); };
  if (!std::equal(now.begin(), now.end(), assigned_.begin(), assigned_.end(), same))
    fail<TraceError>(owner_, "its derivative assigns a variable that the function does not assign; assign it outside");
}

namespace {

// Whether x is one of the list, or a view of one.
[[gnu::cold]] bool is_among(const Tensor& x, std::span<const Tensor> list) {
  const detail::Block* b = detail::block(x);
  const detail::Block* memory = b->flags & detail::view_flag ? static_cast<const detail::Block*>(b->base) : b;
  return std::any_of(list.begin(), list.end(), [&](const Tensor& y) { return detail::block(y) == memory; });
}

// The first part that a step places in a sum of all steps has zeros around it, as the first of all has.
[[gnu::cold]] void fill_around_first_parts(program::Program& p, std::size_t first_sum, std::size_t count) {
  std::vector<program::Instruction*> placing(p.values.size());
  std::vector<bool> is_sum(p.values.size());
  for (std::size_t k = 0; k < count; ++k) is_sum[p.arguments[first_sum + k]] = true;
  for (program::Instruction& i : p.instructions) {
    if (i.operation.primitive == &ops::place_of_term()) placing[i.outputs[0]] = &i;
    if (i.inputs.size() != 2 || !i.pointwise() || !is_sum[p.operands[i.inputs[0]].value]) continue;
    if (program::Instruction* term = placing[p.operands[i.inputs[1]].value])
      term->operation.primitive = &ops::place_of_parts();
  }
}

}  // namespace

// f and its gradient traced together, then cut in two.
[[gnu::cold]] std::shared_ptr<const Pullback> Traced::make_pullback(const Inputs& inputs, const Differentiated& what,
                                                                    std::span<const Tensor> cotangents,
                                                                    std::optional<std::size_t> step_variables,
                                                                    program::Trace* enclosing) const {
  auto made = std::make_shared<Pullback>();
  made->wanted.assign(inputs.wanted.begin(), inputs.wanted.end());
  made->captured.assign(inputs.captured.begin(), inputs.captured.end());
  made->seeded = what.seeded;
  made->summed = what.summed;
  made->rows = what.rows;
  program::Program program;
  std::size_t late = cotangents.size() + what.summed.size();  // arguments of the backward program alone
  program::Index derived = program::nothing;                  // values from it on are of the gradient
  {
    program::Trace trace(owner_, enclosing);
    if (native_) {
      trace.keep_both();
      trace.set_native_steps(native_.get());  // the walk back over a loop is interpreted: two programs share its record
    }
    std::vector<Tensor> x;
    for (const Tensor& one : inputs.arguments()) x.push_back(trace.argument(one));
    for (const Source& s : reads_) trace.add_read(s);
    for (const Tensor& one : cotangents) x.push_back(trace.argument(one));
    std::vector<Tensor> sums;
    for (const std::size_t i : what.summed) {
      const Source s = what.source(i, x);
      sums.push_back(trace.argument(ops::abstract(dtype_of_source(s), shape_of(s))));
    }
    append(x, sums);
    Differentiated noted = what;
    noted.f = [&](std::span<const Tensor> y) {
      std::vector<Tensor> results = what.f(y);
      derived = trace.values();
      return results;
    };
    Pulled pulled = compute_vjp(noted, x);
    made->late_reads = {trace.reads().begin() + static_cast<std::ptrdiff_t>(reads_.size()), trace.reads().end()};
    late += made->late_reads.size();
    check_assigned(trace);
    for (std::size_t i = 0; step_variables && i < pulled.gradients.size(); ++i)
      if (Tensor& g = pulled.gradients[i].value; g.defined()) g = is_among(g, sums) ? Tensor() : contiguous(g);
    std::vector<Tensor> results = std::move(pulled.results);
    append(results, trace.assigned_values());
    append(results, existing(pulled.gradients, made->exists));
    program = trace.finish(results);
  }
  fill_around_first_parts(program, arguments_ + reads_.size() + cotangents.size(), what.summed.size());
  program::simplify(program);
  const std::size_t arguments = program.arguments.size() - late;
  program::Parts parts =
      program::split(program, arguments, results_ + assigned_.size(), step_variables.value_or(0), derived);
  const program::Trace* const around = program::Trace::current();
  const codegen::NativeOptions* const native = native_ ? native_.get() : around ? around->native_steps() : nullptr;
  if (native) program::pack_residuals(parts);
  if (around && around->keeps_both()) {
    made->simple_forward = std::make_unique<const program::Program>(parts.first);
    made->simple_backward = std::make_unique<const program::Program>(parts.second);
  }
  if (native) codegen::compile_native(parts, *native);
  if (!around || !around->keeps_parts()) {
    program::fuse(parts.first);
    program::fuse(parts.second);
  }
  made->residuals = parts.residuals;
  made->forward = std::make_unique<program::Executable>(std::move(parts.first));
  made->backward = std::make_unique<program::Executable>(std::move(parts.second));
  return made;
}

std::shared_ptr<const Pullback> Traced::pullback(const Inputs& inputs, const DefinedTensors& seeds) {
  if (const auto& p = inputs.pullback;
      p && p->rows == seeds.rows &&
      std::equal(p->seeded.begin(), p->seeded.end(), seeds.numbers.begin(), seeds.numbers.end())) {
    if (p != latest()) static_cast<void>(pullbacks_.find(key_of(inputs, seeds)));  // now it is
    return p;
  }
  return find_or_make(pullbacks_, key_of(inputs, seeds), [&] {
    return make_pullback(inputs, differentiated(inputs, seeds.numbers, seeds.rows), seeds.tensors);
  });
}

namespace {

// The indices of the results with a derivative.
[[gnu::cold]] std::vector<std::size_t> differentiable(std::span<const Tensor> list) {
  std::vector<std::size_t> numbers;
  for (std::size_t k = 0; k < list.size(); ++k)
    if (is_differentiable(list[k].dtype())) numbers.push_back(k);
  return numbers;
}

// Abstract tensors of the dtypes and shapes of the chosen elements of a list.
[[gnu::cold]] std::vector<Tensor> like(std::span<const Tensor> list, std::span<const std::size_t> numbers) {
  std::vector<Tensor> some;
  for (const std::size_t k : numbers) some.push_back(ops::abstract(list[k].dtype(), list[k].shape()));
  return some;
}

}  // namespace

// The inputs of a call, for derivatives that are traced before it.
[[gnu::cold]] Traced::Inputs Traced::examples(const std::vector<bool>& followed) const {
  Inputs inputs;
  for (const program::Index v : program().arguments) inputs.all.push_back(program().values[v].tensor);
  inputs.num_arguments = arguments_;
  for (const Tensor& x : captured_)
    if (tape::followed(x)) inputs.captured.push_back(x);
  inputs.wanted.assign(followed.begin(), followed.end());
  return inputs;
}

[[gnu::cold]] void Traced::prepare(const std::vector<bool>& followed) {
  Inputs inputs = examples(followed);
  const std::vector<Tensor> ys = results();
  const std::vector<std::size_t> with_cotangent = differentiable(ys);
  if (!with_cotangent.empty() && any_reverse())
    prepared_ = make_pullback(inputs, differentiated(inputs, with_cotangent), like(ys, with_cotangent));
  if (any_forward()) prepare_push(std::move(inputs));
}

[[gnu::cold]] std::vector<Source> Traced::read_by_rules(const std::vector<bool>& followed) {
  std::vector<Source> more;
  const auto same = [](const Source& a, const Source& b) {
    if (a.is_variable() || b.is_variable()) return a.is_variable() && b.is_variable() && a.variable() == b.variable();
    return a.tensor().id() == b.tensor().id();
  };
  const auto add = [&](std::span<const Source> list) {
    for (const Source& s : list)
      if (std::none_of(more.begin(), more.end(), [&](const Source& m) { return same(m, s); })) more.push_back(s);
  };
  program::Trace* const enclosing = program::Trace::current();
  Inputs inputs = examples(followed);
  const std::vector<Tensor> ys = results();
  const std::vector<std::size_t> with_cotangent = differentiable(ys);
  if (!with_cotangent.empty() && any_reverse())
    add(make_pullback(inputs, differentiated(inputs, with_cotangent), like(ys, with_cotangent), {}, enclosing)
            ->late_reads);
  if (any_forward()) prepare_push(std::move(inputs), enclosing);
  if (prepared_push_) add(prepared_push_->traced->reads().subspan(reads_.size()));
  return more;
}

[[gnu::cold]] std::shared_ptr<Traced> Traced::reading(std::span<const Source> more) const {
  std::vector<Tensor> arguments;
  for (std::size_t i = 0; i < arguments_; ++i) arguments.push_back(program().values[program().arguments[i]].tensor);
  std::vector<Source> all = reads_;
  for (const Source& s : more) all.push_back(s);
  return std::make_shared<Traced>(owner_, f_, arguments, all, program::Trace::current(), pulls_.most(), parameters_);
}

void Traced::prepare_followed(std::span<const Tensor> arguments) {
  if (!tape::active()) return;
  std::vector<bool> followed;
  for (const Tensor& x : arguments) followed.push_back(tape::followed(x));
  for (const Source& s : reads_) followed.push_back(tape::followed(s.variable().read()));
  if (std::any_of(followed.begin(), followed.end(), [](bool is) { return is; }) || any_followed(captured_))
    prepare(followed);
}

[[gnu::cold]] std::shared_ptr<const Pullback> Traced::prepare_step(const std::vector<bool>& followed,
                                                                   std::size_t variables) {
  const Inputs inputs = examples(followed);
  const std::vector<Tensor> ys = results();
  std::vector<std::size_t> with_cotangent = order_of_cotangents(variables, ys.size());
  std::erase_if(with_cotangent, [&](std::size_t k) { return !is_differentiable(ys[k].dtype()); });
  if (with_cotangent.empty() || !any_reverse()) return {};
  Differentiated what = differentiated(inputs, with_cotangent);
  for (std::size_t i = arguments_; i < what.sources(); ++i)
    if ((i >= what.wanted.size() || what.wanted[i]) && is_differentiable(dtype_of_source(what.source(i, inputs.all))))
      what.summed.push_back(i);
  return make_pullback(inputs, what, like(ys, with_cotangent), variables);
}

[[gnu::cold]] detail::FlatFunction Traced::with_tangents(const std::vector<bool>& followed,
                                                         const std::vector<std::size_t>& moved) const {
  return [what = differentiated(examples(followed), moved),
          moving = differentiable(results())](std::span<const Tensor> x) {
    Pushed pushed = compute_jvp(what, x);
    std::vector<Tensor> list = std::move(pushed.results);
    for (const std::size_t k : moving) list.push_back(pushed.tangents[k].or_zeros());
    return list;
  };
}

[[gnu::cold]] std::vector<Tensor> Traced::followed_captured() const {
  const Inputs inputs = examples({});
  return {inputs.captured.begin(), inputs.captured.end()};
}

[[gnu::cold]] void Traced::prepare_push(Inputs inputs, program::Trace* enclosing) {
  for (std::size_t k = 0; k < arguments_; ++k) inputs.wanted[k] = is_differentiable(inputs.all[k].dtype());
  List sources(inputs.all), arguments(inputs.arguments().begin(), inputs.arguments().end());
  append(sources, inputs.captured);
  std::vector<std::size_t> seeded;
  moved_.assign(sources.size(), {});
  for (std::size_t i = 0; i < sources.size(); ++i)
    if (i >= inputs.wanted.size() || inputs.wanted[i]) {
      seeded.push_back(i);
      moved_[i] = ops::abstract(sources[i].dtype(), sources[i].shape());
      arguments.push_back(moved_[i]);
    }
  if (!seeded.empty())
    prepared_push_ = std::make_shared<Derivative>(
        make_derivative(tangents_of, differentiated(inputs, seeded), arguments, enclosing));
}

// By the forward and the backward program. The call has run the forward one already if this derivative was known by
// then.
detail::List<Tensor> Traced::pull_by_programs(const Inputs& inputs, const DefinedTensors& seeds) {
  const std::shared_ptr<const Pullback> p = pullback(inputs, seeds);
  List late;  // in the layout that is traced
  for (const Source& v : p->late_reads) late.push_back(contiguous(bound(v.variable(), inputs.variables).read()));
  if (any_followed(late)) return differentiate(pulls_, gradients_of, inputs, seeds);
  List all(inputs.all);
  all.reserve(all.size() + seeds.tensors.size() + p->late_reads.size() + p->residuals);
  for (const std::size_t i : unread_)
    if (inputs.pullback != p || p->backward->reads_argument(i)) fill(all, i);
  append(all, seeds.tensors);
  append(all, late);
  if (inputs.pullback == p) {
    append(all, inputs.residuals);
  } else {
    const auto own = static_cast<std::ptrdiff_t>(results_ + assigned_.size());
    List results(results_ + assigned_.size() + p->residuals);
    p->forward->run(std::span(all).first(inputs.all.size()), results);
    all.insert(all.end(), std::make_move_iterator(results.begin() + own), std::make_move_iterator(results.end()));
  }
  List gradients(p->backward->program().results.size());
  p->backward->run(all, gradients);
  return with_gaps(gradients, p->exists);
}

// The cotangents, with zeros for results that have a derivative but no cotangent.
detail::List<Tensor> Traced::fill_all(std::span<const Tensor> cotangents) const {
  List all(cotangents.begin(), cotangents.end());
  for (std::size_t k = 0; k < all.size(); ++k)
    if (const Tensor& like = result(k); !all[k].defined() && is_differentiable(like.dtype()))
      all[k] = zeros(like.shape(), like.dtype());
  return all;
}

// Cotangents and gradients that do not exist are empty handles.
detail::List<Tensor> Traced::pull(const Inputs& inputs, std::span<const Tensor> cotangents, std::int64_t rows) {
  const DefinedTensors seeds(cotangents, rows);
  if (inputs.followed(seeds.tensors) || program::Trace::current())
    return differentiate(pulls_, gradients_of, inputs, seeds);
  const bool is_prepared = prepared_ && inputs.pullback == prepared_ && !rows;
  return pull_by_programs(inputs, is_prepared ? DefinedTensors(fill_all(cotangents)) : seeds);
}

detail::List<Tensor> Traced::push(const Inputs& inputs, std::span<const Tensor> tangents) {
  const auto fits = [&](std::size_t i) { return !tangents[i].defined() || moved_[i].defined(); };
  bool prepared = prepared_push_ && moved_.size() == tangents.size();
  for (std::size_t i = 0; prepared && i < tangents.size(); ++i) prepared = fits(i);
  if (prepared) {
    List arguments(inputs.arguments().begin(), inputs.arguments().end());
    fill(arguments);
    for (std::size_t i = 0; i < moved_.size(); ++i)
      if (moved_[i].defined())
        arguments.push_back(tangents[i].defined() ? contiguous(tangents[i])
                                                  : zeros(moved_[i].shape(), moved_[i].dtype()));
    return derivative_of(*prepared_push_, arguments, inputs);
  }
  return differentiate(pushes_, tangents_of, inputs, DefinedTensors(tangents));
}

[[gnu::cold]] CompileStats Traced::stats() const {
  CompileStats s;
  s.traced_instructions = static_cast<std::int64_t>(passes_.front().before);
  for (const auto& [name, before, after] : passes_)
    s.passes.push_back({name, static_cast<std::int64_t>(before), static_cast<std::int64_t>(after)});
  s.instructions = static_cast<std::int64_t>(program().instructions.size());
  s.planned_bytes = executable_->bytes();
  s.native_instructions = static_cast<std::int64_t>(codegen::native_instructions(program()));
  for (const program::Value& v : program().values)
    if (v.origin == program::Value::Origin::constant)
      s.constant_bytes += v.tensor.size() * static_cast<std::int64_t>(item_size(v.tensor.dtype()));
  const auto last = latest();
  if (!last) return s;
  const program::Program& forward = last->forward->program();
  s.forward_instructions = static_cast<std::int64_t>(forward.instructions.size());
  s.backward_instructions = static_cast<std::int64_t>(last->backward->program().instructions.size());
  for (std::size_t k = results_ + assigned_.size(); k < forward.results.size(); ++k) {
    const Tensor& x = forward.operands[forward.results[k]].tensor;
    s.residual_bytes += x.size() * static_cast<std::int64_t>(item_size(x.dtype()));
  }
  return s;
}

}  // namespace reel::autodiff
