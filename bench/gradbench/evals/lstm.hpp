// lstm: the loss of a stack of LSTM layers with diagonal weights on a sequence of characters. Layer k reads at time t
// what layer k - 1 said at time t, so that layer k at time s - k, for all k, are computed at once: step s of one
// recurrence whose state is that of all layers.
#pragma once
#include <algorithm>
#include <array>
#include <reel/elementwise.hpp>
#include <tuple>

#include "../eval.hpp"

namespace gradbench::lstm {

using reel::all;
using reel::range_from;
using reel::range_to;
using reel::Tensor;

struct Input {
  Tensor main;      // [2 layers, 4 bits]: weights and biases of each layer, for the forget, in, out and change gates
  Tensor extra;     // [3, bits]: weights of the input, weights and biases of the output
  Tensor state;     // [2 layers, bits]: what each layer says and its cell, before the sequence
  Tensor sequence;  // [characters, bits]
};

inline Input read(const Field& input) {
  const Tensor sequence = input.at("sequence").tensor({any_extent, any_extent});
  if (sequence.shape()[0] < 2) input.at("sequence").fail("one character", "two or more: each tells of the next");
  const std::int64_t bits = sequence.shape()[1], rows = input.at("state").size();
  if (rows == 0 || rows % 2 != 0)
    input.at("state").fail(rows == 0 ? "an empty list" : "a list of " + std::to_string(rows),
                           "two rows for each layer");
  return {input.at("main_params").tensor({rows, 4 * bits}), input.at("extra_params").tensor({3, bits}),
          input.at("state").tensor({rows, bits}), sequence};
}

/// What the last layer says after each of `inputs`, [characters - 1, bits].
inline Tensor run(const Tensor& inputs, const Tensor& main, const Tensor& state) {
  const std::int64_t steps = inputs.shape()[0], bits = inputs.shape()[1], layers = state.shape()[0] / 2;
  const auto step = [](auto x, auto said, auto cell, auto weight_forget, auto weight_in, auto weight_out,
                       auto weight_change, auto bias_forget, auto bias_in, auto bias_out, auto bias_change) {
    const auto forget = sigmoid(x * weight_forget + bias_forget), in = sigmoid(said * weight_in + bias_in),
               out = sigmoid(x * weight_out + bias_out), change = tanh(said * weight_change + bias_change);
    const auto next = cell * forget + in * change;
    return std::tuple(out * tanh(next), next);
  };
  // Of each gate and kind the parameters of all layers, [layers, bits], in the order in which every step reads them.
  const std::vector<Tensor> p =
      unstack(contiguous(reshape(moveaxis(reshape(main, {layers, 2, 4, bits}), 0, 2), {8, layers, bits})));
  const std::vector<Tensor> first = unstack(reshape(state, {layers, 2, bits}), 1);
  Tensor said = first[0], cell = first[1];
  const std::vector<Tensor> rows = split(inputs, steps);
  std::vector<Tensor> last;
  // Layers beyond the first run on when the sequence has ended below them; nothing reads what they say then.
  for (std::int64_t s = 0; s < steps + layers - 1; ++s) {
    const Tensor& row = rows[static_cast<std::size_t>(std::min(s, steps - 1))];
    const Tensor x = layers == 1 ? row : reel::concatenate({row, slice(said, {range_to(layers - 1)})});
    std::tie(said, cell) = reel::elementwise(step, x, said, cell, p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]);
    if (s >= layers - 1) {
      last.push_back(said);
    } else {  // the sequence has not reached the upper layers
      said = reel::concatenate({slice(said, {range_to(s + 1)}), slice(first[0], {range_from(s + 1)})});
      cell = reel::concatenate({slice(cell, {range_to(s + 1)}), slice(first[1], {range_from(s + 1)})});
    }
  }
  return slice(reel::stack(last), {all, layers - 1});
}

/// The loss, with the published log(sum(exp) + 2).
inline Tensor loss(const Tensor& main, const Tensor& extra, const Tensor& state, const Tensor& sequence) {
  const Tensor inputs = slice(sequence, {range_to(-1)}) * extra[0], wanted = slice(sequence, {range_from(1)});
  const Tensor output = run(inputs, main, state) * extra[1] + extra[2];
  return -mean(wanted * (output - log(sum(exp(output), 1, true) + 2)));
}

inline Tensor objective(const Input& x) { return loss(x.main, x.extra, x.state, x.sequence); }

/// Of main and extra, flattened, one after the other.
inline Tensor jacobian(const Input& x) {
  const auto [of_main, of_extra] = reel::grad<0, 1>(loss)(x.main, x.extra, x.state, x.sequence);
  return reel::concatenate({reshape(of_main, {-1}), reshape(of_extra, {-1})});
}

inline Module functions() { return {{"objective", timed(read, objective)}, {"jacobian", timed(read, jacobian)}}; }

}  // namespace gradbench::lstm
