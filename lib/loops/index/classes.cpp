#include "loops/index/classes.hpp"

#include "loops/loops.hpp"

namespace reel::loops {

InvalidClass copy_classes(const Tensor& labels, std::int64_t classes, const std::int64_t* ignored, const Tensor& out) {
  Tensor copied;
  const auto* from = detail::mutable_data<std::int64_t>(contiguous(labels, copied));
  auto* to = detail::mutable_data<std::int64_t>(out);
  for (std::int64_t i = 0, n = out.size(); i < n; ++i) {
    const bool is_ignored = ignored && from[i] == *ignored;
    if (!is_ignored && (from[i] < 0 || from[i] >= classes)) return {i, from[i]};
    to[i] = is_ignored ? -1 : from[i];
  }
  return {};
}

}  // namespace reel::loops
