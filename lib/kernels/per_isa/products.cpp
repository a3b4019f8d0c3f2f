// Matrix products of all types.
#include "kernels/products.hpp"

#include "kernels/product/product.hpp"

namespace reel::kernels {

const void* products_kernels() {
  static ProductKernels all;
  all[DType::float32] = ProductLoops<float>::table(false);
  all[DType::float64] = ProductLoops<double>::table(false);
  all[DType::complex64] = ProductLoops<float>::table(true);
  all[DType::complex128] = ProductLoops<double>::table(true);
  return &all;
}

}  // namespace reel::kernels
