// Normalisations and cross-entropies: published numbers, extreme rows, second derivatives, what is ignored, errors,
// dtypes, threads. Values and derivatives in every shape and layout are checked by the op table.
#include <cmath>
#include <functional>
#include <reel/nn.hpp>
#include <reel/ops/statistics.hpp>
#include <reel/reel.hpp>

#include "catch.hpp"
#include "support/derivatives.hpp"
#include "support/numbers.hpp"

using namespace reel;
using namespace support;

namespace {

void check_near(const Doubles& got, const Doubles& expected, double tolerance) {
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    INFO("element " << i << ": " << got[i] << ", not " << expected[i]);
    CHECK(std::abs(got[i] - expected[i]) <= tolerance);
  }
}

}  // namespace

TEST_CASE("layer_norm: published numbers, constant rows, large means") {
  const auto weighted = [](const Tensor& x) { return sum(layer_norm(x, {.epsilon = 0}) * tensor({1, 2, 3})); };
  check_near(slope_at(weighted, tensor({1, 2, 4})), {-.11454053, .17181080, -.05727027}, 5e-9);
  // torch.nn.functional.layer_norm(x, [3], weight, bias, eps=1e-5), x = [[1, 2, 4], [0, -1, 1]]
  const Tensor x = tensor({{1, 2, 4}, {0, -1, 1}}), scale = tensor({1, 2, 3}), offset = tensor({.5, 0, -.5});
  check_near(layer_norm(x, scale, offset).to_vector(),
             {.5 - 1.0690415, -.5345207, 3 * 1.3363020 - .5, .5, -2.4494713, 3 * 1.2247356 - .5}, 2e-6);
  for (double c : {0., 1., 0.1, -1e6, 1e30}) {
    INFO(c);
    const Tensor constant = full({2, 37}, c);
    CHECK(max(abs(layer_norm(constant))).item() <= 1e-9 * std::abs(c) * (std::abs(c) < 1e20 ? 1 : 0));
  }
  // A large mean loses no digits: the rows differ by an exact shift.
  support::Random random("large means");
  const Tensor small = round(random.tensor({5, 100}, -100, 100)), shifted = small + 0x1p40;
  CHECK(support::difference({layer_norm(shifted)}, {layer_norm(small)}).error < 1e-14);
  const auto normalised = [](const Tensor& t) { return layer_norm(t); };
  const Tensor moved = random.tensor({5, 100});
  CHECK(support::difference({jvp(normalised, shifted, moved).second}, {jvp(normalised, small, moved).second}).error <
        1e-14);
  const BatchNorm near = batch_norm(small, ones({100}), zeros({100})),
                  far = batch_norm(shifted, ones({100}), zeros({100}));
  CHECK(support::difference({far.variance}, {near.variance}).error < 1e-7);
  CHECK(support::difference({far.y}, {near.y}).error < 1e-5);  // 5 elements: the mean itself is rounded
  const Doubles one = layer_norm(tensor({{3}, {4}})).to_vector();
  CHECK(one == Doubles{0, 0});
  CHECK(std::isnan(layer_norm(tensor({1, qnan, 2})).to_vector()[0]));
}

TEST_CASE("batch_norm: statistics without gradient, and inference with them") {
  support::Random random("batch_norm");
  const Tensor x = random.tensor({6, 3, 5, 4}), scale = random.tensor({3}), offset = random.tensor({3});
  const Shape others{0, 2, 3};
  const BatchNorm b = batch_norm(x, scale, offset);
  CHECK(support::difference({b.mean, b.variance}, {mean(x, others), var(x, others)}).error < 1e-15);
  CHECK(support::difference({b.y}, {batch_norm(x, scale, offset, b.mean, b.variance)}).error < 1e-14);
  // Channels last: the same numbers in another layout.
  const BatchNorm last = batch_norm(transpose(x, {0, 2, 3, 1}), scale, offset, {.axis = -1});
  CHECK(support::difference({transpose(last.y, {0, 3, 1, 2}), last.mean}, {b.y, b.mean}).error < 1e-14);
  GradientTape tape;
  tape.watch(x);
  const BatchNorm watched = batch_norm(x, scale, offset);
  const std::vector<Gradient> g = tape.gradient(watched.mean, std::vector{x});
  CHECK_FALSE(g[0]);
  CHECK_FALSE(g[0].why_none().empty());
  CHECK(std::isnan(batch_norm(zeros({0, 2}), ones({2}), ones({2})).mean.to_vector()[0]));
}

TEST_CASE("batch_norm: a recorded gradient by its scale alone") {
  support::Random random("batch_norm by scale");
  const Tensor x = random.tensor({6, 3, 5}), scale = random.tensor({3}), offset = random.tensor({3});
  const auto gradient = [&] {
    GradientTape tape;
    tape.watch(scale);
    const Tensor y = batch_norm(x, scale, offset).y;
    return *tape.gradient(sum(square(y)), scale);
  };
  const Tensor g = gradient();
  GradientTape outer;
  outer.watch(scale);
  const Tensor recorded = gradient();
  CHECK(support::difference({recorded}, {g}).error < 1e-13);
  // The sum of squares is quadratic in each scale.
  const Tensor second = *outer.gradient(recorded, scale);
  const Tensor normalised = batch_norm(x, ones({3}), zeros({3})).y;
  CHECK(support::difference({second}, {2 * sum(square(normalised), {0, 2})}).error < 1e-13);
}

TEST_CASE("cross-entropies of extreme rows") {
  const Tensor x = tensor({{1000, -1000, 0}, {-inf, 0, 0}, {1e30, 1e30, 1e30}, {0, -50, -inf}});
  const auto labels = [](std::initializer_list<std::int64_t> l) { return from_data(std::vector(l)); };
  const Doubles z = sparse_softmax_cross_entropy(x, labels({1, 2, 0, 0})).to_vector();
  CHECK(z[0] == 2000);
  CHECK(z[1] == Approx(std::log(2.)).epsilon(1e-15));
  CHECK(z[2] == Approx(std::log(3.)).epsilon(1e-15));
  CHECK(z[3] == std::log1p(std::exp(-50.)));  // where -log(softmax) would give 0
  CHECK(sparse_softmax_cross_entropy(x, labels({0, 0, 0, 2})).to_vector()[3] == inf);
  const Tensor hot = one_hot(labels({1, 2, 0, 0}), 3);
  CHECK(softmax_cross_entropy(x, hot).to_vector() == z);  // 0 times infinity contributes 0
  const Doubles g = slope_at([&](const Tensor& t) { return softmax_cross_entropy(t, hot); }, x);
  check_near(g, {1, -1, 0, 0, .5, -.5, 1. / 3 - 1, 1. / 3, 1. / 3, 0, std::exp(-50.), 0}, 1e-15);
  check_near(slope_at(
                 [&](const Tensor& t) {
                   return sparse_softmax_cross_entropy(t, labels({1, 2, 0, 0}));
                 },
                 x),
             g, 1e-15);
  const Tensor bad = tensor({{qnan, 0}, {-inf, -inf}});
  for (double v : sparse_softmax_cross_entropy(bad, labels({1, 1})).to_vector()) CHECK(std::isnan(v));
  // Ignored rows: 0, with gradient 0, whatever they hold.
  const SparseCrossEntropyOptions ignoring{.ignore_index = 1};
  const auto ignored = [&](const Tensor& t) { return sparse_softmax_cross_entropy(t, labels({1, 1}), ignoring); };
  CHECK(ignored(bad).to_vector() == Doubles{0, 0});
  CHECK(slope_at(ignored, bad) == Doubles{0, 0, 0, 0});
  GradientTape outer;
  outer.watch(bad);
  CHECK(slope_at(ignored, bad) == Doubles{0, 0, 0, 0});

  const Doubles s = sigmoid_cross_entropy(tensor({1000, -1000, 1e30, 0}), tensor({1, 1, 1, .5})).to_vector();
  check_near(s, {0, 1000, 0, std::log(2.)}, 0);
  check_near(slope_at([](const Tensor& t) { return sigmoid_cross_entropy(t, 1.); }, tensor({0, 1000, -1000})),
             {-.5, 0, -1}, 0);
}

TEST_CASE("sparse_softmax_cross_entropy of no classes: zeros, connected, where every label is ignored") {
  const Tensor x = zeros({2, 0}), all_ignored = full({2}, 5, DType::int64);
  const SparseCrossEntropyOptions ignoring{.ignore_index = 5};
  const support::Function f = [&](const support::Tensors& t) {
    return support::Tensors{sparse_softmax_cross_entropy(t[0], all_ignored, ignoring)};
  };
  CHECK(f({x})[0].to_vector() == Doubles{0, 0});
  CHECK(push(f, {x}, {x})[0].to_vector() == Doubles{0, 0});
  GradientTape outer;
  outer.watch(x);
  GradientTape tape;
  tape.watch(x);
  const Gradient g = tape.gradient(f({x})[0], x);
  REQUIRE(g);
  CHECK(g.dense().shape() == Shape{2, 0});
  CHECK(pull(support::gradient_of(f, {ones({2})}), {x}, {x})[0].shape() == Shape{2, 0});
  CHECK_THROWS_WITH(sparse_softmax_cross_entropy(x, all_ignored), Catch::Contains("label 5 at position 0 is out of "
                                                                                  "range for 0 classes"));
}

TEST_CASE("cross-entropies: gradients of labels, second derivatives, smoothing") {
  // TensorFlow's tests: labels' gradient is -log_softmax; of one class nothing is left to differentiate.
  const Tensor x = tensor({{.1, .2, .3}, {2, -1, 0}}), p = tensor({{.5, .25, .25}, {0, 1, 0}});
  check_near(slope_at([&](const Tensor& l) { return softmax_cross_entropy(x, l); }, p), (-log_softmax(x)).to_vector(),
             1e-15);
  const Tensor one = tensor({{2.}});
  CHECK(hessian([](const Tensor& t) {
          return sum(softmax_cross_entropy(t, ones({1, 1})));
        })(one)
            .to_vector() == Doubles{0});
  CHECK(hessian([](const Tensor& t) { return sum(sparse_softmax_cross_entropy(t, zeros({1}, DType::int64))); })(one)
            .to_vector() == Doubles{0});
  const Tensor row = tensor({.1, .2, .3}), q = softmax(row);
  const Tensor expected = diag(q) - expand_dims(q, 1) * expand_dims(q, 0);
  const auto h = hessian([&](const Tensor& t) { return softmax_cross_entropy(t, tensor({.5, .25, .25})); })(row);
  CHECK(support::difference({h}, {expected}).error < 1e-15);
  const auto hs =
      hessian([&](const Tensor& t) { return sparse_softmax_cross_entropy(t, full({}, 1, DType::int32)); })(row);
  CHECK(support::difference({hs}, {expected}).error < 1e-15);
  const Tensor smooth = softmax_cross_entropy(x, p, {.label_smoothing = .3});
  CHECK(support::difference({smooth}, {softmax_cross_entropy(x, .7 * p + .1)}).error < 1e-15);
  // Probabilities that do not add to 1: the derivative of what is computed.
  check_near(slope_at(
                 [&](const Tensor& t) {
                   return softmax_cross_entropy(t, tensor({1, 1, 0}));
                 },
                 row),
             (2 * q - tensor({1, 1, 0})).to_vector(), 1e-15);
}

TEST_CASE("elementwise losses at their edges") {
  const auto h = [](const Tensor& x) { return huber(x, 0.0, 2.0); };
  CHECK(h(tensor({-3, -2, 0, 1, 2, 1e30})).to_vector() == Doubles{4, 2, 0, .5, 2, 2e30});
  CHECK(slope_at(h, tensor({-3, -2, 0, 1, 2, 1e30})) == Doubles{-2, -2, 0, 1, 2, 2});
  const Tensor target = tensor({0, 0, .5}), p = tensor({0, .5, .25});
  const auto kl = [&](const Tensor& q) { return kl_divergence(target, q); };
  check_near(kl(p).to_vector(), {0, 0, .5 * std::log(2.)}, 1e-16);
  CHECK(slope_at(kl, p) == Doubles{0, 0, -2});
  const auto bce = [](const Tensor& q) { return binary_cross_entropy(q, tensor({0, 1, 0, 1})); };
  CHECK(bce(tensor({0, 1, 1, 0})).to_vector() == Doubles{0, 0, inf, inf});
  CHECK(slope_at(bce, tensor({.5, .5, .25, .25})) == Doubles{2, -2, 1 / .75, -4});
  // Losses from logits and from probabilities agree, including gradients of labels.
  support::Random random("bce");
  const Tensor x = random.tensor({20}, -3, 3), y = random.tensor({20}, 0, 1);
  CHECK(support::difference({binary_cross_entropy(sigmoid(x), y)}, {sigmoid_cross_entropy(x, y)}).error < 1e-14);
  const auto labels = tensor({0, 1});
  check_near(slope_at([](const Tensor& l) { return binary_cross_entropy(.25, l); }, labels),
             {std::log(3.), std::log(3.)}, 1e-15);
}

TEST_CASE("kl_div and rel_entr at x = 0: the mixed second derivative is -1 / y in both orders") {
  const Tensor x = scalar(0.), y = scalar(1.5);
  const auto mixed = [&](const auto& f, const Tensor& first, const Tensor& second) {
    GradientTape outer;
    outer.watch(std::vector{x, y});
    GradientTape inner;
    inner.watch(first);
    return outer.gradient(inner.gradient(f(x, y), first).dense(), second).dense().item();
  };
  const auto kl = [](const Tensor& u, const Tensor& v) { return kl_div(u, v); };
  const auto entropy = [](const Tensor& u, const Tensor& v) { return rel_entr(u, v); };
  CHECK(mixed(kl, x, y) == Approx(-1 / 1.5));
  CHECK(mixed(kl, y, x) == Approx(-1 / 1.5));
  CHECK(mixed(entropy, x, y) == Approx(-1 / 1.5));
  CHECK(mixed(entropy, y, x) == Approx(-1 / 1.5));
}

TEST_CASE("rel_entr at x = 0: value 0 and gradient (-inf, 0) for every y that is not negative") {
  const Tensor x = zeros({4}), y = tensor({0, 1e-300, 1e300, inf});
  GradientTape tape;
  tape.watch(std::vector{x, y});
  const Tensor value = rel_entr(x, y);
  const auto g = tape.gradient(value, std::vector{x, y});
  CHECK(all(equal(value, 0)).item<bool>());
  CHECK(all(equal(g[0].dense(), -inf)).item<bool>());
  CHECK(all(equal(g[1].dense(), 0)).item<bool>());
}

TEST_CASE("normalisations and losses refuse wrong shapes, dtypes and labels") {
  const Tensor x = zeros({2, 3});
  CHECK_THROWS_AS(layer_norm(x, ones({2}), ones({3})), ShapeError);
  CHECK_THROWS_AS(layer_norm(x, {.axes = 2}), IndexError);
  CHECK_THROWS_AS(layer_norm(tensor<int>({1, 2})), TypeError);
  CHECK_THROWS_AS(layer_norm(cast(x, DType::complex64)), TypeError);
  CHECK_THROWS_AS(rms_norm(x, ones({2})), ShapeError);
  CHECK_THROWS_AS(batch_norm(x, ones({2}), ones({3})), ShapeError);
  CHECK_THROWS_AS(batch_norm(zeros({3}), ones({3}), ones({3})), IndexError);
  CHECK_THROWS_AS(batch_norm(x, ones({3}), ones({3}), ones({3}), ones({2})), ShapeError);
  CHECK_THROWS_AS(softmax_cross_entropy(x, zeros({2})), ShapeError);
  CHECK_THROWS_AS(softmax_cross_entropy(x, x, {.label_smoothing = 1.5}), ValueError);
  CHECK_THROWS_AS(sparse_softmax_cross_entropy(x, zeros({2})), TypeError);
  CHECK_THROWS_AS(sparse_softmax_cross_entropy(x, zeros({3}, DType::int64)), ShapeError);
  CHECK_THROWS_AS(sparse_softmax_cross_entropy(x, tensor<int>({0, -1})), IndexError);
  CHECK_THROWS_AS(huber(x, x, 0), ValueError);
  CHECK_THROWS_WITH(huber(x, ones({3, 2})), Catch::Contains("huber: shapes"));
  CHECK_THROWS_WITH(binary_cross_entropy(x, ones({3, 2})), Catch::Contains("binary_cross_entropy: shapes"));
  CHECK_THROWS_WITH(kl_divergence(x, ones({3, 2})), Catch::Contains("kl_divergence: shapes"));
  CHECK_THROWS_WITH(layer_norm(x, {.epsilon = -1}), Catch::Contains("layer_norm: epsilon is -1"));
  CHECK_THROWS_AS(rms_norm(x, ones({3}), {.epsilon = qnan}), ValueError);
  CHECK_THROWS_AS(batch_norm(x, ones({3}), ones({3}), {.epsilon = -5}), ValueError);
  CHECK_THROWS_AS(batch_norm(x, ones({3}), ones({3}), ones({3}), ones({3}), {.epsilon = -5}), ValueError);
  // A NaN cast to an integer is a label out of range.
  CHECK_THROWS_AS(sparse_softmax_cross_entropy(x, full({2}, INT64_MIN, DType::int64)), IndexError);
  try {
    sparse_softmax_cross_entropy(x, tensor<int>({0, 3}));
    FAIL("no error");
  } catch (const IndexError& e) {
    INFO(e.what());
    CHECK(std::string(e.what()).find("label 3 at position 1 is out of range for 3 classes") != std::string::npos);
  }
}

TEST_CASE("normalisations and losses of float16 and bfloat16 compute in float32") {
  support::Random random("halves");
  const Tensor wide = random.tensor({9, 12}), p = softmax(random.tensor({9, 12}));
  const Tensor labels = tensor<int>({0, 1, 2, 3, 4, 5, 6, 7, 11});
  for (DType d : {DType::float16, DType::bfloat16}) {
    const Tensor x = cast(wide, d), q = cast(p, d), f = cast(x, DType::float32), s = ones({12}, d);
    const auto same = [&](const Tensor& half, const Tensor& single) {
      CHECK(half.dtype() == d);
      CHECK(array_equal(half, cast(single, d)));
    };
    same(layer_norm(x), layer_norm(f));
    same(batch_norm(x, s, s).y, batch_norm(f, cast(s, DType::float32), cast(s, DType::float32)).y);
    same(softmax_cross_entropy(x, q), softmax_cross_entropy(f, cast(q, DType::float32)));
    same(sparse_softmax_cross_entropy(x, labels), sparse_softmax_cross_entropy(f, labels));
    GradientTape tape;
    tape.watch(x);
    CHECK(tape.gradient(sparse_softmax_cross_entropy(x, labels), x).dense().dtype() == d);
  }
}

TEST_CASE("normalisations and losses have the same bits for any number of threads") {
  support::Random random("threads of losses");
  const int before = num_threads();
  for (const Shape& shape : {Shape{700, 300}, Shape{20000, 10}, Shape{5000, 20}, Shape{30, 8, 40, 25}}) {
    const Tensor x = random.tensor(shape), p = random.tensor(shape), row = random.tensor({shape[-1]}),
                 channel = random.tensor({shape[1]});
    Shape rest = shape;
    rest.pop_back();
    const Tensor labels = argmax(p, -1);
    std::vector<Doubles> results[3];
    int run = 0;
    for (int threads : {1, 2, 7}) {
      set_num_threads(threads);
      GradientTape tape({.persistent = true});
      tape.watch(std::vector{x, p, row, channel});
      const Tensors ys{square(layer_norm(x, row, row)),
                       square(batch_norm(x, channel, channel).y),
                       softmax_cross_entropy(x, p),
                       sparse_softmax_cross_entropy(x, labels),
                       square(softmax(x)),
                       square(log_softmax(x)),
                       logsumexp(x, -1)};
      tape.stop();  // what a tape records is computed op by op
      for (const Tensor& y : ys) {
        results[run].push_back(y.to_vector());
        for (const Gradient& g :
             tape.gradient(y, std::vector{x, p, row, channel}, {.unconnected_gradients = UnconnectedGradients::zero}))
          results[run].push_back(g.dense().to_vector());
      }
      ++run;
    }
    for (int i = 1; i < 3; ++i) CHECK(results[i] == results[0]);
  }
  set_num_threads(before);
}

// Of x scaled by a power of 2: y and the tangent along x scale as said, whatever the squares do.
TEST_CASE("normalisations and deviations do not overflow or underflow: values and derivatives to order 2") {
  using F = std::function<Tensor(const Tensor&)>;
  struct Case {
    const char* name;
    int degree;  // f(s x) = s^degree f(x)
    F f;
  };
  const auto one = [](const Tensor& x, std::int64_t n) { return cast(ones({n}), x.dtype()); };
  const auto zero = [](const Tensor& x, std::int64_t n) { return cast(zeros({n}), x.dtype()); };
  const Case cases[] = {
      {"std", 1, [](const Tensor& x) { return reel::std(x, -1); }},
      {"nanstd", 1, [](const Tensor& x) { return nanstd(x, -1); }},
      {"layer_norm", 0, [](const Tensor& x) { return layer_norm(x, {.epsilon = 0}); }},
      {"layer_norm of long rows", 0,
       [](const Tensor& x) {
         return layer_norm(concatenate({x, x * 2, x, x * 3, x, x, x, x, x, x, x}, 1), {.epsilon = 0});
       }},
      {"rms_norm", 0, [&](const Tensor& x) { return rms_norm(x, one(x, 4), {.epsilon = 0}); }},
      {"group_norm", 0,
       [](const Tensor& x) {
         return group_norm(reshape(x, {1, 4, 3}), 2, 0);
       }},
      {"instance_norm", 0,
       [](const Tensor& x) {
         return instance_norm(reshape(x, {1, 3, 4}), 0);
       }},
      {"batch_norm", 0, [&](const Tensor& x) { return batch_norm(x, one(x, 4), zero(x, 4), {.epsilon = 0}).y; }},
      {"batch_norm of planes", 0,
       [&](const Tensor& x) {
         return batch_norm(reshape(x, {1, 3, 4}), one(x, 3), zero(x, 3), {.epsilon = 0}).y;
       }},
  };
  const Tensor base = tensor({{1., 2, 4, 3}, {7, 5, -2, 0.5}, {6, 1.5, -3, 2.5}});
  const Tensor along = tensor({{0.5, -1, 2, 1}, {1, 0, -0.5, 3}, {-1, 2, 1, 0.25}});
  for (const auto& of : {std::pair(DType::float32, 83), {DType::float64, 600}})
    for (const Case& c : cases) {
      const auto d = of.first;
      const int size = of.second;
      const auto results = [&](int exponent) {
        const Tensor x = cast(base, d) * cast(scalar(std::ldexp(1., exponent)), d), t = cast(along, d);
        const auto gradient_of = [&](const Tensor& v) {
          return grad([&](const Tensor& u) {
            const Tensor y = c.f(u);
            return sum(y * cast(reshape(arange(1., 1. + double(y.size())), y.shape()), d));
          })(v);
        };
        const auto [y, dy] = jvp(c.f, x, t);
        return std::vector<Tensor>{y, dy, gradient_of(x), jvp(gradient_of, x, t).second,
                                   grad([&](const Tensor& u) { return sum(gradient_of(u) * t); })(x)};
      };
      const std::vector<Tensor> ordinary = results(0);
      const int degrees[] = {c.degree, c.degree - 1, c.degree - 1, c.degree - 2, c.degree - 2};
      for (const int exponent : {size, -size}) {
        const std::vector<Tensor> scaled = results(exponent);
        for (std::size_t k = 0; k < scaled.size(); ++k) {
          const double power = double(exponent) * degrees[k], limit = d == DType::float32 ? 120 : 1000;
          if (std::abs(power) > limit) continue;  // the result itself is beyond the range
          INFO(c.name << ' ' << d << " by 2^" << exponent << ", result " << k);
          const Tensor expected = cast(ordinary[k], DType::float64),
                       got = cast(scaled[k], DType::float64) * std::ldexp(1., -static_cast<int>(power));
          CHECK(largest(got - expected) <= (d == DType::float32 ? 2e-5 : 1e-13) * largest(expected));
        }
      }
    }
}
