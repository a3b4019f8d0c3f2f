// Random numbers of both floating types.
#include "kernels/simd/random.hpp"

#include "kernels/per_isa/parts.hpp"

namespace reel::kernels {

void enter_random(Set& set) {
  set.draws[index(DType::float32)] = {&draw_uniform<float>, &draw_normal<float>};
  set.draws[index(DType::float64)] = {&draw_uniform<double>, &draw_normal<double>};
}

}  // namespace reel::kernels
