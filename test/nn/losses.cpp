// Losses of <reel/nn/losses.hpp>: values in 60 digits, ends and kinks, what is ignored, dtypes, errors, entries on
// tapes. Values and derivatives in every shape and layout are checked by the op table.
#include <cmath>
#include <functional>
#include <map>
#include <reel/nn/losses.hpp>
#include <reel/reel.hpp>
#include <string>

#include "catch.hpp"
#include "loss_values.hpp"
#include "support/derivatives.hpp"
#include "support/numbers.hpp"

using namespace reel;
using namespace support;

namespace {

using Tensors = support::Tensors;
using Loss = std::function<Tensor(const Tensors&)>;

const std::map<std::string, Loss> elementwise_losses = {
    {"mse", [](const Tensors& x) { return mse(x[0], x[1]); }},
    {"mae", [](const Tensors& x) { return mae(x[0], x[1]); }},
    {"log_cosh", [](const Tensors& x) { return log_cosh(x[0], x[1]); }},
    {"poisson_nll", [](const Tensors& x) { return poisson_nll(x[0], x[1]); }},
    {"poisson_nll full", [](const Tensors& x) { return poisson_nll(x[0], x[1], {.full = true}); }},
    {"poisson_nll rate", [](const Tensors& x) { return poisson_nll(x[0], x[1], {.log_input = false}); }},
    {"poisson_nll rate full",
     [](const Tensors& x) { return poisson_nll(x[0], x[1], {.log_input = false, .full = true}); }},
    {"gaussian_nll", [](const Tensors& x) { return gaussian_nll(x[0], x[1], x[2]); }},
    {"gaussian_nll full", [](const Tensors& x) { return gaussian_nll(x[0], x[1], x[2], {.full = true}); }},
    {"weighted_sigmoid_cross_entropy",
     [](const Tensors& x) { return weighted_sigmoid_cross_entropy(x[0], x[1], x[2]); }},
    {"focal_cross_entropy", [](const Tensors& x) { return focal_cross_entropy(x[0], x[1]); }},
    {"focal_cross_entropy unweighted",
     [](const Tensors& x) { return focal_cross_entropy(x[0], x[1], {.alpha = -1, .gamma = 1.5}); }},
    {"hinge", [](const Tensors& x) { return hinge(x[0], x[1]); }},
    {"hinge_embedding", [](const Tensors& x) { return hinge_embedding(x[0], x[1]); }},
    {"soft_margin", [](const Tensors& x) { return soft_margin(x[0], x[1]); }},
    {"margin_ranking", [](const Tensors& x) { return margin_ranking(x[0], x[1], x[2], 0.5); }},
};

Tensors numbers(const Doubles& x) {
  Tensors all;
  for (double v : x) all.push_back(scalar(v));
  return all;
}
// The loss of these numbers, and its gradient by each of them.
struct Slopes {
  double value;
  Doubles gradient;
};
Slopes slopes(const Loss& loss, const Doubles& x) {
  const Tensors operands = numbers(x);
  GradientTape tape;
  for (const Tensor& t : operands) tape.watch(t);
  const Tensor y = loss(operands);
  Slopes s{y.item(), {}};
  for (const Gradient& g : tape.gradient(y, operands)) s.gradient.push_back(g ? g.dense().item() : 0);
  return s;
}
double second_by_first(const Loss& loss, const Doubles& x) {
  Tensors operands = numbers(x);
  return hessian([&](const Tensor& t) {
           operands[0] = t;
           return loss(operands);
         })(operands[0])
      .item();
}
void check_close(double got, double expected, double tolerance) {
  INFO(got << ", not " << expected);
  CHECK(std::abs(got - expected) <= tolerance * std::abs(expected) + 1e-300);
}
void check_slopes(const Slopes& got, double value, const Doubles& gradient) {
  check_close(got.value, value, 1e-15);
  REQUIRE(got.gradient.size() == gradient.size());
  for (std::size_t k = 0; k < gradient.size(); ++k) {
    INFO("operand " << k);
    check_close(got.gradient[k], gradient[k], 1e-15);
  }
}
Tensor labels(std::initializer_list<std::int64_t> l) { return from_data(std::vector(l)); }

}  // namespace

TEST_CASE("elementwise losses: values, gradients and second derivatives agree with 60 digits") {
  for (const LossValue& row : loss_values) {
    std::string text = row.loss;
    for (double v : row.operands) text += " " + std::to_string(v);
    INFO(text);
    const Loss& loss = elementwise_losses.at(row.loss);
    const Slopes got = slopes(loss, row.operands);
    check_close(got.value, row.value, 2e-15);
    for (std::size_t k = 0; k < row.gradient.size(); ++k) {
      INFO("gradient of operand " << k);
      check_close(got.gradient[k], row.gradient[k], 1e-14);
    }
    INFO("second derivative");
    check_close(second_by_first(loss, row.operands), row.second, 1e-13);
  }
}

TEST_CASE("elementwise losses: infinite logits and labels at the ends") {
  const auto weighted = [](double x, double label, double weight) {
    return slopes(elementwise_losses.at("weighted_sigmoid_cross_entropy"), {x, label, weight});
  };
  CHECK(weighted(-inf, 0, 3).value == 0);  // 0 times infinity contributes 0
  CHECK(weighted(inf, 1, 3).value == 0);
  CHECK(weighted(-inf, 0, 3).gradient[0] == 0);
  CHECK(weighted(inf, 1, 3).gradient[0] == 0);
  CHECK(weighted(inf, 0, 3).value == inf);
  CHECK(weighted(-inf, 1, 3).value == inf);
  CHECK(std::isnan(weighted(qnan, 1, 3).value));
  const auto focal = [](double x, double label, const FocalOptions& options) {
    return slopes([&](const Tensors& t) { return focal_cross_entropy(t[0], t[1], options); }, {x, label});
  };
  for (double alpha : {-1., 0.25})
    for (double gamma : {0., 0.5, 2.}) {
      INFO("alpha " << alpha << ", gamma " << gamma);
      const double of_1 = alpha < 0 ? 1 : alpha, of_0 = alpha < 0 ? 1 : 1 - alpha;
      CHECK(focal(1000, 1, {alpha, gamma}).value == 0);
      CHECK(focal(1000, 1, {alpha, gamma}).gradient[0] == 0);
      CHECK(focal(-1000, 0, {alpha, gamma}).value == 0);
      CHECK(focal(-1000, 0, {alpha, gamma}).gradient[0] == 0);
      CHECK(focal(1000, 0, {alpha, gamma}).value == 1000 * of_0);
      CHECK(focal(1000, 0, {alpha, gamma}).gradient[0] == of_0);
      CHECK(focal(-1000, 1, {alpha, gamma}).value == 1000 * of_1);
      CHECK(focal(-1000, 1, {alpha, gamma}).gradient[0] == -of_1);
      check_close(focal(0, 1, {alpha, gamma}).value, of_1 * std::log(2.) * std::pow(0.5, gamma), 1e-15);
      CHECK(std::isnan(focal(qnan, 1, {alpha, gamma}).value));
    }
  check_slopes(slopes(elementwise_losses.at("soft_margin"), {1e6, -1}), 1e6, {1, -1e6});
  check_slopes(slopes(elementwise_losses.at("soft_margin"), {1e6, 1}), 0, {0, 0});
  check_slopes(slopes(elementwise_losses.at("log_cosh"), {1e300, 0}), 1e300, {1, -1});
}

TEST_CASE("elementwise losses: kinks have derivative 0, NaN propagates") {
  const auto of = [](const char* name, const Doubles& x) { return slopes(elementwise_losses.at(name), x); };
  check_slopes(of("mae", {2, 2}), 0, {0, 0});
  check_slopes(of("mae", {2, 3}), 1, {-1, 1});
  check_slopes(of("hinge", {1, 1}), 0, {0, 0});
  check_slopes(of("hinge", {0.5, 1}), 0.5, {-1, -0.5});
  check_slopes(of("hinge", {3, 1}), 0, {0, 0});
  check_slopes(of("hinge", {inf, 1}), 0, {0, 0});
  check_slopes(of("hinge_embedding", {1, -1}), 0, {0, 0});
  check_slopes(of("hinge_embedding", {0.25, -1}), 0.75, {-1, 0});
  check_slopes(of("hinge_embedding", {0.25, 1}), 0.25, {1, 0});
  check_slopes(of("hinge_embedding", {inf, -1}), 0, {0, 0});
  check_slopes(of("margin_ranking", {1.5, 1, 1}), 0, {0, 0, 0});
  check_slopes(of("margin_ranking", {1, 1.5, 1}), 1, {-1, 1, 0.5});
  check_slopes(of("margin_ranking", {inf, 1, 1}), 0, {0, 0, 0});
  for (const auto& [name, loss] : elementwise_losses) {
    INFO(name);
    for (std::size_t k = 0; k < 2; ++k) {
      if (name == "hinge_embedding" && k == 1) continue;  // a label that is not positive
      Doubles x = {0.5, 0.25, 0.75};
      x[k] = qnan;
      CHECK(std::isnan(slopes(loss, x).value));
    }
  }
}

TEST_CASE("poisson_nll and gaussian_nll: rates and variances at their ends") {
  const auto rate = [](double x, double target, double epsilon) {
    return slopes([=](const Tensors& t) { return poisson_nll(t[0], t[1], {.log_input = false, .epsilon = epsilon}); },
                  {x, target});
  };
  CHECK(rate(0, 0, 0).value == 0);
  CHECK(rate(0, 0, 0).gradient[0] == 1);
  CHECK(rate(0, 2, 0).value == inf);
  CHECK(rate(0, 2, 0.5).value == -2 * std::log(0.5));
  CHECK(std::isnan(rate(-1, 2, 0).value));
  // Stirling's terms begin above 1.
  const auto full = [](double target) { return slopes(elementwise_losses.at("poisson_nll full"), {0, target}); };
  check_slopes(full(1), 1, {0, 0});
  check_close(full(2).value, 1 + 2 * std::log(2.) - 2 + 0.5 * std::log(4 * std::acos(-1.)), 1e-15);
  const auto gaussian = [](double variance, double epsilon) {
    return slopes([=](const Tensors& t) { return gaussian_nll(t[0], t[1], t[2], {.epsilon = epsilon}); },
                  {3, 1, variance});
  };
  check_slopes(gaussian(0.25, 0.5), 0.5 * (std::log(0.5) + 8), {4, -4, 0});
  check_slopes(gaussian(0.5, 0.5), 0.5 * (std::log(0.5) + 8), {4, -4, -7});
  check_slopes(gaussian(0, 0.5), 0.5 * (std::log(0.5) + 8), {4, -4, 0});
  CHECK(std::isnan(gaussian(-0.25, 0.5).value));
}

TEST_CASE("elementwise losses: one entry on a tape, dtypes") {
  for (const auto& row : elementwise_losses) {
    const std::string& name = row.first;
    const Loss& loss = row.second;
    INFO(name);
    const Tensor x = tensor({0.5, 0.25}), y = scalar(0.75), z = tensor({{1.5}, {2}});
    GradientTape tape;
    tape.watch(x);
    CHECK(loss({x, y, z}).dtype() == DType::float64);
    CHECK(tape.stats().entries == 1);
    const auto in = [&](DType d) { return loss({cast(x, d), cast(y, d), cast(z, d)}); };
    for (DType d : {DType::float32, DType::float16, DType::bfloat16}) {
      CHECK(in(d).dtype() == d);
      // Computed in float32 and rounded once.
      CHECK(in(d).to_vector() ==
            cast(loss({cast(x, DType::float32), cast(y, DType::float32), cast(z, DType::float32)}), d).to_vector());
    }
    CHECK(in(DType::int32).dtype() == DType::float64);
    CHECK(in(DType::boolean).dtype() == DType::float64);
    const std::string op = name.substr(0, name.find(' '));
    CHECK_THROWS_AS(in(DType::complex128), TypeError);
    CHECK_THROWS_WITH(in(DType::complex128), Catch::Contains(op));
    CHECK_THROWS_AS(loss({ones({2}), ones({3}), ones({1})}), ShapeError);
    CHECK_THROWS_WITH(loss({ones({2}), ones({3}), ones({1})}), Catch::Contains(op));
    CHECK(loss({ones({0}), ones({1}), ones({0})}).shape() == Shape{0});
  }
}

TEST_CASE("nll: minus the log-probabilities of the labels; ignored labels") {
  const Tensor x = tensor({{-1, -2, -3}, {-4, -5, qnan}, {-7, -8, -9}});
  const SparseCrossEntropyOptions ignoring{.ignore_index = -100};
  CHECK(nll(x, labels({1, 0, 2})).to_vector() == Doubles{2, 4, 9});
  CHECK(slope_at(
            [](const Tensor& t) {
              return nll(t, labels({1, 0, 2}));
            },
            x) == Doubles{0, -1, 0, -1, 0, 0, 0, 0, -1});
  CHECK(std::isnan(nll(x, labels({1, 2, 2})).to_vector()[1]));
  const auto ignored = [&](const Tensor& t) { return nll(t, labels({1, -100, 2}), ignoring); };
  CHECK(ignored(full({3, 3}, qnan)).to_vector()[1] == 0);
  CHECK(slope_at(ignored, x) == Doubles{0, -1, 0, 0, 0, 0, 0, 0, -1});
  const Tensor no_classes = zeros({2, 0});
  const auto all_ignored = [&](const Tensor& t) { return nll(t, labels({-100, -100}), ignoring); };
  CHECK(all_ignored(no_classes).to_vector() == Doubles{0, 0});
  CHECK(gradient_at(all_ignored, no_classes).shape() == Shape{2, 0});
  CHECK(nll(zeros({0, 3}), zeros({0}, DType::int64)).shape() == Shape{0});
  // With log_softmax, the sparse cross-entropy.
  const Tensor logits = tensor({{1, 2, 3}, {3, 1, 0}});
  const Tensor expected = sparse_softmax_cross_entropy(logits, labels({0, 2}));
  CHECK(support::difference({nll(log_softmax(logits), labels({0, 2}))}, {expected}).error < 1e-15);
  CHECK_THROWS_AS(nll(x, labels({1, 3, 0})), IndexError);
  CHECK_THROWS_WITH(nll(x, labels({1, 3, 0})), Catch::Contains("nll: label 3 at position 1 is out of range for 3"));
  CHECK_THROWS_AS(nll(x, labels({1, -1, 0})), IndexError);
  CHECK_THROWS_AS(nll(x, ones({3})), TypeError);
  CHECK_THROWS_WITH(nll(x, labels({1, 0})), Catch::Contains("labels must be [3]"));
  CHECK_THROWS_AS(nll(ones({3, 3}, DType::int32), labels({1, 0, 2})), TypeError);
  CHECK_THROWS_AS(nll(scalar(1), scalar(0)), Error);
}

TEST_CASE("multi_margin: published numbers, ties, errors") {
  // torch.nn.functional.multi_margin_loss([[0.1, 0.2, 0.4, 0.8]], [3]): (0.3 + 0.4 + 0.6) / 4
  const Tensor x = tensor({{0.1, 0.2, 0.4, 0.8}});
  check_close(multi_margin(x, labels({3})).item(), 0.325, 1e-15);
  const auto loss = [](const MultiMarginOptions& options) {
    return [=](const Tensor& t) { return multi_margin(t, labels({3}), options); };
  };
  CHECK(slope_at(loss({}), x) == Doubles{0.25, 0.25, 0.25, -0.75});
  check_close(loss({.p = 2})(x).item(), (0.09 + 0.16 + 0.36) / 4, 1e-15);
  const Tensor tied = tensor({{-1, 0, 0.5, 0}});  // the first is exactly at the margin
  CHECK(slope_at(loss({}), tied) == Doubles{0, 0.25, 0.25, -0.5});
  CHECK(slope_at(loss({.p = 2}), tied) == Doubles{0, 0.5, 0.75, -1.25});
  CHECK(multi_margin(zeros({0, 3}), zeros({0}, DType::int64)).shape() == Shape{0});
  CHECK(std::isnan(multi_margin(tensor({{qnan, 1}}), labels({1})).item()));
  CHECK_THROWS_AS(multi_margin(x, labels({4})), IndexError);
  CHECK_THROWS_WITH(multi_margin(x, labels({3}), {.p = 3}), Catch::Contains("p is 3; it must be 1 or 2"));
  CHECK_THROWS_AS(multi_margin(x, labels({3}), {.p = 3}), ValueError);
}

TEST_CASE("cosine_similarity: directions, zeros, scale") {
  const Tensor x = tensor({{3, 4}, {1, 0}, {0, 0}}), y = tensor({{4, 3}, {-2, 0}, {1, 2}});
  const Doubles z = cosine_similarity(x, y).to_vector();
  check_close(z[0], 0.96, 1e-15);
  CHECK(z[1] == -1);
  CHECK(z[2] == 0);
  const Doubles g = slope_at([&](const Tensor& t) { return cosine_similarity(t, y); }, x);
  check_close(g[0], (0.8 - 0.96 * 0.6) / 5, 1e-14);
  check_close(g[1], (0.6 - 0.96 * 0.8) / 5, 1e-14);
  CHECK(g[4] == 0);
  CHECK(g[5] == 0);
  // The scale of the operands does not matter, and does not overflow.
  CHECK(support::difference({cosine_similarity(1e200 * x, 1e-200 * y)}, {cosine_similarity(x, y)}).error < 1e-15);
  CHECK(cosine_similarity(ones({2, 0}), ones({2, 0})).to_vector() == Doubles{0, 0});
  CHECK(std::isnan(cosine_similarity(tensor({qnan, 1}), tensor({1, 1})).item()));
  CHECK(cosine_similarity(cast(x, DType::bfloat16), cast(y, DType::bfloat16)).dtype() == DType::bfloat16);
  CHECK_THROWS_AS(cosine_similarity(x, ones({3})), ShapeError);
  CHECK_THROWS_WITH(cosine_similarity(x, ones({3})), Catch::Contains("cosine_similarity"));
  CHECK_THROWS_AS(cosine_similarity(x, y, 2), Error);
  CHECK_THROWS_AS(cosine_similarity(labels({1, 2}), labels({1, 2})), TypeError);
}

TEST_CASE("triplet_margin: distances, swap, equal vectors") {
  const Tensor a = tensor({0, 0}), p = tensor({3, 4}), n = tensor({6, 8});
  const auto loss = [&](const TripletMarginOptions& options) { return triplet_margin(a, p, n, options).item(); };
  CHECK(loss({.epsilon = 0}) == 0);  // 1 + 5 - 10
  CHECK(loss({.margin = 7, .epsilon = 0}) == 2);
  CHECK(loss({.margin = 7, .epsilon = 0, .swap = true}) == 7);  // from the positive to the negative: 5
  CHECK(loss({.p = 1, .margin = 9, .epsilon = 0}) == 2);
  const auto by_anchor = [&](const Tensor& t) { return triplet_margin(t, p, n, {.margin = 7, .epsilon = 0}); };
  const auto inside = [&](const Tensor& t) { return triplet_margin(t, p, n); };
  CHECK(slope_at(inside, a) == Doubles{0, 0});
  const Doubles g = slope_at(by_anchor, tensor({0, 1}));
  check_close(g[0], -1 / std::sqrt(2.) + 6 / std::sqrt(85.), 1e-14);
  check_close(g[1], -1 / std::sqrt(2.) + 7 / std::sqrt(85.), 1e-14);
  // Equal vectors: their distance is that of epsilon.
  check_close(triplet_margin(a, a, a).item(), 1, 1e-15);
  const Doubles at_zero =
      slope_at([&](const Tensor& t) { return triplet_margin(a, t, n, {.margin = 20}); }, zeros({2}));
  check_close(at_zero[0], -1 / std::sqrt(2.), 1e-10);
  CHECK_THROWS_WITH(loss({.p = 0}), Catch::Contains("p is 0; it must be greater than 0"));
  CHECK_THROWS_AS(loss({.p = qnan}), ValueError);
  CHECK_THROWS_AS(triplet_margin(a, p, ones({3})), ShapeError);
  CHECK(triplet_margin(ones({0, 2}), p, n).shape() == Shape{0});
}

TEST_CASE("l2_loss: half of the sum of squares") {
  CHECK(l2_loss(tensor({{1, 2}, {3, 4}})).item() == 15);
  CHECK(slope_at([](const Tensor& t) { return l2_loss(t); }, tensor({1, -2})) == Doubles{1, -2});
  CHECK(l2_loss(zeros({0, 3})).item() == 0);
  CHECK(l2_loss(scalar(3.)).item() == 4.5);
  CHECK_THROWS_AS(l2_loss(labels({1})), TypeError);
}

TEST_CASE("losses: options out of range") {
  const Tensor x = ones({2});
  CHECK_THROWS_WITH(poisson_nll(x, x, {.epsilon = -1}), Catch::Contains("poisson_nll: epsilon is -1"));
  CHECK_THROWS_AS(poisson_nll(x, x, {.epsilon = qnan}), ValueError);
  CHECK_THROWS_AS(gaussian_nll(x, x, x, {.epsilon = inf}), ValueError);
  CHECK_THROWS_WITH(focal_cross_entropy(x, x, {.alpha = 2}), Catch::Contains("alpha is 2; it must be at most 1"));
  CHECK_THROWS_AS(focal_cross_entropy(x, x, {.alpha = qnan}), ValueError);
  CHECK_THROWS_AS(focal_cross_entropy(x, x, {.gamma = -1}), ValueError);
}
