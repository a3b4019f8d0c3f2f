// Linear systems with the Jacobian or Hessian of an equation: by a Krylov method, and where that does not converge, by
// LU of the matrix. They run unrecorded.
#include "solve/jacobian_solver.hpp"

#include <algorithm>
#include <cmath>
#include <reel/ops/linalg.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/ops/reduce.hpp>
#include <reel/ops/shape.hpp>
#include <reel/optim/minimize.hpp>
#include <string>
#include <vector>

#include "core/fail.hpp"
#include "core/rounding.hpp"
#include "linalg/linear_solve.hpp"

namespace reel::autodiff {
namespace {

// The most unknowns for which a matrix is made of an operator: 32 MB in float64.
constexpr std::int64_t most_of_matrix = 2048;
// The products of a Krylov method in front of a factorisation, which costs as many as there are unknowns, and each is
// cheaper without a basis to be orthogonal to.
std::int64_t products_before_matrix(std::int64_t n) { return std::max<std::int64_t>(100, n / 4); }

bool may_form_matrix(const Tensor& b, const IterativeOptions& options) {
  return options.max_iterations < 0 && b.size() <= most_of_matrix;
}

// The operator as a matrix [n, n], by its products with unit vectors.
Tensor matrix_of(const char* name, const LinearOperator& a, const Tensor& like) {
  const std::int64_t n = like.size();
  const Tensor identity = eye(n, like.dtype());
  std::vector<Tensor> columns;
  for (std::int64_t k = 0; k < n; ++k)
    columns.push_back(reshape(product_of(name, a, reshape(identity(k), like.shape())), {n}));
  return transpose(stack(columns, 0));
}

// Converged where the residual reaches the tolerance, or half of the digits at least and the rounding errors of a
// product: 16 rounding units of |a| |x|.
void judge(const Tensor& b, const Tensor& x, double tolerance, JacobianSolution& r) {
  const double unit = detail::unit_roundoff(x.dtype()), size = norm_of(b);
  const double rounding = 16 * unit * (size + r.operator_norm * norm_of(x));
  if (r.residual <= std::max(tolerance * size, std::min(rounding, std::sqrt(unit) * size)))
    r.reason = IterativeStop::converged;
}

// By LU of the matrix, in float64: the rounding of a float32 solution alone leaves a residual of |a| |x| units. Not
// converged where the matrix is singular.
void solve_by_matrix(const char* name, const LinearOperator& a, const Tensor& b, double tolerance,
                     JacobianSolution& r) {
  const Tensor matrix = cast(matrix_of(name, a, b), DType::float64);
  const Tensor right = cast(reshape(b, {b.size()}), DType::float64);
  r.by_matrix = true;
  r.iterations += b.size();
  if (!all(isfinite(matrix)).item<bool>()) return;
  JacobianSolution direct = r;
  Tensor x;
  try {
    x = solve(matrix, right);
  } catch (const ValueError&) {  // singular
    return;
  }
  direct.operator_norm = norm_of(matrix);
  direct.residual = norm_of(right - matmul(matrix, x));
  judge(right, x, tolerance, direct);
  if (!(direct.residual < r.residual)) return;
  direct.x = cast(reshape(x, b.shape()), b.dtype());
  r = direct;
}

JacobianSolution solve_with(KrylovMethod method, const char* name, const LinearOperator& a, const Tensor& b,
                            const IterativeOptions& requested, bool by_matrix) {
  IterativeOptions options = requested;
  const bool has_matrix = may_form_matrix(b, options);
  if (has_matrix) options.max_iterations = by_matrix ? 0 : products_before_matrix(b.size());
  JacobianSolution r{method(name, a, b, options)};
  const bool unfinished = !r.converged() && std::isfinite(r.residual) && r.reason != IterativeStop::not_a_number;
  const bool indefinite = method == run_cg && r.reason == IterativeStop::breakdown;
  if (!unfinished || indefinite) return r;
  if (r.iterations > 0) {
    r.residual = norm_of(b - product_of(name, a, r.x));
    judge(b, r.x, options.tolerance, r);
  }
  if (!r.converged() && has_matrix) solve_by_matrix(name, a, b, options.tolerance, r);
  return r;
}

LinearSolver equation_solver(KrylovMethod method, const char* name, const IterativeOptions& options) {
  return [method, name, options](const LinearOperator& a, const Tensor& b) {
    const JacobianSolution r = solve_with(method, name, a, b, options, false);
    if (!r.converged())
      fail<ValueError>(name,
                       "no convergence after {} products: {}, residual {} of {}, linear.tolerance is {}; give "
                       "linear.preconditioner, linear.max_iterations or a larger linear.tolerance",
                       r.iterations, std::string(to_string(r.reason)), r.residual, norm_of(b), options.tolerance);
    return r.x;
  };
}

}  // namespace

JacobianSolution solve_jacobian(const char* name, const LinearOperator& a, const Tensor& b,
                                const IterativeOptions& options, bool by_matrix) {
  require_krylov_options(name, b, options);
  return solve_with(run_gmres, name, a, b, options, by_matrix);
}
LinearSolver jacobian_solver(const char* name, const IterativeOptions& options) {
  return equation_solver(run_gmres, name, options);
}
LinearSolver hessian_solver(const char* name, const IterativeOptions& options) {
  return equation_solver(run_cg, name, options);
}

}  // namespace reel::autodiff
