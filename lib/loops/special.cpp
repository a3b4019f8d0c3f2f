#include "loops/special.hpp"

#include <algorithm>

#include "loops/loops.hpp"

namespace reel::loops {

void special(SpecialFunction f, std::span<const std::int64_t> orders, std::span<const Tensor* const> in,
             const Tensor& out) {
  const DType d = out.dtype();
  const auto bytes = static_cast<std::int64_t>(item_size(d));
  Tensor held[arguments_max];
  const std::byte* from[arguments_max] = {};
  for (std::size_t k = 0; k < in.size(); ++k) from[k] = detail::block(contiguous(*in[k], held[k]))->data;
  int n[arguments_max] = {};
  std::transform(orders.begin(), orders.end(), n, [](std::int64_t order) { return static_cast<int>(order); });
  std::byte* const to = detail::block(out)->data;
  parallel_for(detail::block(out)->size, tuning::special_grain, [&](std::int64_t begin, std::int64_t end) {
    const void* at[arguments_max] = {};
    for (std::size_t k = 0; k < in.size(); ++k) at[k] = from[k] + begin * bytes;
    kernels::special::evaluate(f, n, at, to + begin * bytes, end - begin, d);
  });
}

}  // namespace reel::loops
