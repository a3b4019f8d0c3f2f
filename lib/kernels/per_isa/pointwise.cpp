// The loops of the pointwise ops, put together.
#include "kernels/pointwise.hpp"

#include "kernels/baseline/complex.hpp"
#include "kernels/per_isa/parts.hpp"

namespace reel::kernels {

const void* pointwise_kernels() {
  static PointwiseKernels all;
  enter_arithmetic(all);
  enter_integers(all);
  enter_powers(all);
  enter_special(all);
  enter_normal(all);
  enter_trigonometric(all);
  enter_activation(all);
  enter_complex(all);
  enter_complex_lanes(all);
  return &all;
}

}  // namespace reel::kernels
