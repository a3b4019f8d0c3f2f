#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "loops/loops.hpp"
#include "loops/make/philox.hpp"
#include "stats/variates.hpp"

namespace reel::loops {
namespace {

// A random word for a place, from blocks at this position whose upper half no other draw has.
std::uint64_t word_of_place(RandomStream from, std::int64_t place) {
  const auto i = static_cast<std::uint64_t>(place);
  const auto low = [](std::uint64_t v) { return static_cast<std::uint32_t>(v); };
  constexpr std::uint32_t own = 5;  // elements of variates have 1 to 4
  const Bits128 r = philox({low(from.first), low(from.first >> 32), low(i), own + low(i >> 32)},
                           {low(from.seed), low(from.seed >> 32)});
  return r[0] | std::uint64_t{r[1]} << 32;
}

}  // namespace

WeightCheck draw_choices(RandomStream from, const Tensor& weights, bool replace, const Tensor& y) {
  const auto* w = reinterpret_cast<const double*>(detail::block(weights)->data);
  const std::int64_t n = weights.size(), count = y.size();
  auto* to = detail::mutable_data<std::int64_t>(y);
  std::vector<double> sums(static_cast<std::size_t>(n));
  // Powers of 2 keep the sum in range.
  constexpr int exponent_max = 1000;  // of 1023
  const double most = n > 0 ? *std::max_element(w, w + n) : 0,
               unit = most > 0 ? std::ldexp(1, std::min(-std::ilogb(most), exponent_max)) : 1;
  double sum = 0;
  WeightCheck check;
  for (std::int64_t i = 0; i < n; ++i) {
    if (!(w[i] >= 0) || std::isinf(w[i])) {
      check.refused = i, check.value = w[i];
      return check;
    }
    if (w[i] > 0) ++check.positives;
    sums[static_cast<std::size_t>(i)] = sum += w[i] * unit;
  }
  if (check.positives < (replace ? std::min<std::int64_t>(count, 1) : count)) return check;
  if (replace) {
    for (std::int64_t i = 0; i < count; ++i) {
      const auto block = random_block(from.seed, from.first + static_cast<std::uint64_t>(i / 2));
      const double u = unit_double(block[static_cast<std::size_t>(i % 2)]) * sum;
      to[i] = std::min<std::int64_t>(std::upper_bound(sums.begin(), sums.end(), u) - sums.begin(), n - 1);
    }
    return check;
  }
  // The first of exponential waiting times with these rates.
  std::vector<std::pair<double, std::int64_t>> times;
  for (std::int64_t i = 0; i < n; ++i)
    if (w[i] > 0) times.emplace_back(-portable_log(open_unit(word_of_place(from, i))) / (w[i] * unit), i);
  std::partial_sort(times.begin(), times.begin() + count, times.end());
  for (std::int64_t i = 0; i < count; ++i) to[i] = times[static_cast<std::size_t>(i)].second;
  return check;
}

}  // namespace reel::loops
