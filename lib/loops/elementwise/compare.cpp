// Elementwise loops with boolean results, and loops on bits and exponents.
#include "loops/elementwise/compare.hpp"

#include "kernels/baseline/bits.hpp"
#include "loops/loops.hpp"

namespace reel::loops {
namespace {

kernels::Loop loop_of(Relation f, DType d) {
  static_assert(static_cast<int>(Relation::greater_equal) == static_cast<int>(kernels::Comparison::greater_equal));
  return kernels::active().comparison(static_cast<kernels::Comparison>(f), d);
}
kernels::Loop loop_of(Connective f) {
  static_assert(static_cast<int>(Connective::negation) == static_cast<int>(kernels::Logical::negation));
  return kernels::active().logic(static_cast<kernels::Logical>(f));
}
kernels::Loop loop_of(FloatClass f, DType d) {
  static_assert(static_cast<int>(FloatClass::finite) == static_cast<int>(kernels::Predicate::isfinite));
  return kernels::active().test(static_cast<kernels::Predicate>(f), d);
}

void run(kernels::Loop loop, std::span<const Tensor* const> in, const Tensor& out) {
  if (detail::block(out)->size != 0) pointwise(loop, in, out);
}

}  // namespace

bool has_kernel(Relation f, DType d) { return loop_of(f, d) != nullptr; }
bool has_kernel(FloatClass f, DType d) { return loop_of(f, d) != nullptr; }

void pointwise(Relation f, std::span<const Tensor* const> in, const Tensor& out) {
  run(loop_of(f, detail::block(*in[0])->dtype), in, out);
}
void pointwise(Connective f, std::span<const Tensor* const> in, const Tensor& out) { run(loop_of(f), in, out); }
void pointwise(FloatClass f, std::span<const Tensor* const> in, const Tensor& out) {
  run(loop_of(f, detail::block(*in[0])->dtype), in, out);
}

void bitwise(BitFunction f, std::span<const Tensor* const> in, const Tensor& out) {
  static_assert(static_cast<int>(BitFunction::right) == static_cast<int>(kernels::BitFunction::right));
  run(kernels::bitwise(static_cast<kernels::BitFunction>(f), detail::block(out)->dtype), in, out);
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
