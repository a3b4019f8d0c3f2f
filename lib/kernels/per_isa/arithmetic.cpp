// The ops of the family "arithmetic" on vectors of floating-point numbers.
#include "kernels/per_isa/parts.hpp"
#include "kernels/simd/vec_definitions.hpp"

namespace reel::kernels {

void enter_arithmetic(Set& set) { enter_floating<4, table::arithmetic>(set); }

}  // namespace reel::kernels
