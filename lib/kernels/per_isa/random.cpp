// Random numbers of both floating types.
#include "kernels/random.hpp"

#include "kernels/simd/random.hpp"

namespace reel::kernels {

const void* random_kernels() {
  static DrawKernels all;
  all[DType::float32] = {&draw_uniform<float>, &draw_normal<float>};
  all[DType::float64] = {&draw_uniform<double>, &draw_normal<double>};
  return &all;
}

}  // namespace reel::kernels
