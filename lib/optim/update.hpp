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

namespace optim {

/// The options of all optimisers, as lanes.
struct LaneOptions {
#define REEL_LANE(name, domain) Lane name;
  REEL_HYPERPARAMETERS(REEL_LANE)
#undef REEL_LANE
};
/// A number of the options, or a lane that stands for it.
inline double number_of(const Hyperparameter& x) { return x; }
inline const Lane& number_of(const Lane& x) { return x; }

inline bool fuses(DType dtype) noexcept { return dtype == DType::float32 || dtype == DType::float64; }
/// The new states from `in`, the old ones, whose memory they may take, and the gradient, with conversions, which
/// allocate. Allocates the states of `to` that are empty.
void update_converted(const loops::Code& code, std::span<Tensor> to, std::span<const Tensor* const> in,
                      std::span<const double> numbers);
constexpr std::size_t most_states = 3;  // a variable's value, and what optimisers keep of it
/// The outputs of the primitive Update::rows() but the counter.
void update_rows(const loops::Code& code, const ops::Call& call, ops::Outputs& out, std::size_t states,
                 std::span<const double> numbers);

/// An update as elementwise operations.
struct ComposedUpdate {
  loops::Graph (*formula)(bool inputs);  // Update::traced()
  void (*numbers)(const LaneOptions& options, const Lane& step, Lane* to);
  std::size_t states, count;  // the numbers of the variable and its states, and of the formula's numbers
  bool counts_steps;
};
/// Reads and assigns the variables: a variable and its states, the counter if there is one, and the options, which have
/// these names. With indices the gradient has rows for them, and other rows of the states stay as they are.
void run_composed(const ComposedUpdate& update, std::span<const Variable> all, std::span<const char* const> options,
                  const Tensor& gradient, const Tensor* indices);

}  // namespace optim

/// The primitives of a formula. It has
///   name                    the optimiser's
///   Options                 the optimiser's; options, if it reads the first of them only, how many
///   state                   the names of the tensors that the optimiser keeps of each variable
///   counts_steps            true if it keeps the number of steps too
///   compute(options, step)  the numbers of the formula; of lanes in place of numbers too
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
  static_assert(states <= optim::most_states);
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
  static bool fuses(DType dtype) noexcept { return optim::fuses(dtype); }
  /// The update of variables in the order of effects, for what becomes C.
  static constexpr optim::ComposedUpdate composed() {
    return {traced,
            [](const optim::LaneOptions& o, const Lane& step, Lane* to) {
              const auto numbers = Formula::compute(o, step);
              std::copy(numbers.begin(), numbers.end(), to);
            },
            states, std::tuple_size_v<Numbers>, counts_steps};
  }
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
  using Numbers = decltype(Formula::compute(std::declval<const typename Formula::Options&>(), 0.));

  // With the numbers as parameters, or as inputs behind the gradient.
  [[gnu::cold]] static loops::Graph traced(bool inputs = false) {
    constexpr std::size_t count = std::tuple_size_v<Numbers>;
    ops::Trace trace(states + 1 + (inputs ? count : 0), ops::Trace::Numbers::parameters);
    const auto input = [&](std::size_t k) { return trace.lane(static_cast<std::int32_t>(k)); };
    std::array<Lane, states> x;
    std::array<Lane, count> numbers;
    for (std::size_t i = 0; i < states; ++i) x[i] = input(i);
    for (std::size_t i = 0; i < count; ++i) numbers[i] = inputs ? input(states + 1 + i) : trace.lane(trace.number(0));
    for (const Lane& y : Formula::apply(x, input(states), numbers)) trace.graph().outputs.push_back(trace.node(y));
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
      return Formula::compute(o, static_cast<double>(step_of(call)));
    }
    (std::make_index_sequence<options>());
  }
  static void count(const ops::Call& call, ops::Outputs& out) {
    if constexpr (counts_steps) *detail::mutable_data<std::int64_t>(out[states]) = step_of(call);
  }

  static void infer(const ops::Call& call, ops::Metas& out) {
    for (std::size_t k = 0; k < written; ++k) out.add_like(call.input(k));
  }
  static void evaluate(const ops::Call& call, ops::Outputs& out) {
    const Tensor& gradient = call.input(written + options);
    const Numbers numbers = numbers_of(call);
    const DType dtype = detail::block(gradient)->dtype;
    std::array<const Tensor*, states + 1> in;
    in[states] = &gradient;
    for (std::size_t j = 0; j < states; ++j) {
      in[j] = &call.input(j);
      if (fuses(dtype)) static_cast<void>(out[j]);
    }
    const std::span<Tensor> to = out.tensors().first(states);
    if (fuses(dtype))
      code().run(dtype, gradient.shape(), in, numbers, to);
    else
      optim::update_converted(code(), to, in, numbers);
    count(call, out);
  }

  static void infer_rows(const ops::Call& call, ops::Metas& out) {
    infer(call, out);
    const Shape rows = call.input(written + options + 1).shape();
    for (std::size_t j = 0; j < states; ++j) out.add(call.input(j).dtype(), rows);
  }
  static void evaluate_rows(const ops::Call& call, ops::Outputs& out) {
    optim::update_rows(code(), call, out, states, numbers_of(call));
    count(call, out);
  }
};

}  // namespace reel
