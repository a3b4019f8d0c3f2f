// logsumexp, softmax, log_softmax: extreme rows, any axis, fused against recorded derivatives, threads.
#include <cmath>
#include <reel/compile.hpp>
#include <reel/ops/scans.hpp>
#include <reel/ops/statistics.hpp>
#include <reel/reel.hpp>

#include "catch.hpp"
#include "support/derivatives.hpp"
#include "support/numbers.hpp"

using namespace reel;
using namespace support;

TEST_CASE("logsumexp of rows with infinities") {
  const Tensor x = tensor({{-inf, -inf}, {-inf, 1}, {inf, 2}, {inf, inf}, {qnan, 1}, {1000, 1000}});
  const Doubles z = logsumexp(x, 1).to_vector();
  CHECK(z[0] == -inf);
  CHECK(z[1] == 1);
  CHECK(z[2] == inf);
  CHECK(z[3] == inf);
  CHECK(std::isnan(z[4]));
  CHECK(z[5] == 1000 + std::log(2.));
  const Doubles g = slope_at([](const Tensor& t) { return logsumexp(t, 1); }, x);
  CHECK(Doubles(g.begin(), g.begin() + 8) == Doubles{0.5, 0.5, 0, 1, 1, 0, 0.5, 0.5});
  CHECK(std::isnan(g[8]));
  CHECK(g[10] == Approx(0.5).epsilon(1e-12));
  // The second derivative is that of softmax, and 0 in a row of -inf.
  const Doubles h = hessian([](const Tensor& t) { return logsumexp(t); })(tensor({-inf, -inf})).to_vector();
  CHECK(h == Doubles{0, 0, 0, 0});
  const Doubles k = hessian([](const Tensor& t) { return logsumexp(t); })(tensor({-inf, 0, 0})).to_vector();
  CHECK(k == Doubles{0, 0, 0, 0, 0.25, -0.25, 0, -0.25, 0.25});
}

TEST_CASE("logsumexp over several axes") {
  support::Random random("logsumexp");
  const Tensor x = random.tensor({3, 4, 5});
  const Tensor expected = log(sum(exp(x), {0, 2}, true));
  CHECK(support::difference({logsumexp(x, {0, 2}, true)}, {expected}).error < 1e-14);
  CHECK(support::difference({logsumexp(flip(transpose(x)), {0, 2})}, {flip(logsumexp(x, {0, 2}))}).error < 1e-14);
}

TEST_CASE("logsumexp and softmax of columns agree with those of rows, also with infinities and NaN") {
  const Tensor x = tensor({{-inf, -inf}, {-inf, 1}, {inf, 2}, {inf, inf}, {qnan, 1}, {1000, 1000}, {0, -50}});
  const auto same = [](const Tensor& a, const Tensor& b) {
    const Doubles p = a.to_vector(), q = b.to_vector();
    bool equal = p.size() == q.size();
    for (std::size_t i = 0; equal && i < p.size(); ++i)
      equal = p[i] == q[i] || (std::isnan(p[i]) && std::isnan(q[i])) || std::abs(p[i] - q[i]) < 1e-15 * std::abs(q[i]);
    return equal;
  };
  const Tensor columns = contiguous(transpose(x));
  CHECK(same(logsumexp(columns, 0), logsumexp(x, 1)));
  CHECK(same(softmax(columns, 0), transpose(softmax(x, 1))));
  CHECK(same(log_softmax(columns, 0), transpose(log_softmax(x, 1))));
  const auto slope = [](const Tensor& t, int axis) {
    return grad([=](const Tensor& u) { return sum(logsumexp(u, axis)); })(t);
  };
  CHECK(same(slope(columns, 0), transpose(slope(x, 1))));
}

TEST_CASE("logsumexp over any adjacent axes: value, gradient for each cotangent, all rows of a Jacobian") {
  support::Random random("logsumexp of columns");
  struct Case {
    Shape shape;
    Axes axes;
  };
  // Matrices of few columns, that fit a cache, and that do not; lanes that are partly filled.
  for (const auto& [shape, axes] : {Case{{7, 5}, 0},
                                    {{300, 200}, 0},
                                    {{3, 70, 61}, 1},
                                    {{2, 3, 5, 7}, {1, 2}},
                                    {{2, 40, 40, 3}, {0, 1}},
                                    {{5, 1, 9}, 1},
                                    {{3, 500, 37}, 1},
                                    {{4, 6, 2}, {0, 2}},
                                    {{1, 9}, 0},
                                    {{2000, 65}, 0}}) {
    INFO(to_string(shape));
    const Tensor x = random.tensor(shape, -3, 3), z = log(sum(exp(x), axes, true)), v = random.tensor(z.shape());
    CHECK(support::difference({logsumexp(x, axes, true)}, {z}).error < 1e-14);
    const support::Function call = [&, &over = axes](const support::Tensors& t) {
      return support::Tensors{logsumexp(t[0], over, true)};
    };
    CHECK(support::difference(support::pull(call, {x}, {v}), {v * exp(x - z)}).error < 1e-13);
    const Tensor x32 = cast(x, DType::float32);
    CHECK(support::difference({cast(logsumexp(x32, axes, true), DType::float64)}, {z}).error < 1e-5);
    if (x.size() > 300) continue;
    GradientTape tape;
    tape.watch(x);
    const Tensor y = logsumexp(x, axes, true);
    const Tensor all = *tape.jacobian(y, x);
    const Tensor rows = reshape(all, Shape{y.size(), x.size()}), expected = exp(x - z);
    for (std::int64_t i = 0; i < y.size(); ++i) {
      const Tensor unit = reshape(one_hot(i, y.size(), DType::float64), y.shape());
      CHECK(support::difference({rows[i]}, {reshape(unit * expected, Shape{x.size()})}).error < 1e-13);
    }
  }
}

TEST_CASE("Jacobians of softmax and log_softmax of columns") {
  support::Random random("Jacobian of columns");
  for (const Shape& shape : {Shape{4, 9}, Shape{2, 3, 10}, Shape{3, 4, 2}})
    for (auto f : {softmax, log_softmax}) {
      const int axis = shape.rank() - 2;
      const Tensor x = random.tensor(shape);
      const support::Function call = [&](const support::Tensors& t) { return support::Tensors{f(t[0], axis)}; };
      GradientTape tape;
      tape.watch(x);
      const Tensor y = f(x, axis), all = reshape(*tape.jacobian(y, x), Shape{y.size(), x.size()});
      for (std::int64_t i = 0; i < y.size(); ++i) {
        const Tensor unit = reshape(one_hot(i, y.size(), DType::float64), y.shape());
        const support::Tensors row = support::pull(call, {x}, {unit});
        CHECK(support::difference({all[i]}, {reshape(row[0], Shape{x.size()})}).error < 1e-14);
      }
    }
}

TEST_CASE("softmax and log_softmax of extreme rows") {
  const Tensor x = tensor({{-inf, -inf}, {-inf, 1}, {1000, -1000}});
  const Doubles z = softmax(x).to_vector();
  CHECK(std::isnan(z[0]));
  CHECK(Doubles(z.begin() + 2, z.end()) == Doubles{0, 1, 1, 0});
  const Doubles l = log_softmax(x).to_vector();
  CHECK(std::isnan(l[1]));
  CHECK(Doubles(l.begin() + 2, l.end()) == Doubles{-inf, 0, 0, -2000});
  // Near 0, where log(softmax(x)) would give 0.
  CHECK(log_softmax(tensor({0, -50})).to_vector()[0] == -std::log1p(std::exp(-50.)));
  CHECK_THROWS_AS(softmax(1.0), IndexError);
  CHECK(softmax(tensor<int>({1, 1})).to_vector() == Doubles{0.5, 0.5});
}

TEST_CASE("softmax of rows with NaN and infinities at every position and for every length") {
  const auto same = [](double a, double b) {
    return (std::isnan(a) && std::isnan(b)) || a == b || std::abs(a - b) < 1e-13 * (1 + std::abs(b));
  };
  std::string wrong;
  for (int n : {1, 2, 5, 8, 9, 16, 17, 33, 100, 1000})
    for (double a : {qnan, inf, -inf, 0.})
      for (double b : {qnan, inf, -inf, 1.})
        for (double rest : {-inf, 0., inf})
          for (int at : {0, n / 2, n - 1}) {
            Doubles v(static_cast<std::size_t>(n), rest);
            v[static_cast<std::size_t>(at)] = a;
            v[static_cast<std::size_t>(n - 1 - at)] = b;
            double m = -inf, total = 0;
            for (double e : v) m = std::isnan(e) || std::isnan(m) ? qnan : std::max(m, e);
            for (double e : v) total += std::exp(e - m);
            const double l = std::isfinite(m) ? m + std::log(total) : m;
            const Tensor x = from_data(v);
            const Doubles p = softmax(x).to_vector(), logs = log_softmax(x).to_vector();
            bool right = same(logsumexp(x).item(), l);
            for (std::size_t i = 0; i < v.size(); ++i)
              right = right && same(logs[i], v[i] - l) && same(p[i], std::isfinite(l) ? std::exp(v[i] - l) : qnan);
            if (!right)
              wrong += " " + std::to_string(n) + ":" + std::to_string(a) + "," + std::to_string(b) + "," +
                       std::to_string(rest);
          }
  CHECK(wrong == "");
}

TEST_CASE("softmax along any axis, its fused and its recorded derivative") {
  support::Random random("softmax");
  for (const Shape& s : {Shape{7}, Shape{3, 1}, Shape{40, 30}, Shape{2, 130, 3}, Shape{300, 200}, Shape{3, 150, 90}})
    for (int axis = 0; axis < s.rank(); ++axis)
      for (auto f : {softmax, log_softmax}) {
        INFO(to_string(s) << " axis " << axis);
        const Tensor x = random.tensor(s, -3, 3), v = random.tensor(s), e = exp(x), p = e / sum(e, axis, true);
        const bool logarithm = f == log_softmax;
        const Tensor z = f(x, axis);
        CHECK(support::difference({z}, {logarithm ? log(p) : p}).error < 1e-13);
        const Tensor expected = logarithm ? v - p * sum(v, axis, true) : p * (v - sum(v * p, axis, true));
        const support::Function call = [&](const support::Tensors& t) { return support::Tensors{f(t[0], axis)}; };
        CHECK(support::difference(support::pull(call, {x}, {v}), {expected}).error < 1e-13);
        GradientTape outer;
        outer.watch(x);
        CHECK(support::difference(support::pull(call, {x}, {v}), {expected}).error < 1e-13);
      }
}

TEST_CASE("sums and softmax have the same bits for any number of threads") {
  support::Random random("threads");
  const Tensor x = random.tensor({700, 300});
  const int before = num_threads();
  std::vector<Doubles> results[4];
  int run = 0;
  for (int threads : {1, 2, 3, 7}) {
    set_num_threads(threads);
    for (const Tensor& y : {sum(x), sum(x, 0), mean(x, 1), prod(x, 0), var(x), norm(x), norm(x, 3, 1), logsumexp(x),
                            logsumexp(x, 0), softmax(x), softmax(x, 0), log_softmax(x), cumsum(x, 0), cumprod(x, 1)})
      results[run].push_back(y.to_vector());
    ++run;
  }
  set_num_threads(before);
  for (int i = 1; i < 4; ++i) CHECK(results[i] == results[0]);
}

TEST_CASE("logsumexp: derivatives of exp(x - z) with respect to z only, in both modes") {
  const Tensor x = reshape(linspace(-1, 1, 6), {2, 3}), v = tensor({2, -3}), s = reshape(linspace(1, 2, 6), {2, 3});
  for (const bool keepdims : {false, true}) {
    CAPTURE(keepdims);
    GradientTape tape({.persistent = true});
    tape.watch(x);
    const Tensor z = logsumexp(x, {1}, keepdims);
    tape.stop();
    const Tensor weighted = softmax(x, 1) * reshape(v, {2, 1});
    const auto pulled = [&] { return *tape.gradient(z, x, {.output_gradients = Gradient(reshape(v, z.shape()))}); };
    GradientTape outer;
    outer.watch(z);
    const Gradient dz = outer.gradient(pulled(), z, {.output_gradients = Gradient(s)});
    outer.stop();
    REQUIRE(dz);
    CHECK((*dz).shape() == z.shape());
    const Tensor expected = -sum(weighted * s, {1}, keepdims);
    CHECK(max(abs(*dz - expected)).item() < 1e-14);
    const ForwardAccumulator accumulator(z, reshape(tensor({0.5, 2}), z.shape()));
    const Gradient tangent = accumulator.jvp(pulled());
    REQUIRE(tangent);
    CHECK(max(abs(*tangent + weighted * tensor({{0.5}, {2.}}))).item() < 1e-14);
  }
}

// Sums of weights, which are 1, at numbers whose unit in the last place is far above the logarithms of sums.
TEST_CASE("weights of logarithms of sums add up to 1 however large the logarithms are") {
  for (const DType d : {DType::float64, DType::float32, DType::float16, DType::bfloat16}) {
    const double eps = std::exp2(d == DType::float64 ? -50 : d == DType::float32 ? -21 : d == DType::float16 ? -9 : -6);
    const Tensor small = cast(tensor({{0., 1., 2., 0.}, {2., 0., 0., -3.}, {1., 1., 1., 1.}}), d);
    for (const double at : {0., 2048., 0x1p20, 0x1p49}) {
      const Tensor x = small + cast(full({}, at), d), near = cast(x, DType::float64) - at;
      if (!all(isfinite(x)).item<bool>()) continue;
      CAPTURE(name(d), at);
      for (const Axes& axes : {Axes{0}, Axes{1}, Axes{}}) {
        const auto f = [&](const Tensor& t) { return sum(logsumexp(t, axes)); };
        const Tensor w = grad(f)(x), expected = grad(f)(near), v = cos(near), own = cast(v, d);
        CHECK(support::largest(cast(w, DType::float64) - expected) <= eps);
        CHECK(array_equal(compile([&](const Tensor& t) { return grad(f)(t); })(x), w));
        const Tensor tangent = jvp([&](const Tensor& t) { return logsumexp(t, axes); }, x, own).second;
        CHECK(support::largest(cast(tangent, DType::float64) -
                               jvp([&](const Tensor& t) { return logsumexp(t, axes); }, near, v).second) <= 8 * eps);
        CHECK(support::largest(cast(hvp(f)(x, own), DType::float64) - hvp(f)(near, v)) <= 8 * eps);
      }
      const auto last = [](const Tensor& t) { return sum(logcumsumexp(t, 1)(all, 3)); };
      CHECK(support::largest(cast(grad(last)(x), DType::float64) - softmax(near, 1)) <= 4 * eps);
      CHECK(support::largest(cast(sum(grad([](const Tensor& t) { return sum(logcumsumexp(t, 0, false, true)); })(x)),
                                  DType::float64) -
                             12) <= 48 * eps);
    }
  }
  CHECK(grad([](const Tensor& t) { return logsumexp(t); })(full({2}, 1e50)).to_vector() == Doubles{0.5, 0.5});
}

TEST_CASE("logarithms of sums near 1 keep their digits") {
  const double tiny = std::exp(-40.);
  CHECK(std::abs(logcumsumexp(tensor({0, -40}), 0).to_vector()[1] / tiny - 1) < 1e-15);
  CHECK(std::abs(logcumsumexp(tensor({{-40, -40}, {0, 0}}), 0).to_vector()[2] / tiny - 1) < 1e-15);
  CHECK(std::abs(logcumsumexp(tensor<float>({-40, 0}), 0, false, true).to_vector()[0] / tiny - 1) < 1e-6);
  CHECK(std::abs(weighted_logsumexp(tensor({0, -40}), 1).log.item() / tiny - 1) < 1e-15);
  CHECK(std::abs(weighted_logsumexp(tensor({-40, 0}), tensor({-1, 1})).log.item() / tiny + 1) < 1e-15);
  // The largest term, b exp(x), is not that of the largest x.
  CHECK(std::abs(weighted_logsumexp(tensor({1, 0}), tensor({1e-20, 1})).log.item() / (1e-20 * std::exp(1.)) - 1) <
        1e-15);
  // log(1e-38 e^600): the exponents are relative to the largest x where the factor would not make up for it.
  CHECK(weighted_logsumexp(tensor<float>({0, 600}), tensor<float>({1, 1e-38F})).log.item() == Approx(512.501766));
  const SignedLog cancelled = weighted_logsumexp(tensor({0, 0, 0}), tensor({1, -1, -1}));
  CHECK(cancelled.log.item() == 0);
  CHECK(cancelled.sign.item() == -1);
}

// The posterior of a state is the derivative by its emission: at each step they add up to 1.
TEST_CASE("posteriors of a hidden Markov model add up to 1 after many steps, in float32") {
  const std::int64_t steps = 2000;
  support::Random random("posteriors");
  const Tensor emissions = cast(random.tensor({steps, 3}, -9, -1), DType::float32),
               transitions = log_softmax(cast(random.tensor({3, 3}), DType::float32), 1);
  GradientTape tape;
  tape.watch(emissions);
  Tensor alpha = emissions(0);
  for (std::int64_t t = 1; t < steps; ++t) alpha = logsumexp(expand_dims(alpha, 1) + transitions, 0) + emissions(t);
  CHECK(support::largest(sum(*tape.gradient(logsumexp(alpha), emissions), 1) - 1) < 2e-4);
}
