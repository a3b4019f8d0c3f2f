// Eigen on both sides: expressions of any storage order in, tensors out without a copy, and its solvers on functions of
// tensors.
#include <complex>
#include <reel/eigen.hpp>
#include <reel/reel.hpp>
#include <unsupported/Eigen/NonLinearOptimization>

#include "catch.hpp"

using Catch::Contains;
using namespace reel;

namespace {

template <class T, class E>
void check_same(const Tensor& x, const E& expression, const Shape& shape) {
  const Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic> e = expression;
  REQUIRE(x.shape() == shape);
  CHECK(x.dtype() == detail::eigen_dtype<T>);
  const auto seen = as_eigen<T>(x);
  for (Eigen::Index i = 0; i < e.rows(); ++i)
    for (Eigen::Index j = 0; j < e.cols(); ++j)
      CHECK((e.rows() == 1 && shape.rank() == 1 ? seen(j, 0) : seen(i, j)) == e(i, j));
}

template <class T>
void check_scalar(const T& value, DType dtype) {
  const Eigen::Matrix<T, 2, 1> e = Eigen::Matrix<T, 2, 1>::Constant(value);
  const Tensor x = from_eigen(e);
  CHECK(x.dtype() == dtype);
  CHECK(as_eigen_vector<T>(x)(1) == value);
}

}  // namespace

TEST_CASE("expressions of Eigen become tensors") {
  Eigen::MatrixXd columns(2, 3);
  columns << 1, 2, 3, 4, 5, 6;
  const Eigen::Matrix<double, 2, 3, Eigen::RowMajor> rows = columns;
  CHECK(array_equal(from_eigen(columns), tensor({{1, 2, 3}, {4, 5, 6}})));
  CHECK(array_equal(from_eigen(rows), tensor({{1, 2, 3}, {4, 5, 6}})));
  CHECK(array_equal(from_eigen(columns.transpose()), tensor({{1, 4}, {2, 5}, {3, 6}})));
  check_same<double>(from_eigen(columns * rows.transpose()), columns * rows.transpose(), {2, 2});
  check_same<double>(from_eigen(columns.block(0, 1, 2, 2).eval() * 2.0), columns.block(0, 1, 2, 2) * 2.0, {2, 2});
  check_same<double>(from_eigen(columns.row(1)), columns.row(1), {3});
  check_same<double>(from_eigen(columns.col(1)), columns.col(1), {2});
  check_same<double>(from_eigen(columns.array().square() + 1.0), columns.array().square() + 1.0, {2, 3});
  CHECK(array_equal(from_eigen(columns.array() > 3.0), tensor<bool>({{0, 0, 0}, {1, 1, 1}})));
  CHECK(from_eigen(Eigen::MatrixXd(0, 3)).shape() == Shape{0, 3});
  CHECK(from_eigen(Eigen::MatrixXd::Ones(1, 4)).shape() == Shape{1, 4});
  CHECK(from_eigen(Eigen::RowVector2f(1, 2)).dtype() == DType::float32);
}

TEST_CASE("the scalar types of Eigen and the dtypes") {
  static_assert(detail::eigen_dtype<std::uint8_t> == DType::uint8 && detail::eigen_dtype<int> == DType::int32);
  static_assert(detail::eigen_dtype<std::int64_t> == DType::int64 && detail::eigen_dtype<float> == DType::float32);
  static_assert(detail::eigen_dtype<std::complex<float>> == DType::complex64);
  static_assert(!detail::EigenScalar<short> && !detail::EigenScalar<long double>);
  check_scalar(true, DType::boolean);
  check_scalar(Eigen::half(1.5f), DType::float16);
  check_scalar(Eigen::bfloat16(1.5f), DType::bfloat16);
  check_scalar(std::complex<double>(1, 2), DType::complex128);
  CHECK(from_eigen(Eigen::Vector2f(1.5, 2).cast<Eigen::half>()).dtype() == DType::float16);
  CHECK(cast(from_eigen(Eigen::Matrix<Eigen::bfloat16, 1, 1>(Eigen::bfloat16(1.5f))), DType::float64)[0].item() == 1.5);
}

TEST_CASE("a tensor is a matrix of Eigen over its own memory") {
  const Tensor x = reshape(arange(6.0), {2, 3}), v = tensor({1, 2, 3});
  const auto matrix = as_eigen(x);
  const auto vector = as_eigen_vector(v);
  CHECK(matrix.data() == x.data<double>().data());
  CHECK((matrix.rows() == 2 && matrix.cols() == 3 && matrix(1, 0) == 3));
  CHECK((as_eigen(v).rows() == 3 && as_eigen(v).cols() == 1));
  CHECK(array_equal(from_eigen(matrix * vector), matmul(x, v)));
  const Tensor empty = zeros({0, 3});
  CHECK((as_eigen(empty).rows() == 0 && as_eigen(empty).cols() == 3));
  CHECK_THROWS_WITH(as_eigen<float>(x), Contains("float64") && Contains("float32") && Contains("as_eigen: "));
  CHECK_THROWS_AS(as_eigen<float>(x), TypeError);
  const Tensor turned = transpose(x), cube = ones({1, 2, 3}), number = scalar(1.0), undefined;
  CHECK_THROWS_WITH(as_eigen(turned), Contains("as_eigen: ") && Contains("call contiguous(x) first"));
  CHECK_THROWS_AS(as_eigen(cube), ShapeError);
  CHECK_THROWS_AS(as_eigen(number), ShapeError);
  CHECK_THROWS_WITH(as_eigen_vector(x), Contains("as_eigen_vector: ") && Contains("[2, 3]"));
  CHECK_THROWS_AS(as_eigen(undefined), ValueError);
}

// Powell's singular function (More, Garbow and Hillstrom 1981, number 13) and a fit of two leaves.
TEST_CASE("solvers of Eigen minimise functions of tensors") {
  const auto powell = [](const Tensor& p) {
    return stack({p[0] + 10.0 * p[1], std::sqrt(5.0) * (p[2] - p[3]), square(p[1] - 2.0 * p[2]),
                  std::sqrt(10.0) * square(p[0] - p[3])});
  };
  auto functor = residual_functor(powell, tensor({3, -1, 0, 1}));
  CHECK((functor.inputs() == 4 && functor.values() == 4));
  Eigen::VectorXd at = functor.start(), residuals;
  Eigen::MatrixXd slopes, expected(4, 4);
  functor(at, residuals);
  functor.df(at, slopes);
  expected << 1, 10, 0, 0, 0, 0, std::sqrt(5.0), -std::sqrt(5.0), 0, -2, 4, 0, 4 * std::sqrt(10.0), 0, 0,
      -4 * std::sqrt(10.0);
  CHECK((slopes - expected).norm() < 1e-13);
  CHECK(std::abs(residuals(3) - 4 * std::sqrt(10.0)) < 1e-13);
  Eigen::LevenbergMarquardt<decltype(functor)> powell_solver(functor);
  powell_solver.minimize(at);
  CHECK(at.norm() < 1e-3);

  // y = a exp(-b t) at three times, from parameters in a struct of two leaves of different dtypes.
  struct Decay {
    Tensor a, b;
    auto leaves() { return std::tie(a, b); }
  };
  const Tensor t = tensor({0, 1, 2, 3}), y = 2.0 * exp(-0.5 * t);
  const auto decay = [&](const Decay& p) { return p.a * exp(-p.b * t) - y; };
  auto fit = residual_functor(decay, Decay{tensor({1.0}), scalar(0.1)});
  Eigen::VectorXd p = fit.start();
  Eigen::LevenbergMarquardt<decltype(fit)> fit_solver(fit);
  fit_solver.minimize(p);
  CHECK((std::abs(p(0) - 2) < 1e-8 && std::abs(p(1) - 0.5) < 1e-8));
  CHECK(std::abs(fit.tree(p).b.item() - 0.5) < 1e-8);

  double values[4], columns[8];
  const double here[2] = {2, 0.5};
  CHECK(fit(here, values, columns));
  CHECK((std::abs(values[2]) < 1e-15 && std::abs(columns[1] - std::exp(-0.5)) < 1e-15));
  CHECK(std::abs(columns[6] + 4 * std::exp(-1.0)) < 1e-14);  // -a t exp(-b t) at t = 2

  // A root, by Powell's hybrid method.
  auto circle = residual_functor(
      [](const Tensor& q) {
        return stack({sum(q * q) - 2.0, q[0] - q[1]});
      },
      tensor<float>({2, 0.5}));
  Eigen::VectorXd root = circle.start();
  Eigen::HybridNonLinearSolver<decltype(circle)> root_solver(circle);
  root_solver.hybrj1(root);
  CHECK((root - Eigen::Vector2d(1, 1)).norm() < 1e-5);
}

TEST_CASE("errors of a residual functor") {
  int calls = 0;
  const auto growing = [&](const Tensor& p) { return zeros({++calls}) + p; };
  const auto functor = residual_functor(growing, tensor({1.0}));
  Eigen::VectorXd x = functor.start(), r;
  Eigen::MatrixXd j;
  CHECK_THROWS_WITH(functor(x, r), Contains("2 residuals, but 1"));
  CHECK_THROWS_AS(functor.df(x, j), ShapeError);
  CHECK_THROWS_AS(functor(Eigen::VectorXd(Eigen::VectorXd::Ones(3)), r), ShapeError);
  const auto same = [](const Tensor& p) { return p; };
  CHECK_THROWS_AS(residual_functor(same, tensor<std::complex<double>>({1.0})), TypeError);
  const auto rotated = [](const Tensor& p) { return exp(p * std::complex<double>(0, 1)); };
  CHECK_THROWS_WITH(residual_functor(rotated, tensor({1.0})), Contains("residual_functor: ") && Contains("complex128"));
  CHECK_THROWS_AS(residual_functor([](const Tensor& p) { return cast(p, DType::int32); }, tensor({1.0})), TypeError);
}
