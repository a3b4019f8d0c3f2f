// The ops of the families "rectifiers" and "activation" on vectors of floating-point numbers.
#include "kernels/per_isa/parts.hpp"
#include "kernels/simd/vec_definitions.hpp"

namespace reel::kernels {

void enter_activation(PointwiseKernels& all) {
  enter_floating<2, table::rectifiers>(all);
  enter_floating<1, table::activation>(all);
}

}  // namespace reel::kernels
