// Roots of unity, with an error of rounding only.
#pragma once
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

namespace reel::loops::fft {

/// exp(-2 pi i k / n): products of two table entries in long double, whose angles are reduced to [0, pi / 4].
class Roots {
 public:
  explicit Roots(std::int64_t n) : n_(n) {
    while (fine_ * fine_ < n) fine_ *= 2;
    for (std::int64_t k = 0; k < fine_; ++k) low_.push_back(exact(k));
    for (std::int64_t k = 0; k * fine_ < n; ++k) high_.push_back(exact(k * fine_));
  }
  struct Root {
    long double re, im;
  };
  /// 0 <= k < n.
  Root operator()(std::int64_t k) const {
    const Root a = low_[static_cast<std::size_t>(k % fine_)], b = high_[static_cast<std::size_t>(k / fine_)];
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }

 private:
  Root exact(std::int64_t k) const {
    k %= n_;
    // 8 k / n = octant + rest / n; odd octants count from their end.
    const std::int64_t octant = 8 * k / n_, rest = octant % 2 == 1 ? n_ - 8 * k % n_ : 8 * k % n_;
    const long double angle =
        std::numbers::pi_v<long double> / 4 * static_cast<long double>(rest) / static_cast<long double>(n_);
    const long double c = std::cos(angle), s = std::sin(angle);
    const bool swapped = octant == 1 || octant == 2 || octant == 5 || octant == 6;
    const long double x = swapped ? s : c, y = swapped ? c : s;
    return {octant >= 2 && octant < 6 ? -x : x, octant < 4 ? -y : y};
  }

  std::int64_t n_, fine_ = 1;
  std::vector<Root> low_, high_;
};

}  // namespace reel::loops::fft
