// Fixed points by iteration, roots by Newton's method with GMRES, minima by newton_cg.
#include <algorithm>
#include <cmath>
#include <reel/ops/make.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/ops/reduce.hpp>
#include <reel/ops/shape.hpp>
#include <reel/optim/minimize.hpp>
#include <reel/solve/equations.hpp>

#include "core/fail.hpp"
#include "core/rounding.hpp"
#include "linalg/linear_solve.hpp"
#include "ops/engine.hpp"
#include "solve/implicit.hpp"
#include "solve/jacobian_solver.hpp"
#include "tape/record.hpp"

namespace reel {

namespace autodiff {

namespace {

double number_from(const Tensor& x) { return cast(x, DType::float64).item(); }
double size_of(const Tensor& x) { return number_from(norm(x)); }
double unit_of(const Tensor& x) { return detail::unit_roundoff(x.dtype()); }

// Options with the defaults filled in.
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
                     bool symmetric = false) {
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

Tensor iterate(const Equation& e, Tensor x, const EquationOptions& options) {
  double step = 0;
  for (std::int64_t k = 0; k < options.max_iterations; ++k) {
    const Tensor change = residual_of(e, x);
    step = size_of(change);
    x = x + change;
    if (!std::isfinite(step))
      fail<ValueError>(e.name, "iteration {} gave infinity or NaN; start elsewhere, or use root", k);
    if (step <= options.absolute_tolerance || step <= options.tolerance * size_of(x)) return x;
    if (is_ended(options, k + 1, step)) return x;
  }
  fail<ValueError>(e.name, "no convergence after {} iterations, the last of length {}; use root, or a larger tolerance",
                   options.max_iterations, step);
}

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

// Whether conjugate gradients from a random vector find a direction of negative curvature. Curvature of the size of
// rounding errors counts as 0.
bool is_saddle(const LinearOperator& hessian, const Tensor& x) {
  constexpr std::int64_t most_products = 20;  // as many directions of a Krylov space
  Generator generator(1);
  Tensor residual = random_normal(generator, x.shape(), 0, 1, x.dtype()), direction = residual;
  for (std::int64_t k = 0; k < std::min(x.size(), most_products); ++k) {
    const Tensor product = hessian(direction);
    const double along = number_from(sum(direction * product)), square = number_from(sum(residual * residual));
    const double rounding = std::sqrt(unit_of(x)) * size_of(direction) * size_of(product);
    if (along < -rounding) return true;
    if (!(along > rounding)) return false;
    residual = residual - product * (square / along);
    direction = residual + direction * (number_from(sum(residual * residual)) / square);
  }
  return false;
}

// By newton_cg, and then by Newton's method for the gradient, which e has as residual.
Tensor lowest(const Equation& e, const EquationFunction& f, const Tensor& start, const EquationOptions& options) {
  const auto at = [&](const double* x) {
    return cast(detail::copy_in(x, static_cast<std::size_t>(start.size()), start.shape(), DType::float64),
                start.dtype());
  };
  const detail::Linearize linearize = [&](const double* x, double* gradient,
                                          Callback<void(const double*, double*)>* product) {
    const Tensor here = at(x);
    if (gradient) detail::copy_out(residual_of(e, here), DType::float64, gradient, false);
    if (product)
      *product = [at, hessian = jacobian_of(e, here)](const double* v, double* to) {
        detail::copy_out(hessian(at(v)), DType::float64, to, false);
      };
    return cast(f(here), DType::float64).item();
  };
  const detail::Evaluate evaluate = [&](const double* x, double* gradient) { return linearize(x, gradient, nullptr); };
  std::vector<double> x(static_cast<std::size_t>(start.size()));
  detail::copy_out(start, DType::float64, x.data(), false);
  NewtonOptions descent = {.max_iterations = options.max_iterations};
  if (options.callback)
    descent.callback = [&options](const MinimizerProgress& at_step) {
      return options.callback({at_step.iteration, at_step.gradient_size, at_step.value});
    };
  if (start.dtype() == DType::float32) descent.gradient_tolerance = std::sqrt(unit_of(start));
  const detail::MinimizeSummary found = detail::newton_cg(x, evaluate, linearize, descent, e.name);
  if (found.reason == StopReason::stopped) return at(x.data());
  // Near a minimum the rounding of values, of float32 above all, hides progress. Newton's method reads gradients alone.
  const bool near = found.reason == StopReason::stationary || found.reason == StopReason::small_step ||
                    found.reason == StopReason::stalled;
  if (!near)
    fail<ValueError>(e.name, "no convergence after {} iterations: {}, value {}; start elsewhere", found.iterations,
                     to_string(found.reason), found.value);
  if (found.iterations == 0 && found.gradient_size == 0)
    detail::require_gradient(
        e.name, [&](const Tensor& v) { return f(cast(reshape(v, start.shape()), start.dtype())); }, x);
  EquationOptions last = options;
  last.callback = {};
  const Tensor lowest_x = newton(e, at(x.data()), last);
  if (!std::isfinite(size_of(lowest_x)))
    fail<ValueError>(e.name, "x becomes infinite; the function may have no minimum");
  if (is_saddle(jacobian_of(e, lowest_x), lowest_x))
    fail<ValueError>(e.name, "the gradient vanishes where the function has a saddle or a maximum; start elsewhere");
  return lowest_x;
}

// x0 without its derivatives.
Tensor start_of(const char* name, const Operand& x0) {
  const Tensor x = x0.is_weak() ? ops::to_tensor(name, x0, DType::float64, "x0") : ops::to_tensor(name, x0, "x0");
  return detail::alias(stop_gradient(x));
}

// The greatest numbers of steps by default, as <reel/solve/equations.hpp> says.
constexpr std::int64_t fixed_point_steps = 1000, newton_steps = 100, descent_steps = 1000;

}  // namespace

}  // namespace autodiff

Tensor fixed_point(const EquationFunction& f, const Operand& x0, const EquationOptions& requested) {
  const tape::OpScope scope(x0);
  const Tensor start = autodiff::start_of("fixed_point", x0);
  const EquationOptions options =
      autodiff::check_options("fixed_point", f, start, requested, autodiff::fixed_point_steps);
  const auto residual = [f](const Tensor& x) {
    const Tensor y = f(x);
    return y.defined() && y.shape() == x.shape() && y.dtype() == x.dtype() ? y - x : y;
  };
  const autodiff::Equation e = autodiff::equation_of("fixed_point", residual, options, start);
  return autodiff::implicit_solution(e, [&] { return autodiff::iterate(e, start, options); });
}

Tensor root(const EquationFunction& f, const Operand& x0, const EquationOptions& requested) {
  const tape::OpScope scope(x0);
  const Tensor start = autodiff::start_of("root", x0);
  const EquationOptions options = autodiff::check_options("root", f, start, requested, autodiff::newton_steps);
  const autodiff::Equation e = autodiff::equation_of("root", f, options, start);
  return autodiff::implicit_solution(e, [&] { return autodiff::newton(e, start, options); });
}

Tensor minimum(const EquationFunction& f, const Operand& x0, const EquationOptions& requested) {
  constexpr const char* name = "minimum";
  const tape::OpScope scope(x0);
  const Tensor start = autodiff::start_of(name, x0);
  const EquationOptions options = autodiff::check_options(name, f, start, requested, autodiff::descent_steps);
  const auto slope = [f](const Tensor& x) {
    GradientTape tape({.watch_accessed_variables = false});
    tape.watch(x);
    const Tensor y = f(x);
    if (!y.defined() || y.size() != 1)
      fail<ShapeError>(name, "the function must return a tensor of size 1, not {}",
                       y.defined() ? "of shape " + to_string(y.shape()) + "; reduce it (sum, mean)" : "an empty one");
    if (!is_floating(y.dtype())) fail<TypeError>(name, "the function returned {}; it must be floating", y.dtype());
    return tape.gradient(y, x, {.unconnected_gradients = UnconnectedGradients::zero}).dense();
  };
  const autodiff::Equation e = autodiff::equation_of(name, slope, options, start, true);
  return autodiff::implicit_solution(e, [&] { return autodiff::lowest(e, f, start, options); });
}

}  // namespace reel
