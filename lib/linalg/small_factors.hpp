// Kernels that factorise small matrices and solve triangular systems.
#pragma once
#include "kernels/loop.hpp"
#include "kernels/set.hpp"

namespace reel::kernels {

// A triangular system A X = B of order n <= SmallFactors::order, solved in place. Element (i, j) of A is a[i * a_row +
// j * a_column]. That of B, which has `columns` columns, is b[i * b_row + j * b_column]; one of the strides of B is 1.
// Only the triangle named by `lower` is read, and with `unit` not its diagonal.
struct TriangularBlock {
  std::ptrdiff_t n;
  const void* a;
  std::ptrdiff_t a_row, a_column;
  bool lower, unit;
  void* b;
  std::ptrdiff_t b_row, b_column, columns;
};
// In-place factorisations of float32 or float64 matrices of at most `order` rows, which are a_row elements apart.
struct SmallFactors {
  std::ptrdiff_t order;
  // Overwrites the lower triangle of A with L, A = L L^T. Returns 0, or the order of the first leading minor that is
  // not positive; A is then left as it was at that step.
  std::ptrdiff_t (*cholesky)(void* a, std::ptrdiff_t a_row, std::ptrdiff_t n);
  // The first rows <= order of the factors of getrf in lapack.hpp, and their pivots. Columns are swapped in these rows
  // only. Returns 0, or the order of the first pivot that is zero.
  std::ptrdiff_t (*lu)(void* a, std::ptrdiff_t a_row, std::ptrdiff_t rows, std::ptrdiff_t columns, int* pivots);
  void (*solve)(const TriangularBlock& p);
};

/// float32, float64.
struct SmallFactorKernels : ByDType<SmallFactors> {
  static constexpr KernelFamily family = KernelFamily::small_factors;
};

}  // namespace reel::kernels
