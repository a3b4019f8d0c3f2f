// Building blocks of neural networks: convolution and pooling, normalisation and losses. float16 and bfloat16 compute
// in float32 and are rounded once, at the end. TypeError for integer, boolean and complex operands.
#pragma once
#include <reel/tensor.hpp>

namespace [[gnu::visibility("default")]] reel {

// Convolution and pooling

// Normalisation and losses

}  // namespace reel
