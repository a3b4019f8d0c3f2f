// Deferred calls: a function of tensors as one instruction of a program. The instruction runs the function as it would
// run without the program, so that it may take as many steps as the values say; its derivatives are deferred calls,
// too, to every order.
#pragma once
#include <atomic>
#include <memory>
#include <optional>
#include <reel/custom.hpp>

#include "program/program.hpp"

namespace reel::autodiff {

/// What an instruction runs. Its inputs are `arguments` tensors, then the values of `captured`.
struct Deferred {
  /// What an output is.
  struct Like {
    DType dtype;
    Shape shape;
  };
  const char* name = "";
  /// Gives the outputs at the arguments. It reads the captured tensors themselves.
  detail::FlatFunction run = {};
  /// The same out of sight of tapes, written to `outputs`. Sets `token`, unless it is null, to what the gradient needs.
  /// Empty: `run` does it.
  Callback<void(std::span<const Tensor> arguments, std::span<const Tensor> outputs, Tensor* token)> compute = {};
  /// Writes the gradients by the inputs that are `wanted`, after such a run, for cotangents of all outputs, which are
  /// empty where there is none. Empty: the gradient runs the function again under a tape.
  Callback<void(std::span<const Tensor> arguments, const Tensor& token, std::span<const Tensor> cotangents,
                std::span<const std::size_t> wanted, std::span<const Tensor> gradients)>
      pull = {};
  /// The outputs, then their tangents, which are empty where an output has none, for tangents of all inputs, which are
  /// empty where there is none: in the trace, and recorded there. Nothing where this cannot be had for these inputs.
  /// Empty: tangents, and derivatives of the gradient, run the function again under accumulators and tapes.
  Callback<std::optional<std::vector<Tensor>>(std::span<const Tensor> arguments, std::span<const Tensor> along)>
      with_tangents = {};
  /// Derivatives by other calls than the function's, with the meaning that tangents and gradients of inputs and outputs
  /// have in rules.
  using Rule =
      Callback<std::optional<std::vector<Tensor>>(std::span<const Tensor> arguments, std::span<const Tensor> given)>;
  Rule jvp = {}, vjp = {};
  std::size_t arguments = 0;
  std::vector<Tensor> captured = {};
  std::vector<Like> outputs = {};
  /// Of output k and input i, [k * inputs() + i]: whether a derivative leads from one to the other.
  std::vector<bool> connected = {};
  bool may_throw = false;  // for values of the arguments
  /// The functions that it consists of, if the trace around it keeps them.
  struct Part {
    const char* name;
    std::shared_ptr<const program::Program> program;
  };
  std::vector<Part> parts = {};
  mutable std::atomic<int> uses{1};

  std::size_t inputs() const noexcept { return arguments + captured.size(); }
};

/// The outputs in the function that is being traced, recorded on its tapes.
std::vector<Tensor> call_later(std::unique_ptr<Deferred> deferred, std::span<const Tensor> arguments);

/// The parts of a deferred call; none of other instructions.
std::span<const Deferred::Part> parts_of(const program::Instruction& instruction);

/// Whether the argument of each number leads to each result of a program through derivatives, as Deferred::connected.
std::vector<bool> connections(const program::Program& program);

}  // namespace reel::autodiff
