// cholesky, solve, triangular_solve, inverse, det and slogdet of complex matrices: residuals, known values, derivatives
// of both modes to third order, singular and non-finite input.
#include <complex>
#include <cstring>
#include <limits>
#include <reel/ops/sorting.hpp>

#include "complex_check.hpp"
#include "linalg/blocked.hpp"
#include "linalg/plain_factors.hpp"
#include "support/numbers.hpp"

using namespace reel;
using complex_check::adjoint, complex_check::check_orders, complex_check::drawn, complex_check::hermitian;
using support::largest;
using support::Layout, support::Tensors;

namespace {

using C = std::complex<double>;

Tensor unit(std::int64_t n, DType d) { return cast(eye(n), d); }
Tensor regular(support::Random& random, const Shape& shape, DType d = DType::complex128) {
  return drawn(random, shape, d) + cast(3 * eye(shape.back()), d);
}
Tensor positive(support::Random& random, const Shape& shape, DType d = DType::complex128) {
  const Tensor x = drawn(random, shape, d);
  return matmul(x, adjoint(x)) + unit(shape.back(), d);
}

}  // namespace

TEST_CASE("the inverse of a complex matrix that holds NaN or infinity is NaN") {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    for (const std::int64_t n : {1, 2, 3, 5, 40})
      for (const DType d : {DType::complex64, DType::complex128}) {
        const Tensor a = cast(where(equal(reshape(arange(n * n), {n, n}), n * n / 2), bad, eye(n)), d);
        CHECK(all(isnan(real(inverse(a)))).item<bool>());
      }
}

TEST_CASE("complex factorisations leave small residuals") {
  for (const DType d : {DType::complex64, DType::complex128}) {
    const double eps = d == DType::complex64 ? 0x1p-23 : 0x1p-52;
    support::Random random("residuals");
    for (const std::int64_t n : {0, 1, 2, 5, 33, 120}) {
      CAPTURE(n, name(d));
      const double bound = 40 * eps * static_cast<double>(n + 1);
      const Tensor a = regular(random, {2, n, n}, d), b = drawn(random, {2, n, 3}, d);
      const Tensor x = solve(a, b), z = inverse(a);
      REQUIRE(x.dtype() == d);
      CHECK(largest(matmul(a, x) - b) <= bound * (1 + largest(a) * largest(x)));
      CHECK(largest(matmul(a, z) - unit(n, d)) <= bound * (1 + largest(a) * largest(z)));
      const Tensor p = positive(random, {2, n, n}, d), l = cholesky(p);
      REQUIRE(l.dtype() == d);
      CHECK(largest(matmul(l, adjoint(l)) - p) <= bound * (1 + largest(p)));
      CHECK(array_equal(l, tril(l)));
      CHECK(all(equal(imag(diagonal(l)), 0)).item<bool>());
      const Tensor lower = triangular_solve(l, b), upper = triangular_solve(l, b, {.transpose = true});
      CHECK(largest(matmul(l, lower) - b) <= bound * (1 + largest(l) * largest(lower)));
      CHECK(largest(matmul(l, upper, {.transpose_a = true}) - b) <= bound * (1 + largest(l) * largest(upper)));
      const auto [sign, logdet] = slogdet(p);
      REQUIRE((sign.dtype() == d && is_floating(logdet.dtype())));
      CHECK(largest(sign - unit(1, d)[0]) <= bound);
      if (n > 0) CHECK(largest(logdet - 2 * sum(log(real(diagonal(l))), -1)) <= bound * (1 + largest(logdet)));
      const SignLogDet of_a = slogdet(a);
      if (n < 40) CHECK(largest(det(a) - of_a.sign * exp(of_a.logdet)) <= bound * (1 + largest(det(a))));
    }
  }
}

TEST_CASE("complex determinants: values") {
  const Tensor a = from_data(std::vector<C>{{1, 1}, {2, 0}, {0, 1}, {0, -1}}, {2, 2});
  CHECK(det(a).item<C>() == C(1, -3));  // (1+i)(-i) - 2i
  const SignLogDet s = slogdet(a);
  CHECK(std::abs(s.sign.item<C>() - C(1, -3) / std::sqrt(10.0)) <= 1e-15);
  CHECK(s.logdet.item() == Approx(std::log(10.0) / 2).epsilon(1e-15));
  // The product of the eigenvalues of a triangle, in rows that need pivots, of size 2^±900 each.
  const Tensor rows = from_data(
      std::vector<C>{{0, 0}, {0, 0x1p-900}, {0, 0}, {0x1p900, 0}, {3, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 2}}, {3, 3});
  CHECK(det(stack({rows, rows}))[1].item<C>() == C(2, 0));  // -(i 2^-900)(2^900)(2i)
  const SignLogDet big = slogdet(0x1p700 * unit(3, DType::complex128) * C(0, 1));
  CHECK(big.logdet.item() == Approx(2100 * std::log(2.0)).epsilon(1e-15));
  CHECK(std::abs(big.sign.item<C>() - C(0, -1)) <= 1e-15);
  CHECK(det(zeros({2, 0, 0}, DType::complex64)).to_vector<std::complex<float>>() ==
        std::vector<std::complex<float>>(2, 1));
}

TEST_CASE("C8: complex factorisations in both modes, to third order") {
  support::Random random("orders");
  const Tensor a = regular(random, {3, 3}), b = drawn(random, {3, 2}), v = drawn(random, {3});
  const Tensor stacked = regular(random, {2, 3, 3});
  const auto on = [](auto f) { return [f](const Tensors& x) { return Tensors{f(x)}; }; };
  check_orders(on([](const Tensors& x) { return solve(x[0], x[1]); }), {a, b}, 3, 10);
  check_orders(on([](const Tensors& x) { return solve(x[0], x[1]); }), {a, v}, 2, 10);
  check_orders(on([](const Tensors& x) { return solve(x[0], x[1]); }), {stacked, b}, 2, 10);
  for (const TriangularOptions options :
       {TriangularOptions{}, TriangularOptions{.lower = false}, TriangularOptions{.transpose = true},
        TriangularOptions{.lower = false, .transpose = true, .unit_diagonal = true}}) {
    check_orders(on([options](const Tensors& x) { return triangular_solve(x[0], x[1], options); }), {a, b}, 3, 20);
    check_orders(on([options](const Tensors& x) { return triangular_solve(x[0], x[1], options); }), {stacked, v}, 1,
                 20);
  }
  check_orders(on([](const Tensors& x) { return inverse(x[0]); }), {stacked}, 3, 10);
  check_orders(on([](const Tensors& x) { return cholesky(hermitian(x[0])); }), {positive(random, {2, 3, 3})}, 3, 20);
  for (const std::int64_t n : {1, 2, 3, 4, 5}) {
    CAPTURE(n);
    const Tensor m = regular(random, {2, n, n});
    check_orders(on([](const Tensors& x) { return det(x[0]); }), {m}, 3, 100);
    check_orders(
        [](const Tensors& x) {
          const SignLogDet s = slogdet(x[0]);
          return Tensors{s.sign, s.logdet};
        },
        {m}, 3, 10);
    check_orders(on([](const Tensors& x) { return slogdet(x[0]).sign; }), {m}, 2, 10);
    check_orders(on([](const Tensors& x) { return slogdet(x[0]).logdet; }), {m}, 2, 10);
  }
}

namespace {

// The determinant by Laplace's expansion of the rows that are left, without one column of each set, in long double.
using Wide = std::complex<long double>;
Wide expansion(const std::vector<C>& a, std::size_t n, std::size_t row, std::size_t left_out, unsigned columns) {
  if (row == left_out) return expansion(a, n, row + 1, left_out, columns);
  if (columns == 0) return 1;
  Wide sum = 0;
  long double sign = 1;
  for (std::size_t j = 0; j < n; ++j)
    if (columns >> j & 1) {
      sum += sign * Wide(a[row * n + j]) * expansion(a, n, row + 1, left_out, columns & ~(1u << j));
      sign = -sign;
    }
  return sum;
}
// The conjugated cofactors.
std::vector<C> cofactors(const Tensor& m) {
  const std::vector<C> a = m.to_vector<C>();
  const auto n = static_cast<std::size_t>(m.shape().back());
  std::vector<C> result;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      const Wide minor = expansion(a, n, 0, i, ((1u << n) - 1) & ~(1u << j));
      result.push_back(std::conj(C((i + j) % 2 ? -minor : minor)));
    }
  return result;
}
// Of rank `rank`, with singular values of about 1 otherwise.
Tensor of_rank(support::Random& random, std::int64_t n, std::int64_t rank, DType d = DType::complex128) {
  return matmul(drawn(random, {n, rank}, d), drawn(random, {rank, n}, d));
}

}  // namespace

TEST_CASE("complex det: the gradient of a singular matrix is its conjugated cofactors, for every rank") {
  support::Random random("complex cofactors");
  for (const std::int64_t n : {2, 3, 4, 5, 7})
    for (std::int64_t rank = 0; rank <= n; ++rank)
      for (const DType d : {DType::complex64, DType::complex128}) {
        CAPTURE(n, rank, name(d));
        // Small integers, whose products are exact: so is the rank.
        const Tensor parts = round(3 * random.tensor({4, n, n}));
        const auto part = [&](std::int64_t i) { return slice(parts[i], {all, range(0, rank)}); };
        const Tensor a = matmul(make_complex(part(0), part(1)), moveaxis(make_complex(part(2), part(3)), 0, 1));
        const std::vector<C> expected = cofactors(a);
        // Hadamard's bound of a minor: the product of the norms of all rows but the shortest.
        const Tensor norms = norm(a, 2, -1);
        const double size = prod(slice(sort(norms), {range_from(1)})).item();
        const Tensor x = cast(a, d);
        const auto got =
            cast(Tensor(grad([](const Tensor& y) { return real(det(y)); })(x)), DType::complex128).to_vector<C>();
        for (std::size_t i = 0; i < got.size(); ++i)
          CHECK(std::abs(got[i] - expected[i]) <= 100 * (d == DType::complex64 ? 0x1p-23 : 0x1p-52) * size);
      }
}

TEST_CASE("complex det of singular matrices in both modes, to third order") {
  support::Random random("singular orders");
  const auto f = [](const Tensors& x) { return Tensors{det(x[0])}; };
  for (const std::int64_t n : {4, 5, 6, 9, 11})
    for (const std::int64_t rank : {n - 1, n - 2, n - 3}) {
      CAPTURE(n, rank);
      check_orders(f, {of_rank(random, n, rank) * (2.0 / static_cast<double>(n))}, 3, 20);
    }
  check_orders(f, {stack({of_rank(random, 5, 4), regular(random, {5, 5}), zeros({5, 5}, DType::complex128)})}, 3, 100);
}

TEST_CASE("complex det: gradients of directional derivatives along directions that depend on the matrix") {
  // By minors of order 3, which are products and sums of elements.
  const auto by_minors = [](const Tensor& a) {
    const Tensor below = slice(a, {range_from(1)});
    Tensor sum = zeros({}, a.dtype());
    for (std::int64_t j = 0; j < 4; ++j) {
      const Tensor minor = concatenate({slice(below, {all, range(0, j)}), slice(below, {all, range(j + 1, 4)})}, 1);
      sum = sum + (j % 2 == 0 ? 1.0 : -1.0) * a[0][j] * det(minor);
    }
    return sum;
  };
  support::Random random("directional determinants");
  const DType d = DType::complex128;
  const Tensor c = drawn(random, {4, 4}, d), t = drawn(random, {4, 4}, d), u = drawn(random, {4, 4}, d),
               v = drawn(random, {4, 4}, d), w = drawn(random, {}, d);
  const auto orders = [&](const auto& f, const Tensor& x) {
    const auto first = [&](const Tensor& a) {
      const Tensor slope = jvp(f, a, a * c + t).second;
      return real(w * slope * slope);  // so that cotangents depend on the matrix, too
    };
    const auto second = [&](const Tensor& a) { return sum(real(conj(u) * grad(first)(a))); };
    const auto third = [&](const Tensor& a) { return sum(real(conj(v) * grad(second)(a))); };
    return Tensors{grad(first)(x), grad(second)(x), grad(third)(x)};
  };
  for (const Tensor& x : {regular(random, {4, 4}), of_rank(random, 4, 3), of_rank(random, 4, 2)}) {
    const Tensors got = orders([](const Tensor&a) { return det(a); }, x), expected = orders(by_minors, x);
    for (std::size_t i = 0; i < 3; ++i) {
      INFO("order " << i + 2 << ": " << largest(got[i] - expected[i]) << " of " << largest(expected[i]));
      CHECK(largest(got[i] - expected[i]) <= 1e-12 * (1 + largest(expected[i])));
    }
  }
}

TEST_CASE("complex det: badly scaled and large singular matrices") {
  // The cofactors of diag(1, ..., 1, 0): one, whatever the order and the scales of rows, and of a multiple by i.
  for (const std::int64_t n : {4, 8, 12, 40}) {
    CAPTURE(n);
    const Tensor e = expand_dims(cast(arange(n), DType::float64), 1);
    const Tensor scales = where(equal(e, 0), 0x1p400, where(equal(e, 1), 0x1p-400, 1.0));
    const Tensor a = cast(diag(cast(less(arange(n), n - 1), DType::float64)), DType::complex128) * scales * C(0, 1);
    const Tensor g = grad([](const Tensor& y) { return real(det(y)); })(a);
    const C corner = std::conj(std::pow(C(0, 1), static_cast<int>(n - 1)));
    CHECK(std::abs(g[n - 1][n - 1].item<C>() - corner) <= 1e-14);
    CHECK(largest(g - g * cast(eye(n), DType::complex128)) == 0);
    const Tensor bad =
        grad([](const Tensor& y) { return real(det(y)); })(a * C(std::numeric_limits<double>::quiet_NaN(), 0));
    CHECK(std::isnan(abs(bad).to_vector()[0]));
  }
}

TEST_CASE("complex factorisations: batched Jacobians agree with Jacobians row by row") {
  support::Random random("batched");
  const Tensor a = regular(random, {4, 4}), v = drawn(random, {4});
  const auto check = [&](const auto& f, const Tensor& at) {
    GradientTape tape({.persistent = true});
    tape.watch(at);
    const Tensor y = f(at), parts = concatenate({real(reshape(y, {-1})), imag(reshape(y, {-1}))}, 0);
    tape.stop();
    const Tensor rows = tape.jacobian(parts, at);
    for (std::int64_t i = 0; i < parts.size(); ++i) {
      const Tensor one = *tape.gradient(parts, at, {.output_gradients = eye(parts.size())[i]});
      CHECK(largest(rows[i] - one) <= 1e-12 * (1 + largest(one)));
    }
  };
  check([&](const Tensor& x) { return solve(x, v); }, a);
  check([&](const Tensor& x) { return triangular_solve(a, x, {.transpose = true}); }, v);
  check([&](const Tensor& x) { return cholesky(hermitian(x)); }, positive(random, {3, 3}));
  check([&](const Tensor& x) { return det(x); }, a);
  check([&](const Tensor& x) { return slogdet(x).sign; }, a);
  check([&](const Tensor& x) { return inverse(x); }, regular(random, {2, 2}));
}

TEST_CASE("complex cholesky reads the real diagonal and the lower triangle") {
  support::Random random("triangle");
  const Tensor p = positive(random, {4, 4});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor noise = cast(triu(full({4, 4}, 7.0), 1), DType::complex128) + C(0, 1) * eye(4) * 0.5;
  CHECK(array_equal(cholesky(p), cholesky(tril(p) + noise)));
  const Tensor spoilt = p + cast(tril(full({4, 4}, nan), -3), DType::complex128);
  CHECK(all(isnan(abs(diagonal(cholesky(spoilt))))).item<bool>());
}

TEST_CASE("complex factorisations: singular and non-finite matrices") {
  const Tensor singular = from_data(std::vector<C>{{1, 0}, {0, 1}, {0, 1}, {-1, 0}}, {2, 2}), b = ones({2});
  CHECK_THROWS_WITH(solve(singular, b), Catch::Contains("solve: a is singular: pivot 2 is zero"));
  CHECK_THROWS_AS(inverse(singular), ValueError);
  CHECK_THROWS_AS(cholesky(-unit(2, DType::complex64)), ValueError);
  CHECK_THROWS_AS(triangular_solve(zeros({2, 2}, DType::complex64), b), ValueError);
  CHECK(det(singular).item<C>() == C(0, 0));
  const SignLogDet s = slogdet(singular);
  CHECK((s.sign.item<C>() == C(0, 0) && s.logdet.item() == -std::numeric_limits<double>::infinity()));
  // The gradient of det at singular matrices up to order 3: the conjugated cofactors.
  const Tensor x = outer(tensor({1., 2., 3.}), cast(tensor({1., 1., -1.}), DType::complex128) * C(0, 1));
  GradientTape tape;
  tape.watch(x);
  const Tensor y = det(x + cast(diag(tensor({0., 0., 1.})), DType::complex128));
  const auto got = tape.gradient(real(y), x).dense().to_vector<C>();
  const C expected[] = {C(0, -2) * 1.0, C(0, 2), 0, C(0, 1), C(0, -1), 0, 0, 0, 0};
  for (std::size_t i = 0; i < 9; ++i) CHECK(std::abs(got[i] - expected[i]) <= 1e-14);
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    const Tensor a = unit(3, DType::complex128) * C(bad, 0);
    for (const Tensor& one : {solve(a, ones({3})), inverse(a), cholesky(a)[0], reshape(det(a), {1})})
      CHECK(std::isnan(abs(one).to_vector()[0]));
  }
}

TEST_CASE("complex factorisations: same bits for any layout and number of threads; mixed dtypes") {
  support::Random random("layouts");
  const Tensor a = regular(random, {6, 40, 40}), b = drawn(random, {6, 40, 2});
  const Tensor x = solve(a, b), t = triangular_solve(a, b), d = det(a);
  for (const Layout layout : {Layout::transposed, Layout::flipped, Layout::stepped}) {
    const Tensor view = laid_out(a, layout);
    CHECK(array_equal(solve(view, b), x));
    CHECK(largest(triangular_solve(view, b) - t) <= 1e-11 * largest(t));
    CHECK(array_equal(det(view), d));
  }
  const int before = num_threads();
  for (const int threads : {1, 2, 3, 7}) {
    set_num_threads(threads);
    CHECK(array_equal(solve(a, b), x));
    CHECK(array_equal(det(a), d));
  }
  set_num_threads(before);
  CHECK(solve(eye(2), ones({2}, DType::complex64)).dtype() == DType::complex128);
  CHECK(solve(eye(2, DType::float32), ones({2}, DType::complex64)).dtype() == DType::complex64);
}

// The code of a library built without OpenBLAS.
TEST_CASE("plain complex factorisations agree with the public ones") {
  support::Random random("plain");
  for (const std::int64_t n : {0, 1, 2, 7, 20}) {
    const Tensor p = positive(random, {n, n}), a = drawn(random, {n, n}), b = drawn(random, {n, 3});
    std::vector<C> l = p.to_vector<C>();
    REQUIRE(loops::blocked::potrf<C>(n, l.data(), n) == 0);
    CHECK(largest(tril(from_data(l, {n, n})) - cholesky(p)) <= 1e-12);
    std::vector<C> factors = a.to_vector<C>(), x = b.to_vector<C>(), z;
    std::vector<int> pivots(static_cast<std::size_t>(n));
    REQUIRE(loops::blocked::getrf<C>(n, factors.data(), n, pivots.data()) == 0);
    REQUIRE(loops::blocked::getrs<C>(false, n, 3, factors.data(), n, pivots.data(), x.data(), 3) == 0);
    const Tensor solution = from_data(x, {n, 3});
    CHECK(largest(matmul(a, solution) - b) <= 1e-12 * (1 + largest(solution)));
    x = b.to_vector<C>();
    REQUIRE(loops::blocked::getrs<C>(true, n, 3, factors.data(), n, pivots.data(), x.data(), 3) == 0);
    CHECK(largest(matmul(transpose(a), from_data(x, {n, 3})) - b) <= 1e-11 * (1 + largest(from_data(x, {n, 3}))));
    z = factors;
    REQUIRE(loops::blocked::getri<C>(n, z.data(), n, pivots.data()) == 0);
    CHECK(largest(from_data(z, {n, n}) - inverse(a)) <= 1e-11 * (1 + largest(inverse(a))));
  }
  std::vector<C> zero(4), indefinite{{1, 0}, {0, 0}, {2, 0}, {1, 0}};
  int pivots[2];
  CHECK(loops::blocked::getrf<C>(2, zero.data(), 2, pivots) == 1);
  CHECK(loops::blocked::getri<C>(2, zero.data(), 2, pivots) == 1);
  CHECK(loops::blocked::potrf<C>(2, indefinite.data(), 2) == 2);
}
