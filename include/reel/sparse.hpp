// Optional header: sparse Jacobians and Hessians, and least squares with them. Columns of a Jacobian that have no row
// in common (or rows that have no column in common) share a direction. A colouring of the sparsity pattern finds them.
// A tridiagonal Jacobian of any size takes three directions and one call of the function.
//
// Values may have any dtype where nothing else is said. Dtypes of two operands combine by promote(); sums and products
// of integers are int64. Functions that take a pattern throw ShapeError unless its shape has two extents and the values
// are a vector of nonzeros() elements, TypeError unless its indices are int64 vectors, ValueError for an empty one, for
// row_starts that are not as described below and for rows that do not ascend, IndexError for a column out of range.
#pragma once
#include <cstdint>
#include <reel/api.hpp>
#include <reel/callback.hpp>
#include <reel/functions.hpp>
#include <reel/optim.hpp>
#include <reel/shape.hpp>
#include <reel/tensor.hpp>
#include <tuple>
#include <utility>

namespace REEL_API reel {

/// The positions at which a sparse matrix may be nonzero, in compressed sparse rows (CSR).
///
///     SparsityPattern p{{2, 3}, tensor<std::int64_t>({0, 1, 3}), tensor<std::int64_t>({2, 0, 1})};
///
/// Every function that takes a pattern checks it first, in one pass. In a traced function the tensors may be arguments:
/// the program checks them at each call. Functions whose result has another pattern need known ones there (TraceError).
struct SparsityPattern {
  Shape shape{0, 0};  ///< rows and columns
  Tensor row_starts;  ///< int64 [rows + 1]: row i has the positions [row_starts[i], row_starts[i + 1])
  Tensor columns;     ///< int64 [nonzeros]: the column of each position, ascending within a row

  std::int64_t nonzeros() const { return columns.size(); }
  /// The row of each position: int64 [nonzeros].
  Tensor rows() const;
};

/// The pattern with a position for each pair rows[k], columns[k], integers [n] (TypeError otherwise). Duplicates count
/// once. IndexError for an index out of range. ShapeError for vectors of different lengths, and for a shape of other
/// than two extents. TraceError for rows or columns that a traced function computes: make the pattern before.
SparsityPattern coo_to_csr(const Tensor& rows, const Tensor& columns, const Shape& shape);

/// A sparse matrix. As a tree (derivatives, files, optimisers) its only leaf is `values`. A compiled function has a
/// program for each pattern: each pair of tensors, whatever their elements.
struct Csr {
  SparsityPattern pattern;
  Tensor values;  ///< [nonzeros]
  auto leaves() { return std::tie(values); }
  auto signature() const { return std::tie(pattern.shape, pattern.row_starts, pattern.columns); }
};

/// The matrix with values[k] at the position of the pair rows[k], columns[k], and the sum of the values of equal pairs.
/// Any dtype; sums of integers are int64. Gradient: g at the position of each pair. ShapeError unless there is a value
/// for each pair. Other errors are those of coo_to_csr without values; values may be computed in a traced function.
Csr coo_to_csr(const Tensor& rows, const Tensor& columns, const Tensor& values, const Shape& shape);

/// The dense matrix, [rows, columns]: zeros where the pattern has no position. Gradient: the elements of g at the
/// positions.
Tensor to_dense(const Csr& matrix);
/// The product of the matrix with x, [columns] or [columns, k]; with `transposed`, of its transpose with x, [rows] or
/// [rows, k]. Gradients, to every order: sampled_matmul(pattern, g, x^H) for the values, the product of the
/// conjugate transpose with g for x. ShapeError if the shapes do not fit.
Tensor csr_matmul(const Tensor& values, const SparsityPattern& pattern, const Tensor& x, bool transposed = false);
inline Tensor matmul(const Csr& a, const Tensor& x, bool transposed = false) {
  return csr_matmul(a.values, a.pattern, x, transposed);
}

/// The elements [nonzeros] of the product of x [rows, k] and y [k, columns] at the positions of the pattern. No other
/// elements are computed. It is the adjoint of csr_matmul as a function of its values. Gradients, to every order:
/// csr_matmul(g, pattern, y^H) for x, and x^H times the matrix of g for y. ShapeError unless the product has the
/// pattern's shape.
Tensor sampled_matmul(const SparsityPattern& pattern, const Tensor& x, const Tensor& y);
/// x with a x = b, or a^T x = b if `transposed`, for the square matrix a with these values; x and b are [n] or [n, m].
/// The matrix is factorised in an order of little fill (approximate minimum degree), by fronts: as L L^H if it is
/// Hermitian, element by element, and positive definite, otherwise as L U with pivots of at least a tenth of the
/// largest element of their column. n unknowns on a plane grid take a time of about n^1.5 and memory n log n. The
/// analyses of the patterns used last are kept, up to 64 MiB. Computes in float64 or complex128 and rounds to the dtype
/// of both operands; integers give float64. A matrix that is not finite gives NaN. Gradients, to every order, by the
/// same factors: that of b solves the system of a^H with g, and that of the values is -sampled_matmul(pattern, that of
/// b, x^H). ValueError for a singular matrix, ShapeError for one that is not square and for b of other rows.
Tensor csr_solve(const Tensor& values, const SparsityPattern& pattern, const Tensor& b, bool transposed = false);

// Sparse results. Values are differentiable, to every order; patterns are computed from patterns, so that a traced
// function may do it too. ShapeError where shapes or the number of values do not fit.

/// The nonzero elements of a matrix; NaN is one. TraceError in a traced function. With a pattern: the elements at its
/// positions, whatever they are.
Csr to_csr(const Tensor& dense);
Csr to_csr(const Tensor& dense, const SparsityPattern& pattern);
/// The transpose, its values in the order of its own rows.
Csr transpose(const Csr& a);
/// The sum of two matrices, at the positions of either.
Csr add(const Csr& a, const Csr& b);
/// The product of two matrices, at the positions that a product of elements reaches. Takes memory for each of these
/// products.
Csr matmul(const Csr& a, const Csr& b);
/// The sums of the elements along an axis: 0 for [columns], 1 for [rows], -1 and -2 from the end (IndexError
/// otherwise).
Tensor sum(const Csr& a, std::int64_t axis);
/// softmax of the elements of each row at the positions of the pattern; other positions count as -inf. Real dtypes
/// (TypeError); integers give float64. Gradient, in each row: s (g - sum(g s)).
Csr softmax(const Csr& a);

/// A function of one tensor that returns one.
using TensorFunction = Callback<Tensor(const Tensor&)>;

/// The pattern of the Jacobian of f, a function of one tensor that returns one; both are taken as vectors. It holds for
/// arguments of the shape and dtype of x. f is traced, not computed: its loops and branches may depend on shapes only
/// (TraceError). An element counts as dependent if the structure of the ops allows it: on both sides of `where`; on all
/// elements of the axis for take_along_axis by indices that are not constants; on all of the matrices at the same batch
/// index for inverse, det, slogdet, cholesky, solve and triangular_solve. The results of other solvers and
/// factorisations, convolutions, loops, and gathers by indices that are not constants depend on everything, as does the
/// result of an f with a custom_gradient rule: SparsityPattern::nonzeros() shows it. ValueError for more than 2^28
/// positions.
SparsityPattern jacobian_sparsity(const TensorFunction& f, const Tensor& x);
namespace detail {
SparsityPattern gradient_sparsity(const TensorFunction& gradient, const Tensor& x);
}
/// The pattern of the Hessian of f: that of the Jacobian of its gradient. f returns a tensor of size 1.
template <class F>
SparsityPattern hessian_sparsity(F f, const Tensor& x) {
  return detail::gradient_sparsity(grad<0>(std::move(f), detail::no_line), x);
}

/// Options of sparse_jacobian() and sparse_hessian().
struct SparseOptions {
  /// Compares, at each call, the product of the result and a random vector with a directional derivative. ValueError if
  /// they differ by more than rounding errors, because the pattern lacks a position. Costs one more direction; four
  /// more where they differ at all, to measure the rounding errors.
  bool check = false;
};

namespace detail {

/// A colouring: elements of a vector of the same colour share a direction.
struct Colouring {
  Tensor colours;  // int64, of each element: 0, 1, ..., count - 1
  std::int64_t count = 0;
  Tensor places;  // int64 [nonzeros]: index of each value in the flattened products [count, other side]
};

}  // namespace detail

/// The Jacobian of f by x at a pattern: see sparse_jacobian.
class SparseJacobian {
 public:
  SparseJacobian(TensorFunction f, SparsityPattern pattern, const SparseOptions& options = {});
  /// The Jacobian at x, by one call of f. Its values have the dtype of x. TypeError unless x and the result are real
  /// and floating. ShapeError unless x has as many elements as the pattern has columns, and the result as it has rows.
  Csr operator()(const Tensor& x) const;
  const SparsityPattern& pattern() const noexcept { return pattern_; }
  /// The number of directions of a call in forward mode, by columns, and in reverse mode, by rows. The smaller one is
  /// used, or reverse mode if an op has no jvp.
  std::int64_t forward_directions() const noexcept { return forward_.count; }
  std::int64_t reverse_directions() const noexcept { return reverse_.count; }

 private:
  TensorFunction f_;
  SparsityPattern pattern_;
  SparseOptions options_;
  detail::Colouring forward_, reverse_;
};

/// Returns a function object that computes the Jacobian of f as a sparse matrix of this pattern. f is a function of one
/// tensor that returns one; both are taken as vectors. Elements outside the pattern must be zero, because otherwise
/// they are added to others (see SparseOptions::check). The colouring is computed once, here: Curtis, Powell and Reid,
/// "On the estimation of sparse Jacobian matrices", 1974. An outer tape records a call. ValueError and IndexError for
/// an invalid pattern.
inline SparseJacobian sparse_jacobian(TensorFunction f, SparsityPattern pattern, const SparseOptions& options = {}) {
  return SparseJacobian(std::move(f), std::move(pattern), options);
}
/// The same with the pattern of jacobian_sparsity(f, x).
inline SparseJacobian sparse_jacobian(TensorFunction f, const Tensor& x, const SparseOptions& options = {}) {
  SparsityPattern pattern = jacobian_sparsity(f, x);
  return SparseJacobian(std::move(f), std::move(pattern), options);
}

/// The Hessian of a function at a symmetric pattern: see sparse_hessian.
class SparseHessian {
 public:
  SparseHessian(TensorFunction gradient, SparsityPattern pattern, const SparseOptions& options = {});
  /// The Hessian at x, by one call of the gradient and its derivatives along the directions: forward over reverse, or
  /// reverse over reverse if an op has no jvp. Errors are those of SparseJacobian.
  Csr operator()(const Tensor& x) const;
  const SparsityPattern& pattern() const noexcept { return pattern_; }
  std::int64_t directions() const noexcept { return colouring_.count; }

 private:
  TensorFunction gradient_;
  SparsityPattern pattern_;
  SparseOptions options_;
  detail::Colouring colouring_;
};

/// Returns a function object that computes the Hessian of f, which returns a tensor of size 1. The pattern is made
/// symmetric. Its columns are coloured once, by a star colouring, so that each value is an element of a product:
/// Gebremedhin, Manne and Pothen, "What color is your Jacobian?", 2005. Otherwise as sparse_jacobian.
template <class F>
SparseHessian sparse_hessian(F f, SparsityPattern pattern, const SparseOptions& options = {}) {
  return SparseHessian(grad<0>(std::move(f), detail::no_line), std::move(pattern), options);
}
template <class F>
SparseHessian sparse_hessian(F f, const Tensor& x, const SparseOptions& options = {}) {
  SparsityPattern pattern = hessian_sparsity(f, x);
  return SparseHessian(grad<0>(std::move(f), detail::no_line), std::move(pattern), options);
}

/// The result of levenberg_marquardt with a sparse Jacobian, for m residuals and p parameters, all float64.
struct SparseLeastSquaresResult {
  Tensor parameters;             ///< [p]
  Tensor residuals;              ///< [m], at `parameters`
  Csr jacobian;                  ///< [m, p], at `parameters`
  double sum_of_squares = 0;     ///< of the residuals
  double cost = 0;               ///< sum of their losses
  std::int64_t iterations = 0;   ///< steps taken
  std::int64_t evaluations = 0;  ///< calls of the residual function for its value alone
  std::int64_t jacobians = 0;    ///< calls of the Jacobian
  StopReason reason = StopReason::iteration_limit;
  Tensor active;  ///< as LeastSquaresResult::active

  bool converged() const noexcept;  ///< as LeastSquaresResult::converged
};

/// Solves a s = b for the step s, [p]. a is symmetric and positive definite. Its pattern contains the diagonal and is
/// the same at each call. A solution that is not finite rejects the step and shortens the next one.
using NormalSolver = Callback<Tensor(const Csr& a, const Tensor& b)>;

/// levenberg_marquardt by the normal equations of a sparse Jacobian, `sparse_jacobian(residuals, ...)`. It suits many
/// parameters that affect few residuals each, such as blocks of poses and points. `solver` solves the normal equations;
/// by default a Cholesky factorisation like that of csr_solve does. Normal equations square the condition number, and a
/// Jacobian without full column rank is damped, not detected. Residuals are a vector. Errors and options are those of
/// levenberg_marquardt.
inline SparseLeastSquaresResult levenberg_marquardt(const TensorFunction& residuals, const SparseJacobian& jacobian,
                                                    const Tensor& initial,
                                                    const LevenbergMarquardtOptions& options = {},
                                                    const NormalSolver& solver = {}, const detail::CallLine& at = {}) {
  SparseLeastSquaresResult levenberg_marquardt(const TensorFunction&, const SparseJacobian&, const Tensor&,
                                               const LevenbergMarquardtOptions&, const NormalSolver&);  // exported
  return detail::naming_line(at, [&] { return levenberg_marquardt(residuals, jacobian, initial, options, solver); });
}
/// The same, continued from a state, and with the final state stored there: see MinimizerState of
/// <reel/optim/minimize.hpp>.
inline SparseLeastSquaresResult levenberg_marquardt(const TensorFunction& residuals, const SparseJacobian& jacobian,
                                                    const Tensor& initial, const LevenbergMarquardtOptions& options,
                                                    const NormalSolver& solver, MinimizerState& state,
                                                    const detail::CallLine& at = {}) {
  SparseLeastSquaresResult levenberg_marquardt(const TensorFunction&, const SparseJacobian&, const Tensor&,
                                               const LevenbergMarquardtOptions&, const NormalSolver&,
                                               MinimizerState&);  // exported
  return detail::naming_line(at,
                             [&] { return levenberg_marquardt(residuals, jacobian, initial, options, solver, state); });
}

}  // namespace reel
