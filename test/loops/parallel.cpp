// The parallel loop: each index once, at most num_threads() at work, isolated from tasks of the program.
#include "loops/parallel.hpp"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <reel/error.hpp>
#include <reel/ops/make.hpp>
#include <reel/runtime.hpp>
#include <vector>

#include "catch.hpp"
#include "core/task.hpp"
#include "loops/product/matrices.hpp"
#ifdef REEL_CHECKS_TASKS
#include <sys/wait.h>
#include <unistd.h>
#endif

using namespace reel;

namespace {
// Spends some time computing.
void spin(int rounds) {
  static std::atomic<int> counter{0};
  for (int i = 0; i < rounds; ++i) counter.fetch_add(1, std::memory_order_relaxed);
}
}  // namespace

TEST_CASE("a parallel loop runs each index once") {
  const int before = num_threads();
  for (int run = 0; run < 8; ++run) {
    set_num_threads(1 + run / 2);
    const std::int64_t n = 1000 + run;
    std::vector<std::atomic<int>> times(static_cast<std::size_t>(n));
    std::atomic<std::int64_t> ragged{0};
    const auto count = [&](std::int64_t begin, std::int64_t end) {
      ragged += begin % 7 != 0 || (end % 7 != 0 && end != n);
      for (std::int64_t i = begin; i < end; ++i) ++times[static_cast<std::size_t>(i)];
    };
    loops::parallel_for(n, 7, count);
    CHECK(std::count(times.begin(), times.end(), 1) == n);
    CHECK(ragged == 0);
  }
  set_num_threads(before);
  for (std::int64_t n : {0, 1, 99, 100, 101, 12345})
    for (std::int64_t grain : {1, 100, 1 << 20}) {
      std::vector<std::atomic<int>> times(static_cast<std::size_t>(n));
      std::atomic<std::int64_t> longest{0};
      loops::parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
        if (num_threads() > 1 && end - begin > grain) longest = end - begin;
        for (std::int64_t i = begin; i < end; ++i) ++times[static_cast<std::size_t>(i)];
      });
      std::int64_t wrong = 0;
      for (const auto& t : times) wrong += t != 1;
      CHECK(wrong == 0);
      CHECK((longest == 0 || n <= grain));
    }
}

TEST_CASE("a loop of one thread runs forwards, whatever ran before it") {
  const int before = num_threads();
  set_num_threads(1);
  for (int run = 0; run < 4; ++run) {
    std::vector<std::int64_t> seen;
    const std::int64_t n = std::int64_t{1} << 22;
    loops::parallel_for(n, n / 8, [&](std::int64_t begin, std::int64_t end) {
      seen.push_back(begin);
      seen.push_back(end);
    });
    CHECK(std::is_sorted(seen.begin(), seen.end()));
    CHECK(seen.back() == n);
  }
  set_num_threads(before);
}

TEST_CASE("at most the requested number of threads work") {
  const int before = num_threads();
  const tbb::global_control control(tbb::global_control::max_allowed_parallelism, 7);
  tbb::task_arena arena(7);
  for (int threads : {1, 2, 3}) {
    set_num_threads(threads);
    CHECK(num_threads() == threads);
    std::atomic<int> now{0}, most{0};
    arena.execute([&] {
      loops::parallel_for(2000, 1, [&](std::int64_t, std::int64_t) {
        const int here = ++now;
        int seen = most;
        while (here > seen && !most.compare_exchange_weak(seen, here)) {
        }
        spin(2000);
        --now;
      });
    });
    CHECK(most <= threads);
  }
  set_num_threads(before);
  CHECK_THROWS_AS(set_num_threads(0), ValueError);
  CHECK_THROWS_AS(set_num_threads(-3), ValueError);
  CHECK(num_threads() == before);
}

TEST_CASE("a waiting thread does not run the program's tasks") {
  const int before = num_threads();
  set_num_threads(4);
  const tbb::global_control control(tbb::global_control::max_allowed_parallelism, 4);
  tbb::task_arena arena(4);
  static thread_local int depth = 0;
  std::atomic<int> nested{0};
  arena.execute([&] {
    tbb::parallel_for(0, 400, [&](int) {
      if (++depth > 1) ++nested;
      loops::parallel_for(64, 1, [&](std::int64_t, std::int64_t) { spin(500); });
      --depth;
    });
  });
  CHECK(nested == 0);
  set_num_threads(before);
}

TEST_CASE("tasks over matrices: one without memory fails the whole") {
  const int before = num_threads();
  for (const int threads : {1, 2}) {
    set_num_threads(threads);
    const auto fails_at = [](std::int64_t failing) {
      loops::for_each_in_tasks(1000, 1, [=](std::int64_t i) {
        if (i == failing) throw std::bad_alloc();
      });
    };
    CHECK_THROWS_AS(fails_at(0), std::bad_alloc);
    CHECK_THROWS_AS(fails_at(500), std::bad_alloc);
    CHECK_THROWS_AS(fails_at(999), std::bad_alloc);
    CHECK_NOTHROW(fails_at(1000));
  }
  set_num_threads(before);
}

#ifdef REEL_CHECKS_TASKS
TEST_CASE("builds that check tasks end the process when a loop's body uses its thread's memory pool") {
  const pid_t child = fork();
  if (child == 0) {
    std::fclose(stderr);
    loops::parallel_for(1, 1, [](std::int64_t, std::int64_t) { zeros({3}); });
    std::_Exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT));
}
#endif

TEST_CASE("a loop is not cancelled with the program's task group") {
  const int before = num_threads();
  set_num_threads(4);
  std::atomic<int> short_loops{0};
  for (int trial = 0; trial < 20; ++trial) {
    tbb::task_group group;
    for (int task = 0; task < 8; ++task)
      group.run([&] {
        std::atomic<int> done{0};
        loops::parallel_for(100, 1,
                            [&](std::int64_t begin, std::int64_t end) { done += static_cast<int>(end - begin); });
        if (done != 100) ++short_loops;
      });
    group.cancel();
    group.wait();
  }
  CHECK(short_loops == 0);
  set_num_threads(before);
}
