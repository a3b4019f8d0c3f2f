// Seeds of Jacobians.
#pragma once
#include <reel/tensor.hpp>

namespace reel::ops {

/// Rows `first`, `first` + 1, ... of the identity of `period` rows, each repeated to fill a tensor of `shape`: 1 where
/// the index of the element modulo `period` is the number of the row, 0 elsewhere. The result is [rows, shape...], or
/// `shape` alone for `rows` = 0, which stands for one row. Constant.
Tensor identity_rows(const Shape& shape, DType dtype, std::int64_t rows, std::int64_t period, std::int64_t first);

}  // namespace reel::ops
