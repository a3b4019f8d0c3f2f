// Krylov methods for a x = b, where the linear operator a is given as a function. Derivatives are implicit: they solve
// with the transposed operator, and do not differentiate the iterations.
#pragma once
#include <reel/api.hpp>
#include <reel/callback.hpp>
#include <reel/tensor.hpp>
#include <string_view>

namespace REEL_API reel {

/// Maps v to a v, both of the shape and dtype of b. All axes of a tensor together are one vector. The operator is
/// linear in v. It may read other tensors and variables; the solution is differentiable by them. It must capture by
/// value, because tapes keep it for their gradients.
using LinearOperator = Callback<Tensor(const Tensor&)>;

/// Options of bicgstab, cg, gmres and linear_solve.
struct IterativeOptions {
  /// Stops when the norm of the residual b - a x is at most `tolerance` times that of b, or at most
  /// `absolute_tolerance`. -1 stands for the square root of the rounding unit of b's dtype. gmres recomputes the
  /// residual, which rounding keeps from being much smaller than 16 rounding units of the norms of b and a x: it also
  /// stops there.
  double tolerance = -1, absolute_tolerance = 0;
  /// The limit of `iterations`. -1 stands for ten times the number of elements of b, but at least 100.
  std::int64_t max_iterations = -1;
  LinearOperator preconditioner = {};  ///< maps r to about a^-1 r; for cg symmetric positive definite
  Tensor initial = {};                 ///< the first iterate, a constant; zeros by default
  std::int64_t restart = 30;           ///< of gmres: the directions between restarts
};

/// Why cg(), gmres() or bicgstab() stopped.
enum class IterativeStop : std::uint8_t {
  converged,
  iteration_limit,
  breakdown,    ///< a direction without progress; in cg: a is not positive definite
  not_a_number  ///< NaN or infinity in a product or in b
};
/// The name of the reason, in words.
std::string_view to_string(IterativeStop reason);
std::ostream& operator<<(std::ostream& out, IterativeStop reason);

/// A solution, how accurate it is, and why the iteration stopped.
struct IterativeResult {
  Tensor x;
  /// The norm of b - a x. gmres computes it from x. The others update it by a recurrence, which rounding lets drift.
  double residual = 0;
  /// The number of products with a for new directions. Products for residuals are not counted: one for `initial`, and
  /// one per restart.
  std::int64_t iterations = 0;
  IterativeStop reason = IterativeStop::iteration_limit;
  bool converged() const noexcept { return reason == IterativeStop::converged; }
};

/// Conjugate gradients (Hestenes and Stiefel 1952), for symmetric positive definite operators, whose transpose is
/// symmetric positive definite too. Restarted GMRES (Saad and Schultz 1986) and BiCGSTAB (van der Vorst 1992), for any
/// nonsingular operator. b is float32 or float64 (TypeError). x is the last iterate, converged or not. ShapeError or
/// TypeError if the operator returns another shape or dtype than that of b. TraceError in a traced function, because
/// they read elements.
///
/// Derivatives exist to every order, in both modes, by b and by everything that the operator reads. dx solves a dx = db
/// - da x, by the same method and options except `initial`. Gradients multiply by the transpose, through reverse mode
/// of the operator, and of the preconditioner likewise. ValueError if the solution for a derivative does not converge.
IterativeResult cg(const LinearOperator& a, const Tensor& b, const IterativeOptions& options = {});
IterativeResult gmres(const LinearOperator& a, const Tensor& b, const IterativeOptions& options = {});
IterativeResult bicgstab(const LinearOperator& a, const Tensor& b, const IterativeOptions& options = {});

/// A solver that maps (a, b) to x. It is not differentiated.
using LinearSolver = Callback<Tensor(const LinearOperator& a, const Tensor& b)>;
/// x with a x = b, computed by `solver`, with implicit derivatives as above. The solver is called with the operator or
/// its transpose; `symmetric` says that both are the same (JAX's custom_linear_solve).
Tensor linear_solve(const LinearOperator& a, const Tensor& b, const LinearSolver& solver, bool symmetric = false);
/// The same by gmres. ValueError if it does not converge.
Tensor linear_solve(const LinearOperator& a, const Tensor& b, const IterativeOptions& options = {});

}  // namespace reel
