// Loops whose steps are programs, and their gradients: a walk back over what the steps have left.
#pragma once
#include <optional>

#include "program/run/checkpoints.hpp"
#include "program/run/session.hpp"

namespace reel::program {

/// What a run of a loop leaves for its gradient. Immutable.
struct LoopRecord {
  std::int64_t iterations = 0;
  detail::List<Tensor> memory;      // of all steps
  detail::List<std::byte*> steps;   // the memory of each step, of what the gradient reads
  detail::List<Tensor> tokens;      // the residuals of each step that are tokens
  Checkpoints<Tensor> checkpoints;  // under a memory budget, in place of the others; empty: the initial state
};

/// The inputs of a loop, in this order: initial variables; rows, tensors of which step i gets row i; tensors that are
/// read. The arguments of the step are variables, row, those that it reads. It returns new variables, then outputs,
/// which are stacked.
class Loop {
 public:
  struct Shape {
    std::size_t variables, rows;
    std::vector<std::size_t> step_reads, condition_reads;  // the numbers among those that are read
    std::size_t outputs;
    std::int64_t steps;          // if there is no condition
    std::int64_t most_steps;     // if there is one; negative: no limit
    std::int64_t memory_budget;  // for the gradient, bytes; 0: no limit
  };
  /// The programs outlive the loop.
  struct Programs {
    const Executable* step;
    // From variables and what it reads to a tensor of one element; null if there is none
    const Executable* condition;
  };
  /// forward: the step with its residuals as further results. backward: from the step's arguments, the cotangents of
  /// its `seeded` results, the sums of its `summed` sources, and residuals to the gradients that exist,
  /// with respect to variables, rows and shared sources: what the step reads, and captured tensors. Gradients of summed
  /// sources are added to the sums.
  struct Gradient {
    Executable* forward;
    const Executable* backward;
    std::vector<std::size_t> seeded;
    std::vector<bool> exists;
    std::vector<std::size_t> summed;
    std::size_t residuals;
  };
  Loop(const Shape& shape, const Programs& programs)
      : shape_(shape),
        programs_(programs),
        step_(*programs.step, links(), false),
        run_(*programs.step, links(), true) {}
  void set_gradient(Gradient gradient);

  /// Writes the final variables and the outputs. Leaves what the gradient needs in `record`, unless it is null.
  void run(std::span<const Tensor> inputs, std::span<const Tensor> results, LoopRecord* record) const;
  /// Writes the gradients of the `wanted` sources: variables, rows, what the step reads, captured tensors; zeros for
  /// those without a gradient. `cotangents`: one per result; an empty one counts as zero.
  void pull(std::span<const Tensor> inputs, const LoopRecord& record, std::span<const Tensor> cotangents,
            std::span<const std::size_t> wanted, std::span<const Tensor> gradients) const;

 private:
  class Inputs;
  class Condition;
  class Turns;
  class Kept;
  class Back;
  struct Residual {
    std::size_t argument;
    std::int64_t offset;  // in the memory of the forward program, apart; -1: a token
  };
  struct Backward {
    Gradient programs;
    Recurrence forward, back;
    std::vector<std::size_t> read = {};          // the variables that the backward program reads
    std::vector<std::size_t> result_of = {};     // for each source: its result, or none
    std::vector<std::size_t> cotangent_of = {};  // for each result of the step: its argument, or none
    std::vector<std::size_t> linked = {};        // for each link of `back`: its source
    std::vector<Residual> residuals = {};
    std::vector<std::size_t> tokens = {};  // indices of the results of the forward program that are tokens
    std::size_t most_bytes = 0;            // the largest argument, in bytes
  };
  std::vector<Recurrence::Link> links() const;
  std::size_t most_checkpoints() const noexcept;
  static void set_apart(Backward& b, std::size_t variables);

  Shape shape_;
  Programs programs_;
  Recurrence step_, run_;  // under a memory budget; if nothing is kept
  std::optional<Backward> backward_;
};

}  // namespace reel::program
