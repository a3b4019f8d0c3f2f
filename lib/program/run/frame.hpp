// What a run works on.
#pragma once
#include "program/run/executable.hpp"

namespace reel::program {

struct Executable::Frame {
  Tensor arena;
  std::vector<Tensor> operands;       // by their numbers
  std::vector<const Tensor*> inputs;  // of all steps, one after another
  std::vector<Tensor> outputs;        // of all steps: further handles, in the order in which evaluate wants them
  std::vector<Tensor> fresh;          // of Executable::fresh_
};

// What a session works on: a frame whose operands lie where the session's user says.
struct Executable::Places {
  struct Part {
    detail::Block* block;
    std::int64_t offset;
  };
  std::unique_ptr<Frame> frame;
  std::vector<Part> parts;               // operands of argument 0, of argument 1, ..., and of fresh values
  std::vector<std::size_t> first;        // of each argument, and of fresh values, among the parts; the number of parts
  std::vector<std::vector<Index>> held;  // operands of each argument that is a token
  std::vector<std::uint32_t> transient;  // places in Frame::outputs of tokens, and of what nobody wants

  void move(std::size_t group, std::byte* place) noexcept {
    for (std::size_t p = first[group]; p < first[group + 1]; ++p) parts[p].block->data = place + parts[p].offset;
  }
};

}  // namespace reel::program
