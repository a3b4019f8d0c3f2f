// Linear systems given as operators, with implicit derivatives.
#pragma once
#include <memory>
#include <reel/linalg/iterative.hpp>

namespace reel::autodiff {

/// An operator, its transpose, and solvers with each; the name of the function that the user called, for errors.
struct LinearSystem {
  const char* name;
  LinearOperator product, transpose;
  LinearSolver solver, transposed_solver;
};
/// Without solvers. Errors for an empty operator and a b that is not real and floating name the function `name`.
std::shared_ptr<const LinearSystem> linear_system(const char* name, const LinearOperator& a, const Tensor& b,
                                                  bool symmetric);
/// v -> a^T v for vectors like `like`; an empty operator of an empty one.
LinearOperator transposed_operator(const char* name, const LinearOperator& a, const Tensor& like);
/// a v. ShapeError or TypeError, of the function `name`, unless it is like v.
Tensor product_of(const char* name, const LinearOperator& a, const Tensor& v);
/// The solution, computed unrecorded by `first`, as one entry of the tapes that follow b or what the operator reads.
/// Its derivatives come from the solvers of the system.
Tensor solve_system(const std::shared_ptr<const LinearSystem>& system, const Tensor& b, const LinearSolver& first);

}  // namespace reel::autodiff
