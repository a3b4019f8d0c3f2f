// Products that a fused instruction computes and reads part by part: the bits of the ops run one by one.
#include <cmath>
#include <reel/compile.hpp>
#include <reel/reel.hpp>

#include "catch.hpp"
#include "kernels/dispatch.hpp"
#include "program/passes/passes.hpp"
#include "traced.hpp"

using namespace reel;
using program::Program;
using support::names, support::same_bits, support::Tensors;

namespace {

using Function = support::TensorsFunction;
using Names = std::vector<std::string>;

Program fused(Function f, const Tensors& x) {
  Program program = support::traced(f, x);
  program::fuse_pointwise(program);
  return program;
}

// The program's instructions, and its bits with one thread and with several.
void check(Function f, const Tensors& x, const Names& expected) {
  const Program program = fused(f, x);
  CHECK(names(program) == expected);
  const program::Executable executable(program);
  const int usual = num_threads();
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    support::check_run(executable, f, x);
  }
  set_num_threads(usual);
}

Tensor noise(const Shape& shape, DType d, unsigned seed = 3) {
  Generator g(seed);
  return random_normal(g, shape, 0., 1., d);
}

const Function layer = [](const Tensors& x) { return Tensors{abs(matmul(x[0], x[1]) + x[2]) * x[2]}; };
const Names one_pass{"fused matmul"};

}  // namespace

TEST_CASE("products in programs: bias and activation have the bits of the ops, in every instruction set") {
  const kernels::Set usual = kernels::active();
  struct Extents {
    std::int64_t m, k, n;
  };
  for (const kernels::Set* set : kernels::supported_sets()) {
    kernels::activate(*set);
    for (const DType d : {DType::float32, DType::float64})
      for (const auto& [m, k, n] : {Extents{0, 3, 5},
                                    {7, 0, 9},
                                    {2100, 0, 67},
                                    {2100, 1, 67},
                                    {1, 8, 140000},
                                    {140000, 8, 1},
                                    {2100, 128, 65},
                                    {1400, 129, 100},
                                    {1050, 16, 1025},
                                    {33, 31, 4001}}) {
        CAPTURE(set->isa, d, m, k, n);
        const Tensor a = noise({m, k}, d, 1), b = noise({k, n}, d, 2);
        const bool is_large = m * n * static_cast<std::int64_t>(item_size(d)) >= 512 * 1024;
        const Names apart = m * n == 0 ? Names{"matmul", "add", "abs", "multiply"} : Names{"matmul", "fused"};
        const Names& expected = is_large && k <= 128 ? one_pass : apart;
        check(layer, {a, b, noise({n}, d)}, expected);
        if (m * n > 150000) continue;
        for (const Shape& bias : {Shape{m, 1}, Shape{}, Shape{m, n}}) check(layer, {a, b, noise(bias, d)}, expected);
      }
  }
  kernels::activate(usual);
}

TEST_CASE("products in programs: transposed factors, views and batches") {
  const Function transposed = [](const Tensors& x) {
    return Tensors{relu(matmul(x[0], x[1], {.transpose_a = true, .transpose_b = true}) + x[2])};
  };
  for (const DType d : {DType::float32, DType::float64}) {
    const Tensor bias = noise({70}, d);
    check(transposed, {noise({20, 2000}, d), noise({70, 20}, d), bias}, one_pass);
    check(layer, {transpose(noise({20, 2000}, d)), flip(noise({20, 70}, d)), flip(bias)}, one_pass);
    check(layer, {slice(noise({2000, 45}, d), {all, range(3, 43, 2)}), transpose(noise({70, 20}, d)), bias}, one_pass);
    check(layer, {broadcast_to(noise({1, 20}, d), {2000, 20}), noise({20, 70}, d), bias}, one_pass);
    check(layer, {noise({3, 700, 20}, d), noise({20, 70}, d), bias}, one_pass);
    check(layer, {noise({30, 70, 20}, d), noise({30, 20, 70}, d), noise({30, 1, 70}, d)}, one_pass);
    check(layer, {noise({2, 30, 70, 20}, d), noise({30, 20, 70}, d), noise({2, 1, 1, 1}, d)}, one_pass);
    const Names apart{"matmul", "fused"};
    check(layer, {noise({140000, 20}, d), noise({20}, d), noise({140000}, d)}, apart);
    check(layer, {noise({40, 3500, 20}, d), noise({20}, d), noise({3500}, d)}, apart);
    check(layer, {noise({20}, d), noise({40, 20, 3500}, d), noise({3500}, d)}, apart);
  }
}

TEST_CASE("products in programs: several results, several reads and several products") {
  const Tensors x{noise({1500, 20}, DType::float32, 1), noise({20, 90}, DType::float32, 2), noise({90}, DType::float32),
                  noise({1500, 90}, DType::float32, 4)};
  check(
      [](const Tensors& z) {
        const Tensor before = matmul(z[0], z[1]) + z[2];
        return Tensors{before, tanh(before), before * z[3]};
      },
      x, one_pass);
  check(
      [](const Tensors& z) {
        const Tensor y = matmul(z[0], z[1]);
        return Tensors{y * sigmoid(y) + y / z[2]};
      },
      x, one_pass);
  check([](const Tensors& z) { return Tensors{matmul(z[0], z[1]) + matmul(z[0], exp(z[1])) + z[2]}; }, x,
        {"exp", "matmul", "fused matmul"});
  check([](const Tensors& z) { return Tensors{relu(matmul(z[0], z[1]))}; }, x, one_pass);
}

TEST_CASE("products in programs: other readers, views, sums and dtypes keep the product an instruction") {
  const Tensors x{noise({1500, 20}, DType::float32, 1), noise({20, 90}, DType::float32, 2),
                  noise({90}, DType::float32)};
  check(
      [](const Tensors& z) {
        const Tensor y = matmul(z[0], z[1]);
        return Tensors{y, relu(y + z[2])};
      },
      x, {"matmul", "fused"});
  check(
      [](const Tensors& z) {
        const Tensor y = matmul(z[0], z[1]);
        return Tensors{relu(y + z[2]), sum(y, {0})};
      },
      x, {"matmul", "fused", "sum"});
  check([](const Tensors& z) { return Tensors{relu(flip(matmul(z[0], z[1])) + z[2])}; }, x, {"matmul", "fused"});
  check([](const Tensors& z) { return Tensors{mean(square(matmul(z[0], z[1]) + z[2]))}; }, x,
        {"matmul", "fused", "divide"});
  check([](const Tensors& z) { return Tensors{relu(cast(matmul(z[0], z[1]), DType::float64))}; }, x,
        {"matmul", "cast", "relu"});
}

TEST_CASE("products in programs: derivatives of first and second order have the bits of the ops") {
  const auto loss = [](const Tensor& x, const Tensor& w, const Tensor& bias, const Tensor& v) {
    return sum(square(matmul(tanh(matmul(x, w) + bias), v)));
  };
  const auto gradient = [&](const Tensor& x, const Tensor& w, const Tensor& bias, const Tensor& v) {
    GradientTape tape;
    tape.watch(w);
    return Tensor(tape.gradient(loss(x, w, bias, v), w));
  };
  const auto product = [&](const Tensor& x, const Tensor& w, const Tensor& bias, const Tensor& v) {
    GradientTape tape;
    tape.watch(w);
    return Tensor(tape.gradient(sum(gradient(x, w, bias, v) * w), w));
  };
  for (const DType d : {DType::float32, DType::float64}) {
    const Tensor x = noise({1500, 20}, d, 1), w = noise({20, 90}, d, 2), bias = noise({90}, d),
                 v = noise({90, 3}, d, 4);
    const auto first = compile(gradient);
    const auto second = compile(product);
    CHECK(same_bits(first(x, w, bias, v), gradient(x, w, bias, v)));
    CHECK(same_bits(second(x, w, bias, v), product(x, w, bias, v)));
    for (const std::string& dot : {first.to_dot(), second.to_dot()})
      CHECK(dot.find("fused matmul [1500, 90]") != std::string::npos);
    // Through the call.
    const auto layer_of =
        compile([](const Tensor& z, const Tensor& u, const Tensor& c) { return tanh(matmul(z, u) + c); });
    GradientTape tape;
    tape.watch(w);
    const Gradient g = tape.gradient(sum(square(layer_of(x, w, bias))), w);
    GradientTape plain;
    plain.watch(w);
    const Tensor expected = plain.gradient(sum(square(tanh(matmul(x, w) + bias))), w);
    const support::Difference difference = support::difference({g}, {expected});
    CHECK(difference.error <= (d == DType::float32 ? 1e-5 : 1e-13) * difference.size);
    const CompileStats stats = layer_of.stats();
    CHECK(stats.traced_instructions == 3);
    CHECK(stats.instructions == 1);
  }
}
