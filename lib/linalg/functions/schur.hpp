// The complex Schur decomposition, and equations with triangular matrices, of row-major complex128.
#pragma once
#include <complex>
#include <cstdint>
#include <reel/tensor.hpp>
#include <vector>

namespace reel::loops {

using Complex = std::complex<double>;

/// A square matrix of complex numbers.
struct ComplexMatrix {
  std::int64_t rows = 0, columns = 0;
  std::vector<Complex> elements;

  ComplexMatrix() = default;
  ComplexMatrix(std::int64_t n, std::int64_t m) : rows(n), columns(m), elements(static_cast<std::size_t>(n * m)) {}
  Complex& operator()(std::int64_t i, std::int64_t j) { return elements[static_cast<std::size_t>(i * columns + j)]; }
  const Complex& operator()(std::int64_t i, std::int64_t j) const {
    return elements[static_cast<std::size_t>(i * columns + j)];
  }
  Complex* row(std::int64_t i) { return elements.data() + i * columns; }
  const Complex* row(std::int64_t i) const { return elements.data() + i * columns; }
};
ComplexMatrix product(const ComplexMatrix& a, const ComplexMatrix& b);
ComplexMatrix adjoint(const ComplexMatrix& a);

/// The magnitude of the largest element, as the sum of those of its parts.
double largest_element(const ComplexMatrix& a);
/// Whether all elements below the diagonal are zero, or all above.
bool is_triangular(const ComplexMatrix& a);

/// a = z t z^H with unitary z and upper triangular t. a is finite, and not larger than 2^500 unless it is triangular.
/// `rounding`, the rounding unit of t's largest element, is the scale of the errors of the eigenvalues: 0 if a is
/// triangular.
struct Schur {
  ComplexMatrix t, z;
  double rounding = 0;
};
Schur schur(ComplexMatrix a);

/// Solves t z + z s = x in place for upper triangular t and s: x becomes z. False, with x undefined, if the sum of an
/// eigenvalue of t and one of s is at most `rounding` or the rounding error of the sum.
bool solve_triangular_sylvester(const ComplexMatrix& t, const ComplexMatrix& s, ComplexMatrix& x, double rounding = 0);
/// x becomes t^-1 x for upper triangular t.
void solve_upper(const ComplexMatrix& t, ComplexMatrix& x);

}  // namespace reel::loops
