// lstm as one primitive. Residuals: the gates, the cell states and the states. A derivative that is differentiated
// again, and tangents, run the steps again in recorded ops.
#include "nn/recurrent.hpp"

namespace reel {

namespace ops {

namespace {

using namespace recurrent;

constexpr const char* lstm_name = "lstm";
constexpr std::size_t gates_at = 7, cells_at = 8, hidden_at = 9, residuals = 3;

// ---- The steps in recorded ops.

struct LstmSteps {
  Steps in, forget, fresh, out, squashed;  // of each step; squashed: tanh of the cell state after it
  Steps cells, hidden;                     // before each step, and after the last one
};

// inputs [T, B, 4 H]: the products with the inputs, and the biases; the first states.
LstmSteps lstm_steps(const Tensor& inputs, const Tensor& h, const Tensor& c, const Tensor& weight) {
  LstmSteps s;
  s.hidden = {h};
  s.cells = {c};
  for (const Tensor& own : unstack(inputs)) {
    const Steps parts = split(plus(own, times_transpose(s.hidden.back(), weight)), 4, -1);
    s.in.push_back(sigmoid(parts[0]));
    s.forget.push_back(sigmoid(parts[1]));
    s.fresh.push_back(tanh(parts[2]));
    s.out.push_back(sigmoid(parts[3]));
    s.cells.push_back(plus(times(s.forget.back(), s.cells.back()), times(s.in.back(), s.fresh.back())));
    s.squashed.push_back(tanh(s.cells.back()));
    s.hidden.push_back(times(s.out.back(), s.squashed.back()));
  }
  return s;
}

LstmSteps lstm_steps(const tape::Record& r) {
  return lstm_steps(
      plus(times_transpose(r.saved(x), r.saved(input_weight)), plus(r.saved(input_bias), r.saved(hidden_bias))),
      r.saved(state), r.saved(cell), r.saved(hidden_weight));
}

void lstm_vjp_recorded(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  LstmSteps s = lstm_steps(r);
  const std::size_t steps = s.in.size();
  Steps slopes(steps);
  const Steps outer = g[0].defined() ? unstack(g[0], r.batch_rank()) : Steps();
  Tensor dh = or_zeros(r, g[1], r.saved(state)), dc = or_zeros(r, g[2], r.saved(cell));
  for (std::size_t t = steps; t-- > 0;) {
    const Tensor &in = s.in[t], &forget = s.forget[t], &fresh = s.fresh[t], &out = s.out[t], &c = s.squashed[t];
    if (!outer.empty()) dh = plus(dh, outer[t]);
    dc = plus(dc, through_tanh(times(dh, out), c));
    slopes[t] = concatenate({through_sigmoid(times(dc, fresh), in), through_sigmoid(times(dc, s.cells[t]), forget),
                             through_tanh(times(dc, in), fresh), through_sigmoid(times(dh, c), out)},
                            -1);
    dc = times(dc, forget);
    dh = product(lstm_name, slopes[t], r.saved(hidden_weight));
  }
  if (r.wanted(state)) dx[state] = dh;
  if (r.wanted(cell)) dx[cell] = dc;
  s.hidden.pop_back();
  pull_products(r, slopes, slopes, s.hidden, dx);
}

void lstm_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  const LstmSteps s = lstm_steps(r);
  const Steps inputs = unstack(tangent_of_inputs(r, t));
  Tensor h = or_zeros(t[state], r.saved(state)), c = or_zeros(t[cell], r.saved(cell));
  Steps all;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const Tensor &in = s.in[k], &forget = s.forget[k], &fresh = s.fresh[k], &out = s.out[k], &squashed = s.squashed[k];
    const Steps p = split(plus(inputs[k], tangent_of_state(r, t, s.hidden[k], h)), 4, -1);
    c = plus(plus(times(through_sigmoid(p[1], forget), s.cells[k]), times(forget, c)),
             plus(times(through_sigmoid(p[0], in), fresh), times(in, through_tanh(p[2], fresh))));
    h = plus(times(through_sigmoid(p[3], out), squashed), times(out, through_tanh(c, squashed)));
    all.push_back(h);
  }
  dy[0] = stack_steps(all, r.output_shape(0), h.dtype());
  dy[1] = h;
  dy[2] = c;
}

// ---- The gradient. Inputs: those of lstm, the residuals, and the cotangents that there are.

void evaluate_lstm_vjp(const Call& call, Outputs& out) {
  const auto dense = [&](std::size_t i) { return loops::contiguous(call.input(i)); };
  loops::lstm_vjp(recurrent_of(call.inputs), dense(gates_at), dense(cells_at), dense(hidden_at),
                  state_cotangents(call, gates_at + residuals), recurrent_cotangents(call, out));
}
constexpr Primitive lstm_vjp_primitive = {
    .rule = {.name = "lstm.vjp"}, .infer = infer_recurrent_vjp, .evaluate = evaluate_lstm_vjp};

void lstm_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  if (unfollowed(r, g)) return evaluate_recurrent_vjp(lstm_vjp_primitive, r, residuals, g, dx);
  lstm_vjp_recorded(r, g, dx);
}

// ---- lstm. Outputs: [T, B, H], the last state and cell state.

void infer_lstm(const Call& call, Metas& out) {
  const Shape states = states_shape(call.inputs);
  const DType d = call.input(x).dtype();
  const Shape last{states[1], states[2]};
  out.add(d, {states[0] - 1, states[1], states[2]});
  out.add(d, last);
  out.add(d, last);
  out.add(d, {states[0] - 1, states[1], 4 * states[2]});
  out.add(d, states);
  out.add(d, states);
}
void evaluate_lstm(const Call& call, Outputs& out) {
  const Shape states = states_shape(call.inputs);
  const bool kept = out.residuals_wanted();
  const Tensor gates = kept ? out[3] : detail::empty(call.input(x).dtype(), {states[0] - 1, states[1], 4 * states[2]});
  const Tensor cells = with_first(kept ? out[4] : Tensor(), call.input(cell), states),
               hidden = with_first(kept ? out[5] : Tensor(), call.input(state), states);
  loops::lstm(recurrent_of(call.inputs), gates, cells, hidden);
  copy_states(hidden, out[0], out[1]);
  copy_states(cells, Tensor(), out[2]);
}
constexpr Primitive lstm_primitive = {
    .rule = batched({.name = lstm_name, .vjp = lstm_vjp, .jvp = lstm_jvp, .accepts_none = true}),
    .infer = infer_lstm,
    .evaluate = evaluate_lstm,
    .keep_inputs = keep_all_inputs,
    .residuals = residuals};

// For what becomes C.
void compose_lstm(const detail::List<Tensor>& in, std::span<Tensor> y) {
  run_composed(
      lstm_name, in, plus(times_transpose(in[x], in[input_weight]), plus(in[input_bias], in[hidden_bias])),
      [](const detail::List<Tensor>& all, std::span<const Tensor> s, const Tensor& own) {
        const LstmSteps one = lstm_steps(own, s[0], s[1], all[hidden_weight]);
        return std::vector<Tensor>{one.hidden[1], one.cells[1], one.hidden[1]};
      },
      y);
}

}  // namespace

}  // namespace ops

Lstm lstm(const Operand& x, const Operand& input_weight, const Operand& hidden_weight,
          const RecurrentOptions& options) {
  const tape::OpScope scope(x);
  const auto [inputs, result] = ops::recurrent_operands(ops::lstm_name, x, input_weight, hidden_weight, options, 4);
  Tensor y[3];
  if (program::Trace::composing())
    ops::compose_lstm(inputs, y);
  else
    ops::apply_recurrent(ops::lstm_primitive, inputs, y);
  return {ops::cast_to(y[0], result), ops::cast_to(y[1], result), ops::cast_to(y[2], result)};
}

}  // namespace reel
