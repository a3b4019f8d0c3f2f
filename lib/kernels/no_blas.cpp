// What blas.hpp defines in a library without OpenBLAS.
#include "kernels/blas.hpp"

namespace reel::kernels {

void prepare_blas() noexcept {}
const char* blas_core() noexcept { return "none"; }
const char* tune_blas() noexcept { return "built without OpenBLAS"; }

}  // namespace reel::kernels
