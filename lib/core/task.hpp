// What the body of a parallel loop may not do: take memory from its thread's pool, or give memory back to it. Workers
// of oneTBB belong to the whole process: each would get a pool, and memory would move between pools in each loop. Debug
// builds and builds with AddressSanitizer check it; other builds contain none of this.
#pragma once
// Clang defines a feature, GCC a macro.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define REEL_ADDRESS_SANITIZER 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define REEL_ADDRESS_SANITIZER 1
#endif
#if defined(REEL_ADDRESS_SANITIZER) || !defined(NDEBUG)
#define REEL_CHECKS_TASKS 1
#include <cstdio>
#include <cstdlib>
#include <utility>
#endif

namespace reel::detail {

#ifdef REEL_CHECKS_TASKS
inline thread_local bool in_task = false;
#endif

/// Lives while this thread runs the body of a parallel loop.
class TaskScope {
 public:
#ifdef REEL_CHECKS_TASKS
  TaskScope() noexcept : outer_(std::exchange(in_task, true)) {}
  TaskScope(const TaskScope&) = delete;
  TaskScope& operator=(const TaskScope&) = delete;
  ~TaskScope() { in_task = outer_; }

 private:
  const bool outer_;
#else
  TaskScope() noexcept {}
#endif
};

/// Ends the process within such a body.
inline void check_outside_task() noexcept {
#ifdef REEL_CHECKS_TASKS
  if (!in_task) return;
  std::fputs("reel: the body of a parallel loop uses its thread's memory pool\n", stderr);
  std::abort();
#endif
}

}  // namespace reel::detail
