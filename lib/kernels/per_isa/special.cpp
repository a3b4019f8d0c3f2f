// The ops of the families "special" and "normal" on vectors of floating-point numbers.
#include "kernels/per_isa/parts.hpp"
#include "kernels/simd/vec_definitions.hpp"

namespace reel::kernels {

void enter_special(PointwiseKernels& all) { enter_floating<1, table::special>(all); }
void enter_normal(PointwiseKernels& all) { enter_floating<1, table::normal>(all); }

}  // namespace reel::kernels
