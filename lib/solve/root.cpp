// Roots by Newton's method, whose linear systems GMRES solves.
#include <algorithm>
#include <cmath>
#include <reel/ops/pointwise.hpp>

#include "core/fail.hpp"
#include "solve/equations.hpp"
#include "solve/jacobian_solver.hpp"
#include "tape/record.hpp"

namespace reel {

namespace autodiff {

namespace {

constexpr std::int64_t newton_steps = 100;  // at most, by default

// Of Newton's steps: the shortest part that is tried, and the relative decrease of the norm that a whole one must reach
// (Armijo's condition).
constexpr double least_part_of_step = 1e-9, sufficient_decrease = 1e-4;

// Where a step cannot reduce the norm of the residual.
[[noreturn]] void fail_newton(const char* name, const EquationOptions& options, std::int64_t iterations, double size,
                              const JacobianSolution& linear, bool is_newton) {
  if (is_newton)
    fail<ValueError>(name,
                     "no progress after {} iterations, at a norm of {}: the norm has a local minimum; start elsewhere",
                     iterations, size);
  fail<ValueError>(
      name,
      "no progress after {} iterations, at a norm of {}: the Jacobian is singular, or its linear system is "
      "solved to {} of the right-hand side only, where linear.tolerance is {}; start elsewhere, or give "
      "linear.preconditioner",
      iterations, size, linear.residual / size, options.linear.tolerance);
}

}  // namespace

// Newton's method. A step is Newton's if its linear system is solved to half of the digits. The method ends if a step
// does not reduce the norm of the residual and is as short as rounding errors, or if the norm has fallen by half of the
// digits to the rounding error of the residual, 16 units of |J| |x|, which hides any further reduction.
Tensor newton(const Equation& e, Tensor x, const EquationOptions& options) {
  Tensor r = residual_of(e, x);
  double size = size_of(r);
  const double rounding = std::sqrt(unit_of(x)), first_size = size;
  bool by_matrix = false;
  for (std::int64_t k = 0; k < options.max_iterations; ++k) {
    if (!std::isfinite(size)) fail<ValueError>(e.name, "infinity or NaN at the start; start elsewhere");
    if (size <= options.absolute_tolerance) return x;
    const JacobianSolution solution = solve_jacobian(e.name, jacobian_of(e, x), negative(r), options.linear, by_matrix);
    by_matrix = solution.by_matrix;
    double step = size_of(solution.x);
    const double scale = size_of(x);
    const bool is_newton = solution.converged() || solution.residual <= rounding * size;
    const bool is_last = is_newton && step <= options.tolerance * scale;
    const bool is_rounding = size <= std::min(rounding * first_size, 16 * unit_of(x) * solution.operator_norm * scale);
    Tensor next, next_residual;
    double next_size = HUGE_VAL, shrink = 1;
    for (; shrink > least_part_of_step; shrink /= 2) {
      next = x + solution.x * shrink;
      next_residual = residual_of(e, next);
      next_size = size_of(next_residual);
      if (next_size <= (1 - sufficient_decrease * shrink) * size) break;
      if (step <= rounding * scale && is_newton) return next_size < size ? next : x;
    }
    if (!(next_size < size)) {
      if (is_rounding) return x;
      fail_newton(e.name, options, k, size, solution, is_newton);
    }
    const bool stagnates = is_rounding && next_size > 0.5 * size;
    x = next, r = next_residual, size = next_size;
    if (is_last || stagnates || is_ended(options, k + 1, size)) return x;
  }
  if (size <= options.absolute_tolerance) return x;
  fail<ValueError>(e.name, "no convergence after {} iterations, at a norm of {}; start elsewhere, or allow for more",
                   options.max_iterations, size);
}

}  // namespace autodiff

Tensor root(const EquationFunction& f, const Operand& x0, const EquationOptions& requested) {
  const tape::OpScope scope(x0);
  const Tensor start = autodiff::start_of("root", x0);
  const EquationOptions options = autodiff::check_options("root", f, start, requested, autodiff::newton_steps);
  const autodiff::Equation e = autodiff::equation_of("root", f, options, start);
  return autodiff::implicit_solution(e, [&] { return autodiff::newton(e, start, options); });
}

}  // namespace reel
