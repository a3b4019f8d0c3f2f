// Minimiser runs that stop, are saved to a file and continue, compared with uninterrupted runs.
#include <reel/io.hpp>
#include <reel/minimize.hpp>
#include <reel/reel.hpp>

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
