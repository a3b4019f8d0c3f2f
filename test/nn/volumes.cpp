// Sequences, volumes, morphology, bags and normalisation of channels, <reel/nn.hpp>: every combination of padding,
// stride, dilation and groups against plain loops, ties, NaN in padding, ends, dtypes, errors. Values and
// derivatives in every layout are checked by the op table.
#include <cmath>
#include <limits>
#include <reel/compile.hpp>
#include <reel/nn.hpp>
#include <reel/ops/indexing.hpp>
#include <reel/reel.hpp>

#include "catch.hpp"
#include "nn/convolution_by_loops.hpp"
#include "support/derivatives.hpp"

using namespace reel;
using Catch::Contains;
using Catch::StartsWith;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity(), nan_ = std::numeric_limits<double>::quiet_NaN();

Tensor numbers(const std::vector<double>& values) { return from_data(values); }
Tensor waves(const Shape& shape, double step) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < shape.elements(); ++i) values.push_back(std::sin(step * static_cast<double>(i + 1)));
  return reshape(from_data(values), shape);
}

void check_values(const Tensor& x, const std::vector<double>& wanted) {
  const auto values = x.to_vector();
  REQUIRE(values.size() == wanted.size());
  for (std::size_t i = 0; i < values.size(); ++i) REQUIRE(std::abs(values[i] - wanted[i]) < 1e-12);
}
std::vector<double> gradient_of(const Tensor& x, const std::function<Tensor(const Tensor&)>& f) {
  GradientTape tape;
  tape.watch(x);
  const Tensor y = f(x);
  return (*tape.gradient(y, x)).to_vector();
}

}  // namespace

TEST_CASE("conv3d and its transpose: paddings, strides, dilations and groups against loops") {
  for (const Padding::Rule rule : {Padding::valid, Padding::same, Padding::given})
    for (const std::int64_t stride : {1, 2, 3})
      for (const std::int64_t dilation : {1, 2})
        for (const std::int64_t groups : {1, 2}) {
          const Size2d depth = {2, 4}, rows = {1, 0}, columns = {0, 2};
          const auto along = [&](std::int64_t n, std::int64_t taps, std::int64_t s, std::int64_t d,
                                 const Size2d& sides) { return support::window_along(n, taps, s, d, rule, sides); };
          const support::WindowAlong axes[] = {along(5, 3, stride, dilation, depth), along(4, 2, 1, dilation, rows),
                                               along(3, 2, stride, 1, columns)};
          const Padding3d padding = rule == Padding::given ? Padding3d(depth, rows, columns) : Padding3d(rule);
          const Size3d strides = {stride, 1, stride}, dilations = {dilation, dilation, 1};
          const Tensor x = waves({1, 2, 5, 4, 3}, 0.7), w = waves({4, 2 / groups, 3, 2, 2}, 1.3);
          Tensor g;
          const support::ConvolutionByLoops l =
              support::convolve_by_loops(x, w, axes, groups, [&](const Shape& s) { return g = waves(s, 0.37); });
          GradientTape tape;
          tape.watch(x);
          tape.watch(w);
          const Tensor z = conv3d(x, w, {strides, padding, dilations, groups});
          REQUIRE(z.shape() == l.shape);
          check_values(z, l.y);
          const auto grads = tape.gradient(sum(z * g), {x, w});
          check_values(*grads[0], l.dx);
          check_values(*grads[1], l.dw);
          check_values(conv3d_transpose(g, w, {strides, padding, dilations, groups, {5, 4, 3}}), l.dx);
        }
}

TEST_CASE("convolution and pooling of sequences and volumes: padding does not enter products") {
  const Tensor w = reshape(numbers({inf, 1.0, 2.0}), {1, 1, 3});
  const Tensor y = conv1d(ones({1, 1, 3}), w, {.padding = {1, 0}});
  CHECK(y.to_vector() == std::vector<double>{3, inf});
  const Tensor volume = ones({1, 1, 3, 1, 1}), kernel = reshape(w, {1, 1, 3, 1, 1});
  const Padding3d front = {{1, 0}, {0, 0}, {0, 0}};
  CHECK(conv3d(volume, kernel, {.padding = front}).to_vector() == std::vector<double>{3, inf});
  GradientTape tape;
  tape.watch(kernel);
  const Tensor z = conv3d(volume, kernel, {.padding = front}) * reshape(numbers({inf, 1.0}), {1, 1, 2, 1, 1});
  CHECK((*tape.gradient(z, kernel)).to_vector() == std::vector<double>{1, inf, inf});
  // max: nothing; avg: not counted unless asked for
  const Tensor negative = full({1, 1, 2, 2, 2}, -3.0);
  const Padding3d around = {{1, 1}, {1, 1}, {1, 1}};
  CHECK(max(max_pool3d(negative, {2, 2, 2}, {.padding = around})).item() == -3);
  CHECK(min(max_pool3d(negative, {2, 2, 2}, {.padding = around})).item() == -3);
  CHECK(min(avg_pool3d(negative, {2, 2, 2}, {.padding = around})).item() == -3);
  CHECK(avg_pool3d(negative, {2, 2, 2}, {.padding = around, .count_include_padding = true}).to_vector() ==
        std::vector<double>(8, -3.0 / 8));
  CHECK(avg_pool1d(ones({1, 1, 2}), 1, {.padding = {1, 0}}).to_vector() == std::vector<double>{0, 1, 1});
}

TEST_CASE("max_pool3d: the first of equal elements and the first NaN get the gradient") {
  const auto pooled = [](const Tensor& x) { return max_pool3d(x, {2, 2, 2}); };
  CHECK(gradient_of(ones({1, 1, 2, 2, 2}), pooled) == std::vector<double>{1, 0, 0, 0, 0, 0, 0, 0});
  const Tensor late = reshape(numbers({0.0, 0.0, 5.0, 0.0, 5.0, 5.0, 0.0, 0.0}), {1, 1, 2, 2, 2});
  CHECK(gradient_of(late, pooled) == std::vector<double>{0, 0, 1, 0, 0, 0, 0, 0});
  const Tensor with_nan = reshape(numbers({9.0, 0.0, 0.0, nan_, nan_, 0.0, 0.0, 0.0}), {1, 1, 2, 2, 2});
  CHECK(std::isnan(pooled(with_nan).item()));
  CHECK(gradient_of(with_nan, pooled) == std::vector<double>{0, 0, 0, 1, 0, 0, 0, 0});
  CHECK(gradient_of(reshape(numbers({2.0, 2.0, 1.0, 1.0}), {1, 1, 4}),
                    [](const Tensor& x) { return max_pool1d(x, 2); }) == std::vector<double>{1, 0, 1, 0});
}

TEST_CASE("normalisations: derivatives of tiny and large numbers are those of others, scaled") {
  const Tensor x = tensor<float>({1, 2, -3, 0.5}), g = tensor<float>({1, 0.5, 0.25, 2}),
               one = ones({4}, DType::float32);
  const auto compare = [&](const auto& norm) {
    const auto f = [&](const Tensor& y) { return sum(norm(y) * g); };
    for (const float scale : {0x1p-45F, 0x1p-40F, 0x1p45F, 0x1p60F})  // their cubes leave float32's range
      CHECK(allclose(grad(f)(x * scale) * scale, grad(f)(x), {.rtol = 1e-5}));
    for (const float scale : {0x1p-45F, 0x1p-40F, 0x1p45F, 0x1p50F})
      CHECK(allclose(hvp(f)(x * scale, one * scale) * scale, hvp(f)(x, one), {.rtol = 1e-4, .atol = 1e-5}));
  };
  compare([&](const Tensor& y) { return rms_norm(y, one, {.epsilon = 0}); });
  compare([](const Tensor& y) { return layer_norm(y, {.epsilon = 0}); });
  compare([&](const Tensor& y) {
    return batch_norm(reshape(y, {1, 4}), one, one, one * 0, square(y) + square(y) * square(g), {.epsilon = 0});
  });
}

TEST_CASE("group_norm and instance_norm: one group is layer_norm, groups of one channel are instance_norm") {
  const Tensor x = waves({2, 4, 3, 2}, 0.9);
  const Tensor layer = layer_norm(x, {.axes = {1, 2, 3}});
  CHECK(group_norm(x, 1).to_vector() == layer.to_vector());
  CHECK(group_norm(x, 4).to_vector() == instance_norm(x).to_vector());
  // constant groups: variance 0
  CHECK(group_norm(full({1, 4, 2}, 7.0), 2).to_vector() == std::vector<double>(8, 0.0));
  CHECK(std::isnan(sum(group_norm(full({1, 2, 2}, nan_), 2)).item()));
  const Tensor half = cast(x, DType::float16), a = cast(ones({4}), DType::float16);
  CHECK(group_norm(half, a, a, 2).dtype() == DType::float16);
  CHECK(instance_norm(half, ones({4}, DType::float32), a).dtype() == DType::float32);
}

TEST_CASE("dilation2d, erosion2d: TensorFlow's numbers, ties, NaN, padding that takes no part") {
  const auto image = [](const std::vector<double>& v, std::int64_t width) {
    return reshape(from_data(v), {1, 1, static_cast<std::int64_t>(v.size()) / width, width});
  };
  // As morphological_ops_test.py.
  const Tensor x = image({.1, .2, .3, .4}, 2), w = reshape(numbers({.4, .3, .1, 0}), {1, 2, 2});
  const auto near = [](const Tensor& y, const std::vector<double>& expected) {
    const auto got = y.to_vector();
    REQUIRE(got.size() == expected.size());
    for (std::size_t k = 0; k < got.size(); ++k) CHECK(got[k] == Approx(expected[k]).margin(1e-15));
  };
  near(dilation2d(x, w), {.5});
  near(dilation2d(x, w, {.padding = Padding::same}), {.5, .6, .7, .8});
  near(erosion2d(x, w), {0});
  near(erosion2d(x, w, {.padding = Padding::same}), {0, .1, .3, .4});
  // A flat kernel: max_pool2d.
  const Tensor many = waves({2, 3, 7, 6}, 1.7);
  const Padding uneven({2, 1}, {0, 2});
  CHECK(dilation2d(many, zeros({3, 3, 2}), {{2, 1}, uneven, {2, 3}}).to_vector() ==
        max_pool2d(many, {3, 2}, {{2, 1}, uneven, {2, 3}}).to_vector());
  // The first of ties, the first NaN.
  const auto slopes = [&](const Tensor& a, const Tensor& b) {
    GradientTape tape;
    tape.watch(std::tie(a, b));
    const auto d = tape.gradient(dilation2d(a, b), {a, b});
    return std::pair(d[0].dense().to_vector(), d[1].dense().to_vector());
  };
  using Both = std::pair<std::vector<double>, std::vector<double>>;
  const Tensor flat = zeros({1, 2, 2});
  CHECK(slopes(image({1, 2, 2, 2}, 2), flat) == Both{{0, 1, 0, 0}, {0, 1, 0, 0}});
  CHECK(slopes(image({1, 2, nan_, nan_}, 2), flat) == Both{{0, 0, 1, 0}, {0, 0, 1, 0}});
  CHECK(std::isnan(dilation2d(image({1, 2, nan_, 2}, 2), flat).item()));
  // Nothing but -inf beside padding, where the kernel is inf.
  const Tensor low = image({-inf, -inf}, 1), corner = reshape(numbers({inf, 1.0}), {1, 2, 1});
  CHECK(dilation2d(low, corner, {.padding = {{1, 0}, {0, 0}}}).to_vector()[0] == -inf);
  CHECK(dilation2d(cast(x, DType::float16), w).dtype() == DType::float64);
  CHECK_THROWS_WITH(dilation2d(x, zeros({2, 2, 2})), Contains("dilation2d: w has 2 channels and x has 1"));
  CHECK_THROWS_WITH(erosion2d(x, zeros({2, 2})), Contains("erosion2d: w must be [channels, height, width]"));
  CHECK_THROWS_AS(dilation2d(x, w, {.padding = {{2, 0}, {0, 0}}}), ValueError);
  CHECK_THROWS_AS(dilation2d(x, zeros({1, 3, 1})), ShapeError);
  CHECK_THROWS_AS(dilation2d(cast(x, DType::int64), cast(w, DType::int64)), TypeError);
}

TEST_CASE("fractional pooling and embedding_bag: libtorch's numbers, ends, errors") {
  const Tensor x = reshape(arange(126) * 37 % 101, {1, 2, 7, 9}) * 1.0;
  const Tensor samples = reshape(numbers({0.3, 0.9, 0.62, 0.05}), {1, 2, 2});
  CHECK(fractional_max_pool2d(x, {2, 3}, {4, 5}, samples).to_vector() ==
        std::vector<double>{74, 74, 84, 84, 94, 97, 100, 100, 80, 83, 93, 100, 100, 73, 83, 86, 89, 96, 99, 99,
                            82, 85, 92, 95, 95, 75, 85,  85,  95, 95, 98, 74,  81,  84, 91, 94, 97, 97, 77, 80});
  CHECK(fractional_max_pool2d(x, {7, 9}, {1, 1}, samples).to_vector() == max(x, {2, 3}).to_vector());
  CHECK(fractional_avg_pool2d(x, {1, 1}, {7, 9}, samples).to_vector() == x.to_vector());
  CHECK(fractional_max_pool2d(x, {2, 2}, {3, 4}, samples - 2).to_vector() ==
        fractional_max_pool2d(x, {2, 2}, {3, 4}, samples).to_vector());
  Generator one(3), two(3), next(3);
  const Tensor drawn = fractional_max_pool2d(x, {2, 2}, {3, 4}, one);
  CHECK(drawn.to_vector() == fractional_max_pool2d(x, {2, 2}, {3, 4}, random_uniform(two, {1, 2, 2})).to_vector());
  static_cast<void>(fractional_avg_pool2d(x, {2, 2}, {3, 4}, next));
  CHECK(random_uniform(next, {3}).to_vector() == random_uniform(one, {3}).to_vector());
  CHECK_THROWS_WITH(fractional_max_pool2d(x, {2, 3}, {7, 5}, samples), Contains("fractional_max_pool2d: windows are"));
  CHECK_THROWS_WITH(fractional_avg_pool2d(x, {2, 3}, {4, 5}, zeros({2, 2})), Contains("they must be [1, 2, 2]"));
  CHECK_THROWS_AS(fractional_avg_pool2d(x, {2, 3}, {4, 5}, zeros({1, 2, 2}, DType::int64)), TypeError);
  CHECK_THROWS_WITH(fractional_max_pool2d(x, {2, 3}, {4, 5}, samples * nan_),
                    Contains("fractional_max_pool2d: an element of samples (float64) is NaN"));
  const auto pooled = compile([&](const Tensor& s) { return fractional_avg_pool2d(x, {2, 3}, {4, 5}, s); });
  CHECK_THROWS_WITH(pooled(samples * nan_), StartsWith("fractional_avg_pool2d: an element of samples"));
  CHECK_THROWS_AS(fractional_max_pool2d(x, {0, 3}, {4, 5}, samples), ShapeError);

  const Tensor table = reshape(arange(10) * 7 % 11, {5, 2}) * 1.0;
  const auto ints = [](const std::vector<std::int64_t>& v) { return from_data(v); };
  const Tensor ids = ints({1, 4, 2, 2, 0, 3}), offsets = ints({0, 2, 2, 5});
  const std::vector<std::vector<double>> bags = {{4, 18}, {2, 9}, {3, 10}},
                                         slopes = {{1, 2}, {0.5, 1}, {0, 0}};  // first bag, row 4
  for (const BagMode mode : {BagMode::sum, BagMode::mean, BagMode::max}) {
    const auto k = static_cast<std::size_t>(mode);
    GradientTape tape;
    tape.watch(table);
    const Tensor y = embedding_bag(table, ids, offsets, {.mode = mode, .padding_id = 2});
    CHECK(y.to_vector() == std::vector<double>{bags[k][0], bags[k][1], 0, 0, 0, 7, 9, 5});
    const Gradient d = tape.gradient(sum(y * reshape(arange(1, 9), {4, 2})), table);
    CHECK(d.is_slices());
    const auto dense = d.dense().to_vector();
    CHECK(std::vector<double>(dense.begin(), dense.begin() + 2) == std::vector<double>{5, 6});
    CHECK(std::vector<double>(dense.begin() + 4, dense.begin() + 6) == std::vector<double>{0, 0});
    CHECK(std::vector<double>(dense.begin() + 8, dense.end()) == slopes[k]);
  }
  CHECK(embedding_bag(table, zeros({2, 0}, DType::int64)).to_vector() == std::vector<double>(4, 0.0));
  CHECK(embedding_bag(table, ints({}), offsets * 0).shape() == Shape{4, 2});
  CHECK(embedding_bag(table, ids, ints({4}), {.mode = BagMode::sum}).to_vector() == std::vector<double>{9, 12});
  CHECK(embedding_bag(cast(table, DType::float16), ids, offsets).dtype() == DType::float16);
  const Tensor pair = reshape(ids, {2, 3});
  CHECK_THROWS_WITH(embedding_bag(table, pair, {.weights = ones({2, 3})}), Contains("which only the mode sum has"));
  CHECK_THROWS_WITH(embedding_bag(table, pair, {.mode = BagMode::sum, .weights = ones({6})}),
                    Contains("weights have shape [6] and ids [2, 3]"));
  CHECK_THROWS_WITH(embedding_bag(table, pair, {.padding_id = 5}), Contains("padding_id 5 is out of range"));
  CHECK_THROWS_WITH(embedding_bag(table, ids), Contains("[bags, length]"));
  CHECK_THROWS_WITH(embedding_bag(table, pair * 2), StartsWith("embedding_bag: index 8 (element 1 of indices)"));
  CHECK_THROWS_WITH(embedding_bag(table, ids, offsets + 2),
                    StartsWith("embedding_bag: 7 (element 3 of offsets) is out of range"));
  const auto bagged = compile([&](const Tensor& i, const Tensor& o) { return embedding_bag(table, i, o); });
  CHECK_THROWS_WITH(bagged(ids * 2, offsets), StartsWith("embedding_bag: index 8"));
  CHECK_THROWS_WITH(bagged(ids, offsets - 1), StartsWith("embedding_bag: -1 (element 0 of offsets)"));
  CHECK_THROWS_AS(embedding_bag(table, ids, offsets * 1.0), TypeError);
  CHECK_THROWS_AS(embedding_bag(pair, pair), TypeError);
  const Tensor complex = ones({2, 3}, DType::complex128);
  CHECK_THROWS_WITH(embedding_bag(table, pair, {.mode = BagMode::sum, .weights = complex}),
                    Contains("weights are complex128; they must be real"));
  CHECK_THROWS_WITH(embedding_bag(table, pair, {.mode = static_cast<BagMode>(7)}), Contains("unknown mode 7"));
}

TEST_CASE("l2_normalize: zeros, the bound, and squares that would overflow") {
  {
    const AnomalyGuard guard;
    CHECK(l2_normalize(zeros({2, 3})).to_vector() == std::vector<double>(6, 0.0));
    CHECK(gradient_of(zeros({2}), [](const Tensor& x) { return sum(l2_normalize(x, {.epsilon = 0})); }) ==
          std::vector<double>{0, 0});
  }
  const auto normalised = [](const Tensor& x) { return sum(l2_normalize(x) * numbers({1.0, 2.0})); };
  CHECK(gradient_of(zeros({2}), normalised) == std::vector<double>{0, 0});
  {
    const AnomalyGuard guard;  // no infinity on the way
    CHECK(gradient_of(zeros({2}), normalised) == std::vector<double>{0, 0});
  }
  // Below the bound: x / sqrt(epsilon).
  CHECK(l2_normalize(numbers({3e-9, 0.0})).to_vector()[0] == Approx(3e-3).epsilon(1e-14));
  CHECK(gradient_of(numbers({3e-9, 0.0}), normalised)[1] == Approx(2e6).epsilon(1e-14));
  const auto exact = [](double scale) { return l2_normalize(numbers({3 * scale, 4 * scale}), {.epsilon = 0}); };
  for (const double scale : {1e-200, 1.0, 1e200}) {
    CHECK(exact(scale).to_vector()[0] == Approx(0.6).epsilon(1e-14));
    CHECK(exact(scale).to_vector()[1] == Approx(0.8).epsilon(1e-14));
  }
  CHECK(std::isnan(l2_normalize(numbers({nan_, 1.0})).to_vector()[1]));
  // Gradient of (3, 4) / 5 by g = (1, 2): (g - y (y g)) / 5 with y g = 2.2.
  const auto g = gradient_of(numbers({3.0, 4.0}), normalised);
  CHECK(g[0] == Approx((1 - 0.6 * 2.2) / 5).epsilon(1e-14));
  CHECK(g[1] == Approx((2 - 0.8 * 2.2) / 5).epsilon(1e-14));
}

TEST_CASE("l2_normalize over an axis that is given as a number") {
  const Tensor x = reshape(numbers({3.0, 4.0, 4.0, 3.0}), {2, 2});
  CHECK(array_equal(l2_normalize(x, -1), l2_normalize(x)));
  CHECK(array_equal(l2_normalize(x, 0), l2_normalize(x, {.axes = 0})));
  CHECK(array_equal(l2_normalize(x, std::size_t{1}, 100), l2_normalize(x, {.axes = 1, .epsilon = 100})));
  CHECK(array_equal(l2_normalize(x, {}), l2_normalize(x)));
}

TEST_CASE("group_norm with scale and offset: a large mean costs no digits, two groups of many elements") {
  const Tensor x = cast(waves({2, 4, 300}, 1.3) + 4096, DType::float32),
               g = cast(waves({2, 4, 300}, 0.7) + waves({2, 4, 300}, 1.3), DType::float32);
  const Tensor scale = cast(numbers({0.5, -1.0, 0.0, 2.0}), DType::float32),
               offset = cast(numbers({1.0, 0.0, -1.0, 2.0}), DType::float32);
  const auto all = [&](DType d) {
    const std::vector<Tensor> operands = {cast(x, d), cast(scale, d), cast(offset, d)};
    GradientTape tape;
    tape.watch(operands);
    const Tensor y = group_norm(operands[0], operands[1], operands[2], 2);
    CHECK(tape.stats().entries <= 3);
    std::vector<Tensor> results = {y};
    for (const Gradient& slope : tape.gradient({y}, operands, {.output_gradients = {cast(g, d)}}))
      results.push_back(slope.dense());
    return results;
  };
  const auto narrow = all(DType::float32), wide = all(DType::float64);
  for (std::size_t k = 0; k < wide.size(); ++k) {
    INFO("result " << k);
    CHECK(max(abs(cast(narrow[k], DType::float64) - wide[k])).item() < 2e-6 * max(abs(wide[k])).item());
  }
  // As normalised first, then scaled.
  const Tensor plain = group_norm(cast(x, DType::float64), 2) * reshape(cast(scale, DType::float64), {4, 1}) +
                       reshape(cast(offset, DType::float64), {4, 1});
  CHECK(max(abs(plain - wide[0])).item() < 1e-14);
}

TEST_CASE("local_response_norm: windows larger than the channels, beta 0") {
  const Tensor x = numbers({1.0, 2.0, 3.0});
  const auto one = [&](const LocalResponseNormOptions& o) { return local_response_norm(reshape(x, {1, 3}), o); };
  const double all = 14;  // the sum of squares
  CHECK(one({.size = 1000, .alpha = 1000, .beta = 1, .k = 1}).to_vector()[2] == Approx(3 / (1 + all)).epsilon(1e-14));
  CHECK(one({.size = std::numeric_limits<std::int64_t>::max(), .beta = 1}).to_vector()[0] == Approx(1.0));
  CHECK(one({.beta = 0}).to_vector() == std::vector<double>{1, 2, 3});
  // size 2: channels c - 1 and c
  CHECK(one({.size = 2, .alpha = 2, .beta = 1, .k = 1}).to_vector()[1] == Approx(2.0 / 6).epsilon(1e-14));
}

TEST_CASE("adaptive pooling: overlapping windows, ties, NaN, float16, sizes above the extent") {
  const Tensor x = reshape(numbers({0.0, 1.0, 10.0}), {1, 1, 3});
  CHECK(adaptive_avg_pool1d(x, 2).to_vector() == std::vector<double>{0.5, 5.5});
  CHECK(adaptive_avg_pool1d(x, 5).to_vector() == std::vector<double>{0, 0.5, 1, 5.5, 10});
  CHECK(adaptive_max_pool1d(x, 2).to_vector() == std::vector<double>{1, 10});
  CHECK(gradient_of(x, [](const Tensor& y) {
          return adaptive_avg_pool1d(y, 2) * numbers({1.0, 4.0});
        }) == std::vector<double>{0.5, 2.5, 2});
  const Tensor equal = ones({1, 1, 3, 3});
  CHECK(gradient_of(equal, [](const Tensor& y) {
          return adaptive_max_pool2d(y, {2, 2});
        }) == std::vector<double>{1, 1, 0, 1, 1, 0, 0, 0, 0});
  CHECK(gradient_of(full({1, 1, 3, 3}, nan_), [](const Tensor& y) {
          return adaptive_max_pool2d(y, {2, 2});
        }) == std::vector<double>{1, 1, 0, 1, 1, 0, 0, 0, 0});
  // 5 elements in windows of 2, 3 and 2: the first and the last leave inf and NaN of their neighbours alone.
  const Tensor wild = reshape(numbers({1.0, 2.0, inf, nan_, 4.0}), {1, 1, 5});
  CHECK(adaptive_avg_pool1d(wild, 3).to_vector()[0] == 1.5);
  CHECK(gradient_of(wild, [](const Tensor& y) {
          return adaptive_avg_pool1d(y, 3) * numbers({6.0, inf, 0.0});
        }) == std::vector<double>{3, inf, inf, inf, 0});
  CHECK(adaptive_avg_pool1d(reshape(numbers({1.0, inf, 2.0, 3.0, 4.0}), {1, 1, 5}), 3).to_vector()[0] == inf);
  CHECK(adaptive_max_pool1d(wild, 5).to_vector()[2] == inf);
  CHECK(adaptive_avg_pool2d(ones({1, 1, 5, 5}, DType::float16), {3, 2}).dtype() == DType::float16);
  // Sums of half precision are those of float32: 2048 + 1 is not 2048.
  const Tensor half = cast(reshape(numbers({2048.0, 1.0, 1.0, 1.0, 1.0}), {1, 1, 5}), DType::float16);
  CHECK(cast(adaptive_avg_pool1d(half, 1), DType::float64).to_vector()[0] == 410.5);
}

TEST_CASE("max_pool2d_with_indices: the first maximum for every padding and dilation; max_unpool2d") {
  std::vector<double> values;
  for (int i = 0; i < 2 * 5 * 4; ++i) values.push_back(i == 23 ? nan_ : (i * 7) % 5);  // ties
  const Tensor x = reshape(from_data(values), {1, 2, 5, 4});
  for (const Padding& padding : {Padding(Padding::valid), Padding(Padding::same), Padding({1, 1}, {0, 1})})
    for (const std::int64_t stride : {1, 2})
      for (const Size2d& dilation : {Size2d{1, 1}, Size2d{2, 1}, Size2d{1, 2}}) {
        const MaxPool2dOptions options = {{stride, 1}, padding, dilation};
        const auto [y, indices] = max_pool2d_with_indices(x, {2, 2}, options);
        // NaN is not equal to itself: -1 stands for it.
        const auto no_nan = [](const Tensor& z) { return where(isnan(z), -1, z).to_vector(); };
        REQUIRE(no_nan(y) == no_nan(max_pool2d(x, {2, 2}, options)));
        REQUIRE(indices.dtype() == DType::int64);
        // The gradient of max_pool2d counts how often each element is the first greatest.
        const auto count = gradient_of(x, [&](const Tensor& z) { return max_pool2d(z, {2, 2}, options); });
        std::vector<double> found(values.size());
        const auto places = indices.to_vector<std::int64_t>();
        for (std::size_t i = 0; i < places.size(); ++i)
          found[(i < places.size() / 2 ? 0 : 20) + static_cast<std::size_t>(places[i])] += 1;
        REQUIRE(found == count);
        REQUIRE(gradient_of(x, [&](const Tensor& z) {
                  return max_pool2d_with_indices(z, {2, 2}, options).y;
                }) == count);
      }
  // Unpooling after pooling without overlap restores positions.
  const Tensor image = reshape(numbers({1.0, 5.0, 5.0, 2.0, 0.0, 3.0, 7.0, 7.0}), {1, 1, 2, 4});
  const auto [y, indices] = max_pool2d_with_indices(image, {2, 2});
  CHECK(indices.to_vector<std::int64_t>() == std::vector<std::int64_t>{1, 6});
  const std::vector<double> back = {0, 5, 0, 0, 0, 0, 7, 0};
  CHECK(max_unpool2d(y, indices, {2, 4}).to_vector() == back);
  const auto again = [](const Tensor& z) {
    const auto [pooled, places] = max_pool2d_with_indices(z, {2, 2});
    return square(max_unpool2d(pooled, places, {2, 4}));
  };
  CHECK(gradient_of(image, again) == std::vector<double>{0, 10, 0, 0, 0, 0, 14, 0});
  // Of equal positions the last counts.
  const Tensor twice = zeros({1, 1, 1, 2}, DType::int32), pair = reshape(numbers({3.0, 4.0}), {1, 1, 1, 2});
  CHECK(max_unpool2d(pair, twice, {1, 2}).to_vector() == std::vector<double>{4, 0});
  CHECK(gradient_of(pair, [&](const Tensor& z) {
          return max_unpool2d(z, twice, {1, 2});
        }) == std::vector<double>{0, 1});
  CHECK_THROWS_WITH(max_unpool2d(pair, twice + 2, {1, 2}), Contains("max_unpool2d"));
  CHECK_THROWS_AS(max_unpool2d(pair, twice + 2, {1, 2}), IndexError);
  CHECK_THROWS_WITH(max_unpool2d(pair, zeros({2}, DType::int64), {1, 2}), Contains("indices are [2] and x is"));
  CHECK_THROWS_AS(max_unpool2d(pair, pair, {1, 2}), TypeError);
  CHECK_THROWS_WITH(max_unpool2d(pair, twice, {-1, 2}), Contains("max_unpool2d: size is {-1, 2}"));
  CHECK_THROWS_WITH(max_unpool2d(pair, twice, {2, -1}), Contains("max_unpool2d: size is {2, -1}"));
  for (const Size2d& size : {Size2d{0, 3}, {3, 0}})
    CHECK(max_unpool2d(zeros({1, 1, 0, 1}), zeros({1, 1, 0, 1}, DType::int64), size).shape() ==
          Shape{1, 1, size[0], size[1]});
  CHECK_THROWS_WITH(max_pool2d_with_indices(x, {9, 1}), Contains("max_pool2d_with_indices: the window's height"));
}

TEST_CASE("max_pool1d_with_indices, max_pool3d_with_indices: as the pooling; unpooling restores positions") {
  std::vector<double> values;
  for (int i = 0; i < 2 * 4 * 3 * 5; ++i) values.push_back(i == 37 ? nan_ : (i * 7) % 11);  // ties
  const Tensor volume = reshape(from_data(values), {2, 1, 4, 3, 5}), sequence = reshape(from_data(values), {2, 3, 20});
  const auto no_nan = [](const Tensor& z) { return where(isnan(z), -1, z).to_vector(); };
  // What is at the indices of x is y, and each index counts in the gradient.
  const auto check = [&](const Tensor& x, const auto& with_indices, const Tensor& y, const auto& pooling) {
    const auto [found, indices] = with_indices(x);
    REQUIRE(no_nan(found) == no_nan(y));
    REQUIRE(indices.dtype() == DType::int64);
    REQUIRE(indices.shape() == y.shape());
    const Shape s = x.shape(), r = y.shape();
    const std::int64_t image = x.size() / (s[0] * s[1]), results = y.size() / (s[0] * s[1]);
    const Tensor flat = reshape(indices, {r[0], r[1], results});
    REQUIRE(no_nan(take_along_axis(reshape(x, {s[0], s[1], image}), flat, 2)) == no_nan(y));
    const auto count = gradient_of(x, pooling);
    REQUIRE(scatter_add_along_axis(zeros({s[0], s[1], image}), flat, ones(flat.shape()), 2).to_vector() == count);
    REQUIRE(gradient_of(x, [&](const Tensor& z) { return with_indices(z).y; }) == count);
  };
  for (const std::int64_t dilation : {1, 2})
    for (const auto rule : {Padding::valid, Padding::same, Padding::given}) {
      const Padding3d padding = rule == Padding::given ? Padding3d({1, 1}, {0, 1}, {1, 0}) : Padding3d(rule);
      const MaxPool3dOptions options = {{2, 1, 1}, padding, {1, dilation, dilation}};
      const auto pooled = [&](const Tensor& z) { return max_pool3d(z, {2, 2, 2}, options); };
      check(
          volume,
          [&](const Tensor& z) {
            return max_pool3d_with_indices(z, {2, 2, 2}, options);
          },
          pooled(volume), pooled);
      const Padding1d ends = rule == Padding::given ? Padding1d(2, 1) : Padding1d(rule);
      const MaxPool1dOptions along = {2, ends, dilation};
      const auto in_row = [&](const Tensor& z) { return max_pool1d(z, 3, along); };
      check(
          sequence, [&](const Tensor& z) { return max_pool1d_with_indices(z, 3, along); }, in_row(sequence), in_row);
    }
  const Tensor cube = reshape(numbers({1.0, 5.0, 5.0, 2.0, 0.0, 3.0, 7.0, 7.0}), {1, 1, 2, 2, 2});
  const auto [y, indices] = max_pool3d_with_indices(cube, {1, 2, 2});
  CHECK(indices.to_vector<std::int64_t>() == std::vector<std::int64_t>{1, 6});
  CHECK(max_unpool3d(y, indices, {2, 2, 2}).to_vector() == std::vector<double>{0, 5, 0, 0, 0, 0, 7, 0});
  const Tensor row = reshape(cube, {1, 1, 8});
  const auto [highest, places] = max_pool1d_with_indices(row, 4);
  CHECK(max_unpool1d(highest, places, 8).to_vector() == std::vector<double>{0, 5, 0, 0, 0, 0, 7, 0});
  CHECK(max_unpool1d(highest, places - 8, 9).to_vector() == std::vector<double>{0, 0, 5, 0, 0, 0, 0, 7, 0});
  CHECK_THROWS_AS(max_unpool1d(highest, places, 6), IndexError);
  CHECK_THROWS_WITH(max_unpool1d(highest, places, -1), Contains("max_unpool1d: size is {-1}; each extent must be"));
  CHECK_THROWS_WITH(max_unpool3d(y, indices, {2, 2, -2}), Contains("max_unpool3d: size is {2, 2, -2}"));
  CHECK_THROWS_AS(max_unpool3d(y, indices, {std::int64_t{1} << 21, 1, 1}), ShapeError);
  CHECK_THROWS_WITH(max_unpool3d(y, reshape(indices, {2}), {2, 2, 2}), Contains("indices are [2] and x is"));
  CHECK_THROWS_AS(max_unpool3d(row, indices, {2, 2, 2}), ShapeError);
  CHECK_THROWS_WITH(max_pool3d_with_indices(cube, {3, 1, 1}), Contains("max_pool3d_with_indices: the window's depth"));
  CHECK_THROWS_AS(max_pool1d_with_indices(row, 2, {.padding = {2, 0}}), ValueError);
}

TEST_CASE("lp_pool: windows of zeros, squares that would overflow, second derivatives") {
  const Tensor x = reshape(numbers({0.0, 0.0, 3.0, -4.0}), {1, 1, 4});
  for (const double p : {1.0, 2.0, 3.5}) {
    const auto g = gradient_of(x, [&](const Tensor& y) { return lp_pool1d(y, p, 2); });
    CHECK(g[0] == 0);
    CHECK(g[1] == 0);
    CHECK(g[2] == Approx(std::pow(3 / std::pow(std::pow(3, p) + std::pow(4, p), 1 / p), p - 1)).epsilon(1e-14));
    CHECK(g[3] < 0);
  }
  // Pooled in one step as in two.
  const Tensor volume = waves({2, 3, 4, 5, 6}, 0.37);
  const auto two_steps = [](const Tensor& z) {
    const Tensor planes = lp_pool2d(reshape(z, {2, 12, 5, 6}), 3, {2, 3}, {1, 2});
    return reshape(lp_pool2d(reshape(planes, {2, 3, 4, 8}), 3, {2, 1}), {2, 3, 2, 4, 2});
  };
  const auto one_step = [](const Tensor& z) { return lp_pool3d(z, 3, {2, 2, 3}, {2, 1, 2}); };
  CHECK(allclose(one_step(volume), two_steps(volume), {.rtol = 1e-14, .atol = 0}));
  CHECK(allclose(from_data(gradient_of(volume, one_step)), from_data(gradient_of(volume, two_steps)),
                 {.rtol = 1e-13, .atol = 1e-13}));
  CHECK(lp_pool1d(zeros({0, 1, std::int64_t{1} << 30}), 2, std::int64_t{1} << 29, 1).shape() ==
        Shape{0, 1, (std::int64_t{1} << 29) + 1});
  CHECK(lp_pool1d(x * 1e200, 2, 2).to_vector()[1] == Approx(5e200).epsilon(1e-14));
  // The second derivative of sqrt(a^2 + b^2 + c^2 + d^2) by a at (0, 0, 3, 4) is 1 / 5.
  const Tensor image = reshape(numbers({0.0, 0.0, 3.0, 4.0}), {1, 1, 2, 2});
  GradientTape outer;
  outer.watch(image);
  GradientTape inner;
  inner.watch(image);
  const Tensor slope = *inner.gradient(lp_pool2d(image, 2, {2, 2}), image);
  const auto curvature = (*outer.gradient(slope * reshape(numbers({1.0, 0.0, 0.0, 0.0}), {1, 1, 2, 2}), image));
  CHECK(curvature.to_vector()[0] == Approx(0.2).epsilon(1e-14));
}

TEST_CASE("sequences and volumes without elements: by the rule same there are no results, as of images") {
  const Tensor x = ones({2, 4, 0}), v = ones({2, 4, 3, 0, 5}), w = ones({6, 4, 3}), k = ones({6, 4, 2, 3, 2});
  constexpr auto same = Padding::same;
  CHECK(max_pool2d(ones({2, 4, 0, 5}), {3, 3}, {.padding = same}).shape() == Shape{2, 4, 0, 2});
  CHECK(max_pool1d(x, 3, {.padding = same}).shape() == Shape{2, 4, 0});
  CHECK(avg_pool1d(x, 3, {.padding = same}).shape() == Shape{2, 4, 0});
  CHECK(conv1d(x, w, {.padding = same}).shape() == Shape{2, 6, 0});
  CHECK(conv1d_transpose(ones({2, 6, 0}), w, {.padding = same}).shape() == Shape{2, 4, 0});
  CHECK(max_pool3d(v, {2, 3, 2}, {.padding = same}).shape() == Shape{2, 4, 2, 0, 3});
  CHECK(avg_pool3d(v, {2, 3, 2}, {.padding = same}).shape() == Shape{2, 4, 2, 0, 3});
  CHECK(conv3d_transpose(ones({2, 6, 3, 0, 5}), k, {.padding = same}).shape() == Shape{2, 4, 3, 0, 5});
  GradientTape tape;
  tape.watch(v);
  tape.watch(k);
  const Tensor y = conv3d(v, k, {.padding = same});
  CHECK(y.shape() == Shape{2, 6, 3, 0, 5});
  const auto grads = tape.gradient(sum(y), {v, k});
  CHECK((*grads[0]).shape() == v.shape());
  CHECK(array_equal(*grads[1], zeros(k.shape())));
  CHECK_THROWS_WITH(avg_pool1d(x, 3), Contains("avg_pool1d: the window's length"));
}

TEST_CASE("sequences and volumes: errors name the op, the operand and the remedy") {
  const Tensor x = ones({1, 2, 4}), v = ones({1, 2, 3, 3, 3});
  CHECK_THROWS_WITH(conv1d(v, x), Contains("conv1d: x must be [batch, channels, length]"));
  CHECK_THROWS_WITH(conv1d(x, ones({3, 1, 2})), Contains("conv1d") && Contains("set groups to 2"));
  CHECK_THROWS_WITH(conv1d(x, ones({3, 1, 2}), {.groups = 2}), Contains("3 filters do not fall into 2 groups"));
  CHECK_THROWS_AS(conv1d(x, ones({3, 2, 5})), ShapeError);
  CHECK_THROWS_WITH(conv1d(x, ones({3, 2, 2}), {.stride = 0}), Contains("conv1d: stride length is 0"));
  CHECK_THROWS_AS(conv1d(cast(x, DType::int32), x), TypeError);
  CHECK_THROWS_WITH(conv1d_transpose(x, ones({2, 1, 2}), {.size = 9}), Contains("conv1d_transpose"));
  CHECK_THROWS_WITH(conv3d(v, ones({1, 2, 4, 1, 1})), Contains("conv3d: the window's depth of 4"));
  CHECK_THROWS_WITH(conv3d(v, ones({1, 2, 1, 1, 1}), {.dilation = {1, 0, 1}}), Contains("dilation height is 0"));
  CHECK_THROWS_WITH(conv3d_transpose(v, ones({3, 2, 1, 1, 1})), Contains("conv3d_transpose: x has 2 filters"));
  CHECK_THROWS_WITH(max_pool1d(x, 1, {.padding = {0, 1}}), Contains("max_pool1d: window 4 of the length"));
  CHECK_THROWS_WITH(max_pool3d(v, {1, 1, 1}, {.padding = {{0, 0}, {1, 0}, {0, 0}}}), Contains("of the height"));
  CHECK_THROWS_WITH(avg_pool3d(v, {0, 1, 1}), Contains("avg_pool3d"));
  CHECK_THROWS_WITH(adaptive_avg_pool1d(x, 0), Contains("adaptive_avg_pool1d: size 0 of axis 2"));
  CHECK_THROWS_WITH(adaptive_max_pool3d(ones({1, 1, 2, 0, 2}), {1, 1, 1}), Contains("axis 3 of x has 0 elements"));
  CHECK_THROWS_WITH(adaptive_max_pool2d(x, {1, 1}), Contains("adaptive_max_pool2d: x must be [batch, channels, h"));
  CHECK_THROWS_AS(adaptive_avg_pool3d(cast(v, DType::int32), {1, 1, 1}), TypeError);
  CHECK_THROWS_WITH(lp_pool1d(x, 0.5, 2), Contains("lp_pool1d: p is 0.5"));
  CHECK_THROWS_AS(lp_pool1d(x, inf, 2), ValueError);
  CHECK_THROWS_WITH(lp_pool1d(x, 2, 5), Contains("lp_pool1d: the window's length"));
  CHECK_THROWS_AS(lp_pool1d(x, 2, 0), ShapeError);
  CHECK_THROWS_WITH(lp_pool3d(v, 0.5, {1, 1, 1}), Contains("lp_pool3d: p is 0.5"));
  CHECK_THROWS_WITH(lp_pool3d(v, 2, {4, 1, 1}), Contains("lp_pool3d: the window's depth"));
  CHECK_THROWS_WITH(lp_pool3d(x, 2, {1, 1, 1}), Contains("lp_pool3d: x must be [batch, channels, depth, height, w"));
  CHECK_THROWS_AS(lp_pool3d(v, 2, {1, 1, 1}, {1, 1, -1}), ValueError);
  // Windows that overlap and together are as long as the axis; elements after the last window.
  const Tensor six = reshape(tensor({1, 2, 3, 4, 5, 6}), {1, 1, 6});
  CHECK(lp_pool1d(six, 1, 3, 2).to_vector() == std::vector<double>{6, 12});
  CHECK(lp_pool1d(six, 1, 4).to_vector() == std::vector<double>{10});
  CHECK_THROWS_AS(lp_pool2d(ones({1, 1, 2, 2}), 0.5, {1, 1}), ValueError);
  for (const DType d : {DType::float16, DType::bfloat16}) {
    const Tensor narrow = cast(linspace(0.1, 0.9, 6), d), wide = cast(narrow, DType::float32);
    CHECK(array_equal(lp_pool1d(reshape(narrow, {1, 1, 6}), 2, 3), cast(lp_pool1d(reshape(wide, {1, 1, 6}), 2, 3), d)));
  }
  CHECK_THROWS_AS(lp_pool2d(ones({1, 1, 2, 2}), 2, {1, 1}, {1, -1}), ValueError);
  CHECK_THROWS_WITH(group_norm(x, 3), Contains("group_norm: 2 channels do not fall into 3 groups"));
  CHECK_THROWS_AS(group_norm(x, 0), ValueError);
  CHECK_THROWS_WITH(group_norm(x, ones({3}), ones({2}), 1), Contains("scale is [3]") && Contains("[2]"));
  CHECK_THROWS_AS(group_norm(x, 1, -1), ValueError);
  CHECK_THROWS_WITH(instance_norm(ones({2, 3})), Contains("instance_norm: x must be [batch, channels, length, ...]"));
  CHECK_THROWS_AS(instance_norm(cast(x, DType::int64)), TypeError);
  CHECK_THROWS_AS(local_response_norm(x, {.size = 0}), ValueError);
  CHECK_THROWS_AS(local_response_norm(x, {.alpha = -1}), ValueError);
  CHECK_THROWS_AS(local_response_norm(x, {.beta = nan_}), ValueError);
  CHECK_THROWS_AS(local_response_norm(x, {.k = 0}), ValueError);
  CHECK_THROWS_AS(l2_normalize(x, {.epsilon = nan_}), ValueError);
  CHECK_THROWS_AS(l2_normalize(x, {.axes = 3}), IndexError);
}
