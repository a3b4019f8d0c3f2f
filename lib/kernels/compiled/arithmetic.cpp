// The rows of the family "arithmetic" on floating lanes.
#include "kernels/compiled/parts.hpp"
#include "kernels/loop/lane_rows.hpp"

namespace reel::kernels {

template <class I>
void enter_arithmetic(Set& set) {
  enter_floating<I, 4, table::arithmetic>(set);
}
template void enter_arithmetic<current>(Set& set);

}  // namespace reel::kernels
