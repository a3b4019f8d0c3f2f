// Banded, tridiagonal and Toeplitz systems: pivoting, long systems, gradients of what is not read, dtypes, errors.
#include <limits>
#include <reel/linalg.hpp>
#include <reel/ops/arranging.hpp>

#include "catch.hpp"
#include "linalg/check.hpp"
#include "support/numbers.hpp"

using namespace reel;
using Catch::Contains;
using support::largest;

namespace {

Tensor drawn(const Shape& shape, const char* seed) { return support::Random(seed).tensor(shape); }

// The dense matrix of a band.
Tensor dense(const Tensor& bands, std::int64_t below, std::int64_t above) {
  const std::int64_t n = bands.shape()[1];
  return make_tensor<double>({n, n}, [&](std::span<double> a) {
    const std::vector<double> band = bands.to_vector();
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = std::max<std::int64_t>(0, i - below); j <= std::min(n - 1, i + above); ++j)
        a[static_cast<std::size_t>(i * n + j)] = band[static_cast<std::size_t>((above + i - j) * n + j)];
  });
}

}  // namespace

TEST_CASE("banded systems are solved with pivoting") {
  for (const auto& [below, above] : {std::pair{1, 1}, {2, 1}, {1, 3}, {3, 0}, {0, 2}, {4, 4}}) {
    Tensor bands = drawn({below + above + 1, 40}, "bands");  // as large beside the diagonal as on it
    if (below == 0 || above == 0) bands = bands + 3.0 * reshape(one_hot(above, below + above + 1), {-1, 1});
    const Tensor b = drawn({40, 3}, "b"), a = dense(bands, below, above), x = banded_solve(bands, below, above, b);
    INFO(below << " below, " << above << " above");
    CHECK(largest(matmul(a, x) - b) <= 1e-13 * (1 + largest(matmul(abs(a), abs(x)))));
    CHECK(largest(x - solve(a, b)) <= 1e-9 * largest(x));
  }
  // A zero on the diagonal is no pivot.
  CHECK(array_equal(tridiagonal_solve(tensor({2}), tensor({0, 0}), tensor({4}), tensor({8, 6})), tensor({3, 2})));
  CHECK(array_equal(banded_solve(tensor({{0, 4}, {0, 0}, {2, 0}}), 1, 1, tensor({8, 6})), tensor({3, 2})));
}

TEST_CASE("a tridiagonal system of a million rows takes linear time and memory, its gradient too") {
  const std::int64_t n = 1'000'000;
  const Tensor side = full({n - 1}, -1.0), diagonal = full({n}, 2.5);
  const Tensor x = sin(arange(n) * 1e-3);
  const auto product = [&](const Tensor& v) {
    const Tensor zero = zeros({1}), inner = slice(v, {range(0, n - 1)}), outer = slice(v, {range(1, n)});
    return diagonal * v + concatenate({zero, side * inner}) + concatenate({side * outer, zero});
  };
  const Tensor right = product(x);
  GradientTape tape;
  tape.watch(diagonal);
  const Tensor y = tridiagonal_solve(side, diagonal, side, right);
  CHECK(largest(y - x) < 1e-12);
  // a is symmetric: the gradient of sum(y) by the diagonal is -z y where a z = 1.
  const Tensor z = tridiagonal_solve(side, diagonal, side, ones({n}));
  CHECK(largest(*tape.gradient(sum(y), diagonal) + z * y) < 1e-12);
}

TEST_CASE("unused elements of a structured matrix get gradient 0") {
  const Tensor bands = drawn({4, 3}, "bands") + 6.0 * reshape(one_hot(2, 4), {4, 1}), b = drawn({3}, "b");
  GradientTape tape;
  tape.watch(bands);
  const Tensor g = *tape.gradient(banded_solve(bands, 1, 2, b), bands);
  for (const auto& [i, j] : {std::pair{0, 0}, {0, 1}, {1, 0}, {3, 2}}) CHECK(slice(g, {i, j}).item() == 0);
  CHECK(slice(g, {0, 2}).item() != 0);
  const Tensor column = tensor({5, 1, 2}), row = tensor({-7, 0.5, 1});
  GradientTape second;
  second.watch(row);
  const Tensor x = toeplitz_solve(column, row, b);
  CHECK(largest(matmul(toeplitz(column, row), x) - b) < 1e-15);
  CHECK(slice(*second.gradient(x, row), {0}).item() == 0);
}

TEST_CASE("a symmetric Toeplitz system against its known solution: Kac, Murdock and Szego's matrix") {
  const double rho = 0.9;
  const std::int64_t n = 200;
  const Tensor column = exp(arange(static_cast<double>(n)) * std::log(rho)), b = drawn({n}, "b");
  const Tensor x = toeplitz_solve(column, column, b);
  // Its inverse is tridiagonal.
  const double factor = 1 / (1 - rho * rho);
  const Tensor inner = full({n}, (1 + rho * rho) * factor) - rho * rho * factor * (one_hot(0, n) + one_hot(n - 1, n));
  const Tensor side = full({n - 1}, -rho * factor), zero = zeros({1});
  const Tensor expected = inner * b + concatenate({zero, side * slice(b, {range(0, n - 1)})}) +
                          concatenate({side * slice(b, {range(1, n)}), zero});
  CHECK(largest(x - expected) < 1e-12);
}

TEST_CASE("derivatives of structured solvers, real and complex, to order 3") {
  const Tensor bands = drawn({3, 4}, "bands") + 6.0 * reshape(one_hot(1, 3), {3, 1}), b = drawn({4}, "b");
  linalg::check([](const support::Tensors& x) { return support::Tensors{banded_solve(x[0], 1, 1, x[1])}; }, {bands, b},
                {.order = 3, .slack = 4});
  const Tensor c = drawn({3}, "c") + 6.0 * one_hot(0, 3), r = drawn({3}, "r");
  linalg::check(
      [](const support::Tensors& x) {
        const Tensor y = toeplitz_solve(make_complex(x[0], x[1]), make_complex(x[1], x[0]), x[2]);
        return support::Tensors{real(y), imag(y)};
      },
      {c, r, drawn({3}, "right")}, {.order = 3, .slack = 4});
}

TEST_CASE("banded Cholesky factors: the dense ones, derivatives to order 3, long bands, what is not read") {
  const std::int64_t n = 6;
  for (const std::int64_t below : {0, 1, 3}) {
    INFO(below << " diagonals");
    const Tensor p = drawn({below + 1, n}, "p") + 7.0 * reshape(one_hot(0, below + 1), {-1, 1});
    const Tensor q = 0.5 * drawn({below + 1, n}, "q");
    // The same matrix from its lower triangle, and the factor's band.
    const auto whole = [&](const Tensor& x) { return dense(x, below, 0); };
    const Tensor l = banded_cholesky(p);
    CHECK(largest(whole(l) - cholesky(whole(p))) < 1e-14);
    const Tensor b = drawn({n, 2}, "b");
    const Tensor x = banded_triangular_solve(l, banded_triangular_solve(l, b), {.adjoint = true});
    const Tensor a = whole(p) + transpose(tril(whole(p), -1));
    CHECK(largest(matmul(a, x) - b) < 1e-13);
    CHECK(largest(banded_triangular_solve(p, b) - triangular_solve(whole(p), b)) < 1e-14);
    linalg::check_one([](const support::Tensors& t) { return banded_cholesky(t[0]); }, {p}, {.order = 3, .slack = 4});
    linalg::check(
        [](const support::Tensors& t) {
          const Tensor z = banded_cholesky(make_complex(t[0], t[1]));
          return support::Tensors{real(z), imag(z)};
        },
        {p, q}, {.order = 3, .slack = 4});
    // All cotangents at once, of first and of second order, are the cotangents one by one.
    const auto slope = grad([](const Tensor& t) { return sum(exp(banded_cholesky(t))); });
    const Tensor rows = jacobian([](const Tensor& t) { return flatten(banded_cholesky(t)); })(p);
    const Tensor of_slope = jacobian(slope)(p);
    for (std::int64_t k = 0; k < p.size(); ++k) {
      const auto element = [k](const Tensor& t) { return flatten(banded_cholesky(t))(k); };
      CHECK(array_equal(rows(k), grad(element)(p)));
      const auto of_element = [&](const Tensor& t) { return flatten(slope(t))(k); };
      CHECK(largest(reshape(of_slope, {p.size(), below + 1, n})(k) - grad(of_element)(p)) < 1e-15);
    }
    // The gradient of a Jacobian, whose entries have more batch axes than the factor.
    const auto squares = [](const Tensor& t) { return sum(square(t)); };
    const auto of_band = [](const Tensor& t) { return flatten(banded_cholesky(t)); };
    Tensor of_rows = zeros_like(p);
    for (std::int64_t k = 0; k < p.size(); ++k) {
      const auto element = [&, k](const Tensor& t) { return of_band(t)(k); };
      of_rows = of_rows + grad([&](const Tensor& t) { return squares(grad(element)(t)); })(p);
    }
    CHECK(largest(grad([&](const Tensor& t) { return squares(jacobian(of_band)(t)); })(p) - of_rows) < 1e-14);
    const Tensor gradient = slope(p);
    for (std::int64_t d = 1; d <= below; ++d)
      for (std::int64_t j = n - d; j < n; ++j) {
        CHECK(gradient(d, j).item() == 0);
        CHECK(l(d, j).item() == 0);
      }
  }
  // A long band: squares of diagonal elements tend to 2, the root of x = 2.5 - 1 / x.
  const Tensor bands = stack({full({100000}, 2.5), full({100000}, -1.0)});
  const Tensor long_factor = banded_cholesky(bands);
  CHECK(square(long_factor(0, 99999)).item() == Approx(2).epsilon(1e-15));
  CHECK(long_factor(1, 99998).item() == Approx(-std::sqrt(0.5)).epsilon(1e-15));
  CHECK(std::isfinite(grad([](const Tensor& t) { return sum(log(banded_cholesky(t)(0))); })(bands)(0, 0).item()));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(std::isnan(banded_cholesky(tensor({{4, nan}, {1, 0}}))(0, 0).item()));
  CHECK(std::isnan(real(banded_cholesky(make_complex(tensor({{4, 4}}), tensor({{nan, 0}}))))(0, 1).item()));
  CHECK(banded_cholesky(tensor({{4, 4}, {2, nan}}))(1, 1).item() == 0);
  CHECK(banded_cholesky(ones({1, 2}, DType::int32)).dtype() == DType::float64);
  CHECK(banded_cholesky(ones({1, 2}, DType::float16)).dtype() == DType::float16);
  CHECK(banded_cholesky(zeros({2, 0})).shape() == Shape{2, 0});
  CHECK_THROWS_WITH(banded_cholesky(stack({tensor({{4, 4}, {1, 0}}), tensor({{1, 1}, {2, 0}})})),
                    Contains("banded_cholesky: the matrix is not positive definite: the leading minor of order 2 of "
                             "matrix [1]"));
  CHECK_THROWS_WITH(banded_cholesky(ones({3})), Contains("banded_cholesky: bands are [3]"));
  CHECK_THROWS_WITH(banded_cholesky(ones({0, 3})), Contains("banded_cholesky: bands are [0, 3]"));
  CHECK_THROWS_WITH(banded_triangular_solve(ones({3}), ones({3})), Contains("banded_triangular_solve: bands are [3]"));
  CHECK_THROWS_WITH(banded_triangular_solve(tensor({{1, 0}, {1, 0}}), ones({2})),
                    Contains("banded_triangular_solve: ") && Contains("pivot 2 is zero"));
  CHECK_THROWS_AS(banded_triangular_solve(ones({2, 3}), ones({2})), ShapeError);
}

TEST_CASE("householder_product: reflectors of one, complex ones, and errors") {
  const Tensor a = drawn({5, 3}, "a"), tau = tensor({0.5, 0, 1.5});
  linalg::check_one([](const support::Tensors& x) { return householder_product(x[0], x[1]); }, {a, tau},
                    {.order = 3, .slack = 4});
  // With tau = 2 / |v|^2 each factor is unitary, for complex vectors too.
  const Tensor z = make_complex(a, drawn({5, 3}, "b"));
  const Tensor v = tril(z, -1) + eye(5, 3), factors = 2.0 / sum(square(abs(v)), 0);
  const Tensor q = householder_product(z, factors);
  CHECK(q.dtype() == DType::complex128);
  CHECK(largest(abs(matmul(conj(transpose(q)), q) - eye(3))) < 1e-15);
  Tensor whole = eye(5);
  for (std::int64_t i = 0; i < 3; ++i) {
    const Tensor column = slice(v, {range_from(0), range(i, i + 1)});
    whole = matmul(whole, eye(5) - factors(i) * matmul(column, conj(transpose(column))));
  }
  CHECK(largest(abs(slice(whole, {range_from(0), range(0, 3)}) - q)) < 1e-15);
  CHECK(householder_product(cast(a, DType::float16), cast(tau, DType::float16)).dtype() == DType::float16);
  CHECK_THROWS_WITH(householder_product(transpose(a), tau), Contains("householder_product: a is [3, 5], tau [3]"));
  CHECK_THROWS_WITH(householder_product(a, ones({4})), Contains("m >= n >= k"));
  CHECK_THROWS_AS(householder_product(a, 1.0), ShapeError);
  CHECK_THROWS_AS(householder_product(ones({2, 5, 3}), ones({3, 2})), ShapeError);
}

TEST_CASE("structured solvers: dtypes, NaN and errors") {
  const Tensor bands = tensor({{0, 1, 1}, {4, 4, 4}, {1, 1, 0}}), b = tensor({1, 2, 3});
  for (const DType dtype : {DType::float32, DType::complex64, DType::float16}) {
    const Tensor x = banded_solve(cast(bands, dtype), 1, 1, cast(b, dtype));
    CHECK(x.dtype() == dtype);
    CHECK(toeplitz_solve(cast(b, dtype), b, cast(b, DType::int32)).dtype() == promote(dtype, DType::float64));
  }
  CHECK(all(isnan(banded_solve(full({3, 3}, std::numeric_limits<double>::quiet_NaN()), 1, 1, b))).item() == 1);
  CHECK_THROWS_WITH(banded_solve(stack({bands, zeros({3, 3})}), 1, 1, b),
                    Contains("banded_solve: the matrix is singular: pivot 1 of matrix [1] is zero"));
  CHECK_THROWS_WITH(tridiagonal_solve(ones({1}), ones({2}), ones({1}), ones({2})),
                    Contains("tridiagonal_solve: ") && Contains("pivot 2 is zero"));
  CHECK_THROWS_WITH(tridiagonal_solve(ones({2}), ones({2}), ones({1}), ones({2})), Contains("lower is [2]"));
  CHECK_THROWS_WITH(toeplitz_solve(ones({3}), ones({3}), b), Contains("the leading minor of order 2 is singular"));
  CHECK_THROWS_WITH(toeplitz_solve(tensor({0, 1}), tensor({0, 1}), ones({2})), Contains("of order 1 is singular"));
  CHECK_THROWS_WITH(banded_solve(bands, 1, 2, b), Contains("bands are [3, 3]; with 1 diagonals below and 2 above"));
  CHECK_THROWS_WITH(banded_solve(bands, 1, 1, ones({2})), Contains("must be a vector of 3 elements or have 3 rows"));
}
