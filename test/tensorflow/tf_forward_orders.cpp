// What TensorFlow's forwardprop_test.py checks of forward mode combined with other derivatives, with its inputs: each
// function's Jacobian by forward mode, by reverse mode and by central differences, for gradients of every order.
#include <cmath>
#include <functional>

#include "catch.hpp"
#include "tensorflow/support.hpp"

using namespace reel;
using List = std::vector<double>;
using Tensors = std::vector<Tensor>;
using Function = std::function<Tensor(const Tensors&)>;

namespace {

// Element k of x[i] moved by h.
Tensors moved(Tensors x, std::size_t i, std::size_t k, double h) {
  List values = x[i].to_vector();
  values[k] += h;
  x[i] = from_data(values, x[i].shape());
  return x;
}

// Derivatives of every element of f, element after element of x.
List by_differences(const Function& f, const Tensors& x) {
  List rows;
  const double h = 1e-5;
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t k = 0; k < static_cast<std::size_t>(x[i].size()); ++k) {
      const List up = f(moved(x, i, k, h)).to_vector(), down = f(moved(x, i, k, -h)).to_vector();
      for (std::size_t j = 0; j < up.size(); ++j) rows.push_back((up[j] - down[j]) / (2 * h));
    }
  return rows;
}
List by_forward_mode(const Function& f, const Tensors& x) {
  List rows;
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::int64_t k = 0; k < x[i].size(); ++k) {
      Tensors tangents;
      for (const Tensor& each : x) tangents.push_back(zeros_like(each));
      tangents[i] = reshape(one_hot(scalar(k), x[i].size()), x[i].shape());
      const ForwardAccumulator forward(x, tangents);
      for (const double d : numbers(forward.jvp(f(x), UnconnectedGradients::zero))) rows.push_back(d);
    }
  return rows;
}
List by_reverse_mode(const Function& f, const Tensors& x) {
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = f(x);
  tape.stop();
  std::vector<Tensors> pulled;
  for (std::int64_t j = 0; j < y.size(); ++j) {
    pulled.emplace_back();
    for (const Gradient& g : tape.gradient(y, x,
                                           {.output_gradients = reshape(one_hot(scalar(j), y.size()), y.shape()),
                                           .unconnected_gradients = UnconnectedGradients::zero}))
      pulled.back().push_back(*g);
  }
  List rows;
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t k = 0; k < static_cast<std::size_t>(x[i].size()); ++k)
      for (const Tensors& g : pulled) rows.push_back(g[i].to_vector()[k]);
  return rows;
}

// The gradient of the sum of f by its first argument.
Function gradient_of(const Function& f) {
  return [f](const Tensors& x) {
    GradientTape tape;
    tape.watch(x);
    return *tape.gradient(f(x), x[0], {.unconnected_gradients = UnconnectedGradients::zero});
  };
}

void check_gradients(const Function& f, const Tensors& x, int order) {
  if (order > 1) check_gradients(gradient_of(f), x, order - 1);
  INFO("order " << order);
  const List numeric = by_differences(f, x), reverse = by_reverse_mode(f, x), forward = by_forward_mode(f, x);
  double largest = 1;
  for (const double d : numeric) largest = std::max(largest, std::abs(d));
  REQUIRE(forward.size() == numeric.size());
  REQUIRE(reverse.size() == numeric.size());
  for (std::size_t i = 0; i < numeric.size(); ++i) {
    CHECK(std::abs(reverse[i] - numeric[i]) < 1e-7 * largest);
    CHECK(std::abs(forward[i] - reverse[i]) < 1e-12 * largest);
  }
}

// From -1 to 1, the end excluded.
Tensor ramp(const Shape& shape) {
  const std::int64_t n = shape.elements();
  return reshape(arange(n) * (2.0 / static_cast<double>(n)) - 1.0, shape);
}

}  // namespace

TEST_CASE("forwardprop: ForwardpropTest.testNumericHigherOrder, ForwardpropTest.testNumericHigherOrderFloat64") {
  const auto f = [](const Tensors& x) {
    const Tensor pointwise = sin(x[0]) * tan(x[0]);
    return prod(pointwise + sum(pointwise), 1);
  };
  check_gradients(f, {tensor({{2., 3.}, {1., 4.}})}, 3);
}

TEST_CASE("forwardprop: ForwardpropTest.testCustomGradient") {
  // The sine, computed where tapes do not see it. The rule for forward mode is the transpose of that for reverse mode.
  const auto sine = custom_gradient(
      [](const Tensor& x) {
        List values = x.to_vector();
        for (double& v : values) v = std::sin(v);
        return std::pair(from_data(values, x.shape()), [=](const Tensor& dy) { return dy * cos(x); });
      },
      [](const std::tuple<Tensor>& x, const std::tuple<Tensor>& t) { return std::get<0>(t) * cos(std::get<0>(x)); });
  check_gradients([&](const Tensors& x) { return sine(x[0]); }, {tensor({1., 2.})}, 3);
}

namespace {
const auto tanh_product = [](const Tensor& x) { return prod(square(tanh(x))); };
}

// Later TensorFlows refuse forward mode here (testExceptionCustomGradientRecomputeGradForward).
TEST_CASE(
    "forwardprop: ForwardpropTest.testCustomGradientRecomputeGrad, "
    "VariablesGradientTest.testCustomGradientRecomputeGradHigherOrder, "
    "ForwardpropTest.testExceptionCustomGradientRecomputeGradForward") {
  const auto f = recompute_grad(tanh_product);
  check_gradients([&](const Tensors& x) { return f(x[0]); }, {tensor({1.})}, 3);
}

TEST_CASE("forwardprop: ForwardpropTest.testFunctionGrad") {
  check_gradients([](const Tensors& x) { return tanh_product(x[0]); }, {tensor({1., 2.})}, 3);
}

TEST_CASE("forwardprop: ForwardpropTest.testExceptionInCustomGradientNotSwallowed") {
  const auto f = custom_gradient([](const Tensor& x) { return std::pair(x * 1, [](const Tensor& dy) { return dy; }); },
                                 [](const auto&, const auto&) -> Tensor { throw ValueError("test_error_string"); });
  const Tensor c = scalar(1.0);
  const ForwardAccumulator forward(c, 2.0);
  CHECK_THROWS_WITH(f(c), "test_error_string");
}

TEST_CASE("forwardprop: ForwardpropTest.testElementwiseNNOps") {
  for (const Tensor& x : {scalar(-0.5), tensor({0.5})}) {
    check_gradients([](const Tensors& t) { return elu(t[0]); }, {x}, 3);
    check_gradients([](const Tensors& t) { return silu(t[0]); }, {-x}, 3);
  }
}

namespace {

Tensor dense(const Tensor& x, const Tensor& kernel, const Tensor& bias) { return matmul(x, kernel) + bias; }
// A 2 x 2 convolution without padding: x [b, h, w, c], kernel [2, 2, c, k].
Tensor convolution(const Tensor& x, const Tensor& kernel, const Tensor& bias) {
  const std::int64_t height = x.shape()[1] - 1, width = x.shape()[2] - 1;
  Tensor y = bias;
  for (const std::int64_t i : {0, 1})
    for (const std::int64_t j : {0, 1})
      y = y + matmul(slice(x, {all, range(i, i + height), range(j, j + width)}), kernel[i][j]);
  return y;
}
// Over all axes but `axis`.
Tensor normalised(const Tensor& x, const Tensor& scale, const Tensor& offset, int axis, const Tensor& mean_of = {},
                  const Tensor& variance = {}) {
  std::vector<int> others;
  Shape shape;
  for (int i = 0; i < x.rank(); ++i) {
    shape.push_back(i == axis ? x.shape()[i] : 1);
    if (i != axis) others.push_back(i);
  }
  const Tensor m = mean_of.defined() ? reshape(mean_of, shape) : mean(x, others, true);
  const Tensor v = variance.defined() ? reshape(variance, shape) : var(x, others, 0, true);
  return (x - m) * rsqrt(v + 0.001) * reshape(scale, shape) + reshape(offset, shape);
}

}  // namespace

TEST_CASE("forwardprop: ForwardpropTest.testKerasLayers") {
  check_gradients([](const Tensors& x) { return dense(x[0], ramp({1, 5}), ramp({5})); }, {tensor({{0.1}})}, 2);
  check_gradients(
      [](const Tensors& x) {
        return convolution(x[0], ramp({2, 2, 4, 2}), ramp({2}));
      },
      {ramp({1, 2, 4, 4})}, 2);
}

TEST_CASE(
    "forwardprop: ForwardpropTest.testBatchNorm, ForwardpropTest.testBatchNormLayerParamGrads, "
    "ForwardpropTest.testFusedBatchNormGradsTraining, ForwardpropTest.testFusedBatchNormGradsInference") {
  const Tensor scale = tensor({1., 1.1}), offset = tensor({-0.5, -0.6}),
               x = tensor({{0.1, 2.}, {0.2, -3.}, {-0.3, 4.}});
  const auto training = [](const Tensors& t) { return normalised(t[0], t[1], t[2], 1); };
  check_gradients(training, {x, scale, offset}, 2);
  check_gradients(training, {reshape(x, {3, 2, 1, 1}), scale, offset}, 1);
  check_gradients([](const Tensors& t) { return normalised(t[0], t[1], t[2], 3); },
                  {reshape(x, {3, 1, 1, 2}), scale, offset}, 1);
  const auto inference = [](const Tensors& t) {
    return normalised(t[0], t[1], t[2], 1, tensor({-1.3, 1.4}), tensor({0.7, 0.9}));
  };
  check_gradients(inference, {x, scale, offset}, 2);
}

TEST_CASE("forwardprop: ForwardpropTest.testVariablesHVP") {
  const std::vector<Variable> v{Variable(ramp({2, 18})),      Variable(ramp({18})),         Variable(ones({18})),
                                Variable(0.1 * ones({18})),   Variable(ramp({2, 2, 3, 2})), Variable(ramp({2})),
                                Variable(0.3 + ramp({4, 1})), Variable(scalar(0.2))};
  const auto loss = [&] {
    const Tensor input = tensor({{-0.5, 1.}, {0.5, -1.}}), target = tensor({{-1.}, {2.}});
    Tensor x = normalised(relu(dense(input, v[0], v[1])), v[2], v[3], 1, zeros({18}), ones({18}));
    x = relu(convolution(reshape(x, {-1, 2, 3, 3}), v[4], v[5]));
    return sum(square(dense(reshape(x, {2, 4}), v[6], v[7]) - target));
  };
  const auto gradient = [&] {
    GradientTape tape;
    return tape.gradient(loss(), v);
  };
  const std::vector<Gradient> vector = gradient();
  const ForwardAccumulator forward(v, vector);
  const auto forward_over_back = forward.jvp(gradient());
  GradientTape tape({.persistent = true});
  const auto back_over_back = tape.gradient(tape.gradient(loss(), v), v, {.output_gradients = vector});
  double size = 0;
  for (std::size_t i = 0; i < v.size(); ++i) {
    const Tensor expected = *back_over_back[i];
    CHECK(max(abs(*forward_over_back[i] - expected)).item() <= 1e-12 * (1 + max(abs(expected)).item()));
    size += max(abs(expected)).item();
  }
  CHECK(size > 1);
}

TEST_CASE("forwardprop: ForwardpropTest.testPushPopAccumulatorState") {
  // The rule takes its derivative from an accumulator of its own.
  const auto f = custom_gradient(
      [](const Tensor& x) { return std::pair(scalar(std::sin(x.item())), [](const Tensor& dy) { return dy; }); },
      [](const std::tuple<Tensor>& x, const std::tuple<Tensor>& t) {
        const Tensor copy = scalar(std::get<0>(x).item());
        const ForwardAccumulator own(copy, std::get<0>(t));
        return *own.jvp(sin(copy));
      });
  const Tensor c = scalar(1.0);
  const ForwardAccumulator forward(c, 2.0);
  CHECK(number(forward.jvp(f(c))) == Approx(2 * std::cos(1.0)).epsilon(1e-15));
}

// Many tangents at one point: the function runs once, its linear part for each of them.
TEST_CASE("forwardprop: ForwardpropTest.testJVPFunctionWithBatchOfTangents, BatchTests.testBatchCorrectness") {
  const auto many = [](auto f, const Tensor& a, const Tensor& b, const Tensor& ta, const Tensor& tb) {
    const auto [y, linear] = linearize(f, a, b);
    List result;
    for (std::int64_t i = 0; i < ta.shape()[0]; ++i) result.push_back(linear({ta[i], tb[i]}).item());
    return result;
  };
  const auto plus = [](const Tensor& a, const Tensor& b) { return a + b; };
  const auto times = [](const Tensor& a, const Tensor& b) { return a * b; };
  CHECK(many(plus, scalar(1.0), scalar(3.0), tensor({1., 2., 3.}), tensor({4., 5., 6.})) == List{5, 7, 9});
  CHECK(many(times, tensor({4.}), tensor({5.}), tensor({{1.}, {0.}, {1.}}), tensor({{0.}, {1.}, {1.}})) ==
        List{5, 4, 9});
  CHECK(many(times, scalar(2.0), scalar(5.0), tensor({1., 0., 1.}), tensor({0., 1., 1.})) == List{5, 2, 7});
}

TEST_CASE("forwardprop: BatchTests.testJVPBatchCorrectness") {
  Generator generator(11);
  for (const Shape& shape : {Shape{2, 3}, Shape{2, 3, 4}}) {
    const Tensor x = random_uniform(generator, shape);
    const auto f = [](const Tensor& t) { return sin(t); };
    const auto [y, linear] = linearize(f, x);
    const std::int64_t n = x.size();
    const Tensor matrix = reshape(jacobian(f)(x), {n, n});
    for (int i = 0; i < 5; ++i) {
      const Tensor t = random_uniform(generator, shape);
      CHECK(max(abs(reshape(linear(t), {n}) - matmul(matrix, reshape(t, {n})))).item() < 1e-14);
    }
  }
}

TEST_CASE("forwardprop: BatchTests.testBatchBackwardOverForward") {
  const Tensor x = scalar(1.0);
  Generator generator(1);
  for (int i = 0; i < 10; ++i) {
    const Tensor t = random_normal(generator, {});
    GradientTape tape;
    const ForwardAccumulator forward(x, t);
    tape.watch(x);
    const Gradient tangent = forward.jvp(cos(x));
    CHECK(number(tape.gradient(tangent, x)) == Approx(-t.item() * std::cos(1.0)).epsilon(1e-14));
  }
}
