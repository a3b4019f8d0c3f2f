// Random numbers in vectors: they have the same bits on every instruction set and at every position, follow the
// documented formulas from the documented words, and have the right distribution.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "catch.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/random.hpp"
#include "loops/make/philox.hpp"
#include "support/numbers.hpp"

using namespace reel::kernels;
using reel::DType;

namespace {

constexpr long double pi = 3.14159265358979323846264338327950288L;

enum class Kind { uniform, normal };
constexpr Kind kinds[] = {Kind::uniform, Kind::normal};

template <class T>
constexpr DType dtype_of = sizeof(T) == 4 ? DType::float32 : DType::float64;
template <class T>
constexpr UniformRange unit_range = {0, 1, 1, 1 - static_cast<double>(std::numeric_limits<T>::epsilon()) / 2};

template <class T>
std::vector<T> draw(const Set& set, Kind kind, RandomPlace from, std::size_t n) {
  std::vector<T> out(n);
  const Draws& d = set.get<DrawKernels>()[dtype_of<T>];
  if (kind == Kind::uniform)
    d.uniform(from, unit_range<T>, out.data(), static_cast<std::ptrdiff_t>(n));
  else
    d.normal(from, 0, 1, out.data(), static_cast<std::ptrdiff_t>(n));
  return out;
}

template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

// Each element by its formula, in long double. Block i of the stream gives 2 float64 or 4 float32.
template <class T>
std::vector<long double> expected(Kind kind, RandomPlace from, std::size_t n) {
  constexpr int bits = sizeof(T) * 8, per_block = 128 / bits;
  std::vector<long double> list;
  for (std::uint64_t i = 0; list.size() < n; ++i) {
    const auto block = reel::loops::random_block(from.seed, from.first + i);
    std::uint64_t words[per_block];
    for (std::size_t k = 0; k < per_block; ++k)
      words[k] = bits == 64 ? block[k] : static_cast<std::uint32_t>(block[k / 2] >> (k % 2 * 32));
    // A word as a fraction of its range, to 53 or 32 bits. `open`: in the middle of the numbers that it represents.
    const auto fraction = [](std::uint64_t word, bool open) {
      if (bits == 32) return (static_cast<long double>(word) + (open ? 0.5L : 0.0L)) * 0x1p-32L;
      return open ? (static_cast<long double>(word >> 12) + 0.5L) * 0x1p-52L
                  : static_cast<long double>(word >> 11) * 0x1p-53L;
    };
    for (std::size_t k = 0; k < per_block; k += 2) {
      if (kind == Kind::uniform) {
        for (std::size_t j = k; j < k + 2; ++j)
          list.push_back(std::min(fraction(words[j], false), static_cast<long double>(unit_range<T>.last)));
        continue;
      }
      const std::uint64_t w = words[k + 1], all = bits == 64 ? ~std::uint64_t(0) : 0xffffffff;
      const auto bit = [&](int from_top) { return (w >> (bits - 1 - from_top) & 1) != 0; };
      const long double radius = std::sqrt(-2 * std::log(fraction(words[k], true)));
      const long double angle = fraction(w << 3 & all, true) * pi / 4;
      long double x = std::cos(angle), y = std::sin(angle);
      if (bit(2)) std::swap(x, y);
      list.push_back(radius * (bit(0) ? -x : x));
      list.push_back(radius * (bit(1) ? -y : y));
    }
  }
  list.resize(n);
  return list;
}

template <class T>
void check_formula(Kind kind) {
  const RandomPlace from{0x0123456789abcdef, 0xfffffff0};  // blocks past 2^32 too
  constexpr std::size_t n = 20000;
  const std::vector<T> got = draw<T>(*find("scalar"), kind, from, n);
  const std::vector<long double> want = expected<T>(kind, from, n);
  const auto epsilon = static_cast<long double>(std::numeric_limits<T>::epsilon());
  long double worst = 0;
  for (std::size_t i = 0; i < n; ++i)
    worst = support::worse(worst, std::abs(static_cast<long double>(got[i]) - want[i]) / std::abs(want[i]) / epsilon);
  INFO("relative error " << static_cast<double>(worst) << " epsilon");
  // Uniform numbers are rounded once. A normal one is a root of a logarithm times a cosine.
  CHECK(worst <= (kind == Kind::uniform ? 0.5L : 4.0L));
}

// The Kolmogorov-Smirnov statistic of numbers against a distribution, times the root of their count.
template <class T>
double distance(std::vector<T> x, const std::function<double(double)>& distribution) {
  std::sort(x.begin(), x.end());
  const auto n = static_cast<double>(x.size());
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double p = distribution(static_cast<double>(x[i]));
    worst = support::worse(worst, p - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - p);
  }
  return worst * std::sqrt(n);
}
constexpr double once_in_million = 2.7;  // the statistic exceeds it once in a million

double standard_normal(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

// Pearson's correlation of x[i] and x[i + lag], times the root of the count: a standard normal number.
template <class T>
double correlation(const std::vector<T>& x, std::size_t lag, const std::function<double(double)>& standardised) {
  double sum = 0;
  const std::size_t n = x.size() - lag;
  for (std::size_t i = 0; i < n; ++i)
    sum += standardised(static_cast<double>(x[i])) * standardised(static_cast<double>(x[i + lag]));
  return sum / std::sqrt(static_cast<double>(n));
}

template <class T>
void check_distribution(Kind kind) {
  const std::vector<T> x = draw<T>(active(), kind, {99, 0}, 400000);
  const auto uniform = [](double u) { return std::clamp(u, 0.0, 1.0); };
  if (kind == Kind::uniform)
    CHECK(distance(x, uniform) < once_in_million);
  else
    CHECK(distance(x, standard_normal) < once_in_million);
  // Correlation at lags up to two vectors of blocks: adjacent numbers, pairs, and lanes of adjacent vectors.
  double worst = 0;
  for (std::size_t lag = 1; lag <= 64; ++lag) {
    const auto plain = [&](double v) { return kind == Kind::uniform ? (v - 0.5) * std::sqrt(12.0) : v; };
    const auto square = [&](double v) {
      return (plain(v) * plain(v) - 1) / (kind == Kind::uniform ? std::sqrt(0.8) : std::sqrt(2.0));
    };
    worst = support::worse(worst, std::abs(correlation(x, lag, plain)), std::abs(correlation(x, lag, square)));
  }
  CHECK(worst < 5.5);
  // Each lane of the widest vector has the distribution by itself.
  for (std::size_t lane = 0; lane < 32; ++lane) {
    std::vector<T> part;
    for (std::size_t i = lane; i < x.size(); i += 32) part.push_back(x[i]);
    CHECK(distance(part, kind == Kind::uniform ? std::function<double(double)>(uniform) : standard_normal) <
          once_in_million);
  }
}

template <class T>
void check_moments() {
  const std::vector<T> x = draw<T>(active(), Kind::normal, {7, 0}, 1000000);
  double m[5] = {};
  for (const T v : x)
    for (int k = 1; k <= 4; ++k) m[k] += std::pow(static_cast<double>(v), k) / 1e6;
  CHECK(std::abs(m[1]) < 5 * 1e-3);
  CHECK(std::abs(m[2] - 1) < 5 * std::sqrt(2.0) * 1e-3);
  CHECK(std::abs(m[3]) < 5 * std::sqrt(15.0) * 1e-3);
  CHECK(std::abs(m[4] - 3) < 5 * std::sqrt(96.0) * 1e-3);
  // Of a million about 63 lie beyond 4, 0.6 beyond 5.
  const auto beyond = std::count_if(x.begin(), x.end(), [](T v) { return std::abs(v) > 4; });
  CHECK((beyond > 25 && beyond < 105));
}

// Every bit of the fractions is set half of the time.
template <class T>
void check_bits() {
  constexpr int digits = sizeof(T) == 8 ? 53 : 24;
  const std::vector<T> x = draw<T>(active(), Kind::uniform, {5, 0}, 200000);
  for (int bit = 1; bit <= digits; ++bit) {
    std::int64_t set = 0;
    for (const T v : x) set += static_cast<std::int64_t>(std::ldexp(static_cast<double>(v), bit)) & 1;
    INFO("bit " << bit);
    // float32 rounds 32 bits: its last digits are zero where there are more before them.
    if (sizeof(T) == 8 || bit < 23)
      CHECK(std::abs(static_cast<double>(set) - 1e5) < 5.5 * std::sqrt(5e4));
    else
      CHECK(set > 0);
  }
}

}  // namespace

TEST_CASE("draws: all instruction sets give the same bits, from any block and of any length") {
  const auto check = [](auto type) {
    using T = decltype(type);
    for (const Set* set : supported_sets())
      for (const Kind kind : kinds) {
        INFO(set->isa << ", " << (kind == Kind::uniform ? "uniform" : "normal") << ", " << sizeof(T) << " bytes");
        for (const std::uint64_t seed : {std::uint64_t(0), std::uint64_t(42), ~std::uint64_t(0)})
          for (const std::uint64_t first : {std::uint64_t(0), std::uint64_t(0xfffffffd), ~std::uint64_t(0) - 5}) {
            const std::vector<T> all = draw<T>(*find("scalar"), kind, {seed, first}, 4096);
            CHECK(same(draw<T>(*set, kind, {seed, first}, 4096), all));
            for (std::size_t n = 0; n < 100; ++n)
              REQUIRE(same(draw<T>(*set, kind, {seed, first}, n), {all.begin(), all.begin() + static_cast<long>(n)}));
            constexpr std::size_t per_block = 16 / sizeof(T);
            for (const std::size_t block : {std::size_t(1), std::size_t(7), std::size_t(100)})
              CHECK(same(draw<T>(*set, kind, {seed, first + block}, 333),
                         {all.begin() + static_cast<long>(block * per_block),
                          all.begin() + static_cast<long>(block * per_block + 333)}));
          }
      }
  };
  check(0.0);
  check(0.f);
}

TEST_CASE("draws: mean, deviation and range are the same bits on every instruction set") {
  const auto check = [](auto type) {
    using T = decltype(type);
    const auto both = [](const Set& set) {
      std::vector<T> out(2000);
      const Draws& d = set.get<DrawKernels>()[dtype_of<T>];
      d.normal({3, 4}, 0.7, 1e-3, out.data(), 1000);
      d.uniform({3, 4}, {-0.3, 0.1, 1, -0.21}, out.data() + 1000, 1000);
      return out;
    };
    const std::vector<T> expected = both(*find("scalar"));
    for (const Set* set : supported_sets()) CHECK(same(both(*set), expected));
    CHECK(*std::max_element(expected.begin() + 1000, expected.end()) == static_cast<T>(-0.21));
    // Computed from standard uniform and normal numbers, with each operation rounded.
    const std::vector<T> z = draw<T>(*find("scalar"), Kind::normal, {3, 4}, 1000);
    std::vector<T> doubled(1000);
    find("scalar")->get<DrawKernels>()[dtype_of<T>].uniform({3, 4}, {-0.3, 0.1, 2, 0.5}, doubled.data(), 1000);
    const std::vector<T> u = draw<T>(*find("scalar"), Kind::uniform, {3, 4}, 1000);
    bool as_defined = true;
    for (std::size_t i = 0; i < 1000; ++i) {
      const volatile T spread = static_cast<T>(1e-3) * z[i], part = static_cast<T>(0.1) * u[i];
      const volatile T sum = static_cast<T>(-0.3) + part;
      as_defined = as_defined && expected[i] == static_cast<T>(0.7) + spread && doubled[i] == 2 * sum &&
                   expected[1000 + i] == std::min(T(sum), static_cast<T>(-0.21));
    }
    CHECK(as_defined);
  };
  check(0.0);
  check(0.f);
}

TEST_CASE("draws: numbers follow the documented formulas from the words of their block") {
  for (const Kind kind : kinds) {
    check_formula<double>(kind);
    check_formula<float>(kind);
  }
}

TEST_CASE("draws: distributions, and no correlation between lanes or neighbours", "[once][values]") {
  for (const Kind kind : kinds) {
    check_distribution<double>(kind);
    check_distribution<float>(kind);
  }
  check_moments<double>();
  check_moments<float>();
  check_bits<double>();
  check_bits<float>();
}
