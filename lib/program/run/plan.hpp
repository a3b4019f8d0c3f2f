// The memory plan of a program: one arena, in which values with disjoint lifetimes share places.
#pragma once
#include "program/program.hpp"

namespace reel::program {

struct Plan {
  static constexpr std::int64_t elsewhere = -1;
  // For each value, in bytes; `elsewhere`: results of the program, and values without memory of their own.
  std::vector<std::int64_t> offset;
  std::int64_t bytes = 0;     // of the arena
  std::vector<bool> escapes;  // values that outlive the run: the bases of results
};

/// The bytes of x's elements, padded to the alignment of the next value.
std::int64_t padded_bytes(const Tensor& x);

Plan plan_memory(const Program& program);

}  // namespace reel::program
