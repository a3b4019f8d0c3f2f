// The updates of SGD and Adam as primitives with an effect: evaluating one again gives the bits of the step, an effect
// handler can observe or replace it, and 100 steps follow the recurrence, also through saved and restored state.
#include <cmath>
#include <map>
#include <optional>
#include <reel/compile.hpp>
#include <reel/optim.hpp>
#include <reel/reel.hpp>

#include "../catch.hpp"
#include "optim/state_variables.hpp"
#include "support/bits.hpp"
#include "support/calls.hpp"

using namespace reel;
using support::Counting, support::Listening, support::Recorded, support::Sandbox;
using support::for_each_optimizer, support::pointers, support::same_bits, support::variables_of;

namespace {

using Access = OptimizerAccess;

bool has_state(const SGD& sgd) { return sgd.options.momentum > 0; }
bool has_state(const Adam&) { return true; }

// A variable with a dense gradient, and one with slices, which name a row twice.
struct Model {
  explicit Model(DType dtype) : dense(cast(tensor({1.0, -2.0, 3.0}), dtype)), table(ones({4, 2}, dtype)) {}
  template <class Optimizer>
  void step(Optimizer& optimizer) const {
    const DType d = dense.dtype();
    const IndexedSlices rows{
        cast(tensor({{1.0, 2.0}, {0.5, -1.0}, {-3.0, 0.25}}), d), cast(tensor({2.0, 0.0, 2.0}), DType::int64), {4, 2}};
    optimizer.step(std::vector<Gradient>{dense.read() * 0.5, rows}, std::vector<Variable>{dense, table});
  }
  bool equals(const Model& other) const { return same_bits(dense, other.dense) && same_bits(table, other.table); }
  Variable dense, table;
};

}  // namespace

TEST_CASE("evaluating an update again gives the bits of the step") {
  for (const DType d : {DType::float64, DType::float32, DType::float16, DType::bfloat16, DType::complex128}) {
    CAPTURE(d);
    for_each_optimizer([&](auto optimizer) {
      auto alone = optimizer;
      const Model model(d), same(d);
      for (int step = 0; step < 4; ++step) {
        optimizer.options.learning_rate *= 0.5;
        alone.options.learning_rate *= 0.5;
        std::vector<Recorded> calls;
        {
          const Listening listening(calls, ops::writes_variables);
          model.step(optimizer);
        }
        same.step(alone);
        CHECK(model.equals(same));  // the listener changes nothing
        REQUIRE(calls.size() == 2);
        for (const Recorded& call : calls) {
          const bool by_rows = call.primitive->residuals > 0;
          std::vector<Tensor> again(call.outputs.size() - call.primitive->residuals);
          ops::evaluate(*call.primitive, pointers(call.inputs), {}, again, true);
          for (std::size_t k = 0; k < again.size(); ++k) CHECK(same_bits(again[k], call.outputs[k]));
          if (by_rows || call.outputs[0].shape() == Shape{3})
            CHECK(same_bits(again[0], by_rows ? model.table : model.dense));
        }
      }
    });
  }
}

TEST_CASE("under an effect handler a step changes variables only through it, with the same bits") {
  for (const DType d : {DType::float64, DType::float32, DType::float16, DType::complex64}) {
    CAPTURE(d);
    for_each_optimizer([&](auto optimizer) {
      auto plain = optimizer, boxed = optimizer;
      const Model a(d), b(d), c(d);
      std::map<std::uint64_t, Tensor> kept_away;
      for (int step = 0; step < 3; ++step) {
        a.step(plain);
        // The value, then what is kept of it and the options; without momentum there is the rate alone.
        const std::size_t all = has_state(optimizer) ? 1 + variables_of(optimizer, b.dense).size() : 2;
        {
          const Counting counting;
          b.step(optimizer);
          const std::string name = counting.names.back();
          CHECK(counting.names == std::vector<std::string>{"Variable.read", name, name});
          CHECK((name == "SGD" || name == "Adam"));
          CHECK(counting.variables == std::vector<std::size_t>{1, all, all});
        }
        CHECK(a.equals(b));
        Sandbox sandbox;
        sandbox.values = kept_away;
        c.step(boxed);
        kept_away = sandbox.values;
      }
      CHECK(c.equals(Model(d)));  // nothing has come through
      CHECK(same_bits(kept_away.at(c.dense.id()), a.dense));
      CHECK(same_bits(kept_away.at(c.table.id()), a.table));
    });
  }
}

TEST_CASE("under an effect handler a step refuses options before anything changes") {
  const Variable w(ones({2}));
  const Tensor g = ones({2});
  SGD sgd({.learning_rate = 0.5, .momentum = 0.5});
  Adam adam;
  const Counting counting;
  sgd.options.learning_rate = -1;
  CHECK_THROWS_AS(sgd.step(g, w), ValueError);
  sgd.options.learning_rate = 0.5;
  adam.options.beta2 = 1;
  CHECK_THROWS_AS(adam.step(g, w), ValueError);
  CHECK(array_equal(w, ones({2})));
  CHECK(array_equal(Access::velocity(sgd, w), zeros({2})));
  CHECK(Access::steps(adam, w).read().item<std::int64_t>() == 0);
}

TEST_CASE("options in variables are read and assigned through handlers") {
  SGD sgd({.learning_rate = 0.5});
  const Variable rate = Access::variable(sgd.options.learning_rate, "rate");
  {
    Sandbox sandbox;
    sgd.options.learning_rate = 0.25;
    CHECK(sgd.options.learning_rate == 0.25);
    CHECK(sandbox.values.at(rate.id()).item() == 0.25);
  }
  CHECK(rate.read().item() == 0.5);
}

namespace {

// The recurrences of one element.
struct Numbers {
  long double x, first = 0, second = 0;
};
void step_of(const SGD& sgd, Numbers& n, long double g, int) {
  const auto rate = static_cast<long double>(double(sgd.options.learning_rate)),
             momentum = static_cast<long double>(double(sgd.options.momentum));
  n.first = n.first * momentum + g;
  n.x -= rate * (sgd.options.nesterov ? g + momentum * n.first : n.first);
}
void step_of(const Adam& adam, Numbers& n, long double g, int t) {
  const auto rate = static_cast<long double>(double(adam.options.learning_rate)),
             beta1 = static_cast<long double>(double(adam.options.beta1)),
             beta2 = static_cast<long double>(double(adam.options.beta2)),
             epsilon = static_cast<long double>(double(adam.options.epsilon));
  n.first = beta1 * n.first + (1 - beta1) * g;
  n.second = beta2 * n.second + (1 - beta2) * g * g;
  const long double mean = n.first / (1 - std::pow(beta1, static_cast<long double>(t))),
                    square = n.second / (1 - std::pow(beta2, static_cast<long double>(t)));
  n.x -= rate * mean / (std::sqrt(square) + epsilon);
}

// Steps [first, last] of 100 with the gradient 2 (x - 3); the rate changes at step 50.
template <class Optimizer>
void train(Optimizer& optimizer, const Variable& w, int first, int last) {
  for (int t = first; t <= last; ++t) {
    if (t == 50) optimizer.options.learning_rate *= 0.25;
    optimizer.step(2 * (w.read() - 3), w);
  }
}

}  // namespace

TEST_CASE("100 steps agree with the recurrence within rounding, also through saved and restored state") {
  constexpr std::size_t n = 37;
  for (const DType d : {DType::float64, DType::float32})
    for_each_optimizer([&](const auto& fresh) {
      CAPTURE(d);
      std::vector<Numbers> expected(n);
      std::vector<double> start(n);
      for (std::size_t i = 0; i < n; ++i)
        expected[i].x = static_cast<long double>(start[i] = std::round(std::sin(static_cast<double>(i)) * 640) / 128);
      const Tensor x = cast(from_data(std::span<const double>(start)), d);

      auto optimizer = fresh, numbers = fresh;
      const Variable w(x);
      train(optimizer, w, 1, 100);
      for (int t = 1; t <= 100; ++t) {
        if (t == 50) numbers.options.learning_rate *= 0.25;
        for (Numbers& e : expected) step_of(numbers, e, 2 * (e.x - 3), t);
      }
      // At most 16 roundings a step, each of at most eps of the largest number on the way, which is below 8; later
      // steps shrink them.
      const double tolerance = 100 * 16 * 8 * (d == DType::float64 ? 0x1p-53 : 0x1p-24);
      const std::vector<double> seen = cast(w, DType::float64).to_vector();
      for (std::size_t i = 0; i < n; ++i) CHECK(std::abs(seen[i] - static_cast<double>(expected[i].x)) <= tolerance);

      for (const int saved_after : {1, 49, 60}) {
        auto first = fresh;
        using Optimizer = decltype(first);
        Optimizer second;
        if constexpr (std::is_same_v<Optimizer, SGD>) second.options.nesterov = fresh.options.nesterov;
        const Variable before(x), after(zeros_like(x));
        train(first, before, 1, saved_after);
        const std::vector<Variable> from = variables_of(first, before), to = variables_of(second, after);
        after.assign(before);
        for (std::size_t k = 0; k < from.size(); ++k) to[k].assign(from[k]);
        train(second, after, saved_after + 1, 100);
        CHECK(same_bits(after, w));
        train(first, before, saved_after + 1, 100);
        CHECK(same_bits(before, w));
      }
    });
}

TEST_CASE("an update writes into the memory of its state unless another handle shares it") {
  for (const bool handled : {false, true})
    for_each_optimizer([&](auto optimizer) {
      const Variable w(zeros({64})), table(zeros({64, 2}));
      const Gradient g = ones({64}), rows = IndexedSlices{ones({1, 2}), cast(tensor({1.0}), DType::int64), {64, 2}};
      const auto step = [&] { optimizer.step(std::vector<Gradient>{g, rows}, std::vector<Variable>{w, table}); };
      const auto memory = [&] {
        std::vector<const std::byte*> list;
        for (const Variable& v : {w, table}) {
          list.push_back(detail::block(v.read())->data);
          for (const Variable& kept : variables_of(optimizer, v))
            if (kept.shape().rank() > 0) list.push_back(detail::block(kept.read())->data);
        }
        return list;
      };
      step();
      memory();
      step();  // from here on every state is the optimiser's own
      const auto before = memory();
      const std::uint64_t id = w.read().id();
      std::optional<Counting> counting;
      if (handled) counting.emplace();
      step();
      counting.reset();
      CHECK(memory() == before);
      CHECK(w.read().id() != id);
    });
}

TEST_CASE("compiled steps have the bits of eager ones, with the rate changed at step 50") {
  for (const DType d : {DType::float64, DType::float32})
    for_each_optimizer([&](const auto& fresh) {
      CAPTURE(d);
      auto eager = fresh, optimizer = fresh;
      const Tensor start = cast(tensor({{0.5, -1.0}, {0.25, 2.0}, {1.5, -0.75}}), d), zero = zeros({2}, d);
      const Variable w(start), b(zero), compiled_w(start), compiled_b(zero);
      const auto step = [](auto& by, const Variable& weights, const Variable& bias, const Tensor& x) {
        GradientTape tape;
        const Tensor loss = mean(square(matmul(x, weights) + bias - 1));
        by.step(tape.gradient(loss, std::vector<Variable>{weights, bias}), std::vector<Variable>{weights, bias});
        return loss;
      };
      const auto compiled = compile([&](const Tensor& x) { return step(optimizer, compiled_w, compiled_b, x); });
      for (int t = 1; t <= 100; ++t) {
        if (t == 50) {
          eager.options.learning_rate *= 0.25;
          optimizer.options.learning_rate *= 0.25;
        }
        const Tensor x = cast(reshape(sin(arange(12) + t), {4, 3}), d);
        const Tensor expected = step(eager, w, b, x);
        REQUIRE(same_bits(compiled(x), expected));
        REQUIRE(same_bits(compiled_w, w));
        REQUIRE(same_bits(compiled_b, b));
      }
      CHECK(compiled.stats().traces == 1);
    });
}
