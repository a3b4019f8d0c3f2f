// det and slogdet: values, cofactors of regular and singular matrices of every rank, to third order; edge cases.
#include <bit>
#include <functional>
#include <limits>
#include <reel/reel.hpp>

#include "catch.hpp"
#include "linalg/check.hpp"
#include "support/messages.hpp"
#include "support/numbers.hpp"

using namespace reel;
using linalg::check_one, support::largest;

namespace {

constexpr double quiet_nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();

Tensor drawn(const Shape& shape, const char* seed = "det") { return support::Random(seed).tensor(shape); }
Tensor det_of(const support::Tensors& x) { return det(x[0]); }

Tensor gradient(const Tensor& a) {
  GradientTape tape;
  tape.watch(a);
  return *tape.gradient(det(a), a);
}

// Leibniz by Laplace's expansion, in long double.
long double expansion(const std::vector<double>& a, std::vector<std::size_t> rows, std::vector<std::size_t> columns,
                      std::size_t n) {
  if (rows.empty()) return 1;
  const std::size_t row = rows.front();
  rows.erase(rows.begin());
  long double sum = 0;
  for (std::size_t k = 0; k < columns.size(); ++k) {
    std::vector<std::size_t> rest = columns;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(k));
    const long double term = static_cast<long double>(a[row * n + columns[k]]) * expansion(a, rows, rest, n);
    sum += k % 2 ? -term : term;
  }
  return sum;
}
Tensor cofactors(const Tensor& a) {
  const auto n = static_cast<std::size_t>(a.shape().back());
  const std::vector<double> values = a.to_vector();
  std::vector<double> result;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      std::vector<std::size_t> rows, columns;
      for (std::size_t k = 0; k < n; ++k) {
        if (k != i) rows.push_back(k);
        if (k != j) columns.push_back(k);
      }
      const long double minor = expansion(values, rows, columns, n);
      result.push_back(static_cast<double>((i + j) % 2 ? -minor : minor));
    }
  return from_data(result, a.shape());
}
// n x n of the given rank.
Tensor of_rank(std::int64_t n, std::int64_t rank) {
  return matmul(drawn({n, rank}, "left"), drawn({rank, n}, "right"));
}

// Polynomials in t by their coefficients.
using Polynomial = std::vector<long double>;

// det(a + t h) by Laplace's expansion, or with `absolute` the sum of the magnitudes of its terms. minors[set] is that
// of the last rows and a set of as many columns.
Polynomial line(const Tensor& at, const Tensor& along, bool absolute) {
  const auto n = static_cast<std::size_t>(at.shape().back());
  const std::vector<double> a = at.to_vector(), h = along.to_vector();
  std::vector<Polynomial> minors(std::size_t{1} << n);
  minors[0] = {1};
  for (std::size_t set = 1; set < minors.size(); ++set) {
    minors[set].resize(static_cast<std::size_t>(std::popcount(set)) + 1);
    const std::size_t row = n + 1 - minors[set].size();
    bool odd = false;
    for (std::size_t column = 0; column < n; ++column) {
      if (!(set >> column & 1)) continue;
      const Polynomial& minor = minors[set & ~(std::size_t{1} << column)];
      long double constant = a[row * n + column], slope = h[row * n + column];
      if (absolute) {
        constant = std::abs(constant);
        slope = std::abs(slope);
      }
      for (std::size_t i = 0; i < minor.size(); ++i) {
        minors[set][i] += (odd && !absolute ? -constant : constant) * minor[i];
        minors[set][i + 1] += (odd && !absolute ? -slope : slope) * minor[i];
      }
      odd = !odd;
    }
  }
  return minors.back();
}

// The derivatives of det(a + t h) at t = 0 up to the fifth, by nested sweeps of one mode, against the polynomial.
void check_along_line(const Tensor& a, const Tensor& h, bool forward) {
  const Polynomial exact = line(a, h, false), size = line(a, h, true);
  const double eps = a.dtype() == DType::float32 ? 0x1p-23 : 0x1p-52;
  std::function<Tensor(const Tensor&)> f = [&](const Tensor& t) { return det(a + t * h); };
  long double factorial = 1;
  for (std::size_t order = 0; order <= 5; ++order) {
    if (order > 0) {
      factorial *= static_cast<long double>(order);
      f = [inner = f, forward](const Tensor& t) {
        return forward ? jvp(inner, t, GradientList{ones_like(t)}).second : Tensor(grad(inner)(t));
      };
    }
    const bool vanishes = order >= exact.size();
    const long double expected = vanishes ? 0 : factorial * exact[order],
                      scale = vanishes ? 0 : factorial * size[order];
    const double got = f(zeros({}, a.dtype())).item();
    CAPTURE(order, got, static_cast<double>(expected), static_cast<double>(scale));
    CHECK(std::abs(static_cast<long double>(got) - expected) <= 32 * static_cast<long double>(eps) * scale);
  }
}

}  // namespace

TEST_CASE("det: derivatives along lines to fifth order, of every rank, in both modes") {
  for (const DType d : {DType::float64, DType::float32})
    for (const bool forward : {true, false})
      for (const std::int64_t n : {2, 3, 4, 5, 6, 9}) {
        const Tensor h = cast(drawn({n, n}, "line"), d);
        CAPTURE(name(d), forward, n);
        for (std::int64_t rank = 0; rank <= n; ++rank) {
          CAPTURE(rank);
          check_along_line(cast(of_rank(n, rank), d), h, forward);
        }
        for (const double small : {1e-3, 1e-6, 1e-9, 1e-15}) {
          CAPTURE(small);
          check_along_line(cast(of_rank(n, n - 1) + small * drawn({n, n}, "noise"), d), h, forward);
          check_along_line(cast(of_rank(n, n - 2) + small * drawn({n, n}, "noise"), d), h, forward);
        }
        check_along_line(cast(drawn({n, n}) + 2 * eye(n), d), h, forward);
      }
}

TEST_CASE("det: values and known gradients") {
  CHECK(det(tensor({{4, 2}, {2, 3}})).item() == 8);
  CHECK(det(tensor({{1, 2}, {2, 4}})).item() == 0);
  CHECK(det(tensor({{-3.}})).item() == -3);
  CHECK(det(zeros({0, 0})).item() == 1);
  CHECK(det(zeros({2, 0, 0})).to_vector() == std::vector<double>{1, 1});
  CHECK(det(zeros({0, 3, 3})).shape() == Shape{0});
  CHECK(det(tensor<int>({{0, 1, 0}, {0, 0, 1}, {1, 0, 0}})).item() == 1);
  CHECK(det(tensor({{0., 1., 0.}, {1., 0., 0.}, {0., 0., 1.}})).item() == -1);
  CHECK(det(tensor<float>({{2, 1, 0}, {1, 2, 1}, {0, 1, 2}})).dtype() == DType::float32);
  CHECK(det(cast(eye(3), DType::float16)).dtype() == DType::float16);
  for (std::int64_t n : {1, 2, 3, 4, 6}) {
    const Tensor a = drawn({n, n});
    std::vector<std::size_t> all;
    for (std::int64_t i = 0; i < n; ++i) all.push_back(static_cast<std::size_t>(i));
    CHECK(std::abs(det(a).item() -
                   static_cast<double>(expansion(a.to_vector(), all, all, static_cast<std::size_t>(n)))) < 1e-14);
    CHECK(largest(gradient(a) - cofactors(a)) < 1e-13);
  }
  CHECK(gradient(tensor({{4, 2}, {2, 3}})).to_vector() == std::vector<double>{3, -2, -2, 4});
  // No overflow or underflow on the way.
  const Tensor far = diag(tensor({1e200, 1e200, 1e-150, 1e-250}));
  CHECK(std::abs(det(far).item() - 1) < 1e-12);
  CHECK(std::abs(slogdet(far).logdet.item()) < 1e-12);
  CHECK(slogdet(1e-200 * eye(10)).logdet.item() == Approx(-2000 * std::log(10.0)));
}

TEST_CASE("det: the gradient of a singular matrix is its cofactors, exactly, for every rank") {
  CHECK(gradient(tensor({{1, 2}, {2, 4}})).to_vector() == std::vector<double>{4, -2, -2, 1});
  CHECK(gradient(zeros({2, 2})).to_vector() == std::vector<double>{0, 0, 0, 0});
  CHECK(largest(gradient(zeros({5, 5}))) == 0);
  CHECK(gradient(diag(tensor({2., 0., 3.}))).to_vector() == std::vector<double>{0, 0, 0, 0, 6, 0, 0, 0, 0});
  for (std::int64_t n : {3, 4, 5})
    for (std::int64_t rank = 0; rank <= n; ++rank) {
      CAPTURE(n, rank);
      const Tensor a = of_rank(n, rank);
      CHECK(largest(gradient(a) - cofactors(a)) < 1e-14);
      CHECK(largest(gradient(1e-9 * a) * std::pow(1e9, static_cast<double>(n - 1)) - cofactors(a)) < 1e-14);
    }
  for (std::int64_t rank : {0, 1, 2, 3}) {  // float32
    const Tensor a = cast(of_rank(4, rank), DType::float32), g = gradient(a);
    CHECK(g.dtype() == DType::float32);
    CHECK(largest(cast(g, DType::float64) - cofactors(cast(a, DType::float64))) < 1e-5);
  }
  // Nearly singular matrices and decaying pivots: as accurate as for regular ones.
  for (double small : {1e-3, 1e-8, 1e-15}) {
    const Tensor a = of_rank(4, 3) + small * drawn({4, 4}, "noise");
    CHECK(largest(gradient(a) - cofactors(a)) < 1e-14);
  }
  std::vector<double> hilbert;
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 6; ++j) hilbert.push_back(1.0 / (i + j + 1));
  const Tensor h = from_data(hilbert, {6, 6}), c = cofactors(h);
  CHECK(largest(gradient(h) - c) < 1e-10 * largest(c));
}

TEST_CASE("det: derivatives to third order, regular and singular") {
  for (std::int64_t n : {1, 2, 3, 4}) {
    check_one(det_of, {drawn({n, n}) + eye(n)}, {.order = 3, .slack = 20});
    for (std::int64_t rank = 0; rank < n; ++rank) {
      CAPTURE(n, rank);
      check_one(det_of, {of_rank(n, rank)}, {.order = 3, .slack = 20});
    }
  }
  check_one(det_of, {drawn({2, 3, 3}) + eye(3)}, {.order = 3, .slack = 20});
  check_one(det_of, {drawn({3, 2, 2})}, {.order = 3, .slack = 20});
  check_one(det_of, {drawn({2, 2, 1, 1})});
  check_one(det_of, {zeros({2, 0, 0})});
  // A batch with a singular matrix in it.
  check_one(det_of, {reshape(stack({of_rank(3, 2), drawn({3, 3}), zeros({3, 3}), of_rank(3, 1)}), {2, 2, 3, 3})},
            {.order = 3, .slack = 20});
  check_one(det_of, {zeros({5, 5})}, {.order = 2});
}

// <the gradient of f, u>, as a function.
template <class F>
auto along(const F& f, const Tensor& u) {
  return [f, u](const Tensor& a) { return sum(grad(f)(a) * u); };
}

TEST_CASE("det: mixed directional derivatives agree with the expanded products") {
  const auto factors = [](const Tensor& x) {
    const auto e = [&x](std::int64_t i, std::int64_t j) { return slice(x, {ellipsis, i, j}); };
    const auto minor = [&](std::int64_t i, std::int64_t j) { return e(1, i) * e(2, j) - e(1, j) * e(2, i); };
    return sum(square(e(0, 0) * minor(1, 2) - e(0, 1) * minor(0, 2) + e(0, 2) * minor(0, 1)));
  };
  const auto own = [](const Tensor& x) { return sum(square(det(x))); };
  // Derivatives of the first three orders, as functions of the matrix and of the directions.
  const auto mixed = [](const auto& f) {
    return [f](const Tensor& a, const Tensor& u, const Tensor& v, const Tensor& w) {
      return sum(along(f, u)(a)) + along(along(f, u), v)(a) + along(along(along(f, u), v), w)(a);
    };
  };
  const auto close = [](const Tensor& a, const Tensor& b) {
    CHECK(a.shape() == b.shape());
    CHECK(max(abs(a - b)).item() <= 1e-12 * (1 + max(abs(b)).item()));
  };
  for (const Shape& shape : {Shape{3, 3}, Shape{2, 3, 3}}) {
    CAPTURE(to_string(shape));
    const Tensor a = drawn(shape, "a"), u = drawn({3, 3}, "u"), v = drawn(shape, "v"), w = drawn({3, 3}, "w");
    const auto got = grad(mixed(own))(a, u, v, w), expected = grad(mixed(factors))(a, u, v, w);
    close(std::get<0>(got), std::get<0>(expected));
    close(std::get<1>(got), std::get<1>(expected));
    close(std::get<2>(got), std::get<2>(expected));
    close(std::get<3>(got), std::get<3>(expected));
    const auto by_direction = [&](const auto& f) {
      return [&, f](const Tensor& t) { return mixed(f)(a, t, v, t + w); };
    };
    close(hessian(by_direction(own))(u), hessian(by_direction(factors))(u));
    const auto bends = [&](const auto& f) {
      return [&, f](const Tensor& x, const Tensor& t) { return sum(hessian(along(f, t))(x) * hessian(f)(x + t)); };
    };
    const Tensor one = shape.rank() == 2 ? a : a[0];
    const auto [da, du] = grad(bends(own))(one, u);
    const auto [ea, eu] = grad(bends(factors))(one, u);
    close(da, ea);
    close(du, eu);
    close(jvp(by_direction(own), u, w).second, jvp(by_direction(factors), u, w).second);
  }
}

TEST_CASE("slogdet: values, derivatives") {
  for (std::int64_t n : {1, 2, 3, 5}) {
    const Tensor a = drawn({n, n}) + 2 * eye(n);
    const auto [sign, logdet] = slogdet(a);
    CHECK(std::abs(sign.item() * std::exp(logdet.item()) - det(a).item()) < 1e-13 * std::abs(det(a).item()));
    check_one([](const auto& x) { return slogdet(x[0]).logdet; }, {a}, {.order = 3, .slack = 30});
  }
  check_one([](const auto& x) { return slogdet(x[0]).logdet; }, {drawn({2, 3, 3}) + 2 * eye(3)}, {.slack = 30});
  CHECK(slogdet(tensor({{0, 1}, {1, 0}})).sign.item() == -1);
  CHECK(slogdet(zeros({0, 0})).sign.item() == 1);
  CHECK(slogdet(zeros({0, 0})).logdet.item() == 0);
  CHECK(slogdet(cast(eye(3), DType::float32)).logdet.dtype() == DType::float32);
  const Tensor a = tensor({{4, 2}, {2, 3}});
  GradientTape tape({.persistent = true});
  tape.watch(a);
  const auto [sign, logdet] = slogdet(a);
  const std::vector<double> g = (*tape.gradient(logdet, a)).to_vector(), expected = {0.375, -0.25, -0.25, 0.5};
  for (std::size_t i = 0; i < 4; ++i) CHECK(std::abs(g[i] - expected[i]) < 1e-15);
  CHECK(largest(*tape.gradient(sign, a)) == 0);
}

TEST_CASE("slogdet of a singular matrix: sign 0, logarithm -inf, gradient inf, second derivatives") {
  for (const Tensor& a : {tensor({{1, 2}, {2, 4}}), zeros({3, 3})}) {
    GradientTape outer;
    outer.watch(a);
    GradientTape tape;
    tape.watch(a);
    const auto [sign, logdet] = slogdet(a);
    CHECK(sign.item() == 0);
    CHECK(logdet.item() == -inf);
    const Tensor g = *tape.gradient(logdet, a);
    const Tensor signs = a.shape()[0] == 2 ? tensor({{1, -1}, {-1, 1}}) : ones({3, 3});
    CHECK(array_equal(g, inf * signs));
    CHECK_FALSE(std::isfinite((*outer.gradient(g, a)).to_vector()[0]));
  }
}

TEST_CASE("slogdet of a singular matrix: the signs of infinity are those of the cofactors") {
  // Elimination gives exact zeros for these matrices, by rows or columns, with or without fused multiply-add.
  const Tensor matrices[] = {tensor({{0.}}),
                             tensor({{0, 1}, {0, 1}}),
                             tensor({{1, 2, 4}, {4, -8, 8}, {1, 2, 4}}),
                             tensor({{1, 2, 0}, {4, -5, 0}, {7, 8, 0}}),
                             tensor({{0, 2, 3}, {0, 0, 5}, {0, 0, 7}}),
                             tensor({{3, 1, 4, 1}, {-2, 7, 1, 8}, {3, 1, 4, 1}, {0, 5, 7, -2}})};
  for (const Tensor& a : matrices)
    for (const DType d : {DType::float64, DType::float32}) {
      GradientTape tape;
      tape.watch(a);
      const auto [sign, logdet] = slogdet(cast(a, d));
      REQUIRE(sign.item() == 0);
      const std::vector<double> g = (*tape.gradient(logdet, a)).to_vector(), c = cofactors(a).to_vector();
      REQUIRE(g.size() == c.size());
      for (std::size_t i = 0; i < g.size(); ++i) {
        CAPTURE(to_string(a.shape()), name(d), i, c[i]);
        CHECK(g[i] == (c[i] < 0 ? -inf : inf));
      }
    }
}

TEST_CASE("slogdet of a singular matrix: the gradient of the sign is zero, in both modes") {
  const Tensor singular = tensor({{1, 2, 4}, {4, -8, 8}, {1, 2, 4}}), regular = eye(3);
  const auto sign = [](const Tensor& a) { return sum(slogdet(a).sign); };
  for (const Tensor& a : {singular, zeros({3, 3}), stack({regular, singular})}) {
    CHECK(largest(grad(sign)(a)) == 0);
    CHECK(jvp(sign, a, GradientList{ones_like(a)}).second.item() == 0);
    CHECK(largest(hessian(sign)(a)) == 0);
  }
  // Other matrices of the batch keep their gradients. A zero cotangent keeps its second derivative.
  const auto one = [](const Tensor& a) { return slogdet(a).logdet[0]; };
  CHECK(array_equal(grad(one)(stack({regular, singular})), stack({regular, zeros({3, 3})})));
  const auto squared = [](const Tensor& a) { return square(slogdet(a).logdet); };
  CHECK(hvp(squared)(regular, regular).to_vector() == (6 * regular).to_vector());
}

namespace {

// Checks that elements agree to a relative error of `part`, whatever their size, above the subnormal range, and are
// infinite where expected.
void check_scaled(const Tensor& got, const Tensor& expected, double part) {
  const std::vector<double> g = cast(got, DType::float64).to_vector(), c = expected.to_vector();
  REQUIRE(g.size() == c.size());
  const double least = got.dtype() == DType::float32 ? 1e-36 : 1e-290,
               most = got.dtype() == DType::float32 ? 3e38 : inf;
  for (std::size_t i = 0; i < g.size(); ++i) {
    CAPTURE(i, g[i], c[i]);
    if (std::abs(c[i]) >= most)
      CHECK(g[i] == std::copysign(inf, c[i]));
    else
      CHECK(std::abs(g[i] - c[i]) <= part * std::abs(c[i]) + least);
  }
}

}  // namespace

TEST_CASE("det: gradients of badly scaled matrices, whether or not the determinant is in range") {
  const Tensor corners = diag(tensor({1e200, 1e200, 1e-300}));
  GradientTape tape;
  tape.watch(corners);
  const Tensor d = det(corners);
  CHECK(std::abs(d.item() / 1e100 - 1) < 1e-14);
  CHECK(d.item() == det(contiguous(corners)).item());
  check_scaled(*tape.gradient(d, corners), diag(tensor({1e-100, 1e-100, inf})), 1e-14);

  // Rows and columns of very different scales; regular, and of rank n - 1.
  const double powers[][4] = {
      {200, 200, -300, 0}, {-150, 100, 60, -20}, {75, 75, 75, 75}, {-90, -90, -90, -90}, {70, -140, 70, 0}};
  for (const auto& p : powers)
    for (const auto& q : powers)
      for (const std::int64_t rank : {4, 3}) {
        std::vector<double> rows, columns;
        for (int i = 0; i < 4; ++i) {
          rows.push_back(std::pow(10.0, p[i] / 2));
          columns.push_back(std::pow(10.0, q[3 - i] / 2));
        }
        const Tensor m = rank == 4 ? drawn({4, 4}) + eye(4) : of_rank(4, rank);
        const Tensor a = reshape(from_data(rows), {4, 1}) * m * from_data(columns);
        CAPTURE(p[0], p[1], q[0], q[1], rank);
        check_scaled(gradient(a), cofactors(a), 1e-11);
        // The tangent along one element is its cofactor.
        for (const std::int64_t k : {0, 6, 15}) {
          const Tensor unit = reshape(one_hot(k, 16, DType::float64), {4, 4});
          const double tangent = jvp([](const Tensor& x) { return det(x); }, a, GradientList{unit}).second.item();
          check_scaled(scalar(tangent), scalar(cofactors(a).to_vector()[static_cast<std::size_t>(k)]), 1e-11);
        }
      }
  // The determinant overflows or underflows, the cofactors do not.
  for (const double size : {1e150, 1e-120}) {
    const Tensor a = size * (drawn({3, 3}) + 2 * eye(3));
    CHECK((det(a).item() == 0 || std::isinf(det(a).item())));
    check_scaled(gradient(a), cofactors(a), 1e-12);
    check_scaled(gradient(stack({a, a}))[1], cofactors(a), 1e-12);
  }
  const Tensor small = cast(1e-15 * (drawn({3, 3}) + 2 * eye(3)), DType::float32);
  check_scaled(gradient(small), cofactors(cast(small, DType::float64)), 1e-5);
  // Second order: of det(diag(a, b, c)) by a and b, c.
  const auto of_diagonal = [](const Tensor& x) { return det(diag(x)); };
  check_scaled(hessian(of_diagonal)(tensor({1e200, 1e-100, 1e-80})),
               tensor({{0, 1e-80, 1e-100}, {1e-80, 0, 1e200}, {1e-100, 1e200, 0}}), 1e-12);
}

TEST_CASE("det: second derivatives where the determinant or first ones are out of range") {
  const std::vector<double> diagonals[] = {{1e200, 1e200, 1e-300},
                                           {1e-200, 1e-200, 1e300},
                                           {1e200, 1e200, 1e-300, 1, 1, 1},
                                           {1e150, 1e150, 1e-150, 1e-150, 1e-300, 1e250},
                                           {1e250, 1e250, 1e250, 1e-300, 1e-300, 0},
                                           {1e200, 1e200, 1e-300, 3, 5, 7, 1e100, 1e-150, 0.1, 1e-60}};
  for (const auto& values : diagonals) {
    const std::size_t n = values.size();
    const Tensor a = diag(from_data(values));
    const std::vector<double> second = hessian([](const Tensor& x) { return det(x); })(a).to_vector();
    std::vector<double> expected(second.size());
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        if (i == j) continue;
        long double others = 1;
        for (std::size_t k = 0; k < n; ++k)
          if (k != i && k != j) others *= static_cast<long double>(values[k]);
        const auto at = [&](std::size_t r, std::size_t c, std::size_t s, std::size_t d) -> double& {
          return expected[((r * n + c) * n + s) * n + d];
        };
        at(i, i, j, j) = static_cast<double>(others);
        at(i, j, j, i) = -static_cast<double>(others);
      }
    CAPTURE(values[0], values[2], n);
    check_scaled(from_data(second), from_data(expected), 1e-14);
  }
}

namespace {

// Checks that matrices agree to a relative error of the largest element, where row i is scaled by rows[i] and columns
// likewise.
void check_weighted(const Tensor& got, const Tensor& expected, const std::vector<double>& rows,
                    const std::vector<double>& columns) {
  const std::vector<double> g = got.to_vector(), c = expected.to_vector();
  const auto weight = [&](std::size_t i) {
    return static_cast<long double>(rows[i / columns.size()]) * static_cast<long double>(columns[i % columns.size()]);
  };
  long double most = 0;
  for (std::size_t i = 0; i < c.size(); ++i)
    if (std::isfinite(c[i])) most = std::max(most, weight(i) * std::abs(static_cast<long double>(c[i])));
  for (std::size_t i = 0; i < c.size(); ++i) {
    CAPTURE(i, g[i], c[i]);
    const long double error = std::abs(static_cast<long double>(g[i]) - static_cast<long double>(c[i]));
    if (std::isinf(c[i]))
      CHECK(g[i] == c[i]);
    else if (std::isinf(g[i]))
      CHECK(1e-11L * most / weight(i) > static_cast<long double>(std::numeric_limits<double>::max()));
    else
      CHECK(error <= 1e-11L * most / weight(i) + 1e-290L);
  }
}

}  // namespace

TEST_CASE("det: gradients of badly scaled matrices of order 6, and of their cofactors, of full rank and less") {
  const double powers[][6] = {
      {200, 200, -300, 0, 10, -10}, {-150, 100, 60, -20, 0, 0}, {75, 75, 75, 75, 75, 75}, {70, -140, 70, 0, 5, -5}};
  for (const auto& p : powers)
    for (const auto& q : powers)
      for (const std::int64_t rank : {6, 5, 4}) {
        std::vector<double> rows, columns;
        for (int i = 0; i < 6; ++i) {
          rows.push_back(std::pow(10.0, p[i] / 2));
          columns.push_back(std::pow(10.0, q[5 - i] / 2));
        }
        const Tensor m = rank == 6 ? drawn({6, 6}) + eye(6) : of_rank(6, rank);
        const Tensor a = reshape(from_data(rows), {6, 1}) * m * from_data(columns);
        CAPTURE(p[0], q[0], rank);
        if (rank > 4) check_weighted(gradient(a), cofactors(a), rows, columns);  // else rounding errors of a product
        // The gradient of one cofactor: its elements are the cofactors of what is left without its row and column.
        const Tensor unit = reshape(one_hot(8, 36, DType::float64), {6, 6});
        const auto cofactor = [&](const Tensor& x) {
          return jvp([](const Tensor& y) { return det(y); }, x, GradientList{unit}).second;
        };
        std::vector<double> rest = a.to_vector();
        for (std::size_t k = 0; k < 6; ++k) rest[6 + k] = rest[k * 6 + 2] = 0;
        rest[8] = 1;
        std::vector<double> expected = cofactors(from_data(rest, {6, 6})).to_vector();
        for (std::size_t k = 0; k < 6; ++k) expected[6 + k] = expected[k * 6 + 2] = 0;
        check_weighted(grad(cofactor)(a), from_data(expected, {6, 6}), rows, columns);
      }
}

TEST_CASE("det: derivatives of a batch shared by threads leave no memory behind") {
  const Tensor a = drawn({512, 8, 8});
  const auto second_derivatives = [&] {
    return grad([](const Tensor& x) { return sum(square(grad([](const Tensor& y) { return sum(det(y)); })(x))); })(a);
  };
  const int before = num_threads();
  set_num_threads(2);
  for (int i = 0; i < 5; ++i) second_derivatives();
  const std::int64_t misses = memory_stats().pool_misses;
  for (int i = 0; i < 20; ++i) second_derivatives();
  CHECK(memory_stats().pool_misses == misses);
  set_num_threads(before);
}

TEST_CASE("det: a batch with a badly scaled matrix has the gradient of each matrix alone, in all bits") {
  for (const std::int64_t n : {3, 4}) {
    const Tensor a = drawn({4, n, n}, "batch") * reshape(tensor({1., 1., 1e-300, 1.}), {4, 1, 1}), whole = gradient(a);
    for (std::int64_t i = 0; i < 4; ++i) CHECK(array_equal(slice(whole, {i}), gradient(slice(a, {i}))));
  }
}

TEST_CASE("det and slogdet of matrices with NaN or infinity") {
  for (const double bad : {quiet_nan, inf})
    for (const std::int64_t n : {1, 2, 3, 30}) {
      std::vector<double> values = (drawn({n, n}) + eye(n)).to_vector();
      values[0] = bad;
      const Tensor a = from_data(values, {n, n});
      CAPTURE(bad, n);
      CHECK_FALSE(std::isfinite(det(a).item()));
      CHECK(std::isnan(slogdet(a).logdet.item()));
      CHECK_NOTHROW(gradient(a));
    }
}

TEST_CASE("det: errors") {
  CHECK_THROWS_WITH(det(zeros({2, 3})), support::says("det: a must be square in its last two axes, it is [2, 3]"));
  CHECK_THROWS_AS(slogdet(zeros({2})), ShapeError);
}
