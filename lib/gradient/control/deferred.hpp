// Deferred calls: an instruction of a program that runs a function of tensors, such as a loop, whose number of steps
// depends on values. Its derivatives of every order are deferred calls too.
#pragma once
#include <atomic>
#include <memory>
#include <optional>
#include <reel/custom.hpp>

#include "program/program.hpp"

namespace reel::autodiff {

/// The function. Its inputs are `arguments` tensors, then the values of `captured`.
struct Deferred {
  /// Dtype and shape of an output.
  struct Like {
    DType dtype;
    Shape shape;
  };
  const char* name = "";
  /// Returns the outputs at the arguments. Reads the captured tensors themselves.
  detail::FlatFunction run = {};
  /// The same unrecorded, written to `outputs`. Sets `token`, unless it is null, to the residuals of the gradient. If
  /// empty, `run` is called instead.
  Callback<void(std::span<const Tensor> arguments, std::span<const Tensor> outputs, Tensor* token)> compute = {};
  /// Writes the gradients with respect to the `wanted` inputs, after a run that left `token`. There is a cotangent per
  /// output, an empty one counts as zero. If empty, the gradient runs the function again under a tape.
  Callback<void(std::span<const Tensor> arguments, const Tensor& token, std::span<const Tensor> cotangents,
                std::span<const std::size_t> wanted, std::span<const Tensor> gradients)>
      pull = {};
  /// Returns the outputs and then their tangents (empty where an output has none) for one tangent per input (empty:
  /// zero). It works in the trace and is recorded there. Returns nullopt if it does not support these inputs. If empty,
  /// tangents and second derivatives run the function again under accumulators and tapes.
  Callback<std::optional<std::vector<Tensor>>(std::span<const Tensor> arguments, std::span<const Tensor> along)>
      with_tangents = {};
  /// Derivatives in place of those of `run`: tangents and cotangents are as in rules, one per input or output.
  using Rule =
      Callback<std::optional<std::vector<Tensor>>(std::span<const Tensor> arguments, std::span<const Tensor> seeds)>;
  Rule jvp = {}, vjp = {};
  std::size_t arguments = 0;
  // The last of them are values of these, which derivatives read and outputs do not depend on.
  std::vector<Source> late = {};
  std::vector<Tensor> captured = {};
  std::vector<Like> outputs = {};
  /// [output k * inputs() + input i]: whether a derivative leads from i to k.
  std::vector<bool> connected = {};
  bool may_throw = false;  // for some values of the arguments
  /// The functions that it runs, as traced, if the enclosing trace keeps them.
  struct Part {
    const char* name;
    std::shared_ptr<const program::Program> program;
  };
  std::vector<Part> parts = {};
  mutable std::atomic<int> uses{1};

  std::size_t inputs() const noexcept { return arguments + captured.size(); }
};

/// Applies the deferred call in the function that is being traced, recorded on its tapes. Returns the outputs.
std::vector<Tensor> call_deferred(std::unique_ptr<Deferred> deferred, std::span<const Tensor> arguments);

/// The parts of a deferred call; empty for other instructions.
std::span<const Deferred::Part> parts_of(const program::Instruction& instruction);

/// [result * arguments + argument]: whether a derivative leads from the argument of a program to the result.
std::vector<bool> connections(const program::Program& program);

}  // namespace reel::autodiff
