// Conversion of elements to another dtype.
#pragma once
#include <reel/tensor.hpp>

namespace reel::loops {

/// y = x, element by element, in the dtype of y: any but that of x. y is contiguous, of the shape of x, and shares no
/// memory with it; x has any strides. Integers wrap, a complex number gives its real part, anything but zero is true.
/// Whether each element had a value of y's dtype: false if y holds integers and a NaN or a number out of their range
/// was met. y is unspecified then.
bool cast(const Tensor& x, const Tensor& y);

}  // namespace reel::loops
