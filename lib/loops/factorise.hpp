// Factorisations of batches of square matrices [..., n, n], float32 or float64, row-major without gaps. One matrix is
// one task, so that results have the same bits for every number of threads. A matrix that is not finite gives NaN.
#pragma once
#include <reel/tensor.hpp>
#include <vector>

#include "loops/matmul.hpp"

namespace reel::loops {

/// The first matrix of a batch that has no factor: its row-major position, and the order (from 1) of the pivot or
/// minor.
struct Fault {
  std::int64_t batch = -1, order = 0;
  explicit operator bool() const { return batch >= 0; }
};

/// a becomes the lower triangular L with L L^T = a; its upper triangle is not read.
Fault cholesky(const Tensor& a);
/// a becomes its LU factors, pivots (int32 [..., n]) the row order; see kernels::getrf. All of them, whatever the
/// fault.
Fault factorise(const Tensor& a, const Tensor& pivots);
/// x [batch..., n, columns] becomes the solution of op(A) X = x, with A's factors, whose batch axes broadcast to x's.
void solve(const Tensor& factors, const Tensor& pivots, bool transpose, const Tensor& x, const Shape& batch,
           std::int64_t columns);
/// The factors become the inverse. Gives the positions of the singular matrices in the batch, whose place is left as it
/// was.
std::vector<std::int64_t> invert(const Tensor& factors, const Tensor& pivots);
/// What stands for the inverse of the singular matrix number `at` of a (contiguous): infinities with the signs of its
/// adjugate, and + where that is zero.
void fill_infinite_inverse(const Tensor& a, std::int64_t at, const Tensor& inverse);
/// The same as solve for a triangular A, any strides that `layout` calls readable. The fault is a zero on the diagonal.
struct TriangularSystem {
  bool lower, transpose, unit_diagonal;
};
Fault solve_triangular(const Factor& a, const TriangularSystem& system, const Tensor& x, const Shape& batch,
                       std::int64_t columns);
/// det [...] from the factors, without overflow on the way.
void determinant(const Tensor& factors, const Tensor& pivots, const Tensor& det);
/// The same of one matrix as mantissa 2^e, magnitude in [0.5, 1): the exponent e.
std::int64_t determinant_parts(const Tensor& factors, const Tensor& pivots, const Tensor& mantissa);
/// Whether each number is normal or NaN: neither zero, nor subnormal, nor infinite.
bool all_normal(const Tensor& x);
void log_determinant(const Tensor& factors, const Tensor& pivots, const Tensor& sign, const Tensor& logdet);
/// Whether every pivot of every matrix is above `tolerance` times its largest. Also true where one is NaN.
bool well_pivoted(const Tensor& factors, double tolerance);

/// Powers of two w [n, n], w(i, j) = r(i) c(j) with a product of 1 over all r and c, which make the rows and columns of
/// one matrix a (contiguous) alike in size: a w has the determinant of a, and minors that overflow or vanish only where
/// they must. w is `first` times `second`, neither of which overflows. False when all of w is 1.
bool balance(const Tensor& a, const Tensor& first, const Tensor& second);

/// Elimination of one matrix a [n, n] (which it destroys) with complete pivoting, as far as pivots are above
/// `tolerance` times the first: left a right^T is then diag(d, S) with powers of two d near the pivots' geometric mean
/// and S small, and det a = scale det(d) det(S) with |scale| in [0.5, 1), or 1 without pivots. Returns how many pivots
/// there were.
std::int64_t eliminate(const Tensor& a, double tolerance, const Tensor& left, const Tensor& right, double& scale);

}  // namespace reel::loops
