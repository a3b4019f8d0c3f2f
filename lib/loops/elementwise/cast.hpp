// Conversion of elements to another dtype.
#pragma once
#include <reel/tensor.hpp>

namespace reel::loops {

/// y = x, elementwise, in the dtype of y, which is not that of x. y is contiguous, of the shape of x, and shares no
/// memory with it; x has any strides. Integers wrap; a complex number gives its real part; as a boolean, every number
/// but zero is true. Returns false if y has an integer dtype and an element is NaN or out of its range; y is
/// unspecified then.
bool cast(const Tensor& x, const Tensor& y);

}  // namespace reel::loops
