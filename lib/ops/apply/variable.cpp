// Reads and assigns of variables, as primitives with effects. An assign computes in the memory of the old value, unless
// another handle holds it.
#include "tape/variable.hpp"

#include <ostream>
#include <reel/tensor.hpp>

#include "core/fail.hpp"
#include "csource/writer.hpp"
#include "loops/index/table_rows.hpp"
#include "loops/loops.hpp"
#include "ops/apply/effect.hpp"
#include "ops/apply/table.hpp"
#include "ops/index/rows.hpp"
#include "ops/shape/view.hpp"

namespace reel {

namespace ops {

namespace {

void infer_value(const Call& call, Metas& out) { add_alias(out, call, 0); }
void infer_like(const Call& call, Metas& out) { out.add_like(call.input(0)); }

// Input: the variable's value.
constexpr Primitive read_primitive = {
    .rule = {.name = "Variable.read"}, .infer = infer_value, .evaluate = evaluate_view, .effects = reads_variables};

// Input: the new value, whose memory the variable shares if it is contiguous.
constexpr Primitive assign_primitive = {
    .rule = {.name = "Variable.assign"}, .infer = infer_value, .evaluate = evaluate_view, .effects = writes_variables};

// Inputs: the variable's value, and what is added or subtracted.
template <kernels::table::FixedString Name>
void evaluate_update(const Call& call, Outputs& out) {
  const detail::Block* to = detail::block(out[0]);
  if (to->size != 0) loops::pointwise(loop_of<Name>(to->dtype), call.inputs, out[0]);
}
template <char op>
std::string write_update(const Call& call, csource::Writer&, std::span<const std::string> x) {
  const DType d = call.input(0).dtype();
  const std::string y = csource::Writer::combine(op, d, x[0], x[1]);
  return is_differentiable(d) ? y : csource::cat({"(", csource::type_of(d), ")(", y, ")"});
}
// Inputs: the variable's value, indices in range [m], and rows [m, rest] that are added or subtracted there.
template <kernels::table::FixedString Name>
void evaluate_rows_update(const Call& call, Outputs& out) {
  const Rows rows = distinct_rows({call.input(1), call.input(2)});
  const Tensor updated = detail::empty(rows.values.dtype(), rows.values.shape());
  copy_to_output(call, out, 0);
  loops::take_rows(out[0], rows.indices, updated);
  const Tensor* in[] = {&updated, &rows.values};
  if (updated.size() != 0) loops::pointwise(loop_of<Name>(updated.dtype()), in, updated);
  loops::put_rows(updated, rows.indices, out[0]);
}

struct UpdatePrimitives {
  Primitive dense, rows;
};
template <kernels::table::FixedString Name, char op>
constexpr UpdatePrimitives updates(const char* name) {
  constexpr std::uint8_t effects = reads_variables | writes_variables;
  return {{.rule = {.name = name},
           .infer = infer_like,
           .evaluate = evaluate_update<Name>,
           .effects = effects,
           .write_c = write_update<op>},
          {.rule = {.name = name}, .infer = infer_like, .evaluate = evaluate_rows_update<Name>, .effects = effects}};
}
constexpr UpdatePrimitives add_primitives = updates<"add", '+'>("Variable.assign_add"),
                           subtract_primitives = updates<"subtract", '-'>("Variable.assign_sub");

void check_fits(const char* op, const Variable& v, DType dtype, const Shape& shape) {
  if (dtype != v.dtype())
    fail<TypeError>(op, "variable '{}' is {}, the value is {}; cast it", v.name(), v.dtype(), dtype);
  if (shape != v.shape()) fail<ShapeError>(op, "variable '{}' has shape {}, the value {}", v.name(), v.shape(), shape);
}
void check_fits(const char* op, const Variable& v, const Tensor& value) {
  if (!value.defined()) fail<ValueError>(op, "the value for variable '{}' is empty", v.name());
  check_fits(op, v, value.dtype(), value.shape());
  detail::require_known(op, value);
}

// Assignments are not recorded: why_none() names those of values that a tape follows. `result` stands for the value.
void note_assignment(const char* op, const Tensor& value, const Tensor& result) {
  if (!tape::active() || !tape::followed(value)) return;
  const Tensor* const inputs[] = {&value};
  tape::note_unrecorded(op, inputs, result, tape::Unrecorded::stopped);
}

void write(const Primitive& primitive, const Variable& v, std::initializer_list<const Tensor*> inputs) {
  perform({.primitive = primitive, .inputs = {inputs.begin(), inputs.size()}, .variables = {&v, 1}});
}

void update(const UpdatePrimitives& primitives, const Variable& v, const Tensor& delta) {
  const char* op = primitives.dense.rule.name;
  check_fits(op, v, delta);
  if (!loop_of<"add">(v.dtype())) fail<TypeError>(op, "is not defined for {}; {}", v.dtype(), remedy(v.dtype()));
  if (!detail::this_thread.state->effects) note_assignment(op, delta, detail::alias(delta));
  write(primitives.dense, v, {&delta});
}

void update(const UpdatePrimitives& primitives, const Variable& v, const Gradient& delta) {
  const char* op = primitives.dense.rule.name;
  if (!delta) fail<ValueError>(op, "there is no gradient for variable '{}': {}", v.name(), delta.why_none());
  if (!delta.is_slices()) return update(primitives, v, delta.dense());
  const IndexedSlices slices = delta.slices();
  check_fits(op, v, slices.dtype(), slices.dense_shape);
  const Rows rows = check_rows(op, slices);
  write(primitives.rows, v, {&rows.indices, &rows.values});
}

}  // namespace

}  // namespace ops

// Values are contiguous, as in a program: the order in which a sum adds depends on strides.
Variable::Variable(const Tensor& initial, std::string name, bool trainable) : state_(nullptr) {
  if (!initial.defined()) fail<ValueError>("Variable", "the value for variable '{}' is empty", name);
  if (detail::this_thread.state->tracer)
    fail<TraceError>("Variable", "variable '{}' is made in a function that is traced; make it before", name);
  detail::require_known("Variable", initial);
  state_ = VariableAccess::make(detail::alias(loops::contiguous(initial)), std::move(name), trainable);
}

Tensor Variable::read() const {
  if (!detail::this_thread.state->effects) [[likely]]
    return VariableAccess::read(*this);
  Tensor value;
  ops::perform({.primitive = ops::read_primitive, .variables = {this, 1}, .outputs = {&value, 1}});
  return value;
}

void Variable::assign(const Tensor& value, const char* file, int line) const {
  const tape::CallScope scope({file, line});
  ops::check_fits("Variable.assign", *this, value);
  const Tensor dense = ops::is_abstract(value) ? value : loops::contiguous(value);
  if (detail::this_thread.state->effects) [[unlikely]]
    return ops::write(ops::assign_primitive, *this, {&dense});
  Tensor fresh = detail::alias(dense);
  ops::note_assignment("Variable.assign", value, fresh);
  VariableAccess::modify(*this, [&](Tensor& old) { std::swap(old, fresh); });
}
void Variable::assign_add(const Tensor& delta, const char* file, int line) const {
  const tape::CallScope scope({file, line});
  ops::update(ops::add_primitives, *this, delta);
}
void Variable::assign_sub(const Tensor& delta, const char* file, int line) const {
  const tape::CallScope scope({file, line});
  ops::update(ops::subtract_primitives, *this, delta);
}
void Variable::assign_add(const Gradient& delta, const char* file, int line) const {
  const tape::CallScope scope({file, line});
  ops::update(ops::add_primitives, *this, delta);
}
void Variable::assign_sub(const Gradient& delta, const char* file, int line) const {
  const tape::CallScope scope({file, line});
  ops::update(ops::subtract_primitives, *this, delta);
}

std::string to_string(const Variable& v) { return "Variable '" + v.name() + "' " + to_string(v.read()); }
std::ostream& operator<<(std::ostream& out, const Variable& v) { return out << to_string(v); }

}  // namespace reel
