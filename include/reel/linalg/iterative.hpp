// Solutions of a x = b where the linear operator a is given as a function, by Krylov methods, with implicit
// derivatives: they solve with the transpose and never pass through the iterations.
#pragma once
#include <reel/callback.hpp>
#include <reel/tensor.hpp>
#include <string_view>

namespace [[gnu::visibility("default")]] reel {

/// v to a v, of the shape and dtype of b: a tensor as a whole is one vector. Linear in v; it may read other tensors and
/// variables, by which the solution is differentiable. Tapes keep it for their gradients: it captures by value.
using LinearOperator = Callback<Tensor(const Tensor&)>;

struct IterativeOptions {
  /// Stop when the norm of the residual b - a x is at most `tolerance` times that of b, or at most
  /// `absolute_tolerance`. -1 stands for the square root of the rounding unit of b's dtype. gmres, which computes the
  /// residual anew, also stops at 16 rounding units of the norms of b and a x: it can hardly fall below that.
  double tolerance = -1, absolute_tolerance = 0;
  /// Limits `iterations`; -1: ten times the number of elements of b, 100 at least.
  std::int64_t max_iterations = -1;
  LinearOperator preconditioner = {};  ///< r to about a^-1 r; for cg symmetric and positive definite
  Tensor initial = {};                 ///< where to start; zeros unless it is given. A constant
  std::int64_t restart = 30;           ///< of gmres: after so many directions
};

enum class IterativeStop : std::uint8_t {
  converged,
  iteration_limit,
  breakdown,    ///< a direction without progress: for cg an operator that is not positive definite
  not_a_number  ///< NaN or infinity in a product or in b
};
std::string_view to_string(IterativeStop reason);

struct IterativeResult {
  Tensor x;
  /// The norm of b - a x: of gmres computed from x, of the others by the recurrence, from which rounding parts it.
  double residual = 0;
  /// Products with a for new directions. Those for residuals are not counted: one for `initial`, one per restart.
  std::int64_t iterations = 0;
  IterativeStop reason = IterativeStop::iteration_limit;
  bool converged() const noexcept { return reason == IterativeStop::converged; }
};

/// Conjugate gradients (Hestenes and Stiefel 1952), for symmetric positive definite operators: also their transposes.
/// Restarted GMRES (Saad and Schultz 1986) and BiCGSTAB (van der Vorst 1992), for any nonsingular operator. b is
/// float32 or float64 (TypeError). x is the last iterate, converged or not. ShapeError or TypeError for a product of
/// another shape or dtype than b. They read elements: TraceError in a traced function.
///
/// Derivatives of every order in both modes, by b and by all that the operator reads: dx solves a dx = db - da x, by
/// the same method and options (but for `initial`). For a gradient the products with the transpose are those of reverse
/// mode through the operator; the transposed preconditioner likewise. ValueError where the solution for a derivative
/// does not converge.
IterativeResult cg(const LinearOperator& a, const Tensor& b, const IterativeOptions& options = {});
IterativeResult gmres(const LinearOperator& a, const Tensor& b, const IterativeOptions& options = {});
IterativeResult bicgstab(const LinearOperator& a, const Tensor& b, const IterativeOptions& options = {});

/// Solves with an operator: (a, b) to x. Not differentiated.
using LinearSolver = Callback<Tensor(const LinearOperator& a, const Tensor& b)>;
/// x with a x = b, as `solver` computes it, with implicit derivatives as above: the solver gets the operator or its
/// transpose. `symmetric` says that both are the same (JAX's custom_linear_solve).
Tensor linear_solve(const LinearOperator& a, const Tensor& b, const LinearSolver& solver, bool symmetric = false);
/// The same by gmres. ValueError if it does not converge.
Tensor linear_solve(const LinearOperator& a, const Tensor& b, const IterativeOptions& options = {});

}  // namespace reel
