// Optional header: fitting by nonlinear least squares (Levenberg-Marquardt) and by gradient descent (SGD, Adam).
#pragma once
#include <map>
#include <optional>
#include <reel/callback.hpp>
#include <reel/gradient.hpp>
#include <reel/tensor.hpp>
#include <reel/tree.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace [[gnu::visibility("default")]] reel {

struct OptimizerAccess;

/// Why a minimiser ended: levenberg_marquardt, and those of <reel/minimize.hpp>.
enum class StopReason : std::uint8_t {
  stationary,       ///< no small change of the parameters reduces the residuals, or the value, to first order
  exact,            ///< every residual is zero
  small_step,       ///< only steps below the rounding of the parameters are left, and they gain nothing
  stalled,          ///< no lower value was found, or nothing finite, in whatever direction was tried
  iteration_limit,  ///< max_iterations was reached
};
/// The reason as a phrase for people.
std::string to_string(StopReason reason);

/// The defaults are meant for every problem: they are those with which the accuracy of `samples/nist_fit` is reached.
struct LevenbergMarquardtOptions {
  /// Jacobians taken before giving up. 0 only evaluates residuals and Jacobian at the initial parameters.
  std::int64_t max_iterations = 5000;
  /// Radius of the first trust region, as a fraction of the length of the parameters; both are measured with each
  /// parameter weighted by the length of its column in the Jacobian.
  double initial_radius = 0.1;
  /// Stationary when a full Gauss-Newton step promises to reduce the sum of squares by no more than this fraction.
  double reduction_tolerance = 1e-13;
  /// Small step when the trust region is below this fraction of the length of the parameters.
  double step_tolerance = 1e-15;
  /// At the end, go on with Gauss-Newton steps for as long as they bring the gradient closer to zero: the last
  /// half of the parameters' digits, which the sum of squares cannot show.
  bool polish = true;
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

  /// Whether the parameters are a local minimum as far as float64 can tell: stationary, exact or small_step.
  bool converged() const noexcept;
  /// m - p.
  std::int64_t degrees_of_freedom() const;
  /// s = sqrt(sum_of_squares / (m - p)); NaN unless m > p.
  double residual_standard_deviation() const;
  /// s^2 (J^T J)^-1, [p, p], through the QR factors of J. Infinite when the Jacobian has not full column rank, NaN
  /// unless m > p.
  Tensor covariance() const;
  /// Square roots of the covariance's diagonal, [p].
  Tensor standard_deviations() const;
};

/// Minimises the sum of squares of `residuals`, a function from parameters [p] to residuals [m], starting at `initial`
/// [p]. All float64 (TypeError otherwise; ShapeError for other ranks or m that varies; ValueError when p or m is zero
/// or the start gives residuals or derivatives that are not finite). The Jacobian comes from a tape, so `residuals`
/// must be written with differentiable ops; a trial point where it is not finite is a rejected step, and whatever it
/// throws passes through. Tapes that are active meanwhile record nothing of this, and the result is not connected.
/// More, "The Levenberg-Marquardt algorithm: implementation and theory", Lecture Notes in Mathematics 630, 1978.
LeastSquaresResult levenberg_marquardt(const Callback<Tensor(const Tensor&)>& residuals, const Tensor& initial,
                                       const LevenbergMarquardtOptions& options = {});

namespace detail {
// The leaves of a tree one after the other: where they are, or as a list.
template <class Leaf, class T>
auto flat(const T& tree) {
  if constexpr (std::is_constructible_v<std::span<const Leaf>, const T&>) {
    return std::span<const Leaf>(tree);
  } else {
    List<Leaf> leaves;
    for_each_leaf(tree, [&](const auto& leaf) {
      static_assert(std::is_convertible_v<decltype(leaf), Leaf>,
                    "step(gradients, variables): the gradients come first, then the variables");
      leaves.emplace_back(leaf);
    });
    return leaves;
  }
}
}  // namespace detail

namespace detail {

// A number, and from when a program first asks for it the value of a variable of rank 0.
template <class T>
class StateNumber {
 public:
  constexpr StateNumber(T value) noexcept : value_(value) {}
  constexpr StateNumber(const StateNumber& other) : StateNumber(T(other)) {}
  constexpr StateNumber(StateNumber&& other) noexcept
      : value_(other.value_), variable_(std::exchange(other.variable_, nullptr)) {}
  constexpr ~StateNumber() {
    if (variable_) release();
  }
  constexpr operator T() const { return variable_ ? read() : value_; }

  // The variable stays, and takes the value. std::bad_alloc only where somebody holds the value that it had.
  constexpr StateNumber& operator=(T value) {
    if (variable_) write(value);
    value_ = value;
    return *this;
  }
  constexpr StateNumber& operator=(const StateNumber& other) { return *this = T(other); }
  constexpr StateNumber& operator+=(T x) { return *this = *this + x; }
  constexpr StateNumber& operator-=(T x) { return *this = *this - x; }
  constexpr StateNumber& operator*=(T x) { return *this = *this * x; }
  constexpr StateNumber& operator/=(T x) { return *this = *this / x; }

 private:
  friend struct reel::OptimizerAccess;
  T read() const;
  void write(T value) const;
  void release() const noexcept;

  T value_;  // once there is a variable, what was assigned last here
  Variable* variable_ = nullptr;
};

// A tensor, and from when a program first asks for it the value of a variable. A copy is a tensor of its own.
class StateTensor {
 public:
  StateTensor() = default;
  StateTensor(const StateTensor& other);

 private:
  friend struct reel::OptimizerAccess;
  Tensor value_;  // empty before the first step, and once there is a variable
  std::optional<Variable> variable_;
};

}  // namespace detail

/// A number among an optimiser's options, read and assigned like the double that it is; a copy is a number of its own.
/// Where a type is deduced (std::max, printf, `c ? x : 0.1`, an operand of an op), write double(x).
using Hyperparameter = detail::StateNumber<double>;

struct SGDOptions {
  Hyperparameter learning_rate = 0.01;
  Hyperparameter momentum = 0;  ///< in [0, 1): v = momentum v + g, variable -= learning_rate v
  bool nesterov = false;        ///< variable -= learning_rate (g + momentum v)
};

/// Stochastic gradient descent with momentum. Keeps one velocity per variable that it has met, until forget().
class SGD {
 public:
  explicit SGD(const SGDOptions& options = {});
  /// One step on each variable that has a gradient; none leaves its variable and state alone. ValueError when the
  /// counts differ, ShapeError or TypeError when a gradient does not have the shape or dtype of its variable; either
  /// before any variable is changed. IndexedSlices read and write the rows that they name alone, duplicates summed
  /// first (IndexError for a row out of range): without momentum that equals the dense step exactly; with it, rows that
  /// are not named keep their velocity and stay, where the dense step would let it decay and move them (as Keras does).
  /// All memory is allocated before any variable is changed, so that a step without memory (std::bad_alloc) changes
  /// none; not so for a half-precision or complex variable that is listed twice, nor for one whose value another thread
  /// reads meanwhile.
  void step(std::span<const Gradient> gradients, std::span<const Variable> variables);
  /// The same for trees whose leaves correspond in order: one tensor or gradient per variable.
  template <Tree G, Tree V>
  void step(const G& gradients, const V& variables) {
    step(std::span<const Gradient>(detail::flat<Gradient>(gradients)),
         std::span<const Variable>(detail::flat<Variable>(variables)));
  }
  template <Tree G>
  void step(const G& gradients, std::initializer_list<Variable> variables) {
    step(std::span<const Gradient>(detail::flat<Gradient>(gradients)), {variables.begin(), variables.size()});
  }

  /// Drops what is kept of the variable, or of each leaf of a tree: call it for variables that go before the optimiser.
  /// A later step on it begins anew.
  void forget(const Variable& variable);
  template <Tree V>
  void forget(const V& variables) {
    for_each_leaf(variables, [&](const Variable& leaf) { forget(leaf); });
  }

  /// May be changed between steps (schedules).
  SGDOptions options;

 private:
  friend struct OptimizerAccess;
  std::map<std::uint64_t, detail::StateTensor> velocity_;  // by Variable::id()
};

struct AdamOptions {
  Hyperparameter learning_rate = 0.001;
  Hyperparameter beta1 = 0.9;     ///< in [0, 1): decay of the mean of the gradients
  Hyperparameter beta2 = 0.999;   ///< in [0, 1): decay of the mean of their squares
  Hyperparameter epsilon = 1e-8;  ///< added to the root of that mean, after its bias is corrected
};

/// Adam: steps scaled by running means of the gradient and of its square, corrected for their start at zero.
/// Kingma and Ba, "Adam: a method for stochastic optimization", 2015, algorithm 1.
class Adam {
 public:
  explicit Adam(const AdamOptions& options = {});
  /// As SGD::step. Each variable counts its own steps, for the correction of the bias. With IndexedSlices ("lazy Adam")
  /// rows that are not named keep their value and their running means; Keras' Adam decays the means of all rows and so
  /// moves rows without gradient, at the cost of the whole table.
  void step(std::span<const Gradient> gradients, std::span<const Variable> variables);
  template <Tree G, Tree V>
  void step(const G& gradients, const V& variables) {
    step(std::span<const Gradient>(detail::flat<Gradient>(gradients)),
         std::span<const Variable>(detail::flat<Variable>(variables)));
  }
  template <Tree G>
  void step(const G& gradients, std::initializer_list<Variable> variables) {
    step(std::span<const Gradient>(detail::flat<Gradient>(gradients)), {variables.begin(), variables.size()});
  }

  /// As SGD::forget: the running means and the count of steps.
  void forget(const Variable& variable);
  template <Tree V>
  void forget(const V& variables) {
    for_each_leaf(variables, [&](const Variable& leaf) { forget(leaf); });
  }

  /// May be changed between steps (schedules).
  AdamOptions options;

 private:
  friend struct OptimizerAccess;
  struct State {
    detail::StateTensor mean, square;
    detail::StateNumber<std::int64_t> steps = 0;
  };
  std::map<std::uint64_t, State> states_;  // by Variable::id()
};

}  // namespace reel
