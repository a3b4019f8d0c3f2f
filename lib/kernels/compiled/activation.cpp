// The rows of the family "activation" on floating lanes.
#include "kernels/compiled/parts.hpp"
#include "kernels/loop/lane_rows.hpp"

namespace reel::kernels {

template <class I>
void enter_activation(Set& set) {
  enter_floating<I, 1, table::activation>(set);
}
template void enter_activation<current>(Set& set);

}  // namespace reel::kernels
