// levenberg_marquardt with sparse Jacobians: against the dense method, with a user-defined solver, on pose graphs; and
// refused arguments.
#include <algorithm>
#include <cmath>
#include <random>
#include <reel/ops/indexing.hpp>
#include <reel/reel.hpp>
#include <reel/sparse.hpp>

#include "../catch.hpp"
#include "optim/problems.hpp"
#include "sparse/factors.hpp"
#include "sparse/normal_matrix.hpp"
#include "support/numbers.hpp"

using namespace reel;
using Catch::Contains;
using support::largest;

namespace {

Tensor chain(const Tensor& b) {
  const Tensor head = slice(b, {range_to(-1)}), tail = slice(b, {range_from(1)});
  return concatenate({10 * (tail - square(head)), 1 - head}, 0);
}

// A pose graph in one dimension: differences of neighbours and of some distant pairs, seen by a nonlinear sensor.
struct Graph {
  Tensor from, to, seen;
  Tensor operator()(const Tensor& x) const {
    const Tensor d = gather(x, to) - gather(x, from);
    return concatenate({d + 0.1 * sin(d) - seen, slice(x, {range(0, 1)})}, 0);
  }
};
Graph graph_of(std::int64_t n, const Tensor& truth) {
  std::vector<std::int64_t> from, to;
  std::mt19937 engine(5);
  for (std::int64_t i = 0; i + 1 < n; ++i) {
    from.push_back(i);
    to.push_back(i + 1);
    if (i % 3 == 0) {
      from.push_back(i);
      to.push_back(static_cast<std::int64_t>(engine() % static_cast<unsigned>(n)));
    }
  }
  Graph g{from_data(from), from_data(to), zeros({static_cast<std::int64_t>(from.size())})};
  g.seen = slice(g(truth), {range(0, g.from.size())});
  return g;
}

autodiff::CompressedRows pattern_of(const std::vector<double>& dense, std::int64_t n) {
  autodiff::CompressedRows rows{n, {0}, {}};
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j)
      if (dense[static_cast<std::size_t>(i * n + j)] != 0) rows.columns.push_back(j);
    rows.starts.push_back(static_cast<std::int64_t>(rows.columns.size()));
  }
  return rows;
}

}  // namespace

TEST_CASE("sparse Cholesky factors agree with dense solves") {
  for (unsigned seed = 0; seed < 20; ++seed) {
    constexpr std::int64_t n = 12;
    std::mt19937 engine(seed);
    std::vector<double> a(n * n, 0.0);
    for (std::int64_t k = 0; k < n * n; ++k)
      if (engine() % 8 == 0) a[static_cast<std::size_t>(k)] = static_cast<double>(engine() % 100) / 100 - 0.5;
    const Tensor j = from_data(a, {n, n}), normal = matmul(j, j, {.transpose_a = true});
    const optim::NormalMatrix symbolic(pattern_of(a, n));
    std::vector<double> jacobian;
    for (const double v : a)
      if (v != 0) jacobian.push_back(v);
    std::vector<double> values = symbolic.values(jacobian);
    const Tensor sparse = to_dense(
        {{{n, n}, from_data(symbolic.pattern().starts), from_data(symbolic.pattern().columns)}, from_data(values)});
    CHECK(largest(sparse - normal) < 1e-15);
    for (const std::int64_t place : symbolic.diagonal()) values[static_cast<std::size_t>(place)] += 0.1;
    using Kind = optim::Factors<double>::Kind;
    optim::Factors<double> factors(optim::analysis_of(symbolic.pattern()));
    REQUIRE(factors.factorise(values.data(), Kind::positive_definite));
    std::vector<double> b(n);
    for (double& v : b) v = static_cast<double>(engine() % 100);
    const Tensor right = from_data(b);
    factors.solve(b.data(), 1, false);
    CHECK(largest(matmul(normal + 0.1 * eye(n), from_data(b)) - right) < 1e-11);
    for (const std::int64_t place : symbolic.diagonal()) values[static_cast<std::size_t>(place)] -= 50;
    CHECK_FALSE(factors.factorise(values.data(), Kind::positive_definite));
  }
}

TEST_CASE("the elimination order of a banded matrix has no fill outside the band, that of a star little") {
  constexpr std::int64_t n = 400;
  // A band whose rows come in another order, the one in its middle first.
  const auto place = [](std::int64_t i) { return (i + n / 2) * 171 % n; };
  std::vector<std::vector<optim::Index>> neighbours(n);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t k = std::max<std::int64_t>(0, i - 2); k <= std::min(n - 1, i + 2); ++k)
      if (k != i) neighbours[static_cast<std::size_t>(place(i))].push_back(static_cast<optim::Index>(place(k)));
  optim::Graph graph{{0}, {}};
  for (const auto& list : neighbours) {
    graph.neighbours.insert(graph.neighbours.end(), list.begin(), list.end());
    graph.starts.push_back(static_cast<std::int64_t>(graph.neighbours.size()));
  }
  const optim::AssemblyTree tree = optim::minimum_degree(graph);
  std::int64_t fill = 0;
  for (std::size_t f = 0; f < tree.parent.size(); ++f)
    fill += tree.pivots[f] * (tree.pivots[f] - 1) / 2 + tree.pivots[f] * tree.border[f];
  CHECK(fill <= 2 * n);
  std::vector<double> star(n * n, 0.0);
  for (std::int64_t i = 0; i < n; ++i)
    for (const std::int64_t at : {i * n + i, i, i * n}) star[static_cast<std::size_t>(at)] = 1;
  CHECK(optim::Analysis(pattern_of(star, n)).factor_size() < 2 * n);
}

TEST_CASE("a chain is fitted as by the dense method") {
  const Tensor start = concatenate({tensor({-1.2}), ones({19})}, 0);
  const auto dense = levenberg_marquardt(chain, start);
  const auto sparse = levenberg_marquardt(chain, sparse_jacobian(chain, start), start);
  CHECK(sparse.converged());
  CHECK(largest(sparse.parameters - dense.parameters) < 1e-12);
  CHECK(largest(to_dense(sparse.jacobian) - dense.jacobian) < 1e-11);
}

// More, Garbow and Hillstrom's problem 30, Broyden tridiagonal: zero residuals.
TEST_CASE("the number of steps for a banded system does not depend on its size") {
  const auto broyden = minimization::broyden_tridiagonal;
  std::int64_t iterations = 0;
  for (const std::int64_t n : {20, 20000}) {
    const Tensor start = full({n}, -1.);
    const auto found = levenberg_marquardt(broyden, sparse_jacobian(broyden, start), start);
    CHECK(found.converged());
    CHECK(found.sum_of_squares < 1e-25);
    if (n == 20) iterations = found.iterations;
    CHECK(found.iterations <= iterations + 2);
  }
  CHECK(iterations < 15);
}

TEST_CASE("a graph of 500 nodes is fitted by sparse factors, by a user's solver, and with outliers") {
  constexpr std::int64_t n = 500;
  const Tensor truth = cumsum(0.5 + 0.4 * sin(arange(static_cast<double>(n))), 0) - 0.5;
  Graph graph = graph_of(n, truth);
  const SparseJacobian jacobian = sparse_jacobian(graph, truth);
  CHECK(jacobian.reverse_directions() < 40);
  const auto fit = levenberg_marquardt(graph, jacobian, zeros({n}));
  CHECK(fit.converged());
  CHECK(largest(fit.parameters - truth) < 1e-9);
  CHECK(fit.iterations < 30);
  int solved = 0;
  const NormalSolver by_dense = [&](const Csr& a, const Tensor& b) {
    ++solved;
    return solve(to_dense(a), b);
  };
  const Tensor few = slice(truth, {range(0, 60)});
  const Graph small = graph_of(60, few);
  const auto by_user = levenberg_marquardt(small, sparse_jacobian(small, few), zeros({60}), {}, by_dense);
  CHECK(by_user.converged());
  CHECK(largest(by_user.parameters - few) < 1e-9);
  CHECK(solved >= by_user.iterations);
  graph.seen = graph.seen + where(equal(graph.from % 97, 5), 30., 0.);
  const auto robust = levenberg_marquardt(graph, jacobian, truth + 0.01, {.loss = Loss::tukey, .loss_scale = 0.5});
  CHECK(robust.converged());
  CHECK(largest(robust.parameters - truth) < 1e-6);
  CHECK(robust.cost < robust.sum_of_squares);
}

TEST_CASE("sparse fits end for the same reasons as dense ones") {
  const Tensor ones3 = ones({3});
  const SparseJacobian jacobian = sparse_jacobian(chain, ones3);
  CHECK(levenberg_marquardt(chain, jacobian, ones3).reason == StopReason::exact);
  CHECK(levenberg_marquardt(chain, jacobian, zeros({3}), {.max_iterations = 0}).reason == StopReason::iteration_limit);
  // Nonzero residuals at a stationary point. Steps into NaN are rejected.
  const auto logs = [](const Tensor& b) { return concatenate({log(b) - 1, b - 1}, 0); };
  const auto fit = levenberg_marquardt(logs, sparse_jacobian(logs, ones3), full({3}, 20.));
  CHECK(fit.reason == StopReason::stationary);
  CHECK(largest((log(fit.parameters) - 1) / fit.parameters + fit.parameters - 1) < 1e-9);
  // A parameter without influence keeps its value.
  const auto idle = [](const Tensor& b) { return slice(b, {range(0, 2)}) - 2; };
  const auto rest = levenberg_marquardt(idle, sparse_jacobian(idle, ones3), tensor({1., 1., 7.}));
  CHECK(rest.converged());
  CHECK(array_equal(slice(rest.parameters, {range(2, 3)}), tensor({7.})));
}

TEST_CASE("sparse fits do not depend on units of parameters and respect the initial radius") {
  const auto in_units = [](double unit, std::int64_t iterations) {
    const Tensor units = tensor({1., unit, 1., unit});
    const auto f = [units](const Tensor& b) { return chain(b * units); };
    const Tensor start = tensor({-1.2, 1., 0.5, 2.}) / units;
    return levenberg_marquardt(f, sparse_jacobian(f, start), start,
                               {.max_iterations = iterations, .initial_radius = 1e-3});
  };
  const auto one = in_units(1, 500), other = in_units(0x1p-30, 500);
  CHECK(one.converged());
  CHECK(one.iterations == other.iterations);
  CHECK(array_equal(other.parameters * tensor({1., 0x1p-30, 1., 0x1p-30}), one.parameters));
  CHECK(largest(in_units(1, 1).parameters - tensor({-1.2, 1., 0.5, 2.})) < 0.02);
}

TEST_CASE("errors of fits with sparse Jacobians") {
  const SparseJacobian jacobian = sparse_jacobian(chain, ones({3}));
  CHECK_THROWS_AS(levenberg_marquardt(chain, jacobian, ones({4})), ShapeError);
  CHECK_THROWS_AS(levenberg_marquardt(chain, jacobian, tensor<float>({1, 1, 1})), ShapeError);
  CHECK_THROWS_AS(levenberg_marquardt({}, jacobian, ones({3})), ValueError);
  CHECK_THROWS_AS(levenberg_marquardt(chain, jacobian, ones({3}), {.max_iterations = -1}), ValueError);
  CHECK_THROWS_WITH(levenberg_marquardt(chain, jacobian, full({3}, NAN)), Contains("finite at the initial parameters"));
  const auto other = [](const Tensor& x) { return x; };
  CHECK_THROWS_AS(levenberg_marquardt(other, jacobian, zeros({3})), ShapeError);
  const NormalSolver wrong = [](const Csr&, const Tensor&) { return zeros({1}); };
  CHECK_THROWS_WITH(levenberg_marquardt(chain, jacobian, zeros({3}), {}, wrong), Contains("linear solver"));
  const auto cut = [](const Tensor& x) { return square(stop_gradient(x) - 2); };
  CHECK_THROWS_WITH(levenberg_marquardt(cut, sparse_jacobian(cut, zeros({3})), zeros({3})),
                    Contains("no gradient reaches the parameters: ") && Contains("stop_gradient"));
  CHECK(levenberg_marquardt(cut, sparse_jacobian(cut, zeros({3})), full({3}, 2.)).reason == StopReason::exact);
}
