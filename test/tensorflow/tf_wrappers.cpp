// What TensorFlow's backprop_test.py and record_test.py check of gradients_function, implicit_grad and make_vjp, with
// their inputs and numbers.
#include <reel/gradients.hpp>
#include <reel/optim.hpp>

#include "catch.hpp"
#include "tensorflow/support.hpp"

using namespace reel;
using Catch::Contains;
using List = std::vector<double>;

namespace {
Tensor lookup(const Tensor& table, std::initializer_list<int> rows) {
  return gather(table, from_data(std::vector<int>(rows)));
}
// -sum(labels * log_softmax(logits)) of every row.
Tensor cross_entropy(const Tensor& labels, const Tensor& logits) { return -sum(labels * log_softmax(logits), -1); }
}  // namespace

TEST_CASE("wrappers: BackpropTest.testAggregateGradients") {
  const Tensor table = tensor<float>({{0.5, 0.25}, {2, 3}, {4, 0.125}, {8, 16}});
  const auto f = [](const Tensor& x) { return lookup(x, {0, 1}) * lookup(x, {2, 3}) * lookup(x, {1, 3}); };
  const Gradient g = gradients_function<0>(f)(table)[0];
  CHECK(g.is_slices());
  // Row 0 of the product is x0 x2 x1, row 1 is x1 x3 x3.
  const Tensor x0 = table[0], x1 = table[1], x2 = table[2], x3 = table[3];
  CHECK(array_equal(*g, stack({x2 * x1, x0 * x2 + x3 * x3, x0 * x1, 2 * x1 * x3})));
}

TEST_CASE("wrappers: BackpropTest.testAggregateGradientsWithTensor") {
  const Tensor table = tensor<float>({{0.5, 0.25}, {2, 3}, {4, 0.125}, {8, 16}});
  const auto f = [](const Tensor& x) { return lookup(x, {0, 1}) * sum(x * 2.0); };
  const Gradient g = gradients_function<0>(f)(table)[0];
  const Tensor total = sum(table * 2.0), first_two = sum(lookup(table, {0, 1})) * 2.0;
  const Tensor rows = concatenate({ones({2, 2}, DType::float32), zeros({2, 2}, DType::float32)});
  CHECK(array_equal(*g, rows * total + first_two));
}

TEST_CASE("wrappers: BackpropTest.testImplicitGradWithResourceVariable") {
  const Variable x(scalar(1.0), "x");
  const auto g = implicit_grad([&] { return x + 2.0 + 3.0; })();
  REQUIRE(g.size() == 1);
  CHECK(number(g[0].first) == 1);
  CHECK(g[0].second == x);
}

TEST_CASE("wrappers: BackpropTest.testWhereGradient") {
  const auto g = gradients_function([](const Tensor& x) { return where(x < 10, x, x * x); });
  CHECK(number(g(5.0)[0]) == 1);
  CHECK(number(g(50.0)[0]) == 100);
}

TEST_CASE("wrappers: BackpropTest.testDy") {
  CHECK(number(gradients_function([](const Tensor& x) { return x; })(1.0, dy(2.0))[0]) == 2);
}

TEST_CASE("wrappers: BackpropTest.testGradientInteger") {
  CHECK_FALSE(gradients_function([](const Tensor& x) { return x + x; })(scalar(1))[0]);
}

TEST_CASE("wrappers: BackpropTest.testImplicitGradOverEmbeddingLookup") {
  Generator generator(3);
  const Tensor initial = cast(random_uniform(generator, {1000, 512}), DType::float32);
  const Variable embedding(initial, "embedding");
  const Tensor rows = ones({8}, DType::int64);
  const auto g = implicit_grad([&] { return 1.0 - gather(embedding, rows); })();
  REQUIRE(g.size() == 1);
  const IndexedSlices s = g[0].first.slices();
  CHECK(array_equal(s.indices, rows));
  CHECK(array_equal(s.values, full({8, 512}, -1.0, DType::float32)));
  SGD({.learning_rate = 0.1}).step(std::vector{g[0].first}, {g[0].second});
  const Tensor expected = initial + 0.1 * 8 * expand_dims(one_hot(scalar(1), 1000, DType::float32), 1);
  CHECK(max(abs(embedding - expected)).item<float>() < 1e-6f);
}

TEST_CASE("wrappers: BackpropTest.testImplicitGradOrdering") {
  const Variable v0(scalar(1.0)), v1(scalar(2.0));
  const auto g = implicit_grad([&] {
    const Tensor x = v1 * v1, y = v0 * v0;
    return x + y;
  })();
  REQUIRE(g.size() == 2);
  CHECK(g[0].second == v0);
  CHECK(g[1].second == v1);
}

TEST_CASE("wrappers: BackpropTest.testGradientNone") {
  const auto loss = [](const Tensor& x, const Tensor& labels) { return mean(cross_entropy(labels, x), 0); };
  const auto g = gradients_function<0>(loss)(tensor({{0., 0.}}), tensor({{1., 0.}}));
  CHECK(numbers(g[0]) == List{-0.5, 0.5});
}

TEST_CASE("wrappers: BackpropTest.testSecondGrad") {
  const auto first = [](const Tensor& x) { return sum(cross_entropy(tensor({{0.0}}), x), 0); };
  const auto second = [&](const Tensor& x) { return sum(*gradients_function<0>(first)(x)[0], 0); };
  CHECK(numbers(gradients_function<0>(second)(tensor({{0.1}}))[0]) == List{0});
}

TEST_CASE("wrappers: BackpropTest.testMakeVJP") {
  const auto [y, vjp] = make_vjp([](const Tensor& x) { return x * x; }, {.persistent = false})(scalar(3.0));
  CHECK(y.item() == 9);
  CHECK(number(vjp(2.0)) == 12);
  CHECK_THROWS_AS(vjp(2.0), TapeError);
}

TEST_CASE("wrappers: BackpropTest.testGradientsFunctionInCustomGradient") {
  const auto f = custom_gradient([](const Tensor& x) {
    const auto g = gradients_function([](const Tensor& t) { return t * t; })(x);
    return std::pair(*g[0], [](const Tensor& dy) { return 2.0 * dy; });
  });
  const Tensor one = scalar(1.0);
  CHECK(f(one).item() == 2);
  CHECK(number(gradients_function<0>(f)(one)[0]) == 2);
}

TEST_CASE("wrappers: BackpropTest.testPersistentMakeVJP") {
  const auto [y, vjp] = make_vjp([](const Tensor& x) { return x * x; }, {.persistent = true})(scalar(3.0));
  for (int i = 0; i < 2; ++i) CHECK(number(vjp(2.0)) == 12);
}

namespace {
template <class F>
auto gradient_of(F f) {
  return [f](const Tensor& x) { return *gradients_function<0>(f)(x)[0]; };
}
}  // namespace

TEST_CASE("wrappers: BackpropTest.testGradGrad") {
  const auto gradient = gradient_of([](const Tensor& x) { return x * x; });
  CHECK(number(gradients_function<0>(gradient)(scalar(3.0))[0]) == 2);
}

TEST_CASE("wrappers: BackpropTest.testGradGradExp") {
  const auto gradient = gradient_of([](const Tensor& x) { return exp(x); });
  CHECK(number(gradients_function<0>(gradient)(scalar(0.0))[0]) == 1);
}

TEST_CASE("wrappers: BackpropTest.testStopGradient, BackpropTest.testArgmax") {
  const auto f = [](const Tensor& x) { return stop_gradient(argmax(x, 0)); };
  CHECK_FALSE(gradients_function(f)(tensor({0.0}))[0]);
}

TEST_CASE("wrappers: BackpropTest.testCPU") {
  const auto f = [](const Tensor& x) { return x + scalar(2.0) + scalar(3.0); };
  CHECK(number(gradients_function<0>(f)(scalar(1.0))[0]) == 1);
}

namespace {
const auto product = [](const Tensor& a, const Tensor& b) { return a * b; };
}

TEST_CASE("wrappers: BackpropTest.testEmptyParams") {
  CHECK(each_number(gradients_function(product)(scalar(1.0), scalar(2.0))) == List{2, 1});
}

TEST_CASE("wrappers: BackpropTest.testUnconnectedNone") {
  const Variable v(scalar(1.0), "v");
  const auto g = implicit_grad([&] {
    static_cast<void>(v.read());
    return scalar(1.0);
  })();
  REQUIRE(g.size() == 1);
  CHECK_FALSE(g[0].first);
}

TEST_CASE("wrappers: BackpropTest.testEmptyParamsForValueAndGradFunction") {
  const auto [value, g] = value_and_gradients_function(product)(2.0, 3.0);
  CHECK(value.item() == 6);
  CHECK(each_number(g) == List{3, 2});
}

TEST_CASE("wrappers: BackpropTest.testNonEmptyParamsForValueAndGradFunction") {
  const auto [value, g] = value_and_gradients_function(product, {1})(2.0, 3.0);
  CHECK(value.item() == 6);
  CHECK(each_number(g) == List{2});
}

TEST_CASE("wrappers: BackpropTest.testMulType") {
  CHECK(each_number(gradients_function([](const Tensor& x) { return multiply(x, x); })(3.0)) == List{6});
}

TEST_CASE("wrappers: BackpropTest.testArgsGradientFunction") {
  const auto f = [](const auto&... args) {
    const Tensor x = std::get<0>(std::tie(args...));
    return x * x;
  };
  CHECK(each_number(gradients_function(f)(1.0)) == List{2});
}

TEST_CASE("wrappers: BackpropTest.testPartial") {
  const auto partial = [x = scalar(2.0)](const Tensor& y) { return product(x, y); };
  CHECK(each_number(gradients_function(partial)(scalar(1.0))) == List{2});
}

TEST_CASE("wrappers: BackpropTest.testReturnSameThing") {
  CHECK(each_number(gradients_function([](const Tensor& x) { return std::pair(x, 2 * x); })(1.0)) == List{3});
}

TEST_CASE("wrappers: BackpropTest.testExceptionSafety") {
  const auto f = [](const Tensor&) -> Tensor { throw ValueError("mine"); };
  CHECK_THROWS_WITH(gradients_function(f)(1.0), "mine");
  CHECK(each_number(gradients_function([](const Tensor& x) { return x * x; })(1.0)) == List{2});
}

TEST_CASE("wrappers: BackpropTest.testMultiValueConvertToTensor") {
  const Variable x(tensor({1.0}), "x");
  const auto g = implicit_grad([&] {
    const Tensor a = x + 1.0;
    return mean(stack({a, a}));
  })();
  CHECK(numbers(g.at(0).first) == List{1});
}

TEST_CASE("wrappers: BackpropTest.testOutput") {
  const auto f = [](const Tensor& x) { return std::pair(x + 2, x * x); };
  CHECK(numbers(gradients_function(f)(tensor({0., 1., 2.}))[0]) == List{1, 3, 5});
}

TEST_CASE("wrappers: BackpropTest.testMultiValuePreservesIfNotDiffedAgainst") {
  // A convolution whose strides are no tensor: they must arrive untouched.
  const std::vector<int> strides{1, 1, 1, 1};
  const auto convolution = [&](const Tensor& image, const Tensor& kernel, const std::vector<int>& given) {
    CHECK(&given == &strides);
    return image * kernel;
  };
  const auto g = gradients_function<0>(convolution)(tensor({{{{1.0}}}}), tensor({{{{2.0}}}}), strides);
  CHECK((*g[0]).shape() == Shape{1, 1, 1, 1});
  CHECK(numbers(g[0]) == List{2});
}

TEST_CASE("wrappers: BackpropTest.testSameObjectForMultipleArguments") {
  const auto g = gradients_function(product);
  const Tensor x = scalar(1.0), matrix = tensor({{1.0}});
  CHECK(each_number(g(x, x)) == List{1, 1});
  CHECK(each_number(g(1.0, 1.0)) == List{1, 1});
  CHECK(each_number(g(matrix, matrix)) == List{1, 1});
  CHECK((*g(matrix, matrix)[1]).shape() == Shape{1, 1});
  const Variable v(scalar(1.0));
  CHECK(each_number(g(v, v)) == List{1, 1});
}

TEST_CASE("wrappers: TapeTest.testMultiOutput") {
  const auto f = [](const Tensor& x, const Tensor& y) {
    const std::vector<Tensor> halves = split(x + y, 2);
    return halves[0] + halves[1];
  };
  const auto g = gradients_function<0, 1>(f)(tensor({{1., 0.}, {0., 1.}}), tensor({{1., 2.}, {3., 4.}}));
  CHECK(numbers(g[0]) == List{1, 1, 1, 1});
  CHECK(numbers(g[1]) == List{1, 1, 1, 1});
}

namespace {
Tensor aa() { return tensor({{1., 0.}, {0., 1.}}); }
Tensor bb() { return tensor({{1., 2.}, {3., 4.}}); }
const auto summed_product = [](const Tensor& a, const Tensor& b) { return sum(matmul(a, b)); };
// ones(2, 2) times the transpose of bb.
const List by_a{3, 7, 3, 7};
}  // namespace

TEST_CASE("wrappers: TapeTest.testBasicFunctional") {
  CHECK(numbers(gradients_function(named(summed_product, "a", "b"), {"a"})(aa(), bb())[0]) == by_a);
}

TEST_CASE("wrappers: TapeTest.testBasicFunctionalPositionalArg") {
  CHECK(numbers(gradients_function(summed_product, {0})(aa(), bb())[0]) == by_a);
}

TEST_CASE("wrappers: TapeTest.testBasicFunctionalWithValue") {
  const auto [value, g] = value_and_gradients_function(named(summed_product, "a", "b"), {"a"})(aa(), bb());
  CHECK(value.item() == 10);
  CHECK(numbers(g[0]) == by_a);
}

TEST_CASE("wrappers: TapeTest.testGcTwoOutputs") {
  const auto f = [](const Tensor& logits, const Tensor& labels) {
    return cross_entropy(one_hot(labels, logits.shape()[1]), logits);
  };
  CHECK(numbers(gradients_function<0>(f)(tensor({{0.0}}), tensor<int>({0}))[0]) == List{0});
}

TEST_CASE("wrappers: TapeTest.testTfTensor") {
  CHECK(each_number(gradients_function<0>([](const Tensor& x) { return x; })(scalar(1.0))) == List{1});
}

// TensorFlow's watcher sees assignments too. Here they are not reads; a tape reports the variables that it has seen
// read.
TEST_CASE("wrappers: VariableWatcherTest.testBasic, VariableWatcherTest.testNonTrainableVariables") {
  const Variable v1(scalar(0.0)), v2(scalar(1.0)), fixed(scalar(2.0), "fixed", false);
  GradientTape tape;
  v1.assign_add(scalar(1.0));
  CHECK(tape.watched_variables().empty());
  static_cast<void>(v2 + v1 + fixed);
  CHECK(tape.watched_variables() == std::vector{v1, v2});
}

TEST_CASE("wrappers: VariableWatcherTest.testMultipleScopes") {
  const Variable v1(scalar(0.0)), v2(scalar(1.0));
  GradientTape outer;
  static_cast<void>(v1 + 1);
  GradientTape inner;
  static_cast<void>(v2 + 2);
  CHECK(outer.watched_variables() == std::vector{v1, v2});
  CHECK(inner.watched_variables() == std::vector{v2});
}

TEST_CASE("wrappers: VariableWatcherTest.testCreateVariables") {
  GradientTape tape;
  const Variable v1(scalar(0.0)), v2(scalar(1.0));
  static_cast<void>(v1 * v2);
  CHECK(tape.watched_variables() == std::vector{v1, v2});
}
