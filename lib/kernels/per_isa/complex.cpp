// Complex functions on vectors, in place of those compiled once; Fourier transforms.
#include "fft/passes.hpp"
#include "kernels/per_isa/parts.hpp"
#include "kernels/simd/complex_lanes.hpp"
#include "kernels/table.hpp"

namespace reel::kernels {

namespace {

template <VecElement T>
void enter([[maybe_unused]] Set& set, [[maybe_unused]] DType dtype) {
  if constexpr (!is_scalar) {
    const auto entry = [&](std::size_t definition) -> Pointwise& { return set.op[definition][index(dtype)]; };
    entry(index_of<"exp">()).value = &ComplexMap<T, ComplexExp, 0>::run;
    entry(index_of<"log">()).value = &ComplexMap<T, ComplexLog, 0>::run;
    entry(index_of<"sqrt">()).value = &ComplexMap<T, ComplexSqrt, 0>::run;
    entry(index_of<"divide">()).value = &ComplexMap<T, ComplexDivide, 0, 1>::run;
  }
}

}  // namespace

void enter_complex_lanes(Set& set) {
  enter<float>(set, DType::complex64);
  enter<double>(set, DType::complex128);
}

void enter_fourier(Set& set) {
  set.fourier[index(DType::float32)] = FourierLoops<float>::table();
  set.fourier[index(DType::float64)] = FourierLoops<double>::table();
}

}  // namespace reel::kernels
