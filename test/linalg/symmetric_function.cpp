// symmetric_function: values; derivatives to fourth order against polynomials and inverses of matrices, which have no
// eigenvalues in their rules, where eigenvalues are equal, nearly equal and apart.
#include <limits>
#include <reel/compile.hpp>
#include <reel/linalg.hpp>

#include "complex_check.hpp"
#include "support/numbers.hpp"

using namespace reel;
using complex_check::adjoint, complex_check::check_orders, complex_check::drawn_in, complex_check::hermitian;
using support::largest;
using support::Tensors;

namespace {

// A matrix with these eigenvalues.
Tensor with_eigenvalues(std::initializer_list<double> w, DType d) {
  support::Random random("basis");
  const auto n = static_cast<std::int64_t>(w.size());
  const Tensor q = qr(drawn_in(random, {n, n}, d)).q;
  return hermitian(matmul(q * cast(from_data(std::vector<double>(w)), d), adjoint(q)));
}

using Function = Tensor (*)(const Tensor&);

// The derivatives of both along the same directions, in reverse mode: <h, df>, its gradient, and so on.
void check_against(Function f, Function matrix_function, const Tensor& a, int orders, double tolerance) {
  support::Random random("directions");
  std::function<Tensor(const Tensor&)> one = [f](const Tensor&x) { return symmetric_function(x, f); },
                                       other = [matrix_function](const Tensor&x) {
                                         return matrix_function(hermitian(x));
                                       };
  for (int order = 1; order <= orders; ++order) {
    CAPTURE(order);
    const Tensor h = drawn_in(random, a.shape(), a.dtype());
    const auto gradient_of = [h](const std::function<Tensor(const Tensor&)>& g) {
      return [g, h](const Tensor& x) { return grad([&](const Tensor& y) { return sum(real(conj(h) * g(y))); })(x); };
    };
    one = gradient_of(one);
    other = gradient_of(other);
    const Tensor expected = other(a);
    CHECK(largest(one(a) - expected) <= tolerance * (1 + largest(expected)));
    tolerance *= 20;
  }
}

}  // namespace

TEST_CASE("symmetric_function: values") {
  support::Random random("values");
  for (const DType d : {DType::float32, DType::float64, DType::complex64, DType::complex128}) {
    CAPTURE(name(d));
    const double bound = d == DType::float32 || d == DType::complex64 ? 1e-5 : 1e-13;
    const Tensor a = hermitian(drawn_in(random, {2, 4, 4}, d));
    const Tensor squared = symmetric_function(a, [](const Tensor& x) { return x * x; });
    CHECK(squared.dtype() == d);
    CHECK(largest(squared - matmul(a, a)) <= bound);
    CHECK(largest(symmetric_function(a, [](const Tensor& x) { return x; }) - a) <= bound);
    CHECK(array_equal(squared, adjoint(squared)));
  }
  const Tensor e = symmetric_function(tensor({{0., 1.}, {1., 0.}}), [](const Tensor& x) { return exp(x); });
  CHECK(largest(e - tensor({{std::cosh(1.), std::sinh(1.)}, {std::sinh(1.), std::cosh(1.)}})) <= 1e-14);
  CHECK(symmetric_function(zeros({3, 0, 0}), [](const Tensor& x) { return exp(x); }).shape() == Shape{3, 0, 0});
  CHECK(symmetric_function(eye(2, DType::bfloat16), [](const Tensor& x) { return exp(x); }).dtype() == DType::bfloat16);
  CHECK(symmetric_function(eye(2, DType::int32), [](const Tensor& x) { return exp(x); }).dtype() == DType::float64);
  using Catch::Contains;
  CHECK_THROWS_AS(symmetric_function(ones({2, 3}), [](const Tensor& x) { return exp(x); }), ShapeError);
  CHECK_THROWS_AS(symmetric_function(eye(2), [](const Tensor& x) { return sum(x); }), ShapeError);
  CHECK_THROWS_WITH(symmetric_function(ones({2, 3}), [](const Tensor& x) { return exp(x); }),
                    Contains("symmetric_function: a must be square in its last two axes, it is [2, 3]"));
  CHECK_THROWS_WITH(symmetric_function(eye(2), [](const Tensor& x) { return sum(x); }),
                    Contains("symmetric_function: f gives [] for eigenvalues [2]"));
  for (const Tensor& x : {scalar(1.), ones({2})})
    CHECK_THROWS_AS(symmetric_function(x, [](const Tensor& w) { return exp(w); }), ShapeError);
  for (const DType d : {DType::float16, DType::bfloat16}) {
    const auto narrow = [](const Tensor& w) {
      CHECK(w.dtype() == DType::float32);
      return exp(w);
    };
    CHECK(array_equal(symmetric_function(zeros({2, 2}, d), narrow), eye(2, d)));
  }
  CHECK_THROWS_AS(symmetric_function(eye(2), {}), ValueError);
  CHECK_THROWS_AS(symmetric_function(eye(2), [](const Tensor&) { return Tensor(); }), ValueError);
}

TEST_CASE("symmetric_function: derivatives at equal, close and distant eigenvalues") {
  for (const DType d : {DType::float64, DType::complex128})
    for (const Tensor& a : {with_eigenvalues({1, 1, 1}, d), with_eigenvalues({1, 1, 2}, d),
                            with_eigenvalues({1, 1 + 1e-9, 1 + 1e-5}, d), with_eigenvalues({1, 1.003, 1.03}, d),
                            with_eigenvalues({1, 1.2, 4}, d), with_eigenvalues({0.5, 3, 9}, d), cast(2 * eye(3), d)}) {
      CAPTURE(name(d), eigvalsh(a).to_vector());
      check_against([](const Tensor& x) { return x * x * x; }, [](const Tensor& x) { return matmul(x, matmul(x, x)); },
                    a, 4, 1e-13);
      check_against([](const Tensor& x) { return 1.0 / x; }, [](const Tensor& x) { return inverse(x); }, a, 3, 1e-12);
    }
}

TEST_CASE("symmetric_function: both modes against central differences") {
  for (const DType d : {DType::float64, DType::complex128})
    for (const Tensor& a : {with_eigenvalues({1, 1, 2}, d), with_eigenvalues({1, 2, 4}, d), cast(eye(2), d),
                            stack({with_eigenvalues({1, 1}, d), with_eigenvalues({1, 3}, d)})}) {
      CAPTURE(name(d), eigvalsh(a).to_vector());
      check_orders(
          [](const Tensors& x) { return Tensors{symmetric_function(x[0], [](const Tensor& t) { return exp(t); })}; },
          {a}, 3, 10);
      check_orders(
          [](const Tensors& x) { return Tensors{symmetric_function(x[0], [](const Tensor& t) { return log(t); })}; },
          {a}, 2, 10);
    }
}

TEST_CASE("symmetric_function: eigenvalues of very different size") {
  // s = sqrt(a) has s ds + ds s = da.
  const Tensor a = with_eigenvalues({1e-6, 1.1e-6, 1e-2, 1}, DType::float64);
  support::Random random("sizes");
  const Tensor h = hermitian(random.tensor({4, 4}));
  const auto root = [](const Tensor& x) { return symmetric_function(x, [](const Tensor& t) { return sqrt(t); }); };
  const auto [s, ds] = jvp(root, a, h);
  CHECK(largest(matmul(s, s) - a) <= 1e-14);
  CHECK(largest(matmul(s, ds) + matmul(ds, s) - h) <= 1e-10);
}

TEST_CASE("symmetric_function: differentiable where eigh is not; batched Jacobians") {
  const auto f = [](const Tensor& x) { return symmetric_function(x, [](const Tensor& t) { return exp(t); }); };
  const auto by_eigh = [](const Tensor& x) {
    const auto [w, v] = eigh(x);
    return matmul(v * exp(w), adjoint(v));
  };
  const Tensor a = eye(3), h = reshape(arange(9.0), {3, 3});
  const auto along = [&](const auto& g) { return grad([&](const Tensor& x) { return sum(h * g(x)); })(a); };
  CHECK(largest(along(f) - std::exp(1.) * hermitian(h)) <= 1e-13);
  const auto twice = [&](const auto& g) {
    return grad([&](const Tensor& x) { return sum(h * grad([&](const Tensor& z) { return sum(h * g(z)); })(x)); })(a);
  };
  const Tensor p = hermitian(h);  // the second derivative of exp at 1, along the symmetric part twice
  CHECK(largest(twice(f) - std::exp(1.) * matmul(p, p)) <= 1e-12 * largest(matmul(p, p)));
  CHECK_FALSE(largest(twice(by_eigh) - twice(f)) <= 1e-6);
  GradientTape tape({.persistent = true});
  tape.watch(a);
  const Tensor y = f(a);
  tape.stop();
  const Tensor rows = tape.jacobian(y, a);
  for (std::int64_t i = 0; i < 3; ++i)
    for (std::int64_t j = 0; j < 3; ++j) {
      const Tensor unit = outer(eye(3)[i], eye(3)[j]);
      CHECK(largest(rows(i, j) - std::exp(1.) * hermitian(unit)) <= 1e-13);
    }
}

TEST_CASE("symmetric_function: compiled, value and gradient have the same bits") {
  const auto f = [](const Tensor& a) { return symmetric_function(a, [](const Tensor& w) { return exp(w); }); };
  const auto g = [f](const Tensor& a) { return grad([f](const Tensor& x) { return sum(square(f(x))); })(a); };
  support::Random random("compiled");
  const auto f_made = compile(f);
  const auto g_made = compile(g);
  for (int call = 0; call < 2; ++call) {
    const Tensor a = random.tensor({2, 3, 3});
    CHECK(array_equal(f_made(a), f(a)));
    CHECK(array_equal(g_made(a), g(a)));
  }
}
