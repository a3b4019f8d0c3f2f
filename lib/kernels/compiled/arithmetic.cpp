// The rows of the family "arithmetic" on floating lanes.
#include "kernels/compiled/parts.hpp"
#include "kernels/loop/vec_definitions.hpp"

namespace reel::kernels {

void enter_arithmetic(Set& set) { enter_floating<4, table::arithmetic>(set); }

}  // namespace reel::kernels
