// Properties of sorting that the op table does not test: NaN and signed zeros, stability, every dtype and length
// against the standard library, errors, and that extents which depend on elements cannot be traced.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <reel/compile.hpp>
#include <reel/ops/sorting.hpp>
#include <reel/reel.hpp>

#include "catch.hpp"
#include "support/bits.hpp"
#include "support/messages.hpp"

using namespace reel;
using Catch::Contains;

namespace {

using Ints = std::vector<std::int64_t>;
constexpr double inf = std::numeric_limits<double>::infinity(), not_a_number = std::numeric_limits<double>::quiet_NaN();

// The order: NaN behind all else, in both directions.
template <class T>
bool comes_first(T a, T b, bool descending) {
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
  return descending ? b < a : a < b;
}

template <class T>
Ints order_of(const std::vector<T>& x, bool descending) {
  Ints order(x.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) {
    return comes_first<T>(x[static_cast<std::size_t>(i)], x[static_cast<std::size_t>(j)], descending);
  });
  return order;
}

// Sorting with and without the permutation, and each selection, against std::stable_sort.
template <class T>
void check_list(const std::vector<T>& x) {
  const Tensor t = from_data(x);
  const auto n = static_cast<std::int64_t>(x.size());
  for (const bool descending : {false, true}) {
    INFO(name(dtype_of<T>) << ", " << n << " elements, descending " << descending);
    const Ints order = order_of(x, descending);
    const Tensor at = from_data(order), expected = gather(t, at);
    CHECK(argsort(t, 0, descending).template to_vector<std::int64_t>() == order);
    CHECK(support::same_bits(sort(t, 0, descending), expected));
    if (is_differentiable(t.dtype())) {
      GradientTape tape;
      tape.watch(t);
      CHECK(support::same_bits(sort(t, 0, descending), expected));
    }
    for (const std::int64_t k : {std::int64_t{1}, n / 80 + 1, n / 7 + 1, n}) {
      const Selected top = top_k(t, k, 0, descending);
      CHECK(top.indices.to_vector<std::int64_t>() == Ints(order.begin(), order.begin() + k));
      CHECK(support::same_bits(top.values, slice(expected, {range_to(k)})));
      if (!descending)
        CHECK(kth_value(t, k).indices.template item<std::int64_t>() == order[static_cast<std::size_t>(k - 1)]);
    }
  }
}

// Few different values, so that there are ties; numbers of all sizes; the ends of the type.
template <class T>
std::vector<T> drawn(std::size_t n, std::mt19937_64& random) {
  std::vector<T> x;
  for (std::size_t i = 0; i < n; ++i) {
    if constexpr (std::is_integral_v<T>) {
      const T ends[] = {std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), T{0}, T{1}};
      x.push_back(random() % 4 ? static_cast<T>(random()) : ends[random() % 4]);
    } else {
      const double special[] = {0, -0.0, inf, -inf, not_a_number, -not_a_number, 1e-310, -1e-310, 1, -1};
      const double v = random() % 3
                           ? std::ldexp(static_cast<double>(random() % 999) - 499, static_cast<int>(random() % 60) - 30)
                           : special[random() % 10];
      x.push_back(static_cast<T>(v));
    }
  }
  return x;
}

}  // namespace

TEST_CASE("sorting agrees with the standard library for every length and dtype") {
  std::mt19937_64 random(1);
  for (const std::size_t n : {1u, 2u, 3u, 23u, 24u, 25u, 26u, 100u, 255u, 256u, 257u, 5000u}) {
    check_list(drawn<double>(n, random));
    check_list(drawn<float>(n, random));
    check_list(drawn<std::int64_t>(n, random));
    check_list(drawn<std::int32_t>(n, random));
    check_list(drawn<std::uint8_t>(n, random));
  }
  check_list(std::vector<double>(1000, 3));
  const Tensor x = from_data(drawn<float>(2000, random));
  for (const DType d : {DType::float16, DType::bfloat16}) {
    const Tensor half = cast(x, d);
    CHECK(array_equal(argsort(half), argsort(cast(half, DType::float32))));
    CHECK(support::same_bits(sort(half, 0, true), gather(half, argsort(half, 0, true))));
  }
  const Tensor truth = x > 0.0;
  CHECK(support::same_bits(sort(truth), gather(truth, argsort(truth))));
}

TEST_CASE("int64 elements within 2^32 of each other are sorted as those that are not") {
  std::mt19937_64 random(4);
  for (const std::int64_t distance : {std::int64_t{9}, (std::int64_t{1} << 32) - 1, std::int64_t{1} << 32}) {
    Ints x(400);
    for (std::int64_t& v : x) v = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(distance + 1)) - 5;
    x[7] = x[300] = -5;
    x[8] = x[301] = distance - 5;
    check_list(x);
  }
}

TEST_CASE("sorting many rows agrees with sorting each") {
  std::mt19937_64 random(2);
  for (const std::int64_t n : {3, 50, 700}) {
    const Tensor x = reshape(from_data(drawn<float>(static_cast<std::size_t>(n * 90), random)), {90, n});
    const Tensor sorted = sort(x), order = argsort(x), columns = sort(transpose(x), 0), best = top_k(x, 2).indices;
    CHECK(support::same_bits(contiguous(transpose(columns)), sorted));
    for (const std::int64_t row : {0, 41, 89}) {
      CHECK(support::same_bits(contiguous(sorted[row]), sort(x[row])));
      CHECK(array_equal(order[row], argsort(x[row])));
      CHECK(array_equal(best[row], top_k(x[row], 2).indices));
    }
  }
}

TEST_CASE("selections from long rows agree with a stable sort") {
  constexpr std::int64_t n = 5000;
  Generator random(3);
  const Tensor drawn = random_uniform(random, {n}), steps = arange(static_cast<double>(n));
  const std::vector<Tensor> rows = {drawn,
                                    floor(drawn * 3),  // ties
                                    steps,
                                    -steps,
                                    zeros({n}),
                                    where(drawn > 0.9, not_a_number, drawn)};
  for (const Tensor& row : rows)
    for (const DType d : {DType::float64, DType::float32, DType::int64, DType::float16}) {
      if (d == DType::int64 && any(isnan(row)).item<bool>()) continue;
      const Tensor x = cast(d == DType::int64 ? row * 1e15 : row, d);
      const std::vector<std::int64_t> order = argsort(x).to_vector<std::int64_t>();
      for (const std::int64_t k : {0, 1, 77, 2499, 2500, 4000, 4998, 4999}) {
        CAPTURE(d, k);
        CHECK(kth_value(x, k + 1).indices.item<std::int64_t>() == order[static_cast<std::size_t>(k)]);
      }
      const std::vector<std::int64_t> down = argsort(x, 0, true).to_vector<std::int64_t>();
      for (const std::int64_t count : {1, 10, 32, 33, 78, 79, 1000, 4999}) {
        CAPTURE(d, count);
        CHECK(top_k(x, count).indices.to_vector<std::int64_t>() ==
              std::vector<std::int64_t>(down.begin(), down.begin() + count));
      }
    }
}

TEST_CASE("partition puts one element in its sorted place") {
  std::mt19937_64 random(3);
  const std::vector<double> values = drawn<double>(300, random);
  const Tensor x = from_data(values);
  for (const std::int64_t kth : {0, 1, 150, 299, -1, -300}) {
    const std::int64_t rank = kth < 0 ? kth + 300 : kth;
    const Tensor y = partition(x, kth), order = argpartition(x, kth);
    CHECK(support::same_bits(y, gather(x, order)));
    CHECK(array_equal(sort(order), arange(300)));
    for (std::int64_t i = 0; i < 300; ++i) {
      const double a = y[i].item(), pivot = y[rank].item();
      REQUIRE_FALSE((i < rank ? comes_first(pivot, a, false) : comes_first(a, pivot, false)));
    }
  }
}

TEMPLATE_TEST_CASE("searches agree with the standard library for every length and number of values", "", double,
                   std::uint8_t, std::int64_t) {
  std::mt19937_64 random(5);
  const auto first = [](TestType a, TestType b) { return comes_first(a, b, false); };
  for (const std::int64_t n : {0, 1, 2, 3, 7, 8, 9, 100})
    for (const std::int64_t m : {1, 5, 130}) {
      std::vector<TestType> tables, values = drawn<TestType>(static_cast<std::size_t>(2 * m), random);
      for (int row = 0; row < 2; ++row) {
        std::vector<TestType> table = drawn<TestType>(static_cast<std::size_t>(n), random);
        std::sort(table.begin(), table.end(), first);
        tables.insert(tables.end(), table.begin(), table.end());
      }
      for (const bool right : {false, true}) {
        INFO(n << " elements, " << m << " values, right " << right);
        Ints expected;
        for (std::int64_t i = 0; i < 2 * m; ++i) {
          const auto begin = tables.begin() + i / m * n, end = begin + n;
          const TestType v = values[static_cast<std::size_t>(i)];
          expected.push_back((right ? std::upper_bound(begin, end, v, first) : std::lower_bound(begin, end, v, first)) -
                             begin);
        }
        const Tensor places =
            searchsorted(reshape(from_data(tables), {2, n}), reshape(from_data(values), {2, m}), right);
        CHECK(places.template to_vector<std::int64_t>() == expected);
      }
    }
}

TEST_CASE("searchsorted orders NaN last, unique counts NaN once") {
  const Tensor sorted = tensor({-1, 0, 0, 2, not_a_number});
  CHECK(searchsorted(sorted, tensor({not_a_number, -0.0, inf, -inf, 3})).to_vector<std::int64_t>() ==
        Ints{4, 1, 4, 0, 4});
  CHECK(searchsorted(sorted, tensor({not_a_number, -0.0}), true).to_vector<std::int64_t>() == Ints{5, 3});
  CHECK(digitize(tensor({0.2, 6.4, 3.0, 1.6}), tensor({0.0, 1.0, 2.5, 4.0, 10.0})).to_vector<std::int64_t>() ==
        Ints{1, 4, 3, 2});
  CHECK(digitize(tensor({1, 0}), tensor({0, 1}), true).to_vector<std::int64_t>() == Ints{1, 0});
  CHECK(searchsorted(tensor<std::int64_t>({1, 3}), 2).item<std::int64_t>() == 1);
  const Unique u = unique(tensor({{3, not_a_number, 1}, {not_a_number, 1, -0.0}}));
  CHECK(support::same_bits(u.values, tensor({-0.0, 1, 3, not_a_number})));
  CHECK(u.indices.to_vector<std::int64_t>() == Ints{5, 2, 0, 1});
  CHECK(u.counts.to_vector<std::int64_t>() == Ints{1, 2, 1, 2});
  CHECK(u.inverse.to_vector<std::int64_t>() == Ints{2, 3, 1, 3, 1, 0});
  CHECK(u.inverse.shape() == Shape{2, 3});
  CHECK(unique(zeros({0})).values.shape() == Shape{0});
}

TEST_CASE("quantiles of infinite elements, and of those whose difference overflows, ascend") {
  constexpr double most = 0x1p1023;  // half the least number that overflows
  const auto values = [](const std::vector<double>& x, const std::vector<double>& q) {
    return quantile(from_data(x), from_data(q)).to_vector();
  };
  CHECK(values({0, inf}, {0, 0.25, 0.5, 1}) == std::vector<double>{0, inf, inf, inf});
  CHECK(values({-inf, 2, 3, inf}, {0, 0.25, 1 / 3., 0.5, 0.75, 1}) ==
        std::vector<double>{-inf, -inf, 2, 2.5, inf, inf});
  CHECK(values({inf, inf, 1}, {0, 0.5, 0.75}) == std::vector<double>{1, inf, inf});
  CHECK(values({-most, most}, {0, 0.25, 0.5, 0.75, 1}) == std::vector<double>{-most, -most / 2, 0, most / 2, most});
  CHECK(percentile(tensor<float>({0, 1, static_cast<float>(inf)}), tensor({25, 60})).to_vector() ==
        std::vector<double>{0.5, inf});
  CHECK(median(tensor({1, inf, inf, 0})).item() == inf);
  CHECK(nanmedian(tensor({1, inf, inf, std::nan("")})).item() == inf);
  const Tensor x = tensor({0, 1, inf, 2, 3});
  CHECK(grad([](const Tensor& t) {
          return sum(quantile(t, tensor({0.25, 0.375})));
        })(x)
            .to_vector() == std::vector<double>{0, 1.5, 0, 0.5, 0});
  CHECK(grad([&](const Tensor& q) { return sum(quantile(x, q)); })(tensor({0.75, 0.25})).to_vector() ==
        std::vector<double>{0, 4});
}

TEST_CASE("errors of sorting name the cause") {
  const Tensor x = ones({2, 3});
  CHECK_THROWS_AS(sort(cast(x, DType::complex64)), TypeError);
  CHECK_THROWS_AS(sort(scalar(1.0)), IndexError);
  CHECK_THROWS_AS(argsort(x, 2), IndexError);
  CHECK_THROWS_WITH(top_k(x, 4), support::says("top_k: k is 4; it must be in [0, 3], the extent of axis -1"));
  CHECK_THROWS_WITH(kth_value(x, 0), Contains("k is 0; it must be in [1, 3]"));
  CHECK_THROWS_WITH(partition(x, -4), Contains("kth is -4; it must be in [-3, 3)"));
  CHECK_THROWS_WITH(quantile(x, 1.5), Contains("q is 1.5; it must be in [0, 1]"));
  CHECK_THROWS_WITH(quantile(x, not_a_number), Contains("q is nan"));
  CHECK_THROWS_WITH(percentile(x, 101), Contains("q is 101; it must be in [0, 100]"));
  CHECK_THROWS_AS(median(zeros({0})), ValueError);
  CHECK_THROWS_AS(quantile(zeros({3, 0}), 0.5, 1), ValueError);
  CHECK_THROWS_AS(searchsorted(ones({2, 3}), ones({3, 3})), ShapeError);
  CHECK_THROWS_AS(searchsorted(scalar(1.0), ones({3})), ShapeError);
  CHECK(sort(zeros({2, 0})).shape() == Shape{2, 0});
  CHECK(top_k(x, 0).values.shape() == Shape{2, 0});
  const auto distinct = compile([](const Tensor& t) { return unique(t).values; });
  CHECK_THROWS_AS(distinct(x), TraceError);
  const auto captured = compile([&](const Tensor& t) { return t + sum(unique(x).values); });
  CHECK_THROWS_AS(captured(x), TraceError);
  CHECK_THROWS_WITH(distinct(x), Contains("unique: the extents of its result depend on elements"));
}

TEST_CASE("unique agrees for integers that are counted and integers that are sorted") {
  const auto check = [](const Tensor& x) {
    INFO(name(x.dtype()));
    const Unique u = unique(x), sorted = unique(cast(x, DType::float64));
    CHECK(array_equal(u.values, cast(sorted.values, x.dtype())));
    CHECK(u.values.dtype() == x.dtype());
    CHECK(array_equal(u.indices, sorted.indices));
    CHECK(array_equal(u.inverse, sorted.inverse));
    CHECK(array_equal(u.counts, sorted.counts));
  };
  const Tensor x = mod(arange(5000) * 7919, 997) - 400;
  for (const DType d : {DType::int64, DType::int32, DType::uint8, DType::boolean}) check(cast(x, d));
  check(transpose(reshape(x, {50, 100})));
  // A range of integers equal to the number of elements is counted, a larger one is sorted.
  check(tensor<std::int64_t>({-1, 2, 1, -1}));
  check(tensor<std::int64_t>({-1, 3, 1, -1}));
  check(tensor<std::int64_t>({5}));
  constexpr auto low = std::numeric_limits<std::int64_t>::min(), high = std::numeric_limits<std::int64_t>::max();
  const Unique far = unique(tensor<std::int64_t>({high, low, high, 0}));
  CHECK(far.values.to_vector<std::int64_t>() == Ints{low, 0, high});
  CHECK(far.counts.to_vector<std::int64_t>() == Ints{1, 1, 2});
  const Unique near = unique(tensor<std::int64_t>({low + 1, low, low + 1}));
  CHECK(near.values.to_vector<std::int64_t>() == Ints{low, low + 1});
  CHECK(near.inverse.to_vector<std::int64_t>() == Ints{1, 0, 1});
}
