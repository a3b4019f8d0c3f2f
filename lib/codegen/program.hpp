// Programs as C: elementwise operations of one shape become one loop, scalars become variables, long code becomes
// several functions.
#pragma once
#include <span>

#include "csource/writer.hpp"
#include "program/program.hpp"

namespace reel::codegen {

/// What has been written. The results may lie in workspace that is still taken.
struct Written {
  std::vector<csource::Array> results;
  std::vector<csource::Array> taken;
  /// Gives the workspace back.
  void release(csource::Writer& w);
};

/// An argument is what a definition of the pointwise table makes of another.
struct Relation {
  std::size_t definition, x, y;  // positions of the arguments x and y = f(x)
};

/// Writes the instructions. Result k is written to targets[k], if that has a name, and may lie anywhere otherwise.
/// Targets overlap neither each other nor arguments. What only results serve that are not wanted, of those listed, is
/// left out. Formulas of derivatives read what `relations` and instructions give. TraceError, naming op, line and
/// remedy, for what has no C form.
Written write_program(csource::Writer& w, const program::Program& program, std::span<const csource::Array> arguments,
                      std::span<const csource::Array> targets, std::vector<bool> wanted = {},
                      std::span<const Relation> relations = {});

/// The element of an int64 tensor of size 1 that is no abstract one.
std::int64_t integer_of(const Tensor& x);

}  // namespace reel::codegen
