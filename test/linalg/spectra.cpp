// eigh, eigvalsh, eig, eigvals, svd, svdvals: identities, known values, derivatives of both modes to third order; equal
// eigenvalues and singular values, zeros, phases.
#include <complex>
#include <cstring>
#include <limits>
#include <reel/compile.hpp>
#include <reel/linalg.hpp>
#include <reel/ops/scans.hpp>

#include "complex_check.hpp"
#include "support/numbers.hpp"
#include "support/out_of_memory.hpp"

using namespace reel;
using complex_check::adjoint, complex_check::check_orders, complex_check::check_same_bits, complex_check::drawn,
    complex_check::drawn_in, complex_check::dtypes, complex_check::eps_of, complex_check::hermitian;
using support::largest;
using support::Tensors;

namespace {

using C = std::complex<double>;
using Catch::Contains;

bool any_nan(const Tensor& x) { return any(isnan(abs(x))).item<bool>(); }
// Eigenvalues, or singular values, are about 2 apart.
Tensor apart(const Tensor& x) {
  const std::int64_t m = x.shape()[-2], n = x.shape()[-1], k = std::min(m, n);
  const Tensor values = 2 * arange(1.0, static_cast<double>(k) + 0.5);
  Tensor d = diag(values);
  if (m > k) d = concatenate({d, zeros({m - k, n})}, 0);
  if (n > k) d = concatenate({d, zeros({m, n - k})}, 1);
  return 0.5 * x + cast(d, x.dtype());
}
Tensor column(const Tensor& v, std::int64_t i) { return slice(v, {ellipsis, range_from(0), range(i, i + 1)}); }
// The projection on a column, which does not depend on its phase.
Tensor projection(const Tensor& v, std::int64_t i) { return matmul(column(v, i), adjoint(column(v, i))); }

}  // namespace

TEST_CASE("eigh: orthonormal vectors, ascending values, one triangle") {
  for (const DType d : dtypes)
    for (const Shape& shape : {Shape{3, 3}, {1, 1}, {0, 0}, {2, 4, 4}, {0, 3, 3}, {60, 60}}) {
      CAPTURE(name(d), shape);
      support::Random random("eigh");
      const Tensor a = hermitian(drawn_in(random, shape, d));
      const std::int64_t n = shape[-1];
      const double bound = 20 * eps_of(d) * static_cast<double>(n + 1);
      const auto [w, v] = eigh(a);
      REQUIRE((v.dtype() == d && w.dtype() == real(a).dtype() && w.shape().back() == n && v.shape() == shape));
      CHECK(largest(matmul(a, v) - v * expand_dims(w, -2)) <= bound * (1 + largest(a)));
      CHECK(largest(matmul(adjoint(v), v) - cast(eye(n), d)) <= bound);
      if (n > 1) CHECK(all(greater_equal(diff(w), 0)).item<bool>());
      CHECK(largest(eigvalsh(a) - w) <= bound * (1 + largest(a)));
      const Tensor noise = cast(tril(full({n, n}, 9.0), -1), d);
      CHECK(array_equal(eigh(a + noise, {.lower = false}).eigenvalues, eigh(a, {.lower = false}).eigenvalues));
      CHECK(array_equal(eigh(a + moveaxis(noise, -1, -2)).eigenvectors, v));
      CHECK(array_equal(eigvalsh(a + moveaxis(noise, -1, -2)), eigvalsh(a)));
      if (n > 1 && a.size() > 0) CHECK_FALSE(array_equal(eigvalsh(a + noise), eigvalsh(a)));
    }
  CHECK(largest(eigvalsh(tensor({{2, 1}, {1, 2}})) - tensor({1, 3})) <= 1e-15);
  CHECK(largest(eigvalsh(from_data(std::vector<C>{{1, 0}, {0, -2}, {0, 2}, {1, 0}}, {2, 2})) - tensor({-1, 3})) <=
        1e-15);
}

TEST_CASE("svd: orthonormal vectors, descending values, the product") {
  for (const DType d : dtypes)
    for (const Shape& shape :
         {Shape{3, 3}, {5, 3}, {3, 5}, {1, 1}, {2, 4, 1}, {0, 0}, {3, 0}, {0, 3}, {0, 3, 2}, {50, 30}, {2, 30, 40}}) {
      CAPTURE(name(d), shape);
      support::Random random("svd");
      const Tensor a = drawn_in(random, shape, d);
      const std::int64_t m = shape[-2], n = shape[-1], k = std::min(m, n);
      const double bound = 20 * eps_of(d) * static_cast<double>(m + n + 1);
      const auto [u, s, vh] = svd(a);
      REQUIRE((u.shape()[-1] == k && s.shape().back() == k && vh.shape()[-2] == k && u.dtype() == d));
      CHECK(largest(matmul(u * expand_dims(s, -2), vh) - a) <= bound * (1 + largest(a)));
      CHECK(largest(matmul(adjoint(u), u) - cast(eye(k), d)) <= bound);
      CHECK(largest(matmul(vh, adjoint(vh)) - cast(eye(k), d)) <= bound);
      CHECK(all(greater_equal(s, 0)).item<bool>());
      if (k > 1) CHECK(all(less_equal(diff(s), 0)).item<bool>());
      CHECK(largest(svdvals(a) - s) <= bound * (1 + largest(a)));
      const Svd f = svd(a, {.full = true});
      REQUIRE((f.u.shape()[-1] == m && f.vh.shape()[-2] == n));
      CHECK(largest(matmul(adjoint(f.u), f.u) - cast(eye(m), d)) <= bound);
      CHECK(largest(matmul(f.vh, adjoint(f.vh)) - cast(eye(n), d)) <= bound);
      const Tensor first_u = slice(f.u, {ellipsis, range_from(0), range(0, k)}),
                   first_vh = slice(f.vh, {ellipsis, range(0, k), range_from(0)});
      CHECK(largest(matmul(first_u * expand_dims(f.s, -2), first_vh) - a) <= bound * (1 + largest(a)));
    }
  CHECK(svdvals(tensor({{3, 0}, {0, -4}})).to_vector() == std::vector<double>{4, 3});
}

TEST_CASE("eig: vectors of norm 1, real and complex matrices") {
  for (const DType d : dtypes)
    for (const Shape& shape : {Shape{3, 3}, {1, 1}, {0, 0}, {2, 4, 4}, {30, 30}}) {
      CAPTURE(name(d), shape);
      support::Random random("eig");
      const Tensor a = drawn_in(random, shape, d);
      const auto [w, v] = eig(a);
      REQUIRE(
          (is_complex(w.dtype()) && v.dtype() == w.dtype() && item_size(w.dtype()) == 2 * item_size(real(a).dtype())));
      const double bound = 50 * eps_of(d) * static_cast<double>(shape[-1] + 1);
      CHECK(largest(matmul(cast(a, v.dtype()), v) - v * expand_dims(w, -2)) <= bound * (1 + largest(a)));
      CHECK(largest(norm(v, 2., -2) - 1.0) <= bound);
      CHECK(largest(sum(w, -1) - trace(a)) <= bound * (1 + largest(w)));
      CHECK(largest(sum(eigvals(a), -1) - trace(a)) <= bound * (1 + largest(w)));
    }
  // A rotation by 90 degrees: eigenvalues i, -i in this order.
  const auto [w, v] = eig(tensor({{0, -1}, {1, 0}}));
  CHECK(largest(w - from_data(std::vector<C>{{0, 1}, {0, -1}})) <= 1e-15);
  CHECK(largest(v - from_data(std::vector<C>{{1, 0}, {1, 0}, {0, -1}, {0, 1}}, {2, 2}) * std::sqrt(0.5)) <= 1e-15);
}

TEST_CASE("eigvalsh: derivatives at the matrix that one triangle says") {
  for (const DType d : {DType::float64, DType::complex128})
    for (const bool lower : {true, false}) {
      CAPTURE(name(d), lower);
      support::Random random("one triangle");
      const Tensor a = hermitian(drawn_in(random, {3, 3}, d)), t = hermitian(drawn_in(random, {3, 3}, d));
      const Tensor below = cast(tril(full({3, 3}, 9.0), -1), d), dirty = a + (lower ? moveaxis(below, 0, 1) : below);
      const auto values = [lower](const Tensor& x) { return eigvalsh(x, {.lower = lower}); };
      const auto weighted = [&](const Tensor& x) { return sum(values(x) * tensor({1.0, 2.0, 4.0})); };
      CHECK(largest(grad(weighted)(dirty) - grad(weighted)(a)) <= 1e-13);
      CHECK(largest(jvp(values, dirty, t).second - jvp(values, a, t).second) <= 1e-13);
    }
}

TEST_CASE("eig: vectors of a diagonal matrix along a tangent with zeros on its diagonal") {
  const Tensor values = tensor({1.0, 2.0, 4.0}), t = tensor({{0, 1, 2}, {3, 0, 4}, {5, 6, 0}});
  const auto vectors = [](const Tensor& x) { return eig(x).eigenvectors; };
  const Tensor gaps = expand_dims(values, 0) - expand_dims(values, 1);
  CHECK(largest(jvp(vectors, diag(values), t).second - t / where(equal(gaps, 0), 1, gaps)) <= 1e-14);
}

TEST_CASE("eig of a defective matrix: its eigenvalues, with gradients beyond all bounds") {
  const Tensor defective = tensor({{2, 1, 0}, {0, 2, 0}, {0, 0, 5}});
  CHECK(largest(abs(eigvals(defective) - tensor({2, 2, 5}))) < 1e-7);
  const auto first = [](const Tensor& x) { return real(eigvals(x)(0)); };
  const auto last = [](const Tensor& x) { return real(eigvals(x)(2)); };
  CHECK_FALSE(largest(grad(first)(defective)) < 1e7);  // or NaN
  CHECK_FALSE(std::abs(jvp(first, defective, ones({3, 3})).second.item()) < 1e7);
  // Equal eigenvalues alone do no harm.
  CHECK(array_equal(grad(last)(diag(tensor({2, 2, 5}))), diag(tensor({0, 0, 1}))));
}

TEST_CASE("spectra in both modes, to third order") {
  support::Random random("orders");
  for (const DType d : {DType::float64, DType::complex128}) {
    CAPTURE(name(d));
    const Tensor square = apart(drawn_in(random, {3, 3}, d)), many = apart(drawn_in(random, {2, 3, 3}, d));
    const auto values_and_sizes = [](const Tensors& x) {
      const auto [w, v] = eigh(hermitian(x[0]));
      return Tensors{w, abs(v), projection(v, 0)};
    };
    check_orders(values_and_sizes, {square}, 3, 20);
    check_orders(values_and_sizes, {many}, 2, 20);
    check_orders([](const Tensors& x) { return Tensors{eigvalsh(hermitian(x[0]), {.lower = false})}; }, {many}, 3, 20);
    check_orders(
        [](const Tensors& x) {
          const auto [w, v] = eigh(hermitian(x[0]), matmul(x[1], adjoint(x[1])) + cast(eye(3), x[1].dtype()));
          return Tensors{w, abs(v)};
        },
        {many, square}, 2, 100);
    check_orders(
        [](const Tensors& x) {
          const auto [w, v] = eig(x[0]);
          return Tensors{w, abs(v), projection(v, 1)};
        },
        {many}, 3, 20);
    check_orders([](const Tensors& x) { return Tensors{eigvals(x[0])}; }, {many}, 3, 20);
    for (const Shape& shape : {Shape{3, 3}, {4, 2}, {2, 4}, {2, 3, 2}}) {
      CAPTURE(shape);
      const Tensor a = apart(drawn_in(random, shape, d));
      check_orders(
          [](const Tensors& x) {
            const auto [u, s, vh] = svd(x[0]);
            return Tensors{abs(u), s, abs(vh), matmul(u, vh),
                           matmul(column(u, 1), slice(vh, {ellipsis, range(1, 2), range_from(0)}))};
          },
          {a}, 3, 20);
      check_orders([](const Tensors& x) { return Tensors{svdvals(x[0])}; }, {a}, 3, 20);
      check_orders([](const Tensors& x) { return Tensors{abs(svd(x[0]).u)}; }, {a}, 2, 20);
      check_orders([](const Tensors& x) { return Tensors{abs(svd(x[0]).vh)}; }, {a}, 2, 20);
    }
  }
  // For real matrices signs are constant, so functions may use the vectors themselves.
  const Tensor a = apart(random.tensor({3, 3}));
  check_orders([](const Tensors& x) { return Tensors{eigh(hermitian(x[0])).eigenvectors}; }, {a}, 3, 20);
  check_orders(
      [](const Tensors& x) {
        const auto [u, s, vh] = svd(x[0]);
        return Tensors{u, vh};
      },
      {a}, 3, 20);
  check_orders(
      [](const Tensors& x) {
        const auto [w, v] = eigh_tridiagonal(x[0], x[1]);
        return Tensors{w, v};
      },
      {tensor({1., 3., 6., 10.}), tensor({.5, .6, .7})}, 3, 20);
}

TEST_CASE("generalised and tridiagonal eigh: values") {
  support::Random random("generalised");
  for (const DType d : {DType::float64, DType::complex64}) {
    const Tensor a = hermitian(drawn_in(random, {2, 4, 4}, d)), x = drawn_in(random, {4, 4}, d),
                 b = matmul(x, adjoint(x)) + cast(eye(4), d);
    const auto [w, v] = eigh(a, b);
    CHECK(largest(matmul(a, v) - matmul(b, v * expand_dims(w, -2))) <= 400 * eps_of(d));
    CHECK(largest(matmul(adjoint(v), matmul(b, v)) - cast(eye(4), d)) <= 400 * eps_of(d));
  }
  // A batch of as many matrices as rows, with a single second operand.
  const Tensor a = hermitian(random.tensor({3, 3})), x = random.tensor({3, 3, 3}), b = matmul(x, adjoint(x)) + eye(3);
  const Tensor together = eigh(a, b).eigenvalues;
  for (std::int64_t i = 0; i < 3; ++i) CHECK(largest(together[i] - eigh(a, b[i]).eigenvalues) <= 1e-13);
  CHECK(eigh(eye(2, DType::float32), eye(2, DType::complex64)).eigenvectors.dtype() == DType::complex64);
  // The second difference: 2 - 2 cos(k pi / (n + 1)).
  const auto [w, v] = eigh_tridiagonal(full({5}, 2.0), full({4}, -1.0));
  CHECK(largest(w - (2 - 2 * cos(arange(1.0, 5.5) * (3.14159265358979324 / 6)))) <= 4e-15);
  CHECK(eigh_tridiagonal(zeros({2, 0}), zeros({2, 0})).eigenvectors.shape() == Shape{2, 0, 0});
  CHECK(eigh_tridiagonal(ones({1}), zeros({0})).eigenvalues.to_vector() == std::vector<double>{1});
  CHECK_THROWS_AS(eigh_tridiagonal(ones({3}), ones({3})), ShapeError);
  CHECK_THROWS_AS(eigh_tridiagonal(ones({3}, DType::complex64), ones({2})), TypeError);
  CHECK_THROWS_AS(eigh(eye(2), eye(3)), ShapeError);
  CHECK_THROWS_WITH(eigh(eye(2), -eye(2)), Contains("eigh: b is not positive definite"));
}

TEST_CASE("eigh at equal eigenvalues: derivatives of values and of the other columns") {
  support::Random random("equal");
  for (const DType d : {DType::float64, DType::complex128}) {
    CAPTURE(name(d));
    // q diag(1, 1, 1, 4) q^H: computed eigenvalues differ by rounding.
    const Tensor q = qr(drawn_in(random, {4, 4}, d)).q;
    const Tensor a = hermitian(matmul(q * cast(tensor({1., 1., 1., 4.}), d), adjoint(q))),
                 w = drawn_in(random, {4, 4}, d);
    // The sum of all is the trace.
    CHECK(largest(grad([](const Tensor& x) { return sum(eigvalsh(x)); })(a) - cast(eye(4), d)) <= 1e-14);
    CHECK(largest(grad([](const Tensor& x) { return sum(eigh(x).eigenvalues); })(a) - cast(eye(4), d)) <= 1e-14);
    // Sums of powers are those of traces.
    const Tensor cubes = grad([](const Tensor& x) { return sum(power(eigvalsh(x), 3)); })(a);
    CHECK(largest(cubes - 3 * matmul(a, a)) <= 1e-12);
    // The single column has a derivative, the others have none.
    const auto of_column = [&](std::int64_t i) {
      return grad([&, i](const Tensor& x) { return sum(real(w * projection(eigh(x).eigenvectors, i))); })(a);
    };
    const Tensor single = of_column(3);
    REQUIRE_FALSE(any_nan(single));
    const auto moved = [&](double h) {
      return sum(real(w * projection(eigh(a + h * hermitian(w)).eigenvectors, 3))).item();
    };
    CHECK(sum(real(conj(single) * hermitian(w))).item() == Approx((moved(1e-5) - moved(-1e-5)) / 2e-5).epsilon(1e-7));
    CHECK(any_nan(of_column(0)));
    // Forward mode.
    const auto [p, t] = jvp([](const Tensor& x) { return projection(eigh(x).eigenvectors, 3); }, a, hermitian(w));
    CHECK(sum(real(w * t)).item() == Approx(sum(real(conj(single) * hermitian(w))).item()).epsilon(1e-12));
    CHECK(largest(jvp([](const Tensor& x) { return eigvalsh(x); }, a, a).second - tensor({1., 1., 1., 4.})) <= 1e-13);
  }
  // A multiple of the identity: eigenvalues are exactly equal.
  const Tensor one = grad([](const Tensor& x) { return sum(eigh(x).eigenvalues * tensor({1., 2., 3.})); })(eye(3));
  CHECK(one.to_vector() == std::vector<double>{1, 0, 0, 0, 2, 0, 0, 0, 3});
  CHECK(any_nan(grad([](const Tensor& x) {
    return sum(eigh(x).eigenvectors * tensor({{1., 2.}, {3., 5.}}));
  })(eye(2))));
  CHECK_FALSE(any_nan(grad([](const Tensor& x) { return sum(eigh(x).eigenvectors * 0.0); })(eye(2))));
}

TEST_CASE("equal eigenvalues: derivatives that depend on their vectors, and second derivatives, are NaN") {
  const Tensor g = tensor({{0., 1.}, {2., 0.}}), one = eye(2), direction = tensor({{0., 1.}, {1., 0.}});
  const auto rebuilt = [&](const Tensor& x) {
    const auto [w, v] = eigh(x);
    return sum(g * matmul(v * w, adjoint(v)));
  };
  const auto remade = [&](const Tensor& x) {
    const auto [u, s, vh] = svd(x);
    return sum(g * matmul(u * s, vh));
  };
  CHECK(any_nan(grad(rebuilt)(one)));
  CHECK(any_nan(jvp(rebuilt, one, direction).second));
  CHECK(any_nan(grad(remade)(one)));
  const auto of_eigvalsh = [](const Tensor& x) { return sum(square(eigvalsh(x))); };
  const auto of_svdvals = [](const Tensor& x) { return sum(square(svdvals(x))); };
  const auto of_eigvals = [](const Tensor& x) { return sum(real(square(eigvals(x)))); };
  CHECK(any_nan(hvp(of_eigvalsh)(one, direction)));
  CHECK(any_nan(hessian(of_eigvalsh)(one)));
  CHECK(any_nan(hvp(of_eigvalsh)(zeros({2, 2}), direction)));
  CHECK(any_nan(hvp(of_svdvals)(one, direction)));
  CHECK(any_nan(hvp(of_svdvals)(zeros({2, 2}), direction)));
  CHECK(any_nan(hvp(of_eigvals)(one, direction)));
  // The values that symmetric_function gives, and that all functions give at distinct eigenvalues.
  const auto squares = [](const Tensor& x) {
    return trace(symmetric_function(x, [](const Tensor& w) { return w * w; }));
  };
  CHECK(largest(hvp(squares)(one, direction) - 2 * direction) <= 1e-12);
  CHECK(largest(hvp(of_eigvalsh)(tensor({{1., 0.}, {0., 2.}}), direction) - 2 * direction) <= 1e-12);
}

TEST_CASE("full svd of empty matrices gives identities, also in programs") {
  for (const Shape& shape : {Shape{0, 2}, {2, 0}, {3, 0, 2}}) {
    const auto f = [](const Tensor& x) {
      const Svd y = svd(x, {.full = true});
      return std::vector<Tensor>{y.u, y.vh};
    };
    const std::vector<Tensor> eager = f(zeros(shape)), made = compile(f)(zeros(shape));
    for (std::size_t k = 0; k < 2; ++k) {
      CHECK(array_equal(eager[k], made[k]));
      CHECK(array_equal(eager[k], broadcast_to(eye(eager[k].shape()[-1]), eager[k].shape())));
    }
  }
}

TEST_CASE("svd at equal and zero singular values") {
  support::Random random("equal singular values");
  for (const DType d : {DType::float64, DType::complex128}) {
    CAPTURE(name(d));
    const Tensor u = qr(drawn_in(random, {4, 3}, d)).q, v = qr(drawn_in(random, {3, 3}, d)).q;
    const auto with = [&](std::initializer_list<double> s) {
      return matmul(u * cast(from_data(std::vector<double>(s)), d), adjoint(v));
    };
    const auto sum_of = [](const Tensor& x) { return sum(svdvals(x)); };
    const auto squares = [](const Tensor& x) { return sum(square(svd(x).s)); };
    for (const Tensor& a : {with({3, 3, 1}), with({2, 0, 0}), with({2, 2, 0})}) {
      CHECK_FALSE(any_nan(grad(sum_of)(a)));
      CHECK(largest(grad(squares)(a) - 2 * a) <= 1e-13);
    }
    // The nuclear norm at full rank: u v^H, also with equal values.
    CHECK(largest(grad(sum_of)(with({3, 3, 1})) - matmul(u, adjoint(v))) <= 1e-13);
    // Vectors of other values than the equal ones.
    const Tensor w = drawn_in(random, {4, 3}, d), a = with({3, 1, 1});
    const auto first = [&](const Tensor& x) {
      const auto [p, s, qh] = svd(x);
      return sum(real(w * matmul(column(p, 0), slice(qh, {range(0, 1), all}))));
    };
    const Tensor g = grad(first)(a);
    REQUIRE_FALSE(any_nan(g));
    const double slope = (first(a + 1e-5 * w).item() - first(a - 1e-5 * w).item()) / 2e-5;
    CHECK(sum(real(conj(g) * w)).item() == Approx(slope).epsilon(1e-7));
    CHECK(any_nan(grad([&](const Tensor& x) { return sum(abs(svd(x).u) * real(w)); })(a)));
    // Vectors of zeros in the larger side.
    CHECK(any_nan(grad([&](const Tensor& x) { return sum(abs(svd(x).u) * real(w)); })(with({2, 1, 0}))));
    CHECK_FALSE(any_nan(grad([&](const Tensor& x) { return sum(abs(svd(x).vh) * real(v)); })(with({2, 1, 0}))));
  }
  CHECK(grad([](const Tensor& x) { return sum(svdvals(x)); })(zeros({2, 3})).shape() == Shape{2, 3});
}

TEST_CASE("svd: gradients of vectors near the ends of the range are those in its middle, scaled") {
  support::Random random("ends of the range");
  for (const DType d : dtypes)
    for (const int sign : {-1, 1}) {
      const int power = d == DType::float32 || d == DType::complex64 ? 100 : 900;
      const Tensor scale = cast(scalar(std::ldexp(1.0, sign * power)), d);
      const Tensor a = apart(drawn_in(random, {3, 2}, d));
      const auto parts = [](const Tensor& x) {
        const Svd y = svd(x);
        return sum(projection(y.u, 0) * reshape(cast(arange(9.0), x.dtype()), {3, 3})) +
               sum(projection(adjoint(y.vh), 1) * reshape(cast(arange(4.0), x.dtype()), {2, 2}));
      };
      const auto value = [&](const Tensor& x) { return real(parts(x)); };
      INFO(d << ", towards " << (sign < 0 ? "0" : "infinity"));
      const Tensor middle = grad(value)(a), tangent = drawn_in(random, {3, 2}, d);
      CHECK(largest(grad(value)(a * scale) * scale - middle) <= 16 * eps_of(d) * largest(middle));
      const Tensor along = jvp(value, a, tangent).second;
      CHECK(largest(jvp(value, a * scale, tangent * scale).second - along) <= 64 * eps_of(d));
    }
}

TEST_CASE("full svd: functions of the space spanned by the added vectors") {
  support::Random random("full");
  for (const DType d : {DType::float64, DType::complex128})
    for (const Shape& shape : {Shape{4, 2}, {2, 4}}) {
      const Tensor a = apart(drawn_in(random, shape, d));
      check_orders(
          [&](const Tensors& x) {
            const Svd y = svd(x[0], {.full = true});
            const Tensor rest =
                shape[0] == 4 ? slice(y.u, {all, range_from(2)}) : adjoint(slice(y.vh, {range_from(2), all}));
            return Tensors{y.s, matmul(rest, adjoint(rest)), abs(slice(y.vh, {range(0, 2), all}))};
          },
          {a}, 2, 20);
      CHECK_THROWS_WITH(grad([&](const Tensor& x) {
                          const Svd y = svd(x, {.full = true});
                          return sum(abs(y.u) * random.tensor(y.u.shape())) +
                                 sum(abs(y.vh) * random.tensor(y.vh.shape()));
                        })(a),
                        Contains("the basis of the added columns, which is arbitrary"));
    }
}

TEST_CASE("a gradient that depends on the phase of an eigenvector is an error") {
  support::Random random("phases");
  const Tensor a = apart(drawn(random, {3, 3})), w = drawn(random, {3, 3});
  CHECK_THROWS_WITH(grad([&](const Tensor& x) { return sum(real(w * eigh(x).eigenvectors)); })(a),
                    Contains("the gradient depends on the phases of eigenvectors, which are arbitrary"));
  CHECK_THROWS_WITH(grad([&](const Tensor& x) { return sum(real(w * eig(x).eigenvectors)); })(a),
                    Contains("the phases of eigenvectors"));
  CHECK_THROWS_WITH(grad([&](const Tensor& x) { return sum(real(w * svd(x).u)); })(a),
                    Contains("the phases of singular vectors"));
  CHECK_THROWS_WITH(grad([&](const Tensor& x) { return sum(imag(w * svd(x).vh)); })(a),
                    Contains("the phases of singular vectors"));
  // A common phase of u and vh leaves their product unchanged.
  const Tensor g = grad([&](const Tensor& x) {
    const auto [u, s, vh] = svd(x);
    return sum(real(w * matmul(u * expand_dims(log(s), 0), vh)));
  })(a);
  CHECK_FALSE(any_nan(g));
}

TEST_CASE("spectra: batched Jacobians agree with Jacobians row by row") {
  support::Random random("rows");
  for (const DType d : {DType::float64, DType::complex128}) {
    const Tensor a = apart(drawn_in(random, {2, 3, 3}, d)), rectangle = apart(drawn_in(random, {4, 2}, d));
    for (const auto& [f, at] : std::initializer_list<std::pair<Tensor (*)(const Tensor&), Tensor>>{
             {[](const Tensor& x) { return abs(eigh(hermitian(x)).eigenvectors); }, a},
             {[](const Tensor& x) { return eigvalsh(hermitian(x)); }, a},
             {[](const Tensor& x) { return abs(eig(x).eigenvectors); }, a},
             {[](const Tensor& x) { return abs(eigvals(x)); }, a},
             {[](const Tensor& x) { return abs(svd(x).u); }, rectangle},
             {[](const Tensor& x) { return abs(svd(x).vh); }, adjoint(rectangle)},
             {[](const Tensor& x) { return svdvals(x); }, a}}) {
      GradientTape tape({.persistent = true});
      tape.watch(at);
      const Tensor y = reshape(f(at), {-1});
      tape.stop();
      const Tensor rows = tape.jacobian(y, at);
      for (std::int64_t i = 0; i < y.size(); ++i) {
        const Tensor one = *tape.gradient(y, at, {.output_gradients = eye(y.size())[i]});
        CHECK(largest(rows[i] - one) <= 1e-12 * (1 + largest(one)));
      }
    }
  }
}

TEST_CASE("spectra: NaN, infinity, other dtypes, layouts, threads, tapes") {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  for (const double bad : {nan, inf})
    for (const DType d : dtypes) {
      const Tensor a = cast(full({3, 3}, bad), d), two = stack({a, cast(eye(3), d)});
      for (const Tensor& x : {eigh(a).eigenvectors, eigvalsh(a), svd(a).u, svd(a, {.full = true}).vh, svdvals(a),
                              eig(a).eigenvectors, eigvals(a)})
        CHECK(all(isnan(abs(x))).item<bool>());
      CHECK(all(isfinite(svdvals(two)[1])).item<bool>());
      CHECK(all(isfinite(eigvalsh(two)[1])).item<bool>());
    }
  CHECK(array_equal(eigvalsh(tensor({{1., nan}, {2., 1.}})), eigvalsh(tensor({{1., 2.}, {2., 1.}}))));
  CHECK(svdvals(cast(eye(3), DType::int64)).dtype() == DType::float64);
  CHECK(eigvalsh(eye(3, DType::bfloat16)).dtype() == DType::bfloat16);
  CHECK(eigvals(eye(3, DType::float32)).dtype() == DType::complex64);
  // Whatever the scale.
  for (const double scale : {1e-300, 1e300}) CHECK(largest(svdvals(scale * eye(3)) / scale - 1) <= 1e-14);
  support::Random random("layouts");
  const Tensor a = random.tensor({6, 30, 30});
  check_same_bits(
      [](const Tensor& x) {
        return std::vector{eigh(x).eigenvectors, eigvalsh(x), svd(x).u, svdvals(x), eig(x).eigenvectors, eigvals(x)};
      },
      a);
}

TEST_CASE("spectra: a failed workspace allocation is not reported as a failure to converge") {
  const Tensor a = eye(20) + 0.1 * ones({20, 20}), z = cast(a, DType::complex64), b = ones({20});
  const std::function<void()> calls[] = {[&] { qr(a); },      [&] { qr(z, QrMode::complete); },
                                         [&] { eigh(a); },    [&] { eigvalsh(z); },
                                         [&] { eig(a); },     [&] { eigvals(z); },
                                         [&] { svd(a); },     [&] { svd(z, {.full = true}); },
                                         [&] { svdvals(a); }, [&] { lu_factor(z); },
                                         [&] { pinv(a); },    [&] { lstsq(z, b); },
                                         [&] { lstsq(a, b); }};
  for (const auto& call : calls)
    for (int succeed = 0;; ++succeed) {
      const support::FailNothrowNew no_memory(succeed);
      try {
        call();
        REQUIRE(no_memory.failures() == 0);
        CHECK(succeed >= 1);
        break;
      } catch (const std::bad_alloc&) {
        CHECK(no_memory.failures() > 0);
      }
    }
}
