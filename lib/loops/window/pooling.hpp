// Greatest elements of windows. Shapes have been checked by the caller; every window has an element of the image.
#pragma once
#include "loops/window/convolution.hpp"

namespace reel::loops {

/// y = the greatest element of each window of each image of x [images, channels, rows, columns], NaN if one is; places:
/// its number in the window, row-major, the first if there are more; uint8 if windows have at most 256 elements, else
/// int32. Empty: not asked for.
void greatest_of_windows(const Convolved& c, const Tensor& x, const Tensor& y, const Tensor& places);

/// to[image][place] += from[image][window], or to[image][window] = from[image][place], places repeated every
/// `places.size()` windows. Contiguous, float32 or float64.
void scatter_windows(const Convolved& c, const Tensor& from, const Tensor& places, const Tensor& to);
void gather_windows(const Convolved& c, const Tensor& from, const Tensor& places, const Tensor& to);

}  // namespace reel::loops
