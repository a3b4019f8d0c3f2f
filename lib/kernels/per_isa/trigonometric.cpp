// The ops of the family "trigonometric" on vectors of floating-point numbers.
#include "kernels/per_isa/parts.hpp"
#include "kernels/simd/vec_definitions.hpp"

namespace reel::kernels {

void enter_trigonometric(PointwiseKernels& all) { enter_floating<1, table::trigonometric>(all); }

}  // namespace reel::kernels
