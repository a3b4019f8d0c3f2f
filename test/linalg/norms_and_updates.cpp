// cholesky_update, matrix_norm by singular values, cond: values, derivatives of both modes, points where singular
// values are equal or 0, what is refused.
#include <complex>
#include <limits>
#include <reel/linalg.hpp>

#include "complex_check.hpp"
#include "support/numbers.hpp"

using namespace reel;
using Catch::Contains;
using complex_check::adjoint, complex_check::check_orders, complex_check::drawn_in, complex_check::dtypes,
    complex_check::eps_of;
using support::largest;
using support::Tensors;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity(), quiet_nan = std::numeric_limits<double>::quiet_NaN();

auto on(Tensor (*f)(const Tensor&)) {
  return [f](const Tensors& x) { return Tensors{f(x[0])}; };
}
double at(const Tensor& x, const std::vector<SliceItem>& items) { return cast(slice(x, items), DType::float64).item(); }
Tensor spectral(const Tensor& x) { return matrix_norm(x, MatrixNorm::spectral); }
Tensor nuclear(const Tensor& x) { return matrix_norm(x, MatrixNorm::nuclear); }
Tensor outer_of(const Tensor& x) { return expand_dims(x, -1) * expand_dims(conj(x), -2); }
Tensor gradient(Tensor (*f)(const Tensor&), const Tensor& x) {
  return grad([f](const Tensor& a) { return sum(f(a)); })(x);
}
// The derivative of the gradient along t.
Tensor second(Tensor (*f)(const Tensor&), const Tensor& x, const Tensor& t) {
  return grad([&](const Tensor& a) { return sum(real(conj(t) * gradient(f, a))); })(x);
}
Tensor second_forward(Tensor (*f)(const Tensor&), const Tensor& x, const Tensor& t) {
  return support::push([f](const Tensors& a) { return Tensors{gradient(f, a[0])}; }, {x}, {t})[0];
}

}  // namespace

TEST_CASE("cholesky_update: the factor of the updated matrix") {
  for (const DType d : dtypes)
    for (const std::int64_t n : {0, 1, 2, 5, 40}) {
      CAPTURE(name(d), n);
      support::Random random("cholesky_update");
      const double bound = 40 * eps_of(d) * static_cast<double>(n + 1);
      const Tensor l = tril(drawn_in(random, {2, n, n}, d)) + cast((2.0 + static_cast<double>(n)) * eye(n), d);
      const Tensor x = drawn_in(random, {2, n}, d);
      const Tensor a = matmul(l, adjoint(l)), above = cholesky_update(l, x);
      REQUIRE(above.dtype() == d);
      CHECK(largest(matmul(above, adjoint(above)) - (a + outer_of(x))) <= bound * (1 + largest(a)));
      CHECK(array_equal(above, tril(above)));
      if (n > 0) CHECK(largest(imag(diagonal(above))) == 0);
      const Tensor below = cholesky_update(l, x, true);
      CHECK(largest(matmul(below, adjoint(below)) - (a - outer_of(x))) <= bound * (1 + largest(a)));
      CHECK(largest(cholesky_update(below, x) - cholesky(a)) <= bound * (1 + largest(a)));
      // The result depends on l l^H only, not on the upper triangle or the phases of columns.
      if (is_complex(d))
        CHECK(largest(cholesky_update(l * cast(make_complex(0.6, 0.8), d), x) - above) <= bound * (1 + largest(a)));
      CHECK(largest(cholesky_update(-l + triu(full({n, n}, 7.0), 1), x) - above) <= bound * (1 + largest(a)));
      // One matrix with several vectors, and the other way round.
      CHECK(array_equal(slice(cholesky_update(slice(l, {0}), x), {1}), cholesky_update(slice(l, {0}), slice(x, {1}))));
      CHECK(array_equal(slice(cholesky_update(l, slice(x, {0})), {1}), cholesky_update(slice(l, {1}), slice(x, {0}))));
    }
  CHECK(cholesky_update(eye(2, DType::float16), zeros({2})).dtype() == DType::float64);
  CHECK(cholesky_update(eye(2, DType::float16), zeros({2}, DType::float16)).dtype() == DType::float16);
  CHECK(cholesky_update(eye(2, DType::int32), ones({2}, DType::int32)).dtype() == DType::float64);
}

TEST_CASE("cholesky_update in both modes, to third order") {
  support::Random random("cholesky_update orders");
  for (const DType d : {DType::float64, DType::complex128})
    for (const bool downdate : {false, true}) {
      CAPTURE(name(d), downdate);
      const Tensor l = drawn_in(random, {2, 3, 3}, d) * 0.5 + cast(2 * eye(3), d), x = drawn_in(random, {3}, d) * 0.5;
      check_orders([&](const Tensors& v) { return Tensors{cholesky_update(v[0], v[1], downdate)}; }, {l, x}, 3, 20);
    }
}

TEST_CASE("cholesky_update: matrices that are not positive definite or not finite") {
  CHECK_THROWS_WITH(cholesky_update(eye(2), tensor({0, 1}), true),
                    Contains("cholesky_update: l l^H - x x^H is not positive definite: its leading minor of order 2"));
  CHECK_THROWS_WITH(cholesky_update(stack({eye(2), eye(2)}), tensor({{0, 0}, {2, 0}}), true),
                    Contains("its leading minor of order 1 of matrix [1] is not positive"));
  CHECK_THROWS_WITH(cholesky_update(zeros({2, 2}), tensor({1, 0})), Contains("l l^H + x x^H is not positive definite"));
  // A zero on l's diagonal is allowed if the update makes it positive.
  CHECK(array_equal(cholesky_update(diag(tensor({2, 0})), tensor({0, 3})), diag(tensor({2, 3}))));
  for (const double bad : {quiet_nan, inf}) {
    const Tensor of_l = cholesky_update(stack({full({2, 2}, bad), eye(2)}), zeros({2}));
    CHECK(all(isnan(slice(of_l, {0, 1}))).item() != 0);
    CHECK(array_equal(slice(of_l, {1}), eye(2)));
    CHECK(std::isnan(at(cholesky_update(eye(2), tensor({0, bad}), true), {1, 0})));
  }
  CHECK_THROWS_WITH(cholesky_update(eye(2), ones({3})), Contains("l is [2, 2], x is [3]: x must be a vector of 2"));
  CHECK_THROWS_AS(cholesky_update(ones({2, 3}), ones({3})), ShapeError);
  CHECK_THROWS_AS(cholesky_update(eye(2), 1.0), ShapeError);
}

TEST_CASE("spectral and nuclear norms and cond in both modes, to third order") {
  support::Random random("spectral norms");
  for (const DType d : {DType::float64, DType::complex128})
    for (const Shape& shape : {Shape{3, 3}, {4, 2}, {2, 2, 3}}) {
      CAPTURE(name(d), shape);
      const Tensor a =
          drawn_in(random, shape, d) + cast(eye(shape[-2], shape[-1]) * (1.0 + 2.0 * cumsum(ones({shape[-1]}), 0)), d);
      const Tensor s = svdvals(a);
      CHECK(largest(spectral(a) - max(s, -1)) == 0);
      CHECK(largest(nuclear(a) - sum(s, -1)) <= 1e-14);
      CHECK(spectral(a).dtype() == DType::float64);
      CHECK(array_equal(matrix_norm(a, MatrixNorm::nuclear, true), expand_dims(expand_dims(nuclear(a), -1), -1)));
      check_orders(on(spectral), {a}, 3, 20);
      check_orders(on(nuclear), {a}, 3, 20);
      check_orders(on([](const Tensor& x) { return cond(x); }), {a}, 2, 100);
      if (shape[-1] != shape[-2]) continue;
      check_orders(on([](const Tensor& x) { return cond(x, MatrixNorm::nuclear); }), {a}, 2, 100);
      check_orders(on([](const Tensor& x) { return cond(x, MatrixNorm::one); }), {a}, 1, 100);
    }
}

TEST_CASE("the spectral norm shares its gradient among ties of the largest singular value") {
  CHECK(largest(gradient(spectral, eye(2)) - 0.5 * eye(2)) <= 1e-15);  // as PyTorch
  CHECK(array_equal(gradient(spectral, zeros({2, 3})), zeros({2, 3})));
  const Tensor alone = diag(tensor({3, 1})), batch = stack({eye(2), alone});  // ties of one matrix alone
  CHECK(largest(gradient(spectral, batch) - stack({0.5 * eye(2), diag(tensor({1, 0}))})) <= 1e-15);
  const Tensor t = tensor({{1, 2, 0}, {0, 1, 3}, {1, 0, 1}});
  CHECK(all(isnan(second(spectral, eye(3), t))).item() != 0);
  // Of diag(3, 1, 1) along t: the second derivative of the largest singular value by perturbation theory.
  const Tensor a = diag(tensor({3, 1, 1}));
  const auto directional = [&](double h) { return gradient(spectral, a + h * t); };
  const Tensor differences = (directional(1e-5) - directional(-1e-5)) / 2e-5;
  CHECK(largest(second(spectral, a, t) - differences) <= 1e-9);
  CHECK(largest(second_forward(spectral, a, t) - differences) <= 1e-9);
}

TEST_CASE("the nuclear norm: derivatives at equal and at zero singular values") {
  // Second derivatives where singular values are equal: exact at the identity, where d(u v^H) = (t - t^T) / 2.
  const Tensor t = tensor({{1, 2, 0}, {0, 1, 3}, {1, 0, 1}});
  CHECK(largest(gradient(nuclear, eye(3)) - eye(3)) <= 1e-15);
  CHECK(largest(second(nuclear, eye(3), t) - 0.5 * (t - transpose(t))) <= 1e-14);
  CHECK(largest(second_forward(nuclear, eye(3), t) - 0.5 * (t - transpose(t))) <= 1e-14);
  support::Random random("nuclear ties");
  for (const DType d : {DType::float64, DType::complex128}) {
    const Tensor q = qr(drawn_in(random, {4, 3}, d)).q;  // three equal values
    check_orders(on(nuclear), {2 * q}, 3, 20);
  }
  // The subgradient of least norm where values are 0, exactly or to rounding.
  CHECK(array_equal(gradient(nuclear, zeros({3, 2})), zeros({3, 2})));
  CHECK(largest(gradient(nuclear, diag(tensor({2, 0, 1}))) - diag(tensor({1, 0, 1}))) <= 1e-15);
  const Tensor u = random.tensor({4, 1}), v = random.tensor({1, 3}), low = matmul(u, v);
  CHECK(largest(gradient(nuclear, low) - low / matrix_norm(low)) <= 1e-14);
  for (const Tensor& along : {ones({4, 3}), eye(4, 3)}) CHECK(all(isnan(second(nuclear, low, along))).item() != 0);
  // A matrix of a batch that is not read has derivative 0.
  const Tensor batch = stack({low, random.tensor({4, 3})});
  const Tensor g = grad([&](const Tensor& a) { return sum(slice(gradient(nuclear, a), {1})); })(batch);
  CHECK((largest(slice(g, {0})) == 0 && all(isfinite(g)).item() != 0));
}

TEST_CASE("cond: published values, singular matrices, what is refused") {
  // Hilbert's matrix of order 3: the 2-norm by mpmath, those of 1 and infinity are 748.
  const Tensor h = tensor({{1, 1.0 / 2, 1.0 / 3}, {1.0 / 2, 1.0 / 3, 1.0 / 4}, {1.0 / 3, 1.0 / 4, 1.0 / 5}});
  CHECK(cond(h).item() == Approx(524.0567775860608).epsilon(1e-12));
  CHECK(cond(h, MatrixNorm::one).item() == Approx(748).epsilon(1e-12));
  CHECK(cond(h, MatrixNorm::infinity).item() == Approx(748).epsilon(1e-12));
  CHECK(cond(tensor({{3, 0}, {0, 4}, {0, 0}})).item() == Approx(4.0 / 3));
  for (const MatrixNorm norm :
       {MatrixNorm::frobenius, MatrixNorm::one, MatrixNorm::infinity, MatrixNorm::spectral, MatrixNorm::nuclear})
    for (const DType d : dtypes) {
      CAPTURE(static_cast<int>(norm), name(d));
      const Tensor c =
          cond(cast(stack({zeros({2, 2}), diag(tensor({1, 0})), eye(2), full({2, 2}, quiet_nan)}), d), norm);
      CHECK(!is_complex(c.dtype()));
      CHECK((at(c, {0}) == inf && at(c, {1}) == inf && std::isnan(at(c, {3}))));
      CHECK(at(c, {2}) == Approx(norm == MatrixNorm::frobenius ? 2 : norm == MatrixNorm::nuclear ? 4 : 1));
      const Tensor g = grad([&](const Tensor& x) { return cond(x, norm); })(diag(tensor({1, 0})));
      CHECK(any(isfinite(g)).item() == 0);
    }
  CHECK(cond(eye(2, DType::float16)).dtype() == DType::float16);
  CHECK_THROWS_WITH(cond(ones({0, 2})), Contains("cond: a is [0, 2]: a matrix without elements"));
  CHECK_THROWS_WITH(cond(ones({2, 0})), Contains("cond: a is [2, 0]: a matrix without elements"));
  CHECK_THROWS_WITH(matrix_norm(ones({3, 2, 0}), MatrixNorm::spectral), Contains("there is no largest of no singular"));
  for (const MatrixNorm norm : {MatrixNorm::spectral, MatrixNorm::nuclear, MatrixNorm::one}) {
    CHECK(cond(full({1, 1}, -5), norm).item() == 1);
    CHECK(array_equal(cond(broadcast_to(eye(2), {3, 1, 2, 2}), norm), full({3, 1}, cond(eye(2), norm).item())));
  }
  CHECK_THROWS_AS(cond(ones({2, 3}), MatrixNorm::one), ShapeError);
  CHECK_THROWS_AS(matrix_norm(ones({3, 0}), MatrixNorm::spectral), ShapeError);
  CHECK(nuclear(ones({3, 0})).item() == 0);
  CHECK(std::isnan(nuclear(full({2, 2}, inf)).item()));
  CHECK(std::isnan(spectral(full({2, 2}, quiet_nan)).item()));
}
