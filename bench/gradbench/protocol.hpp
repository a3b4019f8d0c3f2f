// The protocol of GradBench (github.com/gradbench/gradbench, CONTRIBUTING.md): one JSON message per line, one answer.
#pragma once
#include <iosfwd>
#include <map>
#include <string>

#include "eval.hpp"

namespace gradbench {

using Modules = std::map<std::string, Module>;

/// Answers every message of `in` until it ends, and returns the exit status of the program. A message with an id that
/// cannot be done is answered with "success": false and an "error" that names module, function and field: a missing or
/// wrong field, a number that float64 cannot hold, or an output with a NaN or an infinity, which JSON cannot express. A
/// line that is not a JSON object with a number as "id" ends it: the status is 1, and the reason is written to
/// `errors`.
int serve(const Modules& modules, std::istream& in, std::ostream& out, std::ostream& errors);

}  // namespace gradbench
