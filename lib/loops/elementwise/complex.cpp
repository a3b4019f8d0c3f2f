// Complex numbers and their parts, by baseline kernels.
#include "loops/elementwise/complex.hpp"

#include "kernels/baseline/complex.hpp"
#include "loops/loops.hpp"

namespace reel::loops {
namespace {

// Elements per task of elementary functions without vector forms, which take about 50 to 100 ns each.
constexpr std::int64_t elementary_grain = 512;

using kernels::ComplexFunction;

// Calls a kernel f that takes or returns numbers of dtype `complex`.
void run(ComplexFunction f, DType complex, std::span<const Tensor* const> in, const Tensor& out) {
  if (detail::block(out)->size != 0) pointwise(kernels::complex_function(f, complex), in, out);
}
void run(ComplexFunction f, const Tensor& z, const Tensor& out) {
  const Tensor* in[] = {&z};
  run(f, detail::block(z)->dtype, in, out);
}

}  // namespace

void real_part(const Tensor& z, const Tensor& out) { run(ComplexFunction::real, z, out); }
void imaginary_part(const Tensor& z, const Tensor& out) { run(ComplexFunction::imag, z, out); }
void modulus(const Tensor& z, const Tensor& out) { run(ComplexFunction::abs, z, out); }
void argument(const Tensor& z, const Tensor& out) { run(ComplexFunction::angle, z, out); }
void conjugate(const Tensor& z, const Tensor& out) { run(ComplexFunction::conj, z, out); }
void join_parts(const Tensor& re, const Tensor& im, const Tensor& out) {
  const Tensor* in[] = {&re, &im};
  run(ComplexFunction::join, detail::block(out)->dtype, in, out);
}

void elementary(Elementary f, const Tensor& strided, const Tensor& out) {
  Tensor scratch;
  const detail::Block *from = detail::block(contiguous(strided, scratch)), *to = detail::block(out);
  const auto bytes = static_cast<std::int64_t>(item_size(to->dtype));
  const bool wide = to->dtype == DType::complex128;
  parallel_for(to->size, elementary_grain, [=](std::int64_t begin, std::int64_t end) {
    kernels::elementary(f, from->data + begin * bytes, to->data + begin * bytes, end - begin, wide);
  });
}

Tensor pairs_of(const Tensor& z) {
  detail::Block* const from = detail::block(z);
  Shape shape = from->shape(), strides(from->strides(), from->rank);
  for (std::int64_t& stride : strides) stride *= 2;
  shape.push_back(2);
  strides.push_back(1);
  return TensorAccess::adopt(detail::new_placed(from, 0, part_dtype(from->dtype), shape, strides));
}

}  // namespace reel::loops
