// A trace writes the instructions of a program from the ops that a function calls.
#include "program/trace.hpp"

#include <algorithm>
#include <array>
#include <reel/ops/make.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/ops/shape.hpp>
#include <utility>

#include "core/fail.hpp"
#include "loops/loops.hpp"
#include "loops/make/random.hpp"
#include "ops/apply/apply.hpp"
#include "tape/tape.hpp"
#include "tape/variable.hpp"

namespace reel::program {

namespace {

// The block that holds the elements of x: its own, unless x is a view.
const detail::Block* memory_of(const Tensor& x) noexcept {
  const detail::Block* b = detail::block(x);
  return b->flags & detail::view_flag ? static_cast<const detail::Block*>(b->base) : b;
}

}  // namespace

Trace::Trace(const char* op, Trace* enclosing)
    : EffectHandler(ops::reads_variables | ops::writes_variables | ops::advances_generator),
      op_(op),
      enclosing_(enclosing),
      keeps_parts_(current() && current()->keeps_parts()),
      keeps_both_(current() && current()->keeps_both()),
      composes_(composing()),
      native_steps_(current() ? current()->native_steps() : nullptr),
      first_id_(enclosing ? ops::abstract(DType::boolean, {}).id() : 0),
      first_variable_(VariableAccess::next_id()),
      below_(current()) {
  detail::thread_state().tracer = this;
}
Trace::~Trace() { detail::this_thread.state->tracer = below_; }

bool Trace::inlines(const void* function) const noexcept {
  for (const auto* t = this; t; t = static_cast<const Trace*>(t->below_))
    if (std::find(t->inlined_.begin(), t->inlined_.end(), function) != t->inlined_.end()) return true;
  return false;
}

Tensor Trace::argument(const Tensor& example) {
  const detail::Block* like = detail::block(example);
  Tensor x = TensorAccess::adopt(
      detail::new_abstract(like->dtype, like->shape(), {like->strides(), static_cast<std::size_t>(like->rank)}));
  const Index value = program_.add_value(Value::Origin::argument, x);
  detail::block(x)->flags |= like->flags & detail::token_flag;
  if (ops::is_borrowed(example)) detail::block(x)->flags |= detail::borrowed_flag;
  values_.emplace(detail::block(x), value);
  program_.arguments.push_back(value);
  return x;
}

// A view keeps its identity, since tapes follow it as itself. Views of it that are made in this trace are found by the
// base block.
void Trace::adopt(const Tensor& x) {
  const Index value = program_.add_value(Value::Origin::argument, x);
  values_[detail::block(x)] = value;
  if (memory_of(x) != detail::block(x)) viewed_.try_emplace(memory_of(x), value);
  program_.arguments.push_back(value);
  reads_.emplace_back(x);
}

void Trace::add_read(const Source& source) {
  if (source.is_variable())
    value_of(source.variable());
  else
    adopt(source.tensor());
}

Index Trace::operand_of(const Tensor& x, const char* op) {
  if (!x.defined()) return nothing;
  if (!ops::is_abstract(x) && ops::is_borrowed(x))
    fail<TraceError>(op_,
                     "{} reads borrowed memory that the traced function captured; it may change, and a program keeps "
                     "constants: pass the tensor as an argument",
                     op);
  if (!ops::is_abstract(x)) {  // a constant; a view gets a base of its own
    const auto [at, added] = values_.try_emplace(detail::block(x));
    if (added) at->second = program_.add_value(Value::Origin::constant, x);
    note(x);
    return program_.whole(at->second);
  }
  if (const auto own = values_.find(detail::block(x)); own != values_.end()) return program_.operand(own->second, x);
  if (!enclosing_ || x.id() > first_id_) {  // made in this trace
    for (const auto* known : {&values_, &viewed_})
      if (const auto found = known->find(memory_of(x)); found != known->end())
        return program_.operand(found->second, x);
  } else {
    adopt(x);
    return program_.whole(values_.at(detail::block(x)));
  }
  detail::fail_foreign(op, detail::block(x));
}

void Trace::note(const Tensor& x) {
  if (enclosing_ && x.defined() && ops::is_abstract(x) && x.id() < first_id_ && !values_.contains(detail::block(x)))
    adopt(x);  // a view of it is found by its memory, but tapes follow the view itself
  if (x.defined() && !ops::is_abstract(x) && is_differentiable(x.dtype()) && noted_.insert(detail::block(x)).second)
    captured_.push_back(x);
}

namespace {

std::atomic<std::uint64_t> ops_of_all{0};

}  // namespace

std::uint64_t Trace::ops_added() noexcept { return ops_of_all.load(std::memory_order_relaxed); }
void Trace::note_progress() noexcept { ops_of_all.fetch_add(1, std::memory_order_relaxed); }

void Trace::add(const ops::Operation& operation, const ops::Call& call, std::span<const Tensor> outputs) {
  ops_of_all.fetch_add(1, std::memory_order_relaxed);
  Instruction made;
  made.operation = operation;
  made.line = tape::here();
  for (const Tensor* x : call.inputs) made.inputs.push_back(operand_of(*x, operation.name));
  if (operation.primitive) made.attributes = {operation.primitive->rule, call.attributes};
  for (const Tensor& y : outputs) {
    const bool computed = y.defined() && memory_of(y) == detail::block(y);
    made.outputs.push_back(computed ? program_.add_value(Value::Origin::result, y) : nothing);
    if (computed) values_.emplace(detail::block(y), made.outputs.back());
  }
  made.residuals_wanted = operation.primitive && operation.primitive->residuals > 0 && outputs.back().defined();
  if (made.residuals_wanted && operation.primitive->tokens)
    for (const Tensor& y : outputs.last(operation.primitive->residuals)) detail::block(y)->flags |= detail::token_flag;
  program_.instructions.push_back(std::move(made));
}

Tensor& Trace::value_of(const Variable& v) {
  if (const auto found = states_.find(v.id()); found != states_.end()) return found->second.value;
  if (v.id() < first_variable_) return states_.try_emplace(v.id(), State{v, add_variable(v)}).first->second.value;
  const Tensor like = ops::abstract(v.dtype(), v.shape());
  const Index value = program_.add_value(Value::Origin::argument, like);
  values_.emplace(detail::block(like), value);
  const tape::Suspend unseen;
  made_.push_back({v, value, like, loops::contiguous(VariableAccess::read(v))});
  return states_.try_emplace(v.id(), State{v, like}).first->second.value;
}

// Makes the variable's value an argument of the program.
Tensor Trace::add_variable(const Variable& v) {
  reads_.emplace_back(v);
  Tensor value = argument(ops::abstract(v.dtype(), v.shape()));
  detail::block(value)->flags |= detail::borrowed_flag;  // a later value may be
  return value;
}

bool Trace::is_local(const Variable& v) const noexcept {
  return v.id() >= first_variable_ && VariableAccess::abandoned(v);
}

// Decides for each variable that was made in this trace whether its value is an argument.
void Trace::settle_made() {
  for (const Made& one : made_) {
    if (is_local(one.variable)) {
      program_.make_constant(one.value, one.initial);
    } else {
      program_.arguments.push_back(one.value);
      reads_.emplace_back(one.variable);
    }
    settled_.push_back(one.argument);
  }
  made_.clear();
}

std::span<const Source> Trace::reads() {
  settle_made();
  return reads_;
}

void Trace::set(const Variable& v, const Tensor& value, bool assigned) {
  const auto [at, added] = states_.try_emplace(v.id(), State{v, {}});
  State& state = at->second;
  state.assigned_first |= added && assigned;
  state.value = value;
  state.assigned = assigned;
}

Tensor Trace::value(const Variable& v) {
  const tape::Suspend unseen;
  return detail::alias(contiguous(value_of(v)));
}
void Trace::assign(const Variable& v, const Tensor& value) {
  const tape::Suspend unseen;
  set(v, detail::alias(contiguous(value)), true);
}

Trace::Bound::Bound(Trace& trace, std::span<const Variable> variables, std::span<const Tensor> values)
    : trace_(trace), outer_(trace.states_) {
  for (std::size_t i = 0; i < variables.size(); ++i) trace.set(variables[i], values[i], false);
}
Trace::Bound::~Bound() { trace_.states_.swap(outer_); }

void Trace::perform(const ops::Effect& e) {
  if (e.generator) return draw(e);
  if (e.primitive.effects & ops::writes_variables) return assign(e);
  for (std::size_t k = 0; k < e.outputs.size(); ++k) e.outputs[k] = read(e.variables[k]);
}

Tensor Trace::read(const Variable& v) {
  Tensor& value = value_of(v);
  State& state = states_.find(v.id())->second;
  state.read = true;
  // A tape around the call takes a read after an assign for one of the variable, which must be an input of the call.
  if (std::exchange(state.assigned_first, false) && !enclosing_ && v.id() < first_variable_)
    static_cast<void>(add_variable(v));
  if (tape::active()) VariableAccess::on_read(v, value);
  return value;
}

std::vector<Tensor> new_values(const ops::Effect& e, std::vector<const Tensor*> inputs) {
  inputs.insert(inputs.end(), e.inputs.begin(), e.inputs.end());
  ops::Metas metas;
  e.primitive.infer({inputs, e.attributes}, metas);
  std::vector<Tensor> outputs(metas.size() - e.primitive.residuals);
  ops::evaluate(e.primitive, inputs, e.attributes, outputs, false);
  return outputs;
}

void Trace::assign(const ops::Effect& e) {
  std::vector<const Tensor*> values;
  if (e.primitive.effects & ops::reads_variables)
    for (const Variable& v : e.variables) values.push_back(&value_of(v));
  const std::vector<Tensor> outputs = new_values(e, std::move(values));
  for (std::size_t k = 0; k < outputs.size(); ++k) assign(e.variables[k], outputs[k]);
}

void Trace::bind_stream(const Generator& generator, const Tensor& stream) { streams_.push_back({&generator, stream}); }
void Trace::move_stream(const Generator& generator, const Tensor& stream) {
  streams_.push_back({&generator, stream, Stream::Origin::moved});
}

// The latest new values, or those of the enclosing trace. Draws of this trace do not move the position of that one.
Trace::Stream* Trace::find_stream(const Generator& generator) {
  const auto latest =
      std::find_if(streams_.rbegin(), streams_.rend(), [&](const Stream& s) { return s.generator == &generator; });
  if (latest != streams_.rend()) return &*latest;
  const Stream* around = enclosing_ ? enclosing_->find_stream(generator) : nullptr;
  return around ? &streams_.emplace_back(Stream{&generator, around->tensor, Stream::Origin::adopted}) : nullptr;
}

Tensor Trace::stream(const Generator& generator) {
  const Stream& s = *find_stream(generator);
  return s.blocks == 0 ? s.tensor : s.tensor + from_data(std::array<std::int64_t, 2>{0, s.blocks});
}

std::vector<std::int64_t> Trace::draws() const {
  std::vector<std::int64_t> blocks;
  for (const Stream& s : streams_) {
    if (s.origin != Stream::Origin::bound) continue;
    const bool moves = std::any_of(streams_.begin(), streams_.end(), [&](const Stream& t) {
      return t.generator == s.generator && t.origin == Stream::Origin::moved;
    });
    blocks.push_back(moves ? -1 : s.blocks);
  }
  return blocks;
}
std::vector<Tensor> Trace::unknown_draws() {
  std::vector<Tensor> list;
  const std::vector<std::int64_t> known = draws();
  for (std::size_t k = 0, bound = 0; bound < known.size(); ++k) {
    if (streams_[k].origin != Stream::Origin::bound || known[bound++] >= 0) continue;
    list.push_back(stream(*streams_[k].generator) - streams_[k].tensor);
  }
  return list;
}
std::vector<Tensor> Trace::last_streams() {
  std::vector<const Generator*> bound;
  for (const Stream& s : streams_)
    if (s.origin == Stream::Origin::bound) bound.push_back(s.generator);
  std::vector<Tensor> list;
  for (const Generator* generator : bound) list.push_back(stream(*generator));
  return list;
}
std::vector<const Generator*> Trace::drawn() const {
  std::vector<const Generator*> list;
  for (const Stream& s : streams_)
    if (s.origin == Stream::Origin::adopted) list.push_back(s.generator);
  return list;
}

// A draw is identified by the number of its stream and the position there.
void Trace::draw(const ops::Effect& e) {
  Stream* const s = find_stream(*e.generator);
  if (!s)
    fail<TraceError>(e.primitive.rule.name,
                     "draws from a generator that the traced function captured; take it as a parameter, Generator&, "
                     "which each call binds");
  draw_again(e, static_cast<std::uint64_t>(s - streams_.data()), static_cast<std::uint64_t>(s->blocks));
  s->blocks += static_cast<std::int64_t>(loops::random_blocks(e.outputs[0].dtype(), e.outputs[0].size()));
}
void Trace::draw_again(const ops::Effect& e, std::uint64_t stream, std::uint64_t first) {
  e.attributes[0] = static_cast<std::int64_t>(stream);
  e.attributes[1] = static_cast<std::int64_t>(first);
  e.outputs[0] = ops::draw_from(streams_[stream].tensor, e.attributes[1], e);
}

std::vector<Variable> Trace::assigned() const {
  std::vector<Variable> list;
  for (const auto& [id, state] : states_)
    if (state.assigned && !is_local(state.variable)) list.push_back(state.variable);
  return list;
}
std::vector<Tensor> Trace::assigned_values() const {
  std::vector<Tensor> list;
  for (const auto& [id, state] : states_)
    if (state.assigned && !is_local(state.variable)) list.push_back(state.value);
  return list;
}

std::vector<Variable> Trace::read_and_assigned() const {
  std::vector<Variable> list;
  for (const auto& [id, state] : states_)
    if (state.assigned && state.read && !is_local(state.variable)) list.push_back(state.variable);
  return list;
}

Program Trace::finish(std::span<const Tensor> results) {
  settle_made();
  for (const Tensor& y : results) program_.results.push_back(operand_of(y, op_));
  return std::move(program_);
}

Untraced::Untraced()
    : tracer_(ops::Tracer::current()),
      watches_(tracer_ && (tape::watching() & tape::watch_program)),
      keeps_((tape::watching() & tape::keep_observer) != 0) {
  if (!tracer_) return;
  detail::this_thread.state->tracer = nullptr;
  if (!watches_) return;
  tape::set_watching(tape::keep_observer, true);
  tape::set_watching(tape::watch_program, false);
}
Untraced::~Untraced() {
  if (!tracer_) return;
  detail::this_thread.state->tracer = tracer_;
  if (!watches_) return;
  tape::set_watching(tape::watch_program, true);
  tape::set_watching(tape::keep_observer, keeps_);
}

}  // namespace reel::program
