// The rows of the family "special" on floating lanes.
#include "kernels/compiled/parts.hpp"
#include "kernels/loop/lane_rows.hpp"

namespace reel::kernels {

template <class I>
void enter_special(Set& set) {
  enter_floating<I, 1, table::special>(set);
}
template void enter_special<current>(Set& set);

}  // namespace reel::kernels
