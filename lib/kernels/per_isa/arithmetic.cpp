// The ops of the family "arithmetic" on vectors of floating-point numbers.
#include "kernels/per_isa/parts.hpp"
#include "kernels/simd/vec_definitions.hpp"

namespace reel::kernels {

void enter_arithmetic(PointwiseKernels& all) { enter_floating<4, table::arithmetic>(all); }

}  // namespace reel::kernels
