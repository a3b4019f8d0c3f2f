// cholesky, solve, triangular_solve, inverse: residuals, known gradients, derivatives, singular and non-finite input.
#include <array>
#include <cstring>
#include <functional>
#include <limits>
#include <reel/compile.hpp>
#include <reel/linalg.hpp>
#include <reel/reel.hpp>

#include "catch.hpp"
#include "linalg/check.hpp"
#include "support/messages.hpp"
#include "support/numbers.hpp"
#include "support/out_of_memory.hpp"

using namespace reel;
using Catch::Contains;
using linalg::check_one, support::largest;

namespace {

constexpr double quiet_nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();

Tensor drawn(const Shape& shape, const char* seed = "solve") { return support::Random(seed).tensor(shape); }
Tensor regular(const Shape& shape) { return drawn(shape) + 2 * eye(shape.back()); }
Tensor positive(const Shape& shape) {
  const Tensor x = drawn(shape);
  return matmul(x, x, {.transpose_b = true}) + eye(shape.back());
}
Tensor symmetric(const Tensor& x) { return 0.5 * (x + moveaxis(x, -1, -2)); }

// |a x - b| within a few eps of |a| |x|.
void check_residual(const Tensor& a, const Tensor& x, const Tensor& b) {
  const Tensor left = matmul(a, x), scale = matmul(abs(a), abs(x));
  const double eps = a.dtype() == DType::float32 ? 0x1p-23 : 0x1p-52;
  CHECK(largest(cast(left - b, DType::float64)) <=
        8 * eps * static_cast<double>(a.shape().back()) * largest(cast(scale, DType::float64)));
}

std::vector<double> gradient(Tensor (*f)(const Operand&), const Tensor& x) {
  GradientTape tape;
  tape.watch(x);
  return (*tape.gradient(sum(f(x)), x)).to_vector();
}

bool close(const std::vector<double>& a, const std::vector<double>& b, double tolerance = 1e-14) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(std::abs(a[i] - b[i]) <= tolerance)) return false;
  return true;
}

}  // namespace

TEST_CASE("cholesky: factor, known gradient, derivatives") {
  for (const DType d : {DType::float64, DType::float32})
    for (const Shape& shape :
         {Shape{1, 1}, Shape{3, 3}, Shape{2, 3, 3}, Shape{2, 2, 4, 4}, Shape{0, 0}, Shape{0, 3, 3}, Shape{70, 70}}) {
      const Tensor a = cast(positive(shape), d), l = cholesky(a);
      REQUIRE(l.shape() == shape);
      CHECK(l.dtype() == d);
      CHECK(array_equal(l, tril(l)));
      check_residual(l, moveaxis(l, -1, -2), a);
    }
  CHECK(cholesky(tensor<int>({{4, 2}, {2, 3}})).dtype() == DType::float64);
  CHECK(close(cholesky(tensor({{4, 2}, {2, 3}})).to_vector(), {2, 0, 1, std::sqrt(2.0)}));
  CHECK(close(gradient(cholesky, tensor({{4, 2}, {2, 3}})),
              {0.21338834764831843, 0.073223304703363118, 0.073223304703363118, 0.35355339059327376}));
  // The upper triangle is not read.
  CHECK(array_equal(cholesky(tensor({{4, quiet_nan}, {2, 3}})), cholesky(tensor({{4, 2}, {2, 3}}))));
  check_one([](const auto& x) { return cholesky(x[0]); }, {positive({3, 3})},
            {.order = 3, .slack = 30, .symmetric = true});
  check_one([](const auto& x) { return cholesky(x[0]); }, {positive({2, 3, 3})}, {.slack = 30, .symmetric = true});
  check_one([](const auto& x) { return cholesky(symmetric(x[0])); }, {positive({4, 4})}, {.slack = 30});
  // Loops over blocks; of a batch with one factor.
  check_one([](const auto& x) { return cholesky(x[0]); }, {positive({71, 71})},
            {.order = 1, .slack = 100, .symmetric = true});
  for (const Shape& shape : {Shape{0, 0}, Shape{0, 3, 3}})
    CHECK(jvp(cholesky, zeros(shape), zeros(shape)).second.shape() == shape);
}

TEST_CASE("solve: residual in every batch and layout, known gradient, derivatives") {
  struct Pair {
    Shape a, b;
  };
  const Pair pairs[] = {
      {{3, 3}, {3}},    {{3, 3}, {3, 2}},    {{1, 1}, {1}},       {{3, 3}, {3, 1}},          {{3, 3, 3}, {3, 3}},
      {{2, 3, 3}, {3}}, {{2, 3, 3}, {3, 2}}, {{3, 3}, {2, 3, 2}}, {{2, 1, 3, 3}, {5, 3, 2}}, {{0, 0}, {0}},
      {{0, 0}, {0, 2}}, {{3, 3}, {3, 0}},    {{0, 3, 3}, {3, 2}}, {{1, 3, 3}, {4, 3, 1}}};
  for (const auto& [sa, sb] : pairs) {
    CAPTURE(sa, sb);
    const Tensor a = regular(sa), b = drawn(sb, "b");
    const Tensor x = solve(a, b);
    const bool vector = sb.rank() == 1;
    const Tensor columns = vector ? expand_dims(x, -1) : x;
    check_residual(a, columns, broadcast_to(vector ? expand_dims(b, -1) : b, columns.shape()));
    CHECK(array_equal(solve(laid_out(a, support::Layout::transposed), laid_out(b, support::Layout::flipped)), x));
    check_one([](const auto& at) { return solve(at[0], at[1]); }, {a, b}, {.slack = 30});
  }
  check_one([](const auto& x) { return solve(x[0], x[1]); }, {regular({3, 3}), drawn({3, 2}, "b")},
            {.order = 3, .slack = 30});
  check_one([](const auto& x) { return solve(x[0], x[0]); }, {regular({3, 3})}, {.slack = 30});
  const Tensor single = cast(regular({40, 40}), DType::float32), rhs = cast(drawn({40, 3}), DType::float32);
  CHECK(solve(single, rhs).dtype() == DType::float32);
  check_residual(single, solve(single, rhs), rhs);
  CHECK(solve(cast(single, DType::float16), rhs).dtype() == DType::float32);
  CHECK(solve(cast(single, DType::float16), cast(rhs, DType::float16)).dtype() == DType::float16);
  CHECK(solve(tensor<int>({{2, 0}, {0, 4}}), tensor<int>({1, 1})).to_vector() == std::vector<double>{0.5, 0.25});

  const Tensor a = tensor({{2, 1}, {1, 3}}), b = tensor({1, 2});
  GradientTape tape;
  tape.watch(a);
  tape.watch(b);
  const auto g = tape.gradient(solve(a, b), {a, b});
  CHECK(close((*g[0]).to_vector(), {-0.08, -0.24, -0.04, -0.12}));
  CHECK(close((*g[1]).to_vector(), {0.4, 0.2}));
}

TEST_CASE("solve: a tape that follows only the right-hand side keeps no copy of the matrix") {
  const Tensor a = regular({8, 8}), b = drawn({8}, "b");
  GradientTape tape({.persistent = true});
  tape.watch(b);
  const Tensor x = solve(a, b);
  CHECK(tape.stats().saved_tensors == 2);  // factors and pivots
  CHECK(largest(matmul(a, *tape.gradient(x, b), {.transpose_a = true}) - 1) < 1e-13);
}

TEST_CASE("triangular_solve: every option, masked gradient") {
  for (const bool lower : {true, false})
    for (const bool transpose : {true, false})
      for (const bool unit : {true, false}) {
        CAPTURE(lower, transpose, unit);
        const TriangularOptions options{lower, transpose, unit};
        const auto f = [=](const support::Tensors& x) { return triangular_solve(x[0], x[1], options); };
        for (const auto& [sa, sb] : {std::pair<Shape, Shape>{{3, 3}, {3, 2}},
                                     {{3, 3}, {3}},
                                     {{2, 3, 3}, {3, 2}},
                                     {{3, 3}, {2, 3, 1}},
                                     {{3, 3, 3}, {3, 3}},
                                     {{2, 3, 3}, {3}},
                                     {{0, 0}, {0}}}) {
          const Tensor a = regular(sa), b = drawn(sb, "b");
          Tensor t = lower ? tril(a, unit ? -1 : 0) : triu(a, unit ? 1 : 0);
          if (unit) t = t + eye(sa.back());
          if (transpose) t = moveaxis(t, -1, -2);
          const Tensor x = f({a, b});
          CHECK(largest(x - solve(t, b)) <= 1e-13);
          for (support::Layout layout :
               {support::Layout::transposed, support::Layout::flipped, support::Layout::stepped})
            CHECK(largest(f({laid_out(a, layout), laid_out(b, layout)}) - x) <= 1e-14);
          check_one(f, {a, b}, {.slack = 30});
        }
      }
  // Elements that are not read may have any value, and get gradient zero.
  const Tensor a = tensor({{2., quiet_nan}, {1., 4.}}), b = tensor({2., 4.});
  GradientTape tape;
  tape.watch(a);
  const Tensor x = triangular_solve(a, b);
  CHECK(x.to_vector() == std::vector<double>{1, 0.75});
  CHECK((*tape.gradient(x, a)).to_vector()[1] == 0);
}

TEST_CASE("a right-hand side of more than one axis is matrices in every solver") {
  using Solver = std::function<Tensor(const Tensor&, const Tensor&)>;
  const auto bands = [](const Tensor& a, int main) { return a + 8.0 * reshape(one_hot(main, 3), {3, 1}); };
  const auto diagonals = [](const Tensor& a) { return std::array{diagonal(a, -1), diagonal(a), diagonal(a, 1)}; };
  const std::pair<const char*, Solver> solvers[] = {
      {"solve", [](const Tensor& a, const Tensor& b) { return solve(a, b); }},
      {"triangular_solve", [](const Tensor& a, const Tensor& b) { return triangular_solve(a, b); }},
      {"cholesky_solve", [](const Tensor& a, const Tensor& b) { return cholesky_solve(a, b); }},
      {"lu_solve", [](const Tensor& a, const Tensor& b) { return lu_solve(lu_factor(a), b); }},
      {"lstsq", [](const Tensor& a, const Tensor& b) { return lstsq(a, b); }},
      {"banded_solve", [&](const Tensor& a, const Tensor& b) { return banded_solve(bands(a, 1), 1, 1, b); }},
      {"banded_triangular_solve",
       [&](const Tensor& a, const Tensor& b) { return banded_triangular_solve(bands(a, 0), b); }},
      {"tridiagonal_solve",
       [&](const Tensor& a, const Tensor& b) {
         const auto d = diagonals(a);
         return tridiagonal_solve(d[0], d[1], d[2], b);
       }},
      {"tridiagonal_matmul",
       [&](const Tensor& a, const Tensor& b) {
         const auto d = diagonals(a);
         return tridiagonal_matmul(d[0], d[1], d[2], b);
       }},
      {"toeplitz_solve", [&](const Tensor& a, const Tensor& b) {
         const Tensor column = slice(a, {ellipsis, 0});
         return toeplitz_solve(column, column, b);
       }}};
  // As many matrices as rows: b [3, 3] has the shape of a batch of vectors too.
  const Tensor a = regular({3, 3, 3}) + 4 * eye(3), b = drawn({3, 3}, "b");
  for (const auto& solver : solvers) {
    INFO(solver.first);
    const Solver& f = solver.second;
    const Tensor x = f(a, b);
    CHECK(largest(x - stack({f(a[0], b), f(a[1], b), f(a[2], b)})) <= 1e-14);
    CHECK(array_equal(compile(f)(a, b), x));
    // The cotangent of b is that of b broadcast to every matrix.
    const auto total = [&](const Tensor& p, const Tensor& q) { return sum(sin(f(p, q))); };
    const Tensor expected = sum(grad([&](const Tensor& q) { return total(a, q); })(broadcast_to(b, {3, 3, 3})), 0);
    CHECK(largest(grad([&](const Tensor& q) { return total(a, q); })(b) - expected) <= 1e-14);
    // One vector serves every matrix; a batch of vectors has a last axis of 1.
    const Tensor one = f(a, b[0]);
    CHECK(largest(one - stack({f(a[0], b[0]), f(a[1], b[0]), f(a[2], b[0])})) <= 1e-14);
    CHECK(largest(squeeze(f(a, expand_dims(b, -1)), -1) - stack({f(a[0], b[0]), f(a[1], b[1]), f(a[2], b[2])})) <=
          1e-14);
    check_one([&](const support::Tensors& t) { return f(t[0] + 8 * eye(3), t[1]); }, {drawn({3, 3, 3}), b},
              {.slack = 30});
    // Where only the former reading fits, the error has both forms.
    const char* name = solver.first;
    for (const auto& [own, side] : {std::pair{Shape{2, 3, 3}, Shape{2, 3}}, {Shape{4, 3, 3, 3}, Shape{4, 3, 3}}})
      CHECK_THROWS_WITH(
          f(broadcast_to(a[0], own), ones(side)),
          Contains(std::string(name) + ": ") && Contains("is matrices of 3 rows, [..., 3, m]") &&
              Contains("expand_dims(" + std::string(name == std::string("tridiagonal_matmul") ? "x" : "b")));
  }
  CHECK_THROWS_WITH(solve(zeros({2, 3, 3}), zeros({2, 3})),
                    Contains("solve: a is [2, 3, 3], b is [2, 3]: with more than one axis, b is matrices of 3 rows, "
                             "[..., 3, m]; pass a batch of vectors as expand_dims(b, -1), which is [2, 3, 1]"));
}

TEST_CASE("inverse: residual, known gradient, derivatives") {
  for (const Shape& shape : {Shape{1, 1}, Shape{3, 3}, Shape{2, 3, 3}, Shape{0, 0}, Shape{50, 50}}) {
    const Tensor a = regular(shape), z = inverse(a);
    check_residual(a, z, broadcast_to(eye(shape.back()), shape));
    if (shape.back() < 10) check_one([](const auto& x) { return inverse(x[0]); }, {a}, {.order = 3, .slack = 30});
  }
  CHECK(close(gradient(inverse, tensor({{4, 2}, {2, 3}})), {-0.015625, -0.03125, -0.03125, -0.0625}, 1e-16));
}

TEST_CASE("factorisations of many matrices have the same bits for every number of threads") {
  const Tensor a = regular({300, 6, 6}), p = positive({300, 6, 6}), b = drawn({300, 6, 2});
  const Tensor singular = matmul(drawn({300, 6, 5}), drawn({300, 5, 6}));
  const auto sum_of_det = [](const Tensor& x) { return sum(det(x)); };
  const int before = num_threads();
  std::vector<std::vector<double>> first;
  for (int threads : {1, 2, 3, 7}) {
    set_num_threads(threads);
    const std::vector<std::vector<double>> now = {cholesky(p).to_vector(),
                                                  solve(a, b).to_vector(),
                                                  inverse(a).to_vector(),
                                                  triangular_solve(a, b).to_vector(),
                                                  det(a).to_vector(),
                                                  grad(sum_of_det)(a).to_vector(),
                                                  hvp(sum_of_det)(singular, a).to_vector()};
    if (first.empty()) first = now;
    for (std::size_t i = 0; i < now.size(); ++i)
      CHECK(std::memcmp(now[i].data(), first[i].data(), now[i].size() * sizeof(double)) == 0);
  }
  set_num_threads(before);
}

TEST_CASE("singular and indefinite matrices are errors that name the matrix") {
  const Tensor singular = tensor({{1, 2}, {2, 4}}), good = eye(2), b = ones({2});
  CHECK_THROWS_AS(solve(singular, b), ValueError);
  CHECK_THROWS_WITH(solve(singular, b), Contains("solve: a is singular: pivot 2 is zero; add a multiple of eye(n)"));
  CHECK_THROWS_WITH(solve(stack({good, singular}), b), Contains("solve: a is singular: pivot 2 of matrix [1] is zero"));
  CHECK_THROWS_WITH(inverse(reshape(stack({good, good, good, good, good, singular}), {2, 3, 2, 2})),
                    Contains("inverse: a is singular: pivot 2 of matrix [1, 2]"));
  CHECK_THROWS_WITH(triangular_solve(tensor({{1, 0}, {1, 0}}), b),
                    Contains("triangular_solve: a is singular: element 1 of the diagonal is zero"));
  CHECK_THROWS_WITH(cholesky(tensor({{1, 2}, {2, 1}})),
                    Contains("cholesky: a is not positive definite: the leading minor of order 2 is not positive"));
  CHECK_THROWS_WITH(cholesky(stack({good, -good})), Contains("order 1 of matrix [1]"));
  CHECK_THROWS_AS(cholesky(zeros({1, 1})), ValueError);
}

TEST_CASE("errors of shape and dtype") {
  CHECK_THROWS_WITH(cholesky(zeros({2, 3})),
                    support::says("cholesky: a must be square in its last two axes, it is [2, 3]"));
  CHECK_THROWS_WITH(inverse(zeros({3})), Contains("inverse: a must be square in its last two axes, it is [3]"));
  CHECK_THROWS_AS(inverse(2.0), ShapeError);
  CHECK_THROWS_WITH(solve(eye(3), zeros({4})),
                    Contains("solve: a is [3, 3], b is [4]: b must be a vector of 3 elements or have 3 rows"));
  CHECK_THROWS_WITH(solve(eye(3), zeros({4, 2})), Contains("solve: a is [3, 3], b is [4, 2]"));
  CHECK_THROWS_AS(solve(eye(3), 1.0), ShapeError);
  CHECK_THROWS_WITH(solve(zeros({2, 3, 3}), zeros({5, 3, 1})),
                    Contains("solve: batch axes do not broadcast: a is [2, 3, 3], b is [5, 3, 1]"));
  CHECK_THROWS_AS(cholesky(Tensor()), ValueError);
}

TEST_CASE("solvers accept matrices with NaN and infinity") {
  for (const double bad : {quiet_nan, inf, -inf})
    for (const std::int64_t n : {1, 2, 5, 40}) {
      std::vector<double> values = positive({n, n}).to_vector();
      values[static_cast<std::size_t>(n / 2 * (n + 1))] = bad;
      const Tensor a = from_data(values, {n, n}), b = ones({n});
      CAPTURE(bad, n);
      CHECK(all(isnan(solve(a, b))).item<bool>());
      CHECK(all(isnan(inverse(a))).item<bool>());
      CHECK(isnan(sum(cholesky(a))).item<bool>());
      CHECK_NOTHROW(triangular_solve(a, b));
      CHECK_NOTHROW(gradient(cholesky, a));
      CHECK(all(isnan(solve(eye(n), b * bad * 0))).item<bool>());
      GradientTape tape;
      tape.watch(a);
      CHECK(all(isnan(*tape.gradient(solve(a, b), a))).item<bool>());
    }
}

TEST_CASE("inverse: a failed workspace allocation is not reported as a singular matrix") {
  const Tensor a = eye(20) + 0.1 * ones({20, 20});
  const support::FailNothrowNew no_memory;
  CHECK_THROWS_AS(inverse(a), std::bad_alloc);
  CHECK_THROWS_AS(inverse(stack({a, a})), std::bad_alloc);
  GradientTape tape;
  tape.watch(a);
  const Tensor logdet = slogdet(a).logdet;
  CHECK_THROWS_AS(tape.gradient(logdet, a), std::bad_alloc);
  CHECK(no_memory.failures() >= 3);
}
