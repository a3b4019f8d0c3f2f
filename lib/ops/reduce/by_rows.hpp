// Row kernels by dtype, for ops that name them themselves. Nothing here is recorded.
#pragma once
#include "loops/rows.hpp"
#include "ops/reduce/reduction.hpp"

namespace reel::ops {

using loops::by_rows, loops::RowOperand, loops::whole_rows, loops::for_all_rows, loops::one_per_row;

/// The row kernels for d. TypeError when there are none.
inline const kernels::Rows& row_kernels(const char* op, DType d) {
  if (!loops::has_row_functions(d)) fail_no_kernel(op, d);
  return kernels::active().rows[static_cast<std::size_t>(d)];
}

}  // namespace reel::ops
