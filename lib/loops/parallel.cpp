// Parallel loops on oneTBB. At most num_threads() workers take ranges of a fixed partition. A worker begins with a
// share of its own. The next loop of this size has the same shares, so that a worker finds in its cache what it wrote;
// then it takes ranges from other shares. Results do not depend on which worker takes a range, nor when.
// The wait is isolated: a waiting thread never runs a task of the program, which could use the tape that is open here.
// The context is isolated too: cancelling a task group of the program does not cancel the loop. The context captures
// the floating-point environment (rounding, flush-to-zero) of the calling thread at each call. Otherwise oneTBB would
// restore, even on the calling thread, the environment of the thread's first loop.
#include "loops/parallel.hpp"

#include <oneapi/tbb/cache_aligned_allocator.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <reel/runtime.hpp>
#include <string>

#include "core/fail.hpp"
#include "core/system/system.hpp"
#include "core/task.hpp"
#include "loops/tuning.hpp"
// Clang reports the thread sanitizer by __has_feature, GCC by a macro.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define REEL_THREAD_SANITIZER 1
#endif
#elif defined(__SANITIZE_THREAD__)
#define REEL_THREAD_SANITIZER 1
#endif
#ifdef REEL_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace reel {
namespace {

// The thread sanitizer does not see the synchronisation inside oneTBB, which is built without it. Writes before
// hand_on(mark) happen before reads after take_over(mark).
#ifdef REEL_THREAD_SANITIZER
void hand_on(const void* mark) noexcept { __tsan_release(const_cast<void*>(mark)); }
void take_over(const void* mark) noexcept { __tsan_acquire(const_cast<void*>(mark)); }
#else
void hand_on(const void*) noexcept {}
void take_over(const void*) noexcept {}
#endif

// Calls `work` between the two halves of the synchronisation. The marks are members, so that finding them reads no
// memory of the caller.
template <class Work>
struct Handed {
  const Work& work;
  char begin = 0, end = 0;

  void operator()(int worker) const {
    take_over(&begin);
    work(worker);
    hand_on(&end);
  }
};

// oneTBB initialises its number of processors and its allocator here, when the library is loaded. If memory ran out
// during a lazy initialisation, later calls would wait for ever, or dlopen would crash.
[[maybe_unused]] const bool initialised = [] {
  tbb::cache_aligned_allocator<std::byte> allocator;
  allocator.deallocate(allocator.allocate(1), 1);
  return tbb::info::default_concurrency() > 0;
}();

// REEL_NUM_THREADS, or the number of processors the process may use.
int initial_threads() {
  if (const char* text = std::getenv("REEL_NUM_THREADS"); text && *text) {
    char* end = nullptr;
    const long count = std::strtol(text, &end, 10);
    if (*end == 0 && count >= 1 && count <= 1 << 20) return static_cast<int>(count);
    detail::warn(std::string("REEL_NUM_THREADS=") + text + " is not a number of threads and is ignored");
  }
  return std::max(1, os::allowed_processors());
}

std::atomic<int> threads{0};  // 0: not determined yet

}  // namespace

void set_num_threads(int count) {
  if (count < 1) fail_without_line<ValueError>("set_num_threads", "count is {}; it must be at least 1", count);
  threads.store(count, std::memory_order_relaxed);
}

int num_threads() {
  int count = threads.load(std::memory_order_relaxed);
  if (count == 0) {
    const int initial = initial_threads();
    if (threads.compare_exchange_strong(count, initial, std::memory_order_relaxed)) count = initial;
  }
  return count;
}

namespace loops {

void parallel_for(std::int64_t n, std::int64_t grain, void (*body)(std::int64_t, std::int64_t, void*), void* context) {
  if (n <= 0) return;
  grain = std::max<std::int64_t>(grain, 1);
  const std::int64_t ranges = (n - 1) / grain + 1;
  const int workers = static_cast<int>(std::min<std::int64_t>(ranges, num_threads()));
  const auto run = [&](std::int64_t range) {
    const detail::TaskScope task;
    body(range * grain, std::min(n, (range + 1) * grain), context);
  };
  if (workers == 1) {
    const detail::TaskScope task;
    return body(0, n, context);
  }
  struct alignas(64) Share {
    std::atomic<std::int64_t> next;
    std::int64_t begin, end;
  };
  using tuning::shares_max;
  Share shares[shares_max];
  const int count = std::min(workers, shares_max);
  for (int s = 0; s < count; ++s) {
    shares[s].begin = ranges * s / count;
    shares[s].next.store(shares[s].begin, std::memory_order_relaxed);
    shares[s].end = ranges * (s + 1) / count;
  }
  const auto work = [&](int worker) {
    for (int k = 0; k < count; ++k) {
      Share& share = shares[(worker + k) % count];
      for (std::int64_t at; (at = share.next.fetch_add(1, std::memory_order_relaxed)) < share.end;) run(at);
    }
  };
  const Handed<decltype(work)> handed{work};
  hand_on(&handed.begin);
  tbb::task_group_context apart(tbb::task_group_context::isolated, tbb::task_group_context::fp_settings);
  try {
    tbb::this_task_arena::isolate([&] { tbb::parallel_for(0, workers, handed, tbb::simple_partitioner(), apart); });
    take_over(&handed.end);
    if (!apart.is_group_execution_cancelled()) return;
  } catch (...) {  // no memory for oneTBB's tasks, or no thread: bodies do not throw
  }
  take_over(&handed.end);
  work(0);  // the ranges that no worker took; all workers have returned
}

}  // namespace loops
}  // namespace reel
