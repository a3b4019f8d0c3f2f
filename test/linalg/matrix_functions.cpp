// Functions of matrices against values of 60 digits and closed forms: nilpotent, zero, large and skewed matrices,
// dtypes, high orders, and what has no value.
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <reel/linalg.hpp>

#include "catch.hpp"
#include "linalg/check.hpp"
#include "linalg/matrix_values.hpp"
#include "support/numbers.hpp"

using namespace reel;
using Catch::Contains;
using support::largest;

namespace {

constexpr double quiet_nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();

Tensor drawn(const Shape& shape, const char* seed) { return support::Random(seed).tensor(shape); }
Tensor matrix(const std::vector<double>& values) { return from_data(values, {3, 3}); }
using MatrixOp = Tensor (*)(const Operand&);
MatrixOp op_of(const std::string& name) { return name == "expm" ? expm : name == "sqrtm" ? sqrtm : logm; }

// Relative to the largest element.
double relative(const Tensor& got, const Tensor& expected) {
  REQUIRE(got.shape() == expected.shape());
  return largest(abs(got - expected)) / largest(abs(expected));
}
Tensor derivative(MatrixOp f, const Tensor& a, const Tensor& e) {
  return support::push([f](const support::Tensors& x) { return support::Tensors{f(x[0])}; }, {a}, {e})[0];
}

}  // namespace

TEST_CASE("functions of matrices and their derivatives agree with values in 60 digits") {
  for (const linalg::MatrixValue& row : linalg::matrix_values) {
    const MatrixOp f = op_of(row.function);
    const Tensor a = matrix(row.a);
    // The condition number of the skewed matrix is about 1e4.
    const double bound = std::string(row.matrix) == "skewed" ? 2e-12 : 4e-15;
    INFO(row.function << " of " << row.matrix);
    CHECK(relative(f(a), matrix(row.value)) <= bound);
    CHECK(relative(derivative(f, a, matrix(linalg::direction)), matrix(row.derivative)) <= 4 * bound);
    // The same for the complex matrix that it embeds.
    const Tensor phase = make_complex(cos(0.3), sin(0.3));
    if (std::string(row.function) == "expm") continue;
    const Tensor turned = f(phase * cast(a, DType::complex128));
    const Tensor expected = std::string(row.function) == "sqrtm"
                                ? make_complex(cos(0.15), sin(0.15)) * matrix(row.value)
                                : matrix(row.value) + make_complex(0.0, 0.3) * eye(3);
    if (std::string(row.matrix) != "rotating") CHECK(relative(turned, expected) <= 2 * bound);
  }
}

TEST_CASE("expm of nilpotent, zero and diagonal matrices is exact or nearly so") {
  CHECK(array_equal(expm(zeros({3, 3})), eye(3)));
  CHECK(array_equal(expm(tensor({{0, 1}, {0, 0}})), tensor({{1, 1}, {0, 1}})));
  CHECK(array_equal(expm(tensor({{0, 0x1p40}, {0, 0}})), tensor({{1, 0x1p40}, {0, 1}})));
  CHECK(array_equal(expm(tensor({{0, 1e300}, {0, 0}})), tensor({{1, 1e300}, {0, 1}})));
  const Tensor far = make_complex(tensor({{0, 0}, {1e300, 0}}), 0.0);
  CHECK(array_equal(expm(far), far + eye(2)));
  CHECK(relative(expm(diag(tensor({1, -2, 30}))), diag(exp(tensor({1, -2, 30})))) < 1e-14);
  CHECK(expm(tensor({{3}})).item() == Approx(std::exp(3)).epsilon(1e-15));
  // Derivatives at zero: of order k, the mean of the products in all orders.
  const Tensor e = drawn({3, 3}, "e");
  CHECK(relative(expm_frechet(zeros({3, 3}), e), e) < 1e-15);
  // For a shear of 1e6 the scaling depends on eigenvalues only: the result is sinh(1) 1e6 to rounding.
  const Tensor shear = expm(tensor({{1, 1e6}, {0, -1}}));
  CHECK(relative(shear, tensor({{std::exp(1), 1e6 * std::sinh(1)}, {0, std::exp(-1)}})) < 4e-15);
  CHECK(shear.to_vector()[3] == Approx(std::exp(-1)).epsilon(1e-14));
}

// Coefficient k of exp(a + t e) in t, by the series. It ends if a is nilpotent, and has no cancellation if a has no
// negative elements.
Tensor coefficient_of_exp(const Tensor& a, const Tensor& e, std::size_t k) {
  std::vector<Tensor> power(k + 1, zeros_like(a)), sum(power);
  power[0] = sum[0] = eye(a.shape()[0]);
  for (int j = 1; j < 60; ++j)
    for (std::size_t i = k + 1; i-- > 0;) {
      power[i] = matmul(power[i], a) / j;
      if (i > 0) power[i] = power[i] + matmul(power[i - 1], e) / j;
      sum[i] = sum[i] + power[i];
    }
  return sum[k];
}

TEST_CASE("expm of nilpotent matrices: derivatives, in which powers stand on both sides of a direction") {
  const auto along = [](const std::function<Tensor(const Tensor&)>& f) {
    return [f](const Tensor& t) { return jvp(f, t, scalar(1.0)).second; };
  };
  for (const std::int64_t n : {2, 3, 4, 5, 9})
    for (const double c : {0.1, 1.0, 3.0}) {
      INFO("order " << n << ", " << c);
      const Tensor a = c * roll(eye(n), 1, 1) * triu(ones({n, n})), e = drawn({n, n}, "e");
      const auto f = [&](const Tensor& t) { return expm(a + t * e); };
      const Tensor zero = scalar(0.0);
      CHECK(relative(f(zero), coefficient_of_exp(a, e, 0)) < 1e-15);
      CHECK(relative(along(f)(zero), coefficient_of_exp(a, e, 1)) < 2e-15);
      CHECK(relative(along(along(f))(zero), 2 * coefficient_of_exp(a, e, 2)) < 4e-15);
      CHECK(relative(along(along(along(f)))(zero), 6 * coefficient_of_exp(a, e, 3)) < 2e-14);
      const Tensor w = drawn({n, n}, "w");
      const auto pulled = [&](const Tensor& t) { return grad([&](const Tensor& s) { return sum(w * f(s)); })(t); };
      CHECK(along(pulled)(zero).item() ==
            Approx(2 * sum(w * coefficient_of_exp(a, e, 2)).item()).epsilon(1e-12).margin(1e-13));
    }
}

TEST_CASE("expm of large matrices: scaled, squared, and out of range") {
  const Tensor turn = tensor({{0, -1000}, {1000, 0}}), y = expm(turn);
  CHECK(relative(y, tensor({{std::cos(1000), -std::sin(1000)}, {std::sin(1000), std::cos(1000)}})) < 1e-11);
  CHECK(expm(tensor({{-1e300}})).item() == 0);
  CHECK(expm(tensor({{800}})).item() == inf);
  CHECK(expm(full({3, 3}, 1.7e308)).shape() == Shape{3, 3});
  for (const double large : {1e300, 1.7e308}) {
    CHECK(sqrtm(full({3, 3}, large)).shape() == Shape{3, 3});
    CHECK_THROWS_AS(sylvester(full({3, 3}, large), eye(3), eye(3)), ValueError);
  }
  const Tensor a = drawn({40, 40}, "a");
  CHECK(relative(matmul(expm(a), expm(-a)), eye(40)) < 1e-11);
  CHECK(relative(expm_frechet(a, a), matmul(a, expm(a))) < 1e-13);
}

// c times the edges of the path 0, 1, ..., 6, whose last node has edges to all others: power 7 has a row of c^7.
Tensor path_with_fan(std::int64_t n, double c) {
  std::vector<double> edges(static_cast<std::size_t>(n * n));
  for (std::int64_t i = 0; i < 6; ++i) edges[static_cast<std::size_t>(i * n + i + 1)] = c;
  for (std::int64_t j = 7; j < n; ++j) edges[static_cast<std::size_t>(6 * n + j)] = c;
  return from_data(edges, {n, n});
}

TEST_CASE("expm chooses its degree by sums of columns, for small and large orders") {
  const double c = 0.0125, seventh = std::pow(c, 7);
  for (const std::int64_t n : {28, 32, 64}) {
    INFO(n);
    const Tensor a = path_with_fan(n, c);
    // Sums of columns let degree 3 suffice, whose coefficient 7 is 1 / 4800. Sums of rows ask for degree 5.
    for (const double element : slice(expm(a), {0, range(7, n)}).to_vector())
      CHECK(element / seventh == Approx(1.0 / 4800).epsilon(1e-12));
    for (const double element : slice(expm(transpose(a)), {range(7, n), 0}).to_vector())
      CHECK(element / seventh == Approx(1.0 / 5040).epsilon(1e-12));
  }
}

TEST_CASE("expm scales by powers up to 10: more halvings would cost digits") {
  // I + c N with N^5 = 0: power 6 asks for 18 halvings, powers 8 and 10 for 9, each of which doubles rounding errors.
  const double c = 0x1p20;
  for (const std::int64_t n : {5, 40}) {
    std::vector<double> elements(static_cast<std::size_t>(n * n));
    for (std::int64_t i = 0; i < 5; ++i) elements[static_cast<std::size_t>(i * n + i)] = 1;
    for (std::int64_t i = 0; i < 4; ++i) elements[static_cast<std::size_t>(i * n + i + 1)] = c;
    const std::vector<double> got = expm(from_data(elements, {n, n})).to_vector();
    double expected = std::exp(1);
    for (std::int64_t j = 0; j < 5; expected *= c / static_cast<double>(++j))
      CHECK(got[static_cast<std::size_t>(j)] / expected == Approx(1).epsilon(2e-13));
  }
}

TEST_CASE("expm scales by powers of magnitudes where those of the matrix cancel") {
  // Layers of two nodes, with edges c [1, 1; 1, -1] to the next layer: power 27 is c^27 2^13 times that. A norm of
  // power 4 of sqrt(2) c asks for no halving, that of |a|^27 for one. Without it the element has an error of 1e-7.
  constexpr std::int64_t layers = 28, n = 2 * layers;
  const double c = 47.0 / 16;
  std::vector<double> edges(static_cast<std::size_t>(n * n));
  for (std::int64_t i = 0; i + 2 < n; ++i)
    for (std::int64_t j = 0; j < 2; ++j)
      edges[static_cast<std::size_t>(i * n + i / 2 * 2 + 2 + j)] = i % 2 == 1 && j == 1 ? -c : c;
  const std::vector<double> got = expm(from_data(edges, {n, n})).to_vector();
  const double expected = std::exp(27 * std::log(c) + 13 * std::log(2) - std::lgamma(28));
  CHECK(got[n - 1] / expected == Approx(1).epsilon(1e-10));
  CHECK(got[2 * n - 1] / expected == Approx(-1).epsilon(1e-10));
}

TEST_CASE("the square root squared and expm of the logarithm give the matrix, for larger matrices") {
  const Tensor a = drawn({30, 30}, "a") + 8 * eye(30);
  CHECK(relative(matmul(sqrtm(a), sqrtm(a)), a) < 1e-14);
  CHECK(relative(expm(logm(a)), a) < 1e-13);
  const Tensor c = make_complex(a, drawn({30, 30}, "imaginary"));
  CHECK(relative(matmul(sqrtm(c), sqrtm(c)), c) < 1e-14);
  CHECK(relative(expm(logm(c)), c) < 1e-13);
  const Tensor b = drawn({20, 20}, "b") + 3 * eye(20), q = drawn({30, 20}, "q"), x = sylvester(a, b, q);
  CHECK(largest(matmul(a, x) + matmul(x, b) - q) < 1e-13);
  // Eigenvalues in pairs beside the negative axis: a rotation by 3 radians.
  const Tensor turn = tensor({{std::cos(3), -std::sin(3)}, {std::sin(3), std::cos(3)}});
  CHECK(relative(logm(turn), tensor({{0, -3}, {3, 0}})) < 4e-15);
  CHECK(relative(sqrtm(turn), tensor({{std::cos(1.5), -std::sin(1.5)}, {std::sin(1.5), std::cos(1.5)}})) < 4e-15);
}

TEST_CASE("expm of a matrix with square 0: its finite series, at every magnitude and to every order") {
  const Tensor a = tensor({{1, 1}, {-1, -1}}), e = drawn({2, 2}, "e");
  for (const double size : {0x1p83, 0x1p200, 0x1p1000}) CHECK(array_equal(expm(size * a), size * a + eye(2)));
  // e + (a e + e a) / 2 + a e a / 6
  const Tensor first = e + 0.5 * (matmul(a, e) + matmul(e, a)) + matmul(matmul(a, e), a) / 6;
  CHECK(relative(expm_frechet(a, e), first) < 1e-15);
  const Tensor large = 0x1p100 * a, of_large = 0x1p200 * matmul(matmul(a, e), a) / 6;
  CHECK(relative(expm_frechet(large, e), of_large) < 1e-15);
  linalg::check([](const support::Tensors& x) { return support::Tensors{expm(x[0])}; }, {a}, {.order = 3});
}

TEST_CASE("logm and sqrtm of triangular matrices take eigenvalues from the diagonal") {
  const Tensor graded = diag(tensor({1e20, -1e-3}));
  for (const Tensor& a : {graded, graded + tensor({{0, 1}, {0, 0}}), graded + tensor({{0, 0}, {1, 0}})})
    for (const MatrixOp f : {sqrtm, logm}) {
      CHECK_THROWS_AS(f(a), ValueError);
      CHECK(largest(imag(f(cast(a, DType::complex128)))) > 0.03);
    }
  for (const Tensor& below : {zeros({2, 2}), tensor({{0, 0}, {1, 0}})}) {
    const Tensor a = abs(graded) + below;
    CHECK(slice(sqrtm(a), {1, 1}).item() == std::sqrt(1e-3));
    CHECK(slice(logm(a), {1, 1}).item() == std::log(1e-3));
    CHECK(slice(sqrtm(a), {0, 1}).item() == 0);
    CHECK(largest(derivative(sqrtm, a, ones({2, 2}))) == Approx(0.5 / std::sqrt(1e-3)));
  }
  const Tensor q = tensor({{3}, {4}}), b = tensor({{1}});
  for (const Tensor& a : {diag(tensor({1e20, 1})), diag(tensor({1, 1e20})) + tensor({{0, 1}, {0, 0}}),
                          diag(tensor({1, 1e20})) + tensor({{0, 0}, {1, 0}})})
    CHECK(relative(sylvester(a, b, q), solve(a + eye(2), q)) < 1e-15);
  CHECK_THROWS_AS(sylvester(diag(tensor({1e20, -1})), b, q), ValueError);
  CHECK_THROWS_AS(sylvester(diag(tensor({1e20, std::nextafter(-1, 0)})), b, q), ValueError);
}

TEST_CASE("the logarithm of a matrix that is singular to rounding is an error") {
  const Tensor left = drawn({3, 2}, "left"), singular = matmul(left, drawn({2, 3}, "right"));
  CHECK_THROWS_AS(logm(singular), ValueError);
  CHECK_THROWS_WITH(logm(make_complex(stack({eye(3), singular}), zeros({2, 3, 3}))),
                    Contains("logm: an eigenvalue of matrix [1] is zero") && !Contains("complex128"));
}

TEST_CASE("sqrtm, logm and sylvester of matrices close to overflow") {
  const Tensor small = tensor({{1, 1}, {1, 1.5}}), a = 1e308 * small, e = drawn({2, 2}, "e");
  const Tensor root = sqrtm(a);
  CHECK(relative(root, 1e154 * sqrtm(small)) < 4e-15);
  CHECK(relative(derivative(sqrtm, a, e), 1e-154 * derivative(sqrtm, small, e)) < 1e-14);
  CHECK(largest(logm(a) - logm(small) - 308 * std::log(10) * eye(2)) < 1e-12);
  CHECK(relative(derivative(logm, a, 1e100 * e), 1e-208 * derivative(logm, small, e)) < 1e-14);
  CHECK(relative(sylvester(a, eye(2), a), solve(small, small)) < 1e-14);
}

TEST_CASE("functions of 1 x 1 matrices have the derivatives of the functions of numbers, up to order 5") {
  const double x = 1.75;
  const auto orders = [&](MatrixOp f) {
    Tensor y;
    std::vector<double> all;
    std::function<Tensor(const Tensor&, int)> nested = [&](const Tensor& a, int order) {
      if (order == 0) return f(a);
      GradientTape tape;
      tape.watch(a);
      return *tape.gradient(nested(a, order - 1), a);
    };
    for (int order = 0; order <= 5; ++order) all.push_back(nested(tensor({{x}}), order).item());
    return all;
  };
  const std::vector<double> exponential = orders(expm), logarithm = orders(logm), root = orders(sqrtm);
  double log_factor = 1, root_factor = 1;
  for (int k = 0; k <= 5; ++k) {
    INFO("order " << k);
    const auto at = static_cast<std::size_t>(k);
    CHECK(exponential[at] == Approx(std::exp(x)).epsilon(1e-14));
    CHECK(logarithm[at] == Approx(k == 0 ? std::log(x) : log_factor * std::pow(x, -k)).epsilon(1e-13));
    CHECK(root[at] == Approx(root_factor * std::pow(x, 0.5 - k)).epsilon(1e-13));
    if (k > 0) log_factor *= -k;
    root_factor *= 0.5 - k;
  }
}

TEST_CASE("derivatives of functions of matrices: both modes and differences, to order 3, at repeated eigenvalues too") {
  const Tensor defective = tensor({{2, 1, 0}, {0, 2, 1}, {0, 0, 2}});
  for (const MatrixOp f : {expm, sqrtm, logm})
    for (const Tensor& a : {defective, Tensor(2.0 * eye(3))})
      linalg::check([f](const support::Tensors& x) { return support::Tensors{f(x[0])}; }, {a},
                    {.order = 3, .slack = 4});
  // The third derivative of exp at a along commuting directions is their product times exp.
  const Tensor a = drawn({3, 3}, "a");
  const Tensor e = expm(a), cube = matmul(matmul(matmul(a, a), a), e);
  const auto along = [](const support::Function& f, const Tensor& direction) {
    return support::Function([=](const support::Tensors& x) { return support::push(f, x, {direction}); });
  };
  support::Function f = [](const support::Tensors& x) { return support::Tensors{expm(x[0])}; };
  for (int k = 0; k < 3; ++k) f = along(f, 1.0 * a);
  CHECK(relative(f({a})[0], cube) < 1e-13);
}

TEST_CASE("functions of matrices have the precision of the dtype") {
  const Tensor a = drawn({3, 3}, "a") + 4 * eye(3);
  for (const MatrixOp f : {expm, sqrtm, logm}) {
    CHECK(f(cast(a, DType::float32)).dtype() == DType::float32);
    CHECK(f(cast(a, DType::bfloat16)).dtype() == DType::bfloat16);
    CHECK(f(cast(a, DType::complex64)).dtype() == DType::complex64);
    CHECK(f(cast(round(a), DType::int32)).dtype() == DType::float64);
    const Tensor narrow = cast(a, DType::float32);
    CHECK(array_equal(f(narrow), cast(f(cast(narrow, DType::float64)), DType::float32)));
  }
  const Tensor narrow = cast(a, DType::float32);
  GradientTape tape;
  tape.watch(narrow);
  CHECK((*tape.gradient(expm(narrow), narrow)).dtype() == DType::float32);
}

TEST_CASE("matrices without a function value: NaN, or an error that names the matrix and the remedy") {
  const Tensor one = stack({eye(2), full({2, 2}, quiet_nan), eye(2) * 4});
  for (const MatrixOp f : {expm, sqrtm, logm}) {
    const Tensor y = f(one);
    CHECK(array_equal(slice(y, {0}), f(eye(2))));
    CHECK(all(isnan(slice(y, {1}))).item() == 1);
    CHECK(array_equal(slice(y, {2}), f(eye(2) * 4)));
  }
  const Tensor negative_one = stack({eye(2), -1.0 * eye(2)});
  CHECK_THROWS_WITH(sqrtm(negative_one), Contains("sqrtm: an eigenvalue of matrix [1] is negative") &&
                                             Contains("cast it to complex128 first"));
  CHECK_THROWS_WITH(logm(zeros({2, 2})), Contains("logm: an eigenvalue is negative or zero"));
  CHECK_THROWS_AS(logm(zeros({2, 2}, DType::complex128)), ValueError);
  const Tensor imaginary = sqrtm(cast(negative_one, DType::complex128));
  CHECK(largest(abs(matmul(imaginary, imaginary) - negative_one)) < 1e-15);
  CHECK(imag(logm(cast(tensor({{-1}}), DType::complex128))).item() == Approx(std::numbers::pi).epsilon(1e-15));
  // A singular matrix may have a square root; its derivative is infinite.
  const Tensor singular = tensor({{4, 0}, {0, 0}});
  CHECK(array_equal(sqrtm(singular), tensor({{2, 0}, {0, 0}})));
  CHECK(largest(derivative(sqrtm, singular, ones({2, 2}))) == inf);
  const Tensor rank_one = matmul(drawn({3, 1}, "u"), drawn({3, 1}, "u"), {.transpose_b = true});
  CHECK(relative(matmul(sqrtm(rank_one), sqrtm(rank_one)), rank_one) < 1e-7);
  CHECK_THROWS_WITH(sylvester(eye(2), -1.0 * eye(2), ones({2, 2})),
                    Contains("sylvester: an eigenvalue of a is the negative of one of b"));
  CHECK_THROWS_WITH(sylvester(eye(2), eye(3), ones({3, 2})), Contains("q is [3, 2]"));
  CHECK_THROWS_WITH(expm(ones({2, 3})), Contains("expm: a must be square"));
  CHECK_THROWS_WITH(expm_frechet(eye(2), eye(3)), Contains("both must have as many rows"));
}
