// The largest of several errors.
#pragma once
#include <cmath>

namespace support {

/// The larger of two errors; NaN if one of them is NaN, which std::max may drop.
template <class T>
T worse(T a, T b) {
  return std::isnan(a) || b <= a ? a : b;
}
template <class T, class... More>
T worse(T a, T b, More... more) {
  return worse(worse(a, b), more...);
}

}  // namespace support
