// Shared by scans.
#pragma once
#include "ops/reduce/reduction.hpp"

namespace reel::ops {

/// The recurrence s[i] = b[i] + a[i] s[i-1] along an axis, or with `after` s[i] = b[i] + a[i-1] s[i-1]; s[-1] = 0. With
/// `reverse` the index runs backwards. float32 and float64 (TypeError otherwise). Recorded.
Tensor recurrence(const Tensor& a, const Tensor& b, int axis, bool after, bool reverse);

/// x, repeated for each cotangent of a batch.
Tensor spread(const tape::Record& r, const Tensor& x);

/// x shifted by one place along the axis, to the back (reverse: to the front), filled with 0.
Tensor shift(const Tensor& x, int axis, bool reverse);

}  // namespace reel::ops
