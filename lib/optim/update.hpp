// The updates of optimisers as primitives. A formula is written once, over states (the variable's value, then the
// optimiser's state of it), the gradient, and numbers. As a fused program of lanes it updates the states in place, in
// one pass over memory.
#pragma once
#include <algorithm>
#include <array>
#include <memory>
#include <reel/elementwise.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/ops/shape.hpp>

#include "loops/elementwise/complex.hpp"
#include "loops/index/table_rows.hpp"
#include "loops/loops.hpp"
#include "loops/program/prepare.hpp"
#include "ops/apply/effect.hpp"
#include "ops/elementwise/trace.hpp"
#include "ops/index/rows.hpp"
#include "optim/optimizer_state.hpp"
#include "tape/record.hpp"

namespace reel {

/// The primitives of a formula. It has
///   name                    the optimiser's
///   Options                 the optimiser's; options, if it reads the first of them only, how many
///   state                   the names of the tensors that the optimiser keeps of each variable
///   counts_steps            true if it keeps the number of steps too
///   compute(options, step)  the numbers of the formula
///   apply(states, gradient, numbers)  the new states, the first of which is the variable's value: arrays of lanes, a
///   lane
///                           and numbers. It must not read a state's old value once it has made the new one.
///
/// Inputs: the states, all of one shape and dtype, except that the optimiser's state of a half is float32; the counter,
/// an int64; the options, a float64 each; then the gradient, or, of the primitive `rows`, positions in range [m] and
/// rows [m, rest] of it, of which those at one position are summed. Outputs: the new states and counter, and, of
/// `rows`, the new rows of each state as residuals.
template <class Formula>
class Update {
 public:
  static constexpr std::size_t states = 1 + Formula::state.size();
  static constexpr bool counts_steps = requires { Formula::counts_steps; };
  static constexpr std::size_t written = states + counts_steps;
  static constexpr std::size_t options = [] {
    if constexpr (requires { Formula::options; })
      return Formula::options;
    else
      return OptimizerAccess::number_of_options<typename Formula::Options>();
  }();

  static const ops::Primitive& dense() noexcept {
    static constexpr ops::Primitive primitive = {
        .rule = {.name = Formula::name}, .infer = infer, .evaluate = evaluate, .effects = effects};
    return primitive;
  }
  static const ops::Primitive& rows() noexcept {
    static constexpr ops::Primitive primitive = {.rule = {.name = Formula::name},
                                                 .infer = infer_rows,
                                                 .evaluate = evaluate_rows,
                                                 .residuals = states,
                                                 .effects = effects};
    return primitive;
  }

  /// Whether a step of this dtype is one pass over memory without allocations.
  static bool fuses(DType dtype) noexcept { return dtype == DType::float32 || dtype == DType::float64; }
  /// Compiled at first use and never destroyed: static objects may train in their destructors.
  static const loops::Code& code() {
    static const loops::Code& code = []() -> const loops::Code& {
      auto made = std::make_unique<const loops::Code>(traced());
      loops::prepare_single_elements(*made);
      return *made.release();
    }();
    return code;
  }

 private:
  static constexpr std::uint8_t effects = ops::reads_variables | ops::writes_variables | ops::may_throw;
  using States = std::array<Tensor, states>;
  using Numbers = decltype(Formula::compute({}, 0));

  [[gnu::cold]] static loops::Graph traced() {
    ops::Trace trace(states + 1, ops::Trace::Numbers::parameters);
    std::array<Lane, states> x;
    std::array<Lane, std::tuple_size_v<Numbers>> numbers;
    for (std::size_t i = 0; i < states; ++i) x[i] = trace.lane(static_cast<std::int32_t>(i));
    for (Lane& number : numbers) number = trace.lane(trace.number(0));
    for (const Lane& y : Formula::apply(x, trace.lane(states), numbers)) trace.graph().outputs.push_back(trace.node(y));
    return trace.graph();
  }

  static std::int64_t step_of(const ops::Call& call) {
    if constexpr (!counts_steps)
      return 0;
    else
      return *detail::mutable_data<std::int64_t>(call.input(states)) + 1;
  }
  // ValueError for options out of their domain.
  static Numbers numbers_of(const ops::Call& call) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      const typename Formula::Options o{*detail::mutable_data<double>(call.input(written + I))...};
      optim::require(Formula::name, o);
      return Formula::compute(o, step_of(call));
    }
    (std::make_index_sequence<options>());
  }
  static void count(const ops::Call& call, ops::Outputs& out) {
    if constexpr (counts_steps) *detail::mutable_data<std::int64_t>(out[states]) = step_of(call);
  }

  using Operands = std::array<const Tensor*, states + 1>;  // the old states, then the gradient

  // The new states from the old ones, whose memory they may take, in one pass over memory; of other dtypes than
  // fuses() names with conversions, which allocate.
  static void update(std::span<Tensor> to, const std::array<const Tensor*, states>& from, const Tensor& gradient,
                     const Numbers& numbers) {
    Operands in;
    std::copy(from.begin(), from.end(), in.begin());
    in[states] = &gradient;
    if (const DType dtype = detail::block(gradient)->dtype; fuses(dtype))
      code().run(dtype, gradient.shape(), in, numbers, to);
    else
      update_converted(to, in, numbers);
  }
  // Allocates the states of `to` that are empty. Cold, so that it is compiled for size: the casts take the time.
  [[gnu::cold, gnu::noinline]] static void update_converted(std::span<Tensor> to, const Operands& in,
                                                            const Numbers& numbers) {
    const tape::Suspend suspended;
    std::array<Tensor, states + 1> converted;
    Operands operands;
    for (std::size_t k = 0; k <= states; ++k) {
      converted[k] = as_computed(*in[k]);
      operands[k] = &converted[k];
    }
    const DType dtype = converted[states].dtype();
    const Shape shape = converted[states].shape();
    States fresh;
    for (Tensor& x : fresh) x = detail::empty(dtype, shape);
    code().run(dtype, shape, operands, numbers, fresh);
    for (std::size_t j = 0; j < states; ++j) {
      if (!to[j].defined()) to[j] = detail::empty(in[j]->dtype(), in[j]->shape());
      if (is_complex(to[j].dtype()))
        loops::copy(fresh[j], loops::pairs_of(to[j]));
      else
        loops::copy(cast(fresh[j], to[j].dtype()), to[j]);
    }
  }
  // float16 and bfloat16 as float32. Complex numbers as pairs of real ones, each updated by its own square, as in
  // PyTorch: the square of a complex gradient would turn the step.
  static Tensor as_computed(const Tensor& x) {
    return is_complex(x.dtype()) ? loops::pairs_of(x) : cast(x, DType::float32);
  }

  static void infer(const ops::Call& call, ops::Metas& out) {
    for (std::size_t k = 0; k < written; ++k) out.add_like(call.input(k));
  }
  static void evaluate(const ops::Call& call, ops::Outputs& out) {
    const Tensor& gradient = call.input(written + options);
    const Numbers numbers = numbers_of(call);
    std::array<const Tensor*, states> old;
    for (std::size_t j = 0; j < states; ++j) {
      old[j] = &call.input(j);
      if (fuses(detail::block(gradient)->dtype)) static_cast<void>(out[j]);
    }
    update(out.tensors().first(states), old, gradient, numbers);
    count(call, out);
  }

  static void infer_rows(const ops::Call& call, ops::Metas& out) {
    infer(call, out);
    const Shape rows = call.input(written + options + 1).shape();
    for (std::size_t j = 0; j < states; ++j) out.add(call.input(j).dtype(), rows);
  }
  static void evaluate_rows(const ops::Call& call, ops::Outputs& out) {
    const ops::Rows gradient = ops::distinct_rows({call.input(written + options), call.input(written + options + 1)});
    const Numbers numbers = numbers_of(call);
    const bool all = gradient.values.shape() == call.input(written + options + 1).shape();
    States changed;
    std::array<const Tensor*, states> old;
    for (std::size_t j = 0; j < states; ++j) {
      ops::copy_to_output(call, out, j);
      changed[j] = all ? out[written + j] : detail::empty(call.input(j).dtype(), gradient.values.shape());
      loops::take_rows(out[j], gradient.indices, changed[j]);
      old[j] = &changed[j];
    }
    update(changed, old, gradient.values, numbers);
    for (std::size_t j = 0; j < states; ++j) loops::put_rows(changed[j], gradient.indices, out[j]);
    count(call, out);
  }
};

}  // namespace reel
