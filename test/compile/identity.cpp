// Parameters of a compiled function, and of the functions given to branches, loops and checkpoints, are tensors of
// their own: a tape inside takes them for other tensors than further arguments and captured tensors, even those that
// were passed, with a program or without.
#include <reel/compile.hpp>
#include <reel/debug.hpp>
#include <reel/reel.hpp>
#include <reel/switch.hpp>

#include "catch.hpp"
#include "support/bits.hpp"

using namespace reel;
using support::same_bits;

namespace {

Tensor values() { return tensor({1.0, 2.0, 3.0}); }
// The gradient of sum(a b) by a: b, or 2 a if a and b are the same tensor.
Tensor by_first(const Tensor& a, const Tensor& b) {
  GradientTape tape;
  tape.watch(a);
  return *tape.gradient(sum(a * b), a);
}

// f called op by op in a compiled function, because something observes every op.
template <class F, class... A>
Tensor observed(const F& f, const A&... x) {
  const AnomalyGuard guard;
  return compile(f)(x...);
}

}  // namespace

TEST_CASE("identity: a compiled function has distinct parameters, whatever is passed") {
  const Tensor x = values();
  CHECK(same_bits(compile(by_first)(x, x), x));
  CHECK(same_bits(observed(by_first, x, x), x));
  CHECK(same_bits(compile(by_first, {.check = 1})(x, x), x));
  const auto with_captured = [x](const Tensor& a) { return by_first(a, x); };
  CHECK(same_bits(compile(with_captured)(x), x));
  CHECK(same_bits(observed(with_captured, x), x));
  CHECK(same_bits(compile(with_captured, {.check = 1})(x), x));
  // Inside another compiled function.
  const auto inner = compile(by_first);
  CHECK(same_bits(compile([&](const Tensor& a) { return inner(a, a); })(x), x));
  const auto in_tree = [](const std::vector<Tensor>& list) { return by_first(list[0], list[1]); };
  CHECK(same_bits(compile(in_tree)(std::vector{x, x}), x));
  CHECK(same_bits(observed(in_tree, std::vector{x, x}), x));
}

TEST_CASE("identity: a tape around a compiled function adds what comes by each parameter") {
  const Tensor x = values();
  const auto product = [](const Tensor& a, const Tensor& b) { return sum(a * b); };
  const auto gradient = [&](const auto& f) {
    GradientTape tape;
    tape.watch(x);
    return *tape.gradient(f(x, x), x);
  };
  CHECK(same_bits(gradient(compile(product)), 2 * x));
  const auto in_guard = [&](const Tensor& a, const Tensor& b) {
    const AnomalyGuard guard;
    return compile(product)(a, b);
  };
  CHECK(same_bits(gradient(in_guard), 2 * x));
}

TEST_CASE("identity: bodies and branches have parameters of their own, with a program or without") {
  const Tensor positive = scalar(1.0);
  const auto check = [&](const char* name, const auto& f) {
    INFO(name);
    const Tensor x = values();
    CHECK(same_bits(f(x), x));
    CHECK(same_bits(compile(f)(x), x));
    GradientTape tape;  // follows what the functions capture
    tape.watch(x);
    CHECK(same_bits(f(x), x));
    CHECK(same_bits(compile(f)(x), x));
  };
  check("fori_loop", [](const Tensor& x) {
    return fori_loop(
        0, 1, [&](const Tensor&, const Tensor& a) { return by_first(a, x); }, x);
  });
  check("while_loop", [](const Tensor& x) {
    const auto [count, y] =
        while_loop([](const Tensor& i, const Tensor&) { return i < 1; },
                   [&](const Tensor& i, const Tensor& a) { return std::tuple(i + 1, by_first(a, x)); },
                   std::tuple(scalar(0.0), x));
    return y;
  });
  check("scan", [](const Tensor& x) {
    return scan(
               [&](const Tensor& a, const Tensor&) {
                 const Tensor g = by_first(a, x);
                 return std::pair(g, g);
               },
               x, ones({1}))
        .first;
  });
  check("recompute_grad",
        [](const Tensor& x) { return recompute_grad([&](const Tensor& a) { return by_first(a, x); })(x); });
  check("cond on a bool", [](const Tensor& x) {
    return cond(
        true, [&](const Tensor& a) { return by_first(a, x); }, [](const Tensor& a) { return -a; }, x);
  });
  check("cond on a tensor", [](const Tensor& x) {
    return cond(
        sum(x) > 0, [&](const Tensor& a) { return by_first(a, x); }, [](const Tensor& a) { return -a; }, x);
  });
  check("switch_case", [](const Tensor& x) {
    return switch_case(cast(sum(x * 0), DType::int64),
                       std::tuple([&](const Tensor& a) { return by_first(a, x); }, [](const Tensor& a) { return -a; }),
                       x);
  });
}

TEST_CASE("identity: a variable that was read before a tape began is another tensor to it than later reads") {
  const Variable v(values(), "v");
  const auto derivatives = [v](bool watches_variables) {
    return [v, watches_variables]() {
      const Tensor before = v.read();
      GradientTape tape({.persistent = true, .watch_accessed_variables = watches_variables});
      tape.watch(before);
      const Tensor y = sum(before * v.read() * v.read());
      tape.stop();
      const Gradient by_variable = tape.gradient(y, v);
      return std::vector<Tensor>{*tape.gradient(y, before), by_variable ? *by_variable : zeros({3})};
    };
  };
  for (const bool watches : {false, true}) {
    CAPTURE(watches);
    const auto f = derivatives(watches);
    const std::vector<Tensor> expected = f(), got = compile(f)();
    CHECK(same_bits(got[0], expected[0]));
    CHECK(same_bits(got[1], expected[1]));
    CHECK(same_bits(expected[0], watches ? values() * values() : 3 * values() * values()));
    // Derivatives through the call bind the variable to an argument of a program.
    const auto outer = [&](const auto& call) {
      GradientTape tape;
      const std::vector<Tensor> list = call();
      return *tape.gradient(sum(list[0]) + sum(list[1]), v);
    };
    CHECK(same_bits(outer(compile(f)), outer(f)));
  }
}

TEST_CASE("identity: a tape that watches a value of a variable follows it whatever other tapes follow") {
  const Variable v(values(), "v");
  const Tensor x = tensor({.3, -.4, 1.2});
  using Derivative = Tensor (*)(const Variable&, const Tensor&);
  const Derivative around = [](const Variable& w, const Tensor& at) {
    GradientTape tape({.watch_accessed_variables = false});
    const Tensor value = w.read();
    tape.watch(value);
    const GradientTape other;
    return *tape.gradient(sin(w * at) * w.read(), value);
  };
  const Derivative of_gradient = [](const Variable& w, const Tensor& at) {
    GradientTape tape({.watch_accessed_variables = false});
    const Tensor value = w.read();
    tape.watch(value);
    GradientTape other;
    return *tape.gradient(*other.gradient(cos(w * at), w), value);
  };
  const Derivative of_tangent = [](const Variable& w, const Tensor& at) {
    const Tensor value = w.read();
    const ForwardAccumulator along(value, ones({3}));
    GradientTape other;
    return *along.jvp(*other.gradient(cos(w * at), w));
  };
  const Tensor second = -cos(v * x) * x * x;
  CHECK(allclose(around(v, x), cos(v * x) * x * v + sin(v * x)));
  for (const Derivative f : {of_gradient, of_tangent}) CHECK(allclose(f(v, x), second));
  for (const Derivative f : {around, of_gradient, of_tangent})
    CHECK(same_bits(compile([v, f](const Tensor& at) { return f(v, at); })(x), f(v, x)));
}

TEST_CASE("identity: a read after an assign is a read of the variable to a tape around the call") {
  const Variable w(tensor({0.5, 1.0}), "w");
  const Tensor x = tensor({0.3, 0.4});
  const auto assigns = [w](const Tensor& at) {
    w.assign(0.8 * sin(at));
    return sum(w.read() * at);
  };
  const auto in_branch = [w](const Tensor& at) {
    w.assign(0.8 * sin(at));
    return sum(cond(
        sum(at) > 10, [](const Tensor& v) { return v; }, [w](const Tensor& v) { return sin(w.read()) * v; }, at));
  };
  const auto check = [&](const auto& f) {
    const auto by_variable = [&](const auto& call) {
      GradientTape tape;
      return *tape.gradient(call(x), w);
    };
    const auto along_variable = [&](const auto& call) {
      const ForwardAccumulator accumulator(w, ones({2}));
      return *accumulator.jvp(call(x));
    };
    const auto compiled = compile(f);
    for (int call = 0; call < 2; ++call) {
      CHECK(max(abs(by_variable(compiled) - by_variable(f))).item() < 1e-15);
      CHECK(max(abs(along_variable(compiled) - along_variable(f))).item() < 1e-15);
    }
  };
  check(assigns);
  check(in_branch);
}
