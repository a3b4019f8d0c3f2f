// Convolution and pooling, window/convolution.hpp.
#include "kernels/window/convolution.hpp"

#include "kernels/compiled/parts.hpp"

namespace reel::kernels {

template <class I>
void enter_convolution(Set& set) {
  set.convolution[index(Type::float32)] = ConvolutionLoops<float, I>::table();
  set.convolution[index(Type::float64)] = ConvolutionLoops<double, I>::table();
}
template void enter_convolution<current>(Set& set);

}  // namespace reel::kernels
