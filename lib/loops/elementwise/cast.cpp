// Conversion of elements in parallel ranges.
#include "loops/elementwise/cast.hpp"

#include <atomic>

#include "kernels/baseline/cast.hpp"
#include "kernels/comparisons.hpp"
#include "loops/loops.hpp"

namespace reel::loops {
namespace {

using tuning::cast_grain;

// The conversion to boolean: whether an element differs from zero. Null for dtypes without such a kernel.
kernels::Loop nonzero_loop(DType from) {
  return kernels::active<kernels::ComparisonKernels>().of(kernels::Comparison::not_equal, from);
}

}  // namespace

bool cast(const Tensor& strided, const Tensor& y) {
  Tensor scratch;
  const detail::Block *x = detail::block(contiguous(strided, scratch)), *to = detail::block(y);
  const auto x_bytes = static_cast<std::int64_t>(item_size(x->dtype)),
             y_bytes = static_cast<std::int64_t>(item_size(to->dtype));
  const kernels::Cast convert = kernels::cast(x->dtype, to->dtype);
  // Comparisons have kernels per instruction set, casts to boolean do not.
  const kernels::Loop nonzero = to->dtype == DType::boolean ? nonzero_loop(x->dtype) : nullptr;
  static constexpr double zero[2] = {};  // of any dtype
  std::atomic<bool> lossless{true};
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    const std::byte* from = x->data + begin * x_bytes;
    std::byte* into = to->data + begin * y_bytes;
    if (nonzero) {
      const kernels::Strided both[] = {{from, 1}, {zero, 0}};
      nonzero(both, into, end - begin);
    } else if (!convert({from, 1}, into, end - begin)) {
      lossless.store(false, std::memory_order_relaxed);
    }
  };
  if (x->size < parallel_threshold)
    run(0, x->size);
  else
    parallel_for(x->size, cast_grain, run);
  return lossless.load(std::memory_order_relaxed);
}

}  // namespace reel::loops
