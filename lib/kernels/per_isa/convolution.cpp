// Convolution and pooling, window/convolution.hpp.
#include "kernels/window/convolution.hpp"

#include "kernels/per_isa/parts.hpp"

namespace reel::kernels {

void enter_convolution(Set& set) {
  set.convolution[index(DType::float32)] = ConvolutionLoops<float>::table();
  set.convolution[index(DType::float64)] = ConvolutionLoops<double>::table();
}

}  // namespace reel::kernels
