// Krylov methods for operators given as functions. They run unrecorded: solve_system records the solution.
#include "linalg/krylov.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <ostream>
#include <reel/ops/linalg.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/ops/reduce.hpp>
#include <reel/ops/shape.hpp>
#include <reel/optim/minimize.hpp>
#include <string_view>
#include <vector>

#include "core/fail.hpp"
#include "core/rounding.hpp"
#include "linalg/linear_solve.hpp"
#include "tape/record.hpp"

namespace reel {

namespace autodiff {

double norm_of(const Tensor& x) { return cast(norm(x), DType::float64).item(); }

namespace {

// What Gram-Schmidt leaves of a vector inside the space, relative to it: about 50 units of float64.
constexpr double rounding_of_basis = 1e-14;

double number(const Tensor& x) { return cast(x, DType::float64).item(); }
double dot_of(const Tensor& x, const Tensor& y) { return number(sum(multiply(x, y))); }

// The exponent of the largest magnitude; 0 if that is zero or not finite.
int exponent_of(const Tensor& x) {
  const double largest = x.size() == 0 ? 0 : number(max(abs(x)));
  return largest > 0 && std::isfinite(largest) ? std::ilogb(largest) : 0;
}

// What the methods share: products, preconditioning, when to stop. They solve a x = right, where `right` is the initial
// residual divided by a power of two that brings its largest element to [1, 2), so that norms and inner products of
// small and of large systems stay in range.
class KrylovRun {
 public:
  KrylovRun(const char* name, const LinearOperator& a, const Tensor& b, const IterativeOptions& options)
      : name_(name), a_(a), options_(options) {
    unit_ = detail::unit_roundoff(b.dtype());
    const Tensor initial_residual = options.initial.defined() ? subtract(b, product_of(name, a, options.initial)) : b;
    exponent_ = exponent_of(initial_residual);
    right = initial_residual / std::ldexp(1.0, exponent_);
    const int exponent_b = exponent_of(b);
    norm_b_ = std::ldexp(norm_of(b / std::ldexp(1.0, exponent_b)), exponent_b - exponent_);
    const double relative = options.tolerance < 0 ? std::sqrt(unit_) : options.tolerance;
    goal = std::max(relative == 0 ? 0 : relative * norm_b_, std::ldexp(options.absolute_tolerance, -exponent_));
    most_ = options.max_iterations < 0 ? std::max<std::int64_t>(100, 10 * b.size()) : options.max_iterations;
    result.x = zeros(b.shape(), b.dtype());
    residual = right;
    set_residual(norm_of(residual));
  }
  // Whether to stop, for a reason that is then set.
  bool stopped() {
    if (!std::isfinite(result.residual)) return stop(IterativeStop::not_a_number);
    if (result.residual <= goal) return stop(IterativeStop::converged);
    return result.iterations >= most_ && stop(IterativeStop::iteration_limit);
  }
  bool stop(IterativeStop reason) {
    result.reason = reason;
    return true;
  }
  // Stops (breakdown) if a scalar that divides is not `usable`: zero or not finite.
  bool broken(bool usable, double scalar) {
    return !usable && stop(std::isfinite(scalar) ? IterativeStop::breakdown : IterativeStop::not_a_number);
  }
  void set_residual(double norm) { result.residual = norm; }
  // The norm of a product along a direction, for the estimate of the operator's norm.
  void see_product(double product, double direction) {
    if (product > operator_norm_ * direction && std::isfinite(product)) operator_norm_ = product / direction;
  }
  // Sets the residual right - a x, and a tolerance above the rounding error of the product.
  void compute_residual() {
    const Tensor product = product_of(name_, a_, result.x);
    residual = right - product;
    set_residual(norm_of(residual));
    goal = std::max(goal, 16 * unit_ * (norm_b_ + norm_of(product)));
  }
  Tensor product(const Tensor& v) {
    ++result.iterations;
    return product_of(name_, a_, v);
  }
  Tensor precondition(const Tensor& v) const {
    return options_.preconditioner ? product_of(name_, options_.preconditioner, v) : v;
  }
  // The result for a x = b.
  KrylovResult finish() const {
    KrylovResult r{result, operator_norm_};
    r.x = r.x * std::ldexp(1.0, exponent_);
    if (options_.initial.defined()) r.x = add(options_.initial, r.x);
    r.residual = std::ldexp(r.residual, exponent_);
    return r;
  }

  IterativeResult result;
  Tensor right, residual;
  double goal;

 private:
  const char* name_;  // of the function that the user called
  const LinearOperator& a_;
  const IterativeOptions& options_;
  std::int64_t most_;
  double unit_, norm_b_;  // the norm of b, divided as `right`
  double operator_norm_ = 0;
  int exponent_;
};

// The least-squares problem of GMRES: a Hessenberg matrix made triangular by rotations, column by column.
class HessenbergLeastSquares {
 public:
  explicit HessenbergLeastSquares(double first) : right_{first} {}
  // Adds a column of k + 2 elements; returns the norm of the residual.
  double add(std::vector<double> column) {
    const std::size_t k = columns_.size();
    for (std::size_t i = 0; i < k; ++i) rotate(i, column[i], column[i + 1]);
    const double size = std::hypot(column[k], column[k + 1]);
    cosines_.push_back(size == 0 ? 1 : column[k] / size);  // NaN stays
    sines_.push_back(size == 0 ? 0 : column[k + 1] / size);
    rotate(k, column[k], column[k + 1]);
    columns_.push_back(std::move(column));
    right_.push_back(0);
    rotate(k, right_[k], right_[k + 1]);
    return std::abs(right_[k + 1]);
  }
  // False if the last column is linearly dependent on the others.
  bool nonsingular() const { return columns_.back()[columns_.size() - 1] != 0; }
  std::vector<double> solution() const {
    std::vector<double> y(right_.begin(), right_.end() - 1);
    for (std::size_t k = y.size(); k-- > 0;) {
      for (std::size_t j = k + 1; j < y.size(); ++j) y[k] -= columns_[j][k] * y[j];
      y[k] = columns_[k][k] == 0 ? 0 : y[k] / columns_[k][k];
    }
    return y;
  }

 private:
  void rotate(std::size_t i, double& upper, double& lower) const {
    const double p = upper, q = lower;
    upper = cosines_[i] * p + sines_[i] * q;
    lower = cosines_[i] * q - sines_[i] * p;
  }
  std::vector<std::vector<double>> columns_;
  std::vector<double> right_, cosines_, sines_;
};

}  // namespace

void require_krylov_options(const char* name, const Tensor& b, const IterativeOptions& options) {
  if (std::isnan(options.tolerance) || !(options.absolute_tolerance >= 0))
    fail<ValueError>(name, "tolerances are {} and {}; they must be numbers, the second at least 0", options.tolerance,
                     options.absolute_tolerance);
  if (options.restart < 1) fail<ValueError>(name, "restart is {}; it must be at least 1", options.restart);
  if (options.initial.defined() && (options.initial.shape() != b.shape() || options.initial.dtype() != b.dtype()))
    fail<ShapeError>(name, "initial is {} of {}, b is {} of {}; they must be alike", options.initial.shape(),
                     options.initial.dtype(), b.shape(), b.dtype());
}

KrylovResult run_cg(const char* name, const LinearOperator& a, const Tensor& b, const IterativeOptions& options) {
  KrylovRun run(name, a, b, options);
  Tensor direction;
  double before = 0;
  while (!run.stopped()) {
    const Tensor z = run.precondition(run.residual);
    const double size = dot_of(run.residual, z);
    direction = direction.defined() ? z + direction * (size / before) : z;
    before = size;
    const Tensor q = run.product(direction);
    const double curvature = dot_of(direction, q);
    if (run.broken(curvature > 0, curvature)) break;
    const double step = size / curvature;
    // 1 / step is at most a diagonal element of the Lanczos matrix, and so at most |a|.
    if (!options.preconditioner) run.see_product(1, step);
    run.result.x = run.result.x + direction * step;
    run.residual = run.residual - q * step;
    run.set_residual(norm_of(run.residual));
  }
  return run.finish();
}

// Right-preconditioned, so that the residual is that of the system. The least-squares problem estimates the residual;
// the estimate is too low when rounding destroys the orthogonality of the basis. So each cycle computes the residual.
KrylovResult run_gmres(const char* name, const LinearOperator& a, const Tensor& b, const IterativeOptions& options) {
  KrylovRun run(name, a, b, options);
  while (!run.stopped()) {
    const double first = run.result.residual;
    std::vector<Tensor> basis{run.residual / first}, directions;
    HessenbergLeastSquares problem(first);
    bool extensible = true;
    for (std::int64_t k = 0; k < options.restart && extensible && !run.stopped(); ++k) {
      directions.push_back(run.precondition(basis.back()));
      Tensor next = run.product(directions.back());
      const double size = norm_of(next);
      run.see_product(size, options.preconditioner ? norm_of(directions.back()) : 1);
      std::vector<double> column;
      for (const Tensor& one : basis) {  // modified Gram-Schmidt
        column.push_back(dot_of(one, next));
        next = next - one * column.back();
      }
      const double rest = norm_of(next);
      const bool complete = !(rest > rounding_of_basis * size);  // the space contains the solution
      column.push_back(complete && std::isfinite(rest) ? 0 : rest);
      run.set_residual(problem.add(std::move(column)));
      extensible = problem.nonsingular() && !complete;
      if (!complete) basis.push_back(next / rest);
    }
    if (!std::isfinite(run.result.residual)) continue;
    const bool exhausted = !extensible || run.result.residual <= run.goal;
    const std::vector<double> y = problem.solution();
    for (std::size_t k = 0; k < y.size(); ++k) run.result.x = run.result.x + directions[k] * y[k];
    run.compute_residual();
    if (run.stopped()) break;
    // Stagnation: the next cycle would repeat one without reduction. A complete cycle must halve the residual.
    const bool progress = run.result.residual < (exhausted ? 0.5 * first : first);
    if (run.broken(progress, first)) break;
  }
  return run.finish();
}

namespace {

KrylovResult run_bicgstab(const char* name, const LinearOperator& a, const Tensor& b, const IterativeOptions& options) {
  KrylovRun run(name, a, b, options);
  const Tensor shadow = run.residual;
  Tensor p, v;
  double rho = 1, alpha = 1, omega = 1;
  while (!run.stopped()) {
    const double next = dot_of(shadow, run.residual);
    if (run.broken(next != 0 && std::isfinite(next), next)) break;
    p = p.defined() ? run.residual + (p - v * omega) * (next / rho * (alpha / omega)) : run.residual;
    rho = next;
    const Tensor direction = run.precondition(p);
    v = run.product(direction);
    const double along = dot_of(shadow, v);
    if (run.broken(along != 0 && std::isfinite(along), along)) break;
    alpha = rho / along;
    const Tensor half = run.residual - v * alpha;
    run.result.x = run.result.x + direction * alpha;
    run.residual = half;
    run.set_residual(norm_of(half));
    if (run.stopped()) break;
    const Tensor second = run.precondition(half), t = run.product(second);
    const double size = dot_of(t, t);
    if (run.broken(size > 0, size)) break;
    omega = dot_of(t, half) / size;
    if (run.broken(omega != 0, omega)) break;
    run.result.x = run.result.x + second * omega;
    run.residual = half - t * omega;
    run.set_residual(norm_of(run.residual));
  }
  return run.finish();
}

// For derivatives: throws if the method does not converge.
LinearSolver strict(const char* name, KrylovMethod method, const IterativeOptions& options) {
  return [name, method, options](const LinearOperator& a, const Tensor& b) {
    const IterativeResult r = method(name, a, b, options);
    if (!r.converged())
      fail<ValueError>(name,
                       "no convergence after {} products: {}, residual {}; give a preconditioner, more iterations or a "
                       "larger tolerance",
                       r.iterations, std::string(to_string(r.reason)), r.residual);
    return r.x;
  };
}

IterativeResult solve_by(const char* name, KrylovMethod method, const LinearOperator& a, const Tensor& b,
                         const IterativeOptions& options, bool symmetric) {
  reel::detail::require_untraced(name);
  LinearSystem system = *linear_system(name, a, b, symmetric);
  require_krylov_options(name, b, options);
  IterativeOptions of_derivatives = options;
  of_derivatives.initial = Tensor();
  system.solver = strict(name, method, of_derivatives);
  if (!symmetric) of_derivatives.preconditioner = transposed_operator(name, options.preconditioner, b);
  system.transposed_solver = strict(name, method, of_derivatives);
  IterativeResult result;
  result.x = solve_system(std::make_shared<const LinearSystem>(system), b,
                          [&](const LinearOperator& product, const Tensor& right) {
                            result = method(name, product, right, options);
                            return result.x;
                          });
  return result;
}

}  // namespace
}  // namespace autodiff

std::ostream& operator<<(std::ostream& out, IterativeStop reason) { return out << to_string(reason); }
std::string_view to_string(IterativeStop reason) {
  switch (reason) {
    case IterativeStop::converged:
      return "converged";
    case IterativeStop::iteration_limit:
      return "iteration limit";
    case IterativeStop::breakdown:
      return "breakdown";
    default:
      return "not a number";
  }
}

IterativeResult cg(const LinearOperator& a, const Tensor& b, const IterativeOptions& options) {
  const tape::OpScope scope;
  return autodiff::solve_by("cg", autodiff::run_cg, a, b, options, true);
}
IterativeResult gmres(const LinearOperator& a, const Tensor& b, const IterativeOptions& options) {
  const tape::OpScope scope;
  return autodiff::solve_by("gmres", autodiff::run_gmres, a, b, options, false);
}
IterativeResult bicgstab(const LinearOperator& a, const Tensor& b, const IterativeOptions& options) {
  const tape::OpScope scope;
  return autodiff::solve_by("bicgstab", autodiff::run_bicgstab, a, b, options, false);
}

Tensor linear_solve(const LinearOperator& a, const Tensor& b, const IterativeOptions& options) {
  const tape::OpScope scope;
  const IterativeResult r = autodiff::solve_by("linear_solve", autodiff::run_gmres, a, b, options, false);
  if (!r.converged())
    fail<ValueError>("linear_solve", "no convergence after {} products: {}, residual {}; give a preconditioner",
                     r.iterations, std::string(to_string(r.reason)), r.residual);
  return r.x;
}

}  // namespace reel
