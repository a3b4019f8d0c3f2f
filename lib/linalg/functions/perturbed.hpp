// Functions of a matrix and their mixed derivatives along k directions, at once: matrices over the algebra that e_1 ...
// e_k generate, with e_i^2 = 0. f(A + e_1 H_1 + ... + e_k H_k) has the derivative of f at A along H_1 ... H_k as its
// coefficient of e_1 ... e_k (Higham and Relton, "Higher order Frechet derivatives of matrix functions", 2014).
#pragma once
#include <algorithm>
#include <array>
#include <new>
#include <reel/tensor.hpp>
#include <vector>

#include "kernels/blas.hpp"
#include "linalg/lapack/lapack.hpp"
#include "loops/parallel.hpp"
#include "loops/tuning.hpp"

namespace reel::loops {

/// The coefficient of the product of e_i over a subset of directions is the part whose number has those bits: 2^k
/// matrices [n, n], float64 or complex128, row-major. Part 0 is the matrix itself.
using Perturbed = detail::List<Tensor>;

/// The elements as numbers; a complex one is two.
double* numbers(const Tensor& x);
std::int64_t number_count(const Tensor& x);

Perturbed zeros_like(const Perturbed& x);
Perturbed copy_of(const Perturbed& x);
Perturbed product(const Perturbed& x, const Perturbed& y);
/// q^-1 x for a q whose part 0 is nonsingular.
Perturbed quotient(const Perturbed& q, const Perturbed& x);
/// identity I + the sum of factor x over the terms, at most `terms_max`.
template <class AnyPerturbed>
struct WeightedSum {
  struct Term {
    double factor;
    const AnyPerturbed* x;
  };
  static constexpr std::size_t terms_max = 4;
  double identity = 0;
  std::array<Term, terms_max> terms = {};
  std::size_t count = 0;

  WeightedSum& add(double factor, const AnyPerturbed& x) {
    terms[count++] = {factor, &x};
    return *this;
  }
};
/// Its value, in one pass over memory.
Perturbed value_of(const WeightedSum<Perturbed>& sum);
/// z += factor x, z += factor I, z *= factor
void add(Perturbed& z, double factor, const Perturbed& x);
void add_identity(Perturbed& z, double factor);
void scale(Perturbed& z, double factor);
/// The magnitudes of the elements, and the largest sum of those of a column.
std::vector<double> magnitudes(const Tensor& x);
double one_norm(const Tensor& x);
bool is_finite(const Tensor& x);

/// f of the perturbed matrix, in place: false where there is no value, which becomes NaN.
using PerturbedFunction = bool (*)(Perturbed& x);
/// Which function of a matrix.
enum class MatrixFunction : std::uint8_t { exponential, logarithm, square_root };

/// out [..., n, n] = the mixed derivative of f at a [..., n, n] along the directions [..., k, n, n], all float64 or all
/// complex128 with any strides; batch axes broadcast to those of out. A matrix that is not finite gives NaN. Returns
/// the row-major position of the first matrix of the batch without a value (for a real one: without a real value), or
/// -1.
std::int64_t matrix_function(MatrixFunction f, const Tensor& a, const Tensor& directions, const Tensor& out);

/// Solves Sylvester's equation a z + z b = x in place: x [..., n, m] becomes z. All matrices have one dtype, float64 or
/// complex128, and any strides; batch axes of a and b broadcast to those of x. Returns the position of the first batch
/// where a and -b have a common eigenvalue, or -1.
std::int64_t sylvester(const Tensor& a, const Tensor& b, const Tensor& x);

/// The code of one task of a batch (see factors/codes.hpp): 0 if f() returns true, 1 if false; f may run out of memory.
template <class F>
int code_of(const F& f) {
  try {
    return f() ? 0 : 1;
  } catch (const std::bad_alloc&) {
    return kernels::out_of_memory;
  }
}

/// Matrices of order n per task.
inline std::int64_t grain_of_functions(std::int64_t n) {
  constexpr std::int64_t products = 50;   // that a function of a matrix takes, about
  constexpr std::int64_t overhead = 100;  // multiply-adds that a product costs besides
  return std::max<std::int64_t>(1, tuning::factor_grain / products / (n * n * n + overhead));
}

namespace functions {
bool exponential(Perturbed& x);
/// Whether the exponential of such matrices makes no tensors, so that a task may compute it. Above these orders
/// products by tensors are faster on one thread, and batches run one after another (measured).
bool is_small(const Tensor& a);
bool logarithm(Perturbed& x);
bool square_root(Perturbed& x);
}  // namespace functions

}  // namespace reel::loops
