// SGD and Adam against their recurrences written out on numbers; and what is refused.
#include <cmath>
#include <reel/optim.hpp>
#include <reel/reel.hpp>

#include "../catch.hpp"

using namespace reel;
using Catch::Contains;

namespace {

// One parameter, loss (w - 3)^2: gradient 2 (w - 3).
Tensor slope(const Variable& w) { return 2 * (w.read() - 3); }

}  // namespace

TEST_CASE("SGD subtracts learning_rate times the gradient") {
  const Variable w(tensor({1.0, 5.0}), "w");
  SGD sgd({.learning_rate = 0.25});
  sgd.step(slope(w), w);
  CHECK(array_equal(w, tensor({2.0, 4.0})));
}

TEST_CASE("SGD with momentum follows its recurrence, Nesterov's too") {
  for (const bool nesterov : {false, true}) {
    const Variable w(scalar(1.0), "w");
    SGD sgd({.learning_rate = 0.1, .momentum = 0.9, .nesterov = nesterov});
    double x = 1, v = 0;
    for (int i = 0; i < 10; ++i) {
      sgd.step(slope(w), w);
      const double g = 2 * (x - 3);
      v = 0.9 * v + g;
      x -= 0.1 * (nesterov ? g + 0.9 * v : v);
    }
    CHECK(w.read().item() == Approx(x).epsilon(1e-13));
  }
}

TEST_CASE("Adam follows its recurrence, each variable with steps of its own") {
  const Variable w(tensor({1.0, -2.0}), "w"), late(scalar(7.0), "late");
  Adam adam({.learning_rate = 0.05});
  const auto expected = [](double x, int steps) {
    double m = 0, v = 0;
    for (int t = 1; t <= steps; ++t) {
      const double g = 2 * (x - 3);
      m = 0.9 * m + 0.1 * g;
      v = 0.999 * v + 0.001 * g * g;
      x -= 0.05 * (m / (1 - std::pow(0.9, t))) / (std::sqrt(v / (1 - std::pow(0.999, t))) + 1e-8);
    }
    return x;
  };
  for (int i = 0; i < 20; ++i)
    adam.step(std::vector<Gradient>{slope(w), i < 15 ? Gradient() : Gradient(slope(late))}, {w, late});
  CHECK(w.read()[0].item() == Approx(expected(1.0, 20)).epsilon(1e-12));
  CHECK(w.read()[1].item() == Approx(expected(-2.0, 20)).epsilon(1e-12));
  CHECK(late.read().item() == Approx(expected(7.0, 5)).epsilon(1e-12));
}

TEST_CASE("optimisers take what a tape gives and keep float32") {
  const Variable w(tensor<float>({{1, 2}, {3, 4}}), "w"), b(zeros({2}, DType::float32), "b");
  const Tensor x = ones({5, 2}, DType::float32);
  Adam adam({.learning_rate = 0.1});
  SGD sgd({.learning_rate = 0.1, .momentum = 0.5});
  double first = 0, last = 0;
  for (int i = 0; i < 60; ++i) {
    GradientTape tape;
    const Tensor loss = mean(square(matmul(x, w) + b - 1));
    if (i % 2 == 0)
      adam.step(tape.gradient(loss, {w, b}), {w, b});
    else
      sgd.step(tape.gradient(loss, {w, b}), {w, b});
    (i == 0 ? first : last) = loss.item<float>();
  }
  CHECK(w.dtype() == DType::float32);
  CHECK(last < 0.01 * first);
}

TEST_CASE("steps in one pass have the bits of the ops one by one, for every dtype, size and number of threads") {
  const int before = num_threads();
  for (const DType d : {DType::float64, DType::float32, DType::float16, DType::bfloat16})
    for (const std::int64_t n : {0, 1, 7, 1000, 70001}) {
      Generator generator(static_cast<std::uint64_t>(n));
      const auto drawn = [&] { return cast(random_normal(generator, {n}), d); };
      const Tensor start = drawn(), g[] = {drawn(), drawn(), drawn()};
      for (const int threads : {1, 2, 7}) {
        set_num_threads(threads);
        const Variable plain(start), heavy(start), ahead(start), adaptive(start);
        SGD sgd({.learning_rate = 0.1}), momentum({.learning_rate = 0.1, .momentum = 0.9}),
            nesterov({.learning_rate = 0.1, .momentum = 0.9, .nesterov = true});
        Adam adam({.learning_rate = 0.05});
        Tensor x = start, y = start, z = start, w = start, v = zeros_like(start), m = v, s = v;
        for (int t = 0; t < 3; ++t) {
          const Tensor held = plain.read();
          const auto was = held.to_vector();
          sgd.step(g[t], plain);
          momentum.step(g[t], heavy);
          nesterov.step(t == 1 ? g[t] * 1 : g[t], ahead);
          adam.step(g[t], adaptive);
          CHECK(held.to_vector() == was);
          x = x - g[t] * 0.1;
          v = v * 0.9 + g[t];
          y = y - v * 0.1;
          z = z - (g[t] + v * 0.9) * 0.1;
          m = m * 0.9 + g[t] * (1 - 0.9);
          s = s * 0.999 + square(g[t]) * (1 - 0.999);
          w = w - m * (0.05 / (1 - std::pow(0.9, t + 1))) / (sqrt(s * (1 / (1 - std::pow(0.999, t + 1)))) + 1e-8);
        }
        CAPTURE(d, n, threads);
        CHECK(array_equal(plain, x));
        CHECK(array_equal(heavy, y));
        CHECK(array_equal(ahead, z));
        CHECK(array_equal(adaptive, w));
      }
    }
  set_num_threads(before);
}

TEST_CASE("a step on views, and one whose gradient is the variable itself") {
  const Tensor start = reshape(arange(12.0), {3, 4}), g = transpose(reshape(arange(12.0), {4, 3}));
  const Variable w(start), own(start);
  SGD sgd({.learning_rate = 0.5, .momentum = 0.5});
  sgd.step(g, w);
  CHECK(array_equal(w, start - g * 0.5));
  sgd.step(own.read(), own);
  CHECK(array_equal(own, start * 0.5));
}

TEST_CASE("a step is not recorded and earlier reads keep their values") {
  const Variable w(scalar(1.0), "w");
  GradientTape tape({.persistent = true});
  const Tensor read = w;
  const Tensor loss = square(read);
  Adam adam;
  const std::int64_t entries = tape.stats().entries;
  adam.step(tape.gradient(loss, w), w);
  CHECK(read.item() == 1.0);
  CHECK(w.read().item() < 1.0);
  adam.step(scalar(1.0), w);
  tape.stop();
  CHECK(tape.stats().entries >= entries);
  CHECK(tape.gradient(loss, w).dense().item() == Approx(2.0));
}

TEST_CASE("what does not fit is refused by the variable's name, before anything changes") {
  const Variable w(zeros({2, 3}), "weights"), b(zeros({3}), "bias"), unnamed(zeros({1}));
  SGD sgd;
  Adam adam;
  CHECK_THROWS_WITH(sgd.step(std::vector{ones({2, 3}), ones({4})}, {w, b}),
                    Contains("SGD") && Contains("bias") && Contains("[4]") && Contains("[3]"));
  CHECK_THROWS_AS(adam.step(std::vector{ones({2, 3}), ones({4})}, {w, b}), ShapeError);
  CHECK(array_equal(w, zeros({2, 3})));
  CHECK_THROWS_AS(adam.step(ones({3}, DType::float32), b), TypeError);
  CHECK_THROWS_WITH(adam.step(ones({2}), unnamed), Contains("variable 0"));
  CHECK_THROWS_AS(sgd.step(std::vector{ones({2, 3})}, {w, b}), ValueError);
  CHECK_THROWS_AS(SGD({.momentum = 1.0}), ValueError);
  CHECK_THROWS_AS(SGD({.learning_rate = -1.0}), ValueError);
  CHECK_THROWS_AS(Adam({.beta2 = 1.5}), ValueError);
}
