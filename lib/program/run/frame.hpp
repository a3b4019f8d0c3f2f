// The tensors that a run works on.
#pragma once
#include "program/run/executable.hpp"

namespace reel::program {

struct Executable::Frame {
  Tensor arena;
  std::vector<Tensor> operands;       // by number
  std::vector<const Tensor*> inputs;  // for all steps, one after another
  std::vector<Tensor> outputs;        // for all steps: further handles, in the order that evaluate expects
};

// A session's frame, whose operands lie in memory that the caller provides.
struct Executable::SessionFrame {
  struct Part {
    detail::Block* block;
    std::int64_t offset;
  };
  std::unique_ptr<Frame> frame;
  std::vector<Part> parts;  // operands of argument 0, of argument 1, ..., of allocated values, and of those apart
  // Index in `parts` for each argument, for allocated values, for those apart; then the number of parts
  std::vector<std::size_t> first;
  std::vector<std::vector<Index>> tokens;  // the operands of each argument that is a token
  std::vector<std::uint32_t> transient;    // indices in Frame::outputs of tokens and of unwanted outputs

  void move(std::size_t group, std::byte* place) noexcept {
    for (std::size_t p = first[group]; p < first[group + 1]; ++p) parts[p].block->data = place + parts[p].offset;
  }
};

}  // namespace reel::program
