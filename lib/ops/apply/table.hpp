// The pointwise table, as ops see it: loops by name and dtype.
#pragma once
#include <reel/tensor.hpp>

#include "kernels/table.hpp"

namespace reel::ops {

static_assert(static_cast<int>(kernels::Type::complex128) == static_cast<int>(DType::complex128));
/// The element type of the kernels; both enumerations have the same order.
constexpr kernels::Type kernel_type(DType d) noexcept { return static_cast<kernels::Type>(d); }

/// The loop of a definition's value for d, to hand to loops::pointwise(): loop_of<"add">(DType::float64). Null where
/// the op does not exist for d.
template <kernels::table::FixedString Name>
inline kernels::Loop loop_of(DType d) noexcept {
  return kernels::active().pointwise(kernels::row_of<Name>(), kernel_type(d)).value;
}

}  // namespace reel::ops
