// Matrix products, product/product.hpp.
#include "kernels/per_isa/parts.hpp"
#include "kernels/product/product.hpp"

namespace reel::kernels {

void enter_products(Set& set) {
  set.product[index(DType::float32)] = ProductLoops<float>::table(false);
  set.product[index(DType::float64)] = ProductLoops<double>::table(false);
  set.product[index(DType::complex64)] = ProductLoops<float>::table(true);
  set.product[index(DType::complex128)] = ProductLoops<double>::table(true);
}

}  // namespace reel::kernels
