// Matrix products that are added to a value in place: the bits of a product and a sum.
#include <algorithm>
#include <reel/compile.hpp>
#include <reel/reel.hpp>

#include "catch.hpp"
#include "kernels/dispatch.hpp"
#include "loops/product/matmul.hpp"
#include "program/passes/passes.hpp"
#include "traced.hpp"

using namespace reel;
using program::Program;
using support::same_bits, support::Tensors;

namespace {

using Function = support::TensorsFunction;
using Names = std::vector<std::string>;

Program accumulated(Function f, const Tensors& x) {
  Program program = support::traced(f, x);
  program::accumulate_products(program);
  return program;
}

void check(Function f, const Tensors& x, const Names& expected) {
  const Program program = accumulated(f, x);
  CHECK(support::names(program) == expected);
  const program::Executable executable(program);
  for (int run = 0; run < 2; ++run) support::check_run(executable, f, x);
}

Tensor noise(const Shape& shape, DType d, unsigned seed = 3) {
  Generator g(seed);
  const bool wide = d == DType::float64 || d == DType::complex128;
  const DType real = wide ? DType::float64 : DType::float32;
  const Tensor x = random_normal(g, shape, 0., 1., real);
  return d == real ? x : make_complex(x, random_normal(g, shape, 0., 1., real));
}

// Calls f for each instruction set of the machine. Some leave every product to BLAS.
template <class F>
void for_each_set(F f) {
  const kernels::Set usual = kernels::active();
  for (const kernels::Set* set : kernels::supported_sets()) {
    kernels::activate(*set);
    CAPTURE(set->isa);
    f();
  }
  kernels::activate(usual);
}

// The names where products of this shape are added to sums, and where they are not.
Names either(DType d, const Shape& s, const Names& added, const Names& apart) {
  return loops::adds_complete_sums(d, s[0], s[2], s[1]) ? added : apart;
}

const Function two_products = [](const Tensors& x) { return Tensors{matmul(x[0], x[1]) + matmul(x[2], x[3])}; };
const Function three_products = [](const Tensors& x) {
  const Tensor y = matmul(x[0], x[1]) + matmul(x[2], x[3]);
  return Tensors{exp(y + matmul(x[0], x[3]))};
};

}  // namespace

TEST_CASE("programs: a product is added in place, with the bits of a product and a sum") {
  for_each_set([] {
    for (const DType d : {DType::float32, DType::float64, DType::complex64, DType::complex128})
      for (const Shape& s : {Shape{16, 24, 40},
                             {7, 1, 9},
                             {5, 0, 6},
                             {33, 128, 17},
                             {33, 129, 17},
                             {33, 256, 17},
                             {33, 257, 17},
                             {1, 30, 40},
                             {30, 40, 1},
                             {1, 9, 1},
                             {150, 16, 140}}) {
        const auto [m, k, n] = std::array{s[0], s[1], s[2]};
        CAPTURE(d, m, k, n);
        const Tensors x{noise({m, k}, d, 1), noise({k, n}, d, 2), noise({m, k}, d, 3), noise({k, n}, d, 4)};
        check(two_products, x, either(d, s, {"matmul", "add matmul"}, {"matmul", "matmul", "add"}));
        check(three_products, x,
              either(d, s, {"matmul", "add matmul", "add matmul", "exp"},
                     {"matmul", "matmul", "add", "matmul", "add", "exp"}));
      }
  });
}

TEST_CASE("programs: a product is added to zeros of either sign as by a sum") {
  for_each_set([] {
    for (const std::int64_t k : {0, 1, 2, 5}) {
      const Tensors x{full({6, k}, -0.), full({k, 5}, 1.), full({6, k}, -0.), full({k, 5}, 1.)};
      check(two_products, x, either(x[0].dtype(), {6, k, 5}, {"matmul", "add matmul"}, {"matmul", "matmul", "add"}));
    }
  });
}

TEST_CASE("programs: a product is added to what another op computed, before or after it") {
  const Function before = [](const Tensors& x) {
    const Tensor y = softmax(x[2]);
    return Tensors{y + matmul(x[0], x[1])};
  };
  const Function after = [](const Tensors& x) {
    const Tensor y = matmul(x[0], x[1], {.transpose_a = true});
    return Tensors{y + cumsum(x[2], 0)};
  };
  for_each_set([&] {
    const Shape s{16, 24, 40};
    const DType d = DType::float32;
    const Tensors x{noise({16, 24}, d, 1), noise({24, 40}, d, 2), noise({16, 40}, d)};
    check(before, x, either(d, s, {"softmax", "add matmul"}, {"softmax", "matmul", "add"}));
    check(after, {transpose(x[0]), x[1], x[2]}, either(d, s, {"cumsum", "add matmul"}, {"matmul", "cumsum", "add"}));
    // Repeated rows are multiplied once.
    check(before, {broadcast_to(noise({1, 24}, d), {16, 24}), x[1], x[2]},
          either(d, s, {"softmax", "add matmul"}, {"softmax", "matmul", "add"}));
  });
}

TEST_CASE("programs: a product stays apart from a sum whose terms are read elsewhere, or of another shape") {
  for_each_set([] {
    const DType d = DType::float64;
    const Tensors x{noise({16, 24}, d, 1), noise({24, 40}, d, 2), noise({16, 24}, d, 3), noise({24, 40}, d, 4)};
    const Names apart{"matmul", "matmul", "add"};
    check(
        [](const Tensors& z) {
          const Tensor y = matmul(z[0], z[1]), w = matmul(z[2], z[3]);
          return Tensors{y + w, y, w};
        },
        x, apart);
    check(
        [](const Tensors& z) {
          const Tensor y = matmul(z[0], z[1]);
          return Tensors{y + y};
        },
        x, {"matmul", "add"});
    check([](const Tensors& z) { return Tensors{z[2] + matmul(z[0], z[1])}; }, {x[0], x[1], noise({16, 40}, d)},
          {"matmul", "add"});
    check(
        [](const Tensors& z) {
          const Tensor y = exp(z[2]);
          return Tensors{y + matmul(z[0], z[1])};
        },
        {x[0], x[1], noise({16, 40}, d)}, {"exp", "matmul", "add"});
    check([](const Tensors& z) { return Tensors{matmul(z[0], z[1]) + matmul(z[2], z[3])}; },
          {x[0], x[1], noise({1, 24}, d), x[3]}, apart);
    check(two_products, {noise({3, 16, 24}, d), x[1], noise({3, 16, 24}, d), x[3]}, apart);
  });
}

TEST_CASE("programs: a product that fusion reads part by part is added to sums of products alone") {
  const Function then_bias = [](const Tensors& x) { return Tensors{matmul(x[0], x[1]) + matmul(x[2], x[3]) + x[4]}; };
  for_each_set([&] {
    const DType d = DType::float64;
    const Shape s{260, 16, 260};
    const Tensors x{noise({260, 16}, d, 1), noise({16, 260}, d, 2), noise({260, 16}, d, 3), noise({16, 260}, d, 4),
                    noise({260}, d)};
    check(two_products, x, either(d, s, {"matmul", "add matmul"}, {"matmul", "matmul", "add"}));
    check(then_bias, x, {"matmul", "matmul", "add", "add"});
  });
}

TEST_CASE("compiled: the gradient of a weight that many products read holds one product at a time") {
  const Tensor w = noise({32, 32}, DType::float32, 1) * 0.1, x = noise({16, 32}, DType::float32, 2);
  const auto gradient = [&](const Tensor& weight) {
    GradientTape tape;
    tape.watch(weight);
    Tensor h = x;
    for (int k = 0; k < 40; ++k) h = tanh(matmul(h, weight));
    return *tape.gradient(sum(h), weight);
  };
  const auto f = compile(gradient);
  CHECK(same_bits(f(w), gradient(w)));
  if (!loops::adds_complete_sums(DType::float32, 32, 32, 16)) return;
  // The 40 hidden states, and a few matrices.
  CHECK(f.stats().planned_bytes <= 40 * 16 * 32 * 4 + 8 * 32 * 32 * 4);
  CHECK(std::ranges::any_of(f.stats().passes, [](const auto& p) {
    return p.name == std::string("accumulate_products") && p.before - p.after == 39;
  }));
}
