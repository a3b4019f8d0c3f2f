// compile(f, {.native = true}): values and derivatives of native code beside those of the interpreter.
#include <reel/compile.hpp>
#include <reel/control.hpp>
#include <reel/elementwise.hpp>
#include <reel/linalg.hpp>
#include <reel/ops/index.hpp>
#include <reel/optim.hpp>
#include <reel/reel.hpp>

#include "catch.hpp"
#include "support/native_cache.hpp"
#include "support/warnings.hpp"

using namespace reel;

namespace {

using Tensors = std::vector<Tensor>;

const std::vector<std::string> quick{"-O1", "-ffp-contract=off"};  // flags

Tensor drawn(const Shape& shape, DType dtype = DType::float64) {
  Generator g(7);
  return random_uniform(g, shape, 0.2, 0.9, dtype);
}

// To 1e-12 of the largest element, float32 to 1e-5.
void check_close(const Tensor& right, const Tensor& got) {
  REQUIRE(right.dtype() == got.dtype());
  REQUIRE(right.shape() == got.shape());
  if (right.size() == 0) return;
  const Tensor x = cast(right, DType::float64), y = cast(got, DType::float64);
  const double unit = right.dtype() == DType::float32 ? 1e-5 : 1e-12;
  const double largest = std::max(1., max(abs(x)).item<double>());
  INFO(right << "\n" << got);
  CHECK(max(abs(x - y)).item<double>() <= unit * largest);
}

// Values, gradients by a tape around the call, and tangents.
template <class F, class... X>
void check_all(F f, const X&... x) {
  auto plain = compile(f);
  auto native = compile(f, {.native = true, .native_flags = quick});
  check_close(plain(x...), native(x...));
  CHECK(native.stats().native_instructions > 0);
  const auto gradients = [&](auto& function) {
    GradientTape outer;
    (outer.watch(x), ...);
    Tensor first;
    Tensors sources{x...}, list;
    {
      GradientTape tape;
      (tape.watch(x), ...);
      list = {sum(square(function(x...)))};
      for (const Gradient& g : tape.gradient(list[0], sources)) list.push_back(g ? g.dense() : scalar(0.));
    }
    Tensor all = sum(square(list[1]));
    for (std::size_t k = 2; k < list.size(); ++k) all = all + sum(square(list[k]));
    for (const Gradient& g : outer.gradient(all, sources)) list.push_back(g ? g.dense() : scalar(0.));
    return list;
  };
  const Tensors right = gradients(plain), got = gradients(native);
  for (std::size_t k = 0; k < right.size(); ++k) check_close(right[k], got[k]);
  const auto tangent = [&](auto& function) {
    return jvp([&](const X&... y) { return function(y...); }, std::tuple(x...), std::tuple(x...));
  };
  check_close(tangent(plain).second, tangent(native).second);
}

Tensor rollout(const Tensor& thrusts) {
  Tensor position = scalar(0.), speed = position, cost = position;
  for (std::int64_t k = 0; k < 10; ++k) {
    speed = speed + 0.1 * (thrusts(k) * cos(position) - 0.5);
    position = position + 0.1 * speed;
    cost = cost + square(position - 1.);
  }
  return cost;
}

}  // namespace

TEST_CASE("native: values and derivatives of every order agree to rounding") {
  if (!support::has_compiler()) return;
  const support::NativeCache cache;
  const WarningLog warnings;
  SECTION("scalar operations") { check_all(rollout, drawn({10})); }
  SECTION("arithmetic on arrays, broadcast and strided") {
    check_all([](const Tensor& x, const Tensor& y) { return (x * y + x) * (y - 2.) / (1. + square(x)); },
              transpose(drawn({5, 30})), drawn({5}));
  }
  SECTION("between instructions that are not native") {
    check_all(
        [](const Tensor& x) {
          const Tensor a = (x(0, 0) * x(1, 1) + x(2, 2)) * x(3, 3) - x(0, 1) * x(1, 0) * x(2, 1) * x(0, 2) + x(4, 4);
          const Tensor b = matmul(x, tanh(x) * a);
          return sum(b) * a + (b(0, 0) * b(1, 1) + b(2, 2)) * b(3, 3) - b(0, 1) * b(1, 0) * a * a * b(1, 2) * b(2, 1);
        },
        drawn({30, 30}));
  }
  SECTION("a lambda, float32") {
    check_all(
        [](const Tensor& x) {
          return elementwise(
                     [](auto a) {
                       auto b = a;
                       for (int i = 0; i < 12; ++i) b = b * a + 0.3f;
                       return b;
                     },
                     x) *
                 2.f;
        },
        drawn({3}, DType::float32));
  }
  SECTION("a loop and its gradient, in the function and around it") {
    const auto sum_of_steps = [](const Tensor& x) {
      const auto last = scan(
          [](const std::tuple<Tensor, Tensor>& s, const Tensor& u) {
            const auto& [position, speed] = s;
            const Tensor next = speed + 0.1 * (u * cos(position) - 0.5);
            return std::pair(std::tuple(position + 0.1 * next, next), next);
          },
          std::tuple(scalar(0.), scalar(0.1)), x, {.compiled = true});
      return std::get<0>(last.first) * 2. + sum(last.second);
    };
    check_all(sum_of_steps, drawn({20}));
    check_all([=](const Tensor& x) { return grad(sum_of_steps)(x); }, drawn({20}));
  }
  SECTION("branches and loops on values") {
    check_all(
        [](const Tensor& x) {
          const Tensor n = while_loop([](const Tensor& y) { return less(y, 40.); },
                                      [](const Tensor& y) { return y * 1.5 + 0.25; }, x(0), {.max_iterations = 50});
          return cond(
              greater(x(1), x(2)), [=] { return n * x(1); }, [=] { return n - x(2) * x(2); });
        },
        drawn({3}));
  }
  SECTION("branches and checkpoints with broadcast cotangents and transposed operands") {
    check_all(
        [](const Tensor& x) {
          const Tensor a = cond(
              greater(sum(x), 0.), [](const Tensor& z) { return square(z) * sin(z); },
              [](const Tensor& z) { return 2. * z; }, transpose(x));
          return sum(a) * x(0, 1) + sum(recompute_grad([](const Tensor& z) { return z * cos(z); })(transpose(x)));
        },
        drawn({2, 3}));
  }
  SECTION("factors that one side of a derivative makes and the other reads") {
    const auto f = [](const Tensor& x) { return solve(x + 2. * eye(4), x); };
    const Tensor x = drawn({4, 4}), right = jacobian(f)(x);
    const auto g = compile(f, {.native = true, .native_flags = quick});
    check_close(right, jacobian([&](const Tensor& y) { return g(y); })(x));
    check_close(right,
                compile([&](const Tensor& y) { return jacobian(f)(y); }, {.native = true, .native_flags = quick})(x));
  }
  CHECK(warnings.texts.empty());
}

TEST_CASE("native: integers, truths, constants, empty arrays, several results") {
  if (!support::has_compiler()) return;
  const support::NativeCache cache;
  const Tensor large = drawn({100}), small = drawn({7}), view = transpose(drawn({10, 10}));
  const auto f = [=](const Tensor& x, const Tensor& n) {
    const Tensor picked = where(less(x, 0.5), x * small, x - small), m = n * n + 3 * n - floor_divide(n, 2);
    const Tensor tail = slice(large, {range(3, 10)}) * x + slice(view, {2, range(0, 7)});
    return Tensors{picked + tail,      m, logical_and(greater(m, 4), less(n, 3)), slice(x, {range(0, 0)}) * 2.,
                   sum(picked * tail), x};
  };
  auto native = compile(f, {.native = true, .native_flags = quick});
  const Tensor x = drawn({7}), n = arange(5);
  const Tensors right = compile(f)(x, n);
  for (int call = 0; call < 2; ++call) {
    const Tensors got = native(x, n);
    for (std::size_t k = 0; k < right.size(); ++k) check_close(right[k], got[k]);
  }
  CHECK(native.stats().native_instructions > 5);
}

TEST_CASE("native: what an operation refuses is thrown with its line") {
  if (!support::has_compiler()) return;
  const support::NativeCache cache;
  const auto f = [](const Tensor& x, const Tensor& i) {
    Tensor y = x * x - 1.;
    for (int k = 0; k < 12; ++k) y = y * 0.5 + x(0) * x(1) * x(2);
    return gather(y, i) * 3.;
  };
  auto plain = compile(f), native = compile(f, {.native = true, .native_flags = quick});
  const Tensor x = drawn({5}), good = from_data(std::array<std::int64_t, 2>{1, 4}),
               bad = from_data(std::array<std::int64_t, 2>{1, 5});
  const auto message = [&](auto& function) {
    try {
      function(x, bad);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("nothing");
  };
  check_close(plain(x, good), native(x, good));
  CHECK(native.stats().native_instructions == native.stats().passes[4].after);
  CHECK(message(native) == message(plain));
  CHECK(message(native) != "nothing");
  check_close(plain(x, good), native(x, good));
}

namespace {

// Sums of 20 steps.
Tensor swing(const Tensor& x) {
  const auto last = scan(
      [](const Tensor& y, const Tensor& u) {
        const Tensor next = y + 0.1 * (u * cos(y) - 0.5 * y);
        return std::pair(next, next * next);
      },
      scalar(0.3), x, {.compiled = true});
  return last.first + sum(last.second);
}

Tensors value_and_gradient(auto& f, const Tensor& x) {
  GradientTape tape;
  tape.watch(x);
  const Tensor y = f(x);
  return {y, *tape.gradient(y, x)};
}

}  // namespace

TEST_CASE("native: a loop and its gradient by a tape around the call are one instruction each") {
  if (!support::has_compiler()) return;
  const support::NativeCache cache;
  auto plain = compile(swing), native = compile(swing, {.native = true, .native_flags = quick});
  const Tensor x = drawn({20});
  for (int call = 0; call < 3; ++call) {
    const Tensors right = value_and_gradient(plain, x), got = value_and_gradient(native, x);
    check_close(right[0], got[0]);
    check_close(right[1], got[1]);
  }
  CHECK(native.stats().forward_instructions == 1);
  CHECK(native.stats().backward_instructions == 1);
  GradientTape tape({.persistent = true});  // each recorded call keeps what its steps left
  tape.watch(x);
  const Tensor first = native(x), second = native(x * 0.5), third = native(x * 0.25);
  const Tensor right = grad([](const Tensor& a) { return swing(a) + swing(a * 0.5) + swing(a * 0.25); })(x);
  for (int call = 0; call < 2; ++call) check_close(right, *tape.gradient(first + second + third, x));
}

TEST_CASE("native: loops whose steps are native in part, and loops in loops") {
  if (!support::has_compiler()) return;
  const support::NativeCache cache;
  const auto compare = [&](auto f, const Tensor& x) {
    auto plain = compile(f), native = compile(f, {.native = true, .native_flags = quick});
    const Tensors right = value_and_gradient(plain, x), got = value_and_gradient(native, x);
    check_close(right[0], got[0]);
    check_close(right[1], got[1]);
    CHECK(cache.files() > 0);
    std::filesystem::remove_all(cache.folder());
  };
  compare(
      [](const Tensor& x) {  // eigvalsh has no form in C
        const auto last = scan(
            [](const Tensor& y, const Tensor& u) {
              const Tensor a = y * y + u * y - 0.25 * u, b = a * u + y * a - 0.5 * y * u, c = a * b + u * y + b * b * a;
              const Tensor m = stack({stack({a + 2., b * 0.1}), stack({b * 0.1, c + 3.})});
              const Tensor next = 0.01 * sum(eigvalsh(m) * tensor({1., 2.})) + a * b * 0.1 + tanh(c) * 0.1;
              return std::pair(next, next);
            },
            scalar(0.3), x, {.compiled = true});
        return last.first + sum(last.second);
      },
      drawn({10}));
  compare(
      [](const Tensor& x) {
        return while_loop([](const Tensor& s) { return less(s, 50.); },
                          [=](const Tensor& s) {
                            return s + fori_loop(3,
                                                 [=](const Tensor& i, const Tensor& t) {
                                                   return t * 1.1 + x(0) + 0.1 * cast(i, DType::float64);
                                                 },
                                                 x(1), {.max_iterations = 3});
                          },
                          sum(x), {.max_iterations = 60});
      },
      drawn({3}));
}

TEST_CASE("native: what a step of a loop refuses is thrown with its line, also under a tape") {
  if (!support::has_compiler()) return;
  const support::NativeCache cache;
  const auto f = [](const Tensor& x, const Tensor& i) {
    const auto last = scan(
        [=](const Tensor& y, const Tensor& at) {
          const Tensor next = y * 0.5 + gather(x, at) * y * x(0) - x(1) * y;
          return std::pair(next, next);
        },
        scalar(0.3), i, {.compiled = true});
    return last.first;
  };
  auto plain = compile(f), native = compile(f, {.native = true, .native_flags = quick});
  const Tensor x = drawn({5}), good = from_data(std::array<std::int64_t, 3>{1, 4, 2}),
               bad = from_data(std::array<std::int64_t, 3>{1, 5, 2});
  const auto message = [&](auto& function, const Tensor& i) {
    GradientTape tape;
    tape.watch(x);
    try {
      const Tensor y = function(x, i);
      static_cast<void>(tape.gradient(y, x));
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("nothing");
  };
  for (int call = 0; call < 2; ++call) {
    CHECK(message(native, good) == "nothing");
    CHECK(message(native, bad) == message(plain, bad));
  }
  CHECK(message(plain, bad) != "nothing");
}

TEST_CASE("native: steps of training, with variables, an optimiser and draws") {
  if (!support::has_compiler()) return;
  const support::NativeCache cache;
  const auto train = [](const CompileOptions& options, bool& is_native) {
    Variable w(tensor({0.3, -0.2, 0.1})), b(scalar(0.5));
    Adam adam({.learning_rate = 0.01});
    Generator generator(3);
    auto step = compile(
        [&](Generator& g, const Tensor& x) {
          const Tensor noise = random_uniform(g, {3}, -0.1, 0.1, DType::float64);
          GradientTape tape;
          const Tensor y = sum((w + noise) * x) * b - b * b * 0.5 + square(w)(0) * w(1) - w(2) * b * x(0);
          const Tensor loss = square(y - 1.) + 0.01 * sum(square(w));
          adam.step(tape.gradient(loss, std::vector{w, b}), std::vector{w, b});
          return loss;
        },
        options);
    Tensor loss;
    for (int k = 0; k < 5; ++k) loss = step(generator, tensor({1., 2., 3.}));
    is_native = step.stats().native_instructions > 0;
    return Tensors{loss, w.read(), b.read()};
  };
  bool off = true, on = false;
  const Tensors right = train({}, off), got = train({.native = true, .native_flags = quick}, on);
  CHECK(!off);
  CHECK(on);
  for (std::size_t k = 0; k < right.size(); ++k) check_close(right[k], got[k]);
}

TEST_CASE("native: check compares to rounding, and still finds what has changed") {
  if (!support::has_compiler()) return;
  const support::NativeCache cache;
  double factor = 3;
  auto f = compile(
      [&](const Tensor& x) {
        Tensor y = x(0);
        for (int k = 0; k < 30; ++k) y = sin(y * factor + x(1)) / (y + 2.);
        return y;
      },
      {.check = 3, .native = true, .native_flags = quick});
  const Tensor x = drawn({2});
  CHECK_NOTHROW(f(x));
  CHECK(f.stats().native_instructions > 0);
  CHECK_NOTHROW(f(x));
  factor = 4;
  CHECK_THROWS_AS(f(x), Error);
}

TEST_CASE("native: statistics say what is native") {
  if (!support::has_compiler()) return;
  const support::NativeCache cache;
  const Tensor x = drawn({10});
  auto off = compile(rollout), on = compile(rollout, {.native = true, .native_flags = quick});
  off(x);
  on(x);
  CHECK(off.stats().native_instructions == 0);
  CHECK(on.stats().instructions == 1);
  CHECK(on.stats().native_instructions > 50);
  const std::vector<PassStats> passes = on.stats().passes;
  CHECK(std::any_of(passes.begin(), passes.end(),
                    [](const PassStats& p) { return p.name == std::string("compile_native") && p.after == 1; }));
  // Vector kernels are faster at functions other than arithmetic; no compiler runs.
  auto kernels = compile([](const Tensor& a) { return sum(tanh(a * a) + a); }, {.native = true});
  kernels(drawn({1000}));
  CHECK(kernels.stats().native_instructions == 0);
  CHECK(cache.files() == 1);
  // So are those of matrices, unless they are small.
  for (const std::int64_t n : {3, 60}) {
    auto system =
        compile([](const Tensor& a) { return solve(a, solve(a, a(0))); }, {.native = true, .native_flags = quick});
    system(drawn({n, n}) + 10. * eye(n, DType::float64));
    CHECK(system.stats().native_instructions == (n == 3 ? 2 : 0));
  }
}
