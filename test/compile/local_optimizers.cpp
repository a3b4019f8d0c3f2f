// Optimisers in compiled functions: those that a call makes and destroys, and those that step by IndexedSlices.
#include <reel/compile.hpp>
#include <reel/forward.hpp>
#include <reel/optim.hpp>
#include <reel/reel.hpp>

#include "catch.hpp"
#include "compile/check_close.hpp"
#include "support/bits.hpp"
#include "support/ramp.hpp"

using namespace reel;
using support::ramp;
using support::same_bits;

namespace {

// A function that makes an optimiser, steps the variable twice, and returns what depends on the steps.
template <class Make>
auto training(const Variable& w, Make make) {
  return [=](const Tensor& x) {
    auto optimizer = make();
    for (int i = 0; i < 2; ++i) {
      GradientTape tape;
      const Tensor loss = sum(square(w * x - 1.));
      optimizer.step(tape.gradient(loss, w), w);
    }
    return sum(w * x * x);
  };
}

template <class Make>
void check_local(Make make) {
  const Variable of_f(ramp({3}), "w"), of_program(ramp({3}), "w");
  const auto f = training(of_f, make);
  const auto program = compile(training(of_program, make)), checked = compile(training(of_program, make), {.check = 2});
  const Tensor x = ramp({3}, .3);
  const auto same = [&] { CHECK(same_bits(of_program.read(), of_f.read())); };
  for (int i = 0; i < 3; ++i) {
    CHECK(same_bits(program(x), f(x)));
    same();
  }
  for (int i = 0; i < 2; ++i) {
    check_close(grad(program)(x), grad(f)(x));
    same();
  }
  check_close(jvp(program, x, ones({3})).second, jvp(f, x, ones({3})).second);
  check_close(hessian(program)(x), hessian(f)(x));
  same();
  CHECK(same_bits(checked(x), f(x)));
  CHECK(same_bits(checked(x), f(x)));
  same();
}

}  // namespace

TEST_CASE("local optimisers: every call begins with fresh state, and gradients pass through the call") {
  check_local([] { return SGD({.learning_rate = .1}); });
  check_local([] { return SGD({.learning_rate = .1, .momentum = .9}); });
  check_local([] { return Adam({.learning_rate = .1}); });
  check_local([] { return AdamW({.learning_rate = .1}); });
  check_local([] { return RMSProp({.learning_rate = .1}); });
  check_local([] { return Adagrad({.learning_rate = .1}); });
  check_local([] { return Lion({.learning_rate = .1}); });
}

TEST_CASE("local optimisers: in a loop, of the function and of each step") {
  for (const bool of_step : {false, true}) {
    const auto make = [of_step](const Variable& w) {
      return [=](const Tensor& x) {
        Adam of_function({.learning_rate = .1});
        const Tensor y = fori_loop(
            70,
            [&](const Tensor&, const Tensor& z) {
              Adam own({.learning_rate = .1});
              GradientTape tape;
              const Tensor loss = sum(square(w * x - z));
              (of_step ? own : of_function).step(tape.gradient(loss, w), w);
              return z * .9 + w * .01;
            },
            x);
        return sum(y * w);
      };
    };
    const Variable of_f(ramp({3}), "w"), of_program(ramp({3}), "w");
    const auto f = make(of_f);
    const auto program = compile(make(of_program));
    for (int i = 0; i < 2; ++i) {
      CHECK(same_bits(program(ramp({3}, .3)), f(ramp({3}, .3))));
      CHECK(same_bits(of_program.read(), of_f.read()));
    }
  }
}

TEST_CASE("local optimisers: one that a call makes anew for the next is refused by its gradient") {
  const Variable w(ramp({3}), "w");
  std::optional<Adam> kept;
  const auto f = compile([&](const Tensor& x) {
    kept.emplace();
    GradientTape tape;
    const Tensor loss = sum(square(w * x - 1.));
    kept->step(tape.gradient(loss, w), w);
    return loss;
  });
  CHECK_THROWS_WITH(grad(f)(ramp({3})), Catch::Contains("its derivative"));
}

TEST_CASE("clip_by_global_norm of IndexedSlices: a step of a language model has the bits of the eager one") {
  struct Model {
    Variable table{ramp({7, 4}, .1), "table"}, out{ramp({4, 7}, -.2), "out"};
    auto leaves() { return std::tie(table, out); }
  };
  const auto step_of = [](Model& m, Adam& adam, double limit) {
    return [&, limit](const Tensor& tokens, const Tensor& next) {
      GradientTape tape;
      const Tensor logits = matmul(gather(m.table, tokens), m.out);
      const Tensor loss = mean(sparse_softmax_cross_entropy(logits, next));
      const std::vector<Gradient> g = tape.gradient(loss, {m.table, m.out});
      REQUIRE(g[0].is_slices());
      const auto [clipped, norm] = clip_by_global_norm(g, limit);
      adam.step(clipped, m);
      return std::pair(loss, norm);
    };
  };
  for (const double limit : {.01, 100.}) {
    Model model, twin;
    Adam adam({.learning_rate = .05}), plain({.learning_rate = .05});
    const auto f = step_of(twin, plain, limit);
    const auto program = compile(step_of(model, adam, limit));
    for (std::int64_t i = 0; i < 4; ++i) {  // with and without repeated tokens
      const Tensor tokens = from_data(std::vector<std::int64_t>{i, 2, 5, i == 3 ? 6 : 2}), next = (tokens + 1) % 7;
      const auto got = program(tokens, next), expected = f(tokens, next);
      CHECK(same_bits(got.first, expected.first));
      CHECK(same_bits(got.second, expected.second));
      CHECK(same_bits(model.table.read(), twin.table.read()));
      CHECK(same_bits(model.out.read(), twin.out.read()));
    }
  }
}

TEST_CASE("clip_by_global_norm of IndexedSlices: the norm has the derivatives of the dense one, to second order") {
  const auto check = [](const Tensor& values, const Tensor& rows) {
    const auto of_slices = [&](const Tensor& v) {
      return clip_by_global_norm(std::vector<Gradient>{IndexedSlices{v, rows, {4, 2}}}, 1.).norm;
    };
    const auto of_dense = [&](const Tensor& v) { return norm(IndexedSlices{v, rows, {4, 2}}.dense()); };
    check_close(grad(of_slices)(values), grad(of_dense)(values));
    check_close(jvp(of_slices, values, sin(values)).second, jvp(of_dense, values, sin(values)).second);
    check_close(hessian(of_slices)(values), hessian(of_dense)(values));
  };
  check(ramp({3, 2}, .4), from_data(std::vector<std::int64_t>{3, 0, 3}));
  check(ramp({3, 2}, .4), from_data(std::vector<std::int64_t>{0, 1, 3}));
}
