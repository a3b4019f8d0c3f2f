// Tensors of rank 0 made from numbers.
#pragma once
#include "core/block.hpp"

namespace reel::loops {

/// A new tensor of rank 0.
template <class T>
Tensor scalar(T value) {
  Tensor y = TensorAccess::adopt(detail::new_block(dtype_of<T>, nullptr, 0));
  *detail::mutable_data<T>(y) = value;
  return y;
}

}  // namespace reel::loops
