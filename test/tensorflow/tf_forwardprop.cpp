// What TensorFlow's forwardprop_test.py checks of ForwardAccumulator, with its inputs and numbers, in the order of the
// file.
#include <cmath>

#include "catch.hpp"
#include "tensorflow/support.hpp"

using namespace reel;
using Catch::Contains;
using List = std::vector<double>;

TEST_CASE("forwardprop: ForwardpropTest.testJVPFunction") {
  const Tensor a = scalar(1.0), b = scalar(3.0), c = tensor({4.0}), d = tensor({5.0});
  const ForwardAccumulator forward(std::vector{a, b, c, d}, {scalar(1.0), scalar(5.0), tensor({2.0}), tensor({3.0})});
  CHECK(number(forward.jvp(a + b)) == 1 + 5);
  CHECK(numbers(forward.jvp(c * d)) == List{2 * 5 + 3 * 4});
}

TEST_CASE("forwardprop: ForwardpropTest.testJVPFunctionRaisesError") {
  const Tensor a = scalar(2.0), b = scalar(4.0);
  CHECK_THROWS_AS(ForwardAccumulator(std::vector{a, b}, {tensor({1., 2.}), tensor({{1.}, {2.}})}), ShapeError);
}

TEST_CASE("forwardprop: ForwardpropTest.testNonDifferentiableOpWithInputTangent") {
  const Tensor x = scalar(1.0);
  const ForwardAccumulator outer(x, 2.0), inner(x, 2.0);
  const Tensor y = zeros_like(x);
  CHECK_FALSE(outer.jvp(y));
  CHECK_FALSE(inner.jvp(y));
}

TEST_CASE("forwardprop: ForwardpropTest.testRunFunctionsEagerly") {
  const Tensor x = scalar(1.0);
  const ForwardAccumulator forward(x, 2.0);
  CHECK(number(forward.jvp(x * 3.0)) == 6);
}

TEST_CASE("forwardprop: ForwardpropTest.testFunctionCacheLimited") {
  for (std::int64_t n = 0; n < 32; ++n) {
    const Tensor x = zeros({n});
    const ForwardAccumulator forward(x, ones_like(x));
    CHECK(numbers(forward.jvp(x + x)) == List(static_cast<std::size_t>(n), 2));
  }
}

TEST_CASE("forwardprop: ForwardpropTest.testVariableUnwatchedZero") {
  const Variable v(tensor({{1.0}}));
  const Tensor x = scalar(1.0);
  const ForwardAccumulator forward(x, 2.0);
  CHECK_FALSE(forward.jvp(v));
  const Tensor zero = *forward.jvp(v, UnconnectedGradients::zero);
  CHECK(zero.shape() == Shape{1, 1});
  CHECK(zero.item() == 0);
}

// TensorFlow refuses a primal given twice, and adds when it is watched again. Here its tangents add.
TEST_CASE("forwardprop: ForwardpropTest.testMultipleWatchesAdd") {
  const Tensor x = scalar(-2.0);
  const ForwardAccumulator forward(std::vector{x, x, x}, {scalar(3.0), scalar(10.0), scalar(11.0)});
  CHECK(number(forward.jvp(x)) == 24);
  CHECK(number(forward.jvp(3.0 * x)) == 24 * 3);
}

TEST_CASE("forwardprop: ForwardpropTest.testReenter") {
  const Tensor x = scalar(-2.0);
  ForwardAccumulator forward(x, 1.5);
  CHECK(number(forward.jvp(x)) == 1.5);
  const Tensor y = 4.0 * x;
  CHECK(number(forward.jvp(y)) == 6);
  CHECK_THROWS_AS(forward.resume(), TapeError);
  CHECK_THROWS_WITH(forward.resume(), Contains("active already"));
  forward.stop();
  const Tensor z = 4.0 * x;
  CHECK_FALSE(forward.jvp(z));
  forward.resume();
  CHECK(number(forward.jvp(y * y)) == 6 * -8 * 2);
}

// The tangent of a primal lives as long as the accumulator, every other as long as its tensor.
TEST_CASE("forwardprop: ForwardpropTest.testDeadTensorsJVPCleared") {
  const std::int64_t before = memory_stats().live_tensors;
  Tensor x = ones({100}), tangent = zeros({100});
  const ForwardAccumulator forward(x, tangent);
  Tensor derived = 2.0 * x;
  tangent = {};
  CHECK(numbers(forward.jvp(x)) == List(100, 0));
  const std::int64_t with_x = memory_stats().live_tensors;
  x = {};
  CHECK(memory_stats().live_tensors == with_x - 1);
  CHECK(numbers(forward.jvp(derived)) == List(100, 0));
  derived = {};
  CHECK(memory_stats().live_tensors == before + 1);
}

TEST_CASE("forwardprop: ForwardpropTest.testJVPManual") {
  const auto [value, tangent] = jvp([](const Tensor& x) { return sin(x); }, scalar(0.1), scalar(0.2));
  CHECK(value.item() == Approx(std::sin(0.1)).epsilon(1e-15));
  CHECK(tangent.item() == Approx(std::cos(0.1) * 0.2).epsilon(1e-15));
}

namespace {

// d/dx by forward mode, for a scalar x.
template <class F>
auto forward_gradient(F f) {
  return [f](const Tensor& x) {
    const ForwardAccumulator forward(x, 1.0);
    return *forward.jvp(f(x));
  };
}
const auto x_to_3_5 = [](const Tensor& x) { return power(x, 3.5); };
const double x11_35[] = {std::pow(1.1, 3.5), 3.5 * std::pow(1.1, 2.5), 3.5 * 2.5 * std::pow(1.1, 1.5),
                         3.5 * 2.5 * 1.5 * std::pow(1.1, 0.5)};

}  // namespace

TEST_CASE("forwardprop: ForwardpropTest.testHigherOrderPureForward") {
  const Tensor x = scalar(1.1);
  const auto first = forward_gradient(x_to_3_5);
  const auto second = forward_gradient(first);
  const auto third = forward_gradient(second);
  CHECK(x_to_3_5(x).item() == Approx(x11_35[0]).epsilon(1e-14));
  CHECK(first(x).item() == Approx(x11_35[1]).epsilon(1e-14));
  CHECK(second(x).item() == Approx(x11_35[2]).epsilon(1e-14));
  CHECK(third(x).item() == Approx(x11_35[3]).epsilon(1e-14));
}

TEST_CASE("forwardprop: ForwardpropTest.testGradPureForward, ForwardpropTest.testFunctionGradInFunctionPureForward") {
  const Tensor x = scalar(1.1);
  ForwardAccumulator outer(x, 1.0), inner(x, 1.0);
  const Tensor y = x_to_3_5(x);
  inner.stop();
  outer.stop();
  const Gradient first = inner.jvp(y), second = outer.jvp(first);
  CHECK(y.item() == Approx(x11_35[0]).epsilon(1e-14));
  CHECK(number(first) == Approx(x11_35[1]).epsilon(1e-14));
  CHECK(number(second) == Approx(x11_35[2]).epsilon(1e-14));
  CHECK_FALSE(inner.jvp(outer.jvp(y)));
}

TEST_CASE("forwardprop: ForwardpropTest.testJVPPacking") {
  const Tensor two = scalar(2.0), x = scalar(1.0), tangent = scalar(3.0);
  const ForwardAccumulator outer(std::vector{x, tangent}, {scalar(2.0), scalar(4.0)});
  const ForwardAccumulator inner(x, tangent);
  CHECK(number(inner.jvp(x)) == 3);
  CHECK(number(outer.jvp(x)) == 2);
  CHECK(number(outer.jvp(inner.jvp(x))) == 4);
  const Tensor y = x * two;
  CHECK(number(inner.jvp(y)) == 6);
  CHECK(number(outer.jvp(y)) == 4);
  CHECK(number(outer.jvp(inner.jvp(y))) == 8);
}

TEST_CASE("forwardprop: ForwardpropTest.testReusingJVP") {
  Generator generator(1);
  const Shape shape{64, 131};
  const Tensor m1 = random_uniform(generator, shape), m2 = identity(m1), t1 = random_uniform(generator, shape),
               t2 = random_uniform(generator, shape);
  const ForwardAccumulator forward(std::vector{m1, m2}, std::vector{t1, t2});
  const auto gram = [](const Tensor& m) { return matmul(m, m, {.transpose_b = true}); };
  const Tensor y1 = gram(m1), y2 = gram(m2);
  CHECK(array_equal(y1, y2));
  const auto expected = [](const Tensor& m, const Tensor& t) {
    return matmul(t, m, {.transpose_b = true}) + matmul(m, t, {.transpose_b = true});
  };
  CHECK(max(abs(*forward.jvp(y1) - expected(m1, t1))).item() < 1e-12);
  CHECK(max(abs(*forward.jvp(y2) - expected(m2, t2))).item() < 1e-12);
}

namespace {

const auto tanh_product = [](const Tensor& x) { return prod(square(tanh(x))); };

// The Hessian of f at x times v, forward over backward.
template <class F, class X>
auto forward_over_back(F f, const X& x, const GradientList& v) {
  const ForwardAccumulator forward(x, v);
  GradientTape tape;
  tape.watch(x);
  return forward.jvp(tape.gradient(f(x), x));
}

}  // namespace

TEST_CASE("forwardprop: ForwardpropTest.testHVPMemory") {
  const Tensor x = tensor({1., 2., 3.}), v = tensor({3., 4., 5.});
  const std::int64_t live = memory_stats().live_tensors;
  for (int i = 0; i < 3; ++i) CHECK(forward_over_back(tanh_product, x, v));
  CHECK(memory_stats().live_tensors == live);
}

TEST_CASE("forwardprop: ForwardpropTest.testHVPCorrectness") {
  const Tensor x = tensor({1., 2., 3.}), v = tensor({3., 4., 5.});
  GradientTape outer({.persistent = true});
  outer.watch(x);
  GradientTape inner;
  inner.watch(x);
  const std::vector<Tensor> gradient = unstack(*inner.gradient(tanh_product(x), x));
  outer.stop();
  std::vector<Tensor> rows;
  for (const Tensor& g : gradient) rows.push_back(*outer.gradient(g, x));
  const List back_over_back = tensordot(stack(rows), v, 1).to_vector();
  const List forward_back = numbers(forward_over_back(tanh_product, x, v));
  for (std::size_t i = 0; i < 3; ++i) CHECK(forward_back[i] == Approx(back_over_back[i]).epsilon(1e-12));
}

TEST_CASE("forwardprop: ForwardpropTest.testShouldRecordAndStopRecord") {
  const Tensor c = scalar(1.0);
  ForwardAccumulator forward(c, 2.0);
  GradientTape tape({.persistent = true});
  CHECK_FALSE(tape.gradient(c * 3.0, c));
  tape.watch(c);
  CHECK(number(tape.gradient(c * 3.0, c)) == 3);
  Tensor d;
  {
    const auto pause = tape.stop_recording();
    forward.stop();
    d = c * 2.0;
    forward.resume();
  }
  const Tensor e = c * 5.0;
  CHECK_FALSE(forward.jvp(d));
  CHECK_FALSE(tape.gradient(d, c));
  CHECK(number(forward.jvp(e)) == 10);
  CHECK(number(tape.gradient(e, c)) == 5);
}

TEST_CASE("forwardprop: ForwardpropTest.testRecordingSelectively") {
  const Tensor c = scalar(1.0), two = scalar(2.0), three = scalar(3.0), d = scalar(2.0), e = scalar(3.0);
  ForwardAccumulator forward(c, 2.0);
  GradientTape tape({.persistent = true});
  tape.watch(c);
  {
    const auto pause = tape.stop_recording();
    record_operation("forward_only", {&c, 1}, {&d, 1}, {},
                     [&](std::span<const Tensor> t) { return std::vector{two * t[0]}; });
  }
  forward.stop();
  record_operation("backward_only", {&c, 1}, {&e, 1},
                   [&](std::span<const Gradient> g) { return std::vector<Gradient>{three * *g[0]}; });
  forward.resume();
  CHECK(number(forward.jvp(d)) == 4);
  CHECK_FALSE(forward.jvp(e));
  CHECK_FALSE(tape.gradient(d, c));
  CHECK(number(tape.gradient(e, c)) == 3);
}

TEST_CASE("forwardprop: ForwardpropTest.testOpWithNoTrainableOutputs") {
  const Variable v(scalar(1.0));
  const ForwardAccumulator forward(v, 11.0);
  v.assign_sub(scalar(0.5));
  CHECK(v.read().item() == 0.5);
}

TEST_CASE("forwardprop: ForwardpropTest.testVariableReadInFunction") {
  const Variable v(scalar(1.0));
  const ForwardAccumulator forward(v, 11.0);
  const auto f = [&] { return std::pair(v.read(), 2.0 * v.read()); };
  const auto y = f();
  CHECK(y.first.item() == 1);
  CHECK(y.second.item() == 2);
  const auto dy = forward.jvp(y);
  CHECK(number(dy.first) == 11);
  CHECK(number(dy.second) == 22);
}

TEST_CASE("forwardprop: ForwardpropTest.testForwardOverBackwardMemoryEfficiency") {
  const Tensor c = scalar(1.0);
  const ForwardAccumulator forward(c, 0.1);
  GradientTape tape;
  tape.watch(c);
  const Tensor d = cos(c);
  // A tape inside the accumulator does not see the ops of its tangents.
  CHECK(tape.stats().entries == 1);
  const std::int64_t live = memory_stats().live_tensors;
  {
    const Tensor e = cos(*forward.jvp(d));
    static_cast<void>(cos(e));
  }
  CHECK(memory_stats().live_tensors == live);
  CHECK(tape.stats().entries == 1);
  CHECK_FALSE(tape.gradient(forward.jvp(d), c));
}

TEST_CASE("forwardprop: ForwardpropTest.testBackwardOverForward") {
  const Tensor c = scalar(1.0);
  GradientTape tape;
  const ForwardAccumulator forward(c, 0.1);
  tape.watch(c);
  const Tensor d = cos(c);
  CHECK(number(tape.gradient(forward.jvp(d), c)) == Approx(-0.1 * std::cos(1.0)).epsilon(1e-15));
}

TEST_CASE("forwardprop: ForwardpropTest.testSpecialForwardFunctionUsed") {
  const Tensor c = scalar(1.0), d = scalar(2.0), e = scalar(3.0);
  const ForwardAccumulator forward(c, 10.0);
  record_operation("ForwardIsSpecial", {&c, 1}, {&d, 1}, {},
                   [](std::span<const Tensor> t) { return std::vector{-2.0 * t[0]}; });
  CHECK(number(forward.jvp(d)) == -20);
  record_operation("ForwardIsSpecial2", {}, {}, {}, [](auto) { return std::vector<Tensor>{}; });
  record_operation("ForwardIsSpecial3", {&d, 1}, {&e, 1}, {},
                   [](std::span<const Tensor> t) { return std::vector{t[0]}; });
  CHECK(number(forward.jvp(e)) == -20);
}

TEST_CASE("forwardprop: ForwardpropTest.testRecordingWithJVPIndices") {
  const Tensor c = scalar(1.0), d = scalar(2.0), d_tangent = scalar(3.0);
  const ForwardAccumulator forward(c, 10.0);
  record_operation("FunctionWithInlineJVPs", {&c, 1}, {&d, 1}, {}, [&](std::span<const Tensor> t) {
    CHECK(t[0].item() == 10);
    return std::vector{d_tangent};
  });
  CHECK(number(forward.jvp(d)) == 3);
}

TEST_CASE("forwardprop: ForwardpropTest.testVariableWatched, ForwardpropTest.testVariableWatchedFunction") {
  const Variable v(tensor({1., 2., 3.}));
  const ForwardAccumulator forward(v, tensor({0.1, -0.2, 0.3}));
  CHECK(numbers(forward.jvp(v)) == List{0.1, -0.2, 0.3});
  CHECK(numbers(forward.jvp(v * 2.0)) == List{0.2, -0.4, 0.6});
  CHECK(numbers(forward.jvp(v + 0.1)) == List{0.1, -0.2, 0.3});
}

TEST_CASE("forwardprop: ForwardpropTest.testUnconnectedGradients") {
  const Tensor x = scalar(-1.0), y = scalar(-2.0);
  const ForwardAccumulator forward(x, 0.1);
  CHECK(number(forward.jvp(x, UnconnectedGradients::zero)) == 0.1);
  CHECK(number(forward.jvp(x, UnconnectedGradients::none)) == 0.1);
  CHECK(number(forward.jvp(y, UnconnectedGradients::zero)) == 0);
  CHECK_FALSE(forward.jvp(y, UnconnectedGradients::none));
}

TEST_CASE("forwardprop: ForwardpropTest.testIndexSlicesGrad, ForwardpropTest.testIndexSlicesGradInFunction") {
  const Tensor x = tensor({1.0});
  const ForwardAccumulator forward(x, tensor({3.0}));
  CHECK(number(forward.jvp(gather(x, scalar(0)))) == 3);
}

TEST_CASE("forwardprop: ForwardpropTest.testArgumentUnused") {
  const Tensor v = scalar(1.0);
  const ForwardAccumulator forward(v, 11.0);
  const auto f = [](const Tensor&) { return scalar(1.0); };
  CHECK_FALSE(forward.jvp(f(v)));
}

namespace {
Tensor has_loop(int count, const Tensor& y) {
  Tensor result = scalar(0.0);
  for (int i = 0; i < count; ++i) result += y * static_cast<double>(i);
  return result;
}
Tensor has_condition(int k, const Tensor& y) { return k > 1 ? 3.0 * y : scalar(0.0); }
}  // namespace

TEST_CASE("forwardprop: ControlFlowTests.testOfFunctionWhile, ControlFlowTests.testInFunctionWhile") {
  const Tensor y = scalar(1.0);
  const ForwardAccumulator forward(y, 1.0);
  CHECK(number(forward.jvp(has_loop(5, y))) == 10);
}

TEST_CASE("forwardprop: ControlFlowTests.testOfFunctionCond, ControlFlowTests.testInFunctionCond") {
  const Tensor y = scalar(1.0);
  const ForwardAccumulator forward(y, 1.0);
  CHECK(number(forward.jvp(has_condition(5, y))) == 3);
  CHECK(number(forward.jvp(has_condition(0, y), UnconnectedGradients::zero)) == 0);
}

TEST_CASE("forwardprop: HessianTests.testHessian1D") {
  const Tensor a = tensor({{0.5, -1.25, 2., 0.75}, {3., -0.5, 1., 0.25}, {-2., 1.5, 0., 4.}, {1., -3., 2.5, -0.75}}),
               x = tensor({0.3, -1.2, 0.8, 2.1});
  const Variable matrix(a);
  const auto f = [&](const Tensor& t) { return sum(expand_dims(t, 1) * matrix * expand_dims(t, 0)); };
  std::vector<Tensor> rows;
  for (std::int64_t i = 0; i < 4; ++i)
    rows.push_back(*forward_over_back(f, x, one_hot(scalar(static_cast<int>(i)), 4)));
  CHECK(max(abs(stack(rows) - (a + transpose(a)))).item() < 1e-14);
}

TEST_CASE("forwardprop: HessianTests.testHessianOfVariables") {
  const Variable kernel(tensor({{0.4}, {-0.9}})), bias(tensor({0.2}));
  const std::vector<Variable> parameters{kernel, bias};
  const auto loss = [&](const auto&) {
    const Tensor input = tensor({{-0.5, 1.}, {0.5, -1.}}), target = tensor({{-1.}, {2.}});
    return sum(square(matmul(input, kernel) + bias - target));
  };
  List hessian;
  for (std::int64_t i = 0; i < 3; ++i) {
    const std::vector<Tensor> pieces = split_sizes(one_hot(scalar(static_cast<int>(i)), 3), {2, 1});
    const std::vector<Tensor> direction{reshape(pieces[0], {2, 1}), pieces[1]};
    for (const Gradient& g : forward_over_back(loss, parameters, direction))
      for (const double h : numbers(g)) hessian.push_back(h);
  }
  // 2 (A, 1)^T (A, 1) with the input A.
  CHECK(hessian == List{1, -2, 0, -2, 4, 0, 0, 0, 4});
}
