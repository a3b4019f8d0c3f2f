// implicit_grad, gradients_function and their kin, parameters by position and by name. Rules S41-S65, S130, C11.
#include <array>
#include <map>
#include <reel/reel.hpp>

#include "catch.hpp"
#include "support/numbers.hpp"
#include "support/warnings.hpp"

using namespace reel;
using Catch::Contains;
using support::number, support::numbers;

namespace {

using Values = std::vector<double>;

// x^3 y - x y^2: at (2, 3) 6, with derivatives 27 and -4, and d2/dx2 36.
const auto polynomial = [](const Tensor& x, const Tensor& y) { return x * x * x * y - x * y * y; };
const auto product = [](const Tensor& x, const Tensor& y) { return sum(x * y); };

// Checks that the stack of tapes is empty: an op is not recorded.
void require_balanced() { CHECK_THROWS_AS(gradients(scalar(1.0), scalar(1.0)), TapeError); }

}  // namespace

TEST_CASE("S44, S45: implicit gradients of the variables read, in order of construction; arguments are not watched") {
  const Variable v0(scalar(3.0), "v0"), v1(scalar(4.0), "v1"), unread(scalar(1.0), "unread"),
      fixed(scalar(5.0), "fixed", false);
  const Tensor x = scalar(2.0);
  const auto f = [&](const Tensor& t, double scale) {
    CHECK(t.id() == x.id());
    const Tensor idle = v1.read();
    return v1 * v0 * v0 * fixed * t * scale;
  };
  const auto [y, list] = implicit_value_and_grad(f)(x, 10.0);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(y)>, Tensor>);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(list)>, std::vector<std::pair<Gradient, Variable>>>);
  CHECK(y.item() == 4 * 9 * 5 * 2 * 10);
  REQUIRE(list.size() == 2);
  CHECK(list[0].second == v0);
  CHECK(list[1].second == v1);
  CHECK(number(list[0].first) == 4 * 6 * 5 * 2 * 10);
  CHECK(number(list[1].first) == 9 * 5 * 2 * 10);
  require_balanced();
}

TEST_CASE("S44: the value keeps its structure, results are summed, an unused variable has no gradient") {
  const Variable v(scalar(3.0)), idle(scalar(1.0));
  const auto f = [&] {
    static_cast<void>(idle.read());
    return std::pair(v * v, std::map<std::string, Tensor>{{"twice", v * 2.0}});
  };
  const auto [y, list] = implicit_value_and_grad(f)();
  CHECK(y.first.item() == 9);
  CHECK(y.second.at("twice").item() == 6);
  REQUIRE(list.size() == 2);
  CHECK(number(list[0].first) == 8);
  CHECK_FALSE(list[1].first);
  // A variable itself may be returned.
  CHECK(number(implicit_grad([&] { return v; })()[0].first) == 1);
}

TEST_CASE("S47, S130: implicit_grad returns only the list; TensorFlow's names are aliases") {
  const Variable v(scalar(3.0));
  const auto f = [&](double k) { return v * v * k; };
  CHECK(number(implicit_grad(f)(2.0)[0].first) == 12);
  CHECK(number(implicit_gradients(f)(2.0)[0].first) == 12);
  CHECK(implicit_value_and_gradients(f)(2.0).first.item() == 18);
  CHECK(implicit_val_and_grad(f)(2.0).first.item() == 18);
  CHECK(numbers(gradients_function(polynomial)(2.0, 3.0)) == Values{27, -4});
  CHECK(value_and_gradients_function(polynomial)(2.0, 3.0).first.item() == 6);
  CHECK(val_and_grad_function(polynomial)(2.0, 3.0).first.item() == 6);
  CHECK(numbers(val_and_grad_function<1>(polynomial)(scalar(2.0), 3.0).second) == Values{-4});
  CHECK(numbers(val_and_grad_function(polynomial, {1, 0})(2.0, 3.0).second) == Values{-4, 27});
}

TEST_CASE("S42, S43: returning nothing or reading no variable is a ValueError") {
  const Variable v(scalar(3.0)), fixed(scalar(1.0), "fixed", false);
  const auto nothing = [&] {
    static_cast<void>(v.read());
    return Tensor();
  };
  CHECK_THROWS_AS(implicit_grad(nothing)(), ValueError);
  CHECK_THROWS_WITH(
      implicit_grad(nothing)(),
      Contains("implicit_grad: Cannot differentiate a function that returns None; did you forget to return a value "
               "from f?"));
  CHECK_THROWS_WITH(implicit_value_and_grad([&] { return fixed * 2.0; })(),
                    Contains("No trainable variables were accessed while the function was being computed."));
  CHECK_THROWS_AS(implicit_grad([] { return scalar(1.0); })(), ValueError);
  CHECK_THROWS_WITH(gradients_function([](const Tensor&) { return Tensor(); })(1.0),
                    Contains("Cannot differentiate a function that returns None"));
  require_balanced();
}

TEST_CASE("S41: any exception leaves the stack of tapes balanced") {
  struct Stop {};
  const Variable v(scalar(3.0));
  bool throws = true;
  const auto f = [&](const Tensor& x) {
    const Tensor y = v * x * x;
    if (throws) throw Stop();
    return y;
  };
  CHECK_THROWS_AS(implicit_grad(f)(scalar(1.0)), Stop);
  CHECK_THROWS_AS(gradients_function(f)(1.0), Stop);
  CHECK_THROWS_AS(value_and_grad(f, {0})(1.0), Stop);
  CHECK_THROWS_AS(make_vjp(f, {0})(1.0), Stop);
  require_balanced();
  throws = false;
  CHECK(number(gradients_function(f)(1.0)[0]) == 6);
  CHECK(number(implicit_grad(f)(scalar(2.0))[0].first) == 4);
}

TEST_CASE("implicit gradients train a model and are differentiable") {
  const Variable w(scalar(0.0));
  const auto step = implicit_value_and_grad([&](const Tensor& x) { return square(w * x - 6.0); });
  for (int i = 0; i < 50; ++i) {
    const auto [loss, list] = step(scalar(2.0));
    for (const auto& [g, v] : list) v.assign_sub(*g * 0.1);
  }
  CHECK(w.read().item() == Approx(3.0));
  const Tensor x = scalar(2.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor g = *implicit_grad([&] { return w * w * x * x; })()[0].first;  // 2 w x^2
  CHECK(number(tape.gradient(g, x)) == Approx(2 * 3 * 2 * 2));
}

TEST_CASE(
    "has_aux with implicit gradients and parameters picked at run time hands on what f returns beside the value") {
  const Variable v(scalar(3.0));
  const auto f = [&](const Tensor& x) { return std::pair(v * x, std::string("aux")); };
  const auto [result, list] = implicit_value_and_grad(f, has_aux)(scalar(2.0));
  CHECK(result.first.item() == 6);
  CHECK(result.second == "aux");
  CHECK(number(list[0].first) == 2);
  CHECK(implicit_grad(f, has_aux)(scalar(2.0)).second == "aux");
  const auto [value, g] = value_and_gradients_function(f, has_aux)(2.0);
  CHECK(value.first.item() == 6);
  CHECK(value.second == "aux");
  CHECK(numbers(g) == Values{3});
  CHECK(gradients_function(f, {0}, has_aux)(2.0).second == "aux");
}

TEST_CASE("S48, S52, S55: all parameters, always a list; second derivatives by nesting") {
  const auto [value, g] = value_and_gradients_function(polynomial)(2.0, 3.0);
  CHECK(value.item() == 6);
  CHECK(numbers(g) == Values{27, -4});
  static_assert(std::is_same_v<decltype(gradients_function<0>(polynomial)(2.0, scalar(3.0))), std::vector<Gradient>>);
  const auto d1 = gradients_function(polynomial);
  const auto d2 = gradients_function([&](const Tensor& x, const Tensor& y) { return d1(x, y)[0]; });
  CHECK(numbers(d2(2.0, 3.0)) == Values{36, 6});  // 6xy, 3x^2 - 2y
  const auto d3 = gradients_function([&](const Tensor& x, const Tensor& y) { return d2(x, y)[0]; }, {0});
  CHECK(numbers(d3(2.0, 3.0)) == Values{18});
}

TEST_CASE("S49, S51: parameters by position: negative, repeated, none; out of range is ValueError") {
  CHECK(numbers(gradients_function(polynomial, {0})(2.0, 3.0)) == Values{27});
  CHECK(numbers(gradients_function(polynomial, {-1})(2.0, 3.0)) == Values{-4});
  CHECK(numbers(gradients_function(polynomial, {1, 0, -2})(2.0, 3.0)) == Values{-4, 27, 27});
  CHECK(numbers(gradients_function(polynomial, std::vector<int>{1})(2.0, 3.0)) == Values{-4});
  CHECK(gradients_function(polynomial, {})(2.0, 3.0).empty());
  CHECK(value_and_gradients_function(polynomial, {})(2.0, 3.0).first.item() == 6);
  CHECK_THROWS_AS(gradients_function(polynomial, {2})(2.0, 3.0), ValueError);
  CHECK_THROWS_WITH(gradients_function(polynomial, {-3})(2.0, 3.0),
                    Contains("parameter -3 is out of range") && Contains("2 arguments"));
  CHECK_THROWS_AS(gradients_function([](const Tensor& x, int n) { return x * n; }, {1})(2.0, 3), TypeError);
  CHECK(numbers(gradients_function<1, -2>(polynomial)(2.0, 3.0)) == Values{-4, 27});
}

TEST_CASE("S49, S50: parameters by name need named() and cannot be mixed with positions") {
  const auto f = named(polynomial, "x", "y");
  CHECK(f(scalar(2.0), scalar(3.0)).item() == 6);
  CHECK(numbers(gradients_function(f, {"y", "x"})(2.0, 3.0)) == Values{-4, 27});
  CHECK(numbers(gradients_function(f, std::vector<std::string>{"y"})(2.0, 3.0)) == Values{-4});
  CHECK(numbers(gradients_function(f)(2.0, 3.0)) == Values{27, -4});
  CHECK(numbers(gradients_function(f, {1})(2.0, 3.0)) == Values{-4});
  CHECK_THROWS_AS(gradients_function(f, {"z"}), ValueError);
  CHECK_THROWS_WITH(gradients_function(f, {"z"}), Contains("'z'") && Contains("x, y"));
  CHECK_THROWS_AS(gradients_function(f, {0, "y"}), ValueError);
  CHECK_THROWS_WITH(gradients_function(f, {0, "y"}),
                    Contains("params must be all strings or all integers; got [0, \"y\"]."));
  CHECK_THROWS_AS(gradients_function(polynomial, {"x"}), ValueError);
  CHECK_THROWS_WITH(
      gradients_function(polynomial, {"x"}),
      Contains("Either callable provided is not a function or could not inspect its arguments by name: f. Original "
               "error: "));
  // More names than arguments.
  CHECK_THROWS_AS(gradients_function(named([](const auto&... x) { return (x + ...); }, "a", "b"), {"b"})(1.0),
                  ValueError);
}

TEST_CASE("S49: make_vjp, value_and_grad and grad select parameters at run time") {
  const auto f = named(polynomial, "x", "y");
  const auto [y, vjp] = make_vjp(f, {"y", "x"})(2.0, 3.0);
  CHECK(y.item() == 6);
  CHECK(numbers(vjp()) == Values{-4, 27});
  CHECK(numbers(vjp(2.0)) == Values{-8, 54});
  const auto once = make_vjp(f, {"x"}, {.persistent = false})(2.0, 3.0);
  CHECK(numbers(once.second()) == Values{27});
  CHECK_THROWS_AS(once.second(), TapeError);
  const auto [value, g] = value_and_grad(f, {"y"})(2.0, 3.0);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(g)>, std::vector<Gradient>>);
  CHECK(value.item() == 6);
  CHECK(numbers(g) == Values{-4});
  CHECK(numbers(grad(polynomial, {0, 0})(2.0, 3.0)) == Values{27, 27});
  CHECK(numbers(grad(named([](const Tensor& a, const Tensor&) { return a; }, "a", "b"), {"b"})(2.0, 3.0)) == Values{0});
  CHECK_THROWS_AS(grad(f, {0})(tensor({1., 2.}), 3.0), ShapeError);
  CHECK_THROWS_AS(grad(f, {0})(scalar(1), 3.0), TypeError);
  CHECK_THROWS_AS(make_vjp(polynomial, {"x"}), ValueError);
  // Template arguments work on a function with named parameters.
  CHECK(grad<1>(f)(scalar(2.0), 3.0).item() == -4);
}

TEST_CASE("S53, S54: results are summed with weights dy; numbers and vectors of numbers become tensors") {
  const auto f = [](const Tensor& x) { return std::pair(x * x, x * 10.0); };
  CHECK(numbers(gradients_function(f)(3.0)) == Values{16});
  CHECK(numbers(gradients_function(f)(3.0, dy({scalar(2.0), scalar(0.5)}))) == Values{17});
  CHECK(numbers(gradients_function([](const Tensor& x) { return x * x; })(3.0, dy(2))) == Values{12});
  CHECK_THROWS_WITH(gradients_function(f)(3.0, dy(scalar(1.0))), Contains("Passed 1 grad_ys for 2 ys"));
  const auto squares = [](const Tensor& x) { return x * x; };
  CHECK(gradients_function(squares)(Values{1, 2, 3})[0].dense().to_vector() == Values{2, 4, 6});
  CHECK(gradients_function(squares)(std::array<float, 2>{1, 2})[0].dense().dtype() == DType::float32);
  CHECK(gradients_function(squares, {0})(Values{1, 2}, dy(tensor({1., 10.})))[0].dense().to_vector() == Values{2, 40});
  // Integers that template arguments select are converted, and are constants.
  const WarningLog log;
  CHECK_FALSE(gradients_function<0>(squares)(std::vector<int>{1, 2})[0]);
  CHECK_FALSE(gradients_function<0>(squares)(3)[0]);
  CHECK(log.texts.size() == 2);
}

TEST_CASE("S54: trees of parameters and results; gradients come over the leaves") {
  const auto f = [](const std::vector<Tensor>& list, const std::map<std::string, Tensor>& named_ones) {
    return std::tuple(list[0] * list[1], named_ones.at("a") * list[0]);
  };
  const std::vector<Tensor> list{scalar(2.0), scalar(3.0)};
  const std::map<std::string, Tensor> one{{"a", scalar(5.0)}};
  CHECK(numbers(gradients_function(f)(list, one)) == Values{8, 2, 2});
  CHECK(numbers(gradients_function(f, {1})(list, one)) == Values{2});
  const auto y = value_and_gradients_function(f)(list, one).first;
  CHECK(std::get<1>(y).item() == 10);
}

TEST_CASE("S56, S57, C11: each parameter is a tensor of its own") {
  const Tensor one = scalar(1.0), matrix = ones({2, 2});
  CHECK(numbers(gradients_function(product)(one, one)) == Values{1, 1});
  CHECK(numbers(gradients_function(product)(1.0, 1.0)) == Values{1, 1});
  CHECK(numbers(gradients_function(product, {0})(one, one)) == Values{1});
  CHECK(numbers(gradients_function<0>(product)(one, one)) == Values{1});
  CHECK(numbers(gradients_function([&](const Tensor& x) { return x * one; })(one)) == Values{1});
  for (const Gradient& g : gradients_function(product)(matrix, matrix)) CHECK(array_equal(*g, ones({2, 2})));
  const Variable v(scalar(1.0));
  CHECK(numbers(gradients_function(product)(v, v)) == Values{1, 1});
  CHECK(numbers(gradients_function(product, {1})(v, v)) == Values{1});
}

TEST_CASE("S59, S60: other arguments are passed on unchanged; results are new tensors, all of which count") {
  const Tensor x = scalar(5.0);
  const std::vector<int> strides{1, 2};
  const auto f = [&](const Tensor& p, const std::vector<int>& s) {
    CHECK(&s == &strides);
    return p;
  };
  const auto [y, g] = value_and_gradients_function(f)(x, strides);
  CHECK(y.id() != x.id());
  CHECK(numbers(g) == Values{1});
  CHECK(numbers(gradients_function([](const Tensor& p) { return std::pair(p, 2 * p); })(x)) == Values{3});
  CHECK(numbers(gradients_function([](const Tensor& p) { return std::vector{p, p}; })(x)) == Values{2});
}

TEST_CASE("unconnected gradients are missing; an outer tape records all ops (S19)") {
  CHECK_FALSE(gradients_function([](const Tensor& x, const Tensor&) { return x; })(1.0, 2.0)[1]);
  const Tensor x = scalar(2.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor g = *gradients_function([](const Tensor& p) { return p * p * p; })(x)[0];
  CHECK(number(tape.gradient(g, x)) == 12);
}
