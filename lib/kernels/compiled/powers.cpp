// The rows of the family "powers" on floating lanes.
#include "kernels/compiled/parts.hpp"
#include "kernels/loop/lane_rows.hpp"

namespace reel::kernels {

template <class I>
void enter_powers(Set& set) {
  enter_floating<I, 1, table::powers>(set);
}
template void enter_powers<current>(Set& set);

}  // namespace reel::kernels
