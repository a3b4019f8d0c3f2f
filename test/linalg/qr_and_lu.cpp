// qr, lq, lu, lu_factor, lu_solve, cholesky_solve, cholesky_inverse, pinv, lstsq: identities, derivatives of both modes
// to third order, shapes of every kind, what is refused.
#include <array>
#include <complex>
#include <cstring>
#include <limits>
#include <reel/linalg.hpp>

#include "complex_check.hpp"
#include "linalg/plain_factors.hpp"
#include "support/numbers.hpp"

using namespace reel;
using complex_check::adjoint, complex_check::check_orders, complex_check::check_same_bits, complex_check::drawn,
    complex_check::drawn_in, complex_check::dtypes, complex_check::eps_of;
using support::largest;
using support::Tensors;

namespace {

using C = std::complex<double>;

auto on(Tensor (*f)(const Tensor&)) {
  return [f](const Tensors& x) { return Tensors{f(x[0])}; };
}
Shape last_extent(Shape shape, std::int64_t extent) {
  shape[-1] = extent;
  return shape;
}
bool is_upper(const Tensor& x) { return array_equal(x, triu(x)); }

}  // namespace

TEST_CASE("qr: orthonormal columns, a triangle, the product") {
  for (const DType d : dtypes)
    for (const Shape& shape : {Shape{3, 3},
                               {5, 3},
                               {3, 5},
                               {2, 4, 1},
                               {1, 4},
                               {2, 0, 3, 2},
                               {0, 0},
                               {3, 0},
                               {0, 3},
                               {60, 40},
                               {2, 40, 60}}) {
      CAPTURE(name(d), shape);
      support::Random random("qr");
      const Tensor a = drawn_in(random, shape, d);
      const std::int64_t m = shape[-2], n = shape[-1], k = std::min(m, n);
      const double bound = 10 * eps_of(d) * static_cast<double>(m + n + 1);
      const auto [q, r] = qr(a);
      REQUIRE((q.dtype() == d && r.dtype() == d));
      REQUIRE((q.shape()[-2] == m && q.shape()[-1] == k && r.shape()[-2] == k && r.shape()[-1] == n));
      CHECK(largest(matmul(q, r) - a) <= bound * (1 + largest(a)));
      CHECK(largest(matmul(adjoint(q), q) - cast(eye(k), d)) <= bound);
      CHECK(is_upper(r));
      CHECK(largest(imag(diagonal(r))) == 0);
      const Qr all = qr(a, QrMode::complete), upper = qr(a, QrMode::r);
      REQUIRE((all.q.shape()[-1] == m && all.r.shape()[-2] == m));
      CHECK(largest(matmul(all.q, all.r) - a) <= bound * (1 + largest(a)));
      CHECK(largest(matmul(adjoint(all.q), all.q) - cast(eye(m), d)) <= bound);
      CHECK((array_equal(upper.r, r) && !upper.q.defined()));
      const auto [l, p] = lq(a);
      CHECK(largest(matmul(l, p) - a) <= bound * (1 + largest(a)));
      CHECK(largest(matmul(p, adjoint(p)) - cast(eye(k), d)) <= bound);
      CHECK(is_upper(adjoint(l)));
    }
}

TEST_CASE("qr in both modes, to third order") {
  support::Random random("qr orders");
  for (const DType d : {DType::float64, DType::complex128})
    for (const Shape& shape : {Shape{3, 3}, {4, 3}, {2, 4}, {2, 3, 2}}) {
      CAPTURE(name(d), shape);
      const Tensor a = drawn_in(random, shape, d) + cast(2 * eye(shape[-2], shape[-1]), d);
      const auto both = [](const Tensors& x) {
        const auto [q, r] = qr(x[0]);
        return Tensors{q, r};
      };
      check_orders(both, {a}, 3, 20);
      check_orders(on([](const Tensor& x) { return qr(x).q; }), {a}, 2, 20);
      check_orders(on([](const Tensor& x) { return qr(x, QrMode::r).r; }), {a}, 2, 20);
      check_orders(
          [](const Tensors& x) {
            const auto [l, q] = lq(x[0]);
            return Tensors{l, q};
          },
          {a}, 2, 20);
    }
}

TEST_CASE("qr of dependent columns: factors of the matrix, gradients that are not finite") {
  const Tensor a = tensor({{1, 2}, {2, 4}, {2, 4}});
  const auto [q, r] = qr(a);
  CHECK(largest(matmul(q, r) - a) < 1e-14);
  CHECK(std::abs(r(1, 1).item()) < 1e-14);
  const auto diagonal_of = [](const Tensor& x) { return sum(abs(diagonal(qr(x).r))); };
  const Tensor exact = tensor({{3, 0}, {0, 0}, {0, 0}});  // r has a zero on its diagonal
  CHECK(qr(exact).r(1, 1).item() == 0);
  CHECK_FALSE(all(isfinite(grad(diagonal_of)(exact))).item());
}

TEST_CASE("complete qr: functions of the space spanned by the added columns") {
  support::Random random("complete");
  for (const DType d : {DType::float64, DType::complex128}) {
    const Tensor a = drawn_in(random, {5, 2}, d) + cast(2 * eye(5, 2), d), w = drawn_in(random, {5, 5}, d);
    const auto projection = [](const Tensor& x) {
      const Tensor rest = slice(qr(x, QrMode::complete).q, {all, range_from(2)});
      return matmul(rest, adjoint(rest));
    };
    check_orders([&](const Tensors& x) { return Tensors{projection(x[0])}; }, {a}, 3, 20);
    // It is 1 - q q^H of the reduced form.
    const auto loss = [&](const Tensor& p) { return sum(real(w * p)); };
    const Tensor by_rest = grad([&](const Tensor& x) { return loss(projection(x)); })(a);
    const Tensor by_q = grad([&](const Tensor& x) {
      const Tensor q = qr(x).q;
      return loss(cast(eye(5), d) - matmul(q, adjoint(q)));
    })(a);
    CHECK(largest(by_rest - by_q) <= 1e-13 * largest(by_q));
    // The basis itself is arbitrary.
    CHECK_THROWS_WITH(grad([&](const Tensor& x) { return sum(real(w * qr(x, QrMode::complete).q)); })(a),
                      Catch::Contains("the gradient depends on the basis of the added columns, which is arbitrary"));
    // r and the first columns are as in the reduced form.
    const Tensor first = grad([&](const Tensor& x) {
      const auto [q, r] = qr(x, QrMode::complete);
      return sum(real(slice(w, {all, range(0, 2)}) * slice(q, {all, range(0, 2)}))) + sum(real(r));
    })(a);
    const Tensor reduced = grad([&](const Tensor& x) {
      const auto [q, r] = qr(x);
      return sum(real(slice(w, {all, range(0, 2)}) * q)) + sum(real(r));
    })(a);
    CHECK(largest(first - reduced) <= 1e-13 * largest(reduced));
  }
}

TEST_CASE("lu: factors, pivots, SciPy's example") {
  for (const DType d : dtypes)
    for (const Shape& shape : {Shape{3, 3}, {5, 3}, {3, 5}, {2, 4, 1}, {0, 0}, {3, 0}, {0, 3}, {2, 50, 30}}) {
      CAPTURE(name(d), shape);
      support::Random random("lu");
      const Tensor a = drawn_in(random, shape, d);
      const std::int64_t m = shape[-2], n = shape[-1], k = std::min(m, n);
      const auto [p, l, u] = lu(a);
      const LuFactors f = lu_factor(a);
      REQUIRE((l.shape()[-1] == k && u.shape()[-2] == k && p.shape()[-1] == m && f.lu.shape() == a.shape()));
      REQUIRE((f.pivots.dtype() == DType::int32 && f.pivots.shape()[-1] == k && !is_complex(p.dtype())));
      CHECK(largest(matmul(matmul(cast(p, d), l), u) - a) <= 10 * eps_of(d) * static_cast<double>(m + n + 1));
      CHECK(is_upper(u));
      CHECK(array_equal(l, tril(l)));
      CHECK((k == 0 || array_equal(diagonal(l), ones_like(diagonal(l)))));
      CHECK(largest(l) <= 1 + 1e-6 * static_cast<double>(is_complex(d)) + static_cast<double>(is_complex(d)));
      CHECK(array_equal(tril(f.lu, -1),
                        tril(k == n ? l : concatenate({l, zeros(last_extent(l.shape(), n - k), d)}, -1), -1)));
    }
  // scipy.linalg.lu_factor([[2, 5, 8, 7], [5, 2, 2, 8], [7, 5, 6, 6], [5, 4, 4, 8]])
  const LuFactors f = lu_factor(tensor({{2, 5, 8, 7}, {5, 2, 2, 8}, {7, 5, 6, 6}, {5, 4, 4, 8}}));
  CHECK(f.pivots.to_vector<std::int32_t>() == std::vector<std::int32_t>{2, 2, 3, 3});
  CHECK(largest(f.lu[1] - tensor({0.28571428571428570, 3.5714285714285716, 6.2857142857142856, 5.2857142857142856})) <=
        1e-15);
}

TEST_CASE("lu in both modes: loops over blocks") {
  support::Random random("lu blocks");
  for (const DType d : {DType::float64, DType::complex128})
    for (const Shape& shape : {Shape{71, 71}, {40, 60}, {60, 40}}) {
      CAPTURE(name(d), shape);
      const Tensor a = roll(drawn_in(random, shape, d) + cast(4 * eye(shape[-2], shape[-1]), d), 1, -2);
      check_orders(on([](const Tensor& x) { return lu_factor(x).lu; }), {a}, 1, 50);
    }
}

TEST_CASE("lu in both modes, to third order; lu_solve and cholesky_solve") {
  support::Random random("lu orders");
  for (const DType d : {DType::float64, DType::complex128}) {
    for (const Shape& shape : {Shape{3, 3}, {4, 2}, {2, 4}, {2, 3, 3}, {2, 3, 2}, {2, 2, 3}}) {
      CAPTURE(name(d), shape);
      // A permutation with cycles of three and four, which is not its own inverse.
      const Tensor a = roll(drawn_in(random, shape, d) + cast(4 * eye(shape[-2], shape[-1]), d), 1, -2);
      check_orders(on([](const Tensor& x) { return lu_factor(x).lu; }), {a}, 3, 20);
      check_orders(
          [](const Tensors& x) {
            const Lu y = lu(x[0]);
            return Tensors{y.l, y.u};
          },
          {a}, 2, 20);
    }
    const Tensor a = drawn_in(random, {3, 3}, d) + cast(4 * eye(3), d), many = stack({a, flip(a, -2)});
    for (const Shape& shape : {Shape{3, 2}, {3}, {2, 3, 2}}) {
      const Tensor b = drawn_in(random, shape, d);
      for (const Tensor& at : {flip(a, -2), many}) {
        if (shape.rank() == 3 && at.rank() == 2) continue;
        CHECK(largest(lu_solve(lu_factor(at), b) - solve(at, b)) <= 1e-13);
        check_orders([](const Tensors& x) { return Tensors{lu_solve(lu_factor(x[0]), x[1])}; }, {at, b}, 2, 20);
      }
    }
    const Tensor p = matmul(many, adjoint(many)), b = drawn_in(random, {2, 3, 2}, d);
    CHECK(largest(cholesky_solve(cholesky(p), b) - solve(p, b)) <= 1e-12);
    CHECK(largest(cholesky_inverse(cholesky(p)) - inverse(p)) <= 1e-12);
    const Tensor l = cholesky(p);
    check_orders([](const Tensors& x) { return Tensors{cholesky_solve(x[0], x[1])}; }, {l, b}, 3, 20);
    check_orders(on([](const Tensor& x) { return cholesky_inverse(x); }), {l}, 3, 20);
  }
  CHECK(lu_solve(lu_factor(eye(2)), ones({5, 2, 1})).shape() == Shape{5, 2, 1});
  const Tensor many = cholesky(stack({eye(3), 4 * eye(3), 16 * eye(3)}));  // as many as rows
  CHECK(largest(cholesky_inverse(many) - stack({eye(3), eye(3) / 4, eye(3) / 16})) <= 1e-15);
}

// Where no tape follows it, a derivative is computed by recursion on halves, otherwise by recorded ops.
TEST_CASE("derivatives of cholesky and LU factors agree with their recorded forms, of every order and batch") {
  struct Factorised {
    const char* name;
    Tensor (*f)(const Tensor&);
    bool is_square;
  };
  const Factorised all[] = {
      {"cholesky",
       [](const Tensor& x) { return cholesky(matmul(x, adjoint(x)) + 3 * eye(x.shape()[-1], real(x).dtype())); }, true},
      {"lu_factor", [](const Tensor& x) { return lu_factor(x).lu; }, false}};
  for (const auto& [label, f, is_square] : all)
    for (const DType d : dtypes)
      for (const Shape& shape : {Shape{1, 1},
                                 {2, 2},
                                 {15, 15},
                                 {16, 16},
                                 {17, 17},
                                 {32, 32},
                                 {33, 33},
                                 {47, 47},
                                 {2, 49, 49},
                                 {65, 65},
                                 {3, 2, 5, 5},
                                 {100, 100},
                                 {2, 0, 0},
                                 {40, 25},
                                 {25, 40}}) {
        if (is_square && shape[-1] != shape[-2]) continue;
        CAPTURE(label, name(d), shape);
        support::Random random("derivatives of factors");
        const std::int64_t n = std::min(shape[-1], shape[-2]);
        const Tensor x = drawn_in(random, shape, d) + 3 * cast(eye(shape[-2], shape[-1]), d),
                     t = drawn_in(random, shape, d), v = drawn_in(random, shape, d);
        const auto pulled = [&, f = f](bool recorded) {
          GradientTape outer, tape;
          if (recorded) outer.watch(x);
          tape.watch(x);
          const Tensor y = f(x);
          return *tape.gradient(y, x, {.output_gradients = {v}});
        };
        const auto pushed = [&, f = f](bool recorded) {
          GradientTape outer;
          if (recorded) outer.watch(x);
          const ForwardAccumulator accumulator(x, t);
          return *accumulator.jvp(f(x));
        };
        const double bound = 100 * static_cast<double>(n + 1) * eps_of(d);
        const Tensor recorded = pulled(true), tangent = pushed(true);
        CHECK(largest(pulled(false) - recorded) <= bound * (1 + largest(recorded)));
        CHECK(largest(pushed(false) - tangent) <= bound * (1 + largest(tangent)));
      }
}

TEST_CASE("pinv: Moore and Penrose's conditions at full rank and below") {
  for (const DType d : dtypes)
    for (const Shape& shape : {Shape{3, 3}, {5, 3}, {3, 5}, {2, 4, 1}, {0, 0}, {3, 0}, {0, 3}, {2, 30, 20}})
      for (const bool deficient : {false, true}) {
        CAPTURE(name(d), shape, deficient);
        support::Random random("pinv");
        Tensor a = drawn_in(random, shape, d);
        if (deficient && std::min(shape[-1], shape[-2]) > 1)
          a = matmul(slice(a, {ellipsis, range_from(0), range(0, 2)}),
                     slice(a, {ellipsis, range(0, 2), range_from(0)}));
        const Tensor p = pinv(a, {deficient ? 1e-4 : -1});
        REQUIRE((p.shape()[-1] == shape[-2] && p.shape()[-2] == shape[-1] && p.dtype() == d));
        const double bound = 2000 * eps_of(d) * (1 + largest(p) * largest(p));
        const Tensor ap = matmul(a, p), pa = matmul(p, a);
        CHECK(largest(matmul(ap, a) - a) <= bound);
        CHECK(largest(matmul(pa, p) - p) <= bound * (1 + largest(p)));
        CHECK(largest(ap - adjoint(ap)) <= bound);
        CHECK(largest(pa - adjoint(pa)) <= bound);
      }
  CHECK(pinv(zeros({2, 3})).to_vector() == std::vector<double>(6));
}

TEST_CASE("pinv and lstsq in both modes, to third order") {
  support::Random random("pinv orders");
  for (const DType d : {DType::float64, DType::complex128})
    for (const Shape& shape : {Shape{3, 3}, {4, 2}, {2, 4}, {2, 3, 2}}) {
      CAPTURE(name(d), shape);
      const Tensor a = drawn_in(random, shape, d) + cast(3 * eye(shape[-2], shape[-1]), d);
      check_orders(on([](const Tensor& x) { return pinv(x); }), {a}, 3, 20);
      Shape sides = shape;
      sides[-1] = 2;
      const Tensor b = drawn_in(random, sides, d), v = drawn_in(random, {shape[-2]}, d);
      const auto least = [](const Tensors& x) { return Tensors{lstsq(x[0], x[1])}; };
      CHECK(largest(lstsq(a, b) - matmul(pinv(a), b)) <= 1e-13);
      check_orders(least, {a, b}, 3, 20);
      check_orders(least, {a, v}, 2, 20);
    }
  // Rank 2, varied through its factors so that the rank is constant.
  for (const DType d : {DType::float64, DType::complex128}) {
    const Tensor x = drawn_in(random, {4, 2}, d), y = drawn_in(random, {2, 3}, d), b = drawn_in(random, {4, 2}, d);
    check_orders([](const Tensors& t) { return Tensors{pinv(matmul(t[0], t[1]), {1e-9})}; }, {x, y}, 2, 100);
    check_orders([](const Tensors& t) { return Tensors{lstsq(matmul(t[0], t[1]), t[2], {1e-9})}; }, {x, y, b}, 2, 100);
  }
  // NumPy's example of a line through points.
  const Tensor line = lstsq(tensor({{0, 1}, {1, 1}, {2, 1}, {3, 1}}), tensor({-1, 0.2, 0.9, 2.1}));
  CHECK(largest(line - tensor({1.0, -0.95})) <= 1e-14);
}

TEST_CASE("pinv and lstsq: gradients near the ends of the range are those in its middle, scaled") {
  support::Random random("ends of the range");
  for (const DType d : dtypes)
    for (const int sign : {-1, 1}) {
      const Tensor wide = drawn_in(random, {3, 2}, d), right = drawn_in(random, {3, 2}, d);
      const bool narrow = d == DType::float32 || d == DType::complex64;
      const auto at = [&](double power) {
        const Tensor scale = cast(scalar(std::ldexp(1.0, sign * static_cast<int>(narrow ? power : 8 * power))), d);
        const Tensor a = wide * scale, b = right * scale;
        const auto solution = [](const Tensor& x, const Tensor& y) { return sum(square(abs(lstsq(x, y)))); };
        const auto [by_a, by_b] = grad(solution)(a, b);
        const Tensor inverse = grad([&](const Tensor& x) { return sum(square(abs(pinv(x) * scale))); })(wide * scale);
        const Tensor along = jvp([&](const Tensor& x) { return lstsq(x, b); }, a, a).second;
        return Tensors{by_a * scale, by_b * scale, inverse * scale, along};
      };
      const Tensors middle = at(0), end = at(100);
      INFO(d << ", towards " << (sign < 0 ? "0" : "infinity"));
      for (std::size_t k = 0; k < 4; ++k)  // LAPACK scales such matrices by numbers that are no powers of 2
        CHECK(largest(end[k] - middle[k]) <= 500 * eps_of(d) * largest(middle[k]));
    }
}

TEST_CASE("qr, lu, pinv and lstsq: batched Jacobians agree with Jacobians row by row") {
  support::Random random("rows");
  const Tensor b = random.tensor({4});
  for (const DType d : {DType::float64, DType::complex128})
    for (const auto& [f, shape] : std::initializer_list<std::pair<Tensor (*)(const Tensor&, const Tensor&), Shape>>{
             {[](const Tensor&x, const Tensor&) { return qr(x).q; }, {4, 2}},
             {[](const Tensor&x, const Tensor&) { return qr(x).r; }, {2, 4}},
             {[](const Tensor&x, const Tensor&) { return lu_factor(x).lu; }, {2, 3, 2}},
             {[](const Tensor&x, const Tensor&) { return lu_factor(x).lu; }, {2, 3}},
             {[](const Tensor&x, const Tensor&y) { return lu_solve(lu_factor(x), y); }, {4, 4}},
             {[](const Tensor&x, const Tensor&) { return cholesky_inverse(x); }, {2, 2}},
             {[](const Tensor&x, const Tensor&) { return pinv(x); }, {3, 2}},
             {[](const Tensor&x, const Tensor&y) { return lstsq(x, y); }, {4, 2}}}) {
      const Tensor at = drawn_in(random, shape, d) + cast(2 * eye(shape[-2], shape[-1]), d);
      GradientTape tape({.persistent = true});
      tape.watch(at);
      const Tensor y = reshape(f(at, b), {-1}), parts = is_complex(d) ? concatenate({real(y), imag(y)}, 0) : y;
      tape.stop();
      const Tensor rows = tape.jacobian(parts, at);
      for (std::int64_t i = 0; i < parts.size(); ++i) {
        const Tensor one = *tape.gradient(parts, at, {.output_gradients = eye(parts.size())[i]});
        CHECK(largest(rows[i] - one) <= 1e-12 * (1 + largest(one)));
      }
    }
}

TEST_CASE("qr, lu, pinv and lstsq: NaN, infinity, other dtypes, layouts, threads") {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    for (const DType d : dtypes) {
      const Tensor a = cast(full({3, 2}, bad), d), two = stack({a, cast(eye(3, 2), d)});
      for (const Tensor& x : {qr(a).q, qr(a, QrMode::complete).q, lu_factor(a).lu, pinv(a), lstsq(a, ones({3, 1}))})
        CHECK(std::isnan(abs(x).to_vector<double>().front()));
      CHECK(all(isfinite(pinv(two)[1])).item<bool>());
    }
  for (const auto& [lu, b, x] : {std::array{DType::float16, DType::float64, DType::float64},
                                 {DType::float16, DType::float16, DType::float16},
                                 {DType::float16, DType::bfloat16, DType::float32},
                                 {DType::float32, DType::complex128, DType::complex128}})
    CHECK(lu_solve(lu_factor(eye(3, lu)), ones({3}, b)).dtype() == x);
  CHECK(qr(cast(eye(3), DType::int32)).r.dtype() == DType::float64);
  CHECK(qr(eye(3, DType::float16)).r.dtype() == DType::float16);
  CHECK(lstsq(eye(3, DType::float32), ones({3}, DType::complex64)).dtype() == DType::complex64);
  CHECK(lstsq(eye(3, DType::bfloat16), ones({3}, DType::bfloat16)).dtype() == DType::bfloat16);
  support::Random random("layouts");
  const Tensor a = random.tensor({6, 30, 20}), b = random.tensor({6, 30, 2});
  check_same_bits([&](const Tensor& x) { return std::vector{qr(x).q, lu_factor(x).lu, pinv(x), lstsq(x, b)}; }, a);
}

TEST_CASE("qr: one NaN, at any place, makes all of q and r NaN") {
  for (const std::int64_t n : {2, 3, 4})
    for (std::int64_t place = 0; place < n * n; ++place) {
      std::vector<double> elements = eye(n).to_vector();
      elements[static_cast<std::size_t>(place)] = std::numeric_limits<double>::quiet_NaN();
      const Qr factors = qr(from_data(elements, {n, n}));
      CHECK(all(isnan(factors.q)).item<bool>());
      CHECK(all(isnan(factors.r)).item<bool>());
    }
}

TEST_CASE("reduced qr and lq take memory proportional to the matrix") {
  constexpr std::int64_t m = 4'500'000;  // a square of float64 exceeds an address space of 2^47 bytes
  const Tensor a = full({m, 1}, 2.0);
  CHECK(qr(a).q.shape() == Shape{m, 1});
  CHECK(std::abs(std::abs(qr(a, QrMode::r).r.item()) / (2 * std::sqrt(static_cast<double>(m))) - 1) <= 1e-12);
  CHECK(lq(transpose(a)).q.shape() == Shape{1, m});
}

TEST_CASE("qr, lu, pinv and lstsq: errors") {
  using Catch::Contains;
  const Tensor v = ones({3}), a = ones({3, 2});
  for (const auto& f : {+[](const Tensor& x) { return qr(x).r; }, +[](const Tensor& x) { return lu_factor(x).lu; },
                        +[](const Tensor& x) { return pinv(x); }, +[](const Tensor& x) { return lstsq(x, x); }})
    CHECK_THROWS_AS(f(v), ShapeError);
  CHECK_THROWS_WITH(lstsq(a, ones({2})), Contains("lstsq: a is [3, 2], b is [2]: b must be a vector of 3 elements"));
  CHECK_THROWS_AS(pinv(a, {std::nan("")}), ValueError);
  CHECK_THROWS_AS(qr(a, static_cast<QrMode>(7)), ValueError);
  const LuFactors f = lu_factor(eye(3));
  CHECK_THROWS_AS(lu_solve({f.lu, {}}, v), ValueError);
  CHECK_THROWS_AS(lu_solve({f.lu, v}, v), TypeError);
  CHECK_THROWS_AS(lu_solve({f.lu, cast(ones({2}), DType::int32)}, v), ShapeError);
  CHECK_THROWS_WITH(lu_solve({a, f.pivots}, v), Contains("lu_solve: lu must be square"));
  CHECK_THROWS_AS(lu_solve(f, ones({2})), ShapeError);
  for (const int bad : {-1, 3, 0})
    CHECK_THROWS_WITH(lu_solve({f.lu, cast(full({3}, bad), DType::int32)}, v),
                      Contains("a pivot is not the number of a row at or below its own"));
  CHECK_THROWS_WITH(lu_solve(lu_factor(zeros({2, 2})), ones({2})), Contains("lu_solve: lu is singular"));
  CHECK_THROWS_WITH(cholesky_solve(zeros({2, 2}), ones({2})), Contains("cholesky_solve: l is singular"));
  CHECK_THROWS_WITH(cholesky_solve(eye(2), ones({3})), Contains("cholesky_solve: l is [2, 2], b is [3]"));
  CHECK_THROWS_WITH(cholesky_inverse(zeros({2, 2})), Contains("cholesky_inverse: l is singular"));
  CHECK_THROWS_WITH(cholesky_solve(a, v), Contains("cholesky_solve: l must be square"));
  CHECK_THROWS_WITH(cholesky_inverse(a), Contains("cholesky_inverse: l must be square"));
  CHECK_THROWS_WITH(eigh(eye(3), a), Contains("eigh: b must be square"));
  // The gradient of a matrix with dependent columns. For ones({3, 2}) rounding decides whether r has a zero.
  const Tensor dependent = tensor({{1., 0.}, {1., 0.}, {1., 0.}});
  CHECK_FALSE(all(isfinite(grad([](const Tensor& x) { return sum(qr(x).q); })(dependent))).item<bool>());
  CHECK_FALSE(all(isfinite(grad([](const Tensor& x) { return sum(lu(x).l); })(ones({3, 2})))).item<bool>());
}

// The code of a library built without OpenBLAS.
TEST_CASE("plain lu of rectangles agrees with the public one") {
  support::Random random("plain");
  for (const Shape& shape : {Shape{4, 4}, {5, 3}, {3, 6}}) {
    const Tensor a = drawn(random, shape), columns = transpose(a);
    std::vector<C> packed = columns.to_vector<C>();
    std::vector<int> pivots(static_cast<std::size_t>(std::min(shape[0], shape[1])));
    REQUIRE(loops::plain::getrf<C>(shape[0], shape[1], packed.data(), shape[0], pivots.data()) == 0);
    const LuFactors f = lu_factor(a);
    CHECK(largest(transpose(from_data(packed, columns.shape())) - f.lu) <= 1e-13);
    for (int& p : pivots) --p;
    CHECK(f.pivots.to_vector<std::int32_t>() == pivots);
  }
}
