#include "loops/sort/search.hpp"

#include <algorithm>
#include <new>

#include "core/visit.hpp"
#include "loops/loops.hpp"
#include "loops/sort/keys.hpp"

namespace reel::loops {
namespace {

// Calls f(position, whether its element differs from the one before) in order.
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

namespace {

// Calls f(elements, their minimum, size of their range) if the range has no more integers than there are elements.
template <class F>
bool with_range(const Tensor& x, const F& f) {
  const std::int64_t n = x.size();
  if (n == 0) return false;
  bool fits = false;
  visit(x.dtype(), [&]<class T>() {
    if constexpr (std::is_integral_v<T>) {
      const T* elements = detail::mutable_data<T>(x);
      T low = elements[0], high = elements[0];
      for (std::int64_t i = 1; i < n; ++i) {
        low = std::min(low, elements[i]);
        high = std::max(high, elements[i]);
      }
      const std::uint64_t distance = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
      fits = distance < static_cast<std::uint64_t>(n);
      if (fits) f(elements, low, static_cast<std::int64_t>(distance) + 1);
    }
  });
  return fits;
}

// The index of x among the integers from `low` on.
template <class T>
std::size_t number_of(T x, T low) {
  return static_cast<std::size_t>(static_cast<std::uint64_t>(x) - static_cast<std::uint64_t>(low));
}

}  // namespace

std::int64_t count_distinct_in_range(const Tensor& x) {
  const std::int64_t n = x.size();
  std::int64_t count = -1;
  with_range(x, [&]<class T>(const T* elements, T low, std::int64_t range) {
    const Tensor memory = detail::empty(DType::uint8, {range});
    auto* seen = detail::mutable_data<std::uint8_t>(memory);
    std::fill_n(seen, range, std::uint8_t{0});
    for (std::int64_t i = 0; i < n; ++i) seen[number_of(elements[i], low)] = 1;
    count = std::count(seen, seen + range, 1);
  });
  return count;
}

bool distinct_elements_in_range(const Tensor& x, const Tensor& first, const Tensor& which, const Tensor& counts) {
  const std::int64_t n = x.size(), room = first.size();
  auto* to_first = detail::mutable_data<std::int64_t>(first);
  auto* to_which = detail::mutable_data<std::int64_t>(which);
  auto* to_counts = detail::mutable_data<std::int64_t>(counts);
  return with_range(x, [=]<class T>(const T* elements, T low, std::int64_t range) {
    struct Number {
      std::int64_t count, place;  // its first occurrence; then its index among the distinct elements
    };
    const Tensor memory = detail::empty(DType::int64, {2 * range});
    auto* numbers = reinterpret_cast<Number*>(detail::mutable_data<std::int64_t>(memory));
    for (std::int64_t k = 0; k < range; ++k) new (numbers + k) Number{0, 0};
    for (std::int64_t i = n; i-- > 0;) {
      Number& number = numbers[number_of(elements[i], low)];
      ++number.count;
      number.place = i;
    }
    std::fill_n(to_first, room, 0);
    std::fill_n(to_counts, room, 0);
    std::int64_t at = 0;
    for (Number* number = numbers; number != numbers + range; ++number) {
      if (number->count == 0) continue;
      if (at < room) {
        to_first[at] = number->place;
        to_counts[at] = number->count;
      }
      number->place = at++;
    }
    for (std::int64_t i = 0; i < n; ++i) to_which[i] = numbers[number_of(elements[i], low)].place;
  });
}

std::int64_t first_not_ascending(const Tensor& x, bool equal_allowed) {
  const auto* from = detail::mutable_data<double>(x);
  const std::int64_t n = x.size();
  for (std::int64_t i = 0; i < n; ++i) {
    const bool ascends =
        i == 0 ? from[0] == from[0] : from[i] > from[i - 1] || (equal_allowed && from[i] == from[i - 1]);
    if (!ascends) return i;
  }
  return -1;
}

bool equal_elements(const Tensor& x, std::int64_t i, std::int64_t j) {
  const auto* from = detail::mutable_data<double>(x);
  return from[i] == from[j];
}

}  // namespace reel::loops
