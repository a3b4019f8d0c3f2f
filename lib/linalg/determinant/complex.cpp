// Determinants of complex matrices.
#include "core/visit.hpp"
#include "linalg/determinant/derivatives.hpp"

namespace reel::loops::determinants {

void complex_derivative(const DeterminantDirections& p, const Tensor& out) {
  visit_among<std::complex<float>, std::complex<double>>(out.dtype(), [&]<class T>() { derivative_of<T>(p, out); });
}

void complex_cofactors(const Tensor& weight, const DeterminantDirections& p, const Tensor& out) {
  visit_among<std::complex<float>, std::complex<double>>(out.dtype(),
                                                         [&]<class T>() { cofactors_of<T>(weight, p, out); });
}

}  // namespace reel::loops::determinants
