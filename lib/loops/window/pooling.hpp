// Greatest elements of windows. Shapes have been checked by the caller; every window has an element of the image.
#pragma once
#include "loops/window/convolution.hpp"

namespace reel::loops {

/// y = the greatest element of each window of each image of x [images, channels, rows, columns], NaN if one is. places:
/// its number in the window, row-major, of the first if several are greatest; uint8 if windows have at most 256
/// elements, else int32; not written if empty. x has any strides, y and places are contiguous.
void greatest_of_windows(const WindowGeometry& c, const Tensor& x, const Tensor& y, const Tensor& places);

/// to [..., rows, columns] = the sums of the elements of `from`, one per window, whose window has its place there.
/// `places` is repeated where `from` has more windows. Contiguous, float32 or float64.
void scatter_windows(const WindowGeometry& c, const Tensor& from, const Tensor& places, const Tensor& to);
/// to = for each window the element of `from` [..., rows, columns] at its place: the transpose of scatter_windows().
void gather_windows(const WindowGeometry& c, const Tensor& from, const Tensor& places, const Tensor& to);

}  // namespace reel::loops
