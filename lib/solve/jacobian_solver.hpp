// Linear systems with the Jacobian or Hessian of an equation.
#pragma once
#include "linalg/krylov.hpp"

namespace reel::autodiff {

struct JacobianSolution : KrylovResult {
  bool by_matrix = false;  ///< whether the method did not converge, and the operator was made a matrix
};
/// The solution by gmres, unrecorded. If that does not converge within `max_iterations` of -1, and there are at most
/// 2048 unknowns, by LU of the matrix of a; `by_matrix` does so at once. It has converged where the residual reaches
/// the tolerance, or the rounding error of a product, 16 rounding units of |a| |x|, and half of the digits.
JacobianSolution solve_jacobian(const char* name, const LinearOperator& a, const Tensor& b,
                                const IterativeOptions& options, bool by_matrix);
/// Such solvers, which throw a ValueError of this name where they do not converge: by gmres, and by cg for symmetric
/// positive definite operators. The name and the options are kept.
LinearSolver jacobian_solver(const char* name, const IterativeOptions& options);
LinearSolver hessian_solver(const char* name, const IterativeOptions& options);

}  // namespace reel::autodiff
