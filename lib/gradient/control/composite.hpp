// A function of tensors as one entry of the tapes. Its arguments and captured tensors are the inputs of the entry. The
// rules run the function again, or, where nobody differentiates the derivative, replay a tape of its own.
#pragma once
#include <reel/custom.hpp>
#include <reel/registry.hpp>

#include "ops/apply/run_again.hpp"

namespace reel::tape {
class Capture;
class FunctionScope;
}  // namespace reel::tape

namespace reel::autodiff {

/// Everything that a function depends on, found by running it unrecorded.
struct Inputs {
  std::vector<Tensor> arguments;  ///< as passed
  std::vector<Tensor> captured;
  std::vector<Variable> variables;
  std::vector<Tensor> read;  ///< the variables' values
  std::vector<Variable> constants;
  std::vector<Tensor> constant_values;
  ops::Draws draws;

  /// Takes over the tensors and variables that were captured.
  void take(const tape::Capture& capture);

  std::size_t size() const noexcept { return arguments.size() + captured.size() + variables.size(); }
  /// Whether an active tape or accumulator follows one of them, or one of the given tensors: then a derivative must
  /// consist of recorded ops.
  bool followed(std::span<const Tensor> also) const;
  /// The inputs of the entry; reads the variables.
  std::vector<Tensor> values();
  /// The sources to differentiate by, for a run with these arguments.
  std::vector<Source> sources(std::span<const Tensor> run_arguments) const;
};

/// Whether this thread has an active tape or accumulator; a Capture counts for the tapes it hides.
bool any_reverse();
bool any_forward();
/// record_operation for ops of the library, which can be traced.
/// `many` is the backward function for many rows of cotangents at once; without it, `backward` is called for each row.
using ManyBackward = Callback<std::vector<Gradient>(std::span<const Gradient> cotangents, std::int64_t rows)>;
/// `function`: the scope in which its ops were recorded; null if they were not. Then the outputs are unfollowed.
/// `transposes`: without a jvp, forward over reverse takes the transpose of the backward function.
struct FunctionEntry {
  tape::FunctionScope* function = nullptr;
  bool transposes = false;
};
void record_function(std::string_view name, std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                     BackwardFunction backward, TangentFunction jvp, const RecordOptions& options = {},
                     ManyBackward many = {}, const FunctionEntry& entry = {});
/// The sources that have tangents, with these.
struct MovedSources {
  std::vector<Source> sources;
  std::vector<Tensor> tangents;
  /// Of an accumulator.
  std::vector<Gradient> gradients() const { return {tangents.begin(), tangents.end()}; }
};
/// `tangents` has one for each source, an empty handle where there is none.
MovedSources moved_sources(std::span<const Source> sources, std::span<const Tensor> tangents);
/// Watches the differentiable sources.
void watch_differentiable(GradientTape& tape, std::span<const Source> sources);
/// New tensors with the same values; recorded.
std::vector<Tensor> identities(std::span<const Tensor> tensors);
/// Fresh handles for the outputs of an entry, so that a tape can follow them as its outputs.
std::vector<Tensor> aliases(std::span<const Tensor> tensors);
/// Gradients of the targets by each source, for these cotangents; zeros where there are none. If `rows` is not 0, for
/// as many cotangents at once, along a leading axis of each and of the gradients. The terms are added to `sums`, one
/// for each of the last sources, in the order of one replay: so a walk over the steps of a loop has the bits of a
/// replay of all of them.
std::vector<Gradient> pull_on(GradientTape& tape, std::span<const Tensor> targets, std::span<const Gradient> cotangents,
                              std::span<const Source> sources, std::int64_t rows = 0,
                              std::span<const Gradient> sums = {});
/// The results of a step of a loop, in the order in which their cotangents are added where some are one tensor: that of
/// a replay of all steps, which comes to the outputs first and to the variables in reverse.
std::vector<std::size_t> order_of_cotangents(std::size_t variables, std::size_t results);
/// Runs f on fresh handles under a tape, and pulls the cotangents back to the inputs.
std::vector<Gradient> pull_again(const char* name, const detail::FlatFunction& f, const Inputs& inputs,
                                 std::span<const Gradient> cotangents, std::int64_t rows = 0);
/// Runs f on fresh handles under an accumulator: from tangents of inputs to tangents of results, empty where zero.
std::vector<Tensor> push_again(const detail::FlatFunction& f, const Inputs& inputs, std::span<const Tensor> tangents);

/// f(arguments) as one entry that keeps only its inputs. Its derivatives are such entries too: a tape that
/// differentiates them keeps inputs and cotangents.
std::vector<Tensor> recomputed(const char* name, const detail::FlatFunction& f, std::span<const Tensor> arguments);

}  // namespace reel::autodiff
