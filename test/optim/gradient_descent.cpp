// SGD and Adam against their recurrences on plain numbers; and refused arguments.
#include <cmath>
#include <complex>
#include <reel/ops/parts.hpp>
#include <reel/optim.hpp>
#include <reel/reel.hpp>

#include "../catch.hpp"
#include "core/block.hpp"
#include "support/bits.hpp"

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

TEST_CASE("Adam follows its recurrence, with a step count per variable") {
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

TEST_CASE("optimisers take gradients of a tape and keep float32") {
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

TEST_CASE("fused steps have the bits of separate ops, for every dtype, size and number of threads") {
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
        // float16 and bfloat16 variables compute in float32 and have float32 state.
        const DType wide = d == DType::float64 ? d : DType::float32;
        Tensor x = start, y = start, z = start, w = start, v = zeros({n}, wide), m = v, s = v;
        for (int t = 0; t < 3; ++t) {
          const Tensor held = plain.read(), slope = cast(g[t], wide);
          const auto was = held.to_vector();
          sgd.step(g[t], plain);
          momentum.step(g[t], heavy);
          nesterov.step(t == 1 ? g[t] * 1 : g[t], ahead);
          adam.step(g[t], adaptive);
          CHECK(held.to_vector() == was);
          x = cast(cast(x, wide) - slope * 0.1, d);
          v = v * 0.9 + slope;
          y = cast(cast(y, wide) - v * 0.1, d);
          z = cast(cast(z, wide) - (slope + v * 0.9) * 0.1, d);
          m = m * 0.9 + slope * (1 - 0.9);
          s = s * 0.999 + square(slope) * (1 - 0.999);
          w = cast(cast(w, wide) -
                       m * (0.05 / (1 - std::pow(0.9, t + 1))) / (sqrt(s * (1 / (1 - std::pow(0.999, t + 1)))) + 1e-8),
                   d);
        }
        CAPTURE(d, n, threads);
        CHECK(support::same_bits(plain.read(), x));
        CHECK(support::same_bits(heavy.read(), y));
        CHECK(support::same_bits(ahead.read(), z));
        CHECK(support::same_bits(adaptive.read(), w));
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

TEST_CASE("errors of a step name the variable and change nothing") {
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

namespace {

// Three variables: one whose value has another handle, one whose value has none, and one with named rows.
struct Trained {
  explicit Trained(DType dtype)
      : held(cast(tensor({1.0, 2.0}), dtype)), alone(cast(tensor({{3.0}, {4.0}}), dtype)), table(ones({4, 2}, dtype)) {
    other = held.read();
  }
  template <class Optimizer>
  void step(Optimizer& optimizer) const {
    const DType dtype = held.dtype();
    const IndexedSlices rows{ones({3, 2}, dtype), cast(tensor({2.0, 0.0, 2.0}), DType::int64), {4, 2}};
    optimizer.step(std::vector<Gradient>{full({2}, 0.5, dtype), full({2, 1}, 0.25, dtype), rows},
                   std::vector<Variable>{held, alone, table});
  }
  bool equals(const Trained& b) const {
    return array_equal(held, b.held) && array_equal(alone, b.alone) && array_equal(table, b.table);
  }
  Variable held, alone, table;
  Tensor other;
};

// The n-th allocation of a step fails, for each n, at the first step and at the second.
template <class Optimizer>
void check_failures(const Optimizer& fresh, DType dtype) {
  for (const int before : {0, 1}) {
    int failures = 0;
    for (std::int64_t n = 0;; ++n) {
      Optimizer a = fresh, b = fresh;
      const Trained x(dtype), expected(dtype);
      for (int i = 0; i < before; ++i) {
        x.step(a);
        expected.step(b);
      }
      bool failed = false;
      detail::fail_allocation_after(n);
      try {
        x.step(a);
      } catch (const std::bad_alloc&) {
        failed = true;
      }
      detail::fail_allocation_after(-1);
      if (!failed) break;
      ++failures;
      INFO("allocation " << n << " of step " << before);
      CHECK(x.equals(expected));
      x.step(a);
      expected.step(b);
      CHECK(x.equals(expected));
    }
    CHECK(failures >= 3);
  }
}

}  // namespace

TEST_CASE("a failed allocation in a step changes no variable and no state") {
  for (const DType dtype : {DType::float64, DType::float32, DType::float16}) {
    INFO(name(dtype));
    check_failures(SGD({.learning_rate = 0.1}), dtype);
    check_failures(SGD({.learning_rate = 0.1, .momentum = 0.9}), dtype);
    check_failures(SGD({.learning_rate = 0.1, .momentum = 0.9, .nesterov = true}), dtype);
    check_failures(Adam({.learning_rate = 0.1}), dtype);
  }
}

TEST_CASE("a variable that is listed twice is updated twice, in every dtype") {
  for (const DType dtype : {DType::float64, DType::float16}) {
    const Variable once(ones({2}, dtype)), twice(ones({2}, dtype));
    const Tensor g = full({2}, 0.5, dtype);
    Adam a({.learning_rate = 0.25}), b({.learning_rate = 0.25});
    a.step(g, once);
    a.step(g, once);
    b.step(std::vector<Tensor>{g, g}, std::vector<Variable>{twice, twice});
    CHECK(array_equal(once, twice));
  }
}

TEST_CASE("forget frees the state, and a later step starts anew") {
  const Variable w(ones({64})), v(ones({64}));
  const Tensor g = ones({64});
  const auto check = [&](auto optimizer) {
    auto fresh = optimizer;
    SGD().step(std::pair(g, g), std::pair(w, v));  // from here on the values are the variables' own
    const std::int64_t before = memory_stats().live_tensors;
    optimizer.step(std::pair(g, g), std::pair(w, v));
    CHECK(memory_stats().live_tensors > before);
    optimizer.forget(std::pair(w, v));
    CHECK(memory_stats().live_tensors == before);
    w.assign(ones({64}));
    v.assign(ones({64}));
    optimizer.step(g, w);
    fresh.step(g, v);
    CHECK(array_equal(w, v));
  };
  check(SGD({.momentum = 0.9}));
  check(Adam());
}

namespace {

// Ten steps on two parameters by the library, dense and by rows, and by a recurrence on numbers: update(w, state, g).
template <class Optimizer, class Update>
void follows(Optimizer optimizer, Update update, std::vector<double> state) {
  const Variable dense(tensor({1.0, -2.0}), "dense"), rows(tensor({1.0, -2.0}), "rows");
  const Variable halves(cast(tensor({1.0, -2.0}), DType::float16), "halves");
  std::vector<double> w{1, -2};
  std::vector<std::vector<double>> kept(2, state);
  for (int i = 1; i <= 10; ++i) {
    const Tensor g = slope(dense);
    const IndexedSlices slices{.values = g, .indices = tensor<int>({0, 1}), .dense_shape = {2}};
    optimizer.step(std::vector<Gradient>{g, slices, cast(slope(halves), DType::float16)}, {dense, rows, halves});
    for (std::size_t k = 0; k < 2; ++k) w[k] = update(w[k], kept[k], 2 * (w[k] - 3), i);
    CHECK(dense.read()[0].item() == Approx(w[0]).epsilon(1e-13));
    CHECK(dense.read()[1].item() == Approx(w[1]).epsilon(1e-13));
    CHECK(max(abs(rows - dense)).item() < 1e-14);
  }
  CHECK(max(abs(cast(halves, DType::float64) - dense)).item() < 2e-2);
}

}  // namespace

TEST_CASE("AdamW follows its recurrence") {
  follows(AdamW({.learning_rate = 0.1, .weight_decay = 0.3}),
          [](double w, std::vector<double>& s, double g, int i) {
            s[0] = 0.9 * s[0] + (1 - 0.9) * g;
            s[1] = 0.999 * s[1] + (1 - 0.999) * g * g;
            const double mean = s[0] / (1 - std::pow(0.9, i)), square = s[1] / (1 - std::pow(0.999, i));
            return w - 0.1 * 0.3 * w - 0.1 * mean / (std::sqrt(square) + 1e-8);
          },
          {0, 0});
}

TEST_CASE("RMSProp follows its recurrence") {
  follows(RMSProp({.learning_rate = 0.05, .rho = 0.7}),
          [](double w, std::vector<double>& s, double g, int) {
            s[0] = 0.7 * s[0] + 0.3 * g * g;
            return w - 0.05 * g / (std::sqrt(s[0]) + 1e-7);
          },
          {0});
}

TEST_CASE("Adagrad follows its recurrence") {
  follows(Adagrad({.learning_rate = 0.5, .epsilon = 1e-3}),
          [](double w, std::vector<double>& s, double g, int) {
            s[0] += g * g;
            return w - 0.5 * g / (std::sqrt(s[0]) + 1e-3);
          },
          {0});
}

TEST_CASE("Lion follows its recurrence") {
  follows(Lion({.learning_rate = 0.01, .beta1 = 0.8, .beta2 = 0.6, .weight_decay = 0.5}),
          [](double w, std::vector<double>& s, double g, int) {
            const double u = 0.8 * s[0] + (1 - 0.8) * g;
            s[0] = 0.6 * s[0] + (1 - 0.6) * g;
            return w - 0.01 * ((u > 0 ? 1 : -1) + 0.5 * w);
          },
          {0});
}

TEST_CASE("options of the newer optimisers are checked") {
  CHECK_THROWS_WITH(AdamW({.weight_decay = -1}), Contains("AdamW: weight_decay is -1, must not be negative"));
  CHECK_THROWS_AS(AdamW({.beta1 = 1}), ValueError);
  CHECK_THROWS_AS(AdamW({.beta2 = -0.1}), ValueError);
  CHECK_THROWS_AS(AdamW({.epsilon = -1}), ValueError);
  CHECK_THROWS_AS(AdamW({.learning_rate = NAN}), ValueError);
  CHECK_THROWS_AS(RMSProp({.learning_rate = -1}), ValueError);
  CHECK_THROWS_AS(RMSProp({.rho = 1}), ValueError);
  CHECK_THROWS_AS(RMSProp({.epsilon = NAN}), ValueError);
  CHECK_THROWS_AS(Adagrad({.learning_rate = INFINITY}), ValueError);
  CHECK_THROWS_AS(Adagrad({.epsilon = -1}), ValueError);
  CHECK_THROWS_AS(Lion({.learning_rate = -1}), ValueError);
  CHECK_THROWS_AS(Lion({.beta1 = 1}), ValueError);
  CHECK_THROWS_AS(Lion({.beta2 = 1}), ValueError);
  CHECK_THROWS_AS(Lion({.weight_decay = NAN}), ValueError);
  const Variable w(scalar(1.), "w");
  Lion lion;
  lion.options.beta1 = 2;
  CHECK_THROWS_AS(lion.step(scalar(1.), w), ValueError);
  CHECK(w.read().item() == 1);
}

namespace {

template <class F>
void for_each_optimizer(const F& check) {
  check(SGD({.learning_rate = 0.1, .momentum = 0.5}));
  check(Adam({.learning_rate = 0.1}));
  check(AdamW({.learning_rate = 0.1, .weight_decay = 0.2}));
  check(RMSProp({.learning_rate = 0.1}));
  check(Adagrad({.learning_rate = 0.1}));
  check(Lion({.learning_rate = 0.1}));
}

}  // namespace

TEST_CASE("complex variables step as pairs of real ones, dense and by rows") {
  for (const DType d : {DType::complex64, DType::complex128})
    for_each_optimizer([&](const auto& fresh) {
      auto complex = fresh, real = fresh;
      const Variable z(cast(as_complex(tensor({{1., 2.}, {-3., 0.}, {0.5, -1.}})), d)), w(as_real(z));
      for (int i = 0; i < 4; ++i) {
        const Tensor g = square(z.read()) - 1.0;
        if (i % 2 == 0) {
          complex.step(g, z);
          real.step(as_real(g), w);
        } else {
          const Tensor rows = tensor<int>({2, 0, 2});
          complex.step(Gradient(IndexedSlices{g, rows, {3}}), z);
          real.step(Gradient(IndexedSlices{as_real(g), rows, {3, 2}}), w);
        }
        CHECK(support::same_bits(as_real(z), w.read()));
      }
    });
  const Tensor goal = as_complex(tensor({0., 1.}));
  const Variable z(zeros({}, DType::complex128));
  Adam adam({.learning_rate = 0.05});
  for (int i = 0; i < 300; ++i) adam.step(2.0 * (z - goal), z);
  CHECK(abs(z - goal).item() < 1e-6);
}

TEST_CASE("float16 and bfloat16 variables with gradients whose squares overflow or underflow") {
  for (const DType d : {DType::float16, DType::bfloat16})
    for_each_optimizer([&](const auto& fresh) {
      auto low = fresh, high = fresh;
      const Variable narrow(cast(tensor({1.0, -2.0, 0.5, 3.0}), d)), wide(cast(narrow, DType::float32));
      for (const double size : {1.0, 0.5, 2.0}) {
        const Tensor g = cast(tensor({1e-3, 1e-5, -300.0, 0.0}) * size, d);
        low.step(g, narrow);
        high.step(cast(g, DType::float32), wide);
      }
      const Tensor difference = abs(cast(narrow, DType::float32) - wide) / (1.0 + abs(wide.read()));
      CHECK(max(difference).item<float>() <= (d == DType::float16 ? 2e-3F : 1.5e-2F));
    });
}

TEST_CASE("after forget each optimiser starts anew") {
  const auto begins_anew = [](auto optimizer) {
    const Variable a(scalar(1.), "a"), b(scalar(1.), "b");
    optimizer.step(scalar(5.), a);
    optimizer.forget(a);
    a.assign(scalar(1.));
    optimizer.step(scalar(2.), a);
    optimizer.step(scalar(2.), b);
    CHECK(support::same_bits(a, b));
  };
  begins_anew(AdamW());
  begins_anew(RMSProp());
  begins_anew(Adagrad());
  begins_anew(Lion());
}

TEST_CASE("gradients are clipped by their global norm") {
  const IndexedSlices slices{
      .values = tensor({{1., 0.}, {2., 4.}}), .indices = tensor<int>({1, 1}), .dense_shape = {3, 2}};
  const std::vector<Gradient> all{tensor<float>({3, 4}), none, slices, scalar(std::complex<double>(4, -8))};
  // 3, 4 and, summed, 3, 4 and 4, -8: squares 25 + 25 + 80.
  const double length = std::sqrt(130.);
  const auto clipped = clip_by_global_norm(all, length / 2);
  CHECK(clipped.norm.item() == Approx(length));
  CHECK(max(abs(clipped.gradients[0].dense() - tensor<float>({1.5, 2}))).item() < 1e-6);
  CHECK(clipped.gradients[0].dense().dtype() == DType::float32);
  CHECK_FALSE(clipped.gradients[1]);
  REQUIRE(clipped.gradients[2].is_slices());
  CHECK(max(abs(clipped.gradients[2].dense() - tensor({{0., 0.}, {1.5, 2.}, {0., 0.}}))).item() < 1e-12);
  CHECK(abs(clipped.gradients[3].dense() - std::complex<double>(2, -4)).item() < 1e-12);
  CHECK(support::same_bits(clip_by_global_norm(all, 100).gradients[2].dense(), Gradient(slices).dense()));
  CHECK(clip_by_global_norm(std::vector<Gradient>{none}, 1).norm.item() == 0);
  CHECK(std::isnan(
      clip_by_global_norm(std::vector<Gradient>{scalar(1.), scalar(INFINITY)}, 1).gradients[0].dense().item()));
  CHECK_THROWS_AS(clip_by_global_norm(all, 0), ValueError);
  CHECK_THROWS_AS(clip_by_global_norm(all, NAN), ValueError);
}

TEST_CASE("the clipping of gradients is recorded") {
  const auto f = [](const Tensor& x) {
    return sum(clip_by_global_norm(std::vector<Gradient>{2 * x}, 1).gradients[0].dense());
  };
  CHECK(max(abs(grad(f)(tensor({3., 4.})) - tensor({16 - 12., 9 - 12.}) / 125.)).item() < 1e-15);
}

TEST_CASE("learning rate schedules") {
  CHECK(warm_up(0, 4, 0.8) == 0);
  CHECK(warm_up(1, 4, 0.8) == 0.2);
  CHECK(warm_up(9, 4, 0.8) == 0.8);
  CHECK(cosine_decay(0, 10, 1, 0.2) == 1);
  CHECK(cosine_decay(5, 10, 1, 0.2) == Approx(0.6));
  CHECK(cosine_decay(10, 10, 1, 0.2) == Approx(0.2));
  CHECK(cosine_decay(99, 10, 1) == 0);
  CHECK(step_decay(0, 3, 1) == 1);
  CHECK(step_decay(2, 3, 1) == 1);
  CHECK(step_decay(3, 3, 1) == 0.1);
  CHECK(step_decay(7, 3, 1, 0.5) == 0.25);
  CHECK_THROWS_AS(warm_up(1, 0, 1), ValueError);
  CHECK_THROWS_AS(cosine_decay(1, -1, 1), ValueError);
  CHECK_THROWS_AS(step_decay(1, 0, 1), ValueError);
}
