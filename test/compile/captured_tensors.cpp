// Derivatives by tensors that traced functions capture: in bodies that a rule traces again, and in rules themselves, of
// first and second order, against the same op by op.
#include <functional>
#include <reel/compile.hpp>
#include <reel/reel.hpp>
#include <reel/switch.hpp>

#include "catch.hpp"
#include "check_close.hpp"

using namespace reel;

namespace {

using Function = std::function<Tensor(const Tensor&)>;
constexpr GradientOptions or_zeros{.unconnected_gradients = UnconnectedGradients::zero};

// Derivatives of sum(f) by the weight and by x, named by how they are computed.
std::vector<std::pair<const char*, Function>> derivatives_of(const Function& f, const Tensor& weight) {
  const auto by_w = [weight](const Function& g) {
    return [weight, g](const Tensor& x) {
      GradientTape t;
      t.watch(weight);
      return t.gradient(sum(g(x)), weight, or_zeros).dense();
    };
  };
  const auto along_w = [weight](const Function& g) {
    return [weight, g](const Tensor& x) {
      const ForwardAccumulator t(weight, cos(weight));
      return t.jvp(g(x), UnconnectedGradients::zero).dense();
    };
  };
  const auto by_x = [](const Function& g) {
    return [g](const Tensor& x) { return grad([g](const Tensor& z) { return sum(g(z)); })(x); };
  };
  const Function w = by_w(f), along = along_w(f), x = by_x(f);
  return {{"w", w},
          {"along w", along},
          {"w of w", by_w(w)},
          {"w along w", along_w(w)},
          {"w of along w", by_w(along)},
          {"w of x", by_w(x)},
          {"x of w", by_x(w)},
          {"x along w", along_w(x)},
          {"x of along w", by_x(along)}};
}

// With the derivatives outside and inside of what is compiled.
void check_derivatives(const Function& f, const Function& compiled, const Tensor& weight) {
  const Tensor x = tensor({.3, .4});
  const auto plain = derivatives_of(f, weight), through = derivatives_of(compiled, weight);
  for (std::size_t k = 0; k < plain.size(); ++k) {
    INFO("derivative: " << plain[k].first);
    const Tensor expected = plain[k].second(x);
    check_close(through[k].second(x), expected);
    check_close(compile(plain[k].second)(x), expected);
  }
}

Tensor layer(const Tensor& x, const Tensor& value) { return .6 * sin(sin(value) * x + x); }

// Bodies that are traced as functions of their own. `value`: followed where the weight is.
std::vector<std::pair<const char*, Function>> bodies(const Tensor& value) {
  const auto step = [value](const Tensor& x) { return layer(x, value); };
  const auto keep = [](const Tensor& x) { return x; };
  return {
      {"cond", [=](const Tensor& x) { return cond(sum(x) > .05, step, keep, x); }},
      {"switch",
       [=](const Tensor& x) { return switch_case(cast(sum(x) > .05, DType::int64), std::tuple(keep, step), x); }},
      {"while",
       [=](const Tensor& x) {
         return while_loop([](const Tensor& y) { return sum(y) > .05; }, step, x, LoopOptions{.max_iterations = 2});
       }},
      {"scan",
       [=](const Tensor& x) {
         const auto row = [=](const Tensor& y, const Tensor& r) { return std::pair(layer(y, value) * r, y); };
         return scan(row, x, tensor({1.1, 1.2, 1.3}), LoopOptions{.compiled = true}).first;
       }},
      {"checkpoint", [=](const Tensor& x) { return checkpoint(step)(x); }},
  };
}

}  // namespace

TEST_CASE("captured tensors: bodies in a loop that a program unrolls") {
  const Tensor weight = tensor({.7, .9});
  for (std::size_t k = 0; k < bodies(weight).size(); ++k) {
    const Function f = [k, weight](const Tensor& x) {
      const Function body = bodies(weight)[k].second;
      return fori_loop(
          0, 2, [body](std::int64_t, const Tensor& y) { return body(y); }, x);
    };
    INFO("body: " << bodies(weight)[k].first);
    check_derivatives(f, compile(f), weight);
  }
}

TEST_CASE("captured tensors: bodies in a compiled loop, in a checkpoint, in a branch") {
  const Tensor weight = tensor({.7, .9});
  const auto nested = [weight](bool compiled) {
    return [compiled, weight](const Tensor& x) {
      const Tensor value = sin(weight);
      const auto unrolled = [value](const Tensor& y) {
        return fori_loop(
            1, 2, [value](std::int64_t, const Tensor& z) { return bodies(value)[0].second(z); }, y);
      };
      const auto more = [](const Tensor& y) { return sum(y) > .05; };
      const Tensor y = while_loop(more, unrolled, x, LoopOptions{.max_iterations = 2, .compiled = compiled});
      const Tensor z = checkpoint(unrolled)(x);
      return y * z + cond(
                         sum(x) > 0., unrolled, [](const Tensor& v) { return v; }, x);
    };
  };
  check_derivatives(nested(false), nested(true), weight);
}

TEST_CASE("captured tensors: rules that compute with them alone") {
  const Tensor weight = tensor({.7, .9});
  const auto rule = [weight](bool compiled) {
    return [compiled, weight](const Tensor& x) {
      const auto square_with_rule = custom_gradient([weight](const Tensor& v) {
        return std::pair(v * v, [weight](const Tensor& dy) { return dy * sin(sin(weight)); });
      });
      const auto slope = [=](const Tensor& v) {
        GradientTape t;
        t.watch(v);
        const Tensor y = square_with_rule(v);
        t.stop();  // its replay is in no tape
        return t.gradient(y, v).dense() + v;
      };
      return fori_loop(
          0, 2, [=](const Tensor&, const Tensor& v) { return slope(v); }, x, LoopOptions{.compiled = compiled});
    };
  };
  check_derivatives(rule(false), rule(true), weight);
  check_derivatives(rule(false), compile(rule(false)), weight);
}
