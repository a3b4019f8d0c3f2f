// Parallel loops over ranges that depend on the loop alone, never on the number of threads.
#pragma once
#include <cstdint>
#include <type_traits>

namespace reel::loops {

/// Calls body(begin, end, context) on ranges that partition [0, n), possibly in parallel; each has at most `grain`
/// elements if several threads work. The result for an index must not depend on its range. The body must not throw nor
/// touch a thread_local, so it can neither make nor drop tensors and lists of the pool (core/task.hpp checks that).
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
