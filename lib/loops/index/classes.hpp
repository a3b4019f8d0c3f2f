// Class labels.
#pragma once
#include <reel/tensor.hpp>

namespace reel::loops {

/// The first label outside [0, classes), by its position in row-major order; -1: there is none.
struct InvalidClass {
  std::int64_t position = -1, label = 0;
};
/// out = labels, with -1 in place of `ignored`, if that is not null. Labels are int64 with any strides; `out` is
/// contiguous. Stops at the first invalid label and leaves the rest of `out` undefined.
InvalidClass copy_classes(const Tensor& labels, std::int64_t classes, const std::int64_t* ignored, const Tensor& out);

}  // namespace reel::loops
