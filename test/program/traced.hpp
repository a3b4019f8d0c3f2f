// Programs traced from functions of tensors, as the tests of passes read them.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "catch.hpp"
#include "program/run/executable.hpp"
#include "program/trace.hpp"
#include "support/bits.hpp"
#include "support/derivatives.hpp"

namespace support {

using TensorsFunction = Tensors (*)(const Tensors&);

inline reel::program::Program traced(const std::function<Tensors(const Tensors&)>& f, const Tensors& x) {
  reel::program::Trace trace("test");
  Tensors arguments;
  for (const reel::Tensor& one : x) arguments.push_back(trace.argument(one));
  return trace.finish(f(arguments));
}

/// Of the instructions.
inline std::vector<std::string> names(const reel::program::Program& program) {
  std::vector<std::string> list;
  for (const reel::program::Instruction& i : program.instructions) list.emplace_back(i.operation.name);
  return list;
}

/// A run gives the bits of f.
inline void check_run(const reel::program::Executable& executable, TensorsFunction f, const Tensors& x) {
  const Tensors y = f(x);
  Tensors results(y.size());
  executable.run(x, results);
  for (std::size_t k = 0; k < results.size(); ++k) CHECK(same_bits(results[k], y[k]));
}

}  // namespace support
