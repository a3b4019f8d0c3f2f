// Determinants of complex matrices.
#include "loops/linalg/determinant/derivatives.hpp"

namespace reel::loops::determinants {

void complex_derivative(const DeterminantDirections& p, const Tensor& out) {
  if (out.dtype() == DType::complex64) return derivative_of<std::complex<float>>(p, out);
  derivative_of<std::complex<double>>(p, out);
}

void complex_cofactors(const Tensor& weight, const DeterminantDirections& p, const Tensor& out) {
  if (out.dtype() == DType::complex64) return cofactors_of<std::complex<float>>(weight, p, out);
  cofactors_of<std::complex<double>>(weight, p, out);
}

}  // namespace reel::loops::determinants
