// The memory of a program's run: one arena, in which values that are never needed at the same time share their place.
#pragma once
#include "program/program.hpp"

namespace reel::program {

struct Plan {
  static constexpr std::int64_t elsewhere = -1;
  std::vector<std::int64_t>
      offset;                 // of each value, in bytes; elsewhere: of a result of the program, or no value's own
  std::int64_t bytes = 0;     // of the arena
  std::vector<bool> escapes;  // values that outlive the run: what results are, or are views of
};

/// Of the elements of x, with padding up to where the next value may lie.
std::int64_t padded_bytes(const Tensor& x);

Plan plan_memory(const Program& program);

}  // namespace reel::program
