// A compiled function gives the bits, dtypes, shapes and strides of the function called op by op, and shares no
// borrowed memory that this does not share.
#include "support/bits.hpp"

#include <reel/compile.hpp>
#include <reel/elementwise.hpp>
#include <reel/reel.hpp>

#include "catch.hpp"
#include "support/derivatives.hpp"
#include "support/ramp.hpp"

using namespace reel;
using support::ramp, support::same_bits, support::Tensors;

namespace {

bool same_layout(const Tensor& a, const Tensor& b) { return same_bits(a, b) && a.strides() == b.strides(); }

// The gradient of sum(x w) by w: x, as a view or a copy.
Tensor other_factor(const Tensor& x, const Tensor& w) {
  GradientTape tape;
  tape.watch(w);
  return *tape.gradient(sum(x * w), w);
}
// The same, and sums that add in the order of its strides.
Tensors factor_and_sums(const Tensor& x, const Tensor& w) {
  const Tensor g = other_factor(x, w);
  return {g, sum(g), sum(exp(g), 0), sum(g * w, -1)};
}

template <class F, class... A>
void check_same(const F& f, const A&... x) {
  const Tensors expected = f(x...);
  for (const bool checked : {false, true}) {
    const Tensors got = compile(f, {.check = checked ? 1 : 0})(x...);
    REQUIRE(got.size() == expected.size());
    for (std::size_t k = 0; k < got.size(); ++k) {
      CAPTURE(k, checked);
      CHECK(same_layout(got[k], expected[k]));
    }
  }
}

}  // namespace

TEST_CASE("compiled bits: the gradient of a sum of products is the other factor, laid out as op by op") {
  support::Random random("other factor");
  for (const Shape& shape : {Shape{21, 20}, Shape{31, 33}, Shape{32, 32}, Shape{41, 40}, Shape{1, 1100}}) {
    const Tensor values = random.tensor(shape), w = random.tensor(shape);
    for (const support::Layout layout : support::layouts) {
      CAPTURE(shape, support::name(layout));
      check_same(factor_and_sums, support::laid_out(values, layout), w);
    }
    const std::vector<double> memory = values.to_vector<double>();
    CAPTURE(shape);
    check_same(factor_and_sums, borrow(memory.data(), shape, nullptr), w);
    const Shape flipped{shape[1], shape[0]};
    check_same(factor_and_sums, transpose(borrow(memory.data(), flipped, nullptr)), w);
    check_same(factor_and_sums, borrow(memory.data(), {shape[1]}, nullptr), w);  // broadcast
  }
}

TEST_CASE("compiled bits: a gradient does not share borrowed memory") {
  for (const std::int64_t n : {5, 2000}) {
    std::vector<double> memory(static_cast<std::size_t>(n), 2.0);
    const Tensor x = borrow(memory.data(), {n}, nullptr), owned = full({n}, 3.0), w = ones({n});
    const auto f = compile(other_factor);
    const Tensor of_owned = f(owned, w), g = f(x, w), plain = other_factor(x, w);
    CHECK(same_bits(of_owned, owned));
    memory[0] = 7.0;
    CHECK(g.to_vector<double>()[0] == 2.0);
    CHECK(plain.to_vector<double>()[0] == 2.0);
    CHECK(f(x, w).to_vector<double>()[0] == 7.0);  // read at each call
    CHECK(f.stats().traces == 2);
  }
}

TEST_CASE("compiled bits: a variable may hold borrowed memory, at the trace or later") {
  for (const bool borrowed_first : {false, true}) {
    std::vector<double> memory(40, 2.0);
    const Tensor x = borrow(memory.data(), {40}, nullptr), owned = ramp({40}), w = ramp({50, 40}, 0.1);
    const Variable v(borrowed_first ? x : owned);
    const auto f = [&](const Tensor& at) { return factor_and_sums(v, at); };
    const auto compiled = compile(f);
    for (const Tensor& value : {borrowed_first ? x : owned, borrowed_first ? owned : x}) {
      v.assign(value);
      const Tensors expected = f(w), got = compiled(w);
      memory[0] = 3.0;
      for (std::size_t k = 0; k < got.size(); ++k) CHECK(same_layout(got[k], expected[k]));
      memory[0] = 2.0;
    }
    CHECK(compiled.stats().traces == 1);
  }
}

TEST_CASE("compiled bits: the tangent of an elementwise function that ignores a broadcast operand") {
  support::Random random("ignored operand");
  const auto f = [](const Tensor& x, const Tensor& ignored) {
    const ForwardAccumulator accumulator(x, exp(x));
    const Tensor y = elementwise([](auto a, auto b) { return tanh(a) * a + b; }, x, ignored);
    const Tensor t = *accumulator.jvp(y);
    return Tensors{t, sum(t), sum(t * t, 0)};
  };
  for (const auto& [small, large] : {std::pair(Shape{7}, Shape{30, 7}), {Shape{30, 1}, Shape{30, 7}}, {{}, {500}}}) {
    CAPTURE(small, large);
    check_same(f, random.tensor(small), random.tensor(large));
  }
}
