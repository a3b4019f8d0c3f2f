// The wrappers of functions.hpp: make_vjp, value_and_grad, grad, jacobian, hessian, hvp. Rules S41-S65 where they
// apply.
#include <cmath>
#include <map>
#include <reel/reel.hpp>
#include <string>

#include "catch.hpp"

using namespace reel;

namespace {

using Values = std::vector<double>;

struct Layer {
  Tensor w, b;
  auto leaves() { return std::tie(w, b); }
};
struct Model {
  Variable w;
  Tensor b;
  auto leaves() { return std::tie(w, b); }
};

// Checks that the stack of tapes is balanced: a new tape records one entry, and its gradient is right.
void require_balanced() {
  const Tensor x = tensor({2});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x;
  CHECK(tape.stats().entries == 1);
  CHECK(tape.gradient(y, x).dense().item() == 4);
}

bool same(const Tensor& a, const Values& b) {
  const Values v = a.to_vector();
  if (v.size() != b.size()) return false;
  for (std::size_t i = 0; i < b.size(); ++i)
    if (!(std::abs(v[i] - b[i]) <= 1e-12 * std::max(1.0, std::abs(b[i])))) return false;
  return true;
}

const auto square_sum = [](const Tensor& x) { return sum(x * x); };

}  // namespace

TEST_CASE("value_and_grad: the value, and gradients in the structure of the parameters (S41, S55)") {
  const auto f = [](const Tensor& x, const Tensor& y) { return x * x * x * y - x * y * y; };
  const auto [value, g] = value_and_grad(f)(2., 3.);
  CHECK(value.item() == 6);
  CHECK(std::get<0>(g).item() == 27);
  CHECK(std::get<1>(g).item() == -4);
  CHECK(grad<0>([&](const Tensor& x, const Tensor& y) { return grad<0>(f)(x, y); })(2., scalar(3.)).item() == 36);
  static_assert(std::is_same_v<decltype(grad<0>(f)(2., Tensor())), Tensor>);
  static_assert(std::is_same_v<decltype(grad(f)(2., 3.)), std::tuple<Tensor, Tensor>>);
}

TEST_CASE("template arguments select parameters: negative, repeated, in the given order (S51)") {
  const auto f = [](const auto& a, double b, const auto& c) { return a * b * c; };
  CHECK(grad<-1>(f)(2., 3., 5.).item() == 6);
  const auto [c, a, again] = grad<2, 0, -1>(f)(2., 3., 5.);
  CHECK(c.item() == 6);
  CHECK(a.item() == 15);
  CHECK(again.item() == 6);
}

TEST_CASE("other arguments are passed on unchanged (S59)") {
  std::vector<int> strides{1, 2};
  const std::vector<int>* seen = nullptr;
  const Tensor c = tensor({3});
  std::uint64_t id = 0;
  const auto f = [&](const Tensor& x, const std::vector<int>& s, std::string&& text, const Tensor& constant, int n) {
    seen = &s;
    id = constant.id();
    return sum(x * constant) * static_cast<double>(n + static_cast<int>(text.size()));
  };
  CHECK(grad<0>(f)(tensor({1}), strides, std::string("ab"), c, 3).item() == 15);
  CHECK(seen == &strides);
  CHECK(id == c.id());
  // Without selection: trees and floating-point numbers are differentiated, integers are not.
  const auto g = [](int n, const Tensor& x, const Tensor& y) { return n * x * y; };
  const auto [dx, dy] = grad(g)(3, 2.f, 5.);
  CHECK(dx.dtype() == DType::float32);
  CHECK(dx.item() == 15);
  CHECK(dy.item() == 6);
}

TEST_CASE("each differentiated parameter is its own tensor (S56, S57, C11)") {
  const Tensor one = tensor({{1., 1.}, {1., 1.}});
  const auto product = [](const Tensor& x, const Tensor& y) { return sum(x * y); };
  const auto [gx, gy] = grad(product)(one, one);
  CHECK(same(gx, {1, 1, 1, 1}));
  CHECK(same(gy, {1, 1, 1, 1}));
  CHECK(same(grad<0>(product)(one, one), {1, 1, 1, 1}));
  CHECK(same(grad([&](const Tensor& x) { return sum(x * one); })(one), {1, 1, 1, 1}));

  const Variable v(tensor({2.}), "v");
  const auto [gv, gw] = grad(product)(v, v);
  CHECK(same(gv, {2}));
  CHECK(same(gw, {2}));
  CHECK(same(grad([&](const Tensor& x) { return sum(x * v); })(v), {2}));
  static_assert(std::is_same_v<decltype(grad(product)(v, v)), std::tuple<Tensor, Tensor>>);
}

TEST_CASE("a variable is read once, and f receives a tensor") {
  const Variable v(tensor({3.}));
  const auto f = [&](auto x) {
    static_assert(std::is_same_v<decltype(x), Tensor>);
    v.assign(tensor({100.}));
    return sum(x * x);
  };
  CHECK(grad(f)(v).item() == 6);
}

TEST_CASE("trees of parameters") {
  const Layer layer{tensor({1, 2}), tensor({3, 4})};
  const Layer g = grad([](const Layer& l) { return sum(l.w * l.b); })(layer);
  CHECK(same(g.w, {3, 4}));
  CHECK(same(g.b, {1, 2}));

  const std::map<std::string, std::vector<Tensor>> named{{"a", {tensor({1}), tensor({2})}}, {"b", {}}};
  const auto h = grad([](const auto& m) { return sum(m.at("a")[0] * m.at("a")[1]); })(named);
  CHECK(same(h.at("a").at(1), {1}));
  CHECK(h.at("b").empty());

  // A struct of variables is passed as it is; its gradients are a tuple.
  const Model model{Variable(tensor({2.})), tensor({5.})};
  const auto [gw, gb] = grad([](const Model& m) { return sum(m.w * m.b * m.w); })(model);
  CHECK(same(gw, {20}));
  CHECK(same(gb, {4}));
}

TEST_CASE("gradients are zeros where unconnected and behind stop_gradient") {
  const auto f = [](const Tensor& x, const Tensor&) { return sum(x); };
  CHECK(same(std::get<1>(grad(f)(tensor({1}), tensor({1, 2}))), {0, 0}));
  CHECK(same(grad([](const Tensor& x) { return sum(stop_gradient(x)); })(tensor({1, 2})), {0, 0}));
  CHECK(same(grad([](const Tensor&) { return scalar(3.); })(tensor({1, 2})), {0, 0}));
}

TEST_CASE("the function may return its parameter, a captured tensor, or one element of any rank") {
  CHECK(same(grad([](const Tensor& x) { return x; })(tensor({{4.}})), {1}));
  const auto [value, g] = value_and_grad([](const Tensor& x) { return x; })(3.);
  CHECK(value.item() == 3);
  CHECK(g.item() == 1);
}

TEST_CASE("a gradient of gather is dense") {
  const Tensor rows = tensor<std::int64_t>({0, 2, 0});
  const Tensor g = grad([&](const Tensor& x) { return sum(gather(x, rows)); })(zeros({3, 2}));
  CHECK(same(g, {2, 2, 0, 0, 1, 1}));
}

TEST_CASE("has_aux returns the function's second result unchanged") {
  const auto f = [](const Tensor& x) { return std::pair(sum(x * x), std::string("extra")); };
  const auto [pair, g] = value_and_grad(f, has_aux)(tensor({1, 2}));
  CHECK(pair.first.item() == 5);
  CHECK(pair.second == "extra");
  CHECK(same(g, {2, 4}));
  const auto [only, aux] = grad(f, has_aux)(tensor({1, 2}));
  CHECK(same(only, {2, 4}));
  CHECK(aux == "extra");
}

TEST_CASE("wrong results and parameters are refused (S42, S61)") {
  const Tensor x = tensor({1, 2});
  CHECK_THROWS_AS(grad([](const Tensor& p) { return p * p; })(x), ShapeError);
  CHECK_THROWS_AS(grad([](const Tensor& p) { return cast(sum(p), DType::int64); })(x), TypeError);
  CHECK_THROWS_AS(grad([](const Tensor&) { return Tensor(); })(x), ValueError);
  CHECK_THROWS_WITH(grad([](const Tensor&) { return Tensor(); })(x),
                    Catch::Contains("Cannot differentiate a function that returns None"));
  CHECK_THROWS_AS(grad(square_sum)(Tensor()), ValueError);
  const Tensor integers = tensor<std::int64_t>({1, 2});
  CHECK_THROWS_AS(grad(square_sum)(integers), TypeError);
  CHECK_THROWS_AS(grad<0>(square_sum)(3), TypeError);
  CHECK_THROWS_AS(grad(square_sum)(less(x, 1)), TypeError);
  CHECK_THROWS_AS(jacobian(square_sum)(integers), TypeError);
  CHECK_THROWS_AS(hvp(square_sum)(integers, x), TypeError);
  // An integer that is not selected is accepted.
  CHECK(same(grad<0>([](const Tensor& p, const Tensor& q) { return sum(p * q); })(x, integers), {1, 2}));
  require_balanced();
}

TEST_CASE("an exception of the function propagates, and the stack of tapes is balanced (S41, S61)") {
  struct Stop {};
  int calls = 0;
  const auto f = [&](const Tensor& x) -> Tensor {
    const Tensor y = x * x;
    if (++calls == 1) throw Stop();
    return y;
  };
  CHECK_THROWS_AS(grad(f)(1.), Stop);
  CHECK(grad(f)(1.).item() == 2);
  calls = 0;
  CHECK_THROWS_AS(grad([&](const Tensor& x) { return grad(f)(x); })(1.), Stop);
  calls = 0;
  CHECK_THROWS_AS(make_vjp(f)(1.), Stop);
  calls = 0;
  CHECK_THROWS_AS(jacobian(f)(1.), Stop);
  calls = 0;
  CHECK_THROWS_AS(hvp(f)(tensor({1.}), tensor({1.})), Stop);
  require_balanced();
}

TEST_CASE("make_vjp: value and vector-Jacobian product (S62, S63)") {
  const auto [y, vjp] = make_vjp([](const Tensor& x) { return x * x; })(3.);
  CHECK(y.item() == 9);
  CHECK(vjp().dense().item() == 6);
  CHECK(vjp(2).dense().item() == 12);
  CHECK(vjp(scalar(2.)).dense().item() == 12);
  const auto copy = vjp;
  CHECK(copy(3).dense().item() == 18);
}

TEST_CASE("a make_vjp that is not persistent can be used once (S63)") {
  const auto once = make_vjp(square_sum, {.persistent = false})(tensor({1, 2}));
  CHECK(same(*once.second(), {2, 4}));
  CHECK_THROWS_AS(once.second(), TapeError);
}

TEST_CASE("make_vjp: results are new tensors in the function's structure, all of which count (S60)") {
  const Tensor x = scalar(5.);
  const auto [y, vjp] = make_vjp([](const Tensor& p) { return std::pair(p, 2 * p); })(x);
  CHECK(y.first.id() != x.id());
  CHECK(vjp().dense().item() == 3);
  CHECK(vjp({scalar(1.), scalar(10.)}).dense().item() == 21);
  const auto same_twice = make_vjp([](const Tensor& p) { return std::vector{p, p}; })(x);
  CHECK(same_twice.first[0].id() != same_twice.first[1].id());
  CHECK(same_twice.second().dense().item() == 2);
  const auto captured = make_vjp([&](const Tensor&) { return x; })(x);
  CHECK(captured.first.id() != x.id());
  CHECK_FALSE(captured.second());
}

TEST_CASE("make_vjp gives one gradient per picked parameter, none where not connected or integer (S35, S59)") {
  const Tensor integers = tensor<std::int64_t>({1, 2});
  const auto f = [](const Tensor& a, const Tensor& b, const Tensor& c) { return a * b + 0 * sum(stop_gradient(c)); };
  const auto [y, vjp] = make_vjp(f)(tensor({1, 2}), integers, tensor({1}));
  const auto [a, b, c] = vjp(tensor({1, 10}));
  CHECK(same(*a, {1, 20}));
  CHECK_FALSE(b);
  CHECK_FALSE(c);
  static_assert(std::is_same_v<decltype(make_vjp<0>(f)(y, y, y).second()), Gradient>);
}

TEST_CASE("cotangents of wrong shape or number are refused (S62, S80)") {
  const auto [y, vjp] = make_vjp([](const Tensor& p) { return std::pair(p, 2 * p); })(tensor({1, 2}));
  CHECK_THROWS_AS(vjp(tensor({1, 2})), ValueError);
  CHECK_THROWS_WITH(vjp(tensor({1, 2})), Catch::Contains("Passed 1 grad_ys for 2 ys"));
  CHECK_THROWS_AS(vjp({tensor({1, 2}), Gradient()}), ValueError);
  CHECK_THROWS_AS(vjp({tensor({1, 2}), tensor({1, 2, 3})}), ShapeError);
  CHECK_THROWS_AS(vjp({tensor({1, 2}), less(y.first, 0)}), TypeError);
  CHECK(same(*vjp(y), {5, 10}));
}

TEST_CASE("a vjp is differentiable (S64)") {
  const Tensor x = tensor({1, 2}), dy = tensor({3, 4});
  GradientTape tape({.persistent = true});
  tape.watch(std::vector{x, dy});
  const auto [y, vjp] = make_vjp([](const Tensor& p) { return p * p * p; })(x);
  const Tensor g = vjp(dy).dense();
  tape.stop();
  CHECK(same(g, {9, 48}));
  CHECK(same(*tape.gradient(g, x), {18, 48}));
  CHECK(same(*tape.gradient(g, dy), {3, 12}));
  CHECK(same(*tape.gradient(y, x), {3, 12}));
}

TEST_CASE("a vjp keeps its tape and results alive until it is destroyed (S65)") {
  const std::int64_t before = memory_stats().live_tensors;
  {
    auto result = make_vjp([](const Tensor& p) { return exp(sin(p)); })(tensor({1, 2}));
    result.first = Tensor();
    CHECK(memory_stats().live_tensors > before);
    CHECK(result.second().dense().size() == 2);
  }
  CHECK(memory_stats().live_tensors == before);
}

TEST_CASE("wrappers under an outer tape are recorded by it (S19)") {
  const Tensor x = tensor({1, 2});
  const Variable v(tensor({3.}));
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const auto [value, g] = value_and_grad([&](const Tensor& p) { return sum(p * p * p) * sum(v.read()); })(x);
  const Tensor total = sum(g);
  tape.stop();
  CHECK(same(*tape.gradient(total, x), {18, 36}));
  CHECK(same(*tape.gradient(total, v), {15}));
  CHECK(same(*tape.gradient(value, x), {9, 36}));
}

TEST_CASE("nested wrappers give higher orders") {
  const auto f = [](const Tensor& x) { return power(x, 6.0); };
  const auto d1 = grad(f);
  const auto d2 = grad(d1);
  const auto d3 = grad(d2);
  const auto d4 = grad(d3);
  CHECK(same(d1(2.), {6 * 32}));
  CHECK(same(d2(2.), {30 * 16}));
  CHECK(same(d3(2.), {120 * 8}));
  CHECK(same(d4(2.), {360 * 4}));
  // The inner parameter is not confused with the outer one.
  const auto outer = [](const Tensor& x) { return x * grad([&](const Tensor& y) { return x + y; })(2.); };
  CHECK(grad(outer)(3.).item() == 1);
}

TEST_CASE("jacobian: shape of the result, then of the parameter") {
  const Tensor x = tensor({1, 2, 3}), a = tensor({{1, 2, 3}, {4, 5, 6}});
  const Tensor wide = jacobian([&](const Tensor& p) { return matmul(a, p); })(x);
  CHECK(wide.shape() == Shape{2, 3});
  CHECK(same(wide, a.to_vector()));
  const Tensor tall = jacobian([&](const Tensor& p) { return matmul(transpose(a), p); })(tensor({1, 2}));
  CHECK(tall.shape() == Shape{3, 2});
  CHECK(same(tall, transpose(a).to_vector()));
  const Tensor matrix = jacobian([](const Tensor& p) { return transpose(p); })(a);
  CHECK(matrix.shape() == Shape{3, 2, 2, 3});
  CHECK(matrix[1][0].to_vector() == Values{0, 1, 0, 0, 0, 0});
  CHECK(jacobian(square_sum)(x).shape() == Shape{3});
  CHECK(jacobian([](const Tensor& p) { return p * ones({3}); })(2.).shape() == Shape{3});
}

TEST_CASE("jacobians by rows and by columns agree") {
  const Tensor x = tensor({0.3, -0.2, 0.5}), w = tensor({{1, 2, 3}, {-1, 0.5, 2}, {0, 1, -1}});
  const auto f = [&](const Tensor& p) { return tanh(matmul(w, p)); };
  const Tensor columns = jacobian(f)(x);
  // Two more elements of x, unused: now there are more parameters than results.
  const Tensor rows =
      jacobian([&](const Tensor& p) { return f(slice(p, {range_to(3)})); })(tensor({0.3, -0.2, 0.5, 7, 8}));
  CHECK(same(slice(rows, {reel::all, range_to(3)}), columns.to_vector()));
  CHECK(same(slice(rows, {reel::all, range_from(3)}), Values(6)));
}

TEST_CASE("jacobian of trees, of empty tensors, and of unconnected parameters") {
  const Layer layer{tensor({1, 2}), tensor({3})};
  const auto f = [](const Layer& l) { return std::pair(l.w * l.b, sum(l.w)); };
  const auto [first, second] = jacobian(f)(layer);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(first)>, Layer>);
  CHECK(same(first.w, {3, 0, 0, 3}));
  CHECK(first.b.shape() == Shape{2, 1});
  CHECK(same(first.b, {1, 2}));
  CHECK(same(second.w, {1, 1}));
  CHECK(same(second.b, {0}));

  const auto [da, db] = jacobian([](const Tensor& a, const Tensor&) { return a; })(tensor({1, 2}), tensor({1, 2, 3}));
  CHECK(same(da, {1, 0, 0, 1}));
  CHECK(db.shape() == Shape{2, 3});
  CHECK(same(db, Values(6)));
  CHECK(jacobian([](const Tensor& a) { return a; })(zeros({0, 2})).shape() == Shape{0, 2, 0, 2});
  CHECK(jacobian([](const Tensor& a) { return sum(a); })(zeros({0})).shape() == Shape{0});
  CHECK_THROWS_AS(jacobian([](const Tensor& a) { return cast(a, DType::int32); })(tensor({1, 2})), TypeError);
  const Tensor single = jacobian([](const Tensor& a) { return cast(a, DType::float64) * 2; })(tensor<float>({1, 2}));
  CHECK(single.dtype() == DType::float32);
}

TEST_CASE("hessian: all second derivatives, zeros of a linear function (S129, C15)") {
  const Tensor a = tensor({{1, 2}, {3, 4}}), x = tensor({1, -1});
  const auto quadratic = [&](const Tensor& p) { return dot(p, matmul(a, p)); };
  CHECK(same(hessian(quadratic)(x), {2, 5, 5, 8}));
  const auto linear = [](const Tensor& p) { return sum(2 * p); };
  CHECK(same(hessian(linear)(x), {0, 0, 0, 0}));
  CHECK(hessian(linear)(a).shape() == Shape{2, 2, 2, 2});
  CHECK(hessian([](const Tensor& p) { return p * p * p; })(2.).item() == 12);
  CHECK_THROWS_AS(hessian([](const Tensor& p) { return p; })(x), ShapeError);

  const auto both = [](const Tensor& p, const Tensor& q) { return sum(p * p * q); };
  const auto [row, column] = hessian(both)(tensor({1, 2}), tensor({3, 4}));
  CHECK(same(std::get<0>(row), {6, 0, 0, 8}));
  CHECK(same(std::get<1>(row), {2, 0, 0, 4}));
  CHECK(same(std::get<0>(column), {2, 0, 0, 4}));
  CHECK(same(std::get<1>(column), {0, 0, 0, 0}));
  CHECK(same(hessian<1>(both)(tensor({1, 2}), tensor({3, 4})), {0, 0, 0, 0}));
}

TEST_CASE("hvp is the Hessian times a vector (S126, S127)") {
  const Tensor a = tensor({{1, 2}, {3, 4}}), x = tensor({1, -1}), v = tensor({2, 3});
  const auto quadratic = [&](const Tensor& p) { return dot(p, matmul(a, p)); };
  CHECK(same(hvp(quadratic)(x, v), {19, 34}));
  CHECK(same(hvp([](const Tensor& p) { return sum(2 * p); })(x, v), {0, 0}));
  CHECK_THROWS_AS(hvp(quadratic)(x, std::vector{v, v}), ValueError);
  CHECK_THROWS_AS(hvp(quadratic)(x, tensor({1})), ShapeError);
  const Layer at{tensor({1, 2}), tensor({3, 4})}, along{tensor({1, 0}), tensor({0, 1})};
  const Layer h = hvp([](const Layer& l) { return sum(l.w * l.w * l.b); })(at, along);
  CHECK(same(h.w, {6, 4}));
  CHECK(same(h.b, {2, 0}));
}

TEST_CASE("plain numbers are parameters, tangents and vectors") {
  const auto cube = [](const Tensor& p) { return p * p * p; };
  CHECK(grad(cube)(2.0).item() == 12);
  const auto [y, dy] = jvp(cube, 2.0, 1.5);
  CHECK(y.item() == 8);
  CHECK(dy.item() == 18);
  CHECK(hvp(cube)(2.0, 0.5).item() == 6);
}

TEST_CASE("jacobian, hessian and hvp are differentiable") {
  const Tensor x = tensor({1, 2});
  const auto f = [](const Tensor& p) { return sum(p * p * p * p); };
  const Tensor third = jacobian([&](const Tensor& p) { return hessian(f)(p); })(x);
  CHECK(third.shape() == Shape{2, 2, 2});
  CHECK(same(third, {24, 0, 0, 0, 0, 0, 0, 48}));
  CHECK(same(grad([&](const Tensor& p) { return sum(hvp(f)(p, ones({2}))); })(x), {24, 48}));
  CHECK(
      same(grad([&](const Tensor& p) { return sum(jacobian([](const Tensor& q) { return q * q; })(p)); })(x), {2, 2}));
}
