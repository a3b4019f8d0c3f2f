// Random numbers: Philox against its published answers, the functions built on it against libm, distributions by their
// moments, and the same numbers for every number of threads.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <reel/reel.hpp>

#include "catch.hpp"
#include "core/block.hpp"
#include "loops/make/philox.hpp"

using namespace reel;

namespace {

struct Moments {
  double mean = 0, variance = 0, skewness = 0, kurtosis = 0, low = 0, high = 0;
};

Moments moments(const Tensor& x) {
  const std::vector<double> v = x.to_vector();
  const double n = static_cast<double>(v.size());
  Moments m;
  m.mean = std::accumulate(v.begin(), v.end(), 0.0) / n;
  for (double e : v) {
    const double d = e - m.mean;
    m.variance += d * d / n;
    m.skewness += d * d * d / n;
    m.kurtosis += d * d * d * d / n;
  }
  m.skewness /= std::pow(m.variance, 1.5);
  m.kurtosis /= m.variance * m.variance;
  const auto [low, high] = std::minmax_element(v.begin(), v.end());
  m.low = *low;
  m.high = *high;
  return m;
}

constexpr std::int64_t many = 200000;
const double tolerance = 5 / std::sqrt(static_cast<double>(many));  // five standard errors of a unit variance

}  // namespace

TEST_CASE("Philox 4x32-10 gives the answers of Random123's kat_vectors") {
  using loops::Bits128;
  CHECK(loops::philox({0, 0, 0, 0}, {0, 0}) == Bits128{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(loops::philox({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}) == Bits128{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(loops::philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Bits128{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("portable log, exp and normal quantile agree with libm") {
  Generator generator(5);
  for (double u : random_uniform(generator, {2000}).to_vector()) {
    const double x = std::ldexp(u + 1e-9, static_cast<int>(u * 100) - 60);
    CHECK(loops::portable_log(x) == Approx(std::log(x)).epsilon(4e-16).margin(4e-16));
    CHECK(loops::portable_exp(-u * 50) == Approx(std::exp(-u * 50)).epsilon(1e-15));
    const double p = 0.001 + 0.998 * u;
    CHECK(0.5 * std::erfc(-loops::normal_quantile(p) / std::sqrt(2.0)) == Approx(p).epsilon(1e-14));
  }
  CHECK(loops::portable_log(1) == 0);
  CHECK(loops::portable_exp(0) == 1);
  CHECK(loops::portable_exp(-HUGE_VAL) == 0);
}

TEST_CASE("the first numbers of a seed") {
  // The numbers of a seed are part of the interface, since programs store seeds.
  Generator generator(42);
  const auto block = loops::random_block(42, 0);
  const std::vector<double> u = random_uniform(generator, {3}).to_vector();
  CHECK(generator.position() == 2);
  CHECK(u[0] == loops::unit_double(block[0]));
  CHECK(u[1] == loops::unit_double(block[1]));
  CHECK(u[2] == loops::unit_double(loops::random_block(42, 1)[0]));
  Generator other(42);
  random_uniform(other, {4}, 0, 1, DType::float32);
  CHECK(other.position() == 1);
  random_permutation(other, 5);
  CHECK(other.position() == 4);
  Generator again(42);
  CHECK(random_uniform(again, {3}).to_vector() == u);
  CHECK(random_uniform(again, {3}).to_vector() != u);
  CHECK(random_uniform(again, {0}).size() == 0);
}

TEST_CASE("moments of random numbers") {
  Generator generator(1);
  for (DType d : {DType::float64, DType::float32}) {
    const Moments u = moments(random_uniform(generator, {many}, -1, 3, d));
    CHECK(u.mean == Approx(1).margin(4 * tolerance));
    CHECK(u.variance == Approx(16.0 / 12).margin(8 * tolerance));
    CHECK(u.kurtosis == Approx(1.8).margin(4 * tolerance));
    CHECK(u.low >= -1);
    CHECK(u.high < 3);
    const Moments n = moments(random_normal(generator, {many / 4, 4}, 2, 3, d));
    CHECK(n.mean == Approx(2).margin(3 * tolerance));
    CHECK(n.variance == Approx(9).margin(9 * 2 * tolerance));
    CHECK(n.skewness == Approx(0).margin(3 * tolerance));
    CHECK(n.kurtosis == Approx(3).margin(5 * tolerance));
    const Moments t = moments(random_truncated_normal(generator, {many}, 0, 1, d));
    CHECK(t.mean == Approx(0).margin(tolerance));
    CHECK(t.variance == Approx(0.774).margin(0.01));
    CHECK(t.low >= -2);
    CHECK(t.high <= 2);
    CHECK(t.high > 1.99);
  }
  CHECK(mean(cast(random_bernoulli(generator, {many}, 0.3), DType::float64)).item() == Approx(0.3).margin(tolerance));
  CHECK_FALSE(bool(any(random_bernoulli(generator, {1000}, 0))));
  CHECK(bool(all(random_bernoulli(generator, {1000}, 1))));
  const Tensor draws = random_categorical(generator, log(tensor({{1, 2, 0, 5}, {1, 0, 0, 0}})), many);
  CHECK(draws.shape() == Shape{2, many});
  const Tensor counts = sum(one_hot(draws, 4), 1) / static_cast<double>(many);
  const std::vector<double> expected{0.125, 0.25, 0, 0.625, 1, 0, 0, 0}, got = counts.to_vector();
  for (std::size_t i = 0; i < got.size(); ++i)
    CHECK(got[i] == Approx(expected[i]).margin(expected[i] == 0 ? 0 : tolerance));
}

TEST_CASE("a draw depends on its blocks only, not on its length or on earlier draws") {
  for (const DType d : {DType::float16, DType::bfloat16, DType::float32, DType::float64}) {
    INFO(name(d));
    const std::int64_t n = 20011, per_block = d == DType::float64 ? 2 : 4;
    using Draw = Tensor (*)(Generator&, const Shape&, DType);
    for (const Draw draw : {Draw([](Generator&g, const Shape&s, DType t) { return random_uniform(g, s, -1, 2, t); }),
                            Draw([](Generator&g, const Shape&s, DType t) { return random_normal(g, s, 1, 2, t); })}) {
      Generator whole(12), parts(12);
      const Tensor all = draw(whole, {n}, d);
      std::int64_t at = 0;
      for (const std::int64_t blocks : {1, 2, 9, 300, 1000}) {
        const Tensor part = draw(parts, {blocks, per_block}, d);
        CHECK(array_equal(reshape(part, {-1}), slice(all, {range(at, at + blocks * per_block)})));
        at += blocks * per_block;
      }
      CHECK(array_equal(draw(parts, {n - at}, d), slice(all, {range(at, n)})));
      CHECK(parts.position() == whole.position());
    }
  }
}

TEST_CASE("a uniform range may be as wide as the dtype") {
  Generator generator(2);
  const std::pair<DType, double> ends[] = {{DType::float32, 3e38},
                                           {DType::float32, std::numeric_limits<float>::max()},
                                           {DType::float64, 8e307},
                                           {DType::float64, 1.7e308},
                                           {DType::float64, std::numeric_limits<double>::max()}};
  for (const auto& [d, greatest] : ends) {
    const Tensor x = random_uniform(generator, {10000}, -greatest, greatest, d);
    CHECK(bool(all(isfinite(x))));
    CHECK(cast(max(x), DType::float64).item() > 0.99 * greatest);
    CHECK(cast(min(x), DType::float64).item() < -0.99 * greatest);
    CHECK(std::abs(mean(cast(x, DType::float64) / greatest).item()) < 0.03);
  }
}

TEST_CASE("uniform float16 and bfloat16 numbers are below the open end") {
  Generator generator(9);
  for (DType d : {DType::float16, DType::bfloat16, DType::float32}) {
    const Tensor x = random_uniform(generator, {50000}, 0, 1, d);
    CHECK(x.dtype() == d);
    CHECK(max(cast(x, DType::float64)).item() < 1);
    CHECK(max(cast(random_uniform(generator, {20000}, -2, -1, d), DType::float64)).item() < -1);
    CHECK(mean(cast(x, DType::float64)).item() == Approx(0.5).margin(0.01));
  }
}

TEST_CASE("random integers: range, evenness and the first numbers of a seed") {
  Generator generator(3);
  const Tensor dice = random_integers(generator, {6, 10000}, 1, 7);
  CHECK(dice.dtype() == DType::int64);
  CHECK(generator.position() == 30000);
  for (int k = 1; k < 7; ++k) CHECK(std::abs(sum(equal(dice, k)).item<std::int64_t>() - 10000) < 500);
  CHECK(max(random_integers(generator, {100}, 5, 6)).item<std::int64_t>() == 5);
  CHECK(random_integers(generator, {0, 3}, -5, 5).shape() == Shape{0, 3});
  // The ends of int64. Of 3 2^62 numbers, the high half of a product would give every third twice as often.
  using Limits = std::numeric_limits<std::int64_t>;
  const Tensor wide = random_integers(generator, {20000}, Limits::min(), Limits::max());
  CHECK(std::abs(sum(less(wide, 0)).item<std::int64_t>() - 10000) < 400);
  constexpr std::int64_t quarter = std::int64_t{1} << 62;
  const Tensor thirds = random_integers(generator, {30000}, -2 * quarter, quarter);
  CHECK(std::abs(sum(less(thirds, -quarter)).item<std::int64_t>() - 10000) < 450);
  CHECK(std::abs(sum(greater_equal(thirds, 0)).item<std::int64_t>() - 10000) < 450);
  std::array<std::int64_t, 3> of_three{};
  for (const std::int64_t v : thirds.to_vector<std::int64_t>()) ++of_three[static_cast<std::uint64_t>(v) % 3];
  for (const std::int64_t c : of_three) CHECK(std::abs(c - 10000) < 450);
  // A word of the stream decides, as the high half of its product with the number of values.
  Generator first(42);
  const auto block = loops::random_block(42, 0);
  const Tensor bits = random_integers(first, {2}, -8, 8);
  for (std::size_t k = 0; k < 2; ++k)
    CHECK(bits[static_cast<std::int64_t>(k)].item<std::int64_t>() == static_cast<std::int64_t>(block[k] >> 60) - 8);
  CHECK_THROWS_AS(random_integers(first, {2}, 3, 3), ValueError);
  CHECK_THROWS_AS(random_integers(first, {-2}, 3, 4), ShapeError);
  CHECK(first.position() == 1);
}

TEST_CASE("random permutations") {
  Generator generator(3);
  std::vector<std::int64_t> p = random_permutation(generator, 1000).to_vector<std::int64_t>();
  CHECK_FALSE(std::is_sorted(p.begin(), p.end()));
  std::sort(p.begin(), p.end());
  CHECK(p == arange(1000).to_vector<std::int64_t>());
  CHECK(random_permutation(generator, 0).size() == 0);
  // Each of the six orders of three equally often.
  std::vector<int> counts(6);
  for (int i = 0; i < 6000; ++i) {
    const auto q = random_permutation(generator, 3).to_vector<std::int64_t>();
    ++counts[static_cast<std::size_t>(2 * q[0] + (q[1] > q[2]))];
  }
  for (int c : counts) CHECK(std::abs(c - 1000) < 150);
}

TEST_CASE("random numbers do not depend on the number of threads") {
  const int before = num_threads();
  std::vector<std::vector<double>> results;
  for (int threads : {1, 2, 3, 7}) {
    set_num_threads(threads);
    Generator generator(77);
    std::vector<double> all = random_normal(generator, {30001}).to_vector();
    const auto more = random_uniform(generator, {30001}, 0, 1, DType::float32).to_vector();
    all.insert(all.end(), more.begin(), more.end());
    results.push_back(all);
    CHECK(all == results.front());
  }
  set_num_threads(before);
}

TEST_CASE("errors of random functions") {
  Generator g(0);
  CHECK_THROWS_AS(random_uniform(g, {2}, 0, 1, DType::int32), TypeError);
  CHECK_THROWS_AS(random_normal(g, {2}, 0, 1, DType::complex64), TypeError);
  CHECK_THROWS_AS(random_uniform(g, {2}, 1, 1), ValueError);
  CHECK_THROWS_AS(random_uniform(g, {2}, 0, NAN), ValueError);
  CHECK_THROWS_AS(random_uniform(g, {2}, -INFINITY, 0), ValueError);
  CHECK_THROWS_AS(random_uniform(g, {2}, 0, INFINITY), ValueError);
  CHECK_THROWS_AS(random_uniform(g, {2}, -1e300, 0, DType::float32), ValueError);
  CHECK_THROWS_AS(random_uniform(g, {2}, 0, 1e300, DType::float16), ValueError);
  CHECK_THROWS_AS(random_normal(g, {2}, 0, -1), ValueError);
  CHECK_THROWS_AS(random_bernoulli(g, {2}, 1.5), ValueError);
  CHECK_THROWS_AS(random_categorical(g, tensor<int>({1, 2}), 3), TypeError);
  CHECK_THROWS_AS(random_categorical(g, tensor({1, NAN}), 3), ValueError);
  CHECK_THROWS_AS(random_categorical(g, full({2}, -INFINITY), 3), ValueError);
  CHECK_THROWS_AS(random_categorical(g, scalar(1.0), 3), ShapeError);
  CHECK_THROWS_AS(random_categorical(g, zeros({2, 0}), 3), ShapeError);
  CHECK_THROWS_AS(random_permutation(g, -1), ValueError);
  CHECK_THROWS_AS(random_uniform(g, {-1}), ShapeError);
  CHECK(g.position() == 0);
}

TEST_CASE("a draw that fails does not advance the generator") {
  Generator g(1);
  const Tensor logits = zeros({3});
  const std::function<Tensor()> draws[] = {
      [&] { return random_uniform(g, {40}); },           [&] { return random_normal(g, {40}); },
      [&] { return random_truncated_normal(g, {40}); },  [&] { return random_bernoulli(g, {40}); },
      [&] { return random_categorical(g, logits, 40); }, [&] { return random_permutation(g, 40); },
      [&] { return random_integers(g, {40}, 0, 9); }};
  for (const auto& draw : draws) {
    detail::fail_allocation_after(0);
    CHECK_THROWS_AS(draw(), std::bad_alloc);
    detail::fail_allocation_after(-1);
    CHECK(g.position() == 0);
  }
}
