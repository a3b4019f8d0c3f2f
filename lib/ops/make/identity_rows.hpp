// Seeds of Jacobians.
#pragma once
#include <reel/tensor.hpp>

namespace reel::ops {

/// Rows `first`, `first` + 1, ... of the identity of `period` rows, each as a tensor of `shape` in which it is
/// repeated: 1 where the index of the element modulo `period` is the number of the row, and 0 elsewhere. [rows,
/// shape...], or of `shape` alone for `rows` 0, which stands for one row. Constant.
Tensor identity_rows(const Shape& shape, DType dtype, std::int64_t rows, std::int64_t period, std::int64_t first);

}  // namespace reel::ops
