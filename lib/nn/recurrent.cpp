#include "nn/recurrent.hpp"

#include <algorithm>
#include <bit>

#include "loops/reduce/rows.hpp"
#include "nn/last_axis.hpp"

namespace reel::ops {

namespace {

using namespace recurrent;

[[noreturn]] void fail_shape(const char* op, const char* name, const Shape& got, const Shape& wanted) {
  fail<ShapeError>(op, "{} has shape {}; it must be {}", name, got, wanted);
}

// An optional operand, or zeros of the shape.
Tensor optional(const char* op, const Tensor& x, const char* name, const Shape& shape, DType d) {
  if (!x.defined()) return zeros(shape, d);
  if (x.shape() != shape) fail_shape(op, name, x.shape(), shape);
  return cast_to(x, d);
}

// Rows from `first` on in the given shape, of contiguous states.
Tensor view_from(const Tensor& states, std::int64_t first, const Shape& shape) {
  const std::int64_t width = states.shape()[2], row = states.shape()[1] * width;
  const Shape strides = shape.rank() == 3 ? Shape{row, width, 1} : Shape{width, 1};
  return TensorAccess::adopt(detail::new_view(detail::block(states), first * row, shape, strides));
}

Shape with_last(Shape shape, std::int64_t n) {
  shape[-1] = n;
  return shape;
}
// A cotangent with a first axis for their number.
Tensor add_count_axis(const Call& call, const Tensor& one) {
  if (call.attribute(2)) return one;
  Shape shape = one.shape();
  shape.insert(0, 1);
  return loops::in_shape(one, shape);
}
// All steps and examples of [..., T, B, n] as rows.
Tensor as_rows(const Tensor& steps) {
  Shape s = steps.shape();
  const std::int64_t n = s[-1], rows = s[-2] * s[-3];
  return reshape(steps, s.rank() == 3 ? Shape{rows, n} : Shape{s[0], rows, n});
}

}  // namespace

RecurrentOperands recurrent_operands(const char* op, const Operand& operand, const Operand& of_input,
                                     const Operand& of_hidden, const RecurrentOptions& o, int gates) {
  CommonDType common;
  for (const Operand* each : {&operand, &of_input, &of_hidden}) common.add(op, *each);
  for (const Tensor* each : {&o.input_bias, &o.hidden_bias, &o.state, &o.cell})
    if (each->defined()) common.add(op, *each);
  const auto [d, wide] = promote_dtype(op, common.dtype(), Accept::real);
  const Tensor from = to_tensor(op, operand, wide, "x"), wi = to_tensor(op, of_input, wide, "input_weight"),
               wh = to_tensor(op, of_hidden, wide, "hidden_weight");
  if (from.rank() != 3) fail<ShapeError>(op, "x has shape {}; it must be [steps, batch, inputs]", from.shape());
  if (wh.rank() != 2 || wh.shape()[0] != gates * wh.shape()[1])
    fail<ShapeError>(op, "hidden_weight has shape {}; it must be [{} H, H] for a state of H numbers", wh.shape(),
                     gates);
  const std::int64_t rows = wh.shape()[0], width = wh.shape()[1], batch = from.shape()[1];
  if (wi.shape() != Shape{rows, from.shape()[2]}) fail_shape(op, "input_weight", wi.shape(), {rows, from.shape()[2]});
  require_shape(op, {from.shape()[0] + 1, batch, 4 * width});
  RecurrentOperands all{{from, wi, wh}, d};
  all.inputs.push_back(optional(op, o.input_bias, "input_bias", {rows}, wide));
  all.inputs.push_back(optional(op, o.hidden_bias, "hidden_bias", {rows}, wide));
  all.inputs.push_back(optional(op, o.state, "state", {batch, width}, wide));
  if (gates == 4) all.inputs.push_back(optional(op, o.cell, "cell", {batch, width}, wide));
  return all;
}

void apply_recurrent(const Primitive& p, const detail::List<Tensor>& inputs, std::span<Tensor> outputs) {
  const Tensor* all[most_inputs];
  for (std::size_t i = 0; i < inputs.size(); ++i) all[i] = &inputs[i];
  apply(p, {all, inputs.size()}, {}, outputs);
}

void run_composed(const char* op, const detail::List<Tensor>& in, const Tensor& own, RecurrentStep step,
                  std::span<Tensor> y) {
  constexpr std::int64_t most_unrolled = 16;
  detail::FlatLoop loop{.name = op};
  loop.steps = own.shape()[0];
  loop.variables = in.size() - state;
  loop.step = [in, step](std::span<const Tensor> s, std::span<const Tensor> one) {
    return step(in, s, expand_dims(one[0], 0));
  };
  const std::vector<Tensor> last =
      detail::run_loop(loop, std::span(in).subspan(state), {&own, 1}, {.compiled = loop.steps > most_unrolled});
  y[0] = last.back();
  std::copy(last.begin(), last.end() - 1, y.begin() + 1);
}

loops::Recurrent recurrent_of(Inputs in) {
  const auto dense = [&](std::size_t i) { return loops::contiguous(*in[i]); };
  return {dense(x), dense(input_weight), dense(hidden_weight), dense(input_bias), dense(hidden_bias)};
}

Shape states_shape(Inputs in) {
  const Shape steps = in[x]->shape();
  return {steps[0] + 1, steps[1], in[hidden_weight]->shape()[1]};
}

Tensor with_first(const Tensor& states, const Tensor& first, const Shape& shape) {
  const Tensor all = states.defined() ? states : detail::empty(first.dtype(), shape);
  loops::copy(first, view_from(all, 0, first.shape()));
  return all;
}

void copy_states(const Tensor& states, const Tensor& all, const Tensor& last) {
  if (all.defined()) loops::copy(view_from(states, 1, all.shape()), all);
  loops::copy(view_from(states, states.shape()[0] - 1, last.shape()), last);
}

Tensor times_transpose(const Tensor& a, const Tensor& w) { return product("product", a, w, {.transpose_b = true}); }

Tensor plus(const Tensor& a, const Tensor& b) { return a + b; }
Tensor times(const Tensor& a, const Tensor& b) { return a * b; }
Tensor through_sigmoid(const Tensor& g, const Tensor& y) { return g * (y * (1 - y)); }
Tensor through_tanh(const Tensor& g, const Tensor& y) { return g * (1 - square(y)); }

Tensor stack_steps(const Steps& steps, const Shape& empty, DType dtype, int axis) {
  return steps.empty() ? zeros(empty, dtype) : stack(steps, axis);
}

void pull_products(const tape::Record& r, const Steps& of_inputs, const Steps& of_states, const Steps& hidden,
                   std::span<Gradient> dx) {
  const char* op = r.name();
  const Tensor &from = r.saved(x), &wi = r.saved(input_weight), &wh = r.saved(hidden_weight);
  const Shape gates = r.batched(with_last(from.shape(), wi.shape()[0]));
  const Tensor d = stack_steps(of_inputs, gates, from.dtype(), r.batch_rank()),
               s = stack_steps(of_states, gates, from.dtype(), r.batch_rank());
  if (r.wanted(x)) dx[x] = product(op, d, wi);
  if (r.wanted(input_weight)) dx[input_weight] = product(op, as_rows(d), as_rows(from), {.transpose_a = true});
  if (r.wanted(hidden_weight)) {
    const Tensor before = stack_steps(hidden, with_last(from.shape(), wh.shape()[1]), from.dtype());
    dx[hidden_weight] = product(op, as_rows(s), as_rows(before), {.transpose_a = true});
  }
  if (r.wanted(input_bias)) dx[input_bias] = sum(d, {-3, -2});
  if (r.wanted(hidden_bias)) dx[hidden_bias] = sum(s, {-3, -2});
}

Tensor tangent_of_inputs(const tape::Record& r, std::span<const Tensor> t) {
  Tensor all = zeros(with_last(r.saved(x).shape(), r.saved(input_weight).shape()[0]), r.saved(x).dtype());
  if (t[x].defined()) all = plus(all, times_transpose(t[x], r.saved(input_weight)));
  if (t[input_weight].defined()) all = plus(all, times_transpose(r.saved(x), t[input_weight]));
  if (t[input_bias].defined()) all = plus(all, t[input_bias]);
  return all;
}

Tensor tangent_of_state(const tape::Record& r, std::span<const Tensor> t, const Tensor& hidden, const Tensor& tangent) {
  Tensor all = times_transpose(tangent, r.saved(hidden_weight));
  if (t[hidden_weight].defined()) all = plus(all, times_transpose(hidden, t[hidden_weight]));
  if (t[hidden_bias].defined()) all = plus(all, t[hidden_bias]);
  return all;
}

bool unfollowed(const tape::Record& r, std::span<const Tensor> g) {
  const Tensor* all[most_inputs + 3];
  std::size_t count = 0;
  for (std::size_t i = 0; i < r.num_inputs(); ++i) all[count++] = &r.saved(i);
  for (const Tensor& each : g)
    if (each.defined()) all[count++] = &each;
  return !any_followed({all, count});
}

void evaluate_recurrent_vjp(const Primitive& vjp, const tape::Record& r, std::size_t residuals,
                            std::span<const Tensor> g, std::span<Gradient> dx) {
  const Tensor* inputs[most_inputs + 6];
  std::size_t count = 0;
  for (; count < r.num_inputs() + residuals; ++count) inputs[count] = &r.saved(count);
  std::int64_t given = 0, wanted = 0, cotangents = 0;
  for (std::size_t k = 0; k < g.size(); ++k)
    if (g[k].defined()) {
      inputs[count++] = &g[k];
      given |= std::int64_t{1} << k;
      if (r.batch_rank()) cotangents = g[k].shape()[0];
    }
  for (std::size_t i = 0; i < r.num_inputs(); ++i) wanted |= std::int64_t{r.wanted(i)} << i;
  Tensor all[most_inputs];
  evaluate(vjp, {inputs, count}, words(wanted, given, cotangents),
           {all, static_cast<std::size_t>(std::popcount(static_cast<std::uint64_t>(wanted)))}, false);
  for (std::size_t i = 0, k = 0; i < dx.size(); ++i)
    if (wanted >> i & 1) dx[i] = std::move(all[k++]);
}

void infer_recurrent_vjp(const Call& call, Metas& out) {
  for (std::size_t i = 0; i < most_inputs; ++i) {
    if (!(call.attribute(0) >> i & 1)) continue;
    Shape shape = call.input(i).shape();
    if (call.attribute(2)) shape.insert(0, call.attribute(2));
    out.add(call.input(i).dtype(), shape);
  }
}

loops::StateCotangents state_cotangents(const Call& call, std::size_t first) {
  const auto next = [&](int k) {
    return call.attribute(1) >> k & 1 ? add_count_axis(call, loops::contiguous(call.input(first++))) : Tensor();
  };
  loops::StateCotangents g{std::max<std::int64_t>(call.attribute(2), 1), {}, {}, {}};
  g.output = next(0);
  g.last = next(1);
  g.last_cell = next(2);
  return g;
}

loops::RecurrentCotangents recurrent_cotangents(const Call& call, Outputs& out) {
  std::size_t k = 0;
  const auto next = [&](std::size_t i) {
    return call.attribute(0) >> i & 1 ? add_count_axis(call, out[k++]) : Tensor();
  };
  loops::RecurrentCotangents d;
  d.x = next(x);
  d.input_weight = next(input_weight);
  d.hidden_weight = next(hidden_weight);
  d.input_bias = next(input_bias);
  d.hidden_bias = next(hidden_bias);
  d.first = next(state);
  d.first_cell = next(cell);
  return d;
}

}  // namespace reel::ops
