// Optimisers by gradients: SGD, Adam, AdamW, RMSProp, Adagrad and Lion; clipping, and schedules of learning rates.
#pragma once
#include <map>
#include <optional>
#include <reel/api.hpp>
#include <reel/gradient.hpp>
#include <reel/tensor.hpp>
#include <reel/tree.hpp>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace REEL_API reel {

struct OptimizerAccess;

namespace detail {
// The leaves of a tree one after another: by reference, or as a list.
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

// A number; once a program asks for it, the value of a variable of rank 0.
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

  // The variable stays and takes the value. std::bad_alloc only if another handle holds the old value.
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

  T value_;  // once there is a variable, the number assigned last here
  Variable* variable_ = nullptr;
};

// A tensor; once a program asks for it, the value of a variable. A copy is an independent tensor.
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

/// A number among an optimiser's options. It is read and assigned like a double; a copy is an independent number. Where
/// a type is deduced (std::max, printf, `c ? x : 0.1`, an operand of an op), write double(x).
using Hyperparameter = detail::StateNumber<double>;

/// Options of SGD.
struct SGDOptions {
  Hyperparameter learning_rate = 0.01;
  Hyperparameter momentum = 0;  ///< in [0, 1): v = momentum v + g, variable -= learning_rate v
  bool nesterov = false;        ///< variable -= learning_rate (g + momentum v)
};

namespace detail {

// step() and forget() on trees, for an optimiser that has them on lists and on one variable.
template <class Optimizer>
class TreeSteps {
 public:
  /// A step on trees whose leaves correspond in order: one tensor or gradient per variable.
  template <Tree G, Tree V>
  void step(const G& gradients, const V& variables) {
    self().step(std::span<const Gradient>(flat<Gradient>(gradients)),
                std::span<const Variable>(flat<Variable>(variables)));
  }
  template <Tree G>
  void step(const G& gradients, std::initializer_list<Variable> variables) {
    self().step(std::span<const Gradient>(flat<Gradient>(gradients)),
                std::span<const Variable>(variables.begin(), variables.size()));
  }
  /// Drops the state of each leaf of a tree.
  template <Tree V>
  void forget(const V& variables) {
    for_each_leaf(variables, [&](const Variable& leaf) { self().forget(leaf); });
  }

 private:
  Optimizer& self() { return static_cast<Optimizer&>(*this); }
};

// A tensor of state per variable, by its id.
using StateTensors = std::map<std::uint64_t, StateTensor>;

}  // namespace detail

/// Stochastic gradient descent with momentum. Keeps one velocity per variable it has stepped, until forget().
class SGD : public detail::TreeSteps<SGD> {
 public:
  explicit SGD(const SGDOptions& options = {});
  /// One step on each variable that has a gradient; a gradient that is none leaves its variable and state unchanged.
  /// ValueError when the counts differ, ShapeError or TypeError when a gradient does not have the shape or dtype of its
  /// variable; both before any variable is changed. IndexedSlices read and write only the rows that they name, with
  /// duplicates summed first (IndexError for a row out of range): without momentum this equals the dense step exactly;
  /// with momentum, other rows keep their velocity and value, where the dense step would decay the velocity and move
  /// them (as Keras does). All memory is allocated before any variable is changed, so that a step that throws
  /// std::bad_alloc changes none; except for a half-precision or complex variable that is listed twice, and for one
  /// whose value another thread reads meanwhile. float16 and bfloat16 variables are computed in float32, and so is
  /// their state; complex variables step as pairs of real ones.
  void step(std::span<const Gradient> gradients, std::span<const Variable> variables);
  using detail::TreeSteps<SGD>::step;

  /// Drops the state of the variable: call it for variables that are destroyed before the optimiser. A later step on it
  /// starts with fresh state.
  void forget(const Variable& variable);
  using detail::TreeSteps<SGD>::forget;

  /// May be changed between steps (schedules).
  SGDOptions options;

 private:
  friend struct OptimizerAccess;
  detail::StateTensors states_;  // the velocities
};

/// Options of Adam.
struct AdamOptions {
  Hyperparameter learning_rate = 0.001;
  Hyperparameter beta1 = 0.9;     ///< in [0, 1): decay of the mean of the gradients
  Hyperparameter beta2 = 0.999;   ///< in [0, 1): decay of the mean of their squares
  Hyperparameter epsilon = 1e-8;  ///< added to the root of that mean, after its bias is corrected
};

namespace detail {

// The state of Adam and AdamW per variable, by its id.
struct Moment {
  StateTensor mean, square;
  StateNumber<std::int64_t> steps = 0;
};
using Moments = std::map<std::uint64_t, Moment>;

}  // namespace detail

/// Adam: steps scaled by running means of the gradient and of its square, corrected for their start at zero.
/// Kingma and Ba, "Adam: a method for stochastic optimization", 2015, algorithm 1.
class Adam : public detail::TreeSteps<Adam> {
 public:
  explicit Adam(const AdamOptions& options = {});
  /// As SGD::step. Each variable has its own step count, for the bias correction. With IndexedSlices ("lazy Adam") rows
  /// that are not named keep their value and running means; Keras' Adam decays the means of all rows and so moves rows
  /// without gradient, at the cost of a pass over the whole table.
  void step(std::span<const Gradient> gradients, std::span<const Variable> variables);
  using detail::TreeSteps<Adam>::step;

  /// As SGD::forget: the running means and the count of steps.
  void forget(const Variable& variable);
  using detail::TreeSteps<Adam>::forget;

  /// May be changed between steps (schedules).
  AdamOptions options;

 private:
  friend struct OptimizerAccess;
  detail::Moments states_;
};

/// Options of AdamW.
struct AdamWOptions {
  Hyperparameter learning_rate = 0.001;
  Hyperparameter beta1 = 0.9;     ///< as AdamOptions::beta1
  Hyperparameter beta2 = 0.999;   ///< as AdamOptions::beta2
  Hyperparameter epsilon = 1e-8;  ///< as AdamOptions::epsilon
  /// Not negative. Each step subtracts learning_rate weight_decay times the variable.
  Hyperparameter weight_decay = 0.01;
};

/// Adam with weight decay that is not scaled by the gradient's statistics.
/// Loshchilov and Hutter, "Decoupled weight decay regularization", 2019, algorithm 2.
class AdamW : public detail::TreeSteps<AdamW> {
 public:
  explicit AdamW(const AdamWOptions& options = {});
  /// As Adam::step. With IndexedSlices only the named rows decay.
  void step(std::span<const Gradient> gradients, std::span<const Variable> variables);
  using detail::TreeSteps<AdamW>::step;
  /// As Adam::forget.
  void forget(const Variable& variable);
  using detail::TreeSteps<AdamW>::forget;

  /// May be changed between steps (schedules).
  AdamWOptions options;

 private:
  friend struct OptimizerAccess;
  detail::Moments states_;
};

/// Options of RMSProp.
struct RMSPropOptions {
  Hyperparameter learning_rate = 0.001;
  Hyperparameter rho = 0.9;       ///< in [0, 1): decay of the mean of the gradients' squares
  Hyperparameter epsilon = 1e-7;  ///< added to the root of that mean
};

/// Steps divided by the root of a running mean of the squared gradient. Tieleman and Hinton, "Neural networks for
/// machine learning", lecture 6.5, 2012; epsilon is outside the root, as in PyTorch.
class RMSProp : public detail::TreeSteps<RMSProp> {
 public:
  explicit RMSProp(const RMSPropOptions& options = {});
  /// As SGD::step; rows that IndexedSlices do not name keep their value and mean.
  void step(std::span<const Gradient> gradients, std::span<const Variable> variables);
  using detail::TreeSteps<RMSProp>::step;
  /// As SGD::forget: the running mean.
  void forget(const Variable& variable);
  using detail::TreeSteps<RMSProp>::forget;

  /// May be changed between steps (schedules).
  RMSPropOptions options;

 private:
  friend struct OptimizerAccess;
  detail::StateTensors states_;  // the means of squares
};

/// Options of Adagrad.
struct AdagradOptions {
  Hyperparameter learning_rate = 0.01;
  Hyperparameter epsilon = 1e-10;  ///< added to the root of the sum of squares
};

/// Steps divided by the root of the sum of squared gradients so far.
/// Duchi, Hazan and Singer, "Adaptive subgradient methods for online learning and stochastic optimization", 2011.
class Adagrad : public detail::TreeSteps<Adagrad> {
 public:
  explicit Adagrad(const AdagradOptions& options = {});
  /// As SGD::step; with IndexedSlices the same as the dense step.
  void step(std::span<const Gradient> gradients, std::span<const Variable> variables);
  using detail::TreeSteps<Adagrad>::step;
  /// As SGD::forget: the sum of squares.
  void forget(const Variable& variable);
  using detail::TreeSteps<Adagrad>::forget;

  /// May be changed between steps (schedules).
  AdagradOptions options;

 private:
  friend struct OptimizerAccess;
  detail::StateTensors states_;  // the sums of squares
};

/// Options of Lion.
struct LionOptions {
  Hyperparameter learning_rate = 1e-4;
  Hyperparameter beta1 = 0.9;       ///< in [0, 1): share of the mean in the step's direction
  Hyperparameter beta2 = 0.99;      ///< in [0, 1): decay of the mean of the gradients
  Hyperparameter weight_decay = 0;  ///< as AdamWOptions::weight_decay
};

/// Steps of equal length for every element, by the sign of a mean of gradient and running mean.
/// Chen et al., "Symbolic discovery of optimization algorithms", 2023, algorithm 2.
class Lion : public detail::TreeSteps<Lion> {
 public:
  explicit Lion(const LionOptions& options = {});
  /// As SGD::step; rows that IndexedSlices do not name keep their value and mean.
  void step(std::span<const Gradient> gradients, std::span<const Variable> variables);
  using detail::TreeSteps<Lion>::step;
  /// As SGD::forget: the running mean.
  void forget(const Variable& variable);
  using detail::TreeSteps<Lion>::forget;

  /// May be changed between steps (schedules).
  LionOptions options;

 private:
  friend struct OptimizerAccess;
  detail::StateTensors states_;  // the means
};

/// The list of optimisers: F(class, name in a file) for each; see <reel/io.hpp>.
#define REEL_OPTIMIZERS(F) \
  F(SGD, "sgd") F(Adam, "adam") F(AdamW, "adamw") F(RMSProp, "rmsprop") F(Adagrad, "adagrad") F(Lion, "lion")

/// The result of clip_by_global_norm: gradients for a step, and their joint norm before clipping, float64 [].
struct ClippedGradients {
  std::vector<Gradient> gradients;
  Tensor norm;
};

namespace detail {
ClippedGradients clip_by_global_norm(std::span<const Gradient> gradients, double limit);
}

/// Scales all gradients of a tree by one number, so that their joint norm sqrt(sum |g|^2) is at most `limit`; unchanged
/// if it is not greater. None does not count and stays none; IndexedSlices stay slices, and count with their duplicates
/// summed. NaN for all of them if the norm is not finite. ValueError unless limit is positive. TensorFlow's
/// clip_by_global_norm; recorded for dense gradients.
template <Tree G>
ClippedGradients clip_by_global_norm(const G& gradients, double limit) {
  return detail::clip_by_global_norm(std::span<const Gradient>(detail::flat<Gradient>(gradients)), limit);
}

/// Learning rates for step 0, 1, ...: assign one to `options.learning_rate` before each step. ValueError unless the
/// numbers of steps are positive.
/// From 0 up to `rate` in equal increments; `rate` from `steps` on.
double warm_up(std::int64_t step, std::int64_t steps, double rate);
/// From `first` to `last` along half a cosine; `last` from `steps` on. Loshchilov and Hutter, "SGDR", 2017.
double cosine_decay(std::int64_t step, std::int64_t steps, double first, double last = 0);
/// `first`, multiplied by `factor` every `every` steps.
double step_decay(std::int64_t step, std::int64_t every, double first, double factor = 0.1);

}  // namespace reel
