// Functions of Variables, compiled: one program for all variables of a shape, by which tapes inside and outside
// differentiate; calls where it matters which variable is passed.
#include <functional>
#include <reel/compile.hpp>
#include <reel/optim.hpp>
#include <reel/reel.hpp>
#include <thread>

#include "catch.hpp"
#include "check_close.hpp"
#include "support/bits.hpp"
#include "support/ramp.hpp"

using namespace reel;
using support::ramp;
using support::same_bits;

namespace {

using Function = std::function<Tensor(const Variable&, const Tensor&)>;
constexpr GradientOptions or_zeros{.unconnected_gradients = UnconnectedGradients::zero};

Tensor gradient(const Function& f, const Variable& v, const Tensor& x) {
  GradientTape tape;
  const Tensor y = f(v, x);
  return *tape.gradient(sum(y * cos(y)), v, or_zeros);
}
Tensor tangent(const Function& f, const Variable& v, const Tensor& x) {
  const ForwardAccumulator accumulator(v, cos(x));
  const Tensor y = f(v, x);
  const Gradient t = accumulator.jvp(y);
  return t ? t.dense() : zeros_like(y);
}

// Derivatives of f by the variable and by x, to second order.
std::vector<std::pair<const char*, Function>> derivatives_of(const Function& f) {
  const auto by_v = [](const Function& g) -> Function {
    return [g](const Variable& v, const Tensor& x) { return gradient(g, v, x); };
  };
  const auto along_v = [](const Function& g) -> Function {
    return [g](const Variable& v, const Tensor& x) { return tangent(g, v, x); };
  };
  const auto by_x = [](const Function& g) -> Function {
    return [g](const Variable& v, const Tensor& x) { return grad([&](const Tensor& z) { return sum(g(v, z)); })(x); };
  };
  return {{"value", f},
          {"v", by_v(f)},
          {"along v", along_v(f)},
          {"x", by_x(f)},
          {"v of v", by_v(by_v(f))},
          {"v of along v", by_v(along_v(f))},
          {"v along v", along_v(by_v(f))},
          {"v of x", by_v(by_x(f))},
          {"x of v", by_x(by_v(f))}};
}

// Inside of one program and through a call, for two variables, one program each.
void check_derivatives(const Function& f) {
  const Variable a(ramp({3}, .7), "a"), b(ramp({3}, -.4), "b");
  const Tensor x = ramp({3}, .3);
  const auto call = compile(f);
  const auto plain = derivatives_of(f), through = derivatives_of(call);
  for (std::size_t k = 0; k < plain.size(); ++k) {
    INFO("derivative: " << plain[k].first);
    const auto inside = compile(plain[k].second);
    for (const Variable& v : {a, b, a}) {
      const Tensor expected = plain[k].second(v, x);
      check_close(inside(v, x), expected);
      check_close(through[k].second(v, x), expected);
      v.assign(v * .9);
    }
    CHECK(inside.stats().traces == 1);
  }
  CHECK(call.stats().traces == 1);
}

}  // namespace

TEST_CASE("variables as arguments: derivatives by the parameter and by the variable, to second order") {
  check_derivatives([](const Variable& v, const Tensor& x) { return tanh(v * x) + square(v); });
  const Variable captured(ramp({3}, 1.1), "captured");
  check_derivatives([captured](const Variable& v, const Tensor& x) { return exp(v * captured) * x; });
  // Read by bodies of loops, branches and checkpoints, and by the rule of a custom gradient alone.
  check_derivatives([](const Variable& v, const Tensor& x) {
    return fori_loop(
               0, 3, [v](const Tensor&, const Tensor& z) { return tanh(z * v); }, x) *
           v;
  });
  check_derivatives([](const Variable& v, const Tensor& x) {
    return cond(
               sum(x) > 0., [v, x] { return sin(v) * x; }, [x] { return x; }) +
           recompute_grad([v](const Tensor& z) { return exp(z * v); })(x);
  });
}

TEST_CASE("variables as arguments: read by the rule of a custom gradient alone") {
  const Function f = [](const Variable& v, const Tensor& x) {
    const auto rule =
        custom_gradient([v](const Tensor& z) { return std::pair(z * 2, [v](const Tensor& g) { return g * v; }); });
    return grad([&](const Tensor& z) { return sum(rule(z)); })(x);
  };
  const Function outside = [](const Variable& v, const Tensor& x) {
    return custom_gradient([v](const Tensor& z) { return std::pair(z * 2, [v](const Tensor& g) { return g * v; }); })(
        x);
  };
  const auto call = compile(f), through = compile(outside);
  const Tensor x = ramp({3}, .3);
  for (const double start : {.5, 2.}) {
    const Variable v(ramp({3}, start), "v");
    check_close(call(v, x), v.read());
    check_close(grad([&](const Tensor& z) { return sum(through(v, z)); })(x), v.read());
    check_close(gradient(call, v, x), gradient(f, v, x));
    const Function by_x = [&](const Variable& u, const Tensor& z) {
      return grad([&](const Tensor& y) { return sum(through(u, y)); })(z);
    };
    check_close(gradient(by_x, v, x), gradient(f, v, x));
  }
  CHECK(call.stats().traces == 1);
  CHECK(through.stats().traces == 1);
}

namespace {

// Calls f for several variables in turn, compiled and op by op on twins: results and values have the same bits.
void check_updates(const Function& f, std::int64_t programs) {
  const std::vector<Variable> own{Variable(ramp({3}, .7), "v"), Variable(ramp({3}, -.4), "v")},
      twins{Variable(own[0].read(), "v"), Variable(own[1].read(), "v")};
  const auto call = compile(f, {.check = 1});
  for (const std::size_t k : std::vector<std::size_t>{0, 1, 1, 0, 1}) {
    const Tensor x = ramp({3}, .1 * static_cast<double>(k));
    CHECK(same_bits(call(own[k], x), f(twins[k], x)));
    CHECK(same_bits(own[k].read(), twins[k].read()));
  }
  CHECK(call.stats().signatures == programs);
}

}  // namespace

TEST_CASE("variables as arguments: assigned, added to, and stepped by an optimiser") {
  check_updates(
      [](const Variable& v, const Tensor& x) {
        const Tensor before = v;
        v.assign(sin(v) + x);
        v.assign_add(x * .5);
        v.assign_sub(before);
        return v * before;
      },
      1);
  check_updates(
      [](const Variable& v, const Tensor& x) {
        v.assign(x);
        return x * 2;
      },
      1);
  check_updates(
      [](const Variable& v, const Tensor& x) {
        GradientTape tape;
        const Tensor loss = sum(square(v - x) * v);
        SGD({.learning_rate = .1}).step(tape.gradient(loss, v), v);
        return loss;
      },
      1);
  check_updates(
      [](const Variable& v, const Tensor& x) {
        cond(
            sum(v) > 0.,
            [&] {
              v.assign_sub(x);
              return x;
            },
            [&] {
              v.assign(v * 2);
              return v * 3;
            });
        return fori_loop(
            0, 3,
            [v](const Tensor&, const Tensor& z) {
              v.assign_add(z * .1);
              return z * v;
            },
            x);
      },
      1);
}

TEST_CASE("variables as arguments: an optimiser keeps state of each variable that is passed") {
  const auto train = [](const auto& optimizer, bool compiled) {
    const Variable a(ramp({3}, .7), "a"), b(ramp({3}, -.4), "b");
    const Function f = [optimizer](const Variable& v, const Tensor& x) {
      GradientTape tape;
      const Tensor loss = sum(square(v * x - 1.) * v);
      optimizer->step(tape.gradient(loss, v), v);
      return loss;
    };
    const auto call = compile(f, {.check = 1});
    std::vector<Tensor> list;
    for (const Variable& v : {a, b, a, a, b}) {
      const Tensor x = ramp({3}, .2);
      list.push_back(compiled ? call(v, x) : f(v, x));
      list.push_back(v.read());
    }
    if (compiled) CHECK(call.stats().traces == 3);
    return list;
  };
  const auto check = [&](const auto& make) {
    const std::vector<Tensor> got = train(make(), true), expected = train(make(), false);
    for (std::size_t k = 0; k < got.size(); ++k) CHECK(same_bits(got[k], expected[k]));
  };
  check([] { return std::make_shared<Adam>(AdamOptions{.learning_rate = .1}); });
  check([] { return std::make_shared<SGD>(SGDOptions{.learning_rate = .1, .momentum = .9}); });
  check([] { return std::make_shared<Lion>(LionOptions{.learning_rate = .1}); });
}

TEST_CASE("variables as arguments: one variable twice, and one that is captured too") {
  const auto f = [](const Variable& v, const Variable& w) {
    v.assign(v * 2);
    return v * w;
  };
  const auto call = compile(f, {.check = 1});
  const Variable a(ramp({3}, .7), "a"), b(ramp({3}, .3), "b"), c(a.read()), d(b.read());
  const auto check = [&](const Variable& v, const Variable& w, const Variable& x, const Variable& y) {
    CHECK(same_bits(call(v, w), f(x, y)));
    CHECK(same_bits(a.read(), c.read()));
    CHECK(same_bits(b.read(), d.read()));
  };
  check(a, b, c, d);
  CHECK(call.stats().signatures == 1);
  check(a, a, c, c);
  check(b, b, d, d);
  CHECK(call.stats().signatures == 2);
  check(b, a, d, c);  // in the other order of construction
  CHECK(call.stats().signatures == 3);

  const auto of_three = [](const Variable& u, const Variable& v, const Variable& w) {
    w.assign(u + v);
    return u - v;
  };
  const auto three = compile(of_three);
  for (const bool last : {false, true}) {
    CHECK(same_bits(three(a, b, last ? b : a), of_three(c, d, last ? d : c)));
    CHECK(same_bits(a.read(), c.read()));
    CHECK(same_bits(b.read(), d.read()));
  }

  const auto captures = [](const Variable& captured) {
    return [captured](const Variable& v) {
      v.assign(v + 1.);
      return captured * v;
    };
  };
  const auto own = compile(captures(a));
  const auto twin = captures(c);
  for (const auto& [v, w] : {std::pair(b, d), std::pair(a, c), std::pair(b, d), std::pair(a, c)}) {
    CHECK(same_bits(own(v), twin(w)));
    GradientTape tape, twin_tape;
    const Tensor y = sum(own(v)), z = sum(twin(w));
    CHECK(same_bits(*tape.gradient(y, v), *twin_tape.gradient(z, w)));
    CHECK(same_bits(a.read(), c.read()));
    CHECK(same_bits(b.read(), d.read()));
  }
  CHECK(own.stats().traces == 2);
}

TEST_CASE("variables as arguments: names and the order of construction make programs of their own") {
  const Variable first(ramp({3}, .7), "first"), second(ramp({3}, .3), "second"), third(ramp({3}, .5), "third");
  const auto by_name = compile([](const Variable& v) { return v.name() == "second" ? v * 2 : v * 3; });
  CHECK(same_bits(by_name(first), first * 3));
  CHECK(same_bits(by_name(second), second * 2));
  // watched_variables() are in the order of construction.
  const auto last_watched = [second](const Variable& v) {
    GradientTape tape;
    const Tensor y = v * second;
    return tape.watched_variables().back() * y;
  };
  const auto call = compile(last_watched);
  for (const Variable& v : {first, third}) CHECK(same_bits(call(v), last_watched(v)));
  const auto of_two = [](const Variable& v, const Variable& w) {
    GradientTape tape;
    const Tensor y = v * w;
    return tape.watched_variables().back() + y * 0;
  };
  const auto call_of_two = compile(of_two);
  CHECK(same_bits(call_of_two(first, second), second.read()));
  CHECK(same_bits(call_of_two(third, second), third.read()));
  CHECK(call_of_two.stats().traces == 2);
}

TEST_CASE(
    "variables as arguments: dtypes, shapes and what is trainable; trees of variables; values where f takes them") {
  const auto f = compile([](const Variable& v) { return v + v; });
  const Variable whole(tensor({1, 2}), "whole", false), one(scalar(1.5)), constant(scalar(2.5), "constant", false);
  CHECK(same_bits(f(whole), tensor({2, 4})));
  CHECK(f(one).item() == 3.);
  CHECK(f(constant).item() == 5.);
  CHECK(f.stats().traces == 3);
  CHECK(same_bits(f(Variable(ones({2}))), full({2}, 2.)));
  CHECK(same_bits(f(Variable(ones({3}))), full({3}, 2.)));
  GradientTape tape(TapeOptions{.persistent = true});
  const Tensor y = f(one) * f(constant);
  CHECK((*tape.gradient(y, one)).item() == 10.);
  CHECK(!tape.gradient(y, constant));

  const auto list = compile([](const std::vector<Variable>& v, double rate, const auto& factor) {
    v[0].assign_sub(rate * v[1]);
    return v[0] * factor + v[1];
  });
  CHECK(list(std::vector{one, constant}, .5, 2.).item() == Approx(.25 * 2. + 2.5));
  CHECK(one.read().item() == .25);
  CHECK(list(std::vector{constant, one}, .5, 3.).item() == Approx(2.375 * 3 + .25));
  static_cast<void>(list(std::vector{one, constant}, .5, 4.));
  CHECK(list.stats().traces == 2);

  const auto value = compile([](const auto& x, const Variable& v) {
    static_assert(std::is_same_v<decltype(x), const Tensor&>);
    return x * v;
  });
  CHECK(value(one, constant).item() == one.read().item() * constant.read().item());
  Compiled<Tensor(const Variable&)> member = compile([](const Variable& v) { return v * 4; });
  CHECK(member(one).item() == one.read().item() * 4);
  // As a part of another program, and differentiated by its other argument.
  const auto outer = compile([inner = compile([](const Variable& v, const Tensor& x) {
                                v.assign_add(x);
                                return v * x;
                              })](const Variable& v, const Tensor& x) { return inner(v, x) * inner(v, x); });
  const Variable start(scalar(1.));
  CHECK(outer(start, scalar(2.)).item() == 6. * 10.);
  CHECK(grad<1>(outer)(start, scalar(1.)).item() == 6. * 7. * 2.);
  CHECK(start.read().item() == 7.);
}

TEST_CASE("variables as arguments: parameters that are kept, and functions that have changed") {
  std::vector<Variable> kept;
  const auto f = compile([&kept](const Variable& v) {
    kept.push_back(v);
    return v * 2;
  });
  const Variable v(ramp({3}), "v");
  static_cast<void>(f(v));
  REQUIRE(kept.size() == 1);
  CHECK_THROWS_AS(kept[0].read(), TraceError);
  CHECK_THROWS_AS(kept[0].assign_add(ones({3})), TraceError);
  CHECK_THROWS_AS(compile([&kept](const Tensor& x) { return x * kept[0]; })(ramp({3})), TraceError);
  CHECK_THROWS_AS(compile([&kept](const Tensor& x) { kept[0].assign(x); })(ramp({3})), TraceError);
  double factor = 2.;
  const auto checked = compile([&](const Variable& x) { return x * factor; }, {.check = 100});
  CHECK(same_bits(checked(v), v * 2));
  factor = 3.;
  CHECK_THROWS_WITH(checked(v), Catch::Contains("operation 1, multiply: operand 2 is a constant of the program"));
}

TEST_CASE("variables as arguments: threads that update two variables in either order lose no update") {
  const auto add = compile([](const Variable& v, const Variable& w) {
    v.assign_add(ones({2}));
    w.assign_add(v * 0. + 2.);
  });
  const Variable a(zeros({2})), b(zeros({2}));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int k = 0; k < 200; ++k) t % 2 ? add(a, b) : add(b, a);
    });
  for (std::thread& t : threads) t.join();
  CHECK(same_bits(a.read(), ones({2}) * 1200.));
  CHECK(same_bits(b.read(), ones({2}) * 1200.));
  // In the order of construction, although the parameter comes behind what is captured.
  const auto captures = compile([b](const Variable& v) {
    b.assign_add(ones({2}));
    v.assign_add(ones({2}));
  });
  const auto both = compile([a, b] {
    a.assign_add(ones({2}));
    b.assign_add(ones({2}));
  });
  std::thread other([&] {
    for (int k = 0; k < 500; ++k) captures(a);
  });
  for (int k = 0; k < 500; ++k) both();
  other.join();
  CHECK(same_bits(a.read(), ones({2}) * 2200.));
  CHECK(same_bits(b.read(), ones({2}) * 2200.));
}

namespace {

struct Layer {
  Variable w;
  Tensor scale;
  auto leaves() { return std::tie(w, scale); }
};
struct Net {
  std::vector<Layer> layers;
  Variable bias;
  int power = 1;
  auto leaves() { return std::tie(layers, bias); }
  auto signature() const { return std::tie(power); }
};
// Its variable is shared by copies.
struct Shared {
  std::shared_ptr<Variable> v;
  auto leaves() { return std::tie(*v); }
  auto signature() const { return std::tuple(); }
};
struct Constant {
  const Variable v;
  auto leaves() { return std::tie(v); }
};

using Mixed = std::pair<Tensor, Variable>;
using ByName = std::map<std::string, std::tuple<Variable, std::vector<Tensor>, Layer>>;

// Derivatives of f of trees made of a variable and a tensor, inside of a program and through a call, for several
// variables, with one program for all.
template <class T, class F>
void check_tree(const F& f, const std::function<T(const Variable&, const Tensor&)>& tree) {
  const auto call = compile(f);
  // The variable is passed twice, and is one in the function.
  const auto by_v = [f](const T& x, const Variable& v) {
    GradientTape tape;
    return *tape.gradient(sum(square(f(x))), v, or_zeros);
  };
  const auto inside = compile(by_v);
  const Function plain = [&](const Variable& v, const Tensor& z) { return f(tree(v, z)); };
  const Function through = [&](const Variable& v, const Tensor& z) { return call(tree(v, z)); };
  const auto expected = derivatives_of(plain), got = derivatives_of(through);
  const Tensor x = ramp({3}, .3);
  for (const double start : {.7, -.4, 1.1}) {
    const Variable v(ramp({3}, start), "v");
    for (std::size_t k = 0; k < got.size(); ++k) {
      INFO("derivative: " << got[k].first);
      check_close(got[k].second(v, x), expected[k].second(v, x));
    }
    check_close(inside(tree(v, x), v), by_v(tree(v, x), v));
  }
  CHECK(call.stats().traces == 1);
  CHECK(inside.stats().traces == 1);
}

Tensor of_layer(const Layer& l, const Tensor& x) { return tanh(l.w * x) * l.scale; }
Tensor of_net(Net& net, const Tensor& x) {
  Tensor y = x;
  for (const Layer& l : net.layers) y = of_layer(l, y);
  return pow(y, net.power) + net.bias;
}

}  // namespace

TEST_CASE("variables as arguments: in trees with tensors and in structs, derivatives and one program for all") {
  check_tree<Mixed>([](const Mixed& p) { return tanh(p.first * p.second) + square(p.second); },
                    [](const Variable& v, const Tensor& x) { return Mixed(x, v); });
  check_tree<std::tuple<std::vector<Variable>, Tensor>>(
      [](const std::tuple<std::vector<Variable>, Tensor>& t) {
        const auto& [list, x] = t;
        return exp(list[0] * x) * list[1];
      },
      [](const Variable& v, const Tensor& x) {
        return std::tuple(std::vector{v, v}, x);
      });
  check_tree<Layer>([](const Layer& l) { return of_layer(l, cos(l.scale)); },
                    [](const Variable& v, const Tensor& x) {
                      return Layer{v, x};
                    });
  check_tree<ByName>(
      [](const ByName& t) {
        const auto& [v, list, layer] = t.at("a");
        return v * of_layer(layer, list[0]) + list[1];
      },
      [](const Variable& v, const Tensor& x) {
        return ByName{{"a", {v, {x, x * 2.}, Layer{v, x}}}};
      });
  const Variable bias(ramp({3}, .1), "bias");
  check_tree<std::pair<Net, Tensor>>(
      [](const std::pair<Net, Tensor>& p) {
        Net net = p.first;
        return of_net(net, p.second);
      },
      [=](const Variable& v, const Tensor& x) {
        return std::pair(Net{{Layer{v, x}, Layer{v, ones({3})}}, bias, 2}, x);
      });
}

TEST_CASE("variables as arguments: members of structs are assigned and stepped; what signature() returns counts") {
  const auto f = [](Net& net, const Tensor& x) {
    const Tensor y = of_net(net, x);
    for (const Layer& l : net.layers) l.w.assign_add(y * .1);
    GradientTape tape;
    const Tensor loss = sum(square(of_net(net, x)));
    SGD({.learning_rate = .1}).step(tape.gradient(loss, net.bias), net.bias);
    return y;
  };
  const auto make = [](double start, int power) {
    return Net{{Layer{Variable(ramp({3}, start)), ones({3})}, Layer{Variable(ramp({3}, -start)), ramp({3})}},
               Variable(ramp({3}, .2)),
               power};
  };
  const auto call = compile(f, {.check = 1});
  for (const int power : {1, 2})
    for (const double start : {.3, .9}) {
      Net own = make(start, power), twin = make(start, power);
      for (int k = 0; k < 2; ++k) {
        CHECK(same_bits(call(own, ramp({3}, .1)), f(twin, ramp({3}, .1))));
        CHECK(same_bits(own.layers[0].w.read(), twin.layers[0].w.read()));
        CHECK(same_bits(own.layers[1].w.read(), twin.layers[1].w.read()));
        CHECK(same_bits(own.bias.read(), twin.bias.read()));
      }
    }
  CHECK(call.stats().signatures == 2);
  CHECK(call.stats().traces == 2);
  // An optimiser with state keeps programs of each.
  Adam adam({.learning_rate = .1}), plain({.learning_rate = .1});
  const auto step = [](Adam& by) {
    return [&by](const Layer& l, const Tensor& x) {
      GradientTape tape;
      const Tensor loss = sum(square(of_layer(l, x)));
      by.step(tape.gradient(loss, l.w), l.w);
      return loss;
    };
  };
  const auto compiled = compile(step(adam));
  const Layer one{Variable(ramp({3}, .3)), ones({3})}, other{Variable(ramp({3}, .5)), ones({3})};
  const Layer twins[] = {{Variable(one.w.read()), ones({3})}, {Variable(other.w.read()), ones({3})}};
  for (int k = 0; k < 3; ++k)
    for (const int which : {0, 1}) {
      const Layer& layer = which ? other : one;
      CHECK(same_bits(compiled(layer, ramp({3})), step(plain)(twins[which], ramp({3}))));
      CHECK(same_bits(layer.w.read(), twins[which].w.read()));
    }
  CHECK(compiled.stats().signatures == 3);
}

TEST_CASE("variables as arguments: a struct refers to a variable that is none of its members, or const") {
  const auto check = [](const auto& f, const auto& make, std::int64_t programs) {
    const auto call = compile(f);
    for (const double start : {.3, .9}) {
      const Variable v(ramp({3}, start)), twin(v.read());
      for (int k = 0; k < 2; ++k) CHECK(same_bits(call(make(v)), f(make(twin))));
      CHECK(same_bits(v.read(), twin.read()));
      CHECK(v.read().size() == 3);
    }
    CHECK(call.stats().traces == programs);
  };
  check(
      [](const Shared& s) {
        s.v->assign(*s.v * 2.);
        return *s.v + 1.;
      },
      [](const Variable& v) { return Shared{std::make_shared<Variable>(v)}; }, 2);
  check(
      [](const Constant& s) {
        s.v.assign(s.v * 2.);
        return s.v + 1.;
      },
      [](const Variable& v) { return Constant{v}; }, 2);
}

TEST_CASE("variables as arguments: values where a function takes a tree of tensors; plain calls and many variables") {
  const auto values = compile([](const std::pair<Tensor, Tensor>& p) { return p.first - p.second; });
  const Variable v(ramp({3}, .7));
  CHECK(same_bits(values(Mixed(ones({3}), v)), ones({3}) - v));
  const auto inner = compile([](const Mixed& p) {
    p.second.assign_add(p.first);
    return p.second * 2.;
  });
  const auto outer = compile([inner](const Variable& w, const Tensor& x) { return inner(Mixed(x, w)); });
  CHECK(same_bits(outer(v, ones({3})), (ramp({3}, .7) + 1.) * 2.));
  CHECK(same_bits(v.read(), ramp({3}, .7) + 1.));
  // In every order of construction and with repetitions.
  std::vector<Variable> list;
  for (int k = 0; k < 5; ++k) list.emplace_back(scalar(1. + k));
  using Two = std::pair<std::vector<Variable>, Tensor>;
  const auto f = [](const Two& p) {
    Tensor y = p.second;
    for (const Variable& w : p.first) {
      y = y * 2. + w;
      w.assign_add(y);
    }
    return y;
  };
  const auto call = compile(f);
  std::vector<Variable> twins;
  for (const Variable& w : list) twins.emplace_back(w.read());
  for (const std::vector<std::size_t>& order :
       std::vector<std::vector<std::size_t>>{{0, 1, 2, 3, 4}, {4, 3, 2, 1, 0}, {2, 0, 4, 0, 2}, {1, 1, 3, 2, 4}}) {
    const auto of = [&](const std::vector<Variable>& from) {
      std::vector<Variable> some;
      for (const std::size_t k : order) some.push_back(from[k]);
      return Two(some, scalar(.5));
    };
    for (int k = 0; k < 2; ++k) CHECK(same_bits(call(of(list)), f(of(twins))));
    for (std::size_t k = 0; k < list.size(); ++k) CHECK(same_bits(list[k].read(), twins[k].read()));
  }
  CHECK(call.stats().traces == 4);
}
