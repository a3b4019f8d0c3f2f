// Shared by lstm and gru: their operands, and what their expressions in recorded ops consist of.
#pragma once
#include <reel/control.hpp>
#include <reel/nn/convolution.hpp>
#include <reel/nn/cross_entropy.hpp>
#include <reel/nn/normalization.hpp>
#include <reel/nn/sequence.hpp>
#include <reel/ops/index.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/reduce.hpp>
#include <vector>

#include "linalg/matrices.hpp"
#include "loops/loops.hpp"
#include "nn/recurrent_loops.hpp"
#include "ops/apply/apply.hpp"
#include "program/trace.hpp"

namespace reel::ops {

using Steps = std::vector<Tensor>;

/// The inputs of both primitives, in this order; gru has no cell.
namespace recurrent {
enum Input : std::size_t { x, input_weight, hidden_weight, input_bias, hidden_bias, state, cell };
inline constexpr std::size_t most_inputs = 7;
}  // namespace recurrent

/// All operands in the dtype to compute in; missing biases and states are zeros.
struct RecurrentOperands {
  detail::List<Tensor> inputs;
  DType result;
};
/// `gates`: 4 of lstm, which has a cell state, 3 of gru. ShapeError, TypeError.
RecurrentOperands recurrent_operands(const char* op, const Operand& x, const Operand& input_weight,
                                     const Operand& hidden_weight, const RecurrentOptions& options, int gates);
/// Applies a primitive of these inputs.
void apply_recurrent(const Primitive& p, const detail::List<Tensor>& inputs, std::span<Tensor> outputs);

// ---- For evaluate.

/// The operands of the loops, contiguous.
loops::Recurrent recurrent_of(Inputs in);
/// Shape [T + 1, B, H] for inputs of the primitive.
Shape states_shape(Inputs in);
/// `states`, or a new tensor if it is empty, with the first state in row 0.
Tensor with_first(const Tensor& states, const Tensor& first, const Shape& shape);
/// Copies rows 1 to T of states [T + 1, B, H], unless `all` is empty, and row T.
void copy_states(const Tensor& states, const Tensor& all, const Tensor& last);

// ---- In recorded ops.

/// The steps as a loop of recorded ops: y = all states, the last one, and other last ones. A step gets the states and
/// its row of `own` [1, ...], and gives the states, then the first of them once more.
using RecurrentStep = std::vector<Tensor> (*)(const detail::List<Tensor>& in, std::span<const Tensor> states,
                                              const Tensor& own);
void run_composed(const char* op, const detail::List<Tensor>& in, const Tensor& own, RecurrentStep step,
                  std::span<Tensor> y);
/// x w^T
Tensor times_transpose(const Tensor& x, const Tensor& w);
// Wrappers that take tensors: a call takes less code than an operator, which converts to Operand.
Tensor plus(const Tensor& a, const Tensor& b);
Tensor times(const Tensor& a, const Tensor& b);
/// g times the derivative of sigmoid and of tanh, whose value is y.
Tensor through_sigmoid(const Tensor& g, const Tensor& y);
Tensor through_tanh(const Tensor& g, const Tensor& y);
/// [..., T, B, n] of T tensors [..., B, n], along this axis; of none, zeros of the shape `empty`.
Tensor stack_steps(const Steps& steps, const Shape& empty, DType dtype, int axis = 0);
/// dx of the inputs, weights and biases, for the cotangents of the products with inputs and states of each step.
/// `hidden`: the states before each step.
void pull_products(const tape::Record& r, const Steps& of_inputs, const Steps& of_states, const Steps& hidden,
                   std::span<Gradient> dx);
/// The tangents of x w^T + b for all steps, and of h w^T + b for one.
Tensor tangent_of_inputs(const tape::Record& r, std::span<const Tensor> t);
Tensor tangent_of_state(const tape::Record& r, std::span<const Tensor> t, const Tensor& hidden, const Tensor& tangent);
/// t, or zeros like x; of cotangents, with their leading axis.
inline Tensor or_zeros(const Tensor& t, const Tensor& x) { return t.defined() ? t : zeros_like(x); }
inline Tensor or_zeros(const tape::Record& r, const Tensor& g, const Tensor& x) {
  return g.defined() ? g : zeros(r.batched(x.shape()), x.dtype());
}

// ---- Fused vjps. Inputs: those of the op, the residuals, the cotangents that there are. Attributes: by bits, which
// cotangents of inputs are wanted, and which of outputs are given; the extent of their leading axis, or 0.

/// Whether neither the inputs nor the cotangents g are followed.
bool unfollowed(const tape::Record& r, std::span<const Tensor> g);
void evaluate_recurrent_vjp(const Primitive& vjp, const tape::Record& r, std::size_t residuals,
                            std::span<const Tensor> g, std::span<Gradient> dx);
void infer_recurrent_vjp(const Call& call, Metas& out);
/// `first`: the index of the first cotangent among the inputs.
loops::StateCotangents state_cotangents(const Call& call, std::size_t first);
loops::RecurrentCotangents recurrent_cotangents(const Call& call, Outputs& out);

/// All inputs are kept.
inline void keep_all_inputs(const Call& call, std::span<const Tensor*> values) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = call.inputs[i];
}

}  // namespace reel::ops
