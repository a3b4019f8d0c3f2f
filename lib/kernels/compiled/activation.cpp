// The rows of the family "activation" on floating lanes.
#include "kernels/compiled/parts.hpp"
#include "kernels/loop/vec_definitions.hpp"

namespace reel::kernels {

void enter_activation(Set& set) { enter_floating<1, table::activation>(set); }

}  // namespace reel::kernels
