// Sparse matrices with differentiable values: sampled products and solutions against dense ones, to order 3.
#include <algorithm>
#include <reel/compile.hpp>
#include <reel/linalg.hpp>
#include <reel/ops/arranging.hpp>
#include <reel/sparse.hpp>

#include "catch.hpp"
#include "linalg/check.hpp"
#include "sparse/symbolic_analysis.hpp"
#include "support/calls.hpp"
#include "support/numbers.hpp"

using namespace reel;
using Catch::Contains;
using support::largest;

namespace {

Tensor drawn(const Shape& shape, const char* seed) { return support::Random(seed).tensor(shape); }

// The five-point stencil of convection and diffusion on a grid of m by m, without symmetry; `shuffled` numbers the
// points in another order.
Csr stencil(std::int64_t m, bool shuffled) {
  std::vector<std::int64_t> rows, columns;
  std::vector<double> values;
  const std::int64_t n = m * m;
  const auto number = [&](std::int64_t i, std::int64_t j) {
    const std::int64_t k = i * m + j;
    return shuffled ? (k * 7 + 3) % n : k;
  };
  const auto add = [&](std::int64_t at, std::int64_t i, std::int64_t j) {
    if (i < 0 || j < 0 || i >= m || j >= m) return;
    rows.push_back(at);
    columns.push_back(number(i, j));
  };
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < m; ++j) {
      const std::int64_t at = number(i, j);
      add(at, i, j);
      add(at, i - 1, j);
      add(at, i + 1, j);
      add(at, i, j - 1);
      add(at, i, j + 1);
    }
  const SparsityPattern p = coo_to_csr(from_data(rows), from_data(columns), {n, n});
  const Tensor on_diagonal = cast(equal(p.rows(), p.columns), DType::float64);
  return {p, drawn({p.nonzeros()}, "values") + 4.5 * on_diagonal};
}

}  // namespace

TEST_CASE("sampled products are elements of the dense product, and the adjoint of a product by the values") {
  const Csr a = stencil(3, true);
  const Tensor x = drawn({9, 4}, "x"), y = drawn({4, 9}, "y"), sampled = sampled_matmul(a.pattern, x, y);
  const Tensor at_places = gather(reshape(matmul(x, y), {81}), a.pattern.rows() * 9 + a.pattern.columns);
  CHECK(largest(sampled - at_places) < 1e-15);
  const Tensor u = drawn({9, 2}, "u"), g = drawn({9, 2}, "g");
  GradientTape tape;
  tape.watch(a.values);
  const Tensor product = csr_matmul(a.values, a.pattern, u);
  CHECK(largest(*tape.gradient(product, a.values, {.output_gradients = g}) -
                sampled_matmul(a.pattern, g, transpose(u))) < 1e-15);
  linalg::check([&](const support::Tensors& t) { return support::Tensors{sin(sampled_matmul(a.pattern, t[0], t[1]))}; },
                {x, y}, {.order = 3, .slack = 4});
  CHECK_THROWS_WITH(sampled_matmul(a.pattern, x, x), Contains("sampled_matmul: x is [9, 4], y is [9, 4]"));
}

TEST_CASE("sparse solutions are those of the dense matrix, with derivatives by values and right side to order 3") {
  for (const bool shuffled : {false, true})
    for (const bool transposed : {false, true}) {
      const Csr a = stencil(6, shuffled);
      const Tensor b = drawn({36, 2}, "b"), dense = to_dense(a);
      const Tensor x = csr_solve(a.values, a.pattern, b, transposed);
      CHECK(largest(x - solve(transposed ? transpose(dense) : dense, b)) < 1e-13);
      CHECK(largest(csr_matmul(a.values, a.pattern, x, transposed) - b) < 1e-13);
      CHECK(csr_solve(a.values, a.pattern, slice(b, {range_from(0), 0}), transposed).shape() == Shape{36});
    }
  const Csr a = stencil(2, true);
  const Tensor b = drawn({4}, "b");
  using X = support::Tensors;
  support::Function f = [&](const X&x) { return X{csr_solve(x[0], a.pattern, x[1])}; }, g = [&](const X&x) {
    return X{solve(to_dense({a.pattern, x[0]}), x[1])};
  };
  const X x{a.values, b};
  for (int order = 0; order < 3; ++order) {
    support::Random random("directions");
    const X v = random.like(g(x)), t = random.like(x);
    INFO("order " << order);
    CHECK(support::difference(support::pull(f, x, v), support::pull(g, x, v)).error < 1e-12);
    CHECK(support::difference(support::push(f, x, t), support::push(g, x, t)).error < 1e-12);
    f = support::gradient_of(f, v);
    g = support::gradient_of(g, v);
  }
}

namespace {

// The matrix of the dense one at the positions of a pattern.
Csr at_positions(const Tensor& dense, const SparsityPattern& p) {
  const Tensor present = to_dense({p, ones({p.nonzeros()}, dense.dtype())});
  return to_csr(dense * present, p);
}
// Of every kind of factor: positive definite, symmetric, general with and without pivoting.
std::vector<std::pair<const char*, Tensor>> kinds(const SparsityPattern& p) {
  const std::int64_t n = p.shape[0];
  const Tensor a = drawn({n, n}, "kinds"), strong = 5 * eye(n), swapped = roll(eye(n), 1, 0);
  const Tensor imaginary = make_complex(zeros({n, n}), drawn({n, n}, "imaginary"));
  return {{"positive definite", a + transpose(a) + 2 * strong},
          {"indefinite", a + transpose(a)},
          {"dominant", a + strong},
          {"zeros on the diagonal", a * (1 - eye(n))},
          {"Hermitian", 0.2 * (a + transpose(a) + imaginary - transpose(imaginary)) + 2 * strong},
          {"complex", a + imaginary}};
}

}  // namespace

TEST_CASE("sparse solutions of every dtype and kind of matrix are those of the dense matrix") {
  const SparsityPattern p = stencil(6, true).pattern;
  for (const auto& [name, dense] : kinds(p))
    for (const DType dtype : {DType::float64, DType::float32, DType::complex128, DType::complex64}) {
      if (is_complex(dense.dtype()) && !is_complex(dtype)) continue;
      const Csr a = at_positions(cast(dense, dtype), p);
      const Tensor full = to_dense(a), b = cast(drawn({36, 3}, "b"), dtype);
      for (const bool transposed : {false, true}) {
        INFO(name << ' ' << dtype << ' ' << transposed);
        const Tensor x = csr_solve(a.values, p, b, transposed);
        const bool wide = dtype == DType::float64 || dtype == DType::complex128;
        CHECK(x.dtype() == dtype);
        CHECK(largest(abs(matmul(transposed ? transpose(full) : full, x) - b)) < (wide ? 1e-12 : 1e-4));
      }
    }
  const Tensor whole = tensor<std::int64_t>({2, 4, 8});
  const SparsityPattern diagonal = coo_to_csr(arange(std::int64_t{3}), arange(std::int64_t{3}), {3, 3});
  CHECK(largest(csr_solve(whole, diagonal, tensor<std::int64_t>({1, 1, 1})) - tensor({0.5, 0.25, 0.125})) < 1e-16);
  CHECK(
      csr_solve(zeros({0}), coo_to_csr(zeros({0}, DType::int64), zeros({0}, DType::int64), {0, 0}), ones({0})).size() ==
      0);
  CHECK(all(isnan(csr_solve(tensor({1, support::qnan, 1}), diagonal, ones({3})))).item<bool>());
  CHECK(all(isnan(csr_solve(tensor({1, support::inf, 1}), diagonal, ones({3, 2})))).item<bool>());
}

TEST_CASE("derivatives of sparse solutions by every kind of factor, also of complex matrices and their transposes") {
  const SparsityPattern p = stencil(2, true).pattern;
  for (const auto& [name, dense] : kinds(p))
    for (const bool transposed : {false, true}) {
      INFO(name << ' ' << transposed);
      const Csr a = at_positions(dense, p);
      const Tensor b = cast(drawn({4, 2}, "b"), dense.dtype());
      const auto of = [](const Tensor& x) {
        return is_complex(x.dtype()) ? support::Tensors{real(x), imag(x)} : support::Tensors{x};
      };
      const auto from = [](const support::Tensors& x, std::size_t k) {
        return x.size() == 2 ? x[k] : make_complex(x[2 * k], x[2 * k + 1]);
      };
      support::Tensors x = of(a.values), right = of(b);
      x.insert(x.end(), right.begin(), right.end());
      support::Function f =
                            [&](const support::Tensors&t) {
                              return of(csr_solve(from(t, 0), p, from(t, 1), transposed));
                            },
                        g = [&](const support::Tensors&t) {
                          const Tensor m = to_dense({p, from(t, 0)});
                          return of(solve(transposed ? transpose(m) : m, from(t, 1)));
                        };
      for (int order = 0; order < 3; ++order) {
        support::Random random("directions");
        const support::Tensors v = random.like(g(x)), t = random.like(x);
        INFO("order " << order);
        const auto pulled = support::difference(support::pull(f, x, v), support::pull(g, x, v));
        const auto pushed = support::difference(support::push(f, x, t), support::push(g, x, t));
        CHECK(pulled.error < 1e-11 * (1 + pulled.size));
        CHECK(pushed.error < 1e-11 * (1 + pushed.size));
        f = support::gradient_of(f, v);
        g = support::gradient_of(g, v);
      }
    }
}

TEST_CASE("compiled sparse solutions and their gradients to order 2 have the bits of those op by op") {
  const Csr a = stencil(6, true);
  const Tensor b = drawn({36}, "b");
  const auto loss = [&](const Tensor& values, const Tensor& right) {
    return sum(sin(csr_solve(values, a.pattern, right)));
  };
  const auto slope = [&](const Tensor& values, const Tensor& right) { return grad<0>(loss)(values, right); };
  const auto bend = [&](const Tensor& values, const Tensor& right) {
    return grad<0>([&](const Tensor& v, const Tensor& r) { return sum(square(slope(v, r))); })(values, right);
  };
  const auto by_pattern = [](const Tensor& starts, const Tensor& columns, const Tensor& values, const Tensor& right) {
    return csr_solve(values, {{36, 36}, starts, columns}, right);
  };
  const auto compiled = compile(loss);
  const auto compiled_slope = compile(slope);
  const auto compiled_bend = compile(bend);
  const auto compiled_pattern = compile(by_pattern);
  for (const double scale : {1., -2.}) {  // of another kind of factor too
    const Tensor values = scale * a.values;
    CHECK(array_equal(compiled(values, b), loss(values, b)));
    CHECK(array_equal(compiled_slope(values, b), slope(values, b)));
    CHECK(array_equal(grad<0>(compiled)(values, b), slope(values, b)));
    CHECK(array_equal(compiled_bend(values, b), bend(values, b)));
    CHECK(array_equal(compiled_pattern(a.pattern.row_starts, a.pattern.columns, values, b),
                      csr_solve(values, a.pattern, b)));
  }
  CHECK_THROWS_WITH(compiled(0 * a.values, b), Contains("csr_solve: ") && Contains("the matrix is singular"));
}

TEST_CASE("a five-point grid of 57600 points has little fill, and its gradients reuse the factors") {
  constexpr std::int64_t m = 240, n = m * m;
  const Csr a = stencil(m, true);
  autodiff::CompressedRows rows{n, a.pattern.row_starts.to_vector<std::int64_t>(),
                                a.pattern.columns.to_vector<std::int64_t>()};
  CHECK(optim::Analysis(rows).factor_size() < 55 * n);  // a band of 240 diagonals has 240 n
  const Tensor x = drawn({n}, "x"), b = csr_matmul(a.values, a.pattern, x);
  std::vector<support::Recorded> calls;
  {
    const support::Listening listening(calls, ops::may_throw);
    GradientTape tape({.persistent = true});
    tape.watch(a.values);
    const Tensor y = csr_solve(a.values, a.pattern, b);
    CHECK(largest(y - x) < 1e-10);
    const Tensor g = *tape.gradient(sum(y), a.values), z = csr_solve(a.values, a.pattern, ones({n}), true);
    CHECK(largest(g + sampled_matmul(a.pattern, expand_dims(z, 1), expand_dims(y, 0))) < 1e-10);
    CHECK(bool(tape.gradient(y, a.values)));
  }
  const auto factorised = std::count_if(calls.begin(), calls.end(), [](const support::Recorded& call) {
    return std::string_view(call.primitive->rule.name) == "csr_solve";
  });
  CHECK(factorised == 2);  // of y and of z
}

TEST_CASE("pairs of rows and columns with values become a sparse matrix of the sums of equal pairs") {
  const Tensor rows = tensor<int>({2, 0, 2, 1, 2}), columns = tensor<int>({1, 3, 0, 1, 1});
  const Csr a = coo_to_csr(rows, columns, tensor({1, 2, 3, 4, 5}), {3, 4});
  CHECK(array_equal(a.pattern.columns, tensor<std::int64_t>({3, 1, 0, 1})));
  CHECK(array_equal(to_dense(a), tensor({{0, 0, 0, 2}, {0, 4, 0, 0}, {3, 6, 0, 0}})));
  CHECK(array_equal(coo_to_csr(rows, columns, {3, 4}).columns, a.pattern.columns));
  CHECK(coo_to_csr(rows, columns, tensor<std::int32_t>({1, 2, 3, 4, 5}), {3, 4}).values.dtype() == DType::int64);
  CHECK(coo_to_csr(zeros({0}, DType::int64), zeros({0}, DType::int64), zeros({0}), {2, 0}).values.size() == 0);
  linalg::check_one(
      [&](const support::Tensors& t) {
        return sin(to_dense(coo_to_csr(rows, columns, t[0], {3, 4})));
      },
      {drawn({5}, "values")}, {.order = 3});
  const auto compiled = compile([&](const Tensor& v) { return to_dense(coo_to_csr(rows, columns, v, {3, 4})); });
  CHECK(array_equal(compiled(tensor({1, 2, 3, 4, 5})), to_dense(a)));
  CHECK_THROWS_WITH(coo_to_csr(rows, columns, ones({4}), {3, 4}), Contains("coo_to_csr: values have shape [4]"));
  CHECK_THROWS_AS(coo_to_csr(rows, columns, ones({5}), {3, 3}), IndexError);
  CHECK_THROWS_AS(coo_to_csr(rows, columns, Tensor(), {3, 4}), Error);
}

TEST_CASE("sums, products, transposes and softmax of sparse matrices are those of dense ones, to order 3") {
  const Csr a = stencil(3, true),
            b{coo_to_csr(tensor<int>({0, 0, 4, 8, 8}), tensor<int>({3, 1, 4, 0, 7}), {9, 9}), drawn({5}, "few")};
  const Csr wide = to_csr(drawn({9, 2}, "wide"));
  CHECK(array_equal(to_dense(transpose(a)), transpose(to_dense(a))));
  CHECK(array_equal(transpose(transpose(a)).values, a.values));
  CHECK(largest(to_dense(add(a, b)) - to_dense(a) - to_dense(b)) < 1e-15);
  CHECK(array_equal(to_dense({add(b, a).pattern, ones({37})}),
                    cast(logical_or(not_equal(to_dense(a), 0), not_equal(to_dense(b), 0)), DType::float64)));
  for (const auto& [left, right] : {std::pair(a, b), {b, a}, {a, wide}, {transpose(wide), a}}) {
    const Csr product = matmul(left, right);
    const Tensor reached =
        matmul(cast(not_equal(to_dense(left), 0), DType::float64), cast(not_equal(to_dense(right), 0), DType::float64));
    CHECK(largest(to_dense(product) - matmul(to_dense(left), to_dense(right))) < 1e-15);
    CHECK(product.pattern.nonzeros() == sum(cast(greater(reached, 0), DType::int64)).item<std::int64_t>());
  }
  CHECK(largest(sum(wide, 0) - sum(to_dense(wide), 0)) < 1e-15);
  CHECK(largest(sum(a, -1) - sum(to_dense(a), 1)) < 1e-15);
  const Tensor present = not_equal(to_dense(a), 0);
  CHECK(largest(to_dense(softmax(a)) - softmax(where(present, to_dense(a), -1e300), -1)) < 1e-15);
  CHECK(largest(softmax(Csr{a.pattern, a.values + 1000}).values - softmax(a).values) < 1e-12);
  const Tensor far = to_dense(softmax(Csr{a.pattern, 2000 * a.values}));
  CHECK(largest(far - softmax(where(present, 2000 * to_dense(a), -1e300), -1)) < 1e-12);
  CHECK(array_equal(to_csr(to_dense(a)).values, a.values));
  CHECK(array_equal(to_csr(to_dense(a), b.pattern).values,
                    gather(flatten(to_dense(a)), b.pattern.rows() * 9 + b.pattern.columns)));
  CHECK(to_csr(zeros({2, 3})).pattern.nonzeros() == 0);
  CHECK(to_dense(matmul(to_csr(zeros({2, 3})), to_csr(zeros({3, 4})))).shape() == Shape{2, 4});
  linalg::check(
      [&](const support::Tensors& t) {
        const Csr x{a.pattern, t[0]}, y{b.pattern, t[1]};
        return support::Tensors{add(x, y).values, matmul(y, transpose(x)).values, sum(x, 0), softmax(x).values,
                                to_csr(t[2], b.pattern).values * t[1]};
      },
      {a.values, b.values, drawn({9, 9}, "dense")}, {.order = 3, .slack = 10});
  CHECK_THROWS_WITH(matmul(wide, a), Contains("matmul: inner dimensions differ: a is [9, 2], b is [9, 9]"));
  CHECK_THROWS_WITH(add(wide, a), Contains("add: the matrices are [9, 2] and [9, 9]"));
  CHECK_THROWS_WITH(to_csr(zeros({3})), Contains("to_csr: the matrix has shape [3]"));
  CHECK_THROWS_WITH(to_csr(zeros({3, 3}), a.pattern),
                    Contains("to_csr: the matrix has shape [3, 3], the pattern [9, 9]"));
  CHECK_THROWS_WITH(sum(a, 2), Contains("sum: axis 2 is out of range for shape [9, 9]: it must be from -2 to 1"));
  CHECK_THROWS_AS(transpose(Csr{a.pattern, ones({2})}), ShapeError);
  CHECK_THROWS_AS(softmax(Csr{}), Error);
}

TEST_CASE("errors of sparse solvers name the cause") {
  const Csr a = stencil(3, false);
  CHECK_THROWS_WITH(csr_solve(0 * a.values, a.pattern, ones({9})),
                    Contains("csr_solve: ") && Contains("the matrix is singular"));
  // Without an element in a row, or in a column, or with equal rows.
  for (const auto& [i, j] : {std::pair(tensor<int>({0, 0, 2}), tensor<int>({0, 2, 1})),
                             {tensor<int>({0, 1, 2}), tensor<int>({0, 1, 0})},
                             {tensor<int>({0, 1, 1, 2, 2}), tensor<int>({0, 1, 2, 1, 2})}})
    CHECK_THROWS_WITH(csr_solve(ones({i.size()}), coo_to_csr(i, j, {3, 3}), ones({3})),
                      Contains("the matrix is singular"));
  CHECK_THROWS_WITH(csr_solve(a.values, a.pattern, ones({8})), Contains("csr_solve: b has shape [8]"));
  CHECK_THROWS_WITH(csr_solve(ones({2}), a.pattern, ones({9})), Contains("csr_solve: values have shape [2]"));
  CHECK_THROWS_AS(csr_solve(a.values, {}, ones({9})), Error);
  const SparsityPattern wide = coo_to_csr(tensor<int>({0}), tensor<int>({1}), {2, 3});
  CHECK_THROWS_WITH(csr_solve(ones({1}), wide, ones({2})), Contains("it must be square"));
  // A zero on the diagonal is no pivot.
  const SparsityPattern swap = coo_to_csr(tensor<int>({0, 1}), tensor<int>({1, 0}), {2, 2});
  CHECK(array_equal(csr_solve(tensor({2, 4}), swap, tensor({6, 8})), tensor({2, 3})));
}
