// Convolution and pooling: every combination of strides, paddings, dilations and groups against loops in double, over
// shapes that take more than one block; PyTorch's numbers to the second order; TensorFlow's SAME; ties, NaN and padding
// of max_pool2d; threads; errors.
#include <cmath>
#include <cstring>
#include <functional>

#include "catch.hpp"
#include "nn/convolution_by_loops.hpp"
#include "support/derivatives.hpp"
#include "support/numbers.hpp"

using namespace reel;
using Catch::Contains;

namespace {

// Tensors of sin or cos at multiples of a step, and the two sums that stand for PyTorch's results.
Tensor waves(const Shape& shape, double step, double (*f)(double)) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < shape.elements(); ++i) values.push_back(f(step * static_cast<double>(i)));
  return reshape(from_data(values), shape);
}
double sine(double x) { return std::sin(x); }
double cosine(double x) { return std::cos(x); }
void check_sums(const char* what, const Tensor& x, double total, double weighted) {
  INFO(what);
  CHECK(sum(x).item() == Approx(total).epsilon(1e-12));
  CHECK(sum(x * waves(x.shape(), 0.29, cosine)).item() == Approx(weighted).epsilon(1e-12));
}

struct Geometry {
  Shape x, w;
  Conv2dOptions options;
};
support::ConvolutionByLoops loops_of(const Geometry& o, const Tensor& x, const Tensor& w,
                                     const std::function<Tensor(const Shape&)>& cotangent) {
  const auto& [stride, padding, dilation, groups] = o.options;
  const support::WindowAlong axes[] = {
      support::window_along(o.x[2], o.w[2], stride[0], dilation[0], padding.rule, padding.rows),
      support::window_along(o.x[3], o.w[3], stride[1], dilation[1], padding.rule, padding.columns)};
  return support::convolve_by_loops(x, w, axes, groups, cotangent);
}
double error_of(const Tensor& x, const std::vector<double>& expected) {
  const auto values = cast(x, DType::float64).to_vector();
  REQUIRE(values.size() == expected.size());
  double error = 0, size = 1;
  for (std::size_t i = 0; i < values.size(); ++i) {
    error = support::worse(error, std::abs(values[i] - expected[i]));
    size = std::max(size, std::abs(expected[i]));
  }
  return error / size;
}
void check_geometry(const Geometry& o, DType dtype, double tolerance) {
  support::Random random("windows");
  const Tensor x = cast(random.tensor(o.x), dtype), w = cast(random.tensor(o.w), dtype);
  Tensor g;
  const support::ConvolutionByLoops l =
      loops_of(o, x, w, [&](const Shape& s) { return g = cast(random.tensor(s), dtype); });
  GradientTape tape;
  tape.watch(x);
  tape.watch(w);
  const Tensor y = conv2d(x, w, o.options);
  REQUIRE(y.shape() == l.shape);
  REQUIRE(y.dtype() == dtype);
  CHECK(error_of(y, l.y) < tolerance);
  const auto d = tape.gradient(y, {x, w}, {.output_gradients = g});
  CHECK(error_of(*d[0], l.dx) < tolerance);
  CHECK(error_of(*d[1], l.dw) < tolerance);
}
std::string said(const Geometry& o) {
  return to_string(o.x) + " by " + to_string(o.w) + ", stride " + std::to_string(o.options.stride[0]) + " " +
         std::to_string(o.options.stride[1]) + ", dilation " + std::to_string(o.options.dilation[0]) + " " +
         std::to_string(o.options.dilation[1]) + ", padding " + std::to_string(o.options.padding.rule);
}

std::vector<unsigned char> bytes_of(const std::vector<Tensor>& all) {
  std::vector<unsigned char> bytes;
  for (const Tensor& x : all) {
    const auto span = contiguous(x).to_vector<float>();
    const auto* from = reinterpret_cast<const unsigned char*>(span.data());
    bytes.insert(bytes.end(), from, from + span.size() * sizeof(float));
  }
  return bytes;
}

Tensor image(std::initializer_list<double> values, const Shape& shape) {
  return reshape(from_data(std::vector<double>(values)), shape);
}

}  // namespace

TEST_CASE("conv2d and both gradients against loops: strides, paddings, dilations, groups") {
  const Size2d steps[] = {{1, 1}, {2, 1}, {1, 2}, {3, 3}}, dilations[] = {{1, 1}, {2, 1}, {1, 3}};
  const Padding paddings[] = {Padding::valid, Padding::same, {{2, 0}, {1, 3}}};
  const Shape kernels[] = {{4, 4, 3, 3}, {3, 4, 1, 1}, {6, 2, 2, 3}, {4, 1, 3, 2}, {8, 1, 1, 3}};
  for (const Size2d& stride : steps)
    for (const Size2d& dilation : dilations)
      for (const Padding& padding : paddings)
        for (const Shape& w : kernels) {
          const Geometry o{{2, 4, 7, 8}, w, {stride, padding, dilation, 4 / w[1]}};
          INFO(said(o));
          check_geometry(o, DType::float64, 1e-13);
        }
}

TEST_CASE("conv2d and both gradients against loops: many blocks of rows, channels and filters") {
  const Geometry all[] = {{{16, 16, 28, 28}, {32, 16, 3, 3}, {.padding = Padding::same}},
                          {{1, 3, 60, 61}, {17, 3, 7, 7}, {.stride = {2, 2}, .padding = {{3, 3}, {3, 3}}}},
                          {{2, 150, 33, 40}, {15, 150, 3, 3}, {.padding = Padding::same}},
                          {{1, 70, 9, 9}, {130, 70, 3, 3}, {.padding = Padding::same}},
                          {{3, 64, 12, 12}, {64, 1, 3, 3}, {.padding = Padding::same, .groups = 64}},
                          {{1, 2, 1, 900}, {3, 2, 1, 9}, {.stride = {1, 4}}},
                          {{1, 1, 300, 40}, {2, 1, 3, 3}, {}},
                          {{1, 900, 1, 300}, {2, 900, 1, 1}, {}},  // packed in more than one go
                          {{1, 24, 40, 40}, {5, 24, 2, 2}, {.stride = {3, 5}}}};
  for (const Geometry& o : all) {
    INFO(said(o));
    check_geometry(o, DType::float32, 3e-5);
    if (&o >= all + 4) check_geometry(o, DType::float64, 1e-13);
  }
}

TEST_CASE("conv2d and both gradients against loops: rows of every width with shared padding") {
  const Shape kernels[] = {{3, 2, 3, 3}, {2, 2, 1, 9}, {5, 2, 3, 21}};
  const Padding paddings[] = {Padding::same, {{1, 1}, {7, 5}}, {{4, 5}, {20, 23}}, {{0, 0}, {19, 19}}};
  for (const std::int64_t width : {3, 7, 8, 9, 15, 16, 17, 31, 32, 35})
    for (const Shape& w : kernels)
      for (const Padding& padding : paddings)
        for (const Size2d& stride : {Size2d{1, 1}, Size2d{2, 2}, Size2d{1, 3}}) {
          if (padding.rule == Padding::given && width + padding.columns[0] + padding.columns[1] < w[3]) continue;
          const Geometry o{{2, 2, 5, width}, w, {stride, padding, {1, 1}, 1}};
          INFO(said(o));
          check_geometry(o, DType::float32, 1e-5);
          check_geometry(o, DType::float64, 1e-13);
        }
}
TEST_CASE("conv2d and both gradients: infinity and NaN reach only the results computed from them") {
  const auto same = [](const Tensor& x, const std::vector<double>& expected) {
    const auto values = x.to_vector();
    bool all = values.size() == expected.size();
    for (std::size_t i = 0; all && i < values.size(); ++i)
      all = std::isnan(expected[i])   ? std::isnan(values[i])
            : std::isinf(expected[i]) ? values[i] == expected[i]
                                      : std::abs(values[i] - expected[i]) < 1e-12;
    return all;
  };
  const Geometry all[] = {{{1, 1, 4, 5}, {1, 1, 3, 3}, {}},
                          {{1, 1, 4, 5}, {1, 1, 3, 3}, {.padding = Padding::same}},
                          {{1, 1, 4, 5}, {1, 1, 1, 1}, {}},
                          {{1, 1, 4, 6}, {1, 1, 2, 3}, {.stride = {2, 2}}},  // the last column is in no window
                          {{1, 1, 5, 4}, {1, 1, 2, 3}, {.stride = {2, 2}}},  // nor is the last row here
                          {{1, 1, 5, 6}, {1, 1, 3, 3}, {.stride = {2, 2}, .padding = Padding::same}},
                          {{1, 1, 5, 6}, {1, 1, 1, 2}, {.stride = {2, 1}, .padding = Padding::same}},
                          {{2, 2, 3, 4}, {3, 2, 2, 2}, {.padding = Padding::same}},
                          {{1, 2, 4, 4}, {2, 1, 2, 2}, {.padding = {{2, 0}, {0, 3}}, .dilation = {2, 1}, .groups = 2}}};
  for (const Geometry& o : all) {
    support::Random random("infinite");
    const Tensor x = random.tensor(o.x), w = random.tensor(o.w), g = random.tensor(conv2d(x, w, o.options).shape());
    for (int which : {0, 1, 2})
      for (std::int64_t at = 0; at < (which == 0 ? x : which == 1 ? w : g).size(); ++at)
        for (double value : {INFINITY, -INFINITY, NAN}) {
          Tensor operands[] = {x, w, g};
          std::vector<double> values = operands[which].to_vector();
          values[static_cast<std::size_t>(at)] = value;
          operands[which] = reshape(from_data(values), operands[which].shape());
          const support::ConvolutionByLoops l =
              loops_of(o, operands[0], operands[1], [&](const Shape&) { return operands[2]; });
          GradientTape tape;
          tape.watch(operands[0]);
          tape.watch(operands[1]);
          const Tensor y = conv2d(operands[0], operands[1], o.options);
          const auto d = tape.gradient(y, {operands[0], operands[1]}, {.output_gradients = operands[2]});
          if (same(y, l.y) && same(*d[0], l.dx) && same(*d[1], l.dw)) continue;
          INFO(said(o) << ": " << value << " in " << std::string("xwg").substr(std::size_t(which), 1) << " at " << at);
          CHECK(same(y, l.y));
          CHECK(same(*d[0], l.dx));
          CHECK(same(*d[1], l.dw));
        }
  }
  // Many rows and images, so that there are several tasks.
  const Geometry o{{5, 16, 40, 40}, {32, 16, 3, 3}, {.padding = Padding::same}};
  support::Random random("infinite, many");
  std::vector<double> values = random.tensor(o.x).to_vector();
  values[39] = INFINITY;
  values[values.size() - 40] = NAN;
  const Tensor x = reshape(from_data(values), o.x), w = random.tensor(o.w);
  Tensor g;
  const support::ConvolutionByLoops l = loops_of(o, x, w, [&](const Shape& s) { return g = random.tensor(s); });
  GradientTape tape;
  tape.watch(w);
  const Tensor y = conv2d(x, w, o.options);
  CHECK(same(y, l.y));
  CHECK(same(*tape.gradient(y, w, {.output_gradients = g}), l.dw));
}

TEST_CASE("conv2d of views: transposed images and kernels are read in place") {
  support::Random random("views");
  const Tensor x = random.tensor({2, 6, 5, 3}), w = random.tensor({3, 2, 4, 3});
  const Tensor nchw = transpose(x, {0, 3, 1, 2}), kernel = transpose(w, {2, 0, 3, 1});
  CHECK(error_of(conv2d(nchw, kernel), conv2d(contiguous(nchw), contiguous(kernel)).to_vector()) == 0);
  const Tensor y = flip(nchw, {3});
  CHECK(error_of(conv2d(y, kernel), conv2d(contiguous(y), contiguous(kernel)).to_vector()) == 0);
  CHECK(error_of(max_pool2d(y, {2, 2}), max_pool2d(contiguous(y), {2, 2}).to_vector()) == 0);
}

TEST_CASE("convolution and pooling give the same bits for every number of threads") {
  const int before = num_threads();
  support::Random random("threads");
  const Tensor x = cast(random.tensor({5, 16, 28, 28}), DType::float32),
               w = cast(random.tensor({32, 16, 3, 3}), DType::float32);
  std::vector<unsigned char> first;
  for (int threads : {1, 2, 7}) {
    set_num_threads(threads);
    GradientTape tape;
    tape.watch(x);
    tape.watch(w);
    const Tensor y = conv2d(x, w, {.padding = Padding::same}), z = max_pool2d(y, {3, 3}, {.stride = {2, 2}}),
                 a = avg_pool2d(y, {2, 2});
    const auto d = tape.gradient(sum(square(z)) + sum(square(a)), {x, w});
    const auto bytes = bytes_of({y, z, a, *d[0], *d[1]});
    if (first.empty()) first = bytes;
    CHECK(bytes == first);
  }
  set_num_threads(before);
}

TEST_CASE("convolution and pooling: PyTorch 1.13's numbers, to the second order") {
  const Tensor x = waves({2, 4, 6, 5}, 0.37, sine), w = waves({6, 2, 3, 2}, 0.53, cosine);
  const Conv2dOptions options{.stride = {2, 1}, .padding = {{1, 1}, {1, 1}}, .dilation = {1, 2}, .groups = 2};
  GradientTape outer;
  outer.watch(x);
  outer.watch(w);
  std::vector<Gradient> g;
  {
    GradientTape tape;
    tape.watch(x);
    tape.watch(w);
    const Tensor y = conv2d(x, w, options);
    check_sums("y", y, 4.834274173862342, 0.45017297083964536);
    g = tape.gradient(sum(y * y * waves(y.shape(), 0.71, sine)), {x, w});
  }
  check_sums("dx", *g[0], -1.2266065291749539, 17.199167256434116);
  check_sums("dw", *g[1], 42.040684453862809, -6.4067319351888674);
  const auto h = outer.gradient(sum(square(*g[0])) + sum(square(*g[1])), {x, w});
  check_sums("hx", *h[0], 3151.519871844825, 871.81570354278415);
  check_sums("hw", *h[1], 12673.186790667298, 319.15285860220047);

  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor m = max_pool2d(x, {3, 2}, {.stride = {2, 1}, .padding = {{1, 1}, {1, 1}}, .dilation = {1, 2}});
  const Tensor a = avg_pool2d(x, {3, 2}, {.stride = {2, 1}, .padding = {{1, 1}, {1, 1}}});
  const Tensor of_max = sum(m * m * m), of_avg = sum(a * a * a);
  tape.stop();
  check_sums("max", m, 94.818063664390976, 1.057777589858504);
  check_sums("its gradient", *tape.gradient(of_max, x), 258.59911911191983, 0.72072336000999115);
  check_sums("avg", a, -0.36042809906885342, -1.258077437921044);
  check_sums("its gradient", *tape.gradient(of_avg, x), 29.638184195023378, 1.6919106808538487);
  check_sums("padding counted",
             avg_pool2d(x, {3, 2}, {.stride = {2, 1}, .padding = {{1, 1}, {1, 1}}, .count_include_padding = true}),
             -0.13910471789385331, 0.077363729395959036);
  check_sums("transpose",
             conv2d_transpose(
                 x, waves({4, 3, 3, 2}, 0.53, cosine),
                 {.stride = {2, 3}, .padding = {{1, 1}, {0, 0}}, .dilation = {1, 2}, .groups = 2, .size = {12, 15}}),
             -4.7936441950854274, -7.8795978898671661);
}

TEST_CASE("padding same: an odd row or column is added at the end") {
  const Tensor x = image({1, 2, 3, 4}, {1, 1, 1, 4}), w = ones({1, 1, 1, 2});
  CHECK(conv2d(x, w, {.padding = Padding::same}).to_vector() == std::vector<double>{3, 5, 7, 4});
  CHECK(conv2d(x, ones({1, 1, 1, 3}), {.stride = {1, 2}, .padding = Padding::same}).to_vector() ==
        std::vector<double>{6, 7});
  CHECK(max_pool2d(-x, {1, 2}, {.stride = {1, 1}, .padding = Padding::same}).to_vector() ==
        std::vector<double>{-1, -2, -3, -4});
  CHECK(avg_pool2d(x, {1, 2}, {.stride = {1, 1}, .padding = Padding::same}).to_vector() ==
        std::vector<double>{1.5, 2.5, 3.5, 4});
}

TEST_CASE("elements outside all windows get gradient 0") {
  const Tensor x = ones({1, 1, 4, 5});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const auto row = [&](const Tensor& y) { return slice(*tape.gradient(y, x), {0, 0, 0}).to_vector(); };
  const auto last = [&](const Tensor& y) { return slice(*tape.gradient(y, x), {0, 0, 3}).to_vector(); };
  const Tensor y = conv2d(x, ones({1, 1, 2, 2}), {.stride = {3, 3}});
  CHECK(row(y) == std::vector<double>{1, 1, 0, 1, 1});
  CHECK(last(y) == std::vector<double>{0, 0, 0, 0, 0});
  CHECK(row(avg_pool2d(x, {3, 2})) == std::vector<double>{1. / 6, 1. / 6, 1. / 6, 1. / 6, 0});
  CHECK(last(max_pool2d(x, {3, 2})) == std::vector<double>{0, 0, 0, 0, 0});
}

TEST_CASE("max_pool2d: ties, NaN, and padding that is never the maximum") {
  const auto both = [](const Tensor& x, const Size2d& window, const MaxPool2dOptions& options) {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = max_pool2d(x, window, options);
    return std::pair(y.to_vector(), (*tape.gradient(y, x)).to_vector());
  };
  {
    const auto [y, g] = both(image({3, 5, 5, 5, 1, 5}, {1, 1, 2, 3}), {2, 3}, {});
    CHECK(y == std::vector<double>{5});
    CHECK(g == std::vector<double>{0, 1, 0, 0, 0, 0});
  }
  {  // windows overlap: what is greatest in several gets all their cotangents
    const auto [y, g] = both(image({1, 9, 2, 9, 0}, {1, 1, 1, 5}), {1, 3}, {.stride = {1, 1}});
    CHECK(y == std::vector<double>{9, 9, 9});
    CHECK(g == std::vector<double>{0, 2, 0, 1, 0});
  }
  {
    const auto [y, g] = both(image({1, NAN, 7, NAN}, {1, 1, 2, 2}), {2, 2}, {});
    CHECK(std::isnan(y[0]));
    CHECK(g == std::vector<double>{0, 1, 0, 0});
  }
  for (double value : {-3.0, -double{INFINITY}}) {  // the first of all -inf, too
    const auto [y, g] = both(full({1, 1, 2, 2}, value), {2, 2}, {.stride = {1, 1}, .padding = {{1, 1}, {1, 1}}});
    CHECK(y == std::vector<double>(9, value));
    CHECK(g == std::vector<double>{4, 2, 2, 1});
    const Tensor wide = full({2, 1, 33, 20}, value);
    CHECK(max_pool2d(wide, {3, 3}, {.stride = {1, 1}, .padding = Padding::same}).to_vector() == wide.to_vector());
  }
  {  // more taps than a byte counts
    support::Random random("large windows");
    const Tensor x = random.tensor({1, 2, 20, 20});
    const auto [y, g] = both(x, {20, 20}, {});
    CHECK(y == max(x, {2, 3}).to_vector());
    CHECK(sum(from_data(g)).item() == 2);
  }
}

TEST_CASE("convolution and pooling: a tape keeps only what the rule reads") {
  support::Random random("kept");
  const Tensor x = random.tensor({2, 4, 8, 8}), w = random.tensor({4, 4, 3, 3});
  const std::int64_t of_x = 8 * x.size(), of_w = 8 * w.size();
  // Bytes that a tape keeps for `op` if these tensors are watched.
  const auto kept = [](std::initializer_list<Tensor> watched, const auto& op) {
    GradientTape tape;
    for (const Tensor& one : watched) tape.watch(one);
    const Tensor y = op();
    return tape.stats().saved_bytes;
  };
  const auto conv = [&] { return conv2d(x, w); };
  CHECK(kept({x, w}, conv) == of_x + of_w);
  CHECK(kept({x}, conv) == of_w);
  CHECK(kept({w}, conv) == of_x);
  CHECK(kept({x}, [&] { return max_pool2d(x, {2, 2}); }) == x.size() / 4);  // a byte for each result
  CHECK(kept({w}, [&] { return max_pool2d(x, {2, 2}); }) == 0);
  CHECK(kept({x}, [&] { return avg_pool2d(x, {2, 2}); }) <= 8 * (2 * 2 + 1));
  CHECK(kept({x}, [&] {
          return avg_pool2d(x, {3, 3}, {.stride = {1, 1}, .padding = Padding::same});
        }) <= 8 * (3 * 3 + 8 * 8));
}

TEST_CASE("convolution and pooling: float16 computes in float32; empty batches and channels") {
  support::Random random("halves");
  const Tensor x = cast(random.tensor({2, 3, 6, 6}), DType::bfloat16),
               w = cast(random.tensor({4, 3, 3, 3}), DType::bfloat16);
  const Tensor wide = conv2d(cast(x, DType::float32), cast(w, DType::float32));
  CHECK(conv2d(x, w).dtype() == DType::bfloat16);
  CHECK(conv2d(x, w).to_vector() == cast(wide, DType::bfloat16).to_vector());
  CHECK(max_pool2d(x, {2, 2}).dtype() == DType::bfloat16);
  CHECK(avg_pool2d(x, {2, 2}).dtype() == DType::bfloat16);
  GradientTape tape;
  tape.watch(w);
  CHECK((*tape.gradient(conv2d(x, w), w)).dtype() == DType::bfloat16);
  CHECK(conv2d(zeros({0, 3, 6, 6}), zeros({4, 3, 3, 3})).shape() == Shape{0, 4, 4, 4});
  CHECK(conv2d(ones({1, 0, 6, 6}), zeros({4, 0, 3, 3})).to_vector() == std::vector<double>(64, 0));
  CHECK(conv2d(ones({1, 3, 6, 6}), zeros({0, 3, 3, 3})).shape() == Shape{1, 0, 4, 4});
  CHECK(max_pool2d(zeros({0, 3, 6, 6}), {2, 2}).shape() == Shape{0, 3, 3, 3});
}

TEST_CASE("convolution and pooling: errors") {
  const Tensor x = ones({1, 4, 5, 6}), w = ones({2, 4, 3, 3});
  CHECK_THROWS_WITH(conv2d(ones({4, 5, 6}), w), Contains("conv2d: x must be [batch, channels, height, width]"));
  CHECK_THROWS_AS(conv2d(ones({4, 5, 6}), w), ShapeError);
  CHECK_THROWS_WITH(conv2d(x, ones({4, 3, 3})), Contains("conv2d: w must be [filters"));
  CHECK_THROWS_WITH(conv2d(x, ones({2, 3, 3, 3})), Contains("x has 4 channels, but w is for 3 in each of 1 groups"));
  CHECK_THROWS_WITH(conv2d(x, ones({2, 1, 3, 3})), Contains("set groups"));
  CHECK_THROWS_WITH(conv2d(x, ones({3, 2, 3, 3}), {.groups = 2}), Contains("3 filters do not fall into 2 groups"));
  CHECK_THROWS_WITH(conv2d(x, ones({2, 4, 6, 3})), Contains("height of 6 is larger than the padded image's, 5"));
  CHECK_THROWS_AS(conv2d(x, ones({2, 4, 6, 3})), ShapeError);
  CHECK_THROWS_WITH(conv2d(x, w, {.stride = {0, 1}}), Contains("stride height is 0"));
  CHECK_THROWS_AS(conv2d(x, w, {.stride = {1, -1}}), ValueError);
  CHECK_THROWS_WITH(conv2d(x, w, {.dilation = {1, 0}}), Contains("dilation width is 0"));
  CHECK_THROWS_WITH(conv2d(x, w, {.padding = {{0, -1}, {0, 0}}}), Contains("padding of the height"));
  CHECK_THROWS_WITH(conv2d(x, w, {.groups = 0}), Contains("groups is 0"));
  CHECK_THROWS_AS(conv2d(cast(x, DType::int32), cast(w, DType::int32)), TypeError);
  CHECK_THROWS_AS(conv2d(cast(x, DType::complex64), w), TypeError);
  CHECK_THROWS_AS(max_pool2d(cast(x, DType::int64), {2, 2}), TypeError);
  CHECK_THROWS_AS(conv2d(Tensor(), w), ValueError);
  CHECK_THROWS_WITH(conv2d_transpose(x, w), Contains("x has 4 filters and w has 2"));
  CHECK_THROWS_WITH(conv2d_transpose(ones({1, 2, 3, 3}), w, {.size = {7, 5}}), Contains("choose another size"));
  CHECK_THROWS_WITH(max_pool2d(x, {2, 2}, {.padding = {{2, 0}, {0, 0}}}), Contains("nothing but padding"));
  CHECK_THROWS_WITH(max_pool2d(x, {0, 2}), Contains("the window's height is 0"));
  CHECK_THROWS_WITH(avg_pool2d(x, {2, 7}), Contains("avg_pool2d: the window's width of 7"));
  CHECK_THROWS_WITH(conv2d(x, Tensor()), Contains("conv2d: operand w is empty"));
  CHECK_THROWS_WITH(conv2d(x, ones({2, 3, 3, 3}), {.groups = 2}), Contains("w needs 2 channels"));
}

TEST_CASE("convolution and pooling: arguments that would overflow the geometry") {
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max(), large = std::numeric_limits<std::int32_t>::max();
  const Tensor x = ones({2, 3, 8, 8}), w = ones({4, 3, 3, 3});
  CHECK_THROWS_WITH(conv2d(x, w, {.dilation = {huge, huge}}),
                    Contains("conv2d: dilation height is 9223372036854775807"));
  CHECK_THROWS_AS(conv2d(x, w, {.padding = Padding::same, .dilation = {huge / 2, 1}}), ValueError);
  CHECK_THROWS_AS(conv2d(x, w, {.stride = {huge, 1}}), ValueError);
  CHECK_THROWS_AS(conv2d(x, w, {.padding = Padding({huge, huge}, {0, 0})}), ValueError);
  CHECK_THROWS_WITH(conv2d(x, w, {.padding = Padding::same, .dilation = {large, large}}),
                    Contains("conv2d: x is [2, 3, 8, 8], padded 4294967302 x"));
  CHECK_THROWS_AS(conv2d_transpose(ones({2, 4, 8, 8}), w, {.dilation = {huge, 1}}), ValueError);
  CHECK_THROWS_AS(max_pool2d(x, {huge, 2}, {.stride = {1, 1}, .padding = Padding::same}), ShapeError);
  CHECK_THROWS_AS(avg_pool2d(x, {2, 2}, {.padding = Padding({huge, huge}, {0, 0})}), ValueError);
  // A window larger than the image covers all of it.
  const Tensor image = from_data(std::vector<double>{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8}, {1, 1, 3, 4});
  GradientTape tape;
  tape.watch(image);
  const Tensor y = max_pool2d(image, {100000001, 7}, {.stride = {1, 1}, .padding = Padding::same});
  CHECK(y.to_vector() == std::vector<double>(12, 9));
  CHECK((*tape.gradient(y, image)).to_vector() == std::vector<double>{0, 0, 0, 0, 0, 12, 0, 0, 0, 0, 0, 0});
  CHECK_THROWS_WITH(max_pool2d(broadcast_to(image, {1, 1, 3, 4}), {1, 1}, {.padding = {{0, 3}, {0, 0}}}),
                    Contains("window 3 of the height has nothing but padding: x is [1, 1, 3, 4]"));
  CHECK_THROWS_WITH(max_pool2d(broadcast_to(scalar(1.), {1, 1, 5000, 5000}), {5000, 5000}), Contains("use max over"));
}

TEST_CASE("max_pool2d with taps that lie in the padding for every window") {
  // Two rows in front of a window of five: with stride 1 every tap meets the image somewhere; with one result some do
  // not. Every window against its elements one by one.
  const std::vector<double> v = {2, -7, 1, 8, -2, 8, 1, 8, 2, 8, -4, 5};
  const Tensor x = from_data(v, {1, 1, 12, 1});
  for (const auto& [taps, stride, dilation, before, after] : std::vector<std::array<std::int64_t, 5>>{
           {5, 12, 2, 3, 0}, {5, 12, 2, 4, 0}, {5, 4, 3, 5, 0}, {9, 1, 1, 8, 8}, {3, 5, 4, 7, 3}, {40, 1, 1, 20, 20}}) {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = max_pool2d(
        x, {taps, 1}, {.stride = {stride, 1}, .padding = {{before, after}, {0, 0}}, .dilation = {dilation, 1}});
    const Tensor g = *tape.gradient(y, x);
    std::vector<double> greatest, slope(12, 0.);
    for (std::int64_t start = -before; start + (taps - 1) * dilation < 12 + after; start += stride) {
      std::int64_t best = -1;
      for (std::int64_t t = 0; t < taps; ++t) {
        const std::int64_t at = start + t * dilation;
        if (at >= 0 && at < 12 && (best < 0 || v[static_cast<std::size_t>(at)] > v[static_cast<std::size_t>(best)]))
          best = at;
      }
      greatest.push_back(v[static_cast<std::size_t>(best)]);
      slope[static_cast<std::size_t>(best)] += 1;
    }
    INFO("window " << taps << ", stride " << stride << ", dilation " << dilation << ", padding " << before);
    CHECK(y.to_vector() == greatest);
    CHECK(g.to_vector() == slope);
  }
}
