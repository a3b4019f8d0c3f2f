// Loops whose steps are programs: values, and gradients by a walk back over what the steps have left.
#pragma once
#include <optional>

#include "program/run/checkpoints.hpp"
#include "program/run/session.hpp"

namespace reel::program {

/// What a run of a loop has left for its gradient. Never changed again.
struct LoopRecord {
  std::int64_t iterations = 0;
  detail::List<Tensor> memory;      // of all steps
  detail::List<std::byte*> steps;   // the memory of each
  detail::List<Tensor> tokens;      // residuals of each step that are tokens
  Checkpoints<Tensor> checkpoints;  // under a memory budget, instead of all these; empty: the initial state
};

/// Inputs of a loop, in this order: the initial variables, tensors of which step i gets row i, what the step reads
/// besides, what the condition reads besides. A step gives new variables, then outputs, which are stacked. The step
/// program has the arguments variables, rows, besides.
class Loop {
 public:
  struct Shape {
    std::size_t variables, rows, besides, condition_besides, outputs;
    std::int64_t steps;          // without a condition
    std::int64_t most_steps;     // with one; negative: no limit
    std::int64_t memory_budget;  // for the gradient; 0: no limit
  };
  /// The programs live as long as the loop.
  struct Programs {
    const Executable* step;
    const Executable* condition;  // variables, condition_besides to a tensor of one element; null: there is none
  };
  /// forward: the step with further results, its residuals. backward: arguments of the step; cotangents of those of its
  /// results that are `given`; sums; residuals. It gives the gradients that exist by variables, rows, and shared
  /// sources: what the step reads besides and what it captured; those of shared sources added to the sums.
  struct Gradient {
    const Executable *forward, *backward;
    std::vector<std::size_t> given;
    std::vector<bool> exists;
    std::size_t residuals;
  };
  Loop(const Shape& shape, const Programs& programs)
      : shape_(shape), programs_(programs), step_(*programs.step, links()) {}
  void set_gradient(Gradient gradient);

  /// Writes the final variables and the outputs; leaves what the gradient needs in `record`, unless it is null.
  void run(std::span<const Tensor> inputs, std::span<const Tensor> results, LoopRecord* record) const;
  /// Writes the gradients by the sources that are `wanted`, numbered as the inputs up to `besides`, then captured ones;
  /// others, which nothing leads to, get zeros. `cotangents`: of all results, empty where there is none.
  void pull(std::span<const Tensor> inputs, const LoopRecord& record, std::span<const Tensor> cotangents,
            std::span<const std::size_t> wanted, std::span<const Tensor> gradients) const;

 private:
  class Inputs;
  class Memory;
  class Back;
  struct Residual {
    std::size_t argument;
    std::int64_t offset;  // in the memory of the forward program; -1: a token
  };
  struct Backward {
    Gradient programs;
    Recurrence forward, back;
    std::vector<std::size_t> result_of = {};     // of each source: its result, or none
    std::vector<std::size_t> cotangent_of = {};  // of each result of the step: its argument, or none
    std::vector<std::size_t> linked = {};        // the source of each link of `back`
    std::vector<Residual> residuals = {};
    std::vector<std::size_t> tokens = {};  // the results of the forward program that are tokens
    std::size_t most_bytes = 0;            // of an argument
  };
  std::vector<Recurrence::Link> links() const;
  std::size_t most_checkpoints() const noexcept;

  Shape shape_;
  Programs programs_;
  Recurrence step_;
  std::optional<Backward> backward_;
};

}  // namespace reel::program
