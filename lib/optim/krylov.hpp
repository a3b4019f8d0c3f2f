// Krylov methods as solvers.
#pragma once
#include <reel/linalg/iterative.hpp>

namespace reel::autodiff {

/// GMRES, unrecorded.
IterativeResult solve_by_gmres(const LinearOperator& a, const Tensor& b, const IterativeOptions& options);
/// Solvers that throw a ValueError of this name where they do not converge. The name and the options are kept.
LinearSolver gmres_solver(const char* name, const IterativeOptions& options);
LinearSolver cg_solver(const char* name, const IterativeOptions& options);

}  // namespace reel::autodiff
