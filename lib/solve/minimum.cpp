// Minima by newton_cg, then by Newton's method for the gradient.
#include <algorithm>
#include <cmath>
#include <reel/ops/make.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/ops/reduce.hpp>
#include <reel/ops/shape.hpp>
#include <reel/optim/minimize.hpp>

#include "core/fail.hpp"
#include "solve/equations.hpp"
#include "tape/record.hpp"

namespace reel {

namespace autodiff {

namespace {

constexpr std::int64_t descent_steps = 1000;  // at most, by default

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
Tensor find_minimum(const Equation& e, const EquationFunction& f, const Tensor& start, const EquationOptions& options) {
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

}  // namespace

}  // namespace autodiff

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
  return autodiff::implicit_solution(e, [&] { return autodiff::find_minimum(e, f, start, options); });
}

}  // namespace reel
