// The small programs whose cost test/tools/budget.py compares with test/budget/budget.txt. Under callgrind each case
// runs a few times in measured(), then three times as often: the difference is the cost of a run. The program itself
// prints what it can count: calls of the system's allocator, bytes per tape entry.
#include <cstdio>
#include <reel/compile.hpp>
#include <reel/elementwise.hpp>
#include <reel/linalg.hpp>
#include <reel/optim.hpp>
#include <reel/reel.hpp>
#include <string>

#include "counted_allocations.hpp"
#include "support/native_cache.hpp"
#include "support/programs.hpp"

using namespace reel;
using support::product_chain, support::rosenbrock, support::tanh_chain;

namespace {

constexpr int length = 100;  // ops of a chain

const Tensor& one() {
  static const Tensor x = tensor<float>({1.5});
  return x;
}
const Tensor& factor() {
  static const Tensor c = tensor<float>({1.0001});
  return c;
}

void multiply_without_tape() { product_chain(one(), factor(), length); }
void multiply_recording() {
  GradientTape tape;
  tape.watch(one());
  product_chain(one(), factor(), length);
}
void multiply_gradient() {
  GradientTape tape;
  tape.watch(one());
  static_cast<void>(tape.gradient(product_chain(one(), factor(), length), one()));
}
void tanh_gradient() {
  GradientTape tape;
  tape.watch(one());
  static_cast<void>(tape.gradient(tanh_chain(one(), length), one()));
}
void persistent_replay() {
  static Tensor y;
  static GradientTape& tape = [&]() -> GradientTape& {
    auto& t = *new GradientTape({.persistent = true});
    t.watch(one());
    y = product_chain(one(), factor(), length);
    t.stop();
    return t;
  }();
  static_cast<void>(tape.gradient(y, one()));
}
void nested_tapes() {
  GradientTape outer;
  outer.watch(one());
  Tensor g;
  {
    GradientTape inner;
    inner.watch(one());
    g = *inner.gradient(tanh_chain(one(), length), one());
  }
  static_cast<void>(outer.gradient(g, one()));
}
void forward_accumulator() {
  const ForwardAccumulator accumulator(one(), one());
  static_cast<void>(accumulator.jvp(product_chain(one(), factor(), length)));
}
void broadcast_gradient() {
  static const Tensor m = ones({8, 8}), b = ones({8});
  GradientTape tape;
  tape.watch(b);
  static_cast<void>(tape.gradient(m + b, b));
}
void reduction_gradient() {
  static const Tensor m = ones({8, 8});
  GradientTape tape;
  tape.watch(m);
  static_cast<void>(tape.gradient(sum(sum(m, 1)), m));
}
void fused_elementwise() {
  static const Tensor x = full({64}, 0.5), y = full({64}, 0.25);
  GradientTape tape;
  tape.watch(x);
  static_cast<void>(tape.gradient(elementwise([](auto a, auto b) { return tanh(a * b) + a; }, x, y), x));
}
void composed_choices() {
  static const Tensor x = from_data(std::vector<float>(1000, 0.5F));
  static_cast<void>(hard_sigmoid(x));
}
struct Model {
  Variable w1{full({13, 32}, 0.01, DType::float32)}, b1{zeros({32}, DType::float32)};
  Variable w2{full({32, 32}, 0.01, DType::float32)}, b2{zeros({32}, DType::float32)};
  Variable w3{full({32, 3}, 0.01, DType::float32)}, b3{zeros({3}, DType::float32)};
  auto leaves() { return std::tie(w1, b1, w2, b2, w3, b3); }
};
class Training {
 public:
  void step() {
    GradientTape tape;
    const Tensor h1 = relu(matmul(x_, m_.w1) + m_.b1), h2 = relu(matmul(h1, m_.w2) + m_.b2);
    const Tensor loss = mean(square(matmul(h2, m_.w3) + m_.b3 - y_));
    optimizer_.step(tape.gradient(loss, m_), m_);
  }

 private:
  Model m_;
  SGD optimizer_{{.learning_rate = 0.01}};
  const Tensor x_ = ones({16, 13}, DType::float32), y_ = zeros({16, 3}, DType::float32);
};
void training_step() {
  static Training training;
  training.step();
}
void compiled_training_step() {
  static Training training;
  static const auto step = compile([] { training.step(); });
  step();
}

// Traces a chain and its gradient anew. An op of a long chain must cost as much as one of a short chain.
void trace_chain(int ops) {
  const auto f = compile([ops](const Tensor& x) {
    GradientTape tape;
    tape.watch(x);
    return *tape.gradient(tanh_chain(x, ops), x);
  });
  static_cast<void>(f(one()));
}
constexpr int few_ops = 250, many_ops = 2000;
void tracing_few_ops() { trace_chain(few_ops); }
void tracing_many_ops() { trace_chain(many_ops); }

// A chain of operations on single elements of x [20, 2], as long as a rollout of 20 steps.
Tensor steered(const Tensor& x) {
  Tensor position = scalar(0.), speed = scalar(1.), cost = scalar(0.);
  for (std::int64_t k = 0; k < 20; ++k) {
    speed = speed + 0.1 * (x(k, 0) * cos(position) - x(k, 1));
    position = position + 0.1 * speed;
    cost = cost + square(position - 1.) + 0.5 * square(speed);
  }
  return cost;
}
const Tensor& steering() {
  static const Tensor x = full({20, 2}, 0.25, DType::float64);
  return x;
}
void first_call_on_scalars() { static_cast<void>(compile(value_and_grad(steered))(steering())); }
void compiled_scalars() {
  static const auto f = compile(value_and_grad(steered));
  static_cast<void>(f(steering()));
}
// The call around the code: flags that every x86-64 machine compiles alike.
void compiled_native_scalars() {
  static const support::NativeCache cache;
  static const auto f = compile(value_and_grad(steered), {.native = true, .native_flags = {"-O1"}});
  static_cast<void>(f(steering()));
}
void compiled_number() {
  static const Tensor x = scalar(0.5);
  static const auto f = compile([](const Tensor& at) { return at * 2.; });
  static_cast<void>(f(x));
}
void elementwise_on_one_element() {
  static const auto f = elementwise([](const Lane& x, const Lane& y) {
    Lane z = x;
    for (int k = 0; k < 11; ++k) z = (z * y + x - 0.5) * 0.25;
    return z;
  });
  static_cast<void>(f(one(), factor()));
}

void compiled_multiply_gradient() {
  static const auto f = compile([](const Tensor& x) {
    GradientTape tape;
    tape.watch(x);
    return *tape.gradient(product_chain(x, factor(), length), x);
  });
  static_cast<void>(f(one()));
}
void compiled_rosenbrock_gradient() {
  static const Tensor x = full({1000}, 0.5);
  static const auto f = compile([](const Tensor& at) { return value_and_grad(rosenbrock)(at); });
  static_cast<void>(f(x));
}
void gradient_through_compiled() {
  static const Tensor x = full({8}, 0.5);
  static const auto f = compile([](const Tensor& at) { return sum(exp(at) * sin(at)); });
  GradientTape tape;
  tape.watch(x);
  static_cast<void>(tape.gradient(f(x), x));
}
void hessian_of_compiled() {
  static const Tensor x = full({50}, 0.5);
  static const auto f = compile(rosenbrock);
  static_cast<void>(hessian(f)(x));
}
void compiled_loop_gradient() {
  static const Tensor x = full({4}, 0.5);
  static const auto f = compile([](const Tensor& at) {
    return grad([](const Tensor& k) {
      return sum(fori_loop(
          0, length, [k](const Tensor&, const Tensor& y) { return y + 0.01 * (sin(y) - k * y); }, k));
    })(at);
  });
  static_cast<void>(f(x));
}
void slice_and_concatenate() {
  static const Tensor x = full({64}, 0.5);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = concatenate({slice(x, {range(32, 64)}), slice(x, {range(0, 32)})});
  static_cast<void>(tape.gradient(y, x));
}
void rosenbrock_gradient() {
  static const Tensor x = full({1000}, 0.5);
  static_cast<void>(value_and_grad(rosenbrock)(x));
}
void rosenbrock_hvp() {
  static const Tensor x = full({1000}, 0.5), v = ones({1000});
  static_cast<void>(hvp(rosenbrock)(x, v));
}

// Points in space: broadcast along the last axis, and reductions along it.
const Tensor& points() {
  static const Tensor x = reshape(sin(0.1 * arange(3000)), {1000, 3});
  return x;
}
void scaled_points() {
  static const Tensor factor = full({1000, 1}, 0.5);
  static_cast<void>(points() * factor);
}
void extremes_of_points() {
  GradientTape tape;
  tape.watch(points());
  static_cast<void>(tape.gradient(max(points(), -1), points()));
}
void nearest_of_points() { static_cast<void>(argmin(points(), -1)); }

void gathered_differences() {
  static const Tensor from = cast(arange(500.0), DType::int64) % 40, to = flip(from);
  static const Tensor x = reshape(sin(0.1 * arange(1280)), {40, 32});
  static_cast<void>(grad([](const Tensor& at) { return sum(square(gather(at, from) - gather(at, to))); })(x));
}
void stencil_of_views() {
  static const Tensor u = reshape(sin(0.1 * arange(2500)), {50, 50});
  const auto at = [](std::int64_t i, std::int64_t j) { return slice(u, {range(i, 48 + i), range(j, 48 + j)}); };
  static const Tensor c = at(1, 1), north = at(0, 1), south = at(2, 1), west = at(1, 0), east = at(1, 2);
  static_cast<void>(
      elementwise([](auto x, auto n, auto s, auto w, auto e) { return x + 0.1 * (n + s + w + e - 4 * x); }, c, north,
                  south, west, east));
}

void small_powers() { static_cast<void>(power(points(), -3)); }
void sums_of_rows() {
  static const Tensor x = reshape(sin(0.1 * arange(3000)), {250, 12});
  static_cast<void>(sum(x, -1));
}

const Tensor& matrix() {
  static const Tensor x = reshape(sin(0.1 * arange(6400)), {80, 80}) + 80 * eye(80);
  return x;
}
void cholesky_gradient() {
  GradientTape tape;
  tape.watch(matrix());
  static_cast<void>(tape.gradient(cholesky(matrix()), matrix()));
}
void lu_gradient() {
  GradientTape tape;
  tape.watch(matrix());
  static_cast<void>(tape.gradient(lu_factor(matrix()).lu, matrix()));
}

// Bytes per tape entry, for a repeated op.
template <class F>
double bytes_per_entry(F f) {
  constexpr int entries = 1000;
  GradientTape tape;
  Tensor y = one();
  tape.watch(y);
  for (int i = 0; i < entries; ++i) y = f(y);
  return static_cast<double>(tape.stats().entry_bytes) / entries;
}

struct Case {
  const char* name;
  int units;  // units per run of the case
  void (*run)();
};
constexpr Case cases[] = {
    {"multiply_without_tape", length, multiply_without_tape},
    {"multiply_recording", length, multiply_recording},
    {"multiply_gradient", length, multiply_gradient},
    {"tanh_gradient", length, tanh_gradient},
    {"persistent_replay", length, persistent_replay},
    {"nested_tapes", length, nested_tapes},
    {"forward_accumulator", length, forward_accumulator},
    {"broadcast_gradient", 1, broadcast_gradient},
    {"reduction_gradient", 1, reduction_gradient},
    {"fused_elementwise", 1, fused_elementwise},
    {"composed_choices", 1, composed_choices},
    {"slice_and_concatenate", 1, slice_and_concatenate},
    {"training_step", 1, training_step},
    {"rosenbrock_gradient", 1, rosenbrock_gradient},
    {"rosenbrock_hvp", 1, rosenbrock_hvp},
    {"tracing_few_ops", few_ops, tracing_few_ops},
    {"tracing_many_ops", many_ops, tracing_many_ops},
    {"compiled_training_step", 1, compiled_training_step},
    {"first_call_on_scalars", 1, first_call_on_scalars},
    {"compiled_scalars", 1, compiled_scalars},
    {"compiled_native_scalars", 1, compiled_native_scalars},
    {"compiled_number", 1, compiled_number},
    {"elementwise_on_one_element", 1, elementwise_on_one_element},
    {"compiled_multiply_gradient", length, compiled_multiply_gradient},
    {"compiled_rosenbrock_gradient", 1, compiled_rosenbrock_gradient},
    {"gradient_through_compiled", 1, gradient_through_compiled},
    {"hessian_of_compiled", 1, hessian_of_compiled},
    {"compiled_loop_gradient", length, compiled_loop_gradient},
    {"scaled_points", 1, scaled_points},
    {"extremes_of_points", 1, extremes_of_points},
    {"nearest_of_points", 1, nearest_of_points},
    {"small_powers", 1, small_powers},
    {"sums_of_rows", 1, sums_of_rows},
    {"gathered_differences", 1, gathered_differences},
    {"stencil_of_views", 1, stencil_of_views},
    {"cholesky_gradient", 1, cholesky_gradient},
    {"lu_gradient", 1, lu_gradient},
};

}  // namespace

// The function that callgrind counts. It is called through a pointer that is opaque to the compiler, because a copy
// specialised for one argument would have another name.
extern "C" [[gnu::noinline]] void measured(void (*run)(), int times) {
  for (int i = 0; i < times; ++i) run();
}
void (*volatile count)(void (*)(), int) = measured;

namespace {

// Runs each compiled function a hundred times, which callgrind counts one by one.
void single_calls() {
  for (const Case& c : cases) {
    if (std::string(c.name).find("compiled") == std::string::npos) continue;
    for (int i = 0; i < 10; ++i) c.run();
    for (int i = 0; i < 100; ++i) count(c.run, 1);
    std::printf("calls %s 100\n", c.name);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && argv[1] == std::string("--calls")) return single_calls(), 0;
  if (argc > 1) return std::puts(REEL_BUDGET_BUILD) < 0;  // no other output was requested
  std::printf("build %s\nisa %s\n", REEL_BUDGET_BUILD, std::string(isa()).c_str());
  for (const Case& c : cases) {
    constexpr int warm_up = 3, few = 4, many = 3 * few;
    for (int i = 0; i < warm_up; ++i) c.run();
    const std::int64_t before = allocations + memory_stats().pool_misses;
    for (int i = 0; i < few; ++i) c.run();
    const std::int64_t made = allocations + memory_stats().pool_misses - before;
    count(c.run, few);
    count(c.run, many);
    std::printf("case %s %d %.2f\n", c.name, (many - few) * c.units, static_cast<double>(made) / few);
  }
  std::printf("bytes multiply_entry %.1f\n", bytes_per_entry([](const Tensor& y) { return y * factor(); }));
  std::printf("bytes tanh_entry %.1f\n", bytes_per_entry([](const Tensor& y) { return tanh(y); }));
}
