#include "loops/sort/search.hpp"

#include <algorithm>

#include "core/visit.hpp"
#include "loops/loops.hpp"
#include "loops/sort/keys.hpp"

namespace reel::loops {
namespace {

// f(position, whether its element differs from the one before) in order.
template <class F>
void for_each_in_order(const Tensor& x, const Tensor& order, const F& f) {
  const auto* position = detail::mutable_data<std::int64_t>(order);
  const std::int64_t n = order.size();
  visit(x.dtype(), [&]<class T>() {
    if constexpr (!std::is_same_v<T, complex64> && !std::is_same_v<T, complex128>) {
      const T* elements = detail::mutable_data<T>(x);
      const Keys<T> keys{false};
      typename Keys<T>::Key last = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        const auto key = keys(elements[position[i]]);
        f(position[i], i == 0 || key != last);
        last = key;
      }
    }
  });
}

}  // namespace

std::int64_t count_distinct(const Tensor& x, const Tensor& order) {
  std::int64_t count = 0;
  for_each_in_order(x, order, [&](std::int64_t, bool differs) { count += differs; });
  return count;
}

OutOfRange find_out_of_range(const Tensor& x, double most) {
  Tensor copied;
  const auto* from = detail::mutable_data<double>(contiguous(x, copied));
  for (std::int64_t i = 0; i < x.size(); ++i)
    if (!(from[i] >= 0 && from[i] <= most)) return {true, from[i]};
  return {};
}

void distinct_elements(const Tensor& x, const Tensor& order, const Tensor& first, const Tensor& which,
                       const Tensor& counts) {
  auto* to_first = detail::mutable_data<std::int64_t>(first);
  auto* to_which = detail::mutable_data<std::int64_t>(which);
  auto* to_counts = detail::mutable_data<std::int64_t>(counts);
  std::fill_n(to_first, first.size(), 0);
  std::fill_n(to_counts, counts.size(), 0);
  std::int64_t at = -1;
  for_each_in_order(x, order, [&](std::int64_t position, bool differs) {
    at += differs;
    to_which[position] = at;
    if (at >= first.size()) return;
    if (differs) to_first[at] = position;
    ++to_counts[at];
  });
}

}  // namespace reel::loops
