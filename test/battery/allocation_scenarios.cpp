// The scenarios of allocation_failures.cpp, as one table.
#include "battery/allocation_scenarios.hpp"

#include <unistd.h>

#include <cstdio>
#include <reel/control.hpp>
#include <reel/custom.hpp>
#include <reel/elementwise.hpp>
#include <reel/optim.hpp>
#include <reel/tape_page.hpp>
#include <reel/testing.hpp>
#include <stdexcept>
#include <string>

using namespace reel;

namespace battery {
namespace {

// The text without digits, which number tensors and ids.
Tensor words(std::string s) {
  std::erase_if(s, [](char c) { return c >= '0' && c <= '9'; });
  return text(s);
}

constexpr auto wave = [](const Tensor& x) { return sin(x) * x + exp(x * 0.5); };
constexpr auto loss = [](const Tensor& x) { return sum(wave(x) * x); };
constexpr auto quadratic = [](const Tensor& x) { return sum(x * matmul(weights(), x)); };

auto squared() {
  return custom_gradient(
      [](const Tensor& x) { return std::pair(x * x, [x](const Tensor& dy) { return 2 * x * dy; }); },
      [](const std::tuple<Tensor>& x, const std::tuple<Tensor>& t) { return 2 * std::get<0>(x) * std::get<0>(t); });
}

Results tape_gradient(const TapeOptions& options, const GradientOptions& asked) {
  const Tensor x = point(), w = weights();
  GradientTape tape(options);
  tape.watch(x);
  tape.watch(w);
  const Tensor y = tanh(matmul(w, x)) * x + x + x * 2;
  const std::vector<Gradient> g = tape.gradient(y, {x, w}, asked);
  return {y, *g[0], *g[1]};
}
Results persistent_tape() {
  const Tensor x = point();
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = wave(x), z = sum(y * y);
  Results all = {*tape.gradient(z, x)};
  tape.stop();
  all.push_back(*tape.gradient(z, x));
  all.push_back(tape.jacobian(y, x).dense());
  return all;
}
Results nested_tapes() {
  const Tensor x = point();
  GradientTape outer;
  outer.watch(x);
  Tensor g;
  {
    GradientTape inner;
    inner.watch(x);
    g = *inner.gradient(loss(x), x);
  }
  return {g, *outer.gradient(sum(g * g), x)};
}
Results third_order() {
  return {grad([](const Tensor& a) {
    return grad([](const Tensor& b) { return grad([](const Tensor& c) { return power(c, 5); })(b); })(a);
  })(scalar(1.5))};
}
Results paused_tape() {
  const Tensor x = point();
  GradientTape tape({.persistent = true});
  tape.watch(x);
  Tensor c;
  {
    const auto pause = tape.stop_recording();
    c = x * 2;
  }
  const Tensor y = sum(x * c);
  Results all = {*tape.gradient(y, x), *tape.gradient(y, x, {.stop_gradients = {c}})};
  tape.reset();
  tape.watch(x);
  all.push_back(*tape.gradient(x * 3, x));
  return all;
}
Results many_sources() {
  std::vector<Tensor> xs;
  std::vector<Variable> vs;
  for (int i = 0; i < 40; ++i) {
    xs.push_back(scalar(0.5 + i));
    vs.emplace_back(scalar(1.0 / (1 + i)), "v" + std::to_string(i));
  }
  GradientTape tape({.persistent = true});
  tape.watch(xs);
  tape.watch(vs);
  Tensor y = scalar(0.0);
  for (std::size_t i = 0; i < xs.size(); ++i) y += xs[i] * vs[i] * xs[(i + 1) % xs.size()];
  const std::vector<Gradient> a = tape.gradient(y, xs), b = tape.gradient(y, vs);
  Results all;
  for (const Gradient& g : a) all.push_back(*g);
  for (const Gradient& g : b) all.push_back(*g);
  all.push_back(scalar(static_cast<double>(tape.watched_variables().size())));
  return all;
}
Results variables() {
  const Variable v(point(), "v");
  v.assign_add(ones({3}));
  GradientTape tape;
  const Tensor y = sum(v * v * 2);
  const Tensor g = *tape.gradient(y, v);
  v.assign_sub(g);
  v.assign(v.read() * 2);
  return {g, v.read(), text(to_string(v))};
}
Results accumulators() {
  const Tensor x = point();
  ForwardAccumulator outer(x, ones({3}));
  ForwardAccumulator inner(x, 2 * ones({3}));
  const Tensor y = wave(x);
  return {*outer.jvp(y), *inner.jvp(y), *outer.jvp(inner.jvp(y))};
}
Results accumulator_of_many() {
  std::vector<Tensor> xs, ts;
  for (int i = 0; i < 20; ++i) {
    xs.push_back(scalar(0.5 + i));
    ts.push_back(scalar(1.0 * i));
  }
  xs.push_back(xs[0]);
  ts.push_back(ts[1]);
  const ForwardAccumulator accumulator(xs, ts);
  Tensor y = xs[0];
  for (const Tensor& x : xs) y = y * x + x;
  return {*accumulator.jvp(y)};
}
Results forward_over_reverse() {
  const Tensor x = point();
  const ForwardAccumulator accumulator(x, ones({3}));
  GradientTape tape;
  tape.watch(x);
  const Tensor g = *tape.gradient(loss(x), x);
  return {g, *accumulator.jvp(g)};
}
Results reverse_over_forward() {
  const Tensor x = point();
  GradientTape tape;
  tape.watch(x);
  const auto [y, dy] = jvp(wave, x, ones({3}));
  return {y, dy, *tape.gradient(sum(dy), x)};
}
Results linearized() {
  auto [y, push] = linearize(wave, point());
  return {y, push(ones({3})), push(point())};
}
Results pulled() {
  auto [y, pull] = make_vjp(wave)(point());
  return {y, pull(ones({3})).dense(), pull(point()).dense()};
}
Results gradients_by_graph() {
  const Tensor x = point();
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = loss(x);
  return {*gradients(tape, {y}, {x})[0], *hessians(tape, {y}, {x})[0],
          *hessian_vector_product(tape, {y}, {x}, {ones({3})})[0]};
}

class Hooks : public VSpace {
 public:
  Gradient aggregate(std::span<const Gradient> terms) const override { return VSpace::aggregate(terms); }
  Tensor zeros(const Shape& s, DType d) const override { return VSpace::zeros(s, d); }
  Tensor ones(const Shape& s, DType d) const override { return VSpace::ones(s, d); }
};
Results with_hooks() {
  const Hooks hooks;
  const TapeOptions options{.vspace = &hooks};
  return tape_gradient(options, {.aggregation_method = AggregationMethod::tree});
}

Results looped(const LoopOptions& options) {
  const Variable rate(scalar(0.5), "rate");
  const auto f = [&](const Tensor& x) {
    auto [n, last] =
        while_loop([](const Tensor& i, const Tensor&) { return i < 6; },
                   [&rate](const Tensor& i, const Tensor& s) { return std::tuple(i + 1, tanh(s * rate + 0.1)); },
                   std::tuple(scalar<std::int64_t>(0), x), options);
    return sum(last);
  };
  Results all = gradient_of(f);
  GradientTape tape;
  all.push_back(*tape.gradient(f(point()), rate));
  return all;
}
Results looped_every_mode(const LoopOptions& options) {
  return every_mode([&](const Tensor& x) {
    return sum(
        while_loop([](const Tensor& s) { return sum(s) < 20; }, [](const Tensor& s) { return s * s + 1; }, x, options));
  });
}
Results scanned(const LoopOptions& options) {
  return every_mode([&](const Tensor& x) {
    return sum(scan(
                   [](const Tensor& s, const Tensor& i) {
                     const Tensor next = s * i + 1;
                     return std::pair(next, next * next);
                   },
                   scalar(1.0), x, options)
                   .second);
  });
}
Results for_loop(const LoopOptions& options) {
  return every_mode([&](const Tensor& x) {
    return sum(fori_loop(
        5, [](std::int64_t i, const Tensor& s) { return sin(s) * static_cast<double>(i + 1); }, x, options));
  });
}
Results nested_loops() {
  return gradient_of([](const Tensor& x) {
    return sum(fori_loop(
        3,
        [](std::int64_t, const Tensor& s) {
          return fori_loop(3, [](std::int64_t, const Tensor& t) { return t * 0.5 + 1; }, s * s, {.memory_budget = 64});
        },
        x));
  });
}
Results branched() {
  return every_mode([](const Tensor& x) {
    return sum(cond(
        sum(x) > 0, [](const Tensor& a) { return a * a * a; }, [](const Tensor& a) { return a; }, x));
  });
}
Results recomputed() {
  return every_mode([](const Tensor& x) { return sum(checkpoint([](const Tensor& a) { return exp(a) * a; })(x)); });
}
Results passed_through() {
  return gradient_of(
      [](const Tensor& x) { return sum(grad_pass_through([](const Tensor& a) { return round(a); })(x) * x); });
}
Results recorded_operation() {
  const Tensor x = point();
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = stop_gradient(x) * 3;
  const Tensor inputs[] = {x}, outputs[] = {y};
  record_operation("triple", inputs, outputs,
                   [](std::span<const Gradient> dy) { return std::vector<Gradient>{*dy[0] * 3}; });
  return {*tape.gradient(sum(y * y), x), tape.jacobian(y, x).dense()};
}
Results overridden() {
  const GradientRegistry::OverrideGuard guard("tanh", [](const RecordedOp& op, std::span<const Gradient> dy) {
    const Tensor z = op.outputs[0].defined() ? op.outputs[0] : tanh(op.inputs[0]);
    return std::vector<Gradient>{*dy[0] * (1 - z * z)};
  });
  return gradient_of([](const Tensor& x) { return sum(tanh(x) * tanh(2 * x)); });
}
Results registered() {
  // The first use of the registry asks for memory, so it is in the constructor: a destructor must not throw.
  struct Registered {
    Registered() {
      GradientRegistry::add("arctan", [](const RecordedOp& op, std::span<const Gradient> dy) {
        return std::vector<Gradient>{*dy[0] / (1 + op.inputs[0] * op.inputs[0])};
      });
    }
    ~Registered() { GradientRegistry::remove("arctan"); }
  } registration;
  return gradient_of([](const Tensor& x) { return sum(arctan(x)); });
}

Results fused() {
  return every_mode(
      [](const Tensor& x) { return sum(elementwise([](auto a) { return a * tanh(a) + where(a > 0, a, 2 * a); }, x)); });
}
Results fused_mixed() {
  const Tensor a = cast(point(), DType::float32), b = tensor<std::int64_t>({1, 2, 3});
  return {elementwise([](auto x, auto y, auto z) { return x * y + z; }, a, b, point()),
          elementwise([](auto x, auto y, auto z) { return x + y * z; }, b, a, point())};
}
Results fused_pair() {
  const auto [a, b] = elementwise([](auto x, auto y) { return std::tuple(x * y, x + y); }, point(), ones({3, 1}));
  return {a, b};
}

// A failed step must leave every variable unchanged. An assignment would give the variable another tensor, since its
// value is held here.
template <class Optimizer>
Results stepped(Optimizer optimizer, bool sparse) {
  const Variable v(weights(), "v"), w(point(), "w");
  for (int i = 0; i < 3; ++i) {
    GradientTape tape;
    const Tensor rows = sparse ? gather(v, tensor<std::int64_t>({0, 2, 0})) : v.read();
    const std::vector<Gradient> g = tape.gradient(sum(rows * rows * w), {v, w});
    const Tensor old_v = v.read(), old_w = w.read();
    try {
      optimizer.step(g, {v, w});
    } catch (const std::bad_alloc&) {
      Tensor now_v, now_w;
      try {
        now_v = v.read();
        now_w = w.read();
      } catch (const std::bad_alloc&) {
        throw std::bad_alloc();
      }
      if (now_v.id() != old_v.id() || now_w.id() != old_w.id()) throw std::logic_error("half a step was taken");
      throw;
    }
  }
  return {v.read(), w.read()};
}
Results fitted() {
  const Tensor t = linspace(0, 1, 6), data = exp(-2 * t) + 0.01 * t;
  const LeastSquaresResult r = levenberg_marquardt([&](const Tensor& p) { return exp(-1 * p[0] * t) * p[1] - data; },
                                                   tensor({1., 0.5}), {.max_iterations = 3});
  return {r.parameters, r.covariance(), r.standard_deviations()};
}
Results checked() {
  const CheckReport report = check_gradients([](const Tensor& x) { return sum(x * x * x); }, point());
  return {scalar(report.passed), text(to_string(report))};
}

Results traced() {
  static const std::string path = "allocation_failures." + std::to_string(getpid()) + ".json";
  struct Removed {
    ~Removed() { std::remove(path.c_str()); }
  } removed;
  const ChromeTraceGuard guard(path);
  return gradient_of(loss);
}
Results traced_lines() {
  struct Traced {
    Traced() {
      set_tracing(true);
      set_trace_sink([](std::string_view, void*) {});
    }
    ~Traced() {
      set_trace_sink(nullptr);
      set_tracing(false);
    }
  } tracing;
  return gradient_of(loss);
}
Results watched_for_anomalies() {
  const AnomalyGuard guard;
  return gradient_of(loss);
}
Results explained() {
  const Tensor x = point(), y = point();
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor z = sum(stop_gradient(x) * x * y);
  return {words(tape.explain(z, std::vector<Tensor>{x, y})), text(tape.gradient(z, y).why_none())};
}
Results planned() {
  const Tensor x = point();
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor z = loss(x);
  return {text(to_string(tape.plan(z, x))), words(tape.to_dot()), words(tape.to_dot(z)), words(tape_page(tape, z)),
          scalar(tape.stats().saved_bytes)};
}

// Objects that are made in the warm-up and used again after each failure.
struct Recorded {
  Tensor x = point(), y, z;
  GradientTape tape{{.persistent = true}};
  explicit Recorded(const LoopOptions* loop) {
    tape.watch(x);
    y = loop ? fori_loop(
                   6, [](std::int64_t, const Tensor& s) { return sin(s) * 2; }, x, *loop)
             : wave(x);
    z = sum(squared()(y));
    tape.stop();
  }
  Results derivatives() { return {*tape.gradient(z, x), tape.jacobian(y, x).dense()}; }
};
Results used_again() {
  static Recorded recorded(nullptr);
  return recorded.derivatives();
}
Results loop_used_again() {
  static const LoopOptions options{.memory_budget = 64};
  static Recorded recorded(&options);
  return recorded.derivatives();
}
Results recording_again() {
  static GradientTape tape({.persistent = true});
  tape.reset();
  const Tensor x = point();
  tape.watch(x);
  const Tensor y = loss(x), z = sum(squared()(y * x));
  Results all = {*tape.gradient(y, x), *tape.gradient(z, x)};
  tape.reset();
  return all;
}
Results pushed_again() {
  static const auto linear = linearize(wave, point());
  return {linear.second(ones({3})), linear.second(point())};
}

constexpr LoopOptions no_budget{}, small{.memory_budget = 64}, medium{.memory_budget = 256};
constexpr Scenario table[] = {
    {"gradient", [] { return tape_gradient({}, {}); }},
    {"gradient, add_n", [] { return tape_gradient({}, {.aggregation_method = AggregationMethod::add_n}); }},
    {"gradient, tree", [] { return tape_gradient({}, {.aggregation_method = AggregationMethod::tree}); }},
    {"gradient, gated", [] { return tape_gradient({}, {.gate_gradients = true}); }},
    {"gradient, weighted", [] { return tape_gradient({}, {.output_gradients = {point()}}); }},
    {"gradient, zeros", [] { return tape_gradient({}, {.unconnected_gradients = UnconnectedGradients::zero}); }},
    {"gradient, persistent", [] { return tape_gradient({.persistent = true}, {}); }},
    {"persistent tape", persistent_tape},
    {"nested tapes", nested_tapes},
    {"third order", third_order},
    {"paused and reset tape", paused_tape},
    {"80 sources", many_sources},
    {"variables", variables},
    {"value_and_grad", [] { return gradient_of(loss); }},
    {"jacobian", [] { return Results{jacobian(wave)(point())}; }},
    {"jacobian of a matrix product",
     [] { return Results{jacobian([](const Tensor& w) { return matmul(w, point()); })(weights())}; }},
    {"batch_jacobian", [] { return Results{batch_jacobian(wave)(weights())}; }},
    {"hessian", [] { return Results{hessian(loss)(point())}; }},
    {"hessian of a quadratic form", [] { return Results{hessian(quadratic)(point())}; }},
    {"hvp", [] { return Results{hvp(loss)(point(), ones({3}))}; }},
    {"jvp", [] { return Results{jvp(wave, point(), ones({3})).second}; }},
    {"two accumulators", accumulators},
    {"accumulator of many primals", accumulator_of_many},
    {"forward over reverse", forward_over_reverse},
    {"reverse over forward", reverse_over_forward},
    {"linearize", linearized},
    {"make_vjp", pulled},
    {"gradients, hessians, hessian_vector_product", gradients_by_graph},
    {"VSpace", with_hooks},
    {"while_loop", [] { return looped(no_budget); }},
    {"while_loop, 64 bytes", [] { return looped(small); }},
    {"while_loop, 256 bytes", [] { return looped(medium); }},
    {"while_loop, every mode", [] { return looped_every_mode(no_budget); }},
    {"while_loop, every mode, 64 bytes", [] { return looped_every_mode(small); }},
    {"scan", [] { return scanned(no_budget); }},
    {"scan, 64 bytes", [] { return scanned(small); }},
    {"fori_loop", [] { return for_loop(no_budget); }},
    {"fori_loop, 64 bytes", [] { return for_loop(small); }},
    {"nested loops", nested_loops},
    {"cond", branched},
    {"checkpoint", recomputed},
    {"grad_pass_through", passed_through},
    {"custom_gradient", [] { return every_mode([](const Tensor& x) { return sum(squared()(x) * x); }); }},
    {"record_operation", recorded_operation},
    {"OverrideGuard", overridden},
    {"GradientRegistry::add", registered},
    {"elementwise", fused},
    {"elementwise with two results", fused_pair},
    {"elementwise of several dtypes", fused_mixed},
    {"SGD", [] { return stepped(SGD({.learning_rate = 0.1}), false); }},
    {"SGD with momentum",
     [] { return stepped(SGD({.learning_rate = 0.1, .momentum = 0.9, .nesterov = true}), false); }},
    {"SGD of slices", [] { return stepped(SGD({.learning_rate = 0.1}), true); }},
    {"SGD with momentum of slices", [] { return stepped(SGD({.learning_rate = 0.1, .momentum = 0.9}), true); }},
    {"Adam", [] { return stepped(Adam({.learning_rate = 0.1}), false); }},
    {"Adam of slices", [] { return stepped(Adam({.learning_rate = 0.1}), true); }},
    {"levenberg_marquardt", fitted},
    {"check_gradients", checked},
    {"ChromeTraceGuard", traced},
    {"trace sink", traced_lines},
    {"AnomalyGuard", watched_for_anomalies},
    {"explain and why_none", explained},
    {"plan, to_dot, stats and tape_page", planned},
    {"printing",
     [] {
       return Results{text(to_string(weights())), text(to_string(arange(3000)))};
     }},
    {"solve, inverse, det of a vector", [] { return solved(point()); }},
    {"solve, inverse, det of a matrix", [] { return solved(weights()); }},
    {"cholesky and triangular_solve", factored},
    {"conv2d and pooling", convolved},
    {"Fourier transforms and filters", transformed},
    {"normalisation and losses", normalised},
    {"einsum",
     [] { return gradient_of([](const Tensor& x) {
            return sum(einsum("ij,j,ik->k", {weights(), x, weights()}));
          }); }},
    {"tensordot and outer",
     [] { return gradient_of([](const Tensor& x) { return sum(tensordot(weights(), outer(x, x))); }); }},
    {"concatenate, stack, split, pad", joined},
    {"gather and IndexedSlices", gathered},
    {"slices and diagonals", sliced},
    {"reductions", reduced},
    {"random draws", drawn},
    {"literals, from_data, borrow, cast", made},
    {"broadcasting",
     [] { return gradient_of([](const Tensor& x) {
            return sum(reshape(x, {3, 1}) * x + transpose(weights()));
          }); }},
    {"complex", [] { return gradient_of([](const Tensor& x) { return sum(abs(make_complex(x, x * x))); }); }},
    {"special functions",
     [] { return every_mode([](const Tensor& x) { return sum(lgamma(x + 2) + erf(x) + gelu(x)); }); }},
    {"two threads", parallel},
    {"compiled: traced and run", compiled_call},
    {"compiled: derivatives in every mode", compiled_modes},
    {"compiled: Hessian", compiled_hessian},
    {"compiled: derivatives inside", compiled_inside},
    {"compiled: checked", compiled_check},
    {"compiled: signatures dropped", compiled_eviction},
    {"compiled: while_loop", compiled_while_loop},
    {"compiled: cond", compiled_cond},
    {"compiled: scan", compiled_scan},
    {"compiled: checkpoint", compiled_checkpoint},
    {"compiled: custom_gradient", compiled_custom_gradient},
    {"compiled: trees of results", compiled_tree},
    {"compiled: assigns", compiled_assigns},
    {"compiled: a loop that assigns and draws", compiled_loop_with_effects},
    {"compiled: Adam", compiled_adam},
    {"compiled: SGD by clipped slices", compiled_clipped_sgd},
    {"compiled: a local optimiser", compiled_local_adam},
    {"compiled: a loop within a budget", compiled_budget},
    {"compiled: variables as arguments", compiled_variables},
    {"a persistent tape used again", used_again, true},
    {"a recorded loop with a budget used again", loop_used_again, true},
    {"a tape that records again", recording_again, true},
    {"a linear function used again", pushed_again, true},
};

}  // namespace

std::span<const Scenario> scenarios() { return table; }

}  // namespace battery
