// The iterations of a loop, op by op.
#pragma once
#include <map>
#include <reel/control.hpp>

#include "gradient/control/composite_entry.hpp"

namespace reel::autodiff {

/// Whether iteration i runs.
bool goes_on(const detail::FlatLoop& loop, const LoopOptions& o, std::int64_t i, TensorSpan state);

/// Collects the outputs of the iterations and stacks them at the end.
class Outputs {
 public:
  /// Takes the outputs, which follow the loop variables in the result of a step.
  void take(Tensors& results, std::size_t variables);
  /// `joins`: they are stacks already.
  void append_to(Tensors& state, bool joins = false) const;

 private:
  std::vector<Tensors> columns_;
};

/// Gives results of a step handles of their own where they are captured tensors, or one tensor stands for several: each
/// variable is a parameter of the next step, as in a program. `made_since`: the tensors of the step have larger ids;
/// those before it that it passes on are parameters already.
void separate(Tensors& results, std::size_t variables, std::uint64_t made_since, TensorSpan before);

/// What a repeated run for the derivative must reproduce: the number of iterations, and their draws. The condition,
/// which may have drawn in between, is not run again.
struct Repetition {
  std::int64_t iterations = -1;              ///< negative before the first run
  std::map<std::int64_t, ops::Draws> draws;  ///< for iterations that draw

  Tensors first_step(const detail::FlatLoop& loop, std::int64_t i, TensorSpan state, TensorSpan x);
  Tensors step_again(const detail::FlatLoop& loop, std::int64_t i, TensorSpan state, TensorSpan x) const;
};

/// Runs the loop; for the derivative as many iterations as the first time, whatever the condition would say now.
Tensors run_plainly(const detail::FlatLoop& loop, const LoopOptions& o, Repetition& repetition, TensorSpan arguments);

/// The loop as one entry that keeps as many states as its memory budget allows.
Tensors run_checkpointed(const detail::FlatLoop& loop, const LoopOptions& options, TensorSpan arguments);

}  // namespace reel::autodiff
