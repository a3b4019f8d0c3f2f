// The ops of the family "powers" on vectors of floating-point numbers.
#include "kernels/per_isa/parts.hpp"
#include "kernels/simd/vec_definitions.hpp"

namespace reel::kernels {

void enter_powers(PointwiseKernels& all) { enter_floating<1, table::powers>(all); }

}  // namespace reel::kernels
