// The table of ops that take a function.
#pragma once
#include "../op_cases.hpp"

namespace cases {

/// Rows of solvers and integrals. They are in no family: their functions keep operands, of which primitives know
/// nothing, and most of them read elements, so they cannot be traced.
std::span<const Shaped> solutions();

}  // namespace cases
