// Long short-term memory and gated recurrent units over a whole sequence of T steps, for B examples: x [T, B, I],
// weights of the inputs [G, I] and of the state [G, H], biases [G], with G = 4 H (input, forget, cell, output gate) or
// 3 H (reset, update, new gate). Everything is contiguous, float32 or float64.
#pragma once
#include <reel/tensor.hpp>

namespace reel::loops {

struct Recurrent {
  Tensor x, input_weight, hidden_weight, input_bias, hidden_bias;
};

/// hidden [T + 1, B, H]: the state before each step and after the last one. Row 0 is given.
/// gates [T, B, 4 H]: of lstm the activated i, f, g, o; of gru r, z, n and q, the part of n that r multiplies.
/// cells [T + 1, B, H]: as hidden, for the cell state of lstm.
void lstm(const Recurrent& r, const Tensor& gates, const Tensor& cells, const Tensor& hidden);
void gru(const Recurrent& r, const Tensor& gates, const Tensor& hidden);

/// `count` cotangents of all states and of the last ones; an empty handle counts as zeros.
struct StateCotangents {
  std::int64_t count;
  Tensor output, last, last_cell;  // [count, T, B, H], [count, B, H], [count, B, H]
};
/// As many cotangents to compute, along a first axis; an empty handle is not computed.
struct RecurrentCotangents {
  Tensor x, input_weight, hidden_weight, input_bias, hidden_bias, first, first_cell;
};
void lstm_vjp(const Recurrent& r, const Tensor& gates, const Tensor& cells, const Tensor& hidden,
              const StateCotangents& g, const RecurrentCotangents& d);
void gru_vjp(const Recurrent& r, const Tensor& gates, const Tensor& hidden, const StateCotangents& g,
             const RecurrentCotangents& d);

}  // namespace reel::loops
