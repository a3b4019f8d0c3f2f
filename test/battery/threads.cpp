// Eight threads at once: tapes of their own over shared constants, shared variables that are read and assigned, tensors
// that die on another thread, tapes that another thread destroys, threads that end while their tensors live. Right
// results here; no data race under the thread sanitizer, which runs this file too.
#include <atomic>
#include <memory>
#include <mutex>
#include <reel/elementwise.hpp>
#include <reel/optim.hpp>
#include <reel/reel.hpp>
#include <thread>
#include <vector>

#include "battery/in_threads.hpp"
#include "catch.hpp"

using namespace reel;

namespace {

// Catch2's assertions belong to one thread: the others count what is wrong.
class Wrong {
 public:
  void unless(bool right) { count_ += !right; }
  ~Wrong() { CHECK(count_ == 0); }

 private:
  std::atomic<int> count_{0};
};

}  // namespace

TEST_CASE("threads with tapes of their own differentiate shared constants") {
  const Tensor x = linspace(0, 1, 1000), y = 2 * x;
  const Tensor expected = y * exp(x * y);
  Wrong wrong;
  support::in_threads([&](int) {
    for (int i = 0; i < 50; ++i) {
      GradientTape tape;
      tape.watch(x);
      const Gradient g = tape.gradient(exp(x * y), x);
      wrong.unless(g && array_equal(*g, expected));
    }
  });
}

TEST_CASE("threads read and assign the same variable") {
  const Variable v(zeros({64}), "v");
  Wrong wrong;
  support::in_threads([&](int thread) {
    for (int i = 0; i < 200; ++i) {
      if (thread % 2 == 0) v.assign_add(ones({64}));
      const Tensor seen = v.read();
      wrong.unless(array_equal(seen, broadcast_to(seen[0], {64})));  // never half of an assignment
      GradientTape tape;
      const Tensor loss = sum(v * v);
      const Gradient g = tape.gradient(loss, v);
      wrong.unless(g && array_equal(*g, broadcast_to((*g)[0], {64})));
    }
  });
  CHECK(v.read()[0].item() == 200 * support::thread_count / 2);
}

TEST_CASE("a tensor may be freed by another thread than the one that made it") {
  const std::int64_t live = memory_stats().live_tensors;
  {
    std::mutex mutex;
    std::vector<Tensor> shared;
    Wrong wrong;
    support::in_threads([&](int thread) {
      for (int i = 0; i < 300; ++i) {
        Tensor mine = full({1 + i % 40}, thread);
        Tensor other;
        const std::lock_guard lock(mutex);
        shared.push_back(std::move(mine));
        if (shared.size() > 20) {
          other = std::move(shared[static_cast<std::size_t>(i) % shared.size()]);
          wrong.unless(!other.defined() || other.size() <= 40);
        }
      }
    });
  }
  CHECK(memory_stats().live_tensors == live);
}

TEST_CASE("tensors and gradients outlive the threads that made them") {
  const std::int64_t live = memory_stats().live_tensors;
  {
    std::vector<Tensor> results(support::thread_count);
    support::in_threads([&](int thread) {
      const Tensor x = full({100}, 1.0 * thread);
      GradientTape tape;
      tape.watch(x);
      results[static_cast<std::size_t>(thread)] = *tape.gradient(x * x, x);
    });
    for (int i = 0; i < support::thread_count; ++i)
      CHECK(array_equal(results[static_cast<std::size_t>(i)], full({100}, 2.0 * i)));
  }
  CHECK(memory_stats().live_tensors == live);
}

TEST_CASE("a stopped tape is refused by another thread and may be destroyed there") {
  Wrong wrong;
  support::in_threads([&](int) {
    for (int i = 0; i < 20; ++i) {
      const Tensor x = ones({10});
      auto tape = std::make_unique<GradientTape>(TapeOptions{.persistent = true});
      tape->watch(x);
      const Tensor y = x * x * x;
      tape->stop();
      bool refused = false;
      std::thread([&] {
        try {
          static_cast<void>(tape->gradient(y, x));
        } catch (const TapeError&) {
          refused = true;
        }
        tape.reset();
      }).join();
      wrong.unless(refused);
      GradientTape next;
      next.watch(x);
      const Gradient g = next.gradient(x * x, x);
      wrong.unless(g && array_equal(*g, full({10}, 2.0)));
    }
  });
}

TEST_CASE("threads train models of their own") {
  const Tensor x = reshape(sin(arange(0.0, 96.0)), {16, 6}), y = sum(x, 1);
  std::vector<double> losses(support::thread_count);
  support::in_threads([&](int thread) {
    const Variable w(full({6}, 0.1), "w"), b(scalar(0.0), "b");
    Adam adam({.learning_rate = 0.05});
    for (int step = 0; step < 60; ++step) {
      GradientTape tape;
      const Tensor loss = mean(square(matmul(x, w) + b - y));
      adam.step(tape.gradient(loss, std::tie(w, b)), std::tie(w, b));
      losses[static_cast<std::size_t>(thread)] = loss.item();
    }
  });
  for (const double loss : losses) CHECK(loss == losses[0]);
  CHECK(losses[0] < 0.1);
}

TEST_CASE("threads use modes, loops and fused functions at once") {
  const Tensor x = linspace(0.1, 1, 7);
  const auto f = [](const Tensor& v) {
    const Tensor fused = elementwise([](auto a) { return a * tanh(a); }, v);
    auto [last, all] =
        scan([](const Tensor& s, const Tensor& i) { return std::pair(s * i + 1, s); }, scalar(1.0), fused);
    return last + sum(all);
  };
  const Tensor expected = hessian(f)(x), tangent = jvp(f, x, ones({7})).second;
  Wrong wrong;
  support::in_threads([&](int) {
    for (int i = 0; i < 10; ++i) {
      wrong.unless(array_equal(hessian(f)(x), expected));
      wrong.unless(array_equal(jvp(f, x, ones({7})).second, tangent));
    }
  });
}

TEST_CASE("an exception on one thread does not affect the tapes of others") {
  Wrong wrong;
  support::in_threads([&](int thread) {
    for (int i = 0; i < 50; ++i) {
      const Tensor x = ones({4});
      GradientTape tape;
      tape.watch(x);
      try {
        const Tensor y = matmul(x, ones({thread % 2 == 0 ? 4 : 5}));
        wrong.unless(thread % 2 == 0);
        const Gradient g = tape.gradient(y, x);
        wrong.unless(g && array_equal(*g, ones({4})));
      } catch (const ShapeError&) {
        wrong.unless(thread % 2 == 1);
      }
    }
  });
}

TEST_CASE("large loops of several threads share the workers") {
  const Tensor x = linspace(0, 1, 300000);
  const Tensor expected = sum(tanh(x) * x);
  Wrong wrong;
  support::in_threads([&](int) {
    for (int i = 0; i < 3; ++i) wrong.unless(array_equal(sum(tanh(x) * x), expected));
  });
}
