// Functions with derivatives of their own: custom_gradient, recompute_grad, grad_pass_through, prevent_gradient;
// whether loops run again for their derivatives.
#include <cmath>
#include <memory>
#include <reel/reel.hpp>
#include <thread>

#include "catch.hpp"
#include "support/warnings.hpp"

using namespace reel;
using Catch::Contains;

namespace {
bool close(double a, double b) { return std::abs(a - b) <= 1e-13 * (1 + std::abs(b)); }
const auto log1pexp = custom_gradient([](const Tensor& x) {
  Tensor e = exp(x);
  return std::pair(log(1 + e), [e](const Tensor& dy) { return dy * (1 - 1 / (1 + e)); });
});
}  // namespace

TEST_CASE("custom_gradient: its rule replaces one that overflows") {
  CHECK(std::isnan(grad([](const Tensor& x) { return log(1 + exp(x)); })(scalar(1000.0)).item()));
  CHECK(grad(log1pexp)(scalar(1000.0)).item() == 1.0);
  CHECK(close(grad(log1pexp)(scalar(0.3)).item(), 1 / (1 + std::exp(-0.3))));
  CHECK(close(log1pexp(scalar(0.3)).item(), std::log1p(std::exp(0.3))));
}

TEST_CASE("custom_gradient: a rule may use arguments and results, and can be differentiated") {
  const auto by_result = custom_gradient([](const Tensor& x) {
    const Tensor y = exp(x);
    return std::pair(y, [y](const Tensor& dy) { return dy * y; });
  });
  const auto by_argument =
      custom_gradient([](const Tensor& x) { return std::pair(exp(x), [x](const Tensor& dy) { return dy * exp(x); }); });
  const Tensor x = scalar(0.3);
  CHECK(close(grad(grad(grad(by_result)))(x).item(), std::exp(0.3)));
  CHECK(close(grad(grad(grad(by_argument)))(x).item(), std::exp(0.3)));
}

TEST_CASE("custom_gradient: trees as arguments and results, other arguments, missing gradients") {
  const auto f = custom_gradient([](const Tensor& a, int n, const std::vector<Tensor>& b) {
    return std::pair(std::tuple(a * double(n), b[0] * b[1]), [=](const std::tuple<Tensor, Tensor>& dy) {
      return std::tuple(std::get<0>(dy) * double(n), std::vector<Gradient>{std::get<1>(dy) * b[1], none});
    });
  });
  const Tensor a = scalar(3.0), b = scalar(4.0), c = scalar(5.0);
  GradientTape tape;
  tape.watch(std::tuple(a, b, c));
  const auto [y, z] = f(a, 2, std::vector{b, c});
  CHECK(y.item() == 6.0);
  CHECK(z.item() == 20.0);
  const auto [ga, gb, gc] = tape.gradient(z, std::tuple(a, b, c));
  CHECK((*ga).item() == 0.0);  // the cotangent of y is filled with zeros
  CHECK((*gb).item() == 5.0);
  CHECK_FALSE(gc);
  const auto nothing =
      custom_gradient([](const Tensor& x) { return std::pair(x * 2, [](const Tensor&) { return none; }); });
  CHECK(grad(nothing)(a).item() == 0.0);
}

TEST_CASE("S119: custom_gradient: a single tape does not record the function's own ops") {
  const Tensor x = scalar(2.0);
  int calls = 0;
  const auto f = custom_gradient([&](const Tensor& v) {
    ++calls;
    Tensor y = v;
    for (int i = 0; i < 10; ++i) y = y * v;
    return std::pair(y, [](const Tensor& dy) { return dy * 7; });
  });
  GradientTape tape;
  tape.watch(x);
  const Tensor y = f(x);
  CHECK(calls == 1);
  CHECK(tape.stats().entries == 1);
  CHECK((*tape.gradient(y, x)).item() == 7.0);
}

TEST_CASE("S27: custom_gradient: variables that the function reads, in order of construction") {
  const Variable w(scalar(2.0), "w"), u(scalar(5.0), "u"), fixed(scalar(1.0), "fixed", false);
  const auto f = custom_gradient([&](const Tensor& x) {
    const Tensor first = u * x, y = w * first * fixed;
    return std::pair(y, [&w, &u, x](const Tensor& dy, std::span<const Variable> variables) {
      REQUIRE(variables.size() == 2);
      CHECK(variables[0] == w);
      CHECK(variables[1] == u);
      std::vector<Gradient> list;
      for (const Variable& v : variables) list.emplace_back(dy * x * (v == w ? u : w));
      return std::pair(dy * w * u, list);
    });
  });
  const Tensor x = scalar(3.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = f(x);
  const auto g = tape.gradient(y, {x, w, u, fixed});
  CHECK((*g[0]).item() == 10.0);
  CHECK((*g[1]).item() == 15.0);
  CHECK((*g[2]).item() == 6.0);
  CHECK_FALSE(g[3]);
  CHECK(f(x).item() == 30.0);

  const auto forgetful =
      custom_gradient([&](const Tensor& v) { return std::pair(w * v, [](const Tensor& dy) { return dy; }); });
  GradientTape other;
  CHECK_THROWS_AS(forgetful(x), TypeError);
  CHECK_THROWS_WITH(forgetful(x), Contains("'w'") && Contains("std::span<const Variable>"));
  const auto short_list = custom_gradient([&](const Tensor& v) {
    return std::pair(
        w * v, [](const Tensor& dy, std::span<const Variable>) { return std::pair(dy, std::vector<Gradient>()); });
  });
  other.watch(x);
  const Tensor z = short_list(x);
  CHECK_THROWS_WITH(other.gradient(z, x), Contains("Num gradients 1") && Contains("num inputs 2"));
}

TEST_CASE("custom_gradient: a backward of both forms gets the variables if there are any") {
  struct Both {
    Tensor operator()(const Tensor& dy) const { return dy * 10; }
    std::pair<Tensor, std::vector<Gradient>> operator()(const Tensor& dy, std::span<const Variable> v) const {
      return {dy * 20, std::vector<Gradient>(v.size(), dy * 30)};
    }
  };
  const Variable w(scalar(2.0), "w");
  const Tensor x = scalar(3.0);
  for (const bool reads : {false, true}) {
    const auto f = custom_gradient([&](const Tensor& u) { return std::pair(reads ? u * w : u * 2, Both()); });
    GradientTape tape;
    tape.watch(x);
    const Tensor y = f(x);
    const auto g = tape.gradient(y, {x, w}, {.unconnected_gradients = UnconnectedGradients::zero});
    CHECK((*g[0]).item() == (reads ? 20.0 : 10.0));
    CHECK((*g[1]).item() == (reads ? 30.0 : 0.0));
  }
}

TEST_CASE("S96, S97: custom_gradient with the wrong number or shape of gradients") {
  const Tensor x = ones({2, 3}), y = ones({3});
  const auto wrong = [&](auto backward) {
    GradientTape tape;
    tape.watch(std::pair(x, y));
    const Tensor z =
        custom_gradient([&](const Tensor& a, const Tensor& b) { return std::pair(a * b, backward); })(x, y);
    return tape.gradient(z, {x, y});
  };
  CHECK_THROWS_AS(wrong([](const Tensor& dy) { return dy; }), ValueError);
  CHECK_THROWS_WITH(wrong([](const Tensor& dy) {
                      return std::vector{dy, dy, dy};
                    }),
                    Contains("3 arguments, the function has 2"));
  // The missing sum over the broadcast axis is caught.
  CHECK_THROWS_WITH(wrong([&](const Tensor& dy) { return std::tuple(dy * y, dy * x); }),
                    Contains("Incompatible shapes between op input and calculated input gradient") && Contains("[3]") &&
                        Contains("[2, 3]"));
  CHECK_THROWS_WITH(wrong([&](const Tensor& dy) { return std::tuple(cast(dy, DType::float32), none); }),
                    Contains("float32"));
  CHECK(wrong([&](const Tensor& dy) { return std::tuple(dy * y, sum(dy * x, 0)); })[1].dense().shape() == Shape{3});
}

TEST_CASE("custom_gradient: forward mode needs a rule of its own") {
  const auto square_of = [](const Tensor& x) { return std::pair(x * x, [x](const Tensor& dy) { return dy * 2 * x; }); };
  const Tensor x = scalar(3.0);
  CHECK_THROWS_AS(jvp(custom_gradient(square_of), x, 1.0), NotDifferentiable);
  const auto both =
      custom_gradient(square_of, [](const std::tuple<Tensor>& primals, const std::tuple<Tensor>& tangents) {
        return 2 * std::get<0>(primals) * std::get<0>(tangents);
      });
  CHECK(jvp(both, x, 1.0).second.item() == 6.0);
  CHECK(grad(both)(x).item() == 6.0);
  for (const Tensor& second :
       {jvp(grad(both), x, 1.0).second, grad([&](const Tensor& v) { return jvp(both, v, 1.0).second; })(x),
        grad(grad(both))(x), jvp([&](const Tensor& v) { return jvp(both, v, 1.0).second; }, x, 1.0).second})
    CHECK(second.item() == 2.0);
  const auto unfit = custom_gradient(square_of, [](const auto&, const auto&) { return ones({2}); });
  CHECK_THROWS_AS(jvp(unfit, x, 1.0), ShapeError);
  // The rule does not mention variables.
  const Variable w(scalar(2.0), "w");
  const auto reads = custom_gradient(
      [&](const Tensor& t) {
        return std::pair(t * w, [w, t](const Tensor& dy, std::span<const Variable>) {
          return std::pair(dy * w, std::vector<Gradient>{Gradient(dy * t)});
        });
      },
      [&](const std::tuple<Tensor>&, const std::tuple<Tensor>& tangents) { return std::get<0>(tangents) * w; });
  CHECK(jvp(reads, x, 1.0).second.item() == 2.0);
  {
    const GradientTape follows_w;
    CHECK(jvp(reads, x, 1.0).second.item() == 2.0);
  }
  const ForwardAccumulator by_variable(w, scalar(1.0));
  CHECK_THROWS_WITH(reads(x), Contains("its jvp has no part for the variables that the function reads"));
}

TEST_CASE("custom_gradient: returns an argument, an older tensor, or the same tensor twice") {
  const Tensor x = scalar(2.0), old = scalar(9.0);
  const WarningLog growth;  // collects the warning about a gradient on an active tape
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor same =
      custom_gradient([](const Tensor& v) { return std::pair(v, [](const Tensor& dy) { return dy * 3; }); })(x);
  CHECK(same.id() != x.id());
  CHECK((*tape.gradient(same, x)).item() == 3.0);
  const Tensor constant =
      custom_gradient([&](const Tensor&) { return std::pair(old, [](const Tensor& dy) { return dy * 4; }); })(x);
  CHECK((*tape.gradient(constant, x)).item() == 4.0);
  CHECK_FALSE(tape.gradient(old * 1.0, x));
  // A tensor of another thread, and an older one beside a new one.
  Tensor foreign;
  std::thread([&] { foreign = scalar(7.0); }).join();
  for (const Tensor& other : {foreign, old}) {
    const auto [fresh, kept] = custom_gradient([&](const Tensor& v) {
      return std::pair(std::pair(v * 2, other),
                       [](const std::pair<Tensor, Tensor>& dy) { return dy.first * 10 + dy.second; });
    })(x);
    CHECK((*tape.gradient(fresh, x)).item() == 10.0);
    CHECK((*tape.gradient(kept, x)).item() == 1.0);
    CHECK_FALSE(tape.gradient(other * 1.0, x));
  }
  const auto [a, b] = custom_gradient([](const Tensor& v) {
    const Tensor y = v * 2;
    return std::pair(std::pair(y, y), [](const std::pair<Tensor, Tensor>& dy) { return dy.first * 10 + dy.second; });
  })(x);
  CHECK((*tape.gradient(a, x)).item() == 10.0);
  CHECK((*tape.gradient(b, x)).item() == 1.0);
}

TEST_CASE("custom_gradient: an exception leaves tapes unchanged") {
  const Tensor x = scalar(2.0);
  GradientTape tape;
  tape.watch(x);
  const auto f = custom_gradient([](const Tensor& v) -> std::pair<Tensor, Gradient (*)(const Tensor&)> {
    throw std::runtime_error("no " + std::to_string(v.item()));
  });
  CHECK_THROWS_WITH(f(x), Contains("no 2"));
  CHECK_THROWS_AS(
      custom_gradient([](const Tensor&) { return std::pair(Tensor(), [](const Tensor& dy) { return dy; }); })(x),
      ValueError);
  CHECK((*tape.gradient(x * x, x)).item() == 4.0);
}

TEST_CASE(
    "recompute_grad: the same derivatives to every order and in every mode, of arguments, captures and variables") {
  const Variable w(scalar(1.25), "w");
  const Tensor c = scalar(0.75), x = scalar(0.3);
  const auto f = [&](const Tensor& v) { return tanh(v * c) * w * v; };
  for (const auto& g : {recompute_grad(f), checkpoint(f)}) {
    const auto nested = recompute_grad([&](const Tensor& v) { return g(v) + g(2 * v); });
    const auto plain = [&](const Tensor& v) { return f(v) + f(2 * v); };
    CHECK(nested(x).item() == plain(x).item());
    CHECK(close(grad(nested)(x).item(), grad(plain)(x).item()));
    CHECK(close(grad(grad(grad(nested)))(x).item(), grad(grad(grad(plain)))(x).item()));
    CHECK(close(jvp(nested, x, 1.0).second.item(), grad(plain)(x).item()));
    CHECK(close(jvp(grad(nested), x, 1.0).second.item(), grad(grad(plain))(x).item()));
    CHECK(close(grad([&](const Tensor& v) { return jvp(nested, v, 1.0).second; })(x).item(),
                grad(grad(plain))(x).item()));
    const WarningLog growth;  // collects the warning about a gradient on an active tape
    GradientTape tape({.persistent = true});
    tape.watch(std::pair(x, c));
    const auto a = tape.gradient(nested(x), {x, c, w}), b = tape.gradient(plain(x), {x, c, w});
    for (std::size_t i = 0; i < 3; ++i) CHECK(close((*a[i]).item(), (*b[i]).item()));
  }
}

TEST_CASE("recompute_grad: a variable is read inside and its captured value is used, too") {
  const Variable w(scalar(3.0), "w");
  GradientTape tape;
  const Tensor outside = w;
  const Tensor y = recompute_grad([&](const Tensor& x) { return x * outside * outside * w; })(scalar(2.0));
  CHECK((*tape.gradient(y, w)).item() == 2 * 3 * 9.0);
}

TEST_CASE("recompute_grad keeps only the inputs and runs the function again") {
  Generator generator(1);
  const Tensor x = random_uniform(generator, {1000});
  int runs = 0;
  const auto f = [&](const Tensor& v) {
    ++runs;
    Tensor y = v;
    for (int i = 0; i < 20; ++i) y = tanh(y);
    return y;
  };
  const auto live_bytes = [&](const auto& g) {
    GradientTape tape;
    tape.watch(x);
    const std::int64_t before = memory_stats().live_bytes;
    const Tensor y = g(x);
    const std::int64_t held = memory_stats().live_bytes - before;
    CHECK(tape.gradient(y, x));
    return held;
  };
  CHECK(live_bytes(f) > 20 * 8000);
  CHECK(runs == 1);
  CHECK(live_bytes(recompute_grad(f)) < 3 * 8200);
  CHECK(runs == 3);
  recompute_grad(f)(x);  // no tape: just the function
  CHECK(runs == 4);
}

TEST_CASE("recompute_grad: the second run draws the random numbers of the first") {
  const Tensor x = tensor({1., 2., 3.});
  Generator a(7), b(7);
  const auto dropout = [](Generator& g, const Tensor& v) {
    return sum(square(v * random_normal(g, {3})) * cast(random_bernoulli(g, {3}, 0.5), DType::float64));
  };
  const Tensor expected = grad([&](const Tensor& v) { return dropout(a, v); })(x);
  const Tensor got = grad(recompute_grad(
      [&](const Tensor& v) { return recompute_grad([&](const Tensor& u) { return dropout(b, u); })(v); }))(x);
  CHECK(got.to_vector() == expected.to_vector());
  CHECK(a.position() == b.position());

  bool more = false;
  const auto changing = [&](const Tensor& v) { return more ? v * random_normal(b, {3}) : v * 2; };
  GradientTape tape;
  tape.watch(x);
  const Tensor y = recompute_grad(changing)(x);
  more = true;
  CHECK_THROWS_WITH(tape.gradient(y, x), Contains("draws more random numbers"));
}

TEST_CASE("recompute_grad: the second run reads the values of the first, whatever was assigned since") {
  const Variable w(scalar(3.0), "w");
  const Tensor x = scalar(2.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = recompute_grad([&](const Tensor& v) { return v * v * w; })(x);
  const Tensor z = while_loop([](const Tensor&) { return true; }, [&](const Tensor& v) { return v * w; }, x,
                              {.memory_budget = 1, .max_iterations = 2});
  w.assign(scalar(100.0));
  const auto g = tape.gradient({y, z}, {x, w});
  CHECK((*g[0]).item() == 2 * 2 * 3.0 + 9.0);
  CHECK((*g[1]).item() == 4.0 + 2 * 2 * 3.0);
  CHECK(w.read().item() == 100.0);
}

TEST_CASE("recompute_grad: running a function again that assigns a variable it reads is an error") {
  const Variable count(scalar(1.0), "count", false);
  const Tensor x = scalar(2.0);
  const auto f = [&](const Tensor& v) {
    const Tensor y = v * count;
    count.assign_add(scalar(1.0));
    return y * count;
  };
  CHECK(recompute_grad(f)(x).item() == 4.0);  // nothing is run again: as the function itself
  GradientTape tape;
  tape.watch(x);
  const Tensor y = recompute_grad(f)(x);
  CHECK_THROWS_AS(tape.gradient(y, x), TapeError);
  CHECK(count.read().item() == 3.0);
}

TEST_CASE("a loop without iterations has none when it is run again, whatever its condition says by then") {
  const Tensor x = scalar(1.5);
  for (const std::int64_t budget : {0, 1, 600}) {
    bool more = false;
    const auto loop = [&](const Tensor& u) {
      return while_loop([&](const Tensor&) { return more; }, [](const Tensor& s) { return s * s; }, u,
                        {.memory_budget = budget, .max_iterations = 3});
    };
    GradientTape outer;
    outer.watch(x);
    GradientTape inner;
    inner.watch(x);
    const Tensor y = square(loop(x));
    more = true;
    const Tensor slope = *inner.gradient(y, x);
    CHECK(slope.item() == 3.0);
    CHECK((*outer.gradient(slope, x)).item() == 2.0);
    const Tensor unchanged = while_loop([](const Tensor&) { return true; }, [](const Tensor& s) { return s * s; }, x,
                                        {.memory_budget = budget, .max_iterations = 0});
    CHECK(unchanged.item() == 1.5);
  }
}

TEST_CASE("a loop whose derivative a tape around it does not follow is not run again") {
  const Tensor x = scalar(1.5), other = scalar(2.0);
  int runs = 0;
  GradientTape outer, inner;
  outer.watch(other);
  inner.watch(x);
  const auto pause = outer.stop_recording();
  const Tensor y = while_loop([](const Tensor&) { return true; }, [&](const Tensor& s) { return s * ++runs; }, x,
                              {.max_iterations = 3});
  CHECK((*inner.gradient(y, x)).item() == 6.0);
  CHECK(runs == 3);
}

TEST_CASE("a tape that is made inside a custom_gradient function and outlives it keeps recording") {
  const Tensor x = scalar(2.0);
  std::unique_ptr<GradientTape> inner;
  GradientTape outer;
  outer.watch(x);
  const Tensor y = custom_gradient([&](const Tensor& v) {
    inner = std::make_unique<GradientTape>();
    inner->watch(x);
    return std::pair(v * 2, [](const Tensor& dy) { return dy * 5; });
  })(x);
  CHECK(inner->active());
  const Tensor z = y * x;
  CHECK((*inner->gradient(z, x)).item() == 8.0);  // it saw what the function did
  CHECK((*outer.gradient(z, x)).item() == 5 * 2 + 4.0);
}

TEST_CASE("recompute_grad: exceptions of the first and of the second run propagate") {
  const Tensor x = scalar(2.0);
  int left = 0;
  const auto f = recompute_grad([&](const Tensor& v) {
    if (left-- == 0) throw std::runtime_error("enough");
    return v * v;
  });
  const WarningLog growth;  // collects the warning about a gradient on an active tape
  GradientTape tape({.persistent = true});
  tape.watch(x);
  CHECK_THROWS_WITH(f(x), "enough");
  left = 1;
  const Tensor y = f(x);
  CHECK_THROWS_WITH(tape.gradient(y, x), "enough");
  left = 5;
  CHECK((*tape.gradient(y, x)).item() == 4.0);
}

TEST_CASE("grad_pass_through: has the derivatives of the identity, to every order") {
  const auto rounded = grad_pass_through([](const Tensor& x) { return round(x); });
  const Tensor x = tensor({0.2, 1.7});
  CHECK(rounded(x).to_vector() == std::vector<double>{0, 2});
  CHECK(grad([&](const Tensor& v) { return sum(square(rounded(v))); })(x).to_vector() == std::vector<double>{0, 4});
  CHECK(hessian([&](const Tensor& v) { return sum(square(rounded(v))); })(x).to_vector() ==
        std::vector<double>{2, 0, 0, 2});
  CHECK(jvp(rounded, x, 3.0).second.to_vector() == std::vector<double>{3, 3});
  CHECK_THROWS_AS(grad_pass_through([](const Tensor& v) { return sum(v); })(x), ShapeError);
  CHECK_THROWS_AS(grad_pass_through([](const Tensor& v) { return cast(v, DType::int32); })(x), TypeError);
  // Variables that the function reads get nothing.
  const Variable w(ones({2}), "w");
  GradientTape tape;
  tape.watch(x);
  const Tensor y = grad_pass_through([&](const Tensor& v) { return v * w; })(x);
  const auto g = tape.gradient(y, {x, w});
  CHECK((*g[0]).to_vector() == std::vector<double>{1, 1});
  CHECK_FALSE(g[1]);
}

TEST_CASE("prevent_gradient: differentiating through it is an error") {
  const Tensor x = scalar(2.0);
  const WarningLog growth;  // collects the warning about a gradient on an active tape
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = prevent_gradient(x, "sampling");
  CHECK(y.item() == 2.0);
  CHECK_THROWS_AS(tape.gradient(y * 2, x), LookupError);
  CHECK_THROWS_WITH(tape.gradient(y * 2, x), Contains("sampling"));
  CHECK_THROWS_AS(jvp([](const Tensor& v) { return prevent_gradient(v); }, x, 1.0), LookupError);
  // The rule is not called off the path.
  CHECK((*tape.gradient(x * x + stop_gradient(y), x)).item() == 4.0);
}

TEST_CASE("custom_gradient: a batched rule with several results and missing cotangents") {
  std::vector<Shape> shapes;
  const auto f = custom_gradient(
      [&](const Tensor& x) {
        return std::pair(std::pair(x * 2, sum(x)), [&shapes](const std::pair<Tensor, Tensor>& dy) {
          shapes = {dy.first.shape(), dy.second.shape()};
          return dy.first * 2 + expand_dims(dy.second, -1);
        });
      },
      {.batched = true});
  const Tensor x = tensor({1., 2., 3.});
  CHECK(grad([&](const Tensor& v) { return sum(f(v).first); })(x).to_vector() == std::vector<double>{2, 2, 2});
  CHECK(shapes == std::vector<Shape>{{1, 3}, {1}});
  CHECK(grad([&](const Tensor& v) { return f(v).second; })(x).to_vector() == std::vector<double>{1, 1, 1});
  CHECK(shapes == std::vector<Shape>{{1, 3}, {1}});
  CHECK(array_equal(jacobian([&](const Tensor& v) { return f(v).first; })(x), eye(3) * 2));
  CHECK(shapes == std::vector<Shape>{{3, 3}, {3}});
}

TEST_CASE("custom_gradient: a jvp gets zeros for missing tangents") {
  const auto f = custom_gradient(
      [](const Tensor& x, const Tensor& y) {
        return std::pair(x * y, [x, y](const Tensor& dy) { return std::pair(dy * y, dy * x); });
      },
      [](const std::tuple<Tensor, Tensor>& p, const std::tuple<Tensor, Tensor>& t) {
        return std::get<0>(t) * std::get<1>(p) + std::get<0>(p) * std::get<1>(t);
      });
  const Tensor x = scalar(3.0), y = scalar(5.0);
  CHECK(jvp([&](const Tensor& v) { return f(v, y); }, x, 1.0).second.item() == 5.0);
  CHECK(jvp([&](const Tensor& v) { return f(x, v); }, y, 1.0).second.item() == 3.0);
}

TEST_CASE("functions that return a wrong number of tensors, at the first or second call, are refused") {
  const Tensor x = scalar(3.0);
  std::size_t count = 1;
  const auto f = recompute_grad([&](const Tensor& v) { return std::vector<Tensor>(count, v * v); });
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const std::vector<Tensor> y = f(x);
  tape.stop();
  CHECK((*tape.gradient(y[0], x)).item() == 6.0);
  count = 2;
  CHECK_THROWS_WITH(tape.gradient(y[0], x),
                    Contains("gave 2 tensors when it was run again for its derivative, 1 before"));
  CHECK_THROWS_WITH(grad_pass_through([](const Tensor& v) {
                      return std::vector{v, v};
                    })(x),
                    Contains("the function turns 1 tensors into 2"));
}

TEST_CASE("prevent_gradient: without a message, and in both modes of a Jacobian") {
  const Tensor x = scalar(2.0);
  const auto f = [](const Tensor& v) { return prevent_gradient(v) * ones({9}); };
  CHECK_THROWS_WITH(jacobian(f)(x), Contains("the gradient is explicitly disabled here ("));
  CHECK_THROWS_WITH(grad([](const Tensor& v) { return prevent_gradient(v); })(x),
                    Contains("the gradient is explicitly disabled here ("));
}
