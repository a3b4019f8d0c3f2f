// The protocol of GradBench (github.com/gradbench/gradbench, CONTRIBUTING.md): one JSON message per line, one answer.
#pragma once
#include <iosfwd>
#include <map>
#include <string>

#include "eval.hpp"

namespace gradbench {

using Modules = std::map<std::string, Module>;

/// Answers every message of `in` until it ends; the exit status of the program: 1, and the reason on `errors`, at a
/// line that is no message.
int serve(const Modules& modules, std::istream& in, std::ostream& out, std::ostream& errors);

}  // namespace gradbench
