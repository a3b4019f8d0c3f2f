// Minimiser runs that stop, are saved to a file and continue, compared with uninterrupted runs.
#include <cmath>
#include <reel/io.hpp>
#include <reel/optim/minimize.hpp>
#include <reel/reel.hpp>
#include <reel/sparse.hpp>

#include "../catch.hpp"
#include "io/temporary_folder.hpp"
#include "support/bits.hpp"

using namespace reel;
using Catch::Contains;

namespace {

Tensor residuals(const Tensor& x) {
  const Tensor head = slice(x, {range_to(-1)}), tail = slice(x, {range_from(1)});
  return concatenate({10 * (tail - square(head)), 1 - head}, 0);
}
Tensor chain(const Tensor& x) { return sum(square(residuals(x))); }
const Tensor start = full({8}, -1.2);

using Run = MinimizeResult<Tensor> (*)(std::int64_t iterations, MinimizerState* state);
struct Method {
  const char* name;
  Run run;
};
const Method methods[] = {
    {"lbfgs", [](std::int64_t n,
                 MinimizerState* s) { return lbfgs(chain, start, {.max_iterations = n, .history = 4, .state = s}); }},
    {"nonlinear_cg",
     [](std::int64_t n, MinimizerState* s) { return nonlinear_cg(chain, start, {.max_iterations = n, .state = s}); }},
    {"projected_lbfgs",
     [](std::int64_t n, MinimizerState* s) {
       return projected_lbfgs(chain, start, full({8}, -1.5), full({8}, 0.9), {.max_iterations = n, .state = s});
     }},
    {"newton_cg",
     [](std::int64_t n, MinimizerState* s) { return newton_cg(chain, start, {.max_iterations = n, .state = s}); }},
    {"gauss_newton",
     [](std::int64_t n, MinimizerState* s) {
       return gauss_newton(residuals, start, {.max_iterations = n, .state = s});
     }},
};

}  // namespace

TEST_CASE("a run that is stopped and continued from a file takes the steps of an uninterrupted run") {
  const support::TemporaryFolder folder;
  for (const Method& m : methods) {
    INFO(m.name);
    const auto whole = m.run(12, nullptr);
    for (const std::int64_t first : {0, 1, 7}) {
      MinimizerState state;
      CHECK(m.run(first, &state).iterations == first);
      save(folder / "state.npz", state);
      MinimizerState loaded;
      load(folder / "state.npz", loaded);
      m.run(first, &loaded);  // no step is left
      const auto rest = m.run(12, &loaded);
      CHECK(support::same_bits(rest.parameters, whole.parameters));
      CHECK(support::same_bits(loaded.position, whole.parameters));
      CHECK(rest.value == whole.value);
      CHECK(rest.gradient_size == whole.gradient_size);
      CHECK(rest.iterations == whole.iterations);
      CHECK(rest.evaluations == whole.evaluations);
      CHECK(rest.products == whole.products);
      CHECK(rest.reason == whole.reason);
    }
    CHECK(m.run(10000, nullptr).converged());
  }
}

TEST_CASE("fits that are stopped and continued from a file take the steps of an uninterrupted fit") {
  const SparseJacobian jacobian = sparse_jacobian(residuals, start);
  const auto dense_fit = [](std::int64_t n, Loss loss, MinimizerState& s) {
    return levenberg_marquardt(residuals, start, {.max_iterations = n, .loss = loss}, s);
  };
  const auto sparse_fit = [&](std::int64_t n, Loss loss, MinimizerState& s) {
    return levenberg_marquardt(residuals, jacobian, start, {.max_iterations = n, .loss = loss}, {}, s);
  };
  const support::TemporaryFolder folder;
  const auto check = [&](const auto& fit) {
    for (const Loss loss : {Loss::squares, Loss::cauchy})
      for (const std::int64_t last : {12, 10000})
        for (const std::int64_t first : {0, 1, 7}) {
          INFO("loss " << static_cast<int>(loss) << ", stopped at " << first << " of " << last);
          MinimizerState whole_state, state, loaded;
          const auto whole = fit(last, loss, whole_state);
          CHECK(fit(first, loss, state).iterations == first);
          save(folder / "state.npz", state);
          load(folder / "state.npz", loaded);
          fit(first, loss, loaded);  // no step is left
          const auto rest = fit(last, loss, loaded);
          CHECK(support::same_bits(rest.parameters, whole.parameters));
          CHECK(support::same_bits(rest.residuals, whole.residuals));
          CHECK(support::same_bits(loaded.vectors, whole_state.vectors));
          CHECK(support::same_bits(loaded.numbers, whole_state.numbers));
          CHECK(rest.cost == whole.cost);
          CHECK(rest.iterations == whole.iterations);
          CHECK(rest.evaluations == whole.evaluations);
          CHECK(rest.jacobians == whole.jacobians);
          CHECK(rest.reason == whole.reason);
          CHECK(whole.converged() == (last == 10000));
          // A fit that has ended takes no further step.
          if (whole.converged()) CHECK(fit(last, loss, loaded).iterations == whole.iterations);
        }
  };
  check(dense_fit);
  check(sparse_fit);
  MinimizerState state, sparse_state;
  dense_fit(3, Loss::squares, state);
  sparse_fit(3, Loss::squares, sparse_state);
  const Tensor slope = grad(chain)(state.position);
  CHECK(max(abs(state.gradient - slope)).item() < 1e-12 * max(abs(slope)).item());
  CHECK_THROWS_WITH(sparse_fit(4, Loss::squares, state), Contains("levenberg_marquardt") && Contains("state"));
  CHECK_THROWS_WITH(dense_fit(4, Loss::squares, sparse_state), Contains("levenberg_marquardt") && Contains("state"));
  CHECK_THROWS_AS(levenberg_marquardt(residuals, ones({3}), {}, state), ValueError);
  CHECK_THROWS_AS(lbfgs(chain, start, {.state = &state}), ValueError);
  // The last number is the reason for the end.
  for (const double reason : {-1.0, 6.0, 1e300, std::numeric_limits<double>::quiet_NaN()}) {
    for (MinimizerState* s : {&state, &sparse_state}) {
      std::vector<double> numbers = s->numbers.to_vector();
      numbers.back() = reason;
      s->numbers = from_data(numbers);
    }
    CHECK_THROWS_WITH(dense_fit(4, Loss::squares, state), Contains("the state is not one"));
    CHECK_THROWS_WITH(sparse_fit(4, Loss::squares, sparse_state), Contains("the state is not one"));
  }
}

TEST_CASE("levenberg_marquardt takes trees, keeps their dtypes, and continues from a state") {
  struct Curve {
    Tensor scale = scalar(1.f), rest = tensor({-1., 0.});
    auto leaves() { return std::tie(scale, rest); }
  };
  const Tensor t = arange(10.) / 10, seen = 2 * exp(-1.5 * t) + 0.3;
  const auto f = [&](const Curve& c) { return c.scale * exp(c.rest[0] * t) + c.rest[1] - seen; };
  const auto found = levenberg_marquardt(f, Curve());
  CHECK(found.converged());
  CHECK(found.tree.scale.dtype() == DType::float32);
  CHECK(found.tree.scale.item() == Approx(2));
  CHECK(found.tree.rest[0].item() == Approx(-1.5).epsilon(1e-6));
  CHECK(found.jacobian.shape() == Shape{10, 3});
  CHECK(found.parameters.size() == 3);
  MinimizerState state;
  CHECK(levenberg_marquardt(f, Curve(), {.max_iterations = 2}, &state).reason == StopReason::iteration_limit);
  const auto rest = levenberg_marquardt(f, Curve(), {}, &state);
  CHECK(support::same_bits(rest.parameters, found.parameters));
  CHECK(rest.evaluations == found.evaluations);
  const std::vector<Tensor> list{zeros({2}), zeros({})};
  const auto of_list = levenberg_marquardt(
      [](const std::vector<Tensor>& x) {
        return concatenate({x[0] - 1, reshape(x[1] + 2, {1})}, 0);
      },
      list);
  CHECK(of_list.reason == StopReason::exact);
  CHECK(of_list.tree[1].item() == -2);
  CHECK_THROWS_AS(levenberg_marquardt([](const std::vector<Tensor>& x) { return real(x[0]); },
                                      std::vector{zeros({2}, DType::complex128)}),
                  TypeError);
}

TEST_CASE("a state of another method, or of other parameters, is refused") {
  for (const Method& m : methods)
    for (const Method& other : methods) {
      MinimizerState state;
      m.run(3, &state);
      INFO(m.name << ", " << other.name);
      if (&m == &other)
        CHECK_NOTHROW(other.run(4, &state));
      else
        CHECK_THROWS_WITH(other.run(4, &state), Contains(other.name) && Contains("state"));
    }
  MinimizerState state;
  lbfgs(chain, start, {.max_iterations = 3, .state = &state});
  CHECK_THROWS_AS(lbfgs(chain, ones({3}), {.state = &state}), ValueError);
  MinimizerState broken = state;
  broken.vectors = zeros({3, 8});
  CHECK_THROWS_AS(lbfgs(chain, start, {.state = &broken}), ValueError);
  broken = state;
  broken.gradient = Tensor();
  CHECK_THROWS_AS(lbfgs(chain, start, {.state = &broken}), ValueError);
}

TEST_CASE("an exception of the function leaves the minimiser's state unchanged") {
  MinimizerState state;
  lbfgs(chain, start, {.max_iterations = 3, .state = &state});
  const Tensor before = state.position;
  int calls = 0;
  const auto failing = [&](const Tensor& x) {
    if (++calls == 5) throw std::runtime_error("mine");
    return chain(x);
  };
  CHECK_THROWS_WITH(lbfgs(failing, start, {.state = &state}), "mine");
  CHECK(support::same_bits(state.position, before));
}

TEST_CASE("the callback of a minimiser is called after each step, and ends it") {
  const auto valley = [](const Tensor& x) { return stack({10 * (x[1] - square(x[0])), 1 - x[0]}); };
  const auto f = [&](const Tensor& x) { return sum(square(valley(x))); };
  const Tensor from = tensor({-1.2, 1.}), lower = full({2}, -5.), upper = tensor({0.5, 5.});
  const auto sparse = sparse_jacobian(valley, from);
  std::vector<MinimizerProgress> seen;
  std::int64_t last = 1000;
  const MinimizerCallback callback = [&](const MinimizerProgress& p) {
    seen.push_back(p);
    return p.iteration == last;
  };
  // Pairs of iterations and value at the end.
  using End = std::tuple<std::int64_t, double, double, StopReason>;
  const auto end_of = [](const auto& r) { return End(r.iterations, r.value, r.gradient_size, r.reason); };
  const auto end_of_fit = [](const auto& r) { return End(r.iterations, r.cost, -1., r.reason); };
  const std::function<End(MinimizerState*)> runs[] = {
      [&](MinimizerState* s) { return end_of(lbfgs(f, from, {.state = s, .callback = callback})); },
      [&](MinimizerState* s) { return end_of(nonlinear_cg(f, from, {.state = s, .callback = callback})); },
      [&](MinimizerState* s) { return end_of(newton_cg(f, from, {.state = s, .callback = callback})); },
      [&](MinimizerState* s) { return end_of(gauss_newton(valley, from, {.state = s, .callback = callback})); },
      [&](MinimizerState* s) {
        return end_of(projected_lbfgs(f, from, lower, upper, {.state = s, .callback = callback}));
      },
      [&](MinimizerState* s) { return end_of_fit(levenberg_marquardt(valley, from, {.callback = callback}, *s)); },
      [&](MinimizerState* s) {
        return end_of_fit(levenberg_marquardt(valley, from, {.callback = callback, .upper = upper}, *s));
      },
      [&](MinimizerState* s) {
        return end_of_fit(levenberg_marquardt(valley, sparse, from, {.callback = callback}, {}, *s));
      }};
  for (const auto& method : runs) {
    INFO("method " << &method - runs);
    MinimizerState whole, parts;
    seen.clear();
    last = 1000;
    const auto [iterations, value, gradient, reason] = method(&whole);
    CHECK(reason != StopReason::stopped);
    REQUIRE(static_cast<std::int64_t>(seen.size()) == iterations);
    for (std::size_t k = 0; k < seen.size(); ++k) CHECK(seen[k].iteration == static_cast<std::int64_t>(k) + 1);
    CHECK(seen.back().value == Approx(value).epsilon(1e-12).margin(1e-30));
    if (gradient >= 0) CHECK(seen.back().gradient_size == gradient);
    CHECK(seen.back().gradient_size < 1e-6);
    const std::vector<MinimizerProgress> all_steps(seen);
    // Stopped, and continued from its state as if it had not been.
    seen.clear();
    last = 3;
    const auto [stopped_after, value_there, gradient_there, stopped] = method(&parts);
    CHECK(stopped == StopReason::stopped);
    CHECK(stopped_after == 3);
    CHECK(seen.size() == 3);
    CHECK(value_there == Approx(all_steps[2].value).epsilon(1e-12));
    last = 1000;
    const auto [again, value_again, gradient_again, reason_again] = method(&parts);
    CHECK(again == iterations);
    CHECK(value_again == value);
    CHECK(reason_again == reason);
  }
  CHECK(to_string(StopReason::stopped) == "stopped: the callback ended it");
  CHECK_FALSE(levenberg_marquardt(valley, from, {.callback = [](const auto&) { return true; }}).converged());
  // Exceptions pass through.
  const auto throws = [](const MinimizerProgress&) -> bool { throw std::runtime_error("enough"); };
  CHECK_THROWS_WITH(lbfgs(f, from, {.callback = throws}), "enough");
}
