// Options and state of SGD and Adam as plain numbers and tensors, and as variables: the same bits in both cases.
#include <array>
#include <cmath>
#include <reel/optim.hpp>
#include <reel/reel.hpp>
#include <set>
#include <type_traits>

#include "../catch.hpp"
#include "core/block.hpp"
#include "optim/state_variables.hpp"

using namespace reel;

namespace {

using Access = OptimizerAccess;
using support::for_each_optimizer, support::variables_of;

// Prevents the compiler from contracting a product and a sum into an fma.
template <class T>
T rounded(T x) {
  volatile T stored = x;
  return stored;
}

// One element under SGD.
template <class T>
struct SGDElement {
  T x, v = 0;
  void step(T g, double rate, double momentum, bool nesterov, int) {
    const T r = static_cast<T>(rate), m = static_cast<T>(momentum);
    if (momentum == 0) {
      x = x - rounded(g * r);
      return;
    }
    v = rounded(v * m) + g;
    x = x - rounded((nesterov ? g + rounded(v * m) : v) * r);
  }
};

// One element under Adam with the default options.
template <class T>
struct AdamElement {
  T x, m = 0, s = 0;
  void step(T g, double rate, double, bool, int t) {
    m = rounded(m * static_cast<T>(0.9)) + rounded(g * static_cast<T>(1 - 0.9));
    s = rounded(s * static_cast<T>(0.999)) + rounded(rounded(g * g) * static_cast<T>(1 - 0.999));
    const T scaled = rounded(m * static_cast<T>(rate / (1 - std::pow(0.9, t))));
    const T corrected = rounded(s * static_cast<T>(1 / (1 - std::pow(0.999, t))));
    x = x - scaled / (std::sqrt(corrected) + static_cast<T>(1e-8));
  }
};

enum class Kept { plain, variables, variables_later };

// 100 steps with the gradient 2 (x - 3), the rate changed at step 50, beside the same on numbers.
template <class T, class Element, class Optimizer>
void check_hundred_steps(Optimizer optimizer, double momentum, bool nesterov, Kept kept) {
  constexpr std::size_t n = 37;
  std::vector<T> start(n);
  std::vector<Element> elements(n);
  for (std::size_t i = 0; i < n; ++i) elements[i].x = start[i] = static_cast<T>(std::sin(static_cast<double>(i)) * 5);
  const Variable w(from_data(std::span<const T>(start)));
  if (kept == Kept::variables) variables_of(optimizer, w);
  double rate = optimizer.options.learning_rate;
  for (int t = 1; t <= 100; ++t) {
    if (t == 30 && kept == Kept::variables_later) variables_of(optimizer, w);
    if (t == 50) {
      rate *= 0.3;
      optimizer.options.learning_rate = rate;
    }
    optimizer.step(2 * (w.read() - 3), w);
    for (Element& e : elements) e.step(static_cast<T>(2) * (e.x - static_cast<T>(3)), rate, momentum, nesterov, t);
  }
  std::vector<T> expected(n);
  for (std::size_t i = 0; i < n; ++i) expected[i] = elements[i].x;
  CHECK(w.read().to_vector<T>() == expected);
}

template <class T>
void check_hundred_steps(Kept kept) {
  check_hundred_steps<T, SGDElement<T>>(SGD({.learning_rate = 0.03}), 0, false, kept);
  check_hundred_steps<T, SGDElement<T>>(SGD({.learning_rate = 0.03, .momentum = 0.9}), 0.9, false, kept);
  check_hundred_steps<T, SGDElement<T>>(SGD({.learning_rate = 0.03, .momentum = 0.9, .nesterov = true}), 0.9, true,
                                        kept);
  check_hundred_steps<T, AdamElement<T>>(Adam({.learning_rate = 0.05}), 0, false, kept);
}

}  // namespace

TEST_CASE("100 steps with the rate changed at step 50 have the bits of the recurrence, also in variables") {
  for (const Kept kept : {Kept::plain, Kept::variables, Kept::variables_later}) {
    CAPTURE(int(kept));
    check_hundred_steps<double>(kept);
    check_hundred_steps<float>(kept);
  }
}

namespace {

// A variable with a dense gradient, one with slices that name a row twice, and one that is listed twice.
struct Model {
  explicit Model(DType dtype)
      : dense(cast(tensor({1.0, -2.0, 3.0}), dtype)), table(ones({4, 2}, dtype)), twice(ones({2}, dtype)) {}
  template <class Optimizer>
  void step(Optimizer& optimizer) const {
    const DType d = dense.dtype();
    const IndexedSlices rows{ones({3, 2}, d), cast(tensor({2.0, 0.0, 2.0}), DType::int64), {4, 2}};
    const Tensor g = full({2}, 0.375, d);
    optimizer.step(std::vector<Gradient>{dense.read() * 0.5, rows, g, g},
                   std::vector<Variable>{dense, table, twice, twice});
  }
  std::vector<Variable> all() const { return {dense, table, twice}; }
  bool equals(const Model& other) const {
    return array_equal(dense, other.dense) && array_equal(table, other.table) && array_equal(twice, other.twice);
  }
  Variable dense, table, twice;
};

std::vector<Tensor> values(const std::vector<Variable>& variables) {
  std::vector<Tensor> read;
  for (const Variable& v : variables) read.push_back(v.read());
  return read;
}
// Copies with memory of their own.
std::vector<std::vector<double>> numbers(const std::vector<Tensor>& tensors) {
  std::vector<std::vector<double>> all;
  for (const Tensor& x : tensors) all.push_back(cast(x, DType::float64).to_vector());
  return all;
}

// The variables of an optimiser for a model.
template <class Optimizer>
std::vector<Variable> variables_of(Optimizer& optimizer, const Model& model) {
  std::vector<Variable> all;
  for (const Variable& v : model.all())
    for (const Variable& kept : variables_of(optimizer, v)) all.push_back(kept);
  return all;
}

}  // namespace

TEST_CASE("steps with state in variables: every dtype, slices, a variable that is listed twice") {
  for (const DType dtype : {DType::float64, DType::float32, DType::float16, DType::bfloat16, DType::complex128}) {
    CAPTURE(dtype);
    for_each_optimizer([&](const auto& fresh) {
      auto plain = fresh, early = fresh, late = fresh;
      const Model a(dtype), b(dtype), c(dtype);
      variables_of(early, b);
      for (int i = 0; i < 6; ++i) {
        if (i == 3) variables_of(late, c);
        a.step(plain);
        b.step(early);
        c.step(late);
        CHECK(a.equals(b));
        CHECK(a.equals(c));
      }
      CHECK(numbers(values(variables_of(early, b))) == numbers(values(variables_of(plain, a))));
    });
  }
}

TEST_CASE("a step reads and assigns variables; values that were read before do not change") {
  const Variable w(ones({3}));
  const Tensor g = full({3}, 0.5);
  SGD sgd({.learning_rate = 0.5, .momentum = 0.5});
  Adam adam;
  const Variable velocity = Access::velocity(sgd, w), rate = Access::variable(sgd.options.learning_rate, "rate");
  const Variable steps = Access::steps(adam, w);
  CHECK(array_equal(velocity, zeros({3})));
  CHECK(rate.dtype() == DType::float64);
  CHECK(rate.shape() == Shape{});
  CHECK(steps.dtype() == DType::int64);
  CHECK_FALSE(velocity.trainable());

  sgd.step(g, w);
  CHECK(array_equal(velocity, g));
  CHECK(array_equal(w, full({3}, 0.75)));
  const Tensor before = velocity;
  rate.assign(scalar(0.25));
  velocity.assign(full({3}, 2.0));
  CHECK(sgd.options.learning_rate == 0.25);
  sgd.step(g, w);
  CHECK(array_equal(before, g));
  CHECK(array_equal(velocity, full({3}, 1.5)));
  CHECK(array_equal(w, full({3}, 0.375)));
  rate.assign(scalar(-1.0));
  CHECK_THROWS_AS(sgd.step(g, w), ValueError);

  adam.step(g, w);
  const Tensor one = steps;
  adam.step(g, w);
  CHECK(one.item<std::int64_t>() == 1);
  CHECK(steps.read().item<std::int64_t>() == 2);
  CHECK(Access::steps(adam, w) == steps);
}

TEST_CASE("a hyperparameter is used like a double") {
  constexpr SGDOptions constant{.learning_rate = 0.25, .momentum = 0.5};
  static_assert(constant.learning_rate == 0.25);
  static_assert(std::is_nothrow_move_constructible_v<SGD> && std::is_nothrow_move_constructible_v<Adam>);
  for (const bool variable : {false, true}) {
    SGD sgd(constant);
    Hyperparameter& rate = sgd.options.learning_rate;
    if (variable) Access::variable(rate, "rate");
    rate = 1;
    rate *= 3;
    rate -= 1;
    rate /= 4;
    rate += 0.25;
    CHECK(rate == 0.75);
    CHECK(rate * sgd.options.momentum == 0.375);
    CHECK(std::sqrt(rate / 3) == 0.5);
    const double number = rate;
    const auto copy = rate;
    rate = sgd.options.momentum;
    CHECK(number == 0.75);
    CHECK(copy == 0.75);
    CHECK(rate == 0.5);
    sgd.options = {.learning_rate = 2};
    CHECK(rate == 2);
    CHECK(sgd.options.momentum == 0);
  }
}

TEST_CASE("assigning options and optimisers assigns the numbers' variables") {
  Adam adam;
  const Variable rate = Access::variable(adam.options.learning_rate, "rate");
  adam.options = AdamOptions{.learning_rate = 0.5};
  CHECK(rate.read().item() == 0.5);
  adam = Adam({.learning_rate = 0.25});
  CHECK(rate.read().item() == 0.25);
  const AdamOptions options = adam.options;
  adam.options.learning_rate = 0.125;
  CHECK(options.learning_rate == 0.25);
  CHECK(Access::variable(adam.options.learning_rate, "rate") == rate);
}

TEST_CASE("a copied optimiser has its own state, a moved one keeps its variables") {
  for_each_optimizer([](const auto& fresh) {
    for (const bool variables : {false, true}) {
      auto original = fresh, alone = fresh;
      const Model a(DType::float64), b(DType::float64);
      for (int i = 0; i < 3; ++i) {
        a.step(original);
        b.step(alone);
      }
      std::vector<Variable> kept;
      if (variables) kept = variables_of(original, a);
      auto copy = original, assigned = fresh;
      assigned = original;
      original.options.learning_rate = 0.5;
      const std::vector<Tensor> start = values(a.all());
      const auto restart = [&] {
        for (std::size_t i = 0; i < start.size(); ++i) a.all()[i].assign(start[i]);
      };
      a.step(original);  // changes neither copy
      b.step(alone);
      for (auto* other : {&copy, &assigned}) {
        restart();
        a.step(*other);
        CHECK(a.equals(b));
      }
      std::set<std::uint64_t> ids;
      for (const Variable& v : kept) ids.insert(v.id());
      for (const Variable& v : variables_of(copy, a)) CHECK(ids.count(v.id()) == 0);
      auto moved = std::move(original);
      if (variables) CHECK(variables_of(moved, a) == kept);
    }
  });
}

TEST_CASE("forget frees variables without other handles and starts anew") {
  const Variable w(ones({64}));
  const Tensor g = ones({64});
  Adam adam;
  SGD().step(g, w);  // from here on the value is the variable's own
  const std::int64_t before = memory_stats().live_tensors;
  adam.step(g, w);
  Access::mean(adam, w);
  Access::square(adam, w);
  Access::steps(adam, w);
  adam.forget(w);
  CHECK(memory_stats().live_tensors == before);
  CHECK(array_equal(Access::mean(adam, w), zeros({64})));
  CHECK(Access::steps(adam, w).read().item<std::int64_t>() == 0);
}

TEST_CASE("a failed allocation in a step changes neither variables nor state in variables") {
  for (const DType dtype : {DType::float64, DType::float16})
    for_each_optimizer([&](const auto& fresh) {
      int failures = 0;
      for (std::int64_t n = 0;; ++n) {
        auto a = fresh, b = fresh;
        const Variable x(full({2}, 3.0, dtype)), y(x.read());
        const Tensor g = full({2}, 0.5, dtype);
        const std::vector<Variable> kept = variables_of(a, x);
        a.step(g, x);
        b.step(g, y);
        const std::vector<Tensor> held = values(kept);  // so that a step copies each
        const auto was = numbers(held);
        bool failed = false;
        detail::fail_allocation_after(n);
        try {
          a.step(g, x);
        } catch (const std::bad_alloc&) {
          failed = true;
        }
        detail::fail_allocation_after(-1);
        INFO("allocation " << n);
        CHECK(numbers(held) == was);
        if (!failed) break;
        ++failures;
        CHECK(array_equal(x, y));
        CHECK(numbers(values(kept)) == was);
        a.step(g, x);
        b.step(g, y);
        CHECK(array_equal(x, y));
      }
      CHECK(failures >= 1);
    });
}

TEST_CASE("steps take no memory from the system, also with state in variables") {
  for_each_optimizer([](const auto& fresh) {
    for (const bool variables : {false, true}) {
      auto optimizer = fresh;
      const Model model(DType::float32);
      if (variables) variables_of(optimizer, model);
      const auto train = [&](int steps) {
        for (int i = 0; i < steps; ++i) {
          optimizer.options.learning_rate *= 0.99;
          model.step(optimizer);
        }
      };
      train(10);
      const auto before = memory_stats();
      train(100);
      CHECK(memory_stats().pool_misses == before.pool_misses);
      CHECK(memory_stats().live_tensors == before.live_tensors);
    }
  });
}
