// Functions of ranges of elements that another loop calls, range by range.
#pragma once
#include <cstdint>

namespace reel::loops {

/// Called for ranges [begin, end) of elements when they are ready, by several threads at once, under the rules for
/// bodies of parallel_for.
struct RangeFunction {
  void (*call)(std::int64_t begin, std::int64_t end, const void* context);
  const void* context;
  void operator()(std::int64_t begin, std::int64_t end) const { call(begin, end, context); }
};

}  // namespace reel::loops
