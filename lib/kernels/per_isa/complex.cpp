// Complex functions on vectors, in place of those compiled once.
#include "kernels/per_isa/parts.hpp"
#include "kernels/simd/complex_lanes.hpp"
#include "kernels/table.hpp"

namespace reel::kernels {

namespace {

template <VecElement T>
void enter([[maybe_unused]] PointwiseKernels& all, [[maybe_unused]] DType dtype) {
  if constexpr (!is_scalar) {
    const auto entry = [&](std::size_t definition) -> Pointwise& { return all.op[definition][index(dtype)]; };
    entry(index_of<"exp">()).value = &ComplexMap<T, ComplexExp, 0>::run;
    entry(index_of<"log">()).value = &ComplexMap<T, ComplexLog, 0>::run;
    entry(index_of<"sqrt">()).value = &ComplexMap<T, ComplexSqrt, 0>::run;
    entry(index_of<"divide">()).value = &ComplexMap<T, ComplexDivide, 0, 1>::run;
  }
}

}  // namespace

void enter_complex_lanes(PointwiseKernels& all) {
  enter<float>(all, DType::complex64);
  enter<double>(all, DType::complex128);
}

}  // namespace reel::kernels
