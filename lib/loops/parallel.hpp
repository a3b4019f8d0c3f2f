// Splitting a loop among threads: into ranges that the loop alone determines, never the number of threads.
#pragma once
#include <cstdint>
#include <type_traits>

namespace reel::loops {

/// Calls body(begin, end, context) on ranges that together are [0, n), each of at most `grain` where threads are at
/// work, maybe in parallel. What an index does must not depend on the range that it came in. The body must not throw,
/// nor touch a thread_local (so neither make nor drop tensors).
void parallel_for(std::int64_t n, std::int64_t grain, void (*body)(std::int64_t begin, std::int64_t end, void* context),
                  void* context);

/// The same for a callable f(begin, end).
template <class F>
void parallel_for(std::int64_t n, std::int64_t grain, const F& f) {
  parallel_for(
      n, grain,
      [](std::int64_t begin, std::int64_t end, void* context) { (*static_cast<const F*>(context))(begin, end); },
      const_cast<F*>(&f));
}

}  // namespace reel::loops
