// Determinants of real matrices, and the choice between real and complex ones.
#include "linalg/determinant/determinant.hpp"

#include <new>

#include "core/fail.hpp"
#include "core/visit.hpp"
#include "linalg/determinant/derivatives.hpp"

namespace reel::loops {

void determinants::require_success(int code) {
  if (code == kernels::out_of_memory) throw std::bad_alloc();
  if (code != 0) fail<ValueError>("linear algebra", "an extent beyond 2^31 - 1 is more than LAPACK takes");
}

void determinant_derivative(const DeterminantDirections& p, const Tensor& out) {
  if (is_complex(out.dtype())) return determinants::complex_derivative(p, out);
  visit_among<float, double>(out.dtype(), [&]<class T>() { determinants::derivative_of<T>(p, out); });
}

void cofactor_derivative(const Tensor& weight, const DeterminantDirections& p, const Tensor& out) {
  if (is_complex(out.dtype())) return determinants::complex_cofactors(weight, p, out);
  visit_among<float, double>(out.dtype(), [&]<class T>() { determinants::cofactors_of<T>(weight, p, out); });
}

}  // namespace reel::loops
