// The rows of the family "trigonometric" on floating lanes.
#include "kernels/compiled/parts.hpp"
#include "kernels/loop/lane_rows.hpp"

namespace reel::kernels {

template <class I>
void enter_trigonometric(Set& set) {
  enter_floating<I, 1, table::trigonometric>(set);
}
template void enter_trigonometric<current>(Set& set);

}  // namespace reel::kernels
