// Gradients through compiled calls are two programs: what the call keeps, and that no part of f is computed twice.
#include <reel/compile.hpp>
#include <reel/custom.hpp>
#include <reel/forward.hpp>
#include <reel/reel.hpp>

#include "catch.hpp"
#include "program/passes/passes.hpp"
#include "program/run/executable.hpp"
#include "program/trace.hpp"
#include "support/bits.hpp"
#include "support/ramp.hpp"

using namespace reel;
using support::same_bits;

namespace {

std::size_t count(const program::Program& p, std::string_view name) {
  std::size_t n = 0;
  for (const program::Instruction& i : p.instructions) n += i.operation.name == name;
  return n;
}

}  // namespace

TEST_CASE("split programs: the second part reads values that the first part computed") {
  program::Program whole;
  {
    program::Trace trace("test");
    const Tensor x = trace.argument(support::ramp({3, 3})), g = trace.argument(scalar(1.));
    GradientTape tape({.watch_accessed_variables = false});
    tape.watch(x);
    const Tensor h = cumsum(x, 0), y = sum(matmul(h, h) * x);
    const std::vector<Tensor> results{y, *tape.gradient(y, x, {.output_gradients = g})};
    whole = trace.finish(results);
  }
  program::simplify(whole);
  const program::Parts parts = program::split(whole, 1, 1);
  CHECK(count(parts.first, "matmul") == 1);
  CHECK(count(parts.first, "cumsum") == 1);
  CHECK(count(parts.second, "matmul") == 2);
  CHECK(parts.first.instructions.size() + parts.second.instructions.size() == whole.instructions.size());
  CHECK(parts.residuals >= 1);
  CHECK(parts.first.arguments.size() == 1);
  CHECK(parts.second.arguments.size() == 2 + parts.residuals);
  // The two parts give the bits of the whole program.
  const Tensor x = support::ramp({3, 3}, .3), g = scalar(2.);
  const Tensor both[] = {x, g};
  std::vector<Tensor> expected(2), first(1 + parts.residuals), second(1);
  program::Executable(whole).run(both, expected);
  program::Executable(parts.first).run({both, 1}, first);
  std::vector<Tensor> given(both, both + 2);
  given.insert(given.end(), first.begin() + 1, first.end());
  program::Executable(parts.second).run(given, second);
  CHECK(same_bits(first[0], expected[0]));
  CHECK(same_bits(second[0], expected[1]));
}

TEST_CASE("compiled gradients: the gradient does not evaluate f again") {
  const Tensor w = support::ramp({4, 4}, .2);
  int traced = 0;
  const auto f = compile([&](const Tensor& x) {
    ++traced;
    Tensor h = x;
    for (int i = 0; i < 10; ++i) h = softmax(matmul(h, w));
    return sum(h * x);
  });
  const Tensor x = support::ramp({4, 4});
  const auto gradient = [&] {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = f(x);
    return *tape.gradient(y, x);
  };
  const Tensor first = gradient();
  const CompileStats s = f.stats();
  CHECK(traced == 2);
  // Ten products and softmaxes forward; as many backward, and none of the forward ones.
  CHECK(s.forward_instructions == s.instructions);
  CHECK(s.backward_instructions >= 20);
  CHECK(s.backward_instructions <= 25);
  CHECK(s.residual_bytes > 0);
  CHECK(s.residual_bytes <= 21 * 16 * 8);
  CHECK(same_bits(gradient(), first));
  CHECK(traced == 2);
  // From now on a recorded call keeps the residuals until its gradient is computed.
  const std::int64_t before = memory_stats().live_bytes;
  {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = f(x);
    CHECK(memory_stats().live_bytes - before >= s.residual_bytes);
    static_cast<void>(tape.gradient(y, x));
    CHECK(memory_stats().live_bytes - before < s.residual_bytes);
  }
}

TEST_CASE("compiled gradients: an op on a cotangent that may throw runs with the gradient") {
  const auto f = compile([](const Tensor& x) {
    return custom_gradient([](const Tensor& y) {
      return std::pair(y * 2., [](const Tensor& g) { return cast(cast(g, DType::int64), DType::float64); });
    })(x);
  });
  const Tensor x = support::ramp({3}, .1);
  for (const double g : {2.5, 1e300, 2.5, 1e300}) {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = f(x);
    const auto gradient = [&] { return *tape.gradient(y, x, {.output_gradients = full({3}, g)}); };
    if (g < 3)
      CHECK(same_bits(gradient(), full({3}, 2.)));
    else
      CHECK_THROWS_AS(gradient(), Error);
  }
}

TEST_CASE("compiled gradients: an op of the gradient alone that may throw does not run with the call") {
  const auto f = compile([](const Tensor& x, const Tensor& rows) {
    return custom_gradient(
        [rows](const Tensor& y) { return std::pair(y * 2., [rows](const Tensor& g) { return gather(g, rows); }); })(x);
  });
  const Tensor x = support::ramp({3}, .1), g = support::ramp({3}, .7);
  for (const std::int64_t last : {1, 9, 1, 9}) {
    const Tensor rows = from_data(std::vector<std::int64_t>{2, 0, last});
    GradientTape tape;
    tape.watch(x);
    const Tensor y = f(x, rows);
    const auto gradient = [&] { return *tape.gradient(y, x, {.output_gradients = g}); };
    if (last < 3)
      CHECK(same_bits(gradient(), gather(g, rows)));
    else
      CHECK_THROWS_AS(gradient(), IndexError);
  }
}

TEST_CASE("compiled gradients: arguments that no tape follows add no instructions") {
  const auto f = compile([](const Tensor& x, const Tensor& w) { return sum(tanh(matmul(x, w))); });
  const Tensor x = support::ramp({50, 4}), w = support::ramp({4, 3});
  const auto instructions = [&](bool both) {
    GradientTape tape;
    tape.watch(w);
    if (both) tape.watch(x);
    static_cast<void>(*tape.gradient(f(x, w), w));
    return f.stats().backward_instructions;
  };
  const std::int64_t one = instructions(false);
  CHECK(one < instructions(true));
  CHECK(instructions(false) == one);
}

TEST_CASE("compiled gradients: a persistent tape computes several gradients, also after assigns") {
  Variable v(support::ramp({3}, .3), "v");
  const auto f = compile([&](const Tensor& x) {
    const Tensor y = exp(v * x), z = sin(y) * v;
    v.assign(v + 1.);
    return std::pair(sum(y), sum(z));
  });
  const Tensor x = support::ramp({3}, .1);
  for (int i = 0; i < 3; ++i) {
    const Tensor at = v.read();
    GradientTape tape({.persistent = true});
    tape.watch(x);
    const auto [y, z] = f(x);
    const auto close = [](const Tensor& a, const Tensor& b) {
      CHECK(max(abs(a - b)).item() < 1e-12 * max(abs(b)).item());
    };
    for (int k = 0; k < 2; ++k) {
      close(*tape.gradient(y, x), exp(at * x) * at);
      close(*tape.gradient(z, x), cos(exp(at * x)) * exp(at * x) * at * at);
      close(*tape.gradient(y, v), exp(at * x) * x);
      close(*tape.gradient(std::tuple(y, z), x), exp(at * x) * at * (1. + cos(exp(at * x)) * at));
    }
  }
  CHECK(f.stats().traces == 1);
}

TEST_CASE("compiled gradients: a recorded call keeps no argument that derivatives do not read") {
  const std::int64_t n = 1 << 14, bytes = 8 * n;
  const auto plain = [](const Tensor& x, const Tensor& b, const Tensor& c, const Tensor& s) {
    return std::pair(exp(x) + 2. * b - reshape(transpose(c), {1 << 14}), concatenate({b, s * s, b}, 0));
  };
  const auto f = compile(plain);
  const Tensor w = support::ramp({n}, .1);
  // Of x, b, c and s, computed from w: the bytes that stay when they are gone, without those of the results.
  const auto operands = [&](const Tensor& v) {
    return std::tuple(v * 2., v + 1., reshape(v * 3., {128, 128}), slice(v * 4., {range(0, n / 2)}));
  };
  const auto kept = [&] {
    GradientTape tape;
    tape.watch(w);
    const std::int64_t before = memory_stats().live_bytes;
    std::pair<Tensor, Tensor> y;
    {
      const auto [x, b, c, s] = operands(w);
      y = f(x, b, c, s);
    }
    const std::int64_t live = memory_stats().live_bytes - before;
    static_cast<void>(tape.gradient(y, w));
    return live - 7 * bytes / 2;
  };
  const std::int64_t first = kept(), later = kept();
  // x and s, with the memory of the program or exp(x), in blocks up to a quarter larger; b and c would be two more.
  CHECK(first < 5 * bytes);
  CHECK(later < 5 * bytes);
  // Every derivative is that of the function op by op.
  const auto derivatives = [&](const auto& g) {
    const auto value = [&](const Tensor& v) {
      const auto [x, b, c, s] = operands(v);
      const auto [y, z] = g(x, b, c, s);
      return sum(y * y) + sum(z);
    };
    const auto part = [&](const Tensor& v) {
      const auto [x, b, c, s] = operands(v);
      return sum(g(x, b, c, s).second * 3.);
    };
    const ForwardAccumulator forward({w}, {w});
    const Tensor tangent = *forward.jvp(value(w));
    return std::vector<Tensor>{grad(value)(w), grad(part)(w), tangent,
                               grad([&](const Tensor& v) { return sum(grad(value)(v) * w); })(w),
                               *forward.jvp(grad(value)(w))};
  };
  const std::vector<Tensor> expected = derivatives(plain);
  for (int i = 0; i < 2; ++i) {
    const std::vector<Tensor> found = derivatives(f);
    for (std::size_t k = 0; k < found.size(); ++k)
      CHECK(max(abs(found[k] - expected[k])).item() <= 1e-12 * max(abs(expected[k])).item());
  }
  // Many cotangents at once, and what a check reads: a zero would be refused.
  const auto divided =
      compile([](const Tensor& x, const Tensor& k) { return x * cast(floor_divide(12, k), x.dtype()); });
  const Tensor k = tensor<std::int64_t>({1, 2, 3});
  const auto rows = jacobian([&](const Tensor& x) { return divided(x, k * 1); });
  for (int i = 0; i < 2; ++i) CHECK(same_bits(rows(support::ramp({3})), diag(tensor({12., 6., 4.}))));
}

TEST_CASE("compiled gradients: a recorded gradient keeps what only its own derivative reads") {
  // The rules of these compute by an op without a rule where nobody differentiates them.
  const auto norm = [](const Tensor& x) { return layer_norm(x, {.axes = 0}); };
  const auto rows = [](const Tensor& x) { return softmax(x); };
  const auto logs = [](const Tensor& x) { return log_softmax(x); };
  const auto check = [](const auto& f) {
    const auto g = compile(f);
    const Tensor x = sin(support::ramp({4}, .9)), w = cos(support::ramp({4}, .3));
    const auto slope = [&](const auto& h) {
      return [&](const Tensor& y) { return sum(grad([&](const Tensor& z) { return sum(h(z) * w); })(y) * w); };
    };
    const auto tangent = [&](const auto& h) { return [&](const Tensor& y) { return sum(jvp(h, y, w).second * w); }; };
    for (int i = 0; i < 2; ++i) {
      CHECK(max(abs(grad(slope(g))(x) - grad(slope(f))(x))).item() < 1e-13);
      CHECK(max(abs(jvp(slope(g), x, w).second - jvp(slope(f), x, w).second)).item() < 1e-13);
      CHECK(max(abs(grad(tangent(g))(x) - grad(tangent(f))(x))).item() < 1e-13);
      CHECK(max(abs(jvp(tangent(g), x, w).second - jvp(tangent(f), x, w).second)).item() < 1e-13);
    }
  };
  check(norm);
  check(rows);
  check(logs);
}
