// Maxima of windows. The caller has checked shapes; every window has an element of the image.
#pragma once
#include "nn/convolution_loops.hpp"

namespace reel::loops {

/// y = the maximum of each window of each image of x [images, channels, rows, columns], NaN if there is one. places:
/// its row-major index in the window, the first one on ties; uint8 if windows have at most 256 elements, otherwise
/// int32; not written if empty. x has any strides; y and places are contiguous.
void greatest_of_windows(const WindowGeometry& c, const Tensor& x, const Tensor& y, const Tensor& places);

/// to [..., rows, columns] = for each element the sum of the elements of `from`, one per window, whose place it is.
/// `places` is repeated if `from` has more windows. Contiguous, float32 or float64.
void scatter_windows(const WindowGeometry& c, const Tensor& from, const Tensor& places, const Tensor& to);
/// to = for each window the element of `from` [..., rows, columns] at its place: the transpose of scatter_windows().
void gather_windows(const WindowGeometry& c, const Tensor& from, const Tensor& places, const Tensor& to);

}  // namespace reel::loops
