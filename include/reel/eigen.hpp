// Optional header: Eigen and reel. A vector or matrix is seen by Eigen without a copy, any dense expression of Eigen
// becomes a tensor, and a function of tensors becomes a functor for optimisers in Eigen's style. Elements keep their
// places: x(i, j) is the same number on both sides.
#pragma once
#include <Eigen/Core>
#include <cstdint>
#include <reel/optim/minimize.hpp>
#include <string>
#include <type_traits>
#include <utility>

namespace reel {

namespace detail {

// clang-format off
template <class T> struct EigenElement : std::type_identity<T> {};
template <> struct EigenElement<Eigen::half>     : std::type_identity<float16> {};
template <> struct EigenElement<Eigen::bfloat16> : std::type_identity<bfloat16> {};
// clang-format on

/// A scalar of Eigen that a tensor can hold: the Element types with std::complex, Eigen::half and Eigen::bfloat16.
template <class T>
concept EigenScalar = Element<typename EigenElement<T>::type> && !std::is_same_v<T, complex64> &&
                      !std::is_same_v<T, complex128> && !std::is_same_v<T, float16> && !std::is_same_v<T, bfloat16>;

template <EigenScalar T>
inline constexpr DType eigen_dtype = dtype_of<typename EigenElement<T>::type>;

template <class T>
using RowMajorMatrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// The elements of x, row-major. TypeError, ShapeError and ValueError in the name of `op`.
template <EigenScalar T>
const T* eigen_data(const char* op, const Tensor& x, int lowest_rank, int highest_rank) {
  constexpr DType wanted = eigen_dtype<T>;
  const auto refuse = [&](const std::string& what) { return std::string(op) + ": " + what; };
  if (x.dtype() != wanted)
    throw TypeError(refuse(std::string("the tensor is ") + name(x.dtype()) + ", but Eigen's scalar type is that of " +
                           name(wanted) + "; name the scalar type of the tensor, or cast the tensor first"));
  if (x.rank() < lowest_rank || x.rank() > highest_rank)
    throw ShapeError(refuse("the tensor has shape " + to_string(x.shape()) + "; Eigen has " +
                            (highest_rank == 1 ? "" : "matrices, of rank 2, and ") +
                            "vectors, of rank 1; reshape it first"));
  if (!x.is_contiguous())
    throw ValueError(refuse("the tensor, of shape " + to_string(x.shape()) + " and strides " + to_string(x.strides()) +
                            ", is not contiguous; call contiguous(x) first"));
  return static_cast<const T*>(contiguous_data(x, wanted));
}

}  // namespace detail

/// x, of rank 2 or 1, as a row-major matrix of Eigen over the same memory, read-only; a vector [n] is the column n x 1.
/// T is the scalar type: double, float, std::complex, Eigen::half for float16, and so on. Valid while a handle to x
/// lives: the map does not own it. TypeError unless T is the type of x's dtype, ShapeError for other ranks, ValueError
/// unless x is contiguous. Reading it is not recorded.
template <detail::EigenScalar T = double>
Eigen::Map<const detail::RowMajorMatrix<T>> as_eigen(const Tensor& x) {
  const T* data = detail::eigen_data<T>("as_eigen", x, 1, 2);
  const Shape shape = x.shape();
  return {data, shape[0], shape.rank() == 2 ? shape[1] : 1};
}
template <detail::EigenScalar T = double>
void as_eigen(const Tensor&& x) = delete;

/// The same of rank 1 as a column vector, whose type Eigen knows to be a vector.
template <detail::EigenScalar T = double>
Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, 1>> as_eigen_vector(const Tensor& x) {
  const T* data = detail::eigen_data<T>("as_eigen_vector", x, 1, 1);
  return {data, x.size()};
}
template <detail::EigenScalar T = double>
void as_eigen_vector(const Tensor&& x) = delete;

/// The value of a dense expression of Eigen (matrix, array, block, map, product, of any storage order) as a tensor: a
/// copy, row-major, of the dtype of its scalar type. [n] of what Eigen knows to be a vector at compile time, otherwise
/// [n, m]. For a scalar type that no dtype has, such as short or long double, pass e.cast<int>() or e.cast<double>().
/// Not recorded.
template <class E>
Tensor from_eigen(const Eigen::DenseBase<E>& expression) {
  using T = std::remove_cv_t<typename E::Scalar>;
  static_assert(detail::EigenScalar<T>, "no dtype has this scalar type: convert with .cast<T>() first");
  const Eigen::Index rows = expression.rows(), columns = expression.cols();
  Shape shape;
  if constexpr (E::IsVectorAtCompileTime)
    shape = {rows * columns};
  else
    shape = {rows, columns};
  void* data = nullptr;
  Tensor x = detail::uninitialized(shape, detail::eigen_dtype<T>, data);
  Eigen::Map<detail::RowMajorMatrix<T>> target(static_cast<T*>(data), rows, columns);
  if constexpr (std::is_base_of_v<Eigen::ArrayBase<E>, E>)
    target.array() = expression.derived();
  else
    target.noalias() = expression.derived();
  return x;
}

/// Residuals of a tree of parameters as a functor of a vector of doubles, for least-squares and root finders in Eigen's
/// style: Eigen::LevenbergMarquardt and Eigen::HybridNonLinearSolver of <unsupported/Eigen/NonLinearOptimization>, and
/// ceres::TinySolver. Made by residual_functor().
template <class F, Tree T>
class ResidualFunctor {
 public:
  using Scalar = double;
  using InputType = Eigen::VectorXd;
  using ValueType = Eigen::VectorXd;
  using JacobianType = Eigen::MatrixXd;
  using QRSolver = Eigen::ColPivHouseholderQR<JacobianType>;
  // NOLINTBEGIN(readability-identifier-naming): the names that Eigen and Ceres ask for
  enum {
    InputsAtCompileTime = Eigen::Dynamic,
    ValuesAtCompileTime = Eigen::Dynamic,
    NUM_PARAMETERS = Eigen::Dynamic,
    NUM_RESIDUALS = Eigen::Dynamic
  };
  int NumParameters() const { return inputs(); }
  int NumResiduals() const { return values(); }
  // NOLINTEND(readability-identifier-naming)

  ResidualFunctor(F f, const T& start)
      : f_(std::move(f)), unravel_(start), start_(detail::ravel_reals(detail::tensors_of(start))) {
    values_ = static_cast<int>(residuals(start_).size());
  }

  /// The number of parameters: elements of all leaves.
  int inputs() const { return static_cast<int>(unravel_.size()); }
  /// The number of residuals.
  int values() const { return values_; }
  /// The parameters from which it was made, as a vector.
  InputType start() const { return as_eigen_vector(start_); }
  /// The parameters at x as a tree.
  map_t<Tensor, T> tree(const InputType& x) const { return unravel_(from_eigen(x)); }

  /// The residuals at x. Returns 0: exceptions of f, and ShapeError if their number has changed, propagate.
  int operator()(const InputType& x, ValueType& residuals_at_x) const {
    residuals_at_x.resize(values());
    evaluate(x.data(), x.size(), residuals_at_x.data(), nullptr);
    return 0;
  }
  /// The Jacobian at x, values() x inputs().
  int df(const InputType& x, JacobianType& jacobian_at_x) const {
    jacobian_at_x.resize(values(), inputs());
    evaluate(x.data(), x.size(), nullptr, jacobian_at_x.data());
    return 0;
  }
  /// Both from one recording, into memory of the caller; null pointers are skipped. The Jacobian is column-major.
  bool operator()(const double* x, double* residuals_at_x, double* jacobian_at_x) const {
    evaluate(x, inputs(), residuals_at_x, jacobian_at_x);
    return true;
  }

 private:
  Tensor residuals(const Tensor& vector) const {
    const Tensor y = f_(unravel_(vector));
    if (!is_floating(y.dtype()))
      throw TypeError(std::string("residual_functor: f returned residuals of ") + name(y.dtype()) +
                      "; return floating ones, such as real(z) and imag(z) of complex residuals");
    return reshape(cast(y, DType::float64), {-1});
  }
  void evaluate(const double* x, std::int64_t count, double* residuals_at_x, double* jacobian_at_x) const {
    const Tensor vector = detail::copy_in(x, static_cast<std::size_t>(count), {count}, DType::float64);
    Tensor y;
    const auto f = [&](const Tensor& v) { return y = residuals(v); };
    if (jacobian_at_x) {
      const Tensor j = jacobian(f, detail::no_line)(vector);
      require_values(y);
      Eigen::Map<JacobianType>(jacobian_at_x, values(), inputs()) = as_eigen(j);
    } else {
      require_values(f(vector));
    }
    if (residuals_at_x) detail::copy_out(y, DType::float64, residuals_at_x, false);
  }
  void require_values(const Tensor& y) const {
    if (y.size() != values_)
      throw ShapeError("residual_functor: f returned " + std::to_string(y.size()) + " residuals, but " +
                       std::to_string(values_) + " when the functor was made; their number must not change");
  }

  mutable F f_;
  Unravel<T> unravel_;
  Tensor start_;
  int values_ = 0;
};

/// f takes a tree like `start`, real, and returns residuals, a floating tensor of any shape; it is called once
/// here, to count them. Derivatives are those of jacobian(f), in float64. TypeError for complex leaves and for
/// residuals that are not floating.
template <class F, Tree T>
ResidualFunctor<F, T> residual_functor(F f, const T& start) {
  return ResidualFunctor<F, T>(std::move(f), start);
}

}  // namespace reel
