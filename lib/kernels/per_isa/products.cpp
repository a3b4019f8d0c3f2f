// Sums of products: those of matrices, product/product.hpp; factorisations, product/triangular.hpp; convolution and
// pooling, window/convolution.hpp.
#include "kernels/per_isa/parts.hpp"
#include "kernels/product/triangular.hpp"
#include "nn/convolution_kernels.hpp"

namespace reel::kernels {

void enter_products(Set& set) {
  set.product[index(DType::float32)] = ProductLoops<float>::table(false);
  set.product[index(DType::float64)] = ProductLoops<double>::table(false);
  set.product[index(DType::complex64)] = ProductLoops<float>::table(true);
  set.product[index(DType::complex128)] = ProductLoops<double>::table(true);
  set.factors[index(DType::float32)] = FactorLoops<float>::table();
  set.factors[index(DType::float64)] = FactorLoops<double>::table();
  set.convolution[index(DType::float32)] = ConvolutionLoops<float>::table();
  set.convolution[index(DType::float64)] = ConvolutionLoops<double>::table();
}

}  // namespace reel::kernels
