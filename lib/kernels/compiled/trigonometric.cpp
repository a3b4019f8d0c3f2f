// The rows of the family "trigonometric" on floating lanes.
#include "kernels/compiled/parts.hpp"
#include "kernels/loop/lane_rows.hpp"

namespace reel::kernels {

template <class I>
void enter_trigonometric(Set& set) {
  enter<float, I, 1, table::trigonometric>(set, Type::float32);
  enter<double, I, 1, table::trigonometric>(set, Type::float64);
}
template void enter_trigonometric<current>(Set& set);

}  // namespace reel::kernels
