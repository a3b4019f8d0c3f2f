// What TensorFlow's gradients_test.py, backprop_test.py and record_test.py check of custom_gradient, recompute_grad,
// grad_pass_through and prevent_gradient, with their inputs and numbers.
#include <cmath>

#include "catch.hpp"
#include "tensorflow/support.hpp"

using namespace reel;
using Catch::Contains;
using List = std::vector<double>;
using Gradients = std::vector<Gradient>;
using Variables = std::span<const Variable>;

namespace {

// The identity, with `factor` times the gradient.
auto scaled_identity(double factor) {
  return custom_gradient(
      [factor](const Tensor& x) { return std::pair(x, [factor](const Tensor& dy) { return factor * dy; }); });
}
// The product, with the gradients of its factors exchanged.
const auto crossed_product = custom_gradient([](const Tensor& a, const Tensor& b) {
  return std::pair(a * b, [=](const Tensor& dy) { return std::pair(dy * a, dy * b); });
});

}  // namespace

TEST_CASE("custom_gradient: CustomGradientTest.testCustomGradientTrivial") {
  const auto f = scaled_identity(3);
  const Tensor x = scalar(3.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = f(f(x));
  CHECK(y.item() == 3);
  CHECK(number(tape.gradient(y, x)) == 9);
}

TEST_CASE("custom_gradient: CustomGradientTest.testCustomGradient") {
  const Tensor a = scalar(3.0), b = scalar(5.0);
  GradientTape tape;
  tape.watch(std::pair(a, b));
  const Tensor y = crossed_product(a, b);
  CHECK(y.item() == 15);
  CHECK(each_number(tape.gradient(y, {a, b})) == List{3, 5});
}

TEST_CASE("custom_gradient: CustomGradientTest.testCustomGradientClass") {
  struct Model {
    Tensor multiply(const Tensor& x, const Tensor& y) const {
      return custom_gradient([](const Tensor& a, const Tensor& b) {
        return std::pair(a * b, [=](const Tensor& dy) { return std::pair(dy * a, dy * b); });
      })(x, y);
    }
  };
  const Tensor a = scalar(3.0), b = scalar(5.0);
  GradientTape tape;
  tape.watch(std::pair(a, b));
  CHECK(each_number(tape.gradient(Model().multiply(a, b), {a, b})) == List{3, 5});
}

TEST_CASE("custom_gradient: CustomGradientTest.testCustomGradientErrors, BackpropTest.testErrors") {
  const auto f = custom_gradient(
      [](const Tensor& x) { return std::pair(x, [](const Tensor&) -> Tensor { throw std::runtime_error("mine"); }); });
  const Tensor x = scalar(1.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = f(x);
  CHECK_THROWS_WITH(tape.gradient(y, x), "mine");
}

TEST_CASE("custom_gradient: BackpropTest.testCustomGradientEmptyError") {
  const auto f = custom_gradient(
      [](const Tensor& x) { return std::pair(x, [](const Tensor&) { return std::vector<Tensor>(); }); });
  const Variable x(scalar(1.0));
  GradientTape tape;
  const Tensor y = f(x);
  CHECK_THROWS_AS(tape.gradient(y, x), ValueError);
}

TEST_CASE("custom_gradient: CustomGradientTest.testCustomGradientWithVariables") {
  const Variable kernel(full({4, 3}, 0.5));
  const auto f = custom_gradient([&](const Tensor& x) {
    return std::pair(matmul(x, kernel), [=](const Tensor& dy, Variables variables) {
      CHECK(variables.size() == 1);
      return std::pair(matmul(dy, variables[0], {.transpose_b = true}), Gradients{ones({4, 3})});
    });
  });
  const Tensor x = ones({2, 4});
  GradientTape tape;
  tape.watch(x);
  const auto g = tape.gradient(f(x), {x, kernel});
  CHECK(numbers(g[0]) == List(8, 1.5));
  CHECK(sum(*g[1]).item() == 12);
}

TEST_CASE("custom_gradient: CustomGradientTest.testRecursiveCustomGradient") {
  const Variable kernel(full({4, 3}, 0.5));
  const auto rule = [](const Tensor& dy, Variables variables) {
    CHECK(variables.size() == 1);
    return std::pair(matmul(dy, variables[0], {.transpose_b = true}), Gradients{ones({4, 3})});
  };
  const auto f = custom_gradient([&](const Tensor& x) { return std::pair(matmul(x, kernel), rule); });
  const auto twice = custom_gradient([&](const Tensor& x) { return std::pair(f(x), rule); });
  const Tensor x = ones({2, 4});
  GradientTape tape;
  tape.watch(x);
  const auto g = tape.gradient(twice(x), {x, kernel});
  CHECK(g[0]);
  CHECK(sum(*g[1]).item() == 12);
}

// Ragged tensors are trees of tensors here.
TEST_CASE("custom_gradient: CustomGradientTest.testCustomGradientRaggedTensor") {
  using Rows = std::vector<Tensor>;
  const auto f = custom_gradient([](const Rows& x) {
    return std::pair(Rows{x[0] * x[0], x[1] * x[1]}, [](const Rows& dy) { return Rows{3 * dy[0], 3 * dy[1]}; });
  });
  const Rows x{tensor({1., 2.}), tensor({3.})};
  GradientTape tape;
  tape.watch(x);
  const Rows y = f(x);
  CHECK(y[0].to_vector() == List{1, 4});
  CHECK(y[1].to_vector() == List{9});
  const auto g = tape.gradient(y, x);
  CHECK(numbers(g[0]) == List{3, 3});
  CHECK(numbers(g[1]) == List{3});
}

TEST_CASE("custom_gradient: CustomGradientTest.testCustomGradientMultipleRaggedTensors") {
  using Rows = std::vector<Tensor>;
  const auto f = custom_gradient([](const Rows& x, const Rows& y) {
    return std::pair(
        std::pair(Rows{x[0] * x[0], x[1] * x[1]}, Rows{2 * y[0], 2 * y[1]}), [](const std::pair<Rows, Rows>& dy) {
          return std::pair(Rows{3 * dy.first[0], 3 * dy.first[1]}, Rows{4 * dy.second[0], 4 * dy.second[1]});
        });
  });
  const Rows a{tensor({1., 2.}), tensor({3.})}, b{tensor({4.}), tensor({5., 6.})};
  GradientTape tape;
  tape.watch(std::pair(a, b));
  const auto y = f(a, b);
  CHECK(y.first[0].to_vector() == List{1, 4});
  CHECK(y.second[1].to_vector() == List{10, 12});
  const auto [ga, gb] = tape.gradient(y, std::pair(a, b));
  CHECK(numbers(ga[0]) == List{3, 3});
  CHECK(numbers(ga[1]) == List{3});
  CHECK(numbers(gb[0]) == List{4});
  CHECK(numbers(gb[1]) == List{4, 4});
}

TEST_CASE("custom_gradient: CustomGradientTest.testCustomGradientWithCapture") {
  const Tensor x = scalar(3.0);
  const auto f = [&](const Tensor& y) {
    GradientTape tape;
    tape.watch(y);
    return *tape.gradient(crossed_product(x, y), y);
  };
  CHECK(f(scalar(5.0)).item() == 5);
}

TEST_CASE("custom_gradient: CustomGradientTest.testCustomGradientWithVariablesNoFalsePositives") {
  const Variable before(full({4, 3}, 0.25)), left(full({3, 3}, 0.5)), right(full({3, 3}, -0.5)), inside(eye(3));
  const auto f = custom_gradient([&](const Tensor& x) {
    return std::pair(matmul(x, inside), [=](const Tensor& dy, Variables variables) {
      CHECK(variables.size() == 1);
      CHECK(variables[0] == inside);
      return std::pair(matmul(dy, variables[0], {.transpose_b = true}), Gradients{ones({3, 3})});
    });
  });
  GradientTape tape;
  const Tensor b = matmul(ones({2, 4}), before), x = matmul(b, left) + matmul(b, right);
  const auto g = tape.gradient(f(x), {x, before, left, right, inside});
  for (const Gradient& each : g) CHECK(each);
  CHECK(sum(*g[4]).item() == 9);
}

TEST_CASE("custom_gradient: CustomGradientTest.testCustomGradientWithVariablesEager") {
  const Variable kernel(ones({2, 4}));
  const auto f = custom_gradient([&](const Tensor& x) {
    return std::pair(matmul(x, kernel), [](const Tensor&, Variables variables) {
      CHECK(variables.size() == 1);
      return std::pair(ones({3, 2}), Gradients{ones({2, 4})});
    });
  });
  const Tensor x = ones({3, 2}) + 2;
  GradientTape tape;
  tape.watch(x);
  const auto g = tape.gradient(f(x), {x, kernel});
  CHECK(sum(*g[0]).item() == 6);
  CHECK(sum(*g[1]).item() == 8);
}

TEST_CASE("custom_gradient: CustomGradientTest.testCustomGradientVariablesKwonlyArgs") {
  const Variable captured(scalar(3.0)), x(scalar(6.0));
  const auto f = custom_gradient([&](const Tensor& t) {
    return std::pair(t * captured, [=](const Tensor& dy, Variables variables) {
      CHECK(variables.size() == 1);
      CHECK(variables[0] == captured);
      return std::pair(4.0 * captured * dy, Gradients{5.0 * t * dy});
    });
  });
  GradientTape tape({.persistent = true});
  const Tensor y = f(x);
  CHECK(number(tape.gradient(y, x)) == 12);
  CHECK(number(tape.gradient(y, captured)) == 30);
}

TEST_CASE("custom_gradient: CustomGradientTest.testWithNumpyInputs") {
  const auto f = custom_gradient([](const Tensor& x) { return std::pair(x, [](const Tensor&) { return none; }); });
  const std::vector<float> values(6, 1.f);
  const Tensor x = from_data(values, {3, 2});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = f(x);
  CHECK(y.to_vector<float>() == values);
  CHECK_FALSE(tape.gradient(y, x));
}

TEST_CASE("custom_gradient: CustomGradientTest.testCustomGradientStructuralInputOutput") {
  // Arguments (t, (t, [t, t])) give results ([t], (t, t)); their gradients come in the structures of the arguments.
  using Inner = std::pair<Tensor, std::vector<Tensor>>;
  using Result = std::tuple<std::vector<Tensor>, std::pair<Tensor, Tensor>>;
  const auto f = custom_gradient([](const Tensor& a, const Inner& b) {
    return std::pair(Result({a * 1}, {b.first * 1, b.second[0] * b.second[1]}), [](const Result& dy) {
      const auto& [list, pair] = dy;
      CHECK(list.size() == 1);
      return std::pair(list[0] * 2, Inner(pair.first * 3, {pair.second * 4, pair.second * 5}));
    });
  });
  const Tensor a = scalar(1.0);
  const Inner b{scalar(2.0), {scalar(3.0), scalar(4.0)}};
  GradientTape tape({.persistent = true});
  tape.watch(std::pair(a, b));
  const Result y = f(a, b);
  CHECK(std::get<1>(y).second.item() == 12);
  tape.stop();
  const auto [ga, gb] =
      tape.gradient(y, std::pair(a, b), {.output_gradients = Result({scalar(10.0)}, {scalar(100.0), scalar(1000.0)})});
  CHECK(number(ga) == 20);
  CHECK(number(gb.first) == 300);
  CHECK(each_number(gb.second) == List{4000, 5000});
}

// TensorFlow finds the variables that a function depends on in its graph. Here the function's gradient is handed them.
TEST_CASE(
    "custom_gradient: GetDependentVariablesTest.testNoVariables, GetDependentVariablesTest.testVariablesOutside, "
    "GetDependentVariablesTest.testVariableSamePrefix, GetDependentVariablesTest.testVariablesOutsideButDSeparated, "
    "GetDependentVariablesTest.testVariablesOutsideAndNonTrainable, GetDependentVariablesTest.testNesting, "
    "GetDependentVariablesTest.testVariablesOutsideAndCustomGradient") {
  const Variable v(scalar(100.0), "my_variable"), w(scalar(50.0), "my_variable_ones"), fixed(scalar(1.0), "f", false);
  // Which variables the gradient of x -> f(x) is handed.
  const auto dependent = [&](auto f) {
    std::vector<Variable> found;
    const auto wrapped = custom_gradient([&](const Tensor& x) {
      return std::pair(f(x), [&](const Tensor& dy, Variables variables) {
        for (const Variable& each : variables) found.push_back(each);
        return std::pair(dy, Gradients(variables.size(), dy));
      });
    });
    const Tensor x = scalar(2.0);
    GradientTape tape;
    tape.watch(x);
    tape.gradient(wrapped(x), x);
    std::vector<std::uint64_t> ids;
    for (const Variable& each : found) ids.push_back(each.id());
    return ids;
  };
  CHECK(dependent([](const Tensor& x) { return identity(x) + 5.0; }).empty());
  CHECK(dependent([&](const Tensor& x) { return identity(x) + 5.0 + v; }) == std::vector{v.id()});
  CHECK(dependent([&](const Tensor& x) { return identity(x) + 5.0 + v + w; }) == std::vector{v.id(), w.id()});
  const Tensor outside = v * 5.0;
  CHECK(dependent([&](const Tensor& x) { return identity(x) + outside; }).empty());
  CHECK(dependent([&](const Tensor& x) { return x + v + fixed; }) == std::vector{v.id()});
  CHECK(dependent([&](const Tensor& x) {
          const std::map<std::string, Tensor> inputs{{"x", x}};
          return identity(inputs.at("x")) + 5.0 + v;
        }) == std::vector{v.id()});
  const auto ones_with_gradient = custom_gradient(
      [](const Tensor& t) { return std::pair(ones_like(t), [](const Tensor& dy) { return identity(dy); }); });
  CHECK(dependent([&](const Tensor& x) { return identity(x) + 5.0 + ones_with_gradient(v); }) == std::vector{v.id()});
}

// Its value is not differentiated, but the variable was read: TensorFlow's eager mode counts it too.
TEST_CASE("custom_gradient: GetDependentVariablesTest.testVariablesOutsideAndNonDifferentiable") {
  const Variable v(full({5}, 100.0));
  const Tensor x = scalar(2.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = identity(x) + 5.0 + ones_like(v);
  const auto g = tape.gradient(y, {x, v});
  CHECK(number(g[0]) == 5);
  CHECK_FALSE(g[1]);
}

TEST_CASE("custom_gradient: FunctionGradientsTest.testFunctionGradientsWithGradFunc") {
  const auto f = custom_gradient([](const Tensor& x, const Tensor& b) {
    return std::pair(x * x + b, [=](const Tensor& dy) { return std::pair(dy * 2.0 * 2.0 * x, dy * 2.0); });
  });
  const Tensor x = tensor({2.0}), b = tensor({1.0});
  GradientTape tape;
  tape.watch(std::pair(x, b));
  CHECK(each_number(tape.gradient(f(x, b), {x, b})) == List{4 * 2, 1 * 2});
}

TEST_CASE("custom_gradient: PreventGradientTest.testPreventGradient") {
  const Tensor in = ones({100, 32});
  GradientTape tape({.persistent = true});
  tape.watch(in);
  const Tensor out = prevent_gradient(in);
  CHECK(array_equal(out, in));
  CHECK_THROWS_AS(tape.gradient(out, in), LookupError);
  CHECK_THROWS_WITH(tape.gradient(out, in), Contains("explicitly disabled"));
  CHECK_THROWS_WITH(tape.gradient(prevent_gradient(in, "not through the sampler"), in),
                    Contains("not through the sampler"));
}

TEST_CASE("custom_gradient: GradPassThroughTest.test_gradients_v1, GradPassThroughTest.test_gradients_v2") {
  const Variable x(scalar(1.0), "x"), z(scalar(3.0), "z");
  const auto assigned = [&](const Tensor& value) {
    x.assign(value);
    return stop_gradient(x);
  };
  {
    GradientTape tape;
    CHECK_FALSE(tape.gradient(assigned(square(z)), z));
  }
  {
    GradientTape tape;
    const Tensor y = grad_pass_through(assigned)(square(z));
    CHECK(y.item() == 9);
    CHECK(number(tape.gradient(y, z)) == 6);
  }
  GradientTape tape;
  const Tensor y = grad_pass_through([&](const Tensor& v) { return x * v; })(z);
  CHECK(y.item() == 27);
  const auto g = tape.gradient(y, {x, z});
  CHECK_FALSE(g[0]);
  CHECK(number(g[1]) == 1);
}

TEST_CASE("custom_gradient: BackpropTest.testCustomGradient") {
  const auto product = custom_gradient([](const Tensor& a, const Tensor& b) {
    return std::pair(a * b, [=](const Tensor& dy) { return std::pair(dy * b, dy * a); });
  });
  const Variable x(scalar(2.0), "x");
  List losses;
  for (int i = 0; i < 5; ++i) {
    GradientTape tape;
    const Tensor loss = product(scalar(2.0), x);
    losses.push_back(loss.item());
    x.assign_sub(0.25 * *tape.gradient(loss, x));
  }
  CHECK(losses == List{4, 3, 2, 1, 0});
}

TEST_CASE("custom_gradient: BackpropTest.testCustomGradientIdentity") {
  const auto [y, vjp] = make_vjp(scaled_identity(2))(1.0);
  CHECK(y.item() == 1);
  CHECK(number(vjp()) == 2);
}

TEST_CASE("custom_gradient: BackpropTest.testImplicitGradientsCustomGradientAndCachedVariableValue") {
  const auto f = custom_gradient(
      [](const Tensor& x) { return std::pair(square(x), [=](const Tensor& dy) { return 2 * dy * x + 1; }); });
  const Variable x(scalar(3.0));
  GradientTape tape;
  const Tensor y = f(x);
  CHECK(tape.watched_variables() == std::vector{x});
  CHECK(number(tape.gradient(y, x)) == 7);
}

TEST_CASE("custom_gradient: BackpropTest.testCustomGradientInEagerAndGraph") {
  const auto f =
      custom_gradient([](const Tensor& x) { return std::pair(x * x, [](const Tensor& dy) { return 4 * dy; }); });
  const Tensor c = scalar(1.0);
  GradientTape tape;
  tape.watch(c);
  CHECK(number(tape.gradient(f(c), c)) == 4);
}

TEST_CASE("custom_gradient: BackpropTest.testOverrideSecondOrderWithCustomGradient") {
  // x + 10, whose first derivative is -1.1 and whose second is -2.1.
  const auto f = custom_gradient([](const Tensor& x) {
    return std::pair(x + 10.0, [=](const Tensor& dz) {
      const auto first = custom_gradient(
          [](const Tensor& t) { return std::pair(full_like(t, -1.1), [](const Tensor& ddz) { return -2.1 * ddz; }); });
      return dz * first(x);
    });
  });
  const Tensor c = scalar(1.0);
  GradientTape outer, inner;
  outer.watch(c);
  inner.watch(c);
  const Tensor d = power(f(c), 4.0);
  const Gradient dd = inner.gradient(d, c);
  CHECK(number(dd) == Approx(4 * std::pow(11.0, 3) * -1.1).epsilon(1e-14));
  CHECK(number(outer.gradient(dd, c)) ==
        Approx(3 * 4 * std::pow(11.0, 2) * -1.1 * -1.1 + 4 * std::pow(11.0, 3) * -2.1).epsilon(1e-14));
}

TEST_CASE("custom_gradient: BackpropTest.testCustomGradientForwardprop") {
  const auto f = custom_gradient([](const Tensor& x) {
    return std::pair(scalar(2.0 * x.item()), [=](const Tensor& dz) {
      return custom_gradient([](const Tensor&, const Tensor&) {
        return std::pair(scalar(2.1), [](const Tensor&) { return std::pair(scalar(2.2), scalar(3.1)); });
      })(x, dz);
    });
  });
  const Tensor c = scalar(1.0), output_gradient = ones({});
  GradientTape outer({.persistent = true}), inner;
  outer.watch(std::pair(c, output_gradient));
  inner.watch(c);
  const Tensor y = f(c);
  CHECK(y.item() == 2);
  const Gradient first = inner.gradient(y, c, {.output_gradients = output_gradient});
  CHECK(number(first) == 2.1);
  CHECK(number(outer.gradient(first, c)) == 2.2);
  CHECK(number(outer.gradient(first, output_gradient)) == 3.1);
}

TEST_CASE("custom_gradient: TapeTest.testTwoOutputs") {
  using Pair = std::pair<Tensor, Tensor>;
  const auto two_outputs = custom_gradient([](const Tensor& a, const Tensor& b) {
    const Tensor product = matmul(a, b);
    return std::pair(Pair(product, sum(product)), [=](const Pair& dy) {
      const Tensor by_sum = ones_like(product) * dy.second;
      return Pair(matmul(dy.first + by_sum, b, {.transpose_b = true}),
                  matmul(a, dy.first + by_sum, {.transpose_a = true}));
    });
  });
  const Tensor a = tensor({{1., 0.}, {0., 1.}}), b = tensor({{1., 2.}, {3., 4.}});
  GradientTape tape;
  tape.watch(std::pair(a, b));
  const auto [product, total] = two_outputs(a, b);
  const auto g = tape.gradient(total + sum(product), {a, b});
  CHECK(numbers(g[0]) == List{6, 14, 6, 14});
  CHECK(numbers(g[1]) == List{2, 2, 2, 2});
}
