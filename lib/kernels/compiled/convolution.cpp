// Convolution and pooling, window/convolution.hpp.
#include "kernels/window/convolution.hpp"

#include "kernels/compiled/parts.hpp"

namespace reel::kernels {

void enter_convolution(Set& set) {
  set.convolution[index(Type::float32)] = ConvolutionLoops<float>::table();
  set.convolution[index(Type::float64)] = ConvolutionLoops<double>::table();
}

}  // namespace reel::kernels
