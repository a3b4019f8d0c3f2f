// A trace: instructions from the ops of a function.
#include "program/trace.hpp"

#include "core/fail.hpp"
#include "loops/loops.hpp"
#include "ops/apply/apply.hpp"
#include "tape/variable.hpp"

namespace reel::program {

namespace {

// The block whose elements x shares; its own, unless x is a view.
const detail::Block* memory_of(const Tensor& x) noexcept {
  const detail::Block* b = detail::block(x);
  return b->flags & detail::view_flag ? static_cast<const detail::Block*>(b->base) : b;
}

}  // namespace

Trace::Trace(const char* op)
    : EffectHandler(ops::reads_variables | ops::writes_variables | ops::advances_generator),
      op_(op),
      below_(current()) {
  detail::thread_state().tracer = this;
}
Trace::~Trace() { detail::this_thread.state->tracer = below_; }

Tensor Trace::argument(const Tensor& example) {
  const detail::Block* like = detail::block(example);
  Tensor x = TensorAccess::adopt(
      detail::new_abstract(like->dtype, like->shape(), {like->strides(), static_cast<std::size_t>(like->rank)}));
  const Index value = program_.add_value(Value::Origin::argument, x);
  values_.emplace(detail::block(x), value);
  program_.arguments.push_back(value);
  return x;
}

Index Trace::operand_of(const Tensor& x, const char* op) {
  if (!x.defined()) return nothing;
  if (memory_of(x)->flags & detail::borrowed_flag)
    fail<TraceError>(op_,
                     "{} reads borrowed memory that the traced function captured; it may change, and a program keeps "
                     "constants: pass the tensor as an argument",
                     op);
  if (!ops::is_abstract(x)) {  // a constant, with a block of its own even where it is a view
    const auto [at, added] = values_.try_emplace(detail::block(x));
    if (added) at->second = program_.add_value(Value::Origin::constant, x);
    note(x);
    return program_.whole(at->second);
  }
  const auto found = values_.find(memory_of(x));
  if (found == values_.end())
    fail<TraceError>(op, "an operand, {} {}, belongs to another trace; use it only inside the function that made it",
                     x.dtype(), x.shape());
  return program_.operand(found->second, x);
}

void Trace::note(const Tensor& x) {
  if (x.defined() && !ops::is_abstract(x) && is_differentiable(x.dtype()) && noted_.insert(detail::block(x)).second)
    captured_.push_back(x);
}

void Trace::add(const ops::Operation& operation, const ops::Call& call, std::span<const Tensor> outputs) {
  Instruction made;
  made.operation = operation;
  for (const Tensor* x : call.inputs) made.inputs.push_back(operand_of(*x, operation.name));
  if (operation.primitive) made.attributes = {operation.primitive->rule, call.attributes};
  for (const Tensor& y : outputs) {
    const bool computed = y.defined() && memory_of(y) == detail::block(y);
    made.outputs.push_back(computed ? program_.add_value(Value::Origin::result, y) : nothing);
    if (computed) values_.emplace(detail::block(y), made.outputs.back());
  }
  made.residuals_wanted = operation.primitive && operation.primitive->residuals > 0 && outputs.back().defined();
  program_.instructions.push_back(std::move(made));
}

Tensor& Trace::value_of(const Variable& v) {
  if (const auto found = states_.find(v.id()); found != states_.end()) return found->second.value;
  Tensor now;
  {
    const tape::Suspend unseen;
    now = loops::contiguous(VariableAccess::read(v));
  }
  read_.push_back(v);
  return states_.try_emplace(v.id(), State{v, argument(now)}).first->second.value;
}

void Trace::set(const Variable& v, const Tensor& value, bool assigned) {
  State& state = states_.try_emplace(v.id(), State{v, {}}).first->second;
  state.value = value;
  state.assigned = assigned;
}

Trace::Bound::Bound(Trace& trace, std::span<const Variable> variables, std::span<const Tensor> values)
    : trace_(trace), outer_(trace.states_) {
  for (std::size_t i = 0; i < variables.size(); ++i) trace.set(variables[i], values[i], false);
}
Trace::Bound::~Bound() { trace_.states_.swap(outer_); }

void Trace::perform(const ops::Effect& e) {
  if (e.generator)
    fail<TraceError>(op_,
                     "{} draws random numbers, which a program cannot repeat; draw them before the call and pass "
                     "them as an argument",
                     e.primitive.rule.name);
  const bool writes = e.primitive.effects & ops::writes_variables;
  if (!writes) {
    for (std::size_t k = 0; k < e.outputs.size(); ++k) {
      Tensor& value = value_of(e.variables[k]);
      if (tape::active()) VariableAccess::on_read(e.variables[k], value);
      e.outputs[k] = value;
    }
    return;
  }
  std::vector<const Tensor*> inputs;
  if (e.primitive.effects & ops::reads_variables)
    for (const Variable& v : e.variables) inputs.push_back(&value_of(v));
  inputs.insert(inputs.end(), e.inputs.begin(), e.inputs.end());
  ops::Metas metas;
  e.primitive.infer({inputs, e.attributes}, metas);
  std::vector<Tensor> outputs(metas.size() - e.primitive.residuals);
  ops::evaluate(e.primitive, inputs, e.attributes, outputs, false);
  for (std::size_t k = 0; k < outputs.size(); ++k) set(e.variables[k], outputs[k], true);
}

std::vector<Variable> Trace::assigned() const {
  std::vector<Variable> list;
  for (const auto& [id, state] : states_)
    if (state.assigned) list.push_back(state.variable);
  return list;
}
std::vector<Tensor> Trace::assigned_values() const {
  std::vector<Tensor> list;
  for (const auto& [id, state] : states_)
    if (state.assigned) list.push_back(state.value);
  return list;
}

Program Trace::finish(std::span<const Tensor> results) {
  for (const Tensor& y : results) program_.results.push_back(operand_of(y, op_));
  return std::move(program_);
}

}  // namespace reel::program
