// Objects that eight threads share while something is created, changed or destroyed: compiled functions, variables
// under optimisers, the registry, the settings of the process, tapes that move between threads. This checks the
// results; the thread sanitizer, for which this file is meant (`test/long tsan`), checks for data races.
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <reel/compile.hpp>
#include <reel/elementwise.hpp>
#include <reel/optim.hpp>
#include <reel/reel.hpp>
#include <reel/registry.hpp>
#include <string>
#include <thread>
#include <vector>

#include "battery/in_threads.hpp"
#include "catch.hpp"
#include "support/ramp.hpp"

using namespace reel;

namespace {

// The number of times that f(thread) returned false on eight threads.
template <class F>
int wrong_in_threads(F f) {
  std::atomic<int> wrong = 0;
  support::in_threads([&](int thread) { wrong += !f(thread); });
  return wrong;
}

bool close(const Tensor& a, const Tensor& b) { return a.shape() == b.shape() && max(abs(a - b)).item() <= 1e-13; }

}  // namespace

TEST_CASE("races: eight threads trace new signatures of one compiled function, which evicts old ones") {
  const Variable w(support::ramp({3}), "w");
  const Tensor captured = support::ramp({1, 3});
  const auto f = [&](const Tensor& x, int k) { return sum(tanh(x * w) * captured) * k; };
  const auto compiled = compile(f, {.max_signatures = 3});
  set_warning_handler([](std::string_view, void*) {});  // ignores warnings about dropped signatures
  const int wrong = wrong_in_threads([&](int thread) {
    bool right = true;
    for (int i = 0; i < 12; ++i) {
      const Tensor x = support::ramp({1 + (thread + i) % 4, 3});
      right = right && close(compiled(x, i % 2), f(x, i % 2));
      right = right && close(grad([&](const Tensor& y) { return compiled(y, 2); })(x),
                             grad([&](const Tensor& y) { return f(y, 2); })(x));
    }
    return right;
  });
  set_warning_handler(nullptr);
  CHECK(wrong == 0);
  CHECK(compiled.stats().signatures <= 3);
}

TEST_CASE("races: each derivative of a compiled function is traced once while copies are made and destroyed") {
  const auto f = [](const Tensor& x) { return sum(x * x * sin(x)); };
  const Tensor x = support::ramp({5}), t = support::ramp({5}) * 0.5;
  const Tensor hessian_expected = hessian(f)(x), tangent = jvp(f, x, t).second;
  for (int round = 0; round < 3; ++round) {  // a new function each time: its derivatives are not there yet
    const auto compiled = compile(f);
    CHECK(wrong_in_threads([&](int thread) {
            const auto mine = compiled;
            bool right = close(jvp(mine, x, t).second, tangent);
            if (thread % 2 == 0) right = right && close(hessian(mine)(x), hessian_expected);
            return right && !mine.to_dot().empty() && mine.stats().traces == 1;
          }) == 0);
  }
}

TEST_CASE("races: the optimisers of several threads update one variable") {
  const Variable v(ones({32}), "v");
  CHECK(wrong_in_threads([&](int thread) {
          SGD sgd({.learning_rate = 0.001, .momentum = 0.5});
          Adam adam({.learning_rate = 0.001});
          bool right = true;
          for (int i = 0; i < 40; ++i) {
            GradientTape tape;
            const Tensor loss = sum(square(v));
            const Gradient g = tape.gradient(loss, v);
            if (thread % 2 == 0)
              sgd.step(g, v);
            else
              adam.step(g, v);
            const Tensor now = v.read();
            right = right && array_equal(now, broadcast_to(now[0], {32}));  // never half of a step
          }
          return right;
        }) == 0);
  CHECK(v.read()[0].item() < 1);
}

TEST_CASE("races: eight threads use the registry, overrides and record_operation") {
  const Tensor x = support::ramp({4});
  CHECK(wrong_in_threads([&](int thread) {
          bool right = true;
          const std::string name = "races.of_thread_" + std::to_string(thread);
          for (int i = 0; i < 20; ++i) {
            GradientRegistry::add(name, [](const RecordedOp&, std::span<const Gradient> g) {
              return std::vector<Gradient>{g[0].dense() * 3};
            });
            GradientTape tape;
            tape.watch(x);
            const Tensor y = from_data(x.to_vector<double>());
            record_operation(name, {{x}}, {{y}});
            const GradientRegistry::OverrideGuard guard("sin",
                                                        [thread](const RecordedOp&, std::span<const Gradient> g) {
                                                          return std::vector<Gradient>{g[0].dense() * thread};
                                                        });
            const Gradient g = tape.gradient(y + sin(x), x);
            right = right && g && array_equal(*g, full({4}, 3.0 + thread)) && GradientRegistry::contains(name);
            GradientRegistry::remove(name);
          }
          return right;
        }) == 0);
}

TEST_CASE("races: tapes are passed between threads with their entries, and destroyed on any thread") {
  struct Left {
    std::unique_ptr<GradientTape> tape;
    Tensor x, y;
    std::vector<Variable> v;
  };
  const std::int64_t live = memory_stats().live_tensors;
  {
    std::mutex mutex;
    std::deque<Left> handed;
    const Tensor shared = support::ramp({6});
    CHECK(wrong_in_threads([&](int thread) {
            bool right = true;
            for (int i = 0; i < 40; ++i) {
              Left mine{std::make_unique<GradientTape>(TapeOptions{.persistent = i % 2 == 0}),
                        full({6}, thread + 1.0),
                        {},
                        {Variable(ones({6}), "v")}};
              mine.tape->watch(mine.x);
              mine.y = mine.x * shared * mine.v[0];
              if (i % 3 == 0) right = right && array_equal(*mine.tape->gradient(mine.y, mine.x), shared);
              mine.tape->stop();
              Left other;
              const std::lock_guard lock(mutex);
              handed.push_back(std::move(mine));
              if (handed.size() > 5) {
                other = std::move(handed.front());
                handed.pop_front();
                right = right && array_equal(other.y, other.x * shared) && other.v[0].read().size() == 6;
              }
            }
            return right;
          }) == 0);
  }
  CHECK(memory_stats().live_tensors == live);
}

TEST_CASE("races: one thread changes the settings of the process while others compute") {
  const Tensor x = linspace(0, 1, 100000), expected = sum(exp(x) * x);
  const int before = num_threads();
  CHECK(wrong_in_threads([&](int thread) {
          bool right = true;
          for (int i = 0; i < 6; ++i) {
            if (thread == 0) set_num_threads(1 + i % 3);
            if (thread == 1) set_warning_handler(i % 2 ? nullptr : +[](std::string_view, void*) {});
            if (thread == 2) reset_peak_bytes();
            right = right && memory_stats().live_tensors > 0 && num_threads() >= 1;
            right = right && array_equal(sum(exp(x) * x), expected);
          }
          return right;
        }) == 0);
  set_num_threads(before);
  set_warning_handler(nullptr);
}

TEST_CASE("races: a parallel loop reads what its caller wrote, and its caller what it wrote") {
  CHECK(wrong_in_threads([](int thread) {
          bool right = true;
          for (int i = 0; i < 3; ++i) {
            const Tensor x = full({400, 500}, 1.0 + thread);
            GradientTape tape;
            tape.watch(x);
            const Tensor y = elementwise([](auto a) { return a * a; }, x);
            const Tensor z = sum(y, 0), total = sum(z * z);
            const Gradient g = tape.gradient(total, x);
            right = right && g && array_equal(*g, x * 4. * 400. * x * x);
          }
          return right;
        }) == 0);
}

TEST_CASE("races: tensors in thread_local variables are freed when their thread ends") {
  const std::int64_t live = memory_stats().live_tensors;
  CHECK(wrong_in_threads([](int thread) {
          thread_local std::vector<Tensor> kept;
          thread_local Variable v(ones({3}), "v");
          kept.push_back(full({10}, 1.0 * thread));
          GradientTape tape;
          tape.watch(kept[0]);
          v.assign_add(ones({3}));
          return array_equal(*tape.gradient(kept[0] * kept[0], kept[0]), full({10}, 2.0 * thread)) &&
                 array_equal(v.read(), full({3}, 2.0));
        }) == 0);
  CHECK(memory_stats().live_tensors == live);
}
