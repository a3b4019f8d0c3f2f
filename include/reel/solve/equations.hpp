// Fixed points, roots, roots in brackets and minima of functions of a tensor, with implicit derivatives: they solve a
// linear system at the solution and never pass through the iterations (Christianson 1994; Blondel et al. 2022).
// <reel/reel.hpp> does not include this header.
#pragma once
#include <reel/api.hpp>
#include <reel/callback.hpp>
#include <reel/linalg/iterative.hpp>
#include <reel/tensor.hpp>

namespace REEL_API reel {

/// A function of a tensor, which as a whole is one vector. It may read other tensors and variables, by which the
/// solution is differentiable. Tapes keep it for their gradients: it captures by value.
using EquationFunction = Callback<Tensor(const Tensor&)>;

/// Where fixed_point, root or minimum is after a step.
struct EquationProgress {
  std::int64_t iteration = 0;  ///< steps taken
  /// The norm of f(x) - x of fixed_point before the step, of f(x) of root; of minimum MinimizeResult::gradient_size.
  double residual = 0;
  double value = 0;  ///< f(x) of minimum; otherwise 0
};
/// Called after each step; true ends the iterations, and x is taken as the solution as it is: derivatives are those of
/// a solution at x. Exceptions pass through.
using EquationCallback = Callback<bool(const EquationProgress&)>;

/// Options of fixed_point, minimum, root and bracketed_root.
struct EquationOptions {
  /// The solution is found when the norm of a step is at most `tolerance` times that of x; -1 stands for 16 rounding
  /// units of x's dtype. Also when the norm of the residual is at most `absolute_tolerance`.
  double tolerance = -1, absolute_tolerance = 0;
  /// -1: 1000 of fixed_point, 100 of root, 1000 of minimum, 200 of bracketed_root.
  std::int64_t max_iterations = -1;
  /// Of the linear systems: of Newton's method, and of derivatives, for which the preconditioner is transposed. Their
  /// tolerance of -1 stands for 16 rounding units; they are solved too where the residual is the rounding error of a
  /// product, 16 rounding units of |a| |x|, and at most the root of the unit times the right-hand side. max_iterations
  /// of -1 stands for a quarter of the number of unknowns, at least 100; then the system is solved by LU of the matrix,
  /// which takes a product per unknown. Above 2048 unknowns it stands for what it is in gmres, and there is no matrix.
  /// `initial` is not used.
  IterativeOptions linear = {};
  /// Not called by bracketed_root, nor by the last steps of minimum, which are Newton's for the gradient.
  EquationCallback callback = {};
};

/// x with f(x) = x, by iteration from x0: f has to contract near x. ValueError if the iterations end first or leave the
/// numbers.
///
/// Of all, but for what bracketed_root says: x0 is float32 or float64 (TypeError) and a start alone, without gradient.
/// ShapeError or TypeError for an f of another shape or dtype. They read elements: TraceError in a traced function.
/// Derivatives of every order in both modes, by all that f reads: dx solves (1 - f'(x)) dx = the change of f at x, by
/// gmres or LU; ValueError, which names the options of `linear`, where neither converges, as for a singular matrix.
Tensor fixed_point(const EquationFunction& f, const Operand& x0, const EquationOptions& options = {});
/// x with f(x) = 0, by Newton's method from x0, whose steps gmres computes with products of the Jacobian; they are
/// halved until the norm of f falls. Found too where only the rounding of f keeps the norm from falling: on a grid of n
/// points the norm of -u'' ends near n^2 rounding units of u. ValueError if that ends without a root, which it names: a
/// singular Jacobian, a minimum of the norm, the limit of iterations. dx solves f'(x) dx = - the change of f at x.
/// Thousands of equations of one unknown each are cheaper by bracketed_root, or by fixed_point of Newton's step, x -
/// f(x) / f'(x) with f'(x) = jvp(f, x, ones).second.
Tensor root(const EquationFunction& f, const Operand& x0, const EquationOptions& options = {});
/// x with f(x) = 0 between a and b, of every element on its own: element k of f depends on element k of x alone, and
/// has different signs at a and b, or is 0 there. Chandrupatla's method (1997), inverse quadratic interpolation or
/// bisection, as tfp.math.find_root_chandrupatla; at most 124 iterations in float64, whatever f is. a and b broadcast,
/// in either order; both float32 or float64 (TypeError), finite (ValueError) and without gradient. An element is found
/// when its bracket is at most `tolerance` times |x| long, or |f(x)| at most `absolute_tolerance`: x is the end with
/// the smaller |f|. A jump across 0, such as a pole, is found as a root is. ValueError, which names the first such
/// element, where signs are equal, where f is NaN or where the iterations end first. dx = - the change of f at x /
/// f'(x): infinite where f'(x) = 0. ValueError by derivatives where f depends on other elements. `linear` is not used.
Tensor bracketed_root(const EquationFunction& f, const Operand& a, const Operand& b,
                      const EquationOptions& options = {});
/// x where f, of size 1, has a local minimum near x0, by newton_cg of <reel/optim/minimize.hpp> and then Newton's
/// method for its gradient. ValueError if that ends without one: at infinity, at a saddle or a maximum. If no gradient
/// reaches x, the error says why. dx solves f''(x) dx = - the change of the gradient of f at x, by conjugate gradients:
/// ValueError where the second derivatives are not positive definite.
Tensor minimum(const EquationFunction& f, const Operand& x0, const EquationOptions& options = {});

}  // namespace reel
