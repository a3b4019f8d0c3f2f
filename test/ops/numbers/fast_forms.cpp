// Ops that have a kernel for the common case give the bits of their definitions: lengths around its blocks, NaNs, and
// operands for which the kernel is not taken.
#include <cmath>
#include <limits>
#include <reel/ops/arranging.hpp>
#include <reel/ops/indexing.hpp>
#include <reel/ops/parts.hpp>
#include <reel/ops/scans.hpp>
#include <reel/ops/statistics.hpp>
#include <reel/reel.hpp>

#include "catch.hpp"
#include "support/bits.hpp"

using namespace reel;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN(),
                 infinity = std::numeric_limits<double>::infinity();

Tensor drawn(const Shape& shape, DType d, std::uint64_t seed = 1) {
  Generator generator(seed);
  return random_uniform(generator, shape, -1, 1, d);
}
Tensor with_holes(const Tensor& x) { return where(greater(drawn(x.shape(), x.dtype(), 2), 0.5), not_a_number, x); }

}  // namespace

TEST_CASE("nansum has the bits of the sum with zeros instead of NaN") {
  for (const DType d : {DType::float32, DType::float64, DType::float16}) {
    const auto check = [&](const Tensor& x, const Axes& axes) {
      INFO(x.shape().begin()[0] << " " << x.size());
      CHECK(support::same_bits(nansum(x, axes), sum(where(reel::isnan(x), 0, x), axes)));
    };
    for (const std::int64_t n : {1, 2, 15, 16, 17, 100, 1023, 1025, 65536, 65537, 200001})
      check(with_holes(drawn({n}, d)), {});
    for (const Shape& shape : {Shape{300, 200}, Shape{7, 16}, Shape{7, 15}, Shape{3, 5, 40}}) {
      const Tensor x = with_holes(drawn(shape, d));
      for (const std::int64_t axis : {0, -1}) check(x, axis);
      check(x, {});
      check(transpose(x), -1);
      check(slice(x, {reel::all, range(0, -1, 3)}), -1);
    }
    check(full({5}, not_a_number, d), {});
    check(full({1}, -0.0, d), {});
    check(full({4, 1}, -0.0, d), -1);
    check(zeros({0, 3}, d), 0);
  }
}

TEST_CASE("the gradient of nansum is 0 at NaN, and has higher derivatives") {
  const Tensor x = tensor({{1, not_a_number, 2}, {not_a_number, not_a_number, 3}});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = nansum(x, 1);
  CHECK(array_equal(tape.gradient(y, x).dense(), tensor({{1., 0., 1.}, {0., 0., 1.}})));
  const Tensor rows = tape.jacobian(y, x);
  CHECK(array_equal(rows, tensor({{{1., 0., 1.}, {0., 0., 0.}}, {{0., 0., 0.}, {0., 0., 1.}}})));
}

TEST_CASE("shifts of many integers are those of one") {
  const auto check = [](const Tensor& x, const Tensor& n, std::int64_t bits) {
    const std::vector<std::int64_t> values = cast(x, DType::int64).to_vector<std::int64_t>(),
                                    counts = cast(n, DType::int64).to_vector<std::int64_t>();
    const std::vector<std::int64_t> left = cast(left_shift(x, n), DType::int64).to_vector<std::int64_t>(),
                                    right = cast(right_shift(x, n), DType::int64).to_vector<std::int64_t>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool all = counts[i] < 0 || counts[i] >= bits;
      const Tensor shifted = from_data(std::vector<std::int64_t>{
          all ? 0 : static_cast<std::int64_t>(static_cast<std::uint64_t>(values[i]) << counts[i])});
      INFO(values[i] << " by " << counts[i]);
      CHECK(left[i] == cast(cast(shifted, x.dtype()), DType::int64).item<std::int64_t>());
      CHECK(right[i] == (all ? (values[i] < 0 ? -1 : 0) : values[i] >> counts[i]));
    }
  };
  const Tensor counts = arange(-3, 70), odd = counts * 0x9e3779b97f4a7c1 + 1;
  check(odd, counts, 64);
  check(cast(odd, DType::int32), cast(counts, DType::int32), 32);
  check(mod(cast(odd, DType::int32), 256) - 256, cast(counts, DType::int32), 32);
  check(cast(mod(odd, 256), DType::uint8), cast(maximum(counts, 0), DType::uint8), 8);
}

TEST_CASE("distances of many points are those of two, and pdist is a part of cdist") {
  for (const DType d : {DType::float32, DType::float64})
    for (const double p : {1.0, 2.0, 3.0, infinity})
      for (const std::int64_t columns : {1, 3, 16, 70}) {
        const Tensor x = drawn({71, columns}, d),
                     y = concatenate({slice(x, {range(0, 9)}) + 1e-5, drawn({130, columns}, d, 3)});
        const Tensor z = cdist(x, y, p), v = abs(expand_dims(x, 1) - expand_dims(y, 0));
        const Tensor expected = std::isinf(p) ? max(v, -1) : power(sum(power(cast(v, DType::float64), p), -1), 1 / p);
        INFO(columns << " columns, p = " << p);
        CHECK(max(abs(z / expected - 1)).item<double>() < 40 * (d == DType::float32 ? 6e-8 : 1e-16));
        const Tensor pairs = pdist(x, p), all = cdist(x, x, p);
        std::int64_t at = 0;
        for (std::int64_t i = 0; i < 71; ++i)
          for (std::int64_t j = i + 1; j < 71; ++j, ++at)
            if (i % 7 == 0) CHECK(support::same_bits(pairs[at], all[i][j]));
        CHECK(at == pairs.size());
      }
}

TEST_CASE("gradients of distances are sums of differences, also beside distances that are not finite") {
  for (const DType d : {DType::float32, DType::float64})
    for (const std::int64_t columns : {1, 5, 16, 70}) {
      Tensor x = drawn({9, columns}, d), y = concatenate({slice(x, {range(0, 3)}), drawn({300, columns}, d, 3)});
      const Tensor g = drawn({9, 303}, d, 4);
      const auto check = [&](std::int64_t rows) {
        GradientTape tape;
        tape.watch(x);
        const Tensor z = cdist(x, y), found = tape.gradient(z, x, {.output_gradients = g}).dense();
        const Tensor v = cast(expand_dims(x, 1) - expand_dims(y, 0), DType::float64), length = norm(v, 2, -1, true);
        const Tensor terms = where(equal(length, 0), 0, expand_dims(g, -1) * v / where(equal(length, 0), 1, length));
        INFO(columns << " columns");
        CHECK(max(abs(slice(found - sum(terms, 1), {range(0, rows)}))).item<double>() <
              (d == DType::float32 ? 2e-5 : 1e-13));
        return found;
      };
      check(9);
      x = concatenate({slice(x, {range(0, 8)}), full({1, columns}, infinity, d)});
      CHECK(reel::isnan(check(8)[8][0]).item<bool>());
    }
}

TEST_CASE("cumulative extremes of long rows") {
  for (const DType d : {DType::float32, DType::float64})
    for (const bool reverse : {false, true})
      for (const std::int64_t n : {1, 15, 16, 17, 100}) {
        Tensor x = floor(drawn({3, n}, d) * 8);  // ties
        if (n > 20) x = index_update(x, {1, n / 2}, not_a_number);
        const RunningExtreme most = cummax(x, 1, reverse), least = cummin(x, 1, reverse);
        const RunningExtreme by_column = cummax(contiguous(transpose(x)), 0, reverse),
                             least_by_column = cummin(contiguous(transpose(x)), 0, reverse);
        CHECK(support::same_bits(most.values, transpose(by_column.values)));
        CHECK(array_equal(most.indices, transpose(by_column.indices)));
        CHECK(support::same_bits(least.values, transpose(least_by_column.values)));
        CHECK(array_equal(least.indices, transpose(least_by_column.indices)));
      }
}

TEST_CASE("extremes at places keep the first NaN, wherever it stands in a long list") {
  const std::int64_t n = 1000;
  const Tensor x = drawn({n}, DType::float32), places = mod(arange(n) * 7, 10);
  for (const std::int64_t at : {0, 255, 256, 257, 999}) {
    const Tensor terms = index_update(x, {at}, not_a_number), most = segment_max(terms, places, 10);
    const Tensor updated = index_max(zeros({10}, DType::float32), {places}, terms);
    for (std::int64_t k = 0; k < 10; ++k) {
      const Tensor own = max(boolean_mask(terms, equal(places, k)));
      CHECK(support::same_bits(most[k], own));
      CHECK(support::same_bits(updated[k], maximum(own, zeros({}, DType::float32))));
    }
  }
}

TEST_CASE("mantissas and exponents of all kinds of numbers") {
  const Tensor x = tensor({1., -3., 0.5, 0., -0., 1e-310, -4.9406564584124654e-324, 1.7e308, infinity, -infinity});
  const Frexp parts = frexp(x);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    int e = 0;
    const double m = std::frexp(x[i].item<double>(), &e);
    CHECK(support::same_bits(parts.mantissa[i], tensor(m)));
    if (i < 8) CHECK(parts.exponent[i].item<std::int32_t>() == e);
  }
  CHECK(support::same_bits(ldexp(parts.mantissa, parts.exponent), x));
  CHECK(parts.exponent[8].item<std::int32_t>() == 0);
  CHECK(reel::isnan(frexp(tensor(not_a_number)).mantissa).item<bool>());
}

TEST_CASE("block_diag of views, empty blocks and several dtypes") {
  const Tensor x = drawn({4, 6}, DType::float32);
  const Tensor y = block_diag({transpose(x), zeros({0, 2}), ones({1, 1}, DType::int32), slice(x, {range(0, 4, 2)})});
  CHECK(y.shape() == Shape{9, 13});
  CHECK(array_equal(slice(y, {range(0, 6), range(0, 4)}), cast(transpose(x), y.dtype())));
  CHECK(array_equal(slice(y, {range(7, 9), range(7, 13)}), cast(slice(x, {range(0, 4, 2)}), y.dtype())));
  CHECK(y[6][6].item<double>() == 1);
  CHECK(sum(not_equal(y, 0)).item<std::int64_t>() == 24 + 1 + 12);
}

TEST_CASE("cov has the bits of products of rows that are centred twice") {
  for (const DType d : {DType::float32, DType::float64}) {
    const Tensor x = drawn({37, 3001}, d) + 5, once = x - mean(x, -1, true), rows = once - mean(once, -1, true);
    CHECK(support::same_bits(cov(x), matmul(rows, transpose(rows)) / 3000));
  }
}
