// What TensorFlow's gradients_test.py and backprop_test.py check of recompute_grad, cond and while_loop, with their
// inputs and numbers.
#include "catch.hpp"
#include "tensorflow/support.hpp"

using namespace reel;
using List = std::vector<double>;

namespace {

// The gradients of f(inputs, parameters) and of recompute_grad(f) by x, one of the two, are the same and not zero.
template <class F, class P, class X>
void check_recomputed(F f, const Tensor& inputs, const P& parameters, const X& x) {
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const auto again = recompute_grad(f)(inputs, parameters), once = f(inputs, parameters);
  tape.stop();
  const Gradient g = tape.gradient(once, x);
  CHECK(numbers(tape.gradient(again, x)) == numbers(g));
  CHECK(max(abs(*g)).item() > 0);
}
const auto product = [](const Tensor& x, const Tensor& w) { return x * w; };
const auto products = [](const Tensor& x, const Tensor& w) { return std::pair(x * w, x * w * 2.0); };

}  // namespace

TEST_CASE("recompute: VariablesGradientTest.testFnRecompute") {
  const Tensor inputs = ones({10, 10});
  const Variable w(ones({10}), "w");
  check_recomputed(product, inputs, w, inputs);
  check_recomputed(product, inputs, w, w);
  check_recomputed(products, inputs, w, inputs);
  check_recomputed(products, inputs, w, w);
}

TEST_CASE("recompute: VariablesGradientTest.testFnRecomputeSameTensor") {
  const Tensor x = ones({10});
  check_recomputed(product, x, x, x);
  check_recomputed([](const Tensor& a, const Tensor&) { return a; }, x, x, x);
}

TEST_CASE(
    "recompute: VariablesGradientTest.testFnRecomputeWithScopeGradient, "
    "VariablesGradientTest.testFnRecomputeWithScopeGradientTape, "
    "VariablesGradientTest.testFnRecomputeWithScopeGradients") {
  const Variable w(linspace(0.5, 1.5, 10), "inner_scope/w");
  const auto f = [&](const Tensor& x) { return x * w; };
  const Tensor x = full({10, 10}, 0.25);
  GradientTape tape({.persistent = true});
  const Tensor again = recompute_grad(f)(x), once = f(x);
  CHECK(tape.watched_variables() == std::vector{w});
  CHECK(numbers(tape.gradient(again, w)) == List(10, 2.5));
  CHECK(numbers(tape.gradient(once, w)) == List(10, 2.5));
}

TEST_CASE("recompute: VariablesGradientTest.testRecomputeGradZeroSizeInput") {
  const Tensor x = zeros({0});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = recompute_grad([](const Tensor& t) { return 2 * t; })(x);
  CHECK((*tape.gradient(y, x)).shape() == Shape{0});
}

TEST_CASE("recompute: VariablesGradientTest.testRecomputeGradDifferentDtypesInputs") {
  const auto f = recompute_grad([](const Tensor& a, const Tensor& b) { return std::pair(2 * a, 2 * b); });
  const Tensor a = scalar(1), b = scalar(1.f);
  GradientTape tape;
  tape.watch(b);
  const auto y = f(a, b);
  CHECK(y.first.item<int>() == 2);
  const auto g = tape.gradient(y, {a, b});
  CHECK_FALSE(g[0]);
  CHECK(number(g[1]) == 2);
}

TEST_CASE("recompute: BackpropTest.testRecomputeGradWithDifferentShape") {
  const Variable a(tensor({1., 2.}), "a"), b(scalar(1.0), "b");
  GradientTape tape;
  const auto list = recompute_grad([](const std::vector<Tensor>& x) { return std::vector{x[0] + 1, x[1] + 1}; });
  const std::vector<Tensor> y = list(std::vector{a, b});
  CHECK(y[0].to_vector() == List{2, 3});
  CHECK(y[1].item() == 2);
  using Named = std::map<std::string, Tensor>;
  const auto by_name = recompute_grad([](const Named& x) {
    Named result;
    for (const auto& [name, value] : x) result[name] = value + 1;
    return result;
  });
  const Named z = by_name(Named{{"a", a}, {"b", b}});
  CHECK(z.at("a").to_vector() == List{2, 3});
  CHECK(z.at("b").item() == 2);
  const auto g = tape.gradient(std::pair(y, z), {a, b});
  CHECK(numbers(g[0]) == List{2, 2});
  CHECK(number(g[1]) == 2);
}

TEST_CASE("recompute: BackpropTest.testRecomputeGradWithNestedFunctionAndWhileLoop") {
  const auto inner = [](const Tensor& z) { return z + 1; };
  const auto middle = [&](const Tensor& y) {
    return std::get<0>(while_loop([](const Tensor&, const Tensor& i) { return i < 10.0; },
                                  [&](const Tensor& v, const Tensor& i) { return std::tuple(inner(v), i + 1.0); },
                                  std::tuple(y, scalar(0.0))));
  };
  const auto outer = recompute_grad([&](const Tensor& x) { return middle(x); });
  std::int64_t live = 0;
  for (int round = 0; round < 5; ++round) {
    {
      const Variable x(scalar(1.0), "x");
      GradientTape tape;
      const Tensor y = outer(x);
      CHECK(y.item() == 11);
      CHECK(number(tape.gradient(y, x)) == 1);
    }
    if (round == 0) live = memory_stats().live_tensors;
  }
  CHECK(memory_stats().live_tensors == live);
}

TEST_CASE("recompute: BackpropTest.testGradientTapeWithCond") {
  const Tensor x = scalar(3.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = cond(
      x < x, [&] { return x; }, [&] { return x * x; });
  CHECK(number(tape.gradient(y, x)) == 6);
}

TEST_CASE("recompute: BackpropTest.testGradientTapeWithWhileLoop") {
  const Tensor x = scalar(2.0);
  GradientTape tape;
  tape.watch(x);
  const auto [i, y] =
      while_loop([](const Tensor& k, const Tensor&) { return k < 3; },
                 [](const Tensor& k, const Tensor& v) { return std::tuple(k + 1, v * 2); }, std::tuple(scalar(1), x));
  CHECK(i.item<int>() == 3);
  CHECK(number(tape.gradient(y, x)) == 4);
}

TEST_CASE("recompute: BackpropTest.testGradientInsideLoop") {
  const Variable v(scalar(1.0));
  int turns = 0;
  const auto body = [&](const Tensor& i) {
    static_cast<void>(v + 1.0);
    GradientTape inner;
    CHECK(number(inner.gradient(v * 2, v)) == 2);
    ++turns;
    return i + 1.0;
  };
  const Tensor never = while_loop([](const Tensor&) { return false; }, body, scalar(1.0));
  CHECK(never.item() == 1);
  CHECK(turns == 0);
  GradientTape outer;
  CHECK(while_loop([](const Tensor& i) { return i < 4.0; }, body, scalar(1.0)).item() == 4);
  CHECK(turns == 3);
}
