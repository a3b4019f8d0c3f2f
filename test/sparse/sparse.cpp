// Sparse Jacobians and Hessians against dense ones; their directions, patterns that are detected, and products.
#include <random>
#include <reel/geometry.hpp>
#include <reel/ops/indexing.hpp>
#include <reel/ops/sorting.hpp>
#include <reel/reel.hpp>
#include <reel/sparse.hpp>

#include "../catch.hpp"
#include "../op_cases.hpp"
#include "../op_operands.hpp"
#include "sparse/colouring.hpp"
#include "support/bits.hpp"
#include "support/numbers.hpp"

using namespace reel;
using autodiff::CompressedRows;
using Catch::Contains;
using support::largest;

namespace {

// A second difference, with a nonlinear term: tridiagonal.
Tensor reaction(const Tensor& x) {
  const Tensor padded = pad(x, {1}, {1});
  const Tensor left = slice(padded, {range(0, x.size())}), right = slice(padded, {range_from(2)});
  return left - 2 * x + right + x * x * x;
}
// Rosenbrock's chain.
Tensor chain(const Tensor& x) {
  const Tensor head = slice(x, {range_to(-1)}), tail = slice(x, {range_from(1)});
  return sum(100 * square(tail - square(head)) + square(1 - head));
}
// Each element with the first one.
Tensor arrow(const Tensor& x) { return sum(square(slice(x, {range_from(1)})) * x[0] + sin(slice(x, {range_from(1)}))); }

CompressedRows rows_of(const Tensor& dense) {
  CompressedRows rows{dense.shape()[1], {0}, {}};
  for (std::int64_t i = 0; i < dense.shape()[0]; ++i) {
    for (std::int64_t j = 0; j < dense.shape()[1]; ++j)
      if (dense[i][j].item() != 0) rows.columns.push_back(j);
    rows.starts.push_back(static_cast<std::int64_t>(rows.columns.size()));
  }
  return rows;
}
SparsityPattern pattern_of(const Tensor& dense) {
  const std::vector<Tensor> at = nonzero(dense);
  return coo_to_csr(at[0], at[1], dense.shape());
}
Tensor points(std::int64_t n) {
  support::Random random("points");
  return random.tensor({n}, 0.5, 1.5);
}
Tensor ones_of(const SparsityPattern& p) { return to_dense({p, ones({p.nonzeros()})}); }

// Whether each element of the dense matrix that is not zero has a place.
bool covers(const SparsityPattern& p, const Tensor& dense) {
  return largest(where(greater(ones_of(p), 0), 0., reshape(dense, p.shape))) == 0;
}

// Random square matrices: about `filled` elements in a row.
Tensor random_matrix(std::int64_t m, std::int64_t n, double filled, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<double> values;
  for (std::int64_t k = 0; k < m * n; ++k) {
    const double at = static_cast<double>(engine() % 100000) / 100000;
    values.push_back(at < filled / static_cast<double>(n) ? 1 + at : 0);
  }
  return from_data(values, {m, n});
}

}  // namespace

TEST_CASE("a tridiagonal Jacobian takes three directions in one call, whatever its size") {
  for (const std::int64_t n : {3, 10, 100000}) {
    int calls = 0;
    const auto f = [&](const Tensor& x) {
      ++calls;
      return reaction(x);
    };
    const SparseJacobian jacobian_of = sparse_jacobian(f, zeros({n}));
    CHECK(jacobian_of.pattern().nonzeros() == 3 * n - 2);
    CHECK(jacobian_of.forward_directions() == 3);
    CHECK(jacobian_of.reverse_directions() == 3);
    calls = 0;
    const Tensor x = n == 100000 ? full({n}, 0.5) : points(n);
    const Csr found = jacobian_of(x);
    CHECK(calls == 1);
    if (n < 100) CHECK(largest(to_dense(found) - jacobian(reaction)(x)) < 1e-15);
    // Row sums: 3 x^2 within, 1 less at the ends.
    CHECK(largest(slice(matmul(found, ones({n})) - 3 * square(x), {range(1, n - 1)})) < 1e-14);
  }
}

TEST_CASE("stencils on grids take as many directions as they have points") {
  // The sum of x and its neighbours along the last `axes` axes, zero beyond the edges, and at the corners too.
  const auto stencil = [](const Tensor& x, const Shape& grid, int axes, bool corners) {
    Tensor centre = x, sum = x;
    for (int axis = grid.rank() - axes; axis < grid.rank(); ++axis) {
      const Tensor outside = zeros([&] {
        Shape s = grid;
        s[axis] = 1;
        return s;
      }());
      const std::int64_t n = grid[axis];
      const Tensor from = corners ? sum : centre;
      const Tensor before = concatenate({outside, split_sizes(from, {n - 1, 1}, axis)[0]}, axis);
      const Tensor behind = concatenate({split_sizes(from, {1, n - 1}, axis)[1], outside}, axis);
      sum = sum + before + behind;
    }
    return sum * x;
  };
  struct Case {
    Shape grid;
    int axes;
    bool corners;
    std::int64_t directions;
  };
  for (const auto& [grid, axes, corners, directions] :
       {Case{{12, 17}, 2, false, 5}, Case{{9, 10}, 2, false, 5}, Case{{9, 11}, 2, true, 9},
        Case{{5, 6, 7}, 3, false, 7}, Case{{6, 9, 2}, 3, false, 6}}) {
    CAPTURE(grid, corners);
    const auto f = [&, g = grid, k = axes, c = corners](const Tensor& x) { return stencil(x, g, k, c); };
    const SparseJacobian sparse = sparse_jacobian(f, ones(grid), {.check = true});
    CHECK(sparse.forward_directions() == directions);
    CHECK(sparse.reverse_directions() == directions);
    const std::int64_t n = grid.elements();
    const Tensor x = reshape(points(n), grid);
    CHECK(largest(to_dense(sparse(x)) - reshape(jacobian(f)(x), {n, n})) < 1e-14);
    const SparseHessian hessian_of = sparse_hessian([&](const Tensor& v) { return sum(f(v) * v); }, ones(grid));
    CHECK(hessian_of.directions() <= directions);
  }
}

TEST_CASE("Jacobians of given patterns are those of the dense Jacobian, in both modes") {
  for (const auto& [m, n] : {std::pair{8, 8}, std::pair{30, 9}, std::pair{9, 30}, std::pair{1, 7}, std::pair{7, 1}}) {
    const Tensor a = random_matrix(m, n, 2.5, static_cast<unsigned>(m));
    const auto f = [a = a](const Tensor& x) { return sin(matmul(a, square(x))); };
    const Tensor x = points(n);
    const SparseJacobian sparse = sparse_jacobian(f, pattern_of(a), {.check = true});
    INFO(m << " by " << n << ": " << sparse.forward_directions() << ", " << sparse.reverse_directions());
    CHECK(largest(to_dense(sparse(x)) - jacobian(f)(x)) < 1e-14);
  }
}

TEST_CASE("blocks take as many directions as a block has columns") {
  support::Random random("blocks");
  const Tensor weights = random.tensor({3, 5}), x = random.tensor({6, 3});
  const auto f = [&](const Tensor& v) { return tanh(matmul(v, weights)); };  // [6, 5]
  const SparseJacobian sparse = sparse_jacobian(f, x, {.check = true});
  CHECK(sparse.pattern().nonzeros() == 6 * 15);
  CHECK(sparse.forward_directions() == 3);
  CHECK(sparse.reverse_directions() == 5);
  CHECK(largest(to_dense(sparse(x)) - reshape(jacobian(f)(x), {30, 18})) < 1e-15);
  const auto g = [&](const Tensor& v) { return sum(exp(sum(v * v, 1))); };
  const SparseHessian curvature = sparse_hessian(g, x, {.check = true});
  CHECK(curvature.directions() == 3);
  CHECK(largest(to_dense(curvature(x)) - reshape(hessian(g)(x), {18, 18})) < 1e-13);
}

TEST_CASE("sparse Jacobians have the function's shapes and dtypes") {
  const auto f = [](const Tensor& x) { return x * x * 2; };  // [2, 3]
  const Tensor x = tensor<float>({{1, 2, 3}, {4, 5, 6}});
  const SparseJacobian sparse = sparse_jacobian(f, x, {.check = true});
  const Csr found = sparse(x);
  CHECK(found.values.dtype() == DType::float32);
  CHECK(sparse.forward_directions() == 1);
  CHECK(array_equal(found.values, tensor<float>({4, 8, 12, 16, 20, 24})));
  CHECK(array_equal(sparse_jacobian([](const Tensor&) { return ones({2}); }, x)(x).values, zeros({0})));
}

TEST_CASE("sparse Jacobians use reverse mode without a jvp or if rows need fewer colours") {
  const auto f =
      custom_gradient([](const Tensor& x) { return std::pair(x * x, [x](const Tensor& g) { return 2 * g * x; }); });
  const Tensor x = points(6);
  const SparsityPattern diagonal = pattern_of(eye(6));
  CHECK(largest(to_dense(sparse_jacobian(f, diagonal, {.check = true})(x)) - 2 * x * eye(6)) < 1e-15);
  CHECK(jacobian_sparsity(f, x).nonzeros() == 36);  // the rule may say anything
  const auto g = [](const Tensor& v) { return sum(v * v, 0, true); };
  const SparseJacobian by_row = sparse_jacobian(g, x);
  CHECK(by_row.forward_directions() == 6);
  CHECK(by_row.reverse_directions() == 1);
  CHECK(largest(to_dense(by_row(x)) - 2 * x) < 1e-15);
  int pulled = 0, pushed = 0;
  const auto counted = custom_gradient(
      [&](const Tensor& v) {
        return std::pair(v * v, [&, v](const Tensor& dy) {
          ++pulled;
          return 2 * dy * v;
        });
      },
      [&](const std::tuple<Tensor>& p, const std::tuple<Tensor>& t) {
        ++pushed;
        return 2 * std::get<0>(p) * std::get<0>(t);
      });
  const auto row = [&](const Tensor& v) { return sum(counted(v), 0, true); };
  CHECK(largest(to_dense(sparse_jacobian(row, by_row.pattern())(x)) - 2 * x) < 1e-15);
  CHECK(pulled == 1);
  CHECK(pushed == 0);
  CHECK(largest(to_dense(sparse_jacobian(counted, diagonal)(x)) - 2 * x * eye(6)) < 1e-15);
  CHECK(pushed == 1);
}

TEST_CASE("columns with an entry in the same row have different colours") {
  for (unsigned seed = 0; seed < 30; ++seed) {
    const CompressedRows a = rows_of(random_matrix(12, 15, 2.5, seed));
    const autodiff::Colours colours = autodiff::colour_columns(a);
    for (std::int64_t i = 0; i < a.row_count(); ++i) {
      std::vector<bool> taken(static_cast<std::size_t>(colours.count));
      for (const std::int64_t j : a.row(i)) {
        const auto colour = static_cast<std::size_t>(colours.of[static_cast<std::size_t>(j)]);
        CHECK_FALSE(taken[colour]);
        taken[colour] = true;
      }
    }
  }
}

TEST_CASE("the Jacobian of a five-point stencil takes five directions") {
  for (const std::int64_t n : {8, 17, 40}) {
    const auto f = [n](const Tensor& x) {
      const Tensor u = pad(reshape(x, {n, n}), {1, 1}, {1, 1});
      const Tensor inside = u(range(1, n + 1), range(1, n + 1));
      const Tensor y = square(inside) - u(range_to(n), range(1, n + 1)) - u(range_from(2), range(1, n + 1)) -
                       u(range(1, n + 1), range_to(n)) - u(range(1, n + 1), range_from(2));
      return reshape(y, {n * n});
    };
    const Tensor x = points(n * n);
    const SparseJacobian sparse = sparse_jacobian(f, x);
    INFO(n);
    CHECK(sparse.forward_directions() == 5);
    if (n == 8) CHECK(largest(to_dense(sparse(x)) - jacobian(f)(x)) < 1e-14);
  }
}

TEST_CASE("star colourings have no path of four vertices in two colours") {
  for (unsigned seed = 0; seed < 60; ++seed) {
    const CompressedRows a = autodiff::symmetric(rows_of(random_matrix(14, 14, 1 + seed % 4, seed)));
    const autodiff::Colours colours = autodiff::star_colouring(a);
    const auto c = [&](std::int64_t v) { return colours.of[static_cast<std::size_t>(v)]; };
    bool good = true;
    for (std::int64_t v = 0; v < 14; ++v)
      for (const std::int64_t w : a.row(v)) {
        if (w == v) continue;
        good = good && c(v) != c(w);
        for (const std::int64_t x : a.row(w)) {
          if (x == v || x == w || c(x) != c(v)) continue;
          for (const std::int64_t y : a.row(x)) good = good && (y == x || y == w || c(y) != c(w));
        }
      }
    INFO("seed " << seed);
    CHECK(good);
  }
}

TEST_CASE("Hessians of chain and arrow patterns take few directions") {
  const Tensor x = points(9);
  const SparseHessian of_chain = sparse_hessian(chain, x, {.check = true});
  CHECK(of_chain.directions() == 3);
  CHECK(of_chain.pattern().nonzeros() == 25);
  CHECK(largest(to_dense(of_chain(x)) - hessian(chain)(x)) < 1e-12);
  const SparseHessian of_arrow = sparse_hessian(arrow, x, {.check = true});
  CHECK(of_arrow.directions() == 2);
  CHECK(largest(to_dense(of_arrow(x)) - hessian(arrow)(x)) < 1e-13);
  const SparseHessian large = sparse_hessian(chain, full({20000}, 0.9));
  CHECK(large.directions() == 3);
  CHECK(large.pattern().nonzeros() == 3 * 20000 - 2);
}

TEST_CASE("Hessians of random patterns are those of the dense Hessian") {
  for (unsigned seed = 0; seed < 12; ++seed) {
    const Tensor a = random_matrix(10, 10, 2, seed), x = points(10);
    const auto f = [a](const Tensor& v) { return sum(a * sin(expand_dims(v, 1) * expand_dims(v, 0))); };
    const SparseHessian given = sparse_hessian(f, pattern_of(a + eye(10)), {.check = true});
    CHECK(largest(to_dense(given(x)) - hessian(f)(x)) < 1e-13);
    CHECK(given.directions() <= 10);
    // Symmetric though the pattern that was given is not.
    CHECK(array_equal(ones_of(given.pattern()), transpose(ones_of(given.pattern()))));
  }
}

// Second derivatives of terms that cancel are rounding errors, which differ between a product with the unit vectors and
// one with a random vector. Elements that a pattern lacks are larger than them.
TEST_CASE("terms that cancel are no missing place of a pattern") {
  const Tensor x = points(7), a = random_matrix(7, 7, 7, 3);
  for (const double size : {1e-8, 1.0, 1e8}) {
    const auto f = [a = a * size, size](const Tensor& v) {
      const Tensor w = v * 0.1;
      return sum(v * matmul(a, v)) - 10 * sum(w * matmul(a, v)) + sum(v * v * v) * (size * 1e-9);
    };
    const SparsityPattern diagonal = pattern_of(eye(7));
    INFO("terms of size " << size);
    CHECK_NOTHROW(sparse_hessian(f, x, {.check = true})(x));
    CHECK_NOTHROW(sparse_hessian(f, diagonal, {.check = true})(x));
    const auto g = [f, size](const Tensor& v) { return f(v) + size * 1e-10 * square(v[0] + v[1]); };
    CHECK_THROWS_WITH(sparse_hessian(g, diagonal, {.check = true})(x), Contains("misses a place"));
    const auto slope = grad(f);
    CHECK_NOTHROW(sparse_jacobian(slope, diagonal, {.check = true})(x));
  }
}

TEST_CASE("a pattern that lacks a nonzero is an error if it is checked") {
  const SparsityPattern diagonal = pattern_of(eye(5));
  const Tensor x = points(5);
  CHECK_THROWS_WITH(sparse_jacobian(reaction, diagonal, {.check = true})(x), Contains("misses a place"));
  CHECK_NOTHROW(sparse_jacobian(reaction, diagonal)(x));
  CHECK_THROWS_WITH(sparse_hessian(chain, diagonal, {.check = true})(x), Contains("misses a place"));
  const auto by_rule = custom_gradient([](const Tensor& v) {
    return std::pair(reaction(v),
                     [v](const Tensor& g) { return grad([&](const Tensor& u) { return sum(g * reaction(u)); })(v); });
  });
  CHECK_THROWS_WITH(sparse_jacobian(by_rule, diagonal, {.check = true})(x), Contains("column"));
}

TEST_CASE("detected patterns are exact for ops that move, broadcast and reduce elements") {
  const Tensor x = points(12);
  const auto exact = [&](const TensorFunction& f) {
    const SparsityPattern p = jacobian_sparsity(f, x);
    const Tensor dense = reshape(jacobian(f)(x), p.shape);
    return covers(p, dense) && array_equal(ones_of(p), cast(not_equal(dense, 0), DType::float64));
  };
  const Tensor indices = tensor<std::int64_t>({3, 0, 3}), weights = from_data(std::vector<double>{1, 2, 3});
  CHECK(exact(reaction));
  CHECK(exact([](const Tensor& v) { return reshape(v, {3, 4}) * slice(v, {range(0, 4)}); }));
  CHECK(exact([](const Tensor& v) { return sum(reshape(v, {3, 4}), 0); }));
  CHECK(exact([](const Tensor& v) { return mean(reshape(v, {2, 3, 2}), {0, 2}, true); }));
  CHECK(exact([](const Tensor& v) { return softmax(reshape(v, {3, 4}), 0); }));
  CHECK(exact([](const Tensor& v) { return pad(flip(transpose(reshape(v, {3, 4})), 0), {1, 0}, {0, 2}, 7); }));
  CHECK(exact([&](const Tensor& v) { return gather(reshape(v, {4, 3}), indices) * weights; }));
  CHECK(exact([&](const Tensor& v) { return scatter_add(ones({5}) * v[0], indices, slice(v, {range(1, 4)})); }));
  CHECK(exact([](const Tensor& v) { return matmul(reshape(v, {3, 4}), ones({4, 2})); }));
  CHECK(exact([](const Tensor& v) { return matmul(reshape(v, {3, 4}), slice(v, {range(0, 4)})); }));
  CHECK(exact([](const Tensor& v) { return matmul(slice(v, {range(0, 3)}), reshape(v, {3, 4})); }));
  CHECK(exact([](const Tensor& v) { return matmul(reshape(v, {3, 4}), reshape(v, {3, 4}), {.transpose_a = true}); }));
  CHECK(exact([](const Tensor& v) { return matmul(ones({2, 2, 3}), reshape(v, {2, 2, 3}), {.transpose_b = true}); }));
  CHECK(exact([](const Tensor& v) { return stack(unstack(reshape(v, {3, 4}), 1), 0) * 2; }));
  CHECK(exact([](const Tensor& v) { return exp(sum(v)) * slice(v, {range(0, 2)}); }));
}

TEST_CASE("detected patterns include both branches of where and all candidates of gather") {
  const Tensor x = tensor({1., -2., 3.});
  const auto chosen = [](const Tensor& v) { return where(greater(v, 0), v, flip(v, 0)); };
  CHECK(array_equal(ones_of(jacobian_sparsity(chosen, x)), tensor({{1., 0., 1.}, {0., 1., 0.}, {1., 0., 1.}})));
  const auto sorted = [](const Tensor& v) { return gather(v, argsort(v)); };
  CHECK(jacobian_sparsity(sorted, x).nonzeros() == 9);
  // Along an axis, candidates are the elements of the same row or column.
  const auto largest_of_rows = [](const Tensor& v) { return take_along_axis(v, argmax(v, 1, true), 1); };
  CHECK(array_equal(ones_of(jacobian_sparsity(largest_of_rows, reshape(arange(6.), {2, 3}))),
                    tensor({{1., 1., 1., 0., 0., 0.}, {0., 0., 0., 1., 1., 1.}})));
  const auto sorted_columns = [](const Tensor& v) { return take_along_axis(v, argsort(v, 0), 0); };
  CHECK(jacobian_sparsity(sorted_columns, ones({2, 3, 2})).nonzeros() == 24);
  // Terms along an axis: x itself, and where each goes.
  const auto along = [](const Tensor& t) {
    return scatter_add_along_axis(zeros({3}), tensor<std::int32_t>({-1, 0, -1}), t, 0);
  };
  CHECK(array_equal(ones_of(jacobian_sparsity(along, x)), tensor({{0., 1., 0.}, {0., 0., 0.}, {1., 0., 1.}})));
}

TEST_CASE("detected patterns of solvers and factorisations hold a block per matrix of a batch") {
  const Tensor a = 3 * eye(3) + reshape(sin(arange(36.)), {4, 3, 3}), b = ones({4, 3, 2});
  const auto check = [&](const auto& f, const Tensor& x, std::int64_t places) {
    const SparsityPattern p = jacobian_sparsity(f, x);
    CHECK(p.nonzeros() == places);
    CHECK(covers(p, jacobian(f)(x)));
  };
  check([](const Tensor& x) { return inverse(x); }, a, 4 * 81);
  check([](const Tensor& x) { return det(x); }, a, 4 * 9);
  check([](const Tensor& x) { return slogdet(x).logdet; }, a, 4 * 9);
  check([](const Tensor& x) { return cholesky(matmul(x, x, {.transpose_b = true})); }, a, 4 * 81);
  check([&](const Tensor& x) { return solve(x, b); }, a, 4 * 6 * 9);
  check([&](const Tensor& x) { return solve(a, x); }, b, 4 * 36);
  check([&](const Tensor& x) { return solve(a[0], x); }, b, 4 * 36);
  check([&](const Tensor& x) { return solve(x, b[0]); }, a, 4 * 6 * 9);
  check([&](const Tensor& x) { return triangular_solve(a, x); }, b, 4 * 36);
}

TEST_CASE("the pattern of a pose graph holds the blocks of the poses that an edge joins") {
  const Tensor from = tensor<int>({0, 1, 2, 3, 0}), to = tensor<int>({1, 2, 3, 4, 4});
  const Tensor start = reshape(sin(arange(30.)), {5, 6});
  const auto edges = [&](const Tensor& x) {
    const Tensor poses = se3_exp(x);
    return se3_log(matmul(se3_exp(-gather(x, from)), gather(poses, to)));
  };
  const SparsityPattern p = jacobian_sparsity(edges, start);
  CHECK(p.nonzeros() <= 5 * 6 * 12);
  CHECK(covers(p, jacobian(edges)(start)));
  const auto quaternions = [](const Tensor& x) { return matrix_to_quaternion(so3_exp(x)); };
  CHECK(jacobian_sparsity(quaternions, reshape(start, {10, 3})).nonzeros() == 10 * 4 * 3);
}

// Each operand in turn is the argument, and the others are captured.
template <class Rows>
static void check_detection(const Rows& rows) {
  for (const cases::Shaped& row : rows) {
    if (!cases::selected(row.name) || row.flags & cases::by_values) continue;
    support::for_drawn_operands(row, [&](const support::Tensors& x, const support::Tensors&) {
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (x[i].size() > 64) continue;
        const auto f = [&](const Tensor& v) {
          support::Tensors all = x;
          all[i] = v;
          return row.call(all);
        };
        const Tensor y = f(x[i]);
        if (!is_floating(y.dtype()) || y.size() > 256 || x[i].rank() + y.rank() > max_rank) continue;
        INFO(row.name << ", operand " << i << " of shape " << to_string(x[i].shape()));
        const SparsityPattern p = jacobian_sparsity(f, x[i]);
        CHECK(covers(p, jacobian(f)(x[i])));
      }
    });
  }
}

TEST_CASE("detected patterns hold every nonzero of the Jacobian, for every op") {
  for (const std::span<const cases::Shaped> table : cases::shaped_tables()) check_detection(table);
  for (const cases::Pointwise& row : cases::pointwise()) {
    if (row.flags & (cases::boolean_result | cases::by_complex)) continue;
    support::Random random(row.name);
    support::Tensors x;
    for (int k = 0; k < row.arity; ++k) x.push_back(random.tensor({5}, row.domain[k].low, row.domain[k].high));
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto f = [&](const Tensor& v) {
        support::Tensors all = x;
        all[i] = v;
        return row.call(all);
      };
      if (!is_floating(f(x[i]).dtype())) continue;
      INFO(row.name << ", operand " << i);
      const SparsityPattern p = jacobian_sparsity(f, x[i]);
      CHECK(p.nonzeros() <= 5);
      CHECK(covers(p, jacobian(f)(x[i])));
    }
  }
}

TEST_CASE("detected patterns of Hessians hold every nonzero, for every op") {
  for (const std::span<const cases::Shaped> table : cases::shaped_tables())
    for (const cases::Shaped& row : table) {
      if (!cases::selected(row.name) || row.flags & (cases::by_values | cases::boolean_result)) continue;
      bool first = true;
      support::for_drawn_operands(row, [&](const support::Tensors& x, const support::Tensors&) {
        if (!std::exchange(first, false) || x.empty() || x[0].size() > 24) return;
        const auto f = [&](const Tensor& v) {
          support::Tensors all = x;
          all[0] = v;
          const Tensor y = row.call(all);
          return is_floating(y.dtype()) ? sum(sin(y * 1.25)) : sum(v * 0);
        };
        if (is_complex(row.call(x).dtype())) return;
        INFO(row.name << " of shape " << to_string(x[0].shape()));
        CHECK(covers(hessian_sparsity(f, x[0]), hessian(f)(x[0])));
      });
    }
}

TEST_CASE("a pattern of coordinates is sorted, without duplicates; invalid patterns are refused") {
  const Tensor i = tensor<std::int64_t>({2, 0, 2, 0}), j = tensor<std::int64_t>({1, 3, 0, 3});
  const SparsityPattern p = coo_to_csr(i, j, {3, 4});
  CHECK(p.row_starts.to_vector<std::int64_t>() == std::vector<std::int64_t>{0, 1, 1, 3});
  CHECK(p.columns.to_vector<std::int64_t>() == std::vector<std::int64_t>{3, 0, 1});
  CHECK(p.rows().to_vector<std::int64_t>() == std::vector<std::int64_t>{0, 2, 2});
  CHECK_THROWS_AS(coo_to_csr(i, j, {2, 4}), IndexError);
  CHECK_THROWS_AS(coo_to_csr(i, slice(j, {range(0, 2)}), {3, 4}), ShapeError);
  CHECK_THROWS_AS(coo_to_csr(cast(i, DType::float64), j, {3, 4}), TypeError);
  const auto made = [&](SparsityPattern q) { return sparse_jacobian(reaction, std::move(q)); };
  CHECK_THROWS_AS(made({}), ValueError);
  CHECK_THROWS_AS(made({{3, 4}, p.row_starts, cast(p.columns, DType::int32)}), TypeError);
  CHECK_THROWS_AS(made({{3, 3}, p.row_starts, p.columns}), IndexError);
  CHECK_THROWS_AS(made({{2, 4}, p.row_starts, p.columns}), ValueError);
  CHECK_THROWS_AS(made({{3, 4}, p.row_starts, tensor<std::int64_t>({3, 1, 0})}), ValueError);
  CHECK_THROWS_AS(made(p)(zeros({3})), ShapeError);
  CHECK_THROWS_AS(made(p)(tensor<int>({1, 2, 3, 4})), TypeError);
  CHECK_THROWS_AS(sparse_hessian(chain, p), ShapeError);
  CHECK_THROWS_AS(jacobian_sparsity(reaction, tensor<int>({1})), TypeError);
  const auto by_value = [](const Tensor& x) { return x[0].item() > 0 ? x : -x; };
  CHECK_THROWS_AS(jacobian_sparsity(by_value, ones({2})), TraceError);
}

TEST_CASE("products of sparse matrices are those of dense ones, with derivatives to second order") {
  const Tensor dense = random_matrix(5, 4, 1.5, 7), values = reshape(boolean_mask(dense, not_equal(dense, 0)), {-1});
  const SparsityPattern p = pattern_of(dense);
  CHECK(support::same_bits(to_dense({p, values}), dense));
  for (const bool transposed : {false, true})
    for (const bool matrix : {false, true}) {
      support::Random random("product");
      const std::int64_t n = transposed ? 5 : 4;
      const Tensor x = random.tensor(matrix ? Shape{n, 2} : Shape{n});
      const auto sparse = [&](const Tensor& v, const Tensor& u) { return csr_matmul(v, p, u, transposed); };
      const auto by_dense = [&](const Tensor& v, const Tensor& u) {
        return matmul(to_dense({p, v}), u, {.transpose_a = transposed});
      };
      CHECK(largest(sparse(values, x) - by_dense(values, x)) < 1e-15);
      const auto loss = [](const auto& f) {
        return [f](const Tensor& v, const Tensor& u) { return sum(sin(f(v, u))); };
      };
      CHECK(largest(std::get<0>(grad(loss(sparse))(values, x)) - std::get<0>(grad(loss(by_dense))(values, x))) < 1e-14);
      CHECK(largest(std::get<1>(grad(loss(sparse))(values, x)) - std::get<1>(grad(loss(by_dense))(values, x))) < 1e-14);
      CHECK(largest(hessian<0>(loss(sparse))(values, x) - hessian<0>(loss(by_dense))(values, x)) < 1e-14);
    }
  CHECK_THROWS_AS(csr_matmul(values, p, zeros({5})), ShapeError);
  CHECK_THROWS_AS(csr_matmul(zeros({1}), p, zeros({4})), ShapeError);
}

TEST_CASE("a sparse Jacobian is differentiable, and its matrix is a tree") {
  const SparseJacobian sparse = sparse_jacobian(reaction, zeros({4}));
  const auto trace_of = [&](const Tensor& x) { return sum(matmul(sparse(x), ones({4}))); };
  const Tensor x = points(4);
  CHECK(largest(grad(trace_of)(x) - 6 * x) < 1e-14);
  const auto squares = [](const Csr& a) { return sum(square(a.values)); };
  const Csr slope = grad(squares)(sparse(x));
  CHECK(array_equal(slope.values, 2 * sparse(x).values));
  CHECK(slope.pattern.nonzeros() == 10);
}
