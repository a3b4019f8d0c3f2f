// The formulas of optimisers. Each is written once, over states (the variable's value first, then what the optimiser
// remembers of it), the gradient, and numbers; as a program of lanes it runs in one pass over memory, in place.
#pragma once
#include <array>
#include <reel/elementwise.hpp>
#include <reel/ops/pointwise.hpp>

#include "loops/program/program.hpp"
#include "ops/elementwise/trace.hpp"
#include "ops/index/rows.hpp"

namespace reel {

/// formula(states, gradient, numbers) gives the new states: arrays of T, T and numbers, where T is Lane or Tensor. It
/// must not read a state's old value once it has made the new one.
template <std::size_t States, std::size_t Numbers, class Formula>
class Update {
 public:
  explicit Update(Formula formula) : formula_(formula), code_(traced(formula)) {}

  /// Whether run() serves states of this dtype.
  static bool fuses(DType dtype) noexcept { return dtype == DType::float32 || dtype == DType::float64; }

  /// The new states, by ops. All of one shape and dtype. Not recorded.
  std::array<Tensor, States> computed(const std::array<Tensor, States>& states, const Tensor& gradient,
                                      const std::array<double, Numbers>& numbers) const {
    return formula_(states, gradient, numbers);
  }

  /// The same in the states' own memory, which nobody else holds; contiguous. Asks for no memory.
  void run(const std::array<Tensor*, States>& states, const Tensor& gradient,
           const std::array<double, Numbers>& numbers) const {
    // The handles are borrowed, not doubled; they go back whatever happens.
    struct Borrowed {
      const std::array<Tensor*, States>& from;
      std::array<Tensor, States> values;
      ~Borrowed() {
        for (std::size_t i = 0; i < States; ++i) *from[i] = std::move(values[i]);
      }
    };
    Borrowed borrowed{states, {}};
    std::array<const Tensor*, States + 1> in;
    for (std::size_t i = 0; i < States; ++i) {
      borrowed.values[i] = std::move(*states[i]);
      in[i] = &borrowed.values[i];
    }
    in[States] = &gradient;
    code_.run(gradient.dtype(), gradient.shape(), in, numbers, borrowed.values);
  }

 private:
  static loops::Graph traced(const Formula& formula) {
    ops::Trace trace(States + 1, ops::Trace::Numbers::parameters);
    std::array<Lane, States> states;
    std::array<Lane, Numbers> numbers;
    for (std::size_t i = 0; i < States; ++i) states[i] = trace.lane(static_cast<std::int32_t>(i));
    for (Lane& number : numbers) number = trace.lane(trace.number(0));
    for (const Lane& x : formula(states, trace.lane(States), numbers)) trace.graph().outputs.push_back(trace.node(x));
    return trace.graph();
  }

  Formula formula_;
  loops::Code code_;
};

}  // namespace reel
