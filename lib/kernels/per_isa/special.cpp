// The ops of the family "special" on vectors of floating-point numbers.
#include "kernels/per_isa/parts.hpp"
#include "kernels/simd/vec_definitions.hpp"

namespace reel::kernels {

void enter_special(Set& set) { enter_floating<1, table::special>(set); }

}  // namespace reel::kernels
