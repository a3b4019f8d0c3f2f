// Properties of cumulative extremes, logsumexp and statistics that the op table does not test: long rows against long
// double, dtypes, ranges, and errors.
#include <array>
#include <cfenv>
#include <cmath>
#include <limits>
#include <reel/ops/indexing.hpp>
#include <reel/ops/scans.hpp>
#include <reel/ops/statistics.hpp>
#include <reel/reel.hpp>

#include "catch.hpp"
#include "support/bits.hpp"
#include "support/derivatives.hpp"
#include "support/numbers.hpp"

using namespace reel;
using Catch::Contains;

namespace {

bool is_close(const Tensor& a, const Tensor& b, double tolerance) {
  return max(abs(a - b)).item<double>() <= tolerance;
}

// The largest error of z = logcumsumexp(x) of one row, in units of the last place of the largest |z| or 1.
template <class T>
double error_of(const Tensor& x, const Tensor& z) {
  const std::vector<T> in = x.to_vector<T>(), out = z.to_vector<T>();
  long double sum = 0, worst = 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    sum += std::exp(static_cast<long double>(in[i]));
    const long double exact = std::log(sum);
    worst = support::worse(worst, std::abs(exact - static_cast<long double>(out[i])) / std::max(1.0L, std::abs(exact)));
  }
  return static_cast<double>(worst / std::numeric_limits<T>::epsilon());
}

}  // namespace

TEST_CASE("logcumsumexp of long rows is accurate, along either axis") {
  support::Random random("logcumsumexp");
  const Tensor x = random.tensor({20000}, -30, 3);
  CHECK(error_of<double>(x, logcumsumexp(x, 0)) < 16);
  const Tensor single = cast(x, DType::float32);
  CHECK(error_of<float>(single, logcumsumexp(single, 0)) < 2);
  // Columns are scanned by rows: the same sums.
  const Tensor columns = logcumsumexp(broadcast_to(reshape(single, {20000, 1}), {20000, 3}), 0);
  CHECK(support::same_bits(slice(columns, {ellipsis, 1}), logcumsumexp(single, 0)));
  CHECK(support::same_bits(flip(logcumsumexp(flip(single), 0)), logcumsumexp(single, 0, false, true)));
}

TEST_CASE("the gradient of logcumsumexp is exact where terms differ by many orders of magnitude") {
  const Tensor x = tensor({0, -300, 600});
  GradientTape tape;
  tape.watch(x);
  const Tensor g = *tape.gradient(logcumsumexp(x, 0), x);
  const std::vector<double> dx = g.to_vector();
  CHECK(dx[0] == Approx(2).epsilon(1e-15));
  CHECK(dx[1] == Approx(std::exp(-300.0)).epsilon(1e-13));
  CHECK(dx[2] == Approx(1).epsilon(1e-15));
}

TEST_CASE("second derivatives of logcumsumexp are zero where a sum is infinite") {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const auto f = [](const Tensor& x) { return sum(logcumsumexp(x, 0)); };
  const Tensor finite = hessian(f)(tensor({0.5, -1.0}));
  const Tensor below = hessian(f)(tensor({-inf, -inf, 0.5, -1.0}));
  CHECK(is_close(below, pad(finite, {2, 2}, {0, 0}), 1e-15));
  const Tensor above = hessian(f)(tensor({0.5, -1.0, inf, 2.0}));
  CHECK(is_close(above, pad(finite, {0, 0}, {2, 2}), 1e-15));
}

TEST_CASE("logcumsumexp: derivatives of its gradient with respect to each operand") {
  const Tensor x = tensor({0.3, -0.4, 1.1}), k = tensor({1.0, 2.0, -0.5}), v = tensor({0.7, -0.2, 0.4});
  GradientTape inner({.persistent = true});
  inner.watch(x);
  const Tensor z = logcumsumexp(x, 0);
  inner.stop();
  // g[j] is exp(x[j]) times the sum of k[i] exp(-z[i]) from i = j on.
  const auto gradient = [&] { return *inner.gradient(z, x, {.output_gradients = k}); };
  const Tensor g = gradient();
  const auto reverse = [&](const Tensor& by) {
    GradientTape outer;
    outer.watch(by);
    return *outer.gradient(gradient(), by, {.output_gradients = v});
  };
  const auto forward = [&](const Tensor& by) {
    const ForwardAccumulator outer({by}, {v});
    return *outer.jvp(gradient());
  };
  CHECK(is_close(reverse(x), g * v, 1e-14));
  CHECK(is_close(forward(x), g * v, 1e-14));
  CHECK(is_close(reverse(z), -k * exp(-z) * cumsum(v * exp(x), 0), 1e-14));
  CHECK(is_close(forward(z), -exp(x) * cumsum(k * exp(-z) * v, 0, false, true), 1e-14));
}

TEST_CASE("running extremes of every real dtype, and of many columns") {
  for (const DType d : {DType::boolean, DType::uint8, DType::int32, DType::int64, DType::float16, DType::bfloat16,
                        DType::float32, DType::float64}) {
    INFO(name(d));
    const Tensor x = cast(tensor({0, 1, 0, 1}), d);
    CHECK(support::same_bits(cummax(x, 0).values, cast(tensor({0, 1, 1, 1}), d)));
    CHECK(cummax(x, 0).indices.to_vector<std::int64_t>() == std::vector<std::int64_t>{0, 1, 1, 3});
    CHECK(cummin(x, 0, true).indices.to_vector<std::int64_t>() == std::vector<std::int64_t>{0, 2, 2, 3});
  }
  support::Random random("cummax");
  const Tensor x = random.tensor({40, 3000});
  const RunningExtreme all = cummax(x, 0);
  CHECK(support::same_bits(slice(all.values, {-1}), max(x, 0)));
  CHECK(support::same_bits(take_along_axis(x, all.indices, 0), all.values));
  CHECK(support::same_bits(transpose(cummax(transpose(x), 1).values), all.values));
}

TEST_CASE("associative_scan calls its function at most 2 log2(n) times") {
  int calls = 0;
  const auto f = [&](const Tensor& a, const Tensor& b) {
    ++calls;
    return a + b;
  };
  const Tensor x = arange(1000.0);
  CHECK(array_equal(associative_scan(f, x), cumsum(x, 0)));
  CHECK(calls <= 20);
  CHECK(array_equal(associative_scan(f, x, 0, true), cumsum(x, 0, false, true)));
}

TEST_CASE("Euclidean distances of any number of points have the bits of each pair alone") {
  Generator generator(5);
  for (const DType dtype : {DType::float32, DType::float64})
    for (const std::int64_t d : {0, 1, 3, 64, 65, 130})
      for (const auto& [n, m] : {std::pair(1, 1), {5, 31}, {4, 32}, {7, 33}, {2, 97}}) {
        INFO(dtype << ", " << n << " and " << m << " points of " << d);
        const Tensor x = random_normal(generator, {2, n, d}, 0, 1, dtype);
        const Tensor y = random_normal(generator, {2, m, d}, 0, 1, dtype);
        const Tensor z = cdist(x, y);
        const Tensor apart = cast(expand_dims(x, 2), DType::float64) - cast(expand_dims(y, 1), DType::float64);
        const double tolerance = dtype == DType::float64 ? 1e-14 : 1e-6;
        CHECK(allclose(cast(z, DType::float64), sqrt(sum(square(apart), -1)), {.rtol = tolerance, .atol = 0}));
        for (const std::int64_t i : {std::int64_t(0), std::int64_t(n - 1)})
          for (const std::int64_t j : {std::int64_t(0), std::int64_t(m - 1)})
            CHECK(array_equal(slice(z, {all, range(i, i + 1), range(j, j + 1)}),
                              cdist(slice(x, {all, range(i, i + 1)}), slice(y, {all, range(j, j + 1)}))));
      }
  // One pair of a block overflows, one underflows, one is NaN.
  Tensor y = ones({40, 3});
  y = index_update(y, {tensor<int>({7})}, 1e200);
  y = index_update(y, {tensor<int>({8})}, 1e-200);
  y = index_update(y, {tensor<int>({39})}, std::numeric_limits<double>::quiet_NaN());
  const Tensor z = cdist(zeros({1, 3}), y);
  CHECK(z[0][7].item() == Approx(std::sqrt(3.) * 1e200).epsilon(1e-14));
  CHECK(z[0][8].item() == Approx(std::sqrt(3.) * 1e-200).epsilon(1e-14));
  CHECK(z[0][9].item() == Approx(std::sqrt(3.)).epsilon(1e-14));
  CHECK(std::isnan(z[0][39].item()));
}

TEST_CASE("distances do not overflow or underflow") {
  for (const double scale : {1e-200, 1e-160, 1.0, 1e160, 1e200}) {
    const Tensor x = tensor({{3, 0, 4}}) * scale, y = zeros({1, 3});
    for (const double p : {1.0, 2.0, 3.0, std::numeric_limits<double>::infinity()}) {
      INFO("p " << p << ", scale " << scale);
      const double expected = norm(tensor({3, 0, 4}), p).item<double>();
      CHECK((cdist(x, y, p) / scale).item<double>() == Approx(expected).epsilon(1e-14));
    }
    GradientTape tape;
    tape.watch(x);
    CHECK(is_close(*tape.gradient(cdist(x, y), x), tensor({{0.6, 0.0, 0.8}}), 1e-14));
  }
  CHECK(std::isnan(cdist(tensor({{1, std::nan("")}}), zeros({1, 2})).item<double>()));
}

TEST_CASE("the second derivative of distances between separate points beside coinciding ones") {
  const Tensor x = tensor({{1.0, 2.0}, {0.5, -1.0}}), y = tensor({{0.0, 0.25}, {1.0, 2.0}});
  const auto f = [&](const Tensor& t) { return sum(square(cdist(t, y)) + 3 * cdist(t, y)); };
  const Tensor direction = tensor({{0.3, -0.2}, {0.1, 0.7}});
  const auto gradient_at = [&](const Tensor& t) {
    GradientTape tape;
    tape.watch(t);
    return *tape.gradient(f(t), t);
  };
  GradientTape outer;
  outer.watch(x);
  const Tensor g = gradient_at(x);
  const Tensor hv = *outer.gradient(g, x, {.output_gradients = direction});
  // x[0] coincides with y[1], where the distance has a kink: that pair has no second derivative, and counts 0.
  const double h = 1e-5;
  const Tensor numeric = (gradient_at(x + h * direction) - gradient_at(x - h * direction)) / (2 * h);
  CHECK(is_close(slice(hv, {1}), slice(numeric, {1}), 1e-8));
  CHECK(all(isfinite(hv)).item<bool>());
}

TEST_CASE("recorded derivatives of distances agree with the fused ones: ties, equal elements, equal rows") {
  const Tensor a = tensor({{1.0, 2.0, -1.0}, {0.5, -1.0, 2.0}}), b = tensor({{1.0, 2.0, -1.0}, {3.0, 0.0, -1.0}});
  const Tensor ta = tensor({{0.3, -0.2, 1.1}, {0.1, 0.7, -0.4}}), tb = tensor({{0.9, 0.4, -0.6}, {-1.2, 0.5, 0.2}});
  for (const bool batch : {false, true})
    for (const double p : {0.5, 1.0, 1.5, 2.0, 3.0, std::numeric_limits<double>::infinity()}) {
      INFO("p " << p << (batch ? ", a batch of two" : ""));
      const auto pair = [batch](const Tensor& u, const Tensor& v) { return batch ? stack({u, v}, 0) : u; };
      const Tensor x = pair(a, b + 0.25), y = pair(b, a), tx = pair(ta, tb), ty = pair(tb, ta);
      const auto distances = [p](const Tensor& u, const Tensor& v) { return cdist(u, v, p); };
      const auto gradients = [&] {
        const auto [dx, dy] = grad([&](const Tensor& u, const Tensor& v) { return sum(distances(u, v)); })(x, y);
        return std::array{dx, dy};
      };
      const auto tangents = [&] {
        return std::array{jvp([&](const Tensor& u) { return distances(u, y); }, x, tx).second,
                          jvp([&](const Tensor& v) { return distances(x, v); }, y, ty).second,
                          jvp(distances, std::tuple(x, y), {tx, ty}).second};
      };
      const auto g = gradients();
      const auto t = tangents();
      GradientTape tape({.persistent = true});
      tape.watch(x);
      tape.watch(y);
      std::feclearexcept(FE_ALL_EXCEPT);
      const auto recorded_g = gradients();
      const auto recorded_t = tangents();
      CHECK(std::fetestexcept(FE_INVALID | FE_DIVBYZERO) == 0);
      for (std::size_t i = 0; i < g.size(); ++i) CHECK(is_close(recorded_g[i], g[i], 1e-14));
      for (std::size_t i = 0; i < t.size(); ++i) CHECK(is_close(recorded_t[i], t[i], 1e-14));
      CHECK(all(isfinite(*tape.gradient(recorded_g[0], x))).item<bool>());
    }
}

TEST_CASE("the gradient of an isotonic regression raises no floating-point exception") {
  const Tensor x = tensor({3.0, 1.0, 1.5, 5.0, 4.0});  // in two blocks
  GradientTape tape;
  tape.watch(x);
  const Tensor y = isotonic_regression(x);
  std::feclearexcept(FE_ALL_EXCEPT);
  const Tensor g = *tape.gradient(y, x, {.output_gradients = tensor({1.0, 2.0, 3.0, 4.0, 5.0})});
  CHECK(std::fetestexcept(FE_INVALID | FE_DIVBYZERO) == 0);
  CHECK(is_close(g, tensor({2.0, 2.0, 2.0, 4.5, 4.5}), 1e-15));
}

TEST_CASE("errors of scans name the cause") {
  const Tensor x = ones({2, 3}), z = cast(x, DType::complex128);
  CHECK_THROWS_WITH(cummax(z, 0), Contains("complex numbers have no order"));
  CHECK_THROWS_AS(cummin(x, 2), IndexError);
  CHECK_THROWS_AS(logcumsumexp(z, 0), TypeError);
  CHECK_THROWS_WITH(diff(x, -1), Contains("n is -1"));
  CHECK(diff(x, 100).shape() == Shape{2, 0});
  CHECK_THROWS_WITH(gradient_along(x, 0, 1.0, 2), Contains("has fewer than 3 samples"));
  CHECK_THROWS_WITH(gradient_along(x, 1, 1.0, 3), Contains("edge_order is 3"));
  CHECK_THROWS_WITH(gradient_along(x, 1, ones({2})), Contains("the coordinates of 3 samples"));
  CHECK_THROWS_AS(associative_scan([](const Tensor& a, const Tensor&) { return sum(a); }, x), ShapeError);
  CHECK_THROWS_AS(associative_scan(ScanStep(), std::vector<Tensor>{}), ValueError);
}

TEST_CASE("errors of statistics name the cause") {
  const Tensor x = ones({2, 3}), z = cast(x, DType::complex128);
  CHECK_THROWS_AS(nanmean(z), TypeError);
  CHECK_THROWS_AS(nanmax(z), TypeError);
  CHECK_THROWS_WITH(average(x, ones({2})), Contains("broadcast"));
  CHECK_THROWS_AS(cov(scalar(1.0)), ShapeError);
  CHECK_THROWS_AS(corrcoef(z), TypeError);
  CHECK_THROWS_WITH(masked_softmax(x, x), Contains("the mask must be boolean"));
  CHECK_THROWS_WITH(masked_softmax(x, ones({3, 1}, DType::boolean)), Contains("broadcast"));
  CHECK_THROWS_WITH(cdist(x, ones({2, 2})), Contains("rows must have as many columns"));
  CHECK_THROWS_WITH(cdist(x, x, 0), Contains("p is 0"));
  CHECK_THROWS_AS(pdist(ones({3})), ShapeError);
  CHECK_THROWS_AS(isotonic_regression(scalar(1.0)), ShapeError);
}

TEST_CASE("statistics of empty tensors") {
  const Tensor nothing = zeros({2, 0});
  CHECK_THROWS_WITH(nanmax(nothing, {1}), Contains("nanmax: x has no elements along the reduced axes"));
  CHECK_THROWS_WITH(nanmin(cast(nothing, DType::int64), {1}), Contains("nanmin: x has no elements"));
  CHECK_THROWS_WITH(ptp(nothing), Contains("ptp: x has no elements"));
  CHECK(all(isnan(corrcoef(nothing))).item<bool>());
  CHECK(all(isnan(cov(nothing))).item<bool>());
  CHECK(nanprod(nothing, {1}).to_vector() == std::vector<double>{1, 1});
  GradientTape tape;
  const Tensor x = zeros({2});
  tape.watch(x);
  const Tensor y = clip_by_norm(x, 0.0);
  CHECK(y.to_vector() == std::vector<double>{0, 0});
  CHECK(tape.gradient(y, x).dense().to_vector() == std::vector<double>{0, 0});
}

TEST_CASE("statistics of integers, float16 and bfloat16") {
  const Tensor i = tensor<std::int64_t>({1, 2, 4});
  CHECK(nanmean(i).item<double>() == Approx(7.0 / 3));
  CHECK(nanmax(i).dtype() == DType::int64);
  CHECK(cov(i).item<double>() == Approx(7.0 / 3));
  CHECK(cdist(reshape(i, {3, 1}), reshape(i, {3, 1})).dtype() == DType::float64);
  for (const DType d : {DType::float16, DType::bfloat16}) {
    const Tensor h = cast(i, d);
    for (const Tensor& y : {nanmean(h), nanvar(h), nanstd(h), nanmax(h), average(h, h), cov(h), logcumsumexp(h, 0),
                            weighted_logsumexp(h, h).log, clip_by_norm(h, 2), isotonic_regression(h),
                            masked_softmax(h, h > 1), pdist(reshape(h, {3, 1}))})
      CHECK(y.dtype() == d);
  }
  const Tensor z = make_complex(tensor({{1, 2, 4}}), tensor({{0, 1, -1}}));
  CHECK(is_close(imag(cov(z)), zeros({1, 1}), 1e-15));
}

TEST_CASE("cov: rows far from 0, short and long, in any layout, keep their digits") {
  Generator g(3);
  for (const std::int64_t n : {700, 70000})  // rows beyond 65536 elements are centred by whole tensors
    for (const bool turned : {false, true}) {
      CAPTURE(n, turned);
      const Tensor drawn = random_normal(g, turned ? Shape{n, 3} : Shape{3, n}, 3e6, 1, DType::float32),
                   x = turned ? transpose(drawn) : drawn;
      const Tensor exact = cov(cast(x, DType::float64));
      CHECK(is_close(cast(cov(x), DType::float64), exact, 3e-6));
      const Tensor complex = make_complex(x, 2 * x);
      CHECK(is_close(cast(real(cov(complex)), DType::float64), 5 * exact, 2e-5));
      const auto f = [](const Tensor& a) { return sum(square(cov(a))); };
      const Tensor slope = grad(f)(cast(x, DType::float64));
      CHECK(is_close(cast(grad(f)(x), DType::float64) * n, slope * n, 1e-3));
      const Tensor t = square(x - 3e6);
      CHECK(jvp(f, x, t).second.item<float>() == Approx(sum(slope * t).item<double>()).epsilon(1e-4));
    }
}

TEST_CASE("running extremes and logcumsumexp along a middle axis are those of its columns, in strips too") {
  constexpr double inf = std::numeric_limits<double>::infinity();
  for (const std::int64_t width : {2, 300, -300}) {  // with infinities where it is negative
    const std::int64_t w = std::abs(width);
    Tensor x = sin(reshape(arange(3 * 4 * w) * arange(3 * 4 * w), {3, 4, w}) * 0.37);
    if (width < 0) x = where(x > 0.5, inf, where(x < -0.5, -inf, x));
    for (const bool reverse : {false, true}) {
      GradientTape tape;
      tape.watch(x);
      const Tensor most = cummax(x, 1, reverse).values, least = cummin(x, 1, reverse).values,
                   logs = logcumsumexp(x, 1, false, reverse);
      const Tensor slope = tape.gradient(logs, x, {.output_gradients = arctan(x)}).dense();
      for (std::int64_t b = 0; b < 3; ++b)
        for (const std::int64_t c : {std::int64_t{0}, w - 1, w / 2}) {
          const auto column = [&](const Tensor& y) { return contiguous(slice(y, {b, reel::all, c})); };
          const Tensor one = column(x);
          CHECK(array_equal(column(most), cummax(one, 0, reverse).values));
          CHECK(array_equal(column(least), cummin(one, 0, reverse).values));
          CHECK(allclose(column(logs), logcumsumexp(one, 0, false, reverse), {.rtol = 1e-14}));
          GradientTape alone;
          alone.watch(one);
          const Tensor y = logcumsumexp(one, 0, false, reverse);
          CHECK(allclose(column(slope), alone.gradient(y, one, {.output_gradients = arctan(one)}).dense(),
                         {.rtol = 1e-13}));
        }
    }
  }
  CHECK(cummax(tensor({5.0}), 0).values.item() == 5);
  CHECK(cummax(tensor({5.0}), 0).indices.to_vector<std::int64_t>()[0] == 0);
  CHECK(logcumsumexp(tensor({5.0}), 0).item() == 5);
  for (const Shape& shape : {Shape{0}, Shape{0, 3}, Shape{2, 0}}) {
    CHECK(cummax(zeros(shape), 0).values.shape() == shape);
    CHECK(logcumsumexp(zeros(shape), 0).shape() == shape);
  }
  const Tensor lowest = tensor({-inf, -inf, -inf});
  GradientTape tape;
  tape.watch(lowest);
  const Tensor y = logcumsumexp(lowest, 0);
  CHECK(allclose(tape.gradient(y, lowest, {.output_gradients = tensor({0.0, 6.0, 9.0})}).dense(),
                 tensor({6.0, 6.0, 3.0})));
}

TEST_CASE("logcumsumexp beyond an infinite element has no derivative by finite ones") {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor x = tensor({0.5, inf, 1.0, inf});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = logcumsumexp(x, 0);
  const Tensor slope = tape.gradient(y, x, {.output_gradients = tensor({8.0, 1.0, 2.0, 4.0})}).dense();
  CHECK(slope.to_vector() == std::vector<double>{8, 5, 0, 2});
}

TEST_CASE("second derivatives of distances scale with the points, also where the square of a distance overflows") {
  const Tensor points = tensor({{0., 0.}, {3., 4.}, {1., 7.}, {2., -5.}, {6., 1.}}), weights = arange(1., 26.);
  for (const auto& [d, scale, tolerance] : {std::tuple(DType::float32, 1e25, 1e-5), {DType::float64, 1e200, 1e-13}})
    for (const bool pairs : {false, true}) {
      INFO(d << ", pdist " << pairs);
      const auto f = [pairs = pairs, w = cast(weights, d)](const Tensor& x) {
        return pairs ? sum(pdist(x) * slice(w, {range(0, 10)})) : sum(reshape(cdist(x, stop_gradient(x)), {25}) * w);
      };
      const Tensor near = hessian(f)(cast(points, d)), far = hessian(f)(cast(points * scale, d));
      CHECK(is_close(cast(far, DType::float64) * scale, cast(near, DType::float64), tolerance));
    }
}

TEST_CASE("cdist of points whose distance is below the normal numbers has their direction as its gradient") {
  const Tensor x = tensor({{5e-310, 2e-310}}), y = tensor({{1e-310, -1e-310}});
  GradientTape tape;
  tape.watch(x);
  const Tensor z = cdist(x, y);
  CHECK(z.item() == Approx(5e-310).epsilon(1e-12));
  CHECK(allclose(tape.gradient(z, x).dense(), tensor({{0.8, 0.6}}), {.rtol = 1e-12}));
  constexpr double inf = std::numeric_limits<double>::infinity();
  for (const double p : {1.0, 2.0, 3.0, inf}) CHECK(cdist(tensor({{inf, 1.0}}), tensor({{2.0, 3.0}}), p).item() == inf);
}
