// The ops of the families "special" and "normal" on vectors of floating-point numbers.
#include "kernels/per_isa/parts.hpp"
#include "kernels/simd/vec_definitions.hpp"

namespace reel::kernels {

void enter_special(Set& set) { enter_floating<1, table::special>(set); }
void enter_normal(Set& set) { enter_floating<1, table::normal>(set); }

}  // namespace reel::kernels
