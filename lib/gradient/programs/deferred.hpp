// Deferred calls: a function of tensors as one instruction of a program. The instruction runs the function as it would
// run without the program, so that it may take as many steps as the values say; its derivatives are deferred calls,
// too, to every order.
#pragma once
#include <atomic>
#include <memory>
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
  std::size_t arguments = 0;
  std::vector<Tensor> captured = {};
  std::vector<Like> outputs = {};
  /// Of output k and input i, [k * inputs() + i]: whether a derivative leads from one to the other.
  std::vector<bool> connected = {};
  bool may_throw = false;  // for values of the arguments
  mutable std::atomic<int> uses{1};

  std::size_t inputs() const noexcept { return arguments + captured.size(); }
};

/// The outputs in the function that is being traced, recorded on its tapes.
std::vector<Tensor> call_later(std::unique_ptr<Deferred> deferred, std::span<const Tensor> arguments);

/// Whether the argument of each number leads to each result of a program through derivatives, as Deferred::connected.
std::vector<bool> connections(const program::Program& program);

}  // namespace reel::autodiff
