// Complex numbers and their parts, by the kernels of the baseline.
#include "loops/elementwise/complex.hpp"

#include "loops/loops.hpp"

namespace reel::loops {
namespace {

using kernels::ComplexFunction;

// f, which takes or gives numbers of dtype `complex`.
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

}  // namespace reel::loops
