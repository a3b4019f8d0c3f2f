// The rows of the family "special" on floating lanes.
#include "kernels/compiled/parts.hpp"
#include "kernels/loop/vec_definitions.hpp"

namespace reel::kernels {

void enter_special(Set& set) { enter_floating<1, table::special>(set); }

}  // namespace reel::kernels
