// The rows of the family "trigonometric" on floating lanes.
#include "kernels/compiled/parts.hpp"
#include "kernels/loop/vec_definitions.hpp"

namespace reel::kernels {

void enter_trigonometric(Set& set) { enter_floating<1, table::trigonometric>(set); }

}  // namespace reel::kernels
