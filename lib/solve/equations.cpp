#include "solve/equations.hpp"

#include <cmath>
#include <reel/ops/pointwise.hpp>
#include <reel/ops/reduce.hpp>
#include <reel/optim/minimize.hpp>

#include "core/fail.hpp"
#include "core/rounding.hpp"
#include "linalg/linear_solve.hpp"
#include "ops/engine.hpp"
#include "solve/jacobian_solver.hpp"

namespace reel::autodiff {

double number_from(const Tensor& x) { return cast(x, DType::float64).item(); }
double size_of(const Tensor& x) { return number_from(norm(x)); }
double unit_of(const Tensor& x) { return detail::unit_roundoff(x.dtype()); }

EquationOptions check_options(const char* name, const EquationFunction& f, const Tensor& x, EquationOptions o,
                              std::int64_t iterations) {
  detail::require_untraced(name);
  if (!f) fail<ValueError>(name, "the function is empty; pass one");
  if (x.dtype() != DType::float32 && x.dtype() != DType::float64)
    fail<TypeError>(name, "x0 is {}; it must be float32 or float64: cast it", x.dtype());
  if (std::isnan(o.tolerance) || !(o.absolute_tolerance >= 0))
    fail<ValueError>(name, "tolerances are {} and {}; they must be numbers, the second at least 0", o.tolerance,
                     o.absolute_tolerance);
  if (o.tolerance < 0) o.tolerance = 16 * unit_of(x);
  if (o.max_iterations < 0) o.max_iterations = iterations;
  if (o.linear.tolerance < 0) o.linear.tolerance = 16 * unit_of(x);
  o.linear.initial = Tensor();
  return o;
}

Equation equation_of(const char* name, EquationFunction residual, const EquationOptions& options, const Tensor& like,
                     bool symmetric) {
  if (symmetric) {
    const LinearSolver solver = hessian_solver(name, options.linear);
    return {name, std::move(residual), solver, solver, true};
  }
  IterativeOptions transposed = options.linear;
  transposed.preconditioner = transposed_operator(name, options.linear.preconditioner, like);
  return {name, std::move(residual), jacobian_solver(name, options.linear), jacobian_solver(name, transposed)};
}

bool is_ended(const EquationOptions& options, std::int64_t iterations, double residual) {
  return options.callback && options.callback({iterations, residual, 0});
}

Tensor start_of(const char* name, const Operand& x0) {
  const Tensor x = x0.is_weak() ? ops::to_tensor(name, x0, DType::float64, "x0") : ops::to_tensor(name, x0, "x0");
  return detail::alias(stop_gradient(x));
}

}  // namespace reel::autodiff
