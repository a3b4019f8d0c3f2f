// Nonlinear least squares by the method of Levenberg and Marquardt, with robust losses and bounds; and what all
// minimisers report: why they ended, and their progress.
#pragma once
#include <iosfwd>
#include <optional>
#include <reel/api.hpp>
#include <reel/callback.hpp>
#include <reel/tensor.hpp>
#include <reel/tree.hpp>
#include <string>
#include <type_traits>

namespace REEL_API reel {

struct MinimizerState;  // <reel/optim/minimize.hpp>

/// Why a minimiser ended: for levenberg_marquardt and those of <reel/optim/minimize.hpp>.
enum class StopReason : std::uint8_t {
  stationary,       ///< no small change of the parameters reduces the residuals, or the value, to first order
  exact,            ///< every residual is zero
  small_step,       ///< the remaining steps gain nothing above the rounding of the parameters or of the value
  stalled,          ///< no direction led to a lower, finite value
  iteration_limit,  ///< max_iterations was reached
  stopped,          ///< the callback ended it
};
/// The reason as a phrase for people.
std::string to_string(StopReason reason);
std::ostream& operator<<(std::ostream& out, StopReason reason);

/// Where a minimiser is after a step: of levenberg_marquardt and those of <reel/optim/minimize.hpp>.
struct MinimizerProgress {
  std::int64_t iteration = 0;  ///< steps taken
  double value = 0;            ///< of the function; the cost of levenberg_marquardt
  double gradient_size = 0;    ///< as MinimizeResult::gradient_size
};
/// Called after each step; true ends the minimiser with StopReason::stopped, at the parameters of that step. Exceptions
/// pass through.
using MinimizerCallback = Callback<bool(const MinimizerProgress&)>;

/// The loss of a residual r, with z = (r / scale)^2: scale^2 z, 2 scale^2 (sqrt(1 + z) - 1), scale^2 z up to z = 1 and
/// scale^2 (2 sqrt(z) - 1) beyond, scale^2 log(1 + z), and scale^2 (1 - (1 - z)^3) / 3 up to 1 and constant beyond. All
/// are about r^2 for small r; outliers count less and less from the first to the last.
/// Residuals that share one loss, as Ceres' blocks do, are r sqrt(loss(s) / s) with s = sum r^2, and Loss::squares: for
/// soft_l1 r sqrt(2 / (1 + sqrt(1 + s))).
enum class Loss : std::uint8_t { squares, soft_l1, huber, cauchy, tukey };
/// For each residual r the number of its sign whose square is its loss, for methods without an option for the loss,
/// such as gauss_newton. Differentiable. TypeError unless the residuals are real and floating, ValueError unless the
/// scale is positive.
Tensor robust_residuals(const Tensor& residuals, Loss loss, double scale = 1);

/// The defaults are meant for every problem: the accuracy of `samples/nist_fit` is reached with them.
struct LevenbergMarquardtOptions {
  /// Jacobians taken before giving up. 0 only evaluates residuals and Jacobian at the initial parameters.
  std::int64_t max_iterations = 5000;
  /// Radius of the first trust region, as a fraction of the length of the parameters; both are measured with each
  /// parameter weighted by the length of its column in the Jacobian. If all parameters are 0, as those of a step from a
  /// guess are, a fraction of the length of the residuals.
  double initial_radius = 0.1;
  /// Stationary when a full Gauss-Newton step promises to reduce the sum of squares by no more than this fraction.
  double reduction_tolerance = 1e-13;
  /// Small step when the trust region is below this fraction of the length of the parameters.
  double step_tolerance = 1e-15;
  /// At the end, continue with Gauss-Newton steps as long as they bring the gradient closer to zero: they determine the
  /// last half of the parameters' digits, which the sum of squares cannot show.
  bool polish = true;
  Loss loss = Loss::squares;  ///< of each residual
  double loss_scale = 1;      ///< the size from which a residual counts as an outlier
  MinimizerCallback callback = {};
  /// Bounds, lower <= parameters <= upper: float64 [p], or [] for the same bound of all; infinite where there is none,
  /// as where they are empty. The residuals are evaluated only within the bounds; a start outside is projected.
  Tensor lower = {}, upper = {};
};

/// What levenberg_marquardt found: m residuals, p parameters, all float64.
struct LeastSquaresResult {
  Tensor parameters;             ///< [p]
  Tensor residuals;              ///< [m], at `parameters`
  Tensor jacobian;               ///< [m, p], d residual / d parameter at `parameters`
  double sum_of_squares = 0;     ///< of the residuals
  std::int64_t iterations = 0;   ///< steps taken
  std::int64_t evaluations = 0;  ///< calls of the residual function for its value alone
  std::int64_t jacobians = 0;    ///< calls of it under a tape
  StopReason reason = StopReason::iteration_limit;
  double cost = 0;  ///< sum of the losses of the residuals; sum_of_squares for Loss::squares
  Tensor active;    ///< [p], boolean: at a bound that keeps the parameter from reducing the cost

  /// Whether the parameters are a local minimum as far as float64 can tell: stationary, exact or small_step.
  bool converged() const noexcept;
  /// m - p; active parameters, which are constants here and below, are not counted in p.
  std::int64_t degrees_of_freedom() const;
  /// s = sqrt(sum_of_squares / (m - p)); NaN unless m > p.
  double residual_standard_deviation() const;
  /// s^2 (J^T J)^-1, [p, p], through the QR factors of J; 0 in rows and columns of active parameters. Infinite when the
  /// Jacobian has not full column rank, NaN unless m > p.
  Tensor covariance() const;
  /// Square roots of the covariance's diagonal, [p].
  Tensor standard_deviations() const;
};

/// Minimises the sum of squares, or of another loss, of `residuals`, a function from parameters [p] to residuals [m],
/// starting at `initial` [p]. All are float64 (TypeError otherwise; ShapeError for other ranks or a varying m;
/// ValueError when p or m is zero or results at the start are not finite). The Jacobian comes from a tape: ValueError
/// says why, if no gradient reaches the parameters. A trial point with results that are not finite is a rejected step;
/// exceptions pass through. Errors name the caller's line. Active tapes record nothing of this, and the result is a
/// constant: zeros from grad and jacobian. minimum() of <reel/solve/equations.hpp>, started there, has derivatives by
/// all that the residuals read. More, "The Levenberg-Marquardt algorithm: implementation and theory", Lecture Notes in
/// Mathematics 630, 1978.
///
/// Within bounds, parameters that the gradient holds at a bound are constants of a step; those that a step takes out of
/// the bounds end there, and the others solve again. ValueError for a lower bound above the upper one or NaN,
/// ShapeError or TypeError for bounds of another shape or dtype. For derivatives of such a solution, minimum() needs a
/// function of the free parameters: that of where(active, bound, x), plus sum(square(x - bound)) over the active ones.
inline LeastSquaresResult levenberg_marquardt(const Callback<Tensor(const Tensor&)>& residuals, const Tensor& initial,
                                              const LevenbergMarquardtOptions& options = {},
                                              const detail::CallLine& at = {}) {
  LeastSquaresResult levenberg_marquardt(const Callback<Tensor(const Tensor&)>&, const Tensor&,
                                         const LevenbergMarquardtOptions&);  // exported
  return detail::naming_line(at, [&] { return levenberg_marquardt(residuals, initial, options); });
}
/// The same, continued from a state, and with the final state stored there: see MinimizerState. `products` of the state
/// counts Jacobians.
inline LeastSquaresResult levenberg_marquardt(const Callback<Tensor(const Tensor&)>& residuals, const Tensor& initial,
                                              const LevenbergMarquardtOptions& options, MinimizerState& state,
                                              const detail::CallLine& at = {}) {
  LeastSquaresResult levenberg_marquardt(const Callback<Tensor(const Tensor&)>&, const Tensor&,
                                         const LevenbergMarquardtOptions&, MinimizerState&);  // exported
  return detail::naming_line(at, [&] { return levenberg_marquardt(residuals, initial, options, state); });
}
/// The function comes first.
template <class T, class F, class... More>
requires(detail::BeforeFunction<T, F>) LeastSquaresResult levenberg_marquardt(const T&, const F&, const More&...) {
  static_assert(detail::never<F>, "the function comes first: levenberg_marquardt(residuals, initial)");
  return {};
}

}  // namespace reel
