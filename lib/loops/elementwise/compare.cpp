// Elementwise loops with boolean results, and loops on bits and exponents.
#include "loops/elementwise/compare.hpp"

#include "kernels/baseline/bits.hpp"
#include "kernels/comparisons.hpp"
#include "loops/loops.hpp"

namespace reel::loops {
namespace {

const kernels::ComparisonKernels& comparisons() { return kernels::active<kernels::ComparisonKernels>(); }

void run(kernels::Loop loop, std::span<const Tensor* const> in, const Tensor& out) {
  if (detail::block(out)->size != 0) pointwise(loop, in, out);
}

}  // namespace

bool has_kernel(Comparison f, DType d) { return comparisons().of(f, d) != nullptr; }
bool has_kernel(Predicate f, DType d) { return comparisons().of(f, d) != nullptr; }

void pointwise(Comparison f, std::span<const Tensor* const> in, const Tensor& out) {
  run(comparisons().of(f, detail::block(*in[0])->dtype), in, out);
}
void pointwise(Logical f, std::span<const Tensor* const> in, const Tensor& out) { run(comparisons().of(f), in, out); }
void pointwise(Predicate f, std::span<const Tensor* const> in, const Tensor& out) {
  run(comparisons().of(f, detail::block(*in[0])->dtype), in, out);
}

void bitwise(BitFunction f, std::span<const Tensor* const> in, const Tensor& out) {
  run(kernels::bitwise(f, detail::block(out)->dtype), in, out);
}
void split_numbers(const Tensor& x, const Tensor& mantissa, const Tensor& exponent) {
  Tensor copied;
  const auto* from = detail::block(contiguous(x, copied))->data;
  auto* to = detail::block(mantissa)->data;
  auto* e = detail::mutable_data<std::int32_t>(exponent);
  const DType d = mantissa.dtype();
  const auto bytes = static_cast<std::int64_t>(item_size(d));
  parallel_for(mantissa.size(), parallel_threshold, [=](std::int64_t begin, std::int64_t end) {
    kernels::split_numbers(d, from + begin * bytes, end - begin, to + begin * bytes, e + begin);
  });
}
void scale_by_powers(const Tensor& x, const Tensor& n, const Tensor& out) {
  const Tensor* in[] = {&x, &n};
  run(kernels::scale_by_power(detail::block(x)->dtype), in, out);
}

}  // namespace reel::loops
