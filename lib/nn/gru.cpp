// gru as one primitive. Residuals: the gates and the states. A derivative that is differentiated again, and tangents,
// run the steps again in recorded ops.
#include "nn/recurrent.hpp"

namespace reel {

namespace ops {

namespace {

using namespace recurrent;

constexpr const char* gru_name = "gru";
constexpr std::size_t gru_gates = 6, gru_hidden = 7, gru_residuals = 2;

// ---- The steps in recorded ops.

struct GruSteps {
  Steps reset, update, fresh, product;  // product: h W^T + b of the new gate, which the reset gate multiplies
  Steps hidden;                         // before each step, and after the last one
};

// inputs [T, B, 3 H]: the products with the inputs, and their biases; the first state.
GruSteps gru_steps(const Tensor& inputs, const Tensor& first, const Tensor& weight, const Tensor& bias) {
  GruSteps s;
  s.hidden = {first};
  for (const Tensor& own : unstack(inputs)) {
    const Tensor h = s.hidden.back();
    const Steps a = split(own, 3, -1), p = split(plus(times_transpose(h, weight), bias), 3, -1);
    s.reset.push_back(sigmoid(plus(a[0], p[0])));
    s.update.push_back(sigmoid(plus(a[1], p[1])));
    s.product.push_back(p[2]);
    s.fresh.push_back(tanh(plus(a[2], times(s.reset.back(), p[2]))));
    s.hidden.push_back(plus(s.fresh.back(), times(s.update.back(), h - s.fresh.back())));
  }
  return s;
}

GruSteps gru_steps(const tape::Record& r) {
  return gru_steps(plus(times_transpose(r.saved(x), r.saved(input_weight)), r.saved(input_bias)), r.saved(state),
                   r.saved(hidden_weight), r.saved(hidden_bias));
}

void gru_vjp_recorded(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  GruSteps s = gru_steps(r);
  const std::size_t steps = s.reset.size();
  Steps of_inputs(steps), of_states(steps);
  const Steps outer = g[0].defined() ? unstack(g[0], r.batch_rank()) : Steps();
  Tensor dh = or_zeros(r, g[1], r.saved(state));
  for (std::size_t t = steps; t-- > 0;) {
    const Tensor &reset = s.reset[t], &update = s.update[t], &fresh = s.fresh[t];
    if (!outer.empty()) dh = plus(dh, outer[t]);
    const Tensor dn = through_tanh(times(dh, 1 - update), fresh), dr = through_sigmoid(times(dn, s.product[t]), reset),
                 dz = through_sigmoid(times(dh, s.hidden[t] - fresh), update);
    of_inputs[t] = concatenate({dr, dz, dn}, -1);
    of_states[t] = concatenate({dr, dz, times(dn, reset)}, -1);
    dh = plus(times(dh, update), product(gru_name, of_states[t], r.saved(hidden_weight)));
  }
  if (r.wanted(state)) dx[state] = dh;
  s.hidden.pop_back();
  pull_products(r, of_inputs, of_states, s.hidden, dx);
}

void gru_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  const GruSteps s = gru_steps(r);
  const Steps inputs = unstack(tangent_of_inputs(r, t));
  Tensor h = or_zeros(t[state], r.saved(state));
  Steps all;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const Tensor &reset = s.reset[k], &update = s.update[k], &fresh = s.fresh[k];
    const Steps a = split(inputs[k], 3, -1), p = split(tangent_of_state(r, t, s.hidden[k], h), 3, -1);
    const Tensor dr = through_sigmoid(plus(a[0], p[0]), reset), dz = through_sigmoid(plus(a[1], p[1]), update);
    const Tensor dn = through_tanh(plus(a[2], plus(times(dr, s.product[k]), times(reset, p[2]))), fresh);
    h = plus(plus(times(dn, 1 - update), times(dz, s.hidden[k] - fresh)), times(update, h));
    all.push_back(h);
  }
  dy[0] = stack_steps(all, r.output_shape(0), h.dtype());
  dy[1] = h;
}

// ---- The gradient. Inputs: those of gru, the residuals, and the cotangents that there are.

void evaluate_gru_vjp(const Call& call, Outputs& out) {
  const auto dense = [&](std::size_t i) { return loops::contiguous(call.input(i)); };
  loops::gru_vjp(recurrent_of(call.inputs), dense(gru_gates), dense(gru_hidden),
                 state_cotangents(call, gru_gates + gru_residuals), recurrent_cotangents(call, out));
}
constexpr Primitive gru_vjp_primitive = {
    .rule = {.name = "gru.vjp"}, .infer = infer_recurrent_vjp, .evaluate = evaluate_gru_vjp};

void gru_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  if (unfollowed(r, g)) return evaluate_recurrent_vjp(gru_vjp_primitive, r, gru_residuals, g, dx);
  gru_vjp_recorded(r, g, dx);
}

// ---- gru. Outputs: [T, B, H], the last state.

void infer_gru(const Call& call, Metas& out) {
  const Shape states = states_shape(call.inputs);
  const DType d = call.input(x).dtype();
  out.add(d, {states[0] - 1, states[1], states[2]});
  out.add(d, {states[1], states[2]});
  out.add(d, {states[0] - 1, states[1], 4 * states[2]});
  out.add(d, states);
}
void evaluate_gru(const Call& call, Outputs& out) {
  const Shape states = states_shape(call.inputs);
  const bool kept = out.residuals_wanted();
  const Tensor gates = kept ? out[2] : detail::empty(call.input(x).dtype(), {states[0] - 1, states[1], 4 * states[2]});
  const Tensor hidden = with_first(kept ? out[3] : Tensor(), call.input(state), states);
  loops::gru(recurrent_of(call.inputs), gates, hidden);
  copy_states(hidden, out[0], out[1]);
}
constexpr Primitive gru_primitive = {
    .rule = batched({.name = gru_name, .vjp = gru_vjp, .jvp = gru_jvp, .accepts_none = true}),
    .infer = infer_gru,
    .evaluate = evaluate_gru,
    .keep_inputs = keep_all_inputs,
    .residuals = gru_residuals};

// For what becomes C.
void compose_gru(const detail::List<Tensor>& in, std::span<Tensor> y) {
  run_composed(
      gru_name, in, plus(times_transpose(in[x], in[input_weight]), in[input_bias]),
      [](const detail::List<Tensor>& all, std::span<const Tensor> s, const Tensor& own) {
        const GruSteps one = gru_steps(own, s[0], all[hidden_weight], all[hidden_bias]);
        return std::vector<Tensor>{one.hidden[1], one.hidden[1]};
      },
      y);
}

}  // namespace

}  // namespace ops

Gru gru(const Operand& x, const Operand& input_weight, const Operand& hidden_weight, const RecurrentOptions& options) {
  const tape::OpScope scope(x);
  if (options.cell.defined())
    fail<ValueError>(ops::gru_name, "a cell state is given, which only lstm has; leave `cell` empty");
  const auto [inputs, result] = ops::recurrent_operands(ops::gru_name, x, input_weight, hidden_weight, options, 3);
  Tensor y[2];
  if (program::Trace::composing())
    ops::compose_gru(inputs, y);
  else
    ops::apply_recurrent(ops::gru_primitive, inputs, y);
  return {ops::cast_to(y[0], result), ops::cast_to(y[1], result)};
}

}  // namespace reel
