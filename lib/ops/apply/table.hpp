// Access to the pointwise table for ops: loops by name and dtype.
#pragma once
#include <reel/tensor.hpp>

#include "kernels/table.hpp"
#include "ops/apply/operation.hpp"

namespace reel::ops {

/// The loop of a definition's value for d, for loops::pointwise(): loop_of<"add">(DType::float64). Null if the op does
/// not exist for d.
template <kernels::table::FixedString Name>
inline kernels::Loop loop_of(DType d) noexcept {
  return kernels::pointwise(kernels::index_of<Name>(), d).value;
}

/// The value of a definition as an instruction of a program.
template <kernels::table::FixedString Name>
Operation value_of(const char* name) noexcept {
  return {.name = name, .definition = static_cast<std::uint16_t>(kernels::index_of<Name>())};
}

}  // namespace reel::ops
