// The rows of the family "powers" on floating lanes.
#include "kernels/compiled/parts.hpp"
#include "kernels/loop/vec_definitions.hpp"

namespace reel::kernels {

void enter_powers(Set& set) { enter_floating<1, table::powers>(set); }

}  // namespace reel::kernels
