// Functions of sequences: attention, rotary position embedding, recurrent networks, temporal classification.
//
// float32 and float64; float16 and bfloat16 compute in float32 and are rounded once, integers and booleans as float64.
// TypeError for complex operands. Results have the same bits for every number of threads. Gradients in both modes, to
// every order. <reel/reel.hpp> does not include this header.
#pragma once
#include <optional>
#include <reel/api.hpp>
#include <reel/tensor.hpp>

namespace REEL_API reel {

/// Options of attention().
struct AttentionOptions {
  /// Boolean: true where a key takes part. Values of excluded keys must be finite, since they are multiplied by 0. Or
  /// numbers that are added to the scores; -inf excludes a key. It broadcasts to the scores [..., L, S]. An empty
  /// handle: no mask.
  Tensor mask = {};
  bool causal = false;               ///< query i sees the keys j <= i; together with a mask both must hold
  std::optional<double> scale = {};  ///< 1 / sqrt(E) if it is not given
};
/// softmax(scale q k^T + mask) v of queries q [..., L, E], keys k [..., S, E] and values v [..., S, V]: [..., L, V],
/// with leading axes that broadcast (torch's scaled_dot_product_attention). A query without any key gives 0 and passes
/// no gradient on. One entry on a tape. Scores are computed block by block with a running maximum and sum, and again
/// for the gradient (Dao et al. 2022, arXiv:2205.14135): memory for all [..., L, S] of them is only needed for the
/// gradient of a mask, tangents and derivatives of higher order. ShapeError for operands of rank below 2 and for
/// extents that differ, TypeError for a mask of integers or complex numbers. Gradient with p the softmax and d = p (g
/// v^T - the sum of g times the result): p^T g to v, scale d k to q, scale d^T q to k, d to a mask of numbers.
Tensor attention(const Operand& q, const Operand& k, const Operand& v, const AttentionOptions& options = {});

/// Options of rope().
struct RopeOptions {
  double base = 10000;       ///< ValueError unless it is positive and finite
  bool interleaved = false;  ///< pairs are elements 2 i and 2 i + 1, otherwise i and i + E / 2
};
/// Rotary embedding (Su et al. 2021, arXiv:2104.09864) of x [..., L, E]: pair i of the row at position p is rotated by
/// the angle p base^(-2 i / E). `positions` [..., L] broadcast to x's axes but the last; a number, or a tensor of rank
/// 0, is the position of the first of the L rows. Angles are computed in float64. ShapeError unless E is even and x has
/// at least two axes. Linear in x: the gradient is g rotated back. Positions get no gradient.
Tensor rope(const Operand& x, const Operand& positions = 0, const RopeOptions& options = {});

// Recurrent networks over a whole sequence x [T, B, I] of T steps for B examples. One entry on a tape: the forward pass
// keeps the gates, the gradient goes back through the steps, and weights get theirs by one product for all steps.
// Derivatives of higher order, and tangents, run the steps again in recorded ops. ShapeError naming the operand that
// does not fit.

/// Operands that may be left out; an empty handle counts as zeros.
struct RecurrentOptions {
  Tensor input_bias = {}, hidden_bias = {};  ///< [G] each
  Tensor state = {};                         ///< [B, H] before the first step
  Tensor cell = {};                          ///< the same of lstm's cell state; ValueError in gru
};
/// The states after all steps, [T, B, H], and state and cell state after the last one, [B, H].
struct Lstm {
  Tensor output, state, cell;
};
/// Long short-term memory (Hochreiter and Schmidhuber 1997, with forget gates), as torch's: with the gates i, f, g, o,
/// in this order the rows of input_weight [4 H, I] and hidden_weight [4 H, H], from x w_i^T + b_i + h w_h^T + b_h by
/// sigmoid, but g by tanh, the cell state becomes f c + i g and the state o tanh(c).
Lstm lstm(const Operand& x, const Operand& input_weight, const Operand& hidden_weight,
          const RecurrentOptions& options = {});
/// The states after all steps, [T, B, H], and after the last one, [B, H].
struct Gru {
  Tensor output, state;
};
/// Gated recurrent unit (Cho et al. 2014) as torch's: with the gates r, z, n, in this order the rows of input_weight
/// [3 H, I] and hidden_weight [3 H, H], r and z by sigmoid from x w_i^T + b_i + h w_h^T + b_h, and n = tanh(x w_i^T +
/// b_i + r (h w_h^T + b_h)), the state becomes (1 - z) n + z h.
Gru gru(const Operand& x, const Operand& input_weight, const Operand& hidden_weight,
        const RecurrentOptions& options = {});

/// Options of ctc_loss().
struct CtcOptions {
  std::int64_t blank = 0;      ///< ValueError unless it is a class
  bool zero_infinity = false;  ///< losses of targets that cannot be aligned are 0 instead of inf
};
/// Connectionist temporal classification (Graves et al. 2006; torch's ctc_loss, unreduced): [N] for log_probs [T, N,
/// C], targets [N, S] and lengths [N], minus the logarithm of the probability that a sequence of classes, drawn at each
/// of the first input_lengths[n] steps, is the first target_lengths[n] labels after merging repetitions and removing
/// blanks. Labels behind that are not read. Computed in float64. Gradient: minus g times the probability of each class
/// at each step given the target, 0 for a target that cannot be aligned; torch's differs by g exp(log_probs), which
/// log_softmax removes. TypeError for lengths and targets that are no integers, ValueError for lengths out of range,
/// IndexError for a label that is no class, or the blank.
Tensor ctc_loss(const Operand& log_probs, const Operand& targets, const Operand& input_lengths,
                const Operand& target_lengths, const CtcOptions& options = {});

}  // namespace reel
