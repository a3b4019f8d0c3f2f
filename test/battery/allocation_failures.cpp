// Allocation failures. Each scenario of allocation_scenarios.cpp is warmed up in a process of its own. It then runs
// again while the n-th request to the malloc family fails, once or from then on, and while the n-th request to the pool
// fails. It also runs as the first use of the library in fresh processes, while requests to malloc fail. It passes if
// only std::bad_alloc is thrown, no tensor and no byte stays behind, and the next run gives the same bits.
// `allocation_failures [WARM FRESH [NAME]]`: how many n each kind of failure tests per scenario, spread over its
// requests (default: 40 and 8); 0 is every n.
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "battery/allocation_scenarios.hpp"
#include "core/block.hpp"
#include "support/child.hpp"
#include "support/failing_allocations.hpp"

using namespace reel;
using battery::Results;
using battery::Scenario;
using support::Fails;

namespace {

enum class Memory { system_once, system_for_ever, pool_once };
const char* to_string(Memory m) {
  switch (m) {
    case Memory::system_once:
      return "malloc once";
    case Memory::system_for_ever:
      return "malloc for ever";
    case Memory::pool_once:
      return "the pool once";
  }
  return "?";
}

// The progress of a child, in memory that the parent reads if the child is killed.
struct Progress {
  Memory memory;
  bool fresh;
  std::int64_t n, runs, failures, problems, system_requests, pool_requests;
};

std::string where(const Progress& p) {
  return std::string(to_string(p.memory)) + (p.fresh ? " in a fresh process" : "");
}

bool same_bits(const Results& a, const Results& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].dtype() != b[i].dtype() || a[i].shape() != b[i].shape()) return false;
    const Tensor x = contiguous(a[i]), y = contiguous(b[i]);
    const auto bytes = static_cast<std::size_t>(x.size()) * item_size(x.dtype());
    if (bytes != 0 && std::memcmp(detail::contiguous_data(x, x.dtype()), detail::contiguous_data(y, y.dtype()), bytes))
      return false;
  }
  return true;
}

// At most `most` of the numbers 0, ..., requests - 1, including the first and the last; all for most = 0.
std::vector<std::int64_t> spread(std::int64_t most, std::int64_t requests) {
  const std::int64_t count = most > 0 ? std::min(most, requests) : requests;
  std::vector<std::int64_t> list;
  for (std::int64_t i = 0; i < count; ++i) list.push_back(count < 2 ? 0 : i * (requests - 1) / (count - 1));
  return list;
}

class Runner {
 public:
  Runner(const Scenario& scenario, Progress& progress) : scenario_(scenario), progress_(progress) {}

  // The first use of the library in this process, during which request n fails; n < 0 counts the requests.
  void fresh(Memory memory, std::int64_t n) {
    const Outcome first = run_failing(memory, n);
    if (n < 0) progress_.system_requests = support::allocation_requests();
    const Results second = scenario_.run();
    if (!same_bits(scenario_.run(), second)) problem("gives other bits at the third run");
    if (!first.failed && !same_bits(first.results, second)) problem("swallows the failure and gives other bits");
  }

  void warm(std::int64_t most) {
    for (int warm_up = 0; warm_up < 3; ++warm_up) expected_ = scenario_.run();
    if (!same_bits(scenario_.run(), expected_)) return problem("gives other bits without a failure");
    baseline_ = memory_stats();
    support::fail_allocation(0, Fails::never);
    (void)scenario_.run();
    progress_.system_requests = support::allocation_requests();
    for (const Memory memory : {Memory::system_once, Memory::system_for_ever})
      for (const std::int64_t n : spread(most, progress_.system_requests)) warm_attempt(memory, n);
    progress_.pool_requests = pool_requests();
    for (const std::int64_t n : spread(most, progress_.pool_requests)) warm_attempt(Memory::pool_once, n);
    if (progress_.failures == 0) problem("sees no failure, so nothing was tested");
  }

  void check_baseline(const char* when, const MemoryStats& baseline) {
    const MemoryStats now = memory_stats();
    if (now.live_tensors == baseline.live_tensors && now.live_bytes == baseline.live_bytes) return;
    char text[160];
    std::snprintf(text, sizeof text, "%lld tensors and %lld bytes stay %s",
                  static_cast<long long>(now.live_tensors - baseline.live_tensors),
                  static_cast<long long>(now.live_bytes - baseline.live_bytes), when);
    problem(text);
  }

 private:
  struct Outcome {
    Results results;
    bool failed = false;
  };

  void problem(const char* what) {
    ++progress_.problems;
    std::printf("%s, request %lld, %s: %s\n", scenario_.name, static_cast<long long>(progress_.n),
                where(progress_).c_str(), what);
    std::fflush(stdout);
  }

  // The first n that is not reached, by bisection: the pool's hook reports failures only.
  std::int64_t pool_requests() {
    std::int64_t reached = -1, beyond = 1;
    while (warm_attempt(Memory::pool_once, beyond)) reached = std::exchange(beyond, 2 * beyond);
    while (beyond - reached > 1) {
      const std::int64_t middle = reached + (beyond - reached) / 2;
      (warm_attempt(Memory::pool_once, middle) ? reached : beyond) = middle;
    }
    return beyond;
  }

  // Whether the failure was thrown.
  bool warm_attempt(Memory memory, std::int64_t n) {
    if (progress_.problems > 5) return false;
    bool failed;
    {
      const Outcome outcome = run_failing(memory, n);
      failed = outcome.failed;
      if (!failed && !same_bits(outcome.results, expected_)) problem("swallows the failure and gives other bits");
    }
    if (!scenario_.lives_on) check_baseline("after the failure", baseline_);
    try {
      if (!same_bits(scenario_.run(), expected_)) problem("gives other bits at the next run");
    } catch (const std::exception& e) {
      problem((std::string("throws at the next run: ") + e.what()).c_str());
    }
    check_baseline("after the next run", baseline_);
    return failed;
  }

  Outcome run_failing(Memory memory, std::int64_t n) {
    progress_.memory = memory;
    progress_.n = n;
    ++progress_.runs;
    Outcome outcome;
    std::string other;
    other.reserve(4096);
    if (memory == Memory::pool_once)
      detail::fail_allocation_after(n);
    else
      support::fail_allocation(n, memory == Memory::system_once ? Fails::once : Fails::for_ever);
    try {
      outcome.results = scenario_.run();
    } catch (const std::bad_alloc&) {
      outcome.failed = true;
    } catch (const std::exception& e) {
      other = std::string_view(e.what()).substr(0, 4000);
    } catch (...) {
      other = "throws what is no std::exception";
    }
    support::allow_allocations();
    if (memory == Memory::pool_once) detail::fail_allocation_after(-1);
    if (!other.empty()) {
      problem(other.c_str());
      outcome.failed = true;
    }
    progress_.failures += outcome.failed;
    return outcome;
  }

  const Scenario& scenario_;
  Progress& progress_;
  Results expected_;
  MemoryStats baseline_;
};

// Runs f in a child, and reports how the child ended unless it succeeded.
template <class F>
void in_child(const Scenario& scenario, Progress& progress, unsigned seconds, const F& f) {
  const auto run = [&] {
    f(Runner(scenario, progress));
    return 0;
  };
  const support::Ending end = support::in_child(run, seconds);
  if (end == support::Ending{}) return;
  ++progress.problems;
  std::printf("%s, request %lld, %s: it %s\n", scenario.name, static_cast<long long>(progress.n),
              where(progress).c_str(), support::to_string(end).c_str());
}

// The same in a fresh process for each n.
void each_fresh(const Scenario& scenario, Progress& progress, std::int64_t most) {
  const auto attempt = [&](Memory memory, std::int64_t n) {
    if (progress.problems > 5) return;
    in_child(scenario, progress, 600, [&](Runner runner) {
      runner.fresh(memory, n);
      if (!scenario.lives_on) runner.check_baseline("in a fresh process", {});
    });
  };
  progress.fresh = true;
  attempt(Memory::system_once, -1);
  const std::int64_t requests = progress.system_requests;
  for (const Memory memory : {Memory::system_once, Memory::system_for_ever})
    for (const std::int64_t n : spread(most, requests)) attempt(memory, n);
}

}  // namespace

int main(int argc, char** argv) {
  // OpenBLAS starts threads of its own anew in a child, and raises SIGINT when it cannot.
  if (!std::getenv("OPENBLAS_NUM_THREADS")) {
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    execv("/proc/self/exe", argv);
  }
  const std::int64_t most_warm = argc > 2 ? std::atoll(argv[1]) : 40, most_fresh = argc > 2 ? std::atoll(argv[2]) : 8;
  const std::string_view chosen = argc > 3 ? argv[3] : "";
  void* const page = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return 2;
  auto& progress = *static_cast<Progress*>(page);
  std::int64_t scenarios = 0, runs = 0, failures = 0, problems = 0;
  for (const Scenario& scenario : battery::scenarios()) {
    if (!chosen.empty() && chosen != scenario.name) continue;
    progress = {};
    in_child(scenario, progress, most_warm > 0 ? 600 : 3600, [&](Runner runner) { runner.warm(most_warm); });
    if (!chosen.empty())
      std::printf("%s: %lld requests to malloc, %lld to the pool\n", scenario.name,
                  static_cast<long long>(progress.system_requests), static_cast<long long>(progress.pool_requests));
    each_fresh(scenario, progress, most_fresh);
    ++scenarios;
    runs += progress.runs;
    failures += progress.failures;
    problems += progress.problems;
  }
  std::printf("%lld scenarios, %lld runs, %lld came out as bad_alloc, %lld problems\n",
              static_cast<long long>(scenarios), static_cast<long long>(runs), static_cast<long long>(failures),
              static_cast<long long>(problems));
  return problems != 0 || scenarios == 0;
}
