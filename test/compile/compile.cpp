// compile(f): results, derivatives to every order and mode, variables, optimisers, signatures, and what is refused.
#include <atomic>
#include <cmath>
#include <memory>
#include <optional>
#include <reel/compile.hpp>
#include <reel/elementwise.hpp>
#include <reel/ops/arranging.hpp>
#include <reel/ops/indexing.hpp>
#include <reel/optim.hpp>
#include <reel/reel.hpp>
#include <reel/registry.hpp>
#include <sstream>
#include <thread>

#include "catch.hpp"
#include "check_close.hpp"
#include "support/bits.hpp"
#include "support/messages.hpp"
#include "support/ramp.hpp"
#include "support/warnings.hpp"

using namespace reel;
using support::same_bits;

namespace {

Tensor loss(const Tensor& x, const Tensor& w) { return sum(tanh(matmul(x, w)) * 0.5 + exp(-square(x[0]))); }

}  // namespace

TEST_CASE("compiled: the function runs again for a gradient, on the copy that the entry keeps") {
  const auto runs = std::make_shared<int>(0);
  const Tensor x = support::ramp({3}, 0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = compile([runs](const Tensor& v) {
    ++*runs;
    return sum(v * v);
  })(x);
  CHECK(*runs == 1);
  CHECK(runs.use_count() > 1);  // the compiled object is gone
  CHECK(array_equal(*tape.gradient(y, x), 2.0 * x));
  CHECK(*runs == 2);
}

TEST_CASE("compiled: has the bits of the function and is traced once per signature") {
  int traced = 0;
  const auto f = compile([&](const Tensor& x, const Tensor& w) {
    ++traced;
    return loss(x, w);
  });
  const Tensor w = support::ramp({4, 4}, 0);
  for (int i = 0; i < 3; ++i) {
    const Tensor x = support::ramp({5, 4}, i);
    CHECK(same_bits(f(x, w), loss(x, w)));
  }
  CHECK(traced == 1);
  CHECK(f.stats().signatures == 1);
  CHECK(f.stats().instructions < f.stats().traced_instructions);
  const Tensor longer = support::ramp({6, 4});
  CHECK(same_bits(f(longer, w), loss(longer, w)));
  CHECK(traced == 2);
  CHECK(f.stats().signatures == 2);
  const Tensor turned = transpose(support::ramp({4, 5}));
  CHECK(same_bits(f(turned, w), loss(turned, w)));
  CHECK(traced == 3);
}

TEST_CASE("compiled: gradients taken inside the function are part of the program") {
  const auto step = [](const Tensor& x, const Tensor& w) { return value_and_grad<0, 1>(loss)(x, w); };
  const auto f = compile(step);
  const Tensor x = support::ramp({5, 4}), w = support::ramp({4, 4}, 0);
  for (int i = 0; i < 2; ++i) {
    const auto [value, gradients] = f(x, w);
    const auto [expected, eager] = step(x, w);
    CHECK(same_bits(value, expected));
    CHECK(same_bits(std::get<0>(gradients), std::get<0>(eager)));
    CHECK(same_bits(std::get<1>(gradients), std::get<1>(eager)));
  }
  CHECK(f.stats().traces == 1);
}

TEST_CASE("compiled: derivatives through a call in every mode and order") {
  const auto g = [](const Tensor& x) { return sum(x * x * sin(x) / (1. + square(x))); };
  const auto f = compile(g);
  const Tensor x = support::ramp({6});
  check_close(grad(f)(x), grad(g)(x));
  check_close(grad([&](const Tensor& y) { return sum(grad(f)(y) * y); })(x),
              grad([&](const Tensor& y) { return sum(grad(g)(y) * y); })(x));
  check_close(hessian(f)(x), hessian(g)(x));
  const auto third = [&](const auto& h) {
    return grad(
        [&](const Tensor& y) { return sum(grad([&](const Tensor& z) { return sum(grad(h)(z) * z); })(y) * y); })(x);
  };
  check_close(third(f), third(g));
  const Tensor t = support::ramp({6}, .3);
  check_close(jvp(f, x, t).second, jvp(g, x, t).second);
  check_close(jvp([&](const Tensor& y) { return grad(f)(y); }, x, t).second,
              jvp([&](const Tensor& y) { return grad(g)(y); }, x, t).second);
  check_close(grad([&](const Tensor& y) { return sum(jvp(f, y, t).second); })(x),
              grad([&](const Tensor& y) { return sum(jvp(g, y, t).second); })(x));
  check_close(jacobian(compile([](const Tensor& y) { return exp(y) * y[0]; }))(x),
              jacobian([](const Tensor& y) { return exp(y) * y[0]; })(x));
}

TEST_CASE("compiled: a captured tensor that a tape follows gets its gradient") {
  const Tensor w = support::ramp({3}), x = support::ramp({3}, .2);
  const auto f = compile([&](const Tensor& y) { return sum(exp(w * 2.) * y); });
  check_close(f(x), sum(exp(w * 2.) * x));
  GradientTape tape;
  tape.watch(w);
  const Tensor y = f(x);
  check_close(*tape.gradient(y, w), exp(w * 2.) * 2. * x);
}

TEST_CASE("compiled: gradients reach a captured tensor through views and recompute_grad") {
  const Tensor w = support::ramp({3, 2}), x = support::ramp({3}, .2);
  const auto check = [&](const auto& f) {
    const auto g = compile(f);
    static_cast<void>(g(x));  // traced without an active tape
    GradientTape tape, eager;
    tape.watch(w);
    eager.watch(w);
    const Tensor y = g(x), expected = f(x);
    check_close(y, expected);
    const Gradient d = tape.gradient(y, w);
    REQUIRE(bool(d));
    check_close(*d, *eager.gradient(expected, w));
  };
  check([&](const Tensor& a) { return sum(matmul(transpose(w), a)); });
  check([&](const Tensor& a) { return sum(w[0]) * sum(a); });
  check([&](const Tensor& a) { return sum(exp(reshape(w, {2, 3})) * a); });
  check([&](const Tensor& a) { return sum(unstack(w, 1)[1] * a); });
  check([&](const Tensor& a) {
    return sum(recompute_grad([](const Tensor& m, const Tensor& v) { return exp(transpose(m)) * v; })(w, a));
  });
  check([&](const Tensor& a) {
    return sum(custom_gradient(
               [](const Tensor& m) { return std::pair(m * m, [m](const Tensor& dy) { return 2. * m * dy; }); })(w)) *
           sum(a);
  });
  check([&](const Tensor& a) { return sum(grad([](const Tensor& m) { return sum(m * m * m); })(w)) * sum(a); });
}

TEST_CASE("compiled: unconnected arguments have no gradient") {
  const auto f = compile([](const Tensor& x, const Tensor& y) { return std::pair(x * 2., y * 3.); });
  const Tensor x = scalar(1.), y = scalar(2.);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  tape.watch(y);
  const auto [a, b] = f(x, y);
  CHECK((*tape.gradient(a, x)).item<double>() == 2);
  CHECK_FALSE(tape.gradient(a, y));
  CHECK_FALSE(tape.gradient(b, x));
}

TEST_CASE("compiled: variables are read and assigned at each call") {
  Variable v(support::ramp({3}), "v"), count(scalar(0.), "count", false);
  const auto f = compile([&](const Tensor& x) {
    count.assign_add(scalar(1.));
    const Tensor before = v * x;
    v.assign(v + x);
    return sum(before + v);
  });
  const Tensor x = support::ramp({3}, .1);
  Tensor value = support::ramp({3});
  for (int i = 0; i < 3; ++i) {
    const Tensor expected = sum(value * x + (value + x));
    CHECK(same_bits(f(x), expected));
    value = value + x;
    CHECK(same_bits(v.read(), value));
  }
  CHECK(count.read().item<double>() == 3);
  v.assign(support::ramp({3}, 5));
  CHECK(same_bits(f(x), sum(support::ramp({3}, 5) * x + (support::ramp({3}, 5) + x))));
  CHECK(f.stats().traces == 1);
}

TEST_CASE("compiled: an assigned value is the variable's own memory unless others hold it") {
  const Tensor x = support::ramp({3}, .1);
  Variable v(support::ramp({3})), w(support::ramp({3}));
  const auto step = compile([&](const Tensor& by) { v.assign(v - by); });
  for (int i = 0; i < 2; ++i) step(x);
  const Tensor expected = v.read() - x;
  const std::int64_t tensors = memory_stats().live_tensors;
  SGD({.learning_rate = 1}).step(std::vector<Gradient>{x}, {v});
  CHECK(memory_stats().live_tensors == tensors);  // in place: a view of other memory would have been replaced
  CHECK(same_bits(v.read(), expected));

  const auto share = compile([&](const Tensor& by) {
    const Tensor y = v * by;
    v.assign(y);
    w.assign(y);
    return y;
  });
  const Tensor y = share(x);
  CHECK(v.read().id() != y.id());
  CHECK(w.read().id() != y.id());
  CHECK(w.read().id() != v.read().id());
  SGD({.learning_rate = 1}).step(std::vector<Gradient>{x}, {v});
  CHECK(same_bits(y, expected * x));
  CHECK(same_bits(w.read(), y));
  CHECK(same_bits(v.read(), y - x));
}

TEST_CASE("compiled: an argument or a value is read whole, as a view, and returned more than once") {
  const auto function = [](const Tensor& x) {
    const Tensor y = x + 1., turned = transpose(x), z = sum(turned * 2., 0) + x[0][0];
    return std::vector<Tensor>{x, y, turned, z, y, transpose(y), x, exp(y[1]) + z[0]};
  };
  const auto f = compile(function);
  for (int i = 0; i < 3; ++i) {
    const Tensor x = support::ramp({2, 3}, i);
    const std::vector<Tensor> expected = function(x), got = f(x), of_rvalue = f(support::ramp({2, 3}, i));
    for (std::size_t k = 0; k < expected.size(); ++k) {
      CHECK(same_bits(got[k], expected[k]));
      CHECK(same_bits(of_rvalue[k], expected[k]));
    }
    CHECK(got[1].id() == got[4].id());
    CHECK(same_bits(x, support::ramp({2, 3}, i)));
  }
}

TEST_CASE("compiled: a call watches the variables that it reads, and they have gradients") {
  Variable v(support::ramp({3}), "v");
  const auto f = compile([&](const Tensor& x) { return sum(exp(v) * x); });
  const Tensor x = support::ramp({3}, .2);
  GradientTape tape;
  const Tensor y = f(x);
  CHECK(tape.watched_variables().size() == 1);
  check_close(*tape.gradient(y, v), exp(v.read()) * x);
}

TEST_CASE("compiled: second derivatives by variables, in both modes, and of third order") {
  const Tensor x = support::ramp({3}, .2), t = support::ramp({3}, -.5);
  const Variable v(support::ramp({3}, .4), "v");
  const auto f = [v](const Tensor& y) { return sum(exp(y * v) * v + y); };
  const auto derivatives = [&](const auto& g) {
    GradientTape third, second;
    for (GradientTape* tape : {&third, &second}) tape->watch(x);
    const ForwardAccumulator accumulator(v, t);
    Tensor slopes;
    {
      GradientTape first;
      first.watch(x);
      const auto [by_x, by_v] = first.gradient(g(x), std::pair(x, v));
      slopes = sum(square(*by_x)) + sum(square(*by_v));
    }
    const Tensor tangent = accumulator.jvp(slopes).dense();
    const auto [by_x, by_v] = second.gradient(slopes, std::pair(x, v));
    const auto [last_by_x, last_by_v] = third.gradient(sum(*by_x * *by_v), std::pair(x, v));
    return std::vector{tangent, *by_x, *by_v, *last_by_x, *last_by_v};
  };
  const auto expected = derivatives(f), got = derivatives(compile(f));
  for (std::size_t k = 0; k < expected.size(); ++k) check_close(got[k], expected[k]);
}

TEST_CASE("compiled: the value of a variable may be a view of any layout") {
  Variable v(support::ramp({3, 2}), "v");
  const auto g = [&](const Tensor& x) { return sum(exp(matmul(v, x)) * v.read()[0]); };
  const auto f = compile(g);
  const Tensor x = support::ramp({2, 2}, .2);
  for (const bool turned : {false, true}) {
    v.assign(turned ? transpose(support::ramp({2, 3}, .4)) : support::ramp({3, 2}));
    GradientTape tape, eager;
    tape.watch(x);
    eager.watch(x);
    const Tensor y = f(x), expected = g(x);
    check_close(y, expected);
    const auto d = tape.gradient(y, std::pair(v, x));
    const auto e = eager.gradient(expected, std::pair(v, x));
    check_close(*d.first, *e.first);
    check_close(*d.second, *e.second);
    check_close(hessian(f)(x), hessian(g)(x));
  }
}

TEST_CASE("compiled: arguments and results are structs, trees, numbers or void") {
  struct Model {
    Variable w;
    Tensor b;
    auto leaves() { return std::tie(w, b); }
  };
  const Model one{Variable(support::ramp({3}), "w"), support::ramp({3}, 2)},
      two{Variable(support::ramp({3}, 7), "w"), support::ramp({3}, 9)};
  int traced = 0;
  const auto f = compile([&](const Model& m, const std::vector<Tensor>& list, double scale, bool flip) {
    ++traced;
    std::map<std::string, Tensor> result;
    result["sum"] = sum(m.w * list[0] + m.b) * scale;
    result["last"] = flip ? -list[1] : list[1];
    return result;
  });
  const std::vector<Tensor> list{support::ramp({3}, 4), support::ramp({2})};
  for (const Model& m : {one, two})
    for (const bool flip : {false, true}) {
      const auto r = f(m, list, .5, flip);
      CHECK(same_bits(r.at("sum"), sum(m.w * list[0] + m.b) * .5));
      CHECK(same_bits(r.at("last"), flip ? -list[1] : list[1]));
    }
  CHECK(traced == 2);  // one program for both structs
  Variable v(scalar(1.));
  const auto effect = compile([&](const Tensor& x) { v.assign(x * 2.); });
  effect(scalar(4.));
  effect(scalar(5.));
  CHECK(v.read().item<double>() == 10);
}

TEST_CASE("compiled: a compiled function that is called inside is inlined") {
  const auto inner = compile([](const Tensor& x) { return exp(x); });
  const auto outer = compile([&](const Tensor& x) { return inner(x) + inner(2. * x); });
  const Tensor x = support::ramp({4});
  CHECK(same_bits(outer(x), exp(x) + exp(2. * x)));
  CHECK(inner.stats().traces == 0);
}

TEST_CASE("compiled: an error while tracing names what cannot be traced and changes nothing") {
  Variable v(scalar(1.), "v");
  const Tensor x = scalar(2.);
  const auto refused = [&](auto f) {
    const auto g = compile(std::move(f));
    CHECK_THROWS_AS(g(x), TraceError);
    CHECK(v.read().item<double>() == 1);
    CHECK(same_bits(exp(x), exp(scalar(2.))));  // the trace is over
  };
  refused([&](const Tensor& a) {
    v.assign(a);
    return a * a.item<double>();
  });
  refused([](const Tensor& a) { return a > 1. ? a : -a; });
  refused([](const Tensor& a) { return a * a.data<double>()[0]; });
  refused([](const Tensor& a) {
    std::ostringstream text;
    text << a;
    return a;
  });
  refused([](const Tensor& a) { return boolean_mask(reshape(a, {1}), reshape(a, {1}) > 0.); });
  refused([](const Tensor& a) { return nonzero(reshape(a, {1}))[0]; });
  refused([](const Tensor& a) { return repeat(reshape(a, {1}), cast(reshape(a, {1}), DType::int64), 0); });
  refused([](const Tensor& a) {
    const Tensor y = a * 2.;
    record_operation("doubled", std::span(&a, 1), std::span(&y, 1),
                     [](std::span<const Gradient> g) { return std::vector<Gradient>{g[0]}; });
    return y;
  });
  refused([](const Tensor& a) {
    std::exception_ptr thrown;
    std::thread([&] {
      try {
        static_cast<void>(a + 1.);
      } catch (...) {
        thrown = std::current_exception();
      }
    }).join();
    if (thrown) std::rethrow_exception(thrown);
    return a;
  });
  refused([](const Tensor& a) { return from_data(a.to_vector<double>(), a.shape()); });
  refused([](const Tensor& a) {
    static_cast<void>(to_string(a));
    return a;
  });
  Generator generator(1);
  refused([&](const Tensor& a) { return a + random_uniform(generator, {}); });
  refused([](const Tensor& a) { return Variable(scalar(1.)) * a; });
  std::vector<double> memory{1, 2};
  const Tensor borrowed = borrow(memory.data(), {2}, 0);
  refused([&](const Tensor& a) { return a * borrowed; });
  const auto reads = compile([](const Tensor& a) { return a * 2.; });
  CHECK(reads(borrowed).to_vector() == std::vector<double>{2, 4});
  memory[0] = 5;
  CHECK(reads(borrowed).to_vector() == std::vector<double>{10, 4});
  Tensor leaked;
  static_cast<void>(compile([&](const Tensor& a) { return leaked = a * 2.; })(x));
  CHECK_THROWS_AS(leaked + 1., TraceError);
  CHECK_THROWS_AS(leaked.item<double>(), TraceError);
  GradientTape outside({.persistent = true});
  outside.watch(x);
  const Tensor squared = x * x;
  refused([&](const Tensor& a) { return *outside.gradient(squared, x) * a; });
  refused([&](const Tensor& a) {
    outside.watch(a);
    return a;
  });
  refused([&](const Tensor& a) {
    outside.stop();
    return a;
  });
  refused([&](const Tensor& a) {
    outside.reset();
    return a;
  });
  outside.stop();
  CHECK((*outside.gradient(squared, x)).item() == 4);
  std::unique_ptr<GradientTape> tape;
  static_cast<void>(compile([&](const Tensor& a) {
    tape = std::make_unique<GradientTape>();
    tape->watch(a);
    leaked = a * a;
    tape->stop();
    return a;
  })(x));
  CHECK_THROWS_AS(tape->gradient(leaked, leaked), TraceError);
  CHECK_THROWS_AS(compile([](const Tensor& a) { return a; })(Tensor()), ValueError);
  CHECK_THROWS_AS(compile([](const Tensor& a) { return a; }, {.max_signatures = 0}), ValueError);
}

TEST_CASE("compiled: overrides of gradients are part of the signature") {
  const auto f = [](const Tensor& x) { return grad([](const Tensor& y) { return sum(sin(y) * y); })(x); };
  const auto g = compile(f);
  const Tensor x = support::ramp({3});
  const Tensor plain = g(x);
  CHECK(same_bits(plain, f(x)));
  const auto times = [](double factor) {
    return [factor](const RecordedOp&, std::span<const Gradient> d) {
      return std::vector<Gradient>{Gradient(d[0].dense() * factor)};
    };
  };
  for (const double factor : {2., 3.}) {
    const GradientRegistry::OverrideGuard guard("sin", times(factor));
    CHECK_FALSE(same_bits(f(x), plain));
    CHECK(same_bits(g(x), f(x)));
    const GradientRegistry::OverrideGuard inner("multiply", [](const RecordedOp&, std::span<const Gradient> d) {
      return std::vector<Gradient>{Gradient(d[0].dense()), Gradient(d[0].dense())};
    });
    CHECK(same_bits(g(x), f(x)));
  }
  CHECK(same_bits(g(x), plain));
  CHECK(g.stats().traces == 5);
}

TEST_CASE("compiled: a program that throws for some values leaves variables unchanged") {
  Variable v(scalar(1.), "v");
  const auto f = compile([&](const Tensor& index) {
    v.assign(v + 1.);
    return gather(arange(4), index);
  });
  CHECK(f(scalar(3)).item<std::int64_t>() == 3);
  CHECK_THROWS_AS(f(scalar(9)), IndexError);
  CHECK(v.read().item<double>() == 2);
  CHECK(f(scalar(1)).item<std::int64_t>() == 1);
  CHECK(v.read().item<double>() == 3);
}

TEST_CASE("compiled: stats() counts instructions, to_dot() draws them") {
  const Tensor w = support::ramp({3, 3});
  const auto f = compile([&](const Tensor& x) {
    const Tensor y = exp(x) * exp(x) + 1., unused = sin(x);
    return matmul(y, w) + sum(y, {0});
  });
  CHECK(f.to_dot().find("->") == std::string::npos);
  CHECK(f.stats().traced_instructions == 0);
  CHECK(f.stats().passes.empty());
  f(support::ramp({3, 3}));
  const CompileStats s = f.stats();
  CHECK(s.traced_instructions == 8);  // exp twice, multiply, add, sin, matmul, sum, add
  CHECK(s.instructions == 4);         // exp, multiply, add fused; second exp merged; sin dropped
  CHECK(s.planned_bytes >= 3 * 3 * 8);
  CHECK(s.constant_bytes >= 3 * 3 * 8);
  CHECK(s.signatures == 1);
  std::ostringstream shown;
  shown << s;
  CHECK(shown.str().starts_with("1 programs, 1 traces\n8 instructions traced, 4 run, in "));
  CHECK(shown.str().find("\nfuse_pointwise: ") != std::string::npos);
  const std::string dot = f.to_dot();
  for (const char* text : {"digraph", "argument [3, 3]", "fused [3, 3]", "matmul [3, 3]", "result", "->"})
    CHECK(dot.find(text) != std::string::npos);
  CHECK(dot.find("sin") == std::string::npos);
}

TEST_CASE("compiled: stats() counts instructions before and after each pass") {
  const auto counts = [](const CompileStats& s) {
    std::vector<std::string> list;
    for (const auto& [name, before, after] : s.passes)
      list.push_back(std::string(name) + " " + std::to_string(before) + " " + std::to_string(after));
    return list;
  };
  const auto f = compile([](const Tensor& x) {
    const Tensor unused = sin(x);
    GradientTape tape;
    tape.watch(x);  // each slice's cotangent is placed into zeros
    const Tensor y = sum(exp(slice(x, {range(0, 3)}))) + sum(square(slice(x, {range(2, 7)})));
    return *tape.gradient(y, x) + exp(scalar(2.)) + exp(x) * exp(x);
  });
  f(support::ramp({7}));
  const CompileStats s = f.stats();
  // Unused: sin and what f computes besides the gradient. Folded: exp(2). Equal: exp(x), whose second instruction is
  // dropped. Joined: two places and their sum.
  CHECK(counts(s) == std::vector<std::string>{"drop_unused 17 12", "fold_constants 12 11", "share_equal 11 11",
                                              "drop_unused 11 10", "join_places 10 8", "accumulate_products 8 8",
                                              "join_scalars 8 8", "fuse_pointwise 8 4"});
  CHECK(s.passes.front().before == s.traced_instructions);
  CHECK(s.passes.back().after == s.instructions);
  f(support::ramp({8}));  // another signature
  CHECK(f.stats().passes.size() == 8);
}

TEST_CASE("compiled: the least recently used program is evicted, with one warning") {
  WarningLog log;
  const auto f = compile([](const Tensor& x, double scale) { return x * scale; }, {.max_signatures = 2});
  const Tensor x = support::ramp({2});
  for (int i = 0; i < 5; ++i) CHECK(same_bits(f(x, i), x * double(i)));
  CHECK(f.stats().signatures == 2);
  CHECK(f.stats().traces == 5);
  CHECK(log.texts.size() == 1);
}

TEST_CASE("compiled: a function that calls itself is refused") {
  struct Recursive {
    const Compiled<Recursive>* self = nullptr;
    Tensor operator()(const Tensor& x) const { return (*self)(x * 2.); }
  };
  Recursive f;
  const Compiled<Recursive>* address = nullptr;
  std::optional<Compiled<Recursive>> g;
  g.emplace(Recursive{}, CompileOptions{});
  address = &*g;
  f.self = address;
  g.emplace(f, CompileOptions{});
  CHECK_THROWS_WITH((*g)(scalar(1.)), Catch::Contains("calls itself"));
}

TEST_CASE("compiled: under an AnomalyGuard ops run one by one, and errors name their lines") {
  const auto f = compile([](const Tensor& x) { return sum(log(x)); });
  const Tensor bad = tensor({1., -1.});
  CHECK(std::isnan(f(bad).item()));
  const AnomalyGuard guard;
  CHECK_THROWS_WITH(f(bad), Catch::Contains("log") && Catch::Contains("compile.cpp"));
  CHECK(f(tensor({1., 1.})).item() == 0);
}

TEST_CASE("compiled: called by several threads at once, with variables and gradients") {
  Variable w(support::ramp({3}), "w");
  const auto f = compile([&](const Tensor& x) { return sum(exp(w * x)); });
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const Tensor x = support::ramp({3}, .1 * t), expected = grad([&](const Tensor&y) { return sum(exp(w * y)); })(x);
      for (int i = 0; i < 50; ++i) {
        GradientTape tape;
        tape.watch(x);
        const Tensor y = f(x);
        wrong += max(abs(*tape.gradient(y, x) - expected)).item() > 1e-13;
      }
    });
  for (std::thread& t : threads) t.join();
  CHECK(wrong == 0);
  CHECK(f.stats().traces == 1);
}

TEST_CASE("compiled: loops, branches on numbers, checkpoints and custom gradients are traced through") {
  const auto check = [&](const auto& f) {
    const Tensor x = support::ramp({4}, .1);
    const auto g = compile([&](const Tensor& y) { return value_and_grad(f)(y); });
    for (int i = 0; i < 2; ++i) {
      const auto [value, gradient] = g(x);
      const auto [expected, eager] = value_and_grad(f)(x);
      CHECK(same_bits(value, expected));
      check_close(gradient, eager);
    }
  };
  check([](const Tensor& x) {
    return sum(fori_loop(
        5, [](std::int64_t i, const Tensor& y) { return sin(y) * (1. + double(i)); }, x));
  });
  check([](const Tensor& x) { return sum(recompute_grad([](const Tensor& y) { return exp(y) * y; })(x)); });
  check([](const Tensor& x) {
    return sum(custom_gradient(
        [](const Tensor& y) { return std::pair(exp(y), [y](const Tensor& dy) { return dy * 3. * y; }); })(x));
  });
  check([](const Tensor& x) {
    return sum(
        scan([](const Tensor& c, const Tensor& e) { return std::pair(c * .5 + e, c * e); }, scalar(1.), x).second);
  });
  check([](const Tensor& x) { return sum(elementwise([](auto a) { return where(a > .3, exp(a), a * a); }, x)); });
  check([](const Tensor& x) {
    return sum(cond(
        true, [](const Tensor& y) { return exp(y); }, [](const Tensor& y) { return y; }, x));
  });
}

TEST_CASE("compile: the type of a function object may be const") {
  const auto f = [](const Tensor& x) { return exp(x) * 2.; };
  const Compiled<decltype(f)> g = compile<decltype(f)>(f);
  struct Step {
    Compiled<decltype(f)> call;
  };
  const Step step{Compiled<decltype(f)>(f, {.max_signatures = 3})};
  const Tensor x = support::ramp({3});
  CHECK(same_bits(g(x), f(x)));
  CHECK(same_bits(step.call(x), f(x)));
  CHECK(step.call.stats().signatures == 1);
}
