// The scalar programs of common/models.hpp with tensors as numbers.
#pragma once
#include "../common/models.hpp"
#include "cases.hpp"

namespace bench::models {

template <>
inline reel::Tensor constant(double value) {
  return reel::scalar(value);
}

}  // namespace bench::models
