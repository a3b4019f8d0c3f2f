// What TensorFlow's backprop_test.py checks of GradientTape, with its inputs and numbers, in the order of the file.
#include <algorithm>

#include "catch.hpp"
#include "tensorflow/support.hpp"

using namespace reel;
using Catch::Contains;
using List = std::vector<double>;

TEST_CASE("backprop: BackpropTest.testNoOpBehaviorConsistent") {
  const Tensor x = scalar(10.0), x1 = identity(x), x2 = x + 0, x3 = x - 0, x4 = x * 1;
  GradientTape tape;
  tape.watch(std::vector{x, x1, x2, x3, x4});
  const Tensor loss = x * 2.0 + x1 * 3.0 + x2 * 3.0 + x3 * 3.0 + x4 * 3.0;
  CHECK(each_number(tape.gradient(loss, {x, x1, x2, x3, x4})) == List{2, 3, 3, 3, 3});
}

TEST_CASE("backprop: BackpropTest.testTwoTargets") {
  const Tensor x = scalar(3.0), y = scalar(2.0);
  GradientTape tape;
  tape.watch(std::vector{x, y});
  const Tensor xx = 2 * x, yy = 3 * y;
  CHECK(each_number(tape.gradient({xx, yy}, {x, y})) == List{2, 3});
}

TEST_CASE("backprop: BackpropTest.test_stop_gradient_hides_downstream_ops") {
  const Tensor x = scalar(1.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor in[] = {stop_gradient(x)}, out[] = {scalar(1.0)};
  record_operation("hidden", in, out, [](std::span<const Gradient>) -> std::vector<Gradient> {
    throw std::logic_error("the rule downstream of stop_gradient was called");
  });
  CHECK_FALSE(tape.gradient(out[0], x));
}

TEST_CASE("backprop: BackpropTest.testOutputGradUsedInComputation") {
  const Tensor x = scalar(3.0), y = scalar(2.0);
  GradientTape tape;
  tape.watch(std::vector{x, y});
  const Tensor loss = x * y;
  CHECK(each_number(tape.gradient({loss, x}, {x}, {.output_gradients = {scalar(1.0), scalar(2.0)}})) == List{4});
}

TEST_CASE("backprop: BackpropTest.testTapeNoOpGradient") {
  const Tensor x = scalar(3.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x;
  CHECK(number(tape.gradient(y, x)) == 1);
}

TEST_CASE("backprop: BackpropTest.testTapeIdentityGradientIsIdentity") {
  const Tensor x = scalar(3.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = identity(x);
  CHECK(y.id() != x.id());
  CHECK(number(tape.gradient(y, x)) == 1);
}

TEST_CASE("backprop: BackpropTest.testFunctionIndexedSlicesGradient") {
  const Tensor x = tensor({1.0});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = gather(x + 1, tensor<int>({0}));
  CHECK(numbers(tape.gradient(y, x)) == List{1});
}

TEST_CASE("backprop: BackpropTest.testTapeGradientMultiTargetOneIsSource") {
  const Tensor x = scalar(2.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x;
  CHECK(number(tape.gradient({x, y}, x)) == 5);
}

TEST_CASE("backprop: BackpropTest.testTapeNoOpGradientWithMultiTargetAllSource") {
  const Tensor x = scalar(3.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x;
  CHECK(number(tape.gradient({y, y}, x)) == 2);
}

TEST_CASE("backprop: BackpropTest.testTapeNoOpGradientWithMultiTargetMultiSource") {
  const Tensor x = scalar(3.0), y = scalar(5.0);
  GradientTape tape;
  tape.watch(std::pair(x, y));
  const Tensor z = y * y;
  CHECK(each_number(tape.gradient({x, y, z}, {x, y})) == List{1, 11});
}

// TensorFlow's strings: here integers are the tensors that carry no gradient.
TEST_CASE("backprop: BackpropTest.testTapeGradientStringTarget") {
  const Tensor s = scalar(7), x = scalar(3.0);
  GradientTape tape;
  tape.watch(x);
  CHECK_FALSE(tape.gradient(s, x));
}

TEST_CASE("backprop: BackpropTest.testTapeNoOpGradientStringSourceAndTarget") {
  const Tensor s = scalar(7);
  GradientTape tape;
  const Gradient g = tape.gradient(s, s);
  CHECK_FALSE(g);
  CHECK(g.reason() == WhyNone::integer_dtype);
}

TEST_CASE("backprop: BackpropTest.testTapeNoOpGradientWithMultiTargetMultiSourceIncludeString") {
  const Tensor x = scalar(3.0), y = scalar(5.0), s = scalar(7);
  GradientTape tape;
  tape.watch(std::pair(x, y));
  const Tensor z = y * y;
  const auto g = tape.gradient({x, y, z, s}, {x, y, s});
  CHECK(number(g[0]) == 1);
  CHECK(number(g[1]) == 11);
  CHECK_FALSE(g[2]);
}

TEST_CASE("backprop: BackpropTest.testTapeNoOpOnVariableIsIdentity") {
  const Variable v(scalar(1.0));
  GradientTape tape;
  const Tensor y = v.read();
  CHECK(number(tape.gradient(y, v)) == 1);
}

TEST_CASE("backprop: BackpropTest.testTapeNoOpGradient2By2") {
  const Tensor a = full({2, 2}, 2.0);
  GradientTape tape({.persistent = true});
  tape.watch(a);
  tape.stop();
  const std::int64_t live = memory_stats().live_tensors;
  CHECK(numbers(tape.gradient(a, a)) == List{1, 1, 1, 1});
  CHECK(memory_stats().live_tensors == live);
}

TEST_CASE("backprop: BackpropTest.testTapeNoOpGradientMultiTarget2By2") {
  const Tensor a = full({2, 2}, 2.0);
  GradientTape tape({.persistent = true});
  tape.watch(a);
  tape.stop();
  const std::int64_t live = memory_stats().live_tensors;
  CHECK(numbers(tape.gradient({a, a}, a)) == List{2, 2, 2, 2});
  CHECK(memory_stats().live_tensors == live);
}

TEST_CASE("backprop: BackpropTest.testTapeStopRecording") {
  const Variable x(scalar(1.0));
  GradientTape tape;
  Tensor y;
  {
    const auto pause = tape.stop_recording();
    y = x * x;
  }
  CHECK_FALSE(tape.gradient(y, x));
}

TEST_CASE("backprop: BackpropTest.testTapeStopStartRecording") {
  const Variable x(scalar(1.0));
  GradientTape tape({.persistent = true});
  const Tensor x2 = x * 2;
  Tensor y;
  {
    const auto pause = tape.stop_recording();
    y = x2 * x2;
  }
  const Tensor z = x2 * x2;
  CHECK_FALSE(tape.gradient(y, x2));
  CHECK(number(tape.gradient(z, x2)) == 4);
}

TEST_CASE("backprop: BackpropTest.testTapeReset") {
  const Variable v(scalar(1.0));
  GradientTape tape;
  Tensor loss = v * v;
  tape.reset();
  loss += v * v;
  CHECK(number(tape.gradient(loss, v)) == 2);
}

TEST_CASE("backprop: BackpropTest.testPythonMax") {
  const std::vector<Variable> x{Variable(scalar(2.0)), Variable(scalar(3.0)), Variable(scalar(5.0))};
  GradientTape tape;
  const Tensor largest = *std::max_element(
      x.begin(), x.end(), [](const Variable& a, const Variable& b) { return static_cast<bool>(a < b); });
  const std::vector<Gradient> g = tape.gradient(largest, x);
  CHECK(largest.item() == 5);
  CHECK_FALSE(g[0]);
  CHECK_FALSE(g[1]);
  CHECK(number(g[2]) == 1);
}

TEST_CASE("backprop: BackpropTest.testAutomaticWatchedVariables") {
  GradientTape tape;
  CHECK(tape.watched_variables().empty());
  const Variable v(scalar(1.0));
  Tensor loss = v * v;
  CHECK(tape.watched_variables() == std::vector{v});
  tape.reset();
  CHECK(tape.watched_variables().empty());
  loss += v * v;
  CHECK(tape.watched_variables() == std::vector{v});
}

TEST_CASE("backprop: BackpropTest.testExplicitWatchedVariables") {
  GradientTape tape;
  const Variable v(scalar(1.0));
  for (int round = 0; round < 2; ++round) {
    CHECK(tape.watched_variables().empty());
    tape.watch(v);
    CHECK(tape.watched_variables() == std::vector{v});
    tape.reset();
  }
}

TEST_CASE("backprop: BackpropTest.testGradientWithinTapeBlock") {
  const Variable v(scalar(1.0));
  for (const bool persistent : {false, true}) {
    GradientTape tape({.persistent = persistent});
    const Tensor loss = 2 * v;
    CHECK(number(tape.gradient(loss, v)) == 2);
  }
}

TEST_CASE("backprop: BackpropTest.testNestedSelfContexts") {
  GradientTape tape;
  CHECK_THROWS_AS(tape.resume(), TapeError);
}

TEST_CASE("backprop: BackpropTest.testWatchingIsTapeLocal") {
  const Variable x1(scalar(2.0), "x1", false), x2(scalar(2.0), "x2", false);
  GradientTape outer, inner;
  outer.watch(x1);
  inner.watch(std::vector{x1, x2});
  const Tensor y = power(x1, 3), z = square(x2);
  const auto first = inner.gradient({y, z}, {x1, x2});
  const auto second = outer.gradient(first, std::vector{x1, x2});
  CHECK(number(second[0]) == 12);
  CHECK_FALSE(second[1]);
}

TEST_CASE("backprop: BackpropTest.testGradientTapeReEnterContext") {
  const Tensor x = scalar(3.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = 2 * x;
  tape.stop();
  tape.resume();
  const Tensor z = 2 * y;
  CHECK(each_number(tape.gradient(z, {x})) == List{4});
}

TEST_CASE("backprop: BackpropTest.testGradientTapeRepeatedSource") {
  const Tensor x = scalar(3.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = 2 * x;
  CHECK(each_number(tape.gradient(y, {x, x})) == List{2, 2});
}

TEST_CASE("backprop: BackpropTest.testPersistentGradientTapeRepeatedSource") {
  const Tensor x = scalar(3.0), y = scalar(5.0);
  GradientTape tape({.persistent = true});
  tape.watch(std::pair(x, y));
  const Tensor z = x * x + x * y;
  CHECK(each_number(tape.gradient(z, {x, x})) == List{11, 11});
  CHECK(each_number(tape.gradient(z, {y, x})) == List{3, 11});
}

TEST_CASE("backprop: BackpropTest.testGradientTapeStructure") {
  const Tensor x1 = scalar(3.0), x2 = scalar(3.1), x3 = scalar(3.2);
  GradientTape tape({.persistent = true});
  tape.watch(std::tuple(x1, x2, x3));
  const Tensor y = x1 + 2 * x2 + 3 * x3;
  tape.stop();
  CHECK(number(tape.gradient(y, x1)) == 1);
  const std::tuple<Gradient> one = tape.gradient(y, std::tuple(x1));
  CHECK(number(std::get<0>(one)) == 1);
  const std::pair<Gradient, Gradient> two = tape.gradient(y, std::pair(x1, x2));
  CHECK(number(two.first) == 1);
  CHECK(number(two.second) == 2);
  const auto pairs = tape.gradient(y, std::vector{std::pair(x1, x2), std::pair(x2, x3)});
  CHECK(number(pairs[0].second) == 2);
  CHECK(number(pairs[1].first) == 2);
  CHECK(number(pairs[1].second) == 3);
  const auto [a, b, rest] = tape.gradient(y, std::tuple(x1, x2, std::vector{x1, x3}));
  CHECK(number(a) == 1);
  CHECK(number(b) == 2);
  CHECK(each_number(rest) == List{1, 3});
  const auto [first, by_name] = tape.gradient(y, std::tuple(x1, std::map<std::string, Tensor>{{"x2", x2}, {"x3", x3}}));
  CHECK(number(first) == 1);
  CHECK(number(by_name.at("x2")) == 2);
  CHECK(number(by_name.at("x3")) == 3);
}

TEST_CASE("backprop: BackpropTest.testGradientTape") {
  const Tensor x = scalar(3.0);
  GradientTape outer;
  outer.watch(x);
  Tensor y = x * x;
  Gradient inner_gradient;
  {
    GradientTape inner;
    inner.watch(y);
    const Tensor z = 2 * y;
    inner_gradient = inner.gradient(z, y);
  }
  CHECK(number(inner_gradient) == 2);
  y += *inner_gradient;
  CHECK(number(outer.gradient(y, x)) == 6);
}

TEST_CASE("backprop: BackpropTest.testGadientTapeCalledOnConstantTarget") {
  const Variable x(tensor({3.0})), y(tensor({2.0}));
  GradientTape tape;
  CHECK_FALSE(tape.gradient(x, y));
}

TEST_CASE("backprop: BackpropTest.testGradientTapeGradientCalledMultipleTimes") {
  const Tensor x = scalar(3.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x, z = y * y;
  CHECK(number(tape.gradient(z, x)) == 108);
  CHECK_THROWS_AS(tape.gradient(y, x), TapeError);
  CHECK_THROWS_WITH(tape.gradient(y, x), Contains("can only be called once") && Contains("persistent"));
}

TEST_CASE("backprop: BackpropTest.testPersistentTape") {
  const Tensor x = scalar(3.0);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = x * x, z = y * y;
  CHECK(number(tape.gradient(z, x)) == 4 * 3 * 3 * 3);
  CHECK(number(tape.gradient(y, x)) == 2 * 3);
}

TEST_CASE("backprop: BackpropTest.testHigherOrderGradient") {
  const Tensor x = scalar(3.0);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = power(x, 3);
  const Gradient first = tape.gradient(y, x), second = tape.gradient(first, x), third = tape.gradient(second, x);
  CHECK(y.item() == 27);
  CHECK(number(first) == 27);
  CHECK(number(second) == 18);
  CHECK(number(third) == 6);
}

TEST_CASE("backprop: BackpropTest.testPersistentNestedTape") {
  const Tensor x = scalar(3.0);
  GradientTape outer({.persistent = true});
  outer.watch(x);
  Tensor y = x * x, z;
  {
    GradientTape inner({.persistent = true});
    inner.watch(y);
    z = 2 * y;
    Gradient g;
    for (int i = 0; i < 2; ++i) {
      g = inner.gradient(z, y);
      CHECK(number(g) == 2);
    }
    y += *g;
  }
  CHECK(number(outer.gradient(y, x)) == 6);
  CHECK(number(outer.gradient(z, x)) == 12);
}

TEST_CASE("backprop: BackpropTest.testGradientTapeVariable") {
  const Variable v(scalar(1.0), "v");
  GradientTape tape;
  const Tensor y = v * v;
  CHECK(each_number(tape.gradient(y, {v})) == List{2});
}

TEST_CASE("backprop: BackpropTest.testNestedGradients") {
  const Tensor x = scalar(3.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x, z = y * y;
  CHECK(each_number(tape.gradient(z, {x, y})) == List{108, 18});
}

TEST_CASE("backprop: BackpropTest.testUnconnectedGradientsDefault") {
  const Tensor x = scalar(1.0), y = scalar(3.0);
  GradientTape tape;
  tape.watch(std::vector{x, y});
  CHECK_FALSE(tape.gradient(y * 2, x));
}

TEST_CASE("backprop: BackpropTest.testUnconnectedGradientsZeros") {
  const Tensor x = ones({2, 2}), y = scalar(3.0);
  GradientTape tape;
  tape.watch(std::vector{x, y});
  const Tensor g = *tape.gradient(y * 2, x, {.unconnected_gradients = UnconnectedGradients::zero});
  CHECK(g.shape() == Shape{2, 2});
  CHECK(g.to_vector() == List{0, 0, 0, 0});
}

TEST_CASE("backprop: BackpropTest.testUnconnectedGradientsVariablesZeros") {
  const Variable x(ones({2, 2})), y(scalar(3.0));
  GradientTape tape;
  tape.watch(std::vector{x, y});
  const Tensor g = *tape.gradient(y * 2, x, {.unconnected_gradients = UnconnectedGradients::zero});
  CHECK(g.shape() == Shape{2, 2});
  CHECK(g.to_vector() == List{0, 0, 0, 0});
}

TEST_CASE("backprop: BackpropTest.testUnknownUnconnectedGradientsValueGiven") {
  const Tensor x = scalar(1.0), y = scalar(1.0);
  GradientTape tape;
  tape.watch(std::vector{x, y});
  const Tensor z = y * 2;
  CHECK_THROWS_AS(tape.gradient(z, x, {.unconnected_gradients = UnconnectedGradients(9)}), ValueError);
  CHECK_THROWS_WITH(tape.gradient(z, x, {.unconnected_gradients = UnconnectedGradients(9)}),
                    Contains("Unknown value for unconnected_gradients: 9"));
}

TEST_CASE("backprop: BackpropTest.testUnconnectedGradientsNestedDefunZeros") {
  const Tensor x = scalar(1.0);
  GradientTape tape;
  tape.watch(x);
  const auto f = [](const Tensor& t) { return t * t; };
  const auto h = [&](const Tensor& t) { return stop_gradient(f(t)); };
  const Tensor y = h(x + 2);
  CHECK(number(tape.gradient(y, x, {.unconnected_gradients = UnconnectedGradients::zero})) == 0);
}

TEST_CASE("backprop: BackpropTest.testInvalidRecordOperationMessage") {
  const Tensor x = scalar(1.0), y = scalar(2.0);
  GradientTape tape;
  tape.watch(x);
  record_operation("InvalidBackprop", {&x, 1}, {&y, 1}, [](auto) { return std::vector<Gradient>{}; });
  CHECK_THROWS_WITH(tape.gradient(y, x),
                    Contains("Num gradients 0 generated for op InvalidBackprop do not match num inputs 1"));
}

TEST_CASE("backprop: BackpropTest.testZerosCacheDoesntLeakAcrossGraphs") {
  const auto gradient = [] {
    const Tensor t = ones({10, 4}, DType::float32), x = full({10, 4}, 2.f, DType::float32);
    GradientTape tape;
    tape.watch(x);
    const Tensor y = concatenate({square(split(x, 2, 1)[0]), t}, 1);
    return numbers(tape.gradient(y, x));
  };
  List expected;
  for (int i = 0; i < 10; ++i) expected.insert(expected.end(), {4, 4, 0, 0});
  CHECK(gradient() == expected);
  CHECK(gradient() == expected);
}

TEST_CASE("backprop: BackpropTest.testSelectivelyWatchVariables") {
  const Variable x1(scalar(1.0)), x2(scalar(1.0));
  GradientTape tape({.watch_accessed_variables = false});
  tape.watch(x2);
  const Tensor y = square(x1), z = power(x2, 3);
  CHECK(tape.watched_variables() == std::vector{x2});
  const auto g = tape.gradient({y, z}, {x1, x2});
  CHECK_FALSE(g[0]);
  CHECK(number(g[1]) == 3);
}

TEST_CASE("backprop: BackpropTest.testDifferentiatingScalarCache") {
  const Tensor x1 = scalar(3.0), x2 = scalar(3.0);
  GradientTape tape;
  tape.watch(std::vector{x1, x2});
  CHECK(each_number(tape.gradient(x1 + x2, {x1})) == List{1});
}

TEST_CASE("backprop: BackpropTest.testVariablesAndConstantsProduceTheSameGradients") {
  const auto gradients_of = [](const auto& a, const auto& b) {
    GradientTape tape;
    tape.watch(std::vector{a, b});
    const Tensor y = power(a, 3), z = square(b);
    return each_number(tape.gradient({y, z}, {a, b}));
  };
  CHECK(gradients_of(scalar(2.0), scalar(2.0)) == List{12, 4});
  CHECK(gradients_of(Variable(scalar(2.0)), Variable(scalar(2.0))) == List{12, 4});
}

TEST_CASE("backprop: BackpropTest.testUnknownShapes") {
  for (const Tensor& a : {scalar(2.0), full({3, 1}, 2.0), full({0}, 2.0)}) {
    GradientTape tape;
    tape.watch(a);
    const Tensor b = power(a, 3);
    const std::size_t n = static_cast<std::size_t>(a.size());
    CHECK(b.to_vector() == List(n, 8));
    CHECK(numbers(tape.gradient(b, a)) == List(n, 12));
  }
}

TEST_CASE("backprop: BackpropTest.testWatchBadThing") {
  const auto can_watch = []<class T>(std::type_identity<T>) {
    return requires(GradientTape & tape, const T& x) { tape.watch(x); };
  };
  CHECK(can_watch(std::type_identity<Tensor>()));
  CHECK(can_watch(std::type_identity<std::vector<Variable>>()));
  CHECK_FALSE(can_watch(std::type_identity<double>()));
  CHECK_FALSE(can_watch(std::type_identity<std::vector<double>>()));
  GradientTape tape;
  CHECK_THROWS_AS(tape.watch(Tensor()), ValueError);
}

namespace {
// A sparse matrix: what a tape follows of it are its values.
struct Sparse {
  std::vector<std::array<std::int64_t, 2>> places;
  Tensor values;
  auto leaves() { return std::tie(values); }
};
}  // namespace

TEST_CASE("backprop: BackpropTest.testWatchComposite") {
  const Sparse s{{{0, 0}, {1, 2}}, tensor<float>({1, 2})};
  GradientTape tape;
  tape.watch(s);
  const Tensor z = sum(s.values);
  CHECK(numbers(tape.gradient(z, s.values)) == List{1, 1});
}

TEST_CASE("backprop: BackpropTest.testWatchedVariablesAfterNonPersistentGradientCall") {
  const Variable x(scalar(1.0));
  GradientTape tape;
  tape.watch(x);
  CHECK(number(tape.gradient(x, x)) == 1);
  CHECK(tape.watched_variables() == std::vector{x});
}

TEST_CASE("backprop: BackpropTest.testWatchedVariablesOnlyHasVariablesFromLastTape") {
  const Variable x(scalar(1.0)), z(scalar(2.0));
  {
    GradientTape tape;
    tape.watch(x);
  }
  GradientTape tape;
  tape.watch(z);
  CHECK(number(tape.gradient(z, z)) == 1);
  CHECK(tape.watched_variables() == std::vector{z});
}

TEST_CASE("backprop: BackpropTest.testWatchedVariablesRespectReset") {
  const Variable x(scalar(1.0)), z(scalar(2.0));
  GradientTape tape;
  tape.watch(x);
  CHECK(tape.watched_variables() == std::vector{x});
  tape.reset();
  tape.watch(z);
  CHECK(tape.watched_variables() == std::vector{z});
  CHECK(number(tape.gradient(z, z)) == 1);
  CHECK(tape.watched_variables() == std::vector{z});
}

TEST_CASE("backprop: AggregateIndexedSlicesGradientsTest.testNoGradients") { CHECK_FALSE(VSpace().aggregate({})); }

namespace {
// Every row of x, as slices.
Gradient as_slices(const Tensor& x) { return IndexedSlices{x, arange(x.shape()[0]), x.shape()}; }
const auto first_rows = [] { return tensor({{1., 2.}, {0., 0.}, {3., 4.}}); };
const auto second_rows = [] { return tensor({{0., 0.}, {5., 6.}, {7., 8.}}); };
const List total_rows{1, 2, 5, 6, 10, 12};
}  // namespace

TEST_CASE("backprop: AggregateIndexedSlicesGradientsTest.testOneGradient") {
  const Gradient t = as_slices(first_rows());
  const Gradient result = VSpace().aggregate({&t, 1});
  CHECK(result.is_slices());
  CHECK(numbers(result) == numbers(t));
}

TEST_CASE(
    "backprop: AggregateIndexedSlicesGradientsTest.testMultipleGradients, "
    "AggregateIndexedSlicesGradientsTest.testMultipleGradientsWithNones") {
  const Gradient terms[] = {as_slices(first_rows()), as_slices(second_rows()), Gradient()};
  for (const std::size_t count : {2u, 3u}) {
    const Gradient result = VSpace().aggregate(std::span(terms, count));
    CHECK(result.is_slices());
    CHECK(numbers(result) == total_rows);
  }
}

TEST_CASE("backprop: AggregateIndexedSlicesGradientsTest.testMixedTensorAndIndexedSlices") {
  const Gradient terms[] = {as_slices(first_rows()), second_rows()};
  CHECK(numbers(VSpace().aggregate(terms)) == total_rows);
}
