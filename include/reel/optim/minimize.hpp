// Optional header: minima of functions of trees. lbfgs, nonlinear_cg and projected_lbfgs need gradients, newton_cg also
// products with the Hessian, gauss_newton residuals. ravel() makes one vector of a tree and returns the inverse,
// objective() makes a function on plain memory for other optimisers.
#pragma once
#include <array>
#include <cstdint>
#include <reel/api.hpp>
#include <reel/callback.hpp>
#include <reel/forward.hpp>
#include <reel/functions.hpp>
#include <reel/ops/index.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/shape.hpp>
#include <reel/optim/least_squares.hpp>
#include <reel/tree.hpp>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace REEL_API reel {

namespace detail {

/// The leaves one after another, row-major, in the dtype that all of them promote to: [n]. Recorded.
Tensor ravel_leaves(std::span<const Tensor> leaves);
/// The same in float64. TypeError for complex leaves, whose imaginary parts would be lost.
Tensor ravel_reals(std::span<const Tensor> leaves);
/// A part of a vector as a leaf, in the leaf's shape and dtype. Moves `offset` behind it. Recorded.
Tensor unravel_leaf(const Tensor& vector, std::int64_t& offset, const Tensor& like);
/// Sums of products, norms, and alpha x + y, leaf by leaf. ShapeError unless leaves have the same number and shapes.
Tensor dot_leaves(std::span<const Tensor> x, std::span<const Tensor> y);
Tensor norm_leaves(std::span<const Tensor> x);
List<Tensor> axpy_leaves(const Operand& alpha, std::span<const Tensor> x, std::span<const Tensor> y);
/// ShapeError unless the vector is [size].
void require_raveled(const Tensor& vector, std::int64_t size);

template <class T>
List<Tensor> tensors_of(const T& tree) {
  List<Tensor> leaves;
  for_each_leaf(tree, [&](const auto& leaf) {
    static_assert(std::is_convertible_v<decltype(leaf), Tensor>, "a tree of tensors or variables");
    leaves.push_back(leaf);
  });
  return leaves;
}

// item(), whose errors would name the line in this header.
inline double number_of(const Tensor& x) {
  double value;
  copy_out(x, DType::float64, &value, true);
  return value;
}

}  // namespace detail

/// The inverse of ravel: from a vector to a tree of tensors with the original shapes and dtypes.
template <Tree T>
class Unravel {
 public:
  explicit Unravel(const T& tree) : like_(tree) {
    for (const Tensor& leaf : detail::tensors_of(tree)) size_ += leaf.size();
  }
  /// The size of the vector.
  std::int64_t size() const noexcept { return size_; }
  /// ShapeError unless the vector is [size()]. Each leaf is cast to its dtype. Gradient: the leaves' cotangents,
  /// raveled.
  map_t<Tensor, T> operator()(const Tensor& vector) const {
    detail::require_raveled(vector, size_);
    std::int64_t offset = 0;
    return map_leaves<Tensor>(like_, [&](const auto& leaf) {
      return detail::unravel_leaf(vector, offset, static_cast<const Tensor&>(leaf));
    });
  }

 private:
  T like_;
  std::int64_t size_ = 0;
};

/// pair(vector, unravel): every element of a tree's leaves in one vector [n], in the order of for_each_leaf, in the
/// dtype that all of them promote to (float64 for a tree without leaves); and the function that gives the tree back.
/// Both are differentiable. JAX's ravel_pytree.
template <Tree T>
requires(!detail::Leaf<T>) std::pair<Tensor, Unravel<T>> ravel(const T& tree) {
  return {detail::ravel_leaves(detail::tensors_of(tree)), Unravel<T>(tree)};
}

/// The sum of x y over all elements of two trees of the same structure, of conj(x) y for complex ones: [], float64
/// without leaves. Differentiable, as the next two. ShapeError unless both have as many leaves, of the same shapes.
template <Tree T, Tree S>
requires(!detail::Leaf<T> && !detail::Leaf<S>) Tensor dot(const T& x, const S& y) {
  return detail::dot_leaves(detail::tensors_of(x), detail::tensors_of(y));
}
/// The Euclidean norm of all elements of a tree, without overflow: [], float64 of no leaves. Gradient: 0 at 0.
template <Tree T>
requires(!detail::Leaf<T>) Tensor norm(const T& x) { return detail::norm_leaves(detail::tensors_of(x)); }
/// alpha x + y, leaf by leaf, in the structure of y. ShapeError as above.
template <Tree T, Tree S>
requires(!detail::Leaf<T> && !detail::Leaf<S>) map_t<Tensor, S> axpy(const Operand& alpha, const T& x, const S& y) {
  const detail::List<Tensor> sums = detail::axpy_leaves(alpha, detail::tensors_of(x), detail::tensors_of(y));
  std::size_t next = 0;
  return map_leaves<Tensor>(y, [&](const auto&) { return sums[next++]; });
}

/// A function of a tree as a function of `size()` doubles, for optimisers that know nothing of trees. It makes no
/// system allocations after the first calls.
template <class F, Tree T>
class Objective {
 public:
  Objective(F f, const T& start) : Objective("objective", std::move(f), start) {}
  /// `who` begins the messages of errors: the name of a minimiser, which outlives the object.
  Objective(const char* who, F f, const T& start)
      : who_(who), f_(std::move(f)), unravel_(start), start_(cast_start(start)) {}
  std::int64_t size() const noexcept { return unravel_.size(); }
  /// Writes the elements of the tree from which the objective was made.
  void start(double* x) const { detail::copy_out(start_, DType::float64, x, false); }
  /// The value at x, and its gradient if `gradient` is not null: `size()` doubles both.
  double operator()(const double* x, double* gradient) const {
    const Tensor at = vector(x);
    if (!gradient) return detail::number_of(f_(unravel_(at)));
    const auto [value, slope] = flat_value_and_grad()(at);
    detail::copy_out(slope, DType::float64, gradient, false);
    return detail::number_of(value);
  }
  /// pair(value, gradient) of a vector [size()].
  auto flat_value_and_grad() const {
    auto flat = [this](const Tensor& v) { return f_(unravel_(v)); };
    return detail::ValueAndGrad<detail::Pick<>, decltype(flat), false>{who_, flat};
  }
  /// The tree with the elements at x.
  map_t<Tensor, T> tree(const double* x) const { return unravel_(vector(x)); }
  const F& function() const noexcept { return f_; }
  const Unravel<T>& unravel() const noexcept { return unravel_; }

 private:
  static Tensor cast_start(const T& start) { return detail::ravel_reals(detail::tensors_of(start)); }
  Tensor vector(const double* x) const {
    return detail::copy_in(x, static_cast<std::size_t>(size()), {size()}, DType::float64);
  }

  const char* who_;
  F f_;
  Unravel<T> unravel_;
  Tensor start_;
};

/// f takes a tree like `start` and returns a tensor of size 1. TypeError for complex leaves, here and below: start from
/// as_real(z) and let f take as_complex of it.
template <class F, Tree T>
Objective<F, T> objective(F f, const T& start) {
  return Objective<F, T>(std::move(f), start);
}

/// What a minimiser found. To tapes it is a constant: minimum() of <reel/solve/equations.hpp>, started from the
/// parameters, has derivatives by all that the function reads.
template <class T>
struct MinimizeResult {
  T parameters;                                     ///< the tree of the lowest value
  double value = 0;                                 ///< at the parameters
  double gradient_size = 0;                         ///< the largest |g_i| max(|x_i|, 1) / max(|value|, 1) there
  std::int64_t iterations = 0;                      ///< steps taken
  std::int64_t evaluations = 0;                     ///< of the function, with or without gradient
  std::int64_t products = 0;                        ///< products with its Hessian
  StopReason reason = StopReason::iteration_limit;  ///< to_string() says it in words

  /// Whether the gradient vanishes to the tolerance, or the rounding of the values hides what is left to gain.
  bool converged() const noexcept { return reason == StopReason::stationary || reason == StopReason::small_step; }
};

/// The state of a minimiser, in float64 tensors: empty before the first run. A run with a state in its options
/// continues from it, and stores its final state there; `start` is only an example of the tree then. max_iterations
/// counts the steps of all runs. The steps are those of a single run, bit for bit, also through a file: save(path,
/// state) and load(path, state) of <reel/io.hpp>. ValueError for a state of another method or of another number of
/// parameters.
struct MinimizerState {
  Tensor position;  ///< [n]
  Tensor gradient;  ///< [n], there
  Tensor numbers;   ///< method, value, counts, and numbers of the method
  Tensor vectors;   ///< [k, n], which determine the next direction
  auto leaves() { return std::tie(position, gradient, numbers, vectors); }
  auto names() const { return std::array{"position", "gradient", "numbers", "vectors"}; }
};

/// Options of lbfgs and projected_lbfgs.
struct LbfgsOptions {
  std::int64_t max_iterations = 10000;
  /// Stationary when MinimizeResult::gradient_size is at most this.
  double gradient_tolerance = 1e-9;
  int history = 10;  ///< number of steps in the model of the Hessian
  MinimizerState* state = nullptr;
  MinimizerCallback callback = {};
};

/// Options of nonlinear_cg().
struct NonlinearCgOptions {
  std::int64_t max_iterations = 100000;
  double gradient_tolerance = 1e-9;  ///< as LbfgsOptions::gradient_tolerance
  MinimizerState* state = nullptr;
  MinimizerCallback callback = {};
};

/// Options of gauss_newton and newton_cg.
struct NewtonOptions {
  std::int64_t max_iterations = 1000;
  double gradient_tolerance = 1e-9;  ///< as LbfgsOptions::gradient_tolerance
  double initial_radius = 1;         ///< of the first trust region: the length of the longest step
  MinimizerState* state = nullptr;
  MinimizerCallback callback = {};
};

namespace detail {

struct MinimizeSummary {
  double value = 0, gradient_size = 0;
  std::int64_t iterations = 0, evaluations = 0, products = 0;
  StopReason reason = StopReason::iteration_limit;
};
/// The value at x; also its gradient, if that is not null.
using Evaluate = Callback<double(const double* x, double* gradient)>;
/// Value and gradient at x; `product` then multiplies by the Hessian there.
using Linearize = Callback<double(const double* x, double* gradient, Callback<void(const double*, double*)>* product)>;

/// TraceError in a traced function: methods that read elements decide by them how to go on.
void require_untraced(const char* method);
/// Each moves x to the minimum.
MinimizeSummary lbfgs(std::span<double> x, const Evaluate& evaluate, const LbfgsOptions& options);
MinimizeSummary nonlinear_cg(std::span<double> x, const Evaluate& evaluate, const NonlinearCgOptions& options);
MinimizeSummary projected_lbfgs(std::span<double> x, std::span<const double> lower, std::span<const double> upper,
                                const Evaluate& evaluate, const LbfgsOptions& options);
MinimizeSummary newton_cg(std::span<double> x, const Evaluate& evaluate, const Linearize& linearize,
                          const NewtonOptions& options, const char* op = "newton_cg");
using ResidualFunction = Callback<Tensor(const Tensor&)>;
MinimizeSummary gauss_newton(std::span<double> x, const ResidualFunction& residuals, const NewtonOptions& options);

/// ValueError, which says why, if no gradient reaches x from f(x).
void require_gradient(const char* op, const ResidualFunction& f, std::span<const double> x);

// A function that reads values out of tensors has no gradient: its start would pass for a minimum.
template <class F, class T>
MinimizeResult<map_t<Tensor, T>> result_of(const char* op, const MinimizeSummary& s, const Objective<F, T>& objective,
                                           std::span<const double> at) {
  const double* x = at.data();
  if (s.iterations == 0 && s.gradient_size == 0)
    require_gradient(
        op, [&](const Tensor& v) -> Tensor { return objective.function()(objective.unravel()(v)); }, at);
  return {objective.tree(x), s.value, s.gradient_size, s.iterations, s.evaluations, s.products, s.reason};
}

// method(objective, x) moves x, which has the elements of the start.
template <class F, class T, class Method>
MinimizeResult<map_t<Tensor, T>> minimize_by_vectors(const char* op, F f, const T& start, const CallLine& at,
                                                     const Method& method) {
  return naming_line(at, [&] {
    require_untraced(op);
    const Objective<F, T> flat(op, std::move(f), start);
    std::vector<double> x(static_cast<std::size_t>(flat.size()));
    flat.start(x.data());
    const MinimizeSummary summary = method(flat, std::span<double>(x));
    return result_of(op, summary, flat, x);
  });
}
// method(x, evaluate) does.
template <class F, class T, class Method>
MinimizeResult<map_t<Tensor, T>> minimize_by_gradients(const char* op, F f, const T& start, const Method& method,
                                                       const CallLine& at) {
  return minimize_by_vectors(op, std::move(f), start, at, [&](const Objective<F, T>& flat, std::span<double> x) {
    const Evaluate evaluate = [&flat](const double* v, double* gradient) { return flat(v, gradient); };
    return method(x, evaluate);
  });
}

// Copies the elements of a tree's leaves, one after another.
template <class T>
std::vector<double> raveled(const T& tree) {
  return ravel_reals(tensors_of(tree)).template to_vector<double>();
}

}  // namespace detail

/// A local minimum of f, a function of a tree like `start`, near `start`: limited-memory BFGS (Nocedal, "Updating
/// quasi-Newton matrices with limited storage", 1980) with the line search of More and Thuente, 1994. Points where f or
/// its gradient is not finite are rejected. ValueError if `start` is such a point, if no gradient reaches the
/// parameters there, and for invalid options; exceptions of f pass through. Errors name the caller's line. Computes in
/// float64; leaves keep their dtypes. A single tensor is a tree:
///     const Tensor x = lbfgs([](const Tensor& p) { return sum(square(p - 1)); }, zeros({3})).parameters;
template <class F, Tree T>
MinimizeResult<map_t<Tensor, T>> lbfgs(F f, const T& start, const LbfgsOptions& options = {},
                                       const detail::CallLine& at = {}) {
  return detail::minimize_by_gradients(
      "lbfgs", std::move(f), start,
      [&](std::span<double> x, const detail::Evaluate& evaluate) { return detail::lbfgs(x, evaluate, options); }, at);
}

/// The same by nonlinear conjugate gradients (Hager and Zhang, 2005): less memory, more iterations.
template <class F, Tree T>
MinimizeResult<map_t<Tensor, T>> nonlinear_cg(F f, const T& start, const NonlinearCgOptions& options = {},
                                              const detail::CallLine& at = {}) {
  return detail::minimize_by_gradients(
      "nonlinear_cg", std::move(f), start,
      [&](std::span<double> x, const detail::Evaluate& evaluate) { return detail::nonlinear_cg(x, evaluate, options); },
      at);
}

/// The same within bounds, lower <= parameters <= upper: trees with leaves of the parameters' shapes, infinite where
/// there is no bound. Projected quasi-Newton steps (Bertsekas, "Projected Newton methods for optimization problems with
/// simple constraints", 1982) with lbfgs's model. f is evaluated only within the bounds; a start outside is projected.
/// gradient_size ignores components that point out of the bounds. ValueError for a lower bound above the upper one,
/// ShapeError where a bound has another number of elements.
template <class F, Tree T, Tree B>
MinimizeResult<map_t<Tensor, T>> projected_lbfgs(F f, const T& start, const B& lower, const B& upper,
                                                 const LbfgsOptions& options = {}, const detail::CallLine& at = {}) {
  return detail::minimize_by_gradients(
      "projected_lbfgs", std::move(f), start,
      [&](std::span<double> x, const detail::Evaluate& evaluate) {
        return detail::projected_lbfgs(x, detail::raveled(lower), detail::raveled(upper), evaluate, options);
      },
      at);
}

/// The same by Newton's method: steps by conjugate gradients within a trust region (Steihaug, "The conjugate gradient
/// method and trust regions in large scale optimization", 1983), with Hessian products by forward over reverse mode.
/// Few but expensive iterations: for functions that are hard for lbfgs.
template <class F, Tree T>
MinimizeResult<map_t<Tensor, T>> newton_cg(F f, const T& start, const NewtonOptions& options = {},
                                           const detail::CallLine& at = {}) {
  const auto method = [&](const auto& flat, std::span<double> x) {
    const auto vector = [n = flat.size()](const double* p) {
      return detail::copy_in(p, static_cast<std::size_t>(n), {n}, DType::float64);
    };
    const auto linearize_at = [&](const double* v, double* gradient, Callback<void(const double*, double*)>* product) {
      auto of_vector = flat.flat_value_and_grad();
      auto linearized = detail::linear_part(of_vector, vector(v));
      *product = [vector, linear = std::move(linearized.second)](const double* along, double* to) {
        detail::copy_out(linear({vector(along)}, detail::no_line).second, DType::float64, to, false);
      };
      detail::copy_out(linearized.first.second, DType::float64, gradient, false);
      return detail::number_of(linearized.first.first);
    };
    const auto evaluate = [&flat](const double* v, double* gradient) { return flat(v, gradient); };
    return detail::newton_cg(x, evaluate, linearize_at, options);
  };
  return detail::minimize_by_vectors("newton_cg", std::move(f), start, at, method);
}

/// A local minimum of the sum of squares of `residuals`, a function of a tree like `start` that returns a real floating
/// tensor: Gauss-Newton steps within a trust region, by conjugate gradients with products of the Jacobian and its
/// transpose (Steihaug, 1983; Nocedal and Wright, "Numerical Optimization", 2nd edition, 2006, section 10.3). No
/// Jacobian is formed: for many parameters and residuals, where levenberg_marquardt would need a large matrix. `value`
/// is the sum of squares, `products` counts products with J^T J. Otherwise as newton_cg.
template <class F, Tree T>
MinimizeResult<map_t<Tensor, T>> gauss_newton(F residuals, const T& start, const NewtonOptions& options = {},
                                              const detail::CallLine& at = {}) {
  const auto method = [&](const auto& flat, std::span<double> x) {
    const detail::ResidualFunction of_vector = [&flat](const Tensor& v) -> Tensor {
      return flat.function()(flat.unravel()(v));
    };
    return detail::gauss_newton(x, of_vector, options);
  };
  return detail::minimize_by_vectors("gauss_newton", std::move(residuals), start, at, method);
}

/// The function comes first.
template <class T, class F, class... More>
requires(detail::BeforeFunction<T, F>) MinimizeResult<map_t<Tensor, T>> lbfgs(const T&, const F&, const More&...) {
  static_assert(detail::never<F>, "the function comes first: lbfgs(f, start)");
  return {};
}

/// The function comes first.
template <class T, class F, class... More>
requires(detail::BeforeFunction<T, F>) MinimizeResult<map_t<Tensor, T>> nonlinear_cg(const T&, const F&,
                                                                                     const More&...) {
  static_assert(detail::never<F>, "the function comes first: nonlinear_cg(f, start)");
  return {};
}

/// The function comes first.
template <class T, class F, class... More>
requires(detail::BeforeFunction<T, F>) MinimizeResult<map_t<Tensor, T>> projected_lbfgs(const T&, const F&,
                                                                                        const More&...) {
  static_assert(detail::never<F>, "the function comes first: projected_lbfgs(f, start, lower, upper)");
  return {};
}

/// The function comes first.
template <class T, class F, class... More>
requires(detail::BeforeFunction<T, F>) MinimizeResult<map_t<Tensor, T>> newton_cg(const T&, const F&, const More&...) {
  static_assert(detail::never<F>, "the function comes first: newton_cg(f, start)");
  return {};
}

/// The function comes first.
template <class T, class F, class... More>
requires(detail::BeforeFunction<T, F>) MinimizeResult<map_t<Tensor, T>> gauss_newton(const T&, const F&,
                                                                                     const More&...) {
  static_assert(detail::never<F>, "the function comes first: gauss_newton(residuals, start)");
  return {};
}

/// What levenberg_marquardt found for a tree. The other members have its parameters in the order of ravel.
template <class T>
struct TreeLeastSquaresResult : LeastSquaresResult {
  T tree;  ///< the parameters
};

/// levenberg_marquardt of <reel/optim.hpp> for a function of a tree like `start`, which returns residuals [m], real and
/// floating. Computes in float64; leaves keep their dtypes. TypeError for complex leaves. The state, if not null, as
/// there.
template <class F, Tree T>
requires(!detail::Leaf<T>) TreeLeastSquaresResult<map_t<Tensor, T>> levenberg_marquardt(
    F residuals, const T& start, const LevenbergMarquardtOptions& options = {}, MinimizerState* state = nullptr,
    const detail::CallLine& at = {}) {
  const Unravel<T> unravel(start);
  const Callback<Tensor(const Tensor&)> of_vector = [&](const Tensor& v) -> Tensor {
    const Tensor r = residuals(unravel(v));
    return r.dtype() == DType::float32 ? cast(r, DType::float64) : r;
  };
  LeastSquaresResult found = detail::naming_line(at, [&] {
    const Tensor initial = detail::ravel_reals(detail::tensors_of(start));
    return state ? levenberg_marquardt(of_vector, initial, options, *state, detail::no_line)
                 : levenberg_marquardt(of_vector, initial, options, detail::no_line);
  });
  map_t<Tensor, T> tree = unravel(found.parameters);
  return {std::move(found), std::move(tree)};
}
/// The same within bounds, lower <= parameters <= upper: trees with leaves of the parameters' shapes, infinite where
/// there is no bound. They replace those of the options.
template <class F, Tree T, Tree B>
requires(!detail::Leaf<T> && !detail::Leaf<B>) TreeLeastSquaresResult<map_t<Tensor, T>> levenberg_marquardt(
    F residuals, const T& start, const B& lower, const B& upper, const LevenbergMarquardtOptions& options = {},
    MinimizerState* state = nullptr, const detail::CallLine& at = {}) {
  LevenbergMarquardtOptions bounded(options);
  detail::naming_line(at, [&] {
    bounded.lower = detail::ravel_reals(detail::tensors_of(lower));
    bounded.upper = detail::ravel_reals(detail::tensors_of(upper));
  });
  return levenberg_marquardt(std::move(residuals), start, bounded, state, at);
}

}  // namespace reel
