#include "loops/special.hpp"

#include <algorithm>

#include "loops/loops.hpp"

namespace reel::loops {

namespace {

// The loop over vectors of a function or its first derivative; null if there is none.
kernels::Loop vector_loop(SpecialFunction f, std::int64_t order, DType d) {
  const std::size_t at = kernels::special::bessel_index(f);
  if (at >= kernels::special::bessel_count || order > 1) return nullptr;
  const kernels::Bessel& bessel = kernels::active().bessel[kernels::index(d)][at];
  return order == 0 ? bessel.value : bessel.derivative;
}

}  // namespace

void special(SpecialFunction f, std::span<const std::int64_t> orders, std::span<const Tensor* const> in,
             const Tensor& out) {
  const DType d = out.dtype();
  const auto bytes = static_cast<std::int64_t>(item_size(d));
  Tensor held[arguments_max];
  const std::byte* from[arguments_max] = {};
  for (std::size_t k = 0; k < in.size(); ++k) from[k] = detail::block(contiguous(*in[k], held[k]))->data;
  std::byte* const to = detail::block(out)->data;
  if (const kernels::Loop loop = vector_loop(f, orders[0], d)) {
    parallel_for(detail::block(out)->size, tuning::pointwise_grain_min, [&](std::int64_t begin, std::int64_t end) {
      const kernels::Strided x{from[0] + begin * bytes, 1};
      loop(&x, to + begin * bytes, end - begin);
    });
    return;
  }
  int n[arguments_max] = {};
  std::transform(orders.begin(), orders.end(), n, [](std::int64_t order) { return static_cast<int>(order); });
  parallel_for(detail::block(out)->size, tuning::special_grain, [&](std::int64_t begin, std::int64_t end) {
    const void* at[arguments_max] = {};
    for (std::size_t k = 0; k < in.size(); ++k) at[k] = from[k] + begin * bytes;
    kernels::special::evaluate(f, n, at, to + begin * bytes, end - begin, d);
  });
}

}  // namespace reel::loops
