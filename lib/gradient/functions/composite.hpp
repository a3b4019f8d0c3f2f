// A function of tensors as one entry of the tapes: its arguments and what it captured are the entry's inputs. The
// entry's rules run the function again, or, where nobody differentiates the derivative, replay a tape of its own.
#pragma once
#include <reel/custom.hpp>
#include <reel/registry.hpp>

#include "ops/apply/run_again.hpp"

namespace reel::tape {
class Capture;
}

namespace reel::autodiff {

/// Everything that a function run out of sight of the tapes depends on.
struct Inputs {
  std::vector<Tensor> arguments;  ///< as they were passed
  std::vector<Tensor> captured;
  std::vector<Variable> variables;
  std::vector<Tensor> read;  ///< the variables' values
  std::vector<Variable> constants;
  std::vector<Tensor> constant_values;
  ops::Draws draws;

  /// Takes over what was captured.
  void take(const tape::Capture& capture);

  std::size_t size() const noexcept { return arguments.size() + captured.size() + variables.size(); }
  /// Whether something that is active follows one of them, or one of the tensors given: a derivative has to be made of
  /// recorded ops then.
  bool followed(std::span<const Tensor> also) const;
  /// The inputs of the entry; reads the variables.
  std::vector<Tensor> values();
  /// What to differentiate by, for a run with these arguments.
  std::vector<Source> sources(std::span<const Tensor> run_arguments) const;
};

/// Whether this thread has a tape or an accumulator. A capture stands for tapes that are hidden.
bool any_reverse();
bool any_forward();
/// record_operation for the library's own, which are traced through.
void record_function(std::string_view name, std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                     BackwardFunction backward, TangentFunction jvp, const RecordOptions& options = {});
/// Watches the sources that have a gradient.
void watch_differentiable(GradientTape& tape, std::span<const Source> sources);
/// New tensors with the same values; recorded.
std::vector<Tensor> identities(std::span<const Tensor> tensors);
/// Tensors for an entry's outputs: nobody else's, so that a tape can follow them as the entry's.
std::vector<Tensor> aliases(std::span<const Tensor> tensors);
/// Gradients of the targets for these cotangents (zeros where none) by each source.
std::vector<Gradient> pull_on(GradientTape& tape, std::span<const Tensor> targets, std::span<const Gradient> cotangents,
                              std::span<const Source> sources);
/// Runs f on new tensors under a tape and pulls the cotangents back to the inputs.
std::vector<Gradient> pull_again(const char* name, const detail::FlatFunction& f, const Inputs& inputs,
                                 std::span<const Gradient> cotangents);
/// Runs f on new tensors under an accumulator: tangents of inputs to tangents of results, empty where zero.
std::vector<Tensor> push_again(const detail::FlatFunction& f, const Inputs& inputs, std::span<const Tensor> tangents);

/// f(arguments) as one entry that keeps its inputs and no more. Its derivatives are such entries, too: a tape that
/// differentiates them keeps inputs and cotangents.
std::vector<Tensor> recomputed(const char* name, const detail::FlatFunction& f, std::span<const Tensor> arguments);

}  // namespace reel::autodiff
