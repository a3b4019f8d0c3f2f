// The rows of the family "powers" on floating lanes.
#include "kernels/compiled/parts.hpp"
#include "kernels/loop/lane_rows.hpp"

namespace reel::kernels {

template <class I>
void enter_powers(Set& set) {
  enter<float, I, 1, table::powers>(set, Type::float32);
  enter<double, I, 1, table::powers>(set, Type::float64);
}
template void enter_powers<current>(Set& set);

}  // namespace reel::kernels
