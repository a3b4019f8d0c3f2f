// Gauss-Newton without a Jacobian: newton_cg with J^T J in place of half the Hessian.
#include <reel/functions.hpp>
#include <reel/ops/pointwise.hpp>

#include "optim/vectors.hpp"

namespace reel::detail {

MinimizeSummary gauss_newton(std::span<double> x, const ResidualFunction& residuals, const NewtonOptions& options) {
  constexpr const char* op = "gauss_newton";
  const auto vector = [n = x.size()](const double* p) {
    return copy_in(p, n, {static_cast<std::int64_t>(n)}, DType::float64);
  };
  const auto sum_of_squares = [](const Tensor& r) {
    require_result(op, r);
    if (!is_floating(r.dtype())) fail<TypeError>(op, "the residuals must be real and floating, not {}", r.dtype());
    double sum = 0;
    for (const double v : cast(r, DType::float64).to_vector<double>()) sum += v * v;
    return sum;
  };
  const Evaluate value = [&](const double* at, double*) { return sum_of_squares(residuals(vector(at))); };
  const Linearize linearize_at = [&](const double* at, double* gradient,
                                     Callback<void(const double*, double*)>* product) {
    const Tensor here = fresh(op, vector(at));
    Recording recording(op, {Source(here)}, true);
    const Tensor r = fresh_result(op, residuals(here));
    recording.end({r});
    const auto pull = [recording, n = here.shape()](const Tensor& cotangent, double* to) {
      const Gradient g = recording.pull(GradientList(cotangent)).front();
      const Tensor twice = g ? 2 * g.dense() : zeros(n);
      copy_out(twice, DType::float64, to, false);
    };
    *product = [recording, pull, vector](const double* v, double* to) {
      pull(recording.push(GradientList(vector(v))).front(), to);
    };
    pull(r, gradient);
    return sum_of_squares(r);
  };
  return newton_cg(x, value, linearize_at, options, op);
}

}  // namespace reel::detail
