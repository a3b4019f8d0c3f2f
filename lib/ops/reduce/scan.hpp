// What scans share.
#pragma once
#include "ops/reduce/reduction.hpp"

namespace reel::ops {

/// The recurrence s[i] = b[i] + a[i] s[i-1] along an axis, or with `after` s[i] = b[i] + a[i-1] s[i-1]; s[-1] = 0. With
/// `reverse` i + 1 stands for i - 1. float32 and float64 (TypeError). Recorded.
Tensor recurrence(const Tensor& a, const Tensor& b, int axis, bool after, bool reverse);

/// x for each of the cotangents that are carried together.
Tensor spread(const tape::Record& r, const Tensor& x);

/// x moved one place along the axis, to the back (reverse: to the front); 0 moves in.
Tensor shift(const Tensor& x, int axis, bool reverse);

}  // namespace reel::ops
