// Random programs as C: generate_c of values and gradients, with the smoke test that it adds.
#pragma once
#include <string>

#include "../program.hpp"

namespace random_programs {

/// Writes NAME.c and NAME.h to the folder. Returns false if the program is ill-conditioned, so that other rounding
/// would fail the smoke test, or if an op has no form in C, whose name goes to `refused`.
bool write_as_c(const Program& p, const std::string& folder, const std::string& name, std::string& refused);

}  // namespace random_programs
