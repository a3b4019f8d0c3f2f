// Fixed points by iteration.
#include <cmath>
#include <reel/ops/pointwise.hpp>

#include "core/fail.hpp"
#include "solve/equations.hpp"
#include "tape/record.hpp"

namespace reel {

namespace autodiff {

namespace {

constexpr std::int64_t fixed_point_steps = 1000;  // at most, by default

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

}  // namespace reel
