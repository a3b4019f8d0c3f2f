#include "special/special_loops.hpp"

#include <algorithm>

#include "loops/loops.hpp"
#include "special/bessel/kernels.hpp"

namespace reel::loops {

namespace {

// Null for functions that are no Bessel functions of order 0 or 1.
const kernels::Bessel* bessel_loops(SpecialFunction f, DType d) {
  const auto& bessel = kernels::active<kernels::BesselKernels>();
  switch (f) {
#define REEL_CASE(name)       \
  case SpecialFunction::name: \
    return &bessel.of(kernels::BesselFunction::name, d);
    REEL_BESSEL_FUNCTIONS(REEL_CASE)
#undef REEL_CASE
    default:
      return nullptr;
  }
}
// The loop over vectors of a function or its first derivative; null if there is none.
kernels::Loop vector_loop(SpecialFunction f, std::span<const std::int64_t> orders, DType d) {
  const kernels::Bessel* bessel = bessel_loops(f, d);
  if (bessel == nullptr || orders[0] > 1) return nullptr;
  return orders[0] == 0 ? bessel->value : bessel->derivative;
}

// Calls range(from, to, elements) for the ranges of the elements, on contiguous operands.
template <class Range>
void each_range(std::span<const Tensor* const> in, const Tensor& out, std::int64_t grain, const Range& range) {
  const auto bytes = static_cast<std::int64_t>(item_size(out.dtype()));
  Tensor scratch[arguments_max];
  const std::byte* from[arguments_max] = {};
  for (std::size_t k = 0; k < in.size(); ++k) from[k] = detail::block(contiguous(*in[k], scratch[k]))->data;
  std::byte* const to = detail::block(out)->data;
  parallel_for(detail::block(out)->size, grain, [&](std::int64_t begin, std::int64_t end) {
    const void* at[arguments_max] = {};
    for (std::size_t k = 0; k < in.size(); ++k) at[k] = from[k] + begin * bytes;
    range(at, to + begin * bytes, end - begin);
  });
}

}  // namespace

void special(SpecialFunction f, std::span<const std::int64_t> orders, std::span<const Tensor* const> in,
             const Tensor& out) {
  if (const kernels::Loop loop = vector_loop(f, orders, out.dtype()))
    return each_range(in, out, tuning::pointwise_grain_min,
                      [&](const void* const* from, void* to, std::ptrdiff_t count) {
                        const kernels::Strided x{from[0], 1};
                        loop(&x, to, count);
                      });
  int n[arguments_max] = {};
  std::transform(orders.begin(), orders.end(), n, [](std::int64_t order) { return static_cast<int>(order); });
  each_range(in, out, tuning::special_grain, [&](const void* const* from, void* to, std::ptrdiff_t count) {
    kernels::special::evaluate(f, n, from, to, count, out.dtype());
  });
}

}  // namespace reel::loops
