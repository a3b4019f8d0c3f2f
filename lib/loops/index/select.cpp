#include "loops/index/select.hpp"

#include <algorithm>

#include "kernels/comparisons.hpp"
#include "loops/loops.hpp"

namespace reel::loops {

void select(const Tensor& condition, const Tensor& x, const Tensor& y, const Tensor& out) {
  const detail::Block* to = detail::block(out);
  if (to->size == 0) return;
  const Tensor* in[] = {&condition, &x, &y};
  pointwise(kernels::active<kernels::ComparisonKernels>().select[kernels::size_class(item_size(to->dtype))], in, out);
}

std::int64_t count_true(const Tensor& mask) {
  Tensor scratch;
  const auto* from = detail::mutable_data<std::uint8_t>(contiguous(mask, scratch));
  std::int64_t count = 0;
  for (std::int64_t i = 0, n = mask.size(); i < n; ++i) count += from[i];
  return count;
}

void find_true(const Tensor& mask, const Tensor& positions) {
  Tensor scratch;
  const auto* from = detail::mutable_data<std::uint8_t>(contiguous(mask, scratch));
  auto* to = detail::mutable_data<std::int64_t>(positions);
  const std::int64_t n = mask.size(), room = positions.size();
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < n && count < room; ++i) {  // without a branch on what is true
    to[count] = i;
    count += from[i];
  }
  std::fill(to + count, to + room, -1);
}

void repeat_places(const Tensor& counts, const Tensor& places) {
  auto* place = detail::mutable_data<std::int64_t>(places);
  const std::int64_t* end = place + places.size();
  const auto* count = detail::mutable_data<std::int64_t>(counts);
  for (std::int64_t i = 0; i < counts.size(); ++i)
    place = std::fill_n(place, std::clamp<std::int64_t>(count[i], 0, end - place), i);
  std::fill_n(place, end - place, 0);
}

}  // namespace reel::loops
