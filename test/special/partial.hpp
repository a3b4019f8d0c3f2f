// Mixed derivatives of functions of several tensors.
#pragma once
#include <functional>
#include <reel/reel.hpp>
#include <vector>

namespace support {

using Arguments = std::vector<reel::Tensor>;
using Function = std::function<reel::Tensor(const Arguments&)>;

/// f, differentiated orders[k] times by argument k: a tape for each order.
inline reel::Tensor partial(const Function& f, const Arguments& x, std::vector<int> orders) {
  for (std::size_t k = 0; k < x.size(); ++k) {
    if (orders[k] == 0) continue;
    --orders[k];
    reel::GradientTape tape;
    tape.watch(x[k]);
    const reel::Tensor y = partial(f, x, orders);
    return *tape.gradient(y, x[k], {.unconnected_gradients = reel::UnconnectedGradients::zero});
  }
  return f(x);
}
/// The same at a point.
inline double partial_at(const Function& f, const std::vector<double>& point, const std::vector<int>& orders) {
  Arguments x;
  for (const double v : point) x.push_back(reel::scalar(v));
  return partial(f, x, orders).item();
}

}  // namespace support
